"""Tells the followers of tournaments what they follow: the list, or one tournament, at most twice a second. Tells entrants of a check-in
that waits for them, whatever they follow.

Must not know how a tournament is run; it looks at directors when something has changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final, TypeAlias

import trio
from msgspec.structs import replace

from protocol.codec import SUBPROTOCOLS
from protocol.tournament_messages import Tournament
from protocol.tournament_messages import Tournaments as TournamentsMessage
from server.lobby.players import Players
from server.rooms.clock import Clock
from server.rooms.member import Member
from server.rooms.outgoing import CANNOT_WRITE, Outgoing
from server.tournaments.director import Director
from server.tournaments.ports import Beside
from server.tournaments.views import check_in_due, snapshot

INTERVAL_S: Final = 0.5
"""Least seconds between two messages to the same followers."""

PROGRESS_S: Final = 1.0
"""Seconds between two looks at the progress of races."""

Shown: TypeAlias = tuple[Director, int | None]
"""A tournament, and the round whose tables are shown; None for the last one."""


class Subscriptions:
    """`run` is its only task. The message about a large tournament takes long to make, so it is made beside the event loop."""

    def __init__(
        self,
        *,
        listed: Callable[[], TournamentsMessage],
        players: Players,
        clock: Clock,
        beside: Beside,
        here_elsewhere: Callable[[], AbstractSet[str]],
    ) -> None:
        """here_elsewhere: gives who is connected to another server of the place."""
        self._here_elsewhere = here_elsewhere
        self._listed = listed
        self._players = players
        self._clock = clock
        self._beside = beside
        self._of_list: set[Member] = set()
        self._of_one: dict[Member, Shown] = {}
        self._asked: dict[Member, int] = {}  # those who wait for their first message, and the `ref` of their request
        self._list_changed = False
        self._list: tuple[float, Outgoing] | None = None  # as last told, and when; None if it has changed since
        self._changed: set[Director] = set()
        self._removed: set[Director] = set()
        self._is_news = False
        self._are_clocks_wrong = False
        self._told: dict[Shown, Tournament] = {}
        # The entrants who were last told that their check-in is open, and how many seconds it takes.
        self._awaited: dict[Director, tuple[frozenset[str], int]] = {}
        self._wake = trio.Event()
        players.on_change.append(self.presence_changed)

    def follow_list(self, member: Member) -> None:
        """Tell `member` the list now and on every change."""
        self._of_list.add(member)
        member.post(self._listed_now())

    def _listed_now(self) -> Outgoing:
        """The list, made and encoded once however many ask, because a long one costs half a millisecond."""
        now = trio.current_time()
        if self._list is None or now - self._list[0] >= INTERVAL_S:
            self._list = now, Outgoing(self._listed())
        return self._list[1]

    def unfollow_list(self, member: Member) -> None:
        self._of_list.discard(member)

    def follow(self, member: Member, director: Director, shown: int | None, *, ref: int) -> None:
        """Tell `member` about this tournament and no other, in a moment and on every change. ref: of the request, for the first answer
        only.
        """
        self._of_one[member] = director, shown
        self._asked[member] = ref
        self._wake.set()

    def unfollow(self, member: Member) -> None:
        self._of_one.pop(member, None)
        self._asked.pop(member, None)

    def gone(self, member: Member) -> None:
        self.unfollow_list(member)
        self.unfollow(member)

    def remind(self, member: Member) -> None:
        """Tell a follower everything again; do nothing for others."""
        if member in self._of_list:
            member.post(self._listed_now())
        if member in self._of_one:
            self._asked.setdefault(member, 0)
            self._wake.set()

    def followed(self) -> set[Director]:
        """All tournaments that anybody follows."""
        return {director for director, _ in self._of_one.values()}

    def changed(self, director: Director) -> None:
        """Something happened in it, or one of its rooms has changed."""
        self._tell_entrants(director, frozenset(director.state.awaited))
        self._changed.add(director)
        self._list_changed = True
        self._list = None
        self._tell_soon()

    def _tell_entrants(self, director: Director, awaited: frozenset[str]) -> None:
        """Tell those whose check-in has opened or is extended, and those whom it no longer waits for. awaited: the entrants whose check-in
        is open."""
        check_in_s = director.state.options.check_in_s
        known, known_s = self._awaited.pop(director, (frozenset[str](), check_in_s))
        if awaited:
            self._awaited[director] = awaited, check_in_s
        for players in (awaited - known if check_in_s == known_s else awaited, known - awaited):
            told = [member for member in map(self._players.connection, players) if member is not None]
            if told:
                self._post(Outgoing(check_in_due(director.state, director.check_in_ms if players <= awaited else None)), told)

    def removed(self, director: Director) -> None:
        """The tournament no longer exists: tell its followers for the last time how it ended."""
        self._removed.add(director)
        self.changed(director)
        self._tell_entrants(director, frozenset())

    def presence_changed(self) -> None:
        """Somebody has come or gone."""
        # Only followers of a tournament see which entrants are here.
        self._changed.update(director for director, _ in self._of_one.values())
        self._tell_soon()

    def cannot_write(self) -> None:
        """Time stands still, and nothing is decided: tell the followers."""
        for member in self._of_one:
            member.post(CANNOT_WRITE)

    def tell_anew(self) -> None:
        """Tell everything again after time has stood still, because times passed or left do not count as changes."""
        self._are_clocks_wrong = True
        awaited, self._awaited = self._awaited, {}
        for director, (entrants, _) in awaited.items():
            self._tell_entrants(director, entrants)
        self._tell_soon()

    def _tell_soon(self) -> None:
        self._is_news = True
        self._wake.set()

    async def run(self) -> None:
        """Answer new followers, and tell of changes, until cancelled."""
        told_at = -math.inf
        while True:
            due = told_at + INTERVAL_S if self._is_news else told_at + PROGRESS_S if self._is_any_live() else math.inf
            with trio.move_on_at(due):
                await self._wake.wait()
            self._wake = trio.Event()
            await self._answer()
            if trio.current_time() >= due:
                self._is_news = False
                await self._tell()
                told_at = trio.current_time()

    def _is_any_live(self) -> bool:
        return any(director.is_live for director, _ in self._of_one.values())

    async def _answer(self) -> None:
        asked, self._asked = self._asked, {}
        looked: dict[Shown, Tournament] = {}
        for member, ref in asked.items():
            shown = self._of_one.get(member)
            if shown is not None:
                if shown not in looked:
                    looked[shown] = await self._beside(self._look(*shown))
                outgoing = await self._beside(partial(_outgoing, looked[shown], ref=ref))
                if self._of_one.get(member) == shown:
                    self._post(outgoing, [member])

    async def _tell(self) -> None:
        changed, self._changed = self._changed, set()
        removed, self._removed = self._removed, set()
        before, self._told = self._told if not self._are_clocks_wrong else {}, {}
        self._are_clocks_wrong = False
        for shown in dict.fromkeys(self._of_one.values()):
            director, _ = shown
            known = before.get(shown)
            if known is not None and director not in changed and not director.is_live:
                self._told[shown] = known
                continue
            message, outgoing = await self._beside(partial(_news, known, self._look(*shown)))
            self._told[shown] = message
            if outgoing is not None:
                self._post(outgoing, [member for member, followed in self._of_one.items() if followed == shown])
        for director in removed:
            self._of_one = {member: shown for member, shown in self._of_one.items() if shown[0] is not director}
        if self._list_changed:
            self._list_changed = False
            if self._of_list:
                listed = self._listed_now()
                for member in self._of_list:
                    member.post(listed)

    def _post(self, outgoing: Outgoing, members: Iterable[Member]) -> None:
        for member in members:
            member.post(outgoing)
            if self._clock.is_paused:
                # The message has times in it, and these stand still.
                member.post(CANNOT_WRITE)

    def _look(self, director: Director, shown: int | None) -> Callable[[], Tournament]:
        """A function that makes the message about the present state."""
        now, state = self._clock.now_ms(), director.state
        here = {player for player in state.crosstable.entrants if self._players.connection(player) is not None} | self._here_elsewhere()
        return partial(
            snapshot,
            state,
            shown=shown,
            live=director.live(now),
            is_here=here.__contains__,
            since_ms=director.since_ms,
            now_ms=now,
        )


def _news(known: Tournament | None, look: Callable[[], Tournament]) -> tuple[Tournament, Outgoing | None]:
    """The present message, and what to send to those who know the former one; None if there is nothing new."""
    looked = look()
    if known is not None and _timeless(looked) == _timeless(known):
        return known, None
    return looked, _outgoing(looked)


def _outgoing(message: Tournament, *, ref: int = 0) -> Outgoing:
    """The message, ready to be sent in either encoding."""
    outgoing = Outgoing(replace(message, ref=ref))
    for subprotocol in SUBPROTOCOLS:
        outgoing.payload(subprotocol)
    return outgoing


def _timeless(message: Tournament) -> Tournament:
    """The message without its times, whose passing nobody needs to be told."""
    return replace(message, phase_ms=None, tables=tuple(replace(table, elapsed_ms=0, no_show_ms=None) for table in message.tables))
