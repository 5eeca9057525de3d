"""Who may watch what, which race they are led to, and what happens to spectators that do not keep up."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
import trio

from protocol.errors import CloseCode, ErrorCode, Refusal
from protocol.room_events import Room
from protocol.server_messages import Left
from protocol.views import SeriesOptions
from protocol.watch_messages import Board, Talk, Unwatched, Watched, WatchedEvent
from server.rooms import closest_races
from server.rooms.driver import Room as ServedRoom
from server.rooms.summary import LeadRank, SeatSummary, lead_rank
from server.spectate.spectator import ASKS_AT_ONCE
from server.spectate.spectator_registry import CLOSEST_LOOK_S, FORGIVEN_S, RESULT_S
from tests.server.rooms.playing import Guest, Table, closest_first
from tests.server.spectate.onlookers import Box, Onlooker, shows


def as_onlooker(box: Box, guest: Guest) -> Onlooker:
    """The same player, by whatever connection."""
    onlooker = box.onlooker(guest.player.name)
    onlooker.player = guest.player
    return onlooker


async def refused(onlooker: Onlooker, room: ServedRoom | str | None) -> ErrorCode:
    with pytest.raises(Refusal) as caught:
        await onlooker.watch(room)
    return caught.value.code


# ---- one's own race


async def test_nobody_watches_the_race_in_which_they_have_a_part_however_it_ended_for_them(box: Box, table: Table) -> None:
    guests = [table.guest(name) for name in ("Racing", "Stopped", "Resigned", "Left", "Vanished", "Out of grace")]
    room = await table.racing(*guests, delay_s=0, grace_s=20)
    _, stopped, resigned, left, vanished, out = guests
    await out.vanish(room)
    await trio.sleep(21)
    stopped.stop(room)
    resigned.resign(room)
    left.leave(room)
    await table.settle()
    assert left.last(Left).code == room.code
    assert table.rooms.of(left.player.id) is None
    await vanished.vanish(room)
    await table.settle()
    for guest in guests:
        onlooker = as_onlooker(box, guest)
        assert await refused(onlooker, room) is ErrorCode.OWN_RACE
        # Nor are they led there.
        await onlooker.watch(None)
        await trio.sleep(2)
        assert onlooker.heard == [Unwatched(code=None, reason="none")]
    assert [seat.state for seat in room.core.race.seats] == ["racing", "stopped", "forfeited", "forfeited", "racing", "forfeited"]


async def test_whoever_has_sent_their_wish_for_a_seat_is_not_shown_the_race_any_more(box: Box) -> None:
    table = box.table
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.seated(ann, seats=2)
    eve = as_onlooker(box, bob)
    await eve.watch(room)
    # The room has not heard of it yet, and they hear no more of the room.
    bob.enter(room)
    assert eve.heard[-1] == Unwatched(code=room.code, reason="seated")
    with pytest.raises(Refusal) as caught:
        box.spectators.watch(eve, eve.player, room.code)
    assert caught.value.code is ErrorCode.OWN_RACE
    await table.settle()
    await table.begin(room, ann, bob)
    assert eve.heard[-1] == Unwatched(code=room.code, reason="seated")


async def test_whoever_waits_for_their_snapshot_and_takes_a_seat_meanwhile_never_gets_it(box: Box) -> None:
    table = box.table
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.seated(ann, seats=2)
    eve = as_onlooker(box, bob)
    table.journal.hold()
    ann.ready(room)
    await table.settle()
    await eve.watch(room)
    bob.enter(room)
    table.journal.release()
    await table.settle()
    assert eve.heard == [Unwatched(code=room.code, reason="seated")]


async def test_whoever_takes_a_seat_after_their_snapshot_was_made_never_gets_it(box: Box) -> None:
    table = box.table
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.seated(ann, seats=2)
    eve = as_onlooker(box, bob)
    async with box.spectators.scheduler._one_at_a_time:
        # Nobody is posted to meanwhile.
        await eve.watch(room)
        bob.enter(room)
    await table.settle()
    assert eve.heard == [Unwatched(code=room.code, reason="seated")]


async def test_whoever_was_refused_the_seat_or_gave_it_up_before_the_start_may_watch(box: Box, table: Table) -> None:
    ann, bob, dan = table.guest("Ann"), table.guest("Bob"), table.guest("Dan")
    room = await table.seated(ann, seats=2)
    dan.enter(room)
    await table.settle()
    dan.leave(room)
    bob.enter(room)
    await table.settle()
    late = table.guest("Late")
    late.enter(room)
    await table.settle()
    assert late.codes == [ErrorCode.ROOM_FULL]
    for guest in (dan, late):
        onlooker = as_onlooker(box, guest)
        await onlooker.watch(room)
        assert onlooker.last(Watched).room.code == room.code


async def test_whoever_holds_a_seat_in_one_race_may_watch_another(box: Box, table: Table, ann: Guest) -> None:
    own = await table.racing(ann, table.guest("Bob"))
    other = await table.racing(table.guest("Cid"), table.guest("Dan"), delay_s=0)
    eve = as_onlooker(box, ann)
    await eve.watch(other)
    assert eve.last(Watched).room.code == other.code
    assert len(eve.last(Watched).boards) == 2
    assert await refused(eve, own) is ErrorCode.OWN_RACE
    # What was watched before still is.
    assert box.spectators.watched(eve) == other.code


async def test_after_a_restart_a_race_is_still_its_players_own(nursery: trio.Nursery, table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    bob.leave(room)

    room = await table.racing(table.guest("Cid"), table.guest("Dan"), table.guest("Fay"))
    table.guests[-1].leave(room)
    await table.settle()
    new = Box(nursery)
    new.table.rooms.resume(table.journal.left(room.code))
    await new.table.settle()
    for guest in table.guests[-3:]:
        assert await refused(as_onlooker(new, guest), room.code) is ErrorCode.OWN_RACE


# ---- one race at a time


async def test_whoever_watches_another_race_hears_no_more_of_the_first(box: Box, table: Table) -> None:
    ann, cid, eve = table.guest("Ann"), table.guest("Cid"), box.onlooker()
    first = await table.racing(ann, table.guest("Bob"), delay_s=0)
    second = await table.racing(cid, table.guest("Dan"), delay_s=0, public=False)
    await eve.watch(first)
    await eve.watch(f" {second.code[:3].lower()}-{second.code[3:]}")
    assert eve.last(Watched).room.code == second.code
    ann.move(first)
    cid.move(second)
    await trio.sleep(2)
    # The onlooker itself makes sure that all has the code of what they watch.
    assert {message.code for message in eve.all(Board)} == {second.code}
    assert first.watchers == 0
    assert second.watchers == 1


async def test_a_code_that_nobody_has_is_refused(box: Box) -> None:
    assert await refused(box.onlooker(), "AAAAAA") is ErrorCode.NO_SUCH_ROOM


async def test_whoever_asks_too_often_is_refused_until_they_have_waited(box: Box, table: Table) -> None:
    room = await table.racing(table.guest("Ann"), table.guest("Bob"))
    eve = box.onlooker()
    for _ in range(ASKS_AT_ONCE):
        await eve.watch(room)
    assert await refused(eve, room) is ErrorCode.WATCHED_TOO_OFTEN
    assert box.spectators.watched(eve) == room.code
    await trio.sleep(1)
    await eve.watch(room)
    assert len(eve.all(Watched)) == ASKS_AT_ONCE + 1


async def test_to_stop_watching_is_answered_also_where_nothing_is_watched(box: Box) -> None:
    eve = box.onlooker()
    await eve.unwatch()
    assert eve.heard == [Unwatched(code=None, reason="asked")]
    with pytest.raises(Refusal) as caught:
        await eve.say("hello?")
    assert caught.value.code is ErrorCode.NOT_IN_ROOM


# ---- the closest race


async def test_whoever_wants_the_closest_race_is_led_from_one_to_the_next(box: Box, table: Table) -> None:
    eve = box.onlooker()
    await eve.watch(None)
    assert eve.heard == [Unwatched(code=None, reason="none")]
    first_guests = [table.guest("Ann"), table.guest("Bob")]
    first = await table.racing(*first_guests)
    await trio.sleep(CLOSEST_LOOK_S + 0.1)
    assert eve.last(Watched).room.code == first.code
    assert eve.last(Watched).closest
    second_guests = [table.guest("Cid"), table.guest("Dan")]
    second = await table.racing(*second_guests)
    await trio.sleep(30)
    assert box.spectators.watched(eve) == first.code
    for guest in first_guests:
        guest.stop(first)
    await table.settle()
    await trio.sleep(RESULT_S - 0.1)
    assert box.spectators.watched(eve) == first.code
    await trio.sleep(CLOSEST_LOOK_S + 0.2)
    assert eve.last(Watched).room.code == second.code
    for guest in second_guests:
        guest.stop(second)
    # Where no race is being run they stay.
    await trio.sleep(30)
    assert box.spectators.watched(eve) == second.code
    for guest in second_guests:
        guest.leave(second)
    await trio.sleep(CLOSEST_LOOK_S + 0.1)
    assert eve.heard[-1] == Unwatched(code=None, reason="none")
    assert len([message for message in eve.heard if isinstance(message, Unwatched)]) == 2
    await eve.unwatch()
    await table.racing(table.guest("Fay"), table.guest("Gus"))
    await trio.sleep(5)
    assert eve.heard[-1] == Unwatched(code=None, reason="asked")


async def test_whoever_stays_for_a_rematch_is_not_led_away_while_it_is_run(box: Box) -> None:
    table = box.table
    ann, bob, eve = table.guest("Ann"), table.guest("Bob"), box.onlooker()
    room = await table.racing(ann, bob)
    await eve.watch(None)
    for guest in (ann, bob):
        guest.stop(room)
    for guest in (ann, bob):
        guest.rematch(room)
    await table.settle()
    await table.begin(room, ann, bob)
    await table.racing(table.guest("Cid"), table.guest("Dan"))
    await trio.sleep(20)
    assert box.spectators.watched(eve) == room.code


async def test_whoever_is_led_to_the_first_race_of_a_swap_that_others_saw_begin_gets_one_snapshot(box: Box, table: Table) -> None:
    ann, bob, early, led = table.guest("Ann"), table.guest("Bob"), box.onlooker("Eve"), box.onlooker("Dan")
    room = await table.seated(ann, bob, series=SeriesOptions(format="swap", races=2))
    await early.watch(room)
    await trio.sleep(RESULT_S + 1)
    await table.begin(room, ann, bob)
    await led.watch(None)
    await trio.sleep(30)
    assert len(led.all(Watched)) == 1
    await early.say("both are quick")
    assert not ann.all(Talk)
    for guest in (ann, bob):
        guest.stop(room)
    await table.settle()
    assert room.core.race.number == 2
    assert [line.text for line in ann.all(Talk)[0].lines] == ["both are quick"]
    assert ann.heard.index(ann.all(Talk)[0]) < ann.heard.index(ann.last(Room))
    assert len(led.all(Watched)) == 1


async def test_the_closest_race_is_public_and_being_run_and_the_least_apart(box: Box, table: Table) -> None:
    await table.racing(table.guest("A"), table.guest("B"), public=False)
    await table.seated(table.guest("C"), table.guest("D"))
    apart = [table.guest("E"), table.guest("F")]
    room = await table.racing(*apart, deal="143")
    even = table.guest("G")
    close = await table.racing(even, table.guest("H"), deal="143")
    home = next(move for move in apart[0].view.moves if move != "s")  # type: ignore[union-attr]
    apart[0].move(room, home)
    even.move(close, "s")
    await table.settle()
    eve = box.onlooker()
    await eve.watch(None)
    assert eve.last(Watched).room.code == close.code


async def test_whoever_takes_a_seat_while_they_wait_to_be_led_is_led_to_other_races_than_their_own(box: Box) -> None:
    table = box.table
    ann = table.guest("Ann")
    eve = as_onlooker(box, ann)
    await eve.watch(None)
    await table.racing(ann, table.guest("Bob"))
    await trio.sleep(5)
    assert not eve.all(Watched)
    other = await table.racing(table.guest("Cid"), table.guest("Dan"))
    await trio.sleep(CLOSEST_LOOK_S + 0.1)
    assert eve.last(Watched).room.code == other.code


async def test_to_lead_somebody_not_all_races_are_ranked_again(box: Box, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    ranked: list[object] = []

    def noted(seats: Iterable[SeatSummary]) -> LeadRank:
        ranked.append(seats)
        return lead_rank(seats)

    for number in range(12):
        await table.racing(table.guest(f"Ann {number}"), table.guest(f"Bob {number}"))
    monkeypatch.setattr(closest_races, "RANKED", 3)
    monkeypatch.setattr(closest_races, "LISTED", 2)
    monkeypatch.setattr("server.rooms.summary.lead_rank", noted)
    eve = box.onlooker()
    await eve.watch(None)
    assert eve.last(Watched).room.code == closest_first(table)[0].code
    # One more: the room of the race has changed, since somebody watches it.
    assert 0 < len(ranked) - 12 <= 3 + 2 + 2 + 1


# ---- who does not keep up


async def test_whoever_falls_behind_once_is_shown_everything_anew_and_again_later(box: Box) -> None:
    table = box.table
    ann, eve = table.guest("Ann"), box.onlooker()
    room = await table.racing(ann, table.guest("Bob"), delay_s=0)
    await eve.watch(room)
    for _ in range(3):
        ann.move(room)
        await table.settle()
        box.spectators.catch_up(eve)
        await table.settle()
        assert isinstance(eve.heard[-1], Watched)
        assert shows(eve.boards[0].view, ann.view)
        await trio.sleep(FORGIVEN_S + 0.1)
    assert eve.shut_with is None


async def test_whoever_falls_behind_again_and_again_loses_their_connection(box: Box, table: Table, ann: Guest, eve: Onlooker) -> None:
    room = await table.racing(ann, table.guest("Bob"))
    await eve.watch(room)
    box.spectators.catch_up(eve)
    await trio.sleep(FORGIVEN_S - 1)
    box.spectators.catch_up(eve)
    heard = len(eve.heard)
    ann.move(room)
    await table.settle()
    assert eve.shut_with is CloseCode.TOO_SLOW
    assert len(eve.heard) == heard
    assert room.watchers == 0


async def test_a_player_who_falls_behind_by_watching_keeps_their_connection_and_their_seat(box: Box, table: Table, ann: Guest) -> None:
    await table.racing(ann, table.guest("Bob"))
    other = await table.racing(table.guest("Cid"), table.guest("Dan"))
    eve = as_onlooker(box, ann)
    await eve.watch(other)
    box.spectators.catch_up(eve)
    box.spectators.catch_up(eve)
    assert eve.heard[-1] == Unwatched(code=other.code, reason="too-slow")
    assert eve.shut_with is None


async def test_a_connection_that_watches_nothing_has_nothing_to_catch_up_with(box: Box) -> None:
    eve = box.onlooker()
    box.spectators.catch_up(eve)
    await eve.unwatch()
    box.spectators.catch_up(eve)
    box.spectators.gone(eve)
    box.spectators.gone(eve)
    assert eve.heard == [Unwatched(code=None, reason="asked")]
    assert eve.all(WatchedEvent) == []
