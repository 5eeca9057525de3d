"""What the tests of runs share: a server whose wall shows a day of their choice, and players who run as a person would, or faster."""

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
