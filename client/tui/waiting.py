"""The waiting room: the code to give away, the rules, who is there and who is ready, and the last seconds before the start."""

from __future__ import annotations

import shlex
from collections.abc import Hashable
from functools import lru_cache

from client.state.capabilities import rules_of
from client.state.room import RoomModel, race_clock_ms
from client.state.store import Model
from client.text.formatting import clock_text, is_run, limit_text, rated_sentence, series_sentence
from client.tui.actions import Copy, Do, ScreenAction, Typed
from client.tui.bars import seat_name
from client.tui.keymap import LEAVE, TALK, Binding, Command, Keys
from client.tui.picture import (
    LARGE_ROWS,
    UPPER,
    Large,
    Line,
    Picture,
    Rect,
    Size,
    block,
    clip,
    fit,
    foot,
    hit,
    line_width,
    row,
    screen,
    shifted,
    stacked,
    text_width,
    wrap_text,
)
from client.tui.room import leave, ready, say, talk
from client.tui.scene import Scene, chat_lines, clean_long, head, remarks, rules_name
from client.tui.screen import Screen
from client.tui.step import Step
from client.tui.theme import Theme
from client.tui.ui_state import Ui
from protocol.text import clean_chat, clean_name
from protocol.views import SeatInfo

KEYS: Keys = (
    Binding(Command.READY, ("r", "enter", " "), "ready", "Ready. The race starts when everybody is."),
    TALK,
    Binding(Command.COPY, ("c",), "copy", "Copy the line that takes a friend to this race."),
    LEAVE,
)
ROOMY = 21
"""Rows beside the rules' explanation where it stands on the right: head, banner, title, facts and feet."""
MORE = " ... more: ?"


def _view(scene: Scene, size: Size) -> Picture:
    """The whole waiting room as a picture."""
    width, height = size
    room = scene.model.room
    assert room is not None
    inner = min(width - 4, 96)
    margin = (width - inner) // 2
    counting = room.phase == "countdown"
    talk = block(chat_lines(scene, inner, max(height - 24, 0)))
    extra = (room.series is not None) + len(_ways_in(scene, room, inner))
    roomy = len(wrap_text(_explanation(scene, room), _right(inner))) <= height - ROOMY - extra
    said = 3 if roomy else 2
    free = height - 2 - said
    if height <= 40:
        talk = block([])
    body = stacked(_spacious(scene, room, inner, free - talk.height) if roomy else _close(scene, room, inner, free), talk)
    hidden = {Command.READY} if counting or (room.own is not None and room.own.ready) else set[Command]()
    if not _invitation(scene.model, scene.ui):
        hidden.add(Command.COPY)
    feet = (shifted(remarks(scene, width - margin, said), margin - 1), foot(KEYS, scene.theme, width, without=frozenset(hidden)))
    body = shifted(body, margin)
    return screen(size, head(scene, width), body, *feet, above=UPPER)


def _spacious(scene: Scene, room: RoomModel, width: int, height: int) -> Picture:
    """Everything on the right, the rules too; on the left the picture of the page's address, where there is room for it."""
    blank = block([[]])
    rules = [_title(scene, room), *_paragraph(wrap_text(_explanation(scene, room), _right(width))), [], *_facts(room, _right(width))]
    above = stacked(blank, *_banner(scene, room, width, spaced=True), blank)
    return stacked(above, _columns(scene, room, width, rules, height - above.height))


def _close(scene: Scene, room: RoomModel, width: int, height: int) -> Picture:
    """The rules below, over the whole width; free rows and at last the end of the rules give way where there is too little room."""
    facts = [_title(scene, room), *_facts(room, _right(width))]
    columns = _columns(scene, room, width, facts)
    told = wrap_text(_explanation(scene, room), width)
    banner = _banner(scene, room, width, spaced=False)
    free = height - stacked(*banner, columns).height
    if len(told) > free:
        told = [*told[: free - 1], f"{wrap_text(told[free - 1], width - len(MORE))[0]}{MORE}"] if free > 0 else []
    gaps = min(free - len(told), 2)
    # First between the players and the rules, which are both text.
    below, above = ([block([[]])] if gaps > at else [] for at in range(2))
    return stacked(*banner, *above, columns, *below, block(_paragraph(told)))


