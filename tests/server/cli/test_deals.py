"""`carpet-server solve`, `winrate`, `review`: what they print, that lines replay and runs repeat, and one sentence for any error."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from protocol.fairness import named_seed
from protocol.record import to_json
from server.analysis.winrate import deal_seed
from server.bots.house import HOUSE_BOTS
from server.cli.commands import app
from server.cli.deals import QUICK_BOTS
from server.race.commands import ChooseDeal, GetReady, StopSeat
from server.rules.catalogue import RULE_SETS, rule_set
from server.solver.winnable import first_winnable
from tests.server.cli.test_main import complaint
from tests.server.race.racing import SECRET, STALLING, Driven, greedy_line, nonce, options, seated, started

ROOT = Path(__file__).parents[3]
SEED = named_seed("seven")


def run(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin)


def json_of(*arguments: str, stdin: str = "") -> Any:
    result = run(*arguments, "--json", stdin=stdin)
    assert result.exit_code == 0, result.output
    assert result.stdout.count("\n") == 1
    assert result.stderr == ""
    return json.loads(result.stdout)


# ---- solve


@pytest.mark.slow
@pytest.mark.parametrize("rules", RULE_SETS)
def test_a_line_that_is_printed_wins(rules: str) -> None:
    found = json_of("solve", rules, "--seed", SEED.hex(), "--budget", "3000")
    assert list(found) == ["outcome", "nodes", "moves"]
    assert found["outcome"] in ("won", "lost", "unknown")
    assert 0 <= found["nodes"] <= 3000
    position = rule_set(rules).deal(SEED)
    for move in found["moves"]:
        position = position.play(move)
    assert position.is_won == (found["outcome"] == "won")
    assert bool(found["moves"]) == (found["outcome"] == "won")


def test_a_deal_by_name_is_the_one_of_its_seed() -> None:
    assert json_of("solve", "carpet", "--deal", "seven") == json_of("solve", "carpet", "--seed", SEED.hex().upper())


def test_outcomes_are_told_in_words_and_what_is_no_proof_is_said_to_be_none() -> None:
    won = run("solve", "carpet", "--deal", "24").stdout.splitlines()
    assert won[0].startswith(f"won: carpet, seed {named_seed('24').hex()}; ")
    assert won[1].split(": ")[1] == " ".join(json_of("solve", "carpet", "--deal", "24")["moves"])
    lost = next(name for name in map(str, range(50)) if json_of("solve", "carpet-whist", "--deal", name)["outcome"] == "lost")
    assert "Every line of play was looked at: none wins." in run("solve", "carpet-whist", "--deal", lost).stdout
    unknown = run("solve", "teppich", "--deal", "1", "--budget", "5").stdout
    assert unknown.startswith("unknown: ")
    assert "does not prove" in unknown


# ---- winrate


def test_the_bots_that_play_unless_told_otherwise_are_those_that_do_not_think_long() -> None:
    assert QUICK_BOTS.split(",") == [bot.name for bot in HOUSE_BOTS.values() if not bot.thinks]


@pytest.mark.slow
def test_a_sample_is_counted_and_the_run_repeats() -> None:
    arguments = ("winrate", "carpet", "--deals", "40", "--first-seed", "01" * 32, "--bots", "greedy,deep", "--bot-deals", "2")
    first = json_of(*arguments, "--processes", "2")
    assert first == json_of(*arguments, "--processes", "1")
    outcomes = [json_of("solve", "carpet", "--seed", deal_seed(b"\x01" * 32, n).hex())["outcome"] for n in range(40)]
    assert (first["won"], first["lost"], first["unknown"]) == (outcomes.count("won"), outcomes.count("lost"), 0)
    assert first["low"] < first["share"] < first["high"]
    assert [(bot["name"], bot["deals"]) for bot in first["bots"]] == [("greedy", 40), ("deep", 2)]


@pytest.mark.slow
def test_it_is_told_in_words_without_a_bar_where_there_is_no_terminal() -> None:
    result = run("winrate", "carpet", "--deals", "10", "--bots", "none")
    assert result.exit_code == 0
    assert result.stderr == ""
    first, second = result.stdout.splitlines()
    assert first.startswith("carpet: 10 deals; with every card known ")
    assert second.startswith("can be won: ")
    two_decks = run("winrate", "teppich", "--deals", "2", "--bots", "random", "--budget", "5").stdout
    assert "can be won: at least 0.00 % (95 % interval 0.00 % to 100.00 %)" in two_decks
    assert "With two decks, not every line of play is looked at" in two_decks
    assert "random: won 0 of 2" in two_decks


@pytest.mark.slow
def test_on_a_terminal_a_bar_says_how_far_it_is() -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "server.cli.main", "winrate", "carpet", "--deals", "60", "--bots", "none", "--json"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=slave, text=True) as process:
        os.close(slave)
        stdout, _ = process.communicate(timeout=60)
    drawn = ""
    # At its end it is an error to read on.
    with suppress(OSError):
        while piece := os.read(master, 10_000).decode():
            drawn += piece
    os.close(master)
    assert json.loads(stdout)["deals"] == 60
    shown = drawn.rstrip("\r\n").split("\r")
    assert shown[1] == f"[{'.' * 30}] 0 of 60 games"
    assert shown[-1] == f"[{'#' * 30}] 60 of 60 games"


@pytest.mark.slow
def test_an_interrupt_stops_it_with_one_sentence_and_no_worker_is_left() -> None:
    command = [sys.executable, "-m", "server.cli.main", "winrate", "twenty", "--deals", "100000", "--bots", "none", "--processes", "1"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            while not (workers := list(filter(_is_worker, _children(process.pid)))):
                assert process.poll() is None
            # To all of them, as a terminal does.
            os.killpg(process.pid, signal.SIGINT)
            stdout, stderr = process.communicate(timeout=120)
        finally:
            # It would look at its deals for hours, and be waited for.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert (process.returncode, stdout) == (130, "")
    assert stderr == "carpet-server: stopped before all deals were looked at\n"
    assert not any(worker.exists() for worker in workers)


def _children(pid: int) -> list[Path]:
    # Of every thread: it is not the first one that starts workers.
    return [Path("/proc", child) for thread in Path(f"/proc/{pid}/task").iterdir() for child in _read(thread / "children").split()]


def _read(file: Path) -> str:
    with suppress(OSError):
        return file.read_text()
    return ""


def _is_worker(child: Path) -> bool:
    """Whether it has come so far that it leaves an interrupt to its parent."""
    ignored = next((line for line in _read(child / "status").splitlines() if line.startswith("SigIgn:")), "SigIgn: 0")
    interrupt = 1 << (signal.SIGINT - 1)
    return "spawn_main" in _read(child / "cmdline") and bool(int(ignored.split()[1], 16) & interrupt)


# ---- review


def raced() -> Driven:
    """Seat 0 plays a named deal to its end and loses it on the way, seat 1 stops early."""
    driven = started(options(deal=STALLING))
    driven.play(0, greedy_line(STALLING), 3000)
    driven.play(1, greedy_line(STALLING)[:1], 4000)
    return driven


RECORD = to_json(raced().finish())


def test_every_seat_is_reviewed_in_sentences(tmp_path: Path) -> None:
    file = tmp_path / "race.json"
    file.write_text(RECORD)
    result = run("review", str(file))
    assert result.exit_code == 0
    assert result.stdout == run("review", "-", stdin=RECORD).stdout
    lines = result.stdout.splitlines()
    assert [line for line in lines if not line.startswith("  ")] == ["race 1 of ABCDEF, carpet", "Player 0 (seat 1):", "Player 1 (seat 2):"]
    assert "  This deal can be won: all 52 cards could be brought home." in lines
    assert any("would have kept it" in line for line in lines)


def test_one_seat_as_json_says_where_it_slipped_and_how_it_would_have_been_kept() -> None:
    (judged,) = json_of("review", "-", "--seat", "1", stdin=RECORD)["seats"]
    assert (judged["seat"], judged["name"], judged["best"], judged["winnable"], judged["exact"]) == (1, "Player 0", 52, True, True)
    moves = greedy_line(STALLING)
    position = rule_set("carpet").deal(named_seed(STALLING))
    for move in moves[: judged["move"] - 1]:
        position = position.play(move)
    assert judged["instead"] == judged["line"][0] != moves[judged["move"] - 1]
    for move in judged["line"]:
        position = position.play(move)
    assert position.is_won


def test_a_seat_that_is_not_there_and_a_record_that_is_not_true_are_said_so() -> None:
    missing = run("review", "-", "--seat", "3", stdin=RECORD)
    assert (missing.exit_code, complaint(missing)) == (2, "carpet-server: --seat is from 1 to 2 in this race, not 3")
    false = run("review", "-", stdin=re.sub(r'"home": \d+', '"home": 1', RECORD))
    assert (false.exit_code, complaint(false)[:33]) == (1, "carpet-server: not a true record:")


# ---- verify, of winnable deals


def chosen(k: int) -> str:
    driven = seated(options(deal=None, winnable=True, rules="carpet-whist"))
    for seat in (0, 1):
        driven.do(GetReady(seat, nonce(seat)), -9000)
    driven.do(ChooseDeal(k), -3000)
    driven.advance(0)
    for seat in (0, 1):
        driven.do(StopSeat(seat), 1000 + seat)
    return to_json(driven.finish())


FIRST = first_winnable("carpet-whist", SECRET, [nonce(0), nonce(1)])


def test_the_first_winnable_deal_is_verified() -> None:
    result = run("verify", "-", stdin=chosen(FIRST))
    assert result.exit_code == 0
    assert f"the first that can be won (k = {FIRST})" in result.stdout


@pytest.mark.parametrize("k", [k for k in range(FIRST + 3) if k != FIRST] + [64, 2**31])
def test_any_other_number_is_refused(k: int) -> None:
    """The records are sealed and correct in everything else, as a dishonest host would write them."""
    result = run("verify", "-", stdin=chosen(k))
    assert result.exit_code == 1
    assert complaint(result).startswith("carpet-server: not a true record: ")
