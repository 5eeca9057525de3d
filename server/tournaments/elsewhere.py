"""What the servers of one place tell each other about tournaments, twice a second: the state of the tables' rooms, what the leading server
wants of the others (`hosting`), and which entrants are connected where. The truth is in their store; none of this replaces it.

So entrants are called to their tables wherever they are connected, and followers at any server see how the races are going.
"""

from __future__ import annotations

import hmac
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from server.cluster.bus import readable
from server.cluster.loads import Load
from server.rooms.outgoing import Outgoing
from server.tournaments.director import Director
from server.tournaments.hosting import Orders, RoomNews
from server.tournaments.ports import TournamentPorts
from server.tournaments.table_room import call_to
from server.tournaments.views import TableNews


class News(msgspec.Struct, frozen=True):
    """News from one server. tables, orders: by tournament, for those that it leads. rooms: by tournament, for those that another one leads.
    here: connected entrants of unfinished tournaments.
    """

    server: str
    tables: dict[str, tuple[TableNews, ...]]
    here: frozenset[str]
    node: int
    orders: dict[str, Orders] = {}
    rooms: dict[str, tuple[RoomNews, ...]] = {}


_DECODER: Final = msgspec.msgpack.Decoder(News)


class Elsewhere:
    """directors: those of all known tournaments. here: the entrants who are connected to another server. codes: of the rooms of all tables,
    as last told.
    """

    def __init__(self, directors: Mapping[str, Director], ports: TournamentPorts, *, presence_changed: Callable[[], None]) -> None:
        self.here: frozenset[str] = frozenset()
        self.codes: frozenset[str] = frozenset()
        self._id = secrets.token_hex(4)
        self._presence_changed = presence_changed
        self._directors = directors
        self._players = ports.players
        self._clock = ports.clock
        self._node = ports.node
        self._loads = ports.loads
        self._by_node: dict[int, frozenset[str]] = {}
        # The rooms to which entrants here have been called, with the server that reported each: a new server calls again.
        self._called: set[tuple[str, str]] = set()

    def say(self) -> bytes:
        """The news for the other servers; empty if there is no unfinished tournament."""
        now = self._clock.now_ms()
        running = [director for director in self._directors.values() if not director.state.is_closed]
        tables = {director.state.id: news for director in running if director.leads and (news := director.tables.news(director.state, now))}
        entrants = (entrant for director in running for entrant in director.state.crosstable.entrants)
        here = (entrant for entrant in entrants if self._players.connection(entrant) is not None)
        leading = [director for director in running if director.leads and (director.tables.by_table or director.tables.are_elsewhere)]
        orders = {director.state.id: director.tables.orders(director.state) for director in leading}
        followed = (director for director in self._directors.values() if not director.leads)
        rooms = {director.state.id: told for director in followed if (told := director.hosted.news(now))}
        if not running and not rooms:
            return b""
        return msgspec.msgpack.encode(News(self._id, tables, frozenset(here), self._node, orders, rooms))

    def hear(self, texts: Sequence[bytes]) -> None:
        """texts: the last news from each of the other servers."""
        told = readable(texts, _DECODER)
        tables = {identity: (news.server, found) for news in told for identity, found in news.tables.items()}
        called: set[tuple[str, str]] = set()
        for identity, director in self._directors.items():
            server, director.tables_elsewhere = tables.get(identity, ("", ()))
            if director.tables_elsewhere and not director.leads:
                called |= self._call(director, server)
            # Only from the node that leads now: one that was taken for dead may have slept, and speak again.
            orders = next((news.orders.get(identity) for news in told if news.node == director.led_by), None)
            director.hear([room for news in told for room in news.rooms.get(identity, ())], orders)
        self._called = called
        public = {identity for identity, director in self._directors.items() if director.state.options.public}
        led = (table.room.code for identity in public if self._directors[identity].leads for table in self._directors[identity].tables)
        self.codes = frozenset(led).union(table.live.code for identity in public & tables.keys() for table in tables[identity][1])
        self._by_node = {news.node: news.here for news in told}
        here = frozenset[str]().union(*(news.here for news in told))
        if here != self.here:
            self.here = here
            self._presence_changed()

    def call_anew(self) -> None:
        """Call entrants again with the next news, because time has stood still."""
        self._called = set()

    def choose_node(self, players: Sequence[str], asked: Sequence[int]) -> int | None:
        """See `ChooseNode`: the least loaded server. Each of the players who is connected there counts as one room less."""
        loads = self._loads
        if loads is None:
            return None
        about_to = Counter(asked)

        def weight(load: Load) -> float:
            there = self._by_node.get(load.node)
            are_there = sum(player in there if there is not None else self._players.connection(player) is not None for player in players)
            return load.weight + about_to[load.node] - are_there

        own = loads.own()
        others = [load for node, load in loads.others.items() if load.takes and node in self._by_node]
        best = min([*([own] if own.takes or not others else []), *others], key=weight)
        return best.node if best is not own else None

    def directed_table(self, code: str, player: str) -> str | None:
        """The tournament with a table in the room with this code, at any server, if this player directs it and does not play in it."""
        now = self._clock.now_ms()
        directed = [each for each in self._directors.values() if each.state.director == player and player not in each.state.people]
        for each in directed:
            if any(live.code == code for live in each.live(now).values()) or any(room.code == code for room in each.hosted):
                return each.state.id
        return None

    def boards_secret(self, identity: str) -> bytes | None:
        """The secret from which the key to whole boards of its tables follows; the same at all servers of the place."""
        director = self._directors.get(identity)
        return hmac.digest(director.state.root, b"whole boards", "sha256") if director is not None else None

    def _call(self, director: Director, server: str) -> set[tuple[str, str]]:
        """Call the entrants who are here. Gives the rooms for which that is done."""
        done: set[tuple[str, str]] = set()
        for race, live in director.races_elsewhere():
            done.add((server, live.code))
            for entrant in race.pairing.entrants if (server, live.code) not in self._called else ():
                member = self._players.connection(entrant)
                if member is not None:
                    member.post(Outgoing(call_to(race, live, director.state, entrant)))
        return done
