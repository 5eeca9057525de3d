"""Connections and the finish of a race: late pongs gain nothing, an announced win cannot be overtaken, and honest connections finish level.

Connections are simulated: bytes take their time each way, and the kernel's figure is set through the port that provides it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from statistics import median
from typing import Final

import pytest
import trio

from protocol.client_messages import FollowLobby, LeaveRace, Move
from protocol.record import Record
from protocol.room_events import Dealt, Progress, Result
from protocol.server_messages import Left, Lobby, ServerMessage
from protocol.watch_messages import WatchedEvent, WatchRace
from server.net.connection import PING_INTERVAL_S
from server.net.stream import RoundTripRule, SocketStream
from tests.server.net.wire import Client, open_house
from tests.server.race.racing import WINNABLE, greedy_line

pytestmark = pytest.mark.usefixtures("autojump_clock")

LINE: Final = greedy_line(WINNABLE)
RACES: Final = 20
THINK_S: Final = 0.4
"""From the moment at which a player sees the board to their first move."""

FINISH_S: Final = 2.0
"""From there to the last move of who is first."""

PONG: Final = 0x8A


class Line(trio.abc.HalfCloseableStream):
    """A player's end of a connection.

    each_way_s: what bytes take to the server, and back. pongs_late_s: what a cheat adds to pongs alone.
    """

    def __init__(self, stream: SocketStream, nursery: trio.Nursery, *, each_way_s: float = 0, pongs_late_s: float = 0) -> None:
        self._stream = stream
        self._nursery = nursery
        self._each_way_s = each_way_s
        self._pongs_late_s = pongs_late_s
        self._leaves, self._leaving = trio.open_memory_channel[tuple[float, bytes]](inf)
        self._comes, self._coming = trio.open_memory_channel[tuple[float, bytes]](inf)
        nursery.start_soon(self._send)
        nursery.start_soon(self._receive)

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        due = trio.current_time() + self._each_way_s
        if data and data[0] == PONG and self._pongs_late_s:
            self._nursery.start_soon(self._send_at, due + self._pongs_late_s, bytes(data))
        else:
            self._leaves.send_nowait((due, bytes(data)))
        await trio.lowlevel.checkpoint()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        del max_bytes
        due, data = await self._coming.receive()
        await trio.sleep_until(due)
        return data

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def send_eof(self) -> None:
        await self._stream.send_eof()

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def _send(self) -> None:
        async for due, data in self._leaving:
            await self._send_at(due, data)

    async def _send_at(self, due: float, data: bytes) -> None:
        await trio.sleep_until(due)
        try:
            await self._stream.send_all(data)
        except (trio.ClosedResourceError, trio.BrokenResourceError):
            return

    async def _receive(self) -> None:
        data = b"-"
        while data:
            try:
                data = await self._stream.receive_some()
            except (trio.ClosedResourceError, trio.BrokenResourceError):
                data = b""
            self._comes.send_nowait((trio.current_time() + self._each_way_s, data))


@dataclass(frozen=True, slots=True)
class Racer:
    """Plays `LINE`.

    late_s: how much later than the other their last move leaves. spies: where set, it leaves at the first news of a win on any of these.
    """

    client: Client
    late_s: float = 0.0
    spies: tuple[Client, ...] = ()

    async def play(self, records: list[Record]) -> None:
        await self.client.ready()
        await self.client.hear_of(Dealt)
        lit = trio.current_time()
        await trio.sleep_until(lit + THINK_S)
        for ply in range(len(LINE) - 1):
            await self._move(ply)
        if self.spies:
            await self._hear_of_a_win()
        else:
            await trio.sleep_until(lit + THINK_S + FINISH_S + self.late_s)
        await self._move(len(LINE) - 1)
        result = next((one for one in self.client.heard if isinstance(one, Result)), None)
        if result is None:
            result = await self.client.hear_of(Result)
        records.append(result.record)

    async def _move(self, ply: int) -> None:
        await self.client.say(Move(race=1, seat=self.client.seat, ply=ply, move=LINE[ply]))

    async def _hear_of_a_win(self) -> None:
        """Whoever is told first ends the wait; a read that is cancelled has taken nothing."""
        for spy in (self.client, *self.spies):
            # What was told before is of the start, and of the race before.
            with trio.move_on_after(FINISH_S / 4):
                while True:
                    await spy.hear()
        async with trio.open_nursery() as nursery:

            async def listen(spy: Client) -> None:
                while not tells_of_a_win(await spy.hear()):
                    pass
                nursery.cancel_scope.cancel()

            for spy in (self.client, *self.spies):
                nursery.start_soon(listen, spy)


def tells_of_a_win(message: ServerMessage) -> bool:
    match message:
        case WatchedEvent(event=event):
            return isinstance(event, Result) or (isinstance(event, Progress) and event.home == 52)
        case Progress(home=home):
            return home == 52
        case Lobby(races_running=running):
            return running == 0
        case _:
            return isinstance(message, Result)


def first_at(record: Record, seat: int) -> int:
    return next(move.at_ms for move in record.moves if move.seat == seat)


async def race(ann: Racer, eve: Racer) -> Record:
    """One race between the two, Ann on seat 0, and both out of its room again."""
    code = (await ann.client.open(deal=WINNABLE)).code
    await eve.client.join(code)
    for spy in eve.spies:
        await spy.say(WatchRace(code=code))
    records: list[Record] = []
    async with trio.open_nursery() as nursery:
        for racer in (ann, eve):
            nursery.start_soon(racer.play, records)
    assert records[0] == records[1]
    for racer in (ann, eve):
        await racer.client.say(LeaveRace())
        await racer.client.hear_of(Left)
        racer.client.heard.clear()
    return records[0]


def places(record: Record) -> tuple[int, ...]:
    return tuple(seat.place for seat in record.seats)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "races", "gained_ms", "first"),
    [
        pytest.param(None, RACES, range(5), 0, id="as it is"),
        pytest.param(
            RoundTripRule(kernel_ms=lambda _: None, trust_pings=True), 2, range(295, 306), 2, id="what believing pings would give"
        ),
    ],
)
async def test_late_pongs_gain_nothing_at_the_first_move_and_no_photo_finish(
    rule: RoundTripRule | None, races: int, gained_ms: range, first: int
) -> None:
    async with open_house(round_trip_rule=rule) as house, trio.open_nursery() as nursery:
        late = Line(house.listener.dial(), nursery, pongs_late_s=0.3)
        async with house.guest("Ann") as ann, house.guest("Eve", stream=late) as eve:
            await trio.sleep(3 * PING_INTERVAL_S)
            # Eve is later at the end, by as much as a credit of 150 ms would make good.
            records = [await race(Racer(ann), Racer(eve, late_s=0.005 + 0.14 * number / races)) for number in range(races)]
        nursery.cancel_scope.cancel()
    assert int(median(first_at(record, 0) - first_at(record, 1) for record in records)) in gained_ms
    assert sum(places(record)[1] == 1 for record in records) == first


@pytest.mark.slow
async def test_whoever_holds_the_last_move_until_a_win_is_told_is_never_first() -> None:
    """They have all the credit there is, a fast connection that needs none, and can watch both the room and the lobby."""
    async with open_house() as house:
        slow = house.listener.dial(kernel_ms=300)
        async with (
            house.guest("Ann") as ann,
            trio.open_nursery() as nursery,
            house.guest("Eve", stream=Line(slow, nursery, pongs_late_s=0.3)) as eve,
            house.guest("Spy") as spy,
            house.guest("Sly") as sly,
        ):
            await sly.say(FollowLobby())
            await trio.sleep(3 * PING_INTERVAL_S)
            records = [await race(Racer(ann), Racer(eve, spies=(spy, sly))) for _ in range(RACES)]
            nursery.cancel_scope.cancel()
    assert [places(record) for record in records] == [(1, 2)] * RACES
    assert {record.moves[-1].credit_ms for record in records if record.moves[-1].seat == 1} <= {150}


async def test_honest_connections_of_20_and_200_ms_finish_within_5_ms_of_each_other() -> None:
    async with open_house() as house, trio.open_nursery() as nursery:
        near = Line(house.listener.dial(kernel_ms=20), nursery, each_way_s=0.01)
        far = Line(house.listener.dial(kernel_ms=200), nursery, each_way_s=0.1)
        async with house.guest("Ann", stream=near) as ann, house.guest("Bob", stream=far) as bob:
            await trio.sleep(3 * PING_INTERVAL_S)
            # Bob is later by less than what may set them apart: both finish, within the time that a win is held open.
            records = [await race(Racer(ann), Racer(bob)) for _ in range(RACES)]
        nursery.cancel_scope.cancel()
    for record in records:
        assert abs(first_at(record, 0) - first_at(record, 1)) <= 5
        assert abs(record.seats[0].ended_at_ms - record.seats[1].ended_at_ms) <= 5
        assert {move.credit_ms for move in record.moves if move.seat == 1} == {100}
