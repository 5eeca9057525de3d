"""Whatever well-formed pages a server sends, the commands print lines of text, or one sentence: no traceback, no escape sequences."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from client.connection import http
from client.connection.address import Address
from protocol.pages import History, HistoryRace, HistorySeat, Ladder, LadderPlayer
from protocol.run_messages import ChallengeInfo, Challenges, Dailies, DailyDeal
from protocol.tournaments import EntrantDocument, RoundDocument, TableDocument, TournamentDocument, TournamentsDocument
from tests.client import runs, scenes, tournament_scenes
from tests.client.cli.test_main import run
from tests.client.hostile import Server
from tests.client.tournament_scenes import ID

URL = "ws://carpet.example"
AT_MS = 1_767_225_000_000
SEAT = HistorySeat(player="p1", name="Anna", bot=None, state="won", place=1, home=52, ended_at_ms=60_000)
RACE = HistoryRace(
    id="HKTRWM-1-0a1b2c3d4e5f",
    room="HKTRWM",
    race=1,
    rules="carpet",
    finished_at_ms=AT_MS,
    aborted=None,
    seat=0,
    seats=(SEAT, SEAT),
)
DAY = DailyDeal(date="2026-01-01", commitment="ab" * 32, made_at_ms=AT_MS, reveals_at_ms=AT_MS, secret=None)
CHALLENGE = ChallengeInfo(
    id="WUKMRT",
    owner="Anna",
    rules="carpet",
    time_limit_s=600,
    public=True,
    commitment="ab" * 32,
    made_at_ms=AT_MS,
    closes_at_ms=AT_MS,
    reveals_at_ms=AT_MS,
    runs=3,
    ran=False,
)
ENTRANT = EntrantDocument(id="p1", name="Anna", seed=1, rating=None, bot=None, nonce=None, withdrawn=False, first_round=1)
TABLE = TableDocument(table=1, first="p1", second="p2", counted=True, match="W1-1", result=None, races=(), race_ids=())
ROUND = RoundDocument(
    number=1, commitment="ab" * 32, nonces=("ab" * 16,), nonce="ab" * 16, secret=None, paired_at_ms=AT_MS, tables=(TABLE, TABLE)
)
TOURNAMENT = TournamentDocument(
    format=1,
    id=ID,
    options=tournament_scenes.OPTIONS,
    by_code=False,
    director="Grace",
    phase="running",
    made_at_ms=AT_MS,
    commitment="ef" * 32,
    entrants=(ENTRANT, msgspec.structs.replace(ENTRANT, id="p2")),
    rounds=(ROUND,),
    tie_breaks=tournament_scenes.TIE_BREAKS,
    standings=tournament_scenes.STANDINGS,
    log=tournament_scenes.LOG,
)
PAGES: dict[str, Any] = {
    "/races.json": scenes.lobby(),
    "/ladder.json": Ladder(players=(LadderPlayer(place=1, player="p1", name="Anna", rating=1138, races=2),) * 2),
    "/daily.json": Dailies(now_ms=AT_MS, days=(DAY, DAY)),
    "/daily/": runs.board(),
    "/challenges.json": Challenges(now_ms=AT_MS, challenges=(CHALLENGE,)),
    "/challenges/": runs.board("challenge"),
    "/tournaments.json": TournamentsDocument(tournaments=tournament_scenes.listed().tournaments),
    "/tournaments/": TOURNAMENT,
    "/players/": History(player="p1", name="Anna", next=None, races=(RACE, RACE)),
}
COMMANDS = (
    f"races {URL}",
    f"ladder {URL}",
    f"daily verify {URL}",
    f"daily board {URL}",
    f"challenge list {URL}",
    f"challenge board {URL} WUKMRT",
    f"tournament list {URL}",
    f"tournament tables {URL} {ID}",
    f"tournament standings {URL} {ID}",
    f"history {URL} --player Anna",
    f"stats {URL} Anna",
)


@pytest.mark.parametrize("command", COMMANDS)
# Each of many commands has examples of its own.
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=settings().max_examples // 2)
@given(seed=st.integers(0, 2**32 - 1))
def test_whatever_a_page_says_is_printed_as_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str, seed: int
) -> None:
    server = Server(random.Random(seed))

    def fetch(address: Address, path: str) -> bytes:
        page = next(page for start, page in PAGES.items() if path.startswith(start))
        return msgspec.json.encode(server.like(page))

    monkeypatch.setattr(http, "fetch", fetch)
    ran = run(capsys, *command.split())
    assert ran.status in (0, 1)
    assert all(line.isprintable() for line in (ran.out + ran.err).split("\n"))
    assert ran.out or ran.err.count("\n") == 1
