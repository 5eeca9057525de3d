"""What a command prints after the screens have closed, and what it goes on to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from client.cli.options import settings_of
from client.cli.running import finish
from client.connection.address import parse_address
from client.connection.events import Identity
from client.storage.identity import IdentityStore
from client.tui.actions import PlayOnWanted
from client.tui.start import AppOutcome, UiSettings
from tests.client import scenes
from tests.client.cli.test_main import run

ADDRESS = parse_address("carpet.example")
JOIN = f"to return to it: carpet join {ADDRESS.url} ABCDEF"
WITHIN = JOIN.replace(":", " within 1 min 30 s:", 1)
KEPT = Path("/kept/race.json")
CHECK = f"{KEPT}; to watch it: carpet replay; to check it: carpet verify"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, ""),
        ({"kept": KEPT}, f"The record of your race is {CHECK}"),
        (
            {"kept": KEPT, "code": "ABCDEF", "grace_s": 90},
            f"Race ABCDEF goes on without you; {WITHIN}\nThe record of the race before is {CHECK}",
        ),
        ({"code": "ABCDEF"}, f"You still have a seat in race ABCDEF; {JOIN}"),
    ],
)
def test_of_a_race_that_goes_on_more_is_said_than_of_the_one_before(
    capsys: pytest.CaptureFixture[str], fields: dict[str, Any], said: str
) -> None:
    finish(AppOutcome("quit", UiSettings(), **fields), ADDRESS)
    assert capsys.readouterr().out.strip() == said


def test_the_way_back_to_a_seat_says_who_holds_it_where_another_player_might_come(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CARPET_HOME", str(tmp_path))
    store, outcome = IdentityStore(tmp_path), AppOutcome("quit", UiSettings(), code="ABCDEF", name="Anna B")
    store.keep(ADDRESS.url, Identity("Anna B", "token 1"))
    finish(outcome, ADDRESS)
    assert capsys.readouterr().out.endswith(f"{JOIN}\n")
    store.keep(ADDRESS.url, Identity("Bert", "token 2"))
    finish(outcome, ADDRESS)
    assert capsys.readouterr().out.endswith(f"{JOIN} --name 'Anna B'\n")


def test_the_bot_and_the_rules_that_were_chosen_are_the_ones_marked_the_next_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CARPET_HOME", str(tmp_path))
    finish(AppOutcome("quit", UiSettings(bot="deep", rules="twenty", by_key=frozenset({"bot", "rules"}))))
    assert (settings_of().bot, settings_of().rules) == ("deep", "twenty")


def test_whoever_would_play_on_does_so_before_the_end(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[tuple[int, int]] = []

    async def play_on(record: object, *, seat: int, ply: int, name: str | None, settings: UiSettings) -> AppOutcome:
        del record, name
        asked.append((seat, ply))
        again = PlayOnWanted(scenes.record(), seat, ply + 1) if ply < 6 else None
        return AppOutcome("quit", settings, play_on=again)

    monkeypatch.setattr("client.local.sitting.play_on", play_on)
    finish(AppOutcome("quit", UiSettings(), kept=KEPT, play_on=PlayOnWanted(scenes.record(), 1, 5)))
    assert asked == [(1, 5), (1, 6)]
    assert CHECK in capsys.readouterr().out


def test_the_command_that_the_player_chose_on_a_screen_follows_the_one_that_showed_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def learnt(*, settings: UiSettings) -> AppOutcome:
        return AppOutcome("quit", settings, kept=KEPT, command=("races", "ftp://here"))

    monkeypatch.setattr("client.cli.screens.need_terminal", lambda *_, **__: None)
    monkeypatch.setattr("client.tui.opening.show", lambda *_: None)
    monkeypatch.setattr("client.local.sitting.learn", learnt)
    ran = run(capsys, "learn")
    assert CHECK in ran.out
    assert (ran.status, "begins with ws:// or wss://" in ran.err) == (2, True)
