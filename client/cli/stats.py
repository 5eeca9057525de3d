"""`carpet stats`: what a player's races come to, in tables and charts.

A server is asked by plain HTTP; without one, the records that this machine has kept are counted, which know of no ratings.
"""

from __future__ import annotations

import shutil
from typing import Annotated, Final

import typer

from client.cli.past_races import MaybeUrl, Player, cleaned, kept_races, player_at, told_races
from client.cli.shared import address_of, examples, print_json, print_text, prints

stats_app = typer.Typer()

MOST_COUNTED: Final = 3000
"""Races, the last ones: 30 pages, which a server gives out at once."""


@stats_app.command(epilog=examples("carpet stats", "carpet stats carpet.example Anna", "carpet stats carpet.example --json"))
def stats(
    url: MaybeUrl = None,
    whose: Annotated[str | None, typer.Argument(metavar="NAME", help="Whose races, as --player.", show_default=False)] = None,
    player: Player = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """See what a player's races come to.

    Races, wins, cards home and times, by rule set and by opponent; the rating and the cards home as curves.
    """
    player = player if player is not None else whose
    if url is None:
        name, place = None if player is None else cleaned(player), None
        races = kept_races(name, MOST_COUNTED)
        who = "Kept here" if name is None else f"{name}, kept here"
    else:
        address = address_of(url)
        name, place = player_at(address, player), address.url
        races = told_races(address, name, MOST_COUNTED)
        who = f"{name} at {address.place}"
    from client.text.statistics import statistics

    counted = statistics(races)
    if as_json:
        import msgspec

        told = {**msgspec.to_builtins(counted), "rules": msgspec.to_builtins(dict(counted.rules))}
        print_json({"player": name, "server": place, "most_counted": MOST_COUNTED, "rating": counted.rating, **told})
        return
    from client.text.chart import BLOCKS
    from client.text.statistics_tables import statistics_lines

    width = shutil.get_terminal_size().columns
    print_text("\n".join(statistics_lines(counted, who=who, width=width, ascii_only=not prints(BLOCKS), zone=None)))
    if len(races) == MOST_COUNTED:
        print_text(f"These are the last {MOST_COUNTED} races; older ones are left out.")
