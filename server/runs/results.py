"""Compares the runs of one deal: places, percentage beaten, days in a row. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct, structs

from protocol.record import Record
from protocol.run_messages import RunRow
from protocol.views import SeatState
from server.race.placing import PlacedSeat, places


class RunResult(Struct, frozen=True, kw_only=True):
    """A run that has ended. race: its id. home_at_ms, ended_at_ms: since its start."""

    race: str
    player: str
    name: str
    state: SeatState
    home: int
    plies: int
    home_at_ms: int
    ended_at_ms: int

    @property
    def standing(self) -> PlacedSeat:
        return PlacedSeat(self.state == "forfeited", self.home, self.home_at_ms)


@dataclass(frozen=True, slots=True)
class Streak:
    """Days in a row up to and including the last. runs: days with a run. wins: days with a run that brought every card home."""

    runs: int = 0
    wins: int = 0


def result_of(record: Record) -> RunResult:
    """The result of a run, which has one seat."""
    (seat,) = record.seats
    return RunResult(
        race=record.id,
        player=seat.player,
        name=seat.name,
        state=seat.state,
        home=seat.home,
        plies=seat.plies,
        home_at_ms=seat.home_at_ms,
        ended_at_ms=seat.ended_at_ms,
    )


def rows(results: Sequence[RunResult], streaks: Mapping[str, Streak]) -> tuple[RunRow, ...]:
    """The board, best first; those who share a place stay in the order of `results`. streaks: by player, up to the day of these runs."""
    placed = sorted(zip(places([result.standing for result in results]), results, strict=True), key=lambda pair: pair[0])
    sharing = Counter(place for place, _ in placed)
    board = []
    for place, result in placed:
        days = streaks.get(result.player, Streak())
        board.append(
            RunRow(
                **structs.asdict(result),
                place=place,
                beats=percentile(len(results), place, sharing[place]),
                days=days.runs,
                days_won=days.wins,
            )
        )
    return tuple(board)


def percentile(runs: int, place: int, as_good: int) -> int | None:
    """The percentage of other runs that one at this place beats, rounded down; None if there are no others. as_good: how many share the
    place."""
    worse = runs - (place - 1) - as_good
    return 100 * worse // (runs - 1) if runs > 1 else None


@dataclass(frozen=True, slots=True)
class Day:
    """The players, by id, who have run the deal of a day under one rule set, and those who brought every card home."""

    ran: Collection[str]
    won: Collection[str]


def streak(player: str, days: Sequence[Day]) -> Streak:
    """A player's days in a row. days: backwards from the day in question, without gaps."""
    runs = next((number for number, day in enumerate(days) if player not in day.ran), len(days))
    wins = next((number for number, day in enumerate(days) if player not in day.won), len(days))
    return Streak(runs, wins)
