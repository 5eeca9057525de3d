"""The commands `carpet-server admin …`: what the host asks a running server for, over its Unix socket."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from server.cli.shared import examples, fail

if TYPE_CHECKING:
    from server.admin.messages import Answer, Noun, Question, Verb

admin_app = typer.Typer(help="Ask a running server for lists, endings and bans. Only the user who runs it may.", rich_markup_mode=None)
tournaments_app = typer.Typer(help="Tournaments: list, end, remove.", rich_markup_mode=None)
rooms_app = typer.Typer(help="Rooms, in which races are: list, end.", rich_markup_mode=None)
players_app = typer.Typer(help="Players: list, end, ban, unban.", rich_markup_mode=None)
connections_app = typer.Typer(help="Connections and addresses: list, end, ban, unban.", rich_markup_mode=None)
admin_app.add_typer(tournaments_app, name="tournaments")
admin_app.add_typer(rooms_app, name="rooms")
admin_app.add_typer(players_app, name="players")
admin_app.add_typer(connections_app, name="connections")


def _show_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for group in (admin_app, tournaments_app, rooms_app, players_app, connections_app):
    group.callback(invoke_without_command=True)(_show_help)


DatabaseOption = Annotated[
    str | None,
    typer.Option(
        metavar="WHERE", envvar="CARPET_DATABASE", help="The database of the server, as `serve` was told: its socket is beside it."
    ),
]
SocketOption = Annotated[
    Path | None, typer.Option("--socket", metavar="PATH", help="The server's socket, where `serve --admin-socket` put it.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document instead of text.")]
ReasonOption = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Told to those whom it concerns.")]
TournamentArgument = Annotated[str, typer.Argument(metavar="ID", help="Six letters, as `list` shows them.")]
RoomArgument = Annotated[str, typer.Argument(metavar="CODE", help="Six letters, as `list` shows them.")]
PlayerArgument = Annotated[str, typer.Argument(metavar="NAME", help="The player's name, or id.")]
ConnectionArgument = Annotated[str, typer.Argument(metavar="NUMBER", help="Of the connection, as `list` and the log show it.")]
AddressArgument = Annotated[str, typer.Argument(metavar="ADDRESS", help="An IPv4 address, or an IPv6 one, which stands for its /64.")]
BannedOption = Annotated[bool, typer.Option("--banned", help="Those who are kept out, in place of those who are here.")]


@tournaments_app.command("list", epilog=examples("carpet-server admin tournaments list --json"))
def list_tournaments(
    database: DatabaseOption = None,
    at: SocketOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the tournaments that run, and those that were over lately."""
    _ask("tournaments", "list", database=database, at=at, as_json=as_json)


@tournaments_app.command("end", epilog=examples("carpet-server admin tournaments end KWPRTM --reason 'test entries'"))
def end_tournament(
    identity: TournamentArgument,
    reason: ReasonOption = "",
    database: DatabaseOption = None,
    at: SocketOption = None,
    as_json: JsonOption = False,
) -> None:
    """Call a tournament off, and end the races of its round; they count for nothing."""
    _ask("tournaments", "end", identity, reason, database=database, at=at, as_json=as_json)


@tournaments_app.command("remove", epilog=examples("carpet-server admin tournaments remove KWPRTM"))
def remove_tournament(
    identity: TournamentArgument,
    reason: ReasonOption = "",
    database: DatabaseOption = None,
    at: SocketOption = None,
    as_json: JsonOption = False,
) -> None:
    """Call a tournament off, and forget it: one of which no round was paired."""
    _ask("tournaments", "remove", identity, reason, database=database, at=at, as_json=as_json)


