"""Admission to runs: one for each player and deal, whatever connections they use and however often the server restarts.

Open rooms are looked at first, because a run under way goes on; then the store decides. While one request of a player is being decided,
their next one for the same deal waits. The journal refuses a second run in any case.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import trio

from protocol.errors import ErrorCode, Refusal
from protocol.views import RaceOptions, SharedDeal
from server.race.shared_deal_spec import SharedDealSpec
from server.rooms.clock import Clock
from server.rooms.driver import Room
from server.rooms.registry import Rooms
from server.runs.boards import Boards
from server.runs.ghost_choice import Candidate, choose
from server.store.journal import Journal
from server.store.port import SharedDealMade
from server.store.store import Store


class RunUnderWay(Refusal):
    """The player is running it already, in a room that is not here: at another server, or nowhere for the moment. room: its code."""

    def __init__(self, room: str) -> None:
        super().__init__(ErrorCode.ALREADY_RUN)
        self.room = room


class RunAdmission:
    def __init__(self, rooms: Rooms, boards: Boards, *, journal: Journal, clock: Clock) -> None:
        self._rooms = rooms
        self._boards = boards
        self._store = journal.store
        self._journal = journal
        self._clock = clock
        self._deciding: dict[tuple[str, str, str], trio.Event] = {}

    async def run(
        self,
        player: str,
        made: SharedDealMade,
        deal: SharedDeal,
        options: RaceOptions,
        *,
        ready_by_ms: int,
        ghosts: bool = False,
        place: str | None = None,
    ) -> Room:
        """The room of this player's run of a deal: the one they are in already, or a new one.

        ready_by_ms: by when they have to be ready (see `RunCloser`). ghosts: show earlier runs beside it. place: as for `Rooms.open`.
        Raises StoreError, and Refusal: `run/already` (RunUnderWay while it goes on), `run/closed`, and those of opening a room.
        """
        key = player, made.key, options.rules
        while (decided := self._deciding.get(key)) is not None:
            await decided.wait()
        decided = self._deciding[key] = trio.Event()
        try:
            under_way = self._under_way(player, deal, options.rules)
            if under_way is not None:
                return under_way
            own = await self._boards.run_of(player, made.kind, made.id, options.rules)
            if own is not None:
                raise RunUnderWay(own.room) if own.phase == "running" else Refusal(ErrorCode.ALREADY_RUN)
            if self._clock.wall_ms() >= ready_by_ms:
                raise Refusal(ErrorCode.RUN_CLOSED)
            self._rooms.check_free(player)
            earlier = await self._ghosts(player, made, options.rules) if ghosts else ()
            # Otherwise a room might be opened that they cannot enter: they may have been seated meanwhile.
            self._rooms.check_free(player)
            spec = SharedDealSpec(deal=deal, invited=(player,), ghosts=earlier)
            return self._rooms.open(options, spec=spec, secret=made.secret, place=place)
        finally:
            del self._deciding[key]
            decided.set()

    def has_room_for(self, player: str) -> bool:
        """Whether they have an unfinished run here."""
        return any(True for _ in self._runs_of(player))

    def _runs_of(self, player: str) -> Iterator[tuple[Room, SharedDealSpec]]:
        for room in self._rooms:
            if room.spec is not None and player in room.spec.invited and room.summary.phase != "over" and not room.is_closed:
                yield room, room.spec

    def _under_way(self, player: str, deal: SharedDeal, rules: str) -> Room | None:
        return next((room for room, spec in self._runs_of(player) if spec.deal == deal and room.options.rules == rules), None)

    async def _ghosts(self, player: str, made: SharedDealMade, rules: str) -> tuple[str, ...]:
        over = [run for run in await self._boards.runs(made.kind, made.id, rules) if run.phase == "over"]
        results = await self._boards.results(over)
        ratings = await self._journal.ask(partial(_ratings, self._store), (player, *(result.player for result in results)))
        candidates = [Candidate(result, ratings[result.player], run.finished_at_ms or 0) for run, result in zip(over, results, strict=True)]
        return choose(candidates, ratings[player])


def _ratings(store: Store, players: tuple[str, ...]) -> dict[str, int | None]:
    found = {player: store.player(player) for player in players}
    return {runner: player.rating.worth if player is not None and player.rating is not None else None for runner, player in found.items()}
