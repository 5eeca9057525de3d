"""A server in memory that says what the test tells it to, on a clock that jumps to the next event."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from trio.testing import MockClock

from tests.client.fake_server import FakeServer


@pytest.fixture
async def server(autojump_clock: MockClock) -> AsyncIterator[FakeServer]:
    async with FakeServer.running() as running:
        yield running
