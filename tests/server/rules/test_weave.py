"""Which cards of a quilt can be taken: by example, and against the literal definition."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.rules.position import slot_names
from server.rules.weave import COLUMNS, GAP, ROWS, Clear, Quilt, available, available_after

SLOTS = slot_names(COLUMNS, ROWS)
FULL: Quilt = tuple(range(52)) + tuple(range(12))


def without(names: str) -> Quilt:
    """A quilt with gaps at the slots named."""
    gaps = names.split()
    assert set(gaps) <= set(SLOTS)
    return tuple(GAP if slot in gaps else card for slot, card in zip(SLOTS, FULL, strict=True))


def only(names: str) -> Quilt:
    """A quilt with cards at the slots named and nowhere else."""
    return without(" ".join(slot for slot in SLOTS if slot not in names.split()))


def names(quilt: Quilt, clear: Clear) -> set[str]:
    return {SLOTS[slot] for slot in available(quilt, clear)}


def by_definition(quilt: Quilt, clear: Clear) -> set[int]:
    """RULES, clause by clause, with columns and rows counted from 1 and no tables."""

    def empty(column: int, row: int) -> bool:
        return quilt[(row - 1) * 8 + column - 1] == GAP

    def on_quilt(column: int, row: int) -> bool:
        return 1 <= column <= 8 and 1 <= row <= 8

    def end_is_free(column: int, row: int, step: tuple[int, int]) -> bool:
        column, row = column + step[0], row + step[1]
        while on_quilt(column, row):
            if not empty(column, row):
                return False
            if clear is Clear.NEXT_SLOT:
                return True
            column, row = column + step[0], row + step[1]
        return True

    found = set()
    for column in range(1, 9):
        for row in range(1, 9):
            upright = (column + row) % 2 == 0
            ends = [(0, -1), (0, 1)] if upright else [(-1, 0), (1, 0)]
            if not empty(column, row) and any(end_is_free(column, row, step) for step in ends):
                found.add((row - 1) * 8 + column - 1)
    return found


@pytest.mark.parametrize("clear", Clear)
def test_sixteen_cards_are_available_after_the_deal(clear: Clear) -> None:
    upright = {"a1", "c1", "e1", "g1", "b8", "d8", "f8", "h8"}
    sideways = {"a2", "a4", "a6", "a8", "h1", "h3", "h5", "h7"}
    assert names(FULL, clear) == upright | sideways


def test_an_emptied_slot_frees_the_neighbours_whose_narrow_ends_touch_it() -> None:
    # c1 is upright; beside it lie b1 and d1, sideways, whose ends touch it, and below it c2, sideways, whose ends do not.
    assert names(without("c1"), Clear.NEXT_SLOT) - names(FULL, Clear.NEXT_SLOT) == {"b1", "d1"}
    # h1 is sideways; below it lies h2, upright, whose end touches it; g1 beside it has its broad side there.
    assert names(without("h1"), Clear.NEXT_SLOT) - names(FULL, Clear.NEXT_SLOT) == {"h2"}


@pytest.mark.parametrize("clear", Clear)
def test_a_broad_side_that_is_free_frees_nothing(clear: Clear) -> None:
    # b1 lies sideways at the upper edge: its long side is open, its ends are not.
    assert "b1" not in names(FULL, clear)


def test_a_hole_within_frees_under_one_rule_and_not_without_a_lane() -> None:
    quilt = without("d4")  # upright; c4 and e4 beside it lie sideways
    assert names(quilt, Clear.NEXT_SLOT) - names(FULL, Clear.NEXT_SLOT) == {"c4", "e4"}
    assert names(quilt, Clear.LANE) == names(FULL, Clear.LANE)


def test_a_lane_has_to_be_clear_up_to_the_edge() -> None:
    # e4 lies sideways: the lane from its left end goes over d4, c4, b4 and a4.
    assert "e4" not in names(without("d4 c4 b4"), Clear.LANE)
    assert "e4" in names(without("d4 c4 b4 a4"), Clear.LANE)
    # The other end does as well.
    assert "e4" in names(without("f4 g4 h4"), Clear.LANE)
    # An upright card's lane is its column, whatever the row.
    assert "d4" not in names(without("a4 b4 c4 e4 f4 g4 h4"), Clear.LANE)
    assert "d4" in names(without("d1 d2 d3"), Clear.LANE)


@pytest.mark.parametrize("clear", Clear)
def test_cards_that_lie_alone_can_all_be_taken(clear: Clear) -> None:
    assert names(only("d4 e4 b7 h8"), clear) == {"d4", "e4", "b7", "h8"}
    assert names(only(""), clear) == set()


@given(st.sets(st.sampled_from(SLOTS)), st.sampled_from(Clear))
def test_every_quilt_is_read_as_the_definition_says(gaps: set[str], clear: Clear) -> None:
    quilt = without(" ".join(gaps))
    found = available(quilt, clear)
    assert len(found) == len(set(found))
    assert set(found) == by_definition(quilt, clear)


@given(st.integers(), st.sampled_from(Clear))
def test_card_by_card_the_same_is_found_as_at_once(choices: int, clear: Clear) -> None:
    choose = Random(choices)
    quilt, found = FULL, available(FULL, clear)
    while found:
        taken = choose.choice(found)
        quilt = (*quilt[:taken], GAP, *quilt[taken + 1 :])
        found = available_after(found, quilt, taken, clear)
        assert len(found) == len(set(found))
        assert set(found) == set(available(quilt, clear))
    # Nothing is locked in for good: every quilt can be taken apart.
    assert set(quilt) == {GAP}
