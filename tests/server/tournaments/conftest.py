"""A venue on a clock that jumps."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from tests.server.tournaments.venue import Venue


@pytest.fixture
async def venue(nursery: trio.Nursery, autojump_clock: MockClock) -> Venue:
    del autojump_clock
    venue = Venue(nursery)
    await venue.open()
    return venue
