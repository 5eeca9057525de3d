"""One seat of a race: who holds it, what its player has been dealt, and the moves they have made. Knows no other seat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from protocol.errors import ErrorCode, Refusal
from protocol.record import Record
from protocol.views import SeatState
from server.race.report import Played, SeatReport
from server.race.timing import credit
from server.rules.moves import NotAMove, parse_move
from server.rules.position import IllegalMove, Position


@dataclass(slots=True)
class Seat:
    """One seat as the machine keeps it. Others read it; only the machine writes it."""

    number: int
    player: str | None = None
    name: str = ""
    bot: str | None = None
    nonce: bytes | None = None
    connected: bool = True
    away_until: int | None = None
    round_trip_ms: int | None = None
    start_round_trip_ms: int = 0
    deal_at: int | None = None
    dealt: bool = False
    state: SeatState = "waiting"
    position: Position | None = None
    played: list[Played] = field(default_factory=list)
    ended_at: int = 0

    @property
    def ply(self) -> int:
        return len(self.played)

    @property
    def last_at(self) -> int:
        """When the last move counted, from the start."""
        return self.played[-1].at_ms if self.played else 0

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

    def play(self, text: str, *, at_ms: int, received_ms: int) -> Position:
        """Make a move that counts at `at_ms` from the start; the position after it. Raises Refusal, with nothing changed."""
        assert self.position is not None
        try:
            move = parse_move(text).text
            position = self.position.play(move)
        except NotAMove as error:
            raise Refusal(ErrorCode.BAD_MOVE, path="$.move") from error
        except IllegalMove as error:
            # The error's own text names the stock: it is for logs, never for a player.
            raise Refusal(ErrorCode.ILLEGAL_MOVE, path="$.move") from error
        self.position = position
        # The credit that was really given, so that a record adds up.
        credit_ms = credit(self.round_trip_ms or 0)
        self.played.append(Played(move=move, at_ms=at_ms, received_ms=received_ms, credit_ms=credit_ms, home=position.home))
        return position

    def before_last_move(self, first: Position) -> Seat:
        """The seat as it was, still racing. first: the position from which it began."""
        before = replace(self, played=self.played[:-1], state="racing", ended_at=0)
        before.position = first
        for played in before.played:
            before.position = before.position.play_unchecked(played.move)
        return before

    def take_back(self, closes_at: int, *, first: Position) -> Position:
        """Unmake what counts after this moment; the position before it. first: that from which the seat began."""
        while self.played and self.played[-1].at_ms > closes_at:
            self.played.pop()
        position = first
        for played in self.played:
            position = position.play_unchecked(played.move)
        self.position = position
        return position


def seats_concluded(record: Record, players: Sequence[str | None], firsts: Sequence[Position]) -> list[Seat]:
    """The seats of a race that is over, as its record has them. players: who sits there now; None where they have left since.

    People are away. Raises IllegalMove, and ValueError where the numbers of seats differ.
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
        seat.played.append(Played(move.move, move.at_ms, move.received_ms, move.credit_ms, move.home))
    return seats


def state_after(position: Position, ply: int) -> SeatState:
    """How a seat stands when its move number `ply` has led to this position."""
    limit = position.rules.move_limit
    if position.is_over:
        return end_of(position)
    return "stopped" if limit is not None and ply >= limit else "racing"


def end_of(position: Position) -> SeatState:
    """How a position without a legal move has ended."""
    return "won" if position.is_won else "stalled"
