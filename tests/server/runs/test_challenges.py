"""Challenges over the wire: opened by one player, run later by others, once each, beside those who ran before."""

from __future__ import annotations

from hashlib import sha256
from typing import NoReturn

import pytest
import trio
from trio.testing import MockClock

from protocol.client_messages import JoinRace, LeaveRace, OpenRace, QuickMatch
from protocol.errors import ErrorCode, Refusal
from protocol.fairness import derive_seed
from protocol.room_events import Dealt, Ghost, Result, Room
from protocol.run_messages import Challenge, ChallengeInfo, Challenges, ListChallenges, ListRuns, OpenChallenge, RunChallenge
from protocol.server_messages import Error, Left
from protocol.views import GhostInfo, RaceOptions
from server.net.connection import Caller
from server.race.audit import audit
from server.race.ghosts import GhostLine
from server.rooms.core import RoomCore
from server.rooms.ports import GhostWanted
from server.runs.challenges import LISTED, OPEN_AT_ONCE, OPEN_FROM_PLACE, UNUSED_MS
from server.runs.ghost_lines import RecordedGhosts
from server.store.availability import Outage
from server.store.memory import MemoryStore
from tests.server.net.wire import Client, House, open_house
from tests.server.runs.running import NOON, begin, board, cannot_be_asked, enter, play, run, until

HOUR_S = 3600
NONCE = "5e" * 16


async def opened(client: Client, **fields: object) -> ChallengeInfo:
    return (await client.ask(OpenChallenge(nonce=NONCE, **fields), Challenge)).challenge  # type: ignore[arg-type]


async def test_a_challenge_is_dealt_by_the_servers_secret_and_its_openers_nonce(house: House) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        challenge = await opened(anna, rules="carpet-free", time_limit_s=300, closes_in_s=HOUR_S)
        assert (challenge.owner, challenge.rules, challenge.runs, challenge.ran) == ("Anna", "carpet-free", 0, False)
        assert challenge.closes_at_ms == challenge.made_at_ms + HOUR_S * 1000
        await run(bert, RunChallenge(id=challenge.id.lower()), moves=3)
        await until(house, challenge.reveals_at_ms)
        record = (await bert.hear_of(Result)).record
    assert sha256(bytes.fromhex(record.deal.secret)).hexdigest() == challenge.commitment
    assert record.deal.seed == derive_seed(bytes.fromhex(record.deal.secret), [bytes.fromhex(NONCE)], 0).hex()
    audit(record)


async def test_it_is_listed_while_it_can_be_run_and_to_its_opener_for_good(house: House) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        public = await opened(anna, closes_in_s=HOUR_S)
        private = await opened(anna, public=False)
        await run(bert, RunChallenge(id=public.id))
        assert [(each.id, each.runs, each.ran) for each in (await bert.ask(ListChallenges(), Challenges)).challenges] == [
            (public.id, 1, True)
        ]
        assert {each.id for each in (await anna.ask(ListChallenges(), Challenges)).challenges} == {public.id, private.id}
        await until(house, public.closes_at_ms)
        assert (await bert.ask(ListChallenges(), Challenges)).challenges == ()
        assert {each.id for each in (await anna.ask(ListChallenges(), Challenges)).challenges} == {public.id, private.id}


async def test_one_that_nobody_begins_to_run_is_listed_for_a_day_and_can_be_run_for_longer(house: House) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        used, unused = await opened(anna), await opened(anna)
        await run(bert, RunChallenge(id=used.id))
        await until(house, unused.made_at_ms + UNUSED_MS - 60_000)
        assert {each.id for each in (await bert.ask(ListChallenges(), Challenges)).challenges} == {used.id, unused.id}
        await until(house, unused.made_at_ms + UNUSED_MS)
        assert [each.id for each in (await bert.ask(ListChallenges(), Challenges)).challenges] == [used.id]
        assert {each.id for each in (await anna.ask(ListChallenges(), Challenges)).challenges} == {used.id, unused.id}
        await bert.ask(LeaveRace(), Left)
        await run(bert, RunChallenge(id=unused.id), moves=1)


async def test_each_runs_it_once_and_nobody_after_it_has_closed(house: House) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        challenge = await opened(anna, closes_in_s=HOUR_S)
        await run(anna, RunChallenge(id=challenge.id))
        await anna.ask(LeaveRace(), Left)
        assert (await anna.error_for(RunChallenge(id=challenge.id))).code == ErrorCode.ALREADY_RUN
        await until(house, challenge.closes_at_ms)
        assert (await bert.error_for(RunChallenge(id=challenge.id))).code == ErrorCode.RUN_CLOSED


