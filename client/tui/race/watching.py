"""The spectator's screen: how far everybody is, as it happens, and the boards side by side, delayed.

It shows as many boards as fit; keys show those of other seats, or the curves and all bars instead. After the race it shows places and
curves. On a high terminal the curves stand below the boards.
"""

from __future__ import annotations

from collections.abc import Hashable

from client.game.board import Board
from client.state.progress import curves
from client.state.room import RoomModel, race_clock_ms
from client.state.watching import WatchModel
from client.text.formatting import clock_text, deck_size, series_meanwhile
from client.text.width import clip
from client.tui.actions import Do, ScreenAction, Typed
from client.tui.drawing.bars import seat_lines, seat_name
from client.tui.drawing.picture import (
    EMPTY,
    MIDDLE,
    Line,
    Picture,
    Size,
    block,
    centred,
    foot,
    placed,
    row,
    screen,
    shifted,
    spread,
    stacked,
    wrap_text,
)
from client.tui.drawing.plot import plot, scale
from client.tui.keymap import Binding, Command, Keys
from client.tui.race.outcome import headline, places_table, rating_lines, score_lines
from client.tui.room import say
from client.tui.scene import Scene, head, remarks
from client.tui.screen import Screen
from client.tui.step import Step
from client.tui.table.marks import marks_at_rest
from client.tui.table.race_progress import last_moves, lead_sentence, race_curves
from client.tui.table.small_table import BETWEEN, arranged, beside_each_other, small_table
from protocol.seat_ends import was_racing
from protocol.views import LateBoard, SeatInfo
from protocol.watch_messages import Unwatch

KEYS: Keys = (
    Binding(Command.DETAILS, ("v",), "curves/boards", "The curves and all bars, or the boards."),
    Binding(Command.PAIR, ("tab",), "seats", "The boards of the next seats, if there are more."),
    Binding(Command.PAIR_BACK, ("shift tab",), "seats", "The boards of the seats before.", shown=False),
    Binding(Command.CHAT, ("t",), "talk", "Say something to all who watch; players see it afterwards."),
    Binding(Command.LEAVE, ("L", "esc"), "leave", "Stop watching this race."),
)
HIGH = 34
"""From this many rows on, the curves stand below the boards, or beside them if there is room."""
HIGHER = 44
"""From this many rows on, four rows are for what is said."""
CURVES = 9
CURVES_ASIDE = 18
"""The most rows of the curves beside the boards."""
LOWEST = 3
"""The fewest rows of the curves."""
NARROWEST = 38
"""The fewest columns of a board."""
NO_BOARDS = "No boards while others have yet to play this deal."
LATE = "The boards are shown {} s late."
NOTHING = ("No public race is running.", "The next one is shown as soon as it starts.")


def _view(scene: Scene, size: Size) -> Picture:
    """The whole screen as a picture."""
    width, height = size
    watch = scene.ui.watch
    assert watch is not None
    room = watch.room
    shows_curves = room is not None and (room.phase == "over") is not scene.ui.details
    without = _meaningless(scene, room, width, shows_curves=shows_curves)
    said = 2 if height < HIGHER else 4
    feet = (remarks(scene, width, said), foot(KEYS, scene.theme, width, without=without))
    told = block([_told(watch, width)])
    rows = height - 1 - 1 - said - 1
    if room is None:
        body = placed(block([[("felt", text)] for text in NOTHING], width, centred=True), rows, MIDDLE)
    elif room.phase in ("waiting", "countdown") and watch.last is not None:
        body = _between(scene, room, watch.last, width)
    elif room.phase in ("waiting", "countdown"):
        body = placed(block(_waiting(room, width), width, centred=True), rows, MIDDLE)
    elif room.phase == "over" and shows_curves and room.record is not None:
        body = _result(scene, room, width, rows)
    elif shows_curves:
        body = _progress(scene, room, width, rows)
    else:
        body = _boards(scene, watch, room, width, rows, curves_rows=CURVES if height >= HIGH else 0)
    return screen(size, head(scene, width), stacked(told, body), *feet)


def _meaningless(scene: Scene, room: RoomModel | None, width: int, *, shows_curves: bool) -> frozenset[Command]:
    """The commands that mean nothing now."""
    if room is None:
        return frozenset({Command.PAIR, Command.DETAILS, Command.CHAT})
    hidden = {
        Command.PAIR: shows_curves or len(_shown(scene, room, width)) == len(room.seats),
        Command.DETAILS: room.phase in ("waiting", "countdown"),
    }
    return frozenset(action for action, is_hidden in hidden.items() if is_hidden)


