"""The lobby: who is here, which public races have a free seat, told to those who follow it.

Looks at rooms and players when something has changed, at most twice a second however much has, so that a thousand followers cost the
server one message, encoded once. A look costs what is listed, and not what there is (`listing`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import TypeVar

import trio
from msgspec import structs

from protocol.server_messages import Lobby as LobbyMessage
from protocol.views import OpenRaceInfo, RunningRaceInfo, RunningSeatInfo
from server.lobby.listing import Listing
from server.lobby.players import Players
from server.rooms.clock import Clock
from server.rooms.driver import Room
from server.rooms.member import Member
from server.rooms.outgoing import Outgoing
from server.rooms.registry import Rooms

Item = TypeVar("Item")

INTERVAL_S = 0.5
"""Seconds between two messages to the followers, at least."""

PROGRESS_S = 1.0
"""Seconds between two looks at how far the races are that are listed as being run."""

LISTED = 100
"""Races and players that one message lists, at most."""


class Lobby:
    """`run` is its one task."""

    def __init__(self, rooms: Rooms, players: Players, clock: Clock) -> None:
        self._listing = Listing()
        self._clock = clock
        self._players = players
        self._followers: set[Member] = set()
        self._changed = False
        self._wake = trio.Event()
        self._latest: Outgoing | None = None
        self._looked_at = 0.0
        self._running: tuple[RunningRaceInfo, ...] = ()
        self._told: list[object] = []
        self._elsewhere: Sequence[LobbyMessage] = ()
        for room in rooms:
            self._listing.changed(room)
        rooms.on_room_change(self._listing.changed)
        rooms.on_change(self._mark)
        players.on_change(self._mark)

    def follow(self, member: Member) -> None:
        """Tell `member` now and on every change."""
        self._followers.add(member)
        self.remind(member)
        if len(self._followers) == 1:
            self._told = _progress(self._running)
        self._wake.set()

    def unfollow(self, member: Member) -> None:
        self._followers.discard(member)

    def remind(self, member: Member) -> None:
        """Tell a follower the latest news again; nothing to anybody else.

        Never makes news for one member's sake: what has changed since the last look, all followers hear in a moment.
        """
        if member in self._followers:
            member.post(self.latest())

    def latest(self) -> Outgoing:
        """The latest news, a second old at most; however many ask, they are put together twice a second."""
        stale = self._running and trio.current_time() >= self._looked_at + PROGRESS_S
        return self._look() if self._latest is None or stale else self._latest

    async def run(self) -> None:
        """Tell the followers of changes until cancelled."""
        while True:
            # Moves are no change of the rooms, so where a race is being run one has to look.
            with trio.move_on_after(PROGRESS_S if self._followers and self._running else math.inf) as looking:
                await self._wake.wait()
            self._wake = trio.Event()
            if self._changed or looking.cancelled_caught:
                self._tell()
                await trio.sleep(INTERVAL_S)

    def _tell(self) -> None:
        changed, self._changed = self._changed, False
        if not self._followers:
            self._latest = None
            return
        latest = self._look()
        if changed or _progress(self._running) != self._told:
            self._told = _progress(self._running)
            for member in self._followers:
                member.post(latest)

    def hear(self, elsewhere: Sequence[LobbyMessage]) -> None:
        """What the other servers of this place have just said of themselves."""
        before, self._elsewhere = self._elsewhere, elsewhere
        if list(map(_news, before)) != list(map(_news, elsewhere)):
            self._mark()

    def _look(self) -> Outgoing:
        state = merged(self.state(), self._elsewhere) if self._elsewhere else self.state()
        self._running = state.running
        self._looked_at = trio.current_time()
        self._latest = Outgoing(state)
        return self._latest

    def state(self) -> LobbyMessage:
        """The lobby of this server as it is."""
        now = self._clock.now_ms()
        return LobbyMessage(
            players=tuple(player.name for player in islice(self._players.here(), LISTED)),
            players_here=len(self._players),
            races=tuple(self._open_race(room) for room in self._listing.longest_open(LISTED)),
            races_open=len(self._listing.open),
            ratings=tuple(self._players.rating(player.id) for player in islice(self._players.here(), LISTED)),
            races_running=self._listing.running,
            running=tuple(self._running_race(room, now) for room in self._listing.closest(LISTED)),
        )

    def _open_race(self, room: Room) -> OpenRaceInfo:
        taken = [(seat.player, seat.name) for seat in room.summary.seats if seat.player is not None]
        return OpenRaceInfo(
            code=room.code,
            rules=room.options.rules,
            names=tuple(name for _, name in taken),
            seats=room.options.seats,
            time_limit_s=room.options.time_limit_s,
            rated=room.options.counts,
            ratings=tuple(self._players.rating(player) for player, _ in taken),
            series=room.options.series,
        )

    def _running_race(self, room: Room, now: int) -> RunningRaceInfo:
        summary = room.summary
        seats = (
            RunningSeatInfo(
                name=seat.name,
                bot=seat.bot,
                state=seat.state,
                home=seat.home,
                rating=self._players.rating(seat.player) if seat.player is not None and seat.bot is None else None,
            )
            for seat in summary.seats
        )
        return RunningRaceInfo(
            code=room.code,
            rules=room.options.rules,
            seats=tuple(seats),
            watchers=room.watchers,
            elapsed_ms=summary.elapsed_ms(now),
            time_limit_s=room.options.time_limit_s,
            delay_s=room.options.delay_s,
            tournament=room.spec.tournament if room.spec is not None else "",
        )

    def _mark(self) -> None:
        self._changed = True
        self._wake.set()


def merged(own: LobbyMessage, others: Sequence[LobbyMessage]) -> LobbyMessage:
    """One lobby of several servers, each of which lists no more than it may: the first of each, then the second, and so on."""
    parts = (own, *others)
    players = tuple(islice(_in_turn([zip(part.players, part.ratings, strict=True) for part in parts]), LISTED))
    return LobbyMessage(
        players=tuple(name for name, _ in players),
        players_here=sum(part.players_here for part in parts),
        races=tuple(islice(_in_turn([part.races for part in parts]), LISTED)),
        races_open=sum(part.races_open for part in parts),
        ratings=tuple(rating for _, rating in players),
        races_running=sum(part.races_running for part in parts),
        running=tuple(islice(_in_turn([part.running for part in parts]), LISTED)),
    )


def _in_turn(lists: Sequence[Iterable[Item]]) -> Iterator[Item]:
    return (item for row in zip_longest(*lists, fillvalue=None) for item in row if item is not None)


def _news(lobby: LobbyMessage) -> object:
    return structs.replace(lobby, running=()), _progress(lobby.running)


def _progress(running: tuple[RunningRaceInfo, ...]) -> list[object]:
    """All of it but the time, which needs nobody to tell it."""
    return [(info.code, info.watchers, info.seats) for info in running]
