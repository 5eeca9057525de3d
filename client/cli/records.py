"""The commands about races that are over: `history` lists a player's, `export` saves the record of one.

Both ask a server by plain HTTP; without a server, `history` lists what this machine has kept.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Annotated

import typer

from client.cli.output_files import there_already, write_new
from client.cli.past_races import MaybeUrl, Player, cleaned, kept_races, player_at, told_races
from client.cli.shared import MISUSED, Url, address_of, examples, fail, print_json, print_text

records_app = typer.Typer()

MOST_LISTED = 1000


@records_app.command(epilog=examples("carpet history", "carpet history carpet.example --player Anna --limit 50"))
def history(
    url: MaybeUrl = None,
    player: Player = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=MOST_LISTED, help="How many, at most.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """List a player's races, newest first.

    Each has an id: carpet export saves its record. A race that was aborted says why.
    """
    if url is None:
        races = kept_races(None if player is None else cleaned(player), limit)
    else:
        address = address_of(url)
        races = told_races(address, player_at(address, player), limit)
    if as_json:
        import msgspec

        print_json([{**msgspec.to_builtins(past.race), "seat": past.own} for past in races])
    elif not races:
        print_text("There is no race yet.")
    else:
        from client.text.past_races import table

        print_text("\n".join(table(races, width=shutil.get_terminal_size().columns, zone=None)))


@records_app.command(epilog="Example: carpet export carpet.example HKTRWM-1-0a1b2c3d4e5f race.json")
def export(
    url: Url,
    race: Annotated[str, typer.Argument(metavar="ID", help="The race's id, as carpet history shows it.")],
    file: Annotated[str | None, typer.Argument(metavar="FILE", help="A new file; - for standard output. [default: ID.json]")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Save the record of a race that is over.

    carpet verify checks it, and carpet review says what was possible.
    """
    from protocol.pages import is_race_id

    if not is_race_id(race):
        fail(f"{race!r} is not the id of a race: it is like HKTRWM-1-0a1b2c3d4e5f, as carpet history shows it.", MISUSED)
    address = address_of(url)
    target = file or f"{race}.json"
    if target != "-" and not force and os.path.lexists(target):
        there_already(target)
    from client.connection.http import fetch_record
    from protocol.record import to_json

    record = fetch_record(address, race)
    if target == "-":
        print_json(record)
        return
    write_new(Path(target), to_json(record) + "\n", force=force)
    print_text(f"The record of race {race} is in {target}.")
