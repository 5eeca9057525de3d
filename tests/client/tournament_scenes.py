"""Tournaments to draw and to test with, as messages from the server. Anna is the player; the director is Anna or Grace."""

from __future__ import annotations

from typing import Any

from client.state.store import Model
from protocol.tournament_messages import Called, CheckInDue, Tournament, Tournaments
from protocol.tournaments import (
    LoggedDecision,
    StandingsRow,
    TableResult,
    TournamentEntrant,
    TournamentListing,
    TournamentOptions,
    TournamentRound,
    TournamentSide,
    TournamentTable,
)
from tests.client import scenes

ID = "KWPRTM"
ANNA, GRACE = "p1", "p9"
TIE_BREAKS = ("buchholz", "sonneborn-berger", "direct-encounter", "cards-home")
OPTIONS = TournamentOptions(name="Carpet Open", rounds=9)
WON = TableResult(verdict="first", first_home=52, second_home=31)


def entrant(id_: str, name: str, seed: int, **more: Any) -> TournamentEntrant:
    fields = {"rating": None, "bot": None, "checked_in": False, "withdrawn": False, "here": True, "first_round": 1} | more
    return TournamentEntrant(id=id_, name=name, seed=seed, **fields)


ENTRANTS = (
    entrant("p2", "Benedikt", 1, rating=1204),
    entrant(ANNA, "Anna", 2, rating=1138, checked_in=True),
    entrant("p3", "Clara", 3, rating=988, here=False),
    entrant("bot:greedy:1", "greedy 1", 4, bot="greedy", checked_in=True),
    entrant("p4", "Dan", 5, withdrawn=True),
)


def side(
    entrant_: str | None, name: str, home: int = 0, state: str = "racing", *, present: bool = True, ready: bool = False
) -> TournamentSide:
    return TournamentSide(entrant=entrant_, name=name, present=present, state=state, home=home, ready=ready)  # type: ignore[arg-type]


def table(number: int, first: str, second: str | None, **more: Any) -> TournamentTable:
    fields: dict[str, Any] = {
        "counted": True,
        "match": "",
        "result": None,
        "races": (),
        "race": 1,
        "race_ids": (),
        "code": None,
        "sides": (),
        "elapsed_ms": 0,
        "no_show_ms": None,
    } | more
    return TournamentTable(table=number, first=first, second=second, **fields)


def paired(number: int, *, tables: int = 3, left: int = 0) -> TournamentRound:
    return TournamentRound(
        number=number, commitment="ab" * 32, nonce="cd" * 16, secret=None, tables=tables, open=left, paired_at_ms=1_767_225_100_000
    )


def row(place: int, id_: str, half_points: int, *ties: int, withdrawn: bool = False) -> StandingsRow:
    won, drawn = divmod(half_points, 2)
    home = ties[-1] // 4
    return StandingsRow(
        place=place,
        entrant=id_,
        half_points=half_points,
        tie_breaks=ties,
        won=won,
        drawn=drawn,
        lost=2,
        home=home,
        withdrawn=withdrawn,
    )


STANDINGS = (
    row(1, "p2", 5, 26, 17, 4, 520),
    row(2, ANNA, 4, 30, 16, 4, 488),
    row(2, "bot:greedy:1", 4, 30, 16, 4, 488),
    row(4, "p3", 2, 22, 3, 4, 301),
    row(5, "p4", 1, 18, 2, 4, 96, withdrawn=True),
)


def decision(number: int, kind: str, text: str, author: str = "", reason: str = "") -> LoggedDecision:
    return LoggedDecision(number=number, at_ms=1_767_225_000_000 + 9_000 * number, author=author, kind=kind, text=text, reason=reason)


LOG = (
    decision(1, "enter", "Anna enters.", "Anna"),
    decision(2, "pair", "Round 1 is paired: 2 tables."),
    decision(
        3,
        "correct",
        "Round 1, table 2: Clara wins, 31:28, in place of a draw.",
        "Grace",
        "The line of the hall was down for two minutes.",
    ),
)


