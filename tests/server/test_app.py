"""The whole server: it starts, holds races, and ends in order; a wrong setting is reported in a sentence."""

from __future__ import annotations

import math
import platform
import resource
import socket
import sqlite3
import sys
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked
from websockets.trio.client import connect
from websockets.typing import Subprotocol

from client.replay.own_server import server_environment
from protocol.client_messages import FollowLobby, LeaveRace, Resign
from protocol.codec import MSGPACK
from protocol.errors import ErrorCode
from protocol.record import check_deal, digest
from protocol.room_events import PlayerView, Ratings, Result, Started
from protocol.server_messages import Error, Left, Lobby, Rated
from protocol.views import SeatRating
from server.app import SOFTWARE, running, spread_ratings
from server.cluster.bus import Bus, node_channel
from server.config import BadSettings, Settings
from server.net.descriptors import TooFewDescriptors
from server.net.listener import AddressUnavailable
from server.race.audit import audit
from server.race.commands import Command, GetReady, PlayMove, TakeSeat
from server.store.database import open_database
from server.store.errors import StoreAway, StoreCorrupt, StoreError, StoreInUse
from server.store.memory import MemoryStore
from server.store.opening import open_store
from server.store.schema import newest
from server.store.store import Store
from tests.ports import held_ports
from tests.server.cluster.fake_redis import FakeRedis
from tests.server.cluster.redis_server import redis_server
from tests.server.net.wire import Client, open_house
from tests.server.store.conftest import postgres_schema
from tests.server.store.keeping import made, opened, over, taken, write


async def test_a_race_against_a_bot_over_a_real_socket_gives_a_record_that_holds() -> None:
    async with (
        running(Settings(port=0, bots_wait=False, rate=1e6, burst=1_000_000)) as url,
        connect(url, subprotocols=[Subprotocol(MSGPACK)]) as line,
    ):
        assert url.startswith("ws://127.0.0.1:")
        ann = Client(line)
        assert (await ann.hello("Ann")).software == SOFTWARE
        await ann.open(seats=2, bots=("random",), countdown_s=1)
        await ann.ready()
        await ann.hear_of(Started)
        # Until no move is left, or the bot has won before: a move that comes after that is refused.
        while ann.view.moves and not any(isinstance(message, Result) for message in ann.heard):
            await ann.move(ann.view.moves[0])
            played = ann.ply
            while ann.ply == played and not any(isinstance(message, Result) for message in ann.heard):
                await ann.hear()
        record = next((message.record for message in ann.heard if isinstance(message, Result)), None)
        if record is None:
            record = (await ann.hear_of(Result)).record
        assert record.software == SOFTWARE
        assert record.digest == digest(record)
        check_deal(record.deal)
        audit(record)


async def test_two_players_race_for_ratings_over_real_sockets_and_see_them_everywhere() -> None:
    async with (
        running(Settings(port=0, rate=1e6, burst=1_000_000, database="memory")) as url,
        connect(url, subprotocols=[Subprotocol(MSGPACK)]) as one,
        connect(url, subprotocols=[Subprotocol(MSGPACK)]) as other,
    ):
        ann, bob = Client(one), Client(other)
        assert [(await client.hello(name)).rating for client, name in ((ann, "Ann"), (bob, "Bob"))] == [None, None]
        await bob.join((await ann.open(countdown_s=1)).code)
        for client in (ann, bob):
            await client.ready()
        for client in (ann, bob):
            await client.hear_of(Started)
            await client.move()
            while client.ply == 0:
                await client.hear()
        await bob.say(Resign(race=1, seat=1))
        for client in (ann, bob):
            assert (await client.hear_of(Result)).record.rated
            assert (await client.hear_of(Ratings)).seats == (SeatRating(before=1000, after=1138), SeatRating(before=1000, after=927))
        assert (await ann.join(ann.room.code if ann.room else "")).ratings[0].after == 1138
        lobby = await ann.ask(FollowLobby(), Lobby)
        while lobby.ratings != (1138, 927):
            lobby = await ann.hear_of(Lobby)
        async with connect(url, subprotocols=[Subprotocol(MSGPACK)]) as again:
            assert (await Client(again).hello("Bob", bob.welcome.token)).rating == 927
            ran = await trio.run_process(
                [sys.executable, "-m", "client.cli.main", "ladder", url], capture_stdout=True, env=server_environment()
            )
            assert ran.stdout.decode().splitlines() == [
                "place  rating  races  player",
                "    1    1138      1  Ann",
                "    2     927      1  Bob",
            ]


