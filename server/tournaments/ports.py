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


def here(players: Sequence[str], asked: Sequence[int]) -> None:
    """The `ChooseNode` of a single server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentPorts:
    """store: read through the journal. is_shared: other servers of the place decide about the same tournaments. node: this server.

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
    is_shared: bool = False
    node: int = 0
    loads: Loads | None = None
    choose_node: ChooseNode = here
    ban_of: Callable[[str], str | None] = lambda player: None
