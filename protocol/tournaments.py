"""The values of tournaments: options, entrants, rounds, tables and standings, and the document that is given out over HTTP.

Entrants are named by id: a player's public one, or `bot:NAME:NUMBER` for a house bot that fills a seat. There are no fractions on the wire:
points are counted in halves, tie-breaks in quarters.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from msgspec import Meta, Struct

from protocol.views import RATED_DELAY_S, Hex16, Hex32, HomeCount, SeatState

MAX_ENTRANTS = 256
MAX_ROUNDS = 512
"""A double round robin of all entrants has 510."""
TITLE_LENGTH = 60
"""The most characters in a tournament's name."""
ENTRY_CODE_LENGTH = 32
"""The most characters in the word that a tournament may want of whoever enters."""
REASON_LENGTH = 200
LONGEST_CHECK_IN_S = 3600
"""The most seconds that a check-in takes, with all that its director adds."""
LISTED_TOURNAMENTS = 100
"""The most tournaments in one list."""
LISTED_DECISIONS = 50
"""How many of the last decisions a `tournament` tells. The document over HTTP has all of them."""

TournamentFormat = Literal["swiss", "round-robin", "elimination", "session"]
"""swiss: a fixed number of rounds, against opponents with about the same score. round-robin: everybody meets everybody. elimination: the
winner goes on. session: everybody plays the same deals alone, and each deal won is a point."""

TournamentPhase = Literal["registration", "check-in", "running", "between", "paused", "over", "ended"]
"""check-in: entrants confirm that they are here. running: a round is being run. between: the next round is not paired yet. paused: nothing
new starts. over: played to its end. ended: called off by the director."""

Verdict = Literal["first", "second", "draw", "neither"]
"""The result of a table: which side won. neither: both forfeited."""

Title = Annotated[str, Meta(min_length=1, max_length=200)]
Reason = Annotated[str, Meta(max_length=400)]
EntrantId = Annotated[str, Meta(min_length=1, max_length=64)]
TournamentId = Annotated[str, Meta(min_length=1, max_length=16)]
"""Six letters, as somebody typed them."""
RoundNumber = Annotated[int, Meta(ge=1, le=MAX_ROUNDS)]
TableNumber = Annotated[int, Meta(ge=1, le=MAX_ENTRANTS)]

_TOURNAMENT_ID = re.compile(r"[A-Z]{6}")


def is_tournament_id(text: str) -> bool:
    """Whether the text has the form of a tournament's id, so that it is safe in a path and as a file name."""
    return _TOURNAMENT_ID.fullmatch(text) is not None


class TournamentOptions(Struct, frozen=True, kw_only=True):
    """What the maker of a tournament chooses.

    name: cleaned by the server to at most 60 printable characters. format: decides which of the next three fields are used.
    rounds: the rounds of a Swiss, or the deals of a session. 0 means as many as needed (Swiss: until at most one entrant has no loss;
    session: 5), fixed when the first round is paired. double: in a round robin, everybody meets everybody twice; in an elimination, it
    takes two losses to be out. replays: how often at most a drawn knock-out match is run again.
    rules, time_limit_s, countdown_s, grace_s, delay_s, rated: for its races, as in `RaceOptions`.
    byes: in a Swiss, how many half-point byes each entrant may ask for, of rounds that are not paired yet; none in the last round.
    places: the most entrants, bots included. fill: when the first round is paired, bots enter until there are this many entrants.
    bot: the house bot that fills seats and plays those with a bye.
    public: whether it is listed.
    check_in_s: seconds for checking in, with those that the director has added; 0 means that everybody who has entered plays. no_show_s:
    seconds after the call until players not at their table forfeit. pause_s: seconds between two rounds; null if the director decides when
    to pair the next one.
    """

    name: Title
    format: TournamentFormat = "swiss"
    rounds: Annotated[int, Meta(ge=0, le=100)] = 0
    double: bool = False
    replays: Annotated[int, Meta(ge=0, le=10)] = 2
    rules: Annotated[str, Meta(min_length=1, max_length=32)] = "carpet"
    time_limit_s: Annotated[int, Meta(ge=10, le=3600)] = 600
    countdown_s: Annotated[int, Meta(ge=1, le=10)] = 3
    grace_s: Annotated[int, Meta(ge=5, le=600)] = 60
    delay_s: Annotated[int, Meta(ge=0, le=600)] = RATED_DELAY_S
    rated: bool = True
    byes: Annotated[int, Meta(ge=0, le=10)] = 0
    places: Annotated[int, Meta(ge=2, le=MAX_ENTRANTS)] = MAX_ENTRANTS
    fill: Annotated[int, Meta(ge=0, le=MAX_ENTRANTS)] = 0
    bot: Annotated[str, Meta(min_length=1, max_length=24)] = "random"
    public: bool = True
    check_in_s: Annotated[int, Meta(ge=0, le=LONGEST_CHECK_IN_S)] = 120
    no_show_s: Annotated[int, Meta(ge=5, le=3600)] = 120
    pause_s: Annotated[int, Meta(ge=0, le=3600)] | None = 20


class TournamentListing(Struct, frozen=True, kw_only=True):
    """One tournament in a list. director: their name. entrants: how many have entered and not withdrawn. by_code: entering needs a code.

    round: the last one paired, 0 before the first.
    """

    id: str
    name: str
    director: str
    format: TournamentFormat
    rules: str
    phase: TournamentPhase
    entrants: int
    places: int
    by_code: bool
    round: int
    made_at_ms: int


class TableResult(Struct, frozen=True, kw_only=True):
    """The result of one race at a table. first_home, second_home: cards home. forfeit: the race was not run, or not finished.

    ruled: the director gave it, whatever was raced. walkover: one side gave the race up, or was away too long. The server alone says these.
    """

    verdict: Verdict
    first_home: HomeCount = 0
    second_home: HomeCount = 0
    forfeit: bool = False
    ruled: bool = False
    walkover: bool = False


