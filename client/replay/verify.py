"""Whether a record holds, the number of its deal included: asked of `carpet-server verify`, in a process of its own on this machine.

As for the review, no server has work with it, and no screen waits for it. Must not know the rules of the games, nor how a deal is searched.
"""

from __future__ import annotations

from collections.abc import Sequence

import trio

from client.replay.own_server import FALSE, ServerFailed, ask_server
from protocol.record import Record, to_json
from protocol.text import clean_chat

LIMIT_S = 60.0
"""A search that takes longer is for `carpet verify`, which has no limit."""


async def verify_race(record: Record, *, command: Sequence[str] | None = None, limit_s: float = LIMIT_S) -> tuple[bool | None, str]:
    """Whether it holds, and where it does not, or could not be checked (None), why. Cancelling ends the process.

    command: the whole command line, in place of the server's, for tests.
    """
    with trio.move_on_after(limit_s):
        try:
            await ask_server(("verify", "-"), to_json(record), command=command)
        except ServerFailed as error:
            # What the process says can quote the record.
            said = clean_chat(str(error))
            return (False, said.removeprefix(FALSE)) if said.startswith(FALSE) else (None, said)
        return True, ""
    return None, f"it took longer than {limit_s:g} seconds"
