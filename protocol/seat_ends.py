"""What the end of a seat is called: one table for bars, lists, screens, sentences and commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from protocol.pages import HistorySeat
from protocol.record import SeatRecord
from protocol.views import SeatInfo, SeatState


class SeatEnd(NamedTuple):
    """word: at most eight letters, for bars and tables. predicate: follows a name. own: tells that seat's player, while others race."""

    word: str
    predicate: str
    own: str


SEAT_ENDS: Final[dict[SeatState, SeatEnd]] = {
    "won": SeatEnd("all home", "brought every card home", "Every card is home!"),
    "stalled": SeatEnd("no moves", "has no move left", "You have no move left. Your cards home count."),
    "stopped": SeatEnd("stopped", "stopped", "You stopped. Your cards home count."),
    "forfeited": SeatEnd("forfeit", "forfeited", "You forfeited this race."),
    "out-of-time": SeatEnd("time up", "ran out of time", "Your time is up."),
}


WALKOVER: Final = "walkover"
BEATEN: Final = "beaten"


def word_among(seat: SeatRecord | HistorySeat, seats: Sequence[SeatRecord | HistorySeat]) -> str:
    """The word for a seat's end, given the other seats of its race. A seat that was stopped must not sound like its player's choice."""
    if was_racing(seat, seats):
        return BEATEN
    # A seat whose opponents forfeited is stopped by its own win.
    is_walkover = seat.state == "stopped" and seat.place == 1 and {other.state for other in seats if other is not seat} == {"forfeited"}
    return WALKOVER if is_walkover else end_word(seat.state)


def was_racing(seat: SeatRecord | HistorySeat | SeatInfo, seats: Sequence[SeatRecord | HistorySeat | SeatInfo]) -> bool:
    """Whether a seat was stopped by another's win."""
    return seat.state == "stopped" and any(other.state == "won" and _ended_at(other) <= _ended_at(seat) for other in seats)


def _ended_at(seat: SeatRecord | HistorySeat | SeatInfo) -> int:
    return seat.elapsed_ms if isinstance(seat, SeatInfo) else seat.ended_at_ms or 0


def end_word(state: SeatState) -> str:
    """The word for a seat's end; empty if it has not ended."""
    end = SEAT_ENDS.get(state)
    return end.word if end is not None else ""
