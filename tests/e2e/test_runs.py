"""A deal of the day and a challenge as people play them: by keys in pseudo-terminals and by commands, on a real server."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.commands import carpet, carpet_here, environment, serving_at_noon
from tests.e2e.terminal import STOCK, Terminal, terminal_environment

pytestmark = pytest.mark.slow

HINT = re.compile(r" ▸ (?:\d+ cards?|One card|Nothing fits|Fill the gap)")


class Table:
    """A server, and people who come to it with terminals of their own."""

    def __init__(self, stack: contextlib.ExitStack, home: Path) -> None:
        self.url = stack.enter_context(serving_at_noon(database=str(home / "carpet.sqlite3")))
        self._stack = stack
        self._home = home

    def sit(self, name: str, *arguments: str) -> Terminal:
        command = [sys.executable, "-m", "client.cli.main", *arguments, "--no-motion", "--name", name]
        return self._stack.enter_context(Terminal(command, environment=environment(self._home / name, terminal_environment())))

    def ask(self, name: str, *arguments: str) -> str:
        # The server's own program checks a record.
        ran = (carpet if arguments[0] == "verify" else carpet_here)(self._home / name, *arguments)
        assert (ran.status, ran.err) == (0, "")
        return ran.out


def racing(lines: list[str]) -> list[str]:
    """The lines of a run whose clock runs, as soon as it does."""
    return lines if HINT.match(lines[20]) else []


def play(player: Terminal, moves: int, *, first: int = 1) -> list[str]:
    """So many moves: what can go home goes home, else the stock is turned. Returns the lines after them. first: the number of the first."""
    before = player.wait_until(racing, what="the start")
    for made in range(first, first + moves):
        found = re.search(r"can go home: (\w\d?)", before[20])
        player.type(found[1] if found else STOCK)
        before = player.wait_until(partial(moved, made, before), what=f"move {made}")
    return before


def moved(number: int, before: list[str], lines: list[str]) -> list[str]:
    """The lines after the move of this number."""
    is_counted = any(f" {number} move{'' if number == 1 else 's'}" in line for line in lines)
    return lines if is_counted and lines[1:20] != before[1:20] else []


def stop(player: Terminal) -> None:
    player.type("K")
    player.wait_for("Stop now? The cards you brought home count.")
    player.type("y")


def test_the_deal_of_the_day_is_run_by_keys_once(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        table = Table(stack, tmp_path)
        anna = table.sit("anna", "daily", table.url)
        anna.wait_for("The clock waits for you. Press r when you are ready: this run counts.")
        anna.wait_for("Deal of the day, ")
        anna.type("r")
        play(anna, 4)
        stop(anna)
        anna.wait_for("Others may still run this deal.")
        anna.wait_for("1 run so far.")
        anna.wait_until(lambda lines: next((line for line in lines if re.match(r"[\s│]+1  anna ", line)), None), what="the board")
        anna.type("L")
        anna.wait_for("Race a house bot")
        anna.type("q")
        anna.wait_for_end()
        assert anna.given_back()
        assert "Deal of the day: carpet 1 day in a row." in table.ask("anna", "me", table.url)
        again = table.sit("anna", "daily", table.url)
        again.wait_for("You have had your run of this deal.")
        again.wait_for("Yours is the only run so far.")
        again.type("q")
        again.wait_for_end()
        # Bert has not run it, and is told how many have; they go to it from the home screen.
        assert "1 run so far.\nYou see the runs once" in table.ask("bert", "daily", "board", table.url)
        bert = table.sit("bert", "home", table.url)
        bert.wait_for("Deal of the day")
        bert.type("d")
        bert.wait_for("Enter begins your run")
        bert.type("\r")
        bert.wait_for("Deal of the day, ")
        bert.type("r")
        play(bert, 1)
        stop(bert)
        bert.wait_for("2 runs so far.")
        bert.type("q")
        bert.wait_for_end()
        board = json.loads(table.ask("bert", "daily", "board", table.url, "--json"))
        assert {row["name"] for row in board["rows"]} == {"anna", "bert"}
        assert board["own"]["name"] == "bert"
        lines = table.ask("anna", "daily", "verify", table.url).splitlines()
        assert len(lines) == 8
        assert all("committed to; the secret will be revealed" in line for line in lines)


def test_a_challenge_is_run_by_keys_beside_a_ghost(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        table = Table(stack, tmp_path)
        opened = table.ask("anna", "challenge", "create", table.url, "--name", "anna")
        challenge = re.match(r"Challenge ([A-Z]{6}) is open until ", opened)
        assert challenge is not None
        anna = table.sit("anna", "challenge", "run", table.url, challenge[1])
        anna.wait_for(f"Challenge {challenge[1]}")
        anna.type("r")
        play(anna, 3)
        stop(anna)
        anna.wait_for("1 run so far.")
        anna.type("q")
        anna.wait_for_end()
        assert f"{challenge[1]}  carpet" in table.ask("bert", "challenge", "list", table.url)
        bert = table.sit("bert", "challenge", "run", table.url, challenge[1].lower())
        bert.wait_for("Racing beside you: anna")
        bert.type("r")
        bert.wait_for("anna (ghost)")
        # The ghost moves by itself, and comes to where anna has stopped.
        bert.wait_until(lambda lines: any("anna (ghost)" in line and "stopped" in line for line in lines), what="the end of the ghost")
        play(bert, 1)
        stop(bert)
        bert.wait_for("2 runs so far.")
        bert.type("q")
        bert.wait_for_end()
        board = table.ask("anna", "challenge", "board", table.url, challenge[1])
        assert {line.split()[1] for line in board.splitlines()[2:]} == {"anna", "bert"}


def test_a_race_is_played_on_by_keys_against_ones_past_self(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        table = Table(stack, tmp_path)
        anna = table.sit("anna", "play", "--alone")
        view = play(anna, 5)
        play(anna, 2, first=6)
        stop(anna)
        anna.wait_for("r: race the clock again")
        anna.type("q")
        anna.wait_for_end()
        again = table.sit("anna", "play-on", "--from", "5")
        again.wait_for("Press r when you are ready")
        again.type("r")
        again.wait_until(racing, what="the start")
        again.expect(cards, cards(view))
        again.wait_for("anna (ghost)")
        play(again, 1)
        stop(again)
        again.wait_for("r: race the clock again")
        again.type("q")
        said = again.wait_for_end()
        path = re.search(r"The record of your race is\s+(\S+);", said)
        assert path is not None
        assert "verified" in table.ask("anna", "verify", path[1])
        # And from a replay, where it stands.
        replay = stack.enter_context(
            Terminal(
                [sys.executable, "-m", "client.cli.main", "replay"], environment=environment(tmp_path / "anna", terminal_environment())
            )
        )
        replay.wait_for("paused")
        replay.type("o")
        replay.wait_for("Press r when you are ready")
        replay.type("q")
        replay.wait_for_end()


def cards(lines: list[str]) -> list[str]:
    """Those in the upper rows of the table."""
    return re.findall(r"(?:10|[2-9AJQK])[♠♥♦♣]", "\n".join(line[:48] for line in lines[1:12]))


def test_what_a_host_asks_for_beside_their_race_leaves_its_screen_alone(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        table = Table(stack, tmp_path)
        anna = table.sit("anna", "host", table.url, "--unrated", "--bot", "random")
        code = anna.wait_until(lambda lines: (found := re.search(r"Carpet · ([A-Z]{6}) ", lines[0])) and found[1], what="the code")
        assert "is open until" in table.ask("anna", "challenge", "create", table.url)
        assert re.fullmatch(r"[0-9A-Z]{16}\n", table.ask("anna", "boards-key", table.url, code))
        anna.type("r")
        anna.wait_for("home")
        anna.wait_until(lambda lines: "●" in lines[0], what="the line")
