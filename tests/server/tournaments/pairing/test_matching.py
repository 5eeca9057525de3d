"""Swiss pairing against its definition: the best of all pairings of a small field, by trying every one."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.tournaments.pairing import matching
from server.tournaments.pairing.matching import Contender, pair
from tests.server.tournaments.fields import all_pairings, names


@st.composite
def fields(draw: st.DrawFn) -> list[Contender]:
    ids = names(draw(st.integers(0, 8)))
    met: dict[str, Counter[str]] = {entrant: Counter() for entrant in ids}
    for one, other in combinations(ids, 2):
        met[one][other] = met[other][one] = draw(st.sampled_from([0, 0, 0, 1, 2]))
    return [
        Contender(
            entrant, draw(st.integers(0, 4)), met[entrant], draw(st.sampled_from([0, 0, 1, 2])), draw(st.sampled_from([None, "up", "down"]))
        )
        for entrant in ids
    ]


def badness(field: list[Contender], pairing: tuple[tuple[str, str | None], ...]) -> tuple[int, ...]:
    """The six rules of the module, each over the whole round."""
    of = {contender.id: contender for contender in field}
    groups: dict[int, list[str]] = {}
    for contender in field:
        groups.setdefault(contender.half_points, []).append(contender.id)
    again = byes = bye_points = differences = floats = amiss = 0
    for pair_ in pairing:
        pool = [of[entrant] for entrant in pair_ if entrant is not None]
        # Best first; of equals the one who was named first.
        pool.sort(key=lambda contender: (-contender.half_points, field.index(contender)))
        upper, group = pool[0], groups[pool[0].half_points]
        from_bottom = len(group) - 1 - group.index(upper.id)
        if len(pool) == 1:
            byes += upper.byes
            bye_points += upper.half_points
            amiss += from_bottom**2
            continue
        lower = pool[1]
        again += upper.met[lower.id]
        if upper.half_points == lower.half_points:
            amiss += (group.index(lower.id) - group.index(upper.id) - len(group) // 2) ** 2
        else:
            differences += (upper.half_points - lower.half_points) ** 2
            floats += (upper.floated == "down") + (lower.floated == "up")
            amiss += (from_bottom + groups[lower.half_points].index(lower.id)) ** 2
    return again, byes, bye_points, differences, floats, amiss


@given(fields(), st.sampled_from([1, 2, 3, matching.FIRST_CHOICES]))
def test_no_other_pairing_of_the_field_is_better(field: list[Contender], first_choices: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "FIRST_CHOICES", first_choices)
        paired = pair(field)
    assert badness(field, paired) == min(badness(field, other) for other in all_pairings(tuple(contender.id for contender in field)))


@given(fields())
def test_everybody_is_paired_once_the_better_one_first_and_the_bye_last(field: list[Contender]) -> None:
    paired = pair(field)
    assert sorted(entrant for both in paired for entrant in both if entrant is not None) == sorted(contender.id for contender in field)
    assert [None in both for both in paired] == [False] * (len(field) // 2) + [True] * (len(field) % 2)
    ranks = [contender.id for contender in sorted(field, key=lambda contender: -contender.half_points)]
    for one, other in paired:
        assert other is None or ranks.index(one) < ranks.index(other)


def test_the_first_round_folds_the_field() -> None:
    field = [Contender(entrant, 0) for entrant in names(8)]
    assert pair(field) == (("a", "e"), ("b", "f"), ("c", "g"), ("d", "h"))


def test_the_bye_of_an_odd_first_round_is_for_the_last() -> None:
    field = [Contender(entrant, 0) for entrant in names(7)]
    assert pair(field) == (("a", "d"), ("b", "e"), ("c", "f"), ("g", None))


def test_the_bottom_of_a_group_floats_to_the_top_of_the_next() -> None:
    field = [Contender(entrant, 2) for entrant in "abc"] + [Contender(entrant, 0) for entrant in "def"]
    assert pair(field) == (("a", "b"), ("c", "d"), ("e", "f"))


def test_somebody_else_floats_when_they_floated_last_time() -> None:
    field = [Contender("a", 2), Contender("b", 2), Contender("c", 2, floated="down"), Contender("d", 0, floated="up")]
    field += [Contender("e", 0), Contender("f", 0)]
    assert pair(field) == (("a", "c"), ("b", "e"), ("d", "f"))


def test_two_small_floats_are_better_than_a_great_one() -> None:
    # a and b have met. Both float by half a point, in their order, rather than one of them by a whole one.
    field = [
        Contender("a", 4, {"b": 1}),
        Contender("b", 4, {"a": 1}),
        Contender("c", 3),
        Contender("d", 3),
        Contender("e", 2),
        Contender("f", 2),
    ]
    assert pair(field) == (("a", "c"), ("b", "d"), ("e", "f"))


def test_a_second_bye_is_worse_than_a_bye_for_a_leader() -> None:
    field = [Contender("a", 6), Contender("b", 2, byes=1), Contender("c", 0, byes=1)]
    assert pair(field) == (("b", "c"), ("a", None))


def test_a_second_meeting_is_worse_than_a_second_bye() -> None:
    field = [Contender("a", 6), Contender("b", 2, {"c": 1}, byes=1), Contender("c", 0, {"b": 1}, byes=2)]
    assert pair(field) == (("a", "c"), ("b", None))
