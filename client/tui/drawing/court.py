"""Portraits of Jacks, Queens and Kings for true-colour terminals: as pixels, and as lines of half blocks. Pure."""

from __future__ import annotations

from typing import Final

WIDTH: Final = 9
"""In pixels, which are also columns."""
# The upper half of each portrait: a row of text is a row of pixels. R is the suit's ink, a dot the card's ground. If there is too little
# room, rows at the end are left out.
ART: Final = {
    "K": (
        "..G.G.G..",
        "..GGGGG..",
        "..HSSSH..",
        "..HESEH..",
        "..HSSSH..",
        "..HHHHH..",
        ".RRHHHRR.",
        "RRGRHRGRR",
        "RRGRRRGRR",
        "RRGRWRGRR",
        "RRGRRRGRR",
        "RRGRWRGRR",
    ),
    "Q": (
        "...G.G...",
        "..GGGGG..",
        ".BBSSSBB.",
        ".BSESESB.",
        ".BSSSSSB.",
        ".BBSMSBB.",
        ".BBSSSBB.",
        ".BRGSGRB.",
        "RRRRGRRRR",
        "RRWRRRWRR",
        "RRRWRWRRR",
        "RRRRWRRRR",
    ),
    "J": (
        "...RRRRG.",
        "..RRRRGG.",
        "..GGGGG..",
        "..CSSSC..",
        "..CESEC..",
        "..CSSSC..",
        "...SMS...",
        ".RRWWWRR.",
        "RRRRWRRRR",
        "RGRRWRRGR",
        "RGRRWRRGR",
        "RGRRWRRGR",
    ),
}
INKS: Final = {
    "G": "#d9a441",
    "S": "#f0c9a0",
    "H": "#6b5a4a",
    "B": "#8a4b20",
    "C": "#c98f3d",
    "E": "#2b2320",
    "M": "#b3322c",
    "W": "#fffaf0",
}


def portrait(rank: str, suit: str, look: str, rows: int) -> list[list[tuple[str, str]]]:
    """The upper part of a court card's portrait in `rows` rows, at most six."""
    art = ART[rank]
    pixels = (zip(art[at], art[at + 1], strict=True) for at in range(0, 2 * rows, 2))
    return [[(role_of(top, bottom, suit, look), "▀") for top, bottom in row] for row in pixels]


def role_of(top: str, bottom: str, suit: str, look: str) -> str:
    """The role of a half block: its two colours, plus the suit and the look if the colours depend on them."""
    return f"court {top}{bottom}{suit if 'R' in top + bottom else ''}{f' {look}' if '.' in top + bottom else ''}"


def pairs() -> frozenset[tuple[str, str]]:
    """The pairs of colours that meet in a half block."""
    return frozenset(pair for art in ART.values() for at in range(0, len(art), 2) for pair in zip(art[at], art[at + 1], strict=True))
