"""Who is in a room: the connections to post to, and the people who have a claim to it, connected or away.

Knows players only by their ids: the race knows who sits where.
"""

from __future__ import annotations

from server.rooms.member import Member


class Members:
    """The members of one room. A house bot has a connection but no claim; a person who lost their connection has a claim but no connection.

    Times are in milliseconds.
    """

    __slots__ = ("_people", "connections", "empty_since", "visited")

    def __init__(self, now: int, *, visited: bool) -> None:
        self.visited = visited
        """Whether any person ever came."""
        self.empty_since: int | None = now
        """Since when no person is connected; None while somebody is."""
        self.connections: dict[str, Member] = {}
        """The connection by which each player is here now; changed only by the methods."""
        self._people: set[str] = set()

    def connection(self, player: str | None) -> Member | None:
        """The connection by which this player is here now, if at all."""
        return self.connections.get(player) if player is not None else None

    def claims(self, player: str) -> bool:
        """Whether this person has come and not left, connected or not."""
        return player in self._people

    def enter(self, player: str, member: Member) -> None:
        """A person is here by this connection, and no longer by an earlier one."""
        self.expect(player)
        self.connections[player] = member
        self.empty_since = None

    def expect(self, player: str) -> None:
        """A person has a claim, even before they connect."""
        self._people.add(player)
        self.visited = True

    def admit(self, bot: str, member: Member) -> None:
        """A house bot is here."""
        self.connections[bot] = member

    def lose(self, player: str, member: Member, now: int) -> bool:
        """This connection is gone. False if it was no longer theirs: they may have come back by another before it was found dead."""
        if self.connections.get(player) is not member:
            return False
        del self.connections[player]
        self._note_emptiness(now)
        return True

    def leave(self, player: str, now: int) -> None:
        """A person gives up their claim."""
        self.connections.pop(player, None)
        self._people.discard(player)
        self._note_emptiness(now)

    def away(self) -> list[str]:
        """Those who have a claim but no connection."""
        return sorted(self._people - self.connections.keys())

    def forget(self, player: str) -> None:
        """Their claim has run out while they were away."""
        self._people.discard(player)

    def _note_emptiness(self, now: int) -> None:
        if self.empty_since is None and not any(player in self._people for player in self.connections):
            self.empty_since = now
