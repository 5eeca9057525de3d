"""The first screen and the player's own looks, known before the libraries that read a command line are loaded."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from client.connection.address import BadAddress, parse_address
from client.connection.errors import Failure
from client.storage.files import DocumentFile, Versioned
from client.storage.identity import IdentityError, IdentityStore, home_folder
from client.storage.saved_records import is_new
from client.tui.drawing.theme import BUILT_IN, CLASSIC, PALETTES, Palette, built_in
from client.tui.start import Start, StartMenu, StartRace, UiSettings
from protocol.text import clean_chat
from protocol.views import RaceOptions

LONGEST_THEME = 65_536
USED: Final = "theme"
"""The file in the player's folder with their usual theme: the name of a built-in one, or a whole theme."""


class BadTheme(Failure):
    """The file has no theme in it or cannot be read. str() says why, in one sentence."""


class Usual(Versioned, frozen=True, kw_only=True):
    """What the player chose last, for the next time, as in UiSettings. palette: empty for the usual theme. ascii: None until chosen."""

    palette: str = ""
    ascii: bool | None = None
    bell: bool = True
    tones: bool = False
    motion: bool = True
    bot: str = ""
    rules: str = "carpet"


def usual_file() -> DocumentFile[Usual]:
    """The file with what the player chose last. Its methods raise BadTheme."""
    path = home_folder() / "usual.json"
    return DocumentFile(path, Usual(), failure=BadTheme, what="what you chose last", anew="afresh", held="your choice is not kept")


def first_of(arguments: Sequence[str]) -> tuple[Start, UiSettings] | None:
    """What `carpet` and `carpet play` start with; None if a problem is in the way, which the command will report."""
    try:
        settings = settings_with()
    except BadTheme:
        return None
    return (StartRace(RaceOptions(bots=("greedy",))) if arguments else menu_start()), settings


def menu_start() -> StartMenu:
    """The menu, which offers the last server that the player visited."""
    known: list[str] = []
    offered = ""
    # Somebody may have edited the file.
    with contextlib.suppress(IdentityError, BadAddress):
        known = list(IdentityStore(home_folder()).read().servers)
        # The last one is the one visited last.
        offered = parse_address(known[-1]).typed if known else ""
    return StartMenu(offered, is_new=not known and is_new(home_folder()))


def settings_with(palette: Palette | None = None, *, complain: Callable[[str], None] = lambda _: None) -> UiSettings:
    """What the player chose last, with this theme if one is named. complain: is told, in a sentence, if that cannot be read, so that all is
    as it is at first. Raises BadTheme."""
    try:
        usual = usual_file().read()
    except BadTheme as error:
        usual = Usual()
        complain(str(error))
    used = palette or palette_used()
    term = os.environ.get("TERM", "")
    # Most of its fonts have a sign for diamonds, and none for the other suits.
    on_console = term.startswith("linux")
    has_none = term.endswith("-mono") or term in ("vt100", "vt102", "vt220")
    by_key = palette is None and any(usual.palette == each.name for each in PALETTES)
    return UiSettings(
        palette=usual.palette if by_key else used.name,
        own_palette=None if built_in(used.name) else used,
        ascii=(on_console if usual.ascii is None else usual.ascii) or not prints("♠│█"),
        bell=usual.bell,
        tones=usual.tones,
        motion=usual.motion,
        bot=usual.bot,
        rules=usual.rules,
        colours=1 if os.environ.get("NO_COLOR") or has_none else None,
    )


def prints(characters: str) -> bool:
    """Whether standard output can encode all of these characters."""
    try:
        characters.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def palette_used() -> Palette:
    """The player's usual theme. Raises BadTheme."""
    path = home_folder() / USED
    return palette_in(path) if path.exists() else CLASSIC


def palette_in(path: Path) -> Palette:
    """The theme in a file. Raises BadTheme."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(LONGEST_THEME)
        # Most files hold only a name.
        return built_in(text) or _palette_of(text, path.stem)
    except OSError as error:
        known = f" Built in are {', '.join(palette.name for palette in BUILT_IN)}." if isinstance(error, FileNotFoundError) else ""
        raise BadTheme(f"{path} cannot be read: {error.strerror}.{known}") from error
    except ValueError as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else clean_chat(str(error)).rstrip(".")
        raise BadTheme(f"{path} is not a theme: {why}.") from error


def _palette_of(text: str, file_name: str) -> Palette:
    from client.tui.drawing.theme_file import palette_of

    return palette_of(text, file_name)
