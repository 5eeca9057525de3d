"""What every store promises, tested on each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from protocol.text import NAME_LENGTH
from protocol.views import RaceOptions, SeriesOptions, SharedDeal
from server.match.series import Series
from server.race.commands import TakeSeat
from server.race.shared_deal_spec import SharedDealSpec
from server.store.answers import Mark, RaceStatus, Running, RunningRace, StandingRace
from server.store.database import DatabaseStore, open_database
from server.store.errors import EntryRefused, NameTaken, RunAlready
from server.store.port import (
    NEVER_MS,
    Entry,
    PlayerRenamed,
    PlayerSeen,
    PlayersLeft,
    RaceAborted,
    RaceOpened,
    Request,
    SharedDealMade,
    SharedDealRevealed,
    name_key,
    race_id,
)
from server.store.sql import Sql
from server.store.store import Store
from tests.server.race.racing import SECRET
from tests.server.store.keeping import NOW, driven, logged, made, opened, over, rated_over, seat, taken, won, write


def names(store: Store, *players: str) -> list[str | None]:
    return [player.name if player is not None else None for player in map(store.player, players)]


def test_an_empty_store_has_nothing(store: Store) -> None:
    assert store.running() == Running((), ())
    assert store.standing() == ()
    assert store.player("anna") is None
    assert store.player_by_token_hash(b"?") is None
    assert store.player_by_name("Anna") is None
    assert store.record("r") is None
    assert store.race_status("r") is None
    assert store.history("anna", limit=10) == ()
    assert store.ladder(10) == ()
    assert store.write([]) == ()


# ---- players


def kept(store: Store, statement: str) -> int:
    """A moment that is kept, and that no answer tells."""
    with store._reading() as sql:
        found: int = sql.rows(statement)[0][0]
        return found


def test_a_player_is_known_by_id_and_by_token(store: Store) -> None:
    write(store, made("anna", at=5))
    anna = store.player("anna")
    assert anna is not None
    created_at_ms = kept(store, "SELECT created_at_ms FROM players WHERE id = 'anna'")
    assert (anna.id, anna.name, created_at_ms, anna.seen_at_ms, anna.rating) == ("anna", "Anna", NOW + 5, NOW + 5, None)
    assert store.player_by_token_hash(made("anna").token_hash) == anna
    assert store.player_by_token_hash(b"another") is None


def test_a_player_is_found_by_the_name_they_have_now(store: Store) -> None:
    write(store, made("anna"), made("ben"))
    write(store, PlayerRenamed(player="anna", name="Cleo"))
    found = {name: store.player_by_name(name) for name in ("Anna", "cleo", "BEN", "", "Nobody")}
    assert {name: player.id for name, player in found.items() if player is not None} == {"cleo": "anna", "BEN": "ben"}


@pytest.mark.parametrize(("name", "same"), [("Anna", "aNNA"), ("Straße", "STRASSE"), ("Ἀθηνᾶ", "ἀθηνᾶ"), ("Ａnna", "Anna")])
def test_a_name_is_taken_in_every_case_and_width_of_its_letters(store: Store, name: str, same: str) -> None:
    write(store, made("a", name))
    assert store.player_by_name(same) == store.player("a")
    with pytest.raises(NameTaken, match="another player's"):
        write(store, made("b", same))
    assert store.player("b") is None
    assert store.player_by_token_hash(made("b").token_hash) is None


def test_a_name_that_is_given_up_is_free_and_its_new_case_is_the_players_own(store: Store) -> None:
    write(store, made("anna"))
    write(store, PlayerRenamed(player="anna", name="ANNA"))
    write(store, PlayerRenamed(player="anna", name="Berta"))
    assert store.player_by_name("Anna") is None
    write(store, made("second", "Anna"))
    with pytest.raises(NameTaken):
        write(store, PlayerRenamed(player="second", name="berta"))
    assert names(store, "anna", "second") == ["Berta", "Anna"]


def test_names_may_be_swapped_in_one_request(store: Store) -> None:
    write(store, made("a", "Anna"), made("b", "Berta"))
    write(store, *[PlayerRenamed(player=player, name=name) for player, name in [("a", "x"), ("b", "Anna"), ("a", "Berta")]])
    assert names(store, "a", "b") == ["Berta", "Anna"]


@pytest.mark.parametrize("name", ["", " Anna", "An\x00na", "\x1b[31mAnna", "x" * (NAME_LENGTH + 1), "\ud800"])
def test_a_name_that_was_not_cleaned_is_refused(store: Store, name: str) -> None:
    with pytest.raises(EntryRefused):
        write(store, made("a", name or "\u200b"))
    assert store.player("a") is None


def test_a_player_is_made_once(store: Store) -> None:
    write(store, made("anna"))
    with pytest.raises(EntryRefused, match="known already"):
        write(store, made("anna", "Other"))


def test_being_seen_is_kept(store: Store) -> None:
    write(store, made("anna"))
    write(store, PlayerSeen(player="anna", at_ms=NOW + 7))
    anna = store.player("anna")
    assert anna is not None
    assert (kept(store, "SELECT created_at_ms FROM players WHERE id = 'anna'"), anna.seen_at_ms) == (NOW, NOW + 7)


@pytest.mark.parametrize(
    "entry",
    [PlayerRenamed(player="nobody", name="x"), PlayerSeen(player="nobody", at_ms=1)],
    ids=lambda entry: type(entry).__name__,
)
def test_what_is_about_nobody_is_refused(store: Store, entry: Entry) -> None:
    with pytest.raises(EntryRefused, match="no player nobody"):
        write(store, entry)


# ---- races


def test_a_later_race_of_a_series_comes_back_with_how_the_series_stood(store: Store) -> None:
    series = Series(options=SeriesOptions(format="best-of", races=3), seats=2, id="r").raced(won())
    second = replace(opened("s", options=RaceOptions(series=series.options)), series=series, won=(2, 1))
    store.write([(second,)])
    assert store.running().races == (RunningRace(second, ()),)


def test_a_running_race_comes_back_with_all_its_commands_in_order(store: Store) -> None:
    options = RaceOptions(rules="carpet", seats=2, bots=("deep",), deal='A "name"\n')
    commands = logged("r")
    write(store, opened("r", options=options))
    for command in commands:
        write(store, command)
    assert store.running() == Running((RunningRace(opened("r", options=options), tuple(commands)),), ())


def test_races_come_back_by_the_time_of_their_opening_each_with_its_own_commands(store: Store) -> None:
    write(store, opened("late", at=9))
    write(store, opened("b", at=3), opened("a", at=3))
    for sequence in range(1, 6):
        store.write([[taken(race, sequence)] for race in ("late", "a", "b")])
    races = store.running().races
    assert [race.opened.race for race in races] == ["a", "b", "late"]
    assert all(race.commands == tuple(taken(race.opened.race, sequence) for sequence in range(1, 6)) for race in races)


@pytest.mark.parametrize("sequence", [0, 1, 3, 4])
def test_a_gap_or_a_repetition_in_a_races_commands_is_refused(store: Store, sequence: int) -> None:
    write(store, opened("r"), taken("r", 1))
    with pytest.raises(EntryRefused, match=f"race r: command {sequence} cannot follow command 1"):
        write(store, taken("r", sequence))
    write(store, taken("r", 2))
    assert [command.sequence for command in store.running().races[0].commands] == [1, 2]


def test_a_race_that_is_over_has_its_record_and_runs_no_more(store: Store) -> None:
    write(store, made("anna"), opened("r"), *logged("r"))
    write(store, over("r", "anna", None))
    assert store.running() == Running((), ())
    assert store.record("r") == won()
    assert store.race_status("r") == RaceStatus("over", None)
    for entry in (taken("r", len(driven().log) + 1), over("r", "anna", None), RaceAborted(race="r", reason="no", at_ms=NOW)):
        with pytest.raises(EntryRefused, match="race r is not running"):
            write(store, entry)
    with pytest.raises(EntryRefused, match="opened before"):
        write(store, opened("r"))


def test_of_the_races_under_a_code_the_one_that_was_over_last_is_found(store: Store) -> None:
    assert store.last_race("ABCDEF") is None
    for race, at in (("ABCDEF-1-0a", 20), ("ABCDEFGH-1-0b", 30), ("ABCDEF-2-0a", 10)):
        write(store, opened(race), over(race, at=at))
    write(store, replace(opened("ABCDEF-4-0a"), room="OTHERS"), over("ABCDEF-4-0a", at=40))
    write(store, opened("ABCDEF-3-0a"))
    # Of a private room the id does not tell the code, and the code leads to it all the same.
    assert store.last_race("ABCDEF") == "ABCDEFGH-1-0b"
    assert store.last_race("ABCDE") is None


def test_public_races_that_are_over_are_found_by_their_rule_set_the_newest_first(store: Store) -> None:
    colorado = RaceOptions(rules="colorado")
    hidden = RaceOptions(rules="colorado", public=False)
    races = {"a": colorado, "b": colorado, "private": hidden, "other": RaceOptions(), "c": colorado}
    for number, (race, options) in enumerate(races.items()):
        write(store, opened(race, options=options), over(race, at=number))
    write(store, opened("runs", options=colorado), opened("aborted", options=colorado), RaceAborted(race="aborted", reason="no", at_ms=NOW))
    found = store.races_listed("colorado", limit=2)
    assert [(race.race, race.rules, race.finished_at_ms) for race in found] == [("c", "colorado", NOW + 4), ("b", "colorado", NOW + 1)]
    assert store.races_listed("twenty", limit=9) == ()


def test_players_are_found_by_the_beginning_of_their_names(store: Store) -> None:
    for number, name in enumerate(("Ada", "adam", "Ädä", "B%", "b_", "bob", "ADEL", "𝐀dx")):
        write(store, made(f"player{number}", name))

    def found(start: str, limit: int = 9) -> list[str]:
        return [player.name for player in store.players_called(start, limit=limit)]

    assert found("ad") == ["Ada", "adam", "ADEL", "𝐀dx"]
    assert found("AD", limit=2) == ["Ada", "adam"]
    assert (found("ä"), found("%"), found("_"), found("b%"), found("z")) == (["Ädä"], [], [], ["B%"], [])


@pytest.mark.parametrize(
    ("ask", "index", "is_in_order"),
    [
        (partial(Store.players_called, start="carpet", limit=20), "sqlite_autoindex_players", True),
        (partial(Store.races_listed, rules="carpet", limit=20), "races_listed", True),
        (partial(Store.ladder, limit=20), "players_rated", True),
        (partial(Store.stood_last, room="ABCDEF"), "races_over_by_room", False),
        (partial(Store.remove, table="players", keys=["nobody"], before_ms=NOW), "sqlite_autoindex_players", False),
    ],
)
def test_what_anybody_may_ask_for_and_what_moves_wait_for_is_looked_up_in_indexes(
    sqlite: str, ask: Callable[[Store], object], index: str, is_in_order: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_database(sqlite)
    asked: list[tuple[str, Any]] = []

    def noting(does: Callable[..., object]) -> Callable[..., object]:
        def noted(sql: Sql, statement: str, values: Any = ()) -> object:
            asked.append((statement, values[0] if isinstance(values, list) else values))
            return does(sql, statement, values)

        return noted

    for name in ("rows", "row", "run"):
        monkeypatch.setattr(Sql, name, noting(getattr(Sql, name)))
    ask(store)
    monkeypatch.undo()
    ((statement, values),) = asked
    with store._reading() as sql:
        plan = [str(row.detail) for row in sql.rows(f"EXPLAIN QUERY PLAN {statement}", values)]
    store.close()
    assert index in plan[0]
    assert not any(step.startswith("SCAN") and index not in step for step in plan), plan
    assert not (is_in_order and any("SORT" in step or "TEMP B-TREE" in step for step in plan)), plan


def test_the_last_command_and_the_record_are_one_request(store: Store) -> None:
    *before, last = logged("r")
    write(store, opened("r"), *before)
    write(store, last, over("r"))
    assert store.record("r") == won()
    assert store.running().races == ()


def test_an_aborted_race_leaves_no_record(store: Store) -> None:
    write(store, opened("r"), taken("r", 1))
    assert store.race_status("r") == RaceStatus("running", None)
    write(store, RaceAborted(race="r", reason="nobody came", at_ms=NOW))
    assert store.running() == Running((), ())
    assert store.record("r") is None
    assert store.race_status("r") == RaceStatus("aborted", "nobody came")


def test_a_race_that_had_begun_and_was_aborted_is_in_its_players_histories_without_places(store: Store) -> None:
    write(store, made("anna"), made("ben"), opened("won"), over("won", "anna", "ben", at=10), opened("r"), opened("closed"))
    seats = (seat("anna"), seat(None, bot="deep"), seat("ben"))
    write(store, RaceAborted(race="r", reason="the power failed", at_ms=NOW + 20, seats=seats))
    write(store, RaceAborted(race="closed", reason="nobody came", at_ms=NOW + 30))
    for number, player in ((0, "anna"), (2, "ben")):
        newest, before = store.history(player, limit=5)
        assert (newest.race, newest.aborted, newest.seat, newest.finished_at_ms) == ("r", "the power failed", number, NOW + 20)
        assert newest.seats == seats
        assert (before.race, before.aborted) == ("won", None)
        assert store.history(player, limit=5, before=newest.mark) == (before,)


def test_an_aborted_race_of_somebody_who_is_not_known_is_refused(store: Store) -> None:
    write(store, opened("r"))
    with pytest.raises(EntryRefused, match="no player anna"):
        write(store, RaceAborted(race="r", reason="no", at_ms=NOW, seats=(seat("anna"),)))
    assert store.race_status("r") == RaceStatus("running", None)


def test_a_race_that_is_over_stands_while_somebody_is_in_its_room(store: Store) -> None:
    write(store, made("anna"), made("ben"), opened("late"), opened("r"), opened("rated"), opened("empty"))
    write(store, over("late", "anna", "ben", at=30, here=(0, 1)), over("empty", "anna", "ben", at=5))
    write(store, over("r", "anna", None, at=10, here=(0,)), rated_over("rated", {"anna": 1, "ben": 2}, at=20, here=(1,)))
    first, second, third = store.standing()
    assert first == StandingRace(
        opened=opened("r"), record=won(), players=("anna", None), here=frozenset({0}), gone=frozenset(), changes=(), ended_at_ms=NOW + 10
    )
    assert (second.opened.race, second.here, second.changes) == ("rated", frozenset({1}), store.rating_changes("rated"))
    assert len(second.changes) == 2
    assert (third.opened.race, third.here) == ("late", frozenset({0, 1}))
    write(store, PlayersLeft(race="late", seats=(1,)), PlayersLeft(race="r", seats=(0,)))
    write(store, PlayersLeft(race="rated", seats=(1, 1, 0)))
    assert [(race.opened.race, race.here) for race in store.standing()] == [("late", frozenset({0}))]
    assert [seat.player for seat in store.history("ben", limit=1)[0].seats] == ["anna", "ben"]


def test_who_had_left_before_the_end_is_told_from_who_left_later(store: Store) -> None:
    write(store, made("anna"), made("ben"), opened("r"))
    write(store, replace(over("r", "anna", "ben", here=(0,)), gone=(1,)))
    (standing,) = store.standing()
    assert (standing.here, standing.gone) == (frozenset({0}), frozenset({1}))
    write(store, PlayersLeft(race="r", seats=(0,)))
    last = store.stood_last(opened("r").room)
    assert last is not None
    assert (last.here, last.gone) == (frozenset(), frozenset({1}))


def test_who_gave_a_series_up_after_a_race_of_it_is_told_with_the_race(store: Store) -> None:
    write(store, made("anna"), made("ben"), opened("r"), over("r", "anna", "ben"))
    write(store, PlayersLeft(race="r", seats=(1,), gave_up=True))
    last = store.stood_last(opened("r").room)
    assert last is not None
    assert (last.here, last.gone) == (frozenset(), frozenset({1}))


def test_a_room_is_left_in_the_request_in_which_its_race_ends(store: Store) -> None:
    write(store, made("anna"), opened("r"))
    write(store, over("r", "anna", None, here=(0,)), PlayersLeft(race="r", seats=(0,)))
    assert store.standing() == ()


def test_the_room_of_a_race_that_is_not_over_is_not_left_so(store: Store) -> None:
    write(store, opened("r"), opened("aborted"), RaceAborted(race="aborted", reason="no", at_ms=NOW))
    for race in ("r", "nowhere"):
        with pytest.raises(EntryRefused, match=f"race {race} is not over"):
            write(store, PlayersLeft(race=race, seats=(0,)))
    write(store, PlayersLeft(race="aborted", seats=(0,)))
    assert store.standing() == ()


@pytest.mark.parametrize("players", [("anna",), ("anna", None, None), ("anna", "nobody")])
def test_a_record_needs_a_known_player_or_a_bot_on_every_seat(store: Store, players: tuple[str | None, ...]) -> None:
    write(store, made("anna"), opened("r"))
    with pytest.raises(EntryRefused):
        write(store, over("r", *players))
    assert store.record("r") is None
    assert [race.opened.race for race in store.running().races] == ["r"]


def test_history_is_newest_first_and_goes_on_where_a_page_ended(store: Store) -> None:
    write(store, made("anna"), made("ben"), made("eve"))
    for number, at in enumerate([10, 30, 20, 30, 30]):
        write(store, opened(f"r{number}"), over(f"r{number}", "ben", "anna", at=at))
    write(store, opened("other"), over("other", "eve", None, at=40))
    pages: list[list[str]] = []
    before: Mark | None = None
    while page := store.history("anna", limit=2, before=before):
        pages.append([race.race for race in page])
        before = page[-1].mark
    assert pages == [["r4", "r3"], ["r1", "r2"], ["r0"]]


def test_a_line_of_history_says_who_sat_where_and_what_came_of_it(store: Store) -> None:
    write(store, made("anna"), opened("r"), over("r", None, "anna", at=60))
    (race,) = store.history("anna", limit=5)
    assert (race.room, race.number, race.rules, race.seat, race.finished_at_ms) == ("ABCDEF", 1, "carpet", 1, NOW + 60)
    assert [seat.player for seat in race.seats] == [None, "anna"]
    kept = [(seat.name, seat.bot, seat.state, seat.place, seat.home, seat.ended_at_ms) for seat in race.seats]
    assert kept == [(seat.name, seat.bot, seat.state, seat.place, seat.home, seat.ended_at_ms) for seat in won().seats]
    assert race.aborted is None


# ---- requests and batches


def test_a_refused_request_leaves_no_trace_and_keeps_no_other_out(store: Store) -> None:
    outcomes = store.write(
        [
            [made("anna"), opened("r"), taken("r", 1)],
            [made("ben"), opened("s"), taken("s", 1), taken("r", 2), taken("s", 3)],
            [taken("r", 2), taken("r", 3)],
            [made("ben", "Anna")],
            [taken("r", 5)],
            [made("ben")],
        ]
    )
    assert [type(outcome) for outcome in outcomes] == [type(None), EntryRefused, type(None), NameTaken, EntryRefused, type(None)]
    assert store.running() == Running((RunningRace(opened("r"), (taken("r", 1), taken("r", 2), taken("r", 3))),), ())
    assert names(store, "anna", "ben") == ["Anna", "Ben"]


def test_the_end_of_a_race_that_is_refused_harms_nothing_else_in_its_batch(store: Store) -> None:
    write(store, made("anna"), opened("r"), opened("s"), taken("r", 1))
    outcomes = store.write(
        [
            [opened("t")],
            [taken("t", 1)],
            [taken("r", 2), over("r", "anna", "nobody")],
            [taken("r", 2)],
            [taken("s", 1), over("s", "anna", None, here=(0,))],
            [opened("s")],
            [taken("t", 2)],
            [PlayersLeft(race="r", seats=(0,))],
        ]
    )
    refusals = [str(outcome) for outcome in outcomes if outcome is not None]
    assert [outcome is None for outcome in outcomes] == [True, True, False, True, True, False, True, False]
    assert refusals == ["there is no player nobody", "race s was opened before", "race r is not over"]
    found = {race.opened.race: race.commands for race in store.running().races}
    assert found == {"r": (taken("r", 1), taken("r", 2)), "t": (taken("t", 1), taken("t", 2))}
    assert [race.opened.race for race in store.standing()] == ["s"]
    write(store, taken("t", 3), over("r", "anna", None))


def test_the_opening_the_end_and_the_leaving_of_races_are_few_statements(empty_sqlite: str) -> None:
    store = open_database(empty_sqlite)
    write(store, made("anna"), opened("r"), opened("s"), over("s", "anna", None, here=(0,)))
    statements: list[str] = []
    with store._writing() as sql:
        sql.connection.set_trace_callback(statements.append)
    requests: list[Request] = [[opened("t")], [taken("r", 1), over("r", "anna", None)], [PlayersLeft(race="s", seats=(0,))]]
    assert store.write(requests) == (None,) * 3
    store.close()
    made_of = [" ".join(statement.split()[:3]) for statement in statements]
    end = ["UPDATE races SET", "INSERT INTO records", "INSERT INTO seats", "INSERT INTO seats"]
    assert made_of == ["BEGIN IMMEDIATE", "INSERT INTO races", *end, "UPDATE seats SET", "INSERT INTO batches", "COMMIT"]


def test_a_whole_life_in_one_batch(store: Store) -> None:
    requests: list[Request] = [
        [made("anna")],
        [opened("r")],
        *[[command] for command in logged("r")],
        [over("r", "anna", None)],
        [opened("r")],
    ]
    outcomes = store.write(requests)
    assert outcomes[:-1] == (None,) * (len(requests) - 1)
    assert isinstance(outcomes[-1], EntryRefused)
    assert store.record("r") == won()
    assert [race.race for race in store.history("anna", limit=9)] == ["r"]
    assert store.running().races == ()


def test_what_has_no_form_in_a_database_harms_nobody_else(database: DatabaseStore) -> None:
    store = database
    odd = [taken("r", 1, TakeSeat("p", "\ud800")), taken("r", 1, at=2**63)]
    outcomes = store.write([[opened("r")], *[[entry] for entry in odd], [taken("r", 1)]])
    assert [outcome is None for outcome in outcomes] == [True, False, False, True]
    assert store.running().races[0].commands == (taken("r", 1),)


def test_a_large_batch_is_taken_whole(store: Store) -> None:
    races = [f"r{number}" for number in range(300)]
    requests: list[Request] = [
        [made(race, f"P{race}"), opened(race), *[taken(race, sequence) for sequence in range(1, 40)]] for race in races
    ]
    assert store.write(requests) == (None,) * 300
    assert sum(len(race.commands) for race in store.running().races) == 300 * 39
    assert store.write([[over(race, race, None)] for race in races]) == (None,) * 300
    assert store.running().races == ()


def test_ids_of_races_are_their_room_number_and_some_chance() -> None:
    assert race_id(room="KXQWZP", number=3, unique=b"\x01\xff") == "KXQWZP-3-01ff"
    assert name_key("ＡNNA") == name_key("anna")


# ---- deals that several races share

DEAL = SharedDealMade(kind="daily", id="2026-11-21", secret=SECRET, at_ms=NOW, reveals_at_ms=NOW + 500)
CHALLENGE = SharedDealMade(
    kind="challenge", id="KQWERT", secret=SECRET, at_ms=NOW + 1, nonces=("7c" * 16,), options=RaceOptions(seats=1), owner="ada"
)


def run(race: str, *players: str, deal: SharedDealMade = DEAL, at: int = 0, rules: str = "carpet") -> RaceOpened:
    shared = SharedDeal(kind=deal.kind, id=deal.id, nonces=("7c" * 16,))
    options = RaceOptions(seats=2, rules=rules)
    return replace(opened(race, at=at, options=options), spec=SharedDealSpec(deal=shared, invited=players, table=3, ghosts=("X-1-00",)))


def test_a_shared_deal_is_kept_as_it_was_made(store: Store) -> None:
    write(store, made("ada"), DEAL, CHALLENGE)
    assert store.shared_deal("daily", "2026-11-21") == DEAL
    assert store.shared_deals("challenge", limit=5) == (CHALLENGE,)
    assert store.shared_deal("daily", "KQWERT") is None
    assert store.shared_deals("round", limit=5) == ()


def test_the_newest_deals_come_first_and_no_more_than_wanted(store: Store) -> None:
    days = [replace(DEAL, id=f"2026-11-{day}", at_ms=NOW + day) for day in (20, 22, 21)]
    write(store, *days)
    assert [deal.id for deal in store.shared_deals("daily", limit=2)] == ["2026-11-22", "2026-11-21"]


def test_deals_that_somebody_has_begun_to_run_are_told_apart_while_they_are_open(store: Store) -> None:
    begun = replace(CHALLENGE, id="BEGUN", reveals_at_ms=NOW + 50)
    write(store, made("ada"), CHALLENGE, begun, run("A", "ada", deal=begun))
    assert store.deals_run("challenge", revealed_after_ms=NOW + 49) == {"BEGUN"}
    assert store.deals_run("challenge", revealed_after_ms=NOW + 50) == frozenset()
    assert store.deals_run("daily", revealed_after_ms=0) == frozenset()


@pytest.mark.parametrize(
    "entry",
    [DEAL, CHALLENGE, SharedDealRevealed(kind="daily", id="2027-01-01", at_ms=NOW), run("A", "ada", deal=replace(DEAL, id="2027-01-01"))],
    ids=["known", "nobody's", "unknown", "run of an unknown one"],
)
def test_a_deal_is_made_once_and_used_when_it_is_known(store: Store, entry: Entry) -> None:
    write(store, DEAL)
    with pytest.raises(EntryRefused):
        write(store, entry)


def test_a_race_on_a_shared_deal_comes_back_with_its_spec(store: Store) -> None:
    write(store, made("ada"), DEAL, run("A", "ada"))
    (race,) = store.running().races
    assert race.opened == run("A", "ada")


def test_runs_are_found_by_their_deal_with_what_came_of_them(store: Store) -> None:
    write(store, made("ada"), made("zoe"), DEAL, run("A", "ada"), run("B", "zoe", at=5, rules="twenty"), opened("C"))
    write(store, over("A", "ada", "zoe", at=9))
    first, second = store.runs("daily", "2026-11-21")
    opened_at_ms = kept(store, "SELECT opened_at_ms FROM races WHERE id = 'A'")
    assert (first.race, first.phase, first.rules, opened_at_ms, first.finished_at_ms) == ("A", "over", "carpet", NOW, NOW + 9)
    assert first.spec == run("A", "ada").spec
    assert [seat.player for seat in first.seats] == ["ada", "zoe"]
    assert (second.race, second.phase, second.rules, second.finished_at_ms, second.seats) == ("B", "running", "twenty", None, ())
    assert store.runs("challenge", "2026-11-21") == ()
    assert store.runs("daily", "2026-11-21", rules="carpet") == (first,)
    assert store.runs("daily", "2026-11-21", rules="twenty", player="zoe") == (second,)
    assert store.runs("daily", "2026-11-21", rules="twenty", player="ada") == ()


def test_a_player_has_one_run_of_a_deal_under_each_rule_set(store: Store) -> None:
    write(store, made("ada"), made("zoe"), DEAL, run("A", "ada"), run("B", "zoe"), run("C", "ada", rules="twenty"))
    with pytest.raises(RunAlready):
        write(store, run("D", "ada"))
    write(store, over("A", "ada", None))
    with pytest.raises(RunAlready):
        write(store, run("D", "ada"))


def test_two_runs_of_one_player_in_one_batch_are_one(store: Store) -> None:
    write(store, made("ada"), DEAL)
    outcomes = store.write([[run("A", "ada")], [run("B", "ada")]])
    assert [type(outcome) for outcome in outcomes] == [type(None), RunAlready]


def test_a_run_that_had_not_begun_may_be_run_again_and_one_that_had_may_not(store: Store) -> None:
    write(store, made("ada"), DEAL, run("A", "ada"))
    write(store, RaceAborted(race="A", reason="gone", at_ms=NOW))
    assert store.runs("daily", "2026-11-21", rules="carpet") == ()
    write(store, run("B", "ada"))
    write(store, RaceAborted(race="B", reason="gone", at_ms=NOW, seats=(seat("ada"),)))
    assert [run.race for run in store.runs("daily", "2026-11-21", rules="carpet", player="ada")] == ["B"]
    with pytest.raises(RunAlready):
        write(store, run("C", "ada"))


def test_tables_of_a_round_may_have_the_same_players_again(store: Store) -> None:
    deal = replace(DEAL, kind="round", id="open/1", reveals_at_ms=None)
    write(store, made("ada"), deal, run("A", "ada", deal=deal), run("B", "ada", deal=deal))
    assert len(store.runs("round", "open/1")) == 2


def test_what_came_of_a_race_is_sealed_until_its_deal_is_revealed(store: Store) -> None:
    tournament = replace(DEAL, kind="round", id="open/1", reveals_at_ms=None)
    write(store, made("ada"), DEAL, tournament, run("A", "ada"), run("B", "ada", deal=tournament), opened("C"))
    write(store, over("A", "ada", None), over("B", "ada", None, at=1), over("C", "ada", None, at=2))

    def sealed_until() -> list[int]:
        shown = [store.race_status(race) for race in "CBA"]
        assert [status.sealed_until_ms for status in shown if status] == [race.sealed_until_ms for race in store.history("ada", limit=5)]
        return [status.sealed_until_ms for status in shown if status]

    assert sealed_until() == [0, NEVER_MS, NOW + 500]
    write(store, SharedDealRevealed(kind="round", id="open/1", at_ms=NOW + 7))
    assert sealed_until() == [0, NOW + 7, NOW + 500]
