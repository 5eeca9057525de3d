"""Nodes that share a PostgreSQL: each writes only what it owns, and nothing more once another node has its races."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from protocol.views import SharedDeal
from server.race.shared_deal_spec import SharedDealSpec
from server.store import batches, connections, maintenance, nodes, running, shared, takeover
from server.store.answers import RunningRace
from server.store.database import open_database
from server.store.documents import decode_command
from server.store.errors import EntryRefused, LeaseLost, StoreInUse, StoreUnavailable
from server.store.port import RaceAborted, SharedDealMade
from server.store.shared import SharedStore, open_shared
from server.store.takeover import TakenOver
from tests.server.store.keeping import logged, made, opened, over, rated_over, taken, write
from tests.server.store.test_outages import Faulty
from tests.server.store.test_tournaments import decided, tournament

Open = Callable[[str], SharedStore]


@pytest.fixture
def node(empty_postgres: str) -> Iterator[Open]:
    stores: list[SharedStore] = []

    def join(name: str) -> SharedStore:
        store = open_shared(empty_postgres)
        stores.append(store)
        assert store.join(f"ws://{name}")
        return store

    yield join
    for store in stores:
        store.close()


def lapse(store: SharedStore) -> None:
    """As when it has not renewed its lease for too long."""
    store.leave()


def take_over(store: SharedStore, node: int, *how: Any) -> TakenOver:
    found = store.take_over(node, *how)
    assert found is not None
    return found


def commands(store: SharedStore) -> dict[str, int]:
    return {race.opened.race: len(race.commands) for race in store.running().races}


def test_each_node_brings_back_its_own_races_alone(node: Open) -> None:
    first, second = node("one"), node("two")
    write(first, opened("r"), taken("r", 1))
    write(second, replace(opened("s"), room="OTHERS"), taken("s", 1), taken("s", 2))
    assert (commands(first), commands(second)) == ({"r": 1}, {"s": 2})
    for entry in (taken("s", 3), over("s"), RaceAborted(race="s", reason="server-error", at_ms=0)):
        with pytest.raises(EntryRefused, match="race s is not running"):
            write(first, entry)
    write(first, taken("r", 2))
    assert (commands(first), commands(second)) == ({"r": 2}, {"s": 2})


def test_a_node_whose_lease_has_lapsed_goes_on_as_long_as_nobody_has_taken_its_races(node: Open) -> None:
    first = node("one")
    write(first, opened("r"))
    lapse(first)
    write(first, taken("r", 1))
    assert [each.is_alive for each in first.renew()] == [True]


def test_a_node_that_others_have_taken_for_dead_writes_nothing_and_knows_it(node: Open) -> None:
    asleep, taker = node("asleep"), node("taker")
    write(asleep, opened("r"), taken("r", 1))
    write(asleep, taken("r", 2))
    lapse(asleep)
    found = take_over(taker, asleep.holding.node, 1)
    assert [(race.opened.race, len(race.commands)) for race in found.running.races] == [("r", 2)]
    for awakened in (
        lambda: write(asleep, taken("r", 3)),
        lambda: write(asleep, made("anna")),
        lambda: write(asleep, opened("t")),
        lambda: asleep.renew(),
        lambda: asleep.take_over(taker.holding.node, 1),
    ):
        with pytest.raises(LeaseLost):
            awakened()
    write(taker, taken("r", 3))
    assert commands(taker) == {"r": 3}
    assert taker.player("anna") is None


def test_a_batch_whose_answer_was_lost_is_not_acknowledged_by_a_node_that_is_none_any_more(node: Open) -> None:
    asleep, taker = node("asleep"), node("taker")
    write(asleep, opened("r"))
    requests = [[taken("r", 1)]]
    asleep.write(requests)
    # As when the line broke before the answer came: it has to be found out whether it was written.
    asleep._unsure, asleep._batches = (requests, asleep.holding.node << 40 | 2, (None,)), None
    lapse(asleep)
    taker.take_over(asleep.holding.node, 1)
    with pytest.raises(LeaseLost):
        asleep.write(requests)
    assert commands(taker) == {"r": 1}


def test_races_go_to_several_takers_with_their_commands_and_rooms_stay_whole(node: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    dead, one, two = node("dead"), node("one"), node("two")
    write(one, opened("own"), taken("own", 1))
    for number in range(5):
        write(
            dead, replace(opened(f"r{number}", at=number), room=f"ROOM{number}"), *(taken(f"r{number}", 1 + each) for each in range(number))
        )
    write(dead, replace(opened("second", at=9), room="ROOM0", number=2), taken("second", 1))
    lapse(dead)
    monkeypatch.setattr(takeover, "SHARE", 1)
    first = take_over(one, dead.holding.node, 3)
    assert first.left == 3
    second = take_over(two, dead.holding.node, 1)
    assert second.left == 0
    assert commands(one) == {"own": 1, "r0": 0, "r1": 1, "second": 1}
    assert commands(two) == {"r2": 2, "r3": 3, "r4": 4}
    write(one, taken("second", 2), taken("own", 2))
    write(two, taken("r4", 5))
    assert commands(one)["second"] == 2
    assert commands(two)["r4"] == 5
    with one.maintaining() as sql:
        assert {row.number >> 40 for row in sql.rows("SELECT number FROM batches")} == {one.holding.node, two.holding.node}


def test_a_room_that_stands_after_its_race_goes_with_the_others(node: Open) -> None:
    dead, taker = node("dead"), node("taker")
    write(dead, made("anna"), made("ben"))
    write(dead, opened("r"), *logged("r"), over("r", "anna", "ben", here=(0, 1)))
    assert [race.opened.race for race in dead.standing()] == ["r"]
    lapse(dead)
    found = take_over(taker, dead.holding.node, 1)
    assert found.standing == {"r"}
    assert [race.opened.race for race in taker.standing()] == ["r"]
    assert dead.standing() == ()


def test_all_tournaments_go_to_the_first_taker_and_their_tables_to_all(node: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(takeover, "SHARE", 1)
    dead, first, second = node("dead"), node("first"), node("second")
    write(dead, made("anna"), *(tournament(each) for each in "ABC"), decided("A", 1), decided("C", 1, closes=True))
    write(first, tournament("D"))
    heads = {head.tournament: (head.decisions, head.is_led_here) for head in dead.tournament_heads(["C", "E"])}
    assert heads == {"A": (1, True), "B": (0, True), "C": (1, True), "D": (0, False)}
    deal = SharedDealMade(kind="round", id="A/1", secret=b"s" * 32, at_ms=0)
    spec = SharedDealSpec(deal=SharedDeal(kind="round", id="A/1", nonces=("00" * 16,), number=1), invited=(), table=1, held=True)
    tables = [replace(opened(f"t{each}"), room=f"TABLE{each}", spec=spec) for each in range(3)]
    write(dead, opened("r"), replace(opened("s"), room="OTHERS"), deal, *tables)
    lapse(dead)

    # While nobody leads it, anybody decides.
    write(second, decided("A", 2))
    with pytest.raises(EntryRefused, match="cannot follow decision 2"):
        write(first, decided("A", 2))
    found = take_over(first, dead.holding.node, 2)
    assert found.tournaments == {"A", "B"}
    assert (len(found.running.races), found.left) == (3, 2)
    assert {head.tournament for head in first.tournament_heads([]) if head.is_led_here} == {"A", "B", "D"}
    rest = take_over(second, dead.holding.node, 2)
    assert (rest.tournaments, rest.left) == (frozenset(), 1)
    last = take_over(first, dead.holding.node, 2)
    taken_over = [race.opened.race for each in (found, rest, last) for race in each.running.races]
    assert sorted(taken_over) == ["r", "s", "t0", "t1", "t2"]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_takeover_of_tournaments_alone_whose_answer_was_lost_is_known_to_the_taker(node: Open, after: bool) -> None:
    dead, taker = node("dead"), node("taker")
    write(dead, made("anna"), tournament("A"))
    lapse(dead)
    break_line(taker, "COMMIT", after=after)
    with pytest.raises(StoreUnavailable):
        taker.take_over(dead.holding.node, 1)
    found = taker.taken_after_all()
    assert (found.tournaments if found is not None else None) == ({"A"} if after else None)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has no connection to the database is taken for gone without having been silent, by whoever has one from just now."""
    monkeypatch.setattr(nodes, "SILENT_MS", 0)
    monkeypatch.setattr(shared, "CONNECTED_S", 0.0)


