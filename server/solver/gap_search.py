"""Searching the game of gaps: depth first for whether it can be won, shortest first for how soon.

Owns the order in which states are looked at. Must not know how a step changes a state, nor the real game.
"""

from dataclasses import dataclass
from heapq import heappop, heappush

from server.solver.gaps import ALL_HOME, GapGame, GapStep, Plan, State, home_count
from server.solver.solution import Budget


@dataclass(frozen=True, slots=True)
class GapResult:
    """The state with the most cards home that was found, the steps to it, and whether nothing better can exist."""

    home: int
    plan: Plan
    won: bool
    exact: bool


def search_gaps(game: GapGame, budget: Budget) -> GapResult:
    """Depth first until all cards are home or every state has been looked at.

    Filling gaps comes before turning: it looks at a few hundred states a deal, where the other order needs thousands.
    Redeals wait until nothing is left to try without one, and then those that leave the fewest cards come first. What is done only
    for the sake of another shuffle comes last.
    """
    before: dict[int, int] = {game.start[0]: -1}
    best, best_home = game.start, home_count(game.start)
    stack = [game.start]
    redeals: list[tuple[int, State]] = []
    reluctant: list[State] = []
    exact = True
    while stack or redeals or reluctant:
        if not stack:
            stack.append(heappop(redeals)[1] if redeals else reluctant.pop())
        state = stack.pop()
        if not budget.spend():
            exact = False
            break
        home = home_count(state)
        if home > best_home:
            best, best_home = state, home
            if state[2] == ALL_HOME:
                break
        place = state[0]
        for choices, waiting in ((game.choices(state), stack), (game.reluctant_choices(state), reluctant)):
            for choice in choices:
                if choice[0] not in before:
                    before[choice[0]] = place
                    if game.is_fresh(choice):
                        heappush(redeals, (game.to_turn(choice), choice))
                    else:
                        waiting.append(choice)
    won = best[2] == ALL_HOME
    return GapResult(best_home, game.plan(_line(before, best[0])), won, exact or won)


def trimmed(game: GapGame, plan: Plan) -> Plan:
    """A winning plan without the fills that it wins without; leaving out any single one of the rest does not win."""
    index = 0
    while index < len(plan):
        shorter = game.follow(plan[:index] + plan[index + 1 :]) if plan[index] is GapStep.FILL else None
        if shorter is None or len(shorter) >= len(plan):
            index += 1
        else:
            plan, index = shorter, 0
    return plan


def shortest(game: GapGame, plan: Plan, budget: Budget) -> Plan:
    """The shortest winning plan in moves under free refill, `plan` being a winning one; `plan` again if the budget is spent before.

    A* over the states, by the moves that a line has beyond bringing each card home and turning each of the first stock once (GapGame.cost):
    a fill 1, a redeal 1 and 1 for each card to be turned again. The least that is still to come is the number of blocking cards
    (GapGame.blocking): a fill takes away one at most, a redeal no more than it costs. So cost and bound together never fall
    along a line, lines can be looked at in the order of that sum, and the first to win is the shortest.
    """
    limit = game.cost_of(plan)
    by_sum: list[list[tuple[State, int, int]]] = [[] for _ in range(limit)]
    """For each sum of cost and bound, the states to look at: with the place before, and the bound."""

    def put(state: State, cost: int, place_before: int) -> None:
        bound = game.blocking(state)
        if cost + bound < limit:
            by_sum[cost + bound].append((state, place_before, bound))

    before: dict[int, int] = {}
    put(game.start, 0, -1)
    for total, waiting in enumerate(by_sum):
        while waiting:
            state, place_before, bound = waiting.pop()
            place = state[0]
            if place in before:
                continue
            if not budget.spend():
                return plan
            before[place] = place_before
            if state[2] == ALL_HOME:
                return game.plan(_line(before, place))
            for choice in (*game.choices(state), *game.reluctant_choices(state)):
                if choice[0] not in before:
                    put(choice, total - bound + game.cost(state, choice[0]), place)
    return plan


def _line(before: dict[int, int], place: int) -> list[int]:
    line: list[int] = []
    while place >= 0:
        line.append(place)
        place = before[place]
    line.reverse()
    return line
