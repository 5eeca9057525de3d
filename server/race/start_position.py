"""Where a race begins if not at its deal: a position of an earlier race, to play on from. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from protocol.record import PastPosition, Record, seed_of
from protocol.text import counted
from server.rules.catalogue import rule_set
from server.rules.position import Position, RuleSet


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPosition:
    """past: the position. ply: how many moves the seat had made in that race. seed: that of the deal, in hexadecimal digits."""

    past: PastPosition
    ply: int
    seed: str


class NoSuchPosition(ValueError):
    """The record has no such position, or it cannot be played on. Says why."""


def start_position_of(record: Record, *, seat: int, ply: int) -> StartPosition:
    """The position of a seat (from 0) after `ply` moves, in a record that has passed the audit. Raises NoSuchPosition."""
    check_ply(record, seat=seat, ply=ply)
    made = [move.move for move in record.moves if move.seat == seat]
    # If that race was itself played on from a position, the moves to that position come first.
    moves = (*(record.deal.past.moves if record.deal.past is not None else ()), *made[:ply])
    start_position = StartPosition(
        ply=ply, past=PastPosition(race=record.id, digest=record.digest, seat=seat, moves=moves), seed=seed_of(record, seat).hex()
    )
    if first_of(start_position, rule_set(record.rules)).is_over:
        raise NoSuchPosition("no move is left there; start earlier")
    return start_position


def check_ply(record: Record, *, seat: int, ply: int) -> None:
    """Raises NoSuchPosition if the record has no such seat, or the seat made fewer moves. Takes no time."""
    if seat >= len(record.seats):
        raise NoSuchPosition(f"the race had {counted(len(record.seats), 'seat')} and no more")
    made = record.seats[seat].plies
    if ply > made:
        told = f"{counted(made, 'move')}; start from move {made} at the latest" if made else "no moves: start from move 0"
        raise NoSuchPosition(f"that seat made {told}")


def first_of(start_position: StartPosition, rules: RuleSet) -> Position:
    """The position itself. Raises IllegalMove."""
    return played_on(rules.deal(bytes.fromhex(start_position.seed)), start_position.past.moves)


def played_on(position: Position, moves: tuple[str, ...]) -> Position:
    """The position that these moves lead to. Raises IllegalMove."""
    for move in moves:
        position = position.play(move)
    return position


def first_positions(record: Record) -> tuple[Position, ...]:
    """The position from which each seat of a race began. Raises UnknownRules, IllegalMove."""
    rules = rule_set(record.rules)
    past = record.deal.past
    return tuple(played_on(rules.deal(seed_of(record, seat)), past.moves if past is not None else ()) for seat in range(len(record.seats)))
