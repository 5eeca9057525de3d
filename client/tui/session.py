"""The talk with the server: the model as it grows, and the requests that go out, by themselves or for the player.

Owns what follows from what: after a welcome the start that was asked for, at home the lobby. That nothing is missed or lost on the way is
the link's affair. Must not know of keys, screens or urwid. Nothing here waits: `link.send` says at once whether there is a line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from client.connection.events import WATCH_REFERENCE, Connected, Link
from client.state.store import Event, Model, MoveSent, ReadySent, reduce
from client.tui.start import Start, StartAlone, StartBot, StartHall, StartHome, StartMatch
from client.tui.tournament_subscription import Attendance
from client.tui.tournament_view_state import Hall
from protocol.client_messages import (
    CheckIn,
    ClientMessage,
    CreateTournament,
    FollowLobby,
    JoinRace,
    LeaveRace,
    ListRuns,
    Move,
    OpenRace,
    QuickMatch,
    Ready,
    Rematch,
    Unwatch,
    WatchRace,
)
from protocol.server_messages import Called, Ended, Left, Result, Room, Unwatched, Watched, Welcome
from protocol.tournaments import TournamentOptions
from protocol.views import RaceOptions, SeriesOptions

FOUNDING_REFERENCE = 2**31 - 6
"""`ref` of the request for a new tournament, by which its answer is known."""


class Session:
    """One player's talk with one server. nonce: makes 16 random bytes as hexadecimal digits; now_ms: the local monotonic clock."""

    def __init__(self, link: Link, *, start: Start, nonce: Callable[[], str], now_ms: Callable[[], int]) -> None:
        self.model = Model()
        self._link = link
        self._start: Start | None = start
        self._nonce = nonce
        self._now_ms = now_ms
        self._following = False
        self._watching = False
        self._ready_at_once = False
        self._attendance = Attendance(self.send)

    def hear(self, event: Event) -> None:
        """Reduce one event and answer it where it wants an answer."""
        self.model = reduce(self.model, event, self._now_ms())
        match event:
            case Connected():
                self._following = False
                self._attendance.line_is_new()
            case Welcome():
                self._welcomed(event)
            case Room(phase=phase):
                if phase != "over":
                    self._start = None  # there is a race to go on with, whatever was asked for
                self._entered()
                if phase == "over":
                    self._ask_for_board()
            case Left():
                self._begin_at_home()
                self._follow()
                self._go_to_table()
            case Ended() | Result():
                self._ask_for_board()
            case Called():
                self._go_to_table()
            case Watched():
                self._watching = True
                if self._following:
                    self._following = not self.send(FollowLobby(follow=False))
                self._attend()
            case Unwatched(reason=reason):
                self._watching = reason == "none"
                self._follow()
            case _:
                pass

    def _welcomed(self, welcome: Welcome) -> None:
        # Where a seat is held already the link goes back to it; if that race is over, the seat is left and the start comes after.
        if welcome.room is None:
            self._begin_at_home()
        self._follow()

    def _begin_at_home(self) -> None:
        if self._begin(self._start):
            self._start = None

    def _begin(self, start: Start | None) -> bool:
        match start:
            case StartBot(bot=bot, deal=deal, rules=rules, winnable=winnable, series=series):
                return self.race_bot(bot, deal, rules=rules, winnable=winnable, series=series)
            case StartMatch(rules=rules):
                return self.seek(rules)
            case StartAlone(deal=deal, rules=rules, winnable=winnable):
                return self.race_alone(deal, rules=rules, winnable=winnable)
            case StartHome() | StartHall() | None:
                return True
            case _:
                assert_never(start)

    def _entered(self) -> None:
        if self._following:
            self._following = not self.send(FollowLobby(follow=False))
        if self._watching:
            # Who has a seat looks at his own race.
            self._watching = not self.send(Unwatch())
        self._attend()
        at_once, self._ready_at_once = self._ready_at_once, False
        if at_once:
            self.ready()

    def _ask_for_board(self) -> None:
        """Behind one's own run of a deal that others run too: how it stands to theirs."""
        room = self.model.room
        if room is None or room.shared is None or room.shared.kind == "round":
            return
        self.send(ListRuns(kind=room.shared.kind, id=room.shared.id, rules=room.options.rules))

    def _follow(self) -> None:
        if self.model.room is None and not self._watching and not self._following:
            self._following = self.send(FollowLobby())
        self._attend()

    def _attend(self) -> None:
        self._attendance.settle(looks=self.model.room is None and not self._watching and self.model.welcome is not None)

    def _go_to_table(self) -> None:
        """To the table that one is called to, by way out of a race that is over."""
        call, room = self.model.tournaments.call, self.model.room
        if call is None:
            return
        if room is None:
            self.send(JoinRace(code=call.code))
        elif room.code != call.code and room.phase == "over":
            # When it is left this is asked once more.
            self.send(LeaveRace())

    # ---- requests; each says whether it went out

    def send(self, message: ClientMessage) -> bool:
        """Send a request as it is."""
        return self._link.send(message)

    def race_bot(
        self, bot: str, deal: str | None = None, *, rules: str, winnable: bool = False, series: SeriesOptions | None = None
    ) -> bool:
        """Open a race against a house bot and be ready as soon as there is a room."""
        return self._race_at_once(
            RaceOptions(rules=rules, bots=(bot,), public=False, deal=deal, winnable=winnable, series=series or SeriesOptions())
        )

    def race_alone(self, deal: str | None = None, *, rules: str, winnable: bool = False) -> bool:
        """Open a race of one's own against the clock, likewise."""
        return self._race_at_once(RaceOptions(rules=rules, seats=1, public=False, deal=deal, winnable=winnable))

    def _race_at_once(self, options: RaceOptions) -> bool:
        self._ready_at_once = self.send(OpenRace(options=options))
        return self._ready_at_once

    def watch(self, code: str | None) -> bool:
        """Watch the race of a code, or the closest one and then the next."""
        return self.send(WatchRace(code=code, ref=WATCH_REFERENCE))

    def look_at(self, hall: Hall | None) -> None:
        """From here on the player looks at the list of tournaments, at one of them, or at neither."""
        self._attendance.look(hall)
        if self.model.link.state == "connected":
            self._attend()

    def found(self, options: TournamentOptions) -> bool:
        """Make a tournament; the answer has `FOUNDING_REFERENCE`."""
        return self.send(CreateTournament(options=options, ref=FOUNDING_REFERENCE))

    def check_in(self, tournament: str) -> bool:
        """Here and ready to play in it, with a fresh nonce for its shuffles."""
        return self.send(CheckIn(id=tournament, nonce=self._nonce()))

    def seek(self, rules: str | None = None) -> bool:
        """Look for an opponent. rules: the id of a rule set, None for any."""
        return self.send(QuickMatch(rules=rules))

    def seek_no_more(self) -> bool:
        """Look for no opponent any more."""
        return self.send(QuickMatch(cancel=True))

    def ready(self) -> bool:
        """Ready, with a fresh nonce; nothing where that makes no sense."""
        room = self.model.room
        if room is None or room.phase != "waiting" or room.own is None or room.own.ready:
            return True
        held = self.model.evidence
        # The second race of a swap is dealt by the nonces of the first, whatever is sent now.
        nonce = held.nonce if held is not None and held.secret_of(room) else self._nonce()
        if not self.send(Ready(race=room.race, nonce=nonce)):
            return False
        self.model = reduce(self.model, ReadySent(nonce), self._now_ms())
        return True

    def move(self, move: str) -> bool:
        """Play a move as this seat's next one."""
        room = self.model.room
        if room is None or room.seat is None:
            return True
        if not self.send(Move(race=room.race, seat=room.seat, ply=room.ply, move=move)):
            return False
        self.model = reduce(self.model, MoveSent(room.ply, move), self._now_ms())
        return True

    def rematch(self) -> bool:
        """Ask for another race between the same players, once; in a series, where the next race is open already, be ready for it."""
        room = self.model.room
        if room is not None and room.phase == "waiting":
            return self.ready()
        if room is None or room.own is None or room.own.again:
            return True
        sent = self.send(Rematch(race=room.race))
        # Nobody else is waited for: who asks a bot for another race has said that he is ready for it.
        self._ready_at_once = sent and all(seat.bot is not None for seat in room.seats if seat.seat != room.seat)
        return sent
