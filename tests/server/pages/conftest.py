"""A server in memory on a clock that jumps, as for the tests of the wire."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import pytest
from trio.testing import MockClock

from tests.server.net.wire import House, open_house


@pytest.fixture
async def house(autojump_clock: MockClock) -> AsyncIterator[House]:
    del autojump_clock
    async with open_house(wall_s=time.time()) as house:
        yield house
