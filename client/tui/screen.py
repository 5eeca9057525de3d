"""What a screen is: a name, its keys, when it is shown, what actions do there, how it looks, and when it must be drawn again."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from msgspec import Struct

from client.state.store import Model
from client.tui.actions import ScreenAction
from client.tui.keymap import CURSOR, EVERYWHERE, QUIT, Keys
from client.tui.picture import Picture, Size
from client.tui.scene import Scene
from client.tui.step import Step
from client.tui.ui_state import Ui


class Screen(Struct, frozen=True):
    """One row of the registry.

    group: its heading on the `?` page. times: what changes on it by time alone, but for its head row; another value, and it is drawn again.
    type_key: takes a key before the key table does, where it is part of something longer. scrolls: the wheel walks its lines.
    lines: what its lines stand for, where they come and go by what is heard: the marked one stays marked.
    """

    name: str
    group: str
    keys: Keys
    is_shown: Callable[[Model, Ui], bool]
    update: Callable[[Step, ScreenAction], Step]
    view: Callable[[Scene, Size], Picture]
    times: Callable[[Scene], Hashable] = lambda scene: None
    type_key: Callable[[Step, str], Step | None] = lambda step, key: None
    scrolls: bool = False
    lines: Callable[[Model, Ui], tuple[Hashable, ...]] = lambda state, ui: ()

    @property
    def all_keys(self) -> Keys:
        """Its own and those that every screen has."""
        return (*self.keys, *CURSOR, *EVERYWHERE, QUIT)
