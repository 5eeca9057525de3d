"""The talk with the server: the model as it grows, and the requests that go out, by themselves or for the player.

Owns what follows from what: after a welcome the start that was asked for, after a missed event a join, at home the lobby. Must not
know of keys, screens or urwid. Nothing here waits: `link.send` says at once whether there is a line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

from client.link import Connected, Link
from client.model import Event, Model, MoveSent, Notice, ReadySent, reduce
from client.ui.start import Start, StartBot, StartHome, StartJoin, StartOpen
from protocol.client_messages import ClientMessage, FollowLobby, JoinRace, Move, OpenRace, Ready, Rematch
from protocol.server_messages import Left, Room, Welcome
from protocol.views import RaceOptions

REPLY_LATE_MS = 2000
"""A join that was asked for because an event was missed is asked for again after this long."""


class Session:
    """One player's talk with one server. nonce: makes 16 random bytes as hexadecimal digits; now_ms: the local monotonic clock."""

    def __init__(self, link: Link, *, start: Start, nonce: Callable[[], str], now_ms: Callable[[], int]) -> None:
        self.model = Model()
        self._link = link
        self._start: Start | None = start
        self._nonce = nonce
        self._now_ms = now_ms
        self._rejoined_at_ms: int | None = None
        self._following = False
        self._ready_at_once = False

    def hear(self, event: Event) -> None:
        """Reduce one event and answer it where it wants an answer."""
        self.model = reduce(self.model, event, self._now_ms())
        match event:
            case Connected():
                self._following = False
            case Welcome():
                self._welcomed(event)
            case Room():
                self._entered()
            case Left():
                self._follow()
            case _:
                pass
        self.ask_again()

    def ask_again(self) -> None:
        """Ask for the events that were missed: at once, and again when the answer does not come. For every event and every tick."""
        room = self.model.room
        if room is None or not self.model.needs_rejoin:
            self._rejoined_at_ms = None
            return
        now_ms = self._now_ms()
        if self._rejoined_at_ms is None or now_ms - self._rejoined_at_ms >= REPLY_LATE_MS:
            self._rejoined_at_ms = now_ms
            self.send(JoinRace(code=room.code, version=room.version))

    def _welcomed(self, welcome: Welcome) -> None:
        start, self._start = self._start, None
        if welcome.room is not None:
            # A seat is held already: the way on is back to it, whatever was asked for. After a reconnect the link has asked itself.
            if self.model.room is None:
                self.send(JoinRace(code=welcome.room))
            return
        if self.model.room is not None:
            lost = Notice("warning", "The server has no seat for you in that race any more.", self._now_ms())
            self.model = replace(self.model, room=None, notice=lost)
        match start:
            case StartBot(bot=bot, deal=deal, rules=rules, winnable=winnable):
                self.race_bot(bot, deal, rules=rules, winnable=winnable)
            case StartOpen(options=options):
                self.send(OpenRace(options=options))
            case StartJoin(code=code):
                self.send(JoinRace(code=code))
            case StartHome() | None:
                pass
            case _:
                assert_never(start)
        self._follow()

    def _entered(self) -> None:
        if self._following:
            self._following = not self.send(FollowLobby(follow=False))
        at_once, self._ready_at_once = self._ready_at_once, False
        if at_once:
            self.ready()

    def _follow(self) -> None:
        if self.model.room is None and not self._following:
            self._following = self.send(FollowLobby())

    # ---- requests; each says whether it went out

    def send(self, message: ClientMessage) -> bool:
        """Send a request as it is."""
        return self._link.send(message)

    def race_bot(self, bot: str, deal: str | None = None, *, rules: str, winnable: bool = False) -> bool:
        """Open a race against a house bot and be ready as soon as there is a room."""
        options = RaceOptions(rules=rules, bots=(bot,), public=False, deal=deal, winnable=winnable)
        self._ready_at_once = self.send(OpenRace(options=options))
        return self._ready_at_once

    def ready(self) -> bool:
        """Ready, with a fresh nonce; nothing where that makes no sense."""
        room = self.model.room
        if room is None or room.phase != "waiting" or room.own is None or room.own.ready:
            return True
        nonce = self._nonce()
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
        """Ask for another race between the same players, once."""
        room = self.model.room
        if room is None or room.own is None or room.own.again:
            return True
        sent = self.send(Rematch(race=room.race))
        # Nobody else is waited for: who asks a bot for another race has said that he is ready for it.
        self._ready_at_once = sent and all(seat.bot is not None for seat in room.seats if seat.seat != room.seat)
        return sent
