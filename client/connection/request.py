"""One question to a server about runs, and its answer: on a line of its own, which takes over no other.

Who has a token is asked for by it; who has none, or is to become a player by asking, says hello.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import trio

from client.connection.client import open_link
from client.connection.errors import Failure, LinkError, Unreachable
from client.connection.events import Identity, Lost
from client.connection.websocket import LineTimes
from protocol.client_messages import ClientMessage
from protocol.errors import ErrorCode
from protocol.server_messages import Error
from protocol.text import clean_chat

Answer = TypeVar("Answer")


class NotAnswered(Failure):
    """The server refused; the text is its sentence."""


async def ask(
    url: str,
    message: ClientMessage,
    kind: type[Answer],
    *,
    identity: Identity | None = None,
    watches: bool = False,
    keep: Callable[[Identity], None] | None = None,
) -> Answer:
    """The answer of this kind. identity: who says hello, None for nobody. watches: on a second connection, beside the one they race by.

    Raises NotAnswered, LinkError.
    """
    async with open_link(url, identity, watches=watches, reconnect=False, keep=keep) as link:
        if identity is not None:
            await link.entered()
        link.send(message)
        with trio.move_on_after(LineTimes().open_s):
            async for event in link.events:
                match event:
                    case Error(code=ErrorCode.UNKNOWN_TYPE):
                        raise LinkError(f"The server at {link.url} is older than this program: it knows of no deals of the day.")
                    case Error():
                        raise NotAnswered(clean_chat(event.message) or clean_chat(event.code))
                    case Lost(reason=reason):
                        raise Unreachable(reason)
                    case _ if isinstance(event, kind):
                        return event
                    case _:
                        pass
        raise Unreachable(f"The server at {link.url} does not answer.")
