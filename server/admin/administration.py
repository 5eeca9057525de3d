"""Carries out what the host asks a running server for. Must not know how the question arrived.

Whatever is ended counts for nothing, and those concerned are told, with the reason. If a player is put out, the races they sit in end too
and are not rated.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, TypeAlias

import trio

from protocol.errors import CloseCode, ErrorCode, Refusal
from protocol.text import clean_chat, counted
from server.admin.messages import ANSWER_S, ROWS_AT_ONCE, Answer, Question
from server.lobby.bans import Bans
from server.lobby.matchmaker import Matchmaker
from server.lobby.players import Players
from server.net.connection_limits import THIS_MACHINE, place_of
from server.net.dispatch import Dispatch
from server.net.identification import Visit, put_out
from server.rooms.driver import Room
from server.rooms.member import PlayerName
from server.rooms.outgoing import refused
from server.rooms.registry import Rooms
from server.rooms.requests import CallOff
from server.store.answers import Player
from server.store.errors import StoreError
from server.store.journal import Journal
from server.store.port import BanKind
from server.tournaments.service import TournamentService

logger = logging.getLogger("carpet.admin")

ENDED: Final = "the host of the server has ended this connection"

LATER: Final = "this will be done as soon as it can write, unless it stops before"
LATER_ENDED: Final = "the tournament is ended as soon as it can write, unless it stops before: then ask once more to remove it"

ROOM_LOOK_S: Final = 0.05
"""How often it is looked whether a room that is to end has ended, and that is stored."""

CLOSE_REASON_BYTES: Final = 123

Row: TypeAlias = dict[str, str | int | bool | None]


class _Refused(Exception):
    """One sentence for the host."""


class Administration:
    def __init__(
        self,
        *,
        rooms: Rooms,
        players: Players,
        matchmaker: Matchmaker,
        tournaments: TournamentService,
        dispatch: Dispatch,
        bans: Bans,
        journal: Journal,
    ) -> None:
        self._rooms = rooms
        self._players = players
        self._matchmaker = matchmaker
        self._tournaments = tournaments
        self._dispatch = dispatch
        self._bans = bans
        self._journal = journal
        self._store = journal.store
        self.say_elsewhere: Callable[[str], int | None] = lambda _: 0
        """Says something to everybody at the other servers of the place, and gives their number; None if they cannot be told."""
        self._lists: dict[tuple[str, str], Callable[[], AsyncIterator[Row]]] = {
            ("tournaments", "list"): self._list_tournaments,
            ("rooms", "list"): self._list_rooms,
            ("rooms", "under-way"): self._list_under_way,
            ("players", "list"): self._list_players,
            ("players", "bans"): self._list_banned_players,
            ("connections", "list"): self._list_connections,
            ("connections", "bans"): self._list_banned_addresses,
        }
        self._orders: dict[tuple[str, str], Callable[[str, str], Awaitable[str]]] = {
            ("tournaments", "end"): self._end_tournament,
            ("tournaments", "remove"): self._remove_tournament,
            ("tournaments", "director"): self._hand_over,
            ("rooms", "end"): self._end_room,
            ("rooms", "drain"): self._drain,
            ("rooms", "undrain"): self._undrain,
            ("players", "end"): self._end_player,
            ("players", "ban"): self._ban_player,
            ("players", "unban"): self._unban_player,
            ("players", "rename"): self._rename_player,
            ("connections", "end"): self._end_connection,
            ("connections", "ban"): self._ban_address,
            ("connections", "unban"): self._unban_address,
            ("connections", "say"): self._say,
        }

    async def answer(self, question: Question) -> Answer:
        """Errors of the question or the store are answered, never raised."""
        key = question.noun, question.verb
        if key not in self._lists and key not in self._orders:
            return Answer(error=f"there is no command {question.verb} for {question.noun}")
        reason = clean_chat(question.reason)
        try:
            with trio.fail_after(ANSWER_S):
                if key in self._lists:
                    return Answer(rows=await self._rows(self._lists[key]()))
                done = await self._orders[key](question.target, clean_chat(question.text) or reason)
        except (_Refused, ValueError) as error:
            return Answer(error=str(error))
        except StoreError as error:
            return Answer(error=f"the server cannot {'read' if key in self._lists else 'write'}: {error}")
        except trio.TooSlowError:
            # Of a removal, only the ending is done later.
            later = LATER if key != ("tournaments", "remove") else LATER_ENDED
            logger.warning("the host: %s: not done yet; %s", " ".join(filter(None, (*key, question.target))), later)
            return Answer(error=f"the server has not been able to do it yet; {later}")
        if reason:
            done = f"{done}; reason: {reason}"
        logger.info("the host: %s: %s", " ".join(filter(None, (*key, question.target))), done)
        return Answer(done=done)

    @staticmethod
    async def _rows(listed: AsyncIterator[Row]) -> tuple[Row, ...]:
        rows: list[Row] = []
        async for row in listed:
            rows.append(row)
            if len(rows) % ROWS_AT_ONCE == 0:
                await trio.lowlevel.checkpoint()
        return tuple(rows)

    # ---- tournaments

    async def _list_tournaments(self) -> AsyncIterator[Row]:
        for state in self._tournaments.states():
            yield {
                "id": state.id,
                "name": state.options.name,
                "director": state.director_name,
                "phase": state.phase,
                "entrants": state.crosstable.size,
                "round": state.round,
                "public": state.options.public,
                "made_at_ms": state.made_at_ms,
            }

    async def _end_tournament(self, target: str, reason: str) -> str:
        await self._tournaments.end(target, reason)
        return "ended, with the races that were being run"

    async def _remove_tournament(self, target: str, reason: str) -> str:
        await self._tournaments.remove(target, reason)
        return "removed"

    async def _hand_over(self, target: str, name: str) -> str:
        player = await self._find(name)
        await self._tournaments.hand_over(target, PlayerName(player.id, player.name))
        return f"{player.name} directs it now"

    # ---- rooms

    async def _list_rooms(self) -> AsyncIterator[Row]:
        # A copy, because races come and go while they are listed.
        for room in list(self._rooms):
            summary = room.summary
            yield {
                "code": room.code,
                "phase": summary.phase,
                "race": summary.number,
                "rules": room.options.rules,
                "players": ", ".join(seat.name for seat in summary.seats if seat.name),
                "public": room.options.public,
                "rated": room.options.counts,
                "watchers": room.watchers,
            }

    async def _end_room(self, target: str, reason: str) -> str:
        try:
            room = self._rooms.find(target)
        except Refusal:
            raise _Refused(f"there is no room {target}") from None
        self._end(room, reason)
        while self._rooms.has(room.code):  # noqa: ASYNC110  (nobody else waits for a room to be gone)
            await trio.sleep(ROOM_LOOK_S)
        return "ended"

    @staticmethod
    def _end(room: Room, reason: str) -> None:
        room.tell(CallOff(also_running=True, by_host=reason))

    async def _list_under_way(self) -> AsyncIterator[Row]:
        """One row: how many races, and tournaments led here, have to end before a drained server has nothing to do."""
        states = self._tournaments.states(led_here=True)
        yield {
            "races": sum(room.summary.phase in ("countdown", "racing") for room in self._rooms),
            "tournaments": sum(state.phase == "running" or state.next_due_ms(since_ms=0) is not None for state in states),
        }

    async def _drain(self, target: str, why: str) -> str:
        """Nobody is told where another server takes what is new."""
        del target
        before, self._rooms.draining = self._rooms.draining, why
        if why != before and self._dispatch.forwarding.relief is None:
            self._matchmaker.give_up(Refusal(ErrorCode.SERVER_STOPPING, why))
            await self.say(f"No new races or tournaments begin here any more{f': {why}' if why else ''}. What runs goes on to its end.")
        return "nothing new begins here"

    async def _undrain(self, target: str, why: str) -> str:
        del target, why
        if self._rooms.draining is None:
            raise _Refused("races and tournaments can begin here")
        were_told, self._rooms.draining = self._dispatch.forwarding.relief is None, None
        if were_told:
            await self.say("Races and tournaments can begin here again.")
        return "races and tournaments can begin here again"

    # ---- players

    async def _list_players(self) -> AsyncIterator[Row]:
        for visit in self._dispatch.visits():
            player = visit.player
            if player is not None:
                room = self._rooms.of(player.id)
                yield {
                    "id": player.id,
                    "name": player.name,
                    "rating": self._players.rating(player.id),
                    "room": room.code if room is not None else None,
                    "connection": visit.connection.number,
                    "address": visit.connection.remote_host,
                }

    async def _find(self, target: str) -> Player:
        """By name or id."""
        named = await self._journal.ask(self._store.player_by_name, target)
        known = await self._journal.ask(self._store.player, target)
        if named is not None and known is not None and named.id != known.id:
            # Otherwise a player whose name is another's id could have that other one put out in their place.
            raise _Refused(f"{target} is the id of {known.name} and the name of {named.id}: name one of these")
        found = named or known
        if found is None:
            raise _Refused(f"there is no player {target!r}")
        return found

    async def _end_player(self, target: str, reason: str) -> str:
        player = await self._find(target)
        theirs = [visit for visit in self._dispatch.visits() if _is_theirs(visit, player.id)]
        for visit in theirs:
            visit.connection.shut(CloseCode.ENDED_BY_HOST, _close_reason(reason))
        if not theirs:
            raise _Refused(f"{player.name} is not here")
        return f"{player.name} was disconnected, and may come back"

    async def _ban_player(self, target: str, reason: str) -> str:
        player = await self._find(target)
        # In the same moment as the ban, which holds before it is stored.
        ended = self.put_out("player", player.id, reason)
        await self._bans.ban("player", player.id, reason)
        return f"{player.name} is banned{ended}"

    async def _unban_player(self, target: str, reason: str) -> str:
        del reason
        player = await self._find(target)
        return await self._lift("player", player.id, player.name)

    async def _rename_player(self, target: str, name: str) -> str:
        player = await self._find(target)
        try:
            renamed = await self._dispatch.identification.rename(PlayerName(player.id, player.name), name)
        except Refusal as refusal:
            raise _Refused(refusal.sentence) from None
        return f"{player.name} is now called {renamed.name}"

    # ---- connections and addresses

    async def _say(self, target: str, text: str) -> str:
        del target
        if not text:
            raise _Refused("there is nothing to say")
        heard, others = await self.say(text), self.say_elsewhere(text)
        if others is None:
            return f"said to all connections here, {heard}, but the other servers cannot be told just now: {text}"
        elsewhere = f", and at {counted(others, 'other server')}" if others else ""
        return f"said to all connections{' here' if others else ''}, {heard}{elsewhere}: {text}"

    async def say(self, text: str) -> int:
        """To all here who have said hello: the first error that others hear is the answer to theirs. Gives their number."""
        said = refused(Refusal(ErrorCode.HOST_SAYS, text), 0)
        heard = [visit.connection for visit in self._dispatch.visits() if visit.player is not None or visit.watches_as is not None]
        for number, connection in enumerate(heard, 1):
            connection.post(said)
            if number % ROWS_AT_ONCE == 0:
                await trio.lowlevel.checkpoint()
        return len(heard)

    async def _list_connections(self) -> AsyncIterator[Row]:
        for visit in self._dispatch.visits():
            player = visit.player or visit.watches_as
            yield {
                "number": visit.connection.number,
                "address": visit.connection.remote_host,
                "player": player.name if player is not None else None,
                "watches": visit.watches_as is not None,
                "waiting_bytes": visit.connection.waiting_bytes,
            }

    async def _end_connection(self, target: str, reason: str) -> str:
        for visit in self._dispatch.visits():
            if visit.connection.number == target:
                visit.connection.shut(CloseCode.ENDED_BY_HOST, _close_reason(reason))
                await trio.lowlevel.checkpoint()
                return "ended; its player may come back"
        raise _Refused(f"there is no connection {target}")

    async def _ban_address(self, target: str, reason: str) -> str:
        place = _place(target)
        ended = self.put_out("address", place, reason)
        await self._bans.ban("address", place, reason)
        return f"{place} is banned{ended}"

    async def _unban_address(self, target: str, reason: str) -> str:
        del reason
        place = _place(target)
        return await self._lift("address", place, place)

    # ---- bans

    async def _list_banned_players(self) -> AsyncIterator[Row]:
        for banned in self._bans.listed("player"):
            player = await self._journal.ask(self._store.player, banned.subject)
            name = player.name if player is not None else None
            yield {"subject": banned.subject, "name": name, "reason": banned.reason, "at_ms": banned.at_ms}

    async def _list_banned_addresses(self) -> AsyncIterator[Row]:
        for banned in self._bans.listed("address"):
            yield {"subject": banned.subject, "reason": banned.reason, "at_ms": banned.at_ms}

    async def _lift(self, kind: BanKind, subject: str, name: str) -> str:
        try:
            await self._bans.lift(kind, subject)
        except LookupError:
            raise _Refused(f"{name} is not banned") from None
        return f"{name} may come back"

    def put_out(self, kind: BanKind, subject: str, reason: str) -> str:
        """End what a banned player, or anybody at a banned address, does here. Gives the result, as the end of a sentence."""
        if kind == "player":
            self._tournaments.withdraw(subject, reason)
            players = {subject}
            visits = [visit for visit in self._dispatch.visits() if _is_theirs(visit, subject)]
        else:
            visits = [visit for visit in self._dispatch.visits() if place_of(visit.connection.remote_host) == subject]
            players = {visit.player.id for visit in visits if visit.player is not None}
        rooms = {room for player in players if (room := self._rooms.of(player)) is not None}
        running = sum(room.summary.phase != "over" for room in rooms)
        for room in rooms:
            self._end(room, reason)
        refusal = Refusal(ErrorCode.BANNED, reason)
        for visit in visits:
            put_out(visit.connection, refusal)
        if not self._dispatch.forwarding.others:
            return f"; connections closed: {len(visits)}, races ended: {running}"
        # They hear of the ban by the database.
        elsewhere = "what is at other servers ends in a moment, and is not counted"
        return f"; connections closed here: {len(visits)}, races ended here: {running}; {elsewhere}"


def _is_theirs(visit: Visit, player: str) -> bool:
    return player in (person.id for person in (visit.player, visit.watches_as) if person is not None)


def _close_reason(reason: str) -> str:
    """As much of the reason as fits into a close frame."""
    return (reason or ENDED).encode()[:CLOSE_REASON_BYTES].decode(errors="ignore")


def _place(address: str) -> str:
    host, slash, length = address.partition("/")
    place = place_of(host)
    if place is None:
        raise _Refused(f"{address!r} is no IP address")
    if place == THIS_MACHINE:
        raise _Refused("that is this machine: its host, or a proxy that the server has not been told of (--trusted-proxy)")
    if slash and length != ("64" if ":" in place else "32"):
        raise _Refused(f"only an IPv4 address or an IPv6 /64 can be banned, not {address}; your firewall can keep out a network")
    return place
