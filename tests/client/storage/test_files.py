"""Atomic file writes: what is there after a write that failed half-way."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from client.storage.files import USUAL, make_file, replace_file


def listed(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_new_file_is_made_and_a_second_time_it_is_there_already(tmp_path: Path) -> None:
    make_file(tmp_path / "file", b"one")
    with pytest.raises(FileExistsError):
        make_file(tmp_path / "file", b"two")
    assert listed(tmp_path) == {"file": b"one"}


def test_a_new_file_that_the_disk_has_no_room_for_is_not_there_at_any_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def full(handle: int) -> None:
        seen.append((tmp_path / "file").exists())
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    for write in (make_file, replace_file):
        with pytest.raises(OSError, match="No space"):
            write(tmp_path / "file", b"one")
    assert seen == [False, False]
    assert listed(tmp_path) == {}


@pytest.mark.parametrize("there", [False, True])
def test_where_the_file_system_has_no_links_the_promise_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    def refuse(source: str, target: Path) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    if there:
        (tmp_path / "file").write_bytes(b"precious")
        with pytest.raises(FileExistsError):
            make_file(tmp_path / "file", b"one")
    else:
        make_file(tmp_path / "file", b"one")
    assert listed(tmp_path) == {"file": b"precious" if there else b"one"}


def test_modes_are_private_unless_said_and_those_of_the_file_that_is_written_over(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        make_file(tmp_path / "private", b"")
        make_file(tmp_path / "usual", b"", mode=USUAL)
        (tmp_path / "over").touch(0o604)
        (tmp_path / "over").chmod(0o604)
        replace_file(tmp_path / "over", b"", copy_mode=True)
    finally:
        os.umask(before)
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {"private": 0o600, "usual": 0o640, "over": 0o604}
