"""Cards as lines of roles: faces, backs, gaps and foundations, in every size that the table uses.

Owns how a card looks; must not know whose it is or what playing it means. Rank and suit stand in two opposite corners wherever there
is more than one row; a playable card is told by its sign and its weight as well as by its colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from client.game.board import top_home
from client.text.width import fit
from client.tui.drawing.card_picture import PIPS, with_picture
from client.tui.drawing.court import WIDTH, portrait
from client.tui.drawing.picture import LARGE_ROWS, Large, Line, Picture, Rect, block, framed, stacked
from client.tui.drawing.theme import Theme
from protocol.cards import CARD_TEXT, FACE_DOWN

Ink: TypeAlias = Literal["card", "side", "dim", "dimside", "lit", "held"]
"""What a card is drawn on, see `theme.grounds`: lit ones can be played, the held one waits to be put somewhere."""


class CardSize(NamedTuple):
    """A card's columns and rows, and the free rows between two cards."""

    width: int
    height: int
    gap: int


HUGE: Final = CardSize(15, 10, 1)
LARGE: Final = CardSize(11, 7, 1)
MEDIUM: Final = CardSize(9, 5, 1)
SMALL: Final = CardSize(7, 3, 1)
NARROW: Final = CardSize(5, 3, 1)
TINY: Final = CardSize(5, 1, 1)
DENSE: Final = CardSize(4, 1, 0)
SIZES: Final = (HUGE, LARGE, MEDIUM, SMALL, TINY, DENSE)
PILE_SIZES: Final = (LARGE, MEDIUM, SMALL, NARROW, TINY, DENSE)
"""For many columns side by side."""

DRAWN: Final = frozenset((*CARD_TEXT, FACE_DOWN))
"""What is drawn as a card; anything else that a server may say is not printed."""

EDGES: Final = 2
"""Columns beside a card: one each side, where the cursor is drawn."""


def card_name(card: str, theme: Theme) -> str:
    """A card in two or three columns: `10♦`."""
    if card == FACE_DOWN:
        return theme.glyphs.back * 2
    if card not in DRAWN:
        return "??"
    return ("10" if card[0] == "T" else card[0]) + theme.glyphs.suits.get(card[1:], "?")


