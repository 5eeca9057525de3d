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
        rooms.on_change(self._mark)
        players.on_change(self._mark)

    def follow(self, member: Member) -> None:
        """Tell `member` now and on every change."""
        self._followers.add(member)
        member.post(Outgoing(self.state()))

    def unfollow(self, member: Member) -> None:
        self._followers.discard(member)

    async def run(self) -> None:
        """Tell the followers of changes until cancelled."""
        while True:
            await self._dirty.wait()
            self._dirty = trio.Event()
            if self._followers:
                outgoing = Outgoing(self.state())
                for member in self._followers:
                    member.post(outgoing)
            await trio.sleep(INTERVAL_S)

    def state(self) -> LobbyMessage:
        """The lobby as it is."""
        open_races = [info for room in self._rooms if (info := _open_race(room)) is not None]
        return LobbyMessage(
            players=tuple(player.name for player in islice(self._players.here(), LISTED)),
            players_here=len(self._players),
            races=tuple(open_races[:LISTED]),
            races_open=len(open_races),
            races_running=sum(room.race.phase in ("countdown", "racing") for room in self._rooms),
        )

    def _mark(self) -> None:
        self._dirty.set()


def _open_race(room: Room) -> OpenRaceInfo | None:
    race = room.race
    if not room.options.public or race.phase != "waiting" or all(seat.player for seat in race.seats):
        return None
    return OpenRaceInfo(
        code=room.code,
        rules=room.options.rules,
        names=tuple(seat.name for seat in race.seats if seat.player is not None),
        seats=room.options.seats,
        time_limit_s=room.options.time_limit_s,
    )
