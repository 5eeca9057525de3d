"""`carpet theme`: the built-in colours, and a file with one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from client.cli.ending import MISUSED, fail
from client.cli.looks import USED
from client.cli.options import Force, palette_from, settings_of
from client.cli.running import keep_usual, print_sentence, write_new
from client.storage.identity import home_folder
from client.tui.drawing.theme import BUILT_IN, PALETTES, built_in
from client.tui.drawing.theme_file import text_of
from protocol.command_line import examples, print_text, show_help

app = typer.Typer(rich_markup_mode=None)
theme_app = typer.Typer(
    name="theme",
    help="List, show, make and choose themes.",
    epilog=examples("carpet theme new mine.toml", "carpet play --theme mine.toml", "carpet theme use mine.toml"),
)
theme_app.callback(invoke_without_command=True)(show_help)
app.add_typer(theme_app)
Chosen = Annotated[Path, typer.Argument(metavar="NAME|FILE", help="A theme that is built in, or a file.")]


@theme_app.command("list", epilog="Example: carpet theme list")
def list_() -> None:
    """List the themes that are built in, and say which one is used."""
    used = settings_of()
    for palette in BUILT_IN:
        print_sentence(f"{palette.name:<9}{palette.title}{' (used)' if palette.name == used.palette else ''}")
    if used.own_palette is not None:
        print_sentence(f"{used.own_palette.name:<9}a theme of your own{' (used)' if used.own_palette.name == used.palette else ''}")


@theme_app.command(epilog="Example: carpet theme show safe")
def show(theme: Chosen) -> None:
    """Show the colours of a theme."""
    palette = palette_from(theme)
    print_text(text_of(palette, palette.name).rstrip("\n"))


@theme_app.command(epilog="Example: carpet theme new mine.toml --like four")
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")],
    like: Annotated[Path, typer.Option(metavar="NAME|FILE", help="The theme to begin with.")] = Path("classic"),
    force: Force = False,
) -> None:
    """Write a theme into a file, to change its colours there."""
    name = "".join(sign for sign in file.stem if sign.isalnum() or sign in " -_")[:24].strip()
    if not name or name in [palette.name for palette in PALETTES]:
        fail(f"A theme is named after its file, and {file.stem!r} cannot be its name: choose another.", MISUSED)
    write_new(file, text_of(palette_from(like), name), force=force)
    print_sentence(f"{file} is written; to play in it: carpet play --theme {file}, or always: carpet theme use {file}")


@theme_app.command(epilog=examples("carpet theme use four", "carpet theme use mine.toml", "carpet theme use classic"))
def use(theme: Chosen) -> None:
    """Choose the theme to use when none is named, also in the menu.

    A file is copied: after changing it, choose it again.
    """
    palette, folder = palette_from(theme), home_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        text = palette.name if built_in(palette.name) else text_of(palette, palette.name)
    except OSError as error:
        fail(f"{error.filename} cannot be used: {error.strerror}.")
    write_new(folder / USED, text, force=True)
    keep_usual(palette="")
    print_sentence(f"Theme {palette.name} is used from now on.")
