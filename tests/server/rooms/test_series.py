"""Series of races in one room: the score between them, who is away, who gives up, and what a crash leaves."""

from __future__ import annotations

import pytest
import trio

from protocol.errors import ErrorCode, Refusal
from protocol.record import seed_of
from protocol.room_events import Dealt, Hidden, Presence, Progress, Ratings, RematchAsked, Result, Room, Scored, Unseated
from protocol.views import RaceOptions, SeriesInfo, SeriesOptions
from server.race.audit import audit
from server.rooms.driver import Room as ServedRoom
from server.store.port import RaceAborted, RaceOpened, RaceOver
from tests.server.rooms.playing import Guest, Table
from tests.server.rooms.test_journal import come_back, restart

BEST_OF_3 = SeriesOptions(format="best-of", races=3)
SWAP = SeriesOptions(format="swap", races=2)


async def race(table: Table, room: ServedRoom, ahead: Guest, *others: Guest) -> None:
    """One race, of which `ahead` makes moves until they have brought a card home, and each of the others one; then all stop."""
    await table.begin(room, ahead, *others)
    for guest in others:
        guest.move(room, "s")
    assert ahead.view is not None
    before = ahead.view.home
    while ahead.view.home == before:
        home = [move for move in ahead.view.moves if ":" not in move and move not in ("s", "r")]
        ahead.move(room, (home or list(ahead.view.moves))[0])
        await table.settle()
    for guest in (ahead, *others):
        guest.stop(room)
    await table.settle()


def points(info: SeriesInfo | None) -> tuple[int, ...]:
    assert info is not None
    return tuple(seat.points for seat in info.seats)


async def test_the_next_race_opens_at_once_and_starts_when_all_are_ready(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob, series=BEST_OF_3)
    assert points(bob.last(Room).series) == (0, 0)
    await race(table, room, ann, bob)
    kinds = [type(message) for message in bob.heard[-4:]]
    # What it did to ratings is known last, when the record is kept.
    assert kinds == [Result, Scored, Room, Ratings]
    scored, snapshot = bob.last(Scored), bob.last(Room)
    assert scored.series == snapshot.series
    assert scored.record is None
    assert [(seat.name, seat.points) for seat in scored.series.seats] == [("Ann", 1), ("Bob", 0)]
    assert (snapshot.race, snapshot.phase, snapshot.record, scored.series.raced, scored.series.over) == (2, "waiting", None, 1, False)
    assert not any(seat.ready for seat in snapshot.seats)
    ann.rematch(room)
    await table.settle()
    assert ann.codes == [ErrorCode.RACE_RUNNING]
    await race(table, room, bob, ann)
    assert points(ann.last(Room).series) == (1, 1)
    await race(table, room, bob, ann)
    over = ann.last(Scored).series
    assert (points(over), over.over, [seat.place for seat in over.seats]) == ((1, 2), True, [2, 1])
    assert room.core.race.phase == "over"
    assert [type(message) for message in ann.heard[-2:]] == [Scored, Ratings]
    records = [result.record for result in ann.all(Result)]
    for number, record in enumerate(records, 1):
        audit(record)
        assert record.series is not None
        assert (record.series.id, record.series.race, record.series.races) == (records[0].id, number, 3)


async def test_a_rematch_after_the_series_is_another_series(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob, series=BEST_OF_3)
    for _ in range(2):
        await race(table, room, ann, bob)
    assert ann.last(Scored).series.over
    ann.rematch(room)
    bob.rematch(room)
    await table.settle()
    assert len(ann.all(RematchAsked)) == 2
    fresh = ann.last(Room)
    assert (fresh.race, points(fresh.series), fresh.series and fresh.series.raced) == (3, (0, 0), 0)
    await race(table, room, ann, bob)
    last = ann.last(Result).record
    assert last.series is not None
    assert (last.series.id, last.series.race) == (last.id, 1)


