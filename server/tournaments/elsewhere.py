"""What the servers of one place tell each other of tournaments, twice a second, beside what their store has: how the rooms of tables stand
at the server that leads, and which entrants are connected where. Nothing here is the truth of anything.

So an entrant is called to their table wherever they are connected, and followers at any server see how the races are going.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from server.lobby.players import Players
from server.rooms.clock import Clock
from server.rooms.outgoing import Outgoing
from server.tournaments.director import Director
from server.tournaments.views import TableNews


class News(msgspec.Struct, frozen=True):
    """Of one server. tables: by tournament, of those that it leads. here: entrants of any that is not over."""

    server: str
    tables: dict[str, tuple[TableNews, ...]]
    here: frozenset[str]


_DECODER: Final = msgspec.msgpack.Decoder(News)


class Elsewhere:
    """directors: of all tournaments that are known. here: who is connected to another server, of the entrants."""

    def __init__(self, directors: Mapping[str, Director], players: Players, clock: Clock, *, presence_changed: Callable[[], None]) -> None:
        self.here: frozenset[str] = frozenset()
        self._id = secrets.token_hex(4)
        self._presence_changed = presence_changed
        self._directors = directors
        self._players = players
        self._clock = clock
        # Which rooms entrants who are here have been called to: by the server that has told of it, too, since it may have died meanwhile.
        self._called: set[tuple[str, str]] = set()

    def say(self) -> bytes:
        """For the others; nothing where no tournament is going on."""
        now = self._clock.now_ms()
        running = [director for director in self._directors.values() if not director.state.is_closed]
        tables = {director.state.id: news for director in running if director.leads and (news := director.news(now))}
        here = (entrant for director in running for entrant in director.state.people if self._players.connection(entrant) is not None)
        return msgspec.msgpack.encode(News(self._id, tables, frozenset(here))) if running else b""

    def hear(self, texts: Sequence[bytes]) -> None:
        """What each of the others has said last."""
        told = [news for text in texts if (news := _read(text)) is not None]
        tables = {identity: (news.server, found) for news in told for identity, found in news.tables.items()}
        called: set[tuple[str, str]] = set()
        for identity, director in self._directors.items():
            server, director.tables_elsewhere = tables.get(identity, ("", ()))
            if director.tables_elsewhere and not director.leads:
                called |= self._call(director, server)
        self._called = called
        here = frozenset[str]().union(*(news.here for news in told))
        if here != self.here:
            self.here = here
            self._presence_changed()

    def _call(self, director: Director, server: str) -> set[tuple[str, str]]:
        """Call those who are here. Gives the rooms to which that has been done."""
        done: set[tuple[str, str]] = set()
        for race, live in director.races_elsewhere():
            done.add((server, live.code))
            for entrant in race.pairing.entrants if (server, live.code) not in self._called else ():
                member = self._players.connection(entrant)
                if member is not None:
                    member.post(Outgoing(director.call_to(race, live, entrant)))
        return done


def _read(text: bytes) -> News | None:
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        # Of a server with another version. Not all that msgspec raises are errors of its own.
        return None
