"""The page about the player: rating, days in a row, best times and last races. A race on it can be watched again."""

from __future__ import annotations

from typing import Final

from client.text.profile import Profile, best_lines, fact_lines, past_lines
from client.text.width import fit
from client.tui.actions import Do, Pick, Quit, ReadProfile, ReplayPast, ScreenAction
from client.tui.drawing.picture import EMPTY, Line, Picture, Size, block, foot, hit, screen, shifted, stacked, window, wrap_text
from client.tui.keymap import BACK, Binding, Command, Keys
from client.tui.scene import Scene, head, remarks
from client.tui.screen import Screen
from client.tui.start import StartYou
from client.tui.step import Step
from protocol.client_messages import QuickMatch
from protocol.pages import is_race_id

KEYS: Keys = (
    Binding(Command.PLAY, ("enter", " "), "watch again", "Watch the marked race again."),
    BACK,
)
WIDEST: Final = 100
BESTS: Final = 12
"""Rule sets in the table, at most: there are no more."""
LEAST_RACES: Final = 4
"""Rows that are kept for races where the best times would take them."""
NO_RACES: Final = "No races yet. Your first one will stand here."


def opened(step: Step) -> Step:
    """The step with the page open, and what it says looked up anew."""
    return step.but(you=True, item=0).then(ReadProfile())


def known(step: Step, answer: Profile | str) -> Step:
    """The step with what is known now on the page, or with why nothing is; unchanged if they have left the page since."""
    if not step.ui.you:
        return step
    return step.note(answer) if isinstance(answer, str) else step.but(profile=answer)


def _view(scene: Scene, size: Size) -> Picture:
    """The whole screen as a picture."""
    width, height = size
    inner, known = min(width - 2, WIDEST), scene.ui.profile
    body = block([[], [("felt", "" if scene.ui.note else "Loading...")]])
    if known is not None:
        # All but the head, the free row below it, the remarks and the foot.
        body = stacked(block([[]]), _page(scene, known, inner, height - 5))
    feet = (remarks(scene, width, 2), foot(KEYS, scene.theme, width, without=_refused(scene)))
    return screen(size, head(scene, width), shifted(body, (width - inner) // 2), *feet)


def _page(scene: Scene, known: Profile, width: int, rows: int) -> Picture:
    facts = [line for fact in fact_lines(known, ascii_only=scene.theme.is_ascii) for line in wrap_text(fact, width)]
    # Without the facts, the empty rows, and the headings of both tables.
    left = rows - len(facts) - 4
    bests = known.bests[: max(min(BESTS, left - min(LEAST_RACES, len(known.races))), 1)]
    lines: list[Line] = [[("title", facts[0])], *[[("felt", fact)] for fact in facts[1:]], []]
    if bests:
        headings, *told = best_lines(bests)
        lines += [[("faint", headings)], *[[("felt", line)] for line in told], []]
        left -= len(bests)
    return stacked(block(lines), _races(scene, known, width, max(left, 1)))


def _races(scene: Scene, known: Profile, width: int, rows: int) -> Picture:
    if not known.races:
        return block([[("faint", NO_RACES)]])
    headings, *told = past_lines(known.races)
    shown: list[Picture] = []
    for at, text in window(told, scene.ui.item, rows):
        marked = at == scene.ui.item
        line: Line = [("chosen" if marked else "felt", fit(f"{scene.pointer(marked)} {text}", width))]
        shown.append(hit(block([line]), Pick(at)))
    return stacked(block([[("faint", f"  {headings}")]]), *shown) if shown else EMPTY


def _refused(scene: Scene) -> frozenset[Command]:
    known = scene.ui.profile
    return frozenset() if known is not None and known.races else frozenset({Command.PLAY})


# ---- what keys and clicks do


def _update(step: Step, action: ScreenAction) -> Step:
    races = step.ui.profile.races if step.ui.profile is not None else ()
    match action:
        case Do(Command.UP | Command.DOWN | Command.LEFT | Command.RIGHT as command):
            return step.walk(command, len(races))
        case Do(Command.PLAY):
            return _watched(step, step.ui.item)
        case Pick(line) if line == step.ui.item:
            return _watched(step, line)
        case Pick(line):
            return step.but(item=line)
        case Do(Command.BACK) if step.ui.preparing:
            return step.but(preparing="").note("The replay was cancelled.")
        case Do(Command.BACK) if step.state.search is not None:
            return step.send(QuickMatch(cancel=True))
        case Do(Command.BACK) if isinstance(step.ui.start, StartYou):
            return step.then(Quit())
        case Do(Command.BACK):
            return step.but(you=False, profile=None, item=0)
        case _:
            return step


def _watched(step: Step, line: int) -> Step:
    races = step.ui.profile.races if step.ui.profile is not None else ()
    if not 0 <= line < len(races):
        return step
    race = races[line].race
    if race.aborted is not None or not is_race_id(race.id):
        return step.note("That race cannot be watched again: it has no record.")
    return step.but(preparing=race.id).then(ReplayPast(race.id)).note("Getting the race...")


SCREEN = Screen("you", "At home", KEYS, lambda state, ui: state.room is None and ui.you, _update, _view, scrolls=True, refused=_refused)
