"""Seats and connections: who sits down, is away, is back or has left, in each phase of a race."""

from __future__ import annotations

import pytest
import trio

from protocol.errors import ErrorCode, Refusal
from protocol.room_events import Presence, Progress, Result, Room, Said, Seated, Unseated
from protocol.server_messages import Left
from protocol.views import RaceOptions
from server.race.machine import ALL_AWAY
from server.rooms.core import IDLE_S
from server.store.port import RaceAborted
from tests.server.rooms.playing import Guest, Table


async def test_each_who_enters_takes_the_next_free_seat_and_is_shown_the_room(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, seats=3)
    bob.enter(room)
    await table.settle()
    assert [type(message) for message in bob.heard] == [Room]
    assert (bob.last(Room).seat, [seat.name for seat in bob.last(Room).seats]) == (1, ["Ann", "Bob", None])
    assert (ann.last(Seated).seat, ann.last(Seated).name) == (1, "Bob")
    assert table.rooms.of(bob.player.id) is room


async def test_a_full_room_refuses_and_leaves_the_refused_one_free_for_another(table: Table, ann: Guest, bob: Guest, eve: Guest) -> None:
    room = await table.seated(ann, bob)
    eve.enter(room, ref=5)
    await table.settle()
    assert eve.codes == [ErrorCode.ROOM_FULL]
    assert eve.heard[0].ref == 5  # type: ignore[union-attr]
    assert table.rooms.of(eve.player.id) is None


async def test_leaving_the_race_forfeits_and_frees_the_player_at_once(table: Table, ann: Guest, bob: Guest, eve: Guest) -> None:
    room = await table.racing(ann, bob, eve)
    bob.leave(room)
    await table.settle()
    assert table.rooms.of(bob.player.id) is None
    assert [seat.state for seat in room.core.race.seats] == ["racing", "forfeited", "racing"]
    assert ann.last(Progress).state == "forfeited"
    assert ann.last(Presence) == Presence(version=ann.version, seat=1, connected=False, away_ms=None)
    heard = len(bob.heard)
    ann.move(room)
    ann.stop(room)
    eve.stop(room)
    await table.settle()
    assert len(bob.heard) == heard
    assert [seat.state for seat in ann.last(Result).record.seats] == ["stopped", "forfeited", "stopped"]
    assert ann.last(Result).record.seats[1].place == 3
    # Their seat is free now, so that all can see that no rematch is to be had.
    assert ann.last(Unseated).seat == 1


async def test_whoever_left_the_race_may_come_back_to_look_but_not_to_play(table: Table, ann: Guest, bob: Guest, eve: Guest) -> None:
    room = await table.racing(ann, bob, eve)
    bob.leave(room)
    await table.settle()
    bob.enter(room, version=0)
    await table.settle()
    assert bob.last(Room).seats[1].state == "forfeited"
    bob.move(room, "s")
    await table.settle()
    assert bob.codes == [ErrorCode.SEAT_ENDED]


async def test_whoever_leaves_and_comes_back_in_one_breath_is_bound_to_the_room(table: Table, ann: Guest, bob: Guest, eve: Guest) -> None:
    room = await table.racing(ann, bob, eve)
    bob.leave(room)
    bob.enter(room, version=0)
    await table.settle()
    assert bob.seat_in(room).state == "forfeited"
    # Else they could open one room after another, and leave a line behind in each that keeps it open for ever.
    assert table.rooms.of(bob.player.id) is room