def told(phase: str = "registration", **more: Any) -> Tournament:
    fields: dict[str, Any] = {
        "id": ID,
        "options": OPTIONS,
        "by_code": False,
        "director": GRACE,
        "director_name": "Grace",
        "phase_ms": None,
        "made_at_ms": 1_767_225_000_000,
        "commitment": "ef" * 32,
        "entrants": ENTRANTS,
        "rounds": (),
        "round": 0,
        "tables": (),
        "tie_breaks": TIE_BREAKS,
        "standings": (),
        "log": LOG,
        "decisions": len(LOG),
    } | more
    return Tournament(phase=phase, **fields)  # type: ignore[arg-type]


TABLES = (
    table(
        1,
        "p2",
        ANNA,
        code="HKTRWM",
        elapsed_ms=42_000,
        sides=(side("p2", "Benedikt", 31), side(ANNA, "Anna", 18)),
    ),
    table(2, "p3", "bot:greedy:1", result=WON, races=(WON,), race_ids=("HKTRWM-1-0a1b2c3d4e5f",)),
    table(3, "p4", None, code="QWERTZ", no_show_ms=61_000, sides=(side("p4", "Dan", state="waiting", present=False), side(None, "random"))),
)


def running(**more: Any) -> Tournament:
    phase = more.pop("phase", "running")
    return told(phase, **({"rounds": (paired(1), paired(2, left=2)), "round": 2, "tables": TABLES, "standings": STANDINGS} | more))


def called(**more: Any) -> Called:
    fields = {"id": ID, "name": "Carpet Open", "round": 2, "table": 1, "race": 1, "code": scenes.CODE, "opponent": "Benedikt", "bot": None}
    return Called(**(fields | {"until_ms": 120_000} | more))  # type: ignore[arg-type]


def check_in_due(left_ms: int | None = 40_000, **more: Any) -> CheckInDue:
    return CheckInDue(**({"id": ID, "name": "Carpet Open", "commitment": "ef" * 32} | more), left_ms=left_ms)


def large() -> Tournament:
    """Sixty-four entrants with the longest possible names, some in wide letters, in the middle of a round."""
    wide = "カーペット選手権"
    names = [f"{'Maximiliane-Wilhelmine'[: 21 - number % 3]} {number}" if number % 4 else f"{wide}{number}" for number in range(1, 65)]
    entrants = tuple(
        entrant(f"q{number}", name, number, rating=1900 - number, bot="greedy" if number % 5 == 0 else None, checked_in=True)
        for number, name in enumerate(names, 1)
    )
    tables = tuple(
        table(
            number,
            f"q{number}",
            f"q{number + 32}",
            code="HKTRWM",
            elapsed_ms=95_000,
            sides=(side(f"q{number}", names[number - 1], number), side(f"q{number + 32}", names[number + 31], 52 - number)),
        )
        for number in range(1, 33)
    )
    standings = tuple(row(number, f"q{number}", (64 - number) // 4, 200 - number, 101, 4, 4 * 312) for number in range(1, 65))
    return running(
        options=TournamentOptions(name="The Very Long Championship of All Carpets, Twenties and Rugs", rounds=9),
        entrants=entrants,
        tables=tables,
        standings=standings,
        rounds=tuple(paired(number, tables=32, left=32 if number == 7 else 0) for number in range(1, 8)),
        round=7,
    )


LISTING = TournamentListing(
    id=ID,
    name="Carpet Open",
    director="Grace",
    format="swiss",
    rules="carpet",
    phase="registration",
    entrants=5,
    places=64,
    by_code=False,
    round=0,
    made_at_ms=1_767_225_000_000,
)


def listed() -> Tournaments:
    from msgspec.structs import replace

    rug = replace(LISTING, id="PLMNBV", name="Rug knock-out", format="elimination", rules="persian-rug", phase="running", round=3)
    by_code = replace(LISTING, id="ZXCVBN", name="Club evening, with a name that goes on and on for sixty", by_code=True)
    over = replace(LISTING, id="ASDFGH", name="Deals of yesterday", format="session", phase="over", round=5)
    return Tournaments(tournaments=(LISTING, rug, by_code, over), running=3)


def at(tournament: Tournament) -> Model:
    """The player at home, who has been told of the tournament."""
    return scenes.reduced(scenes.at_home(), tournament, now_ms=45_000)
