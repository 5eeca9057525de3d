"""How the commands with screens come to their end: the exit status, and the records of the races that were run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import typer

from client.cli_words import FAILED, INTERRUPTED, print_text

if TYPE_CHECKING:
    from client.ui.start import AppOutcome


def finish(outcome: AppOutcome) -> None:
    """End the command as the screens have ended."""
    if outcome.kept is not None:
        kept = str(outcome.kept)
        print_text(f"The record of your race is {kept}; to check it: carpet verify {shlex.quote(kept)}")
    if outcome.not_kept is not None:
        typer.echo(f"carpet: the record of your race could not be kept: {outcome.not_kept}", err=True)
    match outcome.reason:
        case "signal":
            raise typer.Exit(INTERRUPTED)
        case "terminal":
            raise typer.Exit(FAILED)
        case "quit":
            pass
