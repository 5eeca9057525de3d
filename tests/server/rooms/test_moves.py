"""Moves, good and bad: a bad one gets its error and the current view and changes nothing, and the opponent's race goes on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import trio

from protocol.cards import fresh_deck
from protocol.client_messages import Move
from protocol.errors import ErrorCode
from protocol.room_events import PlayerView, Progress, Result
from protocol.room_events import Room as RoomMessage
from protocol.server_messages import CurrentView, Error
from server.race.machine import Race
from server.rooms.driver import Room
from server.rooms.effects import Effects
from server.rooms.spectator_port import Shown
from tests.server.race.racing import STALLING, WINNABLE, greedy_line
from tests.server.rooms.playing import Guest, Table
from tests.server.rules.changed import cards_of

DECK = sorted(fresh_deck())


def all_cards_are_there(race: Race) -> bool:
    return all(seat.position is not None and cards_of(seat.position) == DECK for seat in race.seats)


def positions(room: Room) -> list[object]:
    return [(seat.position, seat.ply, seat.state, tuple(seat.played)) for seat in room.core.race.seats]


async def test_after_every_accepted_move_all_cards_are_there(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    moves = 0
    while room.core.race.phase == "racing" and moves < 500:
        for guest in (ann, bob):
            if guest.state == "racing" and room.core.race.phase == "racing":
                guest.move(room)
                await table.settle()
                moves += 1
                assert guest.ply == guest.seat_in(room).ply
                assert all_cards_are_there(room.core.race)
        await trio.sleep(0.2)
    assert moves > 20
    assert ann.codes == bob.codes == []


async def test_nothing_of_a_race_is_due_before_the_moment_that_its_room_holds_to_be_the_next(
    table: Table, ann: Guest, bob: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = await table.seated(ann, bob, countdown_s=1)
    core = room.core
    kept = 0

    def checked(decide: Callable[..., Effects], *asked: object) -> Effects:
        nonlocal kept
        effects = decide(*asked)
        if core.is_due_known:
            # A move has changed nothing in it, as the room says: the rest is asked anew.
            known, due = core.due, core._find_due()
            assert due is None or (known is not None and known <= due)
            kept += 1
        return effects

    monkeypatch.setattr(core, "take", partial(checked, core.take))
    monkeypatch.setattr(core, "move", partial(checked, core.move))
    await table.begin(room, ann, bob)
    while core.race.phase == "racing":
        for guest in (ann, bob):
            if guest.state == "racing" and core.race.phase == "racing":
                guest.move(room)
                await table.settle()
        await trio.sleep(0.5)
    assert kept > 20
    assert bob.last(Result).record == ann.last(Result).record


async def test_the_mover_gets_their_view_and_the_other_only_how_far_they_are(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    ann.move(room)
    await table.settle()
    view, progress = ann.last(PlayerView), bob.last(Progress)
    assert (view.seat, view.ply, view.version) == (progress.seat, progress.ply, progress.version) == (0, 1, ann.version)
    assert bob.all(PlayerView) == []
    assert ann.all(Progress) == []


# What is wrong with a move, and the code that says so. The stock can be turned at the start of every game of Carpet.
BAD_MOVES = [
    pytest.param({"move": "j8"}, ErrorCode.ILLEGAL_MOVE, id="illegal card"),
    pytest.param({"move": "w:a1"}, ErrorCode.ILLEGAL_MOVE, id="waste to a slot that is taken"),
    pytest.param({"move": "r"}, ErrorCode.ILLEGAL_MOVE, id="redeal where there is none"),
    pytest.param({"move": "castle"}, ErrorCode.BAD_MOVE, id="no move text"),
    pytest.param({"move": "\x1b[2J"}, ErrorCode.BAD_MOVE, id="escape sequence for a move"),
    pytest.param({"move": "S"}, ErrorCode.BAD_MOVE, id="move in capitals"),
    pytest.param({"ply": 0, "move": "a1"}, ErrorCode.STALE_PLY, id="stale ply with another move"),
    pytest.param({"ply": 2}, ErrorCode.FUTURE_PLY, id="ply ahead of the race"),
    pytest.param({"ply": 2**31 - 1}, ErrorCode.FUTURE_PLY, id="ply far ahead of the race"),
    pytest.param({"seat": 1}, ErrorCode.NOT_YOUR_SEAT, id="somebody else's seat"),
    pytest.param({"seat": 7}, ErrorCode.NOT_YOUR_SEAT, id="seat that is not there"),
    pytest.param({"race": 2}, ErrorCode.WRONG_RACE, id="race to come"),
    pytest.param({"race": 2**31 - 1}, ErrorCode.WRONG_RACE, id="race that never was"),
]


@pytest.mark.parametrize(("wrong", "code"), BAD_MOVES)
async def test_a_refused_move_gets_its_code_and_the_view_and_changes_nothing(table: Table, wrong: dict[str, Any], code: ErrorCode) -> None:
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob)
    ann.move(room, "s")
    await table.settle()
    before, version, heard = positions(room), bob.version, len(ann.heard)
    ann.move(room, **{"move": "s", "ref": 77, **wrong})
    await table.settle()
    error, current = ann.heard[heard:]
    assert isinstance(error, Error)
    assert (error.code, error.ref) == (code, 77)
    assert "\x1b" not in error.message
    assert isinstance(current, CurrentView)
    assert (current.race, current.seat, current.ply, current.view) == (1, 0, 1, ann.last(PlayerView).view)
    assert positions(room) == before
    assert all_cards_are_there(room.core.race)
    assert bob.version == version
    bob.move(room)
    ann.move(room)
    await table.settle()
    assert [seat.ply for seat in room.core.race.seats] == [2, 1]


async def test_a_repeated_move_is_answered_with_the_view_and_played_once(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    ann.move(room, "s", ply=0)
    await table.settle()
    before = positions(room)
    ann.move(room, "s", ply=0)
    await table.settle()
    assert positions(room) == before
    assert ann.last(CurrentView).ply == 1
    assert ann.codes == []


async def test_a_move_before_the_start_is_refused_without_a_view(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob)
    ann.ask(room, Move(race=1, seat=0, ply=0, move="s"))
    ann.ready(room)
    bob.ready(room)
    await table.settle()
    ann.ask(room, Move(race=1, seat=0, ply=0, move="s"))
    await table.settle()
    assert ann.codes == [ErrorCode.NOT_STARTED, ErrorCode.NOT_STARTED]
    assert ann.all(CurrentView) == []
    await trio.sleep(3.01)
    assert room.core.race.phase == "racing"


async def test_a_move_between_the_first_view_and_the_start_is_refused(table: Table) -> None:
    ann, bob = table.guest("Ann", round_trip_ms=300), table.guest("Bob")
    room = await table.seated(ann, bob)
    ann.ready(room)
    bob.ready(room)
    await trio.sleep(2.9)
    assert ann.view is not None
    assert bob.view is None
    ann.move(room)
    await table.settle()
    assert ann.codes == [ErrorCode.NOT_STARTED]
    assert ann.last(CurrentView).ply == 0


async def test_a_move_in_a_race_that_is_over_is_refused_with_the_view_of_its_end(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.over(ann, bob)
    before = positions(room)
    ann.move(room, "s")
    await table.settle()
    assert ann.codes == [ErrorCode.RACE_OVER]
    assert ann.last(CurrentView).state == "stopped"
    assert positions(room) == before
    assert all_cards_are_there(room.core.race)


async def test_a_move_for_the_race_before_a_rematch_does_not_hit_the_new_one(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.over(ann, bob)
    ann.rematch(room)
    bob.rematch(room)
    await table.settle()
    await table.begin(room, ann, bob)
    ann.move(room, "s", race=1)
    await table.settle()
    assert ann.codes == [ErrorCode.WRONG_RACE]
    assert ann.seat_in(room).ply == 0


async def test_a_stranger_can_ask_nothing_of_a_room(table: Table, ann: Guest, bob: Guest, eve: Guest) -> None:
    room = await table.racing(ann, bob)
    before = positions(room)
    eve.ask(room, Move(race=1, seat=0, ply=0, move="s"))
    eve.ready(room, race=1)
    eve.rematch(room, race=1)
    eve.say(room, "hello")
    await table.settle()
    assert eve.codes == [ErrorCode.NOT_IN_ROOM] * 4
    assert len(eve.heard) == 4
    assert positions(room) == before


async def test_stop_and_resign_are_for_ones_own_seat_and_race_only(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    ann.seat, own = 1, ann.seat
    ann.stop(room)
    ann.resign(room)
    ann.seat, ann.race = own, 2
    ann.stop(room)
    ann.resign(room)
    await table.settle()
    assert ann.codes == [ErrorCode.NOT_YOUR_SEAT] * 2 + [ErrorCode.WRONG_RACE] * 2
    assert [seat.state for seat in room.core.race.seats] == ["racing", "racing"]


async def test_a_new_connection_has_no_credit_of_the_one_before_it(table: Table) -> None:
    ann, bob = table.guest("Ann", round_trip_ms=300), table.guest("Bob")
    room = await table.racing(ann, bob)
    await trio.sleep(1)
    ann.move(room)
    back = table.guest("Ann", round_trip_ms=None)  # whoever does not answer its first ping is not measured
    back.enter(room)
    back.move(room)
    await table.settle()
    assert [played.credit_ms for played in room.core.race.seats[0].played] == [150, 0]


async def test_a_flood_of_requests_is_answered_one_by_one_and_the_race_goes_on(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    for _ in range(400):
        ann.move(room, "j8")
    assert ann.codes == [ErrorCode.ILLEGAL_MOVE] * 400
    bob.move(room)
    assert bob.ply == 1


async def test_others_see_at_once_that_a_seat_has_stalled(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob, deal=STALLING)
    for ply, move in enumerate(greedy_line(STALLING)):
        ann.move(room, move, ply=ply)
    assert (room.core.race.phase, room.summary.seats[0].state) == ("racing", "stalled")


async def test_nobody_is_told_of_a_win_before_what_they_played_earlier_could_be_there(table: Table) -> None:
    ann, bob = table.guest("Ann", round_trip_ms=0), table.guest("Bob", round_trip_ms=300)
    room = await table.racing(ann, bob, deal=WINNABLE)
    await trio.sleep(1)
    line = greedy_line(WINNABLE)
    for ply, move in enumerate(line):
        ann.move(room, move, ply=ply)
    seen: list[Shown] = []
    assert room.show(seen.append, with_boards=True)
    back = bob.another_line()
    back.enter(room)
    # The winner knows, and nobody else.
    assert (ann.last(CurrentView).state, ann.last(CurrentView).ply) == ("won", len(line))
    assert {progress.state for progress in bob.all(Progress)} == {"racing"}
    assert {seats[0].state for seats in (room.summary.seats, seen[0].room.seats, back.last(RoomMessage).seats)} == {"racing"}
    assert room.summary.seats[0].home == seen[0].curves[0].home[-1] == 51
    await trio.sleep(0.1)
    assert {progress.state for progress in back.all(Progress)} <= {"racing"}
    await trio.sleep(0.07)
    assert (ann.ply, ann.state) == (len(line), "won")
    assert back.last(Progress).state == "stopped"
    assert "won" in {progress.state for progress in back.all(Progress)}
    assert room.summary.seats[0].state == "won"
    assert [seat.state for seat in back.last(Result).record.seats] == ["won", "stopped"]
    assert ann.version == back.version


async def test_two_who_win_within_that_time_are_told_together_and_the_earlier_is_first(table: Table) -> None:
    ann, bob = table.guest("Ann", round_trip_ms=0), table.guest("Bob", round_trip_ms=300)
    room = await table.racing(ann, bob, deal=WINNABLE)
    await trio.sleep(1)
    line = greedy_line(WINNABLE)
    for guest in (ann, bob):
        for ply, move in enumerate(line[:-1]):
            guest.move(room, move, ply=ply)
    ann.move(room, line[-1], ply=len(line) - 1)
    await trio.sleep(0.1)
    bob.move(room, line[-1], ply=len(line) - 1)
    await trio.sleep(0.1)
    assert [seat.place for seat in ann.last(Result).record.seats] == [2, 1]
    assert ann.version == bob.version
