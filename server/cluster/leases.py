"""Decides which other nodes a node may take for dead. `node` does the rest: it looks at the leases, and takes over the races."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from server.store.nodes import Node

BEAT_S: Final = 0.5
"""Seconds between two renewals of a node's own lease; with each it looks at the others'."""

ABSENT_S: Final = 2.0
"""A node that has not seen the others for this long was away itself: asleep, or without the database. The others may have been too."""

RENEWAL_PATIENCE_S: Final = 5.0
"""Seconds that a node which was away gives the others to renew their leases: as long as a lease lasts."""


class Watch:
    """How a node sees the others' leases, by its own clock."""

    def __init__(self, now: float) -> None:
        self._seen_at = now
        self._trusts_from = now

    def dead(self, nodes: Sequence[Node], *, own: int, now: float) -> tuple[Node, ...]:
        """The nodes whose races may be taken over. nodes: as the database has just shown them. now: seconds of a clock that never jumps."""
        if now - self._seen_at > ABSENT_S:
            self._trusts_from = now + RENEWAL_PATIENCE_S
        self._seen_at = now
        # No patience for a node that has left, since it said so, or whose process has ended, since the database knows.
        return tuple(
            node
            for node in nodes
            if node.id != own and not node.is_alive and not node.is_settled and (node.has_left or node.hung_up or now >= self._trusts_from)
        )
