"""A race rebuilt from its commands."""

from __future__ import annotations

from dataclasses import replace

import pytest

from protocol.errors import Refusal
from protocol.views import RaceOptions, SeriesOptions
from server.match.series import Series
from server.race.commands import LoseConnection, PlayMove, RegainConnection
from server.race.shuffles import SeriesPlace
from server.store.answers import RunningRace
from server.store.port import CommandTaken
from server.store.replay import replay
from tests.server.race.racing import WINNABLE, greedy_line, started
from tests.server.store.keeping import opened, won

OPTIONS = RaceOptions(deal=WINNABLE, grace_s=5, series=SeriesOptions(format="best-of", races=3, grace_s=60))


def running(*, number: int) -> RunningRace:
    """A race in which the first player came back after their grace, though not after that of the series."""
    series = Series(options=OPTIONS.series, seats=2, id="r")
    driven = started(OPTIONS, place=SeriesPlace(id="r", number=number))
    driven.race.grace_s = OPTIONS.series.grace_s
    driven.do(LoseConnection(0), 1000)
    driven.do(RegainConnection(0), 31_000)
    driven.do(PlayMove(0, 0, greedy_line(WINNABLE)[0]), 32_000)
    first = replace(opened("s", options=OPTIONS), series=series.raced(won()) if number > 1 else series, number=number)
    return RunningRace(first, tuple(CommandTaken(race="s", sequence=n, at_ms=at, command=it) for n, (it, at) in enumerate(driven.log, 1)))


@pytest.mark.parametrize("number", [1, 2])
def test_commands_that_the_race_cannot_have_accepted_are_refused(number: int) -> None:
    with pytest.raises(Refusal):
        replay(running(number=number))
