"""The server is killed during races: nothing that was told is lost, and everybody hears the result. For more: `tests/bench/campaign.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.crash import CRASH_LOOP, kill_and_count


@pytest.mark.slow
async def test_a_server_that_is_killed_again_and_again_loses_no_move_that_was_acknowledged(tmp_path: Path) -> None:
    count = await kill_and_count(str(tmp_path / "races.sqlite3"), kills=4, races_at_once=3, seed=4)
    assert count.lost == []
    assert count.blamed == []
    assert count.untold == 0
    assert count.kills == 4
    assert count.races >= 3
    assert count.acknowledged > 100


@pytest.mark.slow
async def test_servers_that_die_as_soon_as_they_listen_with_clocks_that_jump_ahead_forfeit_nobody(tmp_path: Path) -> None:
    """All the servers together listen for less than the grace; by the wall clock, every limit of the race has long passed."""
    count = await kill_and_count(str(tmp_path / "races.sqlite3"), kills=4, races_at_once=2, seed=4, course=CRASH_LOOP)
    assert (count.lost, count.blamed, count.untold, count.kills) == ([], [], 0, 4)
