"""What every store promises about ratings: worked out as records are written, in their order, and stored with seats and players."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from server.race.rating import NEW, Rating, RatingChange, rate
from server.store.errors import EntryRefused
from server.store.port import RaceOver
from server.store.store import Store
from tests.server.store.keeping import NOW, made, opened, over, rated, rated_over, write


def rating(store: Store, player: str) -> Rating | None:
    found = store.player(player)
    assert found is not None
    return found.rating


def race(store: Store, name: str, *, at: int = 0, **places: int) -> None:
    write(store, opened(name), rated_over(name, places, at=at))


def test_a_rated_race_rates_its_players_and_keeps_what_it_did_to_them(store: Store) -> None:
    write(store, made("anna"), made("ben"))
    race(store, "r", anna=1, ben=2)
    anna, ben = rate([1, 2], [NEW, NEW])
    assert (rating(store, "anna"), rating(store, "ben")) == (anna, ben)
    assert store.rating_changes("r") == (RatingChange(NEW, anna), RatingChange(NEW, ben))
    race(store, "s", ben=1, anna=2)
    later_ben, later_anna = rate([1, 2], [ben, anna])
    assert store.rating_changes("s") == (RatingChange(ben, later_ben), RatingChange(anna, later_anna))
    assert rating(store, "anna") == later_anna
    assert store.rating_changes("r") == (RatingChange(NEW, anna), RatingChange(NEW, ben))


def test_races_of_one_batch_are_rated_one_after_the_other(store: Store) -> None:
    write(store, made("anna"), made("ben"), made("eve"))
    names = [f"r{number}" for number in range(4)]
    write(store, *map(opened, names))
    places = [{"anna": 1, "ben": 2}, {"eve": 1, "anna": 1}, {"ben": 2, "eve": 1, "anna": 3}, {"ben": 1, "anna": 2}]
    # The newest by the clock is written first: what counts is the order of writing.
    requests = [[rated_over(name, each, at=9 - at)] for at, (name, each) in enumerate(zip(names, places, strict=True))]
    assert store.write(requests) == (None,) * 4
    known: dict[str, Rating] = {}
    for name, each in zip(names, places, strict=True):
        before = [known.get(player, NEW) for player in each]
        known.update(zip(each, rate(list(each.values()), before), strict=True))
        assert [change.after for change in store.rating_changes(name)] == [known[player] for player in each]
    assert {player: rating(store, player) for player in known} == known


def test_a_refused_request_rates_nobody(store: Store) -> None:
    write(store, made("anna"), made("ben"), opened("r"), opened("s"))
    refused, taken = store.write([[rated_over("r", {"anna": 1, "ben": 2}), opened("s")], [rated_over("s", {"anna": 2, "ben": 1})]])
    assert isinstance(refused, EntryRefused)
    assert taken is None
    assert store.rating_changes("r") == ()
    assert [change.before for change in store.rating_changes("s")] == [NEW, NEW]
    assert rating(store, "anna") == rate([2, 1], [NEW, NEW])[0]


def test_a_race_that_does_not_count_rates_nobody(store: Store) -> None:
    write(store, made("anna"), opened("r"), over("r", "anna", None))
    assert rating(store, "anna") is None
    assert store.rating_changes("r") == ()
    assert store.rating_changes("unknown") == ()
    (played,) = store.history("anna", limit=1)
    assert [seat.rating for seat in played.seats] == [None, None]


def test_a_line_of_history_says_what_the_race_did_to_ratings(store: Store) -> None:
    write(store, made("anna"), made("ben"))
    race(store, "r", ben=1, anna=2)
    (played,) = store.history("anna", limit=1)
    assert tuple(seat.rating for seat in played.seats) == store.rating_changes("r")
    assert played.seats[1].rating == RatingChange(NEW, rate([1, 2], [NEW, NEW])[1])


@pytest.mark.parametrize(
    ("places", "players"),
    [({"anna": 1, "ben": 2}, ("ben", "anna")), ({"anna": 1, "ben": 2}, ("anna", None)), ({"anna": 1}, ("anna",)), ({}, ())],
)
def test_a_rated_record_has_to_be_of_the_players_named_and_of_two_or_more(
    store: Store, places: dict[str, int], players: tuple[str | None, ...]
) -> None:
    write(store, made("anna"), made("ben"), opened("r"))
    with pytest.raises(EntryRefused, match="race r: "):
        write(store, RaceOver(race="r", record=rated("r", **places), players=players, at_ms=NOW))
    assert store.record("r") is None
    assert rating(store, "anna") is None


def test_a_rated_record_with_a_bot_is_refused(store: Store) -> None:
    write(store, made("anna"), opened("r"))
    record = rated("r", anna=1, bot=2)
    seats = (record.seats[0], replace(record.seats[1], player="", bot="random"))
    with pytest.raises(EntryRefused, match="race r: "):
        write(store, RaceOver(race="r", record=replace(record, seats=seats), players=("anna", None), at_ms=NOW))


def test_the_ladder_has_the_surest_first_then_goes_by_name_and_has_nobody_without_a_rated_race(store: Store) -> None:
    write(store, *[made(player) for player in ("steady", "second", "zoe", "Abe", "low", "lower", "unrated")])
    for number in range(20):
        race(store, f"s{number}", steady=1, second=2)
    race(store, "z", zoe=1, low=2)
    race(store, "a", Abe=1, lower=2)
    ladder = store.ladder(10)
    assert [player.id for player in ladder] == ["steady", "Abe", "zoe", "low", "lower", "second"]
    worths = [player.rating.worth for player in ladder if player.rating is not None]
    assert worths == sorted(worths, reverse=True)
    assert [player.id for player in store.ladder(1)] == ["steady"]
