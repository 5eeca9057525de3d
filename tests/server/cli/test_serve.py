"""`carpet-server serve` as a node: what ends it, and what makes it start again."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from server.cli.serve import _serve
from server.config import Settings
from server.store.errors import LeaseLost, StoreAway

pytestmark = pytest.mark.usefixtures("frozen_again")


@pytest.mark.parametrize("starts", [1, 2])
async def test_whoever_is_stopped_does_not_begin_anew_though_the_lease_is_lost_on_the_way(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], starts: int
) -> None:
    begun = 0

    @asynccontextmanager
    async def running(settings: Settings, *, tls: object) -> AsyncIterator[str]:
        nonlocal begun
        begun += 1
        if begun < starts:
            raise LeaseLost("others answer for its races")
        os.kill(os.getpid(), signal.SIGTERM)
        yield "ws://127.0.0.1:7777"
        raise LeaseLost("others answer for its races")

    monkeypatch.setattr("server.app.running", running)
    await _serve(Settings(), exit_with_parent=False)
    assert begun == starts
    assert capsys.readouterr().out == "listening on ws://127.0.0.1:7777\n"


@pytest.mark.parametrize(
    ("terminal", "has_certificate", "ignored", "stops"),
    [
        ("none", False, False, False),
        ("open", False, False, True),
        ("open", False, True, False),
        ("open", True, False, False),
        ("closed", True, False, True),
    ],
)
async def test_sighup_stops_a_server_whose_terminal_is_closed_and_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, terminal: str, has_certificate: bool, ignored: bool, stops: bool
) -> None:
    looks = iter([terminal != "none"])

    @asynccontextmanager
    async def running(settings: Settings, *, tls: object) -> AsyncIterator[str]:
        os.kill(os.getpid(), signal.SIGHUP)
        await wait_all_tasks_blocked()
        os.kill(os.getpid(), signal.SIGTERM)
        yield "ws://127.0.0.1:7777"

    monkeypatch.setattr("server.app.running", running)
    monkeypatch.setattr("server.app.tls_of", lambda settings: object() if has_certificate else None)
    # A terminal that is closed is none any more.
    monkeypatch.setattr(sys.stderr, "isatty", lambda: next(looks, terminal == "open"))
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_IGN if ignored else signal.SIG_DFL)
    caplog.set_level("INFO")
    await _serve(Settings(), exit_with_parent=False)
    assert ("SIGHUP: stopping" in caplog.text) is stops
    assert ("SIGTERM: stopping" in caplog.text) is not stops


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("ws://127.0.0.1:7777", ["http://127.0.0.1:7777", "carpet home ws://127.0.0.1:7777", "--host 0.0.0.0"]),
        ("ws://0.0.0.0:7777", ["http://SERVER:7777", "carpet home ws://SERVER:7777", "SERVER is this machine's name or address"]),
        ("ws://*:7777", ["http://SERVER:7777", "carpet home ws://SERVER:7777", "SERVER is this machine's name or address"]),
        ("wss://[::]:443", ["https://SERVER:443", "carpet home wss://SERVER:443", "SERVER is this machine's name or address"]),
        ("wss://carpet.example:443", ["https://carpet.example:443", "carpet home wss://carpet.example:443"]),
    ],
)
async def test_a_host_at_a_terminal_is_told_what_to_tell_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str, told: list[str]
) -> None:
    @asynccontextmanager
    async def running(settings: Settings, *, tls: object) -> AsyncIterator[str]:
        os.kill(os.getpid(), signal.SIGTERM)
        yield url

    monkeypatch.setattr("server.app.running", running)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    await _serve(Settings(), exit_with_parent=False)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == f"listening on {url}"
    assert len(lines) == len(told)
    assert all(words in line for words, line in zip(told, lines, strict=True))


@pytest.mark.parametrize("answers", [True, False])
async def test_whoever_is_stopped_while_the_database_is_waited_for_ends_at_once(monkeypatch: pytest.MonkeyPatch, answers: bool) -> None:
    given_up = threading.Event()

    def opening(where: str | None, *, shared: bool) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        # A server that is asleep: it refuses nothing.
        given_up.wait(0 if answers else 60)
        raise StoreAway("it does not answer")

    monkeypatch.setattr("server.app.open_store", opening)
    with trio.fail_after(30):
        await _serve(Settings(port=0), exit_with_parent=False)
    given_up.set()
