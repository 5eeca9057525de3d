"""What is removed when it is old: rooms without a race, players who only said hello, challenges nobody took up, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from server.race.commands import TakeSeat
from server.store.database import DatabaseStore
from server.store.port import PlayerSeen, RaceAborted, TournamentDecided, TournamentMade
from server.store.pruning import Pruned
from tests.server.race.racing import SECRET
from tests.server.store.keeping import NOW, made, opened, over, seat, taken, write
from tests.server.store.test_contract import CHALLENGE, DEAL, run

OLD = NOW + 1000


def test_rooms_without_a_race_go_and_races_that_had_begun_stay(database: DatabaseStore) -> None:
    write(database, made("anna"), *[opened(race) for race in ("left", "over", "broken", "runs", "new")])
    write(database, over("over", "anna", None), RaceAborted(race="broken", reason="no", at_ms=NOW, seats=(seat("anna"),)))
    write(database, RaceAborted(race="left", reason="no", at_ms=NOW), RaceAborted(race="new", reason="no", at_ms=OLD))
    assert database.prune(OLD) == Pruned(races=1)
    assert database.race_status("left") is None
    assert all(database.race_status(race) for race in ("over", "broken", "runs", "new"))
    assert database.prune(OLD) == Pruned()


def test_a_room_stays_as_long_as_the_log_has_its_commands_which_would_be_of_no_race_without_it(database: DatabaseStore) -> None:
    write(database, opened("left"), taken("left", 1, TakeSeat("anna", "Anna")), RaceAborted(race="left", reason="no", at_ms=NOW))
    assert database.prune(OLD) == Pruned()
    with database.maintaining() as sql:
        sql.run("DELETE FROM batches")
    assert database.prune(OLD) == Pruned(races=1)


def test_players_go_who_only_said_hello(database: DatabaseStore) -> None:
    write(database, *map(made, ("hello", "back", "racer", "seated", "invited", "runner", "director", "entrant", "judge", "owner")))
    write(database, PlayerSeen(player="back", at_ms=OLD))
    write(database, opened("over"), over("over", "racer", None))
    write(database, opened("waits"), taken("waits", 1, TakeSeat("seated", "Seated")))
    write(database, DEAL, run("invites", "invited"), run("ran", "runner", rules="twenty"))
    write(database, RaceAborted(race="ran", reason="no", at_ms=NOW, seats=(seat("runner"),)))
    write(database, TournamentMade(tournament="t", director="director", secret=SECRET, document="{}", at_ms=NOW))
    write(
        database, TournamentDecided(tournament="t", sequence=1, at_ms=NOW, author="judge", decision='[1, "enter", {"player": "entrant"}]')
    )
    write(database, replace(CHALLENGE, owner="owner", at_ms=OLD))
    assert database.prune(OLD) == Pruned(players=1)
    assert database.player("hello") is None
    write(database, made("hello"))


def test_challenges_go_that_nobody_took_up(database: DatabaseStore) -> None:
    write(database, made("ada"), DEAL, CHALLENGE, replace(CHALLENGE, id="TAKEN"), run("A", "ada", deal=replace(CHALLENGE, id="TAKEN")))
    assert database.prune(OLD) == Pruned(shared_deals=1)
    assert database.shared_deal("challenge", "KQWERT") is None
    assert database.shared_deal("challenge", "TAKEN") is not None
    assert database.shared_deal("daily", DEAL.id) is not None


def test_what_is_used_between_being_found_and_being_removed_stays(database: DatabaseStore) -> None:
    write(database, made("anna"), made("ben"))
    ((table, keys),) = database.prunable(OLD)
    write(database, PlayerSeen(player="anna", at_ms=OLD))
    assert (sorted(keys), database.remove(table, keys, OLD)) == (["anna", "ben"], 1)
    assert database.player("anna") is not None


def test_much_is_removed_a_little_at_a_time(database: DatabaseStore) -> None:
    write(database, *[made(f"p{number}") for number in range(450)])
    assert [len(keys) for _, keys in database.prunable(OLD)] == [200, 200, 50]
    assert database.prune(OLD) == Pruned(players=450)
