"""What a press means at one's own table: a card played, held or refused, and what was typed ahead of the server's answer.

What can be played is `client.game.moves`' business; here is when it counts, and what goes to the server or onto the screen for it.
"""

from __future__ import annotations

from client.game.board import Board, board_of
from client.game.hints import why_not
from client.game.moves import goes_home, moves_from, press, source, target
from client.state.capabilities import rules_of
from client.state.room import RoomModel, race_clock_ms
from client.tui.actions import Send
from client.tui.room import still_racing
from client.tui.step import OFFLINE, Step
from protocol.client_messages import Move
from protocol.views import View

AHEAD = 3
"""Places that may be typed ahead of the server's answer; more are forgotten: they would be played on a table that nobody has seen."""
UP, DOWN = "+", "-"
"""Typed while a card is held: its foundations."""


def place(step: Step, place: str) -> Step:
    """Press a slot, a reserve, a foundation, `w`, `s` or `r`; `+` and `-` stand for the foundations of the held card."""
    room = step.state.room
    view = room.view if room is not None else None
    if room is None or view is None:
        return step
    ahead = step.ui.ahead
    step = step.but(cursor=place if place in view.piles or place in ("w", "s") else step.ui.cursor, note="")
    if step.state.link.state != "connected":
        # Not typed ahead either: by the time there is a connection again nobody knows what for.
        return step.note(OFFLINE)
    if step.state.in_flight is not None:
        # Played when the answer is there, against the position it will be then. Not so a key that is held down: the stock would go on
        # turning after it was let go.
        known = place in ("s", "r") and place in ahead
        return step if known or len(ahead) >= AHEAD else step.but(ahead=(*ahead, place))
    return _press(step, room, view, place)


def _press(step: Step, room: RoomModel, view: View, place: str) -> Step:
    held = step.ui.held
    if not still_racing(step):
        return _refuse(step, why_not(view, board(step, view), place, room.own))
    if place in (UP, DOWN):
        return _send_home(step, room, view, place)
    pressed = press(view, held, place)
    step = step.but(held=pressed.held)
    if pressed.move is not None:
        return send_move(step, room, pressed.move)
    return step if pressed.known else _refuse(step, why_not(view, board(step, view), place, room.own))


def _send_home(step: Step, room: RoomModel, view: View, sign: str) -> Step:
    held = step.ui.held
    ways = [move for move in moves_from(view, held) if move in (held, held + sign) and goes_home(move)]
    if ways:
        return send_move(step.but(held=""), room, ways[0])
    return _refuse(step, f"The card at {held} cannot go there." if held else "+ and - send a held card home: press its slot first.")


def _refuse(step: Step, why: str) -> Step:
    return step.but(ahead=(), note=why)


def board(step: Step, view: View) -> Board:
    """The board of this player's race."""
    room = step.state.room
    return board_of(rules_of(step.state.rules, room.options.rules) if room is not None else None, view)


def send_move(step: Step, room: RoomModel, move: str) -> Step:
    """Play a move as this seat's next one."""
    if race_clock_ms(room.started_at_ms, step.now_ms) < 0:
        return step.note("The clock has not started yet.")
    return step if room.seat is None else step.send(Move(race=room.race, seat=room.seat, ply=room.ply, move=move))


def play_ahead(step: Step) -> Step:
    """Play what was typed ahead, once the answer is there."""
    while step.ui.ahead and step.state.room is not None and step.state.in_flight is None and not _moved(step):
        first, *rest = step.ui.ahead
        step = place(step.but(ahead=tuple(rest)), first)
    return step


def _moved(step: Step) -> bool:
    return any(isinstance(effect, Send) and isinstance(effect.message, Move) for effect in step.effects)


def let_go(step: Step) -> Step:
    """Nothing is held, begun or typed ahead any more."""
    return step.but(ahead=(), typed="", held="")


def typed_move(step: Step, text: str) -> Step:
    """A whole move that was typed, or a place."""
    room = step.state.room
    if room is None or room.view is None or not text:
        return step
    if text in room.view.moves:
        return send_move(step, room, text)
    if target(text) or text[-1] in "+-":
        return step.note(f"{text[:8]} is not a legal move now.")
    return place(step, source(text)[:8])