def big_text(text: str, theme: Theme, role: str, width: int) -> Picture:
    """Text in large letters, or spaced out where the alphabet has no blocks."""
    if theme.is_ascii:
        return block([[], [(role, " ".join(text))], []], width, centred=True)
    return Picture(([],) * LARGE_ROWS, large=(Large(Rect(0, 0, width, LARGE_ROWS), role, text),))


def _banner(scene: Scene, room: RoomModel, width: int, *, spaced: bool) -> tuple[Picture, ...]:
    """What is waited for, and in large letters the code to give away or the seconds to the start."""
    words, large = _countdown(scene, room) if room.phase == "countdown" else _code(scene, room)
    score: list[Line] = [[("title", clip(series_sentence(room.series), width))]] if room.series is not None else []
    ways: list[Line] = [[("felt", text)] for text in _ways_in(scene, room, width)]
    above = block([*score, [("strong", words)], *ways, *([[]] if spaced else [])], width, centred=True)
    return above, big_text(large, scene.theme, "title", width)


def _ways_in(scene: Scene, room: RoomModel, width: int) -> list[str]:
    """The line to send to a friend, and where whoever has no client can take a free seat; nothing where nobody can come."""
    command = _invitation(scene.model, scene.ui)
    if not command:
        return []
    told = f"{'on this machine' if scene.ui.settings.is_near else 'in a terminal'}: {command}"
    # Said whole or not at all, as it is to be copied: the key does so in any case.
    whole = f"{told} (c copies it)"
    return [whole if text_width(whole) <= width else clip(told, width), clip(f"or in a browser: {_page(scene, room)}", width)]


def _invitation(model: Model, ui: Ui) -> str:
    """The command that takes a friend to this race; empty where no seat is free for them, or there is no server to go to."""
    room = model.room
    if room is None or not ui.settings.server or model.is_at_table or all(info.name is not None for info in room.seats):
        return ""
    # Quoted: it is to be run, and its code comes from a server.
    return shlex.join(["carpet", "join", ui.settings.server, clean_name(room.code)])


def _page(scene: Scene, room: RoomModel) -> str:
    return f"{scene.ui.settings.page}{clean_name(room.code)}"


def _code_picture(scene: Scene, room: RoomModel, width: int, height: int) -> Picture:
    """The page's address as a QR code for a phone; nothing where it does not fit, cannot be drawn, or leads to this machine alone."""
    if scene.theme.is_ascii or scene.theme.bordered or scene.ui.settings.is_near or not _invitation(scene.model, scene.ui):
        return block([])
    for border in (4, 2):
        drawn = block([[("card S", text)] for text in _qr_lines(_page(scene, room), border)])
        if drawn.height < height and line_width(drawn.lines[0]) <= width:
            return stacked(block([[]]), drawn)
    return block([])


@lru_cache(maxsize=4)
def _qr_lines(text: str, border: int) -> tuple[str, ...]:
    """A QR code, dark on light, two of its rows in one. border: free modules around it, of which the standard asks for four."""
    # Only here, since few screens show one.
    import segno

    rows = [list(row) for row in segno.make(text, error="l", micro=False).matrix_iter(border=border)]
    rows.append([0] * len(rows[0]))
    return tuple(
        "".join(" ▀▄█"[bool(upper) + 2 * bool(lower)] for upper, lower in zip(*rows[at : at + 2], strict=True))
        for at in range(0, len(rows) - 1, 2)
    )


