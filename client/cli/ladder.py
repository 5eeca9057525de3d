"""`carpet ladder`: the best players of a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from client.cli.shared import Url, address_of, examples, print_json, print_text

if TYPE_CHECKING:
    from protocol.pages import LadderPlayer

ladder_app = typer.Typer()


@ladder_app.command(epilog=examples("carpet ladder carpet.example", "carpet ladder carpet.example --limit 100 --json"))
def ladder(
    url: Url,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=200, help="So many players at most.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """See who is best at a server, by the races that count.

    A rating begins at 1000 and is what a player is worth almost surely.
    """
    address = address_of(url)
    from client.connection.http import fetch_ladder

    players = fetch_ladder(address, limit=limit)
    if as_json:
        print_json({"players": players})
    else:
        print_text("\n".join(ladder_lines(players)))


def ladder_lines(players: Sequence[LadderPlayer]) -> list[str]:
    """A table, its names at the end of the lines, where their width is of no matter."""
    from protocol.text import clean_name

    if not players:
        return ["Nobody has raced for a rating there yet."]
    rows = [f"{player.place:>5}  {player.rating:>6}  {player.races:>5}  {clean_name(player.name)}" for player in players]
    return ["place  rating  races  player", *rows]
