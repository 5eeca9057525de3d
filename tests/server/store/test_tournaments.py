"""What every store promises about tournaments and their logs."""

from __future__ import annotations

import pytest

from server.store.errors import EntryRefused
from server.store.port import SharedDealMade, TournamentDecided, TournamentMade, TournamentRemoved
from server.store.store import Store
from tests.server.store.keeping import NOW, made, write


def tournament(identity: str, *, at: int = 0, director: str = "anna") -> TournamentMade:
    return TournamentMade(tournament=identity, director=director, secret=b"s" * 32, document=f"what {identity} is", at_ms=NOW + at)


def decided(identity: str, sequence: int, *, author: str | None = None, closes: bool = False) -> TournamentDecided:
    return TournamentDecided(
        tournament=identity, sequence=sequence, at_ms=NOW + sequence, author=author, decision=f"decision {sequence}", closes=closes
    )


def ids(found: tuple[TournamentMade, ...]) -> list[str]:
    return [each.tournament for each in found]


def test_an_empty_store_has_no_tournaments(store: Store) -> None:
    assert store.tournaments(closed=False, limit=10) == store.tournaments(closed=True, limit=10) == ()
    assert store.tournament("A") is None
    assert store.tournament_log("A") == ()


def test_a_tournament_comes_back_as_it_was_made_with_its_log_in_order(store: Store) -> None:
    write(store, made("anna"), tournament("A"), decided("A", 1), decided("A", 2, author="anna"))
    write(store, decided("A", 3))
    assert store.tournament("A") == tournament("A")
    assert store.tournament_log("A") == (decided("A", 1), decided("A", 2, author="anna"), decided("A", 3))


def test_tournaments_are_listed_newest_first_the_closed_ones_apart(store: Store) -> None:
    write(store, made("anna"), tournament("A"), tournament("B", at=1), tournament("C", at=2))
    write(store, decided("A", 1), decided("B", 1, closes=True))
    assert ids(store.tournaments(closed=False, limit=10)) == ["C", "A"]
    assert ids(store.tournaments(closed=False, limit=1)) == ["C"]
    assert ids(store.tournaments(closed=True, limit=10)) == ["B"]
    assert store.tournament_log("B") == (decided("B", 1),)


def test_a_closed_tournament_can_be_decided_on_and_stays_closed(store: Store) -> None:
    write(store, made("anna"), tournament("A"), decided("A", 1, closes=True))
    write(store, decided("A", 2))
    assert ids(store.tournaments(closed=True, limit=10)) == ["A"]


@pytest.mark.parametrize("sequence", [0, 2, 3])
def test_a_log_has_no_gaps(store: Store, sequence: int) -> None:
    write(store, made("anna"), tournament("A"))
    with pytest.raises(EntryRefused, match="cannot follow decision 0"):
        write(store, decided("A", sequence))
    assert store.tournament_log("A") == ()


def test_a_decision_cannot_be_written_twice(store: Store) -> None:
    write(store, made("anna"), tournament("A"), decided("A", 1))
    with pytest.raises(EntryRefused, match="decision 1 cannot follow decision 1"):
        write(store, decided("A", 1))


def test_the_logs_of_two_tournaments_do_not_mix(store: Store) -> None:
    write(store, made("anna"), tournament("A"), tournament("B"), decided("A", 1), decided("B", 1), decided("A", 2))
    assert [entry.sequence for entry in store.tournament_log("A")] == [1, 2]
    assert [entry.sequence for entry in store.tournament_log("B")] == [1]


def test_a_tournament_is_made_once_by_somebody_who_is_there(store: Store) -> None:
    write(store, made("anna"), tournament("A"))
    with pytest.raises(EntryRefused, match="known already"):
        write(store, tournament("A", at=5))
    with pytest.raises(EntryRefused, match="no player nobody"):
        write(store, tournament("B", director="nobody"))
    with pytest.raises(EntryRefused, match="no player nobody"):
        write(store, decided("A", 1, author="nobody"))
    with pytest.raises(EntryRefused, match="there is no tournament B"):
        write(store, decided("B", 1))


def test_a_refused_request_leaves_the_number_of_its_decision_free(store: Store) -> None:
    write(store, made("anna"), tournament("A"))
    with pytest.raises(EntryRefused):
        write(store, decided("A", 1), decided("A", 3))
    write(store, decided("A", 1))
    assert store.tournament_log("A") == (decided("A", 1),)


def test_a_tournament_without_a_round_can_be_removed_and_one_with_records_cannot(store: Store) -> None:
    write(store, made("anna"), tournament("A"), tournament("B"), decided("A", 1), decided("B", 1))
    write(store, SharedDealMade(kind="round", id="B/1", secret=bytes(32), at_ms=NOW, nonces=("ab",)))
    write(store, TournamentRemoved(tournament="A"))
    assert (store.tournament("A"), store.tournament_log("A")) == (None, ())
    for identity in ("A", "B"):
        with pytest.raises(EntryRefused, match=f"there is no tournament {identity} without a round"):
            write(store, TournamentRemoved(tournament=identity))
    assert store.tournament_log("B") == (decided("B", 1),)
