"""The waiting room: the code to give away, the rules, who is there and who is ready, and the last seconds before the start."""

from __future__ import annotations

import urwid

from client.state.capabilities import rules_of
from client.state.room import RoomModel, race_clock_ms
from client.text.formatting import clock_text, is_run, limit_text, rated_sentence, series_sentence
from client.tui.bars import seat_name
from client.tui.frame import Line, Screen, Spot, clip, fit, foot, lines_widget, row, stacked, upper, wrap_text
from client.tui.keymap import Action, Place
from client.tui.scene import Scene, chat_lines, clean_long, head, remarks, rules_name
from client.tui.theme import Theme
from protocol.text import clean_chat, clean_name
from protocol.views import SeatInfo

ROOMY = 20
"""Rows beside the rules' explanation where it stands on the right: head, banner, title, facts and feet."""
MORE = " ... more: ?"


def waiting_screen(scene: Scene, size: tuple[int, int]) -> urwid.Widget:
    """The whole waiting room as a box widget."""
    width, height = size
    room = scene.model.room
    assert room is not None
    inner = min(width - 4, 96)
    margin = (width - inner) // 2
    counting = room.phase == "countdown"
    talk = lines_widget(chat_lines(scene, inner, max(height - 24, 0)))
    roomy = len(wrap_text(_explanation(scene, room), _right(inner))) <= height - ROOMY - (room.series is not None)
    said = 3 if roomy else 2
    body = _spacious(scene, room, inner) if roomy else _close(scene, room, inner, height - 2 - said)
    hidden = frozenset({Action.READY}) if counting or (room.own is not None and room.own.ready) else frozenset[Action]()
    feet = (remarks(scene, width, said), foot(Place.WAITING, scene.hands, scene.theme, width, without=hidden))
    placed = urwid.Padding(stacked(body, talk) if height > 40 else body, left=margin, width=inner)
    return Screen(head(scene, width), upper(placed), *feet)


def _spacious(scene: Scene, room: RoomModel, width: int) -> urwid.Widget:
    """Everything on the right, the rules too."""
    blank = lines_widget([[]])
    rules = [_title(scene, room), *_paragraph(wrap_text(_explanation(scene, room), _right(width))), *_facts(room, _right(width))]
    return stacked(blank, *_banner(scene, room, width, spaced=True), blank, _columns(scene, room, width, rules))


def _close(scene: Scene, room: RoomModel, width: int, height: int) -> urwid.Widget:
    """The rules below, over the whole width; free rows and at last the end of the rules give way where there is too little room."""
    facts = [_title(scene, room), *_facts(room, _right(width))]
    columns = _columns(scene, room, width, facts)
    told = wrap_text(_explanation(scene, room), width)
    banner = _banner(scene, room, width, spaced=False)
    free = height - stacked(*banner, columns).rows((width,))
    if len(told) > free:
        told = [*told[: free - 1], f"{clip(told[free - 1], width - len(MORE))}{MORE}"] if free > 0 else []
    gaps = min(free - len(told), 2)
    # First between the players and the rules, which are both text.
    below, above = ([lines_widget([[]])] if gaps > at else [] for at in range(2))
    return stacked(*banner, *above, columns, *below, lines_widget(_paragraph(told)))


def big_text(text: str, theme: Theme, role: str, width: int) -> urwid.Widget:
    """Text in large letters, or spaced out where the alphabet has no blocks."""
    if theme.is_ascii:
        return lines_widget([[], [(role, " ".join(text))], []], align=urwid.CENTER)
    font = urwid.HalfBlock5x4Font()
    return urwid.AttrMap(urwid.Padding(urwid.BigText([(role, text)], font), align=urwid.CENTER, width=urwid.WHSettings.CLIP), "felt")


def _banner(scene: Scene, room: RoomModel, width: int, *, spaced: bool) -> tuple[urwid.Widget, ...]:
    """What is waited for, and in large letters the code to give away or the seconds to the start."""
    words, large = _countdown(scene, room) if room.phase == "countdown" else _code(scene, room)
    score: list[Line] = [[("title", clip(series_sentence(room.series), width))]] if room.series is not None else []
    above = lines_widget([*score, [("strong", words)], *([[]] if spaced else [])], align=urwid.CENTER)
    return above, big_text(large, scene.theme, "title", width)


def _code(scene: Scene, room: RoomModel) -> tuple[str, str]:
    free = sum(1 for info in room.seats if info.name is None)
    if scene.model.is_at_table:
        return _at_table(scene, room)
    if free:
        words = f"Give this code to {'the other player' if len(room.seats) == 2 else f'{free} more'}:"
    elif room.own is not None and not room.own.ready and is_run(room):
        # Nobody is waited for, and nobody can come.
        words = "The clock waits for you. Press r when you are ready: this run counts."
    elif room.own is not None and not room.own.ready:
        words = "Everybody is here. Press r when you are ready."
    elif room.options.winnable and all(info.ready for info in room.seats):
        words = "Looking for a deal that can be won."
    else:
        words = "Waiting for the others to be ready."
    # Spaced out: it is read aloud letter by letter, and some of the large letters touch.
    code = clean_name(room.code)
    return words, code if scene.theme.is_ascii else " ".join(code)


