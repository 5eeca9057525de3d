"""Sentences about a position for its player: what they can do now, what a held card may do, and why a press did nothing. Pure.

All of it comes from the view's moves. Places are named as they are typed, so every sentence also teaches the keys.
"""

from __future__ import annotations

from collections.abc import Iterable

from client.game.board import Board, free_slots
from client.game.moves import choices, fillable, goes_home, homeward, is_place, moves_from, source, suggested, target
from protocol.views import SeatInfo, View

NAMED = 4
"""How many places are listed before "and more"."""
LONGEST = 75
"""Columns for a sentence in the smallest terminal. With more, it says more about where cards can be moved to."""


def hint(view: View, board: Board, *, racing: bool = True, held: str = "", columns: int = LONGEST, first: tuple[str, ...] = ()) -> str:
    """One sentence of at most `columns` columns: what the player can do now. racing: whether their race has started.

    first: places whose cards are named first, in this order, if they can go home.
    """
    if not racing:
        return f"Here {'is your carpet' if board.family == 'carpet' else 'are your cards'}: look it over, the clock starts in a moment."
    if not view.moves:
        return "No move is left."
    if held:
        return _held(view, held)
    if view.pending is not None:
        offers = (("w", "w with the waste's top card"), ("s", "s with the next stock card"))
        ways = [text for place, text in offers if f"{place}:{view.pending}" in view.moves]
        return f"Fill the gap at {view.pending}: {', '.join(ways)}."
    able = tuple(filter(is_place, homeward(view, first)))
    if able:
        text = f"{'One card' if len(able) == 1 else f'{len(able)} cards'} can go home: {_names(able)}"
        others = _others(view, columns - len(text) - 3)
        rest = f"; {others}." if others else "."
        # Shown only if there is room left for it; `?` shows the key too.
        every = f" ({all_home_key(view)}: all)" if len(able) > 1 else ""
        return next((whole for whole in (text + every + rest, text + rest) if len(whole) <= columns), f"{text}.")
    nothing, turning = "Nothing goes home; ", f", or {_stock(board)}" if "s" in view.moves else ""
    others = _others(view, columns - len(f"{nothing}{turning}."))
    if others:
        return f"{nothing}{others}{turning}."
    if "s" in view.moves:
        return f"Nothing fits: {_stock(board)}."
    if "r" in view.moves:
        return "The stock is empty: redeal the waste (r)."
    return "No move is left."


def all_home_key(view: View) -> str:
    """The key that sends every possible card home. If there is a column g, the small letter begins a slot's name."""
    return "G" if any(place[:1] == "g" for place in view.piles) else "g"


def _held(view: View, held: str) -> str:
    own = moves_from(view, held)
    if not own:
        takes = _ordered(view, choices(view, held))
        return f"{held} can take {_names(takes, 'or')}: choose the card. (esc: none)"
    ways = [_way(move) for move in own if goes_home(move)]
    ends = _ordered(view, [target(move) for move in own if not goes_home(move)])
    if ends:
        ways.append(f"{'to' if set(ends) <= fillable(view) else 'onto'} {_piles(view, ends)}")
    default = suggested(view, held)
    again = "" if default is None else f" {held} again: {_way(default).partition(' (')[0]}."
    told, escape = f"{held} goes {' or '.join(ways)}.{again}", " (esc: nowhere)"
    # Must fit a row of the smallest terminal; `?` shows the key too.
    return told + escape if len(told + escape) <= 77 else told


def _way(move: str) -> str:
    """Where a move takes its card."""
    if not goes_home(move):
        return f"to {'the waste' if target(move) == 'w' else target(move)}"
    return {"+": "up (+)", "-": "down (-)"}.get(move[-1], "home")


def _piles(view: View, ends: tuple[str, ...]) -> str:
    return "any pile" if len(ends) == sum(1 for name in view.piles if name[0] != "p") else _names(ends, "or")


