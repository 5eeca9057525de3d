"""The panel beside the layout: foundations, stock and waste, reserves, each as a picture."""

from __future__ import annotations

from msgspec.structs import replace

from client.game.board import run_home, top_home
from client.game.moves import moves_from, top_card
from client.text.width import fit
from client.tui.actions import Press
from client.tui.drawing import cards
from client.tui.drawing.cards import EDGES, CardSize
from client.tui.drawing.picture import EMPTY, Line, Picture, Rect, Slot, block, hit, row, stacked
from client.tui.drawing.theme import Theme
from client.tui.scene import Scene
from client.tui.table.marks import Marks
from protocol.text import counted
from protocol.views import View

FOUNDATION = CardSize(6, 3, 0)


# ---- foundations


def foundations(scene: Scene, marks: Marks, width: int, card: CardSize, *, tall: bool) -> Picture:
    """The foundations: four cards, or two rows of them if each suit has one built up and one built down. They are small unless `tall`."""
    view = marks.view
    names = list(view.foundations)
    if len(names) > 4:
        return _twin(scene, marks, tall=tall)
    fitting = (size for size in (cards.LARGE, cards.MEDIUM) if card.height > size.height and width >= 4 * (size.width + 1))
    size = next(fitting, cards.MEDIUM if card.height == cards.MEDIUM.height and width >= 4 * (cards.MEDIUM.width + 1) else FOUNDATION)
    cells = [(size.width + 1, _foundation(scene, marks, name, size)) for name in names]
    label = block([[("faint", f"{counted(view.home, 'card')} home")]])
    return stacked(label, row(*cells))


def _foundation(scene: Scene, marks: Marks, name: str, size: CardSize) -> Picture:
    count = marks.view.foundations[name]
    lines = cards.foundation(name, count, size, scene.theme, takes=name in marks.takes)
    return _spot(block(lines), name, Rect(0, 0, size.width, size.height), top_home(name, count))


def _twin(scene: Scene, marks: Marks, *, tall: bool) -> Picture:
    """A row for those built up and a row for those built down, with the rank that each wants next beside or below its card."""
    theme, view = scene.theme, marks.view
    parts: list[Picture] = [block([[("faint", f"{counted(view.home, 'card')} home{'' if tall else '     top next'}")]])]
    for sign, arrow in (("+", theme.glyphs.playable), ("-", theme.glyphs.down)):
        names = [name for name in view.foundations if name.endswith(sign)]
        widths = [FOUNDATION.width + (name != names[-1]) for name in names]
        draw = _foundation if tall else _small_foundation
        cells = [(width, draw(scene, marks, name, FOUNDATION)) for width, name in zip(widths, names, strict=True)]
        parts.append(row((2, block([*([[]] if tall else []), [("title", arrow)]])), *cells))
        if tall:
            wants = [fit(f"  {_wanted(view, name, theme)}", width) for width, name in zip(widths, names, strict=True)]
            parts.append(block([[("faint", "  "), *[("faint", text) for text in wants]]]))
    return stacked(*parts)


def _wanted(view: View, name: str, theme: Theme) -> str:
    """The rank that a foundation wants next, for people to read."""
    rank = run_home(name)[view.foundations[name] :][:1]
    return "10" if rank == "T" else rank or theme.glyphs.tick


def _small_foundation(scene: Scene, marks: Marks, name: str, size: CardSize) -> Picture:
    """A foundation's top card and the rank it wants, in one row."""
    theme, view, suit = scene.theme, marks.view, name[:1]
    card = top_home(name, view.foundations[name])
    top = cards.card_name(card, theme) if card else theme.glyphs.suits.get(suit, "?")
    takes = name in marks.takes
    sign = theme.glyphs.takes if takes else " "
    line: Line = [(f"{'lit' if takes else 'card'} {suit}", fit(top, size.width - 3) + sign), ("faint", fit(_wanted(view, name, theme), 2))]
    return _spot(block([line]), name, Rect(0, 0, size.width - 2, 1), card)


# ---- stock and waste


def stock_and_waste(scene: Scene, marks: Marks, width: int, card: CardSize) -> Picture | None:
    """The stock's back and the waste's top card, with what is known of both; None if the game has neither."""
    board, view, theme = marks.board, marks.view, scene.theme
    if not board.stock and not board.waste:
        return None
    size = cards.LARGE if card.height > cards.LARGE.height else cards.MEDIUM if card.height >= 5 else cards.SMALL
    cell = size.width + EDGES
    between = 3 if width >= 2 * cell + 5 else 2
    column = cell + between if board.waste else width
    face = Rect(1, 0, size.width, size.height)
    labels: list[tuple[int, Picture]] = []
    piles: list[tuple[int, Picture]] = []
    if board.stock:
        redeals = _redeals(marks)
        press = "r" if redeals else "s"
        lines = cards.gap("r", size, theme, open_for=theme.glyphs.playable) if redeals else cards.back(view.stock, size, theme)
        labels.append((column, hit(block([_stock_label(marks, theme.glyphs.playable)]), Press(press), column)))
        drawn = _spot(block(cards.edged(lines, theme, cursor=marks.cursor == "s")), press, face)
        piles += [(cell, drawn), (between, EMPTY)]
    if board.waste:
        top = top_card(view, "w")
        look, sign = marks.look("w"), marks.sign("w", theme)
        lines = cards.face(top, size, theme, look, mark=sign) if view.waste else cards.gap(theme.glyphs.dash, size, theme)
        labels.append((width - column, hit(block([_waste_label(marks)]), Press("w"), width - column)))
        piles.append((cell, _spot(block(cards.edged(lines, theme, cursor=marks.cursor == "w")), "w", face, top)))
    return stacked(row(*labels), row(*piles), block(_below(scene, marks, width)))


