"""Messages about deals that players run alone, in their own time: first the values they carry, then requests, then answers."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from protocol.views import DealId, Hex16, Hex32, HomeCount, Request, RoomCode, RunKind, SeatNumber, SeatState, Token, UnixTime


class RunRow(Struct, frozen=True, kw_only=True):
    """One run that has ended, on the board of its deal.

    place: from 1, decided as in a race; equal runs share one. race: the record's id. player: the public id. name: as it was then.
    home: cards home, reached at home_at_ms. plies: moves made. home_at_ms, ended_at_ms: from the start of the run.
    beats: the percentage of other runs that it beats, rounded down; null if there are no others.
    days: how many days in a row, up to this one, the player has run this rule set's deal. days_won: the same with every card home. Both
    are 0 in a challenge.
    """

    place: int
    race: str
    player: str
    name: str
    state: SeatState
    home: HomeCount
    plies: int
    home_at_ms: int
    ended_at_ms: int
    beats: int | None
    days: int = 0
    days_won: int = 0


class DailyDeal(Struct, frozen=True, kw_only=True):
    """What is known about the deals of one day in UTC, for all rule sets. made_at_ms: when the server committed to them, Unix time.

    secret: null until it is revealed, at reveals_at_ms.
    """

    date: DealId
    commitment: Hex32
    made_at_ms: int
    reveals_at_ms: int
    secret: Hex32 | None


class ChallengeInfo(Struct, frozen=True, kw_only=True):
    """A deal that somebody has opened for others to run, each once and in their own time.

    id: six letters. owner: the name of the player who opened it. closes_at_ms: when it becomes too late to begin a run; reveals_at_ms: when
    the secret and all records become public; both Unix time. runs: how many have ended. ran: whether the player asking has had their run.
    """

    id: str
    owner: str
    rules: str
    time_limit_s: int
    public: bool
    commitment: Hex32
    made_at_ms: int
    closes_at_ms: int
    reveals_at_ms: int
    runs: int
    ran: bool


class ListDailies(Request, frozen=True, kw_only=True, tag="list-dailies"):
    """Ask for the deals of the day that the server has committed to: past, today's and the next ones. Answered by `dailies`."""


class RunDaily(Request, frozen=True, kw_only=True, tag="run-daily"):
    """Run today's deal of this rule set, or continue one's run of it. Answered by `room`. Each player has one run, and it counts."""

    rules: Annotated[str, Meta(min_length=1, max_length=32)] = "carpet"


class OpenChallenge(Request, frozen=True, kw_only=True, tag="open-challenge"):
    """Fix a deal for others to run later, each once, beside those who ran it before. Answered by `challenge`.

    nonce: 16 random bytes, which go into the shuffle together with the server's secret. public: listed for everybody.
    closes_in_s: for how many seconds from now a run may begin: an hour to 30 days.
    """

    nonce: Hex16
    rules: Annotated[str, Meta(min_length=1, max_length=32)] = "carpet"
    time_limit_s: Annotated[int, Meta(ge=10, le=3600)] = 600
    public: bool = True
    closes_in_s: Annotated[int, Meta(ge=3600, le=30 * 24 * 3600)] = 7 * 24 * 3600


class ListChallenges(Request, frozen=True, kw_only=True, tag="list-challenges"):
    """Ask for the challenges that can be run, and for one's own. Answered by `challenges`. token: as in `who-am-i`."""

    token: Token | None = None


class RunChallenge(Request, frozen=True, kw_only=True, tag="run-challenge"):
    """Run a challenge, or continue one's run of it. Answered by `room`."""

    id: RoomCode


class ListRuns(Request, frozen=True, kw_only=True, tag="list-runs"):
    """Ask for the board of a deal. Answered by `runs`, with its rows for those who have had their run, and for all once it is revealed.

    id: the deal's; null for today's deal of the day. rules: for a deal of the day, its rule set. token: as in `who-am-i`; with one, no
    `hello` is needed first.
    """

    kind: RunKind
    id: DealId | None = None
    rules: Annotated[str, Meta(min_length=1, max_length=32)] = "carpet"
    token: Token | None = None


class PlayOn(Request, frozen=True, kw_only=True, tag="play-on"):
    """Play on alone, unrated, from where one seat of a finished race stood after `ply` moves, beside what that seat did next.

    Answered by `room`. race: the id of its record, which must be public. seat: from 0.
    """

    race: Annotated[str, Meta(min_length=1, max_length=64)]
    seat: SeatNumber
    ply: Annotated[int, Meta(ge=0, lt=2**31)]


RunQuestion: TypeAlias = ListDailies | OpenChallenge | ListChallenges | ListRuns
"""Requests that are looked up and answered with what is found."""
RunStart: TypeAlias = RunDaily | RunChallenge | PlayOn
"""Requests that are answered with a room to run in."""
RunRequest: TypeAlias = ListDailies | RunDaily | OpenChallenge | ListChallenges | RunChallenge | ListRuns | PlayOn

# ---- answers


class Dailies(Struct, frozen=True, kw_only=True, tag_field="type", tag="dailies"):
    """The deals of the day, newest first: those already committed to for the next days, today's, and the most recent past ones.

    now_ms: the server's Unix time.
    """

    now_ms: UnixTime
    days: tuple[DailyDeal, ...]
    ref: int = 0


class Challenge(Struct, frozen=True, kw_only=True, tag_field="type", tag="challenge"):
    """The answer to `open-challenge`: give its id to those who should run it, or run it first."""

    challenge: ChallengeInfo
    ref: int = 0


class Challenges(Struct, frozen=True, kw_only=True, tag_field="type", tag="challenges"):
    """The challenges that can be run, and the asker's own closed ones, newest first: at most 50. now_ms: as in `dailies`."""

    now_ms: int
    challenges: tuple[ChallengeInfo, ...]
    ref: int = 0


class Runs(Struct, frozen=True, kw_only=True, tag_field="type", tag="runs"):
    """The board of a deal: the answer to `list-runs`.

    runs: how many have ended. shown: whether the asker may see them: their own run is over, or the deal is revealed. rows: the best 100,
    best first; empty if not shown. own: the asker's row. commitment, reveals_at_ms, secret: the deal's.
    """

    kind: RunKind
    id: str
    rules: str
    runs: int
    shown: bool
    rows: tuple[RunRow, ...]
    own: RunRow | None
    commitment: str
    reveals_at_ms: int
    secret: str | None
    ref: int = 0


RunMessage: TypeAlias = Dailies | Challenge | Challenges | Runs
