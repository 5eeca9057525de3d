"""What was seen of races is kept from one process to the next."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from client.storage.evidence import KEPT, KEPT_ENTRIES, Entry, EvidenceStore, SeenRace
from tests.client import scenes

SEEN = SeenRace(url="ws://here", code="ABCDEF", race=1, commitment="c" * 64, nonce="n" * 32)


def test_the_last_race_at_a_server_is_known_to_the_next_process(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path / "home")
    assert store.last("ws://here") is None
    store.keep(SEEN)
    store.keep(replace(SEEN, url="ws://there"))
    seen = replace(SEEN, first_view=scenes.first_view())
    store.keep(seen)
    assert EvidenceStore(tmp_path / "home").last("ws://here") == seen
    assert (tmp_path / "home" / "evidence.json").stat().st_mode & 0o077 == 0


def test_only_the_last_races_are_kept(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path)
    for race in range(1, 3 * KEPT):
        store.keep(replace(SEEN, race=race))
    assert (tmp_path / "evidence.json").read_bytes().count(b"ABCDEF") == KEPT
    assert store.last("ws://here") == replace(SEEN, race=3 * KEPT - 1)


def test_another_terminal_that_writes_meanwhile_loses_nothing_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, other = EvidenceStore(tmp_path), EvidenceStore(tmp_path)
    elsewhere = replace(SEEN, url="ws://there")
    read, writer = slow.read, threading.Thread(target=other.keep, args=(elsewhere,))

    def read_slowly() -> list[SeenRace]:
        found = read()
        writer.start()
        # Without a lock the other one would be done at once.
        writer.join(0.1)
        return found

    monkeypatch.setattr(slow, "read", read_slowly)
    slow.keep(SEEN)
    writer.join()
    assert read() == [SEEN, elsewhere]


def test_a_damaged_file_and_a_folder_that_cannot_be_written_keep_nobody_from_racing(tmp_path: Path) -> None:
    (tmp_path / "evidence.json").write_bytes(b"\xff[{")
    store = EvidenceStore(tmp_path)
    assert store.last("ws://here") is None
    store.keep(SEEN)
    assert store.last("ws://here") == SEEN
    (tmp_path / "file").write_text("")
    EvidenceStore(tmp_path / "file").keep(SEEN)


def test_the_last_check_ins_are_kept_beside_the_races(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path / "home")
    assert store.entries() == []
    entries = [Entry(id=f"T{number}", commitment="c" * 64, nonce="n" * 32) for number in range(KEPT_ENTRIES + 1)]
    store.keep(SEEN)
    for entry in entries:
        store.keep_entry(entry)
    assert EvidenceStore(tmp_path / "home").entries() == entries[1:]
    assert (tmp_path / "home" / "entries.json").stat().st_mode & 0o077 == 0
    assert store.last("ws://here") == SEEN
