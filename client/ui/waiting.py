"""The waiting room: the code to give away, the rules, who is there and who is ready, and the last seconds before the start."""

from __future__ import annotations

import urwid

from client.keys import Action, Place
from client.model import RoomModel
from client.reading import race_clock_ms
from client.ui.bars import seat_name
from client.ui.frame import Line, Screen, Spot, clip, fit, foot, lines_widget, row, stacked, upper, wrap_text
from client.ui.scene import Scene, chat_lines, clean_long, head, remarks, rules_name
from client.ui.theme import Theme
from protocol.text import clean_chat, clean_name
from protocol.views import SeatInfo


def waiting_screen(scene: Scene, size: tuple[int, int]) -> urwid.Widget:
    """The whole waiting room as a box widget."""
    width, height = size
    room = scene.model.room
    assert room is not None
    inner = min(width - 4, 96)
    margin = (width - inner) // 2
    left_width = inner // 2 - 1
    right_width = inner - left_width - 2
    counting = room.phase == "countdown"
    banner = _countdown(scene, room, inner) if counting else _code(scene, room, inner)
    columns = row(
        (left_width, _seats(scene, room, left_width)),
        (2, lines_widget([[]])),
        (right_width, _rules(scene, room, right_width, max(height - 19, 3))),
    )
    body = stacked(lines_widget([[]]), banner, lines_widget([[]]), columns)
    talk = lines_widget(chat_lines(scene, inner, max(height - 24, 0)))
    hidden = frozenset({Action.READY}) if counting or (room.own is not None and room.own.ready) else frozenset[Action]()
    feet = (remarks(scene, width, 3), foot(Place.WAITING, scene.hands, scene.theme, width, without=hidden))
    placed = urwid.Padding(stacked(body, talk) if height > 40 else body, left=margin, width=inner)
    return Screen(head(scene, width), upper(placed), *feet)


def big_text(text: str, theme: Theme, role: str, width: int) -> urwid.Widget:
    """Text in large letters, or spaced out where the alphabet has no blocks."""
    if theme.is_ascii:
        return lines_widget([[], [(role, " ".join(text))], []], align=urwid.CENTER)
    font = urwid.HalfBlock5x4Font()
    return urwid.AttrMap(urwid.Padding(urwid.BigText([(role, text)], font), align=urwid.CENTER, width=urwid.WHSettings.CLIP), "felt")


def _code(scene: Scene, room: RoomModel, width: int) -> urwid.Widget:
    free = sum(1 for info in room.seats if info.name is None)
    if free:
        words = f"Give this code to {'the other player' if len(room.seats) == 2 else f'{free} more'}:"
    elif room.own is not None and not room.own.ready:
        words = "Everybody is here. Press r when you are ready."
    elif room.options.winnable and all(info.ready for info in room.seats):
        words = "Looking for a deal that can be won."
    else:
        words = "Waiting for the others to be ready."
    above = lines_widget([[("strong", words)], []], align=urwid.CENTER)
    # Spaced out: it is read aloud letter by letter, and some of the large letters touch.
    code = clean_name(room.code)
    return stacked(above, big_text(code if scene.theme.is_ascii else " ".join(code), scene.theme, "title", width))


def _countdown(scene: Scene, room: RoomModel, width: int) -> urwid.Widget:
    left_ms = max(-race_clock_ms(room.started_at_ms, scene.now_ms), 0)
    words = "Everybody is ready. Get set!"
    above = lines_widget([[("strong", words)], []], align=urwid.CENTER)
    return stacked(above, big_text(f"{(left_ms + 99) // 100 / 10:.1f}", scene.theme, "title", width))


def _seats(scene: Scene, room: RoomModel, width: int) -> urwid.Widget:
    lines: list[Line] = [[("title", "Players")]]
    lines += [_seat(info, scene.theme, width, own=info.seat == room.seat) for info in room.seats]
    parts: list[urwid.Widget] = [lines_widget(lines)]
    own = room.own
    if own is not None and not own.ready and room.phase == "waiting":
        button = lines_widget([[], [("chosen", fit("   r   Ready", width))]])
        parts.append(Spot(button, lambda: scene.hands.act(Action.READY)))
    return stacked(*parts)


def _seat(info: SeatInfo, theme: Theme, width: int, *, own: bool) -> Line:
    glyphs = theme.glyphs
    if info.name is None:
        return [("faint", f" {glyphs.ring} free seat")]
    ready = ("good", "ready") if info.ready else ("faint", "not ready yet")
    if not info.connected:
        ready = ("bad", "no line")
    name = seat_name(info) + (" (you)" if own else "") + (" (bot)" if info.bot is not None else "")
    trip = "" if info.round_trip_ms is None else f"  {info.round_trip_ms} ms"
    mark = ("good", f" {glyphs.tick} ") if info.ready else ("faint", f" {glyphs.ring} ")
    return [mark, ("own" if own else "other", fit(name, max(width - 24, 8))), (ready[0], f" {ready[1]}"), ("faint", trip)]


def _rules(scene: Scene, room: RoomModel, width: int, rows: int) -> urwid.Widget:
    options = room.options
    welcome = scene.model.welcome
    explanation = next((info.explanation for info in welcome.rules if info.id == options.rules), "") if welcome is not None else ""
    lines: list[Line] = [[("title", rules_name(scene.model, options.rules))]]
    told = wrap_text(clean_long(explanation), width)
    if len(told) > rows:
        told = [*told[: rows - 1], f"{clip(told[rows - 1], width - 4)} ..."]
    lines += [[("felt", text)] for text in told]
    lines.append([("faint", f"{options.time_limit_s // 60} min for the race, {options.countdown_s} s countdown")])
    listed = "listed for everybody" if options.public else "by code only"
    lines.append([("faint", f"{listed}, {options.grace_s} s of grace")])
    if options.deal is not None:
        lines.append([("strong", fit(f"Deal by name: {clean_chat(options.deal)}", width).rstrip())])
    else:
        if options.winnable:
            lines.append([("strong", "Only a deal that can be won")])
        lines.append([("faint", "The shuffle's secret is fixed:")])
        lines.append([("faint", f"SHA-256 {room.commitment[:8]} {room.commitment[8:16]} {room.commitment[16:24]}")])
    return lines_widget(lines)
