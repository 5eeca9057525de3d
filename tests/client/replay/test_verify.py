"""The check of a record as a process of its own: with stand-ins that find, refuse or fail, and once with the real command."""

from __future__ import annotations

import sys

import pytest
import trio
from msgspec.structs import replace as changed

from client.replay.verify import verify_race
from protocol.record import sealed
from tests.client import scenes
from tests.server.race.racing import STALLING, greedy_line, options, started

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("import sys; sys.stdin.read(); print('verified: all of it')", (True, "")),
        ("import sys; sys.exit('carpet-server: not a true record: deal 3 can be won too')", (False, "deal 3 can be won too")),
        ("import sys; sys.exit('MemoryError')", (None, "MemoryError")),
    ],
)
async def test_what_the_command_says_is_told_apart(program: str, found: tuple[bool | None, str]) -> None:
    with trio.fail_after(60):
        assert await verify_race(scenes.record(), command=[sys.executable, "-c", program]) == found


async def test_what_cannot_be_checked_is_not_called_false() -> None:
    sound, why = await verify_race(scenes.record(), command=["/no/such/program"])
    assert (sound, "No such file" in why) == (None, True)
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    assert await verify_race(scenes.record(), command=sleeper, limit_s=0.2) == (None, "it took longer than 0.2 seconds")


async def test_the_real_command_knows_a_true_record_from_a_false_one() -> None:
    driven = started(options(deal=STALLING))
    driven.play(0, greedy_line(STALLING), 3000)
    record = driven.finish()
    with trio.fail_after(60):
        assert await verify_race(record) == (True, "")
        sound, why = await verify_race(sealed(changed(record, moves=record.moves[1:])))
    assert sound is False
    assert not why.startswith("not a true record")
