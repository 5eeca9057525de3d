"""This server as a node of a cluster: it renews its lease, knows the other nodes, and takes over the races of dead ones."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import trio

from protocol.errors import ErrorCode, Refusal
from protocol.text import counted
from server.cluster.leases import BEAT_S, Watch
from server.cluster.loads import Loads
from server.store.errors import AddressTaken, LeaseLost, StoreError
from server.store.journal import Journal
from server.store.nodes import LEASE_MS, Node
from server.store.takeover import TakenOver

if TYPE_CHECKING:
    # Importing it loads the database library.
    from server.store.shared import SharedStore

logger = logging.getLogger("carpet.cluster")

LEAVING: Final = "leaving"
"""The bus channel on which a node says that it has left. Nodes that hear it look at the leases at once."""

LOOKS_APART_S: Final = 0.1
"""Seconds between two looks at the leases, at least, whatever the bus says."""

ASK_AGAIN_S: Final = 0.25
WAIT_S: Final = 3.0
"""Seconds that a request for a dead node's room waits for another node to take it over. Then the client is asked to try again."""

DOUBTFUL_MS: Final = LEASE_MS - 1_000
"""A node with less than this left of its lease may be gone: nobody is sent there."""

NEWER_S: Final = 10.0
"""Seconds between two looks at a dead node, while there are rooms that only a newer server can take."""

TWIN_S: Final = 3 * LEASE_MS / 1000
"""Seconds after which a lease that is still held must belong to another running server."""

CLOCK_S: Final = 5
"""Seconds by which a server's clock may differ from the database's before it logs a warning."""

NODES_TOLD: Final = 16
"""Other nodes that a client is told of, at most."""

CUT_OFF_LOOKS: Final = round(LEASE_MS / 1000 / BEAT_S)
"""Looks in a row at which a node has failed to renew its lease before it is cut off, unless it hears that the others fail too: after so
many the others have its races. Looks are counted, not seconds, so that a server that stood still itself does not take the engines for gone.
"""

UNHEARD_S: Final = 10.0
"""Seconds for which a node that holds its lease may not be heard before that is logged."""

LETTING_GO_S: Final = 1.0
"""Seconds for telling players that they have to go, when the lease is lost."""