def _redeals(marks: Marks) -> bool:
    """Whether pressing the stock's place means a redeal."""
    return not marks.view.stock and "r" in marks.view.moves and marks.plays


def _spot(picture: Picture, place: str, rect: Rect, card: str = "") -> Picture:
    """A picture whose place can be pressed; `card` lies at `rect`."""
    return replace(hit(picture, Press(place)), slots=(Slot(place, rect, card),))


def _stock_label(marks: Marks, mark: str) -> Line:
    view, pending = marks.view, marks.view.pending
    if _redeals(marks):
        return [("title", f" r redeal {mark}")]
    able = bool(moves_from(view, "s")) and marks.plays
    what = f"fill {pending}" if pending and able else "stock" if marks.board.waste else "deal a row"
    return [("title" if pending else "faint", f" s {what}{f' {mark}' if able else ''}")]


def _waste_label(marks: Marks) -> Line:
    view, pending = marks.view, marks.view.pending
    able = bool(moves_from(view, "w")) and marks.plays
    what = f"fill {pending}" if pending and able else f"waste {len(view.waste)}"
    return [("title" if pending and able else "faint", f" w {what}")]


def _below(scene: Scene, marks: Marks, width: int) -> list[Line]:
    """The next cards, if the rules show them; the cards under the waste's top, which this player has seen; and the redeals left."""
    view = marks.view
    lines: list[Line] = []
    if view.stock_next:
        lines.append([("title", " next "), *_faces(scene, view.stock_next)])
    under: Line = []
    if len(view.waste) > 1:
        under = [("faint", " under "), *_beneath(scene.theme, view.waste[-2::-1], width - 8)]
    lines.append(under)
    if view.redeals:
        lines.append([("title" if _redeals(marks) else "faint", f" redeals left: {view.redeals}")])
    return lines


def _faces(scene: Scene, names: tuple[str, ...]) -> Line:
    return [piece for name in names for piece in ((f"card {name[1:]}", fit(f" {cards.card_name(name, scene.theme)}", 5)), ("felt", " "))]


def _beneath(theme: Theme, names: tuple[str, ...], columns: int) -> Line:
    """As many cards as fit, and how many more there are."""
    room = max(columns - (3 if len(names) * 4 > columns else 0), 0) // 4
    more = len(names) - room
    return [*small_cards(theme, names[:room]), *([("faint", f"+{more}")] if more > 0 else [])]


def small_cards(theme: Theme, names: tuple[str, ...]) -> Line:
    """Cards as names only."""
    return [piece for name in names for piece in ((f"suit {name[1:]}", cards.card_name(name, theme)), ("faint", " "))]


# ---- reserves


def reserves(scene: Scene, marks: Marks, width: int, height: int) -> Picture:
    """One row a reserve: its top card, and as many of those under it as fit. Free rows between them if `height` allows."""
    names = marks.board.reserves
    free = 1 if len(names) * 2 - 1 <= height else 0
    parts: list[Picture] = []
    for number, name in enumerate(names):
        if number and free:
            parts.append(block([[]]))
        parts.append(
            _spot(block([_reserve(scene, marks, name, width)], width), name, Rect(4, 0, cards.TINY.width, 1), top_card(marks.view, name))
        )
    return stacked(*parts)


def _reserve(scene: Scene, marks: Marks, name: str, width: int) -> Line:
    theme, pile = scene.theme, marks.view.piles[name]
    if pile:
        (top,) = cards.face(pile[-1], cards.TINY, theme, marks.look(name), mark=marks.sign(name, theme))
    else:
        (top,) = cards.gap(theme.glyphs.dash, cards.TINY, theme, open_for=theme.glyphs.takes if name in marks.gaps else "")
    (line,) = cards.edged([top], theme, cursor=marks.cursor == name)
    line = [("faint", f"{name} "), *line]
    left = width - 3 - cards.TINY.width - EDGES - 1
    return [*line, ("felt", " "), *_beneath(theme, pile[-2::-1] if len(pile) > 1 else (), left)]


def peek(scene: Scene, view: View, place: str) -> str:
    """The whole pile under the cursor, from the top down, if it has more than one card."""
    pile = view.waste if place == "w" else view.piles.get(place, ())
    names = " ".join(cards.card_name(card, scene.theme) for card in reversed(pile))
    return f"{place} from the top: {names}" if len(pile) > 1 else ""
