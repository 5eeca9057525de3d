"""How many columns of a terminal a text takes, and texts cut and filled to a width. Pure."""

from __future__ import annotations

import importlib
from functools import cache, lru_cache
from typing import Any, Final

NARROW: Final = frozenset(
    [*map(chr, (*range(0x20, 0x7F), *range(0x2500, 0x25A0))), *"▲▼↕▸◂●○◆✓✗♠♥♦♣·…←↑→↓½¼¾", "\N{MULTIPLICATION SIGN}", "\N{EN DASH}"]
)
"""Signs of one column, and that join with none: nearly all that is drawn."""


@lru_cache(maxsize=4096)
def text_width(text: str) -> int:
    """How many columns a text takes."""
    return len(text) if NARROW.issuperset(text) else wcwidth().width(text, control_codes="ignore")


@cache
def wcwidth() -> Any:
    """The library that knows of all signs, when there is one that is not among ours: the first screen is drawn without it."""
    return importlib.import_module("wcwidth")


@lru_cache(maxsize=4096)
def clip(text: str, width: int) -> str:
    """`text` in at most `width` columns; wide characters count two, and one that would stick out is left out."""
    if width <= 0:
        return ""
    if text_width(text) <= width:
        return text
    if NARROW.issuperset(text):
        return text[:width]
    kept, left = "", width
    for cluster in wcwidth().iter_graphemes(text):
        left -= text_width(cluster)
        if left < 0:
            break
        kept += cluster
    return kept


def fit(text: str, width: int) -> str:
    """`text` in exactly `width` columns, clipped or filled with spaces."""
    text = clip(text, width)
    return text + " " * (width - text_width(text))
