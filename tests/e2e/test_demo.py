"""The demo against the real server: a race over real WebSockets, its record, and that no field of it can be changed unnoticed."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from protocol.record import BadRecord, from_json
from server.race.audit import audit
from tests.e2e.commands import Ran, carpet

pytestmark = pytest.mark.slow

Trail = tuple[str | int, ...]


@pytest.fixture(scope="module", params=["random", "tuesday"])
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    named = [] if request.param == "random" else ["--deal", request.param]
    return carpet(tmp_path_factory.mktemp("home"), "demo", "--json", "--fast", *named)


@pytest.fixture(scope="module")
def record(shown: Ran) -> dict[str, Any]:
    assert (shown.status, shown.err) == (0, "")
    document = json.loads(shown.out)
    assert isinstance(document, dict)
    return document


def is_true(document: object) -> bool:
    """What `verify` does, without a process: there are thousands of documents."""
    try:
        audit(from_json(json.dumps(document)))
    except BadRecord:
        return False
    return True


def leaves(document: object, trail: Trail = ()) -> Iterator[tuple[Trail, object]]:
    if isinstance(document, dict):
        for key, value in document.items():
            yield from leaves(value, (*trail, key))
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from leaves(value, (*trail, index))
    else:
        yield trail, document


def others(value: object) -> list[object]:
    """Values that could stand in the place of this one and are not it."""
    match value:
        case int():
            return [value + 1, value - 1, -value - 1]
        case str() if value:
            last = "0" if value[-1] != "0" else "1"
            return [value[:-1] + last, value + "0", value.upper() if value.upper() != value else value.lower() + "x"]
        case _:
            return ["x"]


def changed(document: dict[str, Any], trail: Trail, value: object) -> dict[str, Any]:
    altered = copy.deepcopy(document)
    place: Any = altered
    for step in trail[:-1]:
        place = place[step]
    place[trail[-1]] = value
    return altered


def test_the_record_alone_is_printed_and_tells_of_a_whole_race(record: dict[str, Any]) -> None:
    assert record["rules"] == "carpet"
    assert [seat["name"] for seat in record["seats"]] == ["anna", "bert"]
    assert all(seat["state"] != "racing" for seat in record["seats"])
    assert len(record["moves"]) > 20


def test_verify_accepts_it(shown: Ran, tmp_path: Path) -> None:
    file = tmp_path / "race.json"
    file.write_text(shown.out)
    by_name = carpet(tmp_path, "verify", str(file))
    by_input = carpet(tmp_path, "verify", "-", text=shown.out)
    assert (by_name.status, by_name.err) == (0, "")
    assert by_name.out.startswith("verified: race 1 of ")
    assert by_input.out == by_name.out


def test_verify_rejects_it_when_any_one_field_is_changed(record: dict[str, Any]) -> None:
    assert is_true(record)
    accepted = [
        f"{'.'.join(map(str, trail))}: {value!r} -> {other!r}"
        for trail, value in leaves(record)
        for other in others(value)
        if is_true(changed(record, trail, other))
    ]
    assert accepted == []


def test_verify_rejects_it_when_any_one_field_is_missing(record: dict[str, Any]) -> None:
    for parent in (record, record["deal"], record["seats"][0]):
        for key in list(parent):
            value = parent.pop(key)
            try:
                assert not is_true(record), key
            finally:
                parent[key] = value


def test_verify_rejects_it_when_a_move_is_lost_doubled_or_swapped(record: dict[str, Any]) -> None:
    moves = record["moves"]
    for number in range(len(moves)):
        lost = {**record, "moves": moves[:number] + moves[number + 1 :]}
        doubled = {**record, "moves": [*moves[: number + 1], *moves[number:]]}
        assert not is_true(lost)
        assert not is_true(doubled)
    for number in range(len(moves) - 1):
        swapped = {**record, "moves": [*moves[:number], moves[number + 1], moves[number], *moves[number + 2 :]]}
        # Two turns of the stock within a millisecond are the same line twice.
        assert not is_true(swapped) or moves[number] == moves[number + 1]


def test_a_changed_record_is_refused_by_the_players_command_too(record: dict[str, Any], tmp_path: Path) -> None:
    record = changed(record, ("seats", 0, "name"), "cleo")
    ran = carpet(tmp_path, "verify", "-", text=json.dumps(record))
    assert ran.status == 1
    assert "not a true record" in ran.sentence


def test_the_demo_tells_the_race_in_lines(tmp_path: Path) -> None:
    ran = carpet(tmp_path, "demo", "--fast", "--deal", "tuesday")
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert "at ws://127.0.0.1:" in lines[0]
    assert any("the deal named 'tuesday'" in line for line in lines)
    bars = [line for line in lines if "/52" in line]
    assert bars[0].split() == ["0.0", "s", "anna", "█" + "░" * 19, "4/52", "bert", "█" + "░" * 19, "4/52"]
    assert "Result:" in lines
    assert sum(line.startswith("  ok: ") for line in lines) == 5
    assert not any("WRONG" in line or "not checked" in line for line in lines)
    assert "\x1b" not in ran.out


def test_the_same_name_deals_the_same_cards(tmp_path: Path) -> None:
    first, second = (json.loads(carpet(tmp_path, "demo", "--json", "--fast", "--deal", "friday").out) for _ in range(2))
    assert first["deal"]["seed"] == second["deal"]["seed"]
    assert first["deal"]["commitment"] != second["deal"]["commitment"]
