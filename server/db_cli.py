"""`carpet-server db`: the host's care for what the server keeps. Prints reports; does nothing itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from server.store import care
from server.store.errors import StoreError

db_app = typer.Typer(help="What the server keeps: check it, copy it, bring it up to date.", rich_markup_mode=None)

DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        envvar="CARPET_DATABASE",
        metavar="WHERE",
        help="Path of a SQLite file, or postgresql://USER:PASSWORD@HOST/NAME; else the usual file in the user's data folder.",
    ),
]


@db_app.callback(invoke_without_command=True)
def _root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@contextmanager
def _one_sentence() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        typer.echo(f"carpet-server: {error}", err=True)
        raise typer.Exit(1) from error


@db_app.command("check", epilog="Example: carpet-server db check --database races.sqlite3")
def db_check(database: DatabaseOption = None) -> None:
    """Read all that is kept: the file, every record with its moves, every race that runs. Says what is wrong and exits 1 otherwise."""
    with _one_sentence():
        checked = care.check(database)
    for note in checked.notes:
        typer.echo(f"note: {note}")
    for fault in checked.faults:
        typer.echo(f"wrong: {fault}", err=True)
    if checked.faults:
        typer.echo(f"carpet-server: {checked.where} is not sound; wrong in all: {len(checked.faults)}", err=True)
        raise typer.Exit(1)
    counts = f"{checked.players} players, {checked.running} races running, {checked.records} records"
    typer.echo(f"sound: {checked.where}, schema {checked.schema}: {counts}")


@db_app.command("backup", epilog="Example: carpet-server db backup races-monday.sqlite3")
def db_backup(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes; must not be there yet.")],
    database: DatabaseOption = None,
) -> None:
    """Copy the SQLite database to FILE, also while the server runs. Keep it as you keep a key: it knows the deals of running races."""
    with _one_sentence():
        done = care.backup(target, database)
    typer.echo(f"{done.where} copied to {done.target}, {done.size} bytes")


@db_app.command("upgrade", epilog="Example: carpet-server db upgrade --database postgresql://carpet@db.example/carpet")
def db_upgrade(database: DatabaseOption = None) -> None:
    """Bring the tables to this program's version, as `serve` does when it starts; makes them where there are none."""
    with _one_sentence():
        typer.echo(care.upgrade(database))
