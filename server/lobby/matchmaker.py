"""Quick match: players who look for an opponent, the connections by which they wait, and the races that are opened for two of them.

Who is paired with whom is the queue's affair (`match_queue`). Everything but the widening of windows happens at once, when somebody comes;
so between two steps of its one task, which waits for nothing but the time, no two who wait fit each other. While the store cannot be
written no race can be opened: then all wait on, and those who fit are paired when it can.

Whoever is ready for a race whose other player is not, or has gone, is put back where they were in the queue; the other one is not, and if
that happens to them often, they have to wait before they may look for another opponent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

import trio

from protocol.errors import ErrorCode, Refusal
from protocol.server_messages import WaitingMatch, WaitingOver
from protocol.text import counted
from protocol.views import RaceOptions
from server.lobby.match_queue import FREE_OF_PLACE, FREE_OF_PLAYER, MatchQueue, NoShows, Pair, QueuedPlayer, QueueFull, window
from server.rooms.clock import Clock
from server.rooms.driver import Room
from server.rooms.effects import Unmatched
from server.rooms.member import Member
from server.rooms.outgoing import Outgoing, refused
from server.rooms.registry import Rooms
from server.rules.catalogue import RULE_SETS

INTERVAL_S = 1.0
"""Least seconds between two messages to a waiting player."""

logger = logging.getLogger("carpet.lobby")


@dataclass(frozen=True, slots=True)
class Seeker:
    """A player who waits on a connection. ref: of their request. enter: seats them in a room; raises Refusal."""

    member: Member
    ref: int
    enter: Callable[[Room], None]


class Matchmaker:
    """`run` is its only task. rating: gives a player's rating in points; None if they have none."""

    def __init__(self, rooms: Rooms, *, clock: Clock, rating: Callable[[str], int | None]) -> None:
        self._rooms = rooms
        self._clock = clock
        self._rating = rating
        self._queue = MatchQueue()
        self._no_shows = NoShows()
        self._seekers: dict[str, Seeker] = {}
        self._pairs: dict[Room, Pair] = {}
        """The races that have not begun yet."""
        self._told: dict[str, tuple[int | None, int]] = {}  # the window and number that a player was told last
        self._dirty = trio.Event()
        self.on_change: list[Callable[[], None]] = []
        """Called when somebody has begun to look for an opponent, or does so no more."""
        rooms.on_clocks_right.append(self._look_again)
        rooms.on_room_change.append(self._room_changed)

    def __len__(self) -> int:
        return len(self._queue)

    def seek(self, player: str, seeker: Seeker, rules: str | None, *, place: str | None = None) -> None:
        """Find an opponent for a player who holds no seat: at once, or as soon as there is one.

        rules: the rule set that they want; None for any. place: the address that counts for them; None for none. Raises Refusal for unknown
        rules, if too many wait, and if they have not turned up for others too often.
        """
        if rules is not None and rules not in RULE_SETS:
            raise Refusal(ErrorCode.UNKNOWN_RULES, path="$.rules")
        now, counts = self._clock.now_ms(), ((player, FREE_OF_PLAYER), (place, FREE_OF_PLACE))
        pause_ms = max(self._no_shows.pause_ms(who, now, free=free) for who, free in counts if who is not None)
        if pause_ms and player not in self._seekers:
            raise Refusal(ErrorCode.KEPT_WAITING, f"in {counted(-(-pause_ms // 1000), 'second')}", retry_after_ms=pause_ms)
        self._join(QueuedPlayer(player, self._rating(player), rules, now, place), seeker)

    def seek_again(self, unmatched: Unmatched, seeker: Seeker, room: Room, *, send_on: Callable[[], object] | None) -> None:
        """Put a player back who was ready for this race, as if they had waited all the time, and keep them from the same opponent.

        send_on: sends them to where all wait; None if that is here.
        """
        player, summary, pair, now = unmatched.player, room.summary, self._pairs.get(room), self._clock.now_ms()
        # If an earlier server paired them, all that is known is that they have waited since then.
        ticket = QueuedPlayer(player, self._rating(player), room.options.rules, summary.opened_at - summary.ahead_ms)
        absent = set(unmatched.absent)
        if pair is not None:
            ticket, other = (pair.first, pair.second) if pair.first.player == player else (pair.second, pair.first)
            if other.player in absent and other.place is not None:
                absent.add(other.place)
        for who in absent:
            self._no_shows.note(who, now)
        self._queue.keep_apart(player, unmatched.by, now)
        sought = self._queue.ticket(player)
        if sought is not None:
            # They have asked anew before they could be told of this: what they want now holds, and they have waited all the time.
            self._join(replace(sought, since_ms=ticket.since_ms), self._seekers[player])
            return
        if send_on is not None:
            # A client asks there for what it was told last. One that cannot go there is told that it waits no more.
            waited_ms = now - ticket.since_ms
            message = WaitingMatch(rules=ticket.rules, waited_ms=waited_ms, window=window(waited_ms), waiting=1, ref=seeker.ref)
            seeker.member.post(Outgoing(message))
            send_on()
            seeker.member.post(Outgoing(WaitingOver(reason="failed", ref=seeker.ref)))
            return
        if self._rooms.draining is not None:
            _give_up(seeker, Refusal(ErrorCode.SERVER_STOPPING, self._rooms.draining))
            return
        try:
            self._join(ticket, seeker)
        except Refusal as refusal:
            _give_up(seeker, refusal)

    def _room_changed(self, room: Room) -> None:
        if self._pairs and (room.summary.phase != "waiting" or room.summary.closed):
            self._pairs.pop(room, None)

    def _join(self, ticket: QueuedPlayer, seeker: Seeker) -> None:
        player, now = ticket.player, self._clock.now_ms()
        try:
            self._queue.join(ticket)
        except QueueFull as full:
            raise Refusal(ErrorCode.SERVER_FULL, "too many are looking for an opponent") from full
        self._seekers[player] = seeker
        self._note_change()
        pair = self._queue.take_opponent_for(player, now) if not self._rooms.in_outage else None
        if pair is None:
            self._tell(player, now)
        else:
            self._seat(pair)
        self._look_again()

    def _look_again(self) -> None:
        self._dirty.set()

    def leave(self, player: str, *, reason: str | None = None, member: Member | None = None, ref: int = 0) -> None:
        """Stop looking for an opponent for this player. reason: what they are told; None if nobody is there to be told.

        member: stop only if they wait on this connection. ref: of the request that ends it.
        """
        seeker = self._seekers.get(player)
        if seeker is None or (member is not None and seeker.member is not member):
            return
        self._queue.leave(player)
        self._forget(player)
        if reason is not None:
            seeker.member.post(Outgoing(WaitingOver(reason=reason, ref=ref)))
        self._look_again()

    def give_up(self, refusal: Refusal) -> None:
        """Nobody will be paired here any more: tell all who wait."""
        for player in list(self._seekers):
            self._queue.leave(player)
            _give_up(self._forget(player), refusal)
        self._look_again()

    def seeks(self, player: str) -> bool:
        """Whether this player waits."""
        return player in self._seekers

    def remind(self, player: str) -> None:
        """Tell a waiting player again how things stand."""
        if player in self._seekers:
            self._tell(player, self._clock.now_ms())

    async def run(self) -> None:
        """Pair those whose windows have become wide enough, and tell the others how things stand, until cancelled."""
        now = self._clock.now_ms()
        while True:
            change_ms = self._queue.next_change_ms(now)
            with trio.move_on_at(self._clock.deadline(change_ms) if change_ms is not None else float("inf")):
                await self._dirty.wait()
            self._dirty = trio.Event()
            now = self._clock.now_ms()
            for pair in self._queue.take_pairs(now) if not self._rooms.in_outage else ():
                self._seat(pair)
            for ticket in self._queue:
                if self._told[ticket.player] != self._news(ticket, now):
                    self._tell(ticket.player, now)
            await trio.sleep(INTERVAL_S)

    def _news(self, ticket: QueuedPlayer, now: int) -> tuple[int | None, int]:
        return window(now - ticket.since_ms), len(self._queue)

    def _tell(self, player: str, now: int) -> None:
        ticket = self._queue.ticket(player)
        assert ticket is not None
        self._told[player] = width, waiting = self._news(ticket, now)
        seeker = self._seekers[player]
        message = WaitingMatch(rules=ticket.rules, waited_ms=now - ticket.since_ms, window=width, waiting=waiting, ref=seeker.ref)
        seeker.member.post(Outgoing(message))

    def _seat(self, pair: Pair) -> None:
        """Open a race for the two, and seat them."""
        seekers = [self._forget(ticket.player) for ticket in (pair.first, pair.second)]
        try:
            options = RaceOptions() if pair.rules is None else RaceOptions(rules=pair.rules)
            room = self._rooms.open(options, matched=(pair.first.player, pair.second.player))
        except Refusal as refusal:
            logger.warning("no race could be opened for two players who were matched: %s", refusal)
            for seeker in seekers:
                _give_up(seeker, refusal)
            return
        self._pairs[room] = pair
        for seeker in seekers:
            try:
                seeker.enter(room)
            except Refusal as refusal:
                # The other player's race is listed, so somebody else may join it.
                logger.warning("a player who was matched could not be seated: %s", refusal)
                _give_up(seeker, refusal)

    def _forget(self, player: str) -> Seeker:
        self._told.pop(player, None)
        self._note_change()
        return self._seekers.pop(player)

    def _note_change(self) -> None:
        for listener in self.on_change:
            listener()


def _give_up(seeker: Seeker, refusal: Refusal) -> None:
    seeker.member.post(refused(refusal, seeker.ref))
    seeker.member.post(Outgoing(WaitingOver(reason="failed", ref=seeker.ref)))