@rooms_app.command("list", epilog=examples("carpet-server admin rooms list --json"))
def list_rooms(
    database: DatabaseOption = None,
    at: SocketOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the rooms: who races, and what."""
    _ask("rooms", "list", database=database, at=at, as_json=as_json)


@rooms_app.command("end", epilog=examples("carpet-server admin rooms end KWPRTM --reason 'the server moves tonight'"))
def end_room(
    code: RoomArgument,
    reason: ReasonOption = "",
    database: DatabaseOption = None,
    at: SocketOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a room. A race that is not over has no result, and is not rated."""
    _ask("rooms", "end", code, reason, database=database, at=at, as_json=as_json)


@players_app.command("list", epilog=examples("carpet-server admin players list --json"))
def list_players(
    banned: BannedOption = False,
    database: DatabaseOption = None,
    at: SocketOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the players who are connected, or with --banned those who are kept out."""
    _ask("players", "bans" if banned else "list", database=database, at=at, as_json=as_json)


@players_app.command("end", epilog=examples("carpet-server admin players end Anna"))
def end_player(
    name: PlayerArgument,
    reason: ReasonOption = "",
    database: DatabaseOption = None,
    at: SocketOption = None,
    as_json: JsonOption = False,
) -> None:
    """Close a player's connections. They may come again."""
    _ask("players", "end", name, reason, database=database, at=at, as_json=as_json)


@players_app.command("ban", epilog=examples("carpet-server admin players ban Anna --reason 'plays by program'"))
def ban_player(
    name: PlayerArgument,
    reason: ReasonOption = "",
    database: DatabaseOption = None,
    at: SocketOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep a player out, here or not. The race that they sit in ends without a result."""
    _ask("players", "ban", name, reason, database=database, at=at, as_json=as_json)


@players_app.command("unban", epilog=examples("carpet-server admin players unban Anna"))
def unban_player(
    name: PlayerArgument,
    database: DatabaseOption = None,
    at: SocketOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a player come again."""
    _ask("players", "unban", name, database=database, at=at, as_json=as_json)


@connections_app.command("list", epilog=examples("carpet-server admin connections list --json"))
def list_connections(
    banned: BannedOption = False,
    database: DatabaseOption = None,
    at: SocketOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the connections, or with --banned the addresses that are kept out."""
    _ask("connections", "bans" if banned else "list", database=database, at=at, as_json=as_json)


@connections_app.command("end", epilog=examples("carpet-server admin connections end 17"))
def end_connection(
    number: ConnectionArgument,
    reason: ReasonOption = "",
    database: DatabaseOption = None,
    at: SocketOption = None,
    as_json: JsonOption = False,
) -> None:
    """Close a connection. Who it was may come again."""
    _ask("connections", "end", number, reason, database=database, at=at, as_json=as_json)


@connections_app.command("ban", epilog=examples("carpet-server admin connections ban 192.0.2.7 --reason 'floods'"))
def ban_address(
    address: AddressArgument,
    reason: ReasonOption = "",
    database: DatabaseOption = None,
    at: SocketOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep everybody at an address out. The races that they sit in end without a result."""
    _ask("connections", "ban", address, reason, database=database, at=at, as_json=as_json)


@connections_app.command("unban", epilog=examples("carpet-server admin connections unban 192.0.2.7"))
def unban_address(
    address: AddressArgument,
    database: DatabaseOption = None,
    at: SocketOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let those at an address come again."""
    _ask("connections", "unban", address, database=database, at=at, as_json=as_json)


def _ask(
    noun: Noun,
    verb: Verb,
    target: str = "",
    reason: str = "",
    *,
    database: str | None,
    at: Path | None,
    as_json: bool,
) -> None:
    from server.admin.messages import Question

    question = Question(noun=noun, verb=verb, target=target, reason=reason)
    answer = _answer(question, at, database)
    if answer.error is not None:
        fail(answer.error)
    if as_json:
        typer.echo(json.dumps(answer.rows if verb in ("list", "bans") else {"done": answer.done}, ensure_ascii=False, indent=1))
    elif answer.done:
        typer.echo(answer.done)
    else:
        _show(answer, question)


def _answer(question: Question, at: Path | None, database: str | None) -> Answer:
    import msgspec

    from server.admin.messages import ANSWER_S, LONGEST, Answer
    from server.config import BadSettings, admin_socket_of

    try:
        path = at or admin_socket_of(database)
    except BadSettings as error:
        fail(str(error), 2)
    if path is None:
        fail("a server that keeps nothing has no socket but where `serve --admin-socket PATH` puts it: say --socket PATH", 2)
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
        fail(f"no server runs there: there is no {path}; --database or --socket names another")
    except ConnectionRefusedError:
        fail(f"no server runs there any more: {path} was left by one that was killed")
    except PermissionError:
        fail(f"you may not use {path}: ask as the user who runs the server")
    except (OSError, msgspec.MsgspecError) as error:
        fail(f"{path}: no answer of a Carpet Race server: {error}")


def _show(answer: Answer, question: Question) -> None:
    if not answer.rows:
        typer.echo(f"no {question.noun}" if question.verb == "list" else "nobody is banned")
        return
    titles = list(answer.rows[0])
    table = [titles, *([_cell(key, row.get(key)) for key in titles] for row in answer.rows)]
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
    # Names are cleaned where they come in; this is a terminal, and no name is worth trusting.
    return "".join(letter if letter.isprintable() else "?" for letter in str(value))
