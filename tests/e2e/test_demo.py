"""The demo against the real server: a race over real WebSockets and its record, which the commands check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.commands import Ran, carpet

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> list[Ran]:
    """Of a random deal, and twice of one with a name."""
    home = tmp_path_factory.mktemp("home")
    return [carpet(home, "demo", "--json", "--fast", *named) for named in ([], ["--deal", "friday"], ["--deal", "friday"])]


def test_the_record_alone_is_printed_and_tells_of_a_whole_race(shown: list[Ran]) -> None:
    for ran in shown:
        assert (ran.status, ran.err) == (0, "")
        record = json.loads(ran.out)
        assert record["rules"] == "carpet"
        assert [seat["name"] for seat in record["seats"]] == ["anna", "bert"]
        assert all(seat["state"] != "racing" for seat in record["seats"])
        assert len(record["moves"]) > 20


def test_verify_accepts_it_by_its_name_and_by_input(shown: list[Ran], tmp_path: Path) -> None:
    file = tmp_path / "race.json"
    file.write_text(shown[0].out)
    for ran in (carpet(tmp_path, "verify", str(file)), carpet(tmp_path, "verify", "-", text=shown[1].out)):
        assert (ran.status, ran.err) == (0, "")
        assert ran.out.startswith("verified: race 1 of ")


def test_a_changed_record_is_refused_by_the_players_command_too(shown: list[Ran], tmp_path: Path) -> None:
    record = json.loads(shown[0].out)
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


def test_the_same_name_deals_the_same_cards(shown: list[Ran]) -> None:
    first, second = (json.loads(ran.out)["deal"] for ran in shown[1:])
    assert first["seed"] == second["seed"]
    assert first["commitment"] != second["commitment"]
