"""The commands for the record of a race: replay it, play on from it, check it, see what was possible.

The record is read before the screen opens, so that any problem with it is a sentence on the command line.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, TextIO, TypeVar

import msgspec
import trio
import typer
from msgspec import Struct

import protocol
from client.cli.ending import FAILED, MISUSED, fail
from client.cli.options import Name, address_of, with_looks
from client.cli.past_races import catch_up
from client.cli.running import finish, keep_own_name, need_terminal, print_sentence, run, write_new
from client.connection.address import Address
from client.connection.errors import Failure
from client.connection.http import fetch_record
from client.local.sitting import play_on as played_on
from client.replay.own_server import replay_race, server_command, server_environment
from client.replay.timeline import TimeLine
from client.storage.commitments import CommitmentStore
from client.storage.evidence import EvidenceStore
from client.storage.identity import IdentityStore, home_folder
from client.storage.saved_records import record_path
from client.text.past_races import past_race
from client.tui.app import run_replay
from client.tui.replay.export import TEXT_COLOURS, cast_of, coloured, moving_svg_of, screen_at, svg_of, text_of
from client.tui.start import AppOutcome, UiSettings
from protocol.command_line import examples, print_text
from protocol.pages import is_race_id
from protocol.record import LONGEST_RECORD, BadRecord, Record, from_json
from protocol.text import clean_chat, is_room_code, read_code

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog=examples("carpet verify", "carpet demo --json | carpet verify -"))
def verify(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE|ID",
            help="A record, or a tournament's document, as JSON; - for standard input; or the id of a race kept here. "
            "[default: your last race]",
        ),
    ] = None,
    records: Annotated[list[str] | None, typer.Argument(metavar="RECORD", help="Records of the tournament's races.")] = None,
) -> None:
    """Check the record of a race, or a whole tournament.

    For a race, the shuffle, every move and the result are worked out again; for a tournament, its rounds' shuffles, the given records,
    points, tie-breaks and places, and whether your part of the shuffles is what you gave when you checked in on this machine. The exit
    status is 0 only if all of it is correct.
    """
    source = _kept(file)
    status = _ask_server(["verify", "--", source, *(records or [])])
    if status == 0:
        _check_entry(source)
        _check_day(source)
    raise typer.Exit(status)


Part = TypeVar("Part", bound=Struct)


def _part_of(source: str, kind: type[Part]) -> Part | None:
    """What a checked document has of these fields; None if it is of another kind, or was read from standard input."""
    try:
        return msgspec.json.decode(Path(source).read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


class _Entrant(Struct):
    nonce: str | None


class _Entered(Struct):
    """The parts of a tournament's document that an entrant knows better than anybody else."""

    id: str
    commitment: str
    entrants: tuple[_Entrant, ...]


def _check_entry(source: str) -> None:
    """Compare the document of a tournament with what its reader saw and gave when they checked in on this machine, if they did.

    Ends the command if it is false. That the nonces of its entrants are in the shuffles has been checked.
    """
    told = _part_of(source, _Entered)
    if told is None:
        return
    entries = [entry for entry in EvidenceStore(home_folder()).entries() if entry.id == told.id]
    if not entries:
        return
    if told.commitment not in {entry.commitment for entry in entries}:
        fail("not a true tournament: when you checked in, it had committed to other shuffles.")
    if not {entrant.nonce for entrant in told.entrants} & {entry.nonce for entry in entries}:
        fail("what you gave when you checked in here is not in its shuffles: that is true only if you had checked in elsewhere before.")
    print_text("yours: what you gave when you checked in is in the shuffles, which were committed to before")


class _Shared(Struct):
    kind: str
    id: str


class _Deal(Struct):
    commitment: str
    shared: _Shared | None = None


class _Run(Struct):
    """The parts of a record that say of which day it is the deal."""

    deal: _Deal


def _check_day(source: str) -> None:
    """Compare the deal of a run with what this machine was shown of its day, before anybody could run it. Ends the command if they differ.

    A record alone cannot tell whether all others had the same deal.
    """
    told = _part_of(source, _Run)
    shared = told.deal.shared if told is not None else None
    if told is None or shared is None or shared.kind != "daily":
        return
    date, seen = clean_chat(shared.id), CommitmentStore(home_folder()).seen_of(shared.id)
    places = [clean_chat(url) for url, day in seen.items() if day.commitment == told.deal.commitment]
    if places:
        print_text(f"the day's: it is the deal of {date} that you were shown the commitment of, at {places[0]}")
    elif seen:
        fail(f"not the deal of {date}: what you were shown of that day at {', '.join(map(clean_chat, seen))} is another commitment.")
    else:
        print_text(f"not checked: whether it is the deal that others had on {date}, since you were not shown its commitment then")