async def test_whoever_is_gone_forfeits_the_race_and_not_the_series_until_its_grace_is_over(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob, public=False, grace_s=30, series=SeriesOptions(format="best-of", races=3, grace_s=200))
    await table.begin(room, ann, bob)
    await bob.vanish(room)
    await trio.sleep(31)
    assert [seat.state for seat in ann.last(Result).record.seats] == ["stopped", "forfeited"]
    assert points(ann.last(Scored).series) == (1, 0)
    assert room.core.race.number == 2
    # Longer than the race's grace, and than a room with nobody in it is kept.
    await ann.vanish(room)
    await trio.sleep(190)
    for guest in (ann, bob):
        guest.enter(room)
    await table.settle()
    await race(table, room, bob, ann)
    assert points(ann.last(Room).series) == (1, 1)
    await bob.vanish(room)
    await table.settle()
    assert ann.last(Presence).away_ms == 200_000
    await trio.sleep(199)
    assert room.core.race.number == 3
    await trio.sleep(2)
    over = ann.last(Scored).series
    assert (over.over, [(seat.gone, seat.place) for seat in over.seats]) == (True, [(False, 1), (True, 2)])
    # The room is there for another series.
    fresh = ann.last(Room)
    assert (fresh.race, fresh.phase, fresh.seats[1].name, points(fresh.series)) == (4, "waiting", None, (0, 0))
    assert table.rooms.of(bob.player.id) is None
    eve = table.guest("Eve")
    eve.enter(room)
    await table.settle()
    assert eve.codes == [ErrorCode.ROOM_FULL], "it is private, and she never sat there"
    bob.enter(room)
    await table.settle()
    await race(table, room, bob, ann)
    assert points(ann.last(Room).series) == (0, 1)


async def test_whoever_leaves_gives_the_series_up(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob, series=BEST_OF_3)
    await race(table, room, bob, ann)
    await table.begin(room, ann, bob)
    for guest in (ann, bob):
        guest.move(room)
    bob.leave(room)
    await trio.sleep(1)
    assert room.core.race.phase == "over"
    first, last = ann.all(Scored)[-2:]
    assert (points(first.series), first.series.over) == ((1, 1), False)
    assert (last.series.over, [seat.gone for seat in last.series.seats]) == (True, [False, True])
    assert [type(message) for message in ann.heard[-2:]] == [Scored, Ratings]
    assert ann.all(Unseated)
    ann.rematch(room)
    await table.settle()
    assert ann.codes == [ErrorCode.ROOM_CLOSED]


async def test_whoever_leaves_between_two_races_gives_the_series_up_and_no_race_is_left_running(table: Table) -> None:
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.seated(ann, bob, series=BEST_OF_3)
    await race(table, room, ann, bob)
    ann.leave(room)
    await table.settle()
    assert bob.last(Scored).series.seats[0].gone
    bob.leave(room)
    await table.settle()
    assert not len(table.rooms)
    opened = [entry.race for entry in table.journal.entries if isinstance(entry, RaceOpened)]
    ended = [entry.race for entry in table.journal.entries if isinstance(entry, (RaceOver, RaceAborted))]
    assert sorted(opened) == sorted(ended)


async def test_whoever_keeps_the_others_waiting_between_two_public_races_gives_the_series_up(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob, series=BEST_OF_3)
    await race(table, room, ann, bob)
    bob.ready(room)
    await trio.sleep(299)
    assert room.core.race.number == 2
    await trio.sleep(2)
    assert bob.last(Scored).series.seats[0].gone


async def test_house_bots_are_ready_for_every_race_of_a_series(table: Table, ann: Guest) -> None:
    room = await table.seated(ann, bots=("random",), series=SeriesOptions(format="session", races=2), time_limit_s=10)
    for _ in range(2):
        await table.begin(room, ann)
        ann.stop(room)
        await trio.sleep(10.5)
    assert ann.last(Scored).series.over
    # It asks for the rematch then, as after a single race.
    assert [asked.seat for asked in ann.all(RematchAsked)] == [1]


async def test_a_series_goes_on_after_a_crash_with_its_score(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob, series=BEST_OF_3)
    await race(table, room, ann, bob)
    new, again = await restart(table, room)
    guests = await come_back(new, again, ann, bob)
    assert guests[0].last(Room).series == ann.last(Room).series
    await new.begin(again, *guests)
    newest, last = await restart(new, again)
    guests = await come_back(newest, last, *guests)
    guests[1].resign(last)
    await trio.sleep(1)
    over = guests[0].last(Scored).series
    assert (points(over), over.over) == ((2, 0), True)
    record = guests[0].last(Result).record
    audit(record)
    assert record.series is not None
    assert (record.series.id, record.series.race) == (ann.last(Result).record.id, 2)


# ---- swap


