"""`carpet-server`: what it prints, how it exits, and one sentence for any error."""

from __future__ import annotations

import ast
import json
import os
import re
import resource
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest
import trio
import trustme
from msgspec.structs import replace
from typer.testing import CliRunner, Result
from websockets.sync.client import connect as connect_to
from websockets.typing import Subprotocol

from protocol import __version__
from protocol.codec import JSON
from protocol.fairness import named_seed
from protocol.record import LONGEST_RECORD, from_json, sealed, to_json
from protocol.views import RaceOptions
from server.cli.commands import app
from server.cli.main import main
from server.race.commands import GetReady, PlayMove, ResignSeat, TakeSeat
from server.race.machine import Race
from server.rules.catalogue import RULE_SETS, rule_set
from server.store.database import open_database
from server.store.errors import AddressTaken

ROOT = Path(__file__).parents[3]
VECTORS = ROOT / "tests" / "data" / "vectors"
START = 1_700_000_000_000


def run(*arguments: str, stdin: str | bytes = "", columns: int | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin, terminal_width=columns)


def complaint(result: Result) -> str:
    """The one sentence on standard error."""
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("carpet-server: ")
    assert result.stdout == ""
    return line


def vectors(name: str) -> list[dict[str, object]]:
    rows = json.loads((VECTORS / f"{name}.json").read_text())
    return [row for row in rows if row["rules"] in RULE_SETS]


# ---- rules


def test_the_rule_sets_are_listed_with_their_explanations() -> None:
    result = run("rules", "list")
    assert result.exit_code == 0
    for row in RULE_SETS.values():
        assert f"{row.id}: {row.name}" in result.stdout
        assert row.explanation in result.stdout


def test_the_list_as_json_has_every_column() -> None:
    rows = json.loads(run("rules", "list", "--json").stdout)
    assert [row["id"] for row in rows] == list(RULE_SETS)
    assert all(row.keys() >= {"name", "family", "explanation", "source", "difficulty", "decks", "columns", "rows"} for row in rows)


def test_perft_prints_the_checked_counts() -> None:
    # To depth 2; deeper ones are counted without a command.
    rows = vectors("perft")
    printed = [[run("rules", "perft", str(row["rules"]), depth, "--seed", str(row["seed"])).stdout for depth in ("1", "2")] for row in rows]
    assert printed == [[f"{count}\n" for count in row["counts"][:2]] for row in rows]  # type: ignore[index]


def test_perft_divided_adds_up_to_the_count_it_prints_last() -> None:
    lines = run("rules", "perft", "carpet", "4", "--seed", "00" * 32, "--divide").stdout.splitlines()
    position = rule_set("carpet").deal(bytes(32))
    assert tuple(line.split()[0] for line in lines[:-1]) == position.legal_moves()
    assert sum(int(line.split()[1]) for line in lines[:-1]) == int(lines[-1])


