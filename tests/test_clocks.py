"""A test runs on the clock that it asks for, whichever way it asks (`tests/conftest.py`)."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked


@pytest.fixture
def house(autojump_clock: MockClock) -> MockClock:
    return autojump_clock


@pytest.mark.usefixtures("mock_clock")
async def test_by_a_mark() -> None:
    before = trio.current_time()
    await wait_all_tasks_blocked(0.002)
    assert trio.current_time() == before


async def test_by_a_fixture(house: MockClock) -> None:
    before = trio.current_time()
    await trio.sleep(10_000)
    assert trio.current_time() == before + 10_000
    house.jump(1)
    assert trio.current_time() == before + 10_001


async def test_by_an_argument(mock_clock: MockClock) -> None:
    before = trio.current_time()
    mock_clock.jump(1)
    assert trio.current_time() == before + 1
