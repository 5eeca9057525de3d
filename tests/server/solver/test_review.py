"""Reviews of hand-made games, where the slip is plain, and of random games, where a search checks both sides of it."""

from hashlib import sha256
from random import Random

import pytest

from server.rules.position import IllegalMove, Position
from server.solver.review import review
from server.solver.solve import best_home
from tests.server.solver.small_deals import FAMILY
from tests.server.solver.test_solve import deal, ending

# The Jack comes before the Queen, and the one slot is taken: they have to go home before she is turned.
COVERED = ending("carpet", carpet="KS", stock="JS QS")
# The Jack of spades lies under the Queen for good; of hearts two can go home, if she goes first.
HOPELESS = ending("carpet", carpet="KS", waste="JS QS", stock="QH KH", heights=(10, 11, 13, 13))


def test_the_slip_and_what_would_have_kept_the_win() -> None:
    seen = review(COVERED, ("s", "s"))
    assert (seen.best, seen.winnable, seen.reached) == (52, True, 49)
    assert (seen.slip, seen.instead, seen.line) == (1, "w", ("w", "s", "w", "a1"))
    assert seen.exact


def test_the_slip_of_a_deal_that_cannot_be_won_is_where_cards_were_lost() -> None:
    seen = review(HOPELESS, ("s", "s"))
    assert (seen.best, seen.winnable, seen.reached) == (49, False, 47)
    assert (seen.slip, seen.instead, seen.line) == (1, "w", ("w", "s", "w"))
    assert seen.exact


def test_a_win_has_no_slip() -> None:
    seen = review(COVERED, ("s", "w", "s", "w", "a1"))
    assert (seen.best, seen.reached, seen.slip, seen.instead, seen.line, seen.exact) == (52, 52, None, None, (), True)


def test_the_best_of_a_deal_that_cannot_be_won_has_no_slip() -> None:
    seen = review(HOPELESS, ("s", "w", "s", "w"))
    assert (seen.best, seen.winnable, seen.reached, seen.slip, seen.line, seen.exact) == (49, False, 49, None, (), True)


def test_whoever_stops_with_the_win_in_reach_is_shown_it() -> None:
    seen = review(COVERED, ("s",))
    assert (seen.reached, seen.slip, seen.instead, seen.line) == (49, None, None, ("w", "s", "w", "a1"))


def test_a_game_without_moves_is_judged_by_its_deal() -> None:
    seen = review(COVERED, ())
    assert (seen.best, seen.winnable, seen.slip, len(seen.line), seen.exact) == (52, True, None, 5, True)


def test_without_a_budget_nothing_is_certain() -> None:
    seen = review(COVERED, ("s", "s"), budget=0)
    assert (seen.best, seen.winnable, seen.slip, seen.exact, seen.nodes) == (49, None, None, False, 0)


def test_the_moves_have_to_be_legal() -> None:
    with pytest.raises(IllegalMove):
        review(COVERED, ("w",))


@pytest.mark.parametrize("name", [name if name != "carpet-redeal" else pytest.param(name, marks=pytest.mark.slow) for name in FAMILY])
def test_a_slip_lies_between_a_position_that_keeps_the_best_and_one_that_does_not(name: str) -> None:
    choose = Random(name)
    slips = 0
    for number in range(25):
        first = deal(name, number)
        positions: list[Position] = [first]
        moves: list[str] = []
        while not positions[-1].is_over:
            legal = positions[-1].legal_moves()
            # Mostly home, for games that are lost late as well.
            home = [move for move in legal if move not in ("s", "r") and ":" not in move]
            moves.append(choose.choice(home if home and choose.random() < 0.9 else legal))
            positions.append(positions[-1].play(moves[-1]))
        seen = review(first, moves)
        assert seen.exact
        assert (seen.best, seen.reached) == (best_home(first).home, positions[-1].home)
        kept = len(moves) if seen.slip is None else seen.slip
        end = positions[kept]
        for move in seen.line:
            end = end.play(move)
        assert end.home == seen.best
        if seen.slip is not None:
            slips += 1
            assert seen.instead == seen.line[0] != moves[seen.slip]
            assert best_home(positions[seen.slip + 1]).home < seen.best
    assert slips or name in ("carpet-whist", "carpet-redeal")  # where nothing is to be chosen, and where little is lost


def test_a_search_that_finds_more_later_corrects_itself() -> None:
    """With a budget too small for a proof, a review may know less, but it never claims what its own line does not show."""
    choose = Random(5)
    for number in range(30):
        first = FAMILY["carpet-aces-in"].deal(sha256(b"%d" % number).digest())
        positions: list[Position] = [first]
        moves: list[str] = []
        while not positions[-1].is_over:
            moves.append(choose.choice(positions[-1].legal_moves()))
            positions.append(positions[-1].play(moves[-1]))
        for budget in (1, 5, 20, 60):
            seen = review(first, moves, budget=budget)
            end = positions[len(moves) if seen.slip is None else seen.slip]
            for move in seen.line:
                end = end.play(move)
            assert end.home == seen.best >= seen.reached
