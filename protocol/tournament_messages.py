"""Messages about tournaments: from players, from the director, then from the server. Their values are in `protocol.tournaments`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from protocol.tournaments import (
    EntrantId,
    LoggedDecision,
    Reason,
    RoundNumber,
    StandingsRow,
    TableNumber,
    TableResult,
    TournamentEntrant,
    TournamentId,
    TournamentListing,
    TournamentOptions,
    TournamentPhase,
    TournamentRound,
    TournamentTable,
)
from protocol.views import Hex16, Request

# ---- from players


class FollowTournaments(Request, frozen=True, kw_only=True, tag="follow-tournaments"):
    """Ask for `tournaments` now and on every change (at most two a second), or stop it."""

    follow: bool = True


class FollowTournament(Request, frozen=True, kw_only=True, tag="follow-tournament"):
    """Ask for `tournament` now and on every change (at most two a second), or stop it. A connection follows one tournament.

    round: the round whose tables are told; null for the last one, whichever that is.
    """

    id: TournamentId
    round: RoundNumber | None = None
    follow: bool = True


class EnterTournament(Request, frozen=True, kw_only=True, tag="enter-tournament"):
    """Play in it; also late, or again after leaving, where its format allows that. Answered by `decided`.

    code: where entering asks for one.
    """

    id: TournamentId
    code: Annotated[str, Meta(max_length=32)] | None = None


class LeaveTournament(Request, frozen=True, kw_only=True, tag="leave-tournament"):
    """Play in it no more: a table of this player's without a result is forfeited. Answered by `decided`."""

    id: TournamentId


class CheckIn(Request, frozen=True, kw_only=True, tag="check-in"):
    """Here, and ready to play, with this player's 16 random bytes for the shuffles of all rounds to come. Answered by `decided`."""

    id: TournamentId
    nonce: Hex16


# ---- from the director


class CreateTournament(Request, frozen=True, kw_only=True, tag="create-tournament"):
    """Make a tournament and be its director. Answered by `decided`, which has its id.

    code: what entering asks for; null where everybody may enter.
    """

    options: TournamentOptions
    code: Annotated[str, Meta(min_length=1, max_length=32)] | None = None


class StartTournament(Request, frozen=True, kw_only=True, tag="start-tournament"):
    """Open the check-in; when it is open already, or there is none, pair the first round. Answered by `decided`."""

    id: TournamentId


class PauseTournament(Request, frozen=True, kw_only=True, tag="pause-tournament"):
    """Let running races end and start nothing new; or, with `pause` false, go on. Answered by `decided`."""

    id: TournamentId
    pause: bool = True


class PairRound(Request, frozen=True, kw_only=True, tag="pair-round"):
    """Pair round number `round` now, when the one before is over. Answered by `decided`."""

    id: TournamentId
    round: RoundNumber


class CorrectResult(Request, frozen=True, kw_only=True, tag="correct-result"):
    """The director's word on a race at a table: enters, corrects or strikes its result. Answered by `decided`.

    race: of the table, above 1 where drawn ones are run again. result: null strikes it, and the race is open again.
    """

    id: TournamentId
    round: RoundNumber
    table: TableNumber
    race: Annotated[int, Meta(ge=1, le=16)] = 1
    result: TableResult | None
    reason: Reason = ""


class RemoveEntrant(Request, frozen=True, kw_only=True, tag="remove-entrant"):
    """Take an entrant out, or with `remove` false let one who is out back in. Answered by `decided`."""

    id: TournamentId
    entrant: EntrantId
    remove: bool = True
    reason: Reason = ""


class AddBot(Request, frozen=True, kw_only=True, tag="add-bot"):
    """Let a house bot enter. Answered by `decided`. bot: its name, null for the one of the tournament's options."""

    id: TournamentId
    bot: Annotated[str, Meta(min_length=1, max_length=24)] | None = None


class EndTournament(Request, frozen=True, kw_only=True, tag="end-tournament"):
    """Break it off: races that are being run end, nothing is paired any more, the standings stay. Answered by `decided`."""

    id: TournamentId
    reason: Reason = ""


TournamentRequest: TypeAlias = (
    FollowTournaments
    | FollowTournament
    | EnterTournament
    | LeaveTournament
    | CheckIn
    | CreateTournament
    | StartTournament
    | PauseTournament
    | PairRound
    | CorrectResult
    | RemoveEntrant
    | AddBot
    | EndTournament
)

# ---- from the server


class Tournaments(Struct, frozen=True, kw_only=True, tag_field="type", tag="tournaments"):
    """The public tournaments, newest first: those that are not over, then the latest of the others, at most 100 in all.

    running: how many are not over, exactly, those that are not public too.
    """

    tournaments: tuple[TournamentListing, ...]
    running: int


class Tournament(Struct, frozen=True, kw_only=True, tag_field="type", tag="tournament"):
    """One tournament as it stands; it replaces all that was known of it.

    director, director_name: the public id of the player who directs it, and their name. phase_ms: what is left of the check-in or of the
    pause before the next round; null where nothing runs out. commitment: of all its secrets, from before anybody put anything in.
    rounds: all that are paired; a client knows by `open` whether one is over. round: the one whose tables are told, 0 before the first.
    tie_breaks: names of the standings' columns. log: the last 50 decisions, oldest first. decisions: how many there are.
    """

    id: str
    options: TournamentOptions
    by_code: bool
    director: str
    director_name: str
    phase: TournamentPhase
    phase_ms: int | None
    made_at_ms: int
    commitment: str
    entrants: tuple[TournamentEntrant, ...]
    rounds: tuple[TournamentRound, ...]
    round: int
    tables: tuple[TournamentTable, ...]
    tie_breaks: tuple[str, ...]
    standings: tuple[StandingsRow, ...]
    log: tuple[LoggedDecision, ...]
    decisions: int
    ref: int = 0


class Called(Struct, frozen=True, kw_only=True, tag_field="type", tag="called"):
    """To an entrant whose table waits for them: leave whatever room that is over, and send `join-race` with `code`. After a hello again.

    id, name: of the tournament. opponent: a name; empty for the house. bot: the opponent's house bot, if it is one.
    until_ms: what is left until they forfeit; null when nothing runs out.
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


class Decided(Struct, frozen=True, kw_only=True, tag_field="type", tag="decided"):
    """What was asked of a tournament is decided and kept. id: of the tournament. number: in its log, 0 for its making; of the
    last entry, where all was so already. ref: of what it answers."""

    id: str
    number: int
    ref: int


TournamentMessage: TypeAlias = Tournaments | Tournament | Called | Decided
