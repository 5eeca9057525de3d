"""Whatever happens to a connection during a race, in the end both clients and the server agree, and nothing is lost or doubled.

Two scripted players over real sockets, through a proxy that fails. The races for all faults run at the same time.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

from client.connection.client import USUAL_TIMES, NetLink, open_link
from client.connection.errors import closed_by_server
from client.connection.events import Identity
from client.tui.app import run_app
from client.tui.start import StartHome, UiSettings
from protocol.client_messages import JoinRace, OpenRace
from protocol.errors import CloseCode
from protocol.record import Record, from_json
from protocol.views import ChatLine, RaceOptions
from server.app import running
from server.config import Settings
from server.race.audit import audit
from tests.client.tui.hands import NO_JOBS, HandScreen
from tests.e2e.commands import running_server
from tests.e2e.crash import kept_records
from tests.e2e.faulty_proxy import Direction, FaultyProxy
from tests.e2e.nodes import ROOT
from tests.e2e.peer import sitting
from tests.e2e.scripted import QUICK, ScriptedPlayer
from tests.ports import held_ports

pytestmark = pytest.mark.slow

PATIENCE_S = 120
"""Nothing here takes a tenth of that, but on a machine that is busy with something else; then what is stuck is told from what is slow."""
OPTIONS = RaceOptions(public=False, countdown_s=1, deal="143")
"""A shuffle that is won in fewer than sixty moves."""
OPEN = OpenRace(options=OPTIONS)
PACE = 0.04

Fault = Callable[[FaultyProxy, ScriptedPlayer], Awaitable[None]]


def tear(direction: Direction, *afters: int) -> Fault:
    """In the midst of a message, each time after so many bytes."""

    async def strike(proxy: FaultyProxy, player: ScriptedPlayer) -> None:
        for after in afters:
            await player.reached(player.model.room.ply + 5 if player.model.room else 5)
            proxy.tear(direction, after)

    return strike


def when_reached(befall: Callable[[FaultyProxy], None], *plies: int) -> Fault:
    """Each time that the player has made so many moves."""

    async def strike(proxy: FaultyProxy, player: ScriptedPlayer) -> None:
        for ply in plies:
            await player.reached(ply)
            befall(proxy)

    return strike


async def swallow_new_lines_too(proxy: FaultyProxy, player: ScriptedPlayer) -> None:
    await player.reached(8)
    proxy.swallows_new = True
    proxy.swallow()
    while proxy.lines < 4:
        await proxy.accepted.wait()
    proxy.swallows_new = False


async def delay(proxy: FaultyProxy, player: ScriptedPlayer) -> None:
    proxy.delay_s, proxy.jitter_s = 0.03, 0.06
    await player.reached(10)
    proxy.cut()


async def anything_at_any_moment(proxy: FaultyProxy, player: ScriptedPlayer) -> None:
    generator = random.Random(7)
    await player.reached(1)
    for _ in range(8):
        await trio.sleep(generator.uniform(0.1, 0.5))
        match generator.choice(["cut", "tear up", "tear down", "swallow"]):
            case "cut":
                proxy.cut()
            case "swallow":
                proxy.swallow()
            case tear:
                proxy.tear("up" if tear == "tear up" else "down", generator.randrange(1, 300))


FAULTS: dict[str, Fault] = {
    "cut": when_reached(FaultyProxy.cut, 5, 6, 15),
    "sent torn": tear("up", 1, 3, 20),
    "heard torn": tear("down", 1, 3, 200),
    "sent halved": when_reached(lambda proxy: proxy.halve("up"), 8),
    "heard halved": when_reached(lambda proxy: proxy.halve("down"), 8),
    "all swallowed": when_reached(FaultyProxy.swallow, 8),
    "sent swallowed": when_reached(lambda proxy: proxy.swallow("up"), 8),
    "heard swallowed": when_reached(lambda proxy: proxy.swallow("down"), 8),
    "new swallowed too": swallow_new_lines_too,
    "delayed": delay,
    "anything": anything_at_any_moment,
}


@asynccontextmanager
async def serving(database: Path, port: int = 0) -> AsyncIterator[int]:
    """A server in this process; its port."""
    async with running(Settings(port=port, database=str(database), rate=1000, burst=1000)) as url:
        yield int(url.rpartition(":")[2])


class Raced:
    """One race of two players."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.players = (ScriptedPlayer(f"{name[:18]} 1", pace=PACE), ScriptedPlayer(f"{name[:18]} 2", policy="steady", pace=PACE))
        self.records: list[Record] = []
        self.lines = 0

    async def race(self, server_port: int, fault: Fault) -> None:
        first, second = self.players
        async with FaultyProxy.running(server_port) as proxy:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._play, first, proxy.url, OPEN)
                await first.entered.wait()
                nursery.start_soon(self._play, second, proxy.url, JoinRace(code=first.code))
                nursery.start_soon(fault, proxy, first)
            self.lines = proxy.lines

    async def _play(self, player: ScriptedPlayer, url: str, request: OpenRace | JoinRace) -> None:
        self.records.append(await player.race(url, request))

    def __str__(self) -> str:
        """How far it is, for whoever wonders why it does not end."""
        players = (
            f"{player.identity.name}: entered {player.entered.is_set()}, asked for {len(player.notes.asked)} moves,"
            f" phase {player.model.room.phase if player.model.room is not None else None}, back {player.notes.back} times,"
            f" lost {[lost.reason for lost in player.notes.lost][-3:]}"
            for player in self.players
        )
        return f"{self.name}, lines {self.lines}, records {len(self.records)}: {'; '.join(players)}"

    def check(self, kept: Record) -> None:
        """Everybody believes the same, each move that counts was asked for, and was played and said once."""
        assert self.records == [kept, kept], self.name
        audit(kept)
        for player in self.players:
            check_notes(player, kept)
        assert self.lines > 2, f"{self.name}: the fault has struck nobody"
        assert all(player.notes.back for player in self.players), self.name


