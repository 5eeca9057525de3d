"""A server in memory on a clock that jumps, with limits that no test meets by accident; and two guests at a table."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from trio.testing import MockClock

from tests.server.net import wire
from tests.server.net.wire import House, open_house
from tests.server.rooms.playing import Guest, Table


@pytest.fixture(params=["hub", "plain"])
def both_kinds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a test with both kinds of connections, those of the hub and those with a task each: one contract holds for both."""
    monkeypatch.setattr(wire, "PLAIN_SOCKETS", request.param == "plain")


@pytest.fixture
async def house(autojump_clock: MockClock) -> AsyncIterator[House]:
    del autojump_clock
    async with open_house() as house:
        yield house


@pytest.fixture
def ann(table: Table) -> Guest:
    """The first guest at `table`, a fixture that the tests of rooms and of watching define each for themselves."""
    return table.guest("Ann")


@pytest.fixture
def bob(table: Table, ann: Guest) -> Guest:
    """The second guest."""
    del ann
    return table.guest("Bob")
