"""Playing on from a position of a finished race, beside what was done from there at the time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio
from msgspec.structs import replace

from protocol.client_messages import LeaveRace, OpenRace, QuickMatch, Stop
from protocol.errors import ErrorCode
from protocol.record import BadRecord, sealed
from protocol.room_events import Ghost, Result, Room
from protocol.run_messages import PlayOn, RunDaily
from protocol.server_messages import Left
from protocol.views import RaceOptions
from server.race.audit import audit, audited_start_position
from server.race.ghosts import GhostLine
from server.race.replay import frames
from server.race.start_position import first_positions
from server.race.view import see
from server.rooms.ports import GhostWanted
from server.rules.catalogue import RULE_SETS
from server.runs.ghost_lines import RecordedGhosts
from tests.server.net.wire import Client, House
from tests.server.runs.running import begin, cannot_be_asked, enter, play, run


async def raced(client: Client, rules: str = "carpet", moves: int = 20, **options: object) -> Result:
    """A race against the clock, to its end."""
    await client.open(seats=1, rules=rules, **options)
    await begin(client)
    await play(client, moves, pause_s=2)
    if client.view.moves:
        await client.say(Stop(race=1, seat=0))
    return await client.hear_of(Result)


@pytest.mark.parametrize("rules", RULE_SETS)
async def test_one_plays_on_from_after_any_move_beside_ones_past_self(house: House, rules: str) -> None:
    async with house.guest("Anna") as anna:
        record = (await raced(anna, rules)).record
        await anna.ask(LeaveRace(), Left)
        replay = frames(record)
        ply = len(record.moves) // 2
        room = await anna.ask(PlayOn(race=record.id, seat=0, ply=ply), Room)
        assert (room.options.rated, room.options.public, [ghost.name for ghost in room.ghosts]) == (False, False, ["Anna"])
        await begin(anna)
        assert anna.view == replay.frames[ply - 1].view
        (ghost_home,) = {room.ghosts[0].home}
        assert ghost_home == 0
        begins = (await anna.hear_of(Ghost)).ghost
        assert (begins.ply, begins.home, begins.elapsed_ms) == (0, record.moves[ply - 1].home, 0)
        if len(record.moves) > ply + 1:
            ghost = (await anna.hear_of(Ghost)).ghost
            following = record.moves[ply]
            assert (ghost.ply, ghost.home, ghost.elapsed_ms) == (1, following.home, following.at_ms - record.moves[ply - 1].at_ms)
        anna.ply = 0
        await play(anna, 3)
        if anna.view.moves:
            await anna.say(Stop(race=1, seat=0))
        again = (await anna.hear_of(Result)).record
    audit(again)
    assert again.deal.past is not None
    assert (again.deal.past.race, again.deal.past.digest, len(again.deal.past.moves)) == (record.id, record.digest, ply)
    assert again.deal.seed == record.deal.seed
    assert not again.rated
    assert frames(again).first == replay.frames[ply - 1].view


async def test_playing_on_is_not_given_up_for_another_race_before_it_has_begun(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async def slowly(self: RecordedGhosts, wanted: tuple[GhostWanted, ...]) -> tuple[GhostLine, ...]:
        await trio.sleep(5)
        return ()

    monkeypatch.setattr(RecordedGhosts, "__call__", slowly)
    async with house.guest("Anna") as anna:
        record = (await raced(anna)).record
        await anna.ask(LeaveRace(), Left)
        await anna.say(PlayOn(race=record.id, seat=0, ply=3, ref=1))
        await anna.say(OpenRace(options=RaceOptions(seats=3), ref=2))
        assert await anna.refusal() == (ErrorCode.ALREADY_IN_ROOM, 2)
        assert (await anna.hear_of(Room)).ref == 1
        await begin(anna)


async def test_what_was_played_on_can_be_played_on_in_its_turn(house: House) -> None:
    async with house.guest("Anna") as anna:
        record = (await raced(anna)).record
        for ply in (4, 3):
            await anna.ask(LeaveRace(), Left)
            await anna.ask(PlayOn(race=record.id, seat=0, ply=ply), Room)
            await begin(anna)
            await play(anna, 5)
            record = (await anna.ask(Stop(race=1, seat=0), Result)).record
            audit(record)
    assert record.deal.past is not None
    assert len(record.deal.past.moves) == 7


async def test_there_is_no_playing_on_from_what_is_not_open_to_all(house: House) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        await run(anna, RunDaily(), moves=5)
        (kept,) = house.store.runs("daily", "2026-11-21")
        running = await enter(bert, RunDaily(rules="twenty"))
        await anna.ask(LeaveRace(), Left)
        for race in (kept.race, f"{running.code}-1-00", "nothing of the kind"):
            assert (await anna.error_for(PlayOn(race=race, seat=0, ply=2))).code == ErrorCode.NO_SUCH_POSITION


async def test_whoever_sits_in_a_race_opens_no_other_by_playing_on(house: House) -> None:
    async with house.guest("Anna") as anna:
        record = (await raced(anna)).record
        await anna.ask(LeaveRace(), Left)
        await anna.ask(PlayOn(race=record.id, seat=0, ply=2), Room)
        rooms = len(house.rooms)
        assert (await anna.error_for(PlayOn(race=record.id, seat=0, ply=2))).code == ErrorCode.ALREADY_IN_ROOM
        assert len(house.rooms) == rooms


async def test_whoever_is_seated_while_the_record_is_checked_leaves_no_room_that_they_cannot_enter(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    checking = trio.Event()

    async def slowly(function: Callable[..., object], *arguments: object) -> object:
        checking.set()
        await trio.sleep(20)
        return function(*arguments)

    monkeypatch.setattr(house.runs, "_compute", slowly)
    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        record = (await raced(anna)).record
        await anna.ask(LeaveRace(), Left)
        await anna.say(QuickMatch())
        await anna.say(PlayOn(race=record.id, seat=0, ply=2, ref=1))
        await checking.wait()
        await bert.say(QuickMatch())
        found = await anna.hear_of(Room)
        assert await anna.refusal() == (ErrorCode.ALREADY_IN_ROOM, 1)
        assert [room.code for room in house.rooms] == [found.code]


async def test_the_store_is_not_asked_for_a_race_whose_id_cannot_be_printed(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house.store, "race_status", cannot_be_asked)
    async with house.guest("Anna") as anna:
        assert (await anna.error_for(PlayOn(race="ABCDEF-1-\0", seat=0, ply=2))).code == ErrorCode.NO_SUCH_POSITION


async def test_there_is_no_playing_on_from_a_position_that_there_was_not(house: House) -> None:
    async with house.guest("Anna") as anna:
        record = (await raced(anna, moves=80)).record
        await anna.ask(LeaveRace(), Left)
        assert record.seats[0].state == "stalled"
        made = len(record.moves)
        for seat, ply, why in (
            (1, 0, "The race had 1 seat and no more."),
            (0, made + 1, f"That seat made {made} moves; start from move {made} at the latest."),
            (0, made, "No move is left there; start earlier."),
        ):
            error = await anna.error_for(PlayOn(race=record.id, seat=seat, ply=ply))
            assert (error.code, error.message) == (ErrorCode.NO_SUCH_POSITION, why)


async def test_a_whole_race_is_checked_by_a_worker_and_only_where_it_has_the_position(house: House) -> None:
    async with house.guest("Anna") as anna:
        record = (await raced(anna)).record
        await anna.ask(LeaveRace(), Left)
        for seat, ply in ((1, 0), (0, len(record.moves) + 1)):
            assert (await anna.error_for(PlayOn(race=record.id, seat=seat, ply=ply))).code == ErrorCode.NO_SUCH_POSITION
        assert house.computed == []
        await anna.ask(PlayOn(race=record.id, seat=0, ply=2), Room)
        assert house.computed == [audited_start_position]


async def test_the_moves_before_the_start_are_checked_with_the_record(house: House) -> None:
    async with house.guest("Anna") as anna:
        record = (await raced(anna)).record
        await anna.ask(LeaveRace(), Left)
        await anna.ask(PlayOn(race=record.id, seat=0, ply=3), Room)
        await begin(anna)
        first = anna.view
        again = (await anna.ask(Stop(race=1, seat=0), Result)).record
    assert see(first_positions(again)[0]) == first
    assert again.deal.past is not None
    for moves in ((*again.deal.past.moves[:2], "z9"), (*again.deal.past.moves, "r")):
        false = sealed(replace(again, deal=replace(again.deal, past=replace(again.deal.past, moves=moves))))
        with pytest.raises(BadRecord, match="before the start"):
            audit(false)
