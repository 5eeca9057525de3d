"""The entry point of `carpet-server`: an interrupt ends it with an exit status even while the commands are being imported."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of `carpet-server`."""
    try:
        status: int = importlib.import_module("server.cli.commands").run(arguments)
    except KeyboardInterrupt:
        status = INTERRUPTED
    sys.exit(status)


if __name__ == "__main__":
    main()
