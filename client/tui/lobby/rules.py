"""The list of rule sets to choose from, with an explanation of each: when opening a race, and before a race against a house bot."""

from __future__ import annotations

from msgspec.structs import replace

from client.text.width import fit
from client.tui.actions import Do, Pick, ScreenAction
from client.tui.drawing.picture import UPPER, Line, Picture, Size, block, foot, hit, row, screen, shifted, stacked, window, wrap_text
from client.tui.keymap import Command
from client.tui.lobby.form import KEYS, with_rules
from client.tui.room import race_at_once
from client.tui.scene import Scene, clean_long, head, remarks
from client.tui.screen import Screen
from client.tui.step import Step
from protocol.text import clean_chat, clean_name
from protocol.views import RaceOptions, RulesInfo

LIST_WIDTH = 37


def decks_text(info: RulesInfo) -> str:
    """The number of decks, in words."""
    return "one deck" if info.decks == 1 else f"{info.decks} decks"


def rules_lines(info: RulesInfo, width: int) -> list[Line]:
    """A rule set explained: name, decks and difficulty, and the rules in a few sentences."""
    lines: list[Line] = [
        [("title", clean_name(info.name))],
        [("strong", f"{decks_text(info)}, {clean_chat(info.difficulty)}"), ("faint", f"   ({clean_name(info.id)})")],
    ]
    return [*lines, *[[("felt", text)] for text in wrap_text(clean_long(info.explanation), width)]]


def _view(scene: Scene, size: Size) -> Picture:
    """The list on the left, and the marked rule set on the right."""
    width, height = size
    page = scene.ui.rules_page
    assert page is not None
    infos = scene.model.rules
    inner = min(width - 1, 110)
    margin = (width - inner) // 2
    words = "Rules of the race" if page.bot is None else f"Race {clean_name(page.bot)}: by which rules?"
    title = block([[("title", f" {words}"), ("faint", "   enter or a second click chooses")], []])
    rows = max(height - 5, 1)
    marked = scene.ui.item
    items = [_item(scene, at, info) for at, info in window(infos, marked, rows)]
    told = rules_lines(infos[marked], inner - LIST_WIDTH - 2)[:rows] if 0 <= marked < len(infos) else []
    offered = stacked(*items) if items else block([[("faint", "The server offers none.")]])
    body = row((LIST_WIDTH + 2, offered), (inner - LIST_WIDTH - 2, block(told)))
    feet = (remarks(scene, width, 1), foot(KEYS, scene.theme, width))
    return screen(size, head(scene, width), shifted(stacked(title, body), margin), *feet, above=UPPER)


def _item(scene: Scene, at: int, info: RulesInfo) -> Picture:
    chosen = at == scene.ui.item
    name, rest = fit(f" {scene.pointer(chosen)} {clean_name(info.name)}", LIST_WIDTH - 9), fit(clean_name(info.difficulty), 9)
    line: Line = [("chosen", name + rest)] if chosen else [("strong", name), ("faint", rest)]
    return hit(block([line]), Pick(at))


# ---- what keys and clicks do


def _update(step: Step, action: ScreenAction) -> Step:
    page = step.ui.rules_page
    match action:
        case Do(Command.UP | Command.DOWN | Command.LEFT | Command.RIGHT as command):
            return step.walk(command, len(step.state.rules))
        case Do(Command.PLAY):
            return _choose(step, step.ui.item)
        case Pick(line) if line == step.ui.item:
            return _choose(step, line)
        case Pick(line):
            return step.but(item=line)
        case Do(Command.BACK) if page is not None:
            return step.but(rules_page=None, item=page.behind)
        case _:
            return step


def _choose(step: Step, line: int) -> Step:
    page, infos = step.ui.rules_page, step.state.rules
    if page is None or not 0 <= line < len(infos):
        return step
    chosen = infos[line].id
    step = step.but(rules_page=None, item=page.behind)
    if step.ui.tournament_form is not None:
        return step.but(tournament_form=replace(step.ui.tournament_form, rules=chosen))
    step = step.but(rules=chosen)
    if page.bot is not None:
        settings = step.ui.settings
        chosen_last = replace(settings, bot=page.bot, rules=chosen, by_key=settings.by_key | {"bot", "rules"})
        step = step.but(settings=chosen_last)
        return race_at_once(step, RaceOptions(rules=chosen, bots=(page.bot,), public=False))
    return step if step.ui.form is None else step.but(form=with_rules(step.ui.form, chosen, infos))


SCREEN = Screen(
    "rules", "In menus and forms", KEYS, lambda state, ui: state.room is None and ui.rules_page is not None, _update, _view, scrolls=True
)
