"""Session tournaments: the same deals for everybody, a deal won is a point, cards home break ties."""

from __future__ import annotations

import pytest

from server.tournaments.pairing.crosstable import Crosstable
from server.tournaments.pairing.rounds import RaceResult
from server.tournaments.pairing.session import Session
from tests.server.tournaments.fields import byes_of, field_of, pair_next


def attempt(tournament: Crosstable, home: dict[str, int]) -> Crosstable:
    """The next deal; 52 cards home win it. Who is not in `home` did not come."""
    tournament = pair_next(tournament)
    for race in tournament.open_races:
        cards = home.get(race.pairing.first)
        result = RaceResult("second", forfeit=True) if cards is None else RaceResult("first" if cards == 52 else "second", (cards, 0))
        tournament = tournament.enter_result(race.round, race.pairing.table, result)
    return tournament


def test_points_are_deals_won_and_cards_home_break_ties() -> None:
    tournament = attempt(field_of(Session(2), 4), {"a": 20, "b": 52, "c": 52, "d": 20})
    tournament = attempt(tournament, {"a": 40, "b": 10, "c": 30, "d": 40})
    assert tournament.next_round() is None
    assert [(row.place, row.entrant, row.points, row.tie_breaks) for row in tournament.standings] == [
        (1, "c", 1.0, (82.0,)),
        (2, "b", 1.0, (62.0,)),
        (3, "a", 0.0, (60.0,)),
        (3, "d", 0.0, (60.0,)),
    ]


def test_everybody_is_at_a_table_of_their_own() -> None:
    tournament = pair_next(field_of(Session(1), 3))
    assert byes_of(tournament.rounds[0]) == ["a", "b", "c"]
    assert [race.pairing.table for race in tournament.open_races] == [1, 2, 3]


def test_a_missed_deal_is_worth_nothing() -> None:
    tournament = attempt(field_of(Session(2), 2), {"a": 52}).withdraw("a").enter("late")
    tournament = attempt(tournament, {"b": 30, "late": 52})
    assert [(row.entrant, row.points, row.home, row.withdrawn) for row in tournament.standings] == [
        ("a", 1.0, 52, True),
        ("late", 1.0, 52, False),
        ("b", 0.0, 30, False),
    ]


def test_it_ends_when_nobody_is_left() -> None:
    assert field_of(Session(3), 1).withdraw("a").next_round() is None


def test_no_attempts_are_no_session() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Session(0)
