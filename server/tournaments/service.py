"""All tournaments of the server, by id: makes them, resumes them after a restart, finds old ones in the store, passes commands on.

Owns the nursery of their tasks, and knows nothing of what happens inside one. If several servers form one place, each knows all tournaments
by looking into the store twice a second, and leads those that were made there or that it has taken over.
"""

from __future__ import annotations

import logging
from collections import ChainMap
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Final

import trio

from protocol.errors import ErrorCode, Refusal
from protocol.record import Record
from protocol.text import read_code
from protocol.tournament_messages import CreateTournament, Decided, FollowTournament
from protocol.tournament_messages import Tournaments as TournamentsMessage
from protocol.tournaments import TournamentDocument, TournamentListing, is_tournament_id
from protocol.watch_messages import AskBoardsKey, BoardsKey
from server.rooms.driver import Room
from server.rooms.member import Member, PlayerName
from server.rooms.outgoing import Outgoing, refused
from server.store.errors import EntryRefused, StoreError
from server.store.port import TournamentMade, TournamentRemoved
from server.tournaments.commands import AskedCommand, Asker, TournamentCommand
from server.tournaments.director import Director
from server.tournaments.documents import state_of
from server.tournaments.elsewhere import Elsewhere
from server.tournaments.events import BadTournamentLog
from server.tournaments.listings import Listings
from server.tournaments.making import Maker
from server.tournaments.ports import TournamentPorts
from server.tournaments.state import STAGE_SENTENCES, TournamentState
from server.tournaments.subscriptions import Subscriptions
from server.tournaments.views import document

logger = logging.getLogger("carpet.tournaments")

OLD_LISTED: Final = 20
"""How many finished tournaments of earlier servers are listed."""

OLD_KEPT: Final = 50
"""How many finished tournaments stay in memory; more only if they are followed."""

DECISIONS_LOOK_S: Final = 0.5
"""Seconds between two looks at what other servers have decided."""

LOOKED_UP_AT_ONCE: Final = 2
LOOKED_UP_WAITING: Final = 32
"""Ids that may wait to be looked up in the store. When full, the asker is refused with `server/busy`."""


