"""The pages that lie over a screen: the keys (`?`), questions to answer, and the remark that a terminal is too small."""

from __future__ import annotations

import urwid

from client.state.capabilities import rules_of
from client.tui.frame import Line, Screen, Spot, fit, foot, lines_widget, stacked, top, wrap_text
from client.tui.keymap import Place, help_rows
from client.tui.rules import rules_lines
from client.tui.scene import Scene, clock_line, head, shown_room
from client.tui.ui_state import Question, scene_of

_FIRST = {Place.WATCH: "Watching", Place.TOURNAMENTS: "At a tournament", Place.TOURNAMENT: "At a tournament"}
"""The group of keys that comes first, by screen."""

SMALLEST = (80, 24)
"""Columns and rows that every screen needs."""

KEYS_WIDTH = 14
"""The longest row of keys, `r enter space`, and a free column."""

HOW_TO_PLAY = (
    "Bring every card home: each suit on its foundation, from the Ace up to the King; with two decks on another one from the King",
    "down to the Ace as well. You race on the very same shuffle as the others: the first with every card home wins; otherwise more",
    "cards home, then the earlier moment.",
)
HOW_TO_MOVE = (
    "A card is played by the name of its slot (b3), with the cursor and enter, or with the mouse. Cards that go home are lit:",
    "{up} goes home, {down} goes home from the King down, {both} may do either; {moves} goes elsewhere. A card with several ways is",
    "held first: then press where it goes (a slot, a foundation, w, + or -), or the card again for the first way. esc lets go.",
    "In a quilt the bright cards are free: one of their narrow ends touches no other card.",
)


def help_lines(scene: Scene, width: int) -> list[Line]:
    """The whole page, to be scrolled: the aim, the rules of the race, how to move, the keys, and every rule set there is."""
    glyphs, room = scene.theme.glyphs, shown_room(scene)
    infos = scene.model.rules
    reel = scene.desk.reel
    if reel is not None:
        keys_first = _keys(scene, first="In a replay")
        return [[], *keys_first, [("title", "This race")], *rules_lines(reel.line.rules, width - 2), []]
    lines: list[Line] = [[], [("title", "How to play")], *_told(" ".join(HOW_TO_PLAY), width), []]
    ours = rules_of(infos, room.options.rules) if room is not None else None
    if ours is not None:
        lines += [[("title", "This race")], *rules_lines(ours, width - 2), []]
    signs = {"up": glyphs.playable, "down": glyphs.down, "both": glyphs.both, "moves": glyphs.moves}
    lines += [[("title", "How to move")], *_told(" ".join(HOW_TO_MOVE).format(**signs), width), []]
    lines += _keys(scene, first=_FIRST.get(scene_of(scene.model, scene.desk), "In a race"))
    for info in infos:
        lines += [*rules_lines(info, width - 2), []]
    return lines


def _keys(scene: Scene, *, first: str = "In a race") -> list[Line]:
    lines: list[Line] = []
    for heading, rows in help_rows(ascii_only=scene.theme.is_ascii, first=first):
        lines.append([("title", heading)])
        for keys, sentence in rows:
            lines.append([("strong", f"  {fit(keys, KEYS_WIDTH)}"), ("felt", sentence)])
        lines.append([])
    return lines


def _told(text: str, width: int) -> list[Line]:
    return [[("felt", line)] for line in wrap_text(text, width - 2)]


def help_screen(scene: Scene, size: tuple[int, int]) -> urwid.Widget:
    """The help page from line `desk.help_from` on."""
    width, height = size
    inner = min(width - 4, 92)
    lines = help_lines(scene, inner)
    room = height - 3
    first = max(0, min(scene.desk.help_from or 0, len(lines) - room))
    body = top(urwid.Padding(lines_widget(lines[first : first + room]), left=(width - inner) // 2, width=inner))
    below = len(lines) - first - room
    more = lines_widget([[("title", fit(f"{below} more line{'' if below == 1 else 's'}: j or page down", inner))] if below > 0 else []])
    return Screen(
        head(scene, width),
        body,
        urwid.Padding(more, left=(width - inner) // 2, width=inner),
        foot(Place.HELP, scene.hands, scene.theme, width),
    )


def last_help_line(scene: Scene, size: tuple[int, int]) -> int:
    """How far the page can be scrolled."""
    return max(len(help_lines(scene, min(size[0] - 4, 92))) - (size[1] - 3), 0)


def over(scene: Scene, below: urwid.Widget, question: Question, size: tuple[int, int]) -> urwid.Widget:
    """A question in a box over the screen."""
    width = min(max([len(question.text), *[len(line) + 6 for line in question.lines]]) + 4, size[0] - 4)
    parts: list[urwid.Widget] = [lines_widget([[], [("panel strong", f" {question.text}")], []], "panel")]
    for at, (line, key) in enumerate(zip(question.lines, question.keys, strict=True)):
        marked = at == scene.desk.item
        pointer = scene.theme.glyphs.pointer if marked else " "
        text = fit(f" {pointer} {key}  {line}", width)
        parts.append(Spot(lines_widget([[("chosen" if marked else "panel", text)]], "panel"), lambda at=at: scene.hands.pick(at)))  # type: ignore[misc]
    parts.append(lines_widget([[]], "panel"))
    box = urwid.Filler(urwid.AttrMap(stacked(*parts), "panel"))
    height = len(question.lines) + 4
    return urwid.Overlay(box, below, urwid.CENTER, width, urwid.MIDDLE, min(height, size[1]))


def too_small(scene: Scene, size: tuple[int, int]) -> urwid.Widget:
    """What is shown instead of a screen that does not fit; the race goes on and so do the keys."""
    width, height = size
    lines: list[Line] = [
        [("title", "Too small")],
        [("felt", f"{width}x{height}; needs {SMALLEST[0]}x{SMALLEST[1]}")],
        [("felt", "Everything goes on.")],
    ]
    room = scene.model.room if scene.desk.reel is None else None
    if room is not None:
        lines.append(clock_line(scene))
        own = room.own
        if own is not None:
            others = ", ".join(str(info.home) for info in room.opponents if info.name is not None)
            lines.append([("strong", f"home {own.home}{f' against {others}' if others else ''}")])
    return urwid.AttrMap(urwid.Filler(lines_widget(lines[: max(height, 1)], align=urwid.CENTER)), "felt")
