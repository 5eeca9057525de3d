"""`carpet theme`: the colours there are, and a file of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from client.cli.shared import MISUSED, examples, fail, palette_from, print_text, write_new
from client.tui.theme import PALETTES, Palette
from client.tui.theme_file import text_of

app = typer.Typer(rich_markup_mode=None)
theme_app = typer.Typer(
    name="theme",
    help="List, show and make themes.",
    epilog=examples("carpet theme new mine.toml", "carpet play --theme mine.toml"),
    no_args_is_help=True,
)
app.add_typer(theme_app)
FILED = [palette for palette in PALETTES if palette.name != "none"]


def _palette(name: str) -> Palette:
    return next((palette for palette in FILED if palette.name == name), None) or palette_from(Path(name))


@theme_app.command("list", epilog="Example: carpet theme list")
def list_() -> None:
    """List the themes that are built in."""
    for palette in FILED:
        print_text(f"{palette.name:<9}{palette.title}")


@theme_app.command(epilog="Example: carpet theme show safe")
def show(theme: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A theme that is built in, or a file.")]) -> None:
    """Show the colours of a theme."""
    palette = _palette(theme)
    print_text(text_of(palette, palette.name).rstrip("\n"))


@theme_app.command(epilog="Example: carpet theme new mine.toml --like four")
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")],
    like: Annotated[str, typer.Option(metavar="NAME|FILE", help="The theme to begin with.")] = "classic",
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a theme into a file, to change its colours there."""
    name = "".join(sign for sign in file.stem if sign.isalnum() or sign in " -_")[:24].strip()
    if not name or name in [palette.name for palette in PALETTES]:
        fail(f"A theme is named after its file, and {file.stem!r} is no name for one: choose another.", MISUSED)
    write_new(file, text_of(_palette(like), name), force=force)
    print_text(f"{file} is written; to play in it: carpet play --theme {file}")
