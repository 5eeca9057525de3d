"""The moment after the last card went home: the cards fall over the table, until they have or a key is pressed."""

from __future__ import annotations

from msgspec.structs import replace

from client.state.room import RoomModel
from client.state.store import Model
from client.tui import cards, race
from client.tui.actions import After, Rest, ScreenAction
from client.tui.picture import Falling, Picture, Rect, Size
from client.tui.scene import Scene
from client.tui.screen import Screen
from client.tui.step import Step
from client.tui.transitions import FALL_MS
from client.tui.ui_state import Ui
from protocol.cards import RANKS

CARDS = 16
"""So many cards fall, Kings first."""

QUIET_MS = 700
"""For so long after a race has ended keys that were meant for the table do nothing."""


def _view(scene: Scene, size: Size) -> Picture:
    picture = race.SCREEN.view(scene, size)
    room = scene.model.room
    homes = [slot for slot in picture.slots if room is not None and room.view is not None and slot.place in room.view.foundations]
    card = cards.MEDIUM if size[0] >= 120 else cards.SMALL
    # With their edges drawn, or the trails would be one bright heap.
    theme = replace(scene.theme, bordered=True)
    falls = [
        Falling(Rect(home.rect.column, home.rect.row, card.width, card.height), tuple(cards.face(rank + home.place[0], card, theme)))
        for rank in RANKS[::-1]
        for home in homes
    ]
    return replace(picture, hits=(), falls=tuple(falls[:CARDS]))


def begun(step: Step, before: RoomModel | None) -> Step:
    """The cards begin to fall where this player has just brought the last one home, and likes to see it. A race that has just ended is
    noted."""
    room = step.state.room
    if room is None or room.own is None or before is None or before.own is None or room.view is None:
        return step
    # Who has stopped has their hands off the table.
    if (before.phase, room.phase) == ("racing", "over") and before.own.state == "racing" and room.own.state not in ("stopped", "forfeited"):
        step = step.but(quiet_until_ms=step.now_ms + QUIET_MS)
    just_now = before.own.state == "racing" and room.own.state == "won" and before.race == room.race
    return step.but(falls=True).then(After(FALL_MS, Rest())) if just_now and step.ui.settings.motion else step


def _ended(step: Step, action: ScreenAction | str) -> Step:
    """By whatever is done, or by any key."""
    del action
    return step.but(falls=False)


def _is_shown(state: Model, ui: Ui) -> bool:
    return ui.falls and state.room is not None and state.room.view is not None and state.room.phase in ("racing", "over")


SCREEN = Screen("ending", "In a race", (), _is_shown, _ended, _view, type_key=_ended)
