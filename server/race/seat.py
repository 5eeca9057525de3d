"""One seat of a race: who holds it, what its player has been dealt, the moves they have made, and the close that ends it.

Knows no other seat, and nothing of the race but its close.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from protocol.errors import ErrorCode, Refusal
from protocol.record import MoveRecord, Record
from protocol.seat_ends import SEAT_ENDS
from protocol.views import SeatState
from server.race.commands import TakeSeat
from server.race.events import ConnectionChanged, MovePlayed, SeatDealt, SeatEnded, SeatTaken
from server.race.report import SeatReport
from server.race.timing import MAX_CREDIT_MS, MAX_WAITED_MS, credit
from server.rules.moves import NotAMove, parse_move
from server.rules.position import Position

NOT_PLAYED: Final = MoveRecord(seat=0, move="", at_ms=0, received_ms=0, credit_ms=0, home=0)
"""Stands for the last move before there is one: the start."""


@dataclass(slots=True)
class Seat:
    """One seat as the machine keeps it. Others read it; only the machine writes it.

    away_until: when its player's grace is over; None if it is not running out. away_limit: how long it may become while all are away.
    deal_at: when it will be dealt to, if it has yet to be.
    credit_ms: by how much its moves are moved back, from the last measurement of the connection.
    """

    number: int
    player: str | None = None
    name: str = ""
    bot: str | None = None
    nonce: bytes | None = None
    connected: bool = True
    away_until: int | None = None
    away_limit: int = 0
    round_trip_ms: int | None = None
    credit_ms: int = 0
    start_round_trip_ms: int = 0
    deal_at: int | None = None
    dealt: bool = False
    state: SeatState = "waiting"
    position: Position | None = None
    played: list[MoveRecord] = field(default_factory=list)
    ended_at: int = 0

    @property
    def ply(self) -> int:
        return len(self.played)

    @property
    def last(self) -> MoveRecord:
        """The last move, or the start."""
        return self.played[-1] if self.played else NOT_PLAYED

    @property
    def last_at(self) -> int:
        """When the last move counted, from the start."""
        return self.last.at_ms

    @property
    def report(self) -> SeatReport:
        return SeatReport(
            name=self.name,
            bot=self.bot,
            round_trip_ms=self.start_round_trip_ms,
            state=self.state,
            ended_at_ms=self.ended_at,
            played=tuple(self.played),
            player=self.player if self.player is not None and self.bot is None else "",
        )

    # ---- what happens to the seat

    def take(self, command: TakeSeat) -> SeatTaken:
        self.player, self.name, self.bot = command.player, command.name, command.bot
        return SeatTaken(self.number, command.name, command.bot)

    def lose_connection(self, away_until: int) -> ConnectionChanged:
        """away_until: when the grace is over, for a seat that has not ended."""
        self.connected = False
        if self.state in ("waiting", "racing"):
            self.away_until = away_until
        return ConnectionChanged(self.number, connected=False, away_until=self.away_until)

    def regain_connection(self) -> tuple[ConnectionChanged, ...]:
        if self.connected:
            return ()
        self.connected = True
        self.away_until = None
        return (ConnectionChanged(self.number, connected=True, away_until=None),)

    def measure(self, round_trip_ms: int) -> None:
        self.round_trip_ms, self.credit_ms = round_trip_ms, credit(round_trip_ms)

    def await_start(self, starts_at: int, *, first: Position, away_until: int) -> None:
        """away_until: when the grace of a player who is away now is over at the latest: a series' grace is longer than a race's."""
        self.position = first
        self.start_round_trip_ms = self.round_trip_ms or 0
        self.deal_at = starts_at - self.credit_ms
        if self.away_until is not None:
            self.away_until = min(self.away_until, away_until)

    def end(self, state: SeatState, at_ms: int, *, shown: bool) -> SeatEnded:
        """End the seat, but not by a move. shown: whether its position may be known."""
        self.state = state
        self.ended_at = at_ms
        self.away_until = None
        # A player who is gone before the first view is not dealt one.
        self.deal_at = None
        return SeatEnded(self.number, state, self.ply, at_ms, self.position if shown else None)

    def see_first(self, starts_at: int) -> SeatDealt:
        """Deal to the seat: its first view goes out."""
        assert self.position is not None
        self.dealt = True
        self.deal_at = None
        self.state = "racing"
        return SeatDealt(self.number, starts_at, self.position)

    # ---- moves

    def has_played(self, ply: int, text: str) -> bool:
        """Whether this same move was made before. Raises Refusal if it is neither that nor the next move."""
        following = len(self.played)
        if ply < following:
            if self.played[ply].move == text:
                return True
            raise Refusal(ErrorCode.STALE_PLY, f"the next ply is {following}, not {ply}", path="$.ply")
        if self.state != "racing":
            end = SEAT_ENDS.get(self.state)
            raise Refusal(ErrorCode.SEAT_ENDED, f"it {end.predicate}" if end is not None else f"it is {self.state}")
        if ply > following:
            raise Refusal(ErrorCode.FUTURE_PLY, f"the next ply is {following}, not {ply}", path="$.ply")
        return False

    def play(self, text: str, at_ms: int, received_ms: int) -> Position:
        """Make a move that counts at `at_ms` from the start; returns the position after it. Raises Refusal, with nothing changed."""
        before = self.position
        assert before is not None
        if text not in before.legal_moves():
            raise Refusal(_why_refused(text), path="$.move")
        position = before.play_unchecked(text)
        if not self.played:
            # The deal keeps this position alive; later ones are kept by nobody.
            before.forget_derived()
        self.position = position
        # With the credit that was really given, so that the record adds up.
        self.played.append(MoveRecord(self.number, text, at_ms, received_ms, self.credit_ms, position.home))
        return position

    def before_last_move(self, first: Position) -> Seat:
        """The seat as it was before its last move, still racing. first: the position from which it began."""
        before = replace(self, played=self.played[:-1], state="racing", ended_at=0)
        before.position = position_after(before.played, first)
        return before

    def take_back(self, closes_at: int, *, first: Position) -> Position:
        """Take back the moves that count after this moment; returns the position then. first: the position from which the seat began."""
        while self.played and self.played[-1].at_ms > closes_at:
            self.played.pop()
        self.position = position_after(self.played, first)
        return self.position

    def retold(self, since: int, *, first: Position) -> dict[int, MovePlayed]:
        """The events of its moves from this ply on, by ply, without those that were taken back."""
        position, events = position_after(self.played[: since - 1], first), {}
        for ply, move in enumerate(self.played[since - 1 :], since):
            position = position.play_unchecked(move.move)
            events[ply] = MovePlayed(self.number, move.move, ply, move.at_ms, state_after(position, ply), position)
        return events


def position_after(played: Iterable[MoveRecord], first: Position) -> Position:
    """The position that these moves, all of them legal, lead to. first: the position from which they began."""
    position = first
    for move in played:
        position = position.play_unchecked(move.move)
    return position


@dataclass(slots=True)
class Close:
    """The moment after which nothing counts, from the start of the race. by_limit: whether it is still the time limit."""

    at_ms: int
    by_limit: bool = True

    @property
    def settles_ms(self) -> int:
        """When the race can be settled: one past the window, since a move read in its last millisecond still counts."""
        return self.at_ms + MAX_CREDIT_MS + MAX_WAITED_MS + 1

    def bring_forward(self, at_ms: int) -> None:
        if at_ms < self.at_ms:
            self.at_ms, self.by_limit = at_ms, False

    @property
    def refusal(self) -> Refusal:
        """The refusal of a move that counts after the close."""
        return Refusal(ErrorCode.RACE_OVER, "the time is up" if self.by_limit else "it was decided before this move")

    def strike_out(self, seat: Seat, first: Position) -> SeatEnded:
        """End a seat with what it had at the close. first: the position from which it began."""
        position = seat.take_back(self.at_ms, first=first)
        seat.state = "out-of-time" if self.by_limit else "stopped"
        seat.ended_at = self.at_ms
        return SeatEnded(seat.number, seat.state, seat.ply, seat.ended_at, position)


def seats_concluded(record: Record, players: Sequence[str | None], firsts: Sequence[Position]) -> list[Seat]:
    """The seats of a race that is over, as its record has them. players: who sits there now; None for those who have left since.

    People are away. Raises IllegalMove, and ValueError if the numbers of seats differ.
    """
    nonces = [bytes.fromhex(nonce) for nonce in record.deal.nonces]
    seats = [
        Seat(
            number,
            player=player,
            name=told.name,
            bot=told.bot,
            nonce=nonce,
            connected=told.bot is not None,
            round_trip_ms=told.round_trip_ms,
            start_round_trip_ms=told.round_trip_ms,
            dealt=True,
            state=told.state,
            position=first,
            ended_at=told.ended_at_ms,
        )
        for number, (first, told, player, nonce) in enumerate(zip(firsts, record.seats, players, nonces, strict=True))
    ]
    for move in record.moves:
        seat = seats[move.seat]
        assert seat.position is not None
        seat.position = seat.position.play(move.move)
        seat.played.append(move)
    return seats


def state_after(position: Position, ply: int) -> SeatState:
    """The state of a seat after its move number `ply` has led to this position."""
    if not position.legal_moves():
        return end_of(position)
    limit = position.rules.move_limit
    return "stopped" if limit is not None and ply >= limit else "racing"


def _why_refused(text: str) -> Literal[ErrorCode.BAD_MOVE, ErrorCode.ILLEGAL_MOVE]:
    try:
        parse_move(text)
    except NotAMove:
        return ErrorCode.BAD_MOVE
    return ErrorCode.ILLEGAL_MOVE


def end_of(position: Position) -> SeatState:
    """The end that a position without a legal move means."""
    return "won" if position.is_won else "stalled"
