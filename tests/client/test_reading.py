"""Clocks, curves, what a click means and what to do next."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from client import reading
from protocol.views import View
from tests.client import scenes


@pytest.mark.parametrize(("ms", "text"), [(0, "0:00.0"), (-5, "0:00.0"), (7_349, "0:07.3"), (760_000, "12:40.0"), (3_723_000, "1:02:03.0")])
def test_clock_text(ms: int, text: str) -> None:
    assert reading.clock_text(ms) == text
    assert reading.clock_text(ms, tenths=False) == text[:-2]


def view(moves: str, **fields: object) -> View:
    return changed(scenes.first_view(), moves=tuple(moves.split()), **fields)


@pytest.mark.parametrize(
    ("position", "place", "moves"),
    [
        (view("b3 s w"), "b3", ("b3",)),
        (view("b3 s w"), "s", ("s",)),
        (view("b3 s w"), "w", ("w",)),
        (view("b3 s w"), "c2", ()),
        (view("s:b3 w:b3", pending="b3"), "w", ("w:b3",)),
        (view("s:b3 w:b3", pending="b3"), "s", ("s:b3",)),
        (view("s:b3 w:b3", pending="b3"), "b3", ("s:b3", "w:b3")),
        (view("s:b3 w:b3", pending="b3"), "c2", ()),
        (view("w:a1 w:c2 s"), "c2", ("w:c2",)),
        (view("w w:a1 w:c2 s"), "w", ("w",)),
        (view("w:a1 w:c2 s"), "w", ("w:a1", "w:c2")),
        (view("b3+ b3- s"), "b3", ("b3+", "b3-")),
        (view("c5:w s"), "c5", ("c5:w",)),
        (view("c5:p4 p4:p7 p4+"), "p4", ("p4+",)),
        (view("r"), "r", ("r",)),
    ],
)
def test_what_a_place_means(position: View, place: str, moves: tuple[str, ...]) -> None:
    assert reading.meant(position, place) == moves


@given(st.sampled_from([scenes.first_view(), scenes.middle_view(), scenes.middle_view(pending=True), view("w:a1 s b3+ b3- c4:w r")]))
def test_every_legal_move_is_reached_by_playing_some_place(position: View) -> None:
    places = [*position.piles, "w", "s", "r"]
    assert {move for place in places for move in reading.meant(position, place)} == set(position.moves)


def test_the_hint_says_what_to_do() -> None:
    own = scenes.seat(0, "Anna", state="racing")
    assert reading.hint(scenes.middle_view(), own) == "3 cards can go home: c1, c2, a3."
    assert reading.hint(scenes.middle_view(pending=True), own).startswith("Fill the gap at c1: w ")
    many = reading.hint(view("a1 a2 a3 a4 b1 b2 b3"), own)
    assert many == "7 cards can go home: a1, b1, a2, b2, a3, b3 and more."  # in ASCII, since it stands on the ASCII screens too
    assert "turn the stock" in reading.hint(view("s"), own)
    assert "redeal" in reading.hint(view("r"), own)
    assert "No move is left" in reading.hint(view(""), own)
    assert "clock starts" in reading.hint(scenes.first_view(), own, racing=False)
    for state in ("won", "stalled", "stopped", "forfeited", "out-of-time"):
        assert reading.hint(scenes.middle_view(), changed(own, state=state)) != reading.hint(scenes.middle_view(), own)


def test_curves_begin_with_what_lay_home_at_the_start_and_end_with_the_result() -> None:
    record = scenes.record()
    lines = reading.curves(record)
    assert len(lines) == 2
    for line, seat in zip(lines, record.seats, strict=True):
        assert line[0] == (0, 4)
        assert line[-1] == (seat.ended_at_ms, seat.home)
        assert [at_ms for at_ms, _ in line] == sorted(at_ms for at_ms, _ in line)


def test_a_seat_without_moves_has_a_flat_curve() -> None:
    record = changed(scenes.record(), moves=())
    assert all(len(line) == 2 for line in reading.curves(record))


def test_the_bell_rings_at_the_start_and_for_the_last_ten_cards_once() -> None:
    assert reading.bell_due(scenes.counting().room, scenes.dealt().room, scenes.RULES)
    assert not reading.bell_due(scenes.dealt().room, scenes.racing().room, scenes.RULES)
    near, nearer = scenes.racing(home=41).room, scenes.racing(home=42).room
    assert reading.bell_due(near, nearer, scenes.RULES)
    assert not reading.bell_due(nearer, scenes.racing(home=43).room, scenes.RULES)
    assert not reading.bell_due(None, nearer, scenes.RULES)
