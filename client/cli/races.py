"""`carpet races` and `carpet ladder`: what a server shows to everybody, without going there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from client.cli.shared import Json, Url, address_of, examples, print_json, print_text
from client.connection.http import fetch_ladder, fetch_lobby
from client.text.formatting import clock_text, home_counts, limit_text, series_name, with_ratings
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
    """Tables of the open and running races, and the players; names at the end of the lines, where their width is of no matter."""

    more = lobby.races_open - len(lobby.races)
    lines = [f"{lobby.races_open} open, {lobby.races_running} running."]
    rules = [_clean(race.rules) for race in lobby.races] + [_clean(race.rules) for race in lobby.running]
    widest = max(map(len, ["rules", *rules]))
    if lobby.races:
        lines += [f"{'code':<6}  {'rules':<{widest}}  seats  limit   rated  players", *(_row(race, widest) for race in lobby.races)]
    if more > 0:
        lines.append(f"And {more} more.")
    if lobby.running:
        lines += [
            f"{'code':<6}  {'rules':<{widest}}  time      watch  players, cards home",
            *(_running(race, widest) for race in lobby.running),
        ]
    here = f"{lobby.players_here} here"
    unnamed = lobby.players_here - len(lobby.players)
    names = [*([with_ratings(lobby.players, lobby.ratings)] if lobby.players else []), *([f"{unnamed} more"] if unnamed > 0 else [])]
    return [*lines, f"{here}: {', '.join(names)}." if names else f"{here}."]


def _row(race: OpenRaceInfo, widest: int) -> str:
    seats, limit = f"{len(race.names)}/{race.seats}", limit_text(race.time_limit_s)
    rated = "yes" if race.rated else "no"
    series = "" if race.series.format == "single" else f"  ({series_name(race.series.format, race.series.races)})"
    names = with_ratings(race.names, race.ratings) + series
    return f"{_clean(race.code):<6}  {_clean(race.rules):<{widest}}  {seats:<5}  {limit:<6}  {rated:<5}  {names}".rstrip()


def _running(race: RunningRaceInfo, widest: int) -> str:
    time = clock_text(race.elapsed_ms, tenths=False)
    return f"{_clean(race.code):<6}  {_clean(race.rules):<{widest}}  {time:<8}  {race.watchers:<5}  {home_counts(race)}".rstrip()


def _clean(text: str) -> str:
    return clean_name(text)


@app.command(epilog=examples("carpet ladder carpet.example", "carpet ladder carpet.example --limit 100 --json"))
def ladder(
    url: Url,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=200, help="At most so many.")] = 20,
    as_json: Json = False,
) -> None:
    """List the best players of a server.

    A rating begins at 1000; only rated races change it.
    """
    address = address_of(url)

    players = fetch_ladder(address, limit=limit)
    if as_json:
        print_json({"players": players})
    else:
        print_text("\n".join(ladder_lines(players)))


def ladder_lines(players: Sequence[LadderPlayer]) -> list[str]:
    """A table, its names at the end of the lines, where their width is of no matter."""

    if not players:
        return ["Nobody has raced for a rating there yet."]
    rows = [f"{player.place:>5}  {player.rating:>6}  {player.races:>5}  {clean_name(player.name)}" for player in players]
    return ["place  rating  races  player", *rows]
