"""Deals of the day over the wire: one run for each player and rule set, no results before their own, and all results the day after."""

from __future__ import annotations

from hashlib import sha256
from typing import NoReturn

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from protocol.client_messages import JoinRace, LeaveRace, Move, Stop
from protocol.errors import ErrorCode
from protocol.fairness import daily_nonce
from protocol.room_events import Ended, Result, Room
from protocol.run_messages import Dailies, ListDailies, ListRuns, RunDaily, Runs
from protocol.server_messages import Error, Left
from protocol.watch_messages import WatchRace
from server.race.audit import audit
from server.rooms.clock import WALL_LOOK_S, Clock
from server.runs import days
from server.runs.dailies import DailyDeals
from server.store.availability import Outage
from server.store.errors import StoreFull
from server.store.journal import Journal
from server.store.memory import MemoryStore
from tests.server.net.wire import House, open_house
from tests.server.runs.running import DAY, DAY_MS, NOON, begin, board, enter, play, run, until


async def test_today_and_the_coming_seven_days_are_committed_to_from_the_first_moment_on(house: House) -> None:
    async with house.guest() as anna:
        told = await anna.ask(ListDailies(ref=7), Dailies)
    assert told.ref == 7
    assert [day.date for day in told.days] == [days.before(DAY, -ahead) for ahead in range(7, -1, -1)]
    assert all(day.secret is None for day in told.days)
    assert len({day.commitment for day in told.days}) == 8
    for day in told.days:
        made = house.store.shared_deal("daily", day.date)
        assert made is not None
        assert day.commitment == sha256(made.secret).hexdigest()
        assert day.reveals_at_ms == days.ends_at_ms(day.date) + 15 * 60 * 1000


async def test_each_midnight_commits_to_one_day_more_and_changes_none(house: House) -> None:
    async with house.guest() as anna:
        before = await anna.ask(ListDailies(), Dailies)
        await until(house, days.ends_at_ms(DAY))
        after = await anna.ask(ListDailies(), Dailies)
    assert after.days[1:] == before.days
    assert after.days[0].date == days.before(DAY, -8)


async def test_a_wall_clock_that_is_set_a_day_ahead_is_another_day_within_a_minute(house: House) -> None:
    async with house.guest() as anna:
        await anna.ask(ListDailies(), Dailies)
        assert house.clock._wall_offset is not None
        house.clock._wall_offset += DAY_MS / 1000
        await trio.sleep(WALL_LOOK_S + 1)
        after = await anna.ask(ListDailies(), Dailies)
        assert after.days[0].date == days.before(DAY, -8)
        room = await enter(anna, RunDaily())
    assert room.shared is not None
    assert room.shared.id == days.before(DAY, -1)


async def test_a_secret_is_told_fifteen_minutes_after_its_day_and_is_what_was_committed_to(house: House) -> None:
    async with house.guest() as anna:
        await until(house, days.reveals_at_ms(DAY) - 1000)
        (today,) = [day for day in (await anna.ask(ListDailies(), Dailies)).days if day.date == DAY]
        assert today.secret is None
        await until(house, days.reveals_at_ms(DAY))
        (told,) = [day for day in (await anna.ask(ListDailies(), Dailies)).days if day.date == DAY]
    assert told.secret is not None
    assert sha256(bytes.fromhex(told.secret)).hexdigest() == today.commitment


async def test_a_run_is_dealt_by_the_days_secret_as_its_record_says(house: House) -> None:
    async with house.guest() as anna:
        room = await enter(anna, RunDaily(rules="crazy-quilt"))
        (today,) = [day for day in (await anna.ask(ListDailies(), Dailies)).days if day.date == DAY]
        assert room.commitment == today.commitment
        assert (room.options.seats, room.options.time_limit_s, room.options.public, room.options.counts) == (1, 600, False, False)
        await begin(anna)
        await play(anna, 3)
        await anna.ask(LeaveRace(), Left)
    (kept,) = house.store.runs("daily", DAY)
    record = house.store.record(kept.race)
    assert record is not None
    assert record.deal.shared is not None
    assert record.deal.shared.nonces == (daily_nonce(DAY, "crazy-quilt").hex(),)
    audit(record)


