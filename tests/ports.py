"""Ports on this machine for servers that are started, killed and restarted."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def held_ports(number: int) -> Iterator[list[int]]:
    """Reserve this many ports, even while no server listens on them.

    Each port stays bound, so the kernel gives it to nobody who asks for any free port, and to no connection as its local port, where one to
    this very port could meet itself. A server that names the port can still listen on it, if no other one does.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.bind(("127.0.0.1", 0))
        yield [each.getsockname()[1] for each in sockets]