def _at_table(scene: Scene, room: RoomModel) -> tuple[str, str]:
    """Which table it is; nobody else is to be let in, so the code is of no use to anybody."""
    call = scene.model.tournaments.call
    table = f"table {call.table}" if call is not None and call.code == room.code else clean_name(room.code)
    if room.own is None or room.own.ready:
        return "You are ready. Who does not come in time forfeits.", table
    left_ms = call.until_ms - scene.now_ms if call is not None and call.until_ms is not None else None
    within = "" if left_ms is None else f" within {clock_text(left_ms, tenths=False)}, or you forfeit"
    return f"Your table. Press r{within}.", table


def _countdown(scene: Scene, room: RoomModel) -> tuple[str, str]:
    left_ms = max(-race_clock_ms(room.started_at_ms, scene.now_ms), 0)
    return "Everybody is ready. Get set!", f"{(left_ms + 99) // 100 / 10:.1f}"


def _right(width: int) -> int:
    """Columns beside the players."""
    return width - (width // 2 - 2) - 2


def _columns(scene: Scene, room: RoomModel, width: int, right: list[Line]) -> urwid.Columns:
    left_width = width - _right(width) - 2
    return row((left_width, _seats(scene, room, left_width)), (2, lines_widget([[]])), (_right(width), lines_widget(right)))


def _seats(scene: Scene, room: RoomModel, width: int) -> urwid.Widget:
    lines: list[Line] = [[("title", "Players")]]
    away = scene.model.link.state != "connected"
    lines += [_seat(info, scene.theme, width, own=info.seat == room.seat, away=away) for info in room.seats]
    parts: list[urwid.Widget] = [lines_widget(lines)]
    own = room.own
    if own is not None and not own.ready and room.phase == "waiting":
        button = lines_widget([[], [("chosen", fit("   r   Ready", width))]])
        parts.append(Spot(button, lambda: scene.hands.act(Action.READY)))
    return stacked(*parts)


def _seat(info: SeatInfo, theme: Theme, width: int, *, own: bool, away: bool) -> Line:
    """away: there is no line to the server, of which only oneself can know here."""
    glyphs = theme.glyphs
    if info.name is None:
        return [("faint", f" {glyphs.ring} free seat")]
    ready = ("good", "ready") if info.ready else ("faint", "not ready yet")
    if not info.connected or (own and away):
        ready = ("bad", "no line")
    name = seat_name(info) + (" (you)" if own else "") + (" (bot)" if info.bot is not None else "")
    trip = "" if info.round_trip_ms is None else f"  {info.round_trip_ms} ms"
    mark = ("good", f" {glyphs.tick} ") if info.ready else ("faint", f" {glyphs.ring} ")
    return [mark, ("own" if own else "other", fit(name, max(width - 24, 8))), (ready[0], f" {ready[1]}"), ("faint", trip)]


def _explanation(scene: Scene, room: RoomModel) -> str:
    welcome = scene.model.welcome
    info = rules_of(welcome.rules, room.options.rules) if welcome is not None else None
    return clean_long(info.explanation) if info is not None else ""


def _title(scene: Scene, room: RoomModel) -> Line:
    return [("title", rules_name(scene.model, room.options.rules))]


def _paragraph(texts: list[str]) -> list[Line]:
    return [[("felt", text)] for text in texts]


def _facts(room: RoomModel, width: int) -> list[Line]:
    """Times, who may come, whether it counts, and what is known of the deal: five rows at most."""
    options = room.options
    times = f"{limit_text(options.time_limit_s)}, {options.countdown_s} s countdown, {options.grace_s} s of grace"
    wish = ", only a deal that can be won" if options.winnable else " for everybody" if options.public else " only"
    if room.shared is not None and is_run(room):
        what = f"{'Deal of the day,' if room.shared.kind == 'daily' else 'Challenge'} {clean_chat(room.shared.id)}"
        names = ", ".join(clean_name(ghost.name) for ghost in room.ghosts)
        seen = f"Beside you: {names}" if names else "Nobody sees your cards"
        return [[("strong", what)], [("faint", times)], [("faint", clip(seen, width))], *_promise(room)]
    lines: list[Line] = [
        [("faint", times)],
        [("strong" if options.winnable else "faint", f"{'listed' if options.public else 'by code'}{wish}")],
        [("faint", rated_sentence(options))],
    ]
    if options.deal is not None:
        lines.append([("strong", fit(f"Deal by name: {clean_chat(options.deal)}", width).rstrip())])
    else:
        lines += _promise(room)
    return lines


def _promise(room: RoomModel) -> list[Line]:
    return [
        [("faint", "The shuffle's secret is fixed:")],
        [("faint", f"SHA-256 {room.commitment[:8]} {room.commitment[8:16]} {room.commitment[16:24]}")],
    ]
