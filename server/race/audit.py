"""Checks a record: that the deal is the one committed to, that every move is legal, and that the result follows.

Raises `BadRecord` for the first thing that is wrong. A record and the rules are all it needs, with one exception: whether k is the first
number that gives a winnable deal takes a solver (`server.solver.winnable`).
"""

from __future__ import annotations

from typing import Final

from protocol.fairness import daily_nonce
from protocol.record import BadRecord, MoveRecord, Record, SeatRecord, check_deal, check_nonces, digest, from_json
from protocol.text import clean_name
from protocol.views import unfit_for_rating
from server.race.report import SeatReport, have_raced, seat_records
from server.race.start_position import StartPosition, first_positions, start_position_of
from server.race.timing import MAX_CREDIT_MS
from server.rules.catalogue import UnknownRules, rule_set
from server.rules.moves import NotAMove
from server.rules.position import IllegalMove, Position

RATED_IF_RACED_FROM_MS: Final = 1_795_392_000_000
"""2026-11-23, in Unix time. Earlier servers rated races that nobody had raced, too; records have always told enough to see that."""

_ENDS_BY_MOVE = ("won", "stalled")
_ENDS = (*_ENDS_BY_MOVE, "stopped", "forfeited", "out-of-time")


def audited_start_position(document: bytes, seat: int, ply: int) -> StartPosition:
    """The position from which a seat of this record can be played on. A job for a worker. Raises BadRecord, NoSuchPosition."""
    record = from_json(document)
    audit(record)
    return start_position_of(record, seat=seat, ply=ply)


def audit(record: Record) -> None:
    """Raise `BadRecord` with one sentence that names the first part that does not hold."""
    if not record.seats:
        raise BadRecord("the record has no seats")
    check_nonces(record)
    check_deal(record.deal)
    try:
        rules = rule_set(record.rules)
    except UnknownRules as error:
        raise BadRecord(str(error)) from error
    if record.deal.winnable and not rules.solvable:
        raise BadRecord(f"winnable deals are not offered under {record.rules}")
    _check_rated(record)
    _check_series(record)
    _check_shared(record)
    _check_arrivals(record)
    firsts = _firsts(record)
    seats = tuple(_replay(record, number, seat, firsts[number]) for number, seat in enumerate(record.seats))
    _check_close(record)
    if record.rated and record.started_at_ms >= RATED_IF_RACED_FROM_MS and not have_raced(seats):
        raise BadRecord("a race that was given up before all had raced is not rated")
    for number, (written, follows) in enumerate(zip(record.seats, seat_records(seats, firsts), strict=True), 1):
        for field in SeatRecord.__struct_fields__:
            if getattr(written, field) != getattr(follows, field):
                what = f"{field} is {getattr(written, field)!r} but {getattr(follows, field)!r} follows from the moves"
                raise BadRecord(f"seat {number}: {what}")
    if record.ended_at_ms != max(seat.ended_at_ms for seat in record.seats):
        raise BadRecord("ended_at_ms is not the moment at which the last seat ended")
    if record.digest != digest(record):
        raise BadRecord("the digest is not that of the document: something that the game does not determine was altered")


def _firsts(record: Record) -> tuple[Position, ...]:
    try:
        return first_positions(record)
    except (NotAMove, IllegalMove) as error:
        raise BadRecord(f"the moves before the start cannot have been made: {error}") from error


def _check_rated(record: Record) -> None:
    if not record.rated:
        return
    bots = any(seat.bot is not None for seat in record.seats)
    if record.deal.past is not None:
        raise BadRecord("a race that is played on from a position of an earlier one is never rated")
    unfit = unfit_for_rating(seats=len(record.seats), bots=bots, named=record.deal.name is not None, swaps=record.swaps)
    if unfit == "two-shuffles":
        raise BadRecord("only a race in which all play the same shuffle is rated")
    if unfit is not None:
        raise BadRecord("only a race between people, on a shuffle that nobody could know, is rated")


def _check_series(record: Record) -> None:
    series = record.series
    if series is None:
        return
    if series.format == "single":
        raise BadRecord("a single race belongs to no series")
    if series.race > series.races:
        raise BadRecord(f"race {series.race} of a series of {series.races}")
    if record.swaps and (len(record.seats) != 2 or series.races != 2):
        raise BadRecord("a swap is two races of two seats")
    if record.swaps and (record.deal.name is not None or record.deal.winnable):
        raise BadRecord("a swap is played on seeds number 0 and 1, whatever their deals are")


