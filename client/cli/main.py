"""The player's command, `carpet`: its commands by name, each loaded when it is used, and one clear sentence for every failure.

Typer takes a tenth of a second to load, so the help and the version do without it: they need no command.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import protocol

INTERRUPTED: Final = 130
COMPLETING: Final = "_CARPET_COMPLETE"
"""The variable by which a shell asks how a line goes on."""
ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

ABOUT: Final = "Race at the patience game Carpet: two people, the same shuffle, two terminals."

EXAMPLES: Final = ("carpet play", "carpet host carpet.example", "carpet join carpet.example ABCDEF", "carpet demo")

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "learn": ("screens", "Learn to play, in a minute."),
    "play": ("screens", "Race a house bot or the clock, on a server of your own."),
    "host": ("screens", "Open a race on a server for others to join."),
    "join": ("screens", "Join a race by its code, or come back to your seat."),
    "match": ("screens", "Race whoever else is looking for an opponent."),
    "watch": ("screens", "Watch others race."),
    "home": ("screens", "Go to a server's home screen."),
    "daily": ("runs", "Run the deal of the day, the same for everybody."),
    "challenge": ("runs", "Have others run the same deal as you, in their own time."),
    "tournament": ("tournament", "Make, direct, play in and follow tournaments."),
    "demo": ("demo", "Watch two scripted players race, in plain text."),
    "replay": ("replay", "Watch a finished race again."),
    "play-on": ("replay", "Play on from a position of a finished race."),
    "review": ("replay", "See what was possible in a finished race."),
    "verify": ("replay", "Check the record of a race, or a whole tournament."),
    "history": ("past_races", "List a player's races, newest first."),
    "export": ("past_races", "Save the record of a finished race."),
    "stats": ("past_races", "Show a player's results in tables and charts."),
    "me": ("past_races", "Show your rating, best times and last races at a glance."),
    "best": ("past_races", "Show your best times."),
    "races": ("races", "List a server's open and running races."),
    "ladder": ("races", "List the best players of a server."),
    "whoami": ("identity", "Show who you are at a server."),
    "rename": ("identity", "Change your name at a server."),
    "identity": ("identity", "Take your identity to another machine or address, or forget it."),
    "theme": ("theme", "List, show, make and choose themes."),
    "boards-key": ("identity", "Show the key to a race's boards with every card face up."),
    "load": ("load", "Measure how many races a server holds."),
}
"""For each command, the module of `client.cli` that has it, and the first sentence of its help."""

SHOWN_FIRST: Final[tuple[list[str], ...]] = ([], ["play"])
"""Command lines so common that their first screen is shown before the arguments are checked."""

OPTIONS: Final = {
    "-V, --version": "Print the version and exit.",
    "--install-completion": "Install completion of commands for your shell.",
    "--show-completion": "Print that completion, to copy or adapt it.",
    "-h, --help": "Show this help and exit.",
}


def main_help() -> str:
    """What `carpet --help` prints."""
    rows = {name: line for name, (_, line) in COMMANDS.items()}
    return "\n".join(
        [
            *("Usage: carpet [OPTIONS] COMMAND [ARGS]...", "", f"  {ABOUT}", "", "Options:"),
            *(f"  {option:<22}{line}" for option, line in OPTIONS.items()),
            *("", "Commands:"),
            *(f"  {name:<12}{line}" for name, line in rows.items()),
            *("", "Examples:"),
            *(f"  {example}" for example in EXAMPLES),
            *("", "carpet COMMAND --help tells more."),
        ]
    )


def drop_output() -> None:
    """Write nothing more: its reader has closed the output. Without this, Python would fail again when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell(text: str) -> NoReturn:
    """Print and exit."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        drop_output()
    sys.exit(0)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of `carpet`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if COMPLETING in os.environ:
        # The line so far comes by other variables.
        sys.exit(importlib.import_module("client.cli.commands").run(given))
    match given:
        case ["--version" | "-V"]:
            _tell(f"carpet {protocol.__version__}")
        case [] | ["-h" | "--help"] if given or not (sys.stdin.isatty() and sys.stdout.isatty()):
            _tell(main_help())
    for each in ENDING:
        # SIGTERM and a lost terminal end the command like Ctrl+C. Under `nohup`, losing the terminal is ignored.
        if signal.getsignal(each) is signal.SIG_DFL:
            signal.signal(each, signal.default_int_handler)
    # Loaded only now, see above. In a terminal, `carpet` without a command opens a menu.
    try:
        if given in SHOWN_FIRST and sys.stdin.isatty() and sys.stdout.isatty():
            _show_first(given)
        status: int = importlib.import_module("client.cli.commands").run(given)
    except KeyboardInterrupt:
        # Commands handle this themselves; it came while one was being loaded.
        status = INTERRUPTED
    finally:
        give_back()
    if status == INTERRUPTED:
        # If an interrupt comes while Python executes text (as when a dataclass is made), Python remembers it even though it was caught, and
        # would end `python -m` with that signal instead of a status. Executing another text clears this.
        exec("")  # noqa: S102  (nothing is)
    sys.exit(status)


def _show_first(given: Sequence[str]) -> None:
    # What this imports stays, so the collector need not look at it: that saves a tenth of the time.
    gc.disable()
    first = importlib.import_module("client.cli.looks").first_of(given)
    if first is not None:
        importlib.import_module("client.tui.opening").show(*first)


def give_back() -> None:
    """Restore the terminal if the first screen was drawn early and the real screens do not follow, or not yet."""
    opening = sys.modules.get("client.tui.opening")
    if opening is not None:
        opening.give_back()


if __name__ == "__main__":
    main()
