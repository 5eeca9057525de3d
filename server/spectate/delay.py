"""The delay of boards: what has happened goes in at once, the boards that watchers may see come out when they are due. Pure.

The rule of the file: a board is due `delay_s` after the server had the move that led to it, the first one of all so long after the start.
When the race is over everything is due, since the record tells it all.

Held back are moves, not positions: the longest delay of the longest race costs what its list of moves does, and the board of a seat is one
position that follows them. So a race that nobody has watched yet is taken up in the middle from the moves it has (`course`), with the
same outcome as if it had been followed from the start; that is also how a race of an earlier server is.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter

from protocol.views import SeatState
from server.race.events import MovePlayed, RaceEnded, RaceEvent, SeatDealt, SeatEnded
from server.race.machine import Race, Seat
from server.rules.position import Position


@dataclass(frozen=True, slots=True)
class DueBoard:
    """A seat's board as watchers may see it now. ply, state: as they were then. elapsed_ms: when its last move counted, from the start."""

    seat: int
    ply: int
    elapsed_ms: int
    state: SeatState
    position: Position


@dataclass(frozen=True, slots=True)
class Step:
    """What leads from one board of a seat to the next: a move, or a position that is simply so, or neither where only the state changes.

    at: the moment, in the milliseconds of the race's clock. elapsed_ms: of the last move; None where it stays as it was.
    """

    at: int
    seat: int
    ply: int
    state: SeatState
    move: str | None = None
    elapsed_ms: int | None = None
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """What has happened on the boards of a race so far, in order. firsts: each seat's position before its first move."""

    firsts: tuple[Position, ...]
    starts_at: int
    steps: tuple[Step, ...]
    over: bool


def course(race: Race) -> Course | None:
    """That of a race as it is now; None before its deal is known, and where it is withheld. Takes time for every move, little of it."""
    if race.starts_at is None or not race.firsts or race.withheld:
        return None
    steps: list[tuple[int, Step]] = []
    for seat in race.seats:
        own = _seat_course(seat, race.starts_at) if seat.dealt else []
        # A seat may be ended for a moment before its last move was there; it was told of the end behind the move all the same.
        steps += zip(accumulate((step.at for step in own), max), own, strict=True)
    return Course(race.firsts, race.starts_at, tuple(step for _, step in sorted(steps, key=itemgetter(0))), race.phase == "over")


def _seat_course(seat: Seat, starts_at: int) -> list[Step]:
    ended = seat.state not in ("waiting", "racing")
    by_move = ended and bool(seat.played) and seat.ended_at == seat.last_at
    last = len(seat.played)
    steps = [Step(starts_at, seat.number, 0, "racing", elapsed_ms=0)]
    for ply, played in enumerate(seat.played, 1):
        state = seat.state if by_move and ply == last else "racing"
        steps.append(Step(starts_at + played.received_ms, seat.number, ply, state, move=played.move, elapsed_ms=played.at_ms))
    if ended and not by_move:
        steps.append(Step(starts_at + seat.ended_at, seat.number, last, seat.state))
    return steps


class DelayedBoards:
    """The boards of one race, `delay_ms` late. Times are milliseconds of the race's clock and never go back."""

    def __init__(self, delay_ms: int, taken_up: Course | None = None) -> None:
        """taken_up: what has happened so far, where that is not nothing."""
        self._delay_ms = delay_ms
        self._firsts = dict(enumerate(taken_up.firsts)) if taken_up is not None else {}
        self._starts_at = taken_up.starts_at if taken_up is not None else 0
        self._steps = deque(taken_up.steps if taken_up is not None else ())
        self._dealt = {step.seat for step in self._steps}
        self._over = taken_up.over if taken_up is not None else False
        self._boards: dict[int, DueBoard] = {}

    def note(self, event: RaceEvent, at: int) -> None:
        """Something has happened at the moment `at`."""
        match event:
            case SeatDealt(seat=seat, starts_at=starts_at, position=position):
                self._firsts[seat], self._starts_at = position, starts_at
                self._dealt.add(seat)
                self._steps.append(Step(starts_at, seat, 0, "racing", elapsed_ms=0))
            case MovePlayed(seat=seat, move=move, ply=ply, at_ms=at_ms, state=state):
                self._steps.append(Step(at, seat, ply, state, move=move, elapsed_ms=at_ms))
            case SeatEnded(seat=seat, ply=ply, state=state, at_ms=at_ms, position=position) if seat in self._dealt:
                # At the settling of a race moves may be struck out again.
                self._steps = deque(step for step in self._steps if step.seat != seat or step.ply <= ply)
                self._steps.append(Step(self._starts_at + at_ms, seat, ply, state, position=position))
            case RaceEnded():
                self._over = True
            case _:
                pass

    @property
    def next_due(self) -> int | None:
        """When the next board is due, or None where none waits."""
        if not self._steps:
            return None
        return self._steps[0].at if self._over else self._steps[0].at + self._delay_ms

    def due(self, now: int, *, most: int) -> tuple[DueBoard, ...]:
        """The boards that have come due by `now` and were not given before, in order; `most` at a time."""
        boards: list[DueBoard] = []
        while len(boards) < most and (due := self.next_due) is not None and (due <= now or self._over):
            boards.append(self._follow(self._steps.popleft()))
        return tuple(boards)

    def latest(self) -> tuple[DueBoard, ...]:
        """The last board of each seat that has been due, in seat order."""
        return tuple(self._boards[seat] for seat in sorted(self._boards))

    def _follow(self, step: Step) -> DueBoard:
        before = self._boards.get(step.seat)
        position = step.position
        if position is None:
            position = before.position if before is not None else self._firsts.get(step.seat)
        assert position is not None
        if step.move is not None:
            position = position.play_unchecked(step.move)
        elapsed_ms = step.elapsed_ms if step.elapsed_ms is not None else before.elapsed_ms if before is not None else 0
        board = self._boards[step.seat] = DueBoard(step.seat, step.ply, elapsed_ms, step.state, position)
        return board