def _others(view: View, columns: int) -> str:
    """What can be done beside going home and turning, the waste first. columns: the space for it."""
    parts: list[str] = []
    piles = _ordered(view, {target(move) for move in view.moves if source(move) == "w" and target(move)})
    if piles:
        parts.append(f"w {'fills' if set(piles) <= fillable(view) else 'goes onto'} {_piles(view, piles)}")
    onto_waste = {source(move) for move in view.moves if target(move) == "w"}
    if onto_waste:
        parts.append(f"onto the waste: {_names(_ordered(view, onto_waste))}")
    moved: dict[str, set[str]] = {}
    for move in view.moves:
        if target(move) not in ("", "w") and source(move) not in ("w", "s"):
            moved.setdefault(source(move), set()).add(target(move))
    places = _ordered(view, moved)
    ways: dict[tuple[str, ...], list[str]] = {}
    for place in places:
        ways.setdefault(_ordered(view, moved[place]), []).append(place)
    told = [
        f"{_names(tuple(froms))} {'to' if set(ends) <= fillable(view) else 'onto'} {_piles(view, ends)}"
        for ends, froms in ways.items()
        if ends
    ]
    if not told:
        return "; ".join(parts)
    for shown in range(len(told), 0, -1):
        # What is left out is shown once a card is held, and its key is on the card.
        whole = "; ".join([*parts, *told[:shown], *(["more"] if shown < len(told) else [])])
        if len(whole) <= columns:
            return whole
    return "; ".join([*parts, f"to be moved: {_names(places)}"])


def _stock(board: Board) -> str:
    return "turn the stock (s)" if board.waste else "deal a row from the stock (s)"


def _names(places: tuple[str, ...], last: str = "") -> str:
    names = [{"w": "waste (w)", "s": "the stock (s)"}.get(place, place) for place in places[:NAMED]]
    if len(places) > NAMED:
        return f"{', '.join(names)} and more"
    if last and len(names) > 1:
        return f"{', '.join(names[:-1])} {last} {names[-1]}"
    return ", ".join(names)


def _ordered(view: View, places: Iterable[str]) -> tuple[str, ...]:
    """The places in table order, stock and waste last. Drops what is not a place, whatever a server may send."""
    names = [*view.piles, "s", "w"]
    return tuple(sorted((place for place in places if place in names and is_place(place)), key=names.index))


def why_not(view: View, board: Board, place: str, seat: SeatInfo | None) -> str:
    """Why `place` cannot be played now, in one sentence."""
    if seat is not None and seat.state not in ("racing", "waiting"):
        return "Your part of this race has ended."
    if view.pending is not None:
        return f"First fill the gap at {view.pending}: w or s."
    if place[:1] in ("S", "H", "D", "C"):
        return "No card can go to that foundation now."
    match place:
        case "w" if not board.waste:
            return "There is no waste in this game."
        case "w":
            return "The waste's top card cannot be played now." if view.waste else "The waste is empty."
        case "s" if not board.stock:
            return "There is no stock in this game."
        case "s" if not view.stock:
            return "The stock is empty: r redeals the waste." if "r" in view.moves else "The stock is empty."
        case "s" if any(source(move) == "w" for move in view.moves) and not homeward(view):
            return "Play the waste's card first."
        case "s":
            return "The stock cannot be turned while a card can be played."
        case "r" if view.redeals and view.stock:
            return "Turn the stock to its end first; then r redeals."
        case "r":
            return f"There is no redeal {'now' if board.redeals else 'in this game'}."
        case _ if place not in view.piles:
            return f"There is no slot {place}."
        case _ if not view.piles[place]:
            return f"{place} is empty."
        case _ if board.family == "quilt" and place not in board.reserves and place not in free_slots(board, view):
            return f"The card at {place} is not free: both of its narrow ends are covered."
        case _:
            return f"The card at {place} cannot be played now."
