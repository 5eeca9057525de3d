"""How the boards of a race came to be what they are: the first positions, and each step since. For spectators, who see them late. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter

from protocol.views import SeatState
from server.race.machine import Race, Seat
from server.rules.position import Position


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
class BoardHistory:
    """What has happened on the boards of a race so far, in order. firsts: each seat's position before its first move."""

    firsts: tuple[Position, ...]
    starts_at: int
    steps: tuple[Step, ...]
    over: bool


def board_history(race: Race) -> BoardHistory | None:
    """That of a race as it is now; None before its deal is known, and while it is sealed. Takes time for every move, little of it."""
    if race.starts_at is None or not race.firsts or race.withheld:
        return None
    steps: list[tuple[int, Step]] = []
    for seat in race.seats:
        own = _seat_steps(seat, race.starts_at) if seat.dealt else []
        # A seat may be ended for a moment before its last move was there; it was told of the end behind the move all the same.
        steps += zip(accumulate((step.at for step in own), max), own, strict=True)
    return BoardHistory(race.firsts, race.starts_at, tuple(step for _, step in sorted(steps, key=itemgetter(0))), race.phase == "over")


def _seat_steps(seat: Seat, starts_at: int) -> list[Step]:
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
