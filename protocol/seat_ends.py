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
    "stalled": SeatEnd("no moves", "has no move left", "You have no move left. The cards you brought home count."),
    "stopped": SeatEnd("stopped", "stopped", "You stopped. The cards you brought home count."),
    "forfeited": SeatEnd("forfeit", "forfeited", "You forfeited this race."),
    "out-of-time": SeatEnd("time up", "ran out of time", "Your time is up."),
}


# Two ends of a seat that the race stopped: neither must sound like its player's choice.
BEATEN: Final = SeatEnd("beaten", "was still racing", "Another player has every card home.")
WALKOVER: Final = SeatEnd("walkover", "wins by walkover", "You win by walkover: everybody else is out.")


def end_among(seat: SeatRecord | HistorySeat | SeatInfo, seats: Sequence[SeatRecord | HistorySeat | SeatInfo]) -> SeatEnd | None:
    """How a seat ended, given all seats of its race; None if it has not."""
    if was_racing(seat, seats):
        return BEATEN
    # Whoever is in a race has no place yet.
    is_first = isinstance(seat, SeatInfo) or seat.place == 1
    is_walkover = seat.state == "stopped" and is_first and {other.state for other in seats if other is not seat} == {"forfeited"}
    return WALKOVER if is_walkover else SEAT_ENDS.get(seat.state)


def word_among(seat: SeatRecord | HistorySeat | SeatInfo, seats: Sequence[SeatRecord | HistorySeat | SeatInfo]) -> str:
    """The word for how a seat ended, given all seats of its race; empty if it has not."""
    end = end_among(seat, seats)
    return end.word if end is not None else ""


def was_racing(seat: SeatRecord | HistorySeat | SeatInfo, seats: Sequence[SeatRecord | HistorySeat | SeatInfo]) -> bool:
    """Whether a seat was stopped by another's win: at that very moment. A win in a swap stops nobody, and they may choose to stop later."""
    return seat.state == "stopped" and any(other.state == "won" and _ended_at(other) == _ended_at(seat) for other in seats)


def _ended_at(seat: SeatRecord | HistorySeat | SeatInfo) -> int:
    return seat.elapsed_ms if isinstance(seat, SeatInfo) else seat.ended_at_ms or 0


def end_word(state: SeatState) -> str:
    """The word for a seat's end; empty if it has not ended."""
    end = SEAT_ENDS.get(state)
    return end.word if end is not None else ""
