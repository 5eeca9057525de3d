"""How a command of `carpet` ends: by which signals, with which exit status, with which sentence, and with the terminal given back.

No library is imported at the top: the help and the first screen come without.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a command."""

FAILED: Final = 1
MISUSED: Final = 2
"""Exit statuses; of a command that was interrupted it is `protocol.INTERRUPTED`."""


class RunNext(Exception):
    """A command is over, and another one follows. arguments: the latter's command line."""

    def __init__(self, arguments: Sequence[str]) -> None:
        super().__init__(arguments)
        self.arguments = arguments


def fail(sentence: str, status: int = FAILED) -> NoReturn:
    """Say what is wrong, and end the command."""
    import typer

    give_back()
    complain(f"carpet: {sentence}")
    raise typer.Exit(status)


def complain(sentence: str) -> None:
    """Print on standard error what is wrong. The sentence begins with the program's name, as usual there."""
    from protocol.command_line import folded, harmless

    print(folded(harmless(sentence), sys.stderr), file=sys.stderr)


def drop_output() -> None:
    """Write nothing more: its reader has closed the output. Without this, Python would fail again when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def give_back() -> None:
    """Restore the terminal if the first screen was drawn early and the real screens do not follow, or not yet."""
    opening = sys.modules.get("client.tui.opening")
    if opening is not None:
        opening.give_back()
