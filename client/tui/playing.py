"""The part of the controller that plays: places pressed, one of them held, some typed ahead of the server's answer.

What a press means is `client.game.moves`' business; here is when it counts, and what goes to the server or onto the desk for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from client.game.board import Board, board_of
from client.game.hints import why_not
from client.game.moves import goes_home, moves_from, press, source, target
from client.state.capabilities import rules_of
from client.state.room import RoomModel, race_clock_ms
from client.state.store import Model
from client.tui.keymap import Place
from client.tui.session import Session
from client.tui.ui_state import Desk, place_of
from protocol.views import View

AHEAD = 3
"""Places that may be typed ahead of the server's answer; more are forgotten: they would be played on a table that nobody has seen."""
UP, DOWN = "+", "-"
"""Typed while a card is held: its foundations."""


class Playing:
    """One player at his table. now_ms: the local monotonic clock."""

    def __init__(self, session: Session, *, desk: Desk, now_ms: Callable[[], int]) -> None:
        self.session = session
        self.desk = desk
        self._now_ms = now_ms
        self._ahead: tuple[str, ...] = ()

    @property
    def model(self) -> Model:
        return self.session.model

    def place(self, place: str) -> None:
        """Press a slot, a reserve, a foundation, `w`, `s` or `r`; `+` and `-` stand for the foundations of the held card."""
        if place_of(self.model, self.desk) is not Place.RACE:
            return
        room = self.model.room
        view = room.view if room is not None else None
        if room is None or view is None:
            return
        cursor = place if place in view.piles or place in ("w", "s") else self.desk.cursor
        self.desk = replace(self.desk, cursor=cursor, note="")
        if self.model.link.state != "connected":
            # Not typed ahead either: by the time the line is back nobody knows what for.
            self._said(False)
            return
        if self.model.in_flight is not None:
            # Typed ahead of the answer: played when it is there, against the position it will be then. Not so a key that is held down:
            # the stock would go on turning after it was let go.
            if len(self._ahead) < AHEAD and not (place in ("s", "r") and place in self._ahead):
                self._ahead = (*self._ahead, place)
            return
        self._press(room, view, place)

    def _press(self, room: RoomModel, view: View, place: str) -> None:
        held = self.desk.held
        if not self._still_racing():
            self._refuse(why_not(view, self._board(view), place, room.own))
        elif place in (UP, DOWN):
            self._send_home(room, view, held, place)
        else:
            pressed = press(view, held, place)
            self.desk = replace(self.desk, held=pressed.held)
            if pressed.move is not None:
                self._send_move(room, pressed.move)
            elif not pressed.known:
                self._refuse(why_not(view, self._board(view), place, room.own))

    def _send_home(self, room: RoomModel, view: View, held: str, sign: str) -> None:
        ways = [move for move in moves_from(view, held) if move in (held, held + sign) and goes_home(move)]
        if ways:
            self.desk = replace(self.desk, held="")
            self._send_move(room, ways[0])
        else:
            self._refuse(f"The card at {held} cannot go there." if held else "+ and - send a card home that is held: first press its slot.")

    def _refuse(self, why: str) -> None:
        self._ahead = ()
        self.desk = replace(self.desk, note=why)

    def _board(self, view: View) -> Board:
        room = self.model.room
        return board_of(rules_of(self.model.rules, room.options.rules) if room is not None else None, view)

    def _send_move(self, room: RoomModel, move: str) -> None:
        if race_clock_ms(room.started_at_ms, self._now_ms()) < 0:
            self.desk = replace(self.desk, note="The clock does not run yet.")
        else:
            self._said(self.session.move(move))

    def play_ahead(self) -> None:
        """What was typed ahead, once the answer is there."""
        while self._ahead and self.model.room is not None and self.model.in_flight is None:
            place, *rest = self._ahead
            self._ahead = tuple(rest)
            self.place(place)

    def let_go(self) -> None:
        """Nothing is held, begun or typed ahead any more."""
        self._ahead = ()
        self.desk = replace(self.desk, typed="", held="")

    def _typed_move(self, text: str) -> None:
        room = self.model.room
        if room is None or room.view is None:
            return
        if text in room.view.moves:
            self._send_move(room, text)
        elif target(text) or text[-1] in "+-":
            self.desk = replace(self.desk, note=f"{text[:8]} is not a legal move now.")
        else:
            self.place(source(text)[:8])

    def _said(self, sent: bool) -> None:
        """A request that could not go out is not kept; the player is told."""
        if not sent:
            self.desk = replace(self.desk, note="There is no line to the server just now.")

    def _still_racing(self) -> bool:
        room = self.model.room
        if room is None or room.own is None or room.phase not in ("racing", "countdown"):
            return False
        return room.own.state in ("waiting", "racing")
