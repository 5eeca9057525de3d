"""Past races as lines of a table, and as JSON that is safe for a terminal."""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from wcwidth import wcswidth

from client.text.past_races import PastRace, past_race, printable_json, table
from protocol.pages import HistoryRace, HistorySeat
from protocol.record import SeatRecord, sealed
from tests.client.scenes import record

NOW = 1_714_593_600_000  # 2024-05-01 20:00 UTC


def seat(name: str, place: int | None = 1, **more: Any) -> HistorySeat:
    fields: dict[str, Any] = {"player": name, "bot": None, "state": "stopped", "home": 31, "ended_at_ms": 221_900}
    return HistorySeat(**{**fields, "name": name, "place": place, **more})


def raced(*seats: HistorySeat, own: int | None = 0, **more: Any) -> PastRace:
    fields: dict[str, Any] = {"id": "HKTRWM-1-0a1b2c3d4e5f", "room": "HKTRWM", "race": 1, "rules": "carpet", "finished_at_ms": NOW}
    return PastRace(HistoryRace(**{**fields, "aborted": None, "seat": own or 0, "seats": seats, **more}), own)


def test_a_table_tells_of_each_race_in_a_line_and_of_an_aborted_one_why() -> None:
    races = [
        raced(seat("Anna", 2), seat("Benedikt", 1, state="won", home=52)),
        raced(seat("Anna", 1, state="won", home=52, ended_at_ms=9_000), seat("deep", 2, bot="deep"), rules="crazy-quilt"),
        raced(seat("Anna", 1, state="out-of-time", ended_at_ms=3_600_000), own=0),
        raced(seat("Anna", None, state="racing", ended_at_ms=None), seat("Cleo", None), aborted="the server could not go on with it"),
        raced(seat("Anna"), seat("Dan"), own=None, id=""),
    ]
    assert table(races, zone=UTC) == [
        "date       rules       against   place ended    home took  id",
        "2024-05-01 carpet      Benedikt  2/2   beaten   31   3:41  HKTRWM-1-0a1b2c3d4e5f",
        "2024-05-01 crazy-quilt deep      1/2   all home 52   0:09  HKTRWM-1-0a1b2c3d4e5f",
        "2024-05-01 carpet                1/1   time up  31   60:00 HKTRWM-1-0a1b2c3d4e5f",
        "2024-05-01 carpet      Cleo      -     aborted  31   -     HKTRWM-1-0a1b2c3d4e5f",
        "  aborted: the server could not go on with it",
        "2024-05-01 carpet      Anna, Dan -     -        -    -     -",
    ]


def test_names_are_cut_to_what_is_left_of_the_line_and_the_id_never_is() -> None:
    many = raced(seat("Anna"), seat("Bartholomew the Younger"), seat("漢字漢字漢字漢字漢字"), seat("Cleo"), rules="carpet-strategy")
    worst = raced(seat("A", state="forfeited", home=104, ended_at_ms=3_600_000), seat("B"), rules="carpet-strategy")
    for width, cells in ((20, 80), (80, 80), (110, 110)):
        lines = table([many, worst], width=width, zone=UTC)
        assert all(wcswidth(line) <= cells for line in lines)
        assert all(line.endswith(" HKTRWM-1-0a1b2c3d4e5f") for line in lines[1:])
        assert "…" in lines[1]


@pytest.mark.parametrize("at_ms", [-(10**18), 10**17, 10**30])
def test_a_moment_that_is_none_is_left_out(at_ms: int) -> None:
    line = table([raced(seat("Anna", ended_at_ms=at_ms), finished_at_ms=at_ms)], zone=UTC)[1]
    assert line.split() == ["-", "carpet", "1/1", "stopped", "31", "-", "HKTRWM-1-0a1b2c3d4e5f"]


anything = st.text(max_size=40)


@given(name=anything, bot=st.none() | anything, rules=anything, reason=st.none() | anything, id=anything)
def test_nothing_that_a_server_says_is_obeyed_by_a_terminal(name: str, bot: str | None, rules: str, reason: str | None, id: str) -> None:  # noqa: A002  (the field's name)
    race = raced(seat("Anna"), seat(name, bot=bot), rules=rules, aborted=reason, id=id)
    text = "".join(table([race], zone=UTC))
    assert not [character for character in text if unicodedata.category(character)[0] == "C"]


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_for_a_terminal_is_the_same_value(value: Any) -> None:
    shown = printable_json(json.dumps(value, indent=1, ensure_ascii=False))
    assert json.loads(shown) == value
    assert not [character for character in shown if character != "\n" and unicodedata.category(character)[0] == "C"]


def test_a_character_beyond_two_bytes_is_escaped_as_a_pair() -> None:
    assert printable_json('"\x9b31m \u202e \U000e0041 ë 💚"') == '"\\u009b31m \\u202e \\udb40\\udc41 ë 💚"'


# ---- whose seat it is in a record that is kept


def kept(*seats: tuple[str, str, str | None]) -> Any:
    basis = record()
    some: SeatRecord = basis.seats[0]
    return sealed(replace(basis, seats=tuple(replace(some, name=name, player=player, bot=bot) for name, player, bot in seats)))


@pytest.mark.parametrize(
    ("seats", "own"),
    [
        ((("Anna", "7f3a", None), ("Ben", "0001", None)), 0),
        ((("Ben", "0001", None), ("Anna as was", "7f3a", None)), 1),
        ((("Ben", "", None), ("Anna", "", None)), 1),
        ((("Cleo", "", None), ("deep", "", "deep")), 0),
        ((("deep", "", "deep"), ("Anna", "", "Anna")), None),
        ((("Cleo", "", None), ("Dan", "", None)), None),
        ((("Anna", "", None), ("Anna", "", None)), None),
    ],
)
def test_ones_own_seat_is_known_by_player_then_by_name_then_by_being_the_only_person(
    seats: tuple[tuple[str, str, str | None], ...], own: int | None
) -> None:
    past = past_race(kept(*seats), players={"7f3a"}, names={"Anna"})
    assert past.own == own
    assert past.race.finished_at_ms == record().started_at_ms + record().ended_at_ms
    assert [each.name for each in past.race.seats] == [name for name, _, _ in seats]
