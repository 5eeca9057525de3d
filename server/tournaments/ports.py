"""The ports through which a tournament uses the rest of the server. Nothing here does anything."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from server.cluster.loads import Loads
from server.lobby.players import Players
from server.rooms.clock import Clock
from server.rooms.registry import Rooms
from server.store.journal import Journal
from server.store.store import Store
from server.tournaments.pairing.crosstable import Crosstable
from server.tournaments.pairing.rounds import Round

Answer = TypeVar("Answer")

ChooseNode: TypeAlias = Callable[[Sequence[str], Sequence[int]], int | None]
"""Chooses the node for the room of a table with these players; None for here. The second argument: nodes that are about to open one."""

PairNext: TypeAlias = Callable[[Crosstable], Awaitable[Round | None]]
"""Gives the next round, or None if there is none. May take a second in a large field. Deterministic."""


class Beside(Protocol):
    """Calls a pure function in a thread, because in a large tournament it may take milliseconds and nobody should wait for it."""

    async def __call__(self, make: Callable[[], Answer], /) -> Answer: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentPorts:
    """store: read through the journal. loads: how busy the servers of the place are; None if this is its only one.

    ban_of: why the host has banned a player; None if they have not.
    """

    clock: Clock
    entropy: Callable[[int], bytes]
    rooms: Rooms
    players: Players
    journal: Journal
    store: Store
    pair_next: PairNext
    beside: Beside
    loads: Loads | None = None
    ban_of: Callable[[str], str | None] = lambda player: None

    @property
    def is_shared(self) -> bool:
        """Whether other servers decide about the same tournaments."""
        return self.loads is not None

    @property
    def node(self) -> int:
        """The number of this server in its place; 0 if it is the only one."""
        return self.loads.own().node if self.loads is not None else 0