@pytest.mark.parametrize("row", vectors("walks"), ids=lambda row: f"{row['rules']}-{str(row['seed'])[:4]}")
def test_walk_prints_the_checked_walks(row: dict[str, object]) -> None:
    assert json.loads(run("rules", "walk", str(row["rules"]), "--seed", str(row["seed"])).stdout) == row


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rules", "perft", "chess", "3", "--seed", "00" * 32), "no rule set 'chess'"),
        (("rules", "walk", "chess", "--seed", "00" * 32), "no rule set 'chess'"),
        (("rules", "walk", "carpet", "--seed", "00"), "--seed is 32 bytes"),
        (("rules", "walk", "carpet", "--seed", "zz" * 32), "--seed is 32 bytes"),
        (("solve", "chess", "--deal", "x"), "no rule set 'chess'"),
        (("solve", "carpet"), "either --seed or --deal"),
        (("solve", "carpet", "--deal", "x", "--seed", "00" * 32), "either --seed or --deal"),
        (("solve", "carpet", "--seed", "00"), "--seed is 32 bytes"),
        (("solve", "carpet", "--deal", "\ud800"), "is not text"),
        (("winrate", "chess", "--deals", "1"), "no rule set 'chess'"),
        (("winrate", "carpet", "--deals", "1", "--bots", "greedy,fish"), "no house bot 'fish'"),
        (("winrate", "carpet", "--deals", "1", "--first-seed", "xyz"), "--first-seed is 32 bytes"),
        (("serve", "--host", ""), "nothing is named: * is for everybody"),
        (("serve", "--port", "65536"), "--port is from 0 to 65535"),
        (("serve", "--tls-cert", "cert.pem"), "--tls-cert and --tls-key go together"),
        (("serve", "--rate", "nan"), "--rate is a number above 0"),
        (("serve", "--max-rooms", "0"), "--max-rooms is at least 1"),
        (("serve", "--max-connections", "0"), "--max-connections is at least 1"),
        (("serve", "--origin", "example.org"), "--origin is a web origin, such as https://example.org"),
        (("serve", "--origin", "https://example.org/"), "with no slash at its end, not https://example.org/"),
        (("serve", "--origin", "https://*.example.org"), "--origin is a web origin"),
        (("serve", "--origin", "https://example.org:65536"), "--origin is a web origin"),
        (("serve", "--embed-in", "example.org"), "--embed-in is a web origin, such as https://example.org"),
        (("serve", "--embed-in", "https://example.org/"), "or * for all, not https://example.org/"),
        (("serve", "--max-connections-per-address", "-1"), "--max-connections-per-address is at least 1, or 0 for no limit"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence_with_status_2(arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in complaint(result)


def test_serve_takes_its_database_from_the_environment_as_the_other_commands_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARPET_DATABASE", "postgresql://carpet@db/carpet")
    for wrong in ("nowhere", "wss://n2:99999", "wss://n2:0", "wss://[::1"):
        assert "--advertise is the address" in complaint(run("serve", "--cluster", "redis://cache", "--advertise", wrong))
    assert "no player reaches a server at 0.0.0.0" in complaint(
        run("serve", "--cluster", "redis://cache", "--advertise", "ws://0.0.0.0:7777")
    )
    assert "a slash: ws://n2" in complaint(run("serve", "--cluster", "redis://cache", "--advertise", "ws://n2/"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rules", "perft", "carpet", "-1", "--seed", "00" * 32), "carpet-server rules perft: No such option: -1"),
        (("rules", "perft", "carpet", "--seed", "00" * 32), "carpet-server rules perft: Missing argument 'DEPTH'"),
        (("rules", "dance"), "carpet-server rules: No such command 'dance'"),
        (("serve", "--port", "many"), "carpet-server serve: Invalid value for '--port'"),
        (("serve", "--bot-pace", "slow"), "carpet-server serve: Invalid value for '--bot-pace'"),
        (("serve", "--port", "many"), "carpet-server serve: Invalid value for '--port': it takes a whole number;"),
        (("serve", "--rate", "fast"), "carpet-server serve: Invalid value for '--rate': it takes a number;"),
        (("serve", "--wat"), "carpet-server serve: No such option: --wat"),
        (("verify",), "carpet-server verify: Missing argument 'FILE'"),
        (("dance",), "carpet-server: No such command 'dance'"),
    ],
)
def test_arguments_that_are_none_are_one_sentence_with_status_2(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert line.startswith(said)
    assert line.endswith("; see " + said.partition(":")[0] + " --help.")
    assert captured.out == ""


STRUCK = """
import signal, sys

class Strike:
    def find_spec(self, name, path, target=None):
        if name == "{loaded}":
            signal.raise_signal(signal.{number})

sys.meta_path.insert(0, Strike())
# Whoever runs the tests may have it ignored, as nohup does.
if "{number}" == "SIGHUP":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

from server.cli.main import main
main()
"""


def struck(
    number: signal.Signals, *arguments: str, loaded: str = "server.cli.serve", **environment: str
) -> subprocess.CompletedProcess[str]:
    """A command that is sent this signal when it loads this module; by default, while it is being loaded itself."""
    command = [sys.executable, "-c", STRUCK.format(number=number.name, loaded=loaded), *arguments]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_an_interrupt_while_commands_are_loaded_is_a_status() -> None:
    ran = struck(signal.SIGINT, "rules", "list")
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")


@pytest.mark.slow
def test_sighup_does_not_end_a_server_that_is_just_starting_outside_a_terminal() -> None:
    assert struck(signal.SIGHUP, "serve", "--host", "").returncode == 2
    # No other command waits for certificates.
    assert struck(signal.SIGHUP, "rules", "list").returncode == -signal.SIGHUP


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_restore_that_is_ended_leaves_no_copy_of_the_older_backup(number: signal.Signals, tmp_path: Path) -> None:
    backup, work = tmp_path / "older.sqlite3", tmp_path / "work"
    work.mkdir()
    open_database(str(backup)).close()
    with closing(sqlite3.connect(backup)) as made:
        made.executescript("UPDATE carpet_schema SET version_num = '0001'")
    database = str(tmp_path / "new.sqlite3")
    # Alembic upgrades the copy.
    ran = struck(number, "db", "restore", str(backup), "--database", database, loaded="alembic", TMPDIR=str(work))
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")
    assert list(work.iterdir()) == []


@pytest.mark.parametrize(("arguments", "commands"), [((), "serve verify rules"), (("rules",), "list perft walk")])
def test_without_a_command_it_shows_what_there_is(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], commands: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert not ended.value.code
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: {' '.join(['carpet-server', *arguments])} [OPTIONS] COMMAND")
    assert all(f"\n  {command} " in shown for command in commands.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("imported", "heavy"),
    [
        (
            "server.cli.commands",
            {"trio", "websockets", "msgspec", "sqlalchemy", "alembic", "networkx", "server.rules", "server.solver"},
        ),
        ("server.app", {"sqlalchemy", "alembic", "psycopg", "networkx", "urwid"}),
        ("server.store.memory", {"sqlalchemy", "alembic", "psycopg", "networkx", "trio"}),
        ("server.store.database", {"alembic", "psycopg", "networkx", "trio"}),
    ],
)
def test_nobody_waits_for_what_is_not_needed(imported: str, heavy: set[str]) -> None:
    """Printing help, a server that keeps nothing, and a database that is up to date."""
    code = f"import sys, {imported}; print(*sorted({heavy} & sys.modules.keys()))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout == "\n"


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_the_version_is_printed(flag: str) -> None:
    assert run(flag).stdout == f"carpet-server {__version__}\n"


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize(
    "command", ["serve", "verify", "rules", "rules list", "rules perft", "rules walk", "solve", "winrate", "review", "frames"]
)
def test_every_command_has_help(command: str, flag: str) -> None:
    result = run(*command.split(), flag)
    assert result.exit_code == 0
    assert "Usage" in result.stdout


@pytest.mark.parametrize("command", ["verify", "winrate", "deploy", "rules perft", "db backup", "admin rooms end"])
def test_arguments_are_named_without_types_of_python(command: str) -> None:
    listed = run(*command.split(), "--help", columns=80).stdout.partition("Arguments:\n")[2].partition("\n\n")[0]
    assert re.match(r"  [A-Z]+  ", listed)
    assert not re.search(r"^  [A-Z]+ <", listed, re.MULTILINE)


@pytest.mark.parametrize("command", [(), ("rules",), ("db",)])
def test_no_command_is_told_of_with_half_a_sentence(command: tuple[str, ...]) -> None:
    listed = run(*command, "--help", columns=80).stdout.partition("Commands:")[2]
    assert listed.count(".\n") >= 3
    assert "..." not in listed


def help_of(command: str) -> Iterator[str]:
    """The help of a command, and of all commands in it."""
    # A terminal of 80 columns leaves 78 to the help.
    shown = run(*command.split(), "--help", columns=78).stdout
    yield shown
    for inner in re.findall(r"^  ([a-z-]+)(?: {2,}\S|$)", shown.partition("Commands:\n")[2], re.MULTILINE):
        yield from help_of(f"{command} {inner}")


def test_every_help_is_printed_whatever_the_encoding_of_the_terminal_is() -> None:
    told = list(help_of(""))
    assert len(told) > 30
    assert all(each.isascii() for each in told)


def test_no_help_is_wider_than_a_terminal() -> None:
    assert [line for told in help_of("") for line in told.splitlines() if len(line) > 79] == []


# ---- verify


@pytest.fixture(scope="module")
def record_text() -> str:
    """A race of two: the first plays forty moves and more, the second gives up."""
    race = Race(
        race_id="ABCDEF-1-00", room="ABCDEF", number=1, options=RaceOptions(deal="for the tests"), secret=bytes(32), software="test"
    )
    for number, name in enumerate(("Ann", "Bob")):
        race.apply(TakeSeat(name, name), START)
        race.apply(GetReady(number, bytes(16)), START)
    position = rule_set("carpet").deal(named_seed("for the tests"))
    now = START + 4000
    while not position.is_over and race.phase != "over":
        move = position.legal_moves()[0]
        position = position.play(move)
        now += 500
        race.apply(PlayMove(0, race.seats[0].ply, move), now)
    if race.phase != "over":
        race.apply(ResignSeat(1), now + 500)
        race.advance(now + 5000)
    assert race.record is not None
    return to_json(race.record)


def test_a_true_record_is_verified_from_a_file_and_from_standard_input(record_text: str, tmp_path: Path) -> None:
    file = tmp_path / "race.json"
    file.write_text(record_text)
    for result in (run("verify", str(file)), run("verify", "-", stdin=record_text)):
        assert result.exit_code == 0
        assert result.stdout.startswith("verified: race 1 of ABCDEF, carpet, the deal named 'for the tests', ")
        assert "1. Ann (seat 1): " in result.stdout
        assert "2. Bob (seat 2): forfeit, " in result.stdout


@pytest.mark.parametrize(
    ("pattern", "other"),
    [
        (r'"name": "for the tests"', '"name": "another deal"'),
        (r'"secret": "0', '"secret": "1'),
        (r'"place": 2', '"place": 1'),
        (r'"state": "forfeited"', '"state": "stopped"'),
        (r'"name": "Bob"', '"name": "Rob"'),
        (r'"software": "test"', '"software": "another"'),
        (r'"rules": "carpet"', '"rules": "chess"'),
        (r'"started_at_ms": 17', '"started_at_ms": 18'),
    ],
)
def test_a_record_in_which_something_was_altered_is_not(record_text: str, pattern: str, other: str) -> None:
    altered, count = re.subn(pattern, other, record_text, count=1)
    assert count == 1
    result = run("verify", "-", stdin=altered)
    assert result.exit_code == 1
    assert "not a true record" in complaint(result)


HOSTILE = "\x1b]0;title\x07\x1b[2K\x9b2J\u202e\nverified: race 5"


def test_what_a_record_says_neither_commands_the_terminal_nor_passes_for_a_line_of_the_program(record_text: str) -> None:
    record = from_json(record_text)
    first, *others = record.seats
    named = run("verify", "-", stdin=to_json(sealed(replace(record, room=HOSTILE, seats=(replace(first, name=HOSTILE), *others)))))
    moved = run("verify", "-", stdin=to_json(sealed(replace(record, moves=(replace(record.moves[0], move=HOSTILE), *record.moves[1:])))))
    assert (named.exit_code, moved.exit_code) == (0, 1)
    assert complaint(moved).startswith("carpet-server: not a true record: move 1 (")
    for line in (*named.stdout.splitlines(), *moved.stderr.splitlines()):
        assert line.isprintable()
    assert sum(line.startswith("verified: ") for line in named.stdout.splitlines()) == 1


@pytest.mark.parametrize("number", [2, 99])
def test_a_record_of_a_newer_program_is_not_called_false(record_text: str, number: int) -> None:
    for document in (record_text.replace('"format": 1', f'"format": {number}', 1), f'{{"format": {number}}}'):
        result = run("verify", "-", stdin=document)
        assert result.exit_code == 1
        newer = f"record format {number} is newer than this program reads (1); update carpet-race"
        assert complaint(result) == f"carpet-server: standard input: {newer}"


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"format": "1"}',
        json.dumps({"format": 1, "seats": []}).encode(),
    ],
)
def test_what_is_no_record_is_said_in_one_sentence(tmp_path: Path, document: bytes) -> None:
    (file := tmp_path / "none.json").write_bytes(document)
    for result, where in ((run("verify", "-", stdin=document), "standard input"), (run("verify", str(file)), str(file))):
        assert result.exit_code == 1
        assert complaint(result).startswith(f"carpet-server: {where}: not a record of a race: ")


