"""The review as a process of its own: with stand-ins that answer, fail, say nonsense or never end, and once with the real command."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from client.replay.review import review_game
from protocol.record import to_json
from tests.client import scenes
from tests.client.local.test_server_process import fifo, jump_when_it_says_so
from tests.server.race.racing import STALLING, greedy_line, options, started

pytestmark = pytest.mark.slow

RECORD = scenes.record()


def script(text: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(text)]


async def test_the_record_goes_in_and_the_sentences_come_out(tmp_path: Path) -> None:
    kept = tmp_path / "record.json"
    answers = f"""
        import json, sys
        open({str(kept)!r}, "w", encoding="utf-8").write(sys.stdin.buffer.read().decode())
        print(json.dumps({{"seats": [{{"sentences": ["One.", "Two."]}}]}}))
    """
    with trio.fail_after(30):
        assert await review_game(RECORD, 0, command=script(answers)) == ("One.", "Two.")
    assert kept.read_text(encoding="utf-8") == to_json(RECORD)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys; print('not a true record.', file=sys.stderr); sys.exit(1)", "There is no review: not a true record."),
        ("import sys; sys.stdin.read(); print('[]')", "There is no review: it said nothing."),
        ("print('{\"seats\": 7}')", "There is no review: it said nothing."),
    ],
)
async def test_what_does_not_work_is_one_sentence(text: str, said: str) -> None:
    with trio.fail_after(30):
        assert await review_game(RECORD, 0, command=script(text)) == (said,)


async def test_a_program_that_is_not_there_is_one_sentence() -> None:
    (said,) = await review_game(RECORD, 0, command=["/no/such/program"])
    assert said.startswith("The review could not be started: ")


async def test_one_that_takes_too_long_is_ended(mock_clock: MockClock, nursery: trio.Nursery, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    endless = f"""
        import os, sys, time
        open({str(pid)!r}, "w").write(str(os.getpid()))
        open({str(fifo(tmp_path))!r}, "w")
        time.sleep(600)
    """
    nursery.start_soon(jump_when_it_says_so, mock_clock, tmp_path, 2.1)
    with trio.fail_after(30):
        (said,) = await review_game(RECORD, 0, command=script(endless), limit_s=2)
    assert "took longer than 2 seconds" in said
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


async def test_the_real_command_reviews_a_real_race() -> None:
    driven = started(options(deal=STALLING))
    driven.play(0, greedy_line(STALLING), 3000)
    record = driven.finish()
    with trio.fail_after(60):
        sentences = await review_game(record, 0)
        assert sentences[0] == "This deal can be won: all 52 cards could be brought home."
        assert any("would have kept it" in sentence for sentence in sentences)
        # Its moves are made up: no true record.
        (refused,) = await review_game(RECORD, 0)
    assert refused.startswith("There is no review: not a true record: ")
