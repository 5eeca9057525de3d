"""Runs to draw: in the waiting room, beside ghosts, and afterwards with the deal's board."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from msgspec import structs
from msgspec.structs import replace

from client.state.store import Model, ReadySent
from client.storage.bests import Best
from client.text.past_races import PastRace
from client.text.profile import Profile, Streak
from client.text.profile import profile as profiled
from protocol.fairness import commitment
from protocol.pages import HistoryRace, HistorySeat, LadderPlayer
from protocol.record import SeatRecord
from protocol.room_events import Countdown, Dealt, Ended, Ghost, PlayerReady, PlayerView, Room, Started
from protocol.run_messages import RunRow, Runs
from protocol.views import GhostInfo, RaceOptions, RunKind, SeatRating, SeatState, SharedDeal
from tests.client import scenes

DAY = "2026-11-21"
NAMES = ("Benedikt", "Clara", "Dan", "Émilie", "Friðrik", "Guðrún", "Hannes Maximilian")


def ghost(number: int, **fields: object) -> GhostInfo:
    values: dict[str, object] = {"ghost": number, "name": NAMES[number], "state": "waiting", "ply": 0, "home": 0, "elapsed_ms": 0}
    return GhostInfo(**(values | fields))  # type: ignore[arg-type]


def run_room(kind: RunKind, ghosts: int = 0, **fields: object) -> Room:
    """A run's room before the start."""
    deal = SharedDeal(kind=kind, id=DAY if kind == "daily" else "WUKMRT", nonces=("1b" * 16,))
    options = RaceOptions(seats=1, public=False, rated=False)
    return replace(scenes.room(1, options=options), shared=deal, ghosts=tuple(ghost(number) for number in range(ghosts)), **fields)


def waiting(kind: RunKind = "daily", ghosts: int = 0) -> Model:
    return scenes.reduced(scenes.at_home(), run_room(kind, ghosts))


def waiting_to_play_on() -> Model:
    """The room in which a race is played on from one of its positions."""
    return scenes.reduced(scenes.at_home(), replace(run_room("daily", 1), shared=None))


def racing(kind: RunKind = "daily", ghosts: int = 0) -> Model:
    """42 seconds into a run."""
    model = scenes.reduced(
        waiting(kind, ghosts),
        ReadySent(scenes.NONCES[0]),
        PlayerReady(version=2, seat=0),
        Countdown(version=3, starts_in_ms=3000, round_trips_ms=(23,)),
    )
    model = scenes.reduced(model, Dealt(version=4, seat=0, starts_in_ms=20, view=scenes.first_view()), now_ms=3980)
    model = scenes.reduced(model, Started(version=5), now_ms=4000)
    told = [
        Ghost(
            version=6 + number,
            ghost=ghost(
                number,
                state="stalled" if number == 2 else "racing",
                ply=9 * number + 4,
                home=5 + 6 * number,
                elapsed_ms=30_000 + number * 1000,
            ),
        )
        for number in range(ghosts)
    ]
    own = PlayerView(version=6 + ghosts, seat=0, ply=27, move="b3", state="racing", elapsed_ms=40_000, view=scenes.middle_view())
    return scenes.reduced(model, *told, own, now_ms=46_300)


def row(place: int, name: str, home: int, **fields: object) -> RunRow:
    values: dict[str, object] = {
        "place": place,
        "race": f"HKTRWM-{place}-0a1b2c3d4e5f",
        "player": f"id of {name}",
        "name": name,
        "state": "stopped",
        "home": home,
        "plies": 60 + home,
        "home_at_ms": 120_000 + place * 7_300,
        "ended_at_ms": 130_000 + place * 7_300,
        "beats": None,
    }
    return RunRow(**(values | fields))  # type: ignore[arg-type]


