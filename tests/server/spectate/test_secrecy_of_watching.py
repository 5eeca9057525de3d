"""What really reaches spectators: whole races are recorded, each message with its time.

The truth comes from the players' own connections: a card that a player has seen may reach a watcher `delay_s` later and no sooner, unless
the result is out. And whatever a participant of the race tries, cards reach them only through their own seat.
"""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
import trio

from protocol.cards import FACE_DOWN
from protocol.errors import ErrorCode, Refusal
from protocol.room_events import Dealt, PlayerView, Result
from protocol.server_messages import ServerMessage
from protocol.views import SeriesOptions, View
from protocol.watch_messages import Board, Unwatched, Watched, WatchedEvent, Watchers
from server.rooms.driver import Room as ServedRoom
from server.rooms.outgoing import Outgoing
from tests.server.rooms.playing import Guest, Table
from tests.server.rooms.test_secrecy_of_traffic import cards_in
from tests.server.spectate.onlookers import Box, Onlooker, shows

RACES = 5
ROUNDING_S = 0.001
"""The server counts whole milliseconds."""


class Timed(Guest):
    """A player who notes when they were first shown each ply."""

    def __init__(self, table: Table, name: str, *, round_trip_ms: int | None = 20) -> None:
        super().__init__(table, name, round_trip_ms=round_trip_ms)
        self.seen: dict[int, tuple[float, View]] = {}
        table.guests.append(self)

    def post(self, outgoing: Outgoing) -> None:
        super().post(outgoing)
        match self.heard[-1]:
            case Dealt(view=view):
                self.seen[0] = (trio.current_time(), view)
            case PlayerView(ply=ply, view=view):
                self.seen[ply] = (trio.current_time(), view)
            case _:
                pass


def result_time(onlooker: Onlooker) -> float:
    """When the result was out for an onlooker."""
    for message, time in zip(onlooker.heard, onlooker.times, strict=True):
        match message:
            case WatchedEvent(event=Result()):
                return time
            case Watched(room=room) if room.record is not None:
                return time
            case _:
                pass
    return float("inf")


def boards_in(message: ServerMessage) -> list[tuple[int, int, View]]:
    match message:
        case Board(board=board):
            return [(board.seat, board.ply, board.view)]
        case Watched(boards=boards):
            return [(board.seat, board.ply, board.view) for board in boards]
        case _:
            return []


def check(onlooker: Onlooker, guests: list[Timed], delay_s: int) -> int:
    """Go through all that they were told; how many boards there were in it before the result."""
    count, over = 0, result_time(onlooker)
    for message, time in zip(onlooker.heard, onlooker.times, strict=True):
        shown = boards_in(message)
        for seat, ply, view in shown:
            if time >= over:
                continue
            seen_at, seen_view = guests[seat].seen[ply]
            assert time >= seen_at + delay_s - ROUNDING_S, f"{onlooker.player.name} was shown ply {ply} of seat {seat} too early"
            assert shows(view, seen_view)
            count += 1
        if not shown and time < over:
            assert not cards_in(message), f"a card outside of a board: {message}"
    return count


async def try_to_watch(box: Box, room: ServedRoom, guest: Guest, tried: list[Onlooker]) -> None:
    """Somebody with a part in the race tries, by another line."""
    onlooker = box.onlooker(guest.player.name)
    onlooker.player = guest.player
    tried.append(onlooker)
    for code in (room.code, None):
        with suppress(Refusal):
            await onlooker.watch(code)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 3))])
async def test_no_card_reaches_a_watcher_before_its_time_nor_a_player_but_by_their_seat(box: Box, seed: int) -> None:
    chance = random.Random(seed)
    table = box.table
    boards = 0
    tried: list[Onlooker] = []
    for number in range(RACES):
        delay_s = chance.choice([0, 1, 4, 10])
        guests = [Timed(table, f"Ann {number}", round_trip_ms=chance.choice([None, 0, 90, 400])), Timed(table, f"Bob {number}")]
        room = await table.seated(*guests, delay_s=delay_s, grace_s=600, rules=chance.choice(["carpet", "colorado", "crazy-quilt"]))
        onlookers = [box.onlooker(f"Eve {number} {index}") for index in range(4)]
        await onlookers[0].watch(room)
        for guest in guests:
            guest.ready(room, nonce=chance.randbytes(16).hex())
        left = False
        while room.core.race.phase != "over":
            guest = chance.choice(guests)
            what = chance.random()
            onlooker = chance.choice(onlookers)
            if what < 0.7:
                if guest.state == "racing" and guest.view is not None and guest.view.moves and not (left and guest is guests[1]):
                    guest.move(room, chance.choice(guest.view.moves))
            elif what < 0.78:
                with suppress(Refusal):
                    await onlooker.watch(room)
            elif what < 0.82:
                await onlooker.unwatch()
            elif what < 0.86 and box.spectators.watched(onlooker) is not None:
                box.spectators.catch_up(onlooker)
            elif what < 0.9:
                await try_to_watch(box, room, guest, tried)
            elif what < 0.91 and not left and room.core.race.phase == "racing" and number % 2:
                guests[1].leave(room)
                left = True
            elif what < 0.93 and max(guest.ply for guest in guests) > 20:
                guest.stop(room)
            await table.settle()
            await trio.sleep(chance.random())
        await table.settle()
        for onlooker in onlookers:
            boards += check(onlooker, guests, delay_s)
        for onlooker in tried:
            box.spectators.gone(onlooker)
        for guest in guests:
            with suppress(Refusal):
                guest.leave(room)
        await trio.sleep(1)
    assert boards > 100
    assert len(tried) > 15
    # While their own race was there, there was no other to be led to.
    assert {type(message) for onlooker in tried for message in onlooker.heard} == {Unwatched}


