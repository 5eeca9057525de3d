"""The race screen: the carpet on the left, foundations, stock, waste and everybody's bars on the right, what to do below.

Owns the arrangement. What may be played is read off the view; what a click or key means is the controller's business.
"""

from __future__ import annotations

import urwid

from client.keys import Action, Place
from client.model import RoomModel
from client.reading import deck_size, hint, meant, playable, race_clock_ms
from client.ui import cards
from client.ui.bars import all_bars
from client.ui.cards import EDGES, Size
from client.ui.cursor import grid_of
from client.ui.frame import Line, Screen, Spot, fit, foot, lines_widget, row, stacked, top
from client.ui.scene import Scene, chat_lines, head, remarks
from protocol.views import View

LABELS = 3
"""Columns for the row numbers."""
PANEL = 30
FEET = 4
"""Rows below the table: the hint, two of remarks, the keys."""

_PLAYING = frozenset({Action.PLAY, Action.WASTE, Action.STOCK, Action.KEEP, Action.RESIGN})
"""The keys that mean nothing any more when one's own part has ended."""

TALK_ROWS = 6
"""With so many rows free below the bars, the chat has a place of its own there."""


def card_size(columns: int, rows: int, width: int, height: int) -> Size:
    """The largest cards of which the whole layout fits."""
    for size in cards.SIZES:
        wide = LABELS + columns * (size.width + EDGES)
        tall = _table_height(rows, size)
        if wide + PANEL <= width and tall <= height:
            return size
    return cards.DENSE


def _table_height(rows: int, card: Size) -> int:
    """The letters, the cards and a free row below each row of them, where the cursor's frame is drawn."""
    return 1 + rows * (card.height + card.gap)


def race_screen(scene: Scene, size: tuple[int, int]) -> urwid.Widget:
    """The whole screen as a box widget. The room has a view, or nothing is on the table yet."""
    width, height = size
    room = scene.model.room
    assert room is not None
    hidden = frozenset[Action]() if _plays(room) else _PLAYING
    hint_line, keys_line = _hint(scene, room, width), foot(Place.RACE, scene.hands, scene.theme, width, without=hidden)
    body_height = height - 1 - FEET
    view = room.view
    if view is None:
        waits = urwid.Filler(urwid.Text("The cards are on their way.", align=urwid.CENTER))
        return Screen(head(scene, width), waits, hint_line, remarks(scene, width, 2), keys_line)
    columns, rows = grid_of(view)
    card = card_size(columns, rows, width, body_height)
    board_width = LABELS + columns * (card.width + EDGES)
    free = max(width - board_width - PANEL, 0)
    # Wide screens give the panel up to half as much again; the rest goes to both sides.
    panel_width = PANEL - 1 + min(free, 18 if card.height > 3 else 1)
    margin = max(width - board_width - panel_width - 1, 0) // 2
    table_height = _table_height(rows, card)
    board = urwid.Filler(
        _board(scene, room, view, columns, rows, card), valign=urwid.TOP if table_height + 2 >= body_height else urwid.MIDDLE
    )
    above = 0 if table_height + 2 >= body_height else (body_height - table_height) // 2
    panel, talks = _panel(scene, room, view, panel_width, body_height - above, card, above)
    side = urwid.Padding(top(panel), width=panel_width)
    body = urwid.Columns([(margin, urwid.SolidFill(" ")), (board_width, board), (1, urwid.SolidFill(" ")), side])
    return Screen(head(scene, width), body, hint_line, remarks(scene, width, 2, talk=not talks), keys_line)


def _hint(scene: Scene, room: RoomModel, width: int) -> urwid.Widget:
    own, view = room.own, room.view
    if own is None or view is None:
        return lines_widget([[]])
    racing = race_clock_ms(room.started_at_ms, scene.now_ms) >= 0 and room.started_at_ms is not None
    text = hint(view, own, racing=racing)
    return lines_widget([[("hint", fit(f" {scene.theme.glyphs.pointer} {text}", width))]])


def _plays(room: RoomModel) -> bool:
    """Whether anything can still be played: not after this seat's own end, while others are racing."""
    return room.own is None or room.own.state in ("waiting", "racing")


