"""The command line, as far as it works without a server or a terminal: help, usage, and how failures are reported."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio

import protocol
from client.cli import main as cli
from client.cli import screens, tournament
from client.cli.command_table import COMMANDS
from client.connection.errors import Failure
from client.local import sitting
from client.replay.own_server import server_environment
from client.storage.saved_records import TAUGHT
from client.tui import opening
from client.tui.start import AppOutcome, UiSettings
from protocol.client_messages import JoinRace, OpenRace
from protocol.pages import LADDER_PLAYERS
from protocol.views import RaceOptions, SeriesOptions
from protocol.watch_messages import WatchRace


class Ran:
    """What a command line came to."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status = status
        self.out = out
        self.err = err

    @property
    def sentence(self) -> str:
        """The one line on standard error."""
        assert self.out == ""
        assert self.err.count("\n") == 1
        assert self.err.endswith(".\n")
        return self.err.strip()


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> Ran:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    captured = capsys.readouterr()
    status = caught.value.code
    assert isinstance(status, int)
    return Ran(status, captured.out, captured.err)


def test_without_a_command_it_shows_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys)
    assert ran.status == 0
    assert all(f"\n  {command} " in ran.out for command in COMMANDS)


@pytest.mark.parametrize(
    ("line", "at", "goes_on"),
    [("carpet pl", 1, ["play", "play-on"]), ("carpet tournament st", 2, ["start", "standings"]), ("carpet play --rul", 2, ["--rules"])],
)
def test_a_shell_is_told_how_a_line_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str, at: int, goes_on: list[str]
) -> None:
    monkeypatch.setenv("_CARPET_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(at))
    ran = run(capsys)
    assert (ran.status, ran.out.split(), ran.err) == (0, goes_on, "")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version").out == f"carpet {protocol.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_every_command_has_help_with_an_example(capsys: pytest.CaptureFixture[str], command: str, flag: str) -> None:
    ran = run(capsys, command, flag)
    assert ran.status == 0
    assert "Example" in ran.out
    assert f"carpet {command}" in ran.out


def test_examples_stand_each_on_a_line_of_its_own_to_be_copied(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    assert run(capsys, "replay", "-h").out.splitlines()[-4:] == [
        "  Examples:",
        "    carpet replay",
        "    carpet replay race.json --svg race.svg --at 42",
        "    carpet demo --fast --json | carpet replay -",
    ]
    one = "  Example: carpet host carpet.example --rules carpet-redeal --seats 3 --private"
    assert run(capsys, "host", "-h").out.splitlines()[-1] == one


@pytest.mark.parametrize(
    ("option", "default"),
    [("--rules", "carpet"), ("--seats", "2"), ("--time-limit", "600"), ("--countdown", "3"), ("--grace", "60")],
)
def test_help_shows_defaults(capsys: pytest.CaptureFixture[str], option: str, default: str) -> None:
    text = " ".join(run(capsys, "host", "--help").out.split())
    assert f"[default: {default}" in text.partition(f"{option} ")[2].partition(" --")[0]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonsense"], "nonsense"),
        (["play", "--nonsense"], "--nonsense"),
        (["play", "--bot"], "requires an argument; see carpet play --help."),
        (["challenge", "create", "--days"], "see carpet challenge create --help."),
        (["join", "carpet.example"], "Which race?"),
        (["join", "https://carpet.example/ladder"], "Which race?"),
        (["join", "https://carpet.example/play/ABC"], "is not the code of a race"),
        (["join", "carpet.example", "ABCDEF", "more"], "'ABCDEFMORE' is not the code of a race"),
        (["replay", "--moving"], "--moving goes with --svg"),
        (["replay", "--svg", "-", "--moving", "--at", "3"], "and not with --at"),
        (["replay", "--cast", "race.cast", "--at", "3"], "--at goes with --svg or --text"),
        (["replay", "--at", "3"], "--at goes with --svg or --text"),
        (["replay", "--svg", "-", "--cast", "-"], "Only one of --text, --svg - and --cast - can be printed."),
        (["replay", "--text", "--cast", "-"], "Only one of --text, --svg - and --cast - can be printed."),
        (["play", "--no-bell", "--tones"], "do not go together"),
        (["join", "carpet.example", "123456"], "is not the code of a race"),
        (["join", "carpet.example", "HKTRWM-1-0a1b2c3d4e5f"], "is the id of a finished race, for carpet replay"),
        (["join", "carpet.example", "ABC\x1b[31m"], "is not the code of a race"),
        (["join", "ftp://carpet.example", "ABCDEF"], "begins with ws:// or wss://"),
        (["home", ""], "is missing"),
        (["match", "carpet.example", "--rules", ""], "--rules needs a name of at least one character."),
        (["races", "ftp://carpet.example"], "begins with ws:// or wss://"),
        (["ladder", "ftp://carpet.example"], "begins with ws:// or wss://"),
        (["ladder", "carpet.example", "--limit", "0"], "--limit"),
        (["ladder", "carpet.example", "--limit", str(LADDER_PLAYERS + 1)], "--limit"),
        (["ladder"], "SERVER"),
        (["history", "ftp://carpet.example"], "begins with ws:// or wss://"),
        (["history", "carpet.example", "--limit", "0"], "--limit"),
        (["history", "carpet.example", "--limit", "1001"], "--limit"),
        (["history", "carpet.example", "--player", "\u200b"], "Nothing printable is left of that name"),
        (["export", "carpet.example"], "ID"),
        (["export", "carpet.example:port", "HKTRWM-1-0a1b2c3d4e5f"], "the port is a number"),
        (["stats", "ftp://carpet.example"], "begins with ws:// or wss://"),
        (["stats", "carpet.example", "--player", "\u200b"], "Nothing printable is left of that name"),
        (["stats", "--player", "\u200b"], "Nothing printable is left of that name"),
        (["host", "carpet.example:port"], "the port is a number"),
        (["host", "carpet.example", "--seats", "9"], "--seats"),
        (["host", "carpet.example", "--seats", "two"], "--seats"),
        (["host", "carpet.example", "--seats", "9"], "'--seats': it is at most 8"),
        (["host", "carpet.example", "--seats", "0"], "'--seats': it is at least 1"),
        (["load", "carpet.example", "--seconds", "x"], "'--seconds': it takes a number"),
        (["host", "carpet.example", "--deal", ""], "--deal needs a name of at least one character."),
        (["host", "carpet.example", "--name", ""], "--name needs a name of at least one character."),
        (["tournament", "start", "carpet.example", "KWPRTM", "--name", "\u200b"], "--name needs a name of at least one character."),
        (["play", "--best-of", "x"], "'--best-of': it takes a whole number"),
        (["play", "--deal", "red\x1b[31m"], "--deal does not fit"),
        (["play", "--deal", "two\nlines"], "--deal does not fit"),
        (["demo", "--deal", "  spaced  "], "--deal does not fit"),
        (["host", "carpet.example", "--rules", "x" * 40], "--rules does not fit"),
        (["host", "carpet.example", "--bot", ""], "--bot needs a name of at least one character."),
        (["host", "carpet.example", "--best-of", "4"], "--best-of takes an odd number from 3 to 25, not 4"),
        (["host", "carpet.example", "--best-of", "1"], "--best-of takes an odd number"),
        (["play", "--best-of", "27"], "--best-of takes an odd number"),
        (["host", "carpet.example", "--session", "0"], "--session takes a number from 2 to 25, not 0"),
        (["play", "--session", "26"], "--session takes a number"),
        (["host", "carpet.example", "--session", "two"], "--session"),
        (["host", "carpet.example", "--best-of", "3", "--swap"], "three kinds of series: choose one"),
        (["host", "carpet.example", "--best-of", "3", "--seats", "1"], "--best-of needs two players or more"),
        (["host", "carpet.example", "--swap", "--seats", "3"], "--swap is for two players"),
        (["host", "carpet.example", "--swap", "--deal", "monday"], "--deal and --winnable do not go with it"),
        (["play", "--swap", "--winnable"], "--deal and --winnable do not go with it"),
        (["play", "--choose", "--alone"], "--choose goes with no other choice"),
        (["play", "--choose", "--rules", "twenty"], "--choose goes with no other choice"),
        (["play", "--alone", "--session", "3"], "--alone and a series do not go together"),
        (["host", "carpet.example", "--series-grace", "60"], "--series-grace is for a series"),
        (["host", "carpet.example", "--session", "3", "--series-grace", "4"], "--series-grace"),
        (["host", "carpet.example", "--delay", "601"], "--delay"),
        (["host", "carpet.example", "--delay", "9"], "boards are shown at least 10 s late: add --unrated"),
        (["demo", "--deal", "x" * 101], "--deal does not fit"),
        (["demo", "--rules", ""], "--rules needs a name of at least one character."),
        (["play", "--rules", "x" * 33], "--rules does not fit"),
        (["play", "--four-colour", "--colour-blind"], "choose one"),
        (["whoami", "ftp://carpet.example"], "begins with ws:// or wss://"),
        (["whoami", "--name", "anna"], "--name needs a server"),
        (["rename", "carpet.example"], "NAME"),
        (["rename", "carpet.example", "\x1b[31m"], "Nothing printable is left"),
        (["identity", "export", "-", "--server", "ftp://carpet.example"], "begins with ws:// or wss://"),
        (["identity", "import"], "FILE"),
    ],
)
def test_what_is_typed_wrong_is_one_sentence_and_status_2(capsys: pytest.CaptureFixture[str], arguments: list[str], says: str) -> None:
    ran = run(capsys, *arguments)
    assert ran.status == 2
    assert says in ran.sentence
    assert "\x1b" not in ran.err


def test_on_a_terminal_what_is_typed_wrong_is_told_without_breaking_a_word(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for arguments, says in (
        (
            ["join", "carpet.example", "123456"],
            "carpet: '123456' is not the code of a\nrace: it is six letters, as the host's\nscreen shows them.\n",
        ),
        (["join"], "carpet join: Missing argument 'SERVER';\nsee carpet join --help.\n"),
    ):
        assert run(capsys, *arguments).err == says


def test_the_kind_of_race_that_is_typed_is_the_one_that_is_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[OpenRace] = []
    monkeypatch.setattr(screens, "_visit", lambda command, url, request, *others: asked.append(request))
    series = ["--session", "3", "--series-grace", "60"]
    assert run(capsys, "host", "carpet.example", *series, "--delay", "0", "--unrated").status == 0
    assert run(capsys, "host", "carpet.example", "--swap").status == 0
    assert [request.options for request in asked] == [
        RaceOptions(series=SeriesOptions(format="session", races=3, grace_s=60), delay_s=0, rated=False),
        RaceOptions(series=SeriesOptions(format="swap", races=2)),
    ]


def test_a_command_nobody_knows_is_answered_with_one_like_it_and_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "hots").err == "carpet: No such command 'hots'. Did you mean 'host'? See carpet --help.\n"
    assert run(capsys, "join").err == "carpet join: Missing argument 'SERVER'; see carpet join --help.\n"


@pytest.mark.parametrize("page", ["play", "watch"])
@pytest.mark.parametrize("rest", ["/abcdef", "/ABCDEF/", "/ABCDEF?overlay=1"])
def test_the_link_of_a_race_takes_the_place_of_server_and_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, page: str, rest: str
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(screens, "_visit", lambda command, url, request, *others: asked.append(request))
    for command in ("join", "watch"):
        assert run(capsys, command, f"http://Carpet.example:7777/{page}{rest}").status == 0
    assert asked == [JoinRace(code="ABCDEF"), WatchRace(code="ABCDEF")]


@pytest.mark.parametrize("code", [["AUS", "NJE"], ["a", "u", "s", "n", "j", "e"], ["aus-nje"]])
def test_a_code_may_be_typed_with_the_spaces_that_are_shown_between_its_letters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, code: list[str]
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(screens, "_visit", lambda command, url, request, *others: asked.append(request))
    for command in ("join", "watch"):
        assert run(capsys, command, "carpet.example", *code).status == 0
    assert asked == [JoinRace(code="AUSNJE"), WatchRace(code="AUSNJE")]


@pytest.mark.parametrize(
    "arguments",
    [
        ["play"],
        ["host", "carpet.example"],
        ["join", "carpet.example", "ABCDEF"],
        ["join", "carpet.example", "abc-d ef"],
        ["join", "https://carpet.example/play/abcdef"],
        ["home", "carpet.example"],
        ["match", "carpet.example", "--rules", "colorado"],
        ["host", "carpet.example", "--delay", "0", "--unrated"],
        ["host", "carpet.example", "--delay", "0", "--bot", "greedy"],
        ["host", "carpet.example", "--swap", "--delay", "600", "--series-grace", "3600"],
    ],
    ids=lambda arguments: " ".join(arguments),
)
def test_without_a_terminal_the_screens_point_to_the_demo(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    ran = run(capsys, *arguments)
    assert ran.status == 2
    assert "carpet demo" in ran.sentence


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (Failure("It is broken."), 1, "carpet: It is broken.\n"),
        (KeyboardInterrupt(), 130, ""),
        (ExceptionGroup("", [ExceptionGroup("", [ValueError(), Failure("Deep down.")])]), 1, "carpet: Deep down.\n"),
        (BaseExceptionGroup("", [KeyboardInterrupt(), Failure("later")]), 130, ""),
    ],
    ids=["failure", "interrupt", "grouped failure", "interrupt among failures"],
)
def test_failures_come_out_as_sentences_and_never_as_tracebacks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, text: str
) -> None:
    def failing(function: object) -> None:
        raise error

    monkeypatch.setattr(trio, "run", failing)
    ran = run(capsys, "demo", "--fast")
    assert (ran.status, ran.err) == (status, text)


