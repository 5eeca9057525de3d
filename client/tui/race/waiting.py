"""The waiting room: the code to give away, who is there and who is ready, what the race is, and the rules."""

from __future__ import annotations

from collections.abc import Hashable
from math import ceil

from msgspec.structs import replace

from client.state.capabilities import rules_of
from client.state.room import RoomModel
from client.text.formatting import clock_text, deck_size, limit_text, rated_sentence, series_sentence, won_sentence
from client.text.width import clip, fit
from client.tui.actions import Do, ScreenAction
from client.tui.drawing import cards
from client.tui.drawing.bars import seat_name
from client.tui.drawing.picture import (
    EMPTY,
    UPPER,
    Line,
    Picture,
    Rect,
    Size,
    Slot,
    block,
    centred,
    foot,
    framed,
    hit,
    line_width,
    row,
    screen,
    shifted,
    stacked,
    wrap_text,
)
from client.tui.drawing.theme import Markup
from client.tui.keymap import LEAVE, TALK, Binding, Command, Keys
from client.tui.race.invitation import code_cards, code_picture, copy_invitation, invitation, is_open, ways_in
from client.tui.room import away_words, ready, refused_alone, room_update
from client.tui.scene import Scene, chat_lines, clean_long, head, remarks, rules_name
from client.tui.screen import Screen
from client.tui.step import Step
from protocol.cards import FACE_DOWN
from protocol.text import clean_chat, clean_name, counted, listed
from protocol.views import SeatInfo

KEYS: Keys = (
    Binding(Command.READY, ("r", "enter", " "), "ready", "Ready. The race starts when everybody is."),
    TALK,
    Binding(Command.COPY, ("c",), "copy", "Copy the line that takes a friend to this race."),
    LEAVE,
)
MORE = " ... more: ?"
GAPS = 3
"""Free rows between the parts, where there is room for them."""
LEAST_TOLD = 3
"""Rows of the rules, where they are told in part."""
ROOMY = 30
"""With so many rows the rules stand on the right."""
BETWEEN = 2
"""Columns between two plates."""
HIGH, LOW = 5, 3
"""Rows of a player's plate, and of one where there is little room."""
PLATE_WIDTH, DECK_WIDTH = 32, 9
ACROSS = 4
"""Plates side by side, at most."""


def _view(scene: Scene, size: Size) -> Picture:
    """The whole waiting room as a picture."""
    width, height = size
    room = scene.model.room
    assert room is not None
    inner = min(width - 4, 96)
    margin = (width - inner) // 2
    said = 3 if height >= ROOMY else 2
    free = height - 2 - said
    body, talks = _spacious(scene, room, inner, free) if height >= ROOMY else (None, False)
    hidden = frozenset({Command.READY} if room.own is not None and room.own.ready else ())
    feet = (
        shifted(remarks(scene, width - margin, said, talk=not talks), margin - 1),
        foot(KEYS, scene.theme, width, without=hidden | _refused(scene)),
    )
    body = shifted(_close(scene, room, inner, free) if body is None else body, margin)
    return screen(size, head(scene, width), body, *feet, above=UPPER)


def _refused(scene: Scene) -> frozenset[Command]:
    return refused_alone(scene) | frozenset({Command.COPY} if not invitation(scene.model, scene.ui) else ())


def _spacious(scene: Scene, room: RoomModel, width: int, height: int) -> tuple[Picture | None, bool]:
    """The rules whole on the right, on the left the page's address as a picture or what the race is; and whether the chat is there too.

    Nothing where the rules find no room.
    """
    right, blank = width - width // 2, block([[]])
    left = width - right - 2
    banner = stacked(blank, _banner(scene, room, width, spaced=True), blank)
    below = [(seats, height - banner.height - seats.height - 1) for seats in (_seats(scene, room, width, rows) for rows in (HIGH, LOW))]
    codes = [code_picture(scene, room, left, rows) for _, rows in below]
    # Low plates only where the address has room below them alone.
    at = 1 if codes[1].height and not codes[0].height else 0
    (seats, rows), code = below[at], codes[at]
    told, talk = _paragraph(wrap_text(_explanation(scene, room), right)), list[Line]()
    if code.height:
        beside, told = code, [*_facts(scene, room, right), [], *told]
    else:
        facts = _facts(scene, room, left)
        talk = chat_lines(scene, left, rows - len(facts) - 2)
        beside = block([*facts, *([[], [("title", "Chat")], *talk] if talk else [])])
    body = stacked(banner, seats, blank, row((width - right, beside), (right, block(told))))
    return (body, bool(talk)) if len(told) <= rows else (None, False)


