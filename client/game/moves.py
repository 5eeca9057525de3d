"""What the moves of a view mean: where each begins and ends, and what pressing a place does. Pure.

Everything is read off `View.moves`; no game's rules are known here. A *place* is anything that a player can press: a slot or pile (`b3`), a
reserve (`p4`), `w`, `s`, `r`, or a foundation as views name them (`S`, `S+`, `S-`).

Pressing a place where one move begins plays it. If several begin there, the place is *held*, and the next press chooses: a place where one
of them ends, or the held place again for the suggested move. If no move begins at a place but one ends there, pressing it plays that move;
if several end there, the place is held until one presses the card to put there.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from client.game.board import top_home
from protocol.views import View


class Pressed(NamedTuple):
    """The result of a press: a move to send, or else the place held from now on, if any. known: whether the press meant anything."""

    move: str | None = None
    held: str = ""
    known: bool = True


_PLACE = re.compile("[a-jp][1-9]|[wsr]", re.ASCII)


def is_place(name: str) -> bool:
    """Whether a slot, a pile, the waste or the stock can have this name. Only such names from a server are shown."""
    return _PLACE.fullmatch(name) is not None


def source(move: str) -> str:
    """Where a move takes its card from: `b3` for `b3+`, `w` for `w:b3`."""
    return move.partition(":")[0].rstrip("+-")


def target(move: str) -> str:
    """Where a move with a target puts its card; otherwise empty."""
    return move.partition(":")[2]


def goes_home(move: str) -> bool:
    """Whether the move brings a card to a foundation."""
    return ":" not in move and move not in ("s", "r", "")


def top_card(view: View, place: str) -> str:
    """The open card at a slot, a reserve or the waste; empty if there is none."""
    pile = view.waste if place == "w" else view.piles.get(place, ())
    return pile[-1] if pile else ""


def taken(before: View, after: View, move: str) -> str:
    """The card that a move took; one from the stock is known by where it lies now. Empty if the move took none."""
    return top_card(before, source(move)) or (top_card(after, target(move) or "w") if move != "r" else "")


def destination(view: View, move: str) -> str:
    """Where a move ends: its target, or its card's foundation; empty for turning and redealing."""
    if not goes_home(move):
        return target(move)
    return top_card(view, source(move))[1:] + (move[-1] if move[-1] in "+-" else "")


def moves_from(view: View, place: str) -> tuple[str, ...]:
    """The moves that begin at a place."""
    return tuple(move for move in view.moves if source(move) == place)


def moves_onto(view: View, place: str) -> tuple[str, ...]:
    """The moves that end at a place."""
    return tuple(move for move in view.moves if destination(view, move) == place) if place else ()


def suggested(view: View, place: str) -> str | None:
    """Of several moves from a place, the one that a second press plays; None if none suggests itself.

    Home comes first, and up from the Ace before down from the King. Then the only pile to build on. Then, if there are only gaps, the
    first one, since all gaps are equal.
    """
    own = moves_from(view, place)
    homeward_ = [move for move in own if goes_home(move)]
    if homeward_:
        return homeward_[0]
    gaps = [move for move in own if target(move) in view.piles and not view.piles[target(move)]]
    builds = [move for move in own if move not in gaps]
    if len(builds) == 1:
        return builds[0]
    return min(gaps, key=lambda move: list(view.piles).index(target(move))) if gaps and not builds else None


def press(view: View, held: str, place: str) -> Pressed:
    """What pressing `place` does while `held` is held (empty for nothing)."""
    if held:
        if place == held:
            return Pressed(move=suggested(view, held))
        begins = moves_from(view, held)
        # Both `p4:p7` and `p7:p4` can be legal: the place pressed first gives the card, unless no move begins there.
        between = [move for move in begins if destination(view, move) == place]
        if not begins:
            between = [move for move in moves_onto(view, held) if source(move) == place]
        if between:
            return Pressed(move=between[0])
    moves = moves_from(view, place) or moves_onto(view, place)
    if len(moves) == 1:
        return Pressed(move=moves[0])
    return Pressed(held=place) if moves else Pressed(known=False)


def made(before: View, after: View) -> tuple[str, str] | None:
    """The move between two consecutive views, and its card (empty if it was not a single one); None if nothing was moved."""
    for name, count in after.foundations.items():
        if count > before.foundations.get(name, 0):
            card = top_home(name, count)
            return next((place for place in ("w", *before.piles) if top_card(before, place) == card), "w"), card
    grown = next((name for name, pile in after.piles.items() if len(pile) > len(before.piles.get(name, ()))), "")
    fallen = next((name for name, pile in before.piles.items() if len(pile) > len(after.piles.get(name, ()))), "")
    if fallen:
        move, card = f"{fallen}:{grown or 'w'}", top_card(before, fallen)
    elif after.stock < before.stock - 1:
        # A whole row was dealt.
        move, card = "s", ""
    elif after.stock < before.stock:
        move, card = f"s:{grown}" if grown else "s", top_card(after, grown or "w")
    elif after.stock > before.stock:
        move, card = "r", ""
    elif grown:
        move, card = f"w:{grown}", top_card(before, "w")
    else:
        return None
    return move, card


def choices(view: View, held: str) -> frozenset[str]:
    """The places that may be pressed while `held` is held: where its moves end, or, if it has none, where the moves onto it begin."""
    begins = moves_from(view, held)
    if begins:
        return frozenset(destination(view, move) for move in begins)
    return frozenset(source(move) for move in moves_onto(view, held))


def homeward(view: View, first: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The places whose card can go to a foundation now: those in `first` in its order, then in view order, with the waste last."""
    able = {source(move) for move in view.moves if goes_home(move)}
    return tuple(place for place in dict.fromkeys((*first, *view.piles, "w")) if place in able)


def next_home(view: View, first: tuple[str, ...] = ()) -> str | None:
    """The move that sends the first card of `homeward` home, onto the lower foundation if it fits two; None if no card can go.

    Which card goes first costs nothing: each of the others can still go after it. So the order is the one that the player sees.
    """
    places = homeward(view, first)
    moves = filter(goes_home, moves_from(view, places[0])) if places else ()
    return min(moves, key=lambda move: view.foundations.get(destination(view, move), 0), default=None)


def fillable(view: View) -> frozenset[str]:
    """The gaps that a card can be put into now."""
    return frozenset(target(move) for move in view.moves if target(move) in view.piles and not view.piles[target(move)])
