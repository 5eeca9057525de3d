"""The entry point of `carpet`: help, version and first screen at once, and the commands loaded after them.

Typer takes a tenth of a second to load, so the help and the version do without it: they need no command.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import protocol
from client.cli.command_table import main_help
from client.cli.ending import ENDING, drop_output, give_back

COMPLETING: Final = "_CARPET_COMPLETE"
"""The variable by which a shell asks how a line goes on."""
SHOWN_FIRST: Final[tuple[list[str], ...]] = ([], ["play"])
"""Command lines so common that their first screen is shown before the arguments are checked."""


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
        from client.cli import commands

        sys.exit(commands.run(given))
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
        from client.cli import commands

        status = commands.run(given)
    except KeyboardInterrupt:
        # Commands handle this themselves; it came while one was being loaded.
        status = protocol.INTERRUPTED
    finally:
        give_back()
    if status == protocol.INTERRUPTED:
        # If an interrupt comes while Python executes text (as when a dataclass is made), Python remembers it even though it was caught, and
        # would end `python -m` with that signal instead of a status. Executing another text clears this.
        exec("")  # noqa: S102  (nothing is)
    sys.exit(status)


def _show_first(given: Sequence[str]) -> None:
    # What this imports stays, so the collector need not look at it: that saves a tenth of the time.
    gc.disable()
    from client.cli import looks

    first = looks.first_of(given)
    if first is not None:
        from client.tui import opening

        opening.show(*first)


if __name__ == "__main__":
    main()
