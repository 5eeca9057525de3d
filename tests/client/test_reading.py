"""Clocks, curves and the bell."""

from __future__ import annotations

import pytest
from msgspec.structs import replace as changed

from client import reading
from client.model import RoomModel
from protocol.server_messages import Progress
from tests.client import scenes, tables


@pytest.mark.parametrize(("ms", "text"), [(0, "0:00.0"), (-5, "0:00.0"), (7_349, "0:07.3"), (760_000, "12:40.0"), (3_723_000, "1:02:03.0")])
def test_clock_text(ms: int, text: str) -> None:
    assert reading.clock_text(ms) == text
    assert reading.clock_text(ms, tenths=False) == text[:-2]


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


def test_of_two_decks_the_last_ten_cards_begin_at_94() -> None:
    view = tables.view_after("colorado", 30)
    before = tables.racing_at("colorado", view)

    def at(home: int) -> RoomModel | None:
        progress = Progress(version=2, seat=1, ply=9, home=home, foundations={}, state="racing", elapsed_ms=9)
        return scenes.reduced(before, progress).room

    assert not reading.bell_due(before.room, at(93), scenes.RULES)
    assert reading.bell_due(before.room, at(94), scenes.RULES)
    assert before.room is not None
    assert reading.deck_size(scenes.RULES, before.room.options) == 104
