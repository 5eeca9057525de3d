"""Challenges: deals that players open for others to run until a time that they choose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from msgspec.structs import replace

from protocol.errors import ErrorCode, Refusal
from protocol.fairness import SECRET_BYTES, commitment
from protocol.run_messages import ChallengeInfo, OpenChallenge
from protocol.views import RaceOptions, SharedDeal
from server.rooms.clock import Clock
from server.rooms.codes import new_code
from server.rooms.options import check_options
from server.runs.boards import who_ran
from server.store.journal import Journal
from server.store.port import SharedDealMade
from server.store.store import Store

OPEN_AT_ONCE: Final = 10
"""How many challenges one player may have open."""

OPEN_FROM_PLACE: Final = 30
"""How many open challenges one IPv4 address or IPv6 /64 may have, as far as this server knows."""

LISTED: Final = 50

UNUSED_MS: Final = 24 * 3600 * 1000
"""After this time a challenge that nobody has begun to run is listed for its owner only. Anybody who has its id can still run it."""

LOOKED_AT: Final = 500
"""Only so many of the newest challenges are considered for listing."""

KEPT_MS: Final = 1000
"""How long what was read for a list is reused, however many ask."""

MARGIN_MS: Final = 60_000
"""Time between the last moment at which a run can end and the reveal, unless time was lost in an outage."""


_Newest: TypeAlias = tuple[tuple[SharedDealMade, ...], frozenset[str]]
"""The newest challenges, and the ids of those that anybody has begun to run."""


@dataclass(frozen=True, slots=True)
class Count:
    """Counts of a challenge's runs. owner: the name of its owner. over: how many runs have ended. ran: players who have had theirs."""

    read_at_ms: int
    owner: str
    over: int
    ran: frozenset[str]


class ChallengeRegistry:
    """entropy(n): n random bytes fit for secrets."""

    def __init__(self, *, journal: Journal, clock: Clock, entropy: Callable[[int], bytes]) -> None:
        self._store = journal.store
        self._journal = journal
        self._clock = clock
        self._entropy = entropy
        self._newest: tuple[int, _Newest] = 0, ((), frozenset())
        self._counts: dict[str, Count] = {}
        self._places: dict[str, tuple[str, int]] = {}  # where each open challenge was opened, and until when it is open

    async def open(self, player: str, asked: OpenChallenge, *, place: str | None = None) -> SharedDealMade:
        """Open a challenge for this player. place: the part of their address that counts as one. Raises Refusal, StoreError."""
        options = RaceOptions(rules=asked.rules, seats=1, public=asked.public, rated=False, time_limit_s=asked.time_limit_s)
        check_options(options)
        now = self._clock.wall_ms()
        if sum(made.owner == player and closes_at_ms(made) > now for made in (await self._read())[0]) >= OPEN_AT_ONCE:
            raise Refusal(ErrorCode.TOO_MANY_CHALLENGES, f"{OPEN_AT_ONCE} of your own")
        self._places = {id_: (where, until) for id_, (where, until) in self._places.items() if until > now}
        if place is not None and sum(where == place for where, _ in self._places.values()) >= OPEN_FROM_PLACE:
            raise Refusal(ErrorCode.TOO_MANY_CHALLENGES, f"{OPEN_FROM_PLACE} from one address, whoever opened them")
        code = new_code(self._entropy)
        while await self.deal(code) is not None:
            code = new_code(self._entropy)
        made = SharedDealMade(
            kind="challenge",
            id=code,
            secret=self._entropy(SECRET_BYTES),
            nonces=(asked.nonce,),
            options=options,
            owner=player,
            at_ms=now,
            reveals_at_ms=now + asked.closes_in_s * 1000 + _longest_ms(options),
        )
        await self._journal.write(made)
        if place is not None:
            self._places[made.id] = place, closes_at_ms(made)
        self.forget()
        return made

    async def listed(self, player: str) -> tuple[ChallengeInfo, ...]:
        """The challenges that this player may run, and their own, newest first. Raises StoreError.

        If there are too many, their own come before others, and each owner's latest before anybody's second.
        """
        now = self._clock.wall_ms()
        newest, begun = await self._read()
        shown = [
            made
            for made in newest
            if made.owner == player or (is_public(made) and closes_at_ms(made) > now and (made.at_ms + UNUSED_MS > now or made.id in begun))
        ]
        seen: Counter[str | None] = Counter()
        ranks: dict[str, int] = {}
        for made in shown:
            seen[made.owner] += 1
            ranks[made.id] = 0 if made.owner == player else seen[made.owner]
        chosen = set(sorted(ranks, key=ranks.__getitem__)[:LISTED])
        return await self.told([made for made in shown if made.id in chosen], player)

    async def told(self, shown: Sequence[SharedDealMade], player: str) -> tuple[ChallengeInfo, ...]:
        """What this player may know about these challenges. Raises StoreError."""
        now = self._clock.wall_ms()
        self._counts = {deal: count for deal, count in self._counts.items() if 0 <= now - count.read_at_ms < KEPT_MS}
        counts = dict(self._counts)
        if missing := [made for made in shown if made.id not in counts]:
            counts |= await self._journal.ask(_counts, self._store, missing, now)
            self._counts |= counts
        return tuple(_told(made, counts[made.id], player) for made in shown)

    def forget(self) -> None:
        """A challenge was opened or a run is over, so what was read for a list is out of date."""
        self._newest = 0, ((), frozenset())
        self._counts = {}

    async def deal(self, code: str) -> SharedDealMade | None:
        """The challenge with this id. Raises StoreError."""
        return await self._journal.ask(self._store.shared_deal, "challenge", code)

    async def _read(self) -> _Newest:
        read_at_ms, newest = self._newest
        # The wall clock may have been set back.
        if not 0 <= self._clock.wall_ms() - read_at_ms < KEPT_MS:
            newest = await self._journal.ask(_newest, self._store, self._clock.wall_ms())
            self._newest = self._clock.wall_ms(), newest
        return newest


