"""The time line of a race, asked of a process: with stand-ins that fail, lie or never end, and once with the real command."""

from __future__ import annotations

import sys

import pytest
import trio

from client.replay.frames import NoReplay, replay_race
from protocol.replay import to_json
from server.race.frames import frames
from tests.client import replays, scenes

pytestmark = pytest.mark.slow


def script(text: str) -> list[str]:
    return [sys.executable, "-c", text]


async def refused(command: list[str], limit_s: float = 30) -> str:
    with trio.fail_after(60), pytest.raises(NoReplay) as caught:
        await replay_race(scenes.record(), command=command, limit_s=limit_s)
    return str(caught.value)


async def test_the_real_command_replays_a_real_race_and_refuses_a_false_one() -> None:
    with trio.fail_after(60):
        assert await replay_race(replays.record("carpet", 2)) == replays.line("carpet", 2)
        with pytest.raises(NoReplay) as caught:
            await replay_race(scenes.record())
    assert str(caught.value).startswith("That record is not true: move 3 (b3), of seat 1: ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys; print('one\\ntwo.', file=sys.stderr); sys.exit(1)", "There is no replay of that race: two."),
        ("import sys; sys.stderr.write('\\x1b[2Jgone'); sys.exit(1)", "There is no replay of that race: gone."),
        ("import sys; sys.exit(3)", "There is no replay of that race: it said nothing."),
        ("print(7)", "There is no replay of that race: not a replay of a race: Expected `object`, got `int`."),
    ],
)
async def test_what_does_not_work_is_one_sentence(text: str, said: str) -> None:
    assert await refused(script(f"import sys; sys.stdin.read(); {text}")) == said


async def test_a_program_that_is_not_there_is_one_sentence() -> None:
    assert (await refused(["/no/such/program"])).startswith("The replay could not be started: ")


async def test_one_that_takes_too_long_is_given_up() -> None:
    said = await refused(script("import time; time.sleep(600)"), limit_s=1)
    assert said == "The replay took longer than 1 seconds to make and was given up."


async def test_frames_that_do_not_fit_together_are_refused() -> None:
    document = to_json(frames(replays.record("carpet", 2))).replace(b'"ply":2,', b'"ply":3,', 1)
    text = f"import sys; sys.stdin.read(); sys.stdout.buffer.write({document!r})"
    assert "is out of place" in await refused(script(text))
