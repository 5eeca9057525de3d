"""Searches any rule set through the Position port alone, the most promising positions first.

Owns the search and its measure of promise, which knows foundations and piles but no family's rules. Must not know how moves work. The
result is a proof only if the whole tree was looked at, which is rare with two decks.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Final

from protocol.cards import DECK_SIZE, SUIT_SIZE, SUITS
from server.rules.position import Position
from server.solver.solution import Budget, Found

_FAR: Final = SUIT_SIZE


def search_tree(
    position: Position,
    budget: Budget,
    *,
    key: Callable[[Position], Hashable] = lambda position: position.text,
    choices: Callable[[Position], Sequence[str]] = lambda position: position.legal_moves(),
    promise: Callable[[Position], int] | None = None,
) -> Found:
    """Look at the most promising position of each ply in turn, over and over, until one is won or none is left.

    It goes ply by ply because late positions, with more cards buried, look worse than early ones: a plain best-first search never gets
    past the first few plies of a two-deck game.

    key: equal for positions from which the same can be reached. choices: the moves to try; leaving one out must never lose the best that
    can be reached. promise: higher is looked at first; by default `tidiness`. Lines have fewer moves than the rule set's move limit.
    """
    promise = promise or tidiness
    before: dict[Hashable, tuple[Hashable, str] | None] = {key(position): None}
    # The second number is unique, so entries are never compared by their position; later ones come first.
    plies: list[list[tuple[int, int, Position]]] = [[(0, 0, position)]]
    last_ply = position.rules.move_limit
    best, exact, left, ply = position, True, 1, 0
    while left:
        if ply == len(plies):
            ply = 0
        waiting = plies[ply]
        ply += 1
        if not waiting:
            continue
        if not budget.spend():
            exact = False
            break
        looked_at = heappop(waiting)[2]
        left -= 1
        if looked_at.home > best.home or (looked_at.is_won and not best.is_won):
            best = looked_at
            if best.is_won:
                break
        if ply == last_ply:
            exact = False
            continue
        place = key(looked_at)
        for move in choices(looked_at):
            after = looked_at.play_unchecked(move)
            after_key = key(after)
            if after_key not in before:
                before[after_key] = (place, move)
                if ply == len(plies):
                    plies.append([])
                heappush(plies[ply], (-promise(after), -len(before), after))
                left += 1
    return Found(best.home, _line(before, key(best)), best.is_won, exact or best.is_won)


def tidiness(position: Position) -> int:
    """How promising a position is: cards home count for it, cards that lie on one wanted sooner count against it."""
    steps = _steps_to_home(position)
    buried = 0
    for pile in (*position.piles.values(), position.waste):
        if len(pile) > 1:
            soonest = _FAR
            for card in pile:
                if steps[card] > soonest:
                    buried += 1
                else:
                    soonest = steps[card]
    return 4 * position.home - buried


def _steps_to_home(position: Position) -> list[int]:
    """For each card, how many cards have to go home before it, on whichever foundation of its suit reaches it sooner."""
    steps = [_FAR] * DECK_SIZE
    for foundation, height in position.foundations.items():
        ace = SUITS.index(foundation[0]) * SUIT_SIZE
        cards = range(ace, ace + SUIT_SIZE)
        for distance, card in enumerate((cards[::-1] if foundation.endswith("-") else cards)[height:]):
            steps[card] = min(steps[card], distance)
    return steps


def _line(before: Mapping[Hashable, tuple[Hashable, str] | None], place: Hashable) -> tuple[str, ...]:
    moves: list[str] = []
    while (step := before[place]) is not None:
        place, move = step
        moves.append(move)
    moves.reverse()
    return tuple(moves)