def test_every_single_character_changed_is_found_or_leaves_the_same_record(record_text: str) -> None:
    record = from_json(record_text)
    step = max(len(record_text) // 60, 1)
    for place in range(0, len(record_text), step):
        other = "7" if record_text[place] != "7" else "8"
        altered = record_text[:place] + other + record_text[place + 1 :]
        result = run("verify", "-", stdin=altered)
        assert result.exit_code == 1 or from_json(altered) == record
        assert "Traceback" not in result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
    assert sealed(record) == record


def test_what_is_longer_than_any_record_is_not_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "endless.json"
    with file.open("wb") as endless:
        endless.truncate(2**40)
    for result, where in ((run("verify", str(file)), str(file)), (run("verify", "-", stdin=" " * (LONGEST_RECORD + 1)), "standard input")):
        assert result.exit_code == 1
        assert complaint(result) == f"carpet-server: {where}: it is larger than 8 MiB"


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    result = run("verify", missing := str(tmp_path / "missing.json"))
    assert result.exit_code == 1
    assert complaint(result) == f"carpet-server: {missing} cannot be read: No such file or directory"
    assert "cannot be read" in complaint(run("verify", str(tmp_path)))


# ---- serve, as a process


@contextmanager
def server(*arguments: str, **options: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process and the first line that it prints."""
    command = [sys.executable, "-m", "server.cli.main", "serve", *arguments]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "error"},
        **options,  # type: ignore[call-overload]
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_says_where_it_listens_and_stops_on_a_signal_with_status_0(number: signal.Signals) -> None:
    with server("--port", "0") as (process, line):
        match = re.fullmatch(r"listening on ws://127\.0\.0\.1:(\d+)", line)
        assert match is not None
        with urlopen(f"http://127.0.0.1:{match[1]}/healthz", timeout=30) as response:
            assert response.read() == b"ok\n"
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=30)
        assert (process.returncode, stdout) == (0, "")
        assert f"{number.name}: stopping" in stderr
        assert "Traceback" not in stderr


@pytest.mark.slow
def test_serve_runs_with_its_standard_output_closed_and_opens_no_file_in_its_place(tmp_path: Path) -> None:
    command = ["sh", "-c", 'exec "$0" -m server.cli.main serve --port 0 --database "$1" >&-', sys.executable, str(tmp_path / "races")]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            logged = next(line for line in process.stderr if "listening on" in line or "Error" in line)
            assert "listening on ws://127.0.0.1:" in logged
            if Path("/proc/self/fd").exists():
                assert Path(f"/proc/{process.pid}/fd/1").readlink() == Path(os.devnull)
            process.terminate()
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [(), ("--plain-sockets",)])
def test_no_token_is_logged_however_much_is(monkeypatch: pytest.MonkeyPatch, kind: tuple[str, ...]) -> None:
    # The library shortens what it logs, but not every message that has a token is long.
    monkeypatch.setenv("WEBSOCKETS_MAX_LOG_SIZE", "10000")
    with server("--port", "0", "--database", "memory", "--log-level", "debug", *kind) as (process, line):
        url = line.removeprefix("listening on ")
        with connect_to(url, subprotocols=[Subprotocol(JSON)]) as ann:
            ann.send(json.dumps({"type": "hello", "ref": 1, "name": "Ann"}))
            token = json.loads(ann.recv())["token"]
        with connect_to(url, subprotocols=[Subprotocol(JSON)]) as again:
            again.send(json.dumps({"type": "hello", "ref": 1, "name": "Ann", "token": token}))
            assert json.loads(again.recv())["type"] == "welcome"
        process.terminate()
        _, logged = process.communicate(timeout=30)
    # Each connection is.
    assert "carpet.net.websocket" in logged
    assert token not in logged


@pytest.mark.slow
def test_serve_stops_when_standard_input_ends_if_told_so() -> None:
    with server("--port", "0", "--exit-with-parent", stdin=subprocess.PIPE) as (process, line):
        assert line.startswith("listening on ")
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
        assert process.wait(timeout=30) == 0


@pytest.mark.slow
def test_serve_takes_all_the_descriptors_it_may_have_and_outlives_it_when_there_are_none() -> None:
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (min(before, 256), hard))}
    with server("--port", "0", "--database", "memory", "--log-level", "warning", **few) as (process, line):
        assert resource.prlimit(process.pid, resource.RLIMIT_NOFILE)[0] == hard
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (30, 30))
        port = int(line.rpartition(":")[2])
        assert process.stderr is not None
        with ExitStack() as crowd:
            for _ in range(60):
                crowd.enter_context(socket.create_connection(("127.0.0.1", port)))
            # On a busy machine it may say first that it was held up.
            told = next(line for line in process.stderr if "did not run for" not in line)
            assert "no connection can be accepted (Too many open files, 1 times); trying again" in told
        with urlopen(f"http://127.0.0.1:{port}/healthz", timeout=30) as response:
            assert response.read() == b"ok\n"
        process.terminate()
        printed, logged = process.communicate(timeout=30)
        assert (printed, [line for line in logged.splitlines() if "did not run for" not in line]) == ("", [])
        assert process.returncode == 0


def test_serve_on_a_port_that_is_taken_says_so_in_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = run("serve", "--port", str(taken.getsockname()[1]))
    assert result.exit_code == 1
    assert "choose another with --host and --port" in complaint(result)


def test_nothing_is_raised_within_an_except_star() -> None:
    """Python 3.11.2, for one, wraps it in a group, which no caller expects: a traceback in place of the one sentence."""
    for part in ("protocol", "server", "client"):
        for path in (ROOT / part).rglob("*.py"):
            handlers = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.TryStar)]
            for node in (node for star in handlers for handler in star.handlers for node in ast.walk(handler)):
                ends = isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "fail")
                assert not ends, f"{path}: {ast.unparse(node)}"


@pytest.mark.slow
def test_serve_whose_reader_has_left_ends_and_does_not_blame_the_address() -> None:
    ours, its = os.pipe()
    os.close(ours)
    command = [sys.executable, "-m", "server.cli.main", "serve", "--port", "0", "--database", "memory", "--log-level", "warning"]
    ran = subprocess.run(command, cwd=ROOT, stdout=its, stderr=subprocess.PIPE, timeout=30, check=False)
    os.close(its)
    assert (ran.returncode, ran.stderr) == (1, b"")


def test_serve_on_a_host_that_is_not_here_says_so_in_one_sentence() -> None:
    for host in ("192.0.2.1", "no such host"):
        result = run("serve", "--host", host, "--port", "0")
        assert result.exit_code == 1
        assert f"cannot listen on {host}" in complaint(result)


def test_serve_says_of_the_port_for_figures_and_of_the_advertised_address_which_option_names_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = run("serve", "--port", "0", "--database", "memory", "--metrics", str(port), "--log-level", "error")
    assert result.exit_code == 1
    assert re.search(f"cannot serve metrics on 127.0.0.1 port {port}: .* in use; choose another with --metrics$", complaint(result))

    async def fails(*settings: object) -> None:
        await trio.lowlevel.checkpoint()
        raise AddressTaken("another carpet-server is at ws://one, given by --advertise")

    monkeypatch.setattr("server.cli.serve._serve", fails)
    result = run("serve", "--port", "0", "--database", "memory")
    assert result.exit_code == 1
    assert complaint(result).endswith("given by --advertise")


def test_serve_with_tls_files_that_cannot_be_used_says_so_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("no key")
    for name, says in (("missing.pem", "missing.pem cannot be used: No such file"), ("key.pem", "no certificate and key in PEM")):
        result = run("serve", "--port", "0", "--tls-cert", str(tmp_path / name), "--tls-key", str(tmp_path / "key.pem"))
        assert result.exit_code == 1
        assert says in complaint(result)


@pytest.mark.slow
def test_serve_reads_its_certificate_again_on_sighup_and_ends_nothing(tmp_path: Path) -> None:
    authority = trustme.CA(key_type=trustme.KeyType.ECDSA)
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)

    def write() -> None:
        issued = authority.issue_cert("localhost", "127.0.0.1", key_type=trustme.KeyType.ECDSA)
        certificate.write_bytes(b"".join(part.bytes() for part in issued.cert_chain_pems))
        key.write_bytes(issued.private_key_pem.bytes())

    def connect(port: int) -> ssl.SSLSocket:
        return trusting.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=30), server_hostname="127.0.0.1")

    def hang_up(process: subprocess.Popen[str]) -> str:
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        return next(line for line in process.stderr if "SIGHUP" in line)

    write()
    with server("--port", "0", "--database", "memory", "--tls-cert", str(certificate), "--tls-key", str(key)) as (process, line):
        port = int(line.rpartition(":")[2])
        with connect(port) as before:
            first = before.getpeercert(binary_form=True)
            write()
            assert "new connections now get the certificate in" in hang_up(process)
            with connect(port) as after:
                second = after.getpeercert(binary_form=True)
            assert second != first
            certificate.write_text("nothing of the kind")
            assert "new connections still get the old certificate" in hang_up(process)
            with connect(port) as again:
                assert again.getpeercert(binary_form=True) == second
            before.sendall(b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n")
            assert before.recv(100).startswith(b"HTTP/1.1 200")
        process.terminate()
        process.communicate(timeout=30)
        assert process.returncode == 0


def test_what_writers_of_clients_need_is_printed() -> None:
    assert json.loads(run("schema", "asyncapi").stdout)["asyncapi"] == "3.0.0"
    assert json.loads(run("schema", "record").stdout)["$ref"] == "#/$defs/Record"
    assert "there is no schema 'races'; there are asyncapi, openapi, record" in complaint(run("schema", "races"))
