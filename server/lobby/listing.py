"""Keeps track of the open rooms, and counts the running races, so that nobody has to look through all rooms."""

from __future__ import annotations

from itertools import count, islice, zip_longest

from server.rooms.closest_races import LISTED
from server.rooms.driver import Room


class Listing:
    """Knows each room as it was when `changed` was last called with it."""

    def __init__(self) -> None:
        self.open: dict[Room, int] = {}
        """Public rooms that wait and have a free seat, numbered in the order in which they became open."""
        self._by_place: dict[str | None, dict[Room, None]] = {}
        self._numbers = count()
        self._running: set[Room] = set()

    @property
    def running(self) -> int:
        """How many races are in their countdown or running, including those that are not public."""
        return len(self._running)

    def changed(self, room: Room) -> None:
        """This room was opened or closed, or its seats or phase have changed."""
        phase = room.summary.phase if not room.summary.closed else "over"
        if phase in ("countdown", "racing"):
            self._running.add(room)
        else:
            self._running.discard(room)
        if phase == "waiting" and room.options.public and room.summary.has_free_seat:
            if room not in self.open:
                self.open[room] = next(self._numbers)
                self._by_place.setdefault(room.place, {})[room] = None
        elif self.open.pop(room, None) is not None:
            theirs = self._by_place[room.place]
            del theirs[room]
            if not theirs:
                del self._by_place[room.place]

    def longest_open(self) -> list[Room]:
        """The open rooms, longest open first. If there are more than LISTED, each place gets one before any gets two."""
        rows = zip_longest(*islice(self._by_place.values(), LISTED))
        chosen = islice((room for row in rows for room in row if room is not None), LISTED)
        return sorted(chosen, key=self.open.__getitem__)
