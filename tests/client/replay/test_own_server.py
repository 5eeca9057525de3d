"""Asking the server program on this machine: stand-ins that answer, fail, lie or never end, and the real command once for each question."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
import trio
from msgspec.structs import replace as changed
from trio.testing import MockClock

from client.replay.own_server import GameReview, NoReplay, replay_race, review_game, verify_race
from protocol.record import Record, sealed, to_json
from protocol.replay import to_json as replay_to_json
from server.race.replay import frames
from tests.client import replays, scenes
from tests.client.local.test_server_process import fifo, jump_when_it_says_so
from tests.server.race.racing import STALLING, greedy_line, options, started

pytestmark = pytest.mark.slow

RECORD = scenes.record()
"""Its moves are made up: no true record."""


def script(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def reading(text: str) -> list[str]:
    """One that hears the record out first."""
    return script(f"import json, sys; record = sys.stdin.read(); {text}")


def true_record() -> Record:
    driven = started(options(deal=STALLING))
    driven.play(0, greedy_line(STALLING), 3000)
    return driven.finish()


Asked: TypeAlias = Callable[[list[str]], None]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Has a command asked in place of the server's."""
    return lambda command: monkeypatch.setattr("client.replay.own_server.server_command", lambda _: command)


async def not_replayed() -> str:
    with trio.fail_after(60), pytest.raises(NoReplay) as caught:
        await replay_race(RECORD)
    return str(caught.value)


async def test_the_record_goes_in_and_the_answer_comes_out(asked: Asked, tmp_path: Path) -> None:
    kept = tmp_path / "record.json"
    review = {"seats": [{"sentences": ["One.", "Two."], "move": 3, "instead": "b3", "exact": False}]}
    answers = f"open({str(kept)!r}, 'w').write(record); print(json.dumps({review}))"
    asked(reading(answers))
    with trio.fail_after(30):
        assert await review_game(RECORD, 0) == GameReview(("One.", "Two."), 3, "b3", exact=False)
    assert kept.read_text(encoding="utf-8") == to_json(RECORD)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("print('one\\ntwo.', file=sys.stderr); sys.exit(1)", "There is no replay of that race: two."),
        ("sys.stderr.write('\\x1b[2Jgone'); sys.exit(1)", "There is no replay of that race: gone."),
        ("sys.exit(3)", "There is no replay of that race: it said nothing."),
        ("print(7)", "There is no replay of that race: not a replay of a race: Expected `object`, got `int`."),
    ],
)
async def test_a_replay_that_cannot_be_had_is_one_sentence(asked: Asked, text: str, said: str) -> None:
    asked(reading(text))
    assert await not_replayed() == said


async def test_frames_that_do_not_fit_together_are_refused(asked: Asked) -> None:
    document = replay_to_json(frames(replays.record("carpet", 2))).replace(b'"ply":2,', b'"ply":3,', 1)
    asked(reading(f"sys.stdout.buffer.write({document!r})"))
    assert "is out of place" in await not_replayed()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("print('not a true record.', file=sys.stderr); sys.exit(1)", "There is no review: not a true record."),
        ("print('[]')", "There is no review: it said nothing."),
        ("print('{\"seats\": 7}')", "There is no review: it said nothing."),
        ('print(\'{"seats": [{"sentences": []}]}\')', "There is no review: it said nothing."),
    ],
)
async def test_a_review_that_cannot_be_had_is_one_sentence(asked: Asked, text: str, said: str) -> None:
    asked(reading(text))
    with trio.fail_after(30):
        assert await review_game(RECORD, 0) == GameReview((said,), failed=True)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("print('verified: all of it')", (True, "")),
        ("sys.exit('carpet-server: not a true record: deal 3 can be won too')", (False, "deal 3 can be won too")),
        ("sys.exit('MemoryError')", (None, "MemoryError")),
    ],
)
async def test_what_is_false_is_told_from_what_could_not_be_checked(asked: Asked, text: str, found: tuple[bool | None, str]) -> None:
    asked(reading(text))
    with trio.fail_after(60):
        assert await verify_race(RECORD) == found


async def test_a_program_that_is_not_there_is_one_sentence(asked: Asked) -> None:
    asked(["/no/such/program"])
    assert (await not_replayed()).startswith("The replay could not be started: ")
    assert (await review_game(RECORD, 0)).sentences[0].startswith("The review could not be started: ")
    sound, why = await verify_race(RECORD)
    assert (sound, "No such file" in why) == (None, True)


async def test_one_that_takes_too_long_is_ended(asked: Asked, mock_clock: MockClock, nursery: trio.Nursery, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    started_up = f"open({str(pid)!r}, 'w').write(str(os.getpid())); open({str(fifo(tmp_path))!r}, 'w')"
    asked(script(f"import os, time; {started_up}; time.sleep(600)"))
    nursery.start_soon(jump_when_it_says_so, mock_clock, tmp_path, 2.1)
    with trio.fail_after(30):
        given_up = await review_game(RECORD, 0, limit_s=2)
    assert "took longer than 2 seconds" in given_up.sentences[0]
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


async def test_one_that_takes_too_long_is_told_by_what_was_asked_of_it(asked: Asked) -> None:
    asked(script("import time; time.sleep(600)"))
    with pytest.raises(NoReplay, match="The replay took longer than 0 seconds to make and was given up"):
        await replay_race(RECORD, limit_s=0.2)
    assert await verify_race(RECORD, limit_s=0.2) == (None, "it took longer than 0.2 seconds")


async def test_the_real_commands_replay_review_and_verify() -> None:
    record = true_record()
    with trio.fail_after(60):
        assert await replay_race(replays.record("carpet", 2)) == replays.line("carpet", 2)
        found = await review_game(record, 0)
        assert found.sentences[0] == "This deal can be won: all 52 cards could be brought home."
        assert any(sentence.startswith(f"Instead, {found.instead} (") for sentence in found.sentences)
        assert any(f" move {found.slip}, " in sentence for sentence in found.sentences)
        assert found.exact
        assert await verify_race(record) == (True, "")


async def test_the_real_commands_refuse_a_false_record() -> None:
    with trio.fail_after(60):
        assert (await not_replayed()).startswith("That record is not true: move 3 (b3), of seat 1: ")
        (refused,) = (await review_game(RECORD, 0)).sentences
        assert refused.startswith("There is no review: not a true record: ")
        record = true_record()
        sound, why = await verify_race(sealed(changed(record, moves=record.moves[1:])))
    assert sound is False
    assert not why.startswith("not a true record")