class ClusterNode:
    """Call `join` first; `run` is its one task. url: where players reach this node. loads: how busy this node and the others are."""

    def __init__(self, store: SharedStore, journal: Journal, url: str, loads: Loads) -> None:
        self.url = url
        self.loads = loads
        self._store = store
        self._journal = journal
        self._nodes: tuple[Node, ...] = ()
        self._beating = trio.CancelScope()
        self._is_in_doubt = False
        self._renewals = 0
        self._takes = True
        self._newer: set[str] = set()  # rooms that this version cannot read
        self._looked_at: dict[int, float] = {}  # by dead node
        self._taking = trio.Lock()
        self._hurried = trio.Event()
        self._taken_up = trio.Event()
        self._asks_in_vain = False
        self._unheard: dict[int, float] = {}  # since when, by node; infinity once that is logged

    @property
    def id(self) -> int:
        return self._store.holding.node

    @property
    def others(self) -> tuple[str, ...]:
        """The URLs of the other nodes that are alive, as of the last look."""
        return tuple([node.url for node in self._nodes if node.is_alive and node.url != self.url][:NODES_TOLD])

    @property
    def urls(self) -> tuple[str, ...]:
        """The URLs of all nodes that are alive, as of the last look."""
        return tuple(node.url for node in self._nodes if node.is_alive)

    @property
    def alive(self) -> tuple[int, ...]:
        """The ids of all nodes that are alive, this one among them."""
        return tuple(node.id for node in self._nodes if node.is_alive)

    @property
    def answering(self) -> tuple[int, ...]:
        """The ids of the nodes that have renewed their lease recently, this one among them; the oldest first."""
        return tuple(sorted(node.id for node in self._nodes if node.left_ms >= DOUBTFUL_MS or node.id == self.id))

    def url_of(self, node: int) -> str | None:
        """Where players reach this node; None while it is not alive."""
        return next((each.url for each in self._nodes if each.id == node and each.is_alive), None)

    async def join(self) -> None:
        """Get the lease. An earlier process with this URL may have to lose it first. Raises StoreError."""
        until, is_told = trio.current_time() + TWIN_S, False
        while not await self._journal.tidy(self._store.join, self.url):
            if trio.current_time() >= until:
                raise AddressTaken(
                    f"another carpet-server is at {self.url}: each one of a place needs an address of its own, given by --advertise"
                )
            if not is_told:
                logger.info("waiting up to %d seconds for the lease of an earlier server at %s to end", TWIN_S, self.url)
                is_told = True
            await trio.sleep(1.0)
        await self._renew()
        self._check_clock()
        logger.info("node %d of the place, at %s, with %s", self.id, self.url, counted(len(self.others), "other"))

    def _check_clock(self) -> None:
        """Leases go by the database's clock, but dates, and how long ago something was, go by the server's own."""
        database_s = next(((node.lease_ms - node.left_ms) / 1000 for node in self._nodes if node.id == self.id), time.time())
        ahead_s = round(time.time() - database_s)
        if abs(ahead_s) >= CLOCK_S:
            how = f"{abs(ahead_s)} seconds {'ahead of' if ahead_s > 0 else 'behind'}"
            logger.warning("the clock of this server is %s that of the database: synchronize both over the network", how)

    async def run(self, take_up: Callable[[TakenOver], Awaitable[None]], let_go: Callable[[], None]) -> None:
        """Renew the lease until cancelled. Raises LeaseLost when it is lost.

        take_up: called with what was taken over. let_go: called when the lease is lost, before the exception.
        """
        with self._beating:
            await self._beat(take_up, let_go)

    async def _beat(self, take_up: Callable[[TakenOver], Awaitable[None]], let_go: Callable[[], None]) -> None:
        watch = Watch(trio.current_time())
        while True:
            try:
                await self._renew()
                gone = watch.dead(self._nodes, own=self.id, now=trio.current_time())
                async with self._taking:
                    await self._take_all(gone, take_up)
            except LeaseLost:
                let_go()
                with trio.CancelScope(shield=True):
                    await trio.sleep(LETTING_GO_S)
                raise
            except StoreError as error:
                # A takeover may have been committed, and only its answer lost.
                self._is_in_doubt = True
                # The journal logs this too, and for how long it lasts.
                logger.debug("the lease could not be renewed: %s", error)
            await trio.sleep(LOOKS_APART_S)
            with trio.move_on_after(BEAT_S - LOOKS_APART_S):
                await self._hurried.wait()
            self._hurried = trio.Event()

    def hurry(self) -> None:
        """Look at once which nodes are gone."""
        self._hurried.set()

    async def take_no_more(self) -> None:
        """Take over nothing more, since this node is about to go itself. Returns once no takeover is under way. The lease is kept."""
        self._takes = False
        async with self._taking:
            pass

    async def _take_all(self, gone: Sequence[Node], take_up: Callable[[TakenOver], Awaitable[None]]) -> None:
        if self._is_in_doubt and self._takes:
            taken = await self._journal.tidy(self._store.taken_after_all)
            self._is_in_doubt = False
            if taken is not None:
                await self._take_up(taken, take_up)
        for dead in gone:
            # Most dead nodes are settled after one look. One whose rooms need a newer server is not, and is looked at less often.
            if not self._newer or trio.current_time() - self._looked_at.get(dead.id, -NEWER_S) >= NEWER_S:
                await self._take_over(dead, take_up)

    async def _renew(self) -> None:
        self._asks_in_vain = True
        self._nodes = await self._journal.tidy(self._store.renew)
        self._asks_in_vain = False
        self._renewals += 1

    async def watch_engines(self, directory_answers: Callable[[], bool], cut_off: Callable[[bool], None]) -> None:
        """Say, until cancelled, when this node is cut off from the database, and when it no longer is. Log nodes that it does not hear.

        If the directory shows no other node that reaches the database, this one waits together with them. A node that is full still reaches
        it, and takes races over. A node that knows of no other is never cut off: its clients have nowhere to go.
        """
        was, silent, renewals = False, 0, self._renewals
        while True:
            waits_with_others = directory_answers() and not self.loads.others_write
            silent, renewals = 0 if waits_with_others or renewals != self._renewals else silent + self._asks_in_vain, self._renewals
            now = silent >= CUT_OFF_LOOKS and bool(self.others)
            if now is not was:
                was = now
                cut_off(now)
            self._note_unheard(answers=directory_answers())
            await trio.sleep(BEAT_S)

    def _note_unheard(self, *, answers: bool) -> None:
        """Two nodes that tell each other nothing by a Valkey that answers use two: each would seat players whom the other has seated."""
        now = trio.current_time()
        unheard = {node for node in self.answering if node != self.id and node not in self.loads.others} if answers else set[int]()
        self._unheard = {node: self._unheard.get(node, now) for node in unheard}
        for node, since in self._unheard.items():
            if now >= since + UNHEARD_S:
                self._unheard[node] = math.inf
                why = "give all servers the same --cluster, the number of the database included"
                logger.warning("nothing is heard of node %d, at %s, although it lives: %s", node, self.url_of(node), why)

    async def _take_over(self, dead: Node, take_up: Callable[[TakenOver], Awaitable[None]]) -> None:
        rooms = 0
        while self._takes:
            # This node takes one part of the rooms, and looks again.
            takers = self.loads.takers()
            taken = await self._journal.tidy(self._store.take_over, dead.id, takers, frozenset(self._newer), dead.hung_up)
            if taken is None:
                return
            rooms += len(taken.running.races) + len(taken.standing)
            await self._take_up(taken, take_up)
            if taken.newer:
                self._newer |= taken.newer
                why = "they wait for a server of the newer version that has written to them"
                logger.error("not taken over from node %d: %s: %s", dead.id, counted(len(taken.newer), "room"), why)
            if not taken.left:
                self._looked_at[dead.id] = trio.current_time()
                break
        if rooms:
            level, how = (logging.INFO, "has stopped") if dead.has_left else (logging.WARNING, "is gone")
            logger.log(level, "took over %s of node %d, at %s, which %s", counted(rooms, "room"), dead.id, dead.url, how)

    async def _take_up(self, taken: TakenOver, take_up: Callable[[TakenOver], Awaitable[None]]) -> None:
        """Bring the rooms back, renewing the lease meanwhile: there may be thousands of them."""
        done, failure = trio.Event(), None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._hold_until, done)
            try:
                await take_up(taken)
            except StoreError as error:
                failure = error
            done.set()
        self._taken_up.set()
        self._taken_up = trio.Event()
        if failure is not None:
            raise failure

    async def _hold_until(self, done: trio.Event) -> None:
        while not done.is_set():
            # An error will show again at the next beat.
            with suppress(StoreError):
                await self._renew()
            with trio.move_on_after(BEAT_S):
                await done.wait()

    async def owner(self, code: str, is_here: Callable[[], bool]) -> Node | None:
        """The node that has the room with this code; None once the room is here. Waits while it is being taken over.

        Raises Refusal: `room/no-such-code`; `server/busy` if nobody has taken it over in time, or the database does not answer.
        """
        until = trio.current_time() + WAIT_S
        while not is_here():
            try:
                node = (await self._journal.ask(self._store.find_rooms, (code,))).get(code)
            except StoreError as error:
                # The journal has a warning of its own; here there would be one for each player who wants in.
                logger.debug("cannot find out where room %s is: %s", code, error)
                raise Refusal(ErrorCode.SERVER_BUSY, "the database does not answer", retry_after_ms=1000) from error
            if node is None:
                raise Refusal(ErrorCode.NO_SUCH_ROOM)
            if node.left_ms >= DOUBTFUL_MS and node.id != self.id:
                return node
            if trio.current_time() >= until:
                raise Refusal(ErrorCode.SERVER_BUSY, "the race is being taken over from a server that is gone", retry_after_ms=500)
            if node.is_late:
                self.hurry()
            with trio.move_on_after(ASK_AGAIN_S):
                await self._taken_up.wait()
        return None

    async def heirs(self, codes: Collection[str]) -> dict[str, str]:
        """Those of this node's former rooms with these codes that another node now has, each with that node's URL."""
        try:
            found = await self._journal.ask(self._store.find_rooms, codes)
        except StoreError as error:
            logger.warning("cannot find out which servers have taken over the rooms of this one: %s", error)
            return {}
        return {code: node.url for code, node in found.items() if node.id != self.id and node.is_alive}

    async def knows(self, code: str) -> bool:
        """Whether any node has the room with this code, or a node that is gone had it. Raises StoreError."""
        return code in await self._journal.ask(self._store.find_rooms, (code,))

    async def leave(self) -> None:
        """Let the others have this node's races at once. To be called when nothing is written any more."""
        # Another renewal would take the lease back. One that is under way is finished before `leave` is.
        self._beating.cancel()
        try:
            await self._journal.tidy(self._store.leave)
        except StoreError as error:
            logger.warning("the other nodes have to wait until the lease of this one ends: %s", error)
