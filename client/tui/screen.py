"""What a screen is: its name and keys, when it is shown, what actions do there, how it looks, and when it must be redrawn."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from msgspec import Struct

from client.state.store import Model
from client.tui.actions import ScreenAction
from client.tui.drawing.picture import Picture, Size
from client.tui.keymap import CURSOR, EVERYWHERE, QUIT, Command, Keys
from client.tui.scene import Scene
from client.tui.step import Step
from client.tui.ui_state import Ui


class Screen(Struct, frozen=True):
    """One row of the registry.

    group: its heading on the `?` page. times: what changes with time alone, except in the head row; the screen is redrawn when it changes.
    type_key: may take a key before the key table does, as part of something longer. scrolls: whether the wheel walks its lines.
    lines: what its lines stand for, if they can come and go with the news; so the marked one stays marked.
    refused: the commands that are not for this player here, as long as it is this race or tournament; the `?` page does not tell them.
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
    refused: Callable[[Scene], frozenset[Command]] = lambda scene: frozenset()

    @property
    def all_keys(self) -> Keys:
        """The screen's own keys and those that every screen has."""
        return (*self.keys, *CURSOR, *EVERYWHERE, QUIT)
