"""The ladder's page, on a whole server in memory."""

from __future__ import annotations

import msgspec
import pytest

from protocol.pages import LADDER_PLAYERS, Ladder, LadderPlayer
from tests.server.net.wire import House
from tests.server.store.keeping import made, opened, rated_over, write


def finish(house: House, race: str, **places: int) -> None:
    write(house.store, opened(race), rated_over(race, places))


async def test_the_ladder_has_places_points_and_races_best_first(house: House) -> None:
    write(house.store, *map(made, ["anna", "ben", "cleo", "dora", "unrated"]))
    finish(house, "r", anna=1, ben=2)
    finish(house, "s", cleo=1, dora=2)
    answered = await house.ask("/ladder.json")
    assert (answered.status, answered.headers["cache-control"]) == (200, "max-age=1")
    assert msgspec.json.decode(answered.body, type=Ladder).players == (
        LadderPlayer(place=1, player="anna", name="Anna", rating=1138, races=1),
        LadderPlayer(place=1, player="cleo", name="Cleo", rating=1138, races=1),
        LadderPlayer(place=3, player="ben", name="Ben", rating=927, races=1),
        LadderPlayer(place=3, player="dora", name="Dora", rating=927, races=1),
    )
    few = await house.ask("/ladder.json?limit=1")
    assert [player.name for player in msgspec.json.decode(few.body, type=Ladder).players] == ["Anna"]


async def test_before_the_first_rated_race_the_ladder_is_empty(house: House) -> None:
    assert (await house.ask("/ladder.json")).body == b'{"players":[]}\n'


@pytest.mark.parametrize("limit", ["0", "-1", "x", "", str(LADDER_PLAYERS + 1), "99999"])
async def test_a_limit_that_is_none_is_said(house: House, limit: str) -> None:
    assert (await house.ask(f"/ladder.json?limit={limit}")).problem == (400, f"limit must be a number from 1 to {LADDER_PLAYERS}.")
