"""Requests about runs: deals of the day, challenges, their boards, and games played on. The store is asked for each, which takes a while.

Which runs there are and who may begin one is the affair of `server.runs`; where a run at another server is found, that of `forwarding`.
"""

from __future__ import annotations

import logging
from typing import Protocol

from protocol.client_messages import JoinRace
from protocol.errors import ErrorCode, Refusal
from protocol.run_messages import ListChallenges, ListRuns, OpenChallenge, PlayOn, RunQuestion, RunStart
from server.lobby.players import Players, cannot_read
from server.net.forwarding import Forwarding
from server.net.identification import Visit
from server.net.overload import Overload
from server.rooms.driver import Room
from server.rooms.member import NOBODY, PlayerName
from server.rooms.outgoing import Outgoing
from server.rooms.registry import Rooms
from server.runs.admission import RunUnderWay
from server.runs.service import RunService
from server.store.errors import RunAlready, StoreError

logger = logging.getLogger("carpet.net")


class SeatPlayer(Protocol):
    """Seats a player in a room."""

    def __call__(self, visit: Visit, player: PlayerName, room: Room, *, ref: int) -> None: ...


class RunRequests:
    def __init__(
        self, *, rooms: Rooms, players: Players, runs: RunService, overload: Overload, forwarding: Forwarding, seat: SeatPlayer
    ) -> None:
        self._rooms, self._players = rooms, players
        self._runs = runs
        self._overload = overload
        self._forwarding = forwarding
        self._seat = seat

    def ask(self, visit: Visit, message: RunQuestion) -> None:
        """Answer a question about deals of the day, challenges or boards. Raises Refusal for who may not ask it."""
        token = message.token if isinstance(message, (ListChallenges, ListRuns)) else None
        if token is None:
            if visit.player is None and visit.watches_as is None:
                raise Refusal(ErrorCode.HELLO_FIRST)
            if visit.player is None and visit.watches_as in (None, NOBODY) and isinstance(message, OpenChallenge):
                raise Refusal(ErrorCode.WATCHES_ONLY)
        visit.connection.hold()
        visit.connection.start_soon(self._answer, visit, token, message)

    async def _answer(self, visit: Visit, token: str | None, message: RunQuestion) -> None:
        try:
            player = visit.player or visit.watches_as or NOBODY if token is None else await self._players.find(token)
            visit.connection.post(Outgoing(await self._runs.answer(player.id, message, place=visit.place)))
        except (Refusal, StoreError) as error:
            visit.connection.refuse(_as_refusal(error, writes=isinstance(message, OpenChallenge)), message.ref)
        visit.connection.listen()

    def enter(self, visit: Visit, player: PlayerName, message: RunStart) -> None:
        """Seat the player in the room of a run. What they say meanwhile is heard after the answer."""
        visit.connection.hold()
        self._overload.coming += 1
        visit.connection.start_soon(self._enter, visit, player, message)

    async def _enter(self, visit: Visit, player: PlayerName, message: RunStart) -> None:
        try:
            # A room is opened for each of these, so first make sure that they are free to enter it.
            if isinstance(message, PlayOn):
                self._rooms.check_free(player.id)
            if not self._runs.has_room_for(player.id) and self._forwarding.send_opener_on(visit, message.ref):
                visit.connection.listen()
                return
            seat = await self._forwarding.claim(player)
            if seat and not self._rooms.has(seat) and await self._runs.is_under_way_in(seat, player.id, message):
                # What they ask for is where they sit: that is no reason to refuse it.
                raise RunUnderWay(seat)
            await self._forwarding.check_free(visit, player)
            if not visit.connection.is_open:
                # A newer connection of theirs may have been told that they have no seat.
                return
            room = await self._runs.room(player.id, message, place=visit.place)
            if self._rooms.of(player.id) is not room:
                self._rooms.check_free(player.id)
            self._seat(visit, player, room, ref=message.ref)
        except (Refusal, StoreError) as error:
            # The run is at another server, whether the directory says so or not, or that server is just being taken over from.
            if isinstance(error, RunUnderWay) and self._forwarding.look_for_room(visit, JoinRace(code=error.room, ref=message.ref)):
                return
            visit.connection.refuse(_as_refusal(error), message.ref)
        finally:
            self._overload.coming -= 1
        visit.connection.listen()


def _as_refusal(error: Refusal | StoreError, *, writes: bool = False) -> Refusal:
    """The refusal for an error. writes: the request was to store something."""
    if isinstance(error, Refusal):
        return error
    logger.warning("the store could not give what was asked for: %s", error)
    if isinstance(error, RunAlready):
        return Refusal(ErrorCode.ALREADY_RUN)
    return Refusal(ErrorCode.NOT_KEPT) if writes else cannot_read()
