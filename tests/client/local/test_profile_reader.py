"""What a server says of the player, and for how long it is waited for.

Days in a row at the deals of the day, asked by the token: today's board, and if the player is not on it, that of the day before.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import trio
from msgspec import structs
from trio.testing import MockClock

from client.connection.address import parse_address
from client.connection.events import Identity
from client.local import profile_reader
from client.local.profile_reader import ProfileReader, daily_streaks
from client.storage.identity import IdentityStore
from client.text.profile import Streak
from protocol.errors import ErrorCode
from protocol.run_messages import ListRuns, Runs
from protocol.server_messages import Error
from tests.client import runs, scenes
from tests.client.fake_server import FakeServer

URL = "ws://carpet.example:7777"
ANNA = Identity("Anna", "secret", "p1")


@pytest.mark.parametrize("silent", ["fetch_history", "fetch_ladder"])
async def test_a_server_that_keeps_silent_is_waited_for_only_for_a_few_seconds(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, silent: str
) -> None:
    monkeypatch.setenv("CARPET_HOME", str(tmp_path))
    IdentityStore(tmp_path).keep(URL, ANNA)
    never = getattr(profile_reader, silent)

    async def run(fetch: partial[object], **_how: object) -> object:
        if fetch.func is never:
            await trio.sleep_forever()
        return ()

    monkeypatch.setattr(trio.to_thread, "run_sync", run)
    began = trio.current_time()
    known = await ProfileReader(parse_address(URL)).read()
    assert trio.current_time() - began <= 5
    assert known.lacks == "The server at carpet.example:7777 has not answered yet; try again later."


async def streaks(rules: tuple[str, ...], *answers: Runs | Error) -> tuple[tuple[Streak, ...], list[ListRuns]]:
    """What these answers come to, and what was asked."""
    asked: list[ListRuns] = []
    async with FakeServer.running() as server, trio.open_nursery() as nursery:

        async def serve() -> None:
            line = await server.line()
            for answer in answers:
                question = await line.heard()
                assert isinstance(question, ListRuns)
                asked.append(structs.replace(question, ref=0))
                await line.say(structs.replace(answer, ref=question.ref))

        nursery.start_soon(serve)
        told = await daily_streaks(URL, ANNA, rules, dial=server.dial)
    return told, asked


def asks(rules: str, day: str | None = None) -> ListRuns:
    return ListRuns(kind="daily", id=day, rules=rules, token="secret")


RAN = runs.board()
NOT_RUN = runs.board(own=None, shown=False, rows=())


async def test_whoever_has_run_todays_deal_has_it_among_their_days(autojump_clock: MockClock) -> None:
    assert await streaks(("carpet",), RAN) == ((Streak("carpet", 10, with_today=True),), [asks("carpet")])


async def test_until_todays_is_run_the_days_up_to_yesterday_stand(autojump_clock: MockClock) -> None:
    told, asked = await streaks(("carpet",), NOT_RUN, RAN)
    assert told == (Streak("carpet", 10, with_today=False),)
    assert asked == [asks("carpet"), asks("carpet", "2026-11-20")]


async def test_whatever_day_a_server_says_it_is_nothing_breaks(autojump_clock: MockClock) -> None:
    for day in ("0001-01-01", "today", ""):
        assert await streaks(("carpet",), structs.replace(NOT_RUN, id=day)) == ((), [asks("carpet")])


async def test_a_day_without_a_run_ends_the_row_and_what_is_refused_begins_none(autojump_clock: MockClock) -> None:
    refused = scenes.refusal(ErrorCode.UNKNOWN_RULES)
    told, asked = await streaks(("carpet", "mine", "twenty"), NOT_RUN, NOT_RUN, refused, RAN)
    assert told == (Streak("twenty", 10, with_today=True),)
    assert len(asked) == 4
