"""The screen while the player's own server starts and lays the table: there is nothing to do but wait, or quit."""

from __future__ import annotations

from client.state.store import Model
from client.tui.drawing.picture import UPPER, Picture, Size, block, foot, screen, shifted, stacked
from client.tui.lobby.home import WIDTH, banner
from client.tui.scene import Scene, head, remarks
from client.tui.screen import Screen
from client.tui.ui_state import Ui


def _is_shown(state: Model, ui: Ui) -> bool:
    is_asked_for = ui.start is not None or ui.followed.ready_at_once
    return ui.own_server and is_asked_for and state.room is None and state.finished is None


def _view(scene: Scene, size: Size) -> Picture:
    said = block([[("strong", "Your table is being laid.")]])
    body = stacked(banner(scene, size), shifted(said, (size[0] - min(size[0], WIDTH)) // 2 + 2))
    return screen(size, head(scene, size[0]), body, remarks(scene, size[0], 2), foot((), scene.theme, size[0]), above=UPPER)


SCREEN = Screen("laying", "Before the race", (), _is_shown, lambda step, action: step, _view)
