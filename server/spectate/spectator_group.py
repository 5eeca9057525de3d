"""The spectators of one race at this server, wherever the race is run: who has had a snapshot, and how messages reach all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import trio

from server.rooms.outgoing import Bundle
from server.spectate.fanout_scheduler import FanoutScheduler
from server.spectate.spectator import Spectator


class SpectatorGroup(ABC):
    """code: the room's code."""

    def __init__(self, code: str, scheduler: FanoutScheduler) -> None:
        """scheduler: shared by all races."""
        self.code = code
        self.quiet_since: float | None = None
        """Since when no race has been running or counting down, in Trio's seconds, as far as the spectators know; None while one is."""
        self._scheduler = scheduler
        self._spectators: dict[Spectator, None] = {}
        # Those of them who wait for a snapshot, and who see every card. Asking each one of a crowd costs a twentieth of telling them.
        self._newcomers: dict[Spectator, None] = {}
        self._with_key: dict[Spectator, None] = {}
        self._wake = trio.Event()
        # A new era makes everything before it obsolete.
        self._era = 0

    def admit(self, spectator: Spectator) -> None:
        """Let them watch this room: they get a snapshot soon, and then everything that happens."""
        spectator.joined = False
        self._spectators[spectator] = self._newcomers[spectator] = None
        if spectator.whole:
            self._with_key[spectator] = None
        self._wake.set()

    def show_again(self, spectator: Spectator) -> None:
        """Send them another snapshot, without interrupting what they hear."""
        if spectator in self._spectators:
            self._newcomers[spectator] = None
        self._wake.set()

    def dismiss(self, spectator: Spectator) -> None:
        """They no longer watch. Tells them nothing."""
        spectator.joined = False
        self._spectators.pop(spectator, None)
        self._newcomers.pop(spectator, None)
        self._with_key.pop(spectator, None)
        self._wake.set()

    @abstractmethod
    def say(self, spectator: Spectator, text: str, *, free: bool) -> None:
        """Say a cleaned line of chat. free: in the spectator's own words. Raises Refusal: `room/phrases-only`, `watch/too-much-talk`."""

    def watched_by(self) -> list[Spectator]:
        """Everybody who watches."""
        return list(self._spectators)

    def _all_anew(self) -> None:
        """Have all spectators wait for a snapshot."""
        self._era += 1
        self._newcomers = self._spectators.copy()
        for spectator in self._spectators:
            spectator.joined = False

    async def _post(self, bundle: Bundle, chosen: list[Spectator], *, joining: bool = False) -> None:
        """Post a bundle to the chosen spectators. joining: it is their snapshot."""
        era, spectators = self._era, self._spectators

        def tell(some: Sequence[Spectator]) -> bool:
            if era != self._era:
                return False
            for spectator in some:
                # They may have gone since, or wait for a new snapshot.
                if (joining or spectator.joined) and spectator in spectators:
                    spectator.connection.post_all(bundle)
                    if joining:
                        spectator.joined, spectator.ref = True, 0
                        self._newcomers.pop(spectator, None)
            return True

        await self._scheduler.tell(chosen, tell)
