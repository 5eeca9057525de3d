"""The counter itself: how much it looks up at once, whoever asks."""

from __future__ import annotations

import trio
from trio.testing import MockClock

from protocol.client_messages import ListDailies
from protocol.errors import ErrorCode, Refusal
from protocol.server_messages import Dailies
from server.runs.service import ASKED_AT_ONCE, ASKED_WAITING
from tests.server.net.wire import House


async def test_few_questions_are_looked_up_at_once_and_of_those_that_wait_no_more_than_some(
    autojump_clock: MockClock, house: House
) -> None:
    gate = trio.Event()
    looking, most = 0, 0
    told = house.counter._dailies.told

    async def slow(*, ref: int) -> Dailies:
        nonlocal looking, most
        looking += 1
        most = max(most, looking)
        await gate.wait()
        answer = await told(ref=ref)
        looking -= 1
        return answer

    house.counter._dailies.told = slow  # type: ignore[method-assign]
    answered: list[int] = []
    refused: list[ErrorCode] = []

    async def ask(ref: int) -> None:
        try:
            answer = await house.counter.answer("", ListDailies(ref=ref))
        except Refusal as refusal:
            refused.append(refusal.code)
        else:
            assert isinstance(answer, Dailies)
            answered.append(answer.ref)

    async with trio.open_nursery() as nursery:
        for ref in range(ASKED_AT_ONCE + ASKED_WAITING + 3):
            nursery.start_soon(ask, ref)
        await trio.testing.wait_all_tasks_blocked()
        assert refused == [ErrorCode.SERVER_BUSY] * 3
        gate.set()
    assert (most, len(answered)) == (ASKED_AT_ONCE, ASKED_AT_ONCE + ASKED_WAITING)
