"""What a race is dealt, and what the deal follows from: the secret, the nonces, which seed, which shuffle for which seat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from protocol.fairness import commitment, derive_seed
from protocol.record import DealRecord
from protocol.views import RaceOptions, SharedDeal
from server.race.shuffles import SeriesPlace, seeds
from server.race.start_position import StartPosition, first_of
from server.rules.catalogue import rule_set
from server.rules.position import Position


@dataclass(frozen=True, slots=True)
class DealWanted:
    """What a search for a winnable deal needs to know. Its answer is good for exactly this: other nonces need another answer."""

    rules: str
    secret: bytes = field(repr=False)
    nonces: tuple[bytes, ...]


@dataclass(slots=True, kw_only=True)
class RaceDeal:
    """The deal of one race. place: in its series. k: the number of the seed. commitment: what may be told of the secret before the race.
    shown: what the record calls the shared deal, if not what it is called in the race.

    seeds, firsts: each seat's seed, and the position from which it begins; empty before it is dealt.
    """

    options: RaceOptions
    place: SeriesPlace
    secret: bytes = field(repr=False)
    shared: SharedDeal | None
    start_position: StartPosition | None
    shown: SharedDeal | None = None
    k: int = 0
    commitment: bytes = field(init=False)
    seeds: tuple[bytes, ...] = field(default=(), repr=False)
    firsts: tuple[Position, ...] = ()

    def __post_init__(self) -> None:
        self.commitment = commitment(self.secret)
        if self.shared is not None:
            self.k = self.shared.number - 1

    def wanted(self, nonces: tuple[bytes, ...]) -> DealWanted:
        """What a search for a winnable deal needs. nonces: those of the seats."""
        return DealWanted(self.options.rules, self.secret, nonces)

    def deal(self, nonces: Sequence[bytes]) -> None:
        """Deal to every seat. nonces: those of the seats. Raises IllegalMove if the moves to the start position are not legal."""
        seats, rules = self.options.seats, rule_set(self.options.rules)
        if self.start_position is not None:
            self.seeds = (bytes.fromhex(self.start_position.seed),) * seats
            self.firsts = (first_of(self.start_position, rules),) * seats
            return
        self.seeds = seeds(self.options, self.place, secret=self.secret, nonces=self._dealt_by(nonces), k=self.k)
        # Each shuffle is dealt once, however many seats play it.
        positions = {seed: rules.deal(seed) for seed in dict.fromkeys(self.seeds)}
        self.firsts = tuple(positions[seed] for seed in self.seeds)

    def record(self, nonces: tuple[bytes, ...]) -> DealRecord:
        """What the record of the race says of the deal, once it is dealt. nonces: those of the seats."""
        nonces = self.place.nonces or nonces
        # In a swap only one seat at a time plays the deal's own shuffle.
        seed = derive_seed(self.secret, self._dealt_by(nonces), self.k) if self.options.swaps else self.seeds[0]
        return DealRecord(
            name=self.options.deal,
            commitment=self.commitment.hex(),
            secret=self.secret.hex(),
            nonces=tuple(nonce.hex() for nonce in nonces),
            winnable=self.options.winnable,
            k=self.k,
            seed=seed.hex(),
            shared=self.shown or self.shared,
            past=self.start_position.past if self.start_position is not None else None,
        )

    def _dealt_by(self, nonces: Sequence[bytes]) -> Sequence[bytes]:
        return [bytes.fromhex(nonce) for nonce in self.shared.nonces] if self.shared is not None else self.place.nonces or nonces
