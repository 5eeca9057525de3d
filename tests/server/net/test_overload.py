"""When the server counts as busy, and what it does then: running races go on, and new ones wait."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from websockets.exceptions import InvalidStatus

from protocol.client_messages import OpenRace, QuickMatch, WhoAmI
from protocol.errors import ErrorCode
from protocol.room_events import Progress
from protocol.run_messages import RunDaily
from protocol.server_messages import WaitingMatch, WaitingOver, YouAre
from protocol.views import RaceOptions
from server.net.hub_connection import HubConnection
from server.net.overload import (
    BEGIN,
    BEGUN_S,
    CALM_S,
    DEAREST_S,
    ENOUGH,
    ENOUGH_MOVES,
    FEW,
    FORGIVEN_A_SECOND,
    FULL,
    LASTING,
    LASTING_S,
    LATE_S,
    LOAD_LOOK_S,
    PACED,
    RACE_MOVES,
    SLOWER_FOR_S,
    SLOWER_S,
    Overload,
)
from server.net.stream import HANDSHAKE_S
from tests.server.net.wire import House


def no_moves() -> tuple[int, float]:
    return 0, 0.0


def test_one_pause_is_no_overload_and_several_within_a_second_are() -> None:
    overload = Overload()
    overload.note((ENOUGH - 1) * LATE_S, 100)
    assert overload.retry_after_ms(100) == 0
    overload.note(2 * LATE_S, 100.2)
    assert overload.retry_after_ms(100.2) == CALM_S * 1000
    assert overload.retry_after_ms(100.2 + CALM_S) == 0


@given(st.lists(st.floats(0, LATE_S, exclude_max=True), max_size=100))
def test_whoever_keeps_up_is_never_busy(late: list[float]) -> None:
    overload = Overload()
    for number, late_s in enumerate(late):
        overload.note(late_s, number / 1000)
    assert overload.retry_after_ms(0) == 0


@given(st.lists(st.floats(0, 3600), max_size=30))
def test_however_late_it_was_the_server_is_open_again_in_half_a_second(late: list[float]) -> None:
    overload = Overload()
    for late_s in late:
        overload.note(late_s, 10)
    assert overload.retry_after_ms(10) <= CALM_S * 1000
    # And what was does not count for ever.
    later = 10 + 2 * ENOUGH / FORGIVEN_A_SECOND
    overload.note(LATE_S, later)
    assert overload.retry_after_ms(later) == 0


@pytest.mark.parametrize(
    ("share", "connections", "busy"), [(FULL + 0.01, FEW, True), (1.4, FEW, True), (FULL - 0.01, FEW, False), (1.0, FEW - 1, False)]
)
def test_a_core_that_is_nearly_used_up_makes_it_busy_before_anybody_is_late(share: float, connections: int, busy: bool) -> None:
    overload = Overload()

    def look(now: float, worked_s: float) -> bool:
        # The largest of several counts.
        overload.look(lambda: (0.0, worked_s, 5.0), no_moves, now, connections=connections)
        return overload.retry_after_ms(now) > 0

    # What it took to start counts for nothing.
    assert not look(50, 100)
    for number in range(1, 8):
        # Between two looks it is not looked.
        look(50 + (number - 0.5) * LOAD_LOOK_S, 1000)
        assert look(50 + number * LOAD_LOOK_S, 100 + share * number * LOAD_LOOK_S) is busy
        assert overload.load == pytest.approx(share if connections >= FEW else 0.0)
    worked_s, later = 100 + share * 7 * LOAD_LOOK_S, 50 + 7 * LOAD_LOOK_S + CALM_S
    assert not look(later, worked_s + (FULL - 0.1) * CALM_S)


@pytest.mark.parametrize(("share", "busy"), [(LASTING + 0.02, True), (LASTING - 0.02, False)])
def test_less_of_a_core_makes_it_busy_where_it_lasts(share: float, busy: bool) -> None:
    overload = Overload()
    found = []
    for number in range(40):
        overload.look(lambda worked_s=share * number * LOAD_LOOK_S: (worked_s,), no_moves, number * LOAD_LOOK_S, connections=FEW)  # type: ignore[misc]
        found.append(overload.retry_after_ms(number * LOAD_LOOK_S) > 0)
    assert not any(found[: round(LASTING_S / LOAD_LOOK_S)])
    assert found[-1] is busy


def asked_to_begin(overload: Overload, now: float) -> int:
    """What who asks is told; who may begin does."""
    wait_ms = overload.wait_to_begin_ms(now)
    if not wait_ms:
        overload.begun()
    return wait_ms


@pytest.mark.parametrize("share", [PACED - 0.02, PACED + 0.02, (PACED + LASTING) / 2, LASTING - 0.02])
def test_the_less_of_a_core_is_left_the_fewer_races_begin_in_a_second(share: float) -> None:
    overload, most, begun, waited_ms = Overload(spread=lambda: 0.0), 1000, 0, set[int]()
    for number in range(200):
        now = number * LOAD_LOOK_S
        overload.look(lambda worked_s=share * now: (worked_s,), no_moves, now, connections=FEW)  # type: ignore[misc]
        if number >= 100:
            answers = [asked_to_begin(overload, now + LOAD_LOOK_S / 2) for _ in range(most)]
            begun += answers.count(0)
            waited_ms |= {*answers} - {0}
    if share < PACED:
        assert begun == 100 * most
        assert not waited_ms
    else:
        assert begun == pytest.approx((LASTING - share) * BEGIN * 100 * LOAD_LOOK_S, rel=0.02)
        assert waited_ms == {LOAD_LOOK_S / 2 * 1000}


def paced(share: float = (PACED + LASTING) / 2, **options: Callable[[], float]) -> tuple[Overload, float]:
    """A server that has used this part of its core for long, and the moment of its last look."""
    overload, looks = Overload(**options), 100
    for number in range(looks):
        overload.look(lambda worked_s=share * number * LOAD_LOOK_S: (worked_s,), no_moves, number * LOAD_LOOK_S, connections=FEW)  # type: ignore[misc]
    return overload, (looks - 1) * LOAD_LOOK_S


def test_those_who_are_refused_together_are_told_times_that_are_spread_and_none_much_later_than_needed() -> None:
    overload, looked_at = paced(spread=random.Random(1).random)
    now, count = looked_at + LOAD_LOOK_S / 2, 1000

    def told() -> list[int]:
        return sorted(wait_ms for _ in range(count) if (wait_ms := asked_to_begin(overload, now)))

    early = told()
    overload.note(ENOUGH * LATE_S, now)
    for needed_s, waits_ms in ((LOAD_LOOK_S / 2, early), (CALM_S, told())):
        assert len(waits_ms) > 0.9 * count
        assert needed_s * 1000 <= waits_ms[0] <= waits_ms[-1] <= (needed_s + LOAD_LOOK_S) * 1000
        # Each tenth of the time has about a tenth of them.
        for tenth in range(10):
            begins_ms = (needed_s + LOAD_LOOK_S * tenth / 10) * 1000
            assert 60 < sum(begins_ms < wait_ms <= begins_ms + LOAD_LOOK_S * 100 for wait_ms in waits_ms) < 140


def test_what_begins_without_asking_is_made_up_for_within_a_second() -> None:
    overload, now = paced()
    for _ in range(10_000):
        overload.begun()
    refused_s = 0.0
    while overload.wait_to_begin_ms(now):
        now += LOAD_LOOK_S
        refused_s += LOAD_LOOK_S
        overload.look(lambda worked_s=now * (PACED + LASTING) / 2: (worked_s,), no_moves, now, connections=FEW)  # type: ignore[misc]
    assert BEGUN_S <= refused_s <= BEGUN_S + 2 * LOAD_LOOK_S


def test_races_begin_only_as_far_as_the_machine_can_serve_them_at_its_slowest_of_late() -> None:
    overload, now, worked_s, moves = Overload(spread=lambda: 0.0), 0.0, 0.0, 0

    def worked() -> tuple[float]:
        return (worked_s,)

    def answered() -> tuple[int, float]:
        return moves, 0.0

    def pass_time(seconds: float, moves_a_second: int, us_move: float) -> int:
        """How many races have begun in that time, of a thousand for each look. One costs as much as it should."""
        nonlocal now, worked_s, moves
        begun = 0
        for _ in range(round(seconds / LOAD_LOOK_S)):
            now += LOAD_LOOK_S
            moves += round(moves_a_second * LOAD_LOOK_S)
            worked_s += moves_a_second * LOAD_LOOK_S * us_move / 1e6
            overload.look(worked, answered, now, connections=FEW)
            here = [asked_to_begin(overload, now) for _ in range(1000)].count(0)
            worked_s += here * RACE_MOVES * us_move / 1e6
            begun += here
        return begun

    pass_time(10, 6000, 110)
    assert pass_time(10, 6000, 110) > 0
    # For some seconds it takes a quarter longer. Nobody begins for a while then.
    pass_time(4, 6000, 138)
    assert pass_time(DEAREST_S - 1, 6000, 110) == 0
    # Where there is less to do, there is room at once.
    assert pass_time(2 * LASTING_S, 4000, 110) > 0
    # And that it was slow is not held against it for ever.
    assert pass_time(2 * DEAREST_S, 6000, 110) > 0
    assert pass_time(10, 6000, 110) > 0


@pytest.mark.parametrize("best_s", [0.002, 0.05], ids=["a quick disk", "a slow disk"])
def test_moves_that_are_answered_much_later_than_at_the_best_make_it_busy_and_a_pause_does_not(best_s: float) -> None:
    overload, moves, waited_s, now = Overload(), 0, 0.0, 0.0

    def answered() -> tuple[int, float]:
        return moves, waited_s

    def pass_time(seconds: float, mean_s: float, connections: int = FEW) -> bool:
        nonlocal moves, waited_s, now
        for _ in range(round(seconds / LOAD_LOOK_S)):
            now += LOAD_LOOK_S
            moves += 2 * ENOUGH_MOVES
            waited_s += 2 * ENOUGH_MOVES * mean_s
            overload.look(lambda: (0.0,), answered, now, connections=connections)
        return overload.retry_after_ms(now) > 0

    assert not pass_time(5, best_s)
    assert not pass_time(LOAD_LOOK_S, best_s + 2 * SLOWER_S), "one look with a pause in it"
    assert not pass_time(5, best_s + 0.8 * SLOWER_S)
    assert pass_time(2, best_s + 2 * SLOWER_S)
    assert pass_time(60, best_s + 2 * SLOWER_S), "what lasts is not taken for the best that can be had"
    assert not pass_time(CALM_S + SLOWER_FOR_S, best_s)
    assert not pass_time(5, best_s + 2 * SLOWER_S, connections=FEW - 1)


@pytest.mark.parametrize("moves_a_second", [0, 8, 40, 200])
def test_it_is_open_again_some_seconds_after_moves_were_slow_however_few_are_made_then(moves_a_second: int) -> None:
    overload, moves, waited_s, now = Overload(), 0.0, 0.0, 0.0

    def answered() -> tuple[int, float]:
        return int(moves), waited_s

    def pass_time(seconds: float, moves_a_second: float, mean_s: float) -> float:
        """For how many seconds of it the server was busy."""
        nonlocal moves, waited_s, now
        busy = 0
        for _ in range(round(seconds / LOAD_LOOK_S)):
            now += LOAD_LOOK_S
            moves += moves_a_second * LOAD_LOOK_S
            waited_s += moves_a_second * LOAD_LOOK_S * mean_s
            overload.look(lambda: (0.0,), answered, now, connections=FEW)
            busy += overload.retry_after_ms(now) > 0
        return busy * LOAD_LOOK_S

    assert not pass_time(10, 400, 0.002)
    assert pass_time(3, 400, 0.06) > 1
    assert pass_time(600, moves_a_second, 0.002) <= 3
    # An outage of the store for ten seconds: whoever made a move then has waited for half of it.
    pass_time(10, 0, 0)
    pass_time(LOAD_LOOK_S, 800, 5)
    assert pass_time(600, moves_a_second, 0.002) <= 8


async def test_nothing_is_left_of_those_who_are_turned_away_not_even_for_the_collection_of_garbage(house: House) -> None:
    def left() -> int:
        return sum(isinstance(each, HubConnection) for each in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = left()
        for _ in range(20):
            house.overload.note(ENOUGH * LATE_S, trio.current_time())
            assert (await house.ask("/")).status == 503
        assert left() > before
        await trio.sleep(HANDSHAKE_S + 1)
        assert left() == before
    finally:
        gc.enable()


def test_who_asks_after_a_late_look_is_told_different_times_too() -> None:
    overload, now = paced(spread=random.Random(1).random)
    while not overload.wait_to_begin_ms(now):
        overload.begun()
    waits_ms = [overload.wait_to_begin_ms(now + 3 * LOAD_LOOK_S) for _ in range(1000)]
    assert 60 < sum(wait_ms <= LOAD_LOOK_S * 100 for wait_ms in waits_ms) < 140
    assert max(waits_ms) <= LOAD_LOOK_S * 1000


async def test_of_those_who_ask_for_runs_at_one_moment_no_more_begin_than_there_are_places(house: House) -> None:
    async with AsyncExitStack() as stack:
        guests = [await stack.enter_async_context(house.guest(f"Guest {number}")) for number in range(6)]
        house.overload._places = 2.0
        house.overload._looked_at = trio.current_time()
        for guest in guests:
            await guest.say(RunDaily())
        refused = 0
        for guest in guests:
            with trio.move_on_after(0.1):
                refused += (await guest.error()).code == ErrorCode.SERVER_BUSY
        assert refused == 4
        assert house.overload.coming == 0


async def test_whoever_begins_no_race_takes_no_place_from_those_who_do(house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, _), house.guest("Eve") as eve, house.guest("Zoe") as zoe:
        house.overload._places = 1.0
        house.overload._looked_at = trio.current_time()
        for _ in range(3):
            for request in (OpenRace(options=RaceOptions()), QuickMatch(), RunDaily()):
                assert (await ann.error_for(request)).code == ErrorCode.ALREADY_IN_ROOM
            assert (await zoe.error_for(OpenRace(options=RaceOptions(rules="chess")))).code == ErrorCode.UNKNOWN_RULES
            await zoe.ask(QuickMatch(), WaitingMatch)
            await zoe.ask(QuickMatch(cancel=True), WaitingOver)
        await eve.open()
        assert (await zoe.error_for(RunDaily())).code == ErrorCode.SERVER_BUSY


@pytest.mark.usefixtures("both_kinds")
async def test_a_busy_server_refuses_new_races_and_connections_and_goes_on_with_the_rest(house: House) -> None:
    async with house.guest("Eve") as eve, house.race("Ann", "Bob") as (ann, bob):
        house.overload.note(ENOUGH * LATE_S, trio.current_time())
        for request in (OpenRace(options=RaceOptions()), QuickMatch(), RunDaily()):
            error = await eve.error_for(request)
            assert error.code == ErrorCode.SERVER_BUSY
            assert 0.9 * CALM_S * 1000 < (error.retry_after_ms or 0) <= CALM_S * 1000
        await eve.ask(QuickMatch(cancel=True), WaitingOver)
        with pytest.raises(InvalidStatus) as refused:
            async with house.client():
                pass
        assert (refused.value.response.status_code, refused.value.response.headers["Retry-After"]) == (503, "1")
        assert (await house.ask("/healthz")).status == 200
        assert (await house.ask("/ladder.json")).status == 503
        await ann.play()
        await bob.hear_of(Progress)
        await trio.sleep(CALM_S)
        await eve.open()
        async with house.guest("Dan"):
            pass


@pytest.mark.usefixtures("both_kinds")
async def test_a_server_whose_core_is_used_up_takes_no_new_races_by_whatever_kind_of_connection(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.net.overload.FEW", 1)
    for module in ("hub", "listener"):
        monkeypatch.setattr(f"server.net.{module}.worked_s", lambda: (trio.current_time(),))
    async with house.guest("Eve") as eve:
        for _ in range(4):
            await trio.sleep(LOAD_LOOK_S)
            await eve.ask(WhoAmI(), YouAre)
        assert (await eve.error_for(OpenRace(options=RaceOptions()))).code == ErrorCode.SERVER_BUSY