def check_notes(player: ScriptedPlayer, record: Record) -> None:
    notes, room = player.notes, player.model.room
    assert notes.gaps == [], player.identity.name
    assert room is not None, player.identity.name
    assert room.own is not None
    assert room.view is not None
    assert room.record == record
    for info, ended in zip(room.seats, record.seats, strict=True):
        assert (info.ply, info.home, info.state) == (ended.plies, ended.home, ended.state)
    seat = room.own.seat
    moves = dict(enumerate(move.move for move in record.moves if move.seat == seat))
    # What counts after the close was asked for and is struck out: those are the last plies.
    assert moves.items() <= notes.asked.items(), player.identity.name
    assert sorted(notes.asked) == list(range(len(notes.asked)))
    assert record.seats[seat].state == "stopped" or len(notes.asked) == len(moves)
    heard = [line.text for line in room.chat if isinstance(line, ChatLine) and line.seat == seat]
    assert heard == notes.said[: len(heard)], player.identity.name
    # Only what was said at the very end may be on its way still.
    assert len(notes.said) - len(heard) <= 1


async def test_no_fault_of_the_connection_loses_or_doubles_anything(tmp_path: Path) -> None:
    database = tmp_path / "races.sqlite3"
    raced = [Raced(name) for name in FAULTS]
    with trio.move_on_after(PATIENCE_S) as patience:
        async with serving(database) as port, trio.open_nursery() as nursery:
            for race, fault in zip(raced, FAULTS.values(), strict=True):
                nursery.start_soon(race.race, port, fault)
    stuck = [str(race) for race in raced if len(race.records) < len(race.players)]
    assert not patience.cancelled_caught, stuck
    kept = kept_records(database)
    assert len(kept) == len(FAULTS)
    for race in raced:
        race.check(kept[race.players[0].code])


async def test_a_player_who_was_asleep_is_of_one_mind_with_the_others_when_they_wake(tmp_path: Path) -> None:
    database = tmp_path / "races.sqlite3"
    awake = ScriptedPlayer("awake", pace=0.07)
    # Or the race may be over before the other has fallen asleep.
    awake.rests = True
    with trio.fail_after(PATIENCE_S):
        async with serving(database) as port, trio.open_nursery() as nursery:
            url = f"ws://127.0.0.1:{port}"
            nursery.start_soon(awake.race, url, OPEN)
            await awake.entered.wait()
            with subprocess.Popen(  # noqa: ASYNC220  (starting it takes no time)
                [sys.executable, "-m", "tests.e2e.scripted", url, awake.code], cwd=ROOT, stdout=subprocess.PIPE, text=True
            ) as process:
                try:
                    while awake.model.room is None or awake.model.room.opponents[0].ply < 5:
                        await awake.told.wait()
                    process.send_signal(signal.SIGSTOP)
                    awake.rests = False
                    # Far more than it waits for a pong.
                    await trio.sleep(4 * QUICK.pong_s)
                    process.send_signal(signal.SIGCONT)
                    out, _ = await trio.to_thread.run_sync(process.communicate)
                finally:
                    process.kill()
    slept = json.loads(out)
    (kept,) = kept_records(database).values()
    assert from_json(slept["record"]) == awake.model.room.record == kept
    assert slept["gaps"] == []
    seat = 1
    moves = [move.move for move in kept.moves if move.seat == seat]
    assert list(slept["asked"].values())[: len(moves)] == moves
    check_notes(awake, kept)


