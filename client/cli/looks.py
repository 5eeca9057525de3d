"""What the commands that open the screens share: who one is, how it looks, and what is said when the screens are gone."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from client.cli.shared import FAILED, INTERRUPTED, MISUSED, fail, print_text, prints

if TYPE_CHECKING:
    from client.tui.start import AppOutcome, UiSettings

Name = Annotated[
    str | None, typer.Option(metavar="NAME", help="Your name; another name is another player. [default: as last time, or your login name]")
]
FourColour = Annotated[bool, typer.Option("--four-colour", "--four-color", help="A deck with a colour for each suit.")]
ColourBlind = Annotated[bool, typer.Option("--colour-blind", "--color-blind", help="Colours that are told apart without red and green.")]
Ascii = Annotated[bool, typer.Option("--ascii", help="Letters in place of suit signs and frames.")]
NoBell = Annotated[bool, typer.Option("--no-bell", help="Do not ring at the start and near the end.")]


def code_of(typed: str) -> str:
    """The code of a race, as it is read out: with spaces or hyphens between the letters, maybe."""
    code = "".join(typed.replace("-", " ").split())
    if not (code.isascii() and code.isalpha() and len(code) <= 16):
        fail(f"{code!r} is not the code of a race: it is six letters, as the host's screen shows them.", MISUSED)
    return code


def finish(outcome: AppOutcome) -> None:
    """Say what is left to be said when the screens are gone, and end with the status that fits."""
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


def settings_of(four_colour: bool, colour_blind: bool, ascii_only: bool, no_bell: bool) -> UiSettings:
    if four_colour and colour_blind:
        fail("--four-colour and --colour-blind are two palettes: choose one.", MISUSED)
    from client.tui.start import UiSettings

    palette = "four" if four_colour else "safe" if colour_blind else "classic"
    return UiSettings(palette=palette, ascii=ascii_only or not prints("♠│█"), bell=not no_bell)


def need_terminal(command: str, *, keys: bool = True) -> None:
    """keys: whether they come through standard input too."""
    if not (sys.stdout.isatty() and (sys.stdin.isatty() or not keys)):
        fail(f"carpet {command} draws on a terminal, and there is none here; carpet demo shows a race in plain text.", MISUSED)
