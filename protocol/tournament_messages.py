"""Messages about tournaments: from players, from the director, then from the server. Their values are in `protocol.tournaments`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from protocol.tournaments import (
    ENTRY_CODE_LENGTH,
    LONGEST_CHECK_IN_S,
    EntrantId,
    LoggedDecision,
    Reason,
    RoundNumber,
    StandingsRow,
    TableNumber,
    TableResult,
    TournamentBye,
    TournamentEntrant,
    TournamentId,
    TournamentListing,
    TournamentOptions,
    TournamentPhase,
    TournamentRound,
    TournamentTable,
)
from protocol.views import Hex16, Hex32, Request

# ---- from players


class FollowTournaments(Request, frozen=True, kw_only=True, tag="follow-tournaments"):
    """Get `tournaments` now and after every change (at most twice a second), or stop getting it."""

    follow: bool = True


class FollowTournament(Request, frozen=True, kw_only=True, tag="follow-tournament"):
    """Get `tournament` now and after every change (at most twice a second), or stop getting it. A connection follows one tournament.

    round: the round whose tables are sent; null always means the latest one.
    """

    id: TournamentId
    round: RoundNumber | None = None
    follow: bool = True


class EnterTournament(Request, frozen=True, kw_only=True, tag="enter-tournament"):
    """Enter a tournament, also late or again after leaving if its format allows that. Answered by `decided`.

    code: the entry code, if one is needed.
    """

    id: TournamentId
    code: Annotated[str, Meta(max_length=ENTRY_CODE_LENGTH)] | None = None


class LeaveTournament(Request, frozen=True, kw_only=True, tag="leave-tournament"):
    """Withdraw from a tournament: if this player's table has no result yet, they forfeit it. Answered by `decided`."""

    id: TournamentId


class CheckIn(Request, frozen=True, kw_only=True, tag="check-in"):
    """Confirm being here and ready to play, with 16 random bytes for the shuffles of all rounds to come. Answered by `decided`."""

    id: TournamentId
    nonce: Hex16


class AskBye(Request, frozen=True, kw_only=True, tag="ask-bye"):
    """Ask for a half-point bye in a round of a Swiss that is not paired yet, or with `ask` false, take that back. Answered by `decided`."""

    id: TournamentId
    round: RoundNumber
    ask: bool = True


# ---- from the director


class CreateTournament(Request, frozen=True, kw_only=True, tag="create-tournament"):
    """Make a tournament and become its director. Answered by `decided`, which carries its id.

    code: needed to enter; null if everybody may enter.
    """

    options: TournamentOptions
    code: Annotated[str, Meta(min_length=1, max_length=ENTRY_CODE_LENGTH)] | None = None


class StartTournament(Request, frozen=True, kw_only=True, tag="start-tournament"):
    """Open the check-in, or if it is already open or there is none, pair the first round. Answered by `decided`."""

    id: TournamentId


class ExtendCheckIn(Request, frozen=True, kw_only=True, tag="extend-check-in"):
    """Give the open check-in so many more seconds, an hour in all at most. Answered by `decided`."""

    id: TournamentId
    more_s: Annotated[int, Meta(ge=1, le=LONGEST_CHECK_IN_S)]


class PauseTournament(Request, frozen=True, kw_only=True, tag="pause-tournament"):
    """Pause: let running races end, and start nothing new. With `pause` false, continue. Answered by `decided`."""

    id: TournamentId
    pause: bool = True


class PairRound(Request, frozen=True, kw_only=True, tag="pair-round"):
    """Pair round number `round` now; the round before it must be over. Answered by `decided`."""

    id: TournamentId
    round: RoundNumber


class CorrectResult(Request, frozen=True, kw_only=True, tag="correct-result"):
    """Enter, correct or strike the result of a race at a table, as the director. Answered by `decided`.

    race: its number at the table; above 1 if drawn races are run again. result: null strikes it and reopens the race.
    """

    id: TournamentId
    round: RoundNumber
    table: TableNumber
    race: Annotated[int, Meta(ge=1, le=16)] = 1
    result: TableResult | None
    reason: Reason = ""


class RemoveEntrant(Request, frozen=True, kw_only=True, tag="remove-entrant"):
    """Take an entrant out, or with `remove` false, let them back in. Answered by `decided`."""

    id: TournamentId
    entrant: EntrantId
    remove: bool = True
    reason: Reason = ""


class RenameEntrant(Request, frozen=True, kw_only=True, tag="rename-entrant"):
    """Correct the name under which a player takes part. It is theirs in this tournament alone. Answered by `decided`.

    name: cleaned by the server like any player's; nobody else in the tournament may have it.
    """

    id: TournamentId
    entrant: EntrantId
    name: Annotated[str, Meta(min_length=1, max_length=200)]
    reason: Reason = ""