def _told(watch: WatchModel, width: int) -> Line:
    """Which race is watched, and how old the boards are."""
    room = watch.room
    left = " The closest race; the next one follows." if watch.closest else ""
    if room is None:
        return [("hint", left)]
    if room.series is not None and room.phase == "racing":
        left = f" {series_meanwhile(room.series)}"
    late = room.options.delay_s
    boards = "no boards in this race " if room.hides_boards else "live boards " if late == 0 else f"boards {late} s late "
    if room.phase == "over":
        boards = "final boards "
        left = f" {headline(room)[0][1]}" if room.ended else left
    return spread([("title" if room.phase == "over" else "hint", left)], [("faint", boards)], width, "felt")


def _waiting(room: RoomModel, width: int) -> list[Line]:
    return [*score_lines(room, width), *_readiness(room)]


def _readiness(room: RoomModel) -> list[Line]:
    words = "Everybody is ready." if room.phase == "countdown" else "The race has not begun yet."
    lines: list[Line] = [[("title", words)], []]
    for info in room.seats:
        word = "" if info.name is None else ": ready" if info.ready or room.phase == "countdown" else ": not ready yet"
        lines.append([("felt", f"{seat_name(info)}{word}")])
    return lines


def _between(scene: Scene, room: RoomModel, last: RoomModel, width: int) -> Picture:
    """The result of the last race, and who is ready for the next."""
    inner = min(width - 4, 100)
    lines: list[Line] = [[], headline(last), [], *_outcome(scene, last, inner), []]
    return shifted(block([*lines, *_readiness(room)]), (width - inner) // 2)


def _outcome(scene: Scene, room: RoomModel, width: int) -> list[Line]:
    """Places, the score of the series, ratings."""
    total = deck_size(scene.model.rules, room.options.rules)
    return [*places_table(scene, room, width, total), *score_lines(room, width), *rating_lines(scene, room, width)]


# ---- the boards


def _shown(scene: Scene, room: RoomModel, width: int) -> tuple[SeatInfo, ...]:
    """The seats whose boards fit, from the chosen one on, wrapping around."""
    fit = max((width - 1 + BETWEEN) // (NARROWEST + BETWEEN), 1)
    first = scene.ui.first_seat % max(len(room.seats), 1)
    return (*room.seats[first:], *room.seats[:first])[:fit]


def _boards(scene: Scene, watch: WatchModel, room: RoomModel, width: int, height: int, *, curves_rows: int) -> Picture:
    shown = _shown(scene, room, width)
    others = [info for info in room.seats if info not in shown and info.name is not None]
    views = [late.view for info in shown if (late := watch.board(info.seat)) is not None]
    height -= bool(others)
    board = scene.model.board(room, views[0]) if views else Board()
    how = arranged(board, len(shown), width, height, scene.theme, most=curves_rows if views else 0)
    if not views:
        seats = beside_each_other([block(_seat(scene, room, info, how.width, 2)) for info in shown], how, width, EMPTY)
        told = _no_boards(scene, room, width, height - seats.height)
        return stacked(placed(stacked(seats, told), height), *([block([_others(others, width)])] if others else []))
    tables = [placed(_table(scene, watch, room, info, how.width, how.height), how.height) for info in shown]
    below = [block([_others(others, width)])] if others else []
    if how.below:
        below.append(block(race_curves(scene, room, width, how.below), width, role="panel"))
    aside = _aside(scene, watch, room, shown, how.side, height) if how.side else EMPTY
    return stacked(placed(beside_each_other(tables, how, width, aside), height - how.below), *below)


def _no_boards(scene: Scene, room: RoomModel, width: int, height: int) -> Picture:
    """Below everybody's bars while there is no board at all: why, once; and the curves, if there will be none in this race."""
    told = block([[("faint", words)] for words in wrap_text(NO_BOARDS if room.hides_boards else LATE.format(room.options.delay_s), width)])
    if not room.hides_boards:
        return placed(centred(told, width), height, MIDDLE)
    drawn = race_curves(scene, room, width - 2, height - told.height - 2)
    return stacked(block([[]]), centred(told, width), block([[]]), shifted(block(drawn, width - 2, role="panel"), 1))


def _aside(scene: Scene, watch: WatchModel, room: RoomModel, shown: tuple[SeatInfo, ...], width: int, height: int) -> Picture:
    """Beside the boards: who leads, the curves, and the last moves that led to the boards."""
    lead = lead_sentence(scene, room, width)
    drawn = block(race_curves(scene, room, width, min(height // 2, CURVES_ASIDE)), width, role="panel")
    rows = height - drawn.height - 2
    lists = [
        last_moves(
            scene,
            (f"curve {info.seat % 8}", clip(f"{seat_name(info)}'s last moves", width // 2 - 2)),
            [played for seat, played in watch.played if seat == info.seat],
            width // 2 - 2,
            rows,
        )
        for info in shown[:2]
    ]
    return stacked(block([[("strong", lead)], []]), drawn, row(*((width // 2, each) for each in lists)))


def _table(scene: Scene, watch: WatchModel, room: RoomModel, info: SeatInfo, width: int, height: int) -> Picture:
    above = _seat(scene, room, info, width, 2)
    late = watch.board(info.seat)
    if late is None:
        words = f"This board is shown {room.options.delay_s} s late."
        lines: list[Line] = [[("faint", text)] for text in wrap_text(words if info.name is not None else "", width)]
        return stacked(block(above), placed(block(lines, width, centred=True), height - len(above), MIDDLE))
    view = late.view
    board = scene.model.board(room, view)
    return small_table(scene, marks_at_rest(view, board), late.ply, above, _age(room, info, late, width), width=width, height=height)


def _seat(scene: Scene, room: RoomModel, info: SeatInfo, width: int, rows: int) -> list[Line]:
    total = deck_size(scene.model.rules, room.options.rules)
    return seat_lines(
        info,
        width,
        rows,
        scene.theme,
        cards=total,
        own=False,
        away_ms=room.away_ms(scene.clock_ms).get(info.seat),
        beaten=was_racing(info, room.seats),
        role=f"curve {info.seat % 8}",
    )


def _age(room: RoomModel, info: SeatInfo, late: LateBoard, width: int) -> Line:
    """The moment that the board shows."""
    left = f"after move {late.ply} of {info.ply}" if late.ply < info.ply and room.phase == "racing" else f"after move {late.ply}"
    return spread([("faint", left if late.ply else "the deal")], [("faint", clock_text(late.elapsed_ms))], width, "felt")


def _others(others: list[SeatInfo], width: int) -> Line:
    """How far the players without a board on the screen are."""
    line: Line = []
    each = max((width - 1) // len(others) - 5, 4)
    for info in others:
        line += [(f"curve {info.seat % 8}", f" {clip(seat_name(info), each)} "), ("strong", f"{info.home} ")]
    return line


# ---- bars and curves


def _progress(scene: Scene, room: RoomModel, width: int, height: int) -> Picture:
    inner = min(width - 4, 100)
    taken = [info for info in room.seats if info.name is not None]
    rows = 2 if len(taken) * 2 + 1 + LOWEST <= height // 2 else 1
    lines: list[Line] = []
    for info in taken:
        lines += _seat(scene, room, info, inner, rows)
    drawn = race_curves(scene, room, inner, max(height - len(lines) - 1, LOWEST))
    return shifted(stacked(block([*lines, []]), block(drawn, inner, role="panel")), (width - inner) // 2)


def _result(scene: Scene, room: RoomModel, width: int, height: int) -> Picture:
    record = room.record
    assert record is not None
    inner = min(width - 4, 100)
    total = deck_size(scene.model.rules, room.options.rules)
    table = [[], *_outcome(scene, room, inner), []]
    rows = max(min(height - len(table), 22), LOWEST)
    drawn = plot(list(enumerate(curves(record))), inner, rows, scene.theme, cards=scale(record, total), area=True)
    return shifted(stacked(block(table), block(drawn, inner, role="panel")), (width - inner) // 2)


# ---- what keys and clicks do


def _update(step: Step, action: ScreenAction) -> Step:
    room = step.ui.watch.room if step.ui.watch is not None else None
    match action:
        case Do(Command.DETAILS):
            return step.but(details=not step.ui.details)
        case Do(Command.PAIR):
            return step.but(first_seat=step.ui.first_seat + 1)
        case Do(Command.PAIR_BACK):
            return step.but(first_seat=step.ui.first_seat - 1)
        case Do(Command.CHAT) if room is not None:
            return step.prompt("chat")
        case Do(Command.LEAVE):
            return step.send(Unwatch())
        case Typed() if room is not None:
            return say(step, action, room.code)
        case _:
            return step


def _times(scene: Scene) -> Hashable:
    room = scene.ui.watch.room if scene.ui.watch is not None else None
    if room is None:
        return None
    left = race_clock_ms(room.started_at_ms, scene.clock_ms) // 100 if room.phase == "countdown" else 0
    return left, tuple(ms // 1000 for ms in room.away_ms(scene.clock_ms).values())


SCREEN = Screen("watch", "Watching", KEYS, lambda state, ui: state.room is None and ui.watch is not None, _update, _view, times=_times)