async def test_two_players_are_dealt_the_same_and_two_rule_sets_are_not(house: House) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        for client in (anna, bert):
            await enter(client)
            await begin(client)
        assert anna.view == bert.view
        first = anna.view
        await anna.say(LeaveRace())
        await enter(anna, RunDaily(rules="carpet-free"))
        await begin(anna)
        assert anna.view.piles != first.piles


async def test_a_second_run_is_refused_and_another_rule_set_is_another_deal(house: House) -> None:
    async with house.guest() as anna:
        await run(anna)
        await anna.say(LeaveRace())
        await anna.say(RunDaily(ref=5))
        assert await anna.refusal() == (ErrorCode.ALREADY_RUN, 5)
        await run(anna, RunDaily(rules="colorado"), moves=1)


async def test_a_run_that_was_left_under_way_counts(house: House) -> None:
    async with house.guest() as anna:
        await enter(anna)
        await begin(anna)
        await anna.ask(LeaveRace(), Left)
        assert (await anna.error_for(RunDaily())).code == ErrorCode.ALREADY_RUN


async def test_a_run_is_under_way_in_its_own_room_until_it_is_over(house: House) -> None:
    async with house.guest() as anna:
        player, code = anna.welcome.player, (await enter(anna)).code

        async def is_under_way(room: str = code, rules: str = "carpet") -> bool:
            await trio.testing.wait_all_tasks_blocked()
            return await house.runs.is_under_way_in(room, player, RunDaily(rules=rules))

        assert await is_under_way()
        assert not await is_under_way("OTHERS")
        assert not await is_under_way(rules="colorado")
        await begin(anna)
        assert await is_under_way()
        await anna.ask(Stop(race=1, seat=0), Ended)
        assert not await is_under_way()


async def test_a_run_that_was_left_before_its_start_does_not_count(house: House) -> None:
    async with house.guest() as anna:
        await enter(anna)
        await anna.ask(LeaveRace(), Left)
        await trio.testing.wait_all_tasks_blocked()
        await run(anna)


async def test_two_connections_at_once_lead_to_one_run(house: House) -> None:
    async with house.guest() as anna, house.client() as again:
        await anna.say(RunDaily())
        await again.hello("Anna", anna.welcome.token)
        await again.say(RunDaily())
        await again.ask(RunDaily(), Room)
        await trio.testing.wait_all_tasks_blocked()
        assert len(house.rooms) == 1
    assert len(house.store.runs("daily", DAY)) == 1


async def test_a_server_that_comes_back_goes_on_with_the_run_and_refuses_another(autojump_clock: MockClock) -> None:
    del autojump_clock
    store = MemoryStore()
    async with open_house(wall_s=NOON / 1000, store=store) as house, house.guest("Anna") as anna:
        token = anna.welcome.token
        code = (await enter(anna)).code
        await begin(anna)
        await play(anna, 3)
    async with open_house(wall_s=NOON / 1000 + 20, store=store) as house, house.client() as anna:
        assert (await anna.hello("Anna", token)).room == code
        room = await enter(anna)
        assert (room.code, room.phase, room.seats[0].ply) == (code, "racing", 3)
        await anna.ask(LeaveRace(), Left)
    async with open_house(wall_s=NOON / 1000 + 40, store=store) as house, house.client() as anna:
        await anna.hello("Anna", token)
        assert (await anna.error_for(RunDaily())).code == ErrorCode.ALREADY_RUN
    assert [len(store.runs("daily", DAY)), len(store.shared_deals("daily", limit=99))] == [1, 8]


async def test_whoever_has_not_run_sees_how_many_have_and_whoever_has_sees_all_but_the_cards(house: House) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert, house.guest("Cleo") as cleo:
        await run(anna, moves=40)
        await run(bert, moves=2)
        seen = await board(anna)
        assert (seen.kind, seen.id, seen.rules, seen.runs, seen.shown, seen.secret) == ("daily", DAY, "carpet", 2, True, None)
        assert [(row.place, row.name, row.beats) for row in seen.rows] == [(1, "Anna", 100), (2, "Bert", 0)]
        assert seen.own == seen.rows[0]
        unseen = await board(cleo)
        assert (unseen.runs, unseen.shown, unseen.rows, unseen.own) == (2, False, (), None)
        # Another deal of the same day is no reason to see this one.
        await run(cleo, RunDaily(rules="twenty"), moves=0)
        assert not (await board(cleo)).shown


