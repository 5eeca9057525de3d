"""A TCP proxy between a client and a server that fails on command: it cuts connections, tears frames, half-closes, delays and drops data.

A fault affects the connections that exist; later ones work, unless `swallows_new` is set. Faults are never random: a test that wants random
ones draws their moments from a seeded generator.
"""

from __future__ import annotations

import contextlib
import random
from collections import deque
from collections.abc import AsyncIterator
from typing import Literal

import trio

CHUNK = 65_536
Direction = Literal["up", "down"]
"""up: from the client to the server."""


class _Way:
    """One direction of a connection. swallows: read data and drop it. tear_after: cut the connection after this many more bytes.

    late: the data read, with the moment at which it is due; empty for the end.
    """

    def __init__(self, source: trio.SocketStream, target: trio.SocketStream) -> None:
        self.source = source
        self.target = target
        self.swallows = False
        self.tear_after: int | None = None
        self.late: deque[tuple[float, bytes]] = deque()
        self.more = trio.Event()

    def put(self, due: float, data: bytes) -> None:
        self.late.append((due, data))
        self.more.set()

    def halve(self) -> None:
        """Drop the data under way, and send the end instead."""
        self.late.clear()
        self.put(0.0, b"")

    async def next(self) -> bytes:
        while not self.late:
            self.more = trio.Event()
            await self.more.wait()
        due, data = self.late.popleft()
        await trio.sleep_until(due)
        return data


class _Pair:
    """One connection through the proxy: the client's, and the one to the server."""

    def __init__(self, client: trio.SocketStream, server: trio.SocketStream) -> None:
        self.ways: dict[Direction, _Way] = {"up": _Way(client, server), "down": _Way(server, client)}
        self.scope = trio.CancelScope()


class FaultyProxy:
    """Made by `running`. port: where clients connect. lines: connections accepted so far. delay_s, jitter_s: how late each piece is."""

    def __init__(self, server_port: int, generator: random.Random) -> None:
        self._server_port = server_port
        self._generator = generator
        self._pairs: list[_Pair] = []
        self.port = 0
        self.lines = 0
        self.accepted = trio.Event()  # set, and replaced, with every connection
        self.delay_s = 0.0
        self.jitter_s = 0.0
        self.swallows_new = False

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    # ---- faults

    def cut(self) -> None:
        """Close every connection at both ends, whatever is under way."""
        for pair in self._pairs:
            pair.scope.cancel()

    def tear(self, direction: Direction, after: int) -> None:
        """Let `after` more bytes through that way, which end in the middle of a frame, then cut the connections."""
        for pair in self._pairs:
            pair.ways[direction].tear_after = after

    def halve(self, direction: Direction) -> None:
        """Half-close: the receiver sees the end, and the other way goes on."""
        for pair in self._pairs:
            pair.ways[direction].halve()

    def swallow(self, *directions: Direction) -> None:
        """Become a black hole: nothing arrives that way any more, and nobody is told."""
        for pair in self._pairs:
            for direction in directions or ("up", "down"):
                pair.ways[direction].swallows = True

    # ---- carrying

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls, server_port: int, generator: random.Random | None = None) -> AsyncIterator[FaultyProxy]:
        proxy = cls(server_port, generator or random.Random(1))
        async with trio.open_nursery() as nursery:
            listeners: list[trio.SocketListener] = await nursery.start(trio.serve_tcp, proxy._accept, 0)
            proxy.port = listeners[0].socket.getsockname()[1]
            yield proxy
            nursery.cancel_scope.cancel()

    async def _accept(self, client: trio.SocketStream) -> None:
        self.lines += 1
        self.accepted.set()
        self.accepted = trio.Event()
        try:
            server = await trio.open_tcp_stream("127.0.0.1", self._server_port)
        except OSError:
            return
        pair = _Pair(client, server)
        self._pairs.append(pair)
        if self.swallows_new:
            pair.ways["up"].swallows = pair.ways["down"].swallows = True
        try:
            with pair.scope:
                async with trio.open_nursery() as nursery:
                    for way in pair.ways.values():
                        nursery.start_soon(self._carry, pair, way)
        finally:
            self._pairs.remove(pair)
            with trio.CancelScope(shield=True):
                for stream in (client, server):
                    await trio.aclose_forcefully(stream)

    async def _carry(self, pair: _Pair, way: _Way) -> None:
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._deliver, pair, way)
                # Read at once and send when due, so that one piece's delay does not hold up reading.
                due, data = 0.0, b"begun"
                while data:
                    data = await way.source.receive_some(CHUNK)
                    # Never before the piece ahead of it.
                    due = max(due, trio.current_time() + self.delay_s + self._generator.uniform(0.0, self.jitter_s))
                    way.put(due, data)
        except* (trio.BrokenResourceError, trio.ClosedResourceError):
            # One end has gone without a goodbye: cut the other one too, unless this way swallows everything.
            if not way.swallows:
                pair.scope.cancel()

    async def _deliver(self, pair: _Pair, way: _Way) -> None:
        data = b"begun"
        while data:
            data = await way.next()
            if not way.swallows:
                await self._pass_on(pair, way, data)

    async def _pass_on(self, pair: _Pair, way: _Way, data: bytes) -> None:
        if not data:
            await way.target.send_eof()
        elif way.tear_after is None:
            await way.target.send_all(data)
        elif len(data) <= way.tear_after:
            way.tear_after -= len(data)
            await way.target.send_all(data)
        else:
            await way.target.send_all(data[: way.tear_after])
            pair.scope.cancel()
