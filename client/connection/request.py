"""One question to a server and its answer, on a connection of its own, for commands.

Commands that have a token ask with it and without a hello, so that they take over no other connection. Others say hello first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable

from client.connection.address import parse_address
from client.connection.client import open_link
from client.connection.errors import Failure, LinkError, RequestRefused
from client.connection.events import Identity
from client.connection.notice import connecting_to, tell_detour
from client.connection.questions import Answer
from client.connection.websocket import Dial
from protocol.client_messages import ClientMessage, Rename, WhoAmI
from protocol.errors import ErrorCode
from protocol.server_messages import YouAre
from protocol.text import clean_chat, clean_name


class NotAnswered(Failure):
    """The server refused; the text says why."""


class NotKnown(NotAnswered):
    """The server knows no player with that token."""

    @classmethod
    def at(cls, url: str, name: str) -> NotKnown:
        return cls(
            f"The server at {url} does not know you as {name}: it has started afresh, or is a different server."
            " Your next visit makes a new player there."
        )


async def ask(
    url: str,
    question: ClientMessage,
    kind: type[Answer],
    *,
    identity: Identity | None = None,
    watches: bool = False,
    keep: Callable[[Identity], None] | None = None,
    nodes: Iterable[str] = (),
    dial: Dial | None = None,
) -> Answer:
    """Ask, and return the answer. identity: who says hello; None for no hello. watches: ask as a player who is known there, on a second
    connection beside the one they race on. nodes: as for `open_link`; if one of them is asked instead, that is said on standard error.

    Raises NotAnswered, LinkError.
    """
    with contextlib.ExitStack() as waiting:
        waiting.enter_context(connecting_to(parse_address(url).place))
        async with open_link(
            url, identity, watches=watches, known_only=watches, reconnect=False, keep=keep, nodes=nodes, dial=dial
        ) as link:
            try:
                return await link.ask(question, kind)
            except RequestRefused as refused:
                if refused.error.code == ErrorCode.UNKNOWN_TYPE:
                    raise LinkError(f"The server at {link.url} is older than this program and does not know that request.") from refused
                if refused.error.code == ErrorCode.UNKNOWN_TOKEN and link.detour is None:
                    raise NotKnown(str(refused)) from refused
                raise NotAnswered(str(refused)) from refused
            finally:
                waiting.close()
                tell_detour(link.detour)


async def who_is(url: str, identity: Identity, *, nodes: Iterable[str] = (), dial: Dial | None = None) -> Identity:
    """The player of a token, as the server knows them. nodes: as for `ask`. Raises NotAnswered, NotKnown, LinkError."""
    assert identity.token is not None
    return await _identified(url, identity, WhoAmI(token=identity.token), nodes, dial)


async def rename(url: str, identity: Identity, name: str, *, nodes: Iterable[str] = (), dial: Dial | None = None) -> Identity:
    """Give the player of a token another name. Returns the resulting identity. nodes: as for `ask`.

    Raises NotAnswered, NotKnown, LinkError.
    """
    assert identity.token is not None
    return await _identified(url, identity, Rename(name=name, token=identity.token), nodes, dial)


async def _identified(url: str, identity: Identity, question: WhoAmI | Rename, nodes: Iterable[str], dial: Dial | None) -> Identity:
    try:
        told = await ask(url, question, YouAre, nodes=nodes, dial=dial)
    except NotKnown as error:
        raise NotKnown.at(url, identity.name) from error
    except NotAnswered as error:
        refused = error.__cause__
        if isinstance(refused, RequestRefused) and refused.error.code == ErrorCode.NAME_TAKEN and isinstance(question, Rename):
            taken = clean_name(question.name)
            raise NotAnswered(f"Another player at {url} is called {taken}: you are still {identity.name}.") from error
        raise
    return Identity(clean_name(told.name) or identity.name, identity.token, clean_chat(told.player) or None)
