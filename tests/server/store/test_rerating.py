"""All ratings worked out again from the records: they agree after any history, and manual changes are found and corrected."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from server.store.database import DatabaseStore, open_database
from server.store.errors import StoreCorrupt, StoreInUse
from server.store.journal import Journal
from server.store.port import Request
from server.store.rerating import repair, rerate
from tests.server.store.keeping import journalling, made, opened, over, rated_over, write

PLAYERS = ("anna", "ben", "cleo", "dora")

histories = st.lists(st.lists(st.dictionaries(st.sampled_from(PLAYERS), st.integers(1, 3), min_size=2), min_size=1, max_size=5), max_size=4)


@settings(max_examples=25)
@given(batches=histories, reopens=st.booleans())
def test_what_is_stored_agrees_after_any_history(made_sqlite: Path, batches: list[list[dict[str, int]]], reopens: bool) -> None:
    with TemporaryDirectory() as folder:
        where = str(shutil.copy(made_sqlite, folder))
        store = open_database(where)
        try:
            write(store, *map(made, PLAYERS))
            for number, batch in enumerate(batches):
                requests: list[Request] = [
                    [opened(f"r{number}.{each}"), rated_over(f"r{number}.{each}", places)] for each, places in enumerate(batch)
                ]
                assert store.write(requests) == (None,) * len(batch)
                if reopens:
                    store.close()
                    store = open_database(where)
            found = rerate(where)
            assert found.agrees, (found.seats_wrong, found.players_wrong)
            assert found.races == sum(map(len, batches))
            assert found.players == len({player for batch in batches for places in batch for player in places})
        finally:
            store.close()


async def test_what_is_stored_agrees_after_races_of_many_rooms_at_once(empty: str, database: DatabaseStore) -> None:
    """The journal writes what arrives at once in batches; records are numbered in the order of writing."""
    chance = Random(4)

    async def room(journal: Journal, code: int) -> None:
        for number in range(6):
            race = f"{code}-{number}"
            await journal.write(opened(race, at=chance.randrange(9)))
            seated = chance.sample(PLAYERS, chance.randint(2, 4))
            at = chance.randrange(9)
            await journal.write(rated_over(race, {player: chance.randint(1, 3) for player in seated}, at=at))

    async with journalling(database) as journal:
        await journal.write(*map(made, PLAYERS))
        async with trio.open_nursery() as rooms:
            for code in range(12):
                rooms.start_soon(room, journal, code)
    assert journal.statistics.largest > 1
    found = rerate(empty)
    assert (found.agrees, found.races, found.players) == (True, 72, 4), (found.seats_wrong, found.players_wrong)


@pytest.fixture
def kept(empty: str, database: DatabaseStore) -> str:
    """Four rated races and one that does not count, with no server running."""
    write(database, *map(made, PLAYERS))
    for race, places in {"r": {"anna": 1, "ben": 2}, "s": {"ben": 1, "cleo": 1}, "t": {"anna": 3, "cleo": 2, "ben": 1}}.items():
        write(database, opened(race), rated_over(race, places))
    write(database, opened("bot"), over("bot", "anna", None))
    database.close()
    return empty


def test_each_number_that_was_changed_is_found_and_put_right(kept: str) -> None:
    assert rerate(kept).agrees
    with closing(open_database(kept)) as store, store.maintaining() as sql:
        sql.run("UPDATE players SET mu = 99.0 WHERE id = 'anna'")
        sql.run("UPDATE players SET races = 4 WHERE id = 'ben'")
        sql.run("UPDATE players SET mu = NULL, sigma = NULL, races = 0 WHERE id = 'cleo'")
        sql.run("UPDATE players SET mu = 25.0, sigma = 1.0, races = 1 WHERE id = 'dora'")
        sql.run("UPDATE seats SET sigma_before = sigma_before + 1e-6 WHERE race = 's' AND seat = 1")
        sql.run("UPDATE seats SET rated_races = NULL WHERE race = 't' AND seat = 0")
        all_one = "mu_before = 1, sigma_before = 1, mu_after = 1, sigma_after = 1, rated_races = 1"
        sql.run(f"UPDATE seats SET {all_one} WHERE race = 'bot' AND seat = 0")
    found = rerate(kept)
    assert [wrong.player for wrong in found.players_wrong] == ["anna", "ben", "cleo", "dora"]
    assert sorted((wrong.race, wrong.seat) for wrong in found.seats_wrong) == [("bot", 0), ("s", 1), ("t", 0)]
    assert str(found.players_wrong[2]).startswith("player cleo (Cleo): no rating is stored, 10")
    assert str(found.seats_wrong[1]).startswith("race t, seat 1: no change is stored, 1138 (mu ")
    assert repair(kept) == found
    assert rerate(kept).agrees
    assert repair(kept).agrees


def test_a_record_that_is_taken_out_is_found_by_all_that_came_after_it(kept: str) -> None:
    with closing(open_database(kept)) as store, store.maintaining() as sql:
        sql.run("DELETE FROM records WHERE race = 'r'")
    found = rerate(kept)
    assert {wrong.race for wrong in found.seats_wrong} == {"s", "t"}
    assert {wrong.player for wrong in found.players_wrong} == {"anna", "ben", "cleo"}


def test_what_cannot_be_put_right_is_said_and_left(kept: str) -> None:
    with closing(open_database(kept)) as store, store.maintaining() as sql:
        sql.run("DELETE FROM seats WHERE race = 'r' AND seat = 0")
        sql.run("UPDATE players SET mu = 99.0 WHERE id = 'anna'")
    with pytest.raises(StoreCorrupt, match="more is wrong than ratings, and nothing was changed; run carpet-server db check"):
        repair(kept)
    assert [wrong.player for wrong in rerate(kept).players_wrong] == ["anna"]


def test_an_altered_record_is_no_ground_for_ratings(kept: str) -> None:
    with closing(open_database(kept)) as store, store.maintaining() as sql:
        sql.run("UPDATE records SET digest = :digest WHERE race = 'r'", [{"digest": "0" * 64}])
    with pytest.raises(StoreCorrupt, match=r"the record of race r cannot be read: .* altered"):
        rerate(kept)


def test_ratings_are_compared_while_a_server_runs_but_put_right_only_when_none_does(empty_sqlite: str) -> None:
    store = open_database(empty_sqlite)
    assert rerate(empty_sqlite).agrees
    with pytest.raises(StoreInUse):
        repair(empty_sqlite)
    store.close()