class TournamentEntrant(Struct, frozen=True, kw_only=True):
    """A player or bot in the tournament. seed: from 1, the best rated first. rating: when they entered; null without one. bot: its name.

    checked_in: has confirmed being here. withdrawn: no longer plays. here: connected now; bots always are.
    first_round: the first one they play; above 1 for a late entry.
    out: why they no longer play: `withdrew`, `not-checked-in`, `missed` (their tables, in two rounds running), `removed` (by the director)
    or `banned`; empty while they play. There may be more words. out_reason: what the director or host said of it.
    entered_as: the name under which they entered, if the director has corrected it; empty if not.
    """

    id: str
    name: str
    seed: int
    rating: int | None
    bot: str | None
    checked_in: bool
    withdrawn: bool
    here: bool
    first_round: int
    out: str = ""
    out_reason: str = ""
    entered_as: str = ""


class TournamentRound(Struct, frozen=True, kw_only=True):
    """One round. commitment: SHA-256 of its shuffle's secret. nonce: all its entrants' nonces combined. secret: null until it is over.

    tables: how many there are. open: how many of them have no result yet.
    """

    number: int
    commitment: str
    nonce: str
    secret: str | None
    tables: int
    open: int
    paired_at_ms: int


class TournamentBye(Struct, frozen=True, kw_only=True):
    """An entrant is not paired in a round, and scores half_points, 1 or 2. Until the round is paired it can be taken back."""

    round: int
    entrant: str
    half_points: int


class TournamentSide(Struct, frozen=True, kw_only=True):
    """How one side stands in its table's current race. present: sits at the table. home: cards home. ready: to begin."""

    entrant: str | None
    name: str
    present: bool
    state: SeatState
    home: HomeCount
    ready: bool


class TableDocument(Struct, frozen=True, kw_only=True):
    """One table of a round, with all its results.

    first, second: entrants; second is null for the house, which plays those with a bye, and everybody in a session. counted: false
    for a bye that counts for nothing. match: its name in a bracket, such as W1-3; else empty. result: null while the table is open.
    races: one result for each race. race_ids: ids of the races that were kept; their records can be read once the round is over.
    """

    table: int
    first: str
    second: str | None
    counted: bool
    match: str
    result: TableResult | None
    races: tuple[TableResult, ...]
    race_ids: tuple[str, ...]


class TournamentTable(TableDocument, frozen=True, kw_only=True):
    """A table as sent in `tournament`, with its current race.

    race: the number of the current or last race. code: the room's, null if there is none. sides: as they stand in that room.
    elapsed_ms: since the start of that race. no_show_ms: the time left until players not at this table forfeit; null if nobody is missing.
    """

    race: int
    code: str | None
    sides: tuple[TournamentSide, ...]
    elapsed_ms: int
    no_show_ms: int | None


class StandingsRow(Struct, frozen=True, kw_only=True):
    """One entrant in the standings.

    place: from 1; equal entrants share one. half_points: points, in halves. tie_breaks: in the order of the tournament's `tie_breaks`, in
    quarters; more is better, except that `direct-encounter` is a place. won, drawn, lost: tables. home: cards home in them.
    """

    place: int
    entrant: str
    half_points: int
    tie_breaks: tuple[int, ...]
    won: int
    drawn: int
    lost: int
    home: int
    withdrawn: bool


class LoggedDecision(Struct, frozen=True, kw_only=True):
    """One entry in the log. number: from 1, without gaps. at_ms: Unix time. author: the name of who decided; empty for the server.

    kind: one word, such as enter, withdraw, pair, result, correct. text: a sentence. reason: the director's, may be empty.
    """

    number: int
    at_ms: int
    author: str
    kind: str
    text: str
    reason: str


# ---- over HTTP


class EntrantDocument(Struct, frozen=True, kw_only=True):
    """An entrant as stored. nonce: their contribution to the shuffles, null before they check in. rating: when they entered.

    withdrawn_after: how many rounds were paired when they withdrew; null while they play. entered_as: as in `TournamentEntrant`.
    """

    id: str
    name: str
    seed: int
    rating: int | None
    bot: str | None
    nonce: Hex16 | None
    withdrawn: bool
    first_round: int
    withdrawn_after: int | None = None
    entered_as: str = ""


class RoundDocument(Struct, frozen=True, kw_only=True):
    """A round with all its tables; see `TournamentRound`. nonces: those that `nonce` was made from, in order."""

    number: int
    commitment: str
    nonces: tuple[str, ...]
    nonce: str
    secret: Hex32 | None
    paired_at_ms: int
    tables: tuple[TableDocument, ...]


class TournamentDocument(Struct, frozen=True, kw_only=True):
    """All of a tournament, except who is connected now. format: this document's version, 1. commitment: to the secrets of all rounds.

    byes: those asked for or given, by round; not those that follow from an odd field, which are tables.
    """

    format: int
    id: str
    options: TournamentOptions
    by_code: bool
    director: str
    phase: TournamentPhase
    made_at_ms: int
    commitment: str
    entrants: tuple[EntrantDocument, ...]
    rounds: tuple[RoundDocument, ...]
    tie_breaks: tuple[str, ...]
    standings: tuple[StandingsRow, ...]
    log: tuple[LoggedDecision, ...]
    byes: tuple[TournamentBye, ...] = ()


class TournamentsDocument(Struct, frozen=True, kw_only=True):
    """The public tournaments, newest first: those that are not over, then the latest of the others, at most 100 in all."""

    tournaments: tuple[TournamentListing, ...]
