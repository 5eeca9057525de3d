"""Room codes: six letters that can be read out over a telephone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

ALPHABET = "ABCDEFGHJKMNPRSTUWXY"
"""Twenty letters: no I, L, O, Q, V, Z, which look like one another, like U, or like digits."""

LENGTH = 6

SHOWN_LENGTH = 8
"""Letters that stand for a private room in places that everybody may read: too many to be mistaken for a code."""

_FAIR: Final = 256 - 256 % len(ALPHABET)


def new_code(entropy: Callable[[int], bytes], length: int = LENGTH) -> str:
    """A random code of `length` letters. `entropy(n)` gives n random bytes; those that would make some letters likelier are skipped."""
    letters = ""
    while len(letters) < length:
        letters += "".join([ALPHABET[byte % len(ALPHABET)] for byte in entropy(length - len(letters)) if byte < _FAIR])
    return letters


def is_code(text: str) -> bool:
    """Whether it has the form of a code."""
    return len(text) == LENGTH and set(text) <= set(ALPHABET)
