"""The entry point of `carpet-server`: what signals do while the commands are being imported. An interrupt ends it with an exit status."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from protocol import INTERRUPTED


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of `carpet-server`."""
    if arguments is None and sys.argv[1:2] == ["serve"] and not sys.stderr.isatty():
        # Outside a terminal SIGHUP means the certificate, and the server needs a while until it heeds it: it would end by it.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        # An interrupt while they are loaded is caught too.
        from server.cli import commands

        status = commands.run(arguments)
    except KeyboardInterrupt:
        status = INTERRUPTED
    sys.exit(status)


if __name__ == "__main__":
    main()
