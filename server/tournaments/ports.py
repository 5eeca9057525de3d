"""What a tournament is given by the outside. Ports alone: nothing here does anything."""

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
"""Where the room of a table for these players is to be opened; None for here. The second: nodes that are about to open one."""

PairNext: TypeAlias = Callable[[Crosstable], Awaitable[Round | None]]
"""The next round, which may take a second in a large field; None when there is none. Pairing the same again gives the same."""


class Beside(Protocol):
    """Where what takes milliseconds in a large tournament is made, so that nobody waits for it: in a thread. It is pure."""

    async def __call__(self, make: Callable[[], Answer], /) -> Answer: ...


def here(players: Sequence[str], asked: Sequence[int]) -> None:
    """Of a server alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentPorts:
    """store: asked through the journal. is_shared: other servers of the same place decide about the same tournaments. node: this server."""

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
