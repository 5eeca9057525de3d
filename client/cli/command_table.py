"""The commands of `carpet` by name, with the module of each, and the help that lists them.

Nothing is imported here, so that this help is shown at once: it needs no command.
"""

from __future__ import annotations

from typing import Final

ABOUT: Final = "Race at the patience game Carpet: two to eight people on the same shuffle."

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
