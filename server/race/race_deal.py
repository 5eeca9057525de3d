"""What a race is dealt, and from what it follows: the secret, the nonces, which seed, which shuffle for which seat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from protocol.fairness import commitment
from protocol.views import RaceOptions, SharedDeal
from server.race.shuffles import SeriesPlace, seeds
from server.race.start_position import Opening, first_of
from server.rules.catalogue import rule_set
from server.rules.position import Position


@dataclass(frozen=True, slots=True)
class DealWanted:
    """What a search for a winnable deal needs to know, and what its answer is good for: other nonces want another answer."""

    rules: str
    secret: bytes = field(repr=False)
    nonces: tuple[bytes, ...]


@dataclass(slots=True, kw_only=True)
class RaceDeal:
    """place: in its series. k: the number of the seed. seeds, firsts: by which each seat is dealt, and the position that it begins from;
    empty before it is dealt.
    """

    options: RaceOptions
    place: SeriesPlace
    secret: bytes = field(repr=False)
    shared: SharedDeal | None
    opening: Opening | None
    k: int = 0
    seeds: tuple[bytes, ...] = field(default=(), repr=False)
    firsts: tuple[Position, ...] = ()

    @property
    def commitment(self) -> bytes:
        """What may be told of the secret before the race."""
        return commitment(self.secret)

    def wanted(self, nonces: tuple[bytes, ...]) -> DealWanted:
        """What a search for a winnable deal needs. nonces: of the seats."""
        return DealWanted(self.options.rules, self.secret, nonces)

    def deal(self, nonces: Sequence[bytes]) -> None:
        """nonces: of the seats. Raises IllegalMove where a race cannot begin from where it should."""
        seats, rules = self.options.seats, rule_set(self.options.rules)
        if self.opening is not None:
            self.seeds = (bytes.fromhex(self.opening.seed),) * seats
            self.firsts = (first_of(self.opening, rules),) * seats
            return
        dealt_by = [bytes.fromhex(nonce) for nonce in self.shared.nonces] if self.shared is not None else self.place.nonces or nonces
        self.seeds = seeds(self.options, self.place, secret=self.secret, nonces=dealt_by, k=self.k)
        # Each shuffle is dealt once, however many seats play it.
        positions = {seed: rules.deal(seed) for seed in dict.fromkeys(self.seeds)}
        self.firsts = tuple(positions[seed] for seed in self.seeds)
