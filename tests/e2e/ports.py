"""Ports of this machine for servers that are started, killed and started again."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def held_ports(number: int) -> Iterator[list[int]]:
    """So many that nobody else is given, also while no server listens there.

    Each stays bound: the kernel gives it to none who asks for any port, and to no connection for its own end, which at a port where nobody
    listens would even meet itself. Whoever names it may listen there, as long as nobody else does.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.bind(("127.0.0.1", 0))
        yield [each.getsockname()[1] for each in sockets]
