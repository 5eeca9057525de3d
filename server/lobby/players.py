"""Players: the public id, the name and the token's hash; and by which line each one is here.

A token is all that makes a player the same one again, so only its hash is kept. Kept in memory: a server that starts anew knows nobody,
and says `hello/unknown-token`.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from protocol.errors import CloseCode, ErrorCode, Refusal
from protocol.text import clean_name
from server.rooms.member import Member, PlayerName

TOKEN_BYTES = 16

KEPT_PLAYERS = 100_000
"""Players remembered. When it is full, the one forgotten is who was here longest ago, never somebody who is here; his token is then
unknown."""


class Line(Member, Protocol):
    """A member that can be told to go."""

    def shut(self, code: CloseCode, reason: str) -> None:
        """Close the line, some time soon. Never blocks."""


@dataclass(frozen=True, slots=True)
class _Here:
    player: PlayerName
    line: Line
    key: bytes


class Players:
    """All players the server remembers and the lines of those who are here."""

    def __init__(self, *, entropy: Callable[[int], bytes]) -> None:
        self._entropy = entropy
        self._by_hash: OrderedDict[bytes, PlayerName] = OrderedDict()
        self._here: dict[str, _Here] = {}
        self._listeners: list[Callable[[], None]] = []

    def arrive(self, *, name: str, token: str | None, line: Line) -> tuple[PlayerName, str]:
        """Say who it is that comes by `line`: the player, with his token.

        A newer line of the same player takes over: the older one is shut. Raises Refusal for a name of which nothing is left, and for
        a token that is not known.
        """
        cleaned = clean_name(name)
        if not cleaned:
            raise Refusal(ErrorCode.BAD_NAME, path="$.name")
        if token is None:
            token = self._entropy(TOKEN_BYTES).hex()
            player = PlayerName(self._entropy(8).hex(), cleaned)
        else:
            known = self._by_hash.get(_hash(token))
            if known is None:
                raise Refusal(ErrorCode.UNKNOWN_TOKEN, path="$.token")
            player = PlayerName(known.id, cleaned)
        key = self._remember(token, player)
        older = self._here.get(player.id)
        self._here[player.id] = _Here(player, line, key)
        if older is not None:
            older.line.shut(CloseCode.TAKEN_OVER, "another connection of this player took over")
        self._changed()
        return player, token

    def depart(self, player: PlayerName, line: Line) -> None:
        """The line is gone. Somebody who has come back by another one is still here."""
        here = self._here.get(player.id)
        if here is not None and here.line is line:
            del self._here[player.id]
            self._by_hash.move_to_end(here.key)
            self._changed()

    def here(self) -> Iterator[PlayerName]:
        """Those who are here, in the order in which they came."""
        return (here.player for here in self._here.values())

    def __len__(self) -> int:
        return len(self._here)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever somebody came or went. It must not block or raise."""
        self._listeners.append(listener)

    def _remember(self, token: str, player: PlayerName) -> bytes:
        key = _hash(token)
        if key not in self._by_hash and len(self._by_hash) >= KEPT_PLAYERS:
            self._forget_one()
        self._by_hash[key] = player
        self._by_hash.move_to_end(key)
        return key

    def _forget_one(self) -> None:
        for _ in range(len(self._by_hash)):
            key, player = self._by_hash.popitem(last=False)
            if player.id not in self._here:
                return
            self._by_hash[key] = player

    def _changed(self) -> None:
        for listener in self._listeners:
            listener()


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
