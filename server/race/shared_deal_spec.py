"""For what a race was opened, where that was not somebody's wish alone: a round of a tournament, a deal of the day, a challenge."""

from __future__ import annotations

from dataclasses import dataclass

from protocol.views import SharedDeal


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedDealSpec:
    """invited: ids of the players who may sit there, by seat; house bots take the seats after them, and nobody else has any.

    table: of the round, from 1; 0 elsewhere. ghosts: race ids of earlier runs of the deal that are shown as they went.
    held: when everybody is ready, the race waits until it is released (`server.rooms.requests.Release`).
    listed: the lobby lists the race while it is run, as it does a public one.
    """

    deal: SharedDeal
    invited: tuple[str, ...]
    table: int = 0
    ghosts: tuple[str, ...] = ()
    held: bool = False
    listed: bool = False

    @property
    def tournament(self) -> str:
        """The id of the tournament for a round of which it was opened; empty for other deals."""
        return self.deal.id.partition("/")[0] if self.deal.kind == "round" else ""

    @property
    def watchable(self) -> bool:
        """Whether anybody may see how it goes: tables of a round are in public, other runs are their players' own."""
        return self.deal.kind == "round"
