"""`carpet ladder`: a table for people, a document for programs."""

from __future__ import annotations

import io
import json
import sys

import msgspec
import pytest

from client.cli.races import ladder_lines
from client.connection.address import parse_address
from client.connection.http import NotAPage, fetch_ladder
from protocol.pages import Ladder, LadderPlayer
from tests.client.cli.test_main import run
from tests.client.page_server import PageServer, page, problem

BEST = LadderPlayer(place=1, player="p1", name="Anna", rating=1138, races=12)


def ladder_page(*players: LadderPlayer) -> bytes:
    return page(msgspec.json.encode(Ladder(players=players)))


def test_the_ladder_of_a_server_is_printed(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    server.says(ladder_page(BEST))
    ran = run(capsys, "ladder", server.url, "--limit", "3")
    assert (ran.status, ran.out) == (0, "place  rating  races  player\n    1    1138     12  Anna\n")
    assert server.asked == ["/ladder.json?limit=3"]


def test_as_json_it_is_the_servers_document_and_no_name_can_touch_the_terminal(
    capsys: pytest.CaptureFixture[str], server: PageServer
) -> None:
    enemy = msgspec.structs.replace(BEST, name="\x1b[31mÄnne\x9b")
    server.says(ladder_page(enemy))
    ran = run(capsys, "ladder", server.url, "--json")
    assert ran.status == 0
    assert ran.out.replace("\n", "").isprintable()
    assert json.loads(ran.out) == {"players": [msgspec.to_builtins(enemy)]}


def test_as_json_nothing_is_lost_where_the_terminal_lacks_a_letter(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, server: PageServer
) -> None:
    server.says(ladder_page(msgspec.structs.replace(BEST, name="Zoë 黒")))
    written = io.BytesIO()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="latin-1"))
        ran = run(capsys, "ladder", server.url, "--json")
        sys.stdout.flush()
        shown = written.getvalue()
    assert ran.status == 0
    assert json.loads(shown.decode("ascii"))["players"][0]["name"] == "Zoë 黒"


def test_a_server_that_sends_more_than_was_asked_for_is_cut_short_and_one_that_sends_no_ladder_is_said_to(server: PageServer) -> None:
    address = parse_address(server.url)
    server.says(ladder_page(BEST, BEST, BEST))
    assert fetch_ladder(address, limit=2) == (BEST, BEST)
    server.says(page(b'{"players":[{"place":"first"}]}'))
    with pytest.raises(NotAPage, match="cannot be read"):
        fetch_ladder(address, limit=2)


def test_what_an_older_server_says_is_one_sentence(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    server.says(problem("404 Not Found", "There is nothing here."))
    ran = run(capsys, "ladder", server.url)
    assert ran.status == 1
    assert "There is nothing here." in ran.sentence


def test_the_table_has_places_points_races_and_names() -> None:
    enemy = LadderPlayer(place=2, player="p2", name="\x1b[31mBen\n", rating=927, races=3)
    assert ladder_lines([BEST, enemy]) == [
        "place  rating  races  player",
        "    1    1138     12  Anna",
        "    2     927      3  Ben",
    ]


def test_an_empty_ladder_is_said_in_words() -> None:
    assert ladder_lines([]) == ["Nobody has raced for a rating there yet."]
