"""The text of a move, which is its canonical form: `source[:target]`, with `+` or `-` if a suit has two foundations.

Owns the grammar that all rule sets share. Must not know positions: a valid move text need not be legal, or even name a
slot that the rule set has.

    b3  b3+  b3-     the top card at b3 to its foundation (+ built up from the Ace, - built down from the King)
    w   w+   w-      the top card of the waste to its foundation
    w:b3  s:b3       the waste's top card, the next stock card, to slot or pile b3
    b3:w  b3:c2      the top card at b3 onto the waste, onto pile c2
    s                turn the next stock card, or deal a row
    r                redeal

Slots are a column letter a to j and a row number 1 to 8; the reserves are p1 to p8.
"""

import re
from dataclasses import dataclass
from typing import Final

WASTE: Final = "w"
STOCK: Final = "s"
REDEAL: Final = "r"

_SLOT: Final = "[a-jp][1-8]"
_MOVE: Final = re.compile(
    rf"(?P<redeal>r)"
    rf"|(?P<stock>s)(?::(?P<stock_target>{_SLOT}))?"
    rf"|(?P<waste>w)(?:(?P<waste_sign>[+-])|:(?P<waste_target>{_SLOT}))?"
    rf"|(?P<slot>{_SLOT})(?:(?P<slot_sign>[+-])|:(?P<slot_target>w|{_SLOT}))?"
)


class NotAMove(ValueError):
    """The text is not a move in any position of any rule set."""


@dataclass(frozen=True, slots=True)
class Move:
    """A parsed move. source: a slot, `w`, `s` or `r`. target: a slot, `w` or None. sign: `+`, `-` or None.

    A target of None means a foundation, except for the bare `s` and `r`.
    """

    source: str
    target: str | None = None
    sign: str | None = None

    @property
    def text(self) -> str:
        if self.target is not None:
            return f"{self.source}:{self.target}"
        return self.source + (self.sign or "")

    @property
    def to_foundation(self) -> bool:
        return self.target is None and self.source not in (STOCK, REDEAL)


def parse_move(text: str) -> Move:
    """Parse a move; raises NotAMove if the text is none. `parse_move(text).text == text`."""
    match = _MOVE.fullmatch(text)
    if match is None:
        raise NotAMove(f"not a move: {text!r} (moves look like b3, w, w:b3, b3:c2, s or r)")
    part = match.groupdict()
    return Move(
        source=part["redeal"] or part["stock"] or part["waste"] or part["slot"],
        target=part["stock_target"] or part["waste_target"] or part["slot_target"],
        sign=part["waste_sign"] or part["slot_sign"],
    )
