"""Writes a room's races to the journal: each race's opening, its commands in sequence, its end, and who is in the room after it.

Must not know who is told of them, nor when an entry is safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet

from protocol.record import Record
from server.race.commands import Command, LeaveSeat, MeasureConnection, OtherCommand, PassTime
from server.race.events import RaceEvent, SeatDealt
from server.race.machine import Race
from server.rooms.effects import Draft
from server.store.answers import RunningRace
from server.store.port import CommandTaken, PlayedSeat, PlayersLeft, RaceAborted, RaceOpened, RaceOver, race_id

MARK_MS = 10_000
"""While a race is run, or waits for its players, the time is noted after this long without a command. After a crash the race goes on from
its last note: time since then counts against nobody."""

UNIQUE_BYTES = 6
"""Random bytes in a race's id: codes are so few that they recur in the years for which a store is kept."""


class RaceLog:
    """The log of one race after another: call `open`, `resume` or `stand` first. Times are by the race's clock, in milliseconds."""

    __slots__ = ("_draft", "_entropy", "_here", "_noted_at", "_race", "_sequence")

    def __init__(self, draft: Draft, entropy: Callable[[int], bytes]) -> None:
        self._draft = draft
        self._entropy = entropy
        self._race = ""
        self._sequence = 0
        self._noted_at = 0
        # Once the race is over and kept: the seats whose players are still in the room.
        self._here: set[int] = set()

    def new_id(self, room: str, number: int) -> str:
        """An id that no race in the store has."""
        return race_id(room=room, number=number, unique=self._entropy(UNIQUE_BYTES))

    def open(self, opened: RaceOpened) -> None:
        """Begin the log of a new race; the room of the race before it, if any, is noted as deserted."""
        self.desert()
        self._race = opened.race
        self._sequence = 0
        self._noted_at = opened.at_ms
        self._draft.effects.entries.append(opened)

    def resume(self, running: RunningRace) -> None:
        """Continue the log of a race that the journal already has."""
        self._race = running.opened.race
        self._sequence = len(running.commands)

    def stand(self, race: str, *, here: frozenset[int], gone: frozenset[int]) -> None:
        """Continue the log of a race that is over. here: seats whose players are in the room. gone: those only the journal has there."""
        self._race = race
        self._here = set(here | gone)
        self._part(gone)

    def take(self, race: Race, command: OtherCommand, at_ms: int) -> tuple[RaceEvent, ...]:
        """Give the race a command, note it if it changed anything, and return the events. Raises Refusal, with nothing changed or noted."""
        was_over = race.phase == "over"
        events = race.apply(command, at_ms)
        if was_over:
            # The record now stands for the race. All that matters is who is brought back with the room.
            if isinstance(command, LeaveSeat):
                self._part({command.seat})
        # Leaving a seat that has ended changes nothing in the race, but the next server has to know of it.
        elif events or isinstance(command, MeasureConnection | LeaveSeat):
            self.note(command, at_ms)
        return events

    def pass_time(self, race: Race, at_ms: int) -> tuple[RaceEvent, ...]:
        """Do what is due by now and return the events. Notes the time if anything was due, or nothing has been noted for MARK_MS."""
        was_over = race.phase == "over"
        events = race.advance(at_ms)
        # Dealing to a seat follows from the start already set.
        happened = bool(events) and not all(isinstance(event, SeatDealt) for event in events)
        if not was_over and (happened or (_counts_time(race) and at_ms >= self._noted_at + MARK_MS)):
            self.note(PassTime(), at_ms)
        return events

    def note_time(self, race: Race, at_ms: int) -> None:
        """Note the time, if any is passing in this race."""
        if race.phase == "countdown" or _counts_time(race):
            self.note(PassTime(), at_ms)

    def due(self, race: Race) -> int | None:
        """When the time has to be noted, if nothing else is noted before."""
        return self._noted_at + MARK_MS if _counts_time(race) else None

    def note(self, command: Command, at_ms: int) -> None:
        """The race has taken a command."""
        self._sequence += 1
        self._noted_at = at_ms
        self._draft.effects.entries.append(CommandTaken(race=self._race, sequence=self._sequence, at_ms=at_ms, command=command))

    def close(self, record: Record, *, players: tuple[str | None, ...], here: Iterable[int], at_ms: int) -> None:
        """Note that a race is over: the current one, or one before it. players: the id of each seat's player, None for a house bot.

        here: the seats of the current race whose players are in the room.
        """
        is_current = record.id == self._race
        if is_current:
            self._here = set(here)
        standing = tuple(sorted(self._here)) if is_current else ()
        gone = tuple(seat for seat, player in enumerate(players) if player is not None and seat not in self._here) if is_current else ()
        self._draft.effects.entries.append(RaceOver(race=record.id, record=record, players=players, at_ms=at_ms, here=standing, gone=gone))

    def desert(self) -> None:
        """If the current race is over, note that nobody is in its room any more."""
        self._part(set(self._here))

    def _part(self, seats: AbstractSet[int]) -> None:
        left = tuple(sorted(seats & self._here))
        self._here -= seats
        if left:
            self._draft.effects.entries.append(PlayersLeft(race=self._race, seats=left))

    def note_given_up(self, race: str, *, seats: Iterable[int]) -> None:
        """Note that the players of these seats gave a series up after this race of it."""
        self._draft.effects.entries.append(PlayersLeft(race=race, seats=tuple(seats), gave_up=True))

    def give_up(self, reason: str, *, seats: tuple[PlayedSeat, ...], at_ms: int) -> None:
        """Note that the current race will never have a record."""
        self._draft.effects.entries.append(RaceAborted(race=self._race, reason=reason, at_ms=at_ms, seats=seats))

    def forget(self) -> None:
        """Something could not be kept, so it is no longer known whether the race is over in the store too."""
        self._here.clear()


def _counts_time(race: Race) -> bool:
    """Whether it matters how much time has passed: during the race, and while those who are called to it may still come."""
    return race.phase == "racing" or (race.phase == "waiting" and race.held)