async def test_what_there_is_not_cannot_be_run(house: House) -> None:
    async with house.guest("Anna") as anna:
        assert (await anna.error_for(RunChallenge(id="ABCDEF"))).code == ErrorCode.NO_SUCH_DEAL


@pytest.mark.parametrize("asked_for", [RunChallenge(id="A\0B"), ListRuns(kind="challenge", id="A\0B")], ids=["run", "board"])
async def test_the_store_is_not_asked_for_what_is_no_code(
    house: House, monkeypatch: pytest.MonkeyPatch, asked_for: RunChallenge | ListRuns
) -> None:
    """PostgreSQL accepts no text with a zero byte, and its error would look like a failure of the store."""
    monkeypatch.setattr(house.store, "shared_deal", cannot_be_asked)
    async with house.guest("Anna") as anna:
        assert (await anna.error_for(asked_for)).code == ErrorCode.NO_SUCH_DEAL


async def test_one_player_has_so_many_open_and_no_more(house: House) -> None:
    async with house.guest("Anna") as anna:
        for _ in range(OPEN_AT_ONCE - 1):
            await opened(anna)
        closing = await opened(anna, closes_in_s=HOUR_S)
        assert (await anna.error_for(OpenChallenge(nonce=NONCE))).code == ErrorCode.TOO_MANY_CHALLENGES
        await until(house, closing.closes_at_ms)
        await opened(anna)


async def test_so_many_are_open_from_one_address_and_the_list_has_room_for_everybody(house: House) -> None:
    ids: dict[str, str] = {}

    async def open_from(name: str, place: str) -> str:
        told = await house.runs.answer(ids[name], OpenChallenge(nonce=NONCE), place=place)
        assert isinstance(told, Challenge)
        return told.challenge.id

    for name in ("early", "another", *(f"{place}{number}" for place in "ab" for number in range(3))):
        async with house.guest(name) as client:
            ids[name] = client.welcome.player
    first = await open_from("early", "198.51.100.7")
    for number in range(OPEN_FROM_PLACE):
        await open_from(f"a{number % 3}", "2001:db8::/64")
    with pytest.raises(Refusal) as caught:
        await open_from("another", "2001:db8::/64")
    assert caught.value.code is ErrorCode.TOO_MANY_CHALLENGES
    for number in range(OPEN_FROM_PLACE):
        await open_from(f"b{number % 3}", "2001:db8:1::/64")
    listed = await house.runs.answer("", ListChallenges())
    assert isinstance(listed, Challenges)
    assert len(listed.challenges) == LISTED
    assert first in {told.id for told in listed.challenges}, "the oldest, but its owner's only one"


