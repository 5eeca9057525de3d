"""A server in memory on a clock that jumps, with limits that no test meets by chance."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from trio.testing import MockClock

from tests.server.net.wire import House, open_house


@pytest.fixture
async def house(autojump_clock: MockClock) -> AsyncIterator[House]:
    del autojump_clock
    async with open_house() as house:
        yield house