def test_a_fault_of_the_program_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(function: object) -> None:
        raise ExceptionGroup("", [ZeroDivisionError()])

    monkeypatch.setattr(trio, "run", failing)
    with pytest.raises(ExceptionGroup):
        cli.main(["demo", "--fast"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("client.cli.main", {"trio", "urwid", "websockets", "msgspec", "platformdirs"}),
        ("client.cli.past_races", {"trio", "urwid", "websockets", "client.connection.client", "client.tui.app"}),
    ],
)
def test_neither_the_help_nor_what_lists_past_races_needs_screens_or_links(module: str, heavy: set[str]) -> None:
    code = f"import sys, {module}; print(*sorted({heavy} & sys.modules.keys()))"
    ran = subprocess.run([sys.executable, "-c", code], env=server_environment(), capture_output=True, text=True, check=True)
    assert ran.stdout == "\n"


def test_the_list_of_commands_has_one_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    listed = run(capsys, "--help").out
    for name in COMMANDS:
        assert f"  {name:<12}{COMMANDS[name][1]}\n" in listed
    assert _too_wide(listed) == []


def _too_wide(told: str) -> list[str]:
    return [line for line in told.splitlines() if len(line) > 79]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_says_what_the_list_says_and_is_not_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    helps = [run(capsys, name, "--help").out]
    assert COMMANDS[name][1] in helps[0]
    inner = re.findall(r"^  ([a-z-]+) {2,}\S", helps[0].partition("Commands:\n")[2].partition("\n\n")[0], re.MULTILINE)
    helps += [run(capsys, name, each, "--help").out for each in inner]
    for told in helps:
        assert "..." not in told.replace("]...", "")
        assert _too_wide(told) == []
        assert told.isascii(), "it is printed whatever the encoding of the terminal is"
        assert not re.findall(r"^  [A-Z|]+ <.*", told, re.MULTILINE), "no types of Python behind the names of arguments"


