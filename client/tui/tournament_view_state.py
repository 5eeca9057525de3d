"""The player's own side of a tournament's screen: which tournament, page and round they look at, and what can be marked there. Pure values.

How it looks is up to the screens (`client.tui.tournament.screen`).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

from msgspec import Struct

from client.state.store import Model
from client.state.tournament import OPEN_PHASES, TournamentModel
from protocol.tournament_messages import Tournament
from protocol.tournaments import StandingsRow, TournamentEntrant, TournamentTable

TournamentPage = Literal["tables", "standings", "log"]
PAGES: tuple[TournamentPage, ...] = ("tables", "standings", "log")


class TournamentView(Struct, frozen=True):
    """id: the tournament that is looked at, None for the list. page: None for the one that suits the tournament's phase.

    round: the round whose tables are shown, None for the last one.
    """

    id: str | None = None
    page: TournamentPage | None = None
    round: int | None = None


class StandingsLine(Struct, frozen=True):
    """A line of the standings: the entrant, and their row if there is one yet."""

    entrant: TournamentEntrant
    row: StandingsRow | None


def page_of(view_state: TournamentView, told: Tournament | None) -> TournamentPage:
    """The page on the screen."""
    if view_state.page is not None:
        return view_state.page
    return "tables" if told is not None and told.phase in ("running", "between", "paused") and told.rounds else "standings"


def standings_of(tournament: TournamentModel) -> tuple[StandingsLine, ...]:
    """All entrants, best first; before the first round, by seed, and in the check-in those who are missing before the others."""
    told = tournament.told
    rows = {row.entrant: row for row in told.standings}
    if told.phase in OPEN_PHASES or not rows:
        is_check_in = told.phase == "check-in"
        entrants = sorted(told.entrants, key=lambda each: (each.withdrawn, is_check_in and each.checked_in, each.seed))
        return tuple(StandingsLine(entrant, None) for entrant in entrants)
    ranked = [StandingsLine(tournament.entrants[row.entrant], row) for row in told.standings if row.entrant in tournament.entrants]
    # Late entrants come last: they are not ranked yet.
    return (*ranked, *(StandingsLine(entrant, None) for entrant in told.entrants if entrant.id not in rows))


def lines_of(model: Model, view_state: TournamentView | None) -> tuple[Hashable, ...]:
    """What the lines that can be marked stand for."""
    tournaments = model.tournaments
    if view_state is None:
        return ()
    if view_state.id is None:
        return tuple(listing.id for listing in tournaments.listed or ())
    tournament = tournaments.tournament(view_state.id)
    if tournament is None:
        return ()
    match page_of(view_state, tournament.told):
        case "tables":
            return tuple(table.table for table in tournament.told.tables)
        case "standings":
            return tuple(line.entrant.id for line in standings_of(tournament))
        case "log":
            # Numbered from the newest, so that a player who looks at the top stays there.
            return tuple(range(len(tournament.told.log)))


def marked_table(model: Model, view_state: TournamentView, item: int) -> TournamentTable | None:
    tournament = model.tournaments.tournament(view_state.id)
    if tournament is None or page_of(view_state, tournament.told) != "tables" or not 0 <= item < len(tournament.told.tables):
        return None
    return tournament.told.tables[item]


def marked_entrant(model: Model, view_state: TournamentView, item: int) -> TournamentEntrant | None:
    tournament = model.tournaments.tournament(view_state.id)
    if tournament is None or page_of(view_state, tournament.told) != "standings":
        return None
    standings = standings_of(tournament)
    return standings[item].entrant if 0 <= item < len(standings) else None


def directs(model: Model, tournament: TournamentModel | None) -> bool:
    """Whether this player directs the tournament."""
    return tournament is not None and model.player != "" and tournament.told.director == model.player


def own_entrant(model: Model, tournament: TournamentModel) -> TournamentEntrant | None:
    """This player's entry, withdrawn or not."""
    return tournament.entrants.get(model.player) if model.player else None


def own_table(model: Model, tournament: TournamentModel) -> TournamentTable | None:
    """This player's table, if it is in the last round and waits for them or is being raced at."""
    last = tournament.round
    if not model.player or last is None or tournament.told.round != last.number:
        return None
    table = tournament.table_of(model.player)
    return table if table is not None and table.result is None and table.code is not None else None


ONLY_WATCHING = "You are only watching. To play, run carpet tournament join."


def is_guest(model: Model) -> bool:
    """Whether this client only watches, without a name."""
    return model.welcome is not None and not model.welcome.player
