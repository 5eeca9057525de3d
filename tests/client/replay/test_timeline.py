"""The time line and the head on it, for any times of any moves: steps, jumps, speeds and partings. No clock: now is a number."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from msgspec.structs import replace

from client.replay.timeline import NORMAL, SPEEDS, Head, SeatLine, TimeLine, at_moment, moved_on, paced, parting, stepped, toggled
from protocol.replay import Frame
from tests.client import replays

REAL = replays.line("carpet", 2)
VIEW = REAL.lines[0].first
SEAT = REAL.record.seats[0]


def line_of(*moves: tuple[str, int], number: int = 0, ended_at_ms: int = 0) -> SeatLine:
    """A line of play of (move, moment) pairs; the cards do not matter."""
    frames = tuple(
        Frame(seat=number, at_ms=at_ms, ply=ply, move=move, state="racing", view=VIEW) for ply, (move, at_ms) in enumerate(moves, 1)
    )
    return SeatLine(number, structs.replace(SEAT, ended_at_ms=ended_at_ms), VIEW, frames)


def race_of(*lines: SeatLine) -> TimeLine:
    frames = sorted((frame for line in lines for frame in line.frames), key=lambda frame: (frame.at_ms, frame.seat, frame.ply))
    ends = [line.seat.ended_at_ms for line in lines] + [frame.at_ms for frame in frames[-1:]]
    return TimeLine(REAL.record, REAL.rules, lines, tuple(frames), max(ends))


@st.composite
def races(draw: st.DrawFn) -> TimeLine:
    """Up to three seats, often with moves in the same millisecond, or at the very start."""
    times = st.lists(st.integers(0, 40), max_size=8).map(sorted)
    lines = [
        line_of(
            *[(draw(st.sampled_from(["s", "w", "a1"])), at_ms) for at_ms in draw(times)],
            number=number,
            ended_at_ms=draw(st.integers(0, 60)),
        )
        for number in range(draw(st.integers(1, 3)))
    ]
    return race_of(*lines)


BY = st.sampled_from([-1, 1])
KEYS = st.one_of(
    st.just(toggled),
    st.builds(lambda by, seat: partial(stepped, by=by, seat=seat), BY, st.sampled_from([None, 0, 1, 2])),
    st.builds(lambda t_ms: partial(at_moment, t_ms=t_ms), st.integers(-10, 90)),
    st.builds(lambda by: partial(paced, by=by), BY),
)


@given(races(), st.lists(st.tuples(KEYS, st.integers(0, 30)), max_size=20))
def test_whatever_is_done_the_head_is_on_the_line_with_the_moves_of_its_moment(
    race: TimeLine, keys: list[tuple[Callable[[Head, TimeLine, int], Head], int]]
) -> None:
    head, now = Head(), 1000
    for key, later in keys:
        now += later
        head = moved_on(key(head, race, now), race, now)
        assert 0 <= head.t_ms <= race.end_ms
        assert 0 <= head.made <= len(race.frames)
        assert 0 <= head.speed < len(SPEEDS)
        assert all(frame.at_ms <= head.t_ms for frame in race.frames[: head.made])
        assert all(frame.at_ms >= head.t_ms for frame in race.frames[head.made :])
        assert sum(race.plies(head.made)) == head.made


@given(races(), st.sampled_from([None, 0, 1, 2]))
def test_steps_make_every_move_once_and_take_every_move_back_once(race: TimeLine, seat: int | None) -> None:
    own = [at + 1 for at, frame in enumerate(race.frames) if seat is None or frame.seat == seat]
    head, made = Head(), []
    for _ in own:
        head = stepped(head, race, 0, 1, seat)
        made.append(head.made)
    assert made == own
    for at in reversed(own):
        assert head.made >= at
        head = stepped(head, race, 0, -1, seat)
        assert head.made == at - 1
    assert stepped(head, race, 0, -1, seat) == Head()


@given(races(), st.integers(0, 60))
def test_at_a_moment_each_seat_has_made_its_moves_until_then(race: TimeLine, t_ms: int) -> None:
    plies = race.plies(race.made(t_ms))
    assert plies == tuple(sum(frame.at_ms <= t_ms for frame in line.frames) for line in race.lines)


@given(races(), st.integers(0, len(SPEEDS) - 1), st.lists(st.integers(0, 50), max_size=12))
def test_a_running_head_is_where_time_and_speed_have_brought_it_however_often_it_is_looked_at(
    race: TimeLine, speed: int, looks: list[int]
) -> None:
    head, now = Head(speed=speed), 5000
    head = toggled(head, race, now)
    for later in looks:
        now += later
        expected = min(int((now - 5000) * SPEEDS[speed]), race.end_ms)
        seen = moved_on(head, race, now)
        assert seen.t_ms == expected
        assert (seen.running_since is None) == (expected == race.end_ms)


def test_playing_pausing_and_going_on_lose_no_time() -> None:
    race = race_of(line_of(("s", 1000), ("w", 9000), ended_at_ms=10_000))
    head = toggled(Head(), race, 0)
    head = toggled(head, race, 1500)
    assert (head.t_ms, head.made, head.running_since) == (1500, 1, None)
    assert moved_on(head, race, 99_000) == head
    head = toggled(head, race, 100_000)
    head = paced(head, race, 101_000, 1)
    assert moved_on(head, race, 102_000).t_ms == 1500 + 1000 + 2000


def test_at_the_end_it_stops_and_plays_again_from_the_start() -> None:
    race = race_of(line_of(("s", 1000), ended_at_ms=2000))
    running = toggled(Head(), race, 0)
    assert moved_on(running, race, 1999).running_since == 1999
    for now_ms in (2000, 5000):
        head = moved_on(running, race, now_ms)
        assert (head.t_ms, head.made, head.running_since) == (2000, 1, None)
    head = toggled(head, race, 6000)
    assert (head.t_ms, head.made, head.running_since) == (0, 0, 6000)


def test_behind_the_last_move_it_plays_on_to_the_end_and_before_it_in_the_same_millisecond_too() -> None:
    race = race_of(line_of(("s", 1000), ended_at_ms=2000))
    assert toggled(stepped(Head(), race, 0, 1), race, 0) == Head(1000, 1, running_since=0)
    race = race_of(line_of(("s", 1000), ("w", 1000)))
    assert toggled(stepped(Head(), race, 0, 1), race, 0) == Head(1000, 1, running_since=0)


def test_a_step_beyond_a_seats_last_move_goes_to_the_end_and_one_before_its_first_to_the_start() -> None:
    race = race_of(line_of(("s", 500)), line_of(("s", 1000), number=1), line_of(("s", 2000), number=2, ended_at_ms=3000))
    middle = Head(1000, 2)
    assert stepped(middle, race, 0, 1, 0) == Head(3000, 3)
    assert stepped(middle, race, 0, -1, 0) == Head(0, 0)
    assert stepped(middle, race, 0, -1, 2) == Head(0, 0)


def test_a_jump_of_a_head_that_stands_does_not_run() -> None:
    race = race_of(line_of(("s", 1000)))
    assert at_moment(Head(), race, 300, 1000) == Head(1000, 1)


def test_a_jump_runs_on_and_a_step_stands() -> None:
    race = race_of(line_of(("s", 1000), ("w", 9000), ended_at_ms=10_000))
    running = toggled(Head(), race, 0)
    jumped = at_moment(running, race, 300, 4000)
    assert (jumped.t_ms, jumped.made, jumped.running_since) == (4000, 1, 300)
    assert stepped(jumped, race, 400, 1) == Head(9000, 2)
    assert at_moment(jumped, race, 400, race.end_ms).t_ms == 10_000


def test_speeds_end_at_a_quarter_and_at_sixteen() -> None:
    race = race_of(line_of(("s", 1000)))
    assert SPEEDS[NORMAL] == 1
    slow = fast = Head()
    for _ in range(20):
        slow, fast = paced(slow, race, 0, -1), paced(fast, race, 0, 1)
    assert (float(SPEEDS[slow.speed]), float(SPEEDS[fast.speed])) == (0.25, 16.0)


# ---- partings


def test_lines_part_after_the_moves_they_share_when_both_have_gone_on() -> None:
    anna = line_of(("s", 10), ("w", 20), ("c1", 90))
    ben = line_of(("s", 15), ("w", 40), ("s", 50), ("c1", 60), number=1)
    found = parting((anna, ben))
    assert found is not None
    assert (found.ply, found.at_ms, found.moves) == (2, 90, ("c1", "s"))


def test_a_game_without_another_move_diverges_from_a_longer_one_at_the_next_move() -> None:
    anna, ben = line_of(("s", 10)), line_of(("s", 15), ("w", 40), number=1)
    found = parting((anna, ben))
    assert found is not None
    assert (found.ply, found.at_ms, found.moves) == (1, 40, (None, "w"))


def test_of_more_than_two_the_first_two_that_differ_count() -> None:
    lines = (line_of(("s", 10)), line_of(("s", 15), number=1), line_of(("w", 12), number=2))
    found = parting(lines)
    assert found is not None
    assert (found.ply, found.at_ms, found.moves) == (0, 12, ("s", "s", "w"))


def test_the_same_lines_never_part_however_fast_they_were_played() -> None:
    assert parting((line_of(("s", 10)), line_of(("s", 99), number=1))) is None
    assert parting((line_of(("s", 10)),)) is None


@given(races())
def test_before_the_parting_all_is_the_same_and_there_it_is_not(race: TimeLine) -> None:
    found, moves = parting(race.lines), [[frame.move for frame in line.frames] for line in race.lines]
    if found is None:
        assert all(line == moves[0] for line in moves)
        return
    assert all(line[: found.ply] == moves[0][: found.ply] for line in moves)
    following = [line[found.ply] if found.ply < len(line) else None for line in moves]
    assert found.moves == tuple(following)
    assert len(set(following)) > 1
    assert found.at_ms in [line.frames[found.ply].at_ms for line in race.lines if found.ply < len(line.frames)]


# ---- a real race


@pytest.mark.parametrize("rules", ["carpet", "crazy-quilt"])
def test_a_real_race_ends_as_its_record_says(rules: str) -> None:
    race = replays.line(rules, 2)
    plies = race.plies(len(race.frames))
    for line, ply in zip(race.lines, plies, strict=True):
        assert ply == line.seat.plies
        assert line.view(ply).home == line.seat.home
        assert [line.view(made) for made in range(ply + 1)] == [line.first, *(frame.view for frame in line.frames)]
        assert line.state(ply, race.end_ms) == line.seat.state
        assert line.state(0, 0) == "racing"
    assert race.end_ms == race.record.ended_at_ms


def test_an_end_that_no_move_made_comes_in_its_time() -> None:
    line = line_of(("s", 10), ended_at_ms=500)
    line = replace(line, seat=structs.replace(line.seat, state="stopped"))
    assert [line.state(1, t_ms) for t_ms in (10, 499, 500)] == ["racing", "racing", "stopped"]
