"""The list of rule sets to choose from, with what each one is: where a race is opened, and before one against a house bot."""

from __future__ import annotations

import urwid

from client.tui.frame import Line, Screen, Spot, fit, foot, lines_widget, row, stacked, upper, wrap_text
from client.tui.keymap import Place
from client.tui.scene import Scene, clean_long, head, remarks
from client.tui.ui_state import RulesPage
from protocol.text import clean_chat, clean_name
from protocol.views import RulesInfo

LIST_WIDTH = 37


def decks_text(info: RulesInfo) -> str:
    """How many decks, in words."""
    return "one deck" if info.decks == 1 else f"{info.decks} decks"


def rules_lines(info: RulesInfo, width: int) -> list[Line]:
    """A rule set explained: name, decks and difficulty, source, and the rules in a few sentences."""
    lines: list[Line] = [
        [("title", clean_name(info.name))],
        [("strong", f"{decks_text(info)}, {clean_chat(info.difficulty)}"), ("faint", f"   ({clean_name(info.id)})")],
        *[[("faint", text)] for text in wrap_text(f"From: {clean_chat(info.source)}", width)],
    ]
    return [*lines, *[[("felt", text)] for text in wrap_text(clean_long(info.explanation), width)]]


def rules_screen(scene: Scene, size: tuple[int, int], page: RulesPage) -> urwid.Widget:
    """The list on the left, what is marked on the right."""
    width, height = size
    infos = scene.model.rules
    inner = min(width - 1, 110)
    margin = (width - inner) // 2
    words = "Rules of the race" if page.bot is None else f"Race {clean_name(page.bot)} at"
    title = lines_widget([[("title", f" {words}"), ("faint", "   enter or a second click chooses")], []])
    rows = max(height - 5, 1)
    marked = scene.desk.item
    first = max(0, min(marked - rows + 1, len(infos) - rows))
    items = [_item(scene, at, info) for at, info in enumerate(infos)][first : first + rows]
    told = rules_lines(infos[marked], inner - LIST_WIDTH - 2)[:rows] if 0 <= marked < len(infos) else []
    body = row(
        (LIST_WIDTH, stacked(*items) if items else lines_widget([[("faint", "The server offers none.")]])),
        (2, lines_widget([[]])),
        (inner - LIST_WIDTH - 2, lines_widget(told)),
    )
    placed = urwid.Padding(stacked(title, body), left=margin, width=inner)
    return Screen(head(scene, width), upper(placed), remarks(scene, width, 1), foot(Place.RULES, scene.hands, scene.theme, width))


def _item(scene: Scene, at: int, info: RulesInfo) -> urwid.Widget:
    chosen = at == scene.desk.item
    pointer = scene.theme.glyphs.pointer if chosen else " "
    name, rest = fit(f" {pointer} {clean_name(info.name)}", LIST_WIDTH - 9), fit(clean_name(info.difficulty), 9)
    line: Line = [("chosen", name + rest)] if chosen else [("strong", name), ("faint", rest)]
    return Spot(lines_widget([line]), lambda: scene.hands.pick(at))
