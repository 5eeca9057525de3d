"""Garbage is collected when there is more than connections or rooms account for, and Python's own settings come back when a server ends."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
import trio
import trio.testing

from server.runtime.gc_tuning import FEW, OBJECTS_LOOK_S, OF_CONNECTION, OF_ROOM, collect_garbage, seldom_collected

pytestmark = pytest.mark.usefixtures("autojump_clock", "frozen_again")


class Knot:
    """An object in a cycle with itself."""

    gone = 0

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        Knot.gone += 1


@pytest.fixture
def counted() -> Iterator[None]:
    Knot.gone = 0
    with seldom_collected():
        yield
        gc.collect()


def make(objects: int) -> None:
    for _ in range(objects):
        Knot()


async def pass_looks(connections: int, rooms: int = 0) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(collect_garbage, lambda: connections, lambda: rooms)
        await trio.sleep(2.5 * OBJECTS_LOOK_S)
        nursery.cancel_scope.cancel()


def test_what_was_there_is_set_aside_and_the_settings_come_back() -> None:
    frozen = gc.get_freeze_count()
    with seldom_collected():
        assert not gc.isenabled()
        assert gc.get_freeze_count() > frozen
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


async def test_garbage_is_found_once_there_is_much(counted: None) -> None:
    make(FEW // 2)
    await pass_looks(0)
    assert Knot.gone == 0
    make(FEW)
    await pass_looks(0)
    assert Knot.gone == FEW // 2 + FEW


async def test_what_those_who_are_connected_have_is_not_looked_at(counted: None) -> None:
    make(2 * FEW)
    await pass_looks(2 * FEW // OF_CONNECTION)
    assert Knot.gone == 0
    await pass_looks(FEW // OF_CONNECTION // 2)
    assert Knot.gone == 2 * FEW


async def test_what_is_kept_in_rooms_whose_players_have_left_is_not_looked_at(counted: None) -> None:
    make(2 * FEW)
    await pass_looks(0, rooms=2 * FEW // OF_ROOM)
    assert Knot.gone == 0
    await pass_looks(0, rooms=FEW // OF_ROOM // 2)
    assert Knot.gone == 2 * FEW


async def test_where_python_looks_by_itself_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    # What is asked for is counted, not what Python does: it looks whenever the tests before this one have made it due.
    monkeypatch.setattr(gc, "collect", lambda: looks.append(1))
    kept = [[number] for number in range(2 * FEW)]
    await pass_looks(0)
    assert looks == []
    gc.disable()
    try:
        kept += [[number] for number in range(2 * FEW)]
        await pass_looks(0)
        assert looks != []
    finally:
        gc.enable()
    assert len(kept) == 4 * FEW
