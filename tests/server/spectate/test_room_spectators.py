"""What a room's spectators are told, and when; and that a crowd of them disturbs nobody else."""

from __future__ import annotations

import logging
from itertools import pairwise

import pytest
import trio
from trio.testing import MockClock

from protocol.errors import ErrorCode, Refusal
from protocol.phrases import PHRASES
from protocol.room_events import Countdown, Hidden, PlayerView, Progress, Result, Room, Said, Seated, Started
from protocol.server_messages import Error
from protocol.views import SeriesFormat, SeriesOptions
from protocol.watch_messages import Board, Talk, Unwatched, Watched, WatchedEvent, Watchers
from server.race import face_down
from server.race.view import see
from server.rooms.outgoing import Outgoing
from server.rooms.requests import CallOff
from server.spectate.fanout_scheduler import SLICE_PATIENCE_S, SLICE_S, FanoutScheduler
from server.spectate.room_spectators import BACKLOG, LINES_AT_ONCE, LINES_KEPT
from server.spectate.spectator import LINES_AT_ONCE as LINES_OF_ONE
from server.store.availability import Outage
from tests.server.rooms.playing import Guest, Table
from tests.server.spectate.onlookers import Box, Onlooker, shows

CROWD = 48

SLICE = 16
"""Watchers posted to in one slice, where a test says how long each takes."""


async def test_whoever_watches_a_room_that_waits_sees_a_race_from_its_beginning(box: Box) -> None:
    table = box.table
    ann, bob, eve = table.guest("Ann"), table.guest("Bob"), box.onlooker()
    room = await table.seated(ann, seats=2)
    await eve.watch(room)
    watched = eve.last(Watched)
    assert (watched.room.phase, watched.room.seat, watched.room.view, watched.boards) == ("waiting", None, None, ())
    assert (watched.watchers, watched.lines, watched.closest) == (1, (), False)
    bob.enter(room)
    await table.settle()
    assert eve.events(Seated)[0].name == "Bob"
    await table.begin(room, ann, bob)
    assert len(eve.events(Countdown)) == len(eve.events(Started)) == 1
    assert len(eve.events(Hidden)) == 2
    ann.move(room)
    await table.settle()
    assert eve.events(Progress)[0].ply == 1
    assert eve.version == ann.version
    assert not eve.boards


async def test_the_first_who_comes_in_the_middle_of_a_race_sees_its_past_no_later(box: Box) -> None:
    table = box.table
    ann, bob, eve = table.guest("Ann"), table.guest("Bob"), box.onlooker()
    room = await table.racing(ann, bob, delay_s=5)
    for _ in range(10):
        await trio.sleep(1)
        ann.move(room)
        await table.settle()
    await eve.watch(room)
    assert (eve.boards[0].ply, eve.boards[1].ply) == (5, 0)
    await trio.sleep(5.1)
    assert [message.board.ply for message in eve.all(Board)] == [6, 7, 8, 9, 10]
    assert shows(eve.boards[0].view, ann.view)


async def test_whoever_comes_again_after_everybody_had_gone_sees_the_same(box: Box) -> None:
    table = box.table
    ann, bob, eve = table.guest("Ann"), table.guest("Bob"), box.onlooker()
    room = await table.racing(ann, bob, delay_s=5)
    await eve.watch(room)
    await eve.unwatch()
    assert eve.last(Unwatched) == Unwatched(code=room.code, reason="asked")
    ann.move(room)
    await trio.sleep(8)
    assert not eve.all(WatchedEvent)
    assert not box.of(room).running
    await eve.watch(room)
    assert shows(eve.boards[0].view, ann.view)