@app.command(epilog=examples("carpet review", "carpet review race.json --seat 1", "carpet demo --fast --json | carpet review -"))
def review(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE|ID", help="A record as JSON; - for standard input; or the id of a race kept here. [default: your last race]"
        ),
    ] = None,
    seat: Annotated[int | None, typer.Option(metavar="N", min=1, help="Only this seat, counted from 1 as verify does.")] = None,
) -> None:
    """See what was possible in a finished race.

    For each game: the best possible result, the move that lost it, and the move that would have kept it.
    """
    raise typer.Exit(_ask_server(["review", *(["--seat", str(seat)] if seat is not None else []), "--", _kept(file)]))


To = Annotated[str | None, typer.Option(metavar="FILE", help="Write the race as an asciinema recording, at its own pace; - prints it.")]
Svg = Annotated[str | None, typer.Option(metavar="FILE", help="Write one moment as a picture; - prints it.")]
Moving = Annotated[bool, typer.Option("--moving", help="The picture plays the whole race by itself, in a minute at most.")]


def _moment(typed: str) -> float:
    """Seconds from the start, typed as 92.5, or as 1:32.5 like on the screens."""
    minutes, colon, seconds = typed.rpartition(":")
    try:
        at = 60 * float(minutes or 0) + float(seconds)
    except ValueError:
        at = -1
    if not at >= 0 or (colon and not (minutes.isdecimal() and 0 <= float(seconds) < 60)):
        raise typer.BadParameter(f"{typed[:40]!r} is not a moment of a race; write 92 or 1:32")
    return at


At = Annotated[
    float | None,
    typer.Option(
        metavar="S|M:SS", parser=_moment, help="Which moment, in seconds from the start or as the clock shows it. [default: the end]"
    ),
]
Server = Annotated[
    str | None, typer.Option(metavar="SERVER", help="The server to ask for that id. [default: none; your own races are searched]")
]
Screen = Annotated[str, typer.Option(metavar="COLUMNSxROWS", help="The size of the screen that is written.")]


@app.command(
    epilog=examples("carpet replay", "carpet replay race.json --svg race.svg --at 42", "carpet demo --fast --json | carpet replay -")
)
@with_looks(bell=False)
def replay(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE|ID",
            help="A record as JSON, - for standard input, or the id of a race, as carpet history shows it. [default: your last race]",
        ),
    ] = None,
    server: Server = None,
    cast: To = None,
    svg: Svg = None,
    moving: Moving = False,
    text: Annotated[bool, typer.Option("--text", help="Print one moment as text.")] = False,
    at: At = None,
    screen: Screen = "100x32",
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    *,
    settings: UiSettings,
) -> None:
    """Watch a finished race again.

    Two boards stand side by side on one time line: play, pause, step, jump. Or write the race out to share it, without a screen. Of more
    than two players the two best placed are shown; on the screen, tab shows others.
    """
    address = address_of(server) if server is not None else None
    if moving and (svg is None or at is not None):
        fail("--moving goes with --svg, and not with --at: it shows the whole race.", MISUSED)
    if at is not None and svg is None and not text:
        fail("--at goes with --svg or --text, which show one moment.", MISUSED)
    if [svg, cast, "-" if text else None].count("-") > 1:
        fail("Only one of --text, --svg - and --cast - can be printed.", MISUSED)
    if cast is not None or svg is not None or text:
        size = _size_of(screen)
        line = run(lambda: _time_line(file, address))
        # A float can be infinite.
        at_ms = line.end_ms if at is None else round(min(at * 1000, line.end_ms))
        if text:
            print_text(text_of(screen_at(line, at_ms, size, settings, colours=TEXT_COLOURS)).rstrip("\n"))
        if svg is not None:
            still = None if moving else svg_of(coloured(screen_at(line, at_ms, size, settings), settings), size[0])
            _write(svg, still or moving_svg_of(line, size, settings), force=force)
        if cast is not None:
            _write(cast, "".join(cast_of(line, size, settings)), force=force)
        return
    need_terminal("replay", keys=file != "-", instead="--text prints one moment of the race, --cast records all of it")

    outcome = run(lambda: show_replay(file, server=address, settings=settings))
    finish(outcome)


@app.command("play-on", epilog=examples("carpet play-on --from 24", "carpet play-on race.json --from 24 --seat 2"))
@with_looks()
def play_on(
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE|ID", help="A record as JSON, or the id of a race. [default: your last race]"),
    ] = None,
    ply: Annotated[int, typer.Option("--from", metavar="K", min=0, help="Start after this many of the seat's moves.")] = 0,
    seat: Annotated[int | None, typer.Option(metavar="N", min=1, help="The seat, counted from 1 as verify does. [default: yours]")] = None,
    server: Server = None,
    name: Name = None,
    *,
    settings: UiSettings,
) -> None:
    """Play on from a position of a finished race.

    You race your own past self, on a server of your own; it does not count. The record is checked first.
    """
    need_terminal("play-on")
    address = address_of(server) if server is not None else None

    record = run(lambda: read_record(file, address))
    if not record.id:
        fail("That record is too old to play on from: it has no id.")
    number = own_seat(record) if seat is None else seat - 1
    keep_own_name(name)
    finish(run(lambda: played_on(record, seat=number, ply=ply, name=name, settings=settings)))


