"""What the end of a seat is called: one table, for bars, lists, screens and sentences alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from protocol.views import SeatState


class SeatEnd(NamedTuple):
    """word: at most eight letters, for bars and tables. predicate: follows a name. own: to the player of that seat, while others race."""

    word: str
    predicate: str
    own: str


SEAT_ENDS: Final[dict[SeatState, SeatEnd]] = {
    "won": SeatEnd("all home", "brought every card home", "Every card is home!"),
    "stalled": SeatEnd("no moves", "has no move left", "You have no move left. Your cards home count; the others may still be racing."),
    "stopped": SeatEnd("stopped", "stopped", "You stopped. Your cards home count; the others may still be racing."),
    "forfeited": SeatEnd("forfeit", "forfeited", "You forfeited this race."),
    "out-of-time": SeatEnd("time up", "ran out of time", "Your time is up."),
}


WALKOVER: Final = "walkover"


def is_walkover(state: SeatState, *, place: int | None, others: Iterable[SeatState]) -> bool:
    """Whether a seat was stopped by its win: every other seat is forfeited. place: in the race."""
    return state == "stopped" and place == 1 and set(others) == {"forfeited"}


def end_word(state: SeatState) -> str:
    """The word for a seat's end; empty for one that has not ended."""
    end = SEAT_ENDS.get(state)
    return end.word if end is not None else ""
