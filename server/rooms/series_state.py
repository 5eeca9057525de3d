"""The series that a room's races belong to, one after another, what was won before them by whom, and the record that is sealed between the
two races of a swap.

`match.series` says what a series is worth and when it is over. Sends nothing and stores nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from protocol.record import Record
from protocol.views import RaceOptions, SeriesInfo
from server.match.series import Series
from server.race.machine import Race
from server.store.answers import StandingRace
from server.store.replay import RunningRoom, replay


class SealedRace(Struct, frozen=True):
    """A race that is over, but of which nobody is told yet. players: the id of each seat's player, None for a house bot."""

    record: Record
    players: tuple[str | None, ...]


class SeriesState:
    """One series at a time; `start_over` begins the next."""

    __slots__ = ("_fresh", "_sealed", "_series", "won")

    def __init__(self, options: RaceOptions, left: RunningRoom | None) -> None:
        """left: what an earlier server left. Raises as `replay` does."""
        self._fresh = Series(options=options.series, seats=options.seats)
        self._series = self._fresh
        self._sealed: SealedRace | None = None
        self.won: tuple[int, ...] = ()
        """What each seat had won before this series, or this race, against the same players; empty if they had met no other time."""
        if left is not None:
            opened = left.running.opened
            self.won = opened.won
            self._series = opened.series or replace(self._fresh, id=opened.race)
            if left.earlier is not None:
                earlier = replay(left.earlier)
                # It may have ended by the passing of time, not by a command.
                earlier.advance(opened.at_ms)
                if earlier.record is None:
                    raise ValueError(f"race {earlier.id} is not over, and the next one of its series runs")
                self._sealed = SealedRace(earlier.record, seated(earlier))

    @classmethod
    def after(cls, standing: StandingRace) -> SeriesState:
        """The state after a room's last race, which ended on an earlier server. Raises ValueError if series and record do not match."""
        opened = standing.opened
        state = cls(opened.options, None)
        state._series = (opened.series or replace(state._fresh, id=opened.race)).raced(standing.record)
        state.won = opened.won
        if state.is_under_way:
            # Whoever left the room later left no series: with those who had left before, it was over.
            state.give_up(standing.gone)
        return state

    # ---- how it stands

    @property
    def info(self) -> SeriesInfo | None:
        """As players are told of it."""
        return self._series.info

    @property
    def is_under_way(self) -> bool:
        return self._series.is_under_way

    @property
    def so_far(self) -> Series | None:
        """What the store keeps with the next race; None for a first one."""
        return self._series if self._series.results else None

    @property
    def secret(self) -> bytes | None:
        """The secret by which the next race is dealt, if it must not be a new one."""
        return bytes.fromhex(self._sealed.record.deal.secret) if self._sealed is not None else None

    @property
    def before(self) -> str | None:
        """The id of the race that was scored last, in a series under way."""
        return (self._series.last or None) if self.is_under_way else None

    # ---- what changes it

    def opened(self, race_id: str) -> None:
        """The next race is open. The series takes the id of its first race."""
        if not self._series.results:
            self._series = replace(self._series, id=race_id)

    def raced(self, race: Race, record: Record) -> None:
        """A race of the series is over."""
        self._series = self._series.raced(record)
        if race.options.swaps and race.sealed:
            self._sealed = SealedRace(record, seated(race))

    def give_up(self, seats: Iterable[int]) -> None:
        """The players of these seats are gone."""
        for seat in seats:
            self._series = self._series.given_up(seat)

    def start_over(self) -> None:
        """Begin another series, with those who are there."""
        if self._series.seats > 1:
            won = self.won or (0,) * self._series.seats
            self.won = tuple(count + (seat == self._series.winner) for seat, count in enumerate(won))
        self._series = self._fresh

    def reveal(self) -> SealedRace | None:
        """Unseal the sealed race, if there is one, and return it."""
        sealed, self._sealed = self._sealed, None
        return sealed


def seated(race: Race) -> tuple[str | None, ...]:
    """The id of each seat's player, None for a house bot."""
    return tuple(seat.player if seat.bot is None else None for seat in race.seats)
