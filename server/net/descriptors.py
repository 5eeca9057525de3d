"""The limit on file descriptors: each connection takes one, and a process may have only so many."""

from __future__ import annotations

import resource
from contextlib import suppress

from server.net.connection_limits import REFUSED_AT_ONCE

RESERVED = REFUSED_AT_ONCE + 64
"""Descriptors kept for other things than connections: the store, listeners, workers, and peers that are being refused."""

FEWEST = 8
"""Connections that a server must be able to take, or it does not start."""

GOOD = 65_536

_TRIES = (65_536, 10_240)
"""Tried in turn: even without a hard limit, a system may refuse more than some number of its own."""


class TooFewDescriptors(Exception):
    """The server could take hardly any connections. The message says what the limit is and how to raise it."""


def raise_limit() -> None:
    """Raise the limit as far as this process may. It often starts at a thousand, which suited the programs of another age."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (hard, *_TRIES):
        if soft != resource.RLIM_INFINITY and (wanted == resource.RLIM_INFINITY or wanted > soft):
            with suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
                return


def connections_for(wanted: int) -> int:
    """As many connections as are wanted, or as there are descriptors for if that is less. Raises TooFewDescriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    if soft < RESERVED + FEWEST:
        raise TooFewDescriptors(
            f"the system lets this process open {soft} files, and a server needs {RESERVED + FEWEST}: raise the limit, as with"
            f" `ulimit -n {GOOD}`"
        )
    return min(wanted, soft - RESERVED)
