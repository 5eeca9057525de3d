"""How a seat ends has one word and one sentence each, and a seat that has not ended has none."""

from __future__ import annotations

from typing import get_args

from client.text.words import SEAT_ENDS, end_word
from protocol.views import SeatState


def test_every_end_of_a_seat_is_told_apart_and_short_enough_for_a_bar() -> None:
    assert set(SEAT_ENDS) == set(get_args(SeatState)) - {"waiting", "racing"}
    assert len({end.word for end in SEAT_ENDS.values()}) == len({end.own for end in SEAT_ENDS.values()}) == len(SEAT_ENDS)
    assert all(len(end.word) <= 8 and len(end.own) <= 77 for end in SEAT_ENDS.values())


def test_a_seat_that_still_races_has_no_end() -> None:
    assert end_word("racing") == end_word("waiting") == ""