def _board(scene: Scene, room: RoomModel, view: View, columns: int, rows: int, card: Size) -> urwid.Widget:
    able = frozenset[str]() if not _plays(room) else playable(view) if not view.pending else frozenset({view.pending})
    letters = [chr(ord("a") + column) for column in range(columns)]
    parts: list[urwid.Widget] = [lines_widget([_between(scene, letters, 0, card)])]
    for number in range(1, rows + 1):
        blank: list[Line] = [[("faint", "")]] * (card.height // 2)
        cells: list[tuple[int, urwid.Widget]] = [(LABELS, lines_widget([*blank, [("faint", f" {number}")]]))]
        for letter in letters:
            slot = f"{letter}{number}"
            lines = _slot_lines(scene, view, slot, card, lit=slot in able)
            cells.append((card.width + EDGES, Spot(lines_widget(lines), lambda slot=slot: scene.hands.place(slot))))  # type: ignore[misc]
        parts.append(row(*cells))
        if card.gap:
            parts.append(lines_widget([_between(scene, letters, number, card)]))
    return stacked(*parts)


def _between(scene: Scene, letters: list[str], above: int, card: Size) -> Line:
    """The row between two rows of cards (above the first one with the letters): the cursor's frame goes through it."""
    line: Line = [("faint", " " * LABELS)]
    for letter in letters:
        label = letter if above == 0 else ""
        if card.gap and scene.desk.cursor == f"{letter}{above + 1}":
            line.append(("cursor", cards.cursor_edge(card, scene.theme, label, top=True)))
        elif card.gap and scene.desk.cursor == f"{letter}{above}":
            line.append(("cursor", cards.cursor_edge(card, scene.theme, label, top=False)))
        else:
            line.append(("faint", label.center(card.width + EDGES)))
    return line


def _slot_lines(scene: Scene, view: View, slot: str, card: Size, *, lit: bool) -> list[Line]:
    pile = view.piles.get(slot, ())
    if slot == view.pending:
        lines = cards.gap(slot, card, scene.theme, waits=True)
    elif pile:
        lines = cards.face(pile[-1], card, scene.theme, "playable" if lit else "plain")
    else:
        lines = cards.gap(slot, card, scene.theme)
    return cards.edged(lines, scene.theme, cursor=scene.desk.cursor == slot)


def _panel(scene: Scene, room: RoomModel, view: View, width: int, height: int, card: Size, above: int) -> tuple[urwid.Widget, bool]:
    """Foundations, stock and waste, bars; and whether the chat has found room below them."""
    rules = scene.model.welcome.rules if scene.model.welcome is not None else ()
    total = deck_size(rules, room.options)
    tops, tops_height = _foundations(scene, view, width, card)
    piles, piles_height = _stock_and_waste(scene, room, view, width, card)
    left = height - tops_height - piles_height - 2
    away = {seat: until_ms - scene.now_ms for seat, until_ms in room.away_until_ms}
    bars = all_bars(room.seats, room.seat, width - 1, left, scene.theme, cards=total, away_ms=away)
    parts = [tops, lines_widget([[]]), piles, lines_widget([[]]), lines_widget(bars)]
    talks = left - len(bars) >= TALK_ROWS and bool(room.chat)
    if talks:
        parts.append(lines_widget([[], [("title", "Talk")], *chat_lines(scene, width, min(left - len(bars) - 2, 8))]))
    return stacked(*([lines_widget([[]] * above)] if above else []), *parts), talks


def _foundations(scene: Scene, view: View, width: int, card: Size) -> tuple[urwid.Widget, int]:
    names = list(view.foundations)
    large = card.height >= 5 and width >= 4 * (cards.MEDIUM.width + 1)
    size = Size(6, 3, 0) if not large else cards.MEDIUM
    if len(names) > 4:
        size = Size(6, 1, 0)
    parts: list[urwid.Widget] = [lines_widget([[("faint", f"{view.home} cards home")]])]
    height = 1
    for start in range(0, len(names), 4):
        cells: list[tuple[int, urwid.Widget]] = []
        for name in names[start : start + 4]:
            lines = cards.foundation(name[:1], view.foundations[name], size, scene.theme, down=name.endswith("-"))
            cells.append((size.width + 1, lines_widget(lines)))
        parts.append(row(*cells))
        height += size.height
    return stacked(*parts), height


def _stock_and_waste(scene: Scene, room: RoomModel, view: View, width: int, card: Size) -> tuple[urwid.Widget, int]:
    theme, pending = scene.theme, view.pending
    size = cards.MEDIUM if card.height >= 5 else cards.SMALL
    stock_lit, waste_lit = (_plays(room) and bool(meant(view, place)) for place in ("s", "w"))
    mark = theme.glyphs.playable
    label = f"s {'fill ' + pending if pending and stock_lit else 'stock'}{' ' + mark if stock_lit else ''}"
    waste_label = f"w {'fill ' + pending if pending and waste_lit else f'waste {len(view.waste)}'}"
    cell = size.width + EDGES
    role = "title" if pending else "faint"
    stock = cards.edged(cards.back(view.stock, size, theme), theme, cursor=scene.desk.cursor == "s")
    waste_face = (
        cards.face(view.waste[-1], size, theme, "playable" if waste_lit else "plain")
        if view.waste
        else cards.gap(theme.glyphs.dash, size, theme)
    )
    waste = cards.edged(waste_face, theme, cursor=scene.desk.cursor == "w")
    column = cell + 3
    rows = [
        row(
            (column, Spot(lines_widget([[(role, f" {label}")]]), lambda: scene.hands.place("s"))),
            (width - column, Spot(lines_widget([[(role if waste_lit else "faint", f" {waste_label}")]]), lambda: scene.hands.place("w"))),
        ),
        row(
            (cell, Spot(lines_widget(stock), lambda: scene.hands.place("s"))),
            (3, lines_widget([[]])),
            (cell, Spot(lines_widget(waste), lambda: scene.hands.place("w"))),
        ),
        lines_widget([_under(scene, view, width)]),
    ]
    return stacked(*rows), size.height + 2


def _under(scene: Scene, view: View, width: int) -> Line:
    """The cards that come next, where the rules show them; else those that lie under the waste's top, which this player has seen."""
    if view.stock_next:
        return [("title", " next "), *_small_cards(scene, view.stock_next)]
    if view.redeals and not view.stock:
        return [("title", " r redeals the waste")]
    if len(view.waste) > 1:
        shown = view.waste[-2 : -2 - (width - 8) // 4 : -1]
        return [("faint", " under "), *_small_cards(scene, shown)]
    return []


def _small_cards(scene: Scene, names: tuple[str, ...]) -> Line:
    return [piece for name in names for piece in ((f"suit {name[1:]}", cards.card_name(name, scene.theme)), ("faint", " "))]
