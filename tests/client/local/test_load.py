"""The load generator against a server of its own, and how its counts are combined."""

from __future__ import annotations

import json
import math
import socket
from collections.abc import Callable
from multiprocessing.connection import Connection as Pipe
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.cli.load import load_lines, trial_line
from client.connection.address import Address, parse_address
from client.local import load as generator
from client.local import load_worker
from client.local.load import LoadFailed, find_load, run_load
from client.local.load_figures import Histogram, LoadCounts, LoadResult, together
from client.local.load_wire import Connection, Loop, Offered, Told
from client.local.load_worker import Load, Plan, Race
from client.local.server_process import open_server
from tests.client.cli.test_main import run

PLAN = Plan(url="ws://127.0.0.1:1", races=10, rate=1.0, watchers=0, rules="carpet")
TIMES = st.floats(0.001, 10_000)


def histogram(*times: float) -> Histogram:
    counted = Histogram()
    for ms in times:
        counted.add(ms)
    return counted


@given(st.lists(TIMES, min_size=1, max_size=200), st.sampled_from([0.5, 0.9, 0.99]))
def test_a_quantile_is_right_to_a_few_per_cent(times: list[float], part: float) -> None:
    exact = sorted(times)[math.ceil(part * len(times)) - 1]
    found = histogram(*times).quantile(part)
    assert found is not None
    assert exact * 0.999 <= found <= min(exact * 1.05, max(times) * 1.001)


@given(st.lists(TIMES), st.lists(TIMES))
def test_the_times_of_two_processes_add_up_to_those_of_one(some: list[float], others: list[float]) -> None:
    both = histogram(*some)
    both.merge(histogram(*others))
    assert both == histogram(*some, *others)
    assert sum(count for _, count in both.by_doubling()) == both.total == len(some) + len(others)


def result(races: int, *times: float, **changes: object) -> LoadResult:
    tally = LoadCounts(moves=len(times), races=races, by_second={0: histogram(*times)}, seconds=2.0, busy=0.5, setup_s=1.0, **changes)  # type: ignore[arg-type]
    return together([tally])


def test_what_is_measured_is_shown_with_what_makes_it_doubtful() -> None:
    shown = "\n".join(load_lines(result(10, 1.5, 3.0, 3.5, 40.0), ascii_only=True))
    assert "10 races, 2 s: 2 moves/s; set up at 20 players/s." in shown
    assert "under 4 ms  ######" in shown
    assert "at most 25% of a core in one." in shown
    assert "slower than the server" not in shown
    assert "slower than the server" in "\n".join(load_lines(together([LoadCounts(seconds=1, busy=0.9, setup_s=1)]), ascii_only=True))
    assert "3 times race/not-started" in "\n".join(load_lines(result(10, 1.0, errors={"race/not-started": 3}), ascii_only=True))


def test_a_move_that_was_due_in_one_race_is_not_made_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    class Line:
        def __init__(self, *_: object) -> None:
            pass

        def say(self, **message: object) -> None:
            said.append(str(message["type"]))

    monkeypatch.setattr(load_worker, "Connection", Line)
    load = Load(PLAN, parse_address(PLAN.url), "x")
    due: list[tuple[float, Callable[[float], None]]] = []
    monkeypatch.setattr(load.loop, "at", lambda moment, call: due.append((moment, call)))
    player = Race(load, 0).players[0]

    def race(number: int, now: float) -> None:
        player.heard(Told(type="room", code="ABCDEF", phase="waiting", race=number, seat=0), now)
        player.heard(Told(type="dealt", seat=0, view=Offered(("s",))), now)
        player.heard(Told(type="started"), now)

    race(1, 100.0)
    first, call = due.pop()
    call(first)
    assert said == ["move"]
    # The next one is due while the last is not answered, and then the race is over.
    second, call = due.pop()
    call(second)
    player.heard(Told(type="result"), second)
    assert said == ["move", "rematch"]
    race(2, second + 5)
    call(second)
    assert said.count("move") == 1
    assert [moment >= second + 5 for moment, _ in due] == [True]


@pytest.mark.parametrize(("told_ms", "wait_s"), [(250, 0.25), (0, load_worker.WAIT_S)])
def test_whoever_is_told_to_open_their_race_later_asks_again_when_they_were_told_to(
    monkeypatch: pytest.MonkeyPatch, told_ms: int, wait_s: float
) -> None:
    said: list[object] = []
    line = SimpleNamespace(say=lambda **message: said.append(message["type"]))
    monkeypatch.setattr(load_worker, "Connection", lambda *_: line)
    monkeypatch.setattr("client.local.load_worker.time.perf_counter", lambda: 100.0)
    load = Load(PLAN, parse_address(PLAN.url), "x")
    due: list[tuple[float, Callable[[float], None]]] = []
    monkeypatch.setattr(load.loop, "at", lambda moment, call: due.append((moment, call)))
    Race(load, 0).players[0].heard(Told(type="error", code="server/busy", retry_after_ms=told_ms), 100.0)
    ((moment, call),) = due
    assert moment == 100.0 + wait_s
    call(moment)
    assert said == ["open-race"]
    assert load.asked_to_wait == 1
    assert not load.errors


