"""A box of spectators on a clock that jumps. Nobody in the box or at its table may have missed a version."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import trio
from trio.testing import MockClock

from tests.server.rooms.playing import Table
from tests.server.spectate.onlookers import Box, Onlooker


@pytest.fixture
async def box(nursery: trio.Nursery, autojump_clock: MockClock) -> AsyncIterator[Box]:
    del autojump_clock
    box = Box(nursery)
    yield box
    assert [gap for guest in box.table.guests for gap in guest.gaps] == []
    assert [gap for onlooker in box.onlookers for gap in onlooker.gaps] == []


@pytest.fixture
def table(box: Box) -> Table:
    return box.table


@pytest.fixture
def eve(box: Box) -> Onlooker:
    return box.onlooker()
