"""The replay screen: two boards side by side as they stood at one moment, and below them the time line of both.

A race of one seat has one board; of more than two seats two are shown, and keys choose which. Owns the arrangement; where the head is and
what it does is `client.replay.timeline`'s business, what a key means the controller's.
"""

from __future__ import annotations

import urwid

from client.game.board import Board, board_of, free_slots
from client.game.moves import goes_home, source, target, top_card
from client.replay.timeline import Head, SeatLine
from client.text.formatting import clock_text
from client.tui.bars import seat_lines
from client.tui.frame import Line, Screen, clip, foot, lines_widget, spread
from client.tui.keymap import Action, Place
from client.tui.marks import Marks
from client.tui.panel import small_cards
from client.tui.replay_state import Reel
from client.tui.scene import Scene, head
from client.tui.small_board import place_of_move
from client.tui.small_table import side_by_side, small_table, width_of_each
from client.tui.theme import Theme
from client.tui.timeline import PLAIN_ROWS, parting_sentence, time_line
from protocol.cards import DECK_SIZE
from protocol.text import clean_chat
from protocol.views import SeatInfo, View

HIGH = 34
"""With so many rows the progress curves stand above the time line."""
CURVES = 8


def replay_screen(scene: Scene, size: tuple[int, int], reel: Reel) -> urwid.Widget:
    """The whole screen as a box widget."""
    width, height = size
    now = reel.at(scene.now_ms)
    shown = reel.shown
    line_rows = PLAIN_ROWS + (CURVES if height >= HIGH else 0)
    feet = (
        lines_widget([_told(scene, reel, width)]),
        time_line(reel, now, scene.theme, scene.hands, width, line_rows),
        foot(Place.REPLAY, scene.hands, scene.theme, width, without=_meaningless(reel)),
    )
    room = height - 1 - 1 - line_rows - 1
    each = width_of_each(len(shown), width)
    plies = reel.line.plies(now.made)
    boards = [_board(scene, reel, now, line, plies[line.number], side=side, width=each, height=room) for side, line in enumerate(shown)]
    return Screen(head(scene, width), side_by_side(boards, width), *feet)


def _meaningless(reel: Reel) -> frozenset[Action]:
    without = set() if len(reel.pairs) > 1 else {Action.PAIR}
    return frozenset(without if reel.parting is not None else {*without, Action.PARTING})


def _told(scene: Scene, reel: Reel, width: int) -> Line:
    """What the last key came to, else where the lines of play part."""
    told: Line = [("strong", f" {scene.desk.note}")] if scene.desk.note else [("hint", f" {parting_sentence(reel, scene.theme)}")]
    return spread(told, [], width, "felt")


# ---- one board


def _board(scene: Scene, reel: Reel, now: Head, line: SeatLine, ply: int, *, side: int, width: int, height: int) -> urwid.Widget:
    view = line.view(ply)
    above = seat_lines(
        _seat(line, ply, now),
        width,
        2,
        scene.theme,
        cards=DECK_SIZE * reel.line.rules.decks,
        own=line.number == reel.own,
        role=f"curve {side}",
    )
    played = _last_move(line, ply, scene.theme, width)
    return small_table(scene, _marks(line, ply, view, board_of(reel.line.rules, view)), ply, above, played, width=width, height=height)


def _marks(line: SeatLine, ply: int, view: View, board: Board) -> Marks:
    """The last move's place is marked as the cursor's is in a race; nothing is marked as playable."""
    place = place_of_move(line.view(ply - 1), line.frames[ply - 1].move) if ply else ""
    return Marks(view, board, place, free=free_slots(board, view) if board.family == "quilt" else None, plays=False)


def _seat(line: SeatLine, ply: int, now: Head) -> SeatInfo:
    view, seat = line.view(ply), line.seat
    return SeatInfo(
        seat=line.number,
        name=seat.name,
        bot=seat.bot,
        connected=True,
        ready=True,
        again=False,
        state=line.state(ply, now.t_ms),
        ply=ply,
        home=view.home,
        foundations=view.foundations,
        elapsed_ms=now.t_ms,
        round_trip_ms=seat.round_trip_ms,
    )


def _last_move(line: SeatLine, ply: int, theme: Theme, width: int) -> Line:
    """The move that led here: its number and text, what it did, and when."""
    if not ply:
        return [("faint", "the deal, before the first move")]
    frame, before = line.frames[ply - 1], line.view(ply - 1)
    left: Line = [("strong", f"{ply}. {clip(clean_chat(frame.move), 8)}  "), *_words(before, frame.view, frame.move, theme)]
    return spread(left, [("faint", clock_text(frame.at_ms))], width, "felt")


def _words(before: View, after: View, move: str, theme: Theme) -> Line:
    """What a move did, in words."""
    place, end = source(move), target(move)
    if move == "r":
        return [("felt", "redeal")]
    if place == "s":
        # What comes off the stock was not seen before.
        card = top_card(after, end or "w") if end or after.waste else ""
        words = f"to {end}" if end else "turned" if card else "a row dealt"
        return [*small_cards(theme, (card,) if card else ()), ("felt", words)]
    card = top_card(before, place)
    words = {"+": "home, up", "-": "home, down"}.get(move[-1:], "home") if goes_home(move) else f"to {'the waste' if end == 'w' else end}"
    return [*small_cards(theme, (card,)), ("felt", words)]
