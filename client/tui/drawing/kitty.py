"""The kitty graphics protocol as text: the query, its answers, pictures, and the cells that show them. Pure.

Pictures are placed by Unicode placeholders (U+10EEEE), which stand in cells like any other character. Two combining marks on a placeholder
say which row and column of the picture its cell shows, and its ink says which picture. So urwid can draw over pictures as over text, and
nothing ever has to be removed. kitty 0.28 and ghostty know placeholders; a terminal that knows only the rest of the protocol is sent no
pictures.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterable
from typing import Final

from client.tui.drawing.card_picture import SIGNS, Pixels

ASK: Final = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[>q\x1b[c"
"""Three questions: do you take pictures, who are you, and one that every terminal answers, so that we know when no more answers come."""
_ANSWERS: Final = re.compile(
    rb"\x1b_G(?P<graphics>[^\x1b]{0,256})\x1b\\|\x1bP>\|(?P<name>[^\x1b]{0,256})\x1b\\|(?P<end>\x1b\[\?[\d;]{0,64}c)"
)
_BEGUN: Final = re.compile(rb"\x1b(?:_|P>?|(?:_G|P>\|)[^\x1b]{0,256}\x1b?)$")
_KNOWS_SIGNS: Final = re.compile(r"kitty\((\d+)\.(\d+)|ghostty")
MOST_NUMBER: Final = 0xFFFFFF
"""The highest number of a picture: one for each ink."""
_PIECE: Final = 4096
"""The most bytes of a picture that the protocol allows in one sequence."""
# The first of the protocol's numbered marks: enough for the rows and columns of the largest card.
_MARKS: Final = "\u0305\u030d\u030e\u0310\u0312\u033d\u033e\u033f\u0346\u034a\u034b\u034c\u0350\u0351\u0352\u0357"
CELLS: Final = {sign: "\U0010eeee" + _MARKS[row] + _MARKS[column] for sign, (row, column) in SIGNS.items()}
"""What a terminal is sent for each cell of a picture."""


class Answers:
    """Picks a terminal's answers out of its input. knows: whether it shows pictures, None until that is known."""

    def __init__(self) -> None:
        self.knows: bool | None = None
        self._takes = False
        self._name = ""
        self._held = b""

    def typed(self, heard: bytes) -> bytes:
        """The part of the input that was typed. The beginning of an incomplete answer is held back."""
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
    """Gives the terminal a picture to keep under a number. It shows only where placeholders stand, and the terminal sends no answer."""
    data = base64.standard_b64encode(zlib.compress(picture.data)).decode()
    pieces = [data[at : at + _PIECE] for at in range(0, len(data), _PIECE)]
    keys = f"a=t,q=2,i={number},f=32,o=z,s={picture.width},v={picture.height},"
    parts = []
    for at, piece in enumerate(pieces):
        parts.append(f"\x1b_G{keys if not at else 'q=2,'}m={int(at + 1 < len(pieces))};{piece}\x1b\\")
    return "".join([*parts, f"\x1b_Ga=p,U=1,q=2,i={number},c={picture.columns},r={picture.rows}\x1b\\"])


def forgotten(numbers: Iterable[int]) -> str:
    """Tells the terminal to drop these pictures."""
    return "".join(f"\x1b_Ga=d,d=I,q=2,i={number}\x1b\\" for number in numbers)


def ink(number: int) -> str:
    """The ink that makes a placeholder show this picture."""
    return f"#{number:06x}"