def hung_up(store: SharedStore) -> list[int]:
    return [each.id for each in store.renew() if each.hung_up]


def test_the_races_of_a_process_that_has_ended_are_taken_over_before_its_lease_is_over(node: Open, at_once: None) -> None:
    gone, other = node("gone"), node("other")
    write(gone, opened("r"), taken("r", 1))
    gone.renew()
    assert hung_up(other) == []
    assert other.take_over(gone.holding.node, 1, (), True) is None, "its connection stands"
    gone._hang_up()
    # The database hears of it in a moment.
    assert any(hung_up(other) == [gone.holding.node] for _ in range(2_000))
    assert other.take_over(gone.holding.node, 1) is None, "its lease is not over"
    found = take_over(other, gone.holding.node, 1, (), True)
    assert [race.opened.race for race in found.running.races] == ["r"]
    # It was only another connection that it had to open.
    with pytest.raises(LeaseLost):
        gone.renew()


def test_nobody_is_taken_for_gone_who_is_connected_again_or_by_a_node_that_has_only_just_connected(
    node: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, other = node("gone"), node("other")
    gone._hang_up()
    assert all(hung_up(other) == [] for _ in range(50)), "it has not been silent for long"
    monkeypatch.setattr(nodes, "SILENT_MS", 0)
    assert all(hung_up(other) == [] for _ in range(50)), "the database may have hung up on everybody"
    monkeypatch.setattr(shared, "CONNECTED_S", 0.0)
    assert any(hung_up(other) == [gone.holding.node] for _ in range(2_000))
    gone.renew()
    assert hung_up(other) == []
    assert other.take_over(gone.holding.node, 1, (), True) is None


def test_whoever_renews_in_time_keeps_everything(node: Open) -> None:
    alive, other = node("alive"), node("other")
    write(alive, opened("r"))
    assert other.take_over(alive.holding.node, 1) is None
    write(alive, taken("r", 1))


def test_a_url_belongs_to_one_process_at_a_time(node: Open, empty_postgres: str) -> None:
    first = node("one")
    write(first, opened("r"))
    twin = open_shared(empty_postgres)
    assert not twin.join("ws://one")
    lapse(first)
    assert twin.join("ws://one")
    assert commands(twin) == {"r": 0}
    with pytest.raises(LeaseLost):
        write(first, taken("r", 1))
    twin.close()


def test_any_node_finds_a_room_by_its_code(node: Open, empty_postgres: str) -> None:
    first, second = node("one"), node("two")
    write(first, opened("r"))
    found = second.find_rooms(["ABCDEF", "NOROOM"])
    assert {code: (each.url, each.is_alive) for code, each in found.items()} == {"ABCDEF": ("ws://one", True)}
    with pytest.raises(EntryRefused, match="another node has a room ABCDEF"):
        write(second, opened("s"))
    assert [(each.url, each.races) for each in maintenance.nodes(empty_postgres)] == [("ws://one", 1), ("ws://two", 0)]


def test_records_are_numbered_over_all_nodes(node: Open) -> None:
    first, second = node("one"), node("two")
    write(first, *map(made, ("anna", "ben", "carl", "dora")))
    write(first, opened("r"))
    write(second, replace(opened("s"), room="OTHERS"))
    write(first, *logged("r"), rated_over("r", {"anna": 1, "ben": 2}))
    write(second, *logged("s"), rated_over("s", {"carl": 1, "dora": 2}))
    with first.maintaining() as sql:
        assert [row.number for row in sql.rows("SELECT number FROM records ORDER BY number")] == [1, 2]
    assert len(second.ladder(10)) == 4


@pytest.mark.slow
def test_a_server_alone_and_a_cluster_keep_off_each_other_and_follow_each_other(
    node: Open, empty_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BUSY_S", 1)
    first, second = node("one"), node("two")
    write(first, opened("r"), taken("r", 1))
    write(second, replace(opened("s"), room="OTHERS"))
    with pytest.raises(StoreInUse):
        open_database(empty_postgres)
    first.close()
    second.close()
    alone = open_database(empty_postgres)
    assert {race.opened.race: len(race.commands) for race in alone.running().races} == {"r": 1, "s": 0}
    write(alone, taken("r", 2))
    with pytest.raises(StoreInUse, match="a carpet-server without --cluster"):
        open_shared(empty_postgres)
    write(alone, made("anna"), tournament("A"))
    alone.close()

    # And the other way round: what a server alone has left is taken over like a node's.
    third = node("three")
    (left,) = [each for each in third.renew() if each.id == 0]
    assert (left.has_left, left.is_settled) == (True, False)
    assert (0, 2) in [(each.id, each.races) for each in maintenance.nodes(empty_postgres)]
    found = take_over(third, 0, 1)
    assert found.tournaments == {"A"}
    assert commands(third) == {"r": 2, "s": 0}
    assert all(each.is_settled for each in third.renew() if each.id == 0)
    assert 0 not in [each.id for each in maintenance.nodes(empty_postgres)]
    third.close()
    again = open_database(empty_postgres)
    assert {race.opened.race: len(race.commands) for race in again.running().races} == {"r": 2, "s": 0}
    again.close()


def test_nodes_share_a_postgresql(tmp_path: object) -> None:
    with pytest.raises(StoreUnavailable, match="--database postgresql://"):
        open_shared(str(tmp_path))


def break_line(store: SharedStore, begins: str, *, after: bool) -> None:
    """At the next statement that begins so."""
    assert store._writer is not None
    store._writer.connection = Faulty(store._writer.connection, begins, after=after)


def test_what_is_taken_over_is_not_mistaken_for_a_batch_that_was_never_written(node: Open) -> None:
    dead, taker = node("dead"), node("taker")
    write(dead, replace(opened("s"), room="OTHERS"), taken("s", 1))
    write(taker, opened("r"))
    lapse(dead)
    requests = [[taken("r", 1)]]
    break_line(taker, "INSERT INTO batches", after=False)
    with pytest.raises(StoreUnavailable):
        taker.write(requests)
    # Its copies get the number of that batch.
    taker.take_over(dead.holding.node, 1)
    assert taker.write(requests) == (None,)
    assert commands(taker) == {"r": 1, "s": 1}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_takeover_whose_answer_was_lost_is_known_to_the_taker(node: Open, after: bool) -> None:
    dead, taker = node("dead"), node("taker")
    write(dead, opened("r"), taken("r", 1))
    lapse(dead)
    break_line(taker, "COMMIT", after=after)
    with pytest.raises(StoreUnavailable):
        taker.take_over(dead.holding.node, 1)
    found = taker.taken_after_all()
    assert (found is not None) == after
    if found is not None:
        assert [race.opened.race for race in found.running.races] == ["r"]
    assert commands(taker) == ({"r": 1} if after else {})
    assert taker.taken_after_all() is None


def test_a_race_comes_back_to_a_node_that_still_has_the_beginning_of_it(node: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(takeover, "SHARE", 1)
    one, two = node("one"), node("two")
    write(one, opened("r"), taken("r", 1))
    write(one, replace(opened("s", at=1), room="OTHERS"))
    lapse(one)
    found = take_over(two, one.holding.node, 2)
    assert found.left == 1
    # The first one is started anew before the rest is taken.
    again = node("one")
    write(two, taken("r", 2))
    lapse(two)
    back = take_over(again, two.holding.node, 1)
    assert back.running.damaged == ()
    assert commands(again) == {"r": 2, "s": 0}
    write(again, taken("r", 3))
    assert commands(again) == {"r": 3, "s": 0}


def test_a_node_that_is_asleep_within_a_transaction_holds_nobody_up(node: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_LET_GO_S", 1)
    asleep, taker = node("asleep"), node("taker")
    write(asleep, opened("r"))
    lapse(asleep)

    def sleep() -> None:
        with asleep.maintaining() as sql:
            nodes.check_own(sql, asleep.holding)
            assert taker.take_over(asleep.holding.node, 1) is not None

    with pytest.raises(StoreUnavailable):
        sleep()
    with pytest.raises(LeaseLost):
        write(asleep, taken("r", 1))
    assert commands(taker) == {"r": 0}


def test_an_epoch_ends_for_good_when_a_server_alone_has_had_the_races(node: Open, empty_postgres: str) -> None:
    cut_off = node("one")
    holding = cut_off.holding
    cut_off.close()
    open_database(empty_postgres).close()
    # Another process is the first node of a new cluster; the old one comes back.
    node("other")
    late = open_shared(empty_postgres)
    late._holding = holding
    with pytest.raises(LeaseLost):
        late.renew()
    late.close()


@pytest.mark.parametrize("command", [b'[1,"unheard-of",{}]', b'[2,"play-move",{"new":1}]'])
def test_races_that_a_newer_version_has_written_to_are_left_to_a_newer_server_and_no_others(
    node: Open, empty_postgres: str, command: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer, older, another = node("newer"), node("older"), node("another")
    for number in range(3):
        race = f"r{number}"
        write(newer, replace(opened(race), room=f"ROOM{number}"), taken(race, 1), taken(race, 2))
    monkeypatch.setattr(takeover, "SHARE", 1)
    with monkeypatch.context() as version:
        version.setattr(batches, "encode_command", lambda _: command)
        write(newer, taken("r0", 3), taken("r1", 3))
    lapse(newer)
    left, found, left_over = set[str](), list[RunningRace](), -1
    for _ in range(3):
        took = take_over(older, newer.holding.node, 3, left)
        left |= took.newer
        found += took.running.races
        left_over = took.left
        assert not took.running.damaged
    assert (left, left_over, [race.opened.race for race in found]) == ({"ROOM0", "ROOM1"}, 0, ["r2"])
    write(older, taken("r2", 3))
    assert [each.is_settled for each in maintenance.nodes(empty_postgres) if each.id == newer.holding.node] == [False]
    # One that can read it.
    monkeypatch.setattr(running, "is_newer", lambda _: False)
    monkeypatch.setattr(running, "decode_command", lambda text: decode_command(b'[1,"pass-time",{}]' if text == command else text))
    rest = take_over(another, newer.holding.node, 1)
    assert [len(race.commands) for race in rest.running.races] == [3, 3]
    assert [each.is_settled for each in maintenance.nodes(empty_postgres) if each.id == newer.holding.node] == [True]


def aged(where: str, days: float) -> None:
    """As if all settled nodes had been settled so many days earlier."""
    with psycopg.connect(where) as connection:
        connection.execute("UPDATE nodes SET lease_until_ms = lease_until_ms + %s WHERE lease_until_ms < -1", (int(days * 86_400_000),))


def test_a_node_that_has_been_settled_for_a_day_is_forgotten_when_another_comes(empty_postgres: str, node: Open) -> None:
    gone, left, asleep, taker = (node(name) for name in ("gone", "left", "asleep", "taker"))
    write(gone, opened("r"), taken("r", 1))
    write(asleep, replace(opened("s"), room="OTHERS"))
    for each in (gone, left, asleep):
        lapse(each)
    take_over(taker, gone.holding.node, 1)
    aged(empty_postgres, 1.01)
    # One is settled only now, another not at all: its race is still to be taken over.
    take_over(taker, left.holding.node, 1)
    node("next")
    assert [each.url for each in maintenance.nodes(empty_postgres)] == ["ws://left", "ws://asleep", "ws://taker", "ws://next"]
    assert commands(taker) == {"r": 1}
    assert set(taker.find_rooms(["OTHERS"])) == {"OTHERS"}
    with pytest.raises(LeaseLost):
        gone.renew()
    with pytest.raises(LeaseLost):
        write(gone, taken("r", 2))


def test_no_new_node_ever_gets_the_number_of_one_that_is_forgotten(empty_postgres: str, node: Open) -> None:
    first, last = node("first"), node("last")
    lapse(last)
    take_over(first, last.holding.node, 1)
    aged(empty_postgres, 2)
    # A server that comes back needs no new number, and the highest is still that of the other.
    lapse(first)
    assert node("first").holding.node == first.holding.node
    assert "ws://last" in [each.url for each in maintenance.nodes(empty_postgres)]
    new = node("new")
    assert new.holding.node > last.holding.node
    assert "ws://last" not in [each.url for each in maintenance.nodes(empty_postgres)]
    again = node("last")
    assert again.holding.node > new.holding.node
    with pytest.raises(LeaseLost):
        last.renew()