def _code(scene: Scene, room: RoomModel) -> tuple[str, str]:
    free = sum(1 for info in room.seats if info.name is None)
    if scene.model.is_at_table:
        return _at_table(scene, room)
    if free:
        words = f"Give this code to {'the other player' if len(room.seats) == 2 else f'{free} more players'}:"
    elif room.own is not None and not room.own.ready and is_run(room):
        # Nobody is waited for, and nobody can come.
        words = "The clock waits for you. Press r when you are ready: this run counts."
    elif room.own is not None and not room.own.ready:
        words = "Everybody is here. Press r when you are ready."
    elif room.options.winnable and all(info.ready for info in room.seats):
        words = "Looking for a winnable deal..."
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
        if all(info.ready for info in room.seats):
            return "You are ready. All tables of a round start together: waiting for the others.", table
        limit_ms = call.until_ms - scene.clock_ms if call is not None and call.until_ms is not None else None
        time = "in time" if limit_ms is None else f"within {clock_text(limit_ms, tenths=False)}"
        return f"You are ready. Players who are not here {time} forfeit.", table
    tournament = scene.model.tournaments.tournament(room.shared.id.partition("/")[0]) if room.shared is not None else None
    if tournament is not None and any(each.code == room.code and not each.counted for each in tournament.told.tables):
        return "You have a bye. Press r to race the house for fun.", table
    left_ms = call.until_ms - scene.clock_ms if call is not None and call.until_ms is not None else None
    within = "" if left_ms is None else f" within {clock_text(left_ms, tenths=False)}, or you forfeit"
    return f"Your table. Press r{within}.", table


def _countdown(scene: Scene, room: RoomModel) -> tuple[str, str]:
    left_ms = max(-race_clock_ms(room.started_at_ms, scene.clock_ms), 0)
    return "Get set!" if len(room.seats) == 1 else "Everybody is ready. Get set!", f"{(left_ms + 999) // 1000}"


