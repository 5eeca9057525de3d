"""Answers requests about runs, challenges and boards, whoever asks and by whatever connection."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, TypeAlias, TypeVar, assert_never

import msgspec
import trio

from protocol.errors import ErrorCode, Refusal
from protocol.record import BadRecord, Record
from protocol.run_messages import (
    Challenge,
    ChallengeInfo,
    Challenges,
    ListChallenges,
    ListDailies,
    ListRuns,
    OpenChallenge,
    PlayOn,
    RunChallenge,
    RunDaily,
    RunMessage,
    RunQuestion,
    RunStart,
)
from protocol.text import read_code
from protocol.views import RaceOptions
from server.race.audit import audited_start_position
from server.race.start_position import NoSuchPosition, StartPosition, check_ply
from server.rooms.clock import Clock
from server.rooms.codes import is_code
from server.rooms.driver import Room
from server.rooms.options import check_options
from server.rooms.registry import Rooms
from server.runs import challenges, dailies, days
from server.runs.admission import RunAdmission
from server.runs.boards import Boards
from server.runs.challenges import ChallengeRegistry
from server.runs.closer import RunCloser
from server.runs.dailies import DailyDeals
from server.runtime.place_locks import PlaceLocks
from server.runtime.workers import WorkerDied
from server.store.journal import Journal
from server.store.port import SharedDealMade
from server.store.store import Store

logger = logging.getLogger("carpet.runs")

Compute: TypeAlias = Callable[..., Awaitable[StartPosition]]
"""Calls a function with the arguments after it, in a worker, and gives its result. Raises WorkerDied."""

Answer = TypeVar("Answer")

ASKED_AT_ONCE: Final = 2
"""How many questions are looked up in the store at once, one for each place. It is low because greetings and pages read the store too."""

ASKED_WAITING: Final = 64
"""How many questions may wait for that. When full, the answer is `server/busy`."""

AUDITS_AT_ONCE: Final = 1
"""How many records are checked at once, one for each place, each by a worker. Races need the other workers to find their deals."""

AUDITS_WAITING: Final = 16
"""How many requests to play on may wait for that. When full, the answer is `server/busy`."""

PRACTICE_S: Final = 3600
"""The time limit of a race that is played on. It can be long, because nobody else waits for it."""


class RunService:
    """`run` is its only task. entropy(n): n random bytes fit for secrets. compute: runs a job in a worker.

    records: by race id, records of races that can be played on in addition to the store's.
    """

    def __init__(
        self,
        rooms: Rooms,
        *,
        journal: Journal,
        clock: Clock,
        entropy: Callable[[int], bytes],
        compute: Compute,
        records: Mapping[str, Record] | None = None,
    ) -> None:
        self._dailies = DailyDeals(journal=journal, clock=clock, entropy=entropy)
        self._challenges = ChallengeRegistry(journal=journal, clock=clock, entropy=entropy)
        self._boards = Boards(journal=journal, clock=clock)
        rooms.on_over.append(self._over)
        self._admission = RunAdmission(rooms, self._boards, journal=journal, clock=clock)
        self._closer = RunCloser(rooms, self._challenges, clock)
        self._rooms = rooms
        self._records = records or {}
        self._store = journal.store
        self._journal = journal
        self._clock = clock
        self._compute = compute
        self._asking, self._auditing = PlaceLocks(), PlaceLocks()
        self._asked = trio.CapacityLimiter(ASKED_AT_ONCE)
        self._audits = trio.CapacityLimiter(AUDITS_AT_ONCE)

    async def run(self) -> None:
        """Do what falls due as days go by, until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._dailies.run)
            nursery.start_soon(self._closer.run)

    def _over(self, room: Room, record: Record) -> None:
        self._boards.note(room, record)
        self._challenges.forget()

    async def answer(self, player: str, asked: RunQuestion, *, place: str | None = None) -> RunMessage:
        """The answer for this player. player: "" if it is for nobody. place: the part of their address that counts as one.

        Raises Refusal, including `server/busy`, and StoreError.
        """
        return await self._in_turn(partial(self._answer, player, asked, place), place)

    async def challenge(self, code: str) -> ChallengeInfo:
        """What anybody who has its id may know about a challenge. Raises as `answer` does."""
        return await self._in_turn(partial(self._info, code), None)

    async def _in_turn(self, look_up: Callable[[], Awaitable[Answer]], place: str | None) -> Answer:
        async with self._asking.turn(place):
            if self._asked.statistics().tasks_waiting >= ASKED_WAITING:
                raise Refusal(ErrorCode.SERVER_BUSY)
            async with self._asked:
                return await look_up()

    async def _answer(self, player: str, asked: RunQuestion, place: str | None) -> RunMessage:
        match asked:
            case ListDailies(ref=ref):
                return await self._dailies.told(ref=ref)
            case OpenChallenge(ref=ref):
                made = await self._challenges.open(player, asked, place=place)
                (info,) = await self._challenges.told([made], player)
                return Challenge(challenge=info, ref=ref)
            case ListChallenges(ref=ref):
                return Challenges(now_ms=self._clock.wall_ms(), challenges=await self._challenges.listed(player), ref=ref)
            case ListRuns():
                made, rules = await self._deal(asked)
                return await self._boards.board(made, rules, player, ref=asked.ref)
            case _:
                assert_never(asked)

    async def _info(self, code: str) -> ChallengeInfo:
        (info,) = await self._challenges.told([await self._challenge(code)], "")
        return info

    def has_room_for(self, player: str) -> bool:
        """Whether they have an unfinished run here."""
        return self._admission.has_room_for(player)

    async def is_under_way_in(self, room: str, player: str, asked: RunStart) -> bool:
        """Whether what this player asks for is the unfinished run that they have in the room of this code. Raises Refusal, StoreError."""
        match asked:
            case RunDaily(rules=rules):
                made = await self._day(days.date_of(self._clock.wall_ms()))
            case RunChallenge(id=code):
                made = await self._challenge(code)
                rules = challenges.options_of(made).rules
            case PlayOn():
                return False
            case _:
                assert_never(asked)
        own = await self._boards.run_of(player, made.kind, made.id, rules)
        return own is not None and own.phase == "running" and own.room == room

    async def room(self, player: str, asked: RunStart, *, place: str | None = None) -> Room:
        """The room of the run that this player asks for. place: as for `answer`. Raises Refusal, StoreError."""
        match asked:
            case RunDaily(rules=rules):
                return await self._daily(player, rules, place)
            case RunChallenge(id=code):
                made = await self._challenge(code)
                deal, options = challenges.shared_deal(made), challenges.options_of(made)
                ready_by_ms = challenges.closes_at_ms(made)
                return await self._admission.run(player, made, deal, options, ready_by_ms=ready_by_ms, ghosts=True, place=place)
            case PlayOn():
                return await self._play_on(player, asked, place)
            case _:
                assert_never(asked)

    async def _daily(self, player: str, rules: str, place: str | None) -> Room:
        options = dailies.daily_options(rules)
        check_options(options)
        day = days.date_of(self._clock.wall_ms())
        made = await self._day(day)
        ready_by_ms = days.ends_at_ms(day) - dailies.READY_MARGIN_MS
        return await self._admission.run(player, made, dailies.shared_deal(made, rules), options, ready_by_ms=ready_by_ms, place=place)

    async def _play_on(self, player: str, asked: PlayOn, place: str | None) -> Room:
        record = self._records.get(asked.race)
        # PostgreSQL does not even accept a question with a zero byte in it.
        if record is None and asked.race.isprintable():
            record = await self._journal.ask(partial(_public_record, self._store, now_ms=self._clock.wall_ms()), asked.race)
        if record is None:
            raise Refusal(ErrorCode.NO_SUCH_POSITION, "there is no record of that race, or it is not open to all yet")
        try:
            # Refuse what can be refused at once, before a worker replays the whole race.
            check_ply(record, seat=asked.seat, ply=asked.ply)
            async with self._auditing.turn(place):
                if self._audits.statistics().tasks_waiting >= AUDITS_WAITING:
                    raise Refusal(ErrorCode.SERVER_BUSY)
                async with self._audits:
                    start_position = await self._compute(audited_start_position, msgspec.json.encode(record), asked.seat, asked.ply)
        except (BadRecord, NoSuchPosition) as error:
            raise Refusal(ErrorCode.NO_SUCH_POSITION, str(error)) from error
        except WorkerDied as error:
            logger.error("a record could not be checked: %s", error)
            raise Refusal(ErrorCode.SERVER_BUSY) from error
        options = RaceOptions(rules=record.rules, seats=1, public=False, rated=False, time_limit_s=PRACTICE_S)
        # They may have been seated meanwhile, and could not enter the new room.
        self._rooms.check_free(player)
        return self._rooms.open(options, start_position=start_position, place=place)

    async def _deal(self, asked: ListRuns) -> tuple[SharedDealMade, str]:
        if asked.kind == "challenge":
            made = await self._challenge(asked.id or "")
            return made, challenges.options_of(made).rules
        check_options(dailies.daily_options(asked.rules))
        return await self._day(asked.id or days.date_of(self._clock.wall_ms())), asked.rules

    async def _day(self, day: str) -> SharedDealMade:
        if days.is_date(day):
            await self._dailies.prepare()
            made = await self._dailies.deal(day)
            # Of days to come, nothing but the commitment is known to players.
            if made is not None and days.begins_at_ms(day) <= self._clock.wall_ms():
                return made
        raise Refusal(ErrorCode.NO_SUCH_DEAL)

    async def _challenge(self, asked: str) -> SharedDealMade:
        code = read_code(asked)
        made = await self._challenges.deal(code) if is_code(code) else None
        if made is None:
            raise Refusal(ErrorCode.NO_SUCH_DEAL)
        return made


def _public_record(store: Store, race: str, *, now_ms: int) -> Record | None:
    status = store.race_status(race)
    if status is None or status.phase != "over" or status.sealed_until_ms > now_ms:
        return None
    return store.record(race)
