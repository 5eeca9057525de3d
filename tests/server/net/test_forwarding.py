"""A node of a cluster: who asks it for a room of another is told where that is, and who is there when it loses its lease has to go."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest
import trio
from trio.testing import MockClock
from websockets.exceptions import ConnectionClosed

from protocol.client_messages import JoinRace
from protocol.errors import CloseCode, ErrorCode, Refusal
from protocol.room_events import Room
from protocol.server_messages import Error, Moved
from protocol.watch_messages import WatchRace
from server.cluster.node import ClusterNode
from server.store.nodes import Node
from tests.server.net.wire import House

OTHERS = ("wss://n2.carpet.example", "wss://n3.carpet.example")


class FakeNode:
    """A cluster in which the room FARAWY is on another node. asked: the codes that were looked for."""

    others = OTHERS

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def owner(self, code: str, is_here: Callable[[], bool]) -> Node | None:
        await trio.lowlevel.checkpoint()
        self.asked.append(code)
        if code == "FARAWY":
            return Node(2, OTHERS[0], 1, 99_000, 5_000)
        if is_here():
            return None
        raise Refusal(ErrorCode.NO_SUCH_ROOM)


@pytest.fixture
def node(house: House) -> FakeNode:
    node = FakeNode()
    house.dispatch.forwarding._node = cast(ClusterNode, node)
    return node


@pytest.mark.parametrize("request_", [JoinRace(code="farawy", ref=3), WatchRace(code="FAR-AWY", ref=3)])
async def test_who_asks_for_a_room_of_another_node_is_told_where_it_is(
    autojump_clock: MockClock, house: House, node: FakeNode, request_: JoinRace | WatchRace
) -> None:
    async with house.client() as ann:
        welcome = await ann.hello("Ann")
        assert welcome.nodes == OTHERS
        await ann.say(request_)
        assert await ann.hear() == Moved(url=OTHERS[0], code="FARAWY", ref=3)
        error = await ann.hear()
        assert isinstance(error, Error)
        assert (error.code, error.ref) == (ErrorCode.ELSEWHERE, 3)
        assert OTHERS[0] in error.message


async def test_rooms_of_ones_own_and_codes_that_nobody_has_are_answered_as_ever(
    autojump_clock: MockClock, house: House, node: FakeNode
) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        room = await ann.open()
        for code in ("NBDYSC", "NOBODY", "\x1b[2J\n\0"):
            await bob.say(JoinRace(code=code, ref=1))
            error = await bob.hear()
            assert isinstance(error, Error)
            assert (error.code, error.ref) == (ErrorCode.NO_SUCH_ROOM, 1)
        # What has not the form of a code gets neither into the database nor into the log.
        assert node.asked == ["NBDYSC"]
        await bob.say(JoinRace(code=room.code, ref=2))
        assert isinstance(await bob.hear(), Room)


async def test_a_node_without_its_lease_lets_everybody_go_and_nobody_in(autojump_clock: MockClock, house: House, node: FakeNode) -> None:
    async with house.guest("Ann") as ann:
        house.dispatch.forwarding.let_go()
        with pytest.raises(ConnectionClosed) as closed:
            await ann.hear()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == CloseCode.LET_GO
    async with house.client() as bob:
        with pytest.raises(ConnectionClosed) as closed:
            await bob.hello("Bob")
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == CloseCode.LET_GO


async def test_a_node_that_is_cut_off_sends_everybody_away_until_it_no_longer_is(
    autojump_clock: MockClock, house: House, node: FakeNode
) -> None:
    async with house.guest("Ann") as ann:
        room = await ann.open()
        house.dispatch.forwarding.cut_off(True)
        with pytest.raises(ConnectionClosed) as closed:
            await ann.hear()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == CloseCode.LET_GO
    async with house.client() as bob:
        with pytest.raises(ConnectionClosed):
            await bob.hello("Bob")
    house.dispatch.forwarding.cut_off(False)
    async with house.guest("Bob") as bob:
        await bob.say(JoinRace(code=room.code))
        assert isinstance(await bob.hear(), Room)


async def test_a_node_that_goes_tells_where_to_go(autojump_clock: MockClock, house: House, node: FakeNode) -> None:
    async with house.guest("Ann") as ann:
        room = await ann.open()
        house.dispatch.forwarding.send_away()
        assert await ann.hear() == Moved(url=OTHERS[0], code=room.code, ref=0)
