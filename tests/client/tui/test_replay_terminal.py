"""`carpet replay` in a real pseudo-terminal: from a file and from a pipe, by keys and mouse, through resizing, and leaving it."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import termios
from pathlib import Path

import pytest
from msgspec import structs

from client.storage.saved_records import keep_record
from client.text.formatting import clock_text
from protocol.record import sealed, to_json
from tests.client import replays
from tests.e2e.commands import carpet, carpet_here, carpet_on_terminal, environment
from tests.e2e.terminal import Terminal, terminal_environment

pytestmark = pytest.mark.slow

RECORD = replays.record("carpet", 2)
END = clock_text(RECORD.ended_at_ms)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "race.json"
    path.write_text(to_json(RECORD))
    return path


def terminal(home: Path, *command: str, **more: str) -> Terminal:
    return Terminal(command, environment=environment(home, terminal_environment(**more)))


def test_a_replay_is_opened_from_a_file_stepped_jumped_resized_and_quit(tmp_path: Path, file: Path) -> None:
    with terminal(tmp_path, sys.executable, "-m", "client.cli.main", "replay", str(file)) as screen:
        screen.wait_for(f"paused ×1   0:00.0 / {END}")
        screen.type("l")
        screen.wait_for(f"   {clock_text(RECORD.moves[0].at_ms)} /")
        screen.wait_for("1. a4")
        screen.type("5")
        screen.wait_for(f"   {clock_text(RECORD.ended_at_ms // 2)} /")
        screen.type("\x1b[F")
        screen.wait_for(f"   {END} / {END}")
        column = screen.wait_until(lambda lines: lines[21].find("━") + 1, what="the bar") - 1
        screen.click(column, 21)
        screen.wait_for(f"   0:00.0 / {END}")
        screen.resize(60, 20)
        screen.wait_for("Too small")
        screen.resize(120, 40)
        screen.wait_for("the deal, before the first move")
        screen.type("++++ ")
        # It plays until then, which may be too short to be seen.
        screen.wait_for(f"paused ×16   {END} / {END}")
        screen.type("q")
        assert screen.wait_for_end() == ""
        assert screen.given_back()
        assert screen.process.returncode == 0


def test_a_record_from_a_pipe_leaves_the_keys_to_the_terminal(tmp_path: Path, file: Path) -> None:
    python = shlex.quote(sys.executable)
    with terminal(
        tmp_path, "sh", "-c", f"cat {shlex.quote(str(file))} | {python} -m client.cli.main replay - --ascii", NO_COLOR="1"
    ) as screen:
        screen.wait_for(f"paused x1   0:00.0 / {END}")
        screen.type("]")
        screen.wait_for("1. a4")
        screen.type("q")
        screen.wait_for_end()
        assert screen.given_back()


def test_a_record_from_standard_input_is_still_shown_key_by_key_after_a_stop(tmp_path: Path, file: Path) -> None:
    command = f"exec {shlex.quote(sys.executable)} -m client.cli.main replay - < {shlex.quote(str(file))}"
    with terminal(tmp_path, "sh", "-c", command) as screen:
        screen.wait_for(f"paused ×1   0:00.0 / {END}")
        screen.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, screen.process.pid, os.WSTOPPED)
        # As a shell does, to read its next command.
        modes = termios.tcgetattr(screen.its)
        modes[3] |= termios.ICANON | termios.ECHO
        termios.tcsetattr(screen.its, termios.TCSANOW, modes)
        screen.clear()
        screen.process.send_signal(signal.SIGCONT)
        screen.wait_for(f"paused ×1   0:00.0 / {END}")
        screen.expect(lambda _: bool(termios.tcgetattr(screen.its)[3] & termios.ICANON), False)
        screen.type("q")
        screen.wait_for_end()
        assert screen.given_back()


def test_without_a_file_it_is_the_last_race(tmp_path: Path) -> None:
    keep_record(tmp_path, RECORD)
    ran = carpet_on_terminal(tmp_path, "replay", interrupt_at="paused ×1")
    assert (ran.status, ran.err) == (130, "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "/race.json: not a record of a race: Object missing required field `format`."),
        (to_json(structs.replace(RECORD, ended_at_ms=5)), "That record is not true: ended_at_ms is not"),
        (to_json(sealed(structs.replace(RECORD, rules="\x1b[2Jchess"))), "That record is not true: "),
        ("x" * (8 * 2**20 + 1), "/race.json: it is larger than 8 MiB."),
    ],
)
def test_what_is_no_true_record_is_said_before_any_screen(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "race.json"
    file.write_text(text)
    ran = carpet_on_terminal(tmp_path, "replay", str(file))
    assert ran.status == 1
    assert ran.sentence.startswith("carpet: ")
    assert said in ran.sentence
    assert "\x1b" not in ran.err


def test_a_file_that_is_not_there_and_no_last_race_are_said(tmp_path: Path) -> None:
    assert carpet_on_terminal(tmp_path, "replay", "/no/such").sentence == "carpet: /no/such cannot be read: No such file or directory."
    kept = carpet_on_terminal(tmp_path, "replay").sentence
    assert kept == "carpet: No race of yours has been kept here yet. For another one, name its id or the file of its record."


def test_a_race_that_was_kept_is_replayed_by_its_id_and_another_is_asked_for_at_a_server(tmp_path: Path, file: Path) -> None:
    kept = sealed(structs.replace(RECORD, id="HKTRWM-1-0a1b2c3d4e5f"))
    keep_record(tmp_path, kept)
    ran = carpet_on_terminal(tmp_path, "replay", kept.id, interrupt_at="paused ×1")
    assert (ran.status, ran.err) == (130, "")
    unknown = carpet_on_terminal(tmp_path, "replay", "HKTRWM-2-0a1b2c3d4e5f").sentence
    assert unknown == ("carpet: Race HKTRWM-2-0a1b2c3d4e5f is not kept here: name the server that has it with --server SERVER.")
    needless = carpet_on_terminal(tmp_path, "replay", str(file), "--server", "127.0.0.1").sentence
    assert needless == "carpet: --server goes with the id of a race, like HKTRWM-1-0a1b2c3d4e5f, as carpet history shows it."


def test_a_moment_beyond_any_number_is_the_end_in_text_too(tmp_path: Path, file: Path) -> None:
    ran = carpet_here(tmp_path, "replay", str(file), "--text", "--at", "inf")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == carpet_here(tmp_path, "replay", str(file), "--text").out


def test_a_moment_is_said_in_seconds_or_as_the_clock_shows_it(tmp_path: Path, file: Path) -> None:
    by_seconds = carpet_here(tmp_path, "replay", str(file), "--text", "--at", "62.5")
    assert by_seconds.status == 0
    assert carpet_here(tmp_path, "replay", str(file), "--text", "--at", "1:02.5").out == by_seconds.out
    for typed in ("nan", "-1", "1:60", "1:-2", ":30", "soon"):
        ran = carpet_here(tmp_path, "replay", str(file), "--text", "--at", typed)
        assert (ran.status, f"{typed!r} is not a moment of a race; write 92 or 1:32" in ran.err) == (2, True), typed


def test_without_a_terminal_there_is_no_replay(tmp_path: Path, file: Path) -> None:
    for source in (str(file), "-"):
        ran = carpet(tmp_path, "replay", source, text=to_json(RECORD))
        assert ran.status == 2
        assert ran.sentence.startswith("carpet: carpet replay needs a terminal")
        assert "--text" in ran.sentence
