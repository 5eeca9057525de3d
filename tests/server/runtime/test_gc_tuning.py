"""That the interpreter is told to look for garbage seldom, and only as long as a server runs."""

from __future__ import annotations

import gc

from server.runtime.gc_tuning import ALL, NEW, OLDER, seldom_collected


class Knot:
    """An object in a cycle with itself."""

    gone = 0

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        Knot.gone += 1


def test_what_was_there_is_set_aside_and_the_settings_come_back() -> None:
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    with seldom_collected():
        assert gc.get_threshold() == (NEW, OLDER, ALL)
        assert gc.get_freeze_count() > frozen
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_cycles_made_inside_are_still_found() -> None:
    Knot.gone = 0
    with seldom_collected():
        # Kept until then, or the count of what is new would not grow.
        knots = [Knot() for _ in range(100)]
        del knots
        kept = [[number] for number in range(2 * NEW)]
        assert Knot.gone == 100
        assert len(kept) == 2 * NEW
