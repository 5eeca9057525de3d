"""The demo against the real server: a race over real WebSockets and its record, which the commands check."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.commands import TIMEOUT, Ran, carpet, environment

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> list[Ran]:
    """Of a random deal, and twice of one with a name."""
    home = tmp_path_factory.mktemp("home")
    return [carpet(home, "demo", "--json", "--fast", *named) for named in ([], ["--deal", "friday"], ["--deal", "friday"])]


def test_the_record_alone_is_printed_and_tells_of_a_whole_race(shown: list[Ran]) -> None:
    for ran in shown:
        assert (ran.status, ran.err) == (0, "")
        record = json.loads(ran.out)
        assert record["rules"] == "carpet"
        assert [seat["name"] for seat in record["seats"]] == ["anna", "bert"]
        assert all(seat["state"] != "racing" for seat in record["seats"])
        assert len(record["moves"]) > 20


def test_verify_accepts_it_by_its_name_and_by_input(shown: list[Ran], tmp_path: Path) -> None:
    file = tmp_path / "race.json"
    file.write_text(shown[0].out)
    for ran in (carpet(tmp_path, "verify", str(file)), carpet(tmp_path, "verify", "-", text=shown[1].out)):
        assert (ran.status, ran.err) == (0, "")
        assert ran.out.startswith("verified: race 1 of ")


def test_a_changed_record_is_refused_by_the_players_command_too(shown: list[Ran], tmp_path: Path) -> None:
    record = json.loads(shown[0].out)
    seats = [{**record["seats"][0], "name": "cleo"}, *record["seats"][1:]]
    ran = carpet(tmp_path, "verify", "-", text=json.dumps({**record, "seats": seats}))
    assert ran.status == 1
    assert "not a true record" in ran.sentence


def test_the_demo_tells_the_race_in_lines(tmp_path: Path) -> None:
    ran = carpet(tmp_path, "demo", "--fast", "--deal", "tuesday")
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert "at ws://127.0.0.1:" in lines[0]
    assert any("the deal named 'tuesday'" in line for line in lines)
    bars = [line for line in lines if "/52" in line]
    assert bars[0].split() == ["0.0", "s", "anna", "█" + "░" * 19, "4/52", "bert", "█" + "░" * 19, "4/52"]
    assert "Result:" in lines
    assert sum(line.startswith("  ok: ") for line in lines) == 5
    assert not any("WRONG" in line or "not checked" in line for line in lines)
    assert "\x1b" not in ran.out


def test_the_same_name_deals_the_same_cards(shown: list[Ran]) -> None:
    first, second = (json.loads(ran.out)["deal"] for ran in shown[1:])
    assert first["seed"] == second["seed"]
    assert first["commitment"] != second["commitment"]


@contextlib.contextmanager
def demo(home: Path, **how: Any) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """One that is watched in the time of people, and the port of its server."""
    command = [sys.executable, "-m", "client.cli.main", "demo"]
    with subprocess.Popen(
        command, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **how
    ) as process:
        try:
            assert process.stdout is not None
            port = re.search(r"at ws://127\.0\.0\.1:(\d+)", process.stdout.readline())
            assert port is not None
            yield process, int(port[1])
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_whoever_is_told_to_end_or_loses_the_terminal_ends_the_server_too(tmp_path: Path, number: signal.Signals) -> None:
    # Tests that are run by `nohup`, or in the background, would have it ignored.
    with demo(tmp_path, preexec_fn=lambda: signal.signal(number, signal.SIG_DFL)) as (process, port):
        process.send_signal(number)
        _, errors = process.communicate(timeout=TIMEOUT)
        assert (process.returncode, errors) == (130, "")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))


def test_a_terminal_that_goes_ends_nothing_that_is_not_to_hear_of_it(tmp_path: Path) -> None:
    with demo(tmp_path, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as (process, _):
        process.send_signal(signal.SIGHUP)
        assert process.stdout is not None
        assert any("/52" in process.stdout.readline() for _ in range(20)), "the race goes on"
        process.terminate()
        process.communicate(timeout=TIMEOUT)
        assert process.returncode == 130
