"""Who is in a room: the connections to post to, and the people who have a claim to it, at a connection or away from it.

Knows players by their ids alone: which seat is whose is the race's affair.
"""

from __future__ import annotations

from collections.abc import ItemsView, ValuesView

from server.rooms.member import Member


class Members:
    """A house bot has a connection and no claim; a person whose connection is lost has a claim and no connection. Times are in
    milliseconds.
    """

    def __init__(self, now: int, *, visited: bool) -> None:
        self.visited = visited
        """Whether any person ever came."""
        self.empty_since: int | None = now
        """Since when no person is at a connection; None while somebody is."""
        self._connections: dict[str, Member] = {}
        self._people: set[str] = set()

    def items(self) -> ItemsView[str, Member]:
        """All connections by player."""
        return self._connections.items()

    def values(self) -> ValuesView[Member]:
        """All connections."""
        return self._connections.values()

    def connection(self, player: str | None) -> Member | None:
        """By which this player is here now, if at all."""
        return self._connections.get(player) if player is not None else None

    def claims(self, player: str) -> bool:
        """Whether this person has come and not left, connected or not."""
        return player in self._people

    def enter(self, player: str, member: Member) -> None:
        """A person is here by this connection, and by no earlier one."""
        self.expect(player)
        self._connections[player] = member
        self.empty_since = None

    def expect(self, player: str) -> None:
        """A person has a claim, before they are here by any connection."""
        self._people.add(player)
        self.visited = True

    def admit(self, bot: str, member: Member) -> None:
        """A house bot is here."""
        self._connections[bot] = member

    def lose(self, player: str, member: Member, now: int) -> bool:
        """This connection is gone. False when it was no longer theirs: they may have come back by another before it was seen to be dead."""
        if self._connections.get(player) is not member:
            return False
        del self._connections[player]
        self._note_emptiness(now)
        return True

    def leave(self, player: str, now: int) -> None:
        """A person gives up their claim."""
        self._connections.pop(player, None)
        self._people.discard(player)
        self._note_emptiness(now)

    def away(self) -> list[str]:
        """Those who have a claim and no connection."""
        return sorted(self._people - self._connections.keys())

    def forget(self, player: str) -> None:
        """Their claim has run out while they were away."""
        self._people.discard(player)

    def _note_emptiness(self, now: int) -> None:
        if self.empty_since is None and not any(player in self._people for player in self._connections):
            self.empty_since = now
