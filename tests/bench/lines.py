"""Thousands of clients in one process, each on a plain socket: as many clients of a library would cost more than the server."""

from __future__ import annotations

import socket
from typing import Final

from websockets.frames import Frame, Opcode

RECEIVE_BYTES: Final = 256 * 1024
PING: Final = 0x80 | Opcode.PING.value
"""The first byte of a ping."""

REQUEST: Final = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: carpet.v1.msgpack\r\n\r\n"
)


class Line:
    """A connection that has asked to be let in. heard: the number of messages. dropped: whether the server has ended it."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(REQUEST)
        self._rest = b""
        self.heard = 0
        self.dropped = False

    def is_let_in(self) -> bool:
        """Wait for the answer. False if the server is busy."""
        while b"\r\n\r\n" not in self._rest:
            came = self.socket.recv(4096)
            assert came, "a connection was cut"
            self._rest += came
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        assert head.startswith((b"HTTP/1.1 101", b"HTTP/1.1 503")), head
        return head.startswith(b"HTTP/1.1 101")

    def read(self) -> list[bytes]:
        """The messages that have come. Pings are answered, or the server would cut the connection."""
        try:
            came = self.socket.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return []
        except ConnectionResetError:
            came = b""
        self.dropped = self.dropped or not came
        data = self._rest + came
        found = []
        start, end = 0, len(data)
        while end - start >= 2:
            size, begin = data[start + 1], start + 2
            if size == 126:
                size, begin = int.from_bytes(data[start + 2 : start + 4], "big"), start + 4
            elif size == 127:
                size, begin = int.from_bytes(data[start + 2 : start + 10], "big"), start + 10
            if end < begin + size:
                break
            payload = data[begin : begin + size]
            if data[start] == PING:
                self.socket.sendall(Frame(Opcode.PONG, payload).serialize(mask=True))
            else:
                found.append(payload)
            start = begin + size
        self._rest = data[start:]
        self.heard += len(found)
        return found
