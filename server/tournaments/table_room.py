"""The room of a race of the last round, here or at another server: who is there, who is missing, what its entrants are told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import trio

from protocol.tournament_messages import Called
from protocol.tournaments import TournamentSide
from server.rooms.driver import Room
from server.rooms.summary import RoomSummary
from server.tournaments.log_text import name_of
from server.tournaments.pairing.crosstable import TableRace
from server.tournaments.state import TournamentState
from server.tournaments.tables import Seating, seating
from server.tournaments.views import LiveTable

SILENT_S: Final = 2.5
"""After so many seconds without news from its server, the state of a room elsewhere counts as unknown."""

UNSEEN_MS: Final = 2000
"""How long an entrant may have been ready at another server before it is known here."""


@dataclass(slots=True, eq=False)
class RoomElsewhere:
    """A room at another server, as last reported. race: its id in the store. heard_at: when, by Trio's clock."""

    code: str
    race: str
    summary: RoomSummary
    heard_at: float
    is_closed = False

    @property
    def is_silent(self) -> bool:
        return trio.current_time() - self.heard_at > SILENT_S


@dataclass(slots=True, eq=False)
class TableRoom:
    """The room of a race of the last round. number: that of the round's shuffle. called_at_ms: when its entrants were called.
    is_late: their time to come is over."""

    room: Room | RoomElsewhere
    race: TableRace
    number: int
    seating: Seating
    called_at_ms: int
    is_late: bool = False

    @property
    def is_waiting(self) -> bool:
        return self.room.summary.phase == "waiting" and not self.room.is_closed

    @property
    def is_elsewhere(self) -> bool:
        return isinstance(self.room, RoomElsewhere)

    @property
    def is_findable(self) -> bool:
        """Whether other servers can find it."""
        return isinstance(self.room, RoomElsewhere) or self.room.is_kept

    @property
    def is_silent(self) -> bool:
        return isinstance(self.room, RoomElsewhere) and self.room.is_silent

    @property
    def is_ready(self) -> bool:
        """Whether it waits only for other tables. Until the time is over it also waits for ready players who lost their connection."""
        return not self.is_silent and all(seat.ready and (seat.connected or self.is_late) for seat in self.room.summary.seats)

    def no_show_at(self, state: TournamentState) -> int | None:
        """When the missing entrants forfeit; None if nobody is missing."""
        if not self.is_waiting or self.is_ready or self.is_silent:
            return None
        return self.called_at_ms + 1000 * state.options.no_show_s + (UNSEEN_MS if self.is_elsewhere else 0)

    def live(self, state: TournamentState, now_ms: int) -> LiveTable:
        due = self.no_show_at(state)
        return LiveTable(
            code=self.room.code,
            sides=tuple(self._side(state, seat) for seat in self.seating.sides),
            elapsed_ms=self.room.summary.elapsed_ms(now_ms),
            no_show_ms=max(due - now_ms, 0) if due is not None else None,
        )

    def _side(self, state: TournamentState, number: int) -> TournamentSide:
        seat, entrant = self.room.summary.seats[number], self.seating.entrants[number]
        return TournamentSide(
            entrant=entrant,
            name=name_of(state, entrant) if entrant is not None else state.options.bot,
            present=seat.player is not None and seat.connected,
            state=seat.state,
            home=seat.home,
            ready=seat.ready,
        )

    def call(self, state: TournamentState, entrant: str, now_ms: int) -> Called:
        """The call to an entrant who is wanted here."""
        return call_to(self.race, self.live(state, now_ms), state, entrant)


def call_to(race: TableRace, live: LiveTable, state: TournamentState, entrant: str) -> Called:
    """The call to an entrant who is wanted at a table, wherever its room is."""
    pairing = race.pairing
    opponent = next((other for other in pairing.entrants if other != entrant), None)
    return Called(
        id=state.id,
        name=state.options.name,
        round=race.round,
        table=pairing.table,
        race=race.number,
        code=live.code,
        opponent=name_of(state, opponent) if opponent is not None else "",
        bot=state.people[opponent].bot if opponent is not None else next(iter(seating(state, pairing).bots), None),
        until_ms=live.no_show_ms,
    )
