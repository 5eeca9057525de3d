"""The lobby: who is here, which public races have a free seat, told to those who follow it.

Looks at rooms and players when something has changed, at most twice a second however much has, so that a thousand followers cost the
server one message, encoded once.
"""

from __future__ import annotations

from itertools import islice

import trio

from protocol.server_messages import Lobby as LobbyMessage
from protocol.views import OpenRaceInfo
from server.lobby.players import Players
from server.rooms.member import Member
from server.rooms.outgoing import Outgoing
from server.rooms.registry import Rooms
from server.rooms.room import Room

INTERVAL_S = 0.5
"""Seconds between two messages to the followers, at least."""

LISTED = 100
"""Races and players that one message lists, at most."""


class Lobby:
    """`run` is its one task."""

    def __init__(self, rooms: Rooms, players: Players) -> None:
        self._rooms = rooms
        self._players = players
        self._followers: set[Member] = set()
        self._dirty = trio.Event()
        self._latest: Outgoing | None = None
        rooms.on_change(self._mark)
        players.on_change(self._mark)

    def follow(self, member: Member) -> None:
        """Tell `member` now and on every change."""
        self._followers.add(member)
        self.remind(member)

    def unfollow(self, member: Member) -> None:
        self._followers.discard(member)

    def remind(self, member: Member) -> None:
        """Tell a follower the latest news again; nothing to anybody else.

        Never looks at all rooms for one member's sake: what has changed since the last look, all followers hear in a moment.
        """
        if member in self._followers:
            if self._latest is None:
                self._latest = Outgoing(self.state())
            member.post(self._latest)

    async def run(self) -> None:
        """Tell the followers of changes until cancelled."""
        while True:
            await self._dirty.wait()
            self._dirty = trio.Event()
            self._latest = None
            if self._followers:
                self._latest = Outgoing(self.state())
                for member in self._followers:
                    member.post(self._latest)
            await trio.sleep(INTERVAL_S)

    def state(self) -> LobbyMessage:
        """The lobby as it is."""
        open_races = [room for room in self._rooms if _is_open(room)]
        return LobbyMessage(
            players=tuple(player.name for player in islice(self._players.here(), LISTED)),
            players_here=len(self._players),
            races=tuple(_open_race(room) for room in islice(open_races, LISTED)),
            races_open=len(open_races),
            races_running=sum(room.race.phase in ("countdown", "racing") for room in self._rooms),
        )

    def _mark(self) -> None:
        self._dirty.set()


def _is_open(room: Room) -> bool:
    return room.options.public and room.race.phase == "waiting" and any(seat.player is None for seat in room.race.seats)


def _open_race(room: Room) -> OpenRaceInfo:
    return OpenRaceInfo(
        code=room.code,
        rules=room.options.rules,
        names=tuple(seat.name for seat in room.race.seats if seat.player is not None),
        seats=room.options.seats,
        time_limit_s=room.options.time_limit_s,
    )
