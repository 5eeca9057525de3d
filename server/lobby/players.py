"""Players: who is who by his token, what he is called, and by which line he is here.

A token is all that makes a player the same one again, so only its hash is kept. Names are unique: a new player whose name is another's
gets a number behind it, and one who would take another's name keeps his own. All of that is in the store; here is who is here now.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from protocol.errors import CloseCode, ErrorCode, Refusal
from protocol.text import NAME_LENGTH, clean_name
from server.rooms.clock import Clock
from server.rooms.member import Member, PlayerName
from server.store.errors import NameTaken, StoreError
from server.store.port import Entry, Player, PlayerMade, PlayerRenamed, PlayerSeen

TOKEN_BYTES = 16
ID_BYTES = 8

COUNTED_NAMES = 9
"""So many players of one name are told apart by counting; from then on by chance, which finds a free name at once."""


class Line(Member, Protocol):
    """A member that can be told to go."""

    def shut(self, code: CloseCode, reason: str) -> None:
        """Close the line, some time soon. Never blocks."""


class PlayerStore(Protocol):
    """The part of `server.store.port.Store` that tells who is who."""

    def player_by_token_hash(self, token_hash: bytes) -> Player | None: ...


class PlayerJournal(Protocol):
    """The part of `server.store.journal.Journal` that players need."""

    async def write(self, *entries: Entry) -> None: ...

    async def ask(self, call: Callable[[bytes], Player | None], token_hash: bytes, /) -> Player | None: ...


@dataclass(frozen=True, slots=True)
class _Here:
    player: PlayerName
    line: Line


class Players:
    """The lines of those who are here."""

    def __init__(self, *, entropy: Callable[[int], bytes], store: PlayerStore, journal: PlayerJournal, clock: Clock) -> None:
        self._entropy = entropy
        self._store = store
        self._journal = journal
        self._clock = clock
        self._here: dict[str, _Here] = {}
        self._listeners: list[Callable[[], None]] = []

    async def arrive(self, *, name: str, token: str | None, line: Line) -> tuple[PlayerName, str]:
        """Say who it is that comes by `line`: the player, with his token.

        A newer line of the same player takes over: the older one is shut. Waits for the store. Raises Refusal for a name of which nothing
        is left, for a token that is not known, and when the store fails.
        """
        cleaned = clean_name(name)
        if not cleaned:
            raise Refusal(ErrorCode.BAD_NAME, path="$.name")
        try:
            if token is None:
                player, token = await self._make(cleaned)
            else:
                player = await self._recognise(cleaned, token)
        except StoreError as error:
            raise Refusal(ErrorCode.NOT_KEPT) from error
        older = self._here.get(player.id)
        self._here[player.id] = _Here(player, line)
        if older is not None:
            older.line.shut(CloseCode.TAKEN_OVER, "another connection of this player took over")
        self._changed()
        return player, token

    def depart(self, player: PlayerName, line: Line) -> None:
        """The line is gone. Somebody who has come back by another one is still here."""
        here = self._here.get(player.id)
        if here is not None and here.line is line:
            del self._here[player.id]
            self._changed()

    def here(self) -> Iterator[PlayerName]:
        """Those who are here, in the order in which they came."""
        return (here.player for here in self._here.values())

    def __len__(self) -> int:
        return len(self._here)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever somebody came or went. It must not block or raise."""
        self._listeners.append(listener)

    async def _make(self, name: str) -> tuple[PlayerName, str]:
        token = self._entropy(TOKEN_BYTES).hex()
        identity = self._entropy(ID_BYTES).hex()
        for number in count(1):
            free = self._numbered(name, number)
            made = PlayerMade(player=identity, name=free, token_hash=_hash(token), at_ms=self._clock.now_ms())
            if await self._wrote(made):
                return PlayerName(identity, free), token
        raise AssertionError("counting never ends")

    def _numbered(self, name: str, number: int) -> str:
        if number == 1:
            return name
        behind = f" {number}" if number <= COUNTED_NAMES else f" {int.from_bytes(self._entropy(3), 'big')}"
        return name[: NAME_LENGTH - len(behind)].rstrip() + behind

    async def _recognise(self, name: str, token: str) -> PlayerName:
        known = await self._journal.ask(self._store.player_by_token_hash, _hash(token))
        if known is None:
            raise Refusal(ErrorCode.UNKNOWN_TOKEN, path="$.token")
        seen = PlayerSeen(player=known.id, at_ms=self._clock.now_ms())
        if name != known.name and await self._wrote(PlayerRenamed(player=known.id, name=name), seen):
            return PlayerName(known.id, name)
        await self._wrote(seen)
        return PlayerName(known.id, known.name)

    async def _wrote(self, *entries: Entry) -> bool:
        """False when the name in it is another player's."""
        try:
            await self._journal.write(*entries)
        except NameTaken:
            return False
        return True

    def _changed(self) -> None:
        for listener in self._listeners:
            listener()


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
