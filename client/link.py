"""The port between the terminal client and its connection: what the app may ask of a link, and what a link tells it.

`client.net` implements it over a WebSocket, tests over nothing. A link says hello and, after a reconnect, joins the player's race again
with the last version it has passed on; the app sends requests and reduces what comes. Must not know of sockets, screens or the game.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import trio

from protocol.client_messages import ClientMessage
from protocol.server_messages import ServerMessage


@dataclass(frozen=True, slots=True)
class Connecting:
    """A try has begun. attempt: 1 for the first since the link last stood."""

    attempt: int


@dataclass(frozen=True, slots=True)
class Connected:
    """The line stands and hello is on its way. subprotocol: the one agreed on."""

    url: str
    subprotocol: str


@dataclass(frozen=True, slots=True)
class Lost:
    """There is no line. reason: a sentence for a person. retry_in_ms: until the next try; None when there will be none."""

    reason: str
    retry_in_ms: int | None


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """A ping came back after `ms` milliseconds."""

    ms: int


LinkEvent: TypeAlias = Connecting | Connected | Lost | RoundTrip


class Link(Protocol):
    """A connection to one server that heals itself.

    url: where it goes. events: everything that came and everything that happened to the line, in order; the channel ends when the link
    is closed for good.
    """

    @property
    def url(self) -> str: ...

    @property
    def events(self) -> trio.MemoryReceiveChannel[ServerMessage | LinkEvent]: ...

    def send(self, message: ClientMessage) -> bool:
        """Hand `message` to the line. Never blocks. False when there is no connection now: the message is dropped, nothing is queued."""
        ...
