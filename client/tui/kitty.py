"""The kitty graphics protocol as text: what is asked, what is answered, pictures, and the cells in which they are seen. Pure.

Pictures are placed by signs (U+10EEEE) that stand in cells like any other, and say by two marks above them which row and column of the
picture is seen there, and by their ink which picture. So whatever is drawn over them covers them, as urwid draws it, and nothing has to be
taken away. kitty 0.28 and ghostty know these; others that know the protocol, but not the signs, are not asked for pictures.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterable
from typing import Final

from client.tui.card_picture import SIGNS, Pixels

ASK: Final = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[>q\x1b[c"
"""May a picture be sent? Who are you? And what every terminal answers, so that it is known when nothing more comes."""
_ANSWERS: Final = re.compile(
    rb"\x1b_G(?P<graphics>[^\x1b]{0,256})\x1b\\|\x1bP>\|(?P<name>[^\x1b]{0,256})\x1b\\|(?P<end>\x1b\[\?[\d;]{0,64}c)"
)
_BEGUN: Final = re.compile(rb"\x1b(?:_|P>?|(?:_G|P>\|)[^\x1b]{0,256}\x1b?)$")
_KNOWS_SIGNS: Final = re.compile(r"kitty\((\d+)\.(\d+)|ghostty")
MOST_NUMBER: Final = 0xFFFFFF
"""Of a picture: as many as there are inks."""
_PIECE: Final = 4096
"""Bytes of a picture in one sequence, as the protocol has it."""
# Of the marks that the protocol numbers, as many as the largest card has rows and columns.
_MARKS: Final = "\u0305\u030d\u030e\u0310\u0312\u033d\u033e\u033f\u0346\u034a\u034b\u034c\u0350\u0351\u0352\u0357"
CELLS: Final = {sign: "\U0010eeee" + _MARKS[row] + _MARKS[column] for sign, (row, column) in SIGNS.items()}
"""What a terminal is told for each cell of a picture."""


class Answers:
    """What a terminal answers, taken out of what is typed. knows: whether it shows pictures, None until that is known."""

    def __init__(self) -> None:
        self.knows: bool | None = None
        self._takes = False
        self._name = ""
        self._held = b""

    def typed(self, heard: bytes) -> bytes:
        """What of it was typed. An answer of which the end is yet to come is held back."""
        heard, self._held = self._held + heard, b""
        rest = _ANSWERS.sub(self._answer, heard)
        if self.knows is None and (begun := _BEGUN.search(rest)):
            self._held = begun[0]
            rest = rest[: begun.start()]
        return rest

    def _answer(self, found: re.Match[bytes]) -> bytes:
        if found["graphics"] is not None:
            self._takes = self._takes or found["graphics"].endswith(b";OK")
        elif found["name"] is not None:
            self._name = found["name"].decode("ascii", "replace")
        elif self.knows is None:
            known = _KNOWS_SIGNS.match(self._name)
            self.knows = self._takes and known is not None and (known[1] is None or (int(known[1]), int(known[2])) >= (0, 28))
        else:
            return found[0]
        return b""


def sent(number: int, picture: Pixels) -> str:
    """A picture, which the terminal keeps under a number. Nothing is seen of it but where its signs stand, and nothing is answered."""
    data = base64.standard_b64encode(zlib.compress(picture.data)).decode()
    pieces = [data[at : at + _PIECE] for at in range(0, len(data), _PIECE)]
    keys = f"a=t,q=2,i={number},f=32,o=z,s={picture.width},v={picture.height},"
    parts = []
    for at, piece in enumerate(pieces):
        parts.append(f"\x1b_G{keys if not at else 'q=2,'}m={int(at + 1 < len(pieces))};{piece}\x1b\\")
    return "".join([*parts, f"\x1b_Ga=p,U=1,q=2,i={number},c={picture.columns},r={picture.rows}\x1b\\"])


def forgotten(numbers: Iterable[int]) -> str:
    """Pictures that the terminal need keep no longer."""
    return "".join(f"\x1b_Ga=d,d=I,q=2,i={number}\x1b\\" for number in numbers)


def ink(number: int) -> str:
    """The ink by which a sign says which picture it is of."""
    return f"#{number:06x}"