def _close(scene: Scene, room: RoomModel, width: int, height: int) -> Picture:
    """One below the other. Where there is too little room plates are low, and the rules end early or are not told.

    Once everybody is here free rows go before the rules do: who has come by a code may not know them.
    """
    facts, told = _facts(scene, room, width), wrap_text(_explanation(scene, room), width)
    banner = _banner(scene, room, width, spaced=False)
    low, high = (_seats(scene, room, width, rows) for rows in (LOW, HIGH))
    free = height - banner.height - low.height - len(facts)
    if len(told) > free - (GAPS if is_open(scene.model, room) else 0):
        kept = free - GAPS
        cut = [*told[: kept - 1], f"{wrap_text(told[kept - 1], width - len(MORE))[0]}{MORE}"] if kept >= LEAST_TOLD else []
        told = cut or [f"? tells the rules of {rules_name(scene.model, room.options.rules)}."]
    free -= len(told)
    seats = high if high.height - low.height <= free - GAPS else low
    # First between two texts.
    gaps = [block([[]] if free > at else []) for at in reversed(range(GAPS))]
    return stacked(banner, gaps[0], seats, gaps[1], block(facts), gaps[2], block(_paragraph(told)))


# ---- what is waited for


def _banner(scene: Scene, room: RoomModel, width: int, *, spaced: bool) -> Picture:
    """What is waited for; the code to give away and the ways to come here, while a seat is free; and at a table which one it is."""
    words, gap = waited_for(scene, room), block([[]] if spaced else [])
    told = [series_sentence(room.series, room.half, own=room.seat) if room.series is not None else "", won_sentence(room)]
    score: list[Line] = [[("title", line)] for text in told if text for line in wrap_text(text, width)]
    above = block([*score, *[[("strong", line)] for line in wrap_text(words, width)]], width, centred=True)
    if scene.model.is_at_table:
        return stacked(above, gap, cards.big_text(_table(scene, room), scene.theme, "title", width))
    if not is_open(scene.model, room) or scene.ui.own_server:
        return above
    ways = block(_paragraph(ways_in(scene, room, width)), width, centred=True)
    return stacked(above, gap, code_cards(clean_name(room.code), scene.theme, width), gap, ways)


def waited_for(scene: Scene, room: RoomModel) -> str:
    """What is waited for, and what the player can do about it."""
    free = sum(1 for info in room.seats if info.name is None)
    if scene.model.is_at_table:
        return _words_at_table(scene, room)
    if free and scene.ui.own_server:
        return "Nobody can come: this server is yours alone. Press L to leave, and give the seat to a house bot."
    if free:
        if room.parted:
            whom = "another player" if len(room.seats) == 2 else counted(free, "more player")
            return f"{clean_name(room.parted)} has left. Give this code to {whom}, or press L to leave:"
        return f"Give this code to {'the other player' if len(room.seats) == 2 else counted(free, 'more player')}:"
    left_ms = _left_ms(scene)
    # Where each sentence is told once, the time is in one of its own.
    left = "" if left_ms is None or scene.still else clock_text(left_ms, tenths=False)
    if room.own is not None and not room.own.ready and room.is_private_run:
        # Nobody is waited for, and nobody can come.
        return f"The clock waits for you. Press r when you are ready{': this run counts' if room.is_run else ''}."
    if room.own is not None and not room.own.ready:
        if left:
            ready = [clean_name(info.name) for info in room.opponents if info.name is not None and info.ready and info.bot is None]
            waits = f"{listed(ready)} {'are' if len(ready) > 1 else 'is'} ready. " if ready else ""
            return f"{waits}Press r within {left}, or you lose your seat."
        here = all(info.connected for info in room.seats)
        return f"{'Everybody is here. ' if here else ''}Press r when you are ready."
    if all(info.ready for info in room.seats):
        return "Looking for a winnable deal..." if room.options.winnable else "Everybody is ready."
    away = away_words(room)
    if away:
        return f"{away} and may come back{f' within {left}' if left else ''}."
    missing = listed([clean_name(info.name) for info in room.seats if info.name is not None and not info.ready])
    return f"Waiting for {missing} to be ready{f': {left} left' if left else ''}."