def _right(width: int) -> int:
    """Columns beside the players."""
    return width - (width // 2 - 2) - 2


def _columns(scene: Scene, room: RoomModel, width: int, right: list[Line], rows: int = 0) -> Picture:
    """The players and what is known of the race. rows: what there is for both."""
    left_width = width - _right(width) - 2
    seats = _seats(scene, room, left_width)
    left = stacked(seats, _code_picture(scene, room, left_width, rows - seats.height))
    return row((left_width + 2, left), (_right(width), block(right)))


def _seats(scene: Scene, room: RoomModel, width: int) -> Picture:
    away = scene.model.link.state != "connected"
    here = [info for info in room.seats if info.name is not None]
    names = max((text_width(seat_name(info) + _kind(info, own=info.seat == room.seat)) for info in here), default=0)
    states = max((len(_state(info, away=away and info.seat == room.seat)[1]) for info in here), default=0)
    # One column of names for all: a long one goes before the round trips, and how a player stands before the end of the name.
    column = max(min(names, width - len(" x  ") - states), width - 24, 8)
    lines: list[Line] = [[("title", "Players")]]
    lines += [_seat(info, scene.theme, column, width, own=info.seat == room.seat, away=away) for info in room.seats]
    parts: list[Picture] = [block(lines)]
    own = room.own
    if own is not None and not own.ready and room.phase == "waiting":
        button = block([[], [("chosen", fit("   r   Ready", width))]])
        parts.append(hit(button, Do(Command.READY)))
    return stacked(*parts)


def _seat(info: SeatInfo, theme: Theme, column: int, width: int, *, own: bool, away: bool) -> Line:
    """column: that of the names. away: there is no connection to the server, of which only oneself can know here."""
    glyphs = theme.glyphs
    if info.name is None:
        return [("faint", f" {glyphs.ring} open seat")]
    role, state = _state(info, away=own and away)
    kind = _kind(info, own=own)
    name = clip(seat_name(info), column - len(kind)) + kind
    mark = ("good", f" {glyphs.tick} ") if info.ready else ("faint", f" {glyphs.ring} ")
    line = [mark, ("own" if own else "other", fit(name, column)), (role, f" {state}")]
    # A house bot sits in the server: it has no way to go.
    trip = "" if info.round_trip_ms is None or info.bot is not None else f"  {info.round_trip_ms} ms"
    # One of the two columns on its right will do.
    return [*line, ("faint", trip)] if line_width(line) + len(trip) <= width + 1 else line


def _kind(info: SeatInfo, *, own: bool) -> str:
    return " (you)" if own else " (bot)" if info.bot is not None else ""


def _state(info: SeatInfo, *, away: bool) -> tuple[str, str]:
    """The role and the words for how a player stands. away: their own connection is gone."""
    if not info.connected or away:
        return "bad", "not connected"
    return ("good", "ready") if info.ready else ("faint", "not ready yet")


def _explanation(scene: Scene, room: RoomModel) -> str:
    info = rules_of(scene.model.rules, room.options.rules)
    return clean_long(info.explanation) if info is not None else ""


def _title(scene: Scene, room: RoomModel) -> Line:
    return [("title", rules_name(scene.model, room.options.rules))]


def _paragraph(texts: list[str]) -> list[Line]:
    return [[("felt", text)] for text in texts]


def _facts(room: RoomModel, width: int) -> list[Line]:
    """Times, who may come, whether it counts, and what is known of the deal: five rows at most."""
    options = room.options
    times = f"{limit_text(options.time_limit_s)}, {options.countdown_s} s countdown, {options.grace_s} s of grace"
    wish = ", winnable deals only" if options.winnable else " for everybody" if options.public else " only"
    if room.shared is not None and is_run(room):
        what = f"{'Deal of the day,' if room.shared.kind == 'daily' else 'Challenge'} {clean_chat(room.shared.id)}"
        names = ", ".join(clean_name(ghost.name) for ghost in room.ghosts)
        seen = f"Racing beside you: {names}" if names else "Nobody sees your cards"
        return [[("strong", what)], [("faint", times)], [("faint", clip(seen, width))], *_promise(room)]
    lines: list[Line] = [
        [("faint", times)],
        [("strong" if options.winnable else "faint", f"{'listed' if options.public else 'by code'}{wish}")],
        [("faint", rated_sentence(options))],
    ]
    if not options.autoplay:
        # In the row of what else is not as usual: each card home takes a key of its own, by everybody's word.
        lines[-1] += [("strong", "; no autoplay")]
    if options.deal is not None:
        lines.append([("strong", fit(f"Named deal: {clean_chat(options.deal)}", width).rstrip())])
    else:
        lines += _promise(room)
    return lines


def _promise(room: RoomModel) -> list[Line]:
    return [
        [("faint", "The shuffle is already fixed:")],
        [("faint", f"SHA-256 {room.commitment[:8]} {room.commitment[8:16]} {room.commitment[16:24]}")],
    ]


# ---- what keys and clicks do


def _update(step: Step, action: ScreenAction) -> Step:
    match action:
        case Do(Command.READY):
            return ready(step)
        case Do(Command.CHAT):
            return talk(step)
        case Do(Command.COPY):
            return _copy(step)
        case Do(Command.LEAVE):
            return leave(step)
        case Typed():
            return say(step, action)
        case _:
            return step


def _copy(step: Step) -> Step:
    command = _invitation(step.state, step.ui)
    if not command:
        return step.note("There is nothing to copy: nobody can be invited here.")
    return step.then(Copy(command)).note("Copied, if your terminal lets programs copy.")


def _times(scene: Scene) -> Hashable:
    room, call = scene.model.room, scene.model.tournaments.call
    if room is not None and room.phase == "countdown":
        return max(-race_clock_ms(room.started_at_ms, scene.clock_ms) + 99, 0) // 100
    return (call.until_ms - scene.clock_ms) // 1000 if call is not None and call.until_ms is not None else None


SCREEN = Screen(
    "waiting",
    "Before and after a race",
    KEYS,
    lambda state, ui: state.room is not None and state.room.phase in ("waiting", "countdown"),
    _update,
    _view,
    times=_times,
)
