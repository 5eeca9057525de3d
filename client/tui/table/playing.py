"""What a press means at the player's own table: a card is played, held or refused, or the press is queued until the server has answered.

`client.game.moves` says what can be played. This module decides when a press counts, and what it sends to the server or shows.
"""

from __future__ import annotations

from msgspec.structs import replace

from client.game.board import Board, run_home
from client.game.hints import why_not
from client.game.moves import goes_home, homeward, moves_from, next_home, press, source, target
from client.state.room import RoomModel, race_clock_ms
from client.tui.actions import After, Send, SendNextHome
from client.tui.chips import keyed
from client.tui.room import still_racing
from client.tui.step import Step
from protocol.client_messages import Move
from protocol.views import View

AHEAD = 8
"""Presses that may be queued ahead of the server's answer; more would be played on a table that nobody has seen."""
HOME = "home"
"""Pressed like a place: stands for the card that goes home next."""
HOME_MS = 60
"""Between two cards that are sent home one by one."""
REPEAT_MS = 60
"""Nobody presses a key again after less than this. What comes within the same millisecond was held up on its way."""
REPEATS_MS, LATE_MS, EVENLY_MS = range(20, 105), 120, 8
"""A key that is held down comes again after so long, since keyboards are set to 25 to 100, or on an uneven line in less than LATE_MS; and
after as long each time, give or take EVENLY_MS. A hand can be as fast, but hardly as even."""
UP, DOWN = "+", "-"
"""Pressed while a card is held: its foundations."""


def place(step: Step, place: str) -> Step:
    """Press a slot, a reserve, a foundation, `w`, `s` or `r`; `+` and `-` stand for the foundations of the held card."""
    room = step.state.room
    view = room.view if room is not None else None
    if room is None or view is None:
        return step
    ahead = step.ui.ahead
    step = step.but(cursor=place if place in view.piles or place in ("w", "s") else step.ui.cursor, note="")
    if step.state.link.state != "connected":
        # Not queued either: by the time the connection is back, nobody remembers why they pressed it.
        return step.note(step.offline)
    if step.state.in_flight is not None:
        # Queue it until the answer is there, to be played in the new position. A key that is held down is not queued twice, or the stock
        # would go on turning after it was let go.
        if place in ("s", "r") and place in ahead:
            return step.note(f"{place} is already waiting to be played.")
        if len(ahead) >= AHEAD:
            return step.note(f"{place} was not taken: {AHEAD} moves are waiting already.")
        return step.but(ahead=(*ahead, place))
    return _press(step, room, view, place)


def turn_stock(step: Step) -> Step:
    """Press the stock by its key, unless that is held down. Terminals tell of no key that is let go, so time alone tells.

    Where a key repeats slowly, its first repeats look like presses, until two have come evenly, and each turns a card. To wait for the next
    would slow down every press.
    """
    gap_ms = step.now_ms - step.ui.turned_ms
    is_even = gap_ms in REPEATS_MS and abs(gap_ms - step.ui.turn_gap_ms) <= EVENLY_MS
    known_ms = step.ui.turn_repeat_ms
    # What comes late on an uneven line is followed by some that come at once.
    repeat_ms = max(gap_ms, known_ms) if is_even else known_ms
    repeats = is_even or gap_ms < min(LATE_MS, 2 * known_ms)
    is_repeat = repeats or 0 < gap_ms < REPEAT_MS
    step = step.but(turned_ms=step.now_ms, turn_gap_ms=gap_ms, turn_repeat_ms=repeat_ms if repeats else 0)
    return step.note("Too soon after the last s: held down, it turns no further card.") if is_repeat else place(step, "s")


def _press(step: Step, room: RoomModel, view: View, place: str) -> Step:
    held = step.ui.held
    if not still_racing(step):
        return _refuse(step, why_not(view, step.state.board(room, view), place, room.own))
    if target(place) or (place[1:] and place[-1] in "+-" and place not in view.foundations):
        # A whole move was typed.
        return send_move(step, room, place) if place in view.moves else _refuse(step, f"{place[:8]} is not a legal move now.")
    if place == HOME:
        best = next_home(view, keyed(step.ui.chips))
        return _refuse(step, "No card can go home now.") if best is None else send_move(step, room, best)
    if place in (UP, DOWN):
        return _send_home(step, room, view, place)
    pressed = press(view, held, place)
    step = step.but(held=pressed.held)
    if pressed.move is not None:
        return send_move(step, room, pressed.move)
    return step if pressed.known else _refuse(step, why_not(view, step.state.board(room, view), place, room.own))


def _send_home(step: Step, room: RoomModel, view: View, sign: str) -> Step:
    held = step.ui.held
    ways = [move for move in moves_from(view, held) if move in (held, held + sign) and goes_home(move)]
    if ways:
        return send_move(step.but(held=""), room, ways[0])
    return _refuse(step, f"The card at {held} cannot go there." if held else "+ and - send a held card home: press its slot first.")