def _check_shared(record: Record) -> None:
    shared = record.deal.shared
    if shared is None:
        return
    if record.swaps:
        raise BadRecord("a swap is played on two shuffles of its own")
    if shared.kind == "daily" and shared.nonces != (daily_nonce(shared.id, record.rules).hex(),):
        raise BadRecord(f"the nonce is not that of {shared.id} under {record.rules}")


def _check_arrivals(record: Record) -> None:
    previous = (0, 0)
    for number, move in enumerate(record.moves, 1):
        if move.seat >= len(record.seats):
            raise BadRecord(f"move {number} ({clean_name(move.move)}): there is no seat {move.seat + 1}")
        if (move.received_ms, move.seat) < previous:
            raise BadRecord(f"move {number} ({clean_name(move.move)}): moves are not in the order of their arrival")
        previous = (move.received_ms, move.seat)


def _replay(record: Record, number: int, seat: SeatRecord, first: Position) -> SeatReport:
    position = first
    at_ms = 0
    played: list[MoveRecord] = []
    for index, move in enumerate(record.moves, 1):
        if move.seat != number:
            continue
        where = f"move {index} ({clean_name(move.move)}), of seat {number + 1}"
        if position.is_over:
            raise BadRecord(f"{where}: the seat's game was over")
        try:
            position = position.play(move.move)
        except IllegalMove as error:
            raise BadRecord(f"{where}: not legal; legal were {' '.join(position.legal_moves())}") from error
        _check_time(move, at_ms, where)
        at_ms = move.at_ms
        if move.home != position.home:
            raise BadRecord(f"{where}: home is {move.home} but {position.home} cards are home after it")
        played.append(move)
    _check_end(number + 1, seat, position, at_ms)
    return SeatReport(seat.name, seat.bot, seat.round_trip_ms, seat.state, seat.ended_at_ms, tuple(played), seat.player)


def _check_time(move: MoveRecord, previous_ms: int, where: str) -> None:
    if not 0 <= move.credit_ms <= MAX_CREDIT_MS:
        raise BadRecord(f"{where}: a credit of {move.credit_ms} ms, where 0 to {MAX_CREDIT_MS} is given")
    if move.at_ms != max(move.received_ms - move.credit_ms, previous_ms, 0):
        raise BadRecord(f"{where}: at_ms does not follow from received_ms, credit_ms and the move before")


def _check_end(number: int, seat: SeatRecord, position: Position, last_ms: int) -> None:
    limit = position.rules.move_limit
    if seat.state not in _ENDS:
        raise BadRecord(f"seat {number}: {seat.state!r} is not a way for a seat to end")
    if position.is_over and seat.plies:
        state = "won" if position.is_won else "stalled"
        if seat.state != state or seat.ended_at_ms != last_ms:
            raise BadRecord(f"seat {number}: its last move at {last_ms} ms left it {state}, not {seat.state} at {seat.ended_at_ms} ms")
    elif seat.state in _ENDS_BY_MOVE and not position.is_over:
        raise BadRecord(f"seat {number}: {seat.state}, but there were legal moves left")
    elif seat.ended_at_ms < last_ms:
        raise BadRecord(f"seat {number}: it ended at {seat.ended_at_ms} ms, before its last move")
    elif limit is not None and seat.plies >= limit and seat.state != "stopped":
        raise BadRecord(f"seat {number}: stopped after {limit} moves, not {seat.state}")


def _check_close(record: Record) -> None:
    """The race closes at the first win, or when only one seat is not forfeited, and at the latest at the time limit.

    A swap closes only at the limit.
    """
    limit = record.time_limit_s * 1000
    closes_at = min([limit, *(seat.ended_at_ms for seat in record.seats if seat.state == "won" and not record.swaps)])
    forfeits = sorted(seat.ended_at_ms for seat in record.seats if seat.state == "forfeited")
    if len(record.seats) > 1 and not record.swaps and len(forfeits) >= len(record.seats) - 1:
        closes_at = min(closes_at, forfeits[len(record.seats) - 2])
    for number, seat in enumerate(record.seats, 1):
        if seat.ended_at_ms > closes_at:
            raise BadRecord(f"seat {number}: it ended at {seat.ended_at_ms} ms, after the race had closed at {closes_at} ms")
        if seat.state == "out-of-time" and seat.ended_at_ms != limit:
            raise BadRecord(f"seat {number}: out of time at {seat.ended_at_ms} ms, with a limit of {limit} ms")