async def test_players_whom_a_proxy_brings_that_the_server_does_not_know_are_no_one_address(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Caller, "remote_host", "127.0.0.1")
    for number in range(OPEN_FROM_PLACE // OPEN_AT_ONCE + 1):
        async with house.guest(f"Player {number}") as player:
            for _ in range(OPEN_AT_ONCE):
                await opened(player)
                await trio.sleep(1)


async def test_a_board_is_for_who_has_run_its_opener_included(house: House) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        challenge = await opened(anna)
        await run(bert, RunChallenge(id=challenge.id))
        assert not (await board(anna, "challenge", challenge.id)).shown
        assert [row.name for row in (await board(bert, "challenge", challenge.id)).rows] == ["Bert"]
        await run(anna, RunChallenge(id=challenge.id))
        assert {row.name for row in (await board(anna, "challenge", challenge.id)).rows} == {"Anna", "Bert"}


async def test_a_ghost_has_come_as_far_as_it_had_when_its_own_clock_showed_that(house: House) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        challenge = await opened(anna)
        ended = await run(anna, RunChallenge(id=challenge.id), moves=12, pause_s=2)
        room = await enter(bert, RunChallenge(id=challenge.id))
        assert room.ghosts == (GhostInfo(ghost=0, name="Anna", state="waiting", ply=0, home=0, elapsed_ms=0),)
        await begin(bert)
        started = trio.current_time()
        # It begins with what the deal brings home, like the run beside it, and not with nothing.
        dealt = GhostInfo(ghost=0, name="Anna", state="racing", ply=0, home=bert.view.home, elapsed_ms=0)
        assert (await bert.hear_of(Ghost)).ghost == dealt
        for ply in range(1, 13):
            ghost = (await bert.hear_of(Ghost)).ghost
            elapsed_ms = (trio.current_time() - started) * 1000
            assert (ghost.ply, ghost.state) == (ply, "racing")
            assert ghost.elapsed_ms == 2000 * ply
            assert 0 <= elapsed_ms - ghost.elapsed_ms < 100
        # It stopped at once behind its last move.
        last = (await bert.hear_of(Ghost)).ghost
        assert (last.state, last.home, last.ply, last.elapsed_ms) == ("stopped", ended.seats[0].home, 12, ended.seats[0].ended_at_ms)
        assert bert.gaps == 0


async def test_ghosts_are_in_the_snapshot_as_far_as_they_are_by_then(house: House) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        challenge = await opened(anna)
        await run(anna, RunChallenge(id=challenge.id), moves=12, pause_s=2)
        code = (await enter(bert, RunChallenge(id=challenge.id))).code
        await begin(bert)
        first = bert.view
        await trio.sleep(9.5)
        async with house.client() as again:
            await again.hello("Bert", bert.welcome.token)
            room = await again.ask(JoinRace(code=code), Room)
            (ghost,) = room.ghosts
            assert (ghost.ply, ghost.elapsed_ms, ghost.state) == (4, 8000, "racing")
            assert ghost.home >= first.home
            assert (await again.hear_of(Ghost)).ghost.ply == 5


async def test_a_ghost_is_there_again_behind_a_restart_of_the_server(autojump_clock: MockClock) -> None:
    store = MemoryStore()
    async with open_house(wall_s=NOON / 1000, store=store) as house, house.guest("Anna") as anna, house.guest("Bert") as bert:
        token = bert.welcome.token
        challenge = await opened(anna)
        await run(anna, RunChallenge(id=challenge.id), moves=12, pause_s=2)
        await enter(bert, RunChallenge(id=challenge.id))
        await begin(bert)
        began_ms = house.clock.now_ms()
        await trio.sleep(10.5)
    async with open_house(wall_s=began_ms / 1000 + 600, store=store) as house, house.client() as bert:
        await bert.hello("Bert", token)
        (ghost,) = (await enter(bert, RunChallenge(id=challenge.id))).ghosts
        assert (ghost.name, ghost.ply) == ("Anna", 5)


@pytest.fixture
def slow_ghosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ghosts of a run are read for a while."""
    lines = RecordedGhosts.__call__

    async def slowly(self: RecordedGhosts, wanted: tuple[GhostWanted, ...]) -> tuple[GhostLine, ...]:
        await trio.sleep(5)
        return await lines(self, wanted)

    monkeypatch.setattr(RecordedGhosts, "__call__", slowly)


@pytest.mark.usefixtures("slow_ghosts")
async def test_while_the_ghosts_of_a_run_are_still_read_its_player_can_enter_no_other_race(house: House) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert, house.guest("Eve") as eve:
        challenge = await opened(anna)
        await run(anna, RunChallenge(id=challenge.id))
        await anna.ask(LeaveRace(), Left)
        other = await anna.open(seats=3)
        await bert.say(RunChallenge(id=challenge.id))
        await bert.say(OpenRace(options=RaceOptions(seats=3), ref=1))
        await bert.say(JoinRace(code=other.code, ref=2))
        await bert.say(QuickMatch(ref=3))
        errors = [await bert.error() for _ in range(3)]
        assert [(error.code, error.ref) for error in errors] == [(ErrorCode.ALREADY_IN_ROOM, ref) for ref in (1, 2, 3)]
        # Who is not invited there is not kept from others for longer than until that is known.
        (code,) = {room.code for room in house.rooms} - {other.code}
        await eve.say(JoinRace(code=code))
        assert (await bert.hear_of(Room)).code == code
        assert (await eve.error()).code == ErrorCode.NOT_INVITED
        assert (await eve.join(other.code)).seat == 1
        assert await bert.ask(LeaveRace(), Left) == Left(code=code, reason="left")
        assert (await bert.join(other.code)).seat == 2


@pytest.mark.usefixtures("slow_ghosts")
async def test_nor_can_they_behind_a_restart_of_the_server(autojump_clock: MockClock) -> None:
    store = MemoryStore()
    async with open_house(wall_s=NOON / 1000, store=store) as house, house.guest("Anna") as anna, house.guest("Bert") as bert:
        token = bert.welcome.token
        challenge = await opened(anna)
        await run(anna, RunChallenge(id=challenge.id))
        code = (await enter(bert, RunChallenge(id=challenge.id))).code
        await begin(bert)
    async with open_house(wall_s=NOON / 1000 + 60, store=store) as house, house.client() as bert:
        assert (await bert.hello("Bert", token)).room == code
        assert not house.rooms.find(code).has_begun
        await bert.say(OpenRace(options=RaceOptions(seats=3), ref=1))
        assert await bert.refusal() == (ErrorCode.ALREADY_IN_ROOM, 1)
        assert (await bert.join(code)).code == code
        assert [room.code for room in house.rooms] == [code]


@pytest.mark.usefixtures("slow_ghosts")
async def test_who_leaves_a_run_while_its_ghosts_are_read_and_who_comes_behind_them_are_answered(house: House) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert, house.guest("Eve") as eve:
        challenge = await opened(anna)
        await run(anna, RunChallenge(id=challenge.id))
        await anna.ask(LeaveRace(), Left)
        await bert.say(RunChallenge(id=challenge.id, ref=1))
        await bert.say(LeaveRace(ref=2))
        await bert.say(RunChallenge(id=challenge.id, ref=3))
        assert (await bert.error_for(OpenRace(options=RaceOptions(), ref=4))).ref == 4
        (room,) = {room for room in house.rooms if not room.has_begun}
        await eve.say(JoinRace(code=room.code, ref=1))
        for client, ref in ((bert, 3), (eve, 1)):
            assert await client.refusal() == (ErrorCode.ROOM_CLOSED, ref)
        assert (await bert.hear_of(Left)).ref == 2
        await bert.join((await eve.open()).code)


@pytest.mark.parametrize(("broken", "method"), [(RecordedGhosts, "__call__"), (RoomCore, "begin")], ids=["read", "begin"])
async def test_who_asked_for_a_run_that_cannot_begin_is_told_so_and_free(
    house: House, monkeypatch: pytest.MonkeyPatch, broken: type, method: str
) -> None:
    def breaks(*arguments: object, **named: object) -> NoReturn:
        raise RuntimeError("a bug")

    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        challenge = await opened(anna)
        await run(anna, RunChallenge(id=challenge.id))
        await anna.ask(LeaveRace(), Left)
        with monkeypatch.context() as patched:
            patched.setattr(broken, method, breaks)
            assert ((error := await bert.error_for(RunChallenge(id=challenge.id, ref=1))).code, error.ref) == (ErrorCode.ROOM_CLOSED, 1)
        await trio.sleep(1)
        assert len(house.rooms) == 0
        await bert.open()


@pytest.mark.usefixtures("slow_ghosts")
async def test_who_waits_for_the_ghosts_of_a_run_is_told_of_an_outage(house: House) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        challenge = await opened(anna)
        await run(anna, RunChallenge(id=challenge.id))
        await bert.say(RunChallenge(id=challenge.id, ref=1))
        await bert.say(RunChallenge(id=challenge.id, ref=2))
        assert (await bert.error_for(OpenRace(options=RaceOptions(), ref=3))).ref == 3
        house.rooms.outage(Outage(trio.current_time(), "the disk is full"))
        assert await bert.refusal() == (ErrorCode.CANNOT_WRITE, 0)
        house.rooms.outage(None)
        assert [(await bert.hear_of(Room)).ref for _ in range(2)] == [1, 2]
        assert [message.code for message in bert.heard if isinstance(message, Error)] == [ErrorCode.ALREADY_IN_ROOM, ErrorCode.CANNOT_WRITE]


async def test_no_more_than_seven_ghosts_and_only_of_runs_that_are_over(house: House) -> None:
    async with house.guest("Opener") as opener:
        challenge = await opened(opener)
        for number in range(9):
            async with house.guest(f"Runner {number}") as runner:
                await run(runner, RunChallenge(id=challenge.id), moves=number)
                await runner.ask(LeaveRace(), Left)
        async with house.guest("Anna") as anna, house.guest("Bert") as bert:
            await enter(anna, RunChallenge(id=challenge.id))
            await begin(anna)
            await play(anna, 2)
            ghosts = (await enter(bert, RunChallenge(id=challenge.id))).ghosts
    assert len(ghosts) == 7
    assert "Anna" not in {ghost.name for ghost in ghosts}


async def test_a_run_that_has_not_begun_when_the_challenge_closes_is_called_off(house: House) -> None:
    async with house.guest("Anna") as anna:
        challenge = await opened(anna, closes_in_s=HOUR_S)
        await until(house, challenge.closes_at_ms - 5000)
        await enter(anna, RunChallenge(id=challenge.id))
        assert (await anna.hear_of(Left)).reason == "called-off"
        assert not [message for message in anna.heard if isinstance(message, Dealt)]
