"""The entry point of `carpet-server`: an interrupt ends it with an exit status even while the commands are being imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

from protocol import INTERRUPTED


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of `carpet-server`."""
    try:
        # An interrupt while they are loaded is caught too.
        from server.cli import commands

        status = commands.run(arguments)
    except KeyboardInterrupt:
        status = INTERRUPTED
    sys.exit(status)


if __name__ == "__main__":
    main()