def board(kind: RunKind = "daily", runs: int = 3, **fields: object) -> Runs:
    """A deal's board. Anna is second; the first has every card home."""
    names = [NAMES[0], "Anna", *NAMES[1:], *(f"Runner {number}" for number in range(100))][:runs]

    def days(place: int) -> dict[str, object]:
        return {"days": 12 - place, "days_won": 1 if place == 1 else 0} if kind == "daily" else {}

    rows = tuple(
        row(
            place,
            name,
            53 - place,
            state="won" if place == 1 else "stalled",
            beats=100 * (runs - place) // max(runs - 1, 1) if runs > 1 else None,
            **days(place),
        )
        for place, name in enumerate(names, 1)
    )
    values: dict[str, object] = {
        "kind": kind,
        "id": DAY if kind == "daily" else "WUKMRT",
        "rules": "carpet",
        "runs": runs,
        "shown": True,
        "rows": rows,
        "own": next((each for each in rows if each.name == "Anna"), None),
        "commitment": commitment(scenes.SECRET).hex(),
        "reveals_at_ms": 1_795_306_500_000,
        "secret": None,
    }
    return Runs(**(values | fields))  # type: ignore[arg-type]


def profile() -> Profile:
    """Of Anna, who has raced ten others, lately two in one race, and runs the deals of the day."""

    def raced(number: int, *seats: HistorySeat, **more: Any) -> PastRace:
        id_ = f"HKTRWM-{number}-0a1b2c3d4e5f"
        race = HistoryRace(
            id=id_,
            room="HKTRWM",
            race=number,
            rules="carpet",
            finished_at_ms=1_795_300_000_000 - number * 7_000_000,
            aborted=None,
            seat=0,
            seats=seats,
        )
        return PastRace(structs.replace(race, **more), 0)

    def seat(name: str, place: int, home: int, before: int | None = None, after: int = 0) -> HistorySeat:
        change = SeatRating(before=before, after=after) if before is not None else None
        state: SeatState = "won" if home == 52 else "stopped"
        return HistorySeat(
            player=f"id of {name}",
            name=name,
            bot=None,
            state=state,
            place=place,
            home=home,
            ended_at_ms=144_000 + home * 700,
            rating=change,
        )

    points = (1000, 1138, 1201, 1160, 1140, 1190, 1233, 1290, 1251, 1304)
    told = [
        raced(
            len(points) - at,
            seat("Anna", 1 if after > before else 2, 52 if after > before + 50 else 31, before, after),
            seat(NAMES[at % len(NAMES)], 2 if after > before else 1, 40),
        )
        for at, (before, after) in enumerate(pairwise(points), 1)
    ]
    told += [
        raced(12, seat("Anna", 2, 30), seat("Benedikt", 1, 52), seat("Clara", 3, 12)),
        raced(13, seat("Anna", 1, 20), seat("Dan", 2, 8), aborted="closed by the host"),
        raced(14, seat("Anna", 1, 52), rules="crazy-quilt"),
    ]
    return profiled(
        "Anna",
        "carpet.example",
        told=told,
        ladder=(LadderPlayer(place=4, player="id of Anna", name="Anna", rating=1304, races=len(points) - 1),),
        bests={"carpet": Best(tries=31, wins=12, best_ms=152_400, most_home=52), "crazy-quilt": Best(tries=2, most_home=71)},
        streaks=(Streak("carpet", 5, with_today=True), Streak("crazy-quilt", 2, with_today=False)),
    )


def over(kind: RunKind = "daily", ghosts: int = 0, runs: int = 3) -> Model:
    """After a run whose record is still sealed."""
    seat = SeatRecord(
        name="Anna", bot=None, round_trip_ms=23, state="stalled", place=1, home=51, plies=111, home_at_ms=134_600, ended_at_ms=144_600
    )
    told = (Ended(version=7 + ghosts, seats=(seat,)), *((board(kind, runs),) if runs else ()))
    return scenes.reduced(racing(kind, ghosts), *told, now_ms=148_000)
