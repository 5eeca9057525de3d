"""The race screen: the cards on the left, foundations, stock, waste, reserves and everybody's bars on the right, what to do below.

A layout of many columns takes the whole width, and all the rest lies below it. Owns the arrangement. What may be played is read off the
view; what a click or key means is `_update`'s business.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Literal, NamedTuple

from msgspec.structs import replace

from client.game.board import Board
from client.game.hints import LONGEST, all_home_key, hint
from client.game.moves import choices, source, top_card
from client.game.preview import preview
from client.state.room import RoomModel, race_clock_ms
from client.text.width import fit
from client.tui.actions import Do, Press, PutBack, ScreenAction, SendNextHome, Typed
from client.tui.chips import CHIPS, Chip, chips_of, keyed
from client.tui.drawing.bars import seat_name
from client.tui.drawing.cards import CardSize
from client.tui.drawing.picture import (
    EMPTY,
    MIDDLE,
    Line,
    Picture,
    Size,
    block,
    cut_line,
    fit_line,
    foot,
    placed,
    row,
    screen,
    shifted,
    stacked,
    words_hit,
)
from client.tui.keymap import CURSOR, FRENCH_DIGITS, LEAVE, SLOT_STARTERS, TALK, Binding, Command, Keys
from client.tui.race import lessons
from client.tui.room import refused_alone, room_update, still_racing
from client.tui.scene import Scene, chat_lines, head, remarks
from client.tui.screen import Screen
from client.tui.step import Step
from client.tui.table.cursor import NAMED, moved, type_slot
from client.tui.table.grid import grid, grid_height, grid_size, grid_width
from client.tui.table.marks import Marks, marks_of
from client.tui.table.panel import foundations, peek, reserves, stock_and_waste
from client.tui.table.playing import (
    DOWN,
    HOME,
    UP,
    all_fit,
    place,
    put_back,
    send_all,
    send_next_home,
    turn_autoplay,
    turn_stock,
    typed_move,
)
from client.tui.table.quilt import quilt, quilt_height, quilt_size, quilt_width
from client.tui.table.race_progress import bars, below_bars, own_moves, times
from protocol.client_messages import Resign, Stop
from protocol.seat_ends import BEATEN, end_among
from protocol.text import clean_chat
from protocol.views import View

PANEL = 30
"""Columns beside the board, the free one between included."""
FEET = 4
"""Rows below the table: the hint, two of remarks, the keys."""
LOWER = 8
"""Rows below a wide board."""
TALL = 30
"""With so many rows the foundations are drawn large."""
LESSON_WIDTH = 100
"""Columns of a lesson, at most."""
TALK_ROWS = 6
"""With so many rows free below the bars, the chat has a place of its own there."""

KEYS: Keys = (
    Binding(Command.CHIP, tuple(CHIPS), "card", "Play the card with this key; put the held one there.", shown=False),
    Binding(Command.PLAY, ("enter",), "play", "Play the card under the cursor, or put the held card there."),
    Binding(Command.SEND_HOME, (" ",), "home", "Send a card home, key 1 before 2; a held card to the cursor."),
    Binding(Command.AUTOPLAY, ("H",), "auto", "What fits goes home by itself, if the race allows it.", shown=False),
    Binding(Command.NEXT, ("tab",), "next", "Cursor to the next card that can be played.", shown=False),
    Binding(Command.PREVIOUS, ("shift tab",), "previous", "Cursor to the one before.", shown=False),
    Binding(Command.SLOT, ("'",), "slot", "Begin a slot's name whose letter is also a key: 'h3.", shown=False),
    Binding(Command.WASTE, ("w",), "waste", "Play the waste's top card: home, or into the open gap."),
    Binding(Command.STOCK, ("s",), "stock", "Turn the next stock card, or fill the open gap with it."),
    Binding(Command.REDEAL, ("r",), "redeal", "Redeal the waste, if the rules allow it."),
    Binding(Command.UPWARD, ("+", "="), "up", "Send the held card home on the foundation that builds up.", shown=False),
    Binding(Command.DOWNWARD, ("-",), "down", "Send the held card home on the one that builds down.", shown=False),
    Binding(Command.BACK, ("esc",), "let go", "Put the held card back; forget the slot name begun."),
    Binding(Command.MOVE, (":",), "move", "Type a whole move: b3, w, s, w:b3, c5:w, b3+.", shown=False),
    Binding(Command.KEEP, ("K",), "stop", "Stop; the cards you brought home count (asks first)."),
    LEAVE,
    Binding(Command.RESIGN, ("R",), "resign", "Give up the race (asks first)."),
    TALK,
    # Last, since the row of keys has room for it in wide terminals alone.
    Binding(Command.SEND_ALL, ("G",), "all home", "Send home all that can go (g too, if no column is g)."),
)

TABLE_KEYS: Final = (
    frozenset(key for binding in (*KEYS, *CURSOR) if binding.command not in (Command.BACK, Command.CHAT) for key in binding.keys)
    | SLOT_STARTERS
    | frozenset(FRENCH_DIGITS)
)
"""All keys that somebody may press in the middle of their race. Esc and q end nothing there, and close what comes after it if they like."""

HINTED = {
    "press g": Do(Command.SEND_ALL),
    "press G": Do(Command.SEND_ALL),
    "(g: all)": Do(Command.SEND_ALL),
    "(G: all)": Do(Command.SEND_ALL),
    "(s)": Do(Command.STOCK),
    "(w)": Do(Command.WASTE),
    "(r)": Do(Command.REDEAL),
    "up (+)": Do(Command.UPWARD),
    "down (-)": Do(Command.DOWNWARD),
    "(esc: none)": Do(Command.BACK),
    "(esc: nowhere)": Do(Command.BACK),
}
"""The keys that the hint names, in its words."""

_PLAYING = frozenset(
    {
        Command.PLAY,
        Command.SEND_HOME,
        Command.WASTE,
        Command.STOCK,
        Command.REDEAL,
        Command.KEEP,
        Command.RESIGN,
        Command.SEND_ALL,
    }
)
"""The keys that mean nothing when one's own part has ended, or without a connection."""


