"""`carpet races` and `carpet ladder`: what a server shows to everybody, fetched without joining it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from client.cli.options import Json, Url, address_of
from client.cli.running import print_json
from client.connection.http import fetch_ladder, fetch_lobby
from client.text.formatting import clock_text, home_counts, limit_text, series_name, with_ratings
from client.text.tables import table_lines
from protocol.command_line import examples, print_text
from protocol.pages import LadderPlayer
from protocol.server_messages import Lobby
from protocol.text import clean_name
from protocol.views import OpenRaceInfo, RunningRaceInfo

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog=examples("carpet races carpet.example", "carpet races carpet.example --json"))
def races(
    url: Url,
    as_json: Json = False,
) -> None:
    """List a server's open and running races.

    carpet join takes a seat in an open one by its code.
    """
    address = address_of(url)

    lobby = fetch_lobby(address)
    if as_json:
        print_json(lobby)
    else:
        print_text("\n".join(lobby_lines(lobby)))


def lobby_lines(lobby: Lobby) -> list[str]:
    """Tables of the open and running races, and the players."""
    more = lobby.races_open - len(lobby.races)
    seeking = f", {lobby.seeking} looking for an opponent (carpet match)" if lobby.seeking else ""
    lines = [f"{lobby.races_open} open, {lobby.races_running} running{seeking}."]
    if lobby.races:
        lines += table_lines(("code", "rules", "seats", "limit", "rated", "players"), [_row(race) for race in lobby.races])
    if more > 0:
        lines.append(f"And {more} more.")
    if lobby.running:
        lines += table_lines(("code", "rules", "time", "watch", "players, cards home"), [_running(race) for race in lobby.running])
    here = f"{lobby.players_here} here"
    unnamed = lobby.players_here - len(lobby.players)
    names = [*([with_ratings(lobby.players, lobby.ratings)] if lobby.players else []), *([f"{unnamed} more"] if unnamed > 0 else [])]
    return [*lines, f"{here}: {', '.join(names)}." if names else f"{here}."]


def _row(race: OpenRaceInfo) -> tuple[str, ...]:
    series = "" if race.series.format == "single" else f"  ({series_name(race.series.format, race.series.races)})"
    return (
        clean_name(race.code),
        clean_name(race.rules),
        f"{len(race.names)}/{race.seats}",
        limit_text(race.time_limit_s),
        "yes" if race.rated else "no",
        with_ratings(race.names, race.ratings) + series,
    )


def _running(race: RunningRaceInfo) -> tuple[str, ...]:
    time = clock_text(race.elapsed_ms, tenths=False)
    return (clean_name(race.code), clean_name(race.rules), time, str(race.watchers), home_counts(race))


@app.command(epilog=examples("carpet ladder carpet.example", "carpet ladder carpet.example --limit 100 --json"))
def ladder(
    url: Url,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=200, help="At most this many.")] = 20,
    as_json: Json = False,
) -> None:
    """List the best players of a server.

    A rating begins at 1000; only rated races change it. It is a cautious estimate, so it also rises as more is known about a
    player: a first race between two new players takes them from 1000 to 1138 and 927.
    """
    address = address_of(url)

    players = fetch_ladder(address, limit=limit)
    if as_json:
        print_json({"players": players})
    else:
        print_text("\n".join(ladder_lines(players)))


def ladder_lines(players: Sequence[LadderPlayer]) -> list[str]:
    """The ladder as a table."""
    if not players:
        return ["Nobody has raced for a rating there yet."]
    rows = [(str(player.place), str(player.rating), str(player.races), clean_name(player.name)) for player in players]
    return table_lines(("place", "rating", "races", "player"), rows, right=range(3))
