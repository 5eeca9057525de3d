"""The race screen: the cards on the left, foundations, stock, waste, reserves and everybody's bars on the right, what to do below.

A layout of many columns takes the whole width, and all the rest lies below it. Owns the arrangement. What may be played is read off the
view; what a click or key means is the controller's business.
"""

from __future__ import annotations

from typing import NamedTuple

import urwid

from client.game.board import Board, board_of
from client.game.hints import hint
from client.state.capabilities import rules_of
from client.state.room import RoomModel, race_clock_ms
from client.text.formatting import deck_size
from client.tui.bars import all_bars
from client.tui.cards import Size
from client.tui.frame import Line, Screen, fit, foot, lines_widget, row, stacked, top
from client.tui.keymap import Action, Place
from client.tui.marks import Marks, marks_of
from client.tui.panel import Part, foundations, peek, reserves, stock_and_waste
from client.tui.quilt import quilt, quilt_height, quilt_size, quilt_width
from client.tui.scene import Scene, chat_lines, head, remarks
from client.tui.table import grid, grid_height, grid_size, grid_width
from protocol.text import clean_chat

PANEL = 30
"""Columns beside the board, the free one between included."""
FEET = 4
"""Rows below the table: the hint, two of remarks, the keys."""
LOWER = 8
"""Rows below a wide board."""
TALL = 30
"""With so many rows the foundations are drawn large."""
TALK_ROWS = 6
"""With so many rows free below the bars, the chat has a place of its own there."""

_PLAYING = frozenset({Action.PLAY, Action.WASTE, Action.STOCK, Action.REDEAL, Action.KEEP, Action.RESIGN})
"""The keys that mean nothing any more when one's own part has ended."""


class _Layout(NamedTuple):
    """The board as it is drawn, with its size in columns and rows."""

    widget: urwid.Widget
    width: int
    height: int
    card: Size


def race_screen(scene: Scene, size: tuple[int, int]) -> urwid.Widget:
    """The whole screen as a box widget. The room has a view, or nothing is on the table yet."""
    width, height = size
    room = scene.model.room
    assert room is not None
    view = room.view
    keys_line = foot(Place.RACE, scene.hands, scene.theme, width, without=_hidden(scene, room))
    if view is None:
        waits = urwid.Filler(urwid.Text("The cards are on their way.", align=urwid.CENTER))
        return Screen(head(scene, width), waits, lines_widget([[]]), remarks(scene, width, 2), keys_line)
    board = board_of(rules_of(scene.model.rules, room.options.rules), view)
    marks = marks_of(room, view, board, scene.desk)
    arrange = _below_each_other if board.is_wide else _side_by_side
    body, talks = arrange(scene, room, marks, width, height - 1 - FEET)
    shown = remarks(scene, width, 2, talk=not talks, aside=peek(scene, view, marks.cursor))
    return Screen(head(scene, width), body, _hint(scene, room, board, width), shown, keys_line)


def _hidden(scene: Scene, room: RoomModel) -> frozenset[Action]:
    """The actions that mean nothing now."""
    if room.own is not None and room.own.state not in ("waiting", "racing"):
        return _PLAYING | {Action.BACK}
    moves: tuple[str, ...] = room.view.moves if room.view is not None else ()
    board = board_of(rules_of(scene.model.rules, room.options.rules), room.view) if room.view is not None else Board()
    hidden = {
        Action.WASTE: not board.waste,
        Action.STOCK: not board.stock,
        Action.REDEAL: "r" not in moves,
        Action.BACK: not scene.desk.held,
    }
    return frozenset(action for action, is_hidden in hidden.items() if is_hidden)


def _hint(scene: Scene, room: RoomModel, board: Board, width: int) -> urwid.Widget:
    own, view = room.own, room.view
    if own is None or view is None:
        return lines_widget([[]])
    racing = race_clock_ms(room.started_at_ms, scene.now_ms) >= 0 and room.started_at_ms is not None
    if scene.model.link.state != "connected" and own.state in ("waiting", "racing"):
        sent = scene.model.in_flight
        words = "No move can go out now. The clock runs on; your seat is kept for a while."
        if sent is not None:
            words = f"Your move {clean_chat(sent.move)} was not answered: it goes out again when the line is back."
        return lines_widget([[("bad", fit(f" {scene.theme.glyphs.ring} {words}", width))]])
    text = hint(view, own, board, racing=racing, held=scene.desk.held)
    return lines_widget([[("hint", fit(f" {scene.theme.glyphs.pointer} {text}", width))]])


