"""A cluster of server processes, and what is done to them while scripted players race: kills, sleeps, polite stops.

Triggers in the database keep a second log of what the servers write: the writer and the commands of each batch, and each race's way from
server to server, all in one order. The log shows whether two servers ever wrote to one race.

Used by `test_cluster.py` for one blow of each kind, and by `tests/bench/cluster_kills.py` for many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import psycopg
import trio

from client.connection.client import NetLink, open_link
from client.connection.errors import LinkError
from client.connection.events import LinkEvent, Lost, RoundTrip
from client.local.policies import POLICIES
from client.local.scripted_player import BotFailed, run_bot
from client.state.store import Model
from protocol.client_messages import JoinRace, OpenRace
from protocol.record import Record
from protocol.room_events import PlayerView, Result
from protocol.server_messages import Error, ServerMessage
from protocol.tournaments import TournamentOptions
from protocol.views import RaceOptions
from protocol.watch_messages import Board, Unwatched, Watched, WatchedEvent, WatchRace
from server.store.connections import brief_reading
from server.store.documents import decode_commands
from server.store.locations import existing
from server.store.maintenance import nodes as all_nodes
from server.tournaments.events import ResultEntered, decode_event
from tests.e2e.crash import Count, Pair, Pauses, check_pairs, kept_records
from tests.e2e.entrants import Entrant, Referee
from tests.e2e.nodes import NodeProcess

PACE_S = 0.25

TRIES = 20
"""How often a player tries before they give up."""

KEEP_LOG = """
CREATE TABLE kept_log (serial BIGSERIAL PRIMARY KEY, node INTEGER NOT NULL, race TEXT, commands BYTEA);
CREATE FUNCTION keep_batch() RETURNS trigger AS $$
    BEGIN INSERT INTO kept_log (node, commands) VALUES (NEW.number >> 40, NEW.commands); RETURN NEW; END $$ LANGUAGE plpgsql;
CREATE FUNCTION keep_owner() RETURNS trigger AS $$
    BEGIN INSERT INTO kept_log (node, race) VALUES (NEW.node, NEW.id); RETURN NEW; END $$ LANGUAGE plpgsql;
