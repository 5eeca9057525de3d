"""What every player saw in a race, move by move: asked of `carpet-server frames`, in a process of its own on this machine.

As for the review, no server has work with it, and no screen waits for it. Must not know the rules of the games.
"""

from __future__ import annotations

from collections.abc import Sequence

import trio

from client.connection.errors import Failure
from client.replay.own_server import FALSE, ServerFailed, ServerNotStarted, ask_server
from client.replay.timeline import TimeLine, time_line
from protocol.record import Record, to_json
from protocol.replay import BadReplay, from_json
from protocol.text import clean_chat

LIMIT_S = 60.0
"""A record of thousands of moves takes seconds."""


class NoReplay(Failure):
    """The race cannot be replayed; the text says why."""


async def replay_race(record: Record, *, command: Sequence[str] | None = None, limit_s: float = LIMIT_S) -> TimeLine:
    """The time line of a record, which is checked on the way. Raises NoReplay. Cancelling ends the process.

    command: the whole command line, in place of the server's, for tests.
    """
    try:
        with trio.fail_after(limit_s):
            answer = await ask_server(("frames", "--json", "-"), to_json(record), command=command)
        return time_line(from_json(answer))
    except trio.TooSlowError:
        raise NoReplay(f"The replay took longer than {limit_s:.0f} seconds to make and was given up.") from None
    except ServerNotStarted as error:
        raise NoReplay(f"The replay could not be started: {error}.") from error
    except (ServerFailed, BadReplay) as error:
        # What the process says can quote the record.
        said = clean_chat(str(error))
        what = "That record is not true" if said.startswith(FALSE) else "There is no replay of that race"
        raise NoReplay(f"{what}: {said.removeprefix(FALSE)}.") from error
