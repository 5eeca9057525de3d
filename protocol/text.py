"""Cleans what people type: names and chat, which end up on other people's terminals. Also reads the codes that people read out to each
other.

Every text from a peer passes through here before anything keeps or draws it: on the server at the edge, and again in the client, which has
no reason to trust a server. The result is NFC, printable, a single line, and bounded in length.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

NAME_LENGTH = 24
CHAT_LENGTH = 200
REFUSAL_LENGTH = 1000
"""For a server's sentence on why it refuses something. One that lists every rule set has 230 characters."""

# ECMA-48: CSI and OSC sequences, and the other two-byte escapes. They are removed whole: dropping only ESC would leave "[31m" behind.
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)

# Letters, marks and symbols by category, but invisible: fillers, blanks, joiners, selectors. A name made only of them would look empty,
# and two names that differ only in them would look the same.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u2d7f\u3164\ufe00-\ufe0f\uffa0"
    "\U0001107f\U00011a47\U00011a99\U00016fe4\U0001bc9d\U0001d159\U000e0100-\U000e01ef]"
)

# Hangul vowels and finals take no terminal cell of their own: with one too many, a name would look like another.
_LEAD, _PART = "[\u1100-\u115e\ua960-\ua97c]", "[\u1161-\u11ff\ud7b0-\ud7fb]"
_STRAY_PART = re.compile(f"(?<!{_LEAD})(?<!{_LEAD}{_PART}){_PART}")

# More than this many combining marks on one letter paint over the lines above and below.
_MARKS = 2


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `13th`."""
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 race`, `2 races`. plural: needed if it is not formed with an s."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def listed(words: Sequence[str]) -> str:
    """`A`, `A and B`, `A, B and C`; empty for none."""
    return " and ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words)


def read_code(text: str) -> str:
    """A race's code, or an id, as somebody typed it, in canonical form: upper case, without the spaces and hyphens that people put in."""
    return "".join(text.replace("-", " ").split()).upper()


def is_room_code(text: str) -> bool:
    """Whether it may be the code of a room, or an id of that form: six letters. Which ones there are the server knows."""
    return len(text) == 6 and text.isascii() and text.isalpha()


def clean_name(text: str) -> str:
    """Return `text` as a name of at most `NAME_LENGTH` characters; empty when nothing printable is left."""
    return _clean(text, NAME_LENGTH)


def clean_chat(text: str) -> str:
    """Return `text` as one line of chat of at most `CHAT_LENGTH` characters; empty when nothing printable is left."""
    return _clean(text, CHAT_LENGTH)


def clean_refusal(text: str) -> str:
    """Return a server's sentence about a refusal as one line of at most `REFUSAL_LENGTH` characters, for places with room for it."""
    return _clean(text, REFUSAL_LENGTH)


def _clean(text: str, length: int) -> str:
    # Anything far beyond the limit is cut first, so that an attacker cannot cause work with sheer length.
    text = text[: 8 * length]
    if text.isascii() and text.isprintable():
        # The same result as below, in a tenth of the time, for nearly all names.
        return " ".join(text.split())[:length].rstrip()
    text = _INVISIBLE.sub("", _ESCAPE.sub("", text))
    text = _STRAY_PART.sub("", unicodedata.normalize("NFC", text))
    kept: list[str] = []
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        if category.startswith("M"):
            # A mark needs a letter to sit on, and a letter takes only so many.
            marks += 1
            if not kept or kept[-1] == " " or marks > _MARKS or category == "Me":
                continue
        elif category.startswith("Z") or character in "\t\n\r":
            character = " "
        elif category[0] == "C":  # controls, bidirectional overrides, private use, surrogates, unassigned
            continue
        if not category.startswith("M"):
            marks = 0
        kept.append(character)
    line = " ".join("".join(kept).split())
    return unicodedata.normalize("NFC", line[:length]).rstrip()
