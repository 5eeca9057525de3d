"""What is shown first, and in what looks, before the libraries are loaded that read a command line: with the player's own settings."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from client.connection.address import parse_address
from client.connection.errors import Failure
from client.storage.identity import IdentityError, IdentityStore, home_folder
from client.storage.saved_records import is_new
from client.tui.start import Start, StartMenu, UiSettings, start_of
from client.tui.theme import CLASSIC, PALETTES, Palette
from protocol.text import clean_chat
from protocol.views import RaceOptions

LONGEST_THEME = 65_536
USED: Final = "theme"
"""The file in the player's folder that has the theme that is used where none is named: the name of one that is built in, or all of it."""

FILED: Final = [palette for palette in PALETTES if palette.name != "none"]
"""The themes that are built in and can be chosen by name."""


class BadTheme(Failure):
    """A file that has no theme, or cannot be read. Says why, in one sentence."""


def first_of(arguments: Sequence[str]) -> tuple[Start, UiSettings] | None:
    """What `carpet` and `carpet play` begin with; None where something is in the way, which the command says itself."""
    try:
        settings = settings_with(palette_used())
    except BadTheme:
        return None
    return (start_of(RaceOptions(bots=("greedy",))) if arguments else menu_start()), settings


def menu_start() -> StartMenu:
    """The menu, which offers the last server that was met."""
    known: list[str] = []
    with contextlib.suppress(IdentityError):
        known = list(IdentityStore(home_folder()).read().servers)
    return StartMenu(parse_address(known[-1]).typed if known else "", is_new=not known and is_new(home_folder()))


def settings_with(palette: Palette, *, ascii_only: bool = False) -> UiSettings:
    """Settings by which this theme is used."""
    own = None if built_in(palette.name) else palette
    return UiSettings(palette=palette.name, own_palette=own, ascii=ascii_only or not prints("♠│█"))


def prints(characters: str) -> bool:
    """Whether standard output has signs for all of them."""
    try:
        characters.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def built_in(name: str) -> Palette | None:
    """The theme of that name."""
    return next((palette for palette in FILED if palette.name == name), None)


def palette_used() -> Palette:
    """The theme that is used where none is named. Raises BadTheme."""
    path = home_folder() / USED
    return palette_in(path) if path.exists() else CLASSIC


def palette_in(path: Path) -> Palette:
    """The theme in a file. Raises BadTheme."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(LONGEST_THEME)
        # Most files have but a name.
        return built_in(text) or _palette_of(text)
    except OSError as error:
        known = f" Built in are {', '.join(palette.name for palette in FILED)}." if isinstance(error, FileNotFoundError) else ""
        raise BadTheme(f"{path} cannot be read: {error.strerror}.{known}") from error
    except ValueError as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else clean_chat(str(error)).rstrip(".")
        raise BadTheme(f"{path} is not a theme: {why}.") from error


def _palette_of(text: str) -> Palette:
    from client.tui.theme_file import palette_of

    return palette_of(text)
