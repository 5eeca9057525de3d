"""Text charts: what stands where, and how much of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from client.text.chart import AXIS, BLOCKS, chart, shown

FILLED = {" ": 0} | {sign: 1 + number for number, sign in enumerate(BLOCKS[:8])}


def test_columns_stand_on_their_axis_beside_the_scale() -> None:
    assert chart([0, 13, 26, 39, 52], low=0, high=52, width=12, height=4, ascii_only=False) == [
        "   52 │    █",
        "      │   ██",
        "   26 │  ███",
        "      │ ████",
        "    0 └─────",
    ]


def test_few_columns_are_wide_and_in_ascii_a_row_has_thirds() -> None:
    assert chart([950, 1010], low=900, high=1100, width=80, height=4, ascii_only=True) == [
        " 1100 |",
        "      |    ....",
        " 1000 |    ####",
        "      |########",
        "  900 +--------",
    ]
    assert chart([4, 5, 6], low=0, high=6, width=AXIS + 3, height=2, ascii_only=True) == [
        "    6 |.:#",
        "    3 |###",
        "    0 +---",
    ]


def test_the_last_values_are_those_that_are_drawn_where_there_is_no_room_for_all() -> None:
    values = [1, 2, 3, 4, 5, 6, 7, 8]
    assert shown(len(values), AXIS + 3) == 3
    last = chart(values, low=0, high=8, width=AXIS + 3, height=1, ascii_only=False)
    assert last[0] == "    8 │▆▇█"
    assert shown(2, 80) == 2


@given(
    values=st.lists(st.integers(0, 60), min_size=1, max_size=90),
    low=st.integers(-20, 20),
    span=st.integers(1, 60),
    width=st.integers(0, 120),
    height=st.integers(1, 9),
)
def test_a_column_is_as_high_as_its_value_to_the_eighth_of_a_row(values: list[int], low: int, span: int, width: int, height: int) -> None:
    rows = chart(values, low=low, high=low + span, width=width, height=height, ascii_only=False)
    assert len(rows) == height + 1
    assert all(len(row) <= max(width, AXIS + 1) for row in rows)
    drawn = values[-shown(len(values), width) :]
    columns = len(rows[-1]) - AXIS
    across, rest = divmod(columns, len(drawn))
    assert rest == 0
    for number, value in enumerate(drawn):
        eighths = sum(FILLED[row.ljust(len(rows[-1]))[AXIS + number * across]] for row in rows[:-1])
        exact = (min(max(value, low), low + span) - low) * height * 8 / span
        assert exact <= eighths < exact + 1
