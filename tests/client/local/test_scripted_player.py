"""The scripted player against a server whose race has only two positions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from client.connection.outbox import FIRST_NUMBER
from client.connection.resync import REJOIN_REFERENCE
from client.local.policies import POLICIES
from client.local.scripted_player import BotFailed, run_bot
from protocol import server_messages as said
from protocol.client_messages import JoinRace, LeaveRace, Move, OpenRace, Ready, Stop
from protocol.errors import CloseCode, ErrorCode
from protocol.record import Record
from protocol.room_events import Dealt, PlayerView, Result, Started
from protocol.server_messages import CurrentView, Left
from protocol.views import RaceOptions, SeatState, View
from tests.client import scenes
from tests.client.fake_server import FakeServer, Line, room, seat, view
from tests.client.scenes import refusal

GREEDY = POLICIES["greedy"]
URL = "ws://carpet.example:7777"
OPENS = OpenRace(options=RaceOptions(deal="tuesday"))
FIRST = view("a1", "s")
SECOND = view("s")

RECORD = scenes.record()


def played(version: int, ply: int, shown: View, state: SeatState = "racing") -> PlayerView:
    return PlayerView(version=version, seat=0, ply=ply, move="a1", state=state, elapsed_ms=1, view=shown)


async def dealt(server: FakeServer) -> Line:
    """From the welcome to the first move, the way a server goes."""
    line = await server.greeted()
    assert isinstance(await line.heard(), OpenRace)
    await line.say(room(version=1))
    ready = await line.heard()
    assert isinstance(ready, Ready)
    assert ready.race == 1
    await line.say(Dealt(version=2, seat=0, starts_in_ms=50, view=FIRST), Started(version=3))
    return line


async def run_against(serve: Callable[[FakeServer], Awaitable[None]], enter: OpenRace | JoinRace = OPENS, **changes: Any) -> Record:
    """What comes of a race of the scripted player at a server that goes this way."""
    how = {"pace": 0, **changes}
    async with FakeServer.running() as server, trio.open_nursery() as nursery:
        nursery.start_soon(serve, server)
        return await run_bot(URL, "anna", GREEDY, enter, dial=server.dial, **how)


async def test_it_plays_a_race_from_open_to_result(autojump_clock: MockClock) -> None:
    heard: list[object] = []

    async def serve(server: FakeServer) -> None:
        line = await dealt(server)
        assert await line.heard() == Move(race=1, seat=0, ply=0, move="a1", ref=3)
        await line.say(played(4, 1, SECOND))
        assert await line.heard() == Move(race=1, seat=0, ply=1, move="s", ref=3)
        await line.say(played(5, 2, view(), "stalled"), Result(version=6, record=RECORD))
        assert await line.heard() == LeaveRace(ref=FIRST_NUMBER)

    record = await run_against(serve, watch=lambda model, event: heard.append(event))
    assert record == RECORD
    assert any(isinstance(event, Dealt) for event in heard)


async def test_its_pace_is_seconds_a_move_give_or_take(autojump_clock: MockClock) -> None:
    pauses: list[float] = []

    async def serve(server: FakeServer) -> None:
        line = await dealt(server)
        for ply in range(20):
            shown_at = trio.current_time()
            await line.heard()
            pauses.append(trio.current_time() - shown_at)
            await line.say(played(4 + ply, ply + 1, SECOND))
        await line.heard()
        await line.say(Result(version=24, record=RECORD))

    await run_against(serve, pace=2.0)
    assert all(1.2 <= pause <= 2.8 for pause in pauses)
    assert len({round(pause, 3) for pause in pauses}) > 10


async def test_it_never_moves_before_the_clock_runs(autojump_clock: MockClock) -> None:
    async def serve(server: FakeServer) -> None:
        line = await server.greeted()
        await line.heard()
        await line.say(room(version=1))
        await line.heard()
        await line.say(Dealt(version=2, seat=0, starts_in_ms=50, view=FIRST))
        with trio.move_on_after(30):
            raise AssertionError(await line.heard())
        await line.say(Started(version=3))
        assert isinstance(await line.heard(), Move)
        await line.say(Result(version=4, record=RECORD))

    await run_against(serve)


async def test_after_a_lost_connection_it_plays_on_from_the_current_view(autojump_clock: MockClock) -> None:
    async def serve(server: FakeServer) -> None:
        line = await dealt(server)
        await line.heard()
        await line.cut()
        line = await server.greeted(room="ABCDEF")
        again = await line.heard()
        assert isinstance(again, JoinRace)
        assert again.version == 3
        # The move came through; its view did not.
        await line.say(CurrentView(race=1, seat=0, ply=1, state="racing", elapsed_ms=5, view=SECOND))
        assert await line.heard() == Move(race=1, seat=0, ply=1, move="s", ref=3)
        await line.say(Result(version=4, record=RECORD))

    await run_against(serve)


async def test_a_snapshot_in_the_middle_of_a_race_is_enough_to_play_on(autojump_clock: MockClock) -> None:
    async def serve(server: FakeServer) -> None:
        line = await server.greeted()
        assert await line.heard() == JoinRace(code="abcdef", ref=1)
        seats = (seat(0, "anna", state="racing", ply=7), seat(1, "bert", state="racing"))
        await line.say(room(version=40, phase="racing", seats=seats, view=SECOND, elapsed_ms=9000))
        assert await line.heard() == Move(race=1, seat=0, ply=7, move="s", ref=3)
        await line.say(Result(version=41, record=RECORD))

    await run_against(serve, JoinRace(code="abcdef"))


async def test_told_to_slow_down_it_waits_and_plays_the_same_move(autojump_clock: MockClock) -> None:
    async def serve(server: FakeServer) -> None:
        line = await dealt(server)
        first = await line.heard()
        told = trio.current_time()
        await line.say(refusal(ErrorCode.TOO_FAST, 3))
        assert await line.heard() == first
        assert trio.current_time() - told >= 0.5
        await line.say(Result(version=4, record=RECORD))

    await run_against(serve)


async def test_a_move_that_was_dropped_as_too_many_is_made_all_the_same(autojump_clock: MockClock) -> None:
    async def serve(server: FakeServer) -> None:
        line = await dealt(server)
        first = await line.heard()
        await line.say(refusal(ErrorCode.TOO_FAST, 0))
        assert await line.heard() == JoinRace(code="ABCDEF", version=3, ref=REJOIN_REFERENCE)
        await line.say(CurrentView(race=1, seat=0, ply=0, state="racing", elapsed_ms=5, view=FIRST))
        assert await line.heard() == first
        await line.say(Result(version=4, record=RECORD))

    await run_against(serve)


@pytest.mark.parametrize("code", [ErrorCode.CANNOT_WRITE, ErrorCode.HOST_SAYS])
async def test_told_what_refuses_nothing_it_waits_until_its_move_is_taken(autojump_clock: MockClock, code: ErrorCode) -> None:
    async def serve(server: FakeServer) -> None:
        line = await dealt(server)
        await line.heard()
        await line.say(refusal(code, 0))
        await trio.sleep(10)
        await line.say(Result(version=4, record=RECORD))

    await run_against(serve)


async def test_told_that_the_race_is_over_it_waits_for_the_result(autojump_clock: MockClock) -> None:
    async def serve(server: FakeServer) -> None:
        line = await dealt(server)
        await line.heard()
        await line.say(refusal(ErrorCode.RACE_OVER, 3), CurrentView(race=1, seat=0, ply=0, state="racing", elapsed_ms=5, view=FIRST))
        with trio.move_on_after(30):
            raise AssertionError(await line.heard())
        await line.say(Result(version=4, record=RECORD))

    await run_against(serve)


async def test_where_cards_could_only_go_in_circles_it_stops(autojump_clock: MockClock) -> None:
    async def serve(server: FakeServer) -> None:
        line = await dealt(server)
        await line.heard()
        await line.say(played(4, 1, view("p1:p2", "p2:p1")))
        assert await line.heard() == Stop(race=1, seat=0, ref=3)
        await line.say(Result(version=5, record=RECORD))

    await run_against(serve)


async def failing(*answers: said.ServerMessage, close: int | None = None) -> str:
    async def serve(server: FakeServer) -> None:
        line = await server.greeted()
        await line.heard()
        await line.say(*answers)
        if close is not None:
            await line.close(close)

    async with FakeServer.running() as server, trio.open_nursery() as nursery:
        nursery.start_soon(serve, server)
        with pytest.raises(BotFailed) as caught:
            await run_bot(URL, "anna", GREEDY, JoinRace(code="ABCDEF"), pace=0, dial=server.dial)
    return str(caught.value)


async def test_a_race_it_cannot_enter_is_one_sentence(autojump_clock: MockClock) -> None:
    assert await failing(refusal(ErrorCode.ROOM_FULL, 1)) == "Every seat of that race is taken."


async def test_a_race_that_is_closed_is_one_sentence(autojump_clock: MockClock) -> None:
    assert "was closed before" in await failing(room(), Left(code="ABCDEF", reason="closed"))


async def test_being_taken_over_is_one_sentence(autojump_clock: MockClock) -> None:
    assert "another window" in await failing(room(), close=CloseCode.TAKEN_OVER)