def _table(scene: Scene, room: RoomModel) -> str:
    """Which table it is; nobody else is to be let in, so the code is of no use to anybody."""
    call = scene.model.tournaments.call
    return f"table {call.table}" if call is not None and call.code == room.code else clean_name(room.code)


def _words_at_table(scene: Scene, room: RoomModel) -> str:
    left_ms = _left_ms(scene)
    within = "" if left_ms is None else f" within {clock_text(left_ms, tenths=False)}"
    if room.own is None or room.own.ready:
        if all(info.ready and info.connected for info in room.seats):
            return "You are ready. All tables of a round start together: waiting for the others."
        return f"You are ready. Players who are not here{within or ' in time'} forfeit."
    tournament = scene.model.tournaments.tournament(scene.model.table_of)
    if tournament is not None and any(each.code == room.code and not each.counted for each in tournament.told.tables):
        return "You have a bye. Press r to race the house for fun."
    return f"Your table. Press r{within and f'{within}, or you forfeit'}."


def _left_ms(scene: Scene) -> int | None:
    """How long those who are not ready have to get so, here or at the table that they are called to; None if there is no limit."""
    call, room = scene.model.tournaments.call, scene.model.room
    until_ms = call.until_ms if call is not None and scene.model.is_at_table else None
    if until_ms is None and room is not None:
        until_ms = room.ready_until_ms
    return max(until_ms - scene.clock_ms, 0) if until_ms is not None else None


# ---- who is there


