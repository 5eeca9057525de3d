"""`carpet me` without a terminal: the player at a glance, from a scripted web server and from what is kept here."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from client.connection.events import Identity
from client.storage.bests import BestsStore
from client.storage.identity import IdentityStore
from client.storage.saved_records import keep_record
from protocol.pages import Ladder
from protocol.views import SeatRating
from tests.client import scenes
from tests.client.cli.test_ladder import BEST
from tests.client.cli.test_main import run
from tests.client.cli.test_stats import history
from tests.client.page_server import PageServer, page, problem
from tests.client.text.test_past_races import seat
from tests.client.text.test_statistics import anna, ran

WON = ran(3, anna(1, home=50, rating=SeatRating(before=1100, after=1138)), seat("Ben", 2, home=44)).race


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CARPET_HOME", str(tmp_path))
    return tmp_path


def test_the_last_server_is_asked_and_what_is_kept_here_stands_beside_it(
    capsys: pytest.CaptureFixture[str], server: PageServer, folder: Path
) -> None:
    IdentityStore(folder).keep(server.url, Identity("Anna", "secret"))
    keep_record(folder, scenes.record())
    BestsStore(folder).add(scenes.record(), 0)
    server.script = lambda target: page(msgspec.json.encode(Ladder(players=(BEST,)))) if target.startswith("/ladder") else history(WON)
    told = run(capsys, "me")
    assert (told.status, told.err) == (0, "")
    assert told.out.startswith(f"You are Anna at {server.url.removeprefix('ws://')}.\nRating 1138, place 1 on the ladder: 12 rated races")
    assert "\nrules " in told.out
    assert " best time  most home" in told.out
    assert "+38  Ben (44)\n" in told.out
    assert f"{scenes.record().seats[1].name} ({scenes.record().seats[1].home})" in told.out
    # The token goes into no page's address.
    assert not any("secret" in asked for asked in server.requests)


def test_a_server_that_cannot_answer_is_told_and_what_is_kept_is_shown(
    capsys: pytest.CaptureFixture[str], server: PageServer, folder: Path
) -> None:
    IdentityStore(folder).keep(server.url, Identity("Anna", "secret"))
    keep_record(folder, scenes.record())
    server.says(problem("503 Service Unavailable", "Too busy."))
    told = run(capsys, "me", server.url)
    assert told.status == 0
    assert "says: Too busy. What follows is kept on this machine." in told.out
    assert scenes.record().seats[1].name in told.out


def test_where_one_has_not_been_nobody_is_asked(capsys: pytest.CaptureFixture[str], server: PageServer) -> None:
    told, place = run(capsys, "me", server.url).out, server.url.removeprefix("ws://")
    assert f"You have not been at {place} yet." in told
    assert f" at {place}.\n" not in told, "nobody is anybody there yet"
    assert server.asked == []
    assert "kept on this machine" in run(capsys, "me").out