@pytest.mark.parametrize("format_", ["single", "swap"])
async def test_whoever_comes_in_the_middle_is_told_how_everybody_got_where_they_are(box: Box, format_: SeriesFormat) -> None:
    table = box.table
    ann, bob, eve = table.guest("Ann"), table.guest("Bob"), box.onlooker()
    races = 1 if format_ == "single" else 2
    room = await table.seated(ann, bob, rules="colorado", series=SeriesOptions(format=format_, races=races))
    await eve.watch(room)
    assert eve.last(Watched).curves == ()
    await table.begin(room, ann, bob)
    first = [seat.position.home for seat in room.core.race.seats if seat.position is not None]
    for _ in range(30):
        await trio.sleep(0.7)
        ann.move(room)
        await table.settle()
    late = box.onlooker("Dan")
    await late.watch(room)
    watched = late.last(Watched)
    told = [[(0, home)] for home in first]
    for progress in eve.events(Progress):
        if told[progress.seat][-1][1] != progress.home:
            told[progress.seat].append((progress.elapsed_ms, progress.home))
    curves = [list(zip(curve.at_ms, curve.home, strict=True)) for curve in watched.curves]
    assert curves == told, "what was told as it happened, and nothing else"
    assert len(curves[0]) > 3
    assert [curve[-1][1] for curve in curves] == [seat.home for seat in watched.room.seats]
    for guest in (ann, bob):
        guest.stop(room)
    await table.settle()
    await late.unwatch()
    await late.watch(room)
    assert late.last(Watched).curves == ()


async def test_whoever_watches_is_told_how_long_the_race_has_run_when_time_has_stood_still(box: Box) -> None:
    table = box.table
    ann, bob, eve = table.guest("Ann"), table.guest("Bob"), box.onlooker()
    room = await table.racing(ann, bob, delay_s=0)
    await eve.watch(room)
    await trio.sleep(10)
    table.rooms.outage(Outage(trio.current_time(), "the disk is full"))
    await trio.sleep(3600)
    table.rooms.outage(None)
    await trio.sleep(1)
    assert eve.last(Watched).room.elapsed_ms // 1000 == 10
    ann.move(room)
    await trio.sleep(1)
    assert eve.events(Progress)[-1].ply == 1
    assert eve.boards[0].ply == 1


async def test_the_result_brings_the_last_boards_and_the_record(box: Box, table: Table, ann: Guest, bob: Guest, eve: Onlooker) -> None:
    room = await table.racing(ann, bob, delay_s=600)
    await eve.watch(room)
    for _ in range(3):
        ann.move(room)
        await table.settle()
    assert not eve.boards
    ann.stop(room)
    bob.resign(room)
    await table.settle()
    record = eve.events(Result)[0].record
    assert record == ann.last(Result).record
    assert isinstance(eve.heard[-1], WatchedEvent)
    assert [(board.seat, board.ply, board.state) for board in eve.boards.values()] == [(0, 3, "stopped"), (1, 0, "forfeited")]
    assert shows(eve.boards[0].view, see(table.guests[0].seat_in(room).position))  # type: ignore[arg-type]
    later = box.onlooker("Later")
    await later.watch(room)
    assert later.boards == eve.boards
    assert later.last(Watched).room.record == record


async def test_a_rematch_begins_with_no_boards(table: Table, ann: Guest, bob: Guest, eve: Onlooker) -> None:
    room = await table.racing(ann, bob, delay_s=2)
    await eve.watch(room)
    await trio.sleep(3)
    for guest in (ann, bob):
        guest.stop(room)
    for guest in (ann, bob):
        guest.rematch(room)
    await table.settle()
    assert eve.room is not None
    assert (eve.room.race, eve.room.phase, eve.room.record, eve.boards) == (2, "waiting", None, {})
    await table.begin(room, ann, bob)
    await trio.sleep(2.1)
    assert {seat: board.view for seat, board in eve.boards.items()} == {0: ann.view, 1: bob.view}


async def test_nobody_is_shown_what_is_not_kept_yet(box: Box, table: Table) -> None:
    ann, bob, eve, later = table.guest("Ann"), table.guest("Bob"), box.onlooker("Eve"), box.onlooker("Later")
    room = await table.racing(ann, bob, delay_s=0)
    await eve.watch(room)
    table.journal.hold()
    ann.move(room)
    await table.settle()
    await later.watch(room)
    assert not eve.events(Progress)
    assert eve.boards[0].ply == 0
    assert not later.heard
    table.journal.release()
    await table.settle()
    assert eve.boards[0].ply == later.boards[0].ply == 1
    assert later.last(Watched).room.seats[0].ply == 1