def _seats(scene: Scene, room: RoomModel, width: int, rows: int) -> Picture:
    """A plate for each seat, so many rows high; between two of them, or beside the only one, the deck that all will be dealt."""
    seats = max(len(room.seats), 1)
    across = ceil(seats / ceil(seats / ACROSS))
    has_deck = seats <= 2
    one = min((width + BETWEEN - (DECK_WIDTH + BETWEEN) * has_deck) // across - BETWEEN, PLATE_WIDTH)
    plates = [(one, _plate(scene, room, info, one, rows)) for info in room.seats]
    parts: list[Picture] = []
    for first in range(0, len(plates), across):
        cells = plates[first : first + across]
        if has_deck:
            back = cards.back(deck_size(scene.model.rules, room.options.rules), cards.CardSize(DECK_WIDTH, rows, 0), scene.theme)
            cells.insert(1, (DECK_WIDTH, block(back)))
        apart = [part for cell in cells for part in (cell, (BETWEEN, EMPTY))]
        parts += [block([[]] if first else []), row(*apart[:-1])]
    return centred(stacked(*parts), width)


def _plate(scene: Scene, room: RoomModel, info: SeatInfo, width: int, rows: int) -> Picture:
    """A seat as a card: face down while it is free, and lit once its player is ready. One's own is the button that says so."""
    theme, rect = scene.theme, Rect(0, 0, width, rows)
    if info.name is None:
        back = cards.labelled_back("open seat", cards.CardSize(width, rows, 0), theme)
        return Picture(tuple(back), slots=(Slot(f"seat {info.seat}", rect, FACE_DOWN),))
    own = info.seat == room.seat
    who, look = "own" if own else "other", "lit" if info.ready else "card"
    plain = "felt" if theme.bordered else f"{look} S"
    inside = width - 2 if theme.bordered else width - 1
    kind = " (you)" if own else " (bot)" if info.bot is not None else ""
    name = clip(seat_name(info), inside - len(kind) - (4 if theme.bordered else 2)) + kind
    state = _state(scene, info, look, own=own)
    is_button = own and not info.ready and scene.model.link.state == "connected"
    if is_button:
        state = [(plain, " "), ("chosen", fit("  r   Ready", inside - 2)), (plain, " ")]
    around: list[Line] = [[]] * (rows > LOW)
    if theme.bordered:
        drawn = framed(block([*around, state, *around]), theme, inside, role=who, title=[(who, name)])
    else:
        lines: list[Line] = [*around, [(plain, f" {name}")], [], state, *around]
        drawn = row((1, block([[(who, theme.glyphs.cursor[0])]] * rows)), (inside, block(lines, inside, role=plain)))
    drawn = replace(drawn, slots=(Slot(f"seat {info.seat}", rect, name),))
    return hit(drawn, Do(Command.READY)) if is_button else drawn


def _state(scene: Scene, info: SeatInfo, look: str, *, own: bool) -> Line:
    """How a player stands. Of a lost connection one can know here only if it is one's own."""
    theme = scene.theme
    good, bad, plain = ("good", "bad", "faint") if theme.bordered else ("mark", f"{look} H", f"{look} S")
    if not info.connected or (own and scene.model.link.state != "connected"):
        return [(bad, " not connected")]
    return [(good, f" {theme.glyphs.tick} ready")] if info.ready else [(plain, " not ready yet")]


# ---- what the race is


def _explanation(scene: Scene, room: RoomModel) -> str:
    info = rules_of(scene.model.rules, room.options.rules)
    return clean_long(info.explanation) if info is not None else ""


def _paragraph(texts: list[str]) -> list[Line]:
    return [[("felt", text)] for text in texts]


def _facts(scene: Scene, room: RoomModel, width: int) -> list[Line]:
    """What matters of the race at a glance; then its times, and what is known of the deal."""
    options = room.options
    glance: list[Markup] = [("title", rules_name(scene.model, options.rules)), ("strong", limit_text(options.time_limit_s))]
    if room.is_private_run:
        names = ", ".join(clean_name(ghost.name) for ghost in room.ghosts)
        if room.shared is not None:
            glance.append(("strong", f"{'Deal of the day,' if room.shared.kind == 'daily' else 'Challenge'} {clean_chat(room.shared.id)}"))
        elif room.ghosts:
            glance += [("strong", "Played on from an earlier race"), ("felt", "it does not count")]
        glance.append(("felt", f"Racing beside you: {names}" if names else "Nobody sees your cards"))
    else:
        glance.append(("felt", rated_sentence(options)))
        if room.shared is None:
            # To a table of a tournament nobody comes by its code.
            glance.append(("felt", "listed for everybody" if options.public else "by code only"))
    if options.winnable:
        glance.append(("strong", "winnable deals only"))
    if not options.autoplay:
        # Each card home takes a key of its own, by everybody's word.
        glance.append(("strong", "no autoplay"))
    if options.deal is not None:
        glance.append(("strong", f"named deal: {clean_chat(options.deal)}"))
    between = "" if options.series.format == "single" else f", {options.series.grace_s} s between races"
    # Where there is more to tell, all of it shall stand in one row.
    watched = f", boards {options.delay_s} s late{'' if between else ' for those who watch'}"
    late = "" if room.hides_boards or room.is_private_run else watched
    times = f"{options.countdown_s} s countdown, {options.grace_s} s of grace{between}{late}."
    promise = f"The server's secret is fixed: SHA-256 {room.commitment[:8]} {room.commitment[8:16]} {room.commitment[16:24]}"
    faint = [*wrap_text(times, width), *(wrap_text(promise, width) if options.deal is None else [])]
    return [*_joined(glance, f" {scene.theme.glyphs.middle} ", width), *[[("faint", text)] for text in faint]]


def _joined(pieces: list[Markup], between: str, width: int) -> list[Line]:
    """As many of the pieces in a row as fit."""
    lines: list[Line] = [[]]
    for role, text in pieces:
        joined = [*lines[-1], ("faint", between), (role, text)]
        if lines[-1] and line_width(joined) <= width:
            lines[-1] = joined
        else:
            lines.append([(role, clip(text, width))])
    return lines[1:]


# ---- what keys and clicks do


def _update(step: Step, action: ScreenAction) -> Step:
    match action:
        case Do(Command.READY):
            return ready(step)
        case Do(Command.COPY):
            return copy_invitation(step)
        case _:
            return room_update(step, action)


def _times(scene: Scene) -> Hashable:
    left_ms = _left_ms(scene)
    return left_ms // 1000 if left_ms is not None else None


SCREEN = Screen(
    "waiting",
    "Before and after a race",
    KEYS,
    lambda state, ui: state.room is not None and state.room.phase == "waiting",
    _update,
    _view,
    times=_times,
    refused=_refused,
)
