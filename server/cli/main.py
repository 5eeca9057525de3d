"""The entry point of `carpet-server`: what signals do while the commands are being imported. An interrupt ends it with an exit status."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from protocol import INTERRUPTED


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of `carpet-server`."""
    _open_closed_streams()
    if arguments is None and sys.argv[1:2] == ["serve"] and not sys.stderr.isatty():
        # Outside a terminal SIGHUP means the certificate, and the server needs a while until it heeds it: it would end by it.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if arguments is None and sys.argv[1:2] == ["db"]:
        for each in (signal.SIGTERM, signal.SIGHUP):
            # They end it like an interrupt, so that no unfinished copy of the database is left. Under `nohup`, SIGHUP is ignored.
            if signal.getsignal(each) is signal.SIG_DFL:
                signal.signal(each, signal.default_int_handler)
    try:
        # An interrupt while they are loaded is caught too.
        from server.cli import commands

        status = commands.run(arguments)
    except KeyboardInterrupt:
        status = INTERRUPTED
    sys.exit(status)


def _open_closed_streams() -> None:
    """Open the standard streams that are closed. Python has None in their place, and the next file that is opened gets the number of one:
    what another program writes there, such as a worker, would go into that file.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # It gets the lowest number that is free.
            opened = open(os.devnull, "r" if name == "stdin" else "w")  # noqa: SIM115  (for as long as the process runs)
            os.set_inheritable(opened.fileno(), True)
            setattr(sys, name, opened)


if __name__ == "__main__":
    main()
