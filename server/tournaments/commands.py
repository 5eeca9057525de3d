"""Turns commands into the events they cause: who may ask for what, and when. A command is a wire message about a tournament, or the clock.

`Decision.events` happen one after another, all or none. `pairs`: pair the next round after them.
"""

from __future__ import annotations

import hmac
import itertools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from protocol.errors import ErrorCode, Refusal
from protocol.text import clean_chat
from protocol.tournament_messages import (
    AddBot,
    AskBye,
    CheckIn,
    CorrectResult,
    DirectorRequest,
    EndTournament,
    EnterTournament,
    ExtendCheckIn,
    GiveBye,
    LeaveTournament,
    PairRound,
    PauseTournament,
    RemoveEntrant,
    RenameEntrant,
    StartTournament,
)
from protocol.tournaments import LONGEST_CHECK_IN_S, REASON_LENGTH, TableResult, TournamentOptions
from protocol.watch_messages import AskBoardsKey, BoardsKey
from server.bots.house import HOUSE_BOTS
from server.lobby.players import cleaned_name
from server.rooms.member import Member
from server.rules.catalogue import rule_set
from server.store.port import name_key
from server.tournaments.byes import asked_bye, given_bye
from server.tournaments.events import (
    BANNED,
    NO_CHECK_IN,
    BoardsKeyGiven,
    ByeGiven,
    CalledOff,
    CheckedIn,
    CheckInExtended,
    CheckInOpened,
    Entered,
    EntrantRenamed,
    Event,
    Finished,
    Paused,
    ResultCorrected,
    Resumed,
    Returned,
    TableRaceAborted,
    Withdrawn,
)
from server.tournaments.pairing.crosstable import Refused, TableRace, UnknownEntrant
from server.tournaments.pairing.rounds import RaceResult
from server.tournaments.state import STAGE_SENTENCES, NotNow, Person, PlacesTaken, TournamentState
from server.tournaments.tables import race_options
from server.tournaments.views import LiveTable

OWN_DECISIONS: Final = 100
"""Who has caused so many events about themselves, by entering, checking in, asking for byes and leaving, cannot enter or ask again."""

OWN_DECISIONS_OF_ALL: Final = 5_000
"""After so many of all entrants together, nobody who has left comes back by themselves. Several times what 256 of them need. Who comes for
the first time, or is forgotten, always may: otherwise a few who come and go under ever new names would keep everybody out."""

DIRECTORS_DECISIONS: Final = 5_000
"""After so many by its director, it can only be brought to its end: each stays in the log, which a server that starts goes through."""

RENAMES: Final = 5
"""Of each entrant. More than slips of the pen need, and each name stays in the log."""

NEWCOMERS_OF_PLACE: Final = 512
"""From one address so many may come who are not in the crosstable. Twice what a tournament takes at most: they may all be in one hall."""

EntrantCommand: TypeAlias = EnterTournament | LeaveTournament | CheckIn | AskBye
TournamentCommand: TypeAlias = EntrantCommand | DirectorRequest


@dataclass(frozen=True, slots=True)
class Asker:
    """rating: their present one, in points. place: the part of their address that counts as one (IPv4 address, IPv6 /64); or None."""

    id: str
    name: str
    rating: int | None
    place: str | None = None


@dataclass(frozen=True, slots=True)
class AskedCommand:
    """A command, and the member through whom it is answered. answer: None for `decided`."""

    member: Member
    asker: Asker
    command: TournamentCommand | AskBoardsKey
    answer: BoardsKey | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """events: empty if everything is already as asked for."""

    events: tuple[Event, ...] = ()
    pairs: bool = False


