"""No client can inflate the round trip that its player is credited with. Both kinds of connection."""

from __future__ import annotations

import sys

import pytest
import trio
from websockets.frames import Opcode
from websockets.trio.client import connect
from websockets.typing import Subprotocol

from protocol.client_messages import Hello
from protocol.codec import MSGPACK, encode
from server.app import running
from server.config import Settings
from server.net.connection import PING_INTERVAL_S
from server.net.stream import RoundTripRule
from server.race.timing import KEPT_ROUND_TRIPS, credit
from tests.server.net import wire
from tests.server.net.wire import Client, House, frame_bytes, head_received, open_house, request_bytes

pytestmark = pytest.mark.usefixtures("both_kinds", "autojump_clock")

LATE_S = 0.3


async def answer_pings_late(house: House) -> None:
    """A peer that does nothing else: each pong leaves LATE_S after its ping has come."""
    async with house.listener.dial() as line:
        await line.send_all(request_bytes())
        await head_received(line)
        await line.send_all(frame_bytes(Opcode.BINARY, encode(Hello(name="Eve"), MSGPACK)))
        while data := await line.receive_some():
            at = data.find(b"\x89\x04")
            if at >= 0:
                await trio.sleep(LATE_S)
                await line.send_all(frame_bytes(Opcode.PONG, data[at + 2 : at + 6]))


@pytest.mark.parametrize(
    ("rule", "counted_ms"),
    [
        pytest.param(RoundTripRule(kernel_ms=lambda _: 0), 0, id="the kernel says less"),
        pytest.param(RoundTripRule(kernel_ms=lambda _: 20), 20, id="a line of 20 ms"),
        pytest.param(RoundTripRule(kernel_ms=lambda _: 200), 200, id="a line of 200 ms"),
        pytest.param(RoundTripRule(kernel_ms=lambda _: 400), 300, id="the kernel says more"),
        pytest.param(RoundTripRule(kernel_ms=lambda _: None), 0, id="the kernel cannot know"),
        pytest.param(RoundTripRule(kernel_ms=lambda _: None, trust_pings=True), 300, id="and pings are trusted"),
        pytest.param(RoundTripRule(kernel_ms=lambda _: 20, trust_pings=True), 20, id="pings are trusted only where it cannot know"),
    ],
)
async def test_of_pings_and_kernel_the_smaller_counts(rule: RoundTripRule, counted_ms: int) -> None:
    async with open_house(round_trip_rule=rule) as house, trio.open_nursery() as nursery:
        nursery.start_soon(answer_pings_late, house)
        await trio.sleep(10 * PING_INTERVAL_S)
        (end,) = house.connections
        assert end.round_trip_ms == counted_ms
        nursery.cancel_scope.cancel()


async def test_what_the_kernel_says_counts_for_no_more_than_it_has_said_before() -> None:
    """The kernel forgets what is older than five minutes. Messages that are read late, two at a time, are acknowledged late."""
    forgets_at = trio.current_time() + 5 * PING_INTERVAL_S
    rule = RoundTripRule(kernel_ms=lambda _: 20 if trio.current_time() < forgets_at else 60)
    async with open_house(round_trip_rule=rule) as house, trio.open_nursery() as nursery:
        nursery.start_soon(answer_pings_late, house)
        await trio.sleep_until(forgets_at + 3 * KEPT_ROUND_TRIPS * PING_INTERVAL_S)
        (end,) = house.connections
        assert end.round_trip_ms == 20
        nursery.cancel_scope.cancel()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel measures round trips on Linux alone")
async def test_a_client_whose_pongs_are_300_ms_late_gains_less_than_5_ms(monkeypatch: pytest.MonkeyPatch) -> None:
    pings: list[int] = []
    worth = RoundTripRule.worth

    def noted(rule: RoundTripRule, ping_ms: int, kernel_ms: int | None) -> int:
        pings.append(ping_ms)
        counted.append(worth(rule, ping_ms, kernel_ms))
        return counted[-1]

    counted: list[int] = []
    monkeypatch.setattr(RoundTripRule, "worth", noted)
    async with (
        running(Settings(port=0, plain_sockets=wire.PLAIN_SOCKETS)) as url,
        trio.open_nursery() as nursery,
        connect(url, subprotocols=[Subprotocol(MSGPACK)]) as line,
    ):
        stream = line.stream
        send_all = stream.send_all

        async def late(data: bytes) -> None:
            if data[0] == 0x8A:
                await trio.sleep(LATE_S)
            await send_all(data)

        stream.send_all = late  # type: ignore[method-assign, assignment]
        await Client(line).hello("Eve")
        await trio.sleep(4 * PING_INTERVAL_S)
        nursery.cancel_scope.cancel()
    assert len(pings) >= 3
    assert max(pings) >= 1000 * LATE_S
    assert max(map(credit, counted)) < 5
