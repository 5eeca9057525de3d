"""What a room has done and not told of yet. The rule of the file: nothing is told before it is kept.

Owns the log of the room's current race (its id in the store, its sequence) and the messages that are held back until the journal has what
they tell of. Must not know who sits where, what was asked, or what a message says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

from protocol.record import Record
from server.race.commands import Command, LeaveSeat, MeasureLine
from server.race.events import RaceEvent
from server.race.machine import Race
from server.rooms.member import Member
from server.rooms.outgoing import Outgoing
from server.rooms.ports import Journal
from server.store.port import CommandTaken, Entry, PlayedSeat, PlayersLeft, RaceAborted, RaceOpened, RaceOver, RunningRace, race_id

Told = TypeVar("Told")

UNIQUE_BYTES = 6
"""Random bytes in a race's id: codes are few enough to come again in the years a store is kept."""


class WriteAhead:
    """For one race after another: `open` or `go_on` first. Times are those of the race's clock, in milliseconds."""

    def __init__(self, journal: Journal, entropy: Callable[[int], bytes]) -> None:
        self._journal = journal
        self._entropy = entropy
        self._race = ""
        self._sequence = 0
        # Once the race is over and kept as such: the seats of those who are in the room still.
        self._here: set[int] = set()
        self._entries: list[Entry] = []
        self._held: list[tuple[Callable[[Any], None], Any]] = []
        self._writing = False

    # ---- what is done

    def new_id(self, room: str, number: int) -> str:
        """An id that no race in the store has."""
        return race_id(room=room, number=number, unique=self._entropy(UNIQUE_BYTES))

    def open(self, opened: RaceOpened) -> None:
        """From now on it is this new race's log: the room of the one before, if there was one, is gone."""
        self.desert()
        self._race = opened.race
        self._sequence = 0
        self._entries.append(opened)

    def go_on(self, running: RunningRace) -> None:
        """It is the log of a race that the journal has already."""
        self._race = running.opened.race
        self._sequence = len(running.commands)

    def stand(self, race: str, *, here: frozenset[int], gone: frozenset[int]) -> None:
        """It is the log of a race that is over, with these seats' players in the room. gone: the journal has these still in it too."""
        self._race = race
        self._here = set(here | gone)
        self._part(gone)

    def take(self, race: Race, command: Command, at_ms: int) -> tuple[RaceEvent, ...]:
        """Give the race a command and note it, if it changed anything; what came of it. Raises Refusal, with nothing changed or noted."""
        was_over = race.phase == "over"
        events = race.apply(command, at_ms)
        # Once there is a record it stands for the race. Afterwards it only matters who is to be brought back with the room.
        if was_over and isinstance(command, LeaveSeat):
            self._part({command.seat})
        # Who leaves a seat that had ended changes nothing in the race, but the next server has to know that he is gone.
        if not was_over and (events or isinstance(command, MeasureLine | LeaveSeat)):
            self._sequence += 1
            self._entries.append(CommandTaken(race=self._race, sequence=self._sequence, at_ms=at_ms, command=command))
        return events

    def close(self, record: Record, *, players: tuple[str | None, ...], here: Iterable[int], at_ms: int) -> None:
        """Note that a race is over: the current one, or one before it. players: the id of each seat's player, None for a house bot.

        here: the seats whose players are in the room; of the current race.
        """
        is_current = record.id == self._race
        if is_current:
            self._here = set(here)
        standing = tuple(sorted(self._here)) if is_current else ()
        self._entries.append(RaceOver(race=record.id, record=record, players=players, at_ms=at_ms, here=standing))

    def desert(self) -> None:
        """Note that nobody is in the room of the current race any more, if that is over."""
        self._part(set(self._here))

    def _part(self, seats: AbstractSet[int]) -> None:
        left = tuple(sorted(seats & self._here))
        self._here -= seats
        if left:
            self._entries.append(PlayersLeft(race=self._race, seats=left))

    def give_up(self, reason: str, *, seats: tuple[PlayedSeat, ...], at_ms: int) -> None:
        """Note that the current race will never have a record."""
        self._entries.append(RaceAborted(race=self._race, reason=reason, at_ms=at_ms, seats=seats))

    async def end(self) -> None:
        """Have what is noted kept, when there is nobody to tell of it any more. Raises StoreError: then it is `unkept`."""
        await self._journal.write(*self._entries)
        self._entries = []

    @property
    def unkept(self) -> tuple[Entry, ...]:
        """What is noted and not kept."""
        return tuple(self._entries)

    # ---- what is told

    def post(self, member: Member, outgoing: Outgoing) -> None:
        """Hold a message back until what was done is kept."""
        self.hold(member.post, outgoing)

    def hold(self, tell: Callable[[Told], None], what: Told) -> None:
        """Hold back anything that tells of what was done. `tell` must not raise."""
        self._held.append((tell, what))

    async def commit(self) -> None:
        """Have what was done kept, then tell of it. Raises StoreError when it could not be: nothing of it is told, then or later."""
        entries, self._entries = self._entries, []
        if entries:
            self._writing = True
            try:
                await self._journal.write(*entries)
            except BaseException:
                # Also when cancelled: whether it was kept is then not known.
                self.discard()
                raise
            finally:
                self._writing = False
        self.deliver()

    def deliver(self) -> None:
        """Tell what is held back, unless something is not kept yet: then it waits with that."""
        if self._writing or self._entries:
            return
        held, self._held = self._held, []
        for tell, what in held:
            tell(what)

    def discard(self) -> None:
        """Neither keep nor tell what has not been."""
        # Whether the race is over for the store too is not known any more.
        self._here.clear()
        self._entries.clear()
        self._held.clear()
