"""Runs to draw: in the waiting room, beside ghosts, and afterwards with the deal's board."""

from __future__ import annotations

from msgspec.structs import replace

from client.state.store import Model, ReadySent
from protocol.fairness import commitment
from protocol.record import SeatRecord
from protocol.room_events import Countdown, Dealt, Ended, Ghost, PlayerReady, PlayerView, Room, Started
from protocol.run_messages import RunRow, Runs
from protocol.views import GhostInfo, RaceOptions, RunKind, SharedDeal
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


def over(kind: RunKind = "daily", ghosts: int = 0, runs: int = 3) -> Model:
    """After a run whose record is still sealed."""
    seat = SeatRecord(
        name="Anna", bot=None, round_trip_ms=23, state="stalled", place=1, home=51, plies=111, home_at_ms=134_600, ended_at_ms=144_600
    )
    told = (Ended(version=7 + ghosts, seats=(seat,)), *((board(kind, runs),) if runs else ()))
    return scenes.reduced(racing(kind, ghosts), *told, now_ms=148_000)