@pytest.mark.parametrize("seated", ["ann", "nobody"])
async def test_a_race_that_cannot_go_on_is_in_its_players_history_and_keeps_no_server_from_starting(tmp_path: Path, seated: str) -> None:
    where = str(tmp_path / "carpet.sqlite3")
    store = open_database(where)
    race = "ABCDEF-1-00ff00ff00ff"
    commands: tuple[Command, ...] = (
        TakeSeat("ann", "Ann"),
        TakeSeat(seated, "Bob"),
        GetReady(0, bytes(16)),
        GetReady(1, bytes(16)),
        PlayMove(0, 9, "s"),
    )
    write(store, made("ann"), opened(race), *(taken(race, number, command) for number, command in enumerate(commands, 1)))
    store.close()
    async with running(Settings(port=0, database=where)):
        pass
    store = open_database(where)
    assert store.running().races == ()
    status = store.race_status(race)
    assert status is not None
    assert status.phase == "aborted"
    history = store.history("ann", limit=5)
    if seated == "ann":
        assert [(line.race, line.aborted) for line in history] == [(race, status.reason)] * 2
        assert [seat.name for seat in history[0].seats] == ["Ann", "Bob"]
    else:
        # Who sat there is not known to the store: the line is given up, not the start.
        assert history == ()
    store.close()


async def test_after_the_end_a_room_is_there_at_the_next_server_too(tmp_path: Path) -> None:
    settings = Settings(port=0, bots_wait=False, database=str(tmp_path / "carpet.sqlite3"))
    async with running(settings) as url, connect(url, subprotocols=[Subprotocol(MSGPACK)]) as line:
        ann = Client(line)
        token = (await ann.hello("Ann")).token
        code = (await ann.open(seats=2, bots=("greedy",), countdown_s=1)).code
        await ann.ready()
        await ann.hear_of(Started)
        record = (await ann.ask(Resign(race=1, seat=0), Result)).record
    async with running(settings) as url, connect(url, subprotocols=[Subprotocol(MSGPACK)]) as line:
        again = Client(line)
        assert (await again.hello("Ann", token)).room == code
        shown = await again.join(code)
        assert (shown.phase, shown.seat, shown.record) == ("over", 0, record)
        await again.ask(LeaveRace(), Left)
    async with running(settings) as url, connect(url, subprotocols=[Subprotocol(MSGPACK)]) as line:
        assert (await Client(line).hello("Ann", token)).room is None


@pytest.mark.parametrize("is_kept", [True, False])
async def test_the_log_says_first_what_runs_where_and_last_how_many_races_stand_still(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, is_kept: bool
) -> None:
    caplog.set_level("INFO")
    settings = Settings(port=0, database=str(tmp_path / "carpet.sqlite3") if is_kept else "memory")
    async with running(settings) as url, connect(url, subprotocols=[Subprotocol(MSGPACK)]) as line:
        begun = [record.getMessage() for record in caplog.records]
        ann = Client(line)
        await ann.hello("Ann")
        await ann.open(seats=1, countdown_s=1)
        await ann.ready()
        await ann.hear_of(Started)
    assert f"{SOFTWARE} with Python {platform.python_version()}, schema {newest()}: listening on {url}" in begun
    stands = int(is_kept)
    assert caplog.records[-1].getMessage() == f"stopped; races that stand still until another server carries on with them: {stands}"


async def test_a_room_is_not_brought_back_after_hours(tmp_path: Path) -> None:
    where = str(tmp_path / "carpet.sqlite3")
    store = open_database(where)
    # Its race ended years ago.
    write(store, made("ann"), opened("ABCDEF-1-00ff00ff00ff"), over("ABCDEF-1-00ff00ff00ff", "ann", None, here=(0,)))
    assert len(store.standing()) == 1
    store.close()
    async with running(Settings(port=0, database=where)):
        pass
    store = open_database(where)
    assert store.standing() == ()
    store.close()


async def test_an_ipv6_address_is_written_as_one() -> None:
    try:
        async with running(Settings(host="::1", port=0)) as url:
            assert url.startswith("ws://[::1]:")
    except* AddressUnavailable:
        pytest.skip("no IPv6 here")


async def test_a_server_for_everybody_is_reached_by_ipv4_and_by_ipv6() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 here")
    with held_ports(2) as (port, figures):
        async with running(Settings(host="*", port=port, metrics=f"*:{figures}")):
            for host in ("127.0.0.1", "[::1]"):
                answer = await trio.to_thread.run_sync(urllib.request.urlopen, f"http://{host}:{port}/healthz")
                assert answer.read() == b"ok\n"
                told = await trio.to_thread.run_sync(urllib.request.urlopen, f"http://{host}:{figures}/metrics")
                # The connection just asked by may be counted still.
                assert b"\ncarpet_connections " in told.read()


