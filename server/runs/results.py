"""How the runs of one deal stand to each other: places, how many one beats, days in a row. Pure."""

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
    """A run that has ended. race: its id. home_at_ms, ended_at_ms: from its start."""

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
    """Days in a row, the last one included. runs: with a run. wins: with a run in which every card came home."""

    runs: int = 0
    wins: int = 0


def result_of(record: Record) -> RunResult:
    """Of a run, which has one seat."""
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
    """The board, best first; of those that share a place, who came first in `results`. streaks: by player, of the day of these runs."""
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
    """Of a hundred other runs, how many one at this place beats, rounded down; None where there is no other. as_good: that share it."""
    worse = runs - (place - 1) - as_good
    return 100 * worse // (runs - 1) if runs > 1 else None


@dataclass(frozen=True, slots=True)
class Day:
    """Who has run the deal of a day under one rule set, and who has brought every card home, by id."""

    ran: Collection[str]
    won: Collection[str]


def streak(player: str, days: Sequence[Day]) -> Streak:
    """A player's days in a row. days: from the one that counts backwards, without gaps."""
    runs = next((number for number, day in enumerate(days) if player not in day.ran), len(days))
    wins = next((number for number, day in enumerate(days) if player not in day.won), len(days))
    return Streak(runs, wins)