async def test_in_a_swap_each_plays_one_shuffle_and_then_the_others(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob, series=SWAP)
    await race(table, room, ann, bob)
    await race(table, room, bob, ann)
    views = [[dealt.view for dealt in guest.all(Dealt)] for guest in (ann, bob)]
    assert views[0] == views[1][::-1]
    assert views[0][0] != views[0][1]
    second, scored = ann.last(Result).record, ann.last(Scored)
    first = scored.record
    assert first is not None
    assert scored.series.over
    for record in (first, second):
        audit(record)
        assert not record.rated
        assert record.deal == first.deal
    assert [seed_of(first, seat) for seat in (0, 1)] == [seed_of(second, seat) for seat in (1, 0)]
    kept = [entry.record for entry in table.journal.entries if isinstance(entry, RaceOver)]
    assert sorted(record.race for record in kept) == [1, 2]


async def test_nothing_of_the_first_race_of_a_swap_is_told_before_the_second_is_over(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob, series=SWAP)
    await race(table, room, ann, bob)
    for guest in (ann, bob):
        assert not guest.all(Result)
        assert guest.last(Scored).record is None
        assert [type(message) for message in guest.heard[-3:]] == [Hidden, Scored, Room]
        # How far everybody is, but not on which foundations.
        told = guest.all(Progress)
        assert told
        assert not any(progress.foundations for progress in told)
    eve = ann.another_line()
    eve.enter(room)
    await table.settle()
    assert eve.last(Room).record is None
    assert not [entry for entry in table.journal.entries if isinstance(entry, RaceOver)]
    assert room.core.race.commitment.hex() == ann.all(Room)[0].commitment


async def test_a_win_or_a_forfeit_does_not_cut_the_other_short_in_a_swap(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob, series=SWAP)
    await table.begin(room, ann, bob)
    ann.resign(room)
    await trio.sleep(100)
    assert room.core.race.phase == "racing"
    assert room.core.race.number == 1
    bob.move(room)
    bob.stop(room)
    await table.settle()
    assert room.core.race.number == 2


async def test_a_swap_that_is_given_up_between_its_races_tells_of_the_first(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob, series=SWAP)
    await race(table, room, ann, bob)
    bob.leave(room)
    await table.settle()
    scored = ann.last(Scored)
    assert scored.record is not None
    audit(scored.record)
    assert [seat.gone for seat in scored.series.seats] == [False, True]
    # And the next series is on other shuffles.
    assert ann.last(Room).commitment != scored.record.deal.commitment


async def test_a_swap_goes_on_after_a_crash_in_its_second_race(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob, series=SWAP)
    await race(table, room, ann, bob)
    await table.begin(room, ann, bob)
    new, again = await restart(table, room)
    guests = await come_back(new, again, ann, bob)
    for guest in guests:
        guest.stop(again)
    await new.settle()
    assert guests[1].view == bob.view
    scored, second = guests[0].last(Scored), guests[0].last(Result).record
    assert scored.series.over
    assert scored.record is not None
    for record in (scored.record, second):
        audit(record)
    assert scored.record.deal == second.deal
    over = {entry.race: entry.players for entry in new.journal.entries if isinstance(entry, RaceOver)}
    assert over == {scored.record.id: (ann.player.id, bob.player.id), second.id: (ann.player.id, bob.player.id)}


# ---- what cannot be raced


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (RaceOptions(series=SeriesOptions(format="best-of", races=4)), "best of 4 is none"),
        (RaceOptions(series=SeriesOptions(format="best-of", races=1)), "best of 1 is none"),
        (RaceOptions(seats=1, series=BEST_OF_3), "two seats at least"),
        (RaceOptions(series=SeriesOptions(format="session")), "two races at least"),
        (RaceOptions(series=SeriesOptions(races=2)), "a single race is one"),
        (RaceOptions(seats=3, series=SWAP), "a swap is two races of two seats"),
        (RaceOptions(series=SeriesOptions(format="swap")), "a swap is two races of two seats"),
        (RaceOptions(deal="tuesday", series=SWAP), "nobody can know or choose"),
        (RaceOptions(winnable=True, series=SWAP), "nobody can know or choose"),
    ],
)
async def test_a_series_that_cannot_be_raced_is_refused(table: Table, options: RaceOptions, why: str) -> None:
    with pytest.raises(Refusal, match=why) as caught:
        table.rooms.open(options)
    assert (caught.value.code, caught.value.path) == (ErrorCode.BAD_OPTIONS, "$.options.series")


async def test_what_a_race_did_to_ratings_is_not_told_of_the_next_one(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob, series=BEST_OF_3)
    await race(table, room, ann, bob)
    assert ann.last(Ratings).seats
    await table.begin(room, ann, bob)
    again = ann.another_line()
    again.enter(room)
    await table.settle()
    assert again.last(Room).race == 2
    assert again.last(Room).ratings == ()