class GiveBye(Request, frozen=True, kw_only=True, tag="give-bye"):
    """Give an entrant a bye in a round of a Swiss that is not paired yet. Answered by `decided`.

    half_points: 2 for a full-point bye, 1 for a half-point one, 0 to take away the one that they have.
    """

    id: TournamentId
    entrant: EntrantId
    round: RoundNumber
    half_points: Annotated[int, Meta(ge=0, le=2)] = 2
    reason: Reason = ""


class AddBot(Request, frozen=True, kw_only=True, tag="add-bot"):
    """Enter a house bot. Answered by `decided`. bot: its name, null for the one in the tournament's options."""

    id: TournamentId
    bot: Annotated[str, Meta(min_length=1, max_length=24)] | None = None


class EndTournament(Request, frozen=True, kw_only=True, tag="end-tournament"):
    """Call off a tournament: running races end, no more rounds are paired, the standings stay. Answered by `decided`."""

    id: TournamentId
    reason: Reason = ""


DirectorRequest: TypeAlias = (
    StartTournament
    | ExtendCheckIn
    | PauseTournament
    | PairRound
    | CorrectResult
    | RemoveEntrant
    | RenameEntrant
    | GiveBye
    | AddBot
    | EndTournament
)
"""A decision about a tournament that is there. Its director may make it on a second connection."""
TournamentRequest: TypeAlias = (
    FollowTournaments | FollowTournament | EnterTournament | LeaveTournament | CheckIn | AskBye | CreateTournament | DirectorRequest
)

# ---- from the server


class Tournaments(Struct, frozen=True, kw_only=True, tag_field="type", tag="tournaments"):
    """The public tournaments, newest first: those that are not over, then the latest of the others, at most 100 in all.

    running: the exact number that are not over, including those that are not public.
    """

    tournaments: tuple[TournamentListing, ...]
    running: int


class Tournament(Struct, frozen=True, kw_only=True, tag_field="type", tag="tournament"):
    """One tournament as it stands. It replaces all that was known about it.

    director, director_name: the director's public player id and name. phase_ms: the time left for the check-in or the pause before the next
    round; null if there is no limit. commitment: to all its secrets, made before anybody contributed to a shuffle.
    rounds: all that are paired; one is over when its `open` is 0. round: the one whose tables are listed, 0 before the first.
    tie_breaks: names of the standings' columns. log: the last 50 decisions, oldest first. decisions: how many there are in all.
    byes: those asked for or given, by round, also of rounds to come.
    """

    id: str
    options: TournamentOptions
    by_code: bool
    director: str
    director_name: str
    phase: TournamentPhase
    phase_ms: int | None
    made_at_ms: int
    commitment: Hex32
    entrants: tuple[TournamentEntrant, ...]
    rounds: tuple[TournamentRound, ...]
    round: int
    tables: tuple[TournamentTable, ...]
    tie_breaks: tuple[str, ...]
    standings: tuple[StandingsRow, ...]
    log: tuple[LoggedDecision, ...]
    decisions: int
    byes: tuple[TournamentBye, ...] = ()
    ref: int = 0


class Called(Struct, frozen=True, kw_only=True, tag_field="type", tag="called"):
    """Tells an entrant that their table waits: leave any room whose race is over, and send `join-race` with `code`. Repeated after `hello`.

    id, name: the tournament's. opponent: a name; empty for the house. bot: which house bot the opponent is, if it is one.
    until_ms: the time left until they forfeit; null if there is no limit.
    """

    id: str
    name: str
    round: int
    table: int
    race: int
    code: str
    opponent: str
    bot: str | None
    until_ms: int | None


class CheckInDue(Struct, frozen=True, kw_only=True, tag_field="type", tag="check-in-due"):
    """Tells an entrant that a check-in is open and waits for them: send `check-in`. Repeated after `hello`, and when it is extended.

    id, name, commitment: the tournament's. left_ms: the time left until they are left out; null once it no longer waits for them.
    """

    id: str
    name: str
    commitment: Hex32
    left_ms: int | None


class Decided(Struct, frozen=True, kw_only=True, tag_field="type", tag="decided"):
    """A tournament request has been carried out and saved. id: the tournament's. number: of the log entry, 0 for making the tournament; if
    nothing had to change, of the last entry. ref: the request's."""

    id: str
    number: int
    ref: int


TournamentMessage: TypeAlias = Tournaments | Tournament | Called | CheckInDue | Decided