def face(card: str, size: CardSize, theme: Theme, look: Ink = "card", *, mark: str = " ", beneath: Sequence[str] = ()) -> list[Line]:
    """A card face up. mark: what can be done with it. beneath: the cards under it, the next one first, told where there is room."""
    role = f"{look} {card[1:]}"
    name = card_name(card, theme)
    if theme.bordered and size.height >= 3:
        narrow = size.width < 7
        rows = _inside(card, CardSize(size.width - 2, size.height - 2, 0), theme, " " if narrow else mark)
        lines = _bordered(rows, size, theme, role)
        if narrow and mark != " ":
            lines[0] = [(role, _stamped(lines[0][0][1], mark))]
        if beneath:
            lines[-1] = [(role, _stamped(lines[-1][0][1], f"+{len(beneath)}"))]
        return lines
    if size.height == 1:
        text = fit(name, size.width - 1) + mark if theme.bordered else fit(f" {name}" if size.width > 4 else name, size.width - 1) + mark
        return [[(role, text)]]
    lines = [_marked(text, mark, role) for text in _inside(card, size, theme, mark)]
    if theme.pictures and card != FACE_DOWN and size.width >= 6 and size.height >= SMALL.height:
        lines[1:-1] = [[(role, " " * size.width)] for _ in lines[1:-1]]
        if beneath:
            lines[size.height // 2] = _beneath(beneath, size.width, look, role, theme)
        return with_picture(lines, card, look)
    if theme.paints and card[0] in "JQK" and size.width >= LARGE.width and size.height >= LARGE.height:
        lines = _painted(card, size, role, look, lines)
    if beneath and size.height == 2:
        lines[1] = [(role, f"+{len(beneath)}".rjust(size.width))]
    if beneath and size.height >= LARGE.height:
        # Beside the lower corner: the middle is full of pips and portraits.
        corner = f" {name} "
        lines[-1] = [*_beneath(beneath, size.width - len(corner), look, role, theme), (role, corner)]
    elif beneath and size.height >= 3:
        lines[size.height // 2] = _beneath(beneath, size.width, look, role, theme)
    return lines


def _painted(card: str, size: CardSize, role: str, look: Ink, lines: list[Line]) -> list[Line]:
    """The lines of a court card with its portrait in the middle, in the frame where that leaves room for it."""
    rows = min(size.height - 2, 6)
    first, side = (size.height - rows) // 2, (size.width - WIDTH) // 2
    painted = portrait(card[0], card[1:], look, rows)
    for at, drawn in enumerate(painted, first):
        text = "".join(piece for _, piece in lines[at])
        left, right = (text[:side], text[-side:]) if size.height > LARGE.height else (" " * side, " " * side)
        lines[at] = [(role, left), *drawn, (role, right)]
    return lines


def _stamped(text: str, sign: str) -> str:
    """A sign near the right end of a border."""
    return text[: -1 - len(sign)] + sign + text[-1:]


def depth_text(beneath: Sequence[str], width: int, theme: Theme) -> list[tuple[str, str]]:
    """How many cards lie under a top card, and the next of them, as many as `width` has room for: (suit or nothing, text) pieces."""
    pieces = [("", f"+{len(beneath)}")]
    left = width - len(pieces[0][1])
    for card in beneath:
        name = card_name(card, theme)
        if left < len(name) + 1:
            break
        left -= len(name) + 1
        pieces.append((card[1:], f" {name}"))
    return pieces


def _beneath(beneath: Sequence[str], width: int, look: Ink, role: str, theme: Theme) -> Line:
    line: Line = [(role, " ")]
    line += [(f"{look} {suit}" if suit else role, text) for suit, text in depth_text(beneath, width - 1, theme)]
    return [*line, (role, " " * (width - sum(len(text) for _, text in line)))]


def _marked(text: str, mark: str, role: str) -> Line:
    if mark == " " or not role.startswith("lit ") or not text.rstrip().endswith(mark):
        return [(role, text)]
    at = text.rindex(mark)
    return [(role, text[:at]), ("mark", mark), (role, text[at + 1 :])]


def _inside(card: str, size: CardSize, theme: Theme, mark: str) -> list[str]:
    """The rows of a face: corners, and what room there is for in the middle."""
    width, height = size.width, size.height
    if card == FACE_DOWN:
        return [theme.glyphs.back * width] * height
    name = card_name(card, theme)
    if height == 1:
        return [fit(name, width - 1) + mark if mark != " " else fit(name, width)]
    if width < 6:
        first, last = fit(name, width - 1) + mark, name.rjust(width)
    else:
        first, last = fit(f" {name}", width - 2) + mark + " ", f"{name} ".rjust(width)
    centre = _centre(card, width, height - 2, theme)
    return [first, *centre, last]


def _centre(card: str, width: int, height: int, theme: Theme) -> list[str]:
    suit = theme.glyphs.suits.get(card[1:], "?")
    rank = card[:1]
    if width >= 11 and height >= 5:
        grid = _court(rank, suit, theme, width - 4, height) if rank in "JQK" else _pips(rank, suit, height, (width - 7) // 4)
        return [text.center(width) for text in grid]
    rows = [" " * width for _ in range(height)]
    if height >= 3:
        rows[height // 2] = (suit if rank not in "JQK" else f"{suit} {rank} {suit}").center(width)
    return rows


def _pips(rank: str, suit: str, height: int, apart: int) -> list[str]:
    """apart: columns between two pips side by side."""
    grid = [[" "] * (2 * apart + 3) for _ in range(height)]
    for column, row in PIPS.get(rank, ()):
        grid[(row * (height - 1) + 2) // 4][(apart + 1) * column] = suit
    return ["".join(cells) for cells in grid]


def _court(rank: str, suit: str, theme: Theme, width: int, height: int) -> list[str]:
    box, inner = theme.glyphs.frame, width - 2
    rows = [" " * inner for _ in range(height - 2)]
    rows[0], rows[-1] = fit(f"{suit}", inner), suit.rjust(inner)
    rows[(height - 2) // 2] = rank.center(inner)
    return [
        box.left_top + box.across * inner + box.right_top,
        *(box.down + text + box.down for text in rows),
        box.left_bottom + box.across * inner + box.right_bottom,
    ]


def _bordered(rows: list[str], size: CardSize, theme: Theme, role: str, *, dotted: bool = False) -> list[Line]:
    box = theme.glyphs.dotted if dotted else theme.glyphs.frame
    inner = size.width - 2
    return [
        [(role, box.left_top + box.across * inner + box.right_top)],
        *[[(role, box.down + fit(text, inner) + box.down)] for text in rows[: size.height - 2]],
        [(role, box.left_bottom + box.across * inner + box.right_bottom)],
    ]


def gap(label: str, size: CardSize, theme: Theme, *, waits: bool = False, open_for: str = "") -> list[Line]:
    """An empty slot. waits: it must be filled now, and says so; open_for: what may be put there, as a sign."""
    role = "wait" if waits else "open" if open_for else "gap"
    inner = size.width - 2
    words = f"{label}?" if waits else f"{open_for}{label}"
    if size.height < 3:
        blank: Line = [(role, " " * size.width)]
        return [[(role, fit(words.center(size.width), size.width))], *[blank] * (size.height - 1)]
    rows = [" " * inner for _ in range(size.height - 2)]
    rows[len(rows) // 2] = words.center(inner)
    if waits and size.height >= 5:
        rows[len(rows) // 2 + 1] = "w or s".center(inner)
    return _bordered(rows, size, theme, role, dotted=not waits)


def back(count: int, size: CardSize, theme: Theme) -> list[Line]:
    """A pile face down with its number of cards; an empty one is a gap."""
    return labelled_back(str(count), size, theme) if count > 0 else gap(theme.glyphs.dash, size, theme)


def labelled_back(label: str, size: CardSize, theme: Theme) -> list[Line]:
    """A back with a few words in its middle."""
    bordered = theme.bordered and size.height >= 3
    width, height = (size.width - 2, size.height - 2) if bordered else (size.width, size.height)
    rows = [theme.glyphs.back * width for _ in range(height)]
    words = f" {label} "
    side = (width - len(words)) // 2
    pattern = rows[height // 2]
    rows[height // 2] = pattern[:side] + words + pattern[side + len(words) :]
    if bordered:
        return _bordered(rows, size, theme, "back")
    lines: list[Line] = [[("back", text)] for text in rows]
    lines[height // 2] = [("back", pattern[:side]), ("back strong", words), ("back", pattern[side + len(words) :])]
    return lines


def foundation(name: str, count: int, size: CardSize, theme: Theme, *, takes: bool) -> list[Line]:
    """A foundation: its top card, or the suit that it waits for. takes: the held card may go there."""
    if count <= 0:
        return gap(theme.glyphs.suits.get(name[:1], name[:1]), size, theme, open_for=theme.glyphs.takes if takes else "")
    return face(top_home(name, count), size, theme, "lit" if takes else "card", mark=theme.glyphs.takes if takes else " ")


def letter(text: str, look: Ink, suit: str, theme: Theme, *, width: int = 8) -> Picture:
    """A card with a large letter, or a few, in the place of its pips."""
    role, edge = f"{look} {suit}", f"edge {look}"
    if theme.is_ascii:
        blank: list[Line] = [] if theme.bordered else [[(role, " " * width)]]
        rows = block([*blank, [(role, text.center(width))], *blank])
    else:
        rows = replace(block([[(role, " " * width)]] * LARGE_ROWS), large=(Large(Rect(1, 0, width - 1, LARGE_ROWS), role, text),))
    if theme.bordered:
        return framed(rows, theme, width, role=role)
    return rows if theme.is_ascii else stacked(block([[(edge, theme.glyphs.lower * width)]]), rows)


def big_text(text: str, theme: Theme, role: str, width: int) -> Picture:
    """Text in large letters, or spaced out where the alphabet has no blocks."""
    if theme.is_ascii:
        return block([[], [(role, " ".join(text))], []], width, centred=True)
    return Picture(([],) * LARGE_ROWS, large=(Large(Rect(0, 0, width, LARGE_ROWS), role, text),))


def cursor_edge(size: CardSize, theme: Theme, label: str, *, top: bool) -> str:
    """The upper or lower side of the cursor's frame, with a label in its middle."""
    left, across, right = theme.glyphs.cursor_top if top else theme.glyphs.cursor_bottom
    middle = label.center(size.width).replace(" ", across)
    return left + middle + right


def edged(lines: list[Line], theme: Theme, *, cursor: bool) -> list[Line]:
    """The lines with their edge columns, in which the cursor is drawn."""
    left, right = theme.glyphs.cursor if cursor else (" ", " ")
    role = "cursor" if cursor else "felt"
    return [[(role, left), *line, (role, right)] for line in lines]
