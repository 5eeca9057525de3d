"""The time line at the foot of a replay: who moved when, how far the replay is, where the two lines of play part.

In a high terminal the progress curves stand above it, with the same columns. A click anywhere on it goes to that moment.
"""

from __future__ import annotations

from msgspec.structs import replace

from client.game.moves import goes_home
from client.replay.timeline import Head, SeatLine
from client.state.progress import curves
from client.text.formatting import clock_text
from client.text.width import clip, fit, text_width
from client.tui.actions import JumpTo
from client.tui.drawing.picture import Hit, Line, Picture, Rect, block
from client.tui.drawing.plot import AREA_ROWS, AXIS, plot, scale
from client.tui.drawing.theme import Theme
from client.tui.replay_state import ReplayState
from protocol.cards import DECK_SIZE
from protocol.replay import Frame
from protocol.text import clean_chat, clean_name

NAMES = 14
"""The most columns for names."""
PLAIN_ROWS = 3
"""One row of moves for each of two seats, and the line between them."""
APART = "Each plays a shuffle of their own."


def time_line(replay: ReplayState, head: Head, theme: Theme, width: int, height: int, slip: Frame | None = None) -> Picture:
    """`height` rows: PLAIN_ROWS, and the rest for the curves, which need three. slip: the move that lost a game, marked on its row."""
    shown = replay.shown
    left = max(min(max(text_width(clean_name(line.seat.name)) for line in shown) + 2, NAMES), AXIS)
    columns = max(width - left - 1, 4)
    end_ms = max(replay.line.end_ms, 1)
    lines: list[Line] = []
    if height - PLAIN_ROWS >= 3:
        # In the same columns, so they too start after the names.
        drawn = progress(replay, head, theme, columns, height - PLAIN_ROWS)
        lines += [[("panel", " " * (left - AXIS)), *line] for line in drawn]
    lines.append(_moves(shown[0], 0, theme, columns, end_ms, left, slip))
    lines.append(_track(replay, head, theme, columns, end_ms, left))
    lines.append(_moves(shown[1], 1, theme, columns, end_ms, left, slip) if len(shown) > 1 else [("panel", "")])

    # The first column is the very start, the last one the very end.
    hits = (Hit(Rect(left + at, 0, 1, height), JumpTo(replay.line.end_ms * at // (columns - 1))) for at in range(columns))
    return replace(block(lines, width, role="panel"), hits=tuple(hits))


def column_of(t_ms: int, end_ms: int, columns: int) -> int:
    """The column of a moment: the start is in the first one, the end in the last."""
    return max(0, min(t_ms, end_ms)) * (columns - 1) // max(end_ms, 1)


def parting_sentence(replay: ReplayState, theme: Theme) -> str:
    """Where the lines on the screen part, in words."""
    lines, parting = replay.shown, replay.parting
    if len(lines) < 2:
        return ""
    if parting is None:
        return APART if replay.line.record.swaps else "Both games are the same, move for move."
    names = [clip(clean_name(line.seat.name), 14) or "nameless" for line in lines]
    moves = ["stopped" if move is None else clean_chat(move)[:8] for move in parting.moves]
    at = f"at move {parting.ply + 1}"
    told = ", ".join(f"{name} {move}" for name, move in zip(names, moves, strict=True))
    return f"{theme.glyphs.parting} They diverge {at} ({clock_text(parting.at_ms, tenths=False)}): {told}."


def _moves(line: SeatLine, side: int, theme: Theme, columns: int, end_ms: int, left: int, slip: Frame | None) -> Line:
    """A seat's name, then how many moves it made in each column; a column is bright if one of them brought a card home.

    A question mark stands for the move that lost the game, as in chess.
    """
    counts, bright = [0] * columns, [False] * columns
    for frame in line.frames:
        at = column_of(frame.at_ms, end_ms, columns)
        counts[at] += 1
        bright[at] = bright[at] or goes_home(frame.move)
    levels = theme.glyphs.levels
    pieces: Line = [(f"line {side}", fit(f" {clip(clean_name(line.seat.name), left - 2)}", left))]
    for count, is_bright in zip(counts, bright, strict=True):
        sign = levels[min(count, len(levels)) - 1] if count else " "
        pieces.append((f"line {side}" if is_bright else "panel faint", sign))
    end = column_of(line.seat.ended_at_ms, end_ms, columns)
    pieces[1 + end] = ("panel strong", theme.glyphs.tick if line.seat.state == "won" else theme.glyphs.cross)
    if slip is not None and slip.seat == line.number:
        pieces[1 + column_of(slip.at_ms, end_ms, columns)] = ("panel strong", "?")
    return pieces


def _track(replay: ReplayState, head: Head, theme: Theme, columns: int, end_ms: int, left: int) -> Line:
    at, glyphs = column_of(head.t_ms, end_ms, columns), theme.glyphs
    pieces: Line = [("panel faint", fit("", left))]
    pieces += [("panel strong", glyphs.passed) if x < at else ("panel faint", glyphs.bar_rest) for x in range(columns)]
    if replay.parting is not None:
        pieces[1 + column_of(replay.parting.at_ms, end_ms, columns)] = ("panel", glyphs.parting)
    pieces[1 + at] = ("panel strong", glyphs.dot)
    return pieces


def progress(replay: ReplayState, head: Head, theme: Theme, columns: int, height: int) -> list[Line]:
    """The curves of the seats that are shown, on `columns` columns beside their scale, and the place of the head."""
    record = replay.line.record
    every = curves(record)
    shown = [(side, every[line.number]) for side, line in enumerate(replay.shown)]
    top = scale(record, DECK_SIZE * replay.line.rules.decks)
    drawn = plot(shown, columns + AXIS, height, theme, cards=top, area=height >= AREA_ROWS)
    at = 1 + column_of(head.t_ms, max(replay.line.end_ms, 1), columns)
    for line in drawn[:-1]:
        if line[at][0] == "panel faint":
            line[at] = ("panel strong", theme.glyphs.frame.down)
    return drawn