class _Layout(NamedTuple):
    """The board as it is drawn, with its size in columns and rows."""

    picture: Picture
    width: int
    height: int
    card: CardSize


def _view(scene: Scene, size: Size) -> Picture:
    """The whole screen. The room has a view, or nothing is on the table yet."""
    width, height = size
    room = scene.model.room
    assert room is not None
    view = room.view
    keys_line = foot(KEYS, scene.theme, width, without=_hidden(scene, room) | refused_alone(scene))
    if view is None:
        waits = block([[("felt", "Waiting for the cards...")]], width, centred=True)
        return screen(size, head(scene, width), waits, block([[]]), remarks(scene, width, 2), keys_line, above=MIDDLE)
    sent = scene.model.in_flight
    chips = chips_of(scene.ui.chips, view, scene.ui.held)
    if sent is not None and sent.ply == room.ply:
        # The board changes at the key, and the answer corrects it.
        view = preview(view, sent.move)
    board = scene.model.board(room, view)
    marks = marks_of(room, view, board, scene.ui, is_connected=scene.model.link.state == "connected")
    arrange = _below_each_other if board.is_wide else _side_by_side
    body, talks, margin = arrange(scene, room, marks, width, height - 1 - FEET)
    # What is to be done stands where the cards stand.
    margin, beside = (margin, width - margin) if height >= TALL else (0, width)
    if scene.ui.learned is not None and scene.ui.prompt is None and marks.plays:
        shown = lessons.told(scene, room, min(beside, LESSON_WIDTH))
    else:
        shown = remarks(scene, beside, 2, talk=not talks, aside=peek(scene, view, marks.cursor))
    if marks.plays:
        body = _with_chips(body, scene, view, chips)
    feet = shifted(stacked(_hint(scene, room, board, beside), shown), margin)
    return screen(size, head(scene, width), body, feet, keys_line)


