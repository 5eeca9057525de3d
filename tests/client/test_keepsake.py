"""The record that is kept of the last race."""

from __future__ import annotations

from pathlib import Path

import pytest

from client.keepsake import keep_record
from protocol.record import from_json, to_json
from tests.client.scenes import record


def test_what_is_kept_reads_as_the_record_it_was_and_the_next_one_takes_its_place(tmp_path: Path) -> None:
    first, second = record(), record()
    path = keep_record(tmp_path / "new", first)
    assert from_json(path.read_bytes()) == first
    assert keep_record(tmp_path / "new", second) == path
    assert path.read_text(encoding="utf-8") == to_json(second) + "\n"
    assert [file.name for file in path.parent.iterdir()] == ["last-race.json"]


def test_where_nothing_can_be_written_nothing_is_left_behind(tmp_path: Path) -> None:
    (tmp_path / "last-race.json").mkdir()
    with pytest.raises(OSError, match=r"last-race\.json"):
        keep_record(tmp_path, record())
    assert [file.name for file in tmp_path.iterdir()] == ["last-race.json"]
