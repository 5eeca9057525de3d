"""A server in memory on a clock that jumps, with limits that no test meets by chance; and two who race at a table."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from trio.testing import MockClock

from tests.server.net import wire
from tests.server.net.wire import House, open_house
from tests.server.rooms.playing import Guest, Table


@pytest.fixture(params=["hub", "plain"])
def both_kinds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The contract of a connection holds for those of the hub and for those with a task each."""
    monkeypatch.setattr(wire, "PLAIN_SOCKETS", request.param == "plain")


@pytest.fixture
async def house(autojump_clock: MockClock) -> AsyncIterator[House]:
    del autojump_clock
    async with open_house() as house:
        yield house


@pytest.fixture
def ann(table: Table) -> Guest:
    """The first at the table that the tests of rooms and of watching have, each their own."""
    return table.guest("Ann")


@pytest.fixture
def bob(table: Table, ann: Guest) -> Guest:
    """The second."""
    del ann
    return table.guest("Bob")
