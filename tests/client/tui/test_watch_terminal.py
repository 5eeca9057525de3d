"""`carpet watch` and `carpet play --alone` in real pseudo-terminals: watching two house bots race, and racing against the clock."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
import trio

from client.connection.client import open_link
from client.connection.events import WATCH_REFERENCE, Identity
from protocol.client_messages import OpenRace, Ready
from protocol.room_events import Room, Started
from protocol.server_messages import Error
from protocol.views import RaceOptions
from protocol.watch_messages import WatchRace
from tests.e2e.commands import carpet_here, carpet_on_terminal, environment, serving
from tests.e2e.terminal import Terminal, terminal_environment

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving() as url:
        yield url


def terminal(home: Path, *command: str) -> Terminal:
    return Terminal([sys.executable, "-m", "client.cli.main", *command], environment=environment(home, terminal_environment()))


async def a_race_runs(url: str, name: str) -> tuple[str, str]:
    """A player who sits still in a public race against a bot, and goes away: their code and token. The race goes on."""
    async with open_link(url, Identity(name)) as link:
        welcome = await link.entered(OpenRace(options=RaceOptions(bots=("random",), countdown_s=1, grace_s=600, delay_s=0)))
        code = ""
        async for event in link.events:
            if isinstance(event, Room):
                code = event.code
                link.send(Ready(race=1, nonce="00" * 16))
            elif isinstance(event, Started):
                break
        return code, welcome.token


def test_a_race_is_watched_from_the_lobby_and_by_its_code(tmp_path: Path) -> None:
    # A server of its own: what other tests leave would be in its lobby.
    with serving() as url, ExitStack() as stack:
        code, _ = trio.run(partial(a_race_runs, url, "Sitting"))
        screen = stack.enter_context(terminal(tmp_path, "watch", url, code, "--name", "Grace"))
        screen.wait_for(f"Watching · Carpet · {code} · 1 watching")
        screen.wait_for("after move ")
        screen.wait_for("live boards")
        screen.type("v")
        screen.wait_for("0:00 ")
        screen.type("tgo on\r")
        screen.wait_for("Grace: go on")
        screen.type("L")
        screen.wait_for("Watch a race (w): 1 running")
        screen.wait_for("4 Sitting, ")
        screen.type("w\r")
        screen.wait_for(f"Watching · Carpet · {code}")
        screen.resize(120, 40)
        screen.wait_for("after move ")
        screen.type("q")
        assert screen.wait_for_end() == ""
        assert screen.given_back()
        assert screen.process.returncode == 0


def test_without_a_code_it_is_the_closest_race(tmp_path: Path, url: str) -> None:
    code, _ = trio.run(partial(a_race_runs, url, "Closest"))
    ran = carpet_on_terminal(tmp_path, "watch", url, interrupt_at="The closest race; the next one follows.")
    assert (ran.status, ran.err) == (130, "")
    assert code


def test_what_cannot_be_watched_is_said_before_any_screen(tmp_path: Path, url: str) -> None:
    assert carpet_on_terminal(tmp_path, "watch", url, "NOSUCH").sentence == "carpet: No race has that code; ask for it again, or open one."
    assert carpet_on_terminal(tmp_path, "watch", url, "N0").status == 2
    assert carpet_here(tmp_path, "watch", url).sentence.startswith("carpet: carpet watch needs a terminal")


def clock_runs(lines: list[str]) -> bool:
    """Of one deal in ten no card goes home at first."""
    return re.match(r" ▸ (?:\d+ cards?|One card|Nothing fits)", lines[20]) is not None


def test_a_race_against_the_clock_is_kept_among_ones_best(tmp_path: Path) -> None:
    assert carpet_here(tmp_path, "best").out == "No finished races yet; to run one: carpet play\n"
    with terminal(tmp_path, "play", "--alone", "--name", "Ada") as screen:
        screen.wait_for("Ada (you)")
        screen.wait_until(clock_runs, what="that the clock runs")
        # A race without a move is no try.
        screen.type("s")
        screen.wait_for("1 move")
        screen.type("K")
        screen.wait_for("Stop now? The cards you brought home count.")
        screen.type("y")
        screen.wait_for("Your first personal best: ")
        screen.wait_for("r: race the clock again")
        screen.type("r")
        screen.wait_for("race 2")
        screen.wait_until(clock_runs, what="that the clock runs")
        screen.type("s")
        screen.wait_for("1 move")
        screen.type("K")
        screen.wait_for("Stop now? The cards you brought home count.")
        screen.type("y")
        screen.wait_for("2 tries.")
        screen.type("q")
        screen.wait_for_end()
        assert screen.given_back()
    kept = json.loads(carpet_here(tmp_path, "best", "--json").out)["rules"]["carpet"]
    assert (kept["tries"], kept["wins"], kept["best_ms"]) == (2, 0, None)
    assert f"carpet{'-':>11}{kept['most_home']:>11}{2:>7}{0:>10}" in carpet_here(tmp_path, "best").out


def test_a_damaged_file_of_best_times_is_said_before_any_screen(tmp_path: Path) -> None:
    (tmp_path / "bests.json").write_text("{")
    assert "bests.json with your best times is damaged" in carpet_on_terminal(tmp_path, "play", "--alone").sentence
    assert "bests.json with your best times is damaged" in carpet_here(tmp_path, "best").sentence
    both = carpet_on_terminal(tmp_path, "play", "--alone", "--bot", "greedy")
    assert (both.status, both.sentence) == (2, "carpet: --alone and --bot do not go together: alone, you race the clock.")


async def test_whoever_has_a_seat_in_the_race_is_told_why_they_cannot_watch_it(url: str) -> None:
    code, token = await a_race_runs(url, "Curious")
    async with open_link(url, Identity("Curious", token)) as link:
        await link.entered()
        assert link.send(WatchRace(code=code, ref=WATCH_REFERENCE))
        async for event in link.events:
            if isinstance(event, Error):
                assert event.code == "watch/own-race"
                break
