"""What was possible in one's own game: asked of `carpet-server review`, in a process of its own on this machine.

So no server has work with it, and no screen waits for it. Must not know the rules of the games, nor how a deal is searched.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import trio

from client.replay.own_server import ServerFailed, ServerNotStarted, ask_server
from protocol.record import Record, to_json

LIMIT_S = 60.0
"""Longer than that nobody looks at a result; two decks take some seconds, on a slow machine a few times as many."""


async def review_game(record: Record, seat: int, *, command: Sequence[str] | None = None, limit_s: float = LIMIT_S) -> tuple[str, ...]:
    """The sentences about the game of `seat` (from 0); where there are none to be had, one that says why. Cancelling ends the process.

    command: the whole command line, in place of the server's, for tests.
    """
    arguments = ("review", "--json", "--seat", str(seat + 1), "-")
    with trio.move_on_after(limit_s):
        try:
            answer = await ask_server(arguments, to_json(record), command=command)
        except ServerNotStarted as error:
            return (f"The review could not be started: {error}.",)
        except ServerFailed as error:
            return (f"There is no review: {error}.",)
        return _sentences(answer) or ("There is no review: it said nothing.",)
    return (f"The review took longer than {limit_s:.0f} seconds and was given up; carpet review takes all the time it needs.",)


def _sentences(output: bytes) -> tuple[str, ...]:
    try:
        (judged,) = json.loads(output)["seats"]
        return tuple(str(sentence) for sentence in judged["sentences"])
    except (ValueError, LookupError, TypeError):
        return ()
