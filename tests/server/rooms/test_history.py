"""The versions of a room, against the simplest possible model: a list of everything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from server.rooms.history import KEPT_EVENTS, History


def test_versions_run_from_one_without_gaps() -> None:
    history: History[str] = History()
    assert history.version == 0
    assert [history.add("a"), history.add("b")] == [1, 2]
    history.forget()
    assert history.version == 3
    assert history.add("c") == 4
    assert history.version == 4


def test_whoever_knows_everything_has_missed_nothing() -> None:
    history: History[str] = History()
    history.add("a")
    after = history.after(1)
    assert after is not None
    assert list(after) == []


@given(steps=st.lists(st.sampled_from(["add", "forget"]), max_size=40), known=st.integers(-2, 45))
def test_after_gives_all_missed_events_in_order_or_says_that_it_cannot(steps: list[str], known: int) -> None:
    history: History[int] = History()
    told: dict[int, int] = {}
    forgotten = 0
    for number, step in enumerate(steps):
        if step == "add":
            told[history.add(number)] = number
        else:
            history.forget()
            forgotten = history.version
    after = history.after(known)
    if max(forgotten, history.version - KEPT_EVENTS) <= known <= history.version:
        assert after is not None
        assert list(after) == [(version, told[version]) for version in range(known + 1, history.version + 1)]
    else:
        assert after is None


def test_what_is_older_than_the_history_cannot_be_told() -> None:
    history: History[int] = History()
    for number in range(KEPT_EVENTS + 10):
        history.add(number)
    assert history.after(9) is None
    after = history.after(10)
    assert after is not None
    assert [version for version, _ in after] == list(range(11, KEPT_EVENTS + 11))