async def test_in_the_middle_of_ones_run_one_sees_nothing_of_others(house: House) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        await run(anna)
        await enter(bert)
        await begin(bert)
        unseen = await board(bert)
        assert (unseen.runs, unseen.shown, unseen.rows) == (1, False, ())


async def test_a_token_is_enough_to_see_ones_board_and_takes_nothing_over(house: House) -> None:
    async with house.guest("Anna") as anna, house.client() as asking:
        await run(anna)
        seen = await asking.ask(ListRuns(kind="daily", token=anna.welcome.token), Runs)
        assert seen.own is not None
        assert seen.own.name == "Anna"
        assert len(house.connections) == 2


async def test_without_a_hello_or_a_token_nothing_is_told(house: House) -> None:
    async with house.client() as nobody:
        assert (await nobody.error_for(ListRuns(kind="daily"))).code == ErrorCode.HELLO_FIRST
        assert (await nobody.error_for(ListRuns(kind="daily", token="no such token"))).code == ErrorCode.UNKNOWN_TOKEN


@pytest.mark.parametrize("day", ["2026-11-22", "2026-11-20", "yesterday", "2026-W47-6"])
async def test_there_is_no_board_of_a_day_to_come_or_of_one_that_had_no_deal(house: House, day: str) -> None:
    async with house.guest() as anna:
        assert (await anna.error_for(ListRuns(kind="daily", id=day))).code == ErrorCode.NO_SUCH_DEAL


async def test_after_the_reveal_all_see_the_board_and_who_is_there_is_told_the_record(house: House) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        ended = await run(anna)
        await until(house, days.reveals_at_ms(DAY))
        record = (await anna.hear_of(Result)).record
        assert record.seats == ended.seats
        audit(record)
        seen = await board(bert, deal=DAY)
        assert seen.shown
        assert [row.name for row in seen.rows] == ["Anna"]
        assert seen.secret == record.deal.secret


async def test_whoever_is_not_ready_in_time_is_sent_home_and_has_not_run(house: House) -> None:
    async with house.guest("Anna") as anna:
        await until(house, days.ends_at_ms(DAY) - 20_000)
        await enter(anna)
        await until(house, days.ends_at_ms(DAY) - 3000)
        assert (await anna.hear_of(Left)).reason == "called-off"
        assert (await anna.error_for(RunDaily())).code == ErrorCode.RUN_CLOSED
        await until(house, days.ends_at_ms(DAY))
        await run(anna)
    assert [len(house.store.runs("daily", day)) for day in (DAY, days.before(DAY, -1))] == [1, 1]


async def test_a_run_that_began_in_the_days_last_moments_is_over_before_the_reveal(house: House) -> None:
    async with house.guest("Anna") as anna:
        await until(house, days.ends_at_ms(DAY) - 4000)
        await enter(anna)
        await begin(anna)
        await until(house, days.reveals_at_ms(DAY) - 1)
        ended = [message for message in anna.heard if isinstance(message, Result)]
        assert ended == []
        (kept,) = house.store.runs("daily", DAY)
        assert kept.phase == "over"
        assert kept.finished_at_ms is not None
        assert kept.finished_at_ms < days.reveals_at_ms(DAY)


async def test_a_run_that_an_outage_keeps_from_its_end_is_stopped_when_anybody_may_know_the_deal(house: House) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        await until(house, days.ends_at_ms(DAY) - 60_000)
        await enter(anna)
        await begin(anna)
        await play(anna, 2)
        house.rooms.outage(Outage(trio.current_time(), "the disk is full"))
        await trio.sleep(20 * 60)
        (told,) = [day for day in (await bert.ask(ListDailies(), Dailies)).days if day.date == DAY]
        assert told.secret is not None
        house.rooms.outage(None)
        record = (await anna.hear_of(Result)).record
        await anna.say(Move(race=1, seat=0, ply=2, move="stock", ref=9))
        while (error := await anna.error()).ref != 9:
            assert error.code == ErrorCode.CANNOT_WRITE
        assert error.code == ErrorCode.RACE_OVER
    (seat,) = record.seats
    assert (seat.state, seat.plies) == ("stopped", 2)
    assert seat.ended_at_ms < 10_000, "none of the time that was lost counts"
    audit(record)


