"""Tournaments as one frozen value, and the pure reducer that makes the next value out of what was heard of them.

Owns the list, the one tournament that is followed, and the call to a table. A snapshot replaces everything about a tournament, so there is
nothing to resume. Must not know of screens, sockets or clocks: what the server says in "ms from now" is anchored to the local time at once.
"""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from client.connection.events import Lost
from protocol.server_messages import Left, Welcome
from protocol.tournament_messages import Called, Tournament, Tournaments
from protocol.tournaments import TournamentEntrant, TournamentListing, TournamentPhase, TournamentRound, TournamentTable

OPEN_PHASES: frozenset[TournamentPhase] = frozenset({"registration", "check-in"})
"""The first round is not paired yet."""
DONE_PHASES: frozenset[TournamentPhase] = frozenset({"over", "ended"})


class TournamentModel(Struct, frozen=True, dict=True):
    """One tournament as it was told last. heard_at_ms: local time of that. With a dict: what it comes to by id is worked out once."""

    told: Tournament
    heard_at_ms: int

    @cached_property
    def entrants(self) -> dict[str, TournamentEntrant]:
        """By id."""
        return {entrant.id: entrant for entrant in self.told.entrants}

    @property
    def phase_until_ms(self) -> int | None:
        """Local time at which the check-in or the pause runs out."""
        return None if self.told.phase_ms is None else self.heard_at_ms + self.told.phase_ms

    @property
    def round(self) -> TournamentRound | None:
        """The last one that is paired."""
        return self.told.rounds[-1] if self.told.rounds else None

    def entrant(self, player: str) -> TournamentEntrant | None:
        return self.entrants.get(player)

    def table_of(self, player: str) -> TournamentTable | None:
        """Their table in the round whose tables are told."""
        return next((table for table in self.told.tables if player and player in (table.first, table.second)), None)

    def no_show_until_ms(self, table: TournamentTable) -> int | None:
        """Local time at which who is missing there forfeits."""
        return None if table.no_show_ms is None else self.heard_at_ms + table.no_show_ms


class Call(Struct, frozen=True):
    """To one's own table. name: of the tournament. until_ms: local time at which one forfeits."""

    name: str
    table: int
    code: str
    until_ms: int | None


class TournamentsModel(Struct, frozen=True):
    """listed: None while the list is not known. shown: the tournament told last. call: the last one to a table, until it is left."""

    listed: tuple[TournamentListing, ...] | None = None
    running: int = 0
    shown: TournamentModel | None = None
    call: Call | None = None

    def tournament(self, tournament: str | None) -> TournamentModel | None:
        """The one of this id, where it is the one that is known."""
        return self.shown if self.shown is not None and self.shown.told.id == tournament else None


def tournaments_after(model: TournamentsModel, event: object, now_ms: int) -> TournamentsModel:
    """What is known after `event`, heard at the local time `now_ms`. Total: what is of no tournament is no news."""
    match event:
        case Tournaments(tournaments=listed, running=running):
            return replace(model, listed=listed, running=running)
        case Tournament():
            return replace(model, shown=TournamentModel(event, now_ms))
        case Called(until_ms=until_ms):
            call = Call(event.name, event.table, event.code, None if until_ms is None else now_ms + until_ms)
            return replace(model, call=call)
        case Welcome(room=room) if model.call is not None and model.call.code != room:
            # Who is called still is called again after their hello.
            return replace(model, call=None)
        case Left(code=code) if model.call is not None and model.call.code == code:
            return replace(model, call=None)
        case Lost():
            # What is going on changes by the second: what is not known any more is not listed.
            return replace(model, listed=None)
    return model


def played_in(model: TournamentsModel, player: str) -> TournamentModel | None:
    """The tournament told last, if this player is one of its entrants, has not withdrawn, and it is not over."""
    shown = model.shown
    own = shown.entrant(player) if shown is not None and player else None
    return None if shown is None or own is None or own.withdrawn or shown.told.phase in DONE_PHASES else shown


def awaited_check_in(model: TournamentsModel, player: str) -> TournamentModel | None:
    """The tournament whose check-in is open and waits for this player."""
    known = played_in(model, player)
    own = known.entrant(player) if known is not None and known.told.phase == "check-in" else None
    return known if own is not None and not own.checked_in else None


def table_name(model: TournamentModel, entrant: str | None) -> str:
    """What a side of a table is called; not cleaned."""
    if entrant is None:
        return "the house"
    known = model.entrants.get(entrant)
    return known.name if known is not None else entrant


def is_out(told: Tournament, entrant: str) -> bool:
    """Whether an entrant was knocked out. Of two who both forfeit in a double elimination it is not to be known."""
    losses = next((row.lost for row in told.standings if row.entrant == entrant), 0)
    return told.options.format == "elimination" and losses > told.options.double


def is_field_closed(told: Tournament) -> bool:
    """Whether nobody can enter or come back any more."""
    return told.phase in DONE_PHASES or (bool(told.rounds) and told.options.format in ("round-robin", "elimination"))


def is_raced(table: TournamentTable) -> bool:
    """Whether its race runs now, so that there is something to watch."""
    return table.code is not None and any(side.state == "racing" for side in table.sides)
