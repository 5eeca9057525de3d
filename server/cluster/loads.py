"""How busy each server of a place is, as all tell each other twice a second. Nothing here is the truth of anything: it is a second old."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

_CONNECTIONS_A_ROOM = 10
"""Connections that cost about as much as a room in which a race is run."""


class Load(msgspec.Struct, frozen=True):
    """Of one server. rooms: that are open there. takes: whether it takes new ones."""

    node: int
    rooms: int
    connections: int
    takes: bool

    @property
    def weight(self) -> float:
        """In rooms."""
        return self.rooms + self.connections / _CONNECTIONS_A_ROOM


class Loads:
    """own: how busy this server is now."""

    def __init__(self, own: Callable[[], Load]) -> None:
        self.own = own
        self.others: dict[int, Load] = {}
        """By node; empty while nobody can be heard."""
        self._decoder = msgspec.msgpack.Decoder(Load)

    def say(self) -> bytes:
        return msgspec.msgpack.encode(self.own())

    def hear(self, texts: Sequence[bytes]) -> None:
        """What each of the others has said last."""
        told = [load for text in texts if (load := self._read(text)) is not None]
        self.others = {load.node: load for load in told}

    def _read(self, text: bytes) -> Load | None:
        try:
            return self._decoder.decode(text)
        except (ValueError, RecursionError):
            # Of a server with another version. Not all that msgspec raises are errors of its own.
            return None
