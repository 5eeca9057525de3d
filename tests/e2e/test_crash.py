"""The server is killed in the middle of races: nothing that was told is lost, and all hear the result. Hundreds: `tests/bench/kills.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.crash import kill_and_count


@pytest.mark.slow
async def test_a_server_that_is_killed_again_and_again_loses_no_move_that_was_acknowledged(tmp_path: Path) -> None:
    count = await kill_and_count(tmp_path, kills=4, races_at_once=3, seed=4)
    assert count.lost == []
    assert count.untold == 0
    assert count.kills == 4
    assert count.races >= 3
    assert count.acknowledged > 100
