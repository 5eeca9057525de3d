"""Which nodes a node considers dead, and when it may."""

from __future__ import annotations

import pytest

from server.cluster.leases import ABSENT_S, BEAT_S, RENEWAL_PATIENCE_S, Watch
from server.store.nodes import LEFT, Node

OWN = Node(1, "ws://one", 1, 5000, 5000)
ALIVE = Node(2, "ws://two", 1, 5000, 1)
LAPSED = Node(3, "ws://three", 1, 4000, 0)
GONE = Node(4, "ws://four", 1, LEFT, -5000)
ENDED = Node(6, "ws://six", 1, 5000, 3000, hung_up=True)
DONE = Node(5, "ws://five", 1, -1, -5001)


def test_only_others_whose_leases_are_over_and_who_have_something_are_dead() -> None:
    assert Watch(0.0).dead([OWN, ALIVE, LAPSED, GONE, DONE], own=1, now=BEAT_S) == (LAPSED, GONE)
    assert Watch(0.0).dead([Node(1, "ws://one", 1, 4000, -1)], own=1, now=BEAT_S) == ()


def test_whoever_has_been_away_gives_the_others_the_time_of_a_lease() -> None:
    watch = Watch(0.0)
    back = ABSENT_S + 0.1
    assert watch.dead([LAPSED, GONE, ENDED], own=1, now=back) == (GONE, ENDED), "these need no patience"
    now = back
    while now + BEAT_S < back + RENEWAL_PATIENCE_S:
        now += BEAT_S
        assert watch.dead([LAPSED], own=1, now=now) == ()
    assert watch.dead([LAPSED], own=1, now=back + RENEWAL_PATIENCE_S) == (LAPSED,)


@pytest.mark.parametrize("pause", [BEAT_S, ABSENT_S])
def test_a_late_beat_is_no_absence(pause: float) -> None:
    assert Watch(0.0).dead([LAPSED], own=1, now=pause) == (LAPSED,)