def test_time_in_which_the_server_was_stopped_counts_against_nobody() -> None:
    with running_server("--database", "memory") as (url, process), sitting(url, "Ann", seats=1, countdown_s=1, public=False) as ann:
        ann.ready()
        ann.start()
        ann.play()
        process.send_signal(signal.SIGSTOP)
        try:
            ann.wait_for_silence(6)
        finally:
            process.send_signal(signal.SIGCONT)
        told = ann.hear_of("room")
        assert told["elapsed_ms"] < 6000, "nor does the clock that they see run on"
        ann.play()
        ann.stop()
        assert ann.hear_of("result")["record"]["seats"][0]["plies"] == 2


async def test_the_newer_of_two_clients_of_one_player_has_the_seat_and_the_older_keeps_away(tmp_path: Path) -> None:
    database = tmp_path / "races.sqlite3"
    older, other = ScriptedPlayer("anna", pace=0.1), ScriptedPlayer("bert", policy="steady", pace=PACE)
    with trio.fail_after(PATIENCE_S):
        async with serving(database) as port, FaultyProxy.running(port) as proxy, trio.open_nursery() as nursery:
            url = f"ws://127.0.0.1:{port}"

            async def race_until_taken_over() -> None:
                with pytest.raises(trio.EndOfChannel):
                    await older.race(proxy.url, OPEN, times=USUAL_TIMES)

            nursery.start_soon(race_until_taken_over)
            await older.entered.wait()
            nursery.start_soon(other.race, url, JoinRace(code=older.code))
            await older.reached(5)
            # Nothing is to be on its way when the older is taken over, nor the race over before that.
            other.rests = True
            await older.rest()
            newer = ScriptedPlayer("anna", pace=PACE, token=older.identity.token)
            newest: list[Record] = []

            async def race_on() -> None:
                # Whatever it was started for: it goes to the seat that is held.
                newest.append(await newer.race(url, OPEN, times=USUAL_TIMES))

            nursery.start_soon(race_on)
            await newer.entered.wait()
            other.rests = False
        assert proxy.lines == 1, "the older has not come back"
    (kept,) = kept_records(database).values()
    assert newest == [kept]
    taken_over = closed_by_server(CloseCode.TAKEN_OVER, "")
    assert [(lost.reason, lost.retry_in_ms) for lost in older.notes.lost] == [(taken_over.reason, None)]
    assert newer.notes.lost == []
    check_notes(other, kept)
    moves = [move.move for move in kept.moves if move.seat == 0]
    asked = older.notes.asked | newer.notes.asked
    assert [asked[ply] for ply in range(len(moves))] == moves
    assert [line.text for line in newer.model.room.chat if line.seat == 0] == older.notes.said + newer.notes.said  # type: ignore[union-attr]


class WatchedScreen(HandScreen):
    """drawn: set, and replaced, with every drawing."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = trio.Event()

    def draw_screen(self, size: tuple[int, int], canvas: object) -> None:
        super().draw_screen(size, canvas)
        self.drawn.set()
        self.drawn = trio.Event()


async def shown(screen: WatchedScreen, text: str) -> None:
    while not (screen.canvases and screen.shows(text)):
        await screen.drawn.wait()


async def test_the_screens_tell_of_a_server_that_is_started_again(tmp_path: Path) -> None:
    database = tmp_path / "races.sqlite3"
    other, screen = ScriptedPlayer("bert", pace=0.3), WatchedScreen()
    with trio.fail_after(PATIENCE_S), held_ports(1) as (port,):
        async with trio.open_nursery() as nursery:
            async with serving(database, port):
                url = f"ws://127.0.0.1:{port}"
                nursery.start_soon(partial(other.race, url, OPEN, times=USUAL_TIMES))
                await other.entered.wait()
                link = await nursery.start(_open_link, url, JoinRace(code=other.code))
                nursery.start_soon(_run_app, link, screen)
                await shown(screen, "Press r when you are ready")
                await screen.give("r")
                await shown(screen, " / 10:00")
                await screen.give("s")
                await shown(screen, "1 move")
            await shown(screen, "reconnecting in")
            await shown(screen, "the connection was refused")
            async with serving(database, port):
                await shown(screen, "Connected again.")
                await screen.give("s")
                await shown(screen, "2 moves")
                while not other.notes.back:
                    await other.told.wait()
            nursery.cancel_scope.cancel()
    assert other.notes.back == 1
    assert other.notes.gaps == []


async def _open_link(url: str, request: JoinRace, task_status: trio.TaskStatus[NetLink]) -> None:
    async with open_link(url, Identity("anna"), generator=random.Random(3)) as link:
        await link.entered(request)
        task_status.started(link)
        await trio.sleep_forever()


async def _run_app(link: NetLink, screen: HandScreen) -> None:
    await run_app(link, settings=UiSettings(bell=False), start=StartHome(), screen=screen, jobs=NO_JOBS)
