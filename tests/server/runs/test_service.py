"""Questions about runs: how much is looked up at once, no matter who asks, and how often."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio

from protocol.client_messages import Stop
from protocol.errors import ErrorCode, Refusal
from protocol.room_events import Ended
from protocol.run_messages import Challenge, Challenges, Dailies, ListChallenges, ListDailies, ListRuns, OpenChallenge, RunQuestion, Runs
from server.runs.service import ASKED_AT_ONCE, ASKED_WAITING
from tests.server.net.wire import House
from tests.server.runs.running import begin, enter


async def test_few_questions_are_looked_up_at_once_and_of_those_that_wait_no_more_than_some(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = trio.Event()
    looking, most = 0, 0
    told = house.runs._dailies.told

    async def slow(*, ref: int) -> Dailies:
        nonlocal looking, most
        looking += 1
        most = max(most, looking)
        await gate.wait()
        answer = await told(ref=ref)
        looking -= 1
        return answer

    monkeypatch.setattr(house.runs._dailies, "told", slow)
    answered: list[int] = []
    refused: list[ErrorCode] = []

    async def ask(ref: int) -> None:
        try:
            answer = await house.runs.answer("", ListDailies(ref=ref))
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


async def test_whoever_asks_a_hundred_questions_at_once_from_one_place_does_not_keep_another_place_waiting(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, begun = trio.Event(), list[str]()

    async def slow(*_: object, place: str, **__: object) -> object:
        begun.append(place)
        await gate.wait()
        raise Refusal(ErrorCode.NO_SUCH_DEAL)

    monkeypatch.setattr(house.runs._challenges, "open", slow)

    async def ask(place: str) -> None:
        with pytest.raises(Refusal, match="no such deal"):
            await house.runs.answer("anna", OpenChallenge(nonce="ab" * 16), place=place)

    async with trio.open_nursery() as nursery:
        for place in ["192.0.2.1"] * 100 + ["192.0.2.2"]:
            nursery.start_soon(ask, place)
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(begun) == ["192.0.2.1", "192.0.2.2"]
        gate.set()
    assert begun.count("192.0.2.1") == 100


async def test_a_list_or_a_board_is_read_once_a_second_however_many_ask_and_anew_when_something_was_opened(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []
    ask = house.journal.ask

    async def counted(call: Callable[..., object], *arguments: object) -> object:
        reads.append(getattr(call, "__name__", "?"))
        return await ask(call, *arguments)

    async with house.guest("Anna") as anna:
        await anna.ask(OpenChallenge(nonce="ab" * 16), Challenge)
        monkeypatch.setattr(house.journal, "ask", counted)
        for question in (ListDailies(), ListChallenges(), ListRuns(kind="daily")):
            first = await house.runs.answer("", question)
            assert reads
            reads.clear()
            for _ in range(50):
                assert await house.runs.answer("", question) == first
            assert reads == []
        await anna.ask(OpenChallenge(nonce="cd" * 16), Challenge)
        listed = await house.runs.answer("", ListChallenges())
        assert isinstance(listed, Challenges)
        assert len(listed.challenges) == 2
        reads.clear()
        await trio.sleep(1.1)
        await house.runs.answer("", ListChallenges())
        assert reads


async def test_what_was_read_before_the_clock_was_set_back_is_read_again(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: set[str] = set()
    ask = house.journal.ask

    async def counted(call: Callable[..., object], *arguments: object) -> object:
        reads.add(getattr(getattr(call, "func", call), "__name__", "?"))
        return await ask(call, *arguments)

    async with house.guest("Anna") as anna:
        await anna.ask(OpenChallenge(nonce="ab" * 16), Challenge)
        questions: tuple[RunQuestion, ...] = ListDailies(), ListChallenges(), ListRuns(kind="daily")
        for question in questions:
            await house.runs.answer("", question)
        assert house.clock._wall_offset is not None
        house.clock._wall_offset -= 3600
        monkeypatch.setattr(house.journal, "ask", counted)
        for question, wanted in zip(questions, ({"_newest"}, {"_newest", "_counts"}, {"runs"}), strict=True):
            await house.runs.answer("", question)
            assert wanted <= reads
            reads.clear()


async def test_a_board_that_was_read_as_a_run_ended_is_read_again(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    has_read, gate = trio.Event(), trio.Event()
    ask = house.journal.ask

    async def slow(call: Callable[..., object], *arguments: object) -> object:
        answer = await ask(call, *arguments)
        has_read.set()
        await gate.wait()
        return answer

    async with house.guest("Anna") as anna, trio.open_nursery() as nursery:
        await enter(anna)
        await begin(anna)
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(house.journal, "ask", slow)
            nursery.start_soon(house.runs.answer, "", ListRuns(kind="daily"))
            await has_read.wait()
        await anna.ask(Stop(race=1, seat=0), Ended)
        gate.set()
        await trio.testing.wait_all_tasks_blocked()
        board = await house.runs.answer("", ListRuns(kind="daily"))
        assert isinstance(board, Runs)
        assert board.runs == 1
