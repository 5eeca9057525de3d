"""Messages about deals that players run alone, in their own time: first the values they carry, then requests, then answers."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from protocol.views import DealId, Hex16, Hex32, Request, RoomCode, RunKind, SeatNumber, SeatState


class RunRow(Struct, frozen=True, kw_only=True):
    """One run that has ended, on the board of its deal.

    place: from 1, by the rules for places in a race; equal runs share it. race: the record's id. player: the public id. name: as of then.
    home: cards home, reached at home_at_ms. plies: moves made. home_at_ms, ended_at_ms: from the start of the run.
    beats: how many in a hundred of the other runs it is better than, rounded down; null where there is no other.
    days, days_won: the player's days in a row under these rules up to this one, with a run, and with every card home; 0 in a challenge.
    """

    place: int
    race: str
    player: str
    name: str
    state: SeatState
    home: int
    plies: int
    home_at_ms: int
    ended_at_ms: int
    beats: int | None
    days: int = 0
    days_won: int = 0


class DailyDeal(Struct, frozen=True, kw_only=True):
    """What is known of the deals of one day in UTC, all rule sets' alike. made_at_ms: when the server committed to them, Unix time.

    secret: once it is revealed, at reveals_at_ms; null before.
    """

    date: str
    commitment: Hex32
    made_at_ms: int
    reveals_at_ms: int
    secret: Hex32 | None


class ChallengeInfo(Struct, frozen=True, kw_only=True):
    """A deal that somebody has opened for others to run, each once and at their own time.

    id: six letters. owner: the name of who has opened it. closes_at_ms: until when a run may begin; reveals_at_ms: when the secret and all
    records are anybody's to see; both Unix time. runs: how many have ended. ran: whether the one who asks has had theirs.
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
    """Ask for what the server has committed to: the deals of today and of the next days, and of days gone by. Answered by `dailies`."""


class RunDaily(Request, frozen=True, kw_only=True, tag="run-daily"):
    """Run today's deal of this rule set, or go on with one's run of it. Answered by `room`. One run counts, and there is no other."""

    rules: Annotated[str, Meta(min_length=1, max_length=32)] = "carpet"


class OpenChallenge(Request, frozen=True, kw_only=True, tag="open-challenge"):
    """Have a deal settled that others run later, each once, beside those who ran it before. Answered by `challenge`.

    nonce: 16 random bytes, which go into the shuffle together with a secret of the server's. public: listed for everybody.
    closes_in_s: seconds from now in which a run may begin; an hour to 30 days.
    """

    nonce: Hex16
    rules: Annotated[str, Meta(min_length=1, max_length=32)] = "carpet"
    time_limit_s: Annotated[int, Meta(ge=10, le=3600)] = 600
    public: bool = True
    closes_in_s: Annotated[int, Meta(ge=3600, le=30 * 24 * 3600)] = 7 * 24 * 3600


class ListChallenges(Request, frozen=True, kw_only=True, tag="list-challenges"):
    """Ask for the challenges that can be run, and for one's own. Answered by `challenges`. token: as in who-am-i."""

    token: Annotated[str, Meta(max_length=64)] | None = None


class RunChallenge(Request, frozen=True, kw_only=True, tag="run-challenge"):
    """Run a challenge, or go on with one's run of it. Answered by `room`."""

    id: RoomCode


class ListRuns(Request, frozen=True, kw_only=True, tag="list-runs"):
    """Ask for the board of a deal. Answered by `runs`, which has its lines for who has had their run, and for all once it is revealed.

    id: of the deal; null for today's deal of the day. rules: of a deal of the day. token: as in who-am-i; with one, no hello is needed
    before.
    """

    kind: RunKind
    id: DealId | None = None
    rules: Annotated[str, Meta(min_length=1, max_length=32)] = "carpet"
    token: Annotated[str, Meta(max_length=64)] | None = None


class PlayOn(Request, frozen=True, kw_only=True, tag="play-on"):
    """Race alone, unrated, from where one seat of a race that is over stood after `ply` moves, beside what it did from there.

    Answered by `room`. race: the id of its record, which must be open to all. seat: from 0.
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
    """The deals of the day, the newest first: those of the next days, committed to already, today's, and the last ones before.

    now_ms: the server's time, Unix.
    """

    now_ms: int
    days: tuple[DailyDeal, ...]
    ref: int = 0


class Challenge(Struct, frozen=True, kw_only=True, tag_field="type", tag="challenge"):
    """The answer to `open-challenge`: give its id to whoever is to run it, or run it first."""

    challenge: ChallengeInfo
    ref: int = 0


class Challenges(Struct, frozen=True, kw_only=True, tag_field="type", tag="challenges"):
    """The challenges that can be run, and those of the asker's that are closed, the newest first: 50 at most. now_ms: as in `dailies`."""

    now_ms: int
    challenges: tuple[ChallengeInfo, ...]
    ref: int = 0


class Runs(Struct, frozen=True, kw_only=True, tag_field="type", tag="runs"):
    """The board of a deal: the answer to `list-runs`.

    runs: how many have ended. shown: whether the asker may see them: their run is over, or it is revealed. rows: the best 100, best first;
    none where it is not shown. own: the asker's line. commitment, reveals_at_ms, secret: as of the deal.
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