async def test_cancelling_a_server_leaves_no_task_behind() -> None:
    with trio.move_on_after(30) as scope:
        async with running(Settings(port=0)) as url, connect(url, subprotocols=[Subprotocol(MSGPACK)]) as line:
            await Client(line).hello("Ann")
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught


async def test_a_wish_for_more_connections_than_there_can_be_is_told_to_the_host(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (1000, 1000))
    async with running(Settings(port=0)), running(Settings(port=0, max_connections=1)), running(Settings(port=0, max_connections=900)):
        # On a busy machine the clock has something to say too.
        told = [record.getMessage() for record in caplog.records if record.name == "carpet.app"]
        assert told == ["at most 836 connections, not 900: the system does not let this process open more files"]


@pytest.mark.parametrize(
    ("settings", "option"),
    [
        ({"port": -1}, "--port"),
        ({"port": 65536}, "--port"),
        ({"tls_cert": "cert.pem"}, "--tls-cert"),
        ({"tls_key": "key.pem"}, "--tls-key"),
        ({"rate": 0.0}, "--rate"),
        ({"rate": -1.0}, "--rate"),
        ({"rate": math.nan}, "--rate"),
        ({"rate": math.inf}, "--rate"),
        ({"burst": 0}, "--burst"),
        ({"max_rooms": 0}, "--max-rooms"),
        ({"metrics": "localhost"}, "--metrics"),
        ({"metrics": "70000"}, "--metrics"),
        ({"max_connections": 0}, "--max-connections is"),
        ({"max_connections_per_address": -1}, "--max-connections-per-address is"),
    ],
)
def test_settings_that_cannot_be_name_the_option_to_change(settings: dict[str, object], option: str) -> None:
    with pytest.raises(BadSettings) as bad:
        Settings(**settings)  # type: ignore[arg-type]
    assert option in str(bad.value)
    assert "\n" not in str(bad.value)


def read_figures(told: str) -> dict[str, float]:
    return {name: float(value) for name, value in (each.rsplit(" ", 1) for each in told.splitlines() if not each.startswith("#"))}


async def test_prometheus_is_told_how_the_server_is_on_a_port_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "carpet.app")
    with trio.fail_after(60):
        async with running(Settings(port=0, metrics="0")) as url:
            (place,) = [record.getMessage().split()[-1] for record in caplog.records if "metrics are at" in record.getMessage()]
            async with connect(url, subprotocols=[Subprotocol(MSGPACK)]) as line:
                ann = Client(line)
                await ann.hello("Ann")
                await ann.open(seats=1, countdown_s=1)
                await ann.ready()
                await ann.hear_of(Started)
                await ann.move("a9")
                await ann.error()
                await ann.play()
                await trio.sleep(0.3)
                told = (await trio.to_thread.run_sync(urllib.request.urlopen, place)).read().decode()
    figures = read_figures(told)
    assert figures["carpet_connections"] == figures["carpet_players_connected"] == 1
    assert figures["carpet_journal_entries_total"] >= 1
    assert figures["carpet_loop_lag_seconds_count"] >= 1
    assert figures["carpet_moves_total"] == figures["carpet_move_seconds_count"] == 1
    assert figures['carpet_move_seconds_bucket{le="+Inf"}'] == 1
    assert figures['carpet_refused_moves_total{code="race/bad-move"}'] == 1
    assert figures['carpet_queue_length{queue="journal"}'] == 0
    # There is none for a server on its own, and no alert.
    assert "carpet_directory_available" not in figures


@pytest.mark.slow
async def test_prometheus_is_told_whether_the_redis_of_a_place_answers(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "carpet.app")
    with postgres_schema() as (database, _), redis_server() as redis:
        settings = Settings(port=0, metrics="0", database=database, cluster=redis.url, advertise="ws://localhost")
        async with running(settings):
            (place,) = [record.getMessage().split()[-1] for record in caplog.records if "metrics are at" in record.getMessage()]

            async def wait_for(value: int) -> None:
                told = ""
                with trio.fail_after(60):
                    while read_figures(told).get("carpet_directory_available") != value:
                        told = (await trio.to_thread.run_sync(urllib.request.urlopen, place)).read().decode()

            await wait_for(1)
            redis.stop()
            await wait_for(0)


async def test_a_server_that_could_take_next_to_no_connections_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (64, 64))
    with pytest.raises(TooFewDescriptors, match=r"open 64 files, and a server needs [0-9]+: raise the limit"):
        async with running(Settings(port=0)):
            pass