async def test_of_the_first_race_of_a_swap_watchers_see_no_board_and_of_the_second_each_seats_own(box: Box) -> None:
    guests = [Timed(box.table, "Ann"), Timed(box.table, "Bob")]
    room = await box.table.seated(*guests, delay_s=1, series=SeriesOptions(format="swap", races=2))
    early, late = box.onlooker("Eve"), box.onlooker("Dan")
    await early.watch(room)
    await box.table.begin(room, *guests)
    await trio.sleep(5)
    await late.watch(room)
    for guest in guests:
        guest.move(room)
        guest.stop(room)
    await trio.sleep(5)
    assert room.core.race.number == 2
    for onlooker in (early, late):
        assert not any(boards_in(message) or cards_in(message) for message in onlooker.heard)
    await box.table.begin(room, *guests)
    await trio.sleep(5)
    assert guests[0].view != guests[1].view
    for onlooker in (early, late):
        assert [onlooker.boards[seat].view for seat in (0, 1)] == [guest.view for guest in guests]


async def test_a_seat_that_waits_learns_nothing_of_its_next_cards_by_watching_as_a_guest(box: Box) -> None:
    ann, bob, eve = Timed(box.table, "Ann"), Timed(box.table, "Bob"), box.onlooker("Bob's guest")
    room = await box.table.seated(ann, bob, delay_s=0)
    await eve.watch(room)
    await box.table.begin(room, ann, bob)
    assert bob.view is not None
    known = cards_in(bob.last(Dealt))
    for _ in range(10):
        ann.move(room, "s" if ann.view is not None and "s" in ann.view.moves else None)
        await trio.sleep(1)
    for message in eve.heard:
        assert cards_in(message) <= known
    assert FACE_DOWN in eve.boards[0].view.waste
    for _ in range(10):
        bob.move(room, "s" if "s" in bob.view.moves else None)
        await trio.sleep(1)
    assert FACE_DOWN not in eve.boards[0].view.waste


async def test_with_the_hosts_key_boards_are_whole_and_late_and_all_are_told_that_somebody_sees_them(box: Box) -> None:
    ann, bob = Timed(box.table, "Ann"), Timed(box.table, "Bob")
    eve, dan = box.onlooker("Eve"), box.onlooker("Dan")
    room = await box.table.seated(ann, bob, delay_s=3)
    with pytest.raises(Refusal) as refused:
        await eve.watch(room, key="A" * 16)
    assert refused.value.code == ErrorCode.WRONG_KEY
    await dan.watch(room)
    await trio.sleep(2)
    assert not ann.last(Watchers).whole
    await eve.watch(room, key=box.spectators.boards_key(room))
    await box.table.begin(room, ann, bob)
    for _ in range(6):
        ann.move(room, "s" if ann.view is not None and "s" in ann.view.moves else None)
        await trio.sleep(1)
    await trio.sleep(4)
    for message, time in zip(eve.heard, eve.times, strict=True):
        for seat, ply, view in boards_in(message):
            seen_at, seen_view = (ann, bob)[seat].seen[ply]
            assert view == seen_view
            assert time >= seen_at + 3 - ROUNDING_S
    assert eve.boards[0].view == ann.view
    assert FACE_DOWN in dan.boards[0].view.waste
    assert ann.last(Watchers).whole
    assert bob.last(Watchers).whole
    await eve.unwatch()
    await eve.watch(room)
    assert FACE_DOWN in eve.boards[0].view.waste
    await trio.sleep(2)
    assert not ann.last(Watchers).whole


async def test_who_only_glances_with_the_hosts_key_is_told_of_too(box: Box) -> None:
    ann, bob = Timed(box.table, "Ann"), Timed(box.table, "Bob")
    eve, dan = box.onlooker("Eve"), box.onlooker("Dan")
    room = await box.table.racing(ann, bob, delay_s=0)
    # How many watch has just been told, and is not told again for a second.
    await dan.watch(room)
    await eve.watch(room, key=box.spectators.boards_key(room))
    await eve.unwatch()
    await dan.unwatch()
    await trio.sleep(3)
    assert [(told.count, told.whole) for told in bob.all(Watchers)] == [(1, False), (1, True), (0, False)]
    assert ann.last(Watchers) == bob.last(Watchers)


async def test_of_a_race_whose_deal_others_have_yet_to_play_only_the_key_shows_boards(box: Box) -> None:
    guests = [Timed(box.table, "Ann"), Timed(box.table, "Bob")]
    room = await box.table.seated(*guests, delay_s=1, series=SeriesOptions(format="swap", races=2))
    eve, dan = box.onlooker("Eve"), box.onlooker("Dan")
    await eve.watch(room, key=box.spectators.boards_key(room))
    await dan.watch(room)
    await box.table.begin(room, *guests)
    await trio.sleep(5)
    assert [eve.boards[seat].view for seat in (0, 1)] == [guest.view for guest in guests]
    late = box.onlooker("Late")
    await late.watch(room)
    assert (dan.boards, late.boards) == ({}, {})
