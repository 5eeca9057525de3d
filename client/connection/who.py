"""Asking a server who a player is, and for another name for him, by his token alone.

On a connection that says no hello: the player may be in the middle of a race elsewhere, and a hello would take that over.
"""

from __future__ import annotations

import trio

from client.connection.client import open_link
from client.connection.errors import Failure, LinkError, Unreachable
from client.connection.events import Identity, Lost
from client.connection.websocket import Dial, LineTimes
from protocol.client_messages import Rename, WhoAmI
from protocol.errors import ErrorCode
from protocol.server_messages import Error, YouAre
from protocol.text import clean_chat, clean_name

_REFERENCE = 1


class NotKnown(Failure):
    """The server knows no player with that token."""


class NotRenamed(Failure):
    """The server will not have that name; nothing has changed."""


class NotTold(Failure):
    """The server will not say now who the player is."""


async def who_is(url: str, identity: Identity, *, dial: Dial | None = None) -> Identity:
    """The player of a token as the server has him. Raises NotTold, NotKnown, LinkError."""
    return await _asked(url, identity, WhoAmI(token=identity.token, ref=_REFERENCE), dial)


async def rename(url: str, identity: Identity, name: str, *, dial: Dial | None = None) -> Identity:
    """Have the player of a token called `name`; who he is then. Raises NotRenamed, NotKnown, LinkError."""
    return await _asked(url, identity, Rename(name=name, token=identity.token, ref=_REFERENCE), dial)


async def _asked(url: str, identity: Identity, request: WhoAmI | Rename, dial: Dial | None) -> Identity:
    assert identity.token is not None
    async with open_link(url, None, reconnect=False, dial=dial) as link:
        link.send(request)
        with trio.move_on_after(LineTimes().open_s):
            async for event in link.events:
                match event:
                    case YouAre(player=player, name=name):
                        return Identity(clean_name(name) or identity.name, identity.token, clean_chat(player) or None)
                    case Error():
                        raise _refusal(event, link.url, identity, request)
                    case Lost(reason=reason):
                        raise Unreachable(reason)
                    case _:
                        pass
        raise Unreachable(f"The server at {link.url} does not answer.")


def _refusal(error: Error, url: str, identity: Identity, request: WhoAmI | Rename) -> Failure:
    match error.code:
        case ErrorCode.UNKNOWN_TOKEN:
            return NotKnown(
                f"The server at {url} does not know you as {identity.name}: it has begun anew, or it is another one."
                " Your next visit makes a new player there."
            )
        case ErrorCode.NAME_TAKEN if isinstance(request, Rename):
            return NotRenamed(f"Another player at {url} is called {clean_name(request.name)}: you are still {identity.name}.")
        case ErrorCode.UNKNOWN_TYPE:
            return LinkError(f"The server at {url} is older than this program: it cannot be asked who you are, nor for another name.")
    said = clean_chat(error.message) or clean_chat(error.code)
    return NotRenamed(said) if isinstance(request, Rename) else NotTold(said)