@pytest.mark.slow
@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_the_version_needs_no_command(flag: str) -> None:
    code = f"import sys; sys.argv = ['carpet', {flag!r}]; import atexit, client.cli.main\n"
    code += "atexit.register(lambda: print(*sorted({'typer', 'msgspec', 'trio'} & sys.modules.keys())))\nclient.cli.main.main()"
    ran = subprocess.run([sys.executable, "-c", code], env=server_environment(), capture_output=True, text=True, check=True)
    assert ran.stdout == f"carpet {protocol.__version__}\n\n"


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_fault() -> None:
    code = """
import client.cli.main
import client.local.demo

async def run_demo(*, write, **rest):
    for _ in range(1000):
        write("x" * 1000)

client.local.demo.run_demo = run_demo
client.cli.main.main(["demo"])
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, env=server_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        os.read(process.stdout.fileno(), 10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.slow
def test_an_interrupt_ends_a_replay_that_still_reads_its_record() -> None:
    command = [sys.executable, "-m", "client.cli.main", "replay", "--text", "-"]
    with subprocess.Popen(command, env=server_environment(), stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        # More than a pipe holds: once all of it is written, the command is reading.
        process.stdin.write(b" " * 200_000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(timeout=30) == 130
        finally:
            process.kill()
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("arguments", "is_first", "raced"),
    [
        ([], True, ("random",)),
        ([], False, ("greedy",)),
        (["--rules", "colorado"], True, ("greedy",)),
        (["--bot", "deep"], True, ("deep",)),
        (["--alone"], True, ()),
    ],
)
def test_the_race_that_teaches_the_keys_is_against_the_easiest_bot_unless_one_is_named(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
    is_first: bool,
    raced: tuple[str, ...],
) -> None:
    played: list[RaceOptions] = []

    async def play(options: RaceOptions, **others: object) -> AppOutcome:
        played.append(options)
        return AppOutcome("quit", UiSettings())

    monkeypatch.setenv("CARPET_HOME", str(tmp_path))
    monkeypatch.setattr(sitting, "play", play)
    monkeypatch.setattr(screens, "need_terminal", lambda *_, **__: None)
    monkeypatch.setattr(opening, "show", lambda start, settings: None)
    if not is_first:
        (tmp_path / TAUGHT).write_bytes(b"")
    assert run(capsys, "play", *arguments).status == 0
    assert [options.bots for options in played] == [raced]


@pytest.mark.parametrize("arguments", [["play"], ["host", "here"], ["join", "here", "KXQWZP"], ["match", "here"]], ids=lambda each: each[0])
def test_whoever_has_no_terminal_is_told_of_the_lines(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    ran = run(capsys, *arguments)
    assert ran.status == 2
    others = "carpet play, host, join, match, watch and tournament join take --plain"
    assert f"carpet {arguments[0]} needs a terminal, and there is none here; {others}" in ran.sentence


def test_by_lines_no_terminal_is_needed_and_nothing_glides(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[UiSettings] = []

    async def play(options: RaceOptions, *, settings: UiSettings, **others: object) -> AppOutcome:
        asked.append(settings)
        return AppOutcome("quit", settings)

    monkeypatch.setenv("CARPET_HOME", str(tmp_path))
    monkeypatch.setattr(sitting, "play", play)

    async def attend(url: str, id_: str, *, settings: UiSettings, **others: object) -> AppOutcome:
        asked.append(settings)
        return AppOutcome("quit", settings)

    monkeypatch.setattr(tournament, "attend", attend)
    assert run(capsys, "play", "--plain").status == 0
    assert run(capsys, "tournament", "join", "carpet.example", "KWPRTM", "--plain").status == 0
    assert [(settings.plain, settings.motion) for settings in asked] == [(True, False)] * 2
    ran = run(capsys, "play", "--plain", "--choose")
    assert (ran.status, ran.sentence) == (2, "carpet: --choose is done on a screen, and --plain has none: say --bot and --rules.")


@pytest.mark.parametrize("command", [["play"], ["host", "carpet.example"]], ids=lambda command: command[0])
def test_a_deal_by_name_is_not_one_that_can_be_won_by_wish(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    ran = run(capsys, *command, "--winnable", "--deal", "tuesday")
    assert (ran.status, ran.sentence) == (2, "carpet: --winnable and --deal do not go together: a named deal is always the same one.")


STRIKES = """
import signal, sys

class Strike:
    def find_spec(self, name, path, target=None):
        if name == "client.cli.commands":
            exec("signal.raise_signal(signal.SIGINT)")

sys.meta_path.insert(0, Strike())
"""


@pytest.mark.slow
def test_an_interrupt_while_a_command_is_loaded_is_a_status_wherever_it_strikes(tmp_path: Path) -> None:
    """For example while a dataclass is made: its methods are compiled from text."""
    (tmp_path / "sitecustomize.py").write_text(STRIKES)
    command = [sys.executable, "-m", "client.cli.main", "races", "127.0.0.1:1"]
    ran = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")
