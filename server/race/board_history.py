"""The history of a race's boards: the first positions and each change since. For spectators, who see them late. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter

from protocol.views import SeatState
from server.race.face_down import NOTHING_SEEN, Turn, seen_by_player
from server.race.machine import Race
from server.race.seat import Seat
from server.rules.position import Position


@dataclass(frozen=True, slots=True)
class BoardChange:
    """One step from a seat's board to its next: a move, or only a change of state.

    at: the moment, in milliseconds of the race's clock. elapsed_ms: that of the last move; None if unchanged.
    """

    at: int
    seat: int
    ply: int
    state: SeatState
    move: str | None = None
    elapsed_ms: int | None = None


@dataclass(frozen=True, slots=True)
class SeatNow:
    """A seat as it is now. first: the position before the first move; None before it is dealt. seen: how far its player saw the stock."""

    first: Position | None = None
    seen: Turn = NOTHING_SEEN
    racing: bool = True


@dataclass(frozen=True, slots=True)
class RaceHistory:
    """What has happened on the boards of a race so far, in order."""

    seats: tuple[SeatNow, ...]
    starts_at: int
    changes: tuple[BoardChange, ...]
    over: bool


def history_of(race: Race) -> RaceHistory | None:
    """The history of a race so far; None before its deal is known. Takes a little time for every move."""
    if race.starts_at is None or not race.deal.firsts:
        return None
    changes: list[tuple[int, BoardChange]] = []
    for seat in race.seats:
        own = _changes_of(seat, race.starts_at) if seat.dealt else []
        # A seat may end at a moment before its last move arrived, but the end was still told after the move.
        changes += zip(accumulate((change.at for change in own), max), own, strict=True)
    return RaceHistory(
        tuple(_seat_now(seat, first) for seat, first in zip(race.seats, race.deal.firsts, strict=True)),
        race.starts_at,
        tuple(change for _, change in sorted(changes, key=itemgetter(0))),
        race.phase == "over",
    )


def _seat_now(seat: Seat, first: Position) -> SeatNow:
    racing = seat.state in ("waiting", "racing")
    dealt = seat.dealt and seat.position is not None
    return SeatNow(first, seen_by_player(seat.position), racing) if dealt and seat.position is not None else SeatNow(racing=racing)


def _changes_of(seat: Seat, starts_at: int) -> list[BoardChange]:
    ended = seat.state not in ("waiting", "racing")
    by_move = ended and bool(seat.played) and seat.ended_at == seat.last_at
    last = len(seat.played)
    changes = [BoardChange(starts_at, seat.number, 0, "racing", elapsed_ms=0)]
    for ply, played in enumerate(seat.played, 1):
        state = seat.state if by_move and ply == last else "racing"
        changes.append(BoardChange(starts_at + played.received_ms, seat.number, ply, state, move=played.move, elapsed_ms=played.at_ms))
    if ended and not by_move:
        changes.append(BoardChange(starts_at + seat.ended_at, seat.number, last, seat.state))
    return changes