def _layout(scene: Scene, marks: Marks, width: int, height: int) -> _Layout:
    board = marks.board
    if board.family == "quilt":
        card = quilt_size(board, width, height)
        return _Layout(quilt(scene, marks, card), quilt_width(board, card), quilt_height(board, card), card)
    card = grid_size(board, width, height)
    return _Layout(grid(scene, marks, card), grid_width(board, card), grid_height(board, card), card)


def _side_by_side(scene: Scene, room: RoomModel, marks: Marks, width: int, height: int) -> tuple[urwid.Widget, bool]:
    layout = _layout(scene, marks, width - PANEL, height)
    free = max(width - layout.width - PANEL, 0)
    # Wide screens give the panel up to half as much again; the rest goes to both sides.
    panel_width = PANEL - 1 + min(free, 18 if layout.card.height > 3 else 1)
    margin = max(width - layout.width - panel_width - 1, 0) // 2
    above = 0 if layout.height + 2 >= height else (height - layout.height) // 2
    board = urwid.Filler(layout.widget, valign=urwid.MIDDLE if above else urwid.TOP)
    panel, talks = _panel(scene, room, marks, panel_width, height - above, layout.card)
    side = urwid.Padding(top(stacked(lines_widget([[]] * above), panel) if above else panel), width=panel_width)
    return urwid.Columns([(margin, urwid.SolidFill(" ")), (layout.width, board), (1, urwid.SolidFill(" ")), side]), talks


def _panel(scene: Scene, room: RoomModel, marks: Marks, width: int, height: int, card: Size) -> tuple[urwid.Widget, bool]:
    """Foundations, stock and waste or reserves, bars; and whether the chat has found room below them."""
    seats = sum(info.name is not None for info in room.seats) + len(room.ghosts)
    parts = [foundations(scene, marks, width, card, tall=height >= TALL)]
    piles = stock_and_waste(scene, marks, width, card)
    parts += [piles] if piles is not None else []
    if marks.board.reserves:
        parts.append(reserves(scene, marks, width, height - parts[0].height - 2 - max(seats * 3, 8)))
    taken = sum(part.height for part in parts)
    # Between the parts there is a free row, unless somebody's bar would fall off the end for it.
    free = 1 if height - taken - len(parts) >= seats else 0
    widgets: list[urwid.Widget] = []
    for part in parts:
        widgets += [part.widget, *([lines_widget([[]])] if free else [])]
    left = height - taken - free * len(parts)
    bars = _bars(scene, room, width - 1, left)
    widgets.append(lines_widget(bars))
    talks = left - len(bars) >= TALK_ROWS and bool(room.chat)
    if talks:
        widgets.append(lines_widget([[], [("title", "Talk")], *chat_lines(scene, width, min(left - len(bars) - 2, 8))]))
    return stacked(*widgets), talks


def _bars(scene: Scene, room: RoomModel, width: int, height: int) -> list[Line]:
    away = {seat: until_ms - scene.now_ms for seat, until_ms in room.away_until_ms}
    total = deck_size(scene.model.rules, room.options)
    return all_bars(room.seats, room.seat, width, height, scene.theme, cards=total, away_ms=away, ghosts=room.ghosts)


def _below_each_other(scene: Scene, room: RoomModel, marks: Marks, width: int, height: int) -> tuple[urwid.Widget, bool]:
    layout = _layout(scene, marks, width, height - LOWER)
    left = height - layout.height
    homes = foundations(scene, marks, PANEL - 1, layout.card, tall=left >= 1 + 2 * 4 + 1)
    pile_width = 27 if layout.card.height >= 5 else 21
    piles = stock_and_waste(scene, marks, pile_width, layout.card) or Part(lines_widget([[]]), 1)
    free = max(width - layout.width, 0) // 2
    margin = 0 if width < 100 else free
    bars_width = width - 2 * margin - PANEL - pile_width - 2
    bars = _bars(scene, room, bars_width, left)
    lower = row(
        (margin + 1, lines_widget([[]])),
        (PANEL - 1, homes.widget),
        (1, lines_widget([[]])),
        (pile_width, piles.widget),
        (1, lines_widget([[]])),
        (bars_width, lines_widget(bars)),
    )
    board = urwid.Padding(layout.widget, left=free, width=layout.width)
    return top(stacked(board, lower)), False
