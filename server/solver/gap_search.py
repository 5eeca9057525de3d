"""Searches the game of gaps, depth first: can it be won, and how many cards can be brought home?

Owns the order in which states are looked at. Must not know how a step changes a state, nor the real game.
"""

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

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
    """Search depth first until all cards are home or every state has been looked at.

    Filling gaps comes before turning: that takes a few dozen states per deal, while the other order takes twice as many.
    Each round is played in haste first. Redeals wait until nothing is left to try without one; those of the fewest cards come first.
    Choices made only to get another shuffle come last.
    """
    waiting = _Waiting(game)
    best, best_home = game.start, home_count(game.start)
    exact = True
    while (state := waiting.next()) is not None:
        if not budget.spend():
            exact = False
            break
        home = home_count(state)
        if home > best_home:
            best, best_home = state, home
            if state[2] == ALL_HOME:
                break
        waiting.add_choices(state)
    won = best[2] == ALL_HOME
    return GapResult(best_home, game.plan(_line(waiting.before, best)), won, exact or won)


class _Waiting:
    """The states waiting to be looked at, in the order of search_gaps."""

    def __init__(self, game: GapGame) -> None:
        self.before: dict[int, State | None] = {}
        """For each state ever put down, by its place: the state from which it was reached."""
        self._game = game
        self._next: list[State] = []
        self._redeals: list[tuple[int, int, State]] = []
        self._reluctant: list[State] = []
        self._falling = count(step=-1)
        self._begin_round(game.start, None)

    def next(self) -> State | None:
        """The next state to look at."""
        while not self._next and self._redeals:
            state = heappop(self._redeals)[2]
            self._begin_round(self._game.redealt(state), state)
        if self._next:
            return self._next.pop()
        return self._reluctant.pop() if self._reluctant else None

    def add_choices(self, state: State) -> None:
        """Put down the states that can follow one that was looked at."""
        game, before, following = self._game, self.before, self._next
        for choice in game.choices(state):
            if choice[0] not in before:
                before[choice[0]] = state
                following.append(choice)
        if game.has_redeals:
            for choice in game.reluctant_choices(state):
                self._add(choice, state, self._reluctant)
            if size := game.redeal_size(state):
                # The second number is unique, so entries are never compared by their state; later ones come first.
                heappush(self._redeals, (size, next(self._falling), state))

    def _begin_round(self, state: State, from_state: State | None) -> None:
        hastened = self._game.hastened(state)
        if hastened is state:
            self._add(state, from_state, self._next)
        elif self._add(state, from_state, self._reluctant):
            self._add(hastened, state, self._next)

    def _add(self, state: State, from_state: State | None, to: list[State]) -> bool:
        if state[0] in self.before:
            return False
        self.before[state[0]] = from_state
        to.append(state)
        return True


def trimmed(game: GapGame, plan: Plan) -> Plan:
    """A winning plan without the fills that it does not need; leaving out any one of the rest would not win."""
    index, state = 0, game.start
    while index < len(plan):
        if plan[index] is GapStep.FILL:
            end, rest = game.follow(state, plan[index + 1 :])
            if end[2] == ALL_HOME:
                plan, index, state = plan[:index] + rest, 0, game.start
                continue
        state = game.follow(state, plan[index : index + 1])[0]
        index += 1
    return plan


def _line(before: dict[int, State | None], last: State) -> list[State]:
    line: list[State] = []
    state: State | None = last
    while state is not None:
        line.append(state)
        state = before[state[0]]
    line.reverse()
    return line
