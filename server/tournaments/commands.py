"""From what somebody asks of a tournament to what is decided: who may ask for what, and when. The pairing of a round is asked for apart.

`Ruling.choices` are taken one after another, all or none. `pairs`: the next round is to be paired behind them.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from protocol.client_messages import (
    AddBot,
    CheckIn,
    CorrectResult,
    EndTournament,
    EnterTournament,
    LeaveTournament,
    PairRound,
    PauseTournament,
    RemoveEntrant,
    StartTournament,
)
from protocol.errors import ErrorCode, Refusal
from protocol.text import clean_chat
from protocol.tournaments import REASON_LENGTH, TableResult, TournamentOptions
from server.bots.house import HOUSE_BOTS
from server.tournaments.choices import BrokenOff, CheckedIn, CheckInOpened, Choice, Corrected, Entered, Left, Paused, Resumed, Returned
from server.tournaments.pairing.rounds import Result
from server.tournaments.state import Course, NotNow, PlacesTaken
from server.tournaments.tournament import Refused, UnknownEntrant

EntrantMessage: TypeAlias = EnterTournament | LeaveTournament | CheckIn
DirectorMessage: TypeAlias = StartTournament | PauseTournament | PairRound | CorrectResult | RemoveEntrant | AddBot | EndTournament
AboutOne: TypeAlias = EntrantMessage | DirectorMessage
"""What is asked of one tournament that is there."""


@dataclass(frozen=True, slots=True)
class Asker:
    """rating: as it is now, in points."""

    id: str
    name: str
    rating: int | None


@dataclass(frozen=True, slots=True)
class Ruling:
    choices: tuple[Choice, ...] = ()
    pairs: bool = False


def rule(course: Course, asker: Asker, message: AboutOne) -> Ruling:
    """Raises Refusal; `check` says whether the choices can be taken at all."""
    match message:
        case EnterTournament(code=code):
            return Ruling((_entrance(course, asker, code),))
        case LeaveTournament():
            return Ruling((Left(_entrant(course, asker.id)),))
        case CheckIn(nonce=nonce):
            return _checked_in(course, _entrant(course, asker.id), nonce)
        case _:
            if asker.id != course.director:
                raise Refusal(ErrorCode.NOT_THE_DIRECTOR)
            return _directed(course, message)


def _directed(course: Course, message: DirectorMessage) -> Ruling:
    match message:
        case StartTournament():
            return start(course)
        case PauseTournament(pause=pause):
            return Ruling((Paused() if pause else Resumed(),))
        case PairRound(round=number):
            if course.stage != "playing" or not course.is_round_over or number != course.round + 1 or course.paused:
                raise Refusal(ErrorCode.NOT_NOW, f"round {course.round} is the last one that is paired; the tournament is {course.phase}")
            return Ruling(pairs=True)
        case CorrectResult():
            result = _result(message.result) if message.result is not None else None
            return Ruling((Corrected(message.round, message.table, message.race, result, clean_reason(message.reason)),))
        case RemoveEntrant(entrant=entrant, reason=reason):
            return Ruling((Left(_entrant(course, entrant), clean_reason(reason)),))
        case AddBot(bot=bot):
            return Ruling((course.next_bot(known_bot(bot or course.options.bot)),))
        case EndTournament(reason=reason):
            return Ruling((BrokenOff(clean_reason(reason)),))
    assert_never(message)


def start(course: Course) -> Ruling:
    """The check-in, or after it the first round."""
    if course.stage == "registration" and course.options.check_in_s:
        if not course.tournament.active and not course.options.fill:
            raise Refusal(ErrorCode.NOT_NOW, "nobody has entered")
        return Ruling((CheckInOpened(),))
    if course.stage not in ("registration", "check-in"):
        raise Refusal(ErrorCode.NOT_NOW, f"the tournament is {course.phase}")
    choices = field_settled(course)
    if not taken(course, choices, at_ms=course.since_ms).can_be_paired:
        raise Refusal(ErrorCode.NOT_NOW, "there are too few entrants")
    return Ruling(choices, pairs=True)


def field_settled(course: Course) -> tuple[Choice, ...]:
    """What is decided just before the first round: who has not checked in is out, and bots fill the seats that are wanted."""
    absent = course.absent if course.stage == "check-in" else ()
    gone: tuple[Choice, ...] = tuple(Left(entrant, "did not check in") for entrant in absent)
    settled = taken(course, gone, at_ms=course.since_ms)
    bots: list[Choice] = []
    while len(settled.tournament.active) < min(course.options.fill, course.options.places):
        bot = settled.next_bot(course.options.bot)
        bots.append(bot)
        settled = settled.after(bot, at_ms=course.since_ms)
    return (*gone, *bots)


def time_is_up(course: Course) -> Ruling:
    """What the time alone decides, at `course.next_due_ms`."""
    if course.stage != "check-in":
        return Ruling(pairs=True)
    choices = field_settled(course)
    if taken(course, choices, at_ms=course.since_ms).can_be_paired:
        return Ruling(choices, pairs=True)
    return Ruling((*choices, BrokenOff("too few have checked in")))


def taken(course: Course, choices: Iterable[Choice], *, at_ms: int, author: str | None = None) -> Course:
    """Raises Refused."""
    for choice in choices:
        course = course.after(choice, at_ms=at_ms, author=author)
    return course


def as_refusal(refused: Refused) -> Refusal:
    """For who has asked for it."""
    match refused:
        case NotNow():
            return Refusal(ErrorCode.NOT_NOW, str(refused))
        case PlacesTaken():
            return Refusal(ErrorCode.TOURNAMENT_FULL, str(refused))
        case UnknownEntrant():
            return Refusal(ErrorCode.NOT_ENTERED)
        case _:
            return Refusal(ErrorCode.DECISION_REFUSED, str(refused))


def clean_reason(reason: str) -> str:
    return clean_chat(reason)[:REASON_LENGTH].rstrip()


def known_bot(name: str) -> str:
    """Raises Refusal."""
    if name not in HOUSE_BOTS:
        raise Refusal(ErrorCode.UNKNOWN_BOT, f"there are {', '.join(HOUSE_BOTS)}", path="$.bot")
    return name


def check_made(options: TournamentOptions) -> None:
    """Raises Refusal for options that make no tournament. Those of its races are checked where rooms are (`tables.race_options`)."""
    known_bot(options.bot)
    if options.fill > options.places:
        raise Refusal(
            ErrorCode.BAD_TOURNAMENT, f"{options.fill} seats cannot be filled where there are {options.places}", path="$.options.fill"
        )


def _entrant(course: Course, entrant: str) -> str:
    if entrant not in course.people:
        raise Refusal(ErrorCode.NOT_ENTERED)
    return entrant


def _entrance(course: Course, asker: Asker, code: str | None) -> Choice:
    if asker.id in course.people:
        _check_not_removed(course, asker.id)
        return Returned(asker.id)
    if course.code is not None and not hmac.compare_digest((code or "").encode("utf-8", "surrogatepass"), course.code.encode()):
        raise Refusal(ErrorCode.WRONG_ENTRY_CODE, path="$.code")
    return Entered(asker.id, asker.name, asker.rating)


def _checked_in(course: Course, entrant: str, nonce: str) -> Ruling:
    checked_in = CheckedIn(entrant, nonce)
    if not course.plays(entrant):
        _check_not_removed(course, entrant)
        return Ruling((Returned(entrant), checked_in))
    if course.stage != "check-in":
        return Ruling((checked_in,))
    # The last one to come: nobody is waited for any more.
    here = course.after(checked_in, at_ms=course.since_ms)
    if not here.all_checked_in:
        return Ruling((checked_in,))
    settling = field_settled(here)
    if not taken(here, settling, at_ms=here.since_ms).can_be_paired:
        return Ruling((checked_in,))
    return Ruling((checked_in, *settling), pairs=True)


def _check_not_removed(course: Course, entrant: str) -> None:
    """Raises Refusal: whom the director has removed he alone could let in again."""
    left = next((entry for entry in reversed(course.log) if isinstance(entry.choice, Left) and entry.choice.entrant == entrant), None)
    if left is not None and left.author not in (None, entrant):
        raise Refusal(ErrorCode.NOT_NOW, "the director has removed you")


def _result(said: TableResult) -> Result:
    """Raises Refusal for what no race can come to."""
    try:
        return Result(said.verdict, (said.first_home, said.second_home), forfeit=said.forfeit)
    except ValueError as error:
        raise Refusal(ErrorCode.DECISION_REFUSED, str(error), path="$.result") from error
