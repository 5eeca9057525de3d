"""`carpet stats` against a scripted web server, and against none at all."""

from __future__ import annotations

import io
import json
import sys
import urllib.parse
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from client.cli import past_races
from client.connection.events import Identity
from client.storage.identity import IdentityStore
from client.storage.saved_records import keep_record
from protocol.pages import History, HistoryRace
from protocol.record import sealed
from tests.client.cli.test_main import run
from tests.client.page_server import PageServer, page, problem
from tests.client.scenes import record
from tests.client.text.test_past_races import seat
from tests.client.text.test_statistics import anna, home, ran

RACES = (
    ran(2, home(1, 154_200), seat("Be\x1b[31mn\u202e", 2)).race,
    ran(1, anna(2, home=20), seat("Be\x1b[31mn\u202e", 1)).race,
)


@pytest.fixture
def server(server: PageServer) -> PageServer:
    server.says(history(*RACES))
    return server


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The player's data folder."""
    monkeypatch.setenv("CARPET_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def history(*races: HistoryRace, following: str | None = None) -> bytes:
    return page(msgspec.json.encode(History(player="p", name="Anna", races=races, next=following)))


def test_what_a_players_races_come_to_is_tables_and_a_chart(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    told = run(capsys, "stats", server.url, "--player", " Anna ")
    assert (told.status, told.err) == (0, "")
    head, *_ = told.out.splitlines()
    assert head == f"Anna at {server.url.removeprefix('ws://')}: 2 races."
    assert "\nall                2    1     0    1       0        1  36.0   52    2:34   2:34\n" in told.out
    assert "\nBen         2    1     0    1\n" in told.out
    assert "\nCards home in 2 races: " in told.out
    assert "▁" in told.out or "█" in told.out
    assert not {"\x1b", "\u202e"} & set(told.out)
    assert server.asked == ["/players/Anna/races.json?limit=100"]


def test_ones_own_races_are_those_of_the_name_one_has_there(capsys: pytest.CaptureFixture[str], server: PageServer, folder: Path) -> None:
    assert run(capsys, "stats", server.url).sentence == (
        f"carpet: You have not been at {server.url} yet, so you have no races there; --player NAME shows somebody else's."
    )
    assert server.asked == []
    IdentityStore(folder).keep(server.url, Identity("Anna 2", "token"))
    assert run(capsys, "stats", server.url).status == 0
    assert server.asked == ["/players/Anna%202/races.json?limit=100"]


def test_as_json_it_is_all_that_was_counted_and_harmless_to_a_terminal(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    told = run(capsys, "stats", server.url, "--player", "Anna", "--json")
    document = json.loads(told.out)
    assert (document["player"], document["server"], document["rating"]) == ("Anna", server.url, None)
    assert document["whole"] == {
        "races": 2,
        "won": 1,
        "drawn": 0,
        "lost": 1,
        "alone": 0,
        "forfeited": 0,
        "all_home": 1,
        "cards_mean": 36.0,
        "cards_most": 52,
        "fastest_ms": 154_200,
        "median_ms": 154_200,
    }
    assert document["rules"] == {"carpet": document["whole"]}
    assert [(each["name"], each["met"]) for each in document["opponents"]] == [("Ben", 2)]
    assert [point["value"] for point in document["cards"]] == [20, 52]
    assert not {"\x1b", "\u202e"} & set(told.out)


def test_all_pages_are_counted_up_to_the_most_there_may_be(
    capsys: pytest.CaptureFixture[str], server: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_races, "MOST_COUNTED", 150)
    races = [replace(RACES[0], id=f"HKTRWM-{number}-0a1b2c3d4e5f") for number in range(1, 151)]

    def show(target: str) -> bytes:
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(target).query)
        start = int(query.get("before", ["0"])[0])
        end = start + int(query["limit"][0])
        return history(*races[start:end], following=str(end))

    server.script = show
    told = run(capsys, "stats", server.url, "--player", "Anna")
    assert ": 150 races.\n" in told.out
    assert told.out.splitlines()[-1] == "These are the last 150 races; older ones are left out."
    assert len(server.asked) == 2


def test_a_terminal_without_blocks_gets_a_chart_in_ascii(
    capsys: pytest.CaptureFixture[str], server: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    assert run(capsys, "stats", server.url, "--player", "Zoë").status == 0
    out.seek(0)
    text = out.read()
    assert text.startswith("Zo? at ")
    assert "\n    0 +--------\n" in text
    assert text.isascii()


def test_a_player_without_races_is_said_to_have_none(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    server.says(history())
    place = server.url.removeprefix("ws://")
    assert run(capsys, "stats", server.url, "--player", "Anna").out == f"Anna at {place}: no races yet.\n"
    assert json.loads(run(capsys, "stats", server.url, "--player", "Anna", "--json").out)["whole"]["races"] == 0


def test_without_a_server_the_races_kept_here_are_counted(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert run(capsys, "stats").out == "Kept here: no races yet.\n"
    for number in (1, 2, 3):
        keep_record(folder, sealed(replace(record(), id=f"HKTRWM-{number}-0a1b2c3d4e5f", race=number)))
    name = next(seat.name for seat in record().seats if seat.bot is None)
    assert run(capsys, "stats", "--player", name).out.startswith(f"{name}, kept here: 3 races.\n")
    document = json.loads(run(capsys, "stats", "--player", name, "--json").out)
    assert (document["player"], document["server"], document["whole"]["races"]) == (name, None, 3)
    assert run(capsys, "stats", "--player", "Nobody").out == "Nobody, kept here: no races yet.\n"


def test_a_house_bot_has_no_statistics_here_as_it_has_none_at_a_server(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    one, two = record().seats
    keep_record(
        folder, sealed(replace(record(), id="HKTRWM-1-0a1b2c3d4e5f", seats=(one, replace(two, name="deep", bot="deep", player=""))))
    )
    for command, empty in (("stats", "deep, kept here: no races yet.\n"), ("history", "No races yet.\n")):
        assert run(capsys, command, "--player", "deep").out == empty


def test_what_a_server_refuses_is_one_sentence(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    server.says(problem("404 Not Found", "There is no player with that name."))
    told = run(capsys, "stats", server.url, "--player", "Nobody")
    assert (told.status, told.sentence) == (
        1,
        f"carpet: The server at {server.url.removeprefix('ws://')} says: There is no player with that name.",
    )
