"""Every way a seat can end has one word and one sentence; a seat that has not ended has none."""

from __future__ import annotations

from typing import get_args

from msgspec.structs import replace

from protocol.seat_ends import BEATEN, SEAT_ENDS, WALKOVER, SeatEnd, end_among, end_word, was_racing, word_among
from protocol.views import SeatState
from tests.client import scenes


def test_every_end_of_a_seat_is_told_apart_and_short_enough_for_a_bar() -> None:
    assert set(SEAT_ENDS) == set(get_args(SeatState)) - {"waiting", "racing"}
    ends = [*SEAT_ENDS.values(), BEATEN, WALKOVER]
    assert len({end.word for end in ends}) == len({end.predicate for end in ends}) == len({end.own for end in ends}) == len(ends)
    assert all(len(end.word) <= 8 and len(end.own) <= 77 for end in ends)


def test_a_seat_that_still_races_has_no_end() -> None:
    assert end_word("racing") == end_word("waiting") == ""


def test_a_seat_that_anothers_win_stopped_has_not_stopped_and_one_that_stopped_at_another_moment_has() -> None:
    first, second = scenes.record().seats
    won, forfeited = replace(first, state="won", ended_at_ms=9_000), replace(first, state="forfeited", place=2)
    before, then = (replace(second, state="stopped", ended_at_ms=at_ms) for at_ms in (8_999, 9_000))
    after = replace(second, state="stopped", ended_at_ms=9_001)
    assert [word_among(seat, (won, seat)) for seat in (before, then, after)] == ["stopped", "beaten", "stopped"]
    alone = replace(then, place=1)
    assert word_among(alone, (forfeited, alone)) == "walkover"
    live = [scenes.seat(number, "Anna", state=state, elapsed_ms=9_000) for number, state in enumerate(("won", "stopped"))]
    assert [was_racing(seat, live) for seat in live] == [False, True]


def test_while_they_race_whom_all_others_have_forfeited_to_has_a_walkover_and_nobody_else_does() -> None:
    def ended(*states: SeatState) -> list[SeatEnd | None]:
        seats = [scenes.seat(number, "Anna", state=state, elapsed_ms=9_000) for number, state in enumerate(states)]
        return [end_among(seat, seats) for seat in seats]

    assert ended("stopped", "forfeited", "forfeited") == [WALKOVER, SEAT_ENDS["forfeited"], SEAT_ENDS["forfeited"]]
    assert ended("stopped", "forfeited", "racing") == [SEAT_ENDS["stopped"], SEAT_ENDS["forfeited"], None]
    assert ended("stopped") == [SEAT_ENDS["stopped"]]
    assert ended("stopped", "stopped") == [SEAT_ENDS["stopped"]] * 2
    assert ended("stopped", "won", "forfeited") == [BEATEN, SEAT_ENDS["won"], SEAT_ENDS["forfeited"]]
