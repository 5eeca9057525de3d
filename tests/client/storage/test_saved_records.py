"""The records kept of races that were seen to their end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from client.storage import saved_records as saved_records
from client.storage.saved_records import SavedRecords, keep_record, kept_records
from protocol.record import Record, from_json, sealed, to_json
from tests.client.scenes import record


def numbered(number: int) -> Record:
    return sealed(replace(record(), id=f"HKTRWM-{number}-0a1b2c3d4e5f", race=number))


def keep(folder: Path, number: int) -> Path:
    """Each a second younger than the one before, on the disk too."""
    path = keep_record(folder, numbered(number))
    os.utime(path, (1_700_000_000 + number,) * 2)
    return path


def test_what_is_kept_reads_as_the_record_it_was_and_each_race_has_its_own_file(tmp_path: Path) -> None:
    first, second = numbered(1), numbered(2)
    folder = tmp_path / "new"
    path = keep_record(folder, first)
    assert path == folder / "races" / "HKTRWM-1-0a1b2c3d4e5f.json"
    assert from_json(path.read_bytes()) == first
    assert keep_record(folder, second).read_text(encoding="utf-8") == to_json(second) + "\n"
    assert from_json(path.read_bytes()) == first
    assert (folder / "last-race.json").read_text(encoding="utf-8") == to_json(second) + "\n"
    assert sorted(file.name for file in folder.iterdir()) == ["last-race.json", "races"]
    assert len(list((folder / "races").iterdir())) == 2


def test_a_race_that_is_kept_twice_is_there_once(tmp_path: Path) -> None:
    assert keep(tmp_path, 1) == keep(tmp_path, 1)
    assert [kept.id for kept in kept_records(tmp_path)] == [numbered(1).id]


@pytest.mark.parametrize("name", ["", "../../.bashrc", "/etc/passwd", "HKTRWM-1-0a\n", "x" * 5000, "\x1b[31m"])
def test_an_id_that_is_none_names_no_file(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "home"
    kept = sealed(replace(record(), id=name))
    path = keep_record(folder, kept)
    assert path == folder / "races" / f"{kept.digest}.json"
    assert sorted(file.name for file in tmp_path.rglob("*")) == sorted(["home", "races", "last-race.json", path.name])


def test_the_oldest_goes_for_a_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_records, "KEPT", 3)
    for number in range(1, 6):
        keep(tmp_path, number)
    assert [kept.race for kept in kept_records(tmp_path)] == [5, 4, 3]


def test_a_record_that_comes_late_stands_where_its_race_does_and_is_the_last_one_only_if_none_is_later(tmp_path: Path) -> None:
    first, late, future = (replace(numbered(number), started_at_ms=1_700_000_000_000 + ms) for number, ms in ((1, 0), (2, 1), (3, 10**14)))
    keep_record(tmp_path, sealed(late), late=True)
    assert from_json((tmp_path / "last-race.json").read_bytes()).race == 2
    keep_record(tmp_path, sealed(first), late=True)
    assert from_json((tmp_path / "last-race.json").read_bytes()).race == 2
    keep_record(tmp_path, sealed(future), late=True)
    keep_record(tmp_path, numbered(4))
    assert [kept.race for kept in kept_records(tmp_path)] == [4, 3, 2, 1]


def test_what_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    paths = [keep(tmp_path, number) for number in (1, 2, 3)]
    paths[-1].write_text("{")
    (tmp_path / "races" / "folder.json").mkdir()
    (tmp_path / "races" / "nowhere.json").symlink_to("missing")
    assert [kept.race for kept in kept_records(tmp_path)] == [2, 1]


def test_where_nothing_was_kept_there_is_nothing(tmp_path: Path) -> None:
    assert list(kept_records(tmp_path / "nowhere")) == []


def test_where_nothing_can_be_written_nothing_is_left_behind(tmp_path: Path) -> None:
    (tmp_path / "last-race.json").mkdir()
    with pytest.raises(OSError, match=r"last-race\.json"):
        keep_record(tmp_path, record())
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["last-race.json", "races"]


def test_a_sitting_keeps_each_record_at_once_and_remembers_what_could_not_be(tmp_path: Path) -> None:
    records = SavedRecords(tmp_path / "home")
    assert (records.last, records.error) == (None, None)
    records.keep(numbered(1))
    records.keep(numbered(2))
    assert [record.race for record in kept_records(tmp_path / "home")] == [2, 1]
    assert records.last == tmp_path / "home" / "races" / f"{numbered(2).id}.json"
    assert records.error is None
    (tmp_path / "file").write_text("")
    nowhere = SavedRecords(tmp_path / "file")
    nowhere.keep(numbered(1))
    assert nowhere.last is None
    assert isinstance(nowhere.error, OSError)
