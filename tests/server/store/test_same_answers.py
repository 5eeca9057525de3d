"""The stores in a database and in memory give the same answers, whatever is written, in whatever batches."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.store.database import open_database
from server.store.memory import MemoryStore
from server.store.port import Entry, PlayerRenamed, PlayerSeen, PlayersLeft, RaceAborted, Request
from server.store.store import Store
from tests.server.store.keeping import made, opened, over, rated_over, seat, taken

PLAYERS = ("a", "b", "c")
RACES = ("r", "s", "t")
NAMES = ("Anna", "ANNA", "Ben", "Cleo", "\x00")

player = st.sampled_from(PLAYERS)
race = st.sampled_from(RACES)
name = st.sampled_from(NAMES)
at = st.integers(0, 3)
here = st.sampled_from([(), (0,), (1,), (0, 1)])

entries: st.SearchStrategy[Entry] = st.one_of(
    st.builds(made, player, name, at=at),
    st.builds(PlayerRenamed, player=player, name=name),
    st.builds(PlayerSeen, player=player, at_ms=at),
    st.builds(opened, race, at=at),
    st.builds(taken, race, st.integers(1, 3), at=at),
    st.builds(over, race, st.none() | player, st.none() | player, at=at, here=here),
    st.builds(PlayersLeft, race=race, seats=here, gave_up=st.booleans()),
    st.builds(lambda race, places, at: rated_over(race, places, at=at), race, st.dictionaries(player, st.integers(1, 3), max_size=3), at),
    st.builds(
        RaceAborted, race=race, reason=st.just("no"), at_ms=at, seats=st.lists(st.builds(seat, st.none() | player), max_size=2).map(tuple)
    ),
)
batches = st.lists(st.lists(st.lists(entries, min_size=1, max_size=4), max_size=6), max_size=6)


def all_of(store: Store) -> list[Any]:
    """Everything that can be asked of a store."""
    return [
        store.running(),
        store.standing(),
        store.ladder(10),
        *(store.player(player) for player in PLAYERS),
        *(store.player_by_token_hash(made(player).token_hash) for player in PLAYERS),
        *(store.player_by_name(name) for name in NAMES[:-1]),
        *(store.record(race) for race in RACES),
        *(store.rating_changes(race) for race in RACES),
        *(store.race_status(race) for race in RACES),
        *(store.history(player, limit=10) for player in PLAYERS),
        *(store.history(player, limit=1, before=page[0].mark) for player in PLAYERS if (page := store.history(player, limit=1))),
    ]


def kinds(outcomes: tuple[Exception | None, ...]) -> list[type[Exception] | None]:
    return [None if outcome is None else type(outcome) for outcome in outcomes]


@pytest.mark.slow
@settings(max_examples=60)
@given(written=batches, reopens=st.booleans())
def test_the_same_entries_give_the_same_store(made_sqlite: Path, written: list[list[Request]], reopens: bool) -> None:
    with TemporaryDirectory() as folder:
        where = str(shutil.copy(made_sqlite, folder))
        memory, database = MemoryStore(), open_database(where)
        try:
            for batch in written:
                assert kinds(database.write(batch)) == kinds(memory.write(batch))
                if reopens:
                    database.close()
                    database = open_database(where)
            assert all_of(database) == all_of(memory)
        finally:
            database.close()