def test_the_largest_load_is_found_by_doubling_and_halving(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def measured(plan: Plan, **rest: object) -> LoadResult:
        tried.append(plan.races)
        return result(plan.races, 10.0 if plan.races <= 137 else 200.0)

    monkeypatch.setattr(generator, "run_load", measured)
    best = find_load(PLAN, bound_ms=50, seconds=1, processes=1, tell=lambda each: None, progress=lambda *told: None)
    assert best is not None
    assert tried == [10, 20, 40, 80, 160, 120, 140, 130, 135]
    assert trial_line(result(10, 200.0), 50).endswith("p99 200.0 ms: too many")


def test_where_fewer_races_are_let_in_and_hold_these_are_the_largest_load(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def measured(plan: Plan, **rest: object) -> LoadResult:
        assert plan.fewer
        tried.append(plan.races)
        return result(min(plan.races, 33), 10.0)

    monkeypatch.setattr(generator, "run_load", measured)
    best = find_load(PLAN, bound_ms=50, seconds=1, processes=1, tell=lambda each: None, progress=lambda *told: None)
    assert best is not None
    assert best.races == 33
    assert tried == [10, 20, 40]


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> tuple[Load, list[object]]:
    """A load whose loop does at once what is due, and what its players say."""
    said: list[object] = []
    line = SimpleNamespace(say=lambda **message: said.append(message["type"]))
    monkeypatch.setattr(load_worker, "Connection", lambda *_: line)
    load = Load(PLAN, parse_address(PLAN.url), "x")
    monkeypatch.setattr(load.loop, "at", lambda moment, call: call(moment))
    monkeypatch.setattr(load.loop, "run", lambda until: None)
    return load, said


def test_in_the_end_all_players_leave_and_say_nothing_more(unhurried: tuple[Load, list[object]]) -> None:
    load, said = unhurried
    load.open_some()
    load.leave()
    assert said == ["leave-race"] * 2 * PLAN.races
    Race(load, 0).players[0].heard(Told(type="result"), 100.0)
    assert len(said) == 2 * PLAN.races


@pytest.mark.parametrize("fewer", [True, False])
def test_races_that_run_are_measured_in_a_search_where_others_are_not_let_in(
    unhurried: tuple[Load, list[object]], monkeypatch: pytest.MonkeyPatch, fewer: bool
) -> None:
    load, _ = unhurried
    load.plan = msgspec.structs.replace(PLAN, fewer=fewer)
    load.open_some()
    monkeypatch.setattr(load.loop, "at", lambda moment, call: None)
    load.stands, load.asked_to_wait = 2, 5
    told: list[object] = []
    load.run(SimpleNamespace(send=told.append), 1.0)  # type: ignore[arg-type]
    if fewer:
        assert told[:2] == [2, None]
        assert isinstance(told[2], LoadCounts)
        assert told[2].races == 2
    else:
        assert told == ["Only 2 of 10 races could be opened; asked to wait: 5 times."]


class PatientLoad(Load):
    """Measures on, where the time was too short for a slow machine, until each figure is there."""

    def __init__(self, plan: Plan, address: Address, mark: str) -> None:
        super().__init__(plan, address, mark)
        run, tally = self.loop.run, self.tally

        def lacks() -> bool:
            return tally.moves <= 15 or not tally.progress.total or (plan.watchers > 0 and not tally.watched.total)

        def run_on(until: Callable[[], float]) -> None:
            run(lambda: math.inf if self.measuring and lacks() else until())

        self.loop.run = run_on  # type: ignore[method-assign]


def work_patiently(pipe: Pipe, plan: Plan, seconds: float, mark: str) -> None:
    load_worker.Load = PatientLoad  # type: ignore[misc]
    load_worker.work(pipe, plan, seconds, mark)


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "watchers"), [(5.0, 2), (0.0, 0)], ids=["open loop, watched", "closed loop"])
async def test_races_are_set_up_played_and_measured_without_an_error(rate: float, watchers: int) -> None:
    async with open_server(options=["--rate", "100000", "--burst", "100000"]) as url:
        plan = Plan(url=url, races=3, rate=rate, watchers=watchers, rules="carpet")
        told: list[tuple[int, int, float | None]] = []
        measured = run_load(plan, seconds=1.5, processes=2, progress=lambda *each: told.append(each), worker=work_patiently)
        assert measured.errors == {}
        assert (measured.races, measured.processes) == (3, 2)
        assert measured.moves > 15
        assert measured.view_ms["p99"] is not None
        assert measured.progress_ms["p50"] is not None
        assert (measured.watched_ms["p50"] is not None) == (watchers > 0)
        assert (3, 3, None) in told


def test_where_nobody_listens_that_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LoadFailed, match="refused"):
        run_load(PLAN, seconds=1, processes=1, progress=lambda *told: None)
    assert run(capsys, "load", "127.0.0.1:1", "--find", "--rate", "0").status == 2


def test_the_json_has_the_figures_and_not_the_histogram(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("client.cli.load.run_load", lambda plan, **rest: result(plan.races, 1.0))
    document = json.loads(run(capsys, "load", "127.0.0.1", "--races", "10", "--json").out)
    assert (document["moves"], document["view_ms"]["max"], document["url"]) == (1, 1.0, "ws://127.0.0.1:7777")
    assert "view" not in document


def test_what_is_said_on_a_line_that_has_ended_goes_nowhere() -> None:
    ends: list[str] = []

    class Player:
        def opened(self) -> None:
            raise AssertionError("nobody answers there")

        def heard(self, message: Told, now: float) -> None:
            raise AssertionError("nobody is there")

        def closed(self, why: str) -> None:
            ends.append(why)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        line = Connection(parse_address(f"ws://127.0.0.1:{listening.getsockname()[1]}"), Loop(), Player())
        line.leave()
        line.say(type="join-race", code="ABCDEF")
    assert ends == []
