"""The delay of boards: what has happened goes in at once, the boards that watchers may see come out when they are due. Pure.

The rule of the file: a board is due `delay_s` after the server had the move that led to it, the first one of all so long after the start.
When the race is over everything is due, since the record tells it all.

Held back are moves, not positions: the longest delay of the longest race costs what its list of moves does, and the board of a seat is one
position that follows them. So a race that nobody has watched yet is taken up in the middle from the moves it has, with the same
outcome as if it had been followed from the start; that is also how a race of an earlier server is.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from protocol.views import SeatState
from server.race.board_history import BoardHistory, Step
from server.race.events import MovePlayed, RaceEnded, RaceEvent, SeatDealt, SeatEnded
from server.rules.position import Position


@dataclass(frozen=True, slots=True)
class DueBoard:
    """A seat's board as watchers may see it now. ply, state: as they were then. elapsed_ms: when its last move counted, from the start."""

    seat: int
    ply: int
    elapsed_ms: int
    state: SeatState
    position: Position


class DelayedBoards:
    """The boards of one race, `delay_ms` late. Times are milliseconds of the race's clock and never go back."""

    def __init__(self, delay_ms: int, taken_up: BoardHistory | None = None) -> None:
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
