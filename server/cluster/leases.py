"""Whom a node may take for dead. The decision alone: who looks, and what is done about it, is `node`'s."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from server.store.nodes import Node

BEAT_S: Final = 0.5
"""Seconds from one renewal of the own lease to the next, with a look at the others'."""

ABSENT_S: Final = 2.0
"""Whoever has not seen the others for so long has been away: asleep, or without the database. Then it may be the same for them."""

PATIENCE_S: Final = 5.0
"""For so long a node that has been away gives the others time to renew their leases: as long as these last."""


class Watch:
    """What a node sees of the others' leases, by its own clock."""

    def __init__(self, now: float) -> None:
        self._seen_at = now
        self._trusts_from = now

    def dead(self, nodes: Sequence[Node], *, own: int, now: float) -> tuple[Node, ...]:
        """Those whose races may be taken over. nodes: as the database has just shown them. now: seconds of a clock that never jumps."""
        if now - self._seen_at > ABSENT_S:
            self._trusts_from = now + PATIENCE_S
        self._seen_at = now
        # One that has left has said so, and of one whose process has ended the database knows: that needs no patience.
        return tuple(
            node
            for node in nodes
            if node.id != own and not node.is_alive and not node.is_settled and (node.has_left or node.hung_up or now >= self._trusts_from)
        )
