"""A race's time line and the play head on it: where every board stands at a moment, and what play, step and jump do. Pure.

The head is a moment and the number of moves made by then, since a step makes only one of two moves in the same millisecond. Time comes in
as `now_ms`. A running head needs no updates: its position is where it was started plus the time since then.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction
from operator import attrgetter
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from protocol.record import Record, SeatRecord
from protocol.replay import Frame, Replay
from protocol.views import RulesInfo, SeatState, View

SPEEDS: Final = tuple(Fraction(2) ** power for power in range(-2, 5))
"""From a quarter of the race's pace to sixteen times it."""
NORMAL: Final = SPEEDS.index(Fraction(1))


# ---- the time line


class SeatLine(Struct, frozen=True):
    """One seat's line of play. frames: one per move, in order."""

    number: int
    seat: SeatRecord
    first: View
    frames: tuple[Frame, ...]

    def view(self, ply: int) -> View:
        """The seat's view after `ply` moves."""
        return self.frames[ply - 1].view if ply else self.first

    def state(self, ply: int, t_ms: int) -> SeatState:
        """The seat's state after `ply` moves, at a moment: an end that no move caused comes at its own time."""
        if ply == len(self.frames) and t_ms >= self.seat.ended_at_ms:
            return self.seat.state
        return self.frames[ply - 1].state if ply else "racing"


class TimeLine(Struct, frozen=True):
    """The whole race. frames: of all seats, ordered by time. end_ms: when the last thing happened."""

    record: Record
    rules: RulesInfo
    lines: tuple[SeatLine, ...]
    frames: tuple[Frame, ...]
    end_ms: int

    def made(self, t_ms: int) -> int:
        """How many moves were made up to and including a moment."""
        return bisect_right(self.frames, t_ms, key=attrgetter("at_ms"))

    def plies(self, made: int) -> tuple[int, ...]:
        """Each seat's moves when `made` were made in all."""
        counts = [0] * len(self.lines)
        for frame in self.frames[:made]:
            counts[frame.seat] = frame.ply
        return tuple(counts)


def time_line(replay: Replay) -> TimeLine:
    """The time line of a replay read by `protocol.replay.from_json`."""
    lines = tuple(
        SeatLine(
            number,
            seat,
            replay.firsts[number] if replay.firsts else replay.first,
            tuple(frame for frame in replay.frames if frame.seat == number),
        )
        for number, seat in enumerate(replay.record.seats)
    )
    ends = [seat.ended_at_ms for seat in replay.record.seats] + [frame.at_ms for frame in replay.frames[-1:]]
    return TimeLine(replay.record, replay.rules, lines, replay.frames, max(ends))


# ---- where lines of play part


class Parting(Struct, frozen=True):
    """ply: how many moves the lines have in common. moves: each line's next one; None if the line ends there.

    at_ms: when they part: the earliest moment at which two lines had gone on differently, or one had gone on beyond another's end.
    """

    ply: int
    at_ms: int
    moves: tuple[str | None, ...]


def parting(lines: Sequence[SeatLine]) -> Parting | None:
    """Where these lines of play part; None if all are the same."""
    if len({tuple(frame.move for frame in line.frames) for line in lines}) <= 1:
        return None
    shortest = min(len(line.frames) for line in lines)
    ply = next((at for at in range(shortest) if len({line.frames[at].move for line in lines}) > 1), shortest)
    following = [line.frames[ply] if ply < len(line.frames) else None for line in lines]
    there = sorted((frame for frame in following if frame is not None), key=attrgetter("at_ms"))
    other = next((frame for frame in there if frame.move != there[0].move), there[0])
    return Parting(ply, other.at_ms, tuple(None if frame is None else frame.move for frame in following))


# ---- the play head


class Head(Struct, frozen=True):
    """t_ms: the moment, from the start of the race. made: the moves made by then. speed: index into SPEEDS.

    running_since: the local time at which the head was at `t_ms`; None while it stands.
    """

    t_ms: int = 0
    made: int = 0
    speed: int = NORMAL
    running_since: int | None = None


def moved_on(head: Head, line: TimeLine, now_ms: int) -> Head:
    """The head as it is now. At the end of the time line it stops.

    Show the result, but keep it only if the head has stopped: each time it is kept, fractions of a millisecond are lost, and slow play has
    many.
    """
    if head.running_since is None:
        return head
    t_ms = head.t_ms + int((now_ms - head.running_since) * SPEEDS[head.speed])
    if t_ms >= line.end_ms:
        return replace(head, t_ms=line.end_ms, made=len(line.frames), running_since=None)
    # A step may have made some of the moves in this millisecond already: those stay made.
    return replace(head, t_ms=t_ms, made=max(line.made(t_ms), head.made), running_since=now_ms)


# What a key does to the head, at the local time `now_ms`.


def toggled(head: Head, line: TimeLine, now_ms: int) -> Head:
    """Play or pause. At the end: play from the start."""
    head = moved_on(head, line, now_ms)
    if head.running_since is not None:
        return replace(head, running_since=None)
    ended = head.t_ms >= line.end_ms and head.made == len(line.frames)
    return replace(at_moment(head, line, now_ms, 0) if ended else head, running_since=now_ms)


def at_moment(head: Head, line: TimeLine, now_ms: int, t_ms: int) -> Head:
    """Go to a moment, with the moves made in it. A running head runs on from there."""
    t_ms = max(0, min(t_ms, line.end_ms))
    # At the very start no move is made, not even one in the first millisecond.
    return replace(moved_on(head, line, now_ms), t_ms=t_ms, made=line.made(t_ms) if t_ms else 0)


def paced(head: Head, line: TimeLine, now_ms: int, by: Literal[-1, 1]) -> Head:
    """Change to the next faster (by = 1) or slower (by = -1) speed."""
    return replace(moved_on(head, line, now_ms), speed=max(0, min(head.speed + by, len(SPEEDS) - 1)))


def stepped(head: Head, line: TimeLine, now_ms: int, by: Literal[-1, 1], seat: int | None = None) -> Head:
    """One move forward (by = 1) or back (by = -1), of one seat or of any. The head then stands: just after that move, or before it.

    With a seat, the others' moves in between are made or taken back too.
    """
    head = replace(moved_on(head, line, now_ms), running_since=None)
    own = [at for at, frame in enumerate(line.frames) if seat is None or frame.seat == seat]
    if by > 0:
        made = next((at + 1 for at in own if at >= head.made), None)
        if made is None:
            return replace(head, t_ms=line.end_ms, made=len(line.frames))
    else:
        last = bisect_left(own, head.made) - 1
        if last < 0:
            return replace(head, t_ms=0, made=0)
        made = own[last]
    return replace(head, t_ms=line.frames[made - 1].at_ms if made else 0, made=made)
