"""The port between the terminal client and its connection: what the app may ask of a link, and what a link reports.

`client` implements it over a WebSocket, tests over nothing. A link says hello by itself. After a reconnect it also goes back to the race in
which the player holds a seat, naming the last version that it passed on. The app sends requests and reduces what comes. The room events it
gets have no gaps and no repeats. Must not know of sockets, screens or the game.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

from protocol.client_messages import ClientMessage
from protocol.server_messages import ServerMessage

NO_SEAT: Final = "no-seat"
"""`reason` of a Left made by the client itself: after reconnecting there was no seat to go back to. No server sends this."""

NO_RACE: Final = "no-race"
"""`reason` of an Unwatched made by the client itself: after reconnecting the race could no longer be watched. No server sends this."""

WATCH_REFERENCE: Final = 2**31 - 4
"""`ref` of the watch requests that a link makes by itself."""


class Identity(Struct, frozen=True):
    """A name, and the player's token and public id at one server; None for somebody who has not been there before."""

    name: str
    token: str | None = None
    player: str | None = None


class Connecting(Struct, frozen=True):
    """An attempt to connect has begun. attempt: 1 for the first since the link was last up."""

    attempt: int


class Connected(Struct, frozen=True):
    """The connection is up and hello is on its way. After a loss, `Back` follows with the answer. subprotocol: the one agreed on."""

    url: str
    subprotocol: str


class Lost(Struct, frozen=True):
    """There is no connection. reason: a sentence for a person. retry_in_ms: time until the next attempt; None if there will be none."""

    reason: str
    retry_in_ms: int | None


class Back(Struct, frozen=True):
    """A lost connection has been made up for: what was missed has been passed on, and what was unanswered is sent again."""


class RoundTrip(Struct, frozen=True):
    """A ping came back after `ms` milliseconds."""

    ms: int


LinkEvent: TypeAlias = Connecting | Connected | Back | Lost | RoundTrip


class Link(Protocol):
    """A connection to one server that reconnects by itself.

    url: the server's. events: every message, and everything that happened to the connection, in order; the channel ends when the link is
    closed for good.
    """

    @property
    def url(self) -> str: ...

    @property
    def events(self) -> AsyncIterator[ServerMessage | LinkEvent]: ...

    def hurry(self) -> None:
        """Try to connect again now instead of waiting out the pause."""

    def send(self, message: ClientMessage) -> bool:
        """Hand `message` to the connection. Never blocks.

        False if there is no connection, or none yet that can reach the message's room: the message is dropped, not queued. A message that
        was taken is sent again after a loss, until it is answered. A request for a race whose `ref` is 0 is given one, which comes back in
        any error it causes.
        """
        ...


class NoLink:
    """A connection to nowhere, for screens that need no server: nothing comes in, nothing goes out."""

    @property
    def events(self) -> AsyncIterator[ServerMessage | LinkEvent]:
        return _nothing()

    @property
    def url(self) -> str:
        return ""

    def hurry(self) -> None:
        """There is nothing to connect to."""

    def send(self, message: ClientMessage) -> bool:
        """Nobody is there to hear it."""
        del message
        return False


async def _nothing() -> AsyncIterator[ServerMessage | LinkEvent]:
    return
    yield
