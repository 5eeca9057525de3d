"""The player's own bests: which races count, what is better, what is said about it, and the file."""

from __future__ import annotations

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec import json, structs

from client.storage import files
from client.storage.bests import Best, BestChange, Bests, BestsError, BestsStore, after_race, counts
from client.storage.saved_records import KEPT
from client.text.runs import best_sentence
from protocol.record import Record, sealed
from tests.client import scenes


def race(
    state: str = "stopped", home: int = 40, ended_at_ms: int = 192_400, rules: str = "carpet", deal: str | None = None, number: int = 1
) -> Record:
    record = scenes.record()
    (seat, *_) = record.seats
    only = structs.replace(seat, state=state, home=home, ended_at_ms=ended_at_ms)
    dealt = structs.replace(record.deal, name=deal)
    return sealed(structs.replace(record, race=number, rules=rules, seats=(only,), deal=dealt))


def test_only_a_race_on_a_shuffle_nobody_could_know_counts_and_only_for_who_had_the_seat() -> None:
    assert counts(race(), 0)
    assert not counts(race(deal="garden"), 0)
    assert counts(scenes.record(), 1)
    assert not counts(scenes.record(), 2)
    assert not counts(scenes.record(), None)
    (seat,) = race().seats
    assert not counts(structs.replace(race(), seats=(structs.replace(seat, bot="greedy"),)), 0)
    # The cards that are home from the start are not of their making.
    assert not counts(structs.replace(race(), seats=(structs.replace(seat, plies=0),)), 0)


def test_against_others_it_is_the_own_seat_that_counts() -> None:
    record = scenes.record()
    assert [after_race(Best(), record, number).most_home for number in (0, 1)] == [seat.home for seat in record.seats] == [48, 33]


def test_the_least_time_of_a_win_and_the_most_cards_home_are_kept() -> None:
    best = Best()
    for state, home, ms in [("stalled", 30, 5000), ("won", 52, 200_100), ("won", 52, 192_400), ("won", 52, 300_000), ("forfeited", 4, 100)]:
        best = after_race(best, race(state, home, ms), 0)
    assert best == Best(tries=5, wins=3, best_ms=192_400, most_home=52)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (Best(), race(), "Your first personal best: 40 cards."),
        (Best(tries=1, most_home=33), race(), "New best: 40 cards home! Your best before: 33. 2 tries."),
        (Best(tries=2, most_home=41), race(), "Your best is 41 cards home. 3 tries."),
        (Best(), race("won", 52), "All home for the first time, in 3:12.4!"),
        (Best(tries=3, most_home=48), race("won", 52), "All home for the first time, after 4 tries, in 3:12.4!"),
        (
            Best(tries=11, wins=2, best_ms=200_100, most_home=52),
            race("won", 52),
            "New best: 3:12.4! Your best before: 3:20.1. 12 tries, 3 all home.",
        ),
        (Best(tries=11, wins=2, best_ms=192_400, most_home=52), race("won", 52, 192_400), "Your best is 3:12.4. 12 tries, 3 all home."),
        (Best(tries=11, wins=2, best_ms=192_400, most_home=52), race(), "Your best is 3:12.4. 12 tries, 2 all home."),
    ],
)
def test_what_is_said_of_a_race(before: Best, after: Record, said: str) -> None:
    assert best_sentence(BestChange(before, after_race(before, after, 0))) == said


def test_the_file_has_each_rule_set_and_is_read_as_it_was_written(tmp_path: Path) -> None:
    store = BestsStore(tmp_path / "new")
    assert store.read() == Bests()
    assert store.add(race(), 0) == BestChange(Best(), Best(tries=1, most_home=40))
    assert store.add(race("won", 52), 0).before == Best(tries=1, most_home=40)
    store.add(race(rules="colorado", home=70), 0)
    assert BestsStore(tmp_path / "new").read().rules == {
        "carpet": Best(tries=2, wins=1, best_ms=192_400, most_home=52),
        "colorado": Best(tries=1, most_home=70),
    }
    assert [file.name for file in store.path.parent.iterdir()] == ["bests.json"]
    assert store.path.stat().st_mode & 0o077 == 0


def test_of_many_terminals_at_once_no_try_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # However long the disk of this machine takes for one of them: who gives up in the end is no matter of this.
    monkeypatch.setattr(files, "LOCK_PATIENCE_S", math.inf)
    start = threading.Barrier(8)

    def add(number: int) -> None:
        start.wait()
        for nth in range(1, 4):
            BestsStore(tmp_path).add(race("won", 52, 200_000 + number, number=nth), 0)

    with ThreadPoolExecutor(8) as terminals:
        list(terminals.map(add, range(8)))
    assert BestsStore(tmp_path).read().rules["carpet"] == Best(tries=24, wins=24, best_ms=200_000, most_home=52)


def test_a_race_that_two_windows_have_seen_to_its_end_is_one_try(tmp_path: Path) -> None:
    first, second = BestsStore(tmp_path), BestsStore(tmp_path)
    first.add(race("won", 52), 0)
    change = second.add(race("won", 52), 0)
    assert change.before == change.after == Best(tries=1, wins=1, best_ms=192_400, most_home=52)
    assert best_sentence(change) == "Your best is 3:12.4. 1 try, 1 all home."
    assert second.read().rules == {"carpet": change.after}
    assert second.add(race(number=2), 0).after.tries == 2


def test_no_race_is_a_second_try_while_its_record_is_kept(tmp_path: Path) -> None:
    later = [f"{number:064x}" for number in range(KEPT - 1)]
    (tmp_path / "bests.json").write_bytes(json.encode(Bests(counted=(race().digest, *later))))
    for number in (1, 2, 1):
        BestsStore(tmp_path).add(race(number=number), 0)
    assert BestsStore(tmp_path).read().rules["carpet"].tries == 1


@pytest.mark.parametrize("carpet", ['"carpet": {"tries": -1}', '"carpet": {"best_ms": "soon"}', '"\\u001b[2J": {}'])
def test_a_damaged_file_is_one_sentence_and_is_left_as_it_is(tmp_path: Path, carpet: str) -> None:
    file = tmp_path / "bests.json"
    file.write_text(text := f'{{"rules": {{{carpet}}}}}')
    with pytest.raises(BestsError, match=r"bests\.json with your best times is damaged .*: repair it, or delete it to begin afresh\.$"):
        BestsStore(tmp_path).add(race(), 0)
    assert file.read_text() == text