@pytest.mark.parametrize("late_ms", [0, 3_000_000])
async def test_no_move_counts_from_the_reveal_on_however_the_wall_clock_comes_to_show_it(house: House, late_ms: int) -> None:
    async with house.guest("Anna") as anna:
        await enter(anna)
        await begin(anna)
        await play(anna, 2)
        assert house.clock._wall_offset is not None
        house.clock._wall_offset += (days.reveals_at_ms(DAY) + late_ms - house.clock.wall_ms()) / 1000
        record = (await anna.ask(Move(race=1, seat=0, ply=2, move=anna.view.moves[0]), Result)).record
        assert (await anna.error()).code == ErrorCode.RACE_OVER
    (seat,) = record.seats
    assert (seat.state, seat.plies) == ("stopped", 2)
    audit(record)


async def test_days_in_a_row_are_counted_up_to_the_day_that_is_asked_for(house: House) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        for number in range(4):
            day = days.before(DAY, -number)
            for client in [anna, bert] if number != 1 else [anna]:
                await run(client, moves=0)
                await client.ask(LeaveRace(), Left)
            counted = {row.name: row.days for row in (await board(anna)).rows}
            assert counted["Anna"] == number + 1
            await until(house, days.begins_at_ms(day) + DAY_MS + DAY_MS // 2)
        last = await board(bert, deal=days.before(DAY, -3))
        assert {row.name: (row.days, row.days_won) for row in last.rows} == {"Anna": (4, 0), "Bert": (2, 0)}


async def test_a_day_whose_last_run_an_outage_kept_from_its_end_is_counted_when_that_is_over(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(requests: object) -> NoReturn:
        del requests
        raise StoreFull("the disk is full")

    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        await until(house, days.ends_at_ms(DAY) - 60_000)
        await enter(anna)
        await begin(anna)
        await until(house, days.ends_at_ms(DAY))
        await run(bert)
        with monkeypatch.context() as outage:
            outage.setattr(house.store, "write", full)
            await until(house, days.reveals_at_ms(DAY) + 60_000)
            assert [row.name for row in (await board(bert)).rows] == ["Bert"]
            (kept,) = house.store.runs("daily", DAY)
            assert kept.phase == "running"
        await anna.hear_of(Result)
        await anna.ask(LeaveRace(), Left)
        await run(anna)
        assert {row.name: row.days for row in (await board(anna)).rows} == {"Anna": 2, "Bert": 1}


async def test_an_unknown_rule_set_is_refused(house: House) -> None:
    async with house.guest() as anna:
        for message in (RunDaily(rules="whist"), ListRuns(kind="daily", rules="whist")):
            assert (await anna.ask(message, Error)).code == ErrorCode.UNKNOWN_RULES


async def test_whoever_races_elsewhere_cannot_begin_a_run(house: House) -> None:
    async with house.guest() as anna:
        await anna.open()
        assert (await anna.error_for(RunDaily())).code == ErrorCode.ALREADY_IN_ROOM
        await anna.ask(LeaveRace(), Left)
        await run(anna)


async def test_a_run_is_its_players_alone(house: House) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        code = (await enter(anna)).code
        await begin(anna)
        assert (await bert.error_for(JoinRace(code=code))).code == ErrorCode.NOT_INVITED
        assert (await bert.error_for(WatchRace(code=code))).code == ErrorCode.NOT_SHOWN


async def test_a_server_that_stops_meanwhile_leaves_them_to_the_next_one(nursery: trio.Nursery, caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    journal = Journal(store)
    nursery.start_soon(journal.run)
    journal.close()
    await journal.ended()
    await DailyDeals(journal=journal, clock=Clock(), entropy=bytes).run()
    assert caplog.records == []
