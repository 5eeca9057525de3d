"""A hall on a clock that jumps."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from tests.server.tournaments.hall import Hall


@pytest.fixture
async def hall(nursery: trio.Nursery, autojump_clock: MockClock) -> Hall:
    del autojump_clock
    hall = Hall(nursery)
    await hall.open()
    return hall