class TournamentService:
    """`run` is its only task, and owns all the others."""

    def __init__(self, ports: TournamentPorts) -> None:
        self.beside = ports.beside
        self._running: dict[str, Director] = {}  # each with a task
        self._old: dict[str, Director] = {}  # over, with nothing left to do; without a task
        self._directors = ChainMap(self._running, self._old)
        self._listings = Listings(self._running)
        self._documents: dict[str, tuple[TournamentState, TournamentDocument]] = {}  # as last requested
        self._looking_up = trio.CapacityLimiter(LOOKED_UP_AT_ONCE)
        self._stopping = False
        self._scope = trio.CancelScope()
        self._nursery: trio.Nursery
        self._to_lead: set[str] = set()  # to be led as soon as they are known
        self._unreadable: set[str] = set()
        self.subscriptions = Subscriptions(
            listed=self._listed,
            players=ports.players,
            clock=ports.clock,
            beside=ports.beside,
            here_elsewhere=lambda: self.elsewhere.here,
        )
        presence_changed = self.subscriptions.presence_changed
        self.elsewhere = Elsewhere(self._directors, ports, presence_changed=presence_changed)
        self._ports = ports
        self._maker = Maker(ports, self._running)
        ports.rooms.on_over.append(self._race_over)
        ports.rooms.on_room_change.append(self._room_changed)
        ports.rooms.on_outage.append(self.subscriptions.cannot_write)
        ports.rooms.on_clocks_right += (self.subscriptions.tell_anew, self._call_anew)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run until cancelled or `stop`. Started once the last server's tournaments are back; raises StoreError if they cannot be read."""
        with self._scope:
            async with trio.open_nursery() as self._nursery:
                await self._come_back()
                self._nursery.start_soon(self.subscriptions.run)
                if self._ports.is_shared:
                    self._nursery.start_soon(self._follow_others)
                task_status.started()
                await trio.sleep_forever()

    def stop(self) -> None:
        """Decide nothing more; the next server enters what happens from now on."""
        self._stopping = True
        self._scope.cancel()

    def take_up(self, tournaments: Iterable[str]) -> None:
        """Lead these tournaments; their rooms are already here."""
        self._to_lead.update(tournaments)
        self._nursery.start_soon(self._finish_taken)

    async def _finish_taken(self) -> None:
        try:
            await self._finish_rooms()
        except StoreError as error:
            logger.error("rooms of tournaments that are over stay as they were left: %s", error)

    async def _finish_rooms(self) -> None:
        """See to the rooms here whose tournament is over: an earlier server may have died before it ended them or told their secrets.

        Raises StoreError.
        """
        here = {room.spec.tournament for room in self._ports.rooms if room.spec is not None}
        for identity in here - self._running.keys():
            found = await self._find(identity)
            if found is not None and found.state.is_closed:
                director = self._director(found.state, leads=False)
                director.lead()
                self._nursery.start_soon(director.run, name=f"rooms of tournament {identity}")

    async def _come_back(self) -> None:
        store, ask = self._ports.store, self._ports.journal.ask
        await self._look(leads_its_own=True)
        await self._finish_rooms()
        old = [await self._read(made) for made in await ask(partial(store.tournaments, closed=True, limit=OLD_LISTED))]
        self._listings.add_old(state for state in old if state is not None)

    async def _follow_others(self) -> None:
        while True:
            await trio.sleep(DECISIONS_LOOK_S)
            try:
                await self._look()
            except StoreError as error:
                logger.debug("what other servers have decided cannot be read: %s", error)

    async def _look(self, *, leads_its_own: bool = False) -> None:
        """Bring what is known of all tournaments up to the store."""
        known, followed = dict(self._directors), self.subscriptions.followed()
        also = [identity for identity, director in known.items() if not director.state.is_closed or director in followed]
        heads = {head.tournament: head for head in await self._ports.journal.ask(self._ports.store.tournament_heads, also)}
        for head in heads.values():
            if head.tournament in self._unreadable:
                continue
            director = known.get(head.tournament)
            if director is not None:
                director.hear_who_leads(head.node)
            if leads_its_own and head.is_led_here:
                self._to_lead.add(head.tournament)
            if director is None:
                if await self._find(head.tournament) is None:
                    self._unreadable.add(head.tournament)
            elif head.decisions > len(director.state.log):
                await self._let_catch_up(director)
            if head.tournament in self._to_lead and head.tournament in self._running:
                self._running[head.tournament].lead()
                self._to_lead.discard(head.tournament)
        for identity in also:
            if identity not in heads:
                self._forget(known[identity])

    async def _let_catch_up(self, director: Director) -> None:
        if director.state.id in self._running:
            director.fall_behind()
        else:
            await self._catch_up(director)
            self.subscriptions.changed(director)

    async def _catch_up(self, director: Director) -> None:
        """Catch up as far as this version can read, since a newer server of the place may have decided something. Raises StoreError."""
        identity = director.state.id
        if identity not in self._unreadable:
            try:
                await director.catch_up()
            except BadTournamentLog as error:
                logger.error("tournament %s cannot be updated, and is shown as it was: %s", identity, error)
                self._unreadable.add(identity)

    async def _read(self, made: TournamentMade) -> TournamentState | None:
        log = await self._ports.journal.ask(self._ports.store.tournament_log, made.tournament)
        try:
            return await self._ports.beside(partial(state_of, made, log))
        except BadTournamentLog as error:
            logger.error("tournament %s cannot go on: %s", made.tournament, error)
            return None

    # ---- what the server's host asks for

    def states(self, *, led_here: bool = False) -> list[TournamentState]:
        """The states of all that run, and of the finished ones in memory; newest first. led_here: only of those that run here."""
        found = (director.state for director in self._directors.values() if director.leads or not led_here)
        return sorted(found, key=lambda state: (-state.made_at_ms, state.id))

    async def end(self, identity: str, reason: str) -> None:
        """Call it off, even during races. Returns when that is stored. Raises ValueError with a sentence, StoreError."""
        director = await self._known(identity)
        if director.state.is_closed:
            raise ValueError(f"it is {director.state.stage} already")
        await director.end(reason)

    async def hand_over(self, identity: str, player: PlayerName) -> None:
        """Have another player direct it. Returns when that is stored. Raises ValueError with a sentence, StoreError."""
        director = await self._known(identity)
        if director.state.is_closed:
            raise ValueError(STAGE_SENTENCES[director.state.stage])
        if director.state.director == player.id:
            raise ValueError(f"{player.name} directs it already")
        await director.hand_over(player)

    def withdraw(self, player: str, reason: str) -> None:
        """Withdraw a banned player from the tournaments that this server leads; other servers hear of the ban too."""
        for director in self._running.values():
            director.withdraw(player, reason)

    async def remove(self, identity: str, reason: str) -> None:
        """The same, and then remove it. Only before its first round, because records depend on what follows."""
        director = await self._known(identity)
        if director.state.round:
            raise ValueError("a round of it was paired, so its results stand; it can be ended")
        if not director.state.is_closed:
            await director.end(reason)
        # Check again: its director may have been quicker.
        if director.state.round:
            raise ValueError("a round of it was paired, so its results stand; it is ended")
        # If it is refused, it has been removed already, for somebody who did not wait for the answer.
        with suppress(EntryRefused):
            await self._ports.journal.write(TournamentRemoved(tournament=director.state.id))
        self._forget(director)

    def _forget(self, director: Director) -> None:
        director.stop()
        for known in (self._running, self._old, self._documents):
            known.pop(director.state.id, None)
        self._listings.forget(director.state.id)
        self.subscriptions.removed(director)

    async def _known(self, identity: str) -> Director:
        director = await self._find(read_code(identity))
        if director is None:
            raise ValueError(f"there is no tournament {identity}")
        return director

    def _start(self, state: TournamentState, *, leads: bool) -> Director:
        director = self._running.get(state.id)
        if director is None:
            director = self._director(state, leads=leads)
            self._run_soon(director)
        elif leads:
            # It was seen in the store before the answer reached the task that made it.
            director.lead()
        return director

    def _director(self, state: TournamentState, *, leads: bool) -> Director:
        return Director(state, self._ports, self.subscriptions.changed, self.elsewhere.choose_node, leads=leads)

    def _run_soon(self, director: Director) -> None:
        self._running[director.state.id] = director
        self._nursery.start_soon(self._run, director, name=f"tournament {director.state.id}")

    async def _run(self, director: Director) -> None:
        await director.run()
        if not director.is_removed:
            self._retire(director)

    def _retire(self, director: Director) -> None:
        """It is over: keep it for a while without a task, and its entry in the list."""
        del self._running[director.state.id]
        self._keep_old(director)
        self._listings.add_old([director.state])

    # ---- commands and followers

    def ask(self, member: Member, asker: Asker, message: TournamentCommand | CreateTournament) -> None:
        """Have a command carried out; `member` gets the answer. Raises Refusal."""
        if self._stopping:
            raise Refusal(ErrorCode.SERVER_STOPPING)
        if isinstance(message, CreateTournament):
            self._nursery.start_soon(self._make, member, asker, self._maker.admit(asker, message))
            return
        self._pass_on(read_code(message.id), AskedCommand(member, asker, message))

    def give_boards_key(self, tournament: str, member: Member, asker: Asker, message: AskBoardsKey, key: BoardsKey) -> None:
        """Give the director the key as soon as the log, which everybody can read, says that they have it. Raises Refusal."""
        if self._stopping:
            raise Refusal(ErrorCode.SERVER_STOPPING)
        self._pass_on(tournament, AskedCommand(member, asker, message, key))

    def _pass_on(self, identity: str, asked: AskedCommand) -> None:
        director = self._running.get(identity)
        if director is not None:
            director.ask(asked)
        else:
            self._check_lookup(identity)
            self._nursery.start_soon(self._ask_old, identity, asked)

    def follow(self, member: Member, message: FollowTournament, start_soon: Callable[..., None]) -> None:
        """Follow a tournament, or stop. start_soon: for tasks that end with the member's connection. Raises Refusal."""
        if not message.follow:
            self.subscriptions.unfollow(member)
            return
        identity = read_code(message.id)
        director = self._directors.get(identity)
        if director is not None:
            self.subscriptions.follow(member, director, message.round, ref=message.ref)
        else:
            self._check_lookup(identity)
            start_soon(self._follow_old, member, identity, message)

    def greet(self, player: str, member: Member) -> None:
        """A player has connected: tell them about the table that waits for them, if any."""
        for director in self._running.values():
            for call in director.calls_of(player):
                member.post(Outgoing(call))

    def _call_anew(self) -> None:
        """Time has stood still, so the remaining time in the last calls is wrong: call again."""
        self.elsewhere.call_anew()
        for director in self._running.values():
            if director.leads:
                director.tables.call_anew(director.state)

    def is_told(self, identity: str, player: str) -> bool:
        """Whether it is no secret that there is a tournament with this id: it is listed, or the player directs it or has entered it."""
        identity = read_code(identity)
        director = self._directors.get(identity)
        if director is None:
            return any(listed.id == identity for listed in self.listings())
        state = director.state
        return state.options.public or player == state.director or player in state.people

    async def document(self, identity: str) -> TournamentDocument | None:
        """The document of a whole tournament; None if it does not exist. Raises StoreError."""
        director = await self._find(identity)
        if director is None:
            return None
        if self._ports.is_shared and director.state.is_closed:
            # A closed tournament is not kept up to date otherwise.
            await self._catch_up(director)
        state, made = self._documents.get(identity, (None, None))
        if made is None or state is not director.state:
            state = director.state
            made = await self._ports.beside(partial(document, state))
            if len(self._documents) >= OLD_KEPT:
                self._documents.clear()
            self._documents[identity] = state, made
        return made

    def listings(self) -> tuple[TournamentListing, ...]:
        """The public tournaments, as `Listings.told` has them."""
        return self._listings.told()

    def _listed(self) -> TournamentsMessage:
        return TournamentsMessage(tournaments=self.listings(), running=self._maker.unfinished)

    # ---- making one

    async def _make(self, member: Member, asker: Asker, message: CreateTournament) -> None:
        try:
            made = await self._maker.make(asker, message)
        except StoreError as error:
            logger.error("a tournament cannot be saved: %s", error)
            member.post(refused(Refusal(ErrorCode.NOT_KEPT), message.ref))
            return
        director = self._start(state_of(made, ()), leads=True)
        self.subscriptions.changed(director)
        member.post(Outgoing(Decided(id=made.tournament, number=0, ref=message.ref)))

    # ---- tournaments that are over

    def _check_lookup(self, identity: str) -> None:
        if not is_tournament_id(identity):
            raise Refusal(ErrorCode.NO_SUCH_TOURNAMENT, path="$.id")
        if self._looking_up.statistics().tasks_waiting >= LOOKED_UP_WAITING:
            raise Refusal(ErrorCode.SERVER_BUSY)

    async def _find(self, identity: str) -> Director | None:
        """Raises StoreError."""
        async with self._looking_up:
            director = self._directors.get(identity)
            if director is not None or not is_tournament_id(identity):
                return director
            made = await self._ports.journal.ask(self._ports.store.tournament, identity)
            state = await self._read(made) if made is not None else None
            if state is None:
                return None
            # Somebody else may have looked it up meanwhile.
            director = self._directors.get(identity)
            if director is not None:
                return director
            if not state.is_closed:
                return self._start(state, leads=False)
            director = self._director(state, leads=not self._ports.is_shared)
            self._keep_old(director)
            return director

    def _keep_old(self, director: Director) -> None:
        self._old[director.state.id] = director
        followed = self.subscriptions.followed()
        for identity, other in list(self._old.items()):
            if len(self._old) <= OLD_KEPT:
                return
            if other is not director and other not in followed:
                del self._old[identity]

    async def _look_up(self, identity: str, member: Member, ref: int) -> Director | None:
        try:
            director = await self._find(identity)
            if director is None:
                raise Refusal(ErrorCode.NO_SUCH_TOURNAMENT, path="$.id")
        except Refusal as refusal:
            member.post(refused(refusal, ref))
            return None
        except StoreError as error:
            logger.error("tournament %s cannot be read: %s", identity, error)
            member.post(refused(Refusal(ErrorCode.SERVER_BUSY), ref))
            return None
        return director

    async def _ask_old(self, identity: str, asked: AskedCommand) -> None:
        director = await self._look_up(identity, asked.member, asked.command.ref)
        if director is None:
            return
        if identity not in self._running:
            # Its director may still correct a result.
            self._run_soon(self._old.pop(identity))
        try:
            director.ask(asked)
        except Refusal as refusal:
            asked.member.post(refused(refusal, asked.command.ref))

    async def _follow_old(self, member: Member, identity: str, message: FollowTournament) -> None:
        director = await self._look_up(identity, member, message.ref)
        if director is not None:
            self.subscriptions.follow(member, director, message.round, ref=message.ref)

    # ---- news from rooms

    def _director_of(self, room: Room) -> Director | None:
        return self._running.get(room.spec.tournament) if room.spec is not None else None

    def _race_over(self, room: Room, record: Record) -> None:
        if (director := self._director_of(room)) is not None:
            director.race_over(room, record)

    def _room_changed(self, room: Room) -> None:
        if (director := self._director_of(room)) is not None:
            director.rooms_changed()