async def test_leaving_after_the_race_leaves_the_others_together(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.over(ann, bob)
    bob.leave(room)
    ann.say(room, "good race")
    await table.settle()
    assert ann.last(Unseated).seat == 1
    assert len(table.rooms) == 1
    ann.leave(room)
    await table.settle()
    assert len(table.rooms) == 0


async def test_a_waiting_room_that_all_have_left_is_closed_at_once(table: Table, ann: Guest) -> None:
    for _ in range(50):
        room = await table.seated(ann, seats=3, bots=("random",))
        ann.leave(room)
        await table.settle()
        ann.version = 0
    assert len(table.rooms) == 0


async def test_a_lost_connection_is_told_with_the_grace_and_so_is_the_return(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob, grace_s=30)
    await bob.vanish(room)
    await table.settle()
    assert (ann.last(Presence).connected, ann.last(Presence).away_ms) == (False, 30_000)
    await trio.sleep(29)
    again = bob.another_line()
    again.enter(room)
    await table.settle()
    assert (ann.last(Presence).connected, ann.last(Presence).away_ms) == (True, None)
    await trio.sleep(60)
    assert [seat.state for seat in room.core.race.seats] == ["racing", "racing"]
    again.move(room)
    await table.settle()
    assert again.ply == 1


async def test_whoever_loses_their_seat_to_the_grace_before_the_start_is_free_and_may_come_again(table: Table) -> None:
    ann, bob, eve = table.guest("Ann"), table.guest("Bob"), table.guest("Eve")
    room = await table.seated(ann, bob, eve, seats=4, grace_s=5)
    await bob.vanish(room)
    await trio.sleep(5.1)
    assert ann.last(Unseated).seat == 1
    assert table.rooms.of(bob.player.id) is None
    zoe = table.guest("Zoe")
    zoe.enter(room)
    await table.settle()
    # They come with the version they had. Only a snapshot tells them that their seat is another one now.
    bob.enter(room)
    await table.settle()
    assert bob.last(Room).seat == 3
    assert table.rooms.of(bob.player.id) is room


async def test_a_newer_connection_takes_over_and_the_end_of_the_older_one_changes_nothing(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    newer = bob.another_line()
    newer.enter(room)
    await table.settle()
    heard = len(bob.heard)
    await bob.vanish(room)
    ann.move(room)
    newer.move(room)
    await table.settle()
    assert ann.all(Presence) == []
    assert len(bob.heard) == heard
    assert newer.ply == 1
    assert newer.last(Progress).seat == 0


async def test_a_connection_that_has_not_joined_is_not_heard_for_the_one_that_has(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    other = bob.another_line()
    other.race, other.seat, other.view, other.ply = bob.race, bob.seat, bob.view, bob.ply
    other.move(room)
    await table.settle()
    assert other.codes == [ErrorCode.NOT_IN_ROOM]
    assert bob.seat_in(room).ply == 0
    other.leave(room)
    await table.settle()
    assert other.all(Left)
    assert bob.seat_in(room).state == "forfeited"


async def test_a_room_with_nobody_in_it_is_closed_after_a_while(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.over(ann, bob)
    await ann.vanish(room)
    await trio.sleep(IDLE_S - 1)
    await bob.vanish(room)
    await trio.sleep(IDLE_S - 1)
    assert len(table.rooms) == 1
    await trio.sleep(2)
    assert len(table.rooms) == 0
    assert table.rooms.of(ann.player.id) is table.rooms.of(bob.player.id) is None


async def test_a_waiting_room_whose_players_vanished_is_closed_after_a_while(table: Table, ann: Guest) -> None:
    room = await table.seated(ann, seats=2, grace_s=600)
    await ann.vanish(room)
    await trio.sleep(IDLE_S + 1)
    assert len(table.rooms) == 0
    assert table.rooms.of(ann.player.id) is None
    (aborted,) = [entry for entry in table.journal.entries if isinstance(entry, RaceAborted)]
    assert aborted.reason == "nobody was there any more"


async def test_a_race_from_which_all_vanish_ends_and_its_room_goes(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob, grace_s=60)
    await ann.vanish(room)
    await bob.vanish(room)
    await trio.sleep(ALL_AWAY * 60 - 1)
    assert room.core.race.phase == "racing"
    await trio.sleep(2)
    assert room.core.race.record is not None
    assert [seat.state for seat in room.core.race.record.seats] == ["forfeited", "forfeited"]
    assert len(table.rooms) == 0


async def test_a_race_with_bots_that_everybody_left_ends_by_itself(table: Table, ann: Guest) -> None:
    room = await table.racing(ann, bots=("greedy",))
    ann.leave(room)
    await trio.sleep(601)
    assert room.core.race.phase == "over"
    assert len(table.rooms) == 0


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (RaceOptions(rules="chess"), ErrorCode.UNKNOWN_RULES),
        (RaceOptions(bots=("hal",)), ErrorCode.UNKNOWN_BOT),
        (RaceOptions(seats=2, bots=("random", "random")), ErrorCode.BAD_OPTIONS),
        (RaceOptions(deal="\x1b]0;owned\x07"), ErrorCode.BAD_OPTIONS),
        (RaceOptions(deal="two\nlines"), ErrorCode.BAD_OPTIONS),
    ],
)
async def test_options_that_do_not_fit_open_no_room(table: Table, options: RaceOptions, code: ErrorCode) -> None:
    with pytest.raises(Refusal) as refused:
        table.rooms.open(options)
    assert refused.value.code is code
    assert refused.value.path.startswith("$.options")
    assert len(table.rooms) == 0


async def test_phrases_in_a_race_come_no_faster_than_somebody_at_play_can_read(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    for _ in range(12):
        ann.phrase(room, "hello")
    bob.phrase(room, "nice")
    await table.settle()
    assert [message.line.seat for message in bob.all(Said)] == [*[0] * 10, 1]
    assert ann.codes == [ErrorCode.TALKED_TOO_MUCH] * 2
    await trio.sleep(1)
    ann.phrase(room, "sorry")
    await table.settle()
    assert bob.all(Said)[-1].line.phrase == "sorry"


async def test_chat_is_cleaned_and_empty_lines_are_refused(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob)
    ann.say(room, "\x1b[31mhello\x1b[0m\r\n\x07 there" + "!" * 900)
    ann.say(room, "\x1b[2J \u202e")
    await table.settle()
    later = bob.another_line()
    later.enter(room)
    await table.settle()
    (line,) = later.last(Room).chat
    assert line.text.startswith("hello there!!!")
    assert len(line.text) == 200
    assert ann.codes == [ErrorCode.EMPTY_CHAT]
