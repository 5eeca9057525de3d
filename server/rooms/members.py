"""Who is in a room: the lines to post to, and the people who have a claim to it, at a line or away from it.

Knows players by their ids alone: which seat is whose is the race's affair.
"""

from __future__ import annotations

from collections.abc import ItemsView, ValuesView

from server.rooms.member import Member


class Members:
    """A house bot has a line and no claim; a person whose line is lost has a claim and no line. Times are in milliseconds."""

    def __init__(self, now: int, *, visited: bool) -> None:
        self.visited = visited
        """Whether any person ever came."""
        self.empty_since: int | None = now
        """Since when no person is at a line; None while somebody is."""
        self._lines: dict[str, Member] = {}
        self._people: set[str] = set()

    def items(self) -> ItemsView[str, Member]:
        """All lines by player."""
        return self._lines.items()

    def values(self) -> ValuesView[Member]:
        """All lines."""
        return self._lines.values()

    def line(self, player: str | None) -> Member | None:
        """By which this player is here now, if at all."""
        return self._lines.get(player) if player is not None else None

    def claims(self, player: str) -> bool:
        """Whether this person has come and not left, connected or not."""
        return player in self._people

    def enter(self, player: str, member: Member) -> None:
        """A person is here by this line, and by no earlier one."""
        self.expect(player)
        self._lines[player] = member
        self.empty_since = None

    def expect(self, player: str) -> None:
        """A person has a claim, before they are here by any line."""
        self._people.add(player)
        self.visited = True

    def admit(self, bot: str, member: Member) -> None:
        """A house bot is here."""
        self._lines[bot] = member

    def lose(self, player: str, member: Member, now: int) -> bool:
        """This line is gone. False when it was no longer theirs: they may have come back by another before it was seen to be dead."""
        if self._lines.get(player) is not member:
            return False
        del self._lines[player]
        self._note_emptiness(now)
        return True

    def leave(self, player: str, now: int) -> None:
        """A person gives up their claim."""
        self._lines.pop(player, None)
        self._people.discard(player)
        self._note_emptiness(now)

    def away(self) -> list[str]:
        """Those who have a claim and no line."""
        return sorted(self._people - self._lines.keys())

    def forget(self, player: str) -> None:
        """Their claim has run out while they were away."""
        self._people.discard(player)

    def _note_emptiness(self, now: int) -> None:
        if self.empty_since is None and not any(player in self._people for player in self._lines):
            self.empty_since = now