async def test_a_database_that_does_not_answer_at_the_start_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answers: list[StoreError] = [StoreAway("it is starting up"), StoreAway("it is starting up")]

    def starting_up(where: str | None, *, shared: bool) -> Store:
        if answers:
            raise answers.pop()
        return open_store(where)

    monkeypatch.setattr("server.app.open_store", starting_up)
    monkeypatch.setattr("server.app.ASK_AGAIN_S", 0.0)
    async with running(Settings(port=0)) as url:
        assert url.startswith("ws://")
    waited = [record.getMessage() for record in caplog.records if "waiting for the database" in record.getMessage()]
    assert waited == ["waiting for the database, 60 seconds at most: it is starting up"]


@pytest.mark.parametrize(
    ("error", "patience_s"), [(StoreAway("it does not answer"), 0), (StoreCorrupt("it is damaged"), 60), (StoreInUse("it is taken"), 60)]
)
async def test_what_waiting_does_not_mend_is_said_at_once(monkeypatch: pytest.MonkeyPatch, error: StoreError, patience_s: int) -> None:
    def broken(where: str | None, *, shared: bool) -> Store:
        raise error

    monkeypatch.setattr("server.app.open_store", broken)
    with pytest.raises(type(error)):
        async with running(Settings(port=0, wait_for_database_s=patience_s)):
            pass


@pytest.mark.slow
async def test_a_race_whose_database_is_locked_for_a_while_goes_on_as_if_no_time_had_passed(tmp_path: Path) -> None:
    """Shown from the store to the players, over real sockets."""
    where = str(tmp_path / "carpet.sqlite3")
    async with running(Settings(port=0, database=where)) as url, connect(url, subprotocols=[Subprotocol(MSGPACK)]) as line:
        ann = Client(line)
        await ann.hello("Ann")
        await ann.open(seats=1, countdown_s=1)
        ready_at = trio.current_time()
        await ann.ready()
        await ann.hear_of(Started)
        with closing(sqlite3.connect(where, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await ann.move(ann.view.moves[0])
            while (told := await ann.hear_of(Error)).code != ErrorCode.CANNOT_WRITE:
                pass
            assert (told.ref, ann.ply) == (0, 0)
            told_at = trio.current_time()
            await trio.sleep(3)
            held_s = trio.current_time() - told_at
            other.execute("ROLLBACK")
        view = await ann.hear_of(PlayerView)
        assert view.ply == 1
        await ann.move(view.view.moves[0])
        # The lock was held for longer: until it was told of, it was not yet seen to be an outage. The race began a second after its player
        # was ready.
        assert (await ann.hear_of(PlayerView)).elapsed_ms < 1000 * (trio.current_time() - ready_at - 1 - held_s)


async def test_whoever_has_gone_to_another_server_of_the_place_hears_there_who_won_their_race_and_their_rating(
    autojump_clock: MockClock,
) -> None:
    store, engine = MemoryStore(), FakeRedis()
    async with trio.open_nursery() as nursery, open_house(store=store) as one, open_house(store=store) as two:
        for number, house in enumerate((one, two), 1):
            bus = Bus("test")
            nursery.start_soon(bus.serve, cast(Any, engine), node_channel(number))
            spread_ratings(bus, house.rooms, house.players)
        await wait_all_tasks_blocked()
        async with one.guest("Ann") as ann, one.guest("Bob") as bob, one.guest("Cyd") as cyd, two.guest("Eve") as eve:
            code = (await ann.open(seats=3, countdown_s=1)).code
            for client in (bob, cyd):
                await client.join(code)
            await one.start(ann, bob, cyd)
            for client in (bob, cyd, ann):
                await client.play()
            await ann.ask(LeaveRace(), Left)
            await ann.line.aclose()
            async with two.client() as elsewhere:
                assert (await elsewhere.hello("Ann", ann.welcome.token)).rating is None
                await cyd.say(Resign(race=1, seat=2))
                await bob.say(Resign(race=1, seat=1))
                told = await elsewhere.hear_of(Rated)
                record = (await bob.hear_of(Result)).record
                assert (told.race, told.won) == (record.id, tuple(seat.name for seat in record.seats if seat.place == 1))
                assert (await bob.hear_of(Ratings)).seats[0] == told.rating
                lobby = await eve.ask(FollowLobby(), Lobby)
                assert dict(zip(lobby.players, lobby.ratings, strict=True)) == {"Eve": None, "Ann": told.rating.after}
        nursery.cancel_scope.cancel()
