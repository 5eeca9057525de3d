"""A theme as a file: TOML that names colours, for people to write. Colours that it does not name come from its base. Pure."""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final

from msgspec.structs import replace

from client.tui.drawing.theme import BUILT_IN, Colour, Palette, built_in
from protocol.text import clean_name

COLOURS: Final = {
    "felt": "the table",
    "felt_dark": "the rows at top and bottom, panels and boxes",
    "text": "words",
    "faint": "words that matter less",
    "ivory": "a card",
    "linen": "a card of a quilt that lies sideways",
    "ivory_shade": "the same where it is not free",
    "linen_shade": "the same where it is not free",
    "lit": "a card that can be played",
    "back": "the back of a card",
    "back_ink": "the pattern on it",
    "suits": "spades, hearts, diamonds, clubs",
    "cursor": "the cursor's frame",
    "wait": "headings, keys, and a gap that has to be filled",
    "own": "your bar",
    "other": "the bars of the others",
    "good": "what went well",
    "bad": "what did not",
    "lines": "the curves of eight seats",
}
"""What each colour of a palette is for, in the order of a file."""
SEVERAL: Final = {"suits": 4, "lines": 8}
_EXACT: Final = re.compile("#[0-9a-fA-F]{6}")


class NotATheme(ValueError):
    """The text is not a theme; str() says why, in one sentence."""


def palette_of(text: str, file_name: str = "") -> Palette:
    """The palette that a file describes. file_name: of a palette without a name, without its ending."""
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotATheme(f"it is not TOML: {error}") from error
    except RecursionError as error:
        raise NotATheme("it is nested too deeply") from error
    names = [palette.name for palette in BUILT_IN]
    base = built_in(given.get("base", "classic"))
    if base is None:
        raise NotATheme(f"base is one of {', '.join(names)}")
    name = given.get("name", file_name)
    if not isinstance(name, str) or not name or clean_name(name) != name or name in [*names, "none"]:
        raise NotATheme("it needs a name of its own, of at most 24 characters")
    changes = {key: _read(key, value, base) for key, value in given.items() if key not in ("name", "base")}
    return replace(base, name=name, title=name, **changes)


def _read(key: str, value: Any, base: Palette) -> Any:
    if key not in COLOURS:
        raise NotATheme(f"there is no colour {clean_name(key) or 'of that name'}")
    if key not in SEVERAL:
        return _colour(key, value, getattr(base, key))
    if not isinstance(value, list) or len(value) != SEVERAL[key]:
        raise NotATheme(f"{key} must be a list of {SEVERAL[key]} colours")
    return tuple(_colour(key, each, was) for each, was in zip(value, getattr(base, key), strict=True))


def _colour(key: str, value: Any, was: Colour) -> Colour:
    """The exact colour, with fallbacks for other terminals: the nearest of the 256, and of the 16 the one that the base has."""
    if not isinstance(value, str) or not _EXACT.fullmatch(value):
        raise NotATheme(f"{key} must be a colour like {was.exact}")
    exact = value.lower()
    cube = "".join(f"{round(int(exact[at : at + 2], 16) / 17):x}" for at in (1, 3, 5))
    return Colour(was.basic, f"#{cube}", exact)


def text_of(palette: Palette, name: str) -> str:
    """A palette as the text of a theme file, for people to edit."""
    lines = [f'name = "{name}"', 'base = "classic"  # has the colours not set here: classic, four or safe', ""]
    for key, what in COLOURS.items():
        value = getattr(palette, key)
        said = f'"{value.exact}"' if key not in SEVERAL else "[" + ", ".join(f'"{each.exact}"' for each in value) + "]"
        lines.append(f"{key} = {said}  # {what}")
    return "\n".join([*lines, ""])
