"""Dispatches each message of a client to what serves it: the lobby, the rooms, the spectators, the runs or the tournaments.

Each connection has a `Visit`, which holds what the server knows about it: nobody before the hello, then a player, who may be in a room.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from protocol.client_messages import (
    ClientMessage,
    FollowLobby,
    Hello,
    JoinRace,
    LeaveRace,
    Move,
    OpenRace,
    QuickMatch,
    Ready,
    Rematch,
    Rename,
    Resign,
    Say,
    Stop,
    WhoAmI,
)
from protocol.errors import ErrorCode, Refusal
from protocol.run_messages import (
    ListChallenges,
    ListDailies,
    ListRuns,
    OpenChallenge,
    PlayOn,
    RunChallenge,
    RunDaily,
    RunStart,
)
from protocol.server_messages import Left, WaitingOver
from protocol.text import read_code
from protocol.tournament_messages import (
    CreateTournament,
    DirectorRequest,
    EnterTournament,
    FollowTournament,
    FollowTournaments,
    TournamentRequest,
)
from protocol.watch_messages import AskBoardsKey, BoardsKey, Unwatch, WatchRace
from server.lobby.bans import Bans
from server.lobby.lobby import Lobby
from server.lobby.matchmaker import Matchmaker, Seeker
from server.lobby.players import Players
from server.net.connection import Connection
from server.net.connection_limits import place_of
from server.net.forwarding import Forwarding
from server.net.identification import Identification, Visit, put_out
from server.net.limits import CODE_AGAIN_MS, AddressRates, CodeGuesses
from server.net.overload import Overload
from server.net.run_requests import RunRequests
from server.net.traffic import Traffic
from server.rooms.driver import Room
from server.rooms.effects import Unmatched
from server.rooms.member import NOBODY, PlayerName
from server.rooms.outgoing import CANNOT_WRITE, Outgoing
from server.rooms.registry import Rooms
from server.rooms.requests import Ask, Enter, Exit, RoomMessage, words
from server.runs.service import RunService
from server.spectate.spectator_registry import SpectatorRegistry
from server.tournaments.commands import Asker
from server.tournaments.service import TournamentService

if TYPE_CHECKING:
    # Importing it needs the `cluster` extra.
    from server.cluster.directory import Cluster

_BEGINNINGS = frozenset((OpenRace, QuickMatch, RunDaily, RunChallenge, PlayOn, CreateTournament, Rematch))
"""Requests that begin something new. They are refused while the server is overloaded, or the host wants nothing to begin."""

_LEAD_TO_RACES = frozenset((OpenRace, RunDaily, RunChallenge, PlayOn, Ready))
"""Requests that lead to races, which are kept for good."""

RACES_PER_CONNECTION: Final = 5
RACES_A_SECOND: Final = 1 / 10
"""How many of these may come from one address, at once and per second, for each connection that it may have: far more than people send who
race, but too few to fill the disk.
"""


class Dispatch:
    """Satisfies `server.net.connection.DispatchPort`."""

    def __init__(
        self,
        *,
        rooms: Rooms,
        players: Players,
        lobby: Lobby,
        matchmaker: Matchmaker,
        spectators: SpectatorRegistry,
        runs: RunService,
        tournaments: TournamentService,
        software: str,
        rate: float,
        burst: int,
        overload: Overload,
        bans: Bans,
        cluster: Cluster | None = None,
        connections_per_address: int = 0,
        guesses: CodeGuesses | None = None,
    ) -> None:
        """cluster: None for a server on its own. connections_per_address: determines how many new players and races one address may make; 0
        for no limit. guesses: limits how many codes one address may try; None for no limit.
        """
        self._directory = cluster.directory if cluster is not None else None
        self.traffic = Traffic()
        self._bans = bans
        most = connections_per_address
        self._race_rates = AddressRates(rate=RACES_A_SECOND * most, burst=RACES_PER_CONNECTION * most) if most else None
        self._guesses = guesses
        self._overload = overload
        rooms.on_open.append(self._overload.begun)
        rooms.on_unmatched.append(self._seek_again)
        self.rate, self.burst = rate, burst
        self._rooms, self._players = rooms, players
        self._lobby = lobby
        self._matchmaker = matchmaker
        self._spectators = spectators
        self._tournaments = tournaments
        self._visits: dict[Connection, Visit] = {}
        claim_seat = self._directory.claim if self._directory is not None else None
        node = cluster.node if cluster is not None else None
        self.forwarding = Forwarding(rooms, node, self._visits, self.heard, self._serve_looked_up, spectators, claim_seat)
        self._run_requests = RunRequests(
            rooms=rooms, players=players, runs=runs, overload=overload, forwarding=self.forwarding, seat=partial(self._enter, version=0)
        )
        self.identification = Identification(
            self._visits,
            rooms=rooms,
            players=players,
            matchmaker=matchmaker,
            spectators=spectators,
            tournaments=tournaments,
            software=software,
            nodes=lambda: self.forwarding.told,
            announce=self._directory.arrive if self._directory is not None else None,
            connections_per_address=connections_per_address,
        )

    def arrived(self, connection: Connection) -> None:
        visit = self._visits[connection] = Visit(connection)
        if self.forwarding.refuse(connection):
            return
        try:
            self._bans.check("address", place_of(connection.remote_host))
        except Refusal as refusal:
            put_out(connection, refusal)
            return
        self.identification.expect_hello(visit)
        connection.listen()

    def visits(self) -> tuple[Visit, ...]:
        """What is known about each connection, the oldest first."""
        return tuple(self._visits.values())

    def gone(self, connection: Connection) -> None:
        visit = self._visits.pop(connection)
        self._lobby.unfollow(visit.connection)
        self._spectators.gone(visit.connection)
        self._tournaments.subscriptions.gone(visit.connection)
        if visit.player is None:
            return
        self._players.depart(visit.player, visit.connection)
        if self._directory is not None and self._players.connection(visit.player.id) is None:
            self._directory.depart(visit.player.id)
        self._matchmaker.leave(visit.player.id, member=visit.connection)
        if visit.room is not None:
            visit.room.tell(Exit(visit.player, visit.connection))

    def resynchronise(self, connection: Connection) -> None:
        visit = self._visits.get(connection)
        if visit is None:
            return
        self._lobby.remind(connection)
        self._tournaments.subscriptions.remind(connection)
        if visit.player is not None:
            self._remind_player(visit, visit.player)
        self._spectators.catch_up(connection)

    def _remind_player(self, visit: Visit, player: PlayerName) -> None:
        connection, room = visit.connection, visit.room
        self._tournaments.greet(player.id, connection)
        if self._matchmaker.seeks(player.id):
            self._matchmaker.remind(player.id)
        elif visit.has_sought:
            # This may be the very message that they missed.
            connection.post(Outgoing(WaitingOver(reason="cancelled")))
        if room is not None and not room.catch_up(player.id, connection) and self._rooms.of(player.id) is not room:
            connection.post(Outgoing(Left(code=room.code, reason="left")))

    def heard(self, connection: Connection, message: ClientMessage) -> None:
        visit = self._visits.get(connection)
        if visit is None or self.forwarding.is_leaving:
            # The message was still on its way when the connection ended, or this server began to leave. Nothing may start that nobody would
            # end.
            return
        room = visit.room
        if type(message) is Move and room is not None and visit.player is not None and not room.is_closed:
            # A fast path for nearly all messages: moves in the room that this connection has entered.
            room.move(visit.player, connection, message, connection.waited_ms)
            return
        if type(message) in _BEGINNINGS and visit.player is not None:
            self._check_may_begin(message)
        if type(message) in _LEAD_TO_RACES and visit.player is not None:
            self._check_race_rate(visit)
        if isinstance(message, Hello):
            self.identification.hello(visit, message)
        elif isinstance(message, (WhoAmI, Rename)):
            self.identification.ask_who(visit, message)
        elif isinstance(message, (ListDailies, OpenChallenge, ListChallenges, ListRuns)):
            self._run_requests.ask(visit, message)
        elif visit.watches_as is not None:
            self._serve_watcher(visit, visit.watches_as, message)
        elif visit.player is None:
            raise Refusal(ErrorCode.HELLO_FIRST)
        else:
            self._serve(visit, visit.player, message)

    def _check_race_rate(self, visit: Visit) -> None:
        host = visit.connection.remote_host
        if self._race_rates is not None and visit.place is not None and not self._race_rates.allow(host, trio.current_time()):
            raise Refusal(ErrorCode.TOO_MANY_ROOMS)

    def _check_may_begin(self, message: ClientMessage) -> None:
        """Refuse to begin anything while the host wants that, or the server is overloaded: running races come first."""
        if isinstance(message, QuickMatch) and message.cancel:
            return
        # Those who want a rematch are here already, and may have it while the server is busy.
        busy_ms = self._overload.wait_to_begin_ms(trio.current_time()) if type(message) is not Rematch else 0
        is_draining = self._rooms.draining is not None
        if (is_draining or busy_ms) and not self.forwarding.relieves(message):
            code = ErrorCode.SERVER_STOPPING if is_draining else ErrorCode.SERVER_BUSY
            raise Refusal(code, self._rooms.draining or "", retry_after_ms=busy_ms)

    def _serve_watcher(self, visit: Visit, player: PlayerName, message: ClientMessage) -> None:
        match message:
            case FollowLobby() | FollowTournaments() | FollowTournament() | WatchRace() | Unwatch():
                self._serve(visit, player, message)
            case AskBoardsKey() if player is not NOBODY:
                self._serve(visit, player, message)
            case _ if player is not NOBODY and isinstance(message, DirectorRequest):
                self._serve(visit, player, message)
            case Say() if player is not NOBODY:
                self._say_watching(visit, message)
            case _:
                raise Refusal(ErrorCode.WATCHES_ONLY)

    def _serve(
        self,
        visit: Visit,
        player: PlayerName,
        message: FollowLobby
        | OpenRace
        | JoinRace
        | QuickMatch
        | WatchRace
        | AskBoardsKey
        | Unwatch
        | RunStart
        | TournamentRequest
        | RoomMessage,
    ) -> None:
        match message:
            # These come first: every race sends several of them, and each case before them would cost time.
            case Ready() | Move() | Rematch() | Stop() | Resign() | LeaveRace():
                self._ask(visit, player, message)
            case FollowLobby(follow=follow, changes=changes):
                if follow:
                    self._lobby.follow(visit.connection, changes=changes)
                else:
                    self._lobby.unfollow(visit.connection)
            case OpenRace() | JoinRace() | QuickMatch() | WatchRace():
                self._check_guesses(visit, player, message)
                if not self.forwarding.look_up(visit, player, message):
                    self._serve_here(visit, player, message)
            case RunDaily() | RunChallenge() | PlayOn():
                self._run_requests.enter(visit, player, message)
            case Say():
                self._say(visit, player, message)
            case AskBoardsKey():
                self._check_guesses(visit, player, message)
                self._ask_boards_key(visit, player, message)
            case Unwatch(ref=ref):
                self._spectators.unwatch(visit.connection, ref=ref)
            case FollowTournaments(follow=follow):
                lists = self._tournaments.subscriptions
                (lists.follow_list if follow else lists.unfollow_list)(visit.connection)
            case FollowTournament():
                self._check_guesses(visit, player, message)
                self._tournaments.follow(visit.connection, message, visit.connection.start_soon)
            case _:
                self._check_guesses(visit, player, message)
                self._tournaments.ask(visit.connection, self._asker(visit, player), message)

    def _check_guesses(
        self, visit: Visit, player: PlayerName, message: OpenRace | JoinRace | QuickMatch | WatchRace | AskBoardsKey | TournamentRequest
    ) -> None:
        """Refuse one more code, or id of a tournament, that may be a guess, if too many others have been tried from this address."""
        guessed = []
        match message:
            case JoinRace(code=str(code)) | WatchRace(code=str(code)) | AskBoardsKey(code=code):
                if self._is_secret(player, code):
                    guessed.append(read_code(code))
            case OpenRace() | JoinRace() | QuickMatch() | WatchRace() | FollowTournaments() | CreateTournament():
                pass
            case _:
                if not self._tournaments.is_told(message.id, player.id):
                    guessed.append(read_code(message.id))
                if isinstance(message, EnterTournament) and message.code:
                    guessed.append(f"{message.id} {message.code}")
        for code in guessed:
            if self._guesses is not None and not self._guesses.allow(visit.connection.remote_host, code, trio.current_time()):
                raise Refusal(ErrorCode.SERVER_BUSY, "many codes have been tried from your address", retry_after_ms=CODE_AGAIN_MS)

    def _is_secret(self, player: PlayerName, code: str) -> bool:
        """Whether a code may be a guess: the player has no seat there, and it is of no race listed here and no table of a tournament that
        they may know of."""
        if not self._rooms.has(code):
            return read_code(code) not in self._tournaments.elsewhere.codes
        room = self._rooms.find(code)
        if room.is_listed or self._rooms.of(player.id) is room:
            return False
        return room.spec is None or (bool(room.spec.tournament) and not self._tournaments.is_told(room.spec.tournament, player.id))

    def _serve_looked_up(self, visit: Visit, player: PlayerName, message: OpenRace | JoinRace | QuickMatch) -> None:
        """Serve what took time to look up here, unless meanwhile this connection was shut, or nothing is to begin any more."""
        if visit.connection.is_open and not self.forwarding.is_leaving:
            if not isinstance(message, JoinRace):
                self._check_may_begin(message)
            self._serve_here(visit, player, message)

    def _serve_here(self, visit: Visit, player: PlayerName, message: OpenRace | JoinRace | QuickMatch | WatchRace) -> None:
        """What need not be looked up at other servers, or has been."""
        match message:
            case OpenRace(options=options, ref=ref):
                given_up = self._rooms.given_up_for(options, player.id)
                if given_up is None:
                    self._rooms.check_free(player.id)
                # If this is refused, they stay in the room they have.
                room = self._rooms.open(options, place=visit.place) if not self.forwarding.send_opener_on(visit, ref) else None
                if given_up is not None:
                    given_up.ask(Ask(player, visit.connection, LeaveRace()))
                if room is not None:
                    self._enter(visit, player, room, version=0, ref=ref)
            case JoinRace(code=code, version=version, ref=ref):
                room = self._rooms.find(code)
                if self._rooms.of(player.id) is not room:
                    self._rooms.check_free(player.id)
                self._enter(visit, player, room, version=version, ref=ref)
            case QuickMatch(cancel=True, ref=ref):
                self._seek_no_more(visit, player, ref=ref)
            case QuickMatch(rules=rules, ref=ref):
                self._rooms.check_free(player.id)
                if not self.forwarding.send_seeker_on(visit, ref):
                    self._matchmaker.seek(player.id, self._seeker(visit, ref), rules, place=visit.place)
            case WatchRace(code=code, key=key, ref=ref):
                self._spectators.watch(visit.connection, player, code, key=key, ref=ref)

    def _asker(self, visit: Visit, player: PlayerName) -> Asker:
        return Asker(player.id, player.name, self._players.rating(player.id), visit.place)

    def _seek_no_more(self, visit: Visit, player: PlayerName, *, ref: int) -> None:
        if self._matchmaker.seeks(player.id):
            self._matchmaker.leave(player.id, reason="cancelled", ref=ref)
        else:
            visit.connection.post(Outgoing(WaitingOver(reason="cancelled", ref=ref)))

    def _seeker(self, visit: Visit, ref: int) -> Seeker:
        visit.has_sought = True
        return Seeker(visit.connection, ref, partial(self._enter_found, visit, ref=ref))

    def _seek_again(self, room: Room, unmatched: Unmatched) -> None:
        visit = self._visits.get(unmatched.member) if isinstance(unmatched.member, Connection) else None
        # They may have gone, or taken another seat, since that was decided.
        if visit is not None and self._rooms.of(unmatched.player) is None:
            send_on = partial(self.forwarding.send_seeker_on, visit, 0) if self.forwarding.seekers_url is not None else None
            self._matchmaker.seek_again(unmatched, self._seeker(visit, ref=0), room, send_on=send_on)

    def _enter_found(self, visit: Visit, room: Room, *, ref: int) -> None:
        assert visit.player is not None
        self._enter(visit, visit.player, room, version=0, ref=ref)

    def _enter(self, visit: Visit, player: PlayerName, room: Room, *, version: int, ref: int) -> None:
        room.ask(Enter(player, visit.connection, version, ref))
        if self._rooms.in_outage:
            # As those in the room were told when the outage began: the answer has to wait.
            visit.connection.post(CANNOT_WRITE)
        # A player who is refused a seat goes on looking for another. Whether they have it is known at once, even if the answer takes long.
        if self._rooms.of(player.id) is room:
            visit.room = room
            self._matchmaker.leave(player.id, reason="elsewhere")

    def _say(self, visit: Visit, player: PlayerName, message: Say) -> None:
        room = self._rooms.of(player.id)
        if room is not None and (message.code is None or read_code(message.code) == room.code):
            self._ask(visit, player, message)
        else:
            self._say_watching(visit, message)

    def _ask_boards_key(self, visit: Visit, player: PlayerName, message: AskBoardsKey) -> None:
        """The key to a race's whole boards: for its host, who has the first seat, or for its tournament's director, if not a player too."""
        code = read_code(message.code)
        tournament = self._tournaments.elsewhere.directed_table(code, player.id)
        if tournament is not None:
            key = BoardsKey(code=code, key=self._spectators.tournament_key(tournament), ref=message.ref)
            self._tournaments.give_boards_key(tournament, visit.connection, self._asker(visit, player), message, key)
            return
        room = self._rooms.find(code)
        # In a swap, the host plays next what the other one plays now.
        if room.spec is not None or room.options.counts or room.options.swaps or room.summary.seats[0].player != player.id:
            raise Refusal(ErrorCode.NO_KEY)
        visit.connection.post(Outgoing(BoardsKey(code=code, key=self._spectators.boards_key(room), ref=message.ref)))

    def _say_watching(self, visit: Visit, message: Say) -> None:
        """Say a line of chat to those who watch the same race."""
        watched = self._spectators.watched(visit.connection)
        if watched is None or (message.code is not None and read_code(message.code) != watched):
            raise Refusal(ErrorCode.NOT_IN_ROOM)
        self._spectators.say(visit.connection, words(message), free=message.phrase is None)

    def _ask(self, visit: Visit, player: PlayerName, message: RoomMessage) -> None:
        # The registry knows players who have come back and not joined yet: they may leave a race without joining it again.
        room = self._rooms.of(player.id) or visit.room
        if room is None:
            raise Refusal(ErrorCode.NOT_IN_ROOM)
        room.ask(Ask(player, visit.connection, message, visit.connection.waited_ms))
