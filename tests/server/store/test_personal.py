"""What is kept about a player: all of it is given out, and their name is taken out of all of it, while everything still holds together."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace as replace_entry
from pathlib import Path

import pytest
from msgspec.structs import replace

from protocol.record import PastPosition, sealed
from protocol.views import SeriesOptions
from server.match.series import Series
from server.race.commands import TakeSeat
from server.race.start_position import StartPosition
from server.store.database import DatabaseStore, open_database
from server.store.errors import StoreCorrupt, StoreFull, StoreInUse, StoreUnavailable
from server.store.personal import about, forget
from server.store.port import Banned, RaceAborted, RaceOver, TournamentDecided, TournamentMade
from server.store.rerating import rerate
from server.store.tables import IN_ORDER
from server.tournaments.events import DirectorChanged, EntrantRenamed, decode_event, encode_event
from tests.server.race.racing import SECRET
from tests.server.store.keeping import made, opened, over, rated_over, seat, taken, won, write

MAKING = '[1,{"options":{},"code":null,"director_name":"Wilma7"}]'


def enters(player: str) -> str:
    return json.dumps([1, "enter", {"entrant": player, "name": player.title(), "rating": None, "bot": None}])


@pytest.fixture
def kept(empty: str, database: DatabaseStore) -> str:
    """Wilma7 has raced, directed and entered, and so has Ben. Somebody has played on from their race. No server runs."""
    write(database, made("wilma7"), made("ben"), opened("rated"), opened("broken"), opened("on"))
    write(database, taken("rated", 1, TakeSeat("wilma7", "Wilma7")), taken("on", 1, TakeSeat("ben", "Ben")))
    write(database, rated_over("rated", {"wilma7": 1, "ben": 2}))
    write(database, RaceAborted(race="broken", reason="no", at_ms=1, seats=(seat("wilma7"), seat("ben"))))
    earlier = database.record("rated")
    assert earlier is not None
    past = PastPosition(race="rated", digest=earlier.digest, seat=0, moves=())
    on = sealed(replace(won(), deal=replace(won().deal, past=past)))
    write(database, RaceOver(race="on", record=on, players=("ben", None), at_ms=1, here=()))
    # A later race of their series, opened with the results of the earlier ones, and one that still runs from a position of theirs.
    so_far = Series(options=SeriesOptions(), seats=2).raced(earlier)
    start_position = StartPosition(past=past, ply=0, seed=SECRET.hex())
    write(database, replace_entry(opened("next"), series=so_far), replace_entry(opened("running"), start_position=start_position))
    write(database, RaceAborted(race="next", reason="no", at_ms=1, seats=(seat("ben"), seat("ben"))))
    write(database, TournamentMade(tournament="T", director="wilma7", secret=SECRET, document=MAKING, at_ms=1))
    for number, player in enumerate(("ben", "wilma7"), 1):
        write(database, TournamentDecided(tournament="T", sequence=number, at_ms=1, author=player, decision=enters(player)))
    write(database, Banned(kind="player", subject="wilma7", reason="floods", at_ms=1))
    database.close()
    return empty


def everything(where: str) -> str:
    with closing(open_database(where)) as store, store.maintaining() as sql:
        return repr([sql.rows(f"SELECT * FROM {table}") for table in IN_ORDER])


def test_a_forgotten_name_is_not_in_what_made_them_direct_a_tournament_either(kept: str) -> None:
    with closing(open_database(kept)) as store:
        directs = encode_event(DirectorChanged("wilma7", "Wilma7"))
        write(store, TournamentDecided(tournament="T", sequence=3, at_ms=1, author=None, decision=directs))
    name = forget("wilma7", kept)
    assert "Wilma7" not in everything(kept)
    with closing(open_database(kept)) as store:
        assert decode_event(store.tournament_log("T")[2].decision) == DirectorChanged("wilma7", name)


def test_a_forgotten_name_is_not_what_a_director_corrected_it_to_either(kept: str) -> None:
    with closing(open_database(kept)) as store:
        corrected = encode_event(EntrantRenamed("wilma7", "Wilma Seven", "mistyped"))
        write(store, TournamentDecided(tournament="T", sequence=3, at_ms=1, author=None, decision=corrected))
    name = forget("wilma7", kept)
    assert "Wilma" not in everything(kept)
    with closing(open_database(kept)) as store:
        assert decode_event(store.tournament_log("T")[2].decision) == EntrantRenamed("wilma7", name, "mistyped")


def test_a_forgotten_name_is_nowhere_any_more_and_all_that_was_kept_still_holds_together(kept: str) -> None:
    assert everything(kept).count("Wilma7") == 8
    with closing(open_database(kept)) as store:
        before = {race: store.record(race) for race in ("rated", "on")}
    name = forget("wilma7", kept)
    assert name.startswith("somebody ")
    found = everything(kept)
    assert "Wilma7" not in found
    # The key of the name is the name itself; the commands of the race are gone.
    assert found.count(name) == 8
    assert rerate(kept).agrees
    with closing(open_database(kept)) as store:
        # A record is only given out if its digest is that of its text.
        rated, on = store.record("rated"), store.record("on")
        assert rated is not None
        assert on is not None
        assert [each.name for each in rated.seats] == [name, "Ben"]
        assert on.deal.past is not None
        assert on.deal.past.digest == rated.digest != before["rated"].digest  # type: ignore[union-attr]
        (running,) = store.running().races
        assert running.opened.start_position is not None
        assert running.opened.start_position.past.digest == rated.digest
        others, own = store.tournament_log("T")
        assert others.decision == enters("ben")
        assert json.loads(own.decision) == [1, "enter", json.loads(enters("wilma7"))[2] | {"name": name}]
        assert store.player_by_token_hash(made("wilma7").token_hash) is None
        # The name is free, and does not make anybody the old player.
        write(store, made("new", "Wilma7"))


def test_nothing_of_a_forgotten_name_stays_in_the_file(empty_sqlite: str) -> None:
    with closing(open_database(empty_sqlite)) as store:
        write(store, made("wilma7"), opened("r"))
        write(store, over("r", "wilma7", None))
    # In pages that have been free for long, too.
    with closing(sqlite3.connect(empty_sqlite)) as file:
        file.executescript("PRAGMA secure_delete = OFF; CREATE TABLE gone (name TEXT)")
        with file:
            file.executemany("INSERT INTO gone VALUES (?)", [("Wilma7" * 100,)] * 50)
        file.execute("DROP TABLE gone")
    assert Path(empty_sqlite).read_bytes().count(b"Wilma7") > 1000
    forget("WILMA7", empty_sqlite)
    assert b"Wilma7" not in Path(empty_sqlite).read_bytes()


def test_that_a_name_is_gone_is_said_even_if_the_file_could_not_be_written_anew(empty_sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(open_database(empty_sqlite)) as store:
        write(store, made("wilma7"))

    def full(store: object) -> None:
        raise StoreFull("no space is left")

    monkeypatch.setattr(DatabaseStore, "write_anew", full)
    with pytest.raises(StoreUnavailable, match=r"they are somebody \w{6} now, but the old name .* is done too: no space is left"):
        forget("wilma7", empty_sqlite)
    with closing(open_database(empty_sqlite)) as store:
        player = store.player("wilma7")
        assert player is not None
        assert player.name.startswith("somebody ")
    monkeypatch.undo()
    forget(player.name, empty_sqlite)
    assert b"Wilma7" not in Path(empty_sqlite).read_bytes()


def test_nobody_is_forgotten_in_the_middle_of_a_race_or_while_a_server_runs(empty: str, database: DatabaseStore) -> None:
    write(database, made("wilma7"), opened("r"), taken("r", 1, TakeSeat("wilma7", "Wilma7")))
    if "postgres" not in empty:
        with pytest.raises(StoreInUse):
            forget("wilma7", empty)
    database.close()
    with pytest.raises(StoreUnavailable, match=r"Wilma7 is in a race that is not over, or was in its room: .*admin rooms end r"):
        forget("wilma7", empty)
    assert "Wilma7" in everything(empty)


def test_nothing_is_changed_where_something_of_theirs_cannot_be_read(kept: str) -> None:
    with closing(open_database(kept)) as store, store.maintaining() as sql:
        sql.run("UPDATE records SET digest = :digest WHERE race = 'rated'", [{"digest": "0" * 64}])
    with pytest.raises(StoreCorrupt, match=r"nothing was changed: .* altered; run carpet-server db check"):
        forget("wilma7", kept)
    assert everything(kept).count("Wilma7") == 8


def test_all_that_is_kept_about_a_player_is_given_out_without_a_secret_and_without_what_is_about_others(kept: str) -> None:
    told = about("WILMA7", kept)
    assert told["player"]["id"] == "wilma7"
    assert [row["race"] for row in told["races"]] == ["broken", "rated"]
    assert [row["id"] for row in told["tournaments_directed"]] == ["T"]
    assert [row["sequence"] for row in told["decisions"]] == [2]
    assert told["bans"] == [{"reason": "floods", "at_ms": 1}]
    assert (told["runs"], told["challenges"]) == ([], [])
    assert "token" not in repr(told)
    assert "secret" not in repr(told)
    assert "ben" not in repr(told)
    with pytest.raises(StoreUnavailable, match="there is no player 'Nobody'"):
        about("Nobody", kept)


def test_whose_name_is_the_id_of_another_is_to_be_named_by_their_own_id(empty: str, database: DatabaseStore) -> None:
    write(database, made("one", "Alfa"), made("two", "one"))
    database.close()
    with pytest.raises(StoreUnavailable, match="one is the name of one player and the id of another"):
        forget("one", empty)