def decide(state: TournamentState, asker: Asker, command: TournamentCommand | AskBoardsKey, *, newcomers: int = 0) -> Decision:
    """newcomers: how many have come from the asker's place, as by `comes_anew`. Raises Refusal. `TournamentState.after` says whether the
    events can happen."""
    plays = state.crosstable.plays(asker.id)
    if asker.id == state.director:
        _check_directors_decisions(state, command)
    elif isinstance(command, EnterTournament | CheckIn) and not plays:
        _check_own_decisions(state, asker.id)
        if newcomers >= NEWCOMERS_OF_PLACE and comes_anew(state, asker):
            raise Refusal(ErrorCode.NOT_NOW, "too many players have entered from your address, so no others can")
    match command:
        case EnterTournament() if plays and not state.is_closed:
            raise Refusal(ErrorCode.DECISION_REFUSED, "you have entered already")
        case EnterTournament(code=code):
            if asker.id not in state.people:
                # Whoever comes back may have a table of the last round, which the director can open again.
                _check_plays_on(state)
            return Decision((_entry(state, asker, code),))
        case LeaveTournament() if asker.id in state.people and not plays and not state.is_closed:
            raise Refusal(ErrorCode.DECISION_REFUSED, "you have left already")
        case LeaveTournament():
            return _settled_by(state, Withdrawn(_entrant(state, asker.id)))
        case CheckIn(nonce=nonce):
            return _check_in(state, _entrant(state, asker.id), nonce)
        case AskBye(round=number, ask=ask):
            entrant = _entrant(state, asker.id)
            _check_own_byes(state, entrant)
            return _settled_by(state, asked_bye(state, entrant, number, ask=ask))
        case _:
            if asker.id != state.director:
                raise Refusal(ErrorCode.NOT_THE_DIRECTOR)
            return _directed(state, command)


def comes_anew(state: TournamentState, asker: Asker) -> bool:
    """Whether their next entry adds a row to the crosstable."""
    return asker.id not in state.crosstable.entrants


def rated_races(state: TournamentState, live: Mapping[int, LiveTable], here: Collection[int], unseen: Collection[int]) -> tuple[int, ...]:
    """The tables whose race counts for ratings and has begun, or may have, and is not over.

    live: the rooms that are known, by table. here: the tables of those that are known to the moment; of others one hears a little late.
    unseen: those whose race may be going on although nothing is heard of it.
    """
    if not race_options(state.options).counts:
        return ()
    open_ = {race.pairing.table: race.pairing.entrants for race in state.crosstable.open_races}
    people = [table for table, both in open_.items() if len(both) > 1 and all(state.people[each].bot is None for each in both)]

    def may_race(table: int) -> bool:
        if table not in live:
            return table in unseen
        sides = live[table].sides
        return all(side.state != "waiting" or (side.ready and table not in here) for side in sides)

    return tuple(filter(may_race, people))


def check_run_on(racing: Iterable[int], state: TournamentState, events: Iterable[Event]) -> None:
    """Raise Refusal if these events would end the race at one of these tables.

    It would count for nothing. So whoever is about to lose a rated race could keep their rating by leaving the tournament, or a friend who
    directs it could see to that.
    """
    before, after = _races_by_table(state), _races_by_table(state.after_all(events, at_ms=state.since_ms))
    ended = [table for table in racing if before.get(table) != after.get(table)]
    if ended:
        sentence = f"the race at table {ended[0]} counts for ratings, so it is run to its end; its players can resign"
        raise Refusal(ErrorCode.NOT_NOW, sentence)


def _races_by_table(state: TournamentState) -> dict[int, tuple[TableRace, int]]:
    return {race.pairing.table: (race, state.deal_number(race.key)) for race in state.wanted()}


def _check_own_decisions(state: TournamentState, player: str) -> None:
    """Raises Refusal. There is a limit because the log stays in memory, and everything in it for good."""
    own = state.people[player].own_decisions if player in state.people else 0
    if own >= OWN_DECISIONS:
        raise Refusal(ErrorCode.NOT_NOW, "you have entered and left too often; its director can still let you in or take you out")
    if own and state.own_decisions >= OWN_DECISIONS_OF_ALL:
        raise Refusal(ErrorCode.NOT_NOW, "players have entered and left too often; its director can still let you in")


def _check_directors_decisions(state: TournamentState, command: TournamentCommand | AskBoardsKey) -> None:
    """Raises Refusal. The state cannot refuse this, because existing logs may hold more."""
    match command:
        case StartTournament() | PairRound() | PauseTournament(pause=False) | EndTournament() | AskBoardsKey():
            return
        case RemoveEntrant(remove=True) | LeaveTournament():
            # Somebody has to be let in for each of these.
            return
    most = DIRECTORS_DECISIONS
    if len(state.log) >= most and sum(entry.author == state.director for entry in state.log) >= most:
        sentence = f"its director has decided {most:,} things, and can now only start it, go on with it, take entrants out and end it"
        raise Refusal(ErrorCode.DECISION_REFUSED, sentence)