def _newest(store: Store, now_ms: int) -> _Newest:
    return store.shared_deals("challenge", limit=LOOKED_AT), store.deals_run("challenge", revealed_after_ms=now_ms)


def _counts(store: Store, challenges: Sequence[SharedDealMade], now_ms: int) -> dict[str, Count]:
    owners = {owner: store.player(owner) for owner in {made.owner for made in challenges} if owner is not None}
    counts: dict[str, Count] = {}
    for made in challenges:
        runs = store.runs("challenge", made.id, rules=options_of(made).rules)
        owner = owners.get(made.owner) if made.owner is not None else None
        over = sum(run.phase == "over" for run in runs)
        counts[made.id] = Count(now_ms, owner.name if owner is not None else "", over, who_ran(runs))
    return counts


def _longest_ms(options: RaceOptions) -> int:
    """The time from the last moment at which a run can begin to the reveal. A run still under way then is stopped (see `RunCloser`)."""
    return (options.countdown_s + options.time_limit_s) * 1000 + MARGIN_MS


def options_of(made: SharedDealMade) -> RaceOptions:
    """The options of its runs. Nobody may watch these, whether or not the challenge is listed."""
    assert made.options is not None
    return replace(made.options, public=False)


def is_public(made: SharedDealMade) -> bool:
    """Whether it is listed for everybody."""
    return made.options is not None and made.options.public


def closes_at_ms(made: SharedDealMade) -> int:
    """The time until which a run may begin."""
    assert made.reveals_at_ms is not None
    assert made.options is not None
    return made.reveals_at_ms - _longest_ms(made.options)


def shared_deal(made: SharedDealMade) -> SharedDeal:
    """The deal of its runs."""
    return SharedDeal(kind="challenge", id=made.id, nonces=made.nonces)


def _told(made: SharedDealMade, count: Count, player: str) -> ChallengeInfo:
    options = made.options
    assert made.reveals_at_ms is not None
    assert options is not None
    return ChallengeInfo(
        id=made.id,
        owner=count.owner,
        rules=options.rules,
        time_limit_s=options.time_limit_s,
        public=is_public(made),
        commitment=commitment(made.secret).hex(),
        made_at_ms=made.at_ms,
        closes_at_ms=closes_at_ms(made),
        reveals_at_ms=made.reveals_at_ms,
        runs=count.over,
        ran=player in count.ran,
    )