def own_seat(record: Record) -> int:
    """The seat of this machine's player, from 0. Ends the command if it cannot be known."""
    players, names = IdentityStore(home_folder()).own()
    own = past_race(record, players=players, names=names).own
    if own is None:
        fail("The record does not show which seat is yours: add --seat N, counted from 1 as verify does.", MISUSED)
    return own


class NoRecord(Failure):
    """There is no readable record there; the text says why."""


class NoKeyboard(Failure):
    """The record came through standard input, and there is no terminal for the keys."""


async def _time_line(source: str | None, server: Address | None) -> TimeLine:
    return await replay_race(await read_record(source, server))


def _size_of(text: str) -> tuple[int, int]:
    """Columns and rows, typed like 80x24."""
    columns, _, rows = text.lower().partition("x")
    if not (columns.isdecimal() and rows.isdecimal() and 60 <= int(columns) <= 300 and 20 <= int(rows) <= 100):
        fail(f"{text!r} is not the size of a screen: write columns and rows like 80x24, from 60x20 to 300x100.", MISUSED)
    return int(columns), int(rows)


def _write(path: str, document: str, *, force: bool) -> None:
    """Write into a file; - is standard output."""
    if path == "-":
        print_text(document.rstrip("\n"))
        return
    write_new(Path(path), document, force=force)
    print_sentence(f"{path} is written.")


async def show_replay(source: str | None, *, server: Address | None, settings: UiSettings) -> AppOutcome:
    """Replay a record. source: a file, `-` for standard input, the id of a race, or None for the last race.

    server: where to get a race by its id; None for those kept here. Raises NoRecord, NoReplay, NoKeyboard, and what `fetch_record` raises.
    """
    replay = await _time_line(source, server)
    if source != "-":
        return await run_replay(replay, settings=settings, keys=sys.stdin)
    with _terminal() as keys:
        return await run_replay(replay, settings=settings, keys=keys)


def _terminal() -> TextIO:
    """The terminal of this process, even if standard input comes from elsewhere."""
    try:
        return open(os.ctermid(), encoding="utf-8")
    except OSError as error:
        raise NoKeyboard(f"There is no terminal to read keys from ({error.strerror}); give the record as a file.") from error


async def read_record(source: str | None, server: Address | None) -> Record:
    """The record that a command names; arguments as in `show_replay`. Raises NoRecord, and what `fetch_record` raises."""
    # A file whose name looks like an id must be given with its folder: ./ID.
    if source is None or not is_race_id(source):
        if server is not None:
            raise NoRecord("--server goes with the id of a race, like HKTRWM-1-0a1b2c3d4e5f, as carpet history shows it.")
    elif server is not None:
        return await trio.to_thread.run_sync(fetch_record, server, source, abandon_on_cancel=True)
    otherwise = "name the server that has it with --server SERVER"
    return await trio.to_thread.run_sync(lambda: _read(_kept(source, otherwise)), abandon_on_cancel=True)


def _kept(source: str | None, otherwise: str = "carpet export saves it from the server that has it") -> str:
    """The file that a command names: by its path, by the id of a race kept here, or None for the last race.

    otherwise: what to do if the race of that id is not kept. Raises NoRecord.
    """
    if source is not None and not is_race_id(source):
        if is_room_code(read_code(source)) and not Path(source).exists():
            # One room has several races, and each has its own id.
            raise NoRecord(f"There is no file {source}; name a race by its id, which carpet history shows, not by its code.")
        return source
    path = record_path(home_folder(), source)
    if source is None or not path.exists():
        catch_up(last=source is None)
    if path.exists():
        return str(path)
    if source is None:
        raise NoRecord("No race of yours has been kept here yet. For another one, name its id or the file of its record.")
    raise NoRecord(f"Race {source} is not kept here: {otherwise}.")


def _read(source: str) -> Record:
    try:
        # Not sys.stdin.buffer: after Ctrl+C a thread still waits in it, and the interpreter could not close it at exit.
        with open(sys.stdin.fileno() if source == "-" else source, "rb", closefd=source != "-") as file:
            document = file.read(LONGEST_RECORD + 1)
    except OSError as error:
        raise NoRecord(f"{source} cannot be read: {error.strerror}.") from error
    try:
        return from_json(document)
    except BadRecord as error:
        raise NoRecord(f"{'standard input' if source == '-' else source}: {clean_chat(str(error))}.") from error


def _ask_server(arguments: list[str]) -> int:
    """Run a command of this installation's server, and leave its messages to it. Gives the exit status."""
    environment = server_environment() | {protocol.PROGRAM_VARIABLE: "carpet"}
    finished = subprocess.run(server_command(arguments), env=environment, check=False)  # noqa: S603  (our own)
    return finished.returncode if finished.returncode >= 0 else FAILED
