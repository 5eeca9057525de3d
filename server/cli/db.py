"""`carpet-server db`: maintenance of the database by the host. Prints reports; `server.store` does the work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from protocol.command_line import examples, show_help
from protocol.text import counted
from server.cli.shared import fail, one_sentence

db_app = typer.Typer(help="What the server keeps: check, copy, upgrade, forget a player.", rich_markup_mode=None)
db_app.callback(invoke_without_command=True)(show_help)

_DAYS = re.compile("([0-9]{1,4})([dw])")

DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        envvar="CARPET_DATABASE",
        metavar="WHERE",
        help="Path of a SQLite file, or postgresql://USER:PASSWORD@HOST/NAME; else the usual file in the user's data folder, or in the"
        " folder that CARPET_HOME names.",
    ),
]


@db_app.command("check", epilog="Example: carpet-server db check --database races.sqlite3")
def db_check(database: DatabaseOption = None) -> None:
    """Read everything that is kept, and say what is wrong.

    It checks the file, every record with its moves, and every running race. Exit status 1 if something is wrong.
    """
    from server.store import maintenance
    from server.store.connections import how_to_restore
    from server.store.locations import locate

    with one_sentence():
        checked = maintenance.check(database)
    for note in checked.notes:
        typer.echo(f"note: {note}")
    for fault in checked.faults:
        typer.echo(f"wrong: {fault}", err=True)
    if checked.faults:
        fail(f"{checked.where} is not sound; wrong in all: {len(checked.faults)}; {how_to_restore(locate(database))}")
    counts = f"{counted(checked.players, 'player')}, {counted(checked.running, 'race')} running, {counted(checked.records, 'record')}"
    typer.echo(f"sound: {checked.where}, schema {checked.schema}: {counts}")


@db_app.command("backup", epilog="Example: carpet-server db backup monday.sqlite3")
def db_backup(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes; the file must not exist yet.")],
    database: DatabaseOption = None,
) -> None:
    """Copy the SQLite database to FILE, also while the server runs. Guard it like a key: it knows the deals of running races."""
    from server.store import maintenance

    with one_sentence():
        done = maintenance.backup(target, database)
    typer.echo(f"{done.where} copied to {done.target}, {done.size} bytes")


@db_app.command(
    "restore",
    epilog=examples("carpet-server db restore monday.sqlite3", "carpet-server db restore monday.sqlite3 --database postgresql://db/carpet"),
)
def db_restore(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="What db backup wrote.")],
    database: DatabaseOption = None,
) -> None:
    """Put a backup into an empty database, and check it.

    The database is created if there is none. It may be PostgreSQL: this is how to move there from SQLite. Stop the server before you make
    the backup, which has nothing that happens afterwards.
    """
    from server.store import maintenance

    with one_sentence():
        maintenance.restore(source, database)
    db_check(database)


@db_app.command("upgrade", epilog=examples("carpet-server db upgrade --database postgresql://db/carpet"))
def db_upgrade(database: DatabaseOption = None) -> None:
    """Bring the tables to this program's version.

    `serve` does this too when it starts. If there are no tables, they are created.
    """
    from server.store import maintenance

    with one_sentence():
        typer.echo(maintenance.upgrade(database))


@db_app.command("prune", epilog="Example: carpet-server db prune --older-than 90d --database races.sqlite3")
def db_prune(
    older_than: Annotated[str, typer.Option("--older-than", metavar="DAYS", help="Such as 90d or 12w; what is newer stays.")],
    database: DatabaseOption = None,
) -> None:
    """Remove what nobody will miss.

    Rooms in which no race began, players who only said hello, and challenges that nobody took up.

    Races that had begun stay, with their records and players. A server does this by itself every day; by hand, it needs a
    database that no server is using.
    """
    import time

    from server.store import maintenance

    days = _DAYS.fullmatch(older_than)
    if days is None:
        fail(f"--older-than is a number of days or weeks, such as 90d or 12w, not {older_than!r}", 2)
    age_s = int(days[1]) * (7 if days[2] == "w" else 1) * 86_400
    with one_sentence():
        gone = maintenance.prune(round((time.time() - age_s) * 1000), database)
    typer.echo(f"removed: rooms without a race {gone.races}, players {gone.players}, challenges {gone.shared_deals}")


PlayerArgument = Annotated[str, typer.Argument(metavar="NAME", help="The player's name, or id.")]


@db_app.command("export", epilog="Example: carpet-server db export Anna > anna.json")
def db_export(player: PlayerArgument, database: DatabaseOption = None) -> None:
    """Print what is kept about a player, as JSON, to hand it to them.

    The records of their races are not in it: each is at /races/ID.json on the server.
    """
    import msgspec

    from server.store import personal

    with one_sentence():
        about = personal.about(player, database)
    typer.echo(msgspec.json.format(msgspec.json.encode(about), indent=1))


@db_app.command("forget", epilog="Example: carpet-server db forget Anna")
def db_forget(
    player: PlayerArgument,
    database: DatabaseOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask first.")] = False,
) -> None:
    """Take a player's name out of everything that is kept.

    They become "somebody" with a random number, and nobody can be them again. Results and ratings stay, and records have new digests. No
    server may be using the database. It cannot be undone.
    """
    from server.store import personal

    if not yes and not typer.confirm(f"Forget {player} for good?"):
        fail("nothing was forgotten")
    with one_sentence():
        name = personal.forget(player, database)
    typer.echo(f"{player} is called {name} now. Backups, logs and other people's copies of records still have the old name.")


@db_app.command("ratings", epilog="Example: carpet-server db ratings --database races.sqlite3")
def db_ratings(
    database: DatabaseOption = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Write what follows from the records; no server may be using the database.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The same as one JSON document.")] = False,
) -> None:
    """Work out all ratings again, from the records alone.

    It says whether the stored ratings agree. Exit status 1 if they do not.
    """
    import msgspec

    from server.store import rerating

    with one_sentence():
        found = rerating.repair(database) if repair else rerating.rerate(database)
    if as_json:
        typer.echo(msgspec.json.encode({"agrees": found.agrees, "repaired": repair and not found.agrees, **msgspec.to_builtins(found)}))
    else:
        for wrong in (*found.seats_wrong, *found.players_wrong):
            typer.echo(f"wrong: {wrong}", err=True)
    differences = len(found.seats_wrong) + len(found.players_wrong)
    if not found.agrees and not repair:
        # Ratings that no longer follow are not damage if the rules were different when the races were rated.
        why = "they were changed, or rated by other rules; --repair writes those that follow"
        fail(f"the ratings in {found.where} are not those that follow from its records in this version; differences: {differences}; {why}")
    if not as_json:
        written = f", rows written: {differences}" if differences else ""
        done = "repaired" if differences else "agrees"
        typer.echo(f"{done}: {found.where}: rated races: {found.races}, players: {found.players}{written}")