def _check_own_byes(state: TournamentState, player: str) -> None:
    """The same for byes, which are counted apart: whoever asks for them again and again keeps nobody from coming back. Raises Refusal."""
    asked = [entry.author for entry in state.log if isinstance(entry.event, ByeGiven) and entry.author == entry.event.entrant]
    if state.people[player].own_decisions >= OWN_DECISIONS or (player in asked and len(asked) >= OWN_DECISIONS_OF_ALL):
        raise Refusal(ErrorCode.NOT_NOW, "byes have been asked for too often; its director can still give or take away one")


def _directed(state: TournamentState, command: DirectorRequest | AskBoardsKey) -> Decision:
    match command:
        case StartTournament():
            return _start(state)
        case ExtendCheckIn(more_s=more_s):
            return _extend(state, more_s)
        case PauseTournament(pause=pause):
            return Decision((Paused() if pause else Resumed(),))
        case PairRound(round=number):
            if state.stage != "playing" or not state.is_round_over or number != state.round + 1 or state.paused:
                raise Refusal(ErrorCode.NOT_NOW, _why_not_paired(state, number))
            return Decision(pairs=True)
        case CorrectResult():
            return Decision(_on_a_fresh_shuffle(state, _correction(state, command)))
        case RemoveEntrant(entrant=entrant, remove=remove, reason=reason):
            known, why = _entrant(state, entrant), clean_reason(reason)
            if state.crosstable.plays(known) is not remove and not state.is_closed:
                sentence = f"{state.people[known].name} {'is out already' if remove else 'is in already'}"
                raise Refusal(ErrorCode.DECISION_REFUSED, sentence)
            return _settled_by(state, Withdrawn(known, why)) if remove else Decision((Returned(known, why),))
        case RenameEntrant(entrant=entrant, name=name, reason=reason):
            return _renamed(state, _entrant(state, entrant), name, clean_reason(reason))
        case GiveBye(entrant=entrant, round=number, half_points=half_points, reason=reason):
            return _settled_by(state, given_bye(state, ByeGiven(_entrant(state, entrant), number, half_points, clean_reason(reason))))
        case AddBot(bot=bot):
            _check_plays_on(state)
            return Decision((next_bot(state, known_bot(bot or state.options.bot)),))
        case EndTournament(reason=reason):
            return Decision((CalledOff(clean_reason(reason)),))
        case AskBoardsKey():
            if state.director in state.people:
                # They may have entered since they asked.
                raise Refusal(ErrorCode.NO_KEY)
            return Decision(() if _has_boards_key(state, state.director) else (BoardsKeyGiven(),))
    assert_never(command)


def _renamed(state: TournamentState, entrant: str, wanted: str, reason: str) -> Decision:
    person, name = state.people[entrant], cleaned_name(wanted)
    if person.bot is not None:
        raise Refusal(ErrorCode.DECISION_REFUSED, "house bots keep their names")
    if name == person.name:
        raise Refusal(ErrorCode.DECISION_REFUSED, f"they are called {name} already")
    if name_key(name) != name_key(person.name) and name_key(name) in state.names:
        raise Refusal(ErrorCode.DECISION_REFUSED, f"somebody else in it is called {name}", path="$.name")
    if sum(isinstance(entry.event, EntrantRenamed) and entry.event.entrant == entrant for entry in state.log) >= RENAMES:
        raise Refusal(ErrorCode.DECISION_REFUSED, f"the name of {person.name} has been corrected {RENAMES} times, and stays")
    return Decision((EntrantRenamed(entrant, name, reason),))


def _check_plays_on(state: TournamentState) -> None:
    """Raises Refusal where whoever enters would never play. The state cannot refuse this, because existing logs may hold it."""
    if state.is_all_paired and not state.is_closed:
        raise Refusal(ErrorCode.NOT_NOW, "its last round is paired, so nobody who enters now would play")


def _has_boards_key(state: TournamentState, player: str) -> bool:
    """Whether this player, who directs it or did, has the key to the boards of all tables."""
    return any(isinstance(entry.event, BoardsKeyGiven) and entry.author == player for entry in state.log)


def _why_not_paired(state: TournamentState, number: int) -> str:
    if state.stage in ("registration", "check-in"):
        return "the first round is paired when the tournament starts"
    if state.paused or state.is_closed:
        return f"the tournament is {'paused' if state.paused else 'over'}"
    if not state.is_round_over:
        return f"round {state.round} is not over yet"
    return f"the next round is round {state.round + 1}, not round {number}"


