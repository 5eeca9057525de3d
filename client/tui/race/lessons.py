"""Lessons: they teach the keys of a first race one by one, each when the table has a use for it. Pure.

A lesson stands beside the race and waits. Any other key works as usual, and what the player has done already is not taught again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from client.game.moves import goes_home, homeward, source
from client.state.room import RoomModel
from client.text.width import clip
from client.tui.actions import Click, Do, ScreenAction, Send
from client.tui.chips import chips_of
from client.tui.drawing.picture import Line, Picture, block, spread, stacked, words_hit
from client.tui.keymap import Command
from client.tui.room import is_lesson
from client.tui.scene import Scene, notice_lines
from client.tui.step import Step
from client.tui.ui_state import QuitNow, Ui
from protocol.client_messages import Move
from protocol.views import View


class Lesson(NamedTuple):
    """skill: what it teaches. task, why: one line each. fits: whether the table has a use for it. press: what a click on the key it names
    does; None if it names two."""

    skill: str
    task: str
    why: str
    fits: Callable[[View], object]
    press: Command | None = None


def _on_table(view: View) -> tuple[str, ...]:
    return tuple(place for place in homeward(view) if place != "w")


LESSONS: Final = (
    Lesson(
        "chip",
        "Press {chip}: the card with that key goes home.",
        "Home is a pile for each suit, from the Ace up to the King.",
        _on_table,
        Command.CHIP,
    ),
    Lesson(
        "space",
        "Press space: the next card goes home.",
        "No key to look for. While the waste is empty, the stock fills each gap.",
        homeward,
        Command.SEND_HOME,
    ),
    Lesson(
        "all",
        "Press g: all that fits goes home.",
        "Any key stops it. It can pay to hold a card back, as a gap for later.",
        homeward,
        Command.SEND_ALL,
    ),
    Lesson(
        "stock",
        "Press s: turn a card of the stock onto the waste.",
        "Nothing on the table fits now. The waste's top card can be played.",
        lambda view: "s" in view.moves and not homeward(view),
        Command.STOCK,
    ),
    Lesson(
        "waste",
        "Press w: the top card of the waste goes home.",
        "It fits now. Space would send it, too.",
        lambda view: "w" in view.moves,
        Command.WASTE,
    ),
    Lesson(
        "fill",
        "Press w or s: fill the gap at {gap}.",
        "w takes the waste's top card and frees the next; s takes the stock's.",
        lambda view: view.pending is not None,
    ),
)
_PRACTICE: Final = (
    ("That one fits: send it home, by its key or by space.", homeward),
    ("A gap again: press s or w.", lambda view: view.pending is not None),
    ("Nothing fits: press s for another card.", lambda view: "s" in view.moves),
)
NO_LESSONS: Final = "esc: no more lessons"
FAREWELL: Final = "That is all it takes; ? shows every key."
NO_MORE: Final = "No more lessons; ? shows every key."


def told(scene: Scene, room: RoomModel, width: int) -> Picture:
    """The lesson that the table has a use for now, in two rows. A remark to the player takes the place of the reason."""
    learned, view = scene.ui.learned, room.view
    assert learned is not None
    task, why = "", ""
    # In a question, or with a card in hand, the same key means something else.
    out: Line = [("panel faint", f"{NO_LESSONS} ")] if scene.ui.question is None and not _lets_go(scene.ui) else []
    clicks: dict[str, Click] = {NO_LESSONS: Do(Command.BACK)}
    if view is not None and view.moves:
        lesson = next((each for each in LESSONS if each.skill not in learned and _can_be_taught(each, room, view)), None)
        chip = next((chip.key for chip in chips_of(scene.ui.chips, view, "") if chip.place in _on_table(view)), "")
        task = next((text for text, fits in _PRACTICE if fits(view)), "") if lesson is None else lesson.task
        task, why = task.format(chip=chip, gap=view.pending), lesson.why if lesson is not None else ""
        if lesson is not None and lesson.press is not None:
            clicks[task.partition(":")[0]] = Do(lesson.press, chip)
    count = f" {len(learned)}/{len(LESSONS)}  "
    said = "".join(text for _, text in (notice_lines(scene, width - len(count)) or [[]])[0]).strip()
    above = spread([("panel faint", count), ("panel strong", task)], out, width, "panel")
    below: Line = [("panel", " " * len(count)), ("panel strong" if said else "panel", clip(said or why, width - len(count)))]
    return stacked(words_hit(above, clicks), block([below], width, role="panel"))


def _lets_go(ui: Ui) -> object:
    """Whether esc would first put something back."""
    return ui.held or ui.ahead or ui.typed


def _can_be_taught(lesson: Lesson, room: RoomModel, view: View) -> bool:
    return bool(lesson.fits(view)) and (lesson.skill != "all" or (room.options.autoplay and len(homeward(view)) > 1))


def learned(before: Step, after: Step, action: ScreenAction | None) -> Step:
    """Note what the player has learned from a press. before, after: the steps around it. action: None if it was a chip's key."""
    room, known = before.state.room, before.ui.learned
    if known is None or room is None or room.view is None:
        return after
    if isinstance(action, Do) and action.command is Command.BACK and not _lets_go(before.ui):
        return after.but(learned=None).note(NO_MORE)
    moves = [effect.message.move for effect in after.effects if isinstance(effect, Send) and isinstance(effect.message, Move)]
    known |= {skill for move in moves for skill in _shown_by(move, action)} | ({"all"} if after.ui.homing else set())
    if len(known) < len(LESSONS):
        return after.but(learned=known)
    after = after.but(learned=None)
    if not is_lesson(after):
        return after.note(FAREWELL)
    # In any other race the farewell is enough; after the lesson, offer the next race.
    answers = (QuitNow(("play", "--bot", "random")), None, QuitNow())
    lines = ("Race a house bot", "Play this deal on", "Back")
    return after.ask("That is all it takes. Now race: the same cards, two tables.", lines, answers, numbered=True)


def _shown_by(move: str, action: ScreenAction | None) -> set[str]:
    if ":" in move:
        return {"fill"}
    if not goes_home(move):
        return {"stock"} if move == "s" else set()
    by = "space" if isinstance(action, Do) and action.command is Command.SEND_HOME else "chip"
    return {by, "waste"} if source(move) == "w" else {by}
