"""What a room tells about ratings: everybody in it hears once a rated race is stored, even after a lost connection."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from protocol.room_events import Ratings, Result, Room
from protocol.views import SeatRating, SeriesOptions
from server.race.rating import RatingChange
from server.rooms.driver import Room as ServedRoom
from server.rooms.rating_updates import AGAIN_S
from server.store.errors import StoreBusy
from server.store.port import RaceOver
from tests.server.rooms.playing import Guest, Table

FIRST_RACE = (SeatRating(before=1000, after=1138), SeatRating(before=1000, after=927))


def heard_in_order(guest: Guest) -> list[type]:
    return [type(message) for message in guest.heard if isinstance(message, (Result, Ratings))]


async def won_by_the_first(table: Table, *guests: Guest, **options: Any) -> ServedRoom:
    """A room whose race is over because all but the first guest have given up."""
    room = await table.racing(*guests, **options)
    for guest in guests:
        guest.move(room)
    for guest in guests[1:]:
        guest.resign(room)
    await trio.sleep(1)
    await table.settle()
    assert room.core.race.phase == "over"
    return room


async def test_everybody_hears_what_a_race_that_counts_did_to_ratings_after_its_result(table: Table, ann: Guest, bob: Guest) -> None:
    told: list[tuple[str, int, int]] = []
    table.rooms.on_rated.append(lambda player, rating, news: told.append((player, rating.worth, rating.races)))
    await won_by_the_first(table, ann, bob)
    for guest in (ann, bob):
        assert heard_in_order(guest) == [Result, Ratings]
        assert guest.last(Ratings).seats == FIRST_RACE
    assert told == [(ann.player.id, 1138, 1), (bob.player.id, 927, 1)]


async def test_the_next_race_goes_on_from_there_and_forgets_what_the_last_one_did(table: Table, ann: Guest, bob: Guest) -> None:
    room = await won_by_the_first(table, ann, bob)
    for guest in (ann, bob):
        guest.rematch(room)
    await table.settle()
    assert ann.last(Room).ratings == ()
    await table.begin(room, ann, bob)
    for guest in (ann, bob):
        guest.move(room)
    ann.resign(room)
    await trio.sleep(1)
    (ann_first, bob_first), (ann_then, bob_then) = (ratings.seats for ratings in ann.all(Ratings))
    assert (ann_then.before, bob_then.before) == (ann_first.after, bob_first.after)
    assert ann_then.after < ann_then.before
    assert bob_then.after > bob_then.before


@pytest.mark.parametrize("knows_version", [True, False])
async def test_a_player_who_lost_the_connection_hears_of_it_when_they_are_back(table: Table, knows_version: bool) -> None:
    """Either from the event they missed, or from a snapshot."""
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob)
    for guest in (ann, bob):
        guest.move(room)
    await bob.vanish(room)
    back = bob.another_line()
    back.version = bob.version if knows_version else 0
    # Away longer than the grace: they have forfeited, and the race is over.
    await trio.sleep(room.options.grace_s + 1)
    assert not bob.all(Ratings)
    back.enter(room)
    await table.settle()
    assert (back.last(Ratings).seats if knows_version else back.last(Room).ratings) == FIRST_RACE


@pytest.mark.parametrize("moved", [(), (0,), (1,)])
async def test_a_race_that_was_given_up_before_both_had_moved_changes_no_rating(table: Table, moved: tuple[int, ...]) -> None:
    guests = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(*guests)
    for number in moved:
        guests[number].move(room)
    guests[1].resign(room)
    await trio.sleep(1)
    assert not guests[0].last(Result).record.rated
    assert heard_in_order(guests[0]) == [Result]


@pytest.mark.parametrize(
    ("options", "people"),
    [
        ({"bots": ("random",)}, 2),
        ({"bots": ("random",)}, 1),
        ({"deal": "tuesday"}, 2),
        ({"delay_s": 9}, 2),
        ({"rated": False}, 2),
        ({}, 1),
    ],
    ids=["a bot among people", "against a bot", "a named deal", "boards shown too early", "as its host chose", "one seat"],
)
async def test_a_race_that_does_not_count_says_nothing_of_ratings(table: Table, options: dict[str, Any], people: int) -> None:
    guests = [table.guest(f"Guest {number}") for number in range(people)]
    room = await table.racing(*guests, **options)
    for guest in guests:
        guest.stop(room)
    await table.until(lambda: room.core.race.phase == "over")
    await table.settle()
    (over,) = [entry for entry in table.journal.entries if isinstance(entry, RaceOver)]
    assert not over.record.rated
    assert all(heard_in_order(guest) == [Result] for guest in guests)


async def test_ratings_that_cannot_be_read_cost_nothing_but_their_news(caplog: pytest.LogCaptureFixture, table: Table) -> None:
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob)

    async def busy(race: str) -> tuple[RatingChange, ...]:
        raise StoreBusy(f"no time for {race}")

    table.journal.rating_changes = busy  # type: ignore[method-assign]
    for guest in (ann, bob):
        guest.move(room)
    bob.resign(room)
    await trio.sleep(sum(AGAIN_S) + 1)
    assert heard_in_order(ann) == [Result]
    assert caplog.text.count("cannot read the rating changes of race") == 1
    ann.rematch(room)
    bob.rematch(room)
    await table.settle()
    assert ann.last(Room).race == 2


async def test_ratings_that_cannot_be_read_for_a_while_are_told_once_they_can(table: Table, ann: Guest, bob: Guest) -> None:
    rated: list[str] = []
    table.rooms.on_rated.append(lambda player, rating, news: rated.append(player))
    room = await table.racing(ann, bob)
    read, back_at = table.journal.rating_changes, trio.current_time() + 20

    async def away(race: str) -> tuple[RatingChange, ...]:
        if trio.current_time() < back_at:
            raise StoreBusy("the database is restarted")
        return await read(race)

    table.journal.rating_changes = away  # type: ignore[method-assign]
    for guest in (ann, bob):
        guest.move(room)
    bob.resign(room)
    await trio.sleep(10)
    assert heard_in_order(ann) == [Result]
    await trio.sleep(40)
    assert heard_in_order(ann) == [Result, Ratings]
    assert rated == [ann.player.id, bob.player.id]


@pytest.mark.parametrize("series", [None, SeriesOptions(format="best-of", races=3)], ids=["before a rematch", "in a race of a series"])
async def test_ratings_that_are_read_too_late_are_told_in_no_other_race(table: Table, series: SeriesOptions | None) -> None:
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob, series=series or SeriesOptions())
    read, is_back = table.journal.rating_changes, trio.Event()

    async def away(race: str) -> tuple[RatingChange, ...]:
        await is_back.wait()
        return await read(race)

    table.journal.rating_changes = away  # type: ignore[method-assign]
    for guest in (ann, bob):
        guest.move(room)
    bob.resign(room)
    await trio.sleep(1)
    if series is None:
        for guest in (ann, bob):
            guest.rematch(room)
        await table.settle()
    else:
        await table.begin(room, ann, bob)
    assert room.core.race.number == 2
    is_back.set()
    await trio.sleep(1)
    assert heard_in_order(ann) == [Result]


async def test_a_race_whose_changes_are_not_in_the_store_costs_nothing_but_their_news(
    caplog: pytest.LogCaptureFixture, table: Table, ann: Guest, bob: Guest
) -> None:
    room = await table.racing(ann, bob)

    async def nothing(race: str) -> tuple[RatingChange, ...]:
        del race
        return ()

    table.journal.rating_changes = nothing  # type: ignore[method-assign]
    for guest in (ann, bob):
        guest.move(room)
    bob.resign(room)
    await trio.sleep(1)
    assert heard_in_order(ann) == [Result]
    assert f"race {room.core.race.id} has 2 seats and 0 changes of ratings in the store" in caplog.text
    ann.rematch(room)
    bob.rematch(room)
    await table.settle()
    assert ann.last(Room).race == 2
