"""How the commands with screens come to their end: the exit status, and the records of the races that were run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import typer

from client.cli_words import FAILED, INTERRUPTED, print_text

if TYPE_CHECKING:
    from client.ui.start import AppOutcome
    from protocol.record import Record


def finish(outcome: AppOutcome) -> None:
    """End the command as the screens have ended."""
    if outcome.records:
        _keep(outcome.records)
    match outcome.reason:
        case "signal":
            raise typer.Exit(INTERRUPTED)
        case "terminal":
            raise typer.Exit(FAILED)
        case "quit":
            pass


def _keep(records: tuple[Record, ...]) -> None:
    from client.identity import home_folder
    from client.keepsake import keep_record

    try:
        paths = [keep_record(home_folder(), record) for record in records]
    except OSError as error:
        typer.echo(f"carpet: the record of your race could not be kept: {error}", err=True)
    else:
        print_text(f"The record of your race is {paths[-1]}; to check it: carpet verify {shlex.quote(str(paths[-1]))}")
