"""The port between the terminal client and its connection: what the app may ask of a link, and what a link tells it.

`client` implements it over a WebSocket, tests over nothing. A link says hello and goes back to the race in which the player holds a
seat, after a reconnect with the last version it has passed on; the app sends requests and reduces what comes. The room events that come
have no gaps and no repeats. Must not know of sockets, screens or the game.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

from protocol.client_messages import ClientMessage
from protocol.server_messages import ServerMessage

NO_SEAT: Final = "no-seat"
"""`reason` of a Left that the client makes itself: on coming back there was no seat left to come back to. No server says this."""

NO_RACE: Final = "no-race"
"""`reason` of an Unwatched that the client makes itself: on coming back the race could not be watched any more. No server says this."""

WATCH_REFERENCE: Final = 2**31 - 4
"""`ref` of the requests to watch that a link makes by itself."""


class Identity(Struct, frozen=True):
    """A name, and the token and public id of that player at one server; None for somebody who has not been there before."""

    name: str
    token: str | None = None
    player: str | None = None


class Connecting(Struct, frozen=True):
    """A try has begun. attempt: 1 for the first since the link last stood."""

    attempt: int


class Connected(Struct, frozen=True):
    """The connection stands and hello is on its way; after a loss `Back` follows once the answer is there. subprotocol: the one agreed
    on.
    """

    url: str
    subprotocol: str


class Lost(Struct, frozen=True):
    """There is no connection. reason: a sentence for a person. retry_in_ms: until the next try; None when there will be none."""

    reason: str
    retry_in_ms: int | None


class Back(Struct, frozen=True):
    """A connection was lost, and from here on all is as if it had not been: what was missed has been told, what was unanswered is sent
    again.
    """


class RoundTrip(Struct, frozen=True):
    """A ping came back after `ms` milliseconds."""

    ms: int


LinkEvent: TypeAlias = Connecting | Connected | Back | Lost | RoundTrip


class Link(Protocol):
    """A connection to one server that heals itself.

    url: where it goes. events: everything that came and everything that happened to the connection, in order; the channel ends when the
    link is closed for good.
    """

    @property
    def url(self) -> str: ...

    @property
    def events(self) -> AsyncIterator[ServerMessage | LinkEvent]: ...

    def hurry(self) -> None:
        """Try to connect again now, where a pause is waited for."""

    def send(self, message: ClientMessage) -> bool:
        """Hand `message` to the connection. Never blocks. False when there is no connection now, or none by which its room could be reached
        yet: the message is dropped, nothing is queued. What was taken is sent again after a loss, until it is answered. A request for a
        race whose `ref` is 0 is given one, which an error that it causes then has.
        """
        ...


class NoLink:
    """A connection to nowhere, for what is shown without a server: nothing is ever heard, and nothing goes out."""

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
