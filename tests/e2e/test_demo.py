"""The demo against the real server: a race over real WebSockets and its record, which the commands check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.commands import Ran, carpet

pytestmark = pytest.mark.slow


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


def test_a_changed_record_is_refused_by_the_players_command_too(record: dict[str, Any], tmp_path: Path) -> None:
    seats = [{**record["seats"][0], "name": "cleo"}, *record["seats"][1:]]
    ran = carpet(tmp_path, "verify", "-", text=json.dumps({**record, "seats": seats}))
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
