"""What a race on a shared deal was opened for: a round of a tournament, a deal of the day, or a challenge."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace as with_fields

from protocol.views import SharedDeal


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedDealSpec:
    """invited: ids of the players who may sit there, by seat; house bots take the seats after them, and nobody else gets one.

    bots: what those bots are called there, by seat; empty if each has the name of its kind.
    table: its number in the round, from 1; 0 elsewhere. ghosts: race ids of earlier runs of the deal, which are shown as they went.
    held: when everybody is ready, the race waits until it is released (`server.rooms.requests.Release`).
    listed: the lobby lists the race while it is run, like a public one.
    """

    deal: SharedDeal
    invited: tuple[str, ...]
    bots: tuple[str, ...] = ()
    table: int = 0
    ghosts: tuple[str, ...] = ()
    held: bool = False
    listed: bool = False

    @property
    def tournament(self) -> str:
        """The id of the tournament, if it was opened for a round of one; otherwise empty."""
        return self.deal.id.partition("/")[0] if self.deal.kind == "round" else ""

    @property
    def shown(self) -> SharedDeal:
        """The deal as records tell it, which anybody may read: they must not give away the id of a tournament that is not listed."""
        is_private = self.deal.kind == "round" and not self.listed
        return with_fields(self.deal, id=f"/{self.deal.id.partition('/')[2]}") if is_private else self.deal

    @property
    def watchable(self) -> bool:
        """Whether anybody may watch: tables of a round are public, other runs are private to their players."""
        return self.deal.kind == "round"
