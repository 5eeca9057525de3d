"""The commands `carpet-server admin …`, with which the host administers a running server over its Unix socket."""

from __future__ import annotations

import inspect
import json
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from protocol.command_line import examples, show_help
from server.cli.shared import fail

if TYPE_CHECKING:
    from server.admin.messages import Answer, Noun, Question, Verb

admin_app = typer.Typer(
    help="Look after a running server: list, end, ban, say, drain. Only the user who runs it may.", rich_markup_mode=None
)
UNDER_WAY_LOOK_S = 1.0
"""Seconds between two looks at what is under way."""
GROUPS = {
    noun: typer.Typer(help=f"{what}.", rich_markup_mode=None)
    for noun, what in {
        "tournaments": "Tournaments: list, end, remove, director",
        "rooms": "Rooms and their races: list, end",
        "players": "Players: list, end, ban, unban, rename",
        "connections": "Connections and addresses: list, end, ban, unban",
    }.items()
}


admin_app.callback(invoke_without_command=True)(show_help)
for noun, group in GROUPS.items():
    admin_app.add_typer(group, name=noun)
    group.callback(invoke_without_command=True)(show_help)


DatabaseOption = Annotated[
    str | None,
    typer.Option(
        metavar="WHERE",
        envvar="CARPET_DATABASE",
        help="The server's database, as given to `serve`: its socket is beside it. If `serve` had none, CARPET_HOME must be the server's.",
    ),
]
SocketOption = Annotated[
    Path | None,
    typer.Option("--socket", "--admin-socket", metavar="PATH", help="The server's socket, where `serve --admin-socket` put it."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document instead of text.")]
ReasonOption = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Told to those concerned.")]
TextArgument = Annotated[str, typer.Argument(metavar="TEXT", help="What to say, in one line.")]
NewNameArgument = Annotated[str, typer.Argument(metavar="NEW", help="The name they get, at most 24 characters.")]
DirectorArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name, or id, of the player who directs it from now on.")]
UndoOption = Annotated[bool, typer.Option("--undo", help="Let races and tournaments begin again.")]
WaitOption = Annotated[bool, typer.Option("--wait", help="Return when no race and no tournament is under way any more.")]
BannedOption = Annotated[bool, typer.Option("--banned", help="Those who are banned, instead of those who are here.")]


def _command(noun: Noun, verb: Verb, example: str, target: tuple[str, str] | None, purpose: str) -> None:
    """Add one command.

    example: what follows the command in its example. target: its argument, by metavar and help. purpose: the command's help.
    """
    options: dict[str, Any] = {}
    if target is not None:
        options["target"] = inspect.Parameter.empty, Annotated[str, typer.Argument(metavar=target[0], help=target[1])]
    if (text := {"rename": NewNameArgument, "director": DirectorArgument, "say": TextArgument}.get(verb)) is not None:
        options["text"] = inspect.Parameter.empty, text
    if verb == "list" and noun in ("players", "connections"):
        options["banned"] = False, BannedOption
    if verb == "drain":
        options |= {"undo": (False, UndoOption), "wait": (False, WaitOption)}
    if verb in ("end", "remove", "ban", "drain"):
        options["reason"] = "", ReasonOption
    options |= {"database": (None, DatabaseOption), "at": (None, SocketOption), "as_json": (False, JsonOption)}

    def ask(banned: bool = False, undo: bool = False, wait: bool = False, **given: Any) -> None:
        if undo and wait:
            fail("--undo and --wait exclude each other", 2)
        _ask(noun, "bans" if banned else "undrain" if undo else verb, **given)
        if wait:
            _wait(given["at"], given["database"])

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (default, kind) in options.items()
    ]
    ask.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    ask.__annotations__ = {}
    named, group = (verb, admin_app) if verb in ("say", "drain") else (f"{noun} {verb}", GROUPS[noun])
    group.command(verb, help=purpose, epilog=examples(f"carpet-server admin {named} {example}"))(ask)


TOURNAMENT = ("ID", "Six letters, as `list` shows them.")
ROOM = ("CODE", "Six letters, as `list` shows them.")
PLAYER = ("NAME", "The player's name, or id.")
CONNECTION = ("NUMBER", "The connection's number, as `list` and the log show it.")
ADDRESS = ("ADDRESS", "An IPv4 address, or an IPv6 one, which stands for its whole /64.")

_command("tournaments", "list", "--json", None, "List the tournaments: those that are not over, and those that ended lately.")
_command(
    "tournaments",
    "end",
    "KWPRTM --reason 'test entries'",
    TOURNAMENT,
    "Call a tournament off.\n\nIts running races end, and do not count.",
)
_command("tournaments", "remove", "KWPRTM", TOURNAMENT, "Call a tournament off and forget it.\n\nOnly before its first round is paired.")
_command(
    "tournaments",
    "director",
    "KWPRTM Anna",
    TOURNAMENT,
    "Have another player direct a tournament.\n\nFor a director who cannot come back. Its log says so, and they are not told otherwise.",
)
_command("rooms", "list", "--json", None, "List the rooms: who races, and what.")
_command(
    "rooms",
    "end",
    "KWPRTM --reason 'we move tonight'",
    ROOM,
    "End a room. A race that is not over gets no result, and is not rated.",
)
_command("players", "list", "--json", None, "List the players who are connected.\n\nWith --banned, list those who are banned.")
_command("players", "end", "Anna", PLAYER, "Close a player's connections. They may come back.")
_command(
    "players",
    "ban",
    "Anna --reason 'plays by program'",
    PLAYER,
    "Ban a player, whether they are here or not.\n\nThe race in which they hold a seat ends without a result.",
)
_command("players", "unban", "Anna", PLAYER, "Let a banned player come back.")
_command(
    "players",
    "rename",
    "Anna Anne",
    PLAYER,
    "Give a player another name, whether they are here or not.\n\nThey are told, and can change it again.",
)
_command("connections", "list", "--json", None, "List the connections.\n\nWith --banned, list the addresses that are banned.")
_command("connections", "end", "17", CONNECTION, "Close a connection. Its player may come back.")
_command(
    "connections",
    "ban",
    "192.0.2.7 --reason 'floods'",
    ADDRESS,
    "Ban everybody at an address.\n\nThe races in which they hold seats end without a result.",
)
_command("connections", "unban", "192.0.2.7", ADDRESS, "Let those at a banned address come back.")
_command(
    "connections",
    "say",
    "'The server restarts at eight'",
    None,
    "Say something to everybody who is connected.\n\nA terminal shows it for a minute, a browser until they hide it.",
)
_command(
    "rooms",
    "drain",
    "--wait && systemctl stop carpet-server",
    None,
    "Let nothing new begin, before planned work.\n\nRaces and tournaments under way go on to their end, and players are told why no other"
    " can begin. If others are one place with it, new races begin there. It holds until the server stops.",
)


def _ask(
    noun: Noun,
    verb: Verb,
    target: str = "",
    reason: str = "",
    text: str = "",
    *,
    database: str | None,
    at: Path | None,
    as_json: bool,
) -> None:
    from server.admin.messages import Question

    question = Question(noun=noun, verb=verb, target=target, reason=reason, text=text)
    answer = _answer(question, at, database)
    if answer.error is not None:
        fail(answer.error)
    if as_json:
        typer.echo(json.dumps(answer.rows if verb in ("list", "bans") else {"done": answer.done}, ensure_ascii=False, indent=1))
    elif answer.done:
        typer.echo(answer.done)
    else:
        _show(answer, question)


def _wait(at: Path | None, database: str | None) -> None:
    """Until nothing is under way any more; says what is, whenever that changes."""
    from protocol.text import counted
    from server.admin.messages import Question

    told = ""
    while True:
        answer = _answer(Question(noun="rooms", verb="under-way"), at, database)
        if answer.error is not None:
            fail(answer.error)
        (row,) = answer.rows
        if not any(row.values()):
            typer.echo("nothing is under way", err=True)
            return
        if (now := " and ".join(counted(int(row[f"{what}s"] or 0), what) for what in ("race", "tournament"))) != told:
            typer.echo(f"under way: {now}", err=True)
            told = now
        time.sleep(UNDER_WAY_LOOK_S)


def _answer(question: Question, at: Path | None, database: str | None) -> Answer:
    import msgspec

    from server.admin.messages import ANSWER_S, LONGEST, Answer
    from server.config import BadSettings, admin_socket_of

    try:
        path = at or admin_socket_of(database)
    except BadSettings as error:
        fail(str(error), 2)
    if path is None:
        fail("a server with --database memory has a socket only if `serve --admin-socket PATH` makes one: give --socket PATH", 2)
    received = b""
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(ANSWER_S + 10)
            line.connect(str(path))
            line.sendall(msgspec.json.encode(question) + b"\n")
            while (some := line.recv(65536)) and len(received) <= LONGEST:
                received += some
        return msgspec.json.decode(received, type=Answer)
    except FileNotFoundError:
        fail(f"no server is running there: there is no {path}; --database or --socket names another")
    except ConnectionRefusedError:
        if not path.is_socket():
            fail(f"{path} is not a server's socket; --database or --socket names another")
        fail(f"no server is running there any more: {path} was left by one that was killed")
    except PermissionError:
        fail(f"you may not use {path}: ask as the user who runs the server")
    except OSError as error:
        # If the path is too long, there is no strerror.
        fail(f"{path} cannot be reached: {error.strerror or error}; --socket names another")
    except msgspec.MsgspecError as error:
        fail(f"{path}: not an answer from a Carpet Race server: {error}")


def _show(answer: Answer, question: Question) -> None:
    if not answer.rows:
        typer.echo(f"no {question.noun}" if question.verb == "list" else "nobody is banned")
        return
    titles = list(answer.rows[0])
    table = [[title.removesuffix("_ms") for title in titles], *([_cell(key, row.get(key)) for key in titles] for row in answer.rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(titles))]
    for row in table:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _cell(key: str, value: str | int | bool | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key.endswith("_at_ms") or key == "at_ms":
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(int(value) / 1000))
    # Names are cleaned on arrival, but this is a terminal, so trust none.
    return "".join(letter if letter.isprintable() else "?" for letter in str(value))
