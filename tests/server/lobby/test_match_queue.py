"""Who is paired with whom: the rating window, the wanted rules, who comes first; and generated queues for what must always hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.lobby.match_queue import (
    ANYBODY_MS,
    APART_MS,
    FIRST_PAUSE_MS,
    FIRST_WINDOW,
    FORGIVEN_MS,
    LONGEST_PAUSE_MS,
    MOST_APART,
    MOST_NO_SHOWS,
    MOST_WAITING,
    MatchQueue,
    NoShows,
    Pair,
    QueuedPlayer,
    QueueFull,
    fit,
    window,
)

TICKETS = st.builds(
    QueuedPlayer,
    player=st.sampled_from([f"p{number}" for number in range(12)]),
    rating=st.none() | st.integers(0, 3000),
    rules=st.sampled_from([None, "carpet", "colorado"]),
    since_ms=st.integers(0, 80_000),
)
NOW_MS = 80_000


def ticket(player: str, rating: int | None = 1000, rules: str | None = None, since_ms: int = 0) -> QueuedPlayer:
    return QueuedPlayer(player, rating, rules, since_ms)


def queue_of(*tickets: QueuedPlayer) -> MatchQueue:
    queue = MatchQueue()
    for each in tickets:
        queue.join(each)
    return queue


def names(pairs: list[Pair]) -> list[tuple[str, str]]:
    return [(pair.first.player, pair.second.player) for pair in pairs]


@pytest.mark.parametrize(
    ("waited_ms", "points"),
    [(-1, 100), (0, 100), (4_999, 100), (5_000, 150), (9_999, 150), (10_000, 200), (59_999, 650), (60_000, None), (10**9, None)],
)
def test_the_window_widens_by_fifty_points_every_five_seconds_and_is_open_after_a_minute(waited_ms: int, points: int | None) -> None:
    assert window(waited_ms) == points


def test_two_within_the_first_window_are_paired_at_once() -> None:
    queue = queue_of(ticket("ann", 1000))
    queue.join(ticket("bob", 1000 + FIRST_WINDOW, since_ms=7))
    assert queue.take_opponent_for("bob", 7) == Pair(ticket("ann"), ticket("bob", 1100, since_ms=7))
    assert len(queue) == 0


def test_the_windows_of_both_have_to_allow_it() -> None:
    ann, bob = ticket("ann", 1000), ticket("bob", 1150, since_ms=20_000)
    assert not fit(ann, bob, 24_999)
    assert fit(ann, bob, 25_000)
    far = ticket("eve", 5000, since_ms=20_000)
    assert not fit(ann, far, 79_999)
    assert fit(ann, far, 80_000)


@pytest.mark.parametrize(
    ("first", "second", "rules"),
    [(None, None, None), ("carpet", None, "carpet"), (None, "colorado", "colorado"), ("carpet", "carpet", "carpet")],
)
def test_the_race_is_at_the_rules_that_one_of_them_asked_for(first: str | None, second: str | None, rules: str | None) -> None:
    queue = queue_of(ticket("ann", rules=first), ticket("bob", rules=second))
    pair = queue.take_opponent_for("bob", 0)
    assert pair is not None
    assert pair.rules == rules


def test_whoever_wants_other_rules_fits_never() -> None:
    queue = queue_of(ticket("ann", rules="carpet"), ticket("bob", rules="colorado"))
    assert queue.take_opponent_for("bob", 0) is None
    assert queue.take_pairs(10**9) == []
    assert len(queue) == 2


def test_whoever_has_no_rating_fits_everybody() -> None:
    assert fit(ticket("ann", None), ticket("bob", 5000), 0)


def test_nobody_is_paired_with_themselves() -> None:
    queue = queue_of(ticket("ann"), ticket("ann", rules="carpet"))
    assert len(queue) == 1
    assert queue.take_opponent_for("ann", 10**9) is None


def test_of_several_who_fit_a_newcomer_the_one_who_has_waited_longest_gets_them() -> None:
    queue = queue_of(ticket("ann", 1100, "carpet"), ticket("bob", 1010, "colorado", 1), ticket("eve", 1000, None, 2))
    pair = queue.take_opponent_for("eve", 2)
    assert pair is not None
    assert (pair.first.player, pair.second.player) == ("ann", "eve")


def test_whoever_has_waited_longest_chooses_whoever_is_nearest_to_them() -> None:
    queue = queue_of(ticket("ann", 1000), ticket("bob", 1240, since_ms=1), ticket("eve", 1120, since_ms=2), ticket("zoe", 880, since_ms=3))
    assert queue.take_pairs(4_000) == []
    assert names(queue.take_pairs(20_000)) == [("ann", "eve")], "of two who are as near, the one who has waited longer"
    assert names(queue.take_pairs(60_003)) == [("bob", "zoe")]


def test_asking_again_keeps_what_was_waited() -> None:
    queue = queue_of(ticket("ann", 1000, None, 5))
    assert queue.join(ticket("ann", 1020, "colorado", 900)) == ticket("ann", 1020, "colorado", 5)
    assert list(queue) == [ticket("ann", 1020, "colorado", 5)]


def test_whoever_is_put_back_is_served_before_those_who_came_meanwhile() -> None:
    queue = queue_of(ticket("bob", since_ms=7), ticket("ann", since_ms=5))
    assert [each.player for each in queue] == ["ann", "bob"]
    queue.join(ticket("bob", since_ms=3))
    assert list(queue) == [ticket("bob", since_ms=3), ticket("ann", since_ms=5)]
    queue.join(ticket("eve", since_ms=9))
    assert names([pair for pair in [queue.take_opponent_for("eve", 9)] if pair]) == [("bob", "eve")]


def test_two_of_whom_one_did_not_turn_up_are_kept_apart_for_as_long_each_time() -> None:
    queue, now_ms = queue_of(ticket("ann"), ticket("bob")), 0
    for _ in range(3):
        queue.keep_apart("ann", ["bob"], now_ms)
        assert queue.take_opponent_for("bob", now_ms + APART_MS - 1) is None
        assert queue.take_pairs(now_ms + APART_MS - 1) == []
        now_ms += APART_MS
        assert queue.next_change_ms(now_ms - 1) == now_ms, "somebody looks again then"
        assert len(queue.take_pairs(now_ms)) == 1
        queue.join(ticket("ann"))
        queue.join(ticket("bob"))


def test_however_often_two_are_kept_apart_it_ends_as_long_after_the_last_time() -> None:
    queue = queue_of(ticket("ann"), ticket("bob"))
    for now_ms in range(1_000):
        queue.keep_apart("ann", ["bob"], now_ms)
    assert queue.take_pairs(999 + APART_MS - 1) == []
    assert queue.next_change_ms(999 + APART_MS - 1) == 999 + APART_MS
    assert names(queue.take_pairs(999 + APART_MS)) == [("ann", "bob")]
    assert queue.next_change_ms(0) is None, "of those who do not wait nothing changes"


def test_of_too_many_who_are_kept_apart_those_are_forgotten_who_have_been_for_longest() -> None:
    queue = queue_of(ticket("ann"), ticket("bob"), ticket("eve", 5000), ticket("zoe", 5000))
    queue.keep_apart("ann", ["bob"], 0)
    queue.keep_apart("eve", ["zoe"], 0)
    for number in range(MOST_APART - 2):
        queue.keep_apart(f"p{number}", ["bob"], 1)
    assert queue.take_pairs(1) == []
    queue.keep_apart("eve", ["zoe"], 2)
    assert queue.take_pairs(2) == [], "they were known already"
    queue.keep_apart("p", ["bob"], 3)
    assert names(queue.take_pairs(3)) == [("ann", "bob")]
    assert queue.take_pairs(2 + APART_MS - 1) == []


def test_anybody_else_is_found_by_those_who_are_kept_apart() -> None:
    queue = queue_of(ticket("ann", None), ticket("bob", 1000, since_ms=1), ticket("eve", 1000, since_ms=2))
    queue.keep_apart("ann", ["bob"], 2)
    assert names(queue.take_pairs(2)) == [("ann", "eve")]


def test_whoever_leaves_is_found_by_nobody() -> None:
    queue = queue_of(ticket("ann"))
    assert queue.leave("ann")
    assert not queue.leave("ann")
    queue.join(ticket("bob"))
    assert queue.take_opponent_for("bob", 0) is None


def test_a_full_queue_takes_nobody_more_but_whoever_is_in_it_may_ask_again() -> None:
    queue = queue_of(*[ticket(f"p{number}", rating=1000 * number) for number in range(MOST_WAITING)])
    with pytest.raises(QueueFull):
        queue.join(ticket("ann"))
    queue.join(ticket("p0", rules="carpet"))
    assert len(queue) == MOST_WAITING


@given(st.lists(TICKETS, max_size=12))
def test_whoever_is_paired_fits_and_of_those_who_are_left_no_two_do(tickets: list[QueuedPlayer]) -> None:
    queue = queue_of(*tickets)
    before = {each.player for each in queue}
    pairs = queue.take_pairs(NOW_MS)
    paired = [player for pair in names(pairs) for player in pair]
    assert all(fit(pair.first, pair.second, NOW_MS) and pair.first.since_ms <= pair.second.since_ms for pair in pairs)
    assert len(paired) == len(set(paired))
    assert {*paired, *[each.player for each in queue]} == before
    assert not any(fit(one, other, NOW_MS) for one in queue for other in queue)
    assert queue.take_pairs(NOW_MS) == []


@given(st.lists(TICKETS, max_size=12), st.integers(0, 80_000))
def test_pairs_are_those_that_a_look_at_every_two_finds(tickets: list[QueuedPlayer], now_ms: int) -> None:
    queue = queue_of(*tickets)
    left = list(queue)
    expected: list[set[str]] = []
    for one in list(queue):
        fitting = [other for other in left if one in left and fit(one, other, now_ms)]
        if fitting:
            other = min(fitting, key=lambda each, one=one: 0 if None in (one.rating, each.rating) else abs(one.rating - each.rating))  # type: ignore[misc]
            left = [each for each in left if each not in (one, other)]
            expected.append({one.player, other.player})
    assert [{pair.first.player, pair.second.player} for pair in queue.take_pairs(now_ms)] == expected


@given(st.lists(TICKETS, max_size=12, unique_by=lambda each: each.player), TICKETS)
def test_a_newcomer_is_paired_as_a_look_at_the_whole_queue_would_pair_them(tickets: list[QueuedPlayer], newcomer: QueuedPlayer) -> None:
    waiting = sorted((each for each in tickets if each.player != newcomer.player), key=lambda each: each.since_ms)
    one, other = queue_of(*waiting), queue_of(*waiting)
    for queue in (one, other):
        queue.take_pairs(NOW_MS)
    newcomer = QueuedPlayer(newcomer.player, newcomer.rating, newcomer.rules, NOW_MS)
    one.join(newcomer)
    other.join(newcomer)
    pair = one.take_opponent_for(newcomer.player, NOW_MS)
    assert ([pair] if pair is not None else []) == other.take_pairs(NOW_MS)


@given(st.lists(TICKETS, min_size=1, max_size=6), st.integers(80_000, 160_000))
def test_no_window_changes_before_the_next_change_and_one_does_then(tickets: list[QueuedPlayer], now_ms: int) -> None:
    queue = queue_of(*tickets)

    def windows(at_ms: int) -> list[int | None]:
        return [window(at_ms - each.since_ms) for each in queue]

    change_ms = queue.next_change_ms(now_ms)
    if change_ms is None:
        assert windows(now_ms) == [None] * len(queue)
        assert now_ms >= ANYBODY_MS + min(each.since_ms for each in queue)
    else:
        assert now_ms < change_ms <= now_ms + 5_000
        assert windows(change_ms - 1) == windows(now_ms)
        assert windows(change_ms) != windows(now_ms)


@given(
    st.lists(TICKETS, min_size=2, max_size=6),
    st.lists(st.tuples(st.sampled_from(["p0", "p1", "p2"]), st.sampled_from(["p3", "p4"])), max_size=600),
    st.integers(80_000, 10**13),
)
def test_the_next_change_is_soon_however_often_anybody_has_been_kept_apart(
    tickets: list[QueuedPlayer], pairs: list[tuple[str, str]], now_ms: int
) -> None:
    queue = queue_of(*tickets)
    for player, other in pairs:
        queue.keep_apart(player, [other], now_ms)
    change_ms = queue.next_change_ms(now_ms)
    assert change_ms is None or now_ms < change_ms <= now_ms + APART_MS


# ---- those who do not turn up


def test_each_pause_is_twice_as_long_up_to_the_longest_and_over_in_time() -> None:
    no_shows, now_ms, pauses = NoShows(), NOW_MS, []
    for _ in range(100):
        no_shows.note("ann", now_ms)
        pauses.append(no_shows.pause_ms("ann", now_ms, free=1))
        assert no_shows.pause_ms("ann", now_ms + max(pauses[-1] - 1, 0), free=1) == bool(pauses[-1])
        now_ms += pauses[-1]
        assert no_shows.pause_ms("ann", now_ms, free=1) == 0
    assert pauses[:7] == [0, *(FIRST_PAUSE_MS * times for times in (1, 2, 4, 8)), LONGEST_PAUSE_MS, LONGEST_PAUSE_MS]
    assert pauses[-1] == LONGEST_PAUSE_MS
    assert no_shows.pause_ms("bob", now_ms, free=1) == 0


def test_one_time_after_another_is_forgotten() -> None:
    no_shows = NoShows()
    for _ in range(3):
        no_shows.note("ann", NOW_MS)
    no_shows.note("ann", NOW_MS + FORGIVEN_MS)
    assert no_shows.pause_ms("ann", NOW_MS + FORGIVEN_MS, free=2) == FIRST_PAUSE_MS
    no_shows.note("ann", NOW_MS + 10 * FORGIVEN_MS)
    assert no_shows.pause_ms("ann", NOW_MS + 10 * FORGIVEN_MS, free=1) == 0
    assert no_shows.pause_ms("ann", NOW_MS + 10 * FORGIVEN_MS, free=0) == FIRST_PAUSE_MS


def test_of_those_who_did_not_turn_up_so_many_are_remembered_and_those_of_longest_ago_make_way() -> None:
    no_shows = NoShows()
    for number in range(MOST_NO_SHOWS):
        no_shows.note(f"p{number}", NOW_MS)
    for who in ("p0", "new"):
        no_shows.note(who, NOW_MS)
    assert [bool(no_shows.pause_ms(who, NOW_MS, free=0)) for who in ("p0", "p1", "p2", "new")] == [True, False, True, True]
