"""Statistics as people see them: a small history to the letter, and no terminal commands."""

from __future__ import annotations

import unicodedata
from datetime import UTC

from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcswidth

from client.text.past_races import PastRace
from client.text.statistics import statistics
from client.text.statistics_tables import OPPONENTS, statistics_lines
from protocol.pages import HistorySeat
from protocol.views import SeatRating
from tests.client.text.test_past_races import NOW, raced, seat
from tests.client.text.test_statistics import anna, bot, histories, home, ran

DAY_MS = 86_400_000


def lines(races: list[PastRace], *, width: int = 80, ascii_only: bool = False) -> list[str]:
    return statistics_lines(statistics(races), who="Anna", width=width, ascii_only=ascii_only, zone=UTC)


def rated(place: int, home: int, before: int, after: int) -> HistorySeat:
    return anna(place, home=home, rating=SeatRating(before=before, after=after))


SMALL = [
    raced(rated(1, 40, 1000, 1138), seat("Benedikt", 2), finished_at_ms=NOW),
    raced(rated(2, 13, 1138, 1090), seat("Benedikt", 1), finished_at_ms=NOW + DAY_MS, rules="carpet-strategy"),
    raced(home(1, 154_200), bot("deep"), finished_at_ms=NOW + 2 * DAY_MS),
    raced(anna(2, home=26, state="forfeited"), bot("deep", 1), finished_at_ms=NOW + 3 * DAY_MS),
    raced(anna(None), seat("Cleo", None), aborted="the power failed", finished_at_ms=NOW + 4 * DAY_MS),
]


def test_a_small_history_at_80_columns() -> None:
    assert lines(SMALL) == [
        "Anna: 4 races.",
        "Not counted: 1 that was aborted.",
        "",
        "                races  won drawn lost forfeit all home cards most fastest median",
        "all                 4    2     0    2       1        1  32.8   52    2:34   2:34",
        "carpet              3    2     0    1       1        1  39.3   52    2:34   2:34",
        "carpet-strategy     1    0     0    1       0        0  13.0   13       -      -",
        "against people      2    1     0    1       0        0  26.5   40       -      -",
        "against bots        2    1     0    1       1        1  39.0   52    2:34   2:34",
        "",
        "against      met  won drawn lost",
        "deep (bot)     2    1     0    1",
        "Benedikt       2    1     0    1",
        "",
        "Rating 1090 after 2 races that count: 2024-05-01 to 2024-05-02",
        " 1200 │",
        "      │▂▂▂▂",
        "      │████",
        " 1100 │████▆▆▆▆",
        "      │████████",
        "      │████████",
        " 1000 └────────",
        "",
        "Cards home in 4 races: 2024-05-01 to 2024-05-04",
        "   52 │        ████",
        "      │▅▅▅▅    ████",
        "      │████    ████",
        "   26 │████    ████████",
        "      │████▄▄▄▄████████",
        "      │████████████████",
        "    0 └────────────────",
    ]


def test_the_same_in_ascii() -> None:
    assert lines(SMALL, ascii_only=True)[-16:] == [
        " 1200 |",
        "      |....",
        "      |####",
        " 1100 |########",
        "      |########",
        "      |########",
        " 1000 +--------",
        "",
        "Cards home in 4 races: 2024-05-01 to 2024-05-04",
        "   52 |        ####",
        "      |::::    ####",
        "      |####    ####",
        "   26 |####    ########",
        "      |####::::########",
        "      |################",
        "    0 +----------------",
    ]


def test_whoever_has_no_race_is_told_so_and_why() -> None:
    assert lines([]) == ["Anna: no races yet."]
    assert lines([SMALL[-1], raced(anna(1), seat("Anna", 1), own=None)]) == [
        "Anna: no races yet.",
        "Not counted: 1 that was aborted.",
        "Not counted: 1 in which it is not known whose seat is whose.",
    ]


def test_races_alone_are_a_line_of_their_own_and_have_no_opponents() -> None:
    told = lines([raced(anna(1))])
    assert told[0] == "Anna: 1 race."
    assert [line.split()[0] for line in told[3:6]] == ["all", "carpet", "alone"]
    assert not any(line.startswith("against") for line in told)


def test_the_table_has_the_most_frequent_opponents_and_the_chart_the_last_races() -> None:
    told = lines([ran(number, anna(1, home=number % 50), seat(f"Ben{number % 20}", 2)) for number in range(100)])
    assert sum(line.startswith("Ben") for line in told) == OPPONENTS
    assert "Cards home in 100 races, the last 73: 2024-05-01" in told


def test_more_columns_show_more() -> None:
    races = [ran(number, anna(1), seat("Bartholomew the Younger", 2), rules="a-rule-set-of-great-length") for number in range(100)]
    for width, label in ((20, "a-rule-set-of-…"), (80, "a-rule-set-of-…"), (200, "a-rule-set-of-great-leng")):
        told = lines(races, width=width)
        assert sum(line.startswith(f"{label} ") for line in told) == 1
        assert max(map(wcswidth, told)) <= max(width, 80)
    assert "Cards home in 100 races: 2024-05-01" in lines(races, width=200)


anything = st.text(max_size=40)


@given(name=anything, bot=st.none() | anything, rules=anything, figure=st.integers() | st.sampled_from([10**30, -(10**30)]))
def test_nothing_that_a_server_says_is_obeyed_by_a_terminal_or_breaks_a_line(name: str, bot: str | None, rules: str, figure: int) -> None:
    own = anna(figure, home=figure, state="won", ended_at_ms=figure, rating=SeatRating(before=figure, after=figure))
    told = lines([raced(own, seat(name, figure, bot=bot), rules=rules, finished_at_ms=figure)])
    assert not [character for character in "".join(told) if unicodedata.category(character)[0] == "C"]
    assert max(map(wcswidth, told)) <= 80


@given(histories(), st.booleans())
def test_no_history_is_wider_than_the_terminal(races: list[PastRace], ascii_only: bool) -> None:
    told = lines(races, ascii_only=ascii_only)
    assert all(wcswidth(line) <= 80 for line in told)
    if ascii_only:
        assert all(line.isascii() for line in told)
