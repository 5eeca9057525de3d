"""Those who watch one race at this server, wherever it is run: who has had a snapshot, and how messages get to all of them."""

from __future__ import annotations

from collections.abc import Sequence

import trio

from server.rooms.outgoing import Bundle
from server.spectate.fanout_scheduler import FanoutScheduler
from server.spectate.spectator import Spectator


class Audience:
    """code: of the room."""

    def __init__(self, code: str, scheduler: FanoutScheduler) -> None:
        """scheduler: shared by all races."""
        self.code = code
        self.quiet_since: float | None = None
        """Since when no race has been run or counted down, in Trio's seconds, as far as the watchers know; None while one is."""
        self._scheduler = scheduler
        self._spectators: dict[Spectator, None] = {}
        # Of them those who wait for a snapshot, and those who see every card. To ask a crowd one by one costs a twentieth of telling it.
        self._newcomers: dict[Spectator, None] = {}
        self._with_key: dict[Spectator, None] = {}
        self._wake = trio.Event()
        # With each new era all that went before is of no interest.
        self._era = 0

    def admit(self, spectator: Spectator) -> None:
        """They watch this room from now on: they get a snapshot soon, and then all that happens."""
        spectator.joined = False
        self._spectators[spectator] = self._newcomers[spectator] = None
        if spectator.whole:
            self._with_key[spectator] = None
        self._wake.set()

    def show_again(self, spectator: Spectator) -> None:
        """They get a snapshot among all that they hear."""
        spectator.again = True
        if spectator in self._spectators:
            self._newcomers[spectator] = None
        self._wake.set()

    def dismiss(self, spectator: Spectator) -> None:
        """They no longer do. Tells them nothing."""
        spectator.joined = False
        self._spectators.pop(spectator, None)
        self._newcomers.pop(spectator, None)
        self._with_key.pop(spectator, None)
        self._wake.set()

    def say(self, spectator: Spectator, text: str, *, free: bool) -> None:
        """A line of chat, cleaned. free: in the spectator's own words. Raises Refusal: `room/phrases-only`, `watch/too-much-talk`."""
        raise NotImplementedError

    def watched_by(self) -> list[Spectator]:
        """Everybody who watches."""
        return list(self._spectators)

    def _all_anew(self) -> None:
        """All who watch wait for a snapshot."""
        self._era += 1
        self._newcomers = self._spectators.copy()
        for spectator in self._spectators:
            spectator.joined = False

    async def _post(self, bundle: Bundle, chosen: list[Spectator], *, joining: bool = False) -> None:
        """joining: it is their snapshot."""
        era, spectators = self._era, self._spectators

        def tell(some: Sequence[Spectator]) -> bool:
            if era != self._era:
                return False
            for spectator in some:
                # They may have gone since, or have to be told everything anew.
                if (spectator.joined is not joining or (joining and spectator.again)) and spectator in spectators:
                    spectator.connection.post_all(bundle)
                    if joining:
                        spectator.joined, spectator.again, spectator.ref = True, False, 0
                        self._newcomers.pop(spectator, None)
            return True

        await self._scheduler.tell(chosen, tell)
