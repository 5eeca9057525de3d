"""Who follows tournaments, and what they are told: the list, or one tournament, at most twice a second.

Must not know how a tournament is run: it looks at directors when something has changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, TypeAlias

import trio
from msgspec.structs import replace

from protocol.tournament_messages import Tournament
from protocol.tournament_messages import Tournaments as TournamentsMessage
from server.lobby.players import Players
from server.rooms.clock import Clock
from server.rooms.member import Member
from server.rooms.outgoing import Outgoing
from server.tournaments.director import Director
from server.tournaments.views import snapshot

INTERVAL_S: Final = 0.5
"""Seconds between two messages to the same followers, at least."""

PROGRESS_S: Final = 1.0
"""Seconds between two looks at how far the races are."""

Shown: TypeAlias = tuple[Director, int | None]
"""A tournament, and the round whose tables are told; None for the last one."""


class Subscriptions:
    """`run` is its one task."""

    def __init__(self, *, listed: Callable[[], TournamentsMessage], players: Players, clock: Clock) -> None:
        self._listed = listed
        self._players = players
        self._clock = clock
        self._of_list: set[Member] = set()
        self._of_one: dict[Member, Shown] = {}
        self._list_changed = False
        self._changed: set[Director] = set()
        self._told: dict[Shown, Tournament] = {}
        self._wake = trio.Event()
        players.on_change(self._presence_changed)

    def follow_list(self, member: Member) -> None:
        """Tell `member` now and on every change."""
        self._of_list.add(member)
        member.post(Outgoing(self._listed()))

    def unfollow_list(self, member: Member) -> None:
        self._of_list.discard(member)

    def follow(self, member: Member, director: Director, shown: int | None, *, ref: int) -> None:
        """Tell `member` of this tournament, and of no other one, now and on every change. ref: of the request, for its answer alone."""
        self._of_one[member] = director, shown
        member.post(Outgoing(replace(self._look(director, shown), ref=ref)))
        self._wake.set()

    def unfollow(self, member: Member) -> None:
        self._of_one.pop(member, None)

    def gone(self, member: Member) -> None:
        self.unfollow_list(member)
        self.unfollow(member)

    def remind(self, member: Member) -> None:
        """Tell a follower everything again; nothing to anybody else."""
        if member in self._of_list:
            member.post(Outgoing(self._listed()))
        if member in self._of_one:
            member.post(Outgoing(self._look(*self._of_one[member])))

    def is_followed(self, director: Director) -> bool:
        return any(followed is director for followed, _ in self._of_one.values())

    def changed(self, director: Director) -> None:
        """Something happened in it, or a room of it has changed."""
        self._changed.add(director)
        self._list_changed = True
        self._wake.set()

    def removed(self, director: Director) -> None:
        """There is no such tournament any more: its followers are told for the last time how it ended."""
        for member, shown in self._of_one.items():
            if shown[0] is director:
                member.post(Outgoing(self._look(*shown)))
        self._of_one = {member: shown for member, shown in self._of_one.items() if shown[0] is not director}
        self._changed.discard(director)
        self._list_changed = True
        self._wake.set()

    def _presence_changed(self) -> None:
        # Only followers of a tournament see which of its entrants are here.
        self._changed.update(director for director, _ in self._of_one.values())
        self._wake.set()

    async def run(self) -> None:
        """Tell of changes until cancelled."""
        while True:
            with trio.move_on_after(PROGRESS_S if self._is_any_live() else math.inf):
                await self._wake.wait()
            self._wake = trio.Event()
            self._tell()
            await trio.sleep(INTERVAL_S)

    def _is_any_live(self) -> bool:
        return any(director.tables.by_table for director, _ in self._of_one.values())

    def _tell(self) -> None:
        changed, self._changed = self._changed, set()
        told: dict[Shown, Tournament] = {}
        news: dict[Shown, Outgoing | None] = {}
        for member, shown in self._of_one.items():
            if shown not in news:
                news[shown] = None
                director, _ = shown
                if director in changed or director.tables.by_table or shown not in self._told:
                    looked = self._look(*shown)
                    if shown not in self._told or _timeless(looked) != _timeless(self._told[shown]):
                        news[shown] = Outgoing(looked)
                        told[shown] = looked
                    else:
                        told[shown] = self._told[shown]
                else:
                    told[shown] = self._told[shown]
            if (outgoing := news[shown]) is not None:
                member.post(outgoing)
        self._told = told
        if self._list_changed:
            self._list_changed = False
            if self._of_list:
                listed = Outgoing(self._listed())
                for member in self._of_list:
                    member.post(listed)

    def _look(self, director: Director, shown: int | None) -> Tournament:
        now = self._clock.now_ms()
        return snapshot(
            director.state,
            shown=shown,
            live={place: table.live(director.state, now) for place, table in director.tables.by_table.items()},
            is_here=lambda player: self._players.connection(player) is not None,
            now_ms=now,
        )


def _timeless(message: Tournament) -> Tournament:
    """All of it but the time, which needs nobody to tell it."""
    return replace(message, phase_ms=None, tables=tuple(replace(table, elapsed_ms=0, no_show_ms=None) for table in message.tables))