def _correction(state: TournamentState, command: CorrectResult) -> ResultCorrected:
    """Raises Refusal, Refused. The state cannot refuse this, because existing logs may hold what is refused here."""
    result = _result(state.options, command.result) if command.result is not None else None
    correction = ResultCorrected(command.round, command.table, command.race, result, clean_reason(command.reason))
    if state.stage == "over" and state.after(correction, at_ms=state.since_ms).crosstable.next_round() is not None:
        sentence = "it is over, and with that result one more match would have to be run: give one that the same entrant wins"
        raise Refusal(ErrorCode.DECISION_REFUSED, f"{sentence}, or have the two meet in a tournament of their own", path="$.result")
    return correction


def _on_a_fresh_shuffle(state: TournamentState, correction: ResultCorrected) -> tuple[Event, ...]:
    """The correction, and what keeps its table, if it races again, from a shuffle that another table of the round may have raced. Raises
    Refused."""
    key = correction.round, correction.table
    after = state.after(correction, at_ms=state.since_ms)
    paired = after.crosstable.rounds[correction.round - 1]
    if after.crosstable.result(*key) is not None or after.deal_number(key) == state.deal_number(key):
        return (correction,)
    others = max((after.deal_number((paired.number, other.table)) for other in paired.pairings if other.table != key[1]), default=0)
    passed_over = max(others + 1 - after.deal_number(key), 0)
    return (correction, *[TableRaceAborted(*key, "another table may have raced that shuffle")] * passed_over)


def _start(state: TournamentState) -> Decision:
    """Open the check-in; or, if it is open, start the first round."""
    if state.stage == "registration" and state.options.check_in_s:
        if not state.crosstable.size and not state.options.fill:
            raise Refusal(ErrorCode.NOT_NOW, "nobody has entered")
        return Decision((CheckInOpened(),))
    if state.stage not in ("registration", "check-in"):
        raise Refusal(ErrorCode.NOT_NOW, STAGE_SENTENCES[state.stage])
    events, can_be_paired = _settle_field(state)
    if not can_be_paired:
        raise Refusal(ErrorCode.NOT_NOW, "there are too few entrants")
    return Decision(events, pairs=True)


def _extend(state: TournamentState, more_s: int) -> Decision:
    if state.stage != "check-in":
        raise Refusal(ErrorCode.NOT_NOW, "the check-in is not open")
    if (spare_s := LONGEST_CHECK_IN_S - state.options.check_in_s) < more_s:
        raise Refusal(ErrorCode.NOT_NOW, f"a check-in takes an hour at most, so this one can get {spare_s} more seconds", path="$.more_s")
    return Decision((CheckInExtended(more_s),))


def _settle_field(state: TournamentState) -> tuple[tuple[Event, ...], bool]:
    """What happens just before the first round: entrants who have not checked in are withdrawn, and bots fill the free places. Also gives
    whether a round can then be paired."""
    events: list[Event] = [Withdrawn(entrant, NO_CHECK_IN) for entrant in state.awaited]
    settled = state.after_all(events, at_ms=state.since_ms)
    for _ in range(min(state.options.fill, state.options.places) - settled.crosstable.size):
        events.append(next_bot(settled, state.options.bot))
        settled = settled.after(events[-1], at_ms=state.since_ms)
    return tuple(events), settled.can_be_paired


def when_due(state: TournamentState) -> Decision:
    """What the clock alone causes at the moment given by `TournamentState.next_due_ms`."""
    if state.is_played_out:
        return Decision((Finished(),))
    if state.stage != "check-in":
        return Decision(pairs=True)
    events, can_be_paired = _settle_field(state)
    return Decision(events, pairs=True) if can_be_paired else Decision((*events, CalledOff("too few have checked in")))


def as_refusal(refused: Refused) -> Refusal:
    """The refusal for the player who asked."""
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


def check_tournament_options(options: TournamentOptions) -> None:
    """Raises Refusal. Options of its races are checked with those of rooms (`tables.race_options`)."""
    known_bot(options.bot)
    if options.fill > options.places:
        sentence = f"{options.fill} seats cannot be filled if there are only {options.places}"
        raise Refusal(ErrorCode.BAD_TOURNAMENT, sentence, path="$.options.fill")


def _entrant(state: TournamentState, entrant: str) -> str:
    if entrant not in state.people:
        raise Refusal(ErrorCode.NOT_ENTERED)
    return entrant