def _with_chips(body: Picture, scene: Scene, view: View, chips: tuple[Chip, ...]) -> Picture:
    """A chip on each card that has one, and a dot on what is waiting to be played, at the top right of the card."""
    signs = {chip.place: chip.key for chip in chips if scene.ui.held or top_card(view, chip.place) == chip.card}
    # Stock, waste and redeal have keys of their own, and those are their chips.
    begins = choices(view, scene.ui.held) if scene.ui.held else {source(move) for move in view.moves}
    signs |= {place_: place_ for place_ in ("s", "w", "r") if place_ in begins}
    signs |= dict.fromkeys(scene.ui.ahead, scene.theme.glyphs.dot)
    lines = list(body.lines)
    for place_, rect, _ in body.slots:
        if place_ in signs and rect.row < len(lines):
            at, line = rect.column + rect.width - 1, lines[rect.row]
            lines[rect.row] = [*fit_line(line, at), ("mark", signs[place_]), *cut_line(line, at + 1)]
    return replace(body, lines=tuple(lines))


def _hidden(scene: Scene, room: RoomModel) -> frozenset[Command]:
    """The actions that mean nothing now."""
    if room.own is not None and room.own.state not in ("waiting", "racing"):
        return _PLAYING | {Command.BACK}
    if scene.model.link.state != "connected":
        return _PLAYING if scene.ui.held else _PLAYING | {Command.BACK}
    moves: tuple[str, ...] = room.view.moves if room.view is not None else ()
    board = scene.model.board(room, room.view) if room.view is not None else Board()
    hidden = {
        Command.WASTE: not board.waste,
        Command.STOCK: not board.stock,
        Command.REDEAL: "r" not in moves,
        Command.BACK: not scene.ui.held,
    }
    return frozenset(action for action, is_hidden in hidden.items() if is_hidden)


def _hint(scene: Scene, room: RoomModel, board: Board, width: int) -> Picture:
    role, words = situation(scene, room, board, max(width - 5, LONGEST))
    if not words:
        return block([[]])
    sign = scene.theme.glyphs.ring if role == "bad" else scene.theme.glyphs.pointer
    return words_hit([(role, fit(f" {sign} {words}", width))], HINTED)


