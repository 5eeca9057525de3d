"""What time does to the rooms of runs: one that has not begun is called off when it may not begin any more, and one whose deal is revealed
is told so, and is stopped if it is not over. Nobody gains where this task is late: a room that knows of the reveal takes no move after it.
The deals themselves need nothing of this: they are sealed until a moment that is kept with them.
"""

from __future__ import annotations

import logging
from typing import Final

import trio

from server.race.shared_deal_spec import SharedDealSpec
from server.rooms.clock import Clock
from server.rooms.driver import Room
from server.rooms.registry import Rooms
from server.rooms.requests import CallOff, Reveal
from server.runs import days
from server.runs.challenges import ChallengeRegistry, closes_at_ms
from server.runs.dailies import READY_MARGIN_MS
from server.store.errors import StoreError

logger = logging.getLogger("carpet.runs")

AGAIN_MS = 60_000
"""Time until a challenge that could not be read is asked for again."""

RUNS_LOOK_S: Final = 0.2
"""Least seconds between two looks at the rooms."""


class RunCloser:
    """`run` is its only task."""

    def __init__(self, rooms: Rooms, challenges: ChallengeRegistry, clock: Clock) -> None:
        self._challenges = challenges
        self._clock = clock
        self._moments: dict[tuple[str, str], tuple[int, int]] = {}
        self._told: set[tuple[Room, int]] = set()  # of which moments each room has been told
        self._changed = trio.Event()
        # Kept up to date as rooms change, because of ten thousand races only a few are runs.
        self._runs: dict[Room, SharedDealSpec] = {}
        for room in rooms:
            self._note(room)
        rooms.on_room_change.append(self._note)

    def _note(self, room: Room) -> None:
        spec = room.spec
        if spec is None or spec.deal.kind == "round":
            return
        if room.is_closed:
            self._runs.pop(room, None)
        else:
            self._runs[room] = spec
        self._changed.set()

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            self._changed = trio.Event()
            due = await self._look()
            with trio.move_on_at(self._clock.wall_deadline(due) if due is not None else float("inf")):
                await self._changed.wait()
            await trio.sleep(RUNS_LOOK_S)

    async def _look(self) -> int | None:
        """Do what is due in any room. Gives when there is something to do next."""
        runs = list(self._runs.items())
        self._told = {told for told in self._told if not told[0].is_closed}
        due: list[int] = []
        for room, spec in runs:
            try:
                ready_by_ms, reveals_at_ms = await self._moments_of(spec)
            except StoreError as error:
                logger.warning("cannot read when the %s %s closes: %s", spec.deal.kind, spec.deal.id, error)
                due.append(self._clock.wall_ms() + AGAIN_MS)
                continue
            now, reveal = self._clock.wall_ms(), Reveal(reveals_at_ms)
            # The room has to know of the reveal before it comes: however late this task is then, no move counts from there on.
            for moment, request in ((-1, reveal), (ready_by_ms, CallOff()), (reveals_at_ms, reveal)):
                if moment > now:
                    due.append(moment)
                elif (room, moment) not in self._told:
                    self._told.add((room, moment))
                    room.tell(request)
        open_deals = {(spec.deal.kind, spec.deal.id) for _, spec in runs}
        self._moments = {deal: moments for deal, moments in self._moments.items() if deal in open_deals}
        return min(due, default=None)

    async def _moments_of(self, spec: SharedDealSpec) -> tuple[int, int]:
        """The time by which a run has to begin, and the time at which its deal is revealed."""
        kind, deal = spec.deal.kind, spec.deal.id
        if kind == "daily":
            return days.ends_at_ms(deal) - READY_MARGIN_MS, days.reveals_at_ms(deal)
        known = self._moments.get((kind, deal))
        if known is None:
            made = await self._challenges.deal(deal)
            if made is None or made.reveals_at_ms is None:
                raise StoreError(f"there is no challenge {deal}")
            known = self._moments[kind, deal] = closes_at_ms(made), made.reveals_at_ms
        return known
