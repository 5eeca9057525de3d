"""Shared by the tests of runs: a server whose wall clock they set, and players who run at a person's pace, or faster."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from trio.testing import MockClock

from tests.server.net.wire import House, open_house
from tests.server.runs.running import NOON


@pytest.fixture
async def house(autojump_clock: MockClock) -> AsyncIterator[House]:
    del autojump_clock
    async with open_house(wall_s=NOON / 1000) as house:
        yield house
