"""A table to race at, on a clock that jumps, and a third guest. Everybody at the table must have been told every version."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import trio
from trio.testing import MockClock

from tests.server.rooms.playing import Guest, Table


@pytest.fixture
async def table(nursery: trio.Nursery, autojump_clock: MockClock) -> AsyncIterator[Table]:
    del autojump_clock
    table = Table(nursery)
    yield table
    assert [gap for guest in table.guests for gap in guest.gaps] == []


@pytest.fixture
def eve(table: Table, bob: Guest) -> Guest:
    """The third guest."""
    del bob
    return table.guest("Eve")
