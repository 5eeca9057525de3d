"""The lobby: tells its followers who is here, how many of them look for an opponent, and which public races have a free seat or are run.

It looks at rooms and players when something has changed, at most twice a second however much changes, so that a thousand followers cost the
server one message, encoded once. The cost of a look depends on what is listed, not on how much there is (`listing`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import TypeVar

import trio

from protocol.server_messages import Lobby as LobbyMessage
from protocol.server_messages import LobbyChanges
from protocol.views import OpenRaceInfo, RunningChange, RunningRaceInfo, RunningSeatInfo
from server.lobby.listing import Listing
from server.lobby.matchmaker import Matchmaker
from server.lobby.players import Players
from server.rooms.clock import Clock
from server.rooms.closest_races import LISTED
from server.rooms.driver import Room
from server.rooms.member import Member
from server.rooms.outgoing import Outgoing
from server.rooms.registry import Rooms

Item = TypeVar("Item")

INTERVAL_S = 0.5
"""Least seconds between two messages to the followers."""

PROGRESS_S = 1.0
"""Seconds between two looks at the progress of the listed running races."""

EMPTY = LobbyMessage(players=(), players_here=0, races=(), races_open=0, races_running=0, ratings=(), running=())


class Lobby:
    """`run` is its only task."""

    def __init__(self, rooms: Rooms, players: Players, matchmaker: Matchmaker, clock: Clock) -> None:
        self._listing = Listing()
        self._closest = rooms.closest
        self._clock = clock
        self._players = players
        self._matchmaker = matchmaker
        self._followers: dict[Member, bool] = {}
        """Each with whether they take messages about changes only."""
        self._changed = False
        self._wake = trio.Event()
        self._latest: Outgoing | None = None
        self._looked_at = 0.0
        self._running: tuple[RunningRaceInfo, ...] = ()
        self._told = EMPTY
        """What all followers know, except those who came later."""
        self._known: dict[Member, LobbyMessage] = {}
        """What those who came later know."""
        self._elsewhere: Sequence[LobbyMessage] = ()
        for room in rooms:
            self._listing.changed(room)
        rooms.on_room_change.append(self._listing.changed)
        rooms.on_change.append(self._mark)
        rooms.on_clocks_right.append(self._tell_anew)
        players.on_change.append(self._mark)
        matchmaker.on_change.append(self._mark)

    def follow(self, member: Member, *, changes: bool = False) -> None:
        """Tell `member` now and on every change. changes: on a change, telling what has changed is enough."""
        if not self._followers:
            self._told = self._latest_state()
        self._followers[member] = changes
        self.remind(member)
        self._wake.set()

    def unfollow(self, member: Member) -> None:
        self._followers.pop(member, None)
        self._known.pop(member, None)

    def remind(self, member: Member) -> None:
        """Tell a follower the latest news again. Later changes reach them in a moment, along with all the others."""
        if member in self._followers:
            self._known[member] = self._latest_state()
            member.post(self.latest())

    def _tell_anew(self) -> None:
        """Tell all followers everything again, because the elapsed times of races do not count as changes."""
        self._latest = None
        for member in self._followers:
            self.remind(member)

    def _latest_state(self) -> LobbyMessage:
        state = self.latest().message
        assert isinstance(state, LobbyMessage)
        return state

    def latest(self) -> Outgoing:
        """The latest news, at most a second old. However many ask, it is put together at most twice a second."""
        stale = self._running and trio.current_time() >= self._looked_at + PROGRESS_S
        return self._look() if self._latest is None or stale else self._latest

    async def run(self) -> None:
        """Tell the followers of changes until cancelled."""
        due = math.inf
        while True:
            # Moves do not count as changes of rooms, so running races have to be looked at, however often somebody comes to follow.
            due = min(due, trio.current_time() + PROGRESS_S) if self._followers and self._running else math.inf
            with trio.move_on_at(due):
                await self._wake.wait()
            self._wake = trio.Event()
            if self._changed or trio.current_time() >= due:
                due = math.inf
                self._tell()
                await trio.sleep(INTERVAL_S)

    def _tell(self) -> None:
        self._changed = False
        if not self._followers:
            self._latest = None
            return
        latest = self._look()
        before, self._told = self._told, self._latest_state()
        found = changes(before, self._told)
        told = Outgoing(found) if found is not None else None
        for member, by_changes in self._followers.items():
            known = self._known.pop(member, before)
            if known is before and told is not None:
                member.post(told if by_changes else latest)
            elif known is not before and changes(known, self._told) is not None:
                member.post(latest)

    def hear(self, elsewhere: Sequence[LobbyMessage]) -> None:
        """elsewhere: the lobbies of the other servers of this place, as they have just reported them."""
        before, self._elsewhere = self._elsewhere, elsewhere
        if len(before) != len(elsewhere) or any(changes(*pair) is not None for pair in zip(before, elsewhere, strict=True)):
            self._mark()

    def _look(self) -> Outgoing:
        state = self.state()
        if self._elsewhere:
            state = merged(state, self._elsewhere, closest=next((race.code for race in self._closest), None))
        self._running = state.running
        self._looked_at = trio.current_time()
        self._latest = Outgoing(state)
        return self._latest

    def state(self) -> LobbyMessage:
        """The present lobby of this server alone."""
        now = self._clock.now_ms()
        return LobbyMessage(
            players=tuple(player.name for player in islice(self._players.here(), LISTED)),
            players_here=len(self._players),
            races=tuple(self._open_race(room) for room in self._listing.longest_open()),
            races_open=len(self._listing.open),
            ratings=tuple(self._players.rating(player.id) for player in islice(self._players.here(), LISTED)),
            races_running=self._listing.running,
            running=tuple(self._running_race(room, now) for room in self._closest.look()),
            seeking=len(self._matchmaker),
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


def merged(own: LobbyMessage, others: Sequence[LobbyMessage], *, closest: str | None = None) -> LobbyMessage:
    """The lobbies of several servers as one, within the limits of one list: the first of each, then the second of each, and so on.

    closest: the code of the race to put first, if it is the first of one of them.
    """
    parts = (own, *others)
    by_closeness = sorted(parts, key=lambda part: not part.running or part.running[0].code != closest)
    players = tuple(islice(_in_turn([zip(part.players, part.ratings, strict=True) for part in parts]), LISTED))
    return LobbyMessage(
        players=tuple(name for name, _ in players),
        players_here=sum(part.players_here for part in parts),
        races=tuple(islice(_in_turn([part.races for part in parts]), LISTED)),
        races_open=sum(part.races_open for part in parts),
        ratings=tuple(rating for _, rating in players),
        races_running=sum(part.races_running for part in parts),
        running=tuple(islice(_in_turn([part.running for part in by_closeness]), LISTED)),
        seeking=sum(part.seeking for part in parts),
    )


def _in_turn(lists: Sequence[Iterable[Item]]) -> Iterator[Item]:
    return (item for row in zip_longest(*lists, fillvalue=None) for item in row if item is not None)


def changes(before: LobbyMessage, after: LobbyMessage) -> LobbyChanges | None:
    """What has changed in the lobby; None if nothing has but the times, whose passing nobody needs to be told."""
    races = {info.code: info for info in before.races}
    running = {info.code: info for info in before.running}
    listed_races, listed_running = ({info.code for info in listed} for listed in (after.races, after.running))
    gone = (*(code for code in races if code not in listed_races), *(code for code in running if code not in listed_running))
    new_races = tuple(info for info in after.races if info != races.get(info.code))
    fixed = {info.code: _without_progress(info) for info in before.running}
    new_running = tuple(info for info in after.running if fixed.get(info.code) != _without_progress(info))
    new_codes = {info.code for info in new_running}
    progress = tuple(_progress(info) for info in after.running if info.code not in new_codes and _state(info) != _state(running[info.code]))
    players = (before.players, before.ratings) != (after.players, after.ratings)
    closest = [info.code for info in after.running[:1]]
    counts = [(lobby.players_here, lobby.races_open, lobby.races_running, lobby.seeking) for lobby in (before, after)]
    if not (gone or new_races or new_running or progress or players or counts[0] != counts[1] or closest != [*running][:1]):
        return None
    return LobbyChanges(
        players_here=after.players_here,
        races_open=after.races_open,
        races_running=after.races_running,
        gone=gone,
        races=new_races,
        running=new_running,
        progress=progress,
        closest=closest[0] if closest else None,
        players=after.players if players else None,
        ratings=after.ratings if players else None,
        seeking=after.seeking,
    )


def _progress(info: RunningRaceInfo) -> RunningChange:
    return RunningChange(
        code=info.code,
        watchers=info.watchers,
        elapsed_ms=info.elapsed_ms,
        homes=tuple(seat.home for seat in info.seats),
        states=tuple(seat.state for seat in info.seats),
    )


def _state(info: RunningRaceInfo) -> object:
    return info.watchers, [(seat.home, seat.state) for seat in info.seats]


def _without_progress(info: RunningRaceInfo) -> object:
    seats = [(seat.name, seat.bot, seat.rating) for seat in info.seats]
    return info.rules, seats, info.time_limit_s, info.delay_s, info.tournament
