"""The race itself: seats, readiness, the start, moves, how each seat ends and how the race ends. The rules:

Phases     waiting -> countdown -> racing -> over. When all seats are taken and ready, the countdown begins; the start leads to racing;
           settling the close leads to over. If only a winnable deal is wanted, readiness leads to `deal_wanted` instead: the race goes
           on waiting for ChooseDeal, and a player who leaves still frees their seat. A race that is held waits in the same way.
Seats      waiting -> racing (once dealt to) -> one of: won, stalled (by a move, or by a deal without one); stopped, forfeited (by the
           player, or by being away longer than the grace: whoever races alone is stopped by that, others forfeit); out-of-time. A seat
           that has ended never plays again.
Away       While all players are away nobody is kept waiting, and what failed may be what they share: a proxy, the line of a hall. So each
           grace may become ALL_AWAY times as long, and once the first of them is back the others have a usual one from then on.
Deal       Seed = SHA-256(secret, nonces in seat order, k), or that of the deal's name. k is 0, or the chosen one. Every seat gets the
           same position, except in a swap (`shuffles`). Each seat's first view goes out half its round trip before the start, so that
           all boards light up at the same moment. Nobody plays before the start: over the connection that was measured, no answer to a
           first view can arrive by then.
Time       A move counts at its arrival less the credit of its connection (`timing`). Everything else a player does counts when it arrives.
           After the close, no connection counts as slower than before: otherwise a late move would count if resent over a slower one.
The close  The moment after which nothing counts (`Close`). At first it is the time limit. The first win brings it forward to the moment
           of that win. So does a forfeit that leaves only one seat not forfeited: that seat has the race, even if its player leaves
           before the start. A move that arrives after the close but counts before it is still taken: the race is settled only when no
           such move can be on its way or lie here unread (`timing`), or when no seat is racing. In a swap only the limit closes the
           race: each seat plays its shuffle to the end, because the two seats are compared on the same shuffle across both races.
Series     Players who are away while a race waits lose their seats after the grace; in a series under way, after the series' longer
           one. A race is `sealed` while somebody has yet to play its shuffle. The first race of a swap gets its record when it is over,
           like any race, but nobody is told of it before the second is over. A race on a shuffle shared with other races is sealed
           until `reveal`: everybody is told how it ended, but not with which cards.
Settling   Moves that were taken but count after the close are struck out again. So the result depends only on when moves count, not on
           the order in which they arrived. Seats that are still racing are out-of-time at the limit, and stopped otherwise.

`now` is whole milliseconds, in the epoch of Unix time, of a clock that never goes back. The machine knows no connection, no room and no
clock: it does what is due by `now` first, then the command.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, assert_never

from protocol.errors import ErrorCode, Refusal
from protocol.record import Record
from protocol.seat_ends import SEAT_ENDS
from protocol.views import Phase, RaceOptions, SeatState, SharedDeal
from server.race.commands import (
    ChooseDeal,
    Command,
    GetReady,
    LeaveSeat,
    LoseConnection,
    MeasureConnection,
    OtherCommand,
    PassTime,
    PlayMove,
    RegainConnection,
    ResignSeat,
    StopSeat,
    TakeSeat,
)
from server.race.events import MovePlayed, RaceEnded, RaceEvent, RaceStarted, SeatFreed, SeatReady, StartSet
from server.race.race_deal import DealWanted, RaceDeal
from server.race.report import RecordHead
from server.race.seat import NOT_PLAYED, Close, Seat, end_of, seats_concluded, state_after
from server.race.shuffles import SeriesPlace
from server.race.start_position import StartPosition
from server.race.timing import counted_at
from server.rules.catalogue import rule_set

ALL_AWAY: Final = 5
"""How many times as long the grace is while all players are away: five minutes, usually."""


class Race:
    """One race. Give it commands with `apply` and the passing of time with `advance`; both return the events."""

    def __init__(
        self,
        *,
        race_id: str,
        room: str,
        number: int,
        options: RaceOptions,
        secret: bytes,
        software: str,
        place: SeriesPlace | None = None,
        shared: SharedDeal | None = None,
        held: bool = False,
        start_position: StartPosition | None = None,
        shown_room: str | None = None,
        shown_shared: SharedDeal | None = None,
    ) -> None:
        """Raises UnknownRules for a rule set that is not in the catalogue.

        secret: 32 random bytes that nobody else knows yet; the second race of a swap has that of the first. place: in its series; None for
        the first race of one. shared: the deal, if other races share it; the secret is then theirs too. held: wait for ChooseDeal once all
        are ready. start_position: where it begins, if not at its own deal. shown_room: what its record calls the room, if not its code.
        shown_shared: the same of the shared deal.
        """
        self.id = race_id
        self.room = room
        self.number = number
        self.options = options
        self.grace_s = options.grace_s
        self.rules = rule_set(options.rules)
        self.phase: Phase = "waiting"
        self.seats = [Seat(number) for number in range(options.seats)]
        place = place or SeriesPlace(id=race_id)
        self.deal = RaceDeal(options=options, place=place, secret=secret, shared=shared, start_position=start_position, shown=shown_shared)
        self.commitment = self.deal.commitment
        self.held = held
        self.starts_at: int | None = None
        self.record: Record | None = None
        self._record_head = RecordHead(race_id, shown_room or room, number, options, software)
        self._close = Close(options.time_limit_s * 1000)
        self._walkover_at: int | None = None
        self.sealed = shared is not None or (options.swaps and place.number == 1)
        """Whether somebody else has yet to play its shuffle."""
        self._due: int | None = None
        self._is_due_known = False

    # ---- what the driver asks

    def seat_of(self, player: str) -> Seat | None:
        for seat in self.seats:
            if seat.player == player:
                return seat
        return None

    @property
    def is_settling(self) -> bool:
        """The race is decided, unless a move that counts earlier is still on its way."""
        return self.phase == "racing" and not self._close.by_limit

    def reveal(self) -> None:
        """Unseal it: nobody has yet to play its shuffle."""
        self.sealed = False

    @property
    def deal_wanted(self) -> DealWanted | None:
        """What to search for once all are ready and want a winnable deal: answer with ChooseDeal. None at any other time."""
        return self.deal.wanted(self._nonces) if self.options.winnable and self._is_ready else None

    @property
    def is_held(self) -> bool:
        """All are ready, and the race waits to be released by ChooseDeal, with the k of its deal."""
        return self.held and self._is_ready

    @property
    def _is_ready(self) -> bool:
        return self.phase == "waiting" and all(seat.nonce is not None for seat in self.seats)

    def elapsed(self, now: int) -> int:
        """Milliseconds since the start; 0 before it."""
        return max(now - self.starts_at, 0) if self.starts_at is not None else 0

    def next_deadline(self) -> int | None:
        """When `advance` next has something to do, or None while everything waits for a command."""
        if not self._is_due_known:
            self._due, self._is_due_known = self._find_due(), True
        return self._due

    def advance(self, now: int) -> tuple[RaceEvent, ...]:
        """Do everything that is due by `now`, in the order in which it fell due."""
        events: list[RaceEvent] = []
        while (due := self.next_deadline()) is not None and due <= now:
            events.extend(self._do_what_is_due(due))
            self._is_due_known = False
        return tuple(events)

    def apply(self, command: Command, now: int) -> tuple[RaceEvent, ...]:
        """Do what is due by `now`, then the command. A repeated move has no event of its own.

        Raises Refusal, with nothing changed by the command. Call `advance(now)` first if a refusal must not lose the events that are due.
        """
        due = self.advance(now) if not self._is_due_known or (self._due is not None and self._due <= now) else ()
        if isinstance(command, PlayMove):
            played = self.play(command, now)
            done = self.with_what_follows(played) if played is not None else ()
        else:
            done = tuple(self._apply(command, now))
            self._is_due_known = False
        return due + done

    def conclude(self, record: Record, players: Sequence[str | None]) -> None:
        """End a race in which nothing has happened yet, as the stored record of this same race says.

        players: who sits on each seat now, house bots included; None for those who have left since. People are away.
        Raises LookupError, ValueError or IllegalMove for a record of another race.
        """
        self.deal.k = record.deal.k
        self.deal.deal([bytes.fromhex(nonce) for nonce in record.deal.nonces])
        self.seats = seats_concluded(record, players, self.deal.firsts)
        self.starts_at = record.started_at_ms
        self.phase = "over"
        self.record = record
        # A swap goes on at once, or never, so it is not sealed. Others, who know all races on a shared deal, decide when it is revealed.
        self.sealed = self.deal.shared is not None

    # ---- commands

    def _check_taken(self, number: int) -> None:
        if self.seats[number].player is None:
            raise Refusal(ErrorCode.NOT_YOUR_SEAT, "nobody holds it")

    def _apply(self, command: OtherCommand, now: int) -> Iterator[RaceEvent]:
        if not isinstance(command, (TakeSeat, ChooseDeal, PassTime)):
            self._check_taken(command.seat)
        match command:
            case TakeSeat():
                return self._take_seat(command)
            case LeaveSeat(seat=number):
                return self._leave_seat(self.seats[number], now)
            case MeasureConnection(seat=number, round_trip_ms=round_trip_ms):
                self._measure(self.seats[number], round_trip_ms, now)
                return iter(())
            case GetReady(seat=number, nonce=nonce):
                return self._get_ready(self.seats[number], nonce, now)
            case ChooseDeal(k=k, wait_ms=wait_ms):
                return self._choose_deal(k, now + wait_ms)
            case StopSeat(seat=number):
                return self._give_up(self.seats[number], "stopped", now)
            case ResignSeat(seat=number):
                return self._give_up(self.seats[number], "forfeited", now)
            case LoseConnection(seat=number):
                return self._lose_connection(self.seats[number], now)
            case RegainConnection(seat=number):
                return self._regain_connection(self.seats[number], now)
            case PassTime():
                return iter(())
            case _:
                assert_never(command)

    def _take_seat(self, command: TakeSeat) -> Iterator[RaceEvent]:
        if self.phase != "waiting":
            raise Refusal(ErrorCode.ROOM_FULL if self.phase != "over" else ErrorCode.RACE_OVER)
        free = [seat for seat in self.seats if seat.player is None and command.seat in (None, seat.number)]
        if not free:
            raise Refusal(ErrorCode.ROOM_FULL)
        return iter((free[0].take(command),))

    def _leave_seat(self, seat: Seat, now: int) -> Iterator[RaceEvent]:
        if self.phase == "waiting":
            return iter((self._free(seat),))
        if self.phase == "over":
            seat.player = None
            return iter((SeatFreed(seat.number),))
        if seat.state in ("waiting", "racing"):
            return self._end(seat, "forfeited", self.elapsed(now), now)
        return iter(())

    def _measure(self, seat: Seat, round_trip_ms: int, now: int) -> None:
        is_closed = self.phase == "racing" and self.elapsed(now) >= self._close.at_ms
        seat.measure(min(round_trip_ms, seat.round_trip_ms or 0) if is_closed else round_trip_ms)

    def _get_ready(self, seat: Seat, nonce: bytes, now: int) -> Iterator[RaceEvent]:
        if self.phase != "waiting":
            raise Refusal(ErrorCode.NOT_WAITING)
        if seat.nonce is not None:
            # A second nonce could be chosen with the knowledge that the others are in, so the first one stands.
            return iter(())
        seat.nonce = nonce
        events: list[RaceEvent] = [SeatReady(seat.number)]
        if not self.options.winnable and not self.held and self._is_ready:
            events.append(self._set_start(now))
        return iter(events)

    def _choose_deal(self, k: int, countdown_from: int) -> Iterator[RaceEvent]:
        if self.deal_wanted is None and not (self.is_held and k == self.deal.k):
            raise Refusal(ErrorCode.NOT_WAITING, "no deal is wanted")
        self.deal.k = k
        return iter((self._set_start(countdown_from),))

    def _set_start(self, now: int) -> StartSet:
        self.deal.deal(self._nonces)
        self.phase = "countdown"
        self.starts_at = now + self.options.countdown_s * 1000
        for seat in self.seats:
            seat.await_start(self.starts_at, first=self.deal.firsts[seat.number], away_until=now + self.grace_s * 1000)
        return StartSet(self.starts_at, tuple(seat.start_round_trip_ms for seat in self.seats))

    def play(self, command: PlayMove, now: int) -> MovePlayed | None:
        """`apply` for a move when nothing is due by `now`. If it ends its seat, `with_what_follows` does the rest.

        None for a repeated move.
        """
        number, ply, text = command.seat, command.ply, command.move
        seat = self.seats[number]
        if seat.player is None:
            self._check_taken(number)
        if self.phase != "racing":
            raise Refusal(ErrorCode.RACE_OVER if self.phase == "over" else ErrorCode.NOT_STARTED)
        if (ply != len(seat.played) or seat.state != "racing") and seat.has_played(ply, text):
            return None
        assert self.starts_at is not None
        last = seat.played[-1] if ply else NOT_PLAYED
        if (received_ms := now - self.starts_at - command.waited_ms) < last.received_ms:
            received_ms = last.received_ms
        at_ms = counted_at(received_ms, seat.credit_ms, last.at_ms)
        if at_ms > self._close.at_ms:
            raise self._close.refusal
        position = seat.play(text, at_ms, received_ms)
        seat.state = state = state_after(position, ply + 1)
        return MovePlayed(number, text, ply + 1, at_ms, state, position, not ply or position.home != last.home)

    def with_what_follows(self, event: MovePlayed) -> tuple[RaceEvent, ...]:
        """The move that was just played and, if it ended its seat, what follows. Must be called for a move that ended its seat."""
        if event.state == "racing":
            return (event,)
        # Other moves do not change what is due.
        self._is_due_known = False
        return (event, *self._ended_by(event, self.seats[event.seat]))

    def _ended_by(self, event: MovePlayed, seat: Seat) -> Iterator[RaceEvent]:
        seat.ended_at = event.at_ms
        seat.away_until = None
        if event.state == "won" and not self.options.swaps:
            self._close.bring_forward(event.at_ms)
        yield from self._settle_if_done()

    def _give_up(self, seat: Seat, state: SeatState, now: int) -> Iterator[RaceEvent]:
        if self.phase == "waiting":
            raise Refusal(ErrorCode.NOT_STARTED)
        if self.phase == "over":
            raise Refusal(ErrorCode.RACE_OVER)
        if seat.state not in ("waiting", "racing"):
            raise Refusal(ErrorCode.SEAT_ENDED, f"it {SEAT_ENDS[seat.state].predicate}")
        return self._end(seat, state, self.elapsed(now), now)

    def _lose_connection(self, seat: Seat, now: int) -> Iterator[RaceEvent]:
        if seat.connected:
            waits = self.phase == "waiting" and self.deal.place.number > 1
            grace_s = self.options.series.grace_s if waits else self.grace_s
            seat.away_limit = now + ALL_AWAY * self.grace_s * 1000
            yield seat.lose_connection(now + grace_s * 1000)

    def _regain_connection(self, seat: Seat, now: int) -> Iterator[RaceEvent]:
        # Not if the last of them went in this very millisecond: whose message is handled first must not matter.
        limit = now + ALL_AWAY * self.grace_s * 1000
        were_all_away = self.phase != "waiting" and self._are_all_away() and all(each.away_limit < limit for each in self.seats)
        yield from seat.regain_connection()
        for other in self.seats if were_all_away else ():
            if other.away_until is not None:
                # From now on somebody is kept waiting.
                yield other.lose_connection(min(now + self.grace_s * 1000, other.away_limit))

    def _are_all_away(self) -> bool:
        """Whether several people race, and none of them is here. Only once the race no longer waits: until then, seats may be free."""
        people = [seat for seat in self.seats if seat.bot is None]
        return len(people) > 1 and not any(seat.connected for seat in people)

    # ---- time

    def _find_due(self) -> int | None:
        if self.phase == "over":
            return None
        moments = [moment for seat in self.seats for moment in (seat.away_until, seat.deal_at) if moment is not None]
        if self.starts_at is not None:
            moments.append(self.starts_at if self.phase == "countdown" else self.starts_at + self._close.settles_ms)
        return min(moments, default=None)

    def _do_what_is_due(self, due: int) -> Iterator[RaceEvent]:
        for seat in self.seats:
            if seat.deal_at == due:
                assert self.starts_at is not None
                yield seat.see_first(self.starts_at)
        if self.phase == "countdown" and self.starts_at == due:
            self.phase = "racing"
            yield RaceStarted(self.deal.firsts)
            yield from self._end_where_no_move_is(due)
            # Everybody may have left during the countdown.
            yield from self._settle_if_done()
        elif self.elapsed(due) == self._close.settles_ms:
            yield from self._settle()
        for seat in self.seats:
            if seat.away_until == due:
                yield from self._grace_over(seat, due)

    def _end_where_no_move_is(self, now: int) -> Iterator[RaceEvent]:
        """End the seats whose first position has no legal move: rare, and only possible in a rule set without a stock."""
        for seat, first in zip(self.seats, self.deal.firsts, strict=True):
            if first.is_over and seat.state == "racing":
                yield from self._end(seat, end_of(first), 0, now)

    def _grace_over(self, seat: Seat, due: int) -> Iterator[RaceEvent]:
        if self.phase != "waiting" and due < seat.away_limit and self._are_all_away():
            yield seat.lose_connection(seat.away_limit)
            return
        if self.phase == "waiting":
            yield self._free(seat)
        else:
            # Whoever races nobody could have stopped instead: so a lost line costs them no card that is home.
            is_alone = len(self.seats) == 1 and self.phase == "racing"
            yield from self._end(seat, "stopped" if is_alone else "forfeited", self.elapsed(due), due)

    # ---- ends

    def _free(self, seat: Seat) -> SeatFreed:
        self.seats[seat.number] = Seat(seat.number)
        return SeatFreed(seat.number)

    def _end(self, seat: Seat, state: SeatState, at_ms: int, now: int) -> Iterator[RaceEvent]:
        if state == "forfeited" and self._walkover_at is not None and now > self._walkover_at:
            # It is the last seat, and has the race already. Compare by `now`: before the start, every moment of the race is 0.
            state = "stopped"
        # Before the start, nobody may know even the counts of a position.
        yield seat.end(state, at_ms, shown=self.phase == "racing")
        left = sum(other.state != "forfeited" for other in self.seats)
        if left == 1 and not self.options.swaps:
            # Nobody can beat the last seat, however few cards it has home.
            self._walkover_at = now
            self._close.bring_forward(at_ms)
        yield from self._settle_if_done()

    def _settle_if_done(self) -> Iterator[RaceEvent]:
        if self.phase == "racing" and all(seat.state != "racing" for seat in self.seats):
            yield from self._settle()

    def _settle(self) -> Iterator[RaceEvent]:
        for seat in self.seats:
            seat.away_until = None
            if seat.state == "racing" or seat.ended_at > self._close.at_ms:
                yield self._close.strike_out(seat, self.deal.firsts[seat.number])
        self.phase = "over"
        assert self.starts_at is not None
        seats = tuple(seat.report for seat in self.seats)
        self.record = self._record_head.record(started_at_ms=self.starts_at, deal=self.deal, nonces=self._nonces, seats=seats)
        yield RaceEnded(self.record)

    @property
    def _nonces(self) -> tuple[bytes, ...]:
        """The nonces of the seats so far; all of them once everybody is ready."""
        return tuple(seat.nonce for seat in self.seats if seat.nonce is not None)