async def test_after_a_restart_watching_goes_on_where_it_was(nursery: trio.Nursery, box: Box) -> None:
    table = box.table
    ann, bob, eve = table.guest("Ann"), table.guest("Bob"), box.onlooker()
    room = await table.racing(ann, bob, delay_s=5)
    await eve.watch(room)
    for _ in range(8):
        await trio.sleep(1)
        ann.move(room)
        await table.settle()
    new = Box(nursery, Table(nursery, seed=2, clock=table.clock))
    new.table.rooms.resume(table.journal.left(room.code))
    await new.table.settle()
    again = new.onlooker()
    await again.watch(room.code)
    assert again.boards == eve.boards
    assert again.boards[0].ply == 3
    await trio.sleep(5.1)
    assert [message.board.ply for message in again.all(Board)] == [4, 5, 6, 7, 8]
    assert again.gaps == []


# ---- how many watch


async def test_players_and_watchers_hear_at_most_once_a_second_how_many_watch(box: Box, table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    began = trio.current_time()
    for number in range(40):
        await box.onlooker(f"Eve {number}").watch(room)
        await trio.sleep(0.1)
    await trio.sleep(2)
    counts = [message.count for message in ann.all(Watchers)]
    assert counts == [message.count for message in bob.all(Watchers)]
    assert counts[-1] == room.watchers == 40
    assert len(counts) <= trio.current_time() - began
    times = [time for message, time in zip(box.onlookers[0].heard, box.onlookers[0].times, strict=True) if isinstance(message, Watchers)]
    assert all(after - before >= 1 - 1e-6 for before, after in pairwise(times))
    for onlooker in box.onlookers:
        box.spectators.gone(onlooker)
    await trio.sleep(2)
    assert ann.last(Watchers) == Watchers(code=room.code, count=0)
    assert not box.of(room).running
    assert len(ann.all(Watchers)) == len(counts) + 1


async def test_a_player_who_comes_back_is_told_how_many_watch(box: Box, table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    await box.onlooker().watch(room)
    await bob.vanish(room)
    bob.enter(room)
    await table.settle()
    assert bob.heard[-1] == Watchers(code=room.code, count=1)


# ---- talk


async def test_watchers_hear_watchers_at_once_and_players_after_the_race(box: Box, table: Table) -> None:
    ann, bob, eve, dan = table.guest("Ann"), table.guest("Bob"), box.onlooker("Eve"), box.onlooker("Dan")
    room = await table.seated(ann, bob)
    await eve.watch(room)
    await dan.watch(room)
    await eve.say("before")
    assert [line.text for message in ann.all(Talk) for line in message.lines] == ["before"]
    await table.begin(room, ann, bob)
    await eve.say("she should turn the stock")
    assert eve.talk == dan.talk == ["before", "she should turn the stock"]
    await bob.vanish(room)
    bob.enter(room, version=0)
    await table.settle()
    assert len(bob.all(Talk)) == 1
    for guest in (ann, bob):
        guest.stop(room)
    await table.settle()
    assert [message.number for message in ann.last(Talk).lines] == [2]
    assert ann.heard.index(ann.last(Talk)) > ann.heard.index(ann.last(Result))
    await dan.say("well done")
    assert ann.last(Talk).lines[0].name == "Dan"
    later = bob.another_line()
    later.enter(room, version=0)
    await table.settle()
    assert [line.text for line in later.last(Talk).lines] == ["before", "she should turn the stock", "well done"]
    assert later.heard.index(later.last(Talk)) > later.heard.index(later.last(Room))


async def test_what_was_said_while_a_race_ran_is_told_even_when_all_watchers_have_gone(box: Box) -> None:
    table = box.table
    ann, bob, eve = table.guest("Ann"), table.guest("Bob"), box.onlooker()
    room = await table.racing(ann, bob)
    await eve.watch(room)
    await eve.say("good luck")
    box.spectators.gone(eve)
    await trio.sleep(5)
    for guest in (ann, bob):
        guest.stop(room)
    await table.settle()
    assert [line.text for line in ann.last(Talk).lines] == ["good luck"]


async def test_a_race_keeps_the_last_lines_of_its_watchers_and_no_more(box: Box) -> None:
    table = box.table
    ann, bob, eve = table.guest("Ann"), table.guest("Bob"), box.onlooker()
    room = await table.racing(ann, bob)
    await eve.watch(room)
    for number in range(LINES_KEPT + 10):
        await eve.say(f"line {number}")
        await trio.sleep(2)
    later = box.onlooker("Later")
    await later.watch(room)
    assert [line.number for line in later.last(Watched).lines] == list(range(11, LINES_KEPT + 11))
    for guest in (ann, bob):
        guest.stop(room)
    await table.settle()
    assert ann.last(Talk).lines == later.last(Watched).lines


async def test_too_much_talk_of_one_or_of_all_is_refused(box: Box, table: Table) -> None:
    room = await table.racing(table.guest("Ann"), table.guest("Bob"))
    crowd = [box.onlooker(f"Eve {number}") for number in range(20)]
    for onlooker in crowd:
        await onlooker.watch(room)
    for _ in range(LINES_OF_ONE):
        await crowd[0].say("hm")
    with pytest.raises(Refusal) as refused:
        await crowd[0].say("hm")
    assert refused.value.code is ErrorCode.TALKED_TOO_MUCH
    for onlooker in crowd[1 : LINES_AT_ONCE - LINES_OF_ONE + 1]:
        await onlooker.say("hm")
    with pytest.raises(Refusal) as refused:
        await crowd[-1].say("hm")
    assert refused.value.code is ErrorCode.TALKED_TOO_MUCH
    await trio.sleep(2)
    await crowd[0].say("hm")


async def test_while_the_race_is_run_players_have_phrases_and_watchers_hear_them(box: Box) -> None:
    table = box.table
    ann, bob, eve = table.guest("Ann"), table.guest("Bob"), box.onlooker()
    room = await table.seated(ann, bob)
    ann.say(room, "free before")
    await table.begin(room, ann, bob)
    await eve.watch(room)
    ann.say(room, "the two of hearts comes next")
    ann.phrase(room, "ouch")
    ann.phrase(room, "the-two-of-hearts")
    await table.settle()
    assert ann.codes == [ErrorCode.PHRASES_ONLY, ErrorCode.UNKNOWN_PHRASE]
    (said,) = eve.events(Said)
    assert said == bob.last(Said)
    assert (said.line.phrase, said.line.text) == ("ouch", PHRASES["ouch"])
    for guest in (ann, bob):
        guest.stop(room)
    ann.say(room, "free after")
    await table.settle()
    assert [line.line.text for line in bob.all(Said)] == ["free before", "Ouch!", "free after"]


# ---- many, and a hub that is behind


async def test_a_message_to_a_crowd_is_made_once(box: Box, table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob, delay_s=1)
    crowd = [box.onlooker(f"Eve {number}") for number in range(CROWD)]
    for onlooker in crowd:
        box.spectators.watch(onlooker, onlooker.player, room.code)
    await trio.sleep(2)
    ann.move(room)
    await trio.sleep(2)
    heard = len(crowd[0].outgoing)
    assert [type(message) for message in crowd[0].heard] == [Watched, Watchers, Board, Board, WatchedEvent, Board]
    for number in range(heard):
        assert len({id(onlooker.outgoing[number]) for onlooker in crowd}) == 1


async def test_between_two_slices_everybody_else_has_their_turn_whatever_number_of_hubs_there_is(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    now, posts = 0.0, 0
    box = Box(nursery, scheduler=FanoutScheduler(lambda: now))
    table = box.table
    rooms = [await table.racing(table.guest(f"Ann {number}"), table.guest(f"Bob {number}")) for number in range(3)]

    class Counting(Onlooker):
        def post(self, outgoing: Outgoing) -> None:
            nonlocal now, posts
            now += SLICE_S / (SLICE - 0.5)
            posts += 1

    for room in rooms:
        for number in range(SLICE * 4):
            onlooker = Counting(box, f"{room.code} {number}")
            box.spectators.watch(onlooker, onlooker.player, room.code)
    await trio.sleep(3)
    for room, ann in zip(rooms, table.guests[::2], strict=True):
        ann.move(room)
    posts, most, turns = 0, 0, 0
    while turns < 100:
        before = posts
        now += SLICE_PATIENCE_S
        await trio.lowlevel.checkpoint()
        most, turns = max(most, posts - before), turns + 1
    assert posts == 3 * SLICE * 4
    # The order within one round of the scheduler is by chance, so two of its rounds may lie between.
    assert SLICE <= most <= 2 * SLICE
    assert all(ann.all(PlayerView) for ann in table.guests[::2])


async def test_what_happens_while_a_crowd_is_posted_to_goes_out_together_with_the_newest_boards_alone(box: Box) -> None:
    table = box.table
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob, delay_s=0)
    crowd = [box.onlooker(f"Eve {number}") for number in range(CROWD)]
    for onlooker in crowd:
        box.spectators.watch(onlooker, onlooker.player, room.code)
    await trio.sleep(2)
    async with box.spectators.scheduler._one_at_a_time:
        ann.move(room)
        await table.settle()
        for _ in range(6):
            ann.move(room)
            bob.move(room)
            await table.settle()
    heard = len(crowd[0].heard)
    await table.settle()
    first, second = crowd[0].bundles[-2:]
    assert [type(outgoing.message) for outgoing in first.messages] == [WatchedEvent, Board]
    assert [type(outgoing.message) for outgoing in second.messages] == 12 * [WatchedEvent] + 2 * [Board]
    assert [message.board.ply for message in crowd[0].heard[heard:] if isinstance(message, Board)] == [1, 7, 6]
    assert all(onlooker.bundles[-2:] == [first, second] for onlooker in crowd)
    assert crowd[0].version == ann.version
    assert all(shows(crowd[0].boards[seat].view, guest.view) for seat, guest in enumerate((ann, bob)))


async def test_whoever_comes_when_as_much_waits_as_may_is_told_everything_all_the_same_and_so_are_the_others(box: Box) -> None:
    table = box.table
    ann, eve, dan = table.guest("Ann"), box.onlooker(), box.onlooker("Dan")
    room = await table.seated(ann, seats=2)
    await eve.watch(room)
    for _ in range(BACKLOG):
        ann.phrase(room, "hello")
    await dan.watch(room)
    ann.phrase(room, "good-luck")
    await table.settle()
    assert eve.version == dan.version == ann.version


async def test_a_hub_that_is_behind_drops_what_waits_and_shows_everything_anew(box: Box, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    table = box.table
    ann, bob, eve = table.guest("Ann"), table.guest("Bob"), box.onlooker()
    room = await table.racing(ann, bob, delay_s=0)
    await eve.watch(room)
    async with box.spectators.scheduler._one_at_a_time:
        # Nobody is posted to meanwhile.
        for _ in range(BACKLOG + 10):
            ann.phrase(room, "hello")
            # So fast and no faster they may say it.
            await trio.sleep(1)
        bob.move(room)
        await table.settle()
        assert len(box.of(room)._items) <= BACKLOG
    await table.settle()
    assert len(eve.all(Watched)) == 2
    assert eve.version == ann.version
    assert eve.boards[1].ply == 1
    assert len(eve.events(Said)) < BACKLOG
    assert "are behind" in caplog.text
    ann.move(room)
    await table.settle()
    assert eve.boards[0].ply == 1


async def test_a_first_snapshot_that_waits_when_everything_is_shown_anew_is_never_sent(box: Box) -> None:
    ann, eve = box.table.guest("Ann"), box.onlooker()
    room = await box.table.seated(ann, seats=2)
    async with box.spectators.scheduler._one_at_a_time:
        await eve.watch(room)
        for _ in range(BACKLOG + 10):
            ann.phrase(room, "hello")
        await box.table.settle()
    await box.table.settle()
    assert len(eve.all(Watched)) == 1
    assert eve.version == ann.version


async def test_a_failure_ends_the_watching_and_nothing_else(
    table: Table, ann: Guest, bob: Guest, eve: Onlooker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    room = await table.racing(ann, bob, delay_s=0)
    await eve.watch(room)

    def fail(*_: object) -> None:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(face_down, "see", fail)
        ann.move(room)
        await table.settle()
    assert eve.last(Unwatched) == Unwatched(code=room.code, reason="failed")
    assert ann.last(PlayerView).ply == 1
    assert "a bug" in caplog.text
    await eve.watch(room)
    ann.move(room)
    await table.settle()
    assert eve.boards[0].ply == 2


async def test_after_a_failure_nobody_is_said_to_watch(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    table = box.table
    ann, bob, eve = table.guest("Ann"), table.guest("Bob"), box.onlooker()
    room = await table.racing(ann, bob, delay_s=0)
    await eve.watch(room)
    await trio.sleep(2)
    assert ann.last(Watchers).count == 1
    changes: list[int] = []
    table.rooms.on_change.append(lambda: changes.append(room.watchers))

    def fail(*_: object) -> None:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(face_down, "see", fail)
        ann.move(room)
        await table.settle()
    assert ann.last(Watchers) == bob.last(Watchers) == Watchers(code=room.code, count=0)
    assert changes[-1] == 0
    await bob.vanish(room)
    bob.enter(room)
    await table.settle()
    assert bob.last(Watchers).count == 0
    await eve.watch(room)
    await trio.sleep(2)
    assert ann.last(Watchers).count == 1


async def test_a_room_that_is_closed_is_watched_by_nobody(box: Box, table: Table, ann: Guest, eve: Onlooker) -> None:
    room = await table.seated(ann, seats=2)
    await eve.watch(room)
    ann.leave(room)
    await table.settle()
    assert eve.last(Unwatched) == Unwatched(code=room.code, reason="closed")
    assert box.spectators.watched(eve) is None
    assert not box.spectators._rooms_watched
    with pytest.raises(Refusal) as refused:
        await eve.watch(room)
    assert refused.value.code is ErrorCode.NO_SUCH_ROOM


async def test_whoever_watches_a_room_that_closes_at_its_races_end_is_told_the_result_first(box: Box) -> None:
    table = box.table
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob, delay_s=10)
    crowd = [box.onlooker(f"Eve {number}") for number in range(CROWD)]
    for onlooker in crowd:
        box.spectators.watch(onlooker, onlooker.player, room.code)
    await trio.sleep(2)
    async with box.spectators.scheduler._one_at_a_time:
        ann.move(room)
        await table.settle()
        for guest in (ann, bob):
            guest.leave(room)
        await table.settle()
        assert room.is_closed
    await table.settle()
    for onlooker in crowd:
        assert len(onlooker.events(Result)) == 1
        assert [onlooker.boards[seat].ply for seat in (0, 1)] == [1, 0], "the last boards come before the result"
        assert onlooker.heard[-1] == Unwatched(code=room.code, reason="closed")
        assert box.spectators.watched(onlooker) is None
    assert not box.spectators._rooms_watched


async def test_a_room_that_closes_while_its_race_runs_shows_no_board_early(table: Table, ann: Guest, bob: Guest, eve: Onlooker) -> None:
    room = await table.racing(ann, bob, delay_s=10)
    await trio.sleep(11)
    await eve.watch(room)
    ann.move(room)
    room.tell(CallOff(also_running=True))
    await table.settle()
    assert eve.events(Progress)[-1].ply == 1
    assert eve.boards[0].ply == 0
    assert not eve.all(Board)
    assert eve.heard[-1] == Unwatched(code=room.code, reason="closed")


async def test_whoever_watches_is_told_that_time_stands_still_and_behind_their_first_snapshot_too(box: Box) -> None:
    table = box.table
    ann, bob = table.guest("Ann"), table.guest("Bob")
    eve, dan, fay = box.onlooker(), box.onlooker("Dan"), box.onlooker("Fay")
    room = await table.racing(ann, bob, delay_s=5)
    await trio.sleep(10)
    await eve.watch(room)
    table.rooms.outage(Outage(trio.current_time(), "the disk is full"))
    await table.settle()
    assert eve.codes == [ErrorCode.CANNOT_WRITE]
    await dan.watch(room)
    watched, told = dan.heard[-2:]
    assert isinstance(watched, Watched)
    assert dan.codes[-1] == ErrorCode.CANNOT_WRITE
    assert isinstance(told, Error)
    # What has happened has to be kept before anybody is shown more.
    table.journal.hold()
    ann.move(room)
    await fay.watch(room)
    assert not fay.all(Watched)
    assert fay.codes == [ErrorCode.CANNOT_WRITE]
    await trio.sleep(3600)
    table.rooms.outage(None)
    table.journal.release()
    await trio.sleep(1)
    for onlooker in (eve, dan, fay):
        assert isinstance(onlooker.heard[-1], Watched)
        assert onlooker.last(Watched).room.elapsed_ms // 1000 == 10
        assert onlooker.codes[-1] == ErrorCode.CANNOT_WRITE


async def test_whoever_looks_at_a_result_is_told_of_no_outage(box: Box) -> None:
    ann, bob, eve = box.table.guest("Ann"), box.table.guest("Bob"), box.onlooker()
    room = await box.table.racing(ann, bob)
    await eve.watch(room)
    ann.stop(room)
    bob.stop(room)
    await box.table.settle()
    assert eve.events(Result)
    box.table.rooms.outage(Outage(trio.current_time(), "the disk is full"))
    await box.table.settle()
    assert eve.codes == []