def next_bot(state: TournamentState, bot: str) -> Entered:
    """One more house bot of this name enters."""
    number = 1 + sum(person.bot == bot for person in state.people.values())
    names = (f"{bot} {each}" for each in itertools.count(number))
    return Entered(f"bot:{bot}:{number}", next(name for name in names if name_key(name) not in state.names), None, bot)


def _entry(state: TournamentState, asker: Asker, code: str | None) -> Event:
    if asker.id in state.people:
        _check_not_removed(state, asker.id)
        return Returned(asker.id)
    if state.code is not None and not code:
        raise Refusal(ErrorCode.WRONG_ENTRY_CODE, "none was given: its director gives out a word", path="$.code")
    if state.code is not None and not hmac.compare_digest(_as_heard(code or ""), _as_heard(state.code)):
        raise Refusal(ErrorCode.WRONG_ENTRY_CODE, path="$.code")
    if (asker.id == state.director or asker.id in state.directed) and _has_boards_key(state, asker.id):
        raise Refusal(ErrorCode.DECISION_REFUSED, "you have the key to the boards of all tables, so you cannot play")
    # Entrants keep the name under which they entered, although they may have given it up since.
    if (key := name_key(asker.name)) in state.names and any(_entered_as(person) == key for person in state.people.values()):
        raise Refusal(ErrorCode.DECISION_REFUSED, f"somebody has entered as {asker.name}; change your name first")
    return Entered(asker.id, asker.name, asker.rating)


def _entered_as(person: Person) -> str | None:
    """The key of the name under which they entered, if they still have it. None: the director gave them another. On the server it may be
    somebody else's, and it does not keep these out."""
    key = name_key(person.name)
    return key if not person.entered_as or name_key(person.entered_as) == key else None


def _as_heard(code: str) -> bytes:
    """A word is said in a room: how it is written is up to whoever types it, and phones begin it with a capital."""
    return code.casefold().encode("utf-8", "surrogatepass")


def _check_in(state: TournamentState, entrant: str, nonce: str) -> Decision:
    checked_in = CheckedIn(entrant, nonce)
    if not state.crosstable.plays(entrant):
        _check_not_removed(state, entrant)
        return Decision((Returned(entrant), checked_in))
    if state.people[entrant].checked_in and not state.is_closed:
        # They have checked in already.
        return Decision()
    return _settled_by(state, checked_in)


def _settled_by(state: TournamentState, event: CheckedIn | Withdrawn | ByeGiven) -> Decision:
    """The event; and the first round at once, if that was the last entrant who was waited for, so that nobody is waited for."""
    if state.stage == "check-in":
        after = state.after(event, at_ms=state.since_ms)
        racing = [entrant for entrant in after.crosstable.active if (1, entrant) not in after.crosstable.byes]
        # If only bots would race, keep waiting: they do not mind, and somebody may still come.
        if not after.awaited and any(after.people[entrant].bot is None for entrant in racing):
            events, can_be_paired = _settle_field(after)
            if can_be_paired:
                return Decision((event, *events), pairs=True)
    return Decision((event,))


def banned(state: TournamentState, entrant: str, reason: str) -> Decision:
    """Withdraw an entrant whom the host has banned; nothing happens if they are out already."""
    if state.is_closed or not state.crosstable.plays(entrant):
        return Decision()
    return _settled_by(state, Withdrawn(entrant, clean_reason(f"{BANNED}: {reason}" if reason else BANNED)))


def _check_not_removed(state: TournamentState, entrant: str) -> None:
    """Raises Refusal if the director removed the entrant: they cannot come back on their own. Those who only missed the check-in can."""
    if state.people[entrant].out == "removed":
        raise Refusal(ErrorCode.DECISION_REFUSED, "the director has removed you")


def _result(options: TournamentOptions, said: TableResult) -> RaceResult:
    """Raises Refusal for an impossible result."""
    cards = rule_set(options.rules).deck_size
    if max(said.first_home, said.second_home) > cards:
        raise Refusal(ErrorCode.DECISION_REFUSED, f"there are {cards} cards to bring home", path="$.result")
    if options.format == "session" and said.verdict == "draw":
        raise Refusal(ErrorCode.DECISION_REFUSED, "nobody can draw in a session: a deal is won, or it is not", path="$.result")
    try:
        return RaceResult(said.verdict, (said.first_home, said.second_home), forfeit=said.forfeit)
    except ValueError as error:
        raise Refusal(ErrorCode.DECISION_REFUSED, str(error), path="$.result") from error