def _refuse(step: Step, why: str) -> Step:
    return take_back(step).note(why)


def take_back(step: Step) -> Step:
    """Drop what was typed ahead, and say so."""
    return step.but(ahead=(), homing=False, taken_back=step.ui.ahead or step.ui.taken_back)


def all_fit(board: Board, view: View) -> bool:
    """Whether all cards that are left can go home one after the other, without the stock. Never True for a quilt: its cards cover each
    other, so it is not so easy to know.
    """
    if board.family == "quilt" or view.stock or view.pending is not None or not any(map(goes_home, view.moves)):
        return False
    piles = [list(pile) for pile in (*view.piles.values(), view.waste) if pile]
    wanted = {name: run_home(name)[count:] for name, count in view.foundations.items()}
    while True:
        before = sum(map(len, piles))
        for pile in piles:
            for name, ranks in wanted.items():
                while pile and ranks and pile[-1] == ranks[0] + name[:1]:
                    pile.pop()
                    wanted[name] = ranks = ranks[1:]
        left = sum(map(len, piles))
        if not left or left == before:
            return not left


BY_HAND = "This race is played by hand: each card home takes a key of its own."


def autoplays(step: Step) -> bool:
    """Whether cards that fit go home by themselves: the player wants it, and the race allows it."""
    room = step.state.room
    return step.ui.settings.autoplay and room is not None and room.options.autoplay and room.phase == "racing"


def turn_autoplay(step: Step) -> Step:
    """Switch autoplay on or off, if the race allows it."""
    room, settings = step.state.room, step.ui.settings
    if room is not None and not room.options.autoplay:
        return step.note(BY_HAND)
    step = step.but(settings=replace(settings, autoplay=not settings.autoplay))
    words = "off" if settings.autoplay else "on: what fits goes home by itself"
    return send_next_home(step.note(f"Autoplay is {words}."))


def send_next_home(step: Step) -> Step:
    """Send the next card home, if the player is sending all of them or autoplay is on."""
    room = step.state.room
    if step.ui.homing or room is None or not autoplays(step):
        return send_all(step) if step.ui.homing else step
    early_ms = -race_clock_ms(room.started_at_ms, step.now_ms)
    if early_ms > 0:
        return step.then(After(early_ms, SendNextHome()))
    best = next_home(room.view, keyed(step.ui.chips)) if room.view is not None else None
    waits = step.ui.held or step.ui.ahead or step.state.in_flight is not None or step.state.link.state != "connected"
    return step if best is None or waits or not still_racing(step) else send_move(step, room, best)


def send_all(step: Step) -> Step:
    """Send the next card home, and another whenever the answer is there."""
    room = step.state.room
    if room is None or room.view is None:
        return step.but(homing=False)
    why = _why_not_all(step, room, room.view)
    if why:
        return step.but(homing=False) if step.ui.homing else step.note(why)
    if step.state.in_flight is not None:
        return step.but(homing=True)
    sent = place(step, HOME)
    # What goes on by itself leaves what was said of the press, such as the lessons' farewell.
    return sent.but(homing=True, note=sent.ui.note or (step.ui.note if step.ui.homing else ""))


def _why_not_all(step: Step, room: RoomModel, view: View) -> str:
    if not room.options.autoplay:
        return BY_HAND
    if step.state.link.state != "connected":
        return step.offline
    if not still_racing(step):
        return why_not(view, step.state.board(room, view), HOME, room.own)
    if step.ui.held:
        return "First put the held card back (esc)."
    return "" if homeward(view) else "No card can go home now."


def send_move(step: Step, room: RoomModel, move: str) -> Step:
    """Play a move as this seat's next one."""
    if race_clock_ms(room.started_at_ms, step.now_ms) < 0:
        return step.note("The clock has not started yet.")
    return step if room.seat is None else step.send(Move(race=room.race, seat=room.seat, ply=room.ply, move=move))


def play_ahead(step: Step) -> Step:
    """Play what was typed ahead, once the server has answered."""
    while step.ui.ahead and step.state.room is not None and step.state.in_flight is None and not _moved(step):
        first, *rest = step.ui.ahead
        step = place(step.but(ahead=tuple(rest)), first)
    return step


def _moved(step: Step) -> bool:
    return any(isinstance(effect, Send) and isinstance(effect.message, Move) for effect in step.effects)


def put_back(step: Step) -> Step:
    """Put the held card back, and drop a name begun and what was typed ahead."""
    return send_next_home(step.but(ahead=(), typed="", held=""))


def typed_move(step: Step, text: str) -> Step:
    """Play a typed move, or press a typed place."""
    room = step.state.room
    if room is None or room.view is None or not text:
        return step
    whole = bool(target(text)) or text[-1] in "+-"
    return place(step, text if whole else source(text)[:8])
