"""`carpet races` against a scripted web server: a table for people, the lobby's document for programs."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from client.cli.races import lobby_lines
from protocol.codec import JSON, encode
from protocol.server_messages import Lobby
from protocol.views import OpenRaceInfo, RunningRaceInfo, RunningSeatInfo, SeriesOptions
from tests.client import scenes
from tests.client.cli.test_main import run
from tests.client.page_server import PageServer, page, problem


def test_the_races_of_a_server_are_printed(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    server.says(page(encode(scenes.lobby(), JSON)))
    ran = run(capsys, "races", server.url)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "2 open, 7 running.",
        "code    rules        seats  limit   rated  players",
        "ABCDEF  carpet       1/2    10 min  yes    Benedikt (1204)",
        "QWERTZ  carpet-free  2/4    5 min   no     Clara (988), Dan",
        "code    rules        time  watch  players, cards home",
        "HKTRWM  carpet       1:34  12     31 Émilie, 30 Friðrik",
        "PLMNBV  crazy-quilt  1:34  0      12 Guðrún, 40 Hannes Maximilian, 8 Ingo",
        "4 here: Anna (1138), Benedikt (1204), Clara (988), Dan.",
    ]
    assert server.asked == ["/races.json"]


def test_as_json_it_is_the_servers_document_and_no_name_can_touch_the_terminal(
    capsys: pytest.CaptureFixture[str], server: PageServer
) -> None:
    lobby = replace(scenes.lobby(), players=("\x1b[31mÄnne\x9b", "\u202eb", "c", "d"))
    server.says(page(encode(lobby, JSON)))
    ran = run(capsys, "races", server.url, "--json")
    assert ran.status == 0
    assert ran.out.replace("\n", "").isprintable()
    assert json.loads(ran.out) == json.loads(encode(lobby, JSON))


def test_an_empty_server_is_said_in_words_and_so_is_who_looks_for_an_opponent() -> None:
    lobby = Lobby(players=(), players_here=0, races=(), races_open=0, races_running=0, ratings=(), running=())
    assert lobby_lines(lobby) == ["0 open, 0 running.", "0 here."]
    assert lobby_lines(replace(lobby, seeking=2))[0] == "0 open, 0 running, 2 looking for an opponent (carpet match)."


def test_races_that_are_run_are_listed_with_the_cards_home() -> None:
    seats = (
        RunningSeatInfo(name="Anna", bot=None, state="racing", home=18, rating=None),
        RunningSeatInfo(name="\x1b[1mBen", bot=None, state="won", home=52, rating=None),
    )
    race = RunningRaceInfo(code="ABCDEF", rules="crazy-quilt", seats=seats, watchers=12, elapsed_ms=221_900, time_limit_s=600, delay_s=10)
    lobby = replace(scenes.lobby(), running=(race,))
    assert lobby_lines(lobby)[1:6] == [
        "code    rules        seats  limit   rated  players",
        "ABCDEF  carpet       1/2    10 min  yes    Benedikt (1204)",
        "QWERTZ  carpet-free  2/4    5 min   no     Clara (988), Dan",
        "code    rules        time  watch  players, cards home",
        "ABCDEF  crazy-quilt  3:41  12     18 Anna, 52 Ben",
    ]


def test_what_is_not_listed_is_counted_and_an_enemys_words_are_cleaned() -> None:
    race = OpenRaceInfo(code="\x1b[2JABC", rules="carpet\n", names=("\x1b[31mBen",), seats=2, time_limit_s=600, ratings=(None,))
    lobby = Lobby(players=("Anna\r",), players_here=3, races=(race,), races_open=5, races_running=1, ratings=(None,), running=())
    assert lobby_lines(lobby) == [
        "5 open, 1 running.",
        "code  rules   seats  limit   rated  players",
        "ABC   carpet  1/2    10 min  no     Ben",
        "And 4 more.",
        "3 here: Anna, 2 more.",
    ]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (page(b'{"type":"left","code":"A","reason":"left"}'), "cannot be read"),
        (page(b"<html>"), "cannot be read"),
        (problem("503 Service Unavailable", "Too much to do."), "Too much to do."),
    ],
)
def test_a_server_that_sends_no_lobby_is_one_sentence(
    capsys: pytest.CaptureFixture[str], server: PageServer, answer: bytes, says: str
) -> None:
    server.says(answer)
    ran = run(capsys, "races", server.url)
    assert ran.status == 1
    assert says in ran.sentence


def test_an_open_series_says_so() -> None:
    (first, *others) = scenes.lobby().races
    lobby = replace(scenes.lobby(), races=(replace(first, series=SeriesOptions(format="best-of", races=5)), *others))
    assert lobby_lines(lobby)[2:4] == [
        "ABCDEF  carpet       1/2    10 min  yes    Benedikt (1204)  (best of 5)",
        "QWERTZ  carpet-free  2/4    5 min   no     Clara (988), Dan",
    ]
