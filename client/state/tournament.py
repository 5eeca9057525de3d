"""Tournaments as one frozen value, and the pure reducer that makes the next value from each event.

Owns the list, the one tournament that is followed, the call to a table, and the check-ins that wait for this player. A snapshot replaces
everything about a tournament, so there is nothing to resume. Must not know of screens, sockets or clocks: the server's "ms from now" is
converted to local time at once.
"""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from client.connection.events import Lost
from protocol.server_messages import Left, Welcome
from protocol.tournament_messages import Called, CheckInDue, CorrectResult, Tournament, TournamentRequest, Tournaments
from protocol.tournaments import TableResult, TournamentEntrant, TournamentListing, TournamentPhase, TournamentRound, TournamentTable

OPEN_PHASES: frozenset[TournamentPhase] = frozenset({"registration", "check-in"})
"""The first round is not yet paired."""
DONE_PHASES: frozenset[TournamentPhase] = frozenset({"over", "ended"})


class TournamentModel(Struct, frozen=True, dict=True):
    """One tournament as last heard. heard_at_ms: the local time of that. Has a dict, so that `entrants` is computed once."""

    told: Tournament
    heard_at_ms: int

    @cached_property
    def entrants(self) -> dict[str, TournamentEntrant]:
        """The entrants by id."""
        return {entrant.id: entrant for entrant in self.told.entrants}

    @property
    def phase_until_ms(self) -> int | None:
        """Local time at which the check-in or the pause ends."""
        return None if self.told.phase_ms is None else self.heard_at_ms + self.told.phase_ms

    @property
    def round(self) -> TournamentRound | None:
        """The last round that was paired."""
        return self.told.rounds[-1] if self.told.rounds else None

    def table_of(self, player: str) -> TournamentTable | None:
        """The player's table in the round whose tables are known."""
        return next((table for table in self.told.tables if player and player in (table.first, table.second)), None)

    def no_show_until_ms(self, table: TournamentTable) -> int | None:
        """Local time at which a player missing there forfeits."""
        return None if table.no_show_ms is None else self.heard_at_ms + table.no_show_ms


class Call(Struct, frozen=True):
    """A call to this player's table. name: the tournament's. until_ms: local time at which they forfeit."""

    name: str
    table: int
    code: str
    until_ms: int | None


class AwaitedCheckIn(Struct, frozen=True):
    """A check-in that waits for this player. id, name, commitment: the tournament's. until_ms: local time at which they are left out."""

    id: str
    name: str
    until_ms: int
    commitment: str


class TournamentsModel(Struct, frozen=True):
    """listed: None while the list is not known. shown: the tournament heard last. call: the last one to a table, until it is left.
    check_ins: those that wait for this player, in the order in which they opened."""

    listed: tuple[TournamentListing, ...] | None = None
    running: int = 0
    shown: TournamentModel | None = None
    call: Call | None = None
    check_ins: tuple[AwaitedCheckIn, ...] = ()

    def tournament(self, tournament: str | None) -> TournamentModel | None:
        """The tournament of this id, if it is the one shown."""
        return self.shown if self.shown is not None and self.shown.told.id == tournament else None

    def commitment(self, tournament: str) -> str | None:
        """What a tournament has committed to, if it was told."""
        shown = self.tournament(tournament)
        due = (each.commitment for each in self.check_ins if each.id == tournament)
        return shown.told.commitment if shown is not None else next(due, None)


def tournaments_after(model: TournamentsModel, event: object, now_ms: int) -> TournamentsModel:
    """What is known after `event`, heard at the local time `now_ms`. Total: events of no tournament change nothing."""
    match event:
        case Tournaments(tournaments=listed, running=running):
            return replace(model, listed=listed, running=running)
        case Tournament():
            return replace(model, shown=TournamentModel(event, now_ms))
        case Called(until_ms=until_ms):
            call = Call(event.name, event.table, event.code, None if until_ms is None else now_ms + until_ms)
            return replace(model, call=call)
        case CheckInDue(id=id_, left_ms=left_ms):
            others = tuple(each for each in model.check_ins if each.id != id_)
            due = () if left_ms is None else (AwaitedCheckIn(id_, event.name, now_ms + left_ms, event.commitment),)
            return replace(model, check_ins=(*others, *due))
        case Welcome(room=room):
            # Calls that still stand are repeated after hello, and so are check-ins.
            at_table = model.call is not None and model.call.code == room
            return replace(model, call=model.call if at_table else None, check_ins=())
        case Left(code=code) if model.call is not None and model.call.code == code:
            return replace(model, call=None)
        case Lost():
            # The list changes by the second: without a connection it is not shown. Nor can anybody check in.
            return replace(model, listed=None, check_ins=())
    return model


def table_name(model: TournamentModel, entrant: str | None) -> str:
    """The name of one side of a table; not cleaned."""
    if entrant is None:
        return "the house"
    known = model.entrants.get(entrant)
    return known.name if known is not None else entrant


def is_out(told: Tournament, entrant: str) -> bool:
    """Whether an entrant was knocked out, or has left. If both sides of a table forfeit in a double elimination, this cannot be known."""
    if any(each.id == entrant and each.withdrawn for each in told.entrants):
        return True
    losses = next((row.lost for row in told.standings if row.entrant == entrant), 0)
    return told.options.format == "elimination" and losses > told.options.double


def is_field_closed(told: Tournament) -> bool:
    """Whether nobody can enter or come back any more, or would never play if they did."""
    is_fixed = told.options.format in ("round-robin", "elimination")
    return told.phase in DONE_PHASES or (bool(told.rounds) and (is_fixed or len(told.rounds) >= told.options.rounds))


def is_raced(table: TournamentTable) -> bool:
    """Whether the table's race is running, so that there is something to watch."""
    return table.code is not None and any(side.state == "racing" for side in table.sides)


def waits_for_others(told: Tournament, table: TournamentTable) -> bool:
    """Whether it is raced at again once no other table is: its result was struck, or its race drawn or broken off."""
    return table.code is None and table.result is None and table.counted and any(each.counted and is_raced(each) for each in told.tables)


def result_ruled_on(told: Tournament, ruling: TournamentRequest) -> TableResult | None:
    """The result of the race that a director's ruling is about; None if it has none, if the ruling is about no race, or if another round is
    told."""
    if not isinstance(ruling, CorrectResult) or ruling.round != told.round:
        return None
    races = next((table.races for table in told.tables if table.table == ruling.table), ())
    return races[ruling.race - 1] if ruling.race <= len(races) else None