def situation(scene: Scene, room: RoomModel, board: Board, columns: int) -> tuple[Literal["hint", "bad"], str]:
    """How things stand for the player and what they can do now, in about so many columns; empty without a table."""
    own, view = room.own, room.view
    if own is None or view is None:
        return "hint", ""
    if scene.ui.ahead:
        words = ", ".join("next card home" if place == HOME else place for place in scene.ui.ahead)
        return "hint", f"Waiting to be played: {words}."
    if room.options.autoplay and view.moves and own.state == "racing" and not scene.ui.held and all_fit(board, view):
        return "hint", f"Every card goes home now: press {all_home_key(view)} to finish."
    racing = race_clock_ms(room.started_at_ms, scene.now_ms) >= 0 and room.started_at_ms is not None
    if scene.model.link.state != "connected" and own.state in ("waiting", "racing"):
        sent = scene.model.in_flight
        words = "Not connected. Your seat is held; your clock runs on."
        if scene.model.link.state != "gone":
            held_s = -(-_held_ms(scene, room) // 1000)
            held = f"Seat held {held_s} s more; if the server is down, no clock runs."
            lost = "Your seat is lost, unless it is the server that is down."
            words = f"Not connected. {held if held_s > 0 else lost}"
        if sent is not None:
            words = f"Your move {clean_chat(sent.move)} is not confirmed yet. It is sent again once you are back."
        return "bad", words
    ended = end_among(own, room.seats)
    if ended is None:
        text = hint(view, board, racing=racing, held=scene.ui.held, columns=columns, first=keyed(scene.ui.chips))
    else:
        text = ended.own
    others = [seat_name(info) for info in room.seats if info is not own and info.state == "racing"]
    if others and own.state in ("stalled", "stopped") and ended is not BEATEN:
        text += f" {others[0]} is still racing." if len(others) == 1 else f" {len(others)} others are still racing."
    return "hint", text


def _held_ms(scene: Scene, room: RoomModel) -> int:
    """What is left of the player's own grace, if the server runs; none left is negative or 0."""
    held_at_ms = scene.model.link.held_at_ms
    gone_ms = scene.now_ms - held_at_ms if held_at_ms is not None else 0
    return room.options.grace_s * 1000 - gone_ms


def _layout(scene: Scene, marks: Marks, width: int, height: int) -> _Layout:
    board = marks.board
    if board.family == "quilt":
        card = quilt_size(board, width, height)
        return _Layout(quilt(marks, card, scene.theme), quilt_width(board, card), quilt_height(board, card), card)
    card = grid_size(board, width, height)
    return _Layout(grid(scene, marks, card), grid_width(board, card), grid_height(board, card), card)


def _side_by_side(scene: Scene, room: RoomModel, marks: Marks, width: int, height: int) -> tuple[Picture, bool, int]:
    layout = _layout(scene, marks, width - PANEL, height)
    free = max(width - layout.width - PANEL, 0)
    # Wide screens give the panel up to half as much again; the rest goes to both sides.
    panel_width = PANEL - 1 + min(free, 20 if layout.card.height > 7 else 18 if layout.card.height > 3 else 1)
    margin = max(width - layout.width - panel_width - 1, 0) // 2
    above = 0 if layout.height + 2 >= height else (height - layout.height) // 2
    board = placed(layout.picture, height, MIDDLE if above else 0)
    panel, talks = _panel(scene, room, marks, panel_width, height - above, layout.card)
    return row((margin, EMPTY), (layout.width + 1, board), (panel_width, shifted(panel, 0, above))), talks, margin


def _panel(scene: Scene, room: RoomModel, marks: Marks, width: int, height: int, card: CardSize) -> tuple[Picture, bool]:
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
    shown: list[Picture] = []
    for part in parts:
        shown += [part, *([block([[]])] if free else [])]
    left = height - taken - free * len(parts)
    standing = bars(scene, room, width - 1, left)
    left -= standing.height
    talks = left >= TALK_ROWS and bool(room.chat)
    talk_rows = min(len(room.chat) + 2, 10) if talks else 0
    course = below_bars(scene, room, width - 1, left - talk_rows)
    said: list[Line] = [[], [("title", "Chat")], *chat_lines(scene, width, min(left - course.height - 2, 8))] if talks else []
    return stacked(*shown, standing, course, block(said)), talks


def _below_each_other(scene: Scene, room: RoomModel, marks: Marks, width: int, height: int) -> tuple[Picture, bool, int]:
    layout = _layout(scene, marks, width, height - LOWER)
    left = height - layout.height
    homes = foundations(scene, marks, PANEL - 1, layout.card, tall=left >= 1 + 2 * 4 + 1)
    pile_width = 27 if layout.card.height >= 5 else 21
    piles = stock_and_waste(scene, marks, pile_width, layout.card) or block([[]])
    free = max(width - layout.width, 0) // 2
    margin = 0 if width < 100 else free
    bars_width = width - 2 * margin - PANEL - pile_width - 2
    standing = bars(scene, room, bars_width, left)
    moves = own_moves(scene, room, PANEL, left - homes.height)
    course = below_bars(scene, room, bars_width, left - standing.height, moves=not moves.height)
    lower = row((margin + 1, EMPTY), (PANEL, stacked(homes, moves)), (pile_width + 1, piles), (bars_width, stacked(standing, course)))
    return stacked(shifted(layout.picture, free), lower), False, margin


# ---- what keys and clicks do

_PLACES = {Command.WASTE: "w", Command.REDEAL: "r", Command.UPWARD: UP, Command.DOWNWARD: DOWN}


def _update(step: Step, action: ScreenAction) -> Step:
    return lessons.learned(step, _played(step, action), action)


def _played(step: Step, action: ScreenAction) -> Step:  # noqa: C901  (a case for each action, and little in any)
    room = step.state.room
    view = room.view if room is not None else None
    match action:
        case Press() | Do(Command.CHIP | Command.SLOT | Command.MOVE) if room is not None and not still_racing(step):
            # The hint says how their part ended.
            return step
        case Do(command) if command in _PLAYING - {Command.KEEP, Command.RESIGN} and room is not None and not still_racing(step):
            return step
        case Press(pressed):
            return place(step, pressed)
        case Do(Command.CHIP, key):
            chips = chips_of(step.ui.chips, view, step.ui.held) if view is not None else ()
            chip = next((chip for chip in chips if chip.key == key), None)
            return step.note(f"No card has the key {key} now.") if chip is None else place(step, chip.place)
        case Do(Command.UP | Command.DOWN | Command.LEFT | Command.RIGHT as command) if room is not None and view is not None:
            return step.but(cursor=moved(step.state.board(room, view), step.ui.cursor, command))
        case PutBack():
            return put_back(step)
        case SendNextHome():
            return send_next_home(step)
        case Do(Command.AUTOPLAY):
            return turn_autoplay(step)
        case Do(Command.SEND_ALL):
            return send_all(step)
        case Do(Command.SEND_HOME) if not step.ui.held:
            return place(step, HOME)
        case Do(Command.NEXT | Command.PREVIOUS as command):
            return _next_chip(step, 1 if command is Command.NEXT else -1)
        case Do(Command.PLAY | Command.SEND_HOME):
            # Where the stock has lain, a redeal is what the pile stands for.
            redeals = step.ui.cursor == "s" and view is not None and not view.stock and "r" in view.moves
            return place(step, "r" if redeals else step.ui.cursor)
        case Do(Command.STOCK):
            return turn_stock(step)
        case Do(command) if command in _PLACES:
            return place(step, _PLACES[command])
        case Do(Command.SLOT):
            return step.but(typed=NAMED)
        case Do(Command.MOVE):
            return step.prompt("move")
        case Do(Command.KEEP | Command.RESIGN as command):
            return _end(step, command)
        case Do(Command.BACK):
            return put_back(step)
        case Typed("move", text):
            return typed_move(step, text)
        case _:
            return room_update(step, action)


def _next_chip(step: Step, by: int) -> Step:
    room = step.state.room
    if room is None or room.view is None:
        return step
    places = {chip.place for chip in chips_of(step.ui.chips, room.view, step.ui.held)}
    places |= {place for place in ("s", "w") if any(source(move) == place for move in room.view.moves)}
    order = [place for place in (*room.view.piles, "s", "w") if place in places]
    if not order:
        return step.note("Nothing can be played now.")
    at = order.index(step.ui.cursor) + by if step.ui.cursor in order else 0 if by > 0 else -1
    return step.but(cursor=order[at % len(order)])


def _end(step: Step, command: Command) -> Step:
    room = step.state.room
    if room is None or room.seat is None or not still_racing(step):
        return step.note("Your race has already ended.")
    if command is Command.KEEP:
        stop = Stop(race=room.race, seat=room.seat)
        return step.ask("Stop now? The cards you brought home count.", ("Stop", "Go on racing"), (stop, None))
    resign = Resign(race=room.race, seat=room.seat)
    return step.ask("Give up? You will be placed last.", ("Give up", "Go on racing"), (resign, None))


def _type_key(step: Step, key: str) -> Step | None:
    """A key that is part of a slot's name."""
    room = step.state.room
    if room is not None and not still_racing(step):
        return None
    view = room.view if room is not None else None
    if key == "g" and not step.ui.typed and view is not None and all_home_key(view) == key:
        step = step.but(note="", taken_back=())
        return lessons.learned(step, send_all(step), None)
    named = type_slot(step.ui.typed, key)
    step = step.but(typed=named.typed)
    if named.slot is not None:
        step = lessons.learned(step, place(step, named.slot), None)
    return step if named.taken else None


def _times(scene: Scene) -> Hashable:
    room = scene.model.room
    if room is None:
        return None
    held_s = _held_ms(scene, room) // 1000 if scene.model.link.state != "connected" else None
    return times(scene, room), held_s, tuple(ms // 1000 for ms in room.away_ms(scene.clock_ms).values())


SCREEN = Screen(
    "race",
    "In a race",
    KEYS,
    lambda state, ui: state.room is not None and state.room.phase == "racing",
    _update,
    _view,
    times=_times,
    type_key=_type_key,
    refused=refused_alone,
)