CREATE TRIGGER keep_batch AFTER INSERT ON batches FOR EACH ROW WHEN (NEW.writer <> '') EXECUTE FUNCTION keep_batch();
CREATE TRIGGER keep_opened AFTER INSERT ON races FOR EACH ROW EXECUTE FUNCTION keep_owner();
CREATE TRIGGER keep_owner AFTER UPDATE OF node ON races FOR EACH ROW EXECUTE FUNCTION keep_owner()
"""
"""A batch without a writer is a copy, made by a server that takes a race over. A server that writes locks its own row against takeovers, so
the serial numbers are in the order in which things became true.
"""

WATCHES_S = 600
"""How long a spectator waits for a result."""

LATE_S = 60
"""How long a spectator tries to come back when the race is over."""


@dataclass(slots=True, eq=False)
class ClusterPair(Pair):
    """moved_at: Trio's time of the last acknowledged move. longest_s: the longest time between two of them since it was set to 0.

    begun_at: Trio's time. people: its players, including those who came again as somebody new.
    """

    moved_at: float = 0.0
    longest_s: float = 0.0
    begun_at: float = field(default_factory=trio.current_time)
    people: list[Person] = field(default_factory=list)
    is_over: bool = False

    def watch(self, model: Model, event: ServerMessage | LinkEvent) -> None:
        Pair.watch(self, model, event)
        if isinstance(event, PlayerView):
            now = trio.current_time()
            if self.moved_at:
                self.longest_s = max(self.longest_s, now - self.moved_at)
            self.moved_at = now


@dataclass(slots=True, eq=False)
class Person:
    """One scripted player, and what they heard last: a help for finding out why nothing happens."""

    name: str
    pair: ClusterPair
    model: Model = field(default_factory=Model)
    last: str = "nothing yet"
    last_at: float = field(default_factory=trio.current_time)

    def watch(self, model: Model, event: ServerMessage | LinkEvent) -> None:
        self.model = model
        if not isinstance(event, RoundTrip):
            self.last, self.last_at = type(event).__name__, trio.current_time()
            if isinstance(event, Error | Lost):
                self.last += f" ({event.message if isinstance(event, Error) else event.reason})"
        self.pair.watch(model, event)

    @property
    def waits(self) -> str:
        """Where they are, and what they heard last, in one line."""
        room, link = self.model.room, self.model.link
        own = room.own if room is not None else None
        where = f"{room.phase} in {room.code}" if room is not None else "in no room"
        seat = f", {own.state} at ply {own.ply}, ready {own.ready}" if own is not None else ""
        sent = f", sent {self.model.in_flight.move}" if self.model.in_flight is not None else ""
        ago = trio.current_time() - self.last_at
        return f"{self.name}: {where}{seat}{sent}; line {link.state}, try {link.attempt}; heard {self.last} {ago:.0f} s ago"


@dataclass
class Ground:
    """What the races of one run share.

    failures: why players heard no result. setbacks: why players had to come again, as somebody new. is_watched: whether each race has a
    spectator. watchers: how many spectators saw the result. told: how many messages they were sent. blind: those who saw no result.
    """

    place: list[NodeProcess]
    generator: Pauses
    count: Count = field(default_factory=Count)
    pairs: list[ClusterPair] = field(default_factory=list)
    finished: trio.Event = field(default_factory=trio.Event)
    failures: list[str] = field(default_factory=list)
    setbacks: list[str] = field(default_factory=list)
    is_watched: bool = False
    watchers: int = 0
    told: int = 0
    blind: list[str] = field(default_factory=list)

    def racing(self) -> list[ClusterPair]:
        return [pair for pair in self.pairs if pair.moved_at and not pair.records]

    def idle(self, seconds: float) -> list[str]:
        """What each player waits for, in races without a move for this long."""
        now = trio.current_time()
        still = [pair for pair in self.pairs if not pair.is_over and now - max(pair.moved_at, pair.begun_at) > seconds]
        return [f"{pair.room or 'a room that is not open'}: {person.waits}" for pair in still for person in pair.people]

    def begin_blow(self) -> list[ClusterPair]:
        """Start to measure the pauses of the races under way. Returns those races."""
        racing = self.racing()
        for pair in racing:
            pair.longest_s = 0.0
        return racing

    async def recovered(self, racing: list[ClusterPair]) -> None:
        """Wait until all these races have recovered from a blow: each has had a move some time after now."""
        since = trio.current_time() + 1
        with trio.fail_after(60):
            while not all(pair.records or pair.moved_at > since for pair in racing):  # noqa: ASYNC110  (players tell nobody that they moved)
                await trio.sleep(0.1)

    def end_blow(self, racing: list[ClusterPair]) -> list[float]:
        """The longest pause of each race since `begin_blow`, in seconds."""
        now = trio.current_time()
        return [max(pair.longest_s, 0.0 if pair.records else now - pair.moved_at) for pair in racing]

    def finish(self) -> None:
        """No more blows will come."""
        self.finished.set()
        self.generator.hurry()

    async def play(self, races_at_once: int) -> None:
        """Run race after race until `finished`. Returns when the last one has ended."""
        async with trio.open_nursery() as nursery:
            for number in range(races_at_once):
                nursery.start_soon(self._race_on, number)

    def some_url(self) -> str:
        return self.generator.choice([node.url for node in self.place if node.process is not None] or [self.place[0].url])

    async def _race_on(self, number: int) -> None:
        last = False
        while not last:
            last = self.finished.is_set()
            pair = ClusterPair()
            self.pairs.append(pair)
            options = RaceOptions(public=False, countdown_s=1, grace_s=600)
            async with trio.open_nursery() as nursery:
                opens = partial(run_bot, name=f"anna {number}", policy=POLICIES["greedy"], enter=OpenRace(options=options))
                nursery.start_soon(self._play, pair, opens, nursery.cancel_scope)
                await pair.code.wait()
                join = partial(run_bot, name=f"bert {number}", policy=POLICIES["steady"], enter=JoinRace(code=pair.room))
                nursery.start_soon(self._play, pair, join, nursery.cancel_scope)
                if self.is_watched:
                    nursery.start_soon(self._watch, pair)
            pair.is_over = True
            self.count.races += 1

    async def _watch(self, pair: ClusterPair) -> None:
        """Watch a race from any server until its result. A spectator who has not seen it when the players have gets LATE_S to come back."""
        with trio.move_on_after(WATCHES_S) as patience:
            while True:
                with suppress(LinkError):
                    async with open_link(self.some_url(), None, watches=True) as link:
                        # Wait for the welcome: until then the link knows no other server to go to.
                        await link.entered()
                        link.send(WatchRace(code=pair.room))
                        if await self._sees_result(link):
                            self.watchers += 1
                            return
                if pair.records:
                    patience.deadline = min(patience.deadline, trio.current_time() + LATE_S)
                await trio.sleep(0.5)
        self.blind.append(f"{pair.room}: who watched saw no result")

    async def _sees_result(self, link: NetLink) -> bool:
        async for event in link.events:
            self.told += isinstance(event, WatchedEvent | Board)
            match event:
                case WatchedEvent(event=Result()):
                    return True
                case Watched(room=room) if room.phase == "over":
                    return True
                case Unwatched() | Error():
                    return False
                case _:
                    pass
        return False

    async def _play(self, pair: ClusterPair, race: partial[Coroutine[Any, Any, Record]], scope: trio.CancelScope) -> None:
        tries = 0
        while True:
            person = Person(race.keywords["name"], pair)
            pair.people.append(person)
            try:
                # Through any node, so that many come in through another one than the race's.
                record = await race(self.some_url(), pace=PACE_S, generator=self.generator, watch=person.watch)
            except LinkError:
                pair.people.remove(person)
                await trio.sleep(0.2)
            except BotFailed as failure:
                tries += 1
                pair.people.remove(person)
                self.setbacks.append(f"{pair.room}: {race.keywords['name']}: {failure}")
                if not pair.moved_at and person.model.room is not None:
                    # Their seat is kept for the old player, and the opponent would wait for ever: both start again.
                    scope.cancel()
                    return
                if not pair.moved_at and tries < TRIES:
                    # Nothing has begun: the database was down.
                    await trio.sleep(0.5)
                    continue
                self.failures.append(f"{pair.room}: {race.keywords['name']}, after {tries} tries: {failure}")
                self.count.untold += 1
                # Let nobody wait for a room that will never open, or for them.
                scope.cancel()
                return
            else:
                pair.records.append(record)
                return


async def begin_tournament(nursery: trio.Nursery, place: list[NodeProcess], options: TournamentOptions, entrants: list[Entrant]) -> Referee:
    """Begin a tournament whose entrants use the servers in turn. Returns once all have entered and the check-in is open."""
    referee, start = Referee(copies=True), trio.Event()
    nursery.start_soon(referee.direct, place[0].url, options)
    await referee.made.wait()
    for number, entrant in enumerate(entrants):
        entrant.copies = True
        nursery.start_soon(entrant.play, place[number % len(place)].url, referee.identity, start)
    for entrant in entrants:
        await entrant.entered.wait()
    referee.start()
    await referee.until("check-in")
    start.set()
    return referee


async def leader(place: list[NodeProcess], database: str, tournament: str) -> NodeProcess:
    """The server that leads the tournament."""

    def url() -> str:
        with brief_reading(existing(database)) as sql:
            row = sql.row("SELECT url FROM tournaments JOIN nodes ON nodes.id = node WHERE tournaments.id = :id", {"id": tournament})
        assert row is not None
        return str(row.url)

    found = await trio.to_thread.run_sync(url)
    return next(node for node in place if node.url == found)


async def raced_at(place: list[NodeProcess], database: str, tournament: str, *, tables: int) -> NodeProcess | None:
    """One of these servers that has a table of the tournament, as soon as there is one; None if all tables of the round are elsewhere."""
    counted = """
        SELECT url, COUNT(*) AS number FROM races JOIN nodes ON nodes.id = node WHERE deal LIKE :deal AND phase = 'running' GROUP BY url
    """

    def raced() -> dict[str, int]:
        with brief_reading(existing(database)) as sql:
            return {str(row.url): row.number for row in sql.rows(counted, {"deal": f"%{tournament}/%"})}

    found = dict[str, int]()
    with trio.move_on_after(60):
        while sum(found.values()) < tables:
            found = await trio.to_thread.run_sync(raced)
            if node := next((node for node in place if node.url in found), None):
                return node
            await trio.sleep(0.05)
        return None
    raise AssertionError(f"of {tables} tables of {tournament} these are raced: {found}")


def check_tournament(referee: Referee, entrants: list[Entrant], database: str) -> list[str]:
    """What is wrong with a finished tournament. Everything that anybody was told must be in its log, and every result must come from one
    race that was run.
    """
    with brief_reading(existing(database)) as sql:
        rows = sql.rows("SELECT * FROM decisions WHERE tournament = :id ORDER BY sequence", {"id": referee.identity})
        kept = {row.race for row in sql.rows("SELECT race FROM records")}
    wrong = [f"{entrant.name} was told {error.code}: {error.message}" for entrant in entrants for error in entrant.unexpected]
    wrong += referee.went_back
    if [row.sequence for row in rows] != list(range(1, len(rows) + 1)) or not set(referee.log) <= {row.sequence for row in rows}:
        wrong.append(f"{len(rows)} decisions are kept, and {len(referee.log)} were told: {sorted(referee.log)}")
    results = [event for row in rows if isinstance(event := decode_event(row.decision), ResultEntered)]
    tables = Counter((event.round, event.table, event.race) for event in results)
    wrong += [f"round {key[0]}, table {key[1]} has {number} results" for key, number in tables.items() if number > 1]
    wrong += [f"round {event.round}, table {event.table} was forfeited" for event in results if event.result.forfeit]
    races = [event.race_id for event in results if event.race_id]
    wrong += [f"the record of race {race} is lost" for race in set(races) - kept]
    return wrong


def keep_log(database: str) -> None:
    """Log everything that is written to races from now on. The servers must have made their tables."""
    with psycopg.connect(database) as connection:
        connection.execute(KEEP_LOG)


def check_owners(database: str) -> tuple[int, list[str]]:
    """How often a race moved from one server to another, and what was written twice, out of order, or by a server other than its owner."""
    owners: dict[str, int] = {}
    last: dict[str, int] = {}
    wrong: list[str] = []
    moved = 0
    with psycopg.connect(database) as connection:
        for node, race, commands in connection.execute("SELECT node, race, commands FROM kept_log ORDER BY serial"):
            if race is not None:
                moved += owners.get(race, node) != node
                owners[race] = node
                continue
            for name, sequence, _, _ in decode_commands(bytes(commands)):
                race = name.decode()
                if owners.get(race) != node:
                    wrong.append(f"server {node} wrote command {sequence} of race {race}, which was server {owners.get(race)}'s")
                if sequence != last.get(race, 0) + 1:
                    wrong.append(f"race {race}: command {sequence} was written behind command {last.get(race, 0)}")
                last[race] = sequence
    return moved, wrong


async def busiest(place: list[NodeProcess], database: str) -> NodeProcess:
    """The server on which most races run."""
    races = {node.url: node.races for node in await trio.to_thread.run_sync(all_nodes, database)}
    return max(place, key=lambda node: races[node.url])


def check(ground: Ground, database: str) -> None:
    """Check that every acknowledged move is in the one record of its race. All nodes must have stopped."""
    kept = kept_records(database)
    told = [pair for pair in ground.pairs if pair.records]
    check_pairs(told, kept, ground.count)
