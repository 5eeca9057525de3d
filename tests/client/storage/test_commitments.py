"""A revealed secret is checked against the commitment that was shown first."""

from __future__ import annotations

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace

from client.storage import files
from client.storage.commitments import KEPT, CommitmentStore, check_day, check_days
from protocol.run_messages import DailyDeal

URL, OTHER = "ws://one.example:7777", "ws://two.example:7777"
SECRET = "5e" * 32


def day(date: str = "2026-11-21", secret: str | None = None, commitment: str | None = None) -> DailyDeal:
    promised = commitment or sha256(bytes.fromhex(SECRET)).hexdigest()
    return DailyDeal(date=date, commitment=promised, made_at_ms=1, reveals_at_ms=2, secret=secret)


def test_what_was_shown_first_stays_and_servers_are_kept_apart(tmp_path: Path) -> None:
    store = CommitmentStore(tmp_path)
    store.keep(URL, [day()], 100)
    store.keep(URL, [day(commitment="00" * 32), day("2026-11-22")], 200)
    store.keep(OTHER, [day(commitment="11" * 32)], 300)
    assert [(date, seen.commitment, seen.seen_at_ms) for date, seen in store.seen(URL).items()] == [
        ("2026-11-21", day().commitment, 100),
        ("2026-11-22", day().commitment, 200),
    ]
    assert store.seen(OTHER)["2026-11-21"].commitment == "11" * 32


def test_of_two_addresses_of_one_server_what_was_shown_first_counts(tmp_path: Path) -> None:
    store = CommitmentStore(tmp_path)
    store.copy(URL, OTHER)
    assert not store.path.exists()
    store.keep(URL, [day(), day("2026-11-22", commitment="22" * 32)], 100)
    store.keep(OTHER, [day(commitment="11" * 32)], 200)
    store.keep(OTHER, [day("2026-11-22"), day("2026-11-23")], 50)
    store.copy(URL, OTHER)
    assert [(date, seen.commitment, seen.seen_at_ms) for date, seen in store.seen(OTHER).items()] == [
        ("2026-11-21", day().commitment, 100),
        ("2026-11-22", day().commitment, 50),
        ("2026-11-23", day().commitment, 50),
    ]
    assert store.seen(URL).keys() == {"2026-11-21", "2026-11-22"}


def test_of_many_commands_at_once_no_commitment_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # However long the disk of this machine takes for one of them: who gives up in the end is no matter of this.
    monkeypatch.setattr(files, "LOCK_PATIENCE_S", math.inf)
    start = threading.Barrier(8)

    def keep(number: int) -> None:
        start.wait()
        for turn in range(3):
            CommitmentStore(tmp_path).keep(f"ws://{number}.example:7777", [day(f"2026-11-2{turn}")], 100)

    with ThreadPoolExecutor(8) as commands:
        list(commands.map(keep, range(8)))
    assert [len(CommitmentStore(tmp_path).seen(f"ws://{number}.example:7777")) for number in range(8)] == [3] * 8


def test_what_is_revealed_already_is_no_promise(tmp_path: Path) -> None:
    store = CommitmentStore(tmp_path)
    store.keep(URL, [day(secret=SECRET)], 100)
    assert store.seen(URL) == {}
    assert not store.path.exists()


def test_the_file_does_not_grow_for_ever(tmp_path: Path) -> None:
    store = CommitmentStore(tmp_path)
    store.keep(URL, [day(f"{2000 + number:04}-01-01") for number in range(KEPT + 5)], 1)
    assert len(store.seen(URL)) == KEPT
    assert min(store.seen(URL)) == "2005-01-01"


def test_each_way_in_which_a_day_can_stand(tmp_path: Path) -> None:
    store = CommitmentStore(tmp_path)
    store.keep(URL, [day()], 100)
    seen = store.seen(URL)["2026-11-21"]
    assert check_day(day(), seen).outcome == "sealed"
    assert check_day(day(secret=SECRET), seen).outcome == "true"
    assert check_day(day(secret=SECRET), None).outcome == "unseen"
    assert check_day(day(secret="00" * 32), seen).outcome == "false"
    other = sha256(bytes(32)).hexdigest()
    # A server that would show another secret has to show another commitment too: that one was not promised.
    assert check_day(replace(day(secret="00" * 32), commitment=other), seen).outcome == "changed"
    assert check_day(day(secret="00" * 32), None).outcome == "false"


def test_a_day_that_a_server_tells_no_more_is_missing_but_not_one_before_all_that_it_tells(tmp_path: Path) -> None:
    store = CommitmentStore(tmp_path)
    store.keep(URL, [day(f"2026-11-{number}") for number in (19, 20, 21, 22)], 100)
    checked = check_days([day("2026-11-22"), day("2026-11-20")], store.seen(URL))
    assert [(each.date, each.outcome) for each in checked] == [
        ("2026-11-22", "sealed"),
        ("2026-11-21", "missing"),
        ("2026-11-20", "sealed"),
    ]
    assert check_days([], store.seen(URL)) == []
