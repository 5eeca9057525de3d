"""The view: draws the screen that the state calls for, and what lies over it; and says what changes with time alone. Pure."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import chain

from msgspec.structs import replace

from client.state.room import race_clock_ms
from client.state.store import Model
from client.text.formatting import clock_text
from client.tui.actions import Pick
from client.tui.drawing.picture import Picture, Size
from client.tui.overlays import asking, help_screen, is_large_enough, too_small, typing
from client.tui.scene import Scene, check_in_sentence, head, is_fresh, is_noted, shown_room
from client.tui.screens import shown
from client.tui.ui_state import Ui


def view(scene: Scene, size: Size) -> Picture:
    """The picture of a scene."""
    picture = _drawn(scene, size)
    return replace(picture, focus=_focus(scene, picture))


def _drawn(scene: Scene, size: Size) -> Picture:
    if not is_large_enough(size):
        return too_small(scene, size)
    if scene.ui.help_from is not None:
        return help_screen(scene, size)
    question = scene.ui.question
    # `item` is the question's marked line: the screen below keeps its own.
    below = scene if question is None else replace(scene, ui=replace(scene.ui, item=question.behind))
    drawn = shown(scene.model, scene.ui).view(below, size)
    if scene.ui.prompt is not None:
        return typing(scene, drawn, size)
    return asking(scene, drawn, question, size) if question is not None else drawn


def _focus(scene: Scene, picture: Picture) -> tuple[int, int]:
    """Where the player's eye is: on the marked line, else on the place under the table's cursor, else below the head row.

    Every line that can be marked can be clicked, so that the screens need not say where it is.
    """
    lines = (each.rect for each in picture.hits if each.click == Pick(scene.ui.item))
    places = (each.rect for each in picture.slots if each.place == scene.ui.cursor)
    # The lines of the help can be clicked too, but none is marked.
    rect = next(chain(lines, places), None) if scene.ui.help_from is None else None
    return (0, 1) if rect is None else (rect.column, rect.row)


def with_head(picture: Picture, scene: Scene, size: Size) -> Picture:
    """The picture with only its first row redrawn."""
    if not is_large_enough(size):
        return view(scene, size)
    return replace(picture, lines=(*head(scene, size[0]).lines, *picture.lines[1:]))


def head_times(scene: Scene) -> Hashable:
    """What changes with time alone in the first row."""
    room, link = shown_room(scene), scene.model.link
    retry = None if link.retry_at_ms is None else (link.retry_at_ms - scene.now_ms) // 1000
    if room is None or room.started_at_ms is None or room.phase not in ("countdown", "racing"):
        return retry, None
    elapsed = race_clock_ms(room.started_at_ms, scene.clock_ms)
    return retry, clock_text(min(elapsed, room.options.time_limit_s * 1000), tenths=False) if elapsed >= 0 else elapsed // 100


def body_times(scene: Scene) -> Hashable:
    """What changes with time alone below the first row; when it changes, the whole screen is redrawn."""
    notice, search = scene.model.notice, scene.model.search
    fresh = notice is not None and is_fresh(notice, scene.now_ms)
    sought = None if search is None else (scene.now_ms - search.since_ms) // 1000
    return fresh, is_noted(scene.ui, scene.now_ms), sought, check_in_sentence(scene), shown(scene.model, scene.ui).times(scene)


def is_running(state: Model, ui: Ui) -> bool:
    """Whether a clock with tenths runs on the screen; a race's clock has none until the race is over."""
    room = state.room or (ui.watch.room if ui.watch is not None else None)
    return (room is not None and room.phase == "countdown") or (ui.replay is not None and ui.replay.is_running)
