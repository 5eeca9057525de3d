"""All positions of a race that is over, as a document: the first ones, and what each move changed. Pure; a job for a worker."""

from __future__ import annotations

import gzip

import msgspec
from msgspec.structs import replace

from protocol.pages import BoardStep, RaceBoards
from protocol.record import from_json
from protocol.replay import Frame
from protocol.views import View
from server.race.face_down import common_bottom
from server.race.replay import frames


def boards_document(record: bytes) -> tuple[bytes, bytes]:
    """The `RaceBoards` of a record as JSON, plain and gzipped. A false record raises what replaying it raises."""
    replay = frames(from_json(record))
    firsts = replay.firsts or (replay.first,) * len(replay.record.seats)
    views = list(firsts)
    steps: list[BoardStep] = []
    for frame in replay.frames:
        steps.append(_step(views[frame.seat], frame))
        views[frame.seat] = frame.view
    shown = tuple(replace(first, moves=()) for first in firsts)
    document = msgspec.json.encode(RaceBoards(race=replay.record.id, rules=replay.rules, firsts=shown, steps=tuple(steps))) + b"\n"
    return document, gzip.compress(document, 6, mtime=0)


def _step(before: View, frame: Frame) -> BoardStep:
    after = frame.view
    kept = common_bottom(before.waste, after.waste)
    return BoardStep(
        seat=frame.seat,
        ply=frame.ply,
        at_ms=frame.at_ms,
        move=frame.move,
        state=frame.state,
        piles={name: pile for name, pile in after.piles.items() if before.piles.get(name) != pile},
        waste_kept=kept,
        waste_more=after.waste[kept:],
        stock=after.stock,
        stock_next=after.stock_next,
        foundations={name: count for name, count in after.foundations.items() if before.foundations.get(name) != count},
        pending=after.pending,
        redeals=after.redeals,
        home=after.home,
    )
