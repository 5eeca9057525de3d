"""The counts of moves and refusals, for both kinds of connection."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from protocol.client_messages import OpenRace, WhoAmI
from protocol.errors import CloseCode, ErrorCode
from protocol.run_messages import PlayOn
from protocol.server_messages import CurrentView
from protocol.views import RaceOptions
from server.net.connection_limits import Admission
from server.net.overload import ENOUGH, LATE_S
from tests.server.net.wire import House, open_house

pytestmark = pytest.mark.usefixtures("both_kinds")


async def test_moves_are_counted_and_timed_and_refused_ones_by_their_code(house: House) -> None:
    traffic = house.dispatch.traffic
    async with house.race("Ann", "Bob") as (ann, bob):
        for client in (ann, bob, ann):
            await client.play()
        assert (traffic.moves, sum(traffic.move_s.counts), traffic.refused_moves) == (3, 3, {})
        await ann.move("a9")
        await ann.hear_of(CurrentView)
        await ann.move(ply=77)
        await ann.hear_of(CurrentView)
        assert traffic.refused_moves == {ErrorCode.BAD_MOVE: 1, ErrorCode.FUTURE_PLY: 1}
        assert traffic.moves == 3
        # A move that was made before is neither, and no beginning of the next one's time.
        await ann.move(ply=0)
        await ann.hear_of(CurrentView)
        await trio.sleep(100)
        await bob.play()
        await ann.play()
        assert (traffic.moves, traffic.move_s.sum_s < 1) == (5, True)
        # Of what is no move, the error alone is counted.
        await ann.error_for(OpenRace(options=RaceOptions()))
        assert traffic.errors == {**traffic.refused_moves, ErrorCode.ALREADY_IN_ROOM: 1}
        assert sum(traffic.move_s.counts) == 5


async def test_the_time_of_a_move_ends_when_it_is_kept(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async with house.race("Ann") as (ann,):
        write = house.journal.submit

        def late(entries: object, done: object) -> None:
            house._nursery.start_soon(write_late, entries, done)

        async def write_late(entries: object, done: object) -> None:
            await trio.sleep(0.3)
            write(entries, done)  # type: ignore[arg-type]

        monkeypatch.setattr(house.journal, "submit", late)
        await ann.play()
        assert house.dispatch.traffic.move_s.sum_s == pytest.approx(0.3, abs=0.1)


async def test_messages_beyond_the_rate_are_counted_by_why(autojump_clock: MockClock) -> None:
    async with open_house(rate=1, burst=25) as house, house.guest("Ann") as ann:
        await ann.error_for(PlayOn(race="nowhere", seat=0, ply=0))
        assert (await ann.error_for(PlayOn(race="nowhere", seat=0, ply=0))).code == ErrorCode.TOO_FAST
        await ann.flood(WhoAmI(), 60)
        assert (await ann.hear_end())[0] == CloseCode.FLOOD
        # All beyond the burst, up to the one that closes.
        assert house.dispatch.traffic.dropped == {"price": 1, "rate": 25}
        assert house.dispatch.traffic.errors[ErrorCode.TOO_FAST] == 1


async def test_whoever_is_not_let_in_is_counted_by_why(house: House) -> None:
    for _ in range(2):
        house.overload.note(LATE_S * ENOUGH, trio.current_time())
    assert (await house.ask("/ladder.json")).status == 503
    assert house.dispatch.traffic.refused_connections == {"busy": 1}
    admission = Admission(most=2, most_per_address=1)
    for host in ("192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.3"):
        admission.enter(host)
    assert admission.refusals == {"crowded": 1, "full": 1}
