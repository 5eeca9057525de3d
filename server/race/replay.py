"""Replays a race from its record: what each player saw after each of their moves.

Takes a record that has passed the audit. As in the race, server/race/view.py decides what a player sees of a position.
"""

from __future__ import annotations

from protocol.record import Record
from protocol.replay import Frame, Replay
from server.race.seat import state_after
from server.race.start_position import first_positions
from server.race.view import see
from server.rules.catalogue import describe, rule_set


def frames(record: Record) -> Replay:
    """The replay of a true record."""
    row = rule_set(record.rules)
    firsts = first_positions(record)
    made: list[Frame] = []
    for seat, position in enumerate(firsts):
        for ply, move in enumerate((move for move in record.moves if move.seat == seat), 1):
            position = position.play(move.move)
            made.append(Frame(seat=seat, at_ms=move.at_ms, ply=ply, move=move.move, state=state_after(position, ply), view=see(position)))
    made.sort(key=lambda frame: (frame.at_ms, frame.seat, frame.ply))
    apart = tuple(see(first) for first in firsts) if record.swaps else ()
    return Replay(record=record, rules=describe(row), first=see(firsts[0]), frames=tuple(made), firsts=apart)
