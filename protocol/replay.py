"""A race to be shown again: its record and, for every move, what the player saw after making it.

Owns only the shape. `carpet-server frames` makes the document from a record; `carpet replay` shows it, and judges nothing itself.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from protocol.record import Record
from protocol.views import RulesInfo, SeatNumber, SeatState, View


class Frame(Struct, frozen=True, kw_only=True):
    """One move and its outcome.

    at_ms: the moment that counts, from the start. ply: moves the seat has made, this one included. state: the seat's, just after the
    move; an end not caused by a move is only in the record. view: what the seat's player saw from then on.
    """

    seat: SeatNumber
    at_ms: int
    ply: int
    move: str
    state: SeatState
    view: View


class Replay(Struct, frozen=True, kw_only=True):
    """A whole race. first: what every seat saw at the start, if all have the same deal. frames: by at_ms, then seat, then ply.

    firsts: in a swap, where the seats' deals differ, what each seat saw at the start; otherwise empty.
    """

    record: Record
    rules: RulesInfo
    first: View
    frames: tuple[Frame, ...]
    firsts: tuple[View, ...] = ()


class BadReplay(ValueError):
    """The document is not the replay of a race, or its parts do not fit together. Says which part."""


def to_json(replay: Replay) -> bytes:
    """The document on one line."""
    return msgspec.json.encode(replay)


def from_json(document: bytes) -> Replay:
    """Read a replay back, with every frame in its place. Raises `BadReplay`."""
    try:
        replay = msgspec.json.decode(document, type=Replay)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BadReplay(f"not a replay of a race: {error}") from error
    plies = [0] * len(replay.record.seats)
    if replay.firsts and len(replay.firsts) != len(plies):
        raise BadReplay(f"{len(replay.firsts)} first views for {len(plies)} seats")
    order = [(frame.at_ms, frame.seat, frame.ply) for frame in replay.frames]
    if order != sorted(order):
        raise BadReplay("the frames are not in the order of their times")
    for number, frame in enumerate(replay.frames, 1):
        if frame.seat >= len(plies) or frame.ply != plies[frame.seat] + 1 or frame.at_ms < 0:
            raise BadReplay(f"frame {number} is out of place")
        plies[frame.seat] += 1
    if not plies:
        raise BadReplay("the record has no seats")
    return replay
