"""Why connecting failed or a connection ended, in sentences for a person: the errors of a first connection and the close codes.

Pure; must not know of the library behind the connection.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import ClassVar, Final

from msgspec import Struct

from protocol.errors import CloseCode
from protocol.server_messages import Error
from protocol.text import clean_chat, clean_refusal

TRY_SECURE: Final = "try wss:// instead of ws:// (in a link: https:// instead of http://)"
_TRY_PLAIN: Final = "try ws:// instead of wss:// (in a link: http:// instead of https://)"


class Failure(Exception):
    """An error that a person can do something about: commands print it as a sentence, not as a traceback.

    str() is one sentence or two: what is wrong, and what to do. Each module has its own subclasses.
    """


class LinkError(Failure):
    """The first connection failed; str() is one sentence for a person. why: the same in few words, after the name of the server."""

    why: ClassVar[str] = "does not answer"


class Unreachable(LinkError):
    """Nothing answers there, or not now."""


class Busy(Unreachable):
    """Something answers there for a server that cannot take anybody now."""

    why = "cannot take you now"


class LetGo(Unreachable):
    """The server lets nobody in, and says that others of its place do."""

    why = "lets nobody in any more"


class Limited(LinkError):
    """The server, or what stands before it, has let in enough from this address. Other servers are not a way round that."""


class NotTrusted(LinkError):
    """The TLS handshake failed."""


class NotCarpetServer(LinkError):
    """Something answers there, but it is not a Carpet Race server."""


class RequestRefused(LinkError):
    """The server refused the request. error: its answer."""

    def __init__(self, error: Error) -> None:
        super().__init__(clean_refusal(error.message) or clean_chat(error.code))
        self.error = error


class OtherVersion(LinkError):
    """A Carpet Race server that speaks another version of the protocol. Trying again does not help."""


class Ending(Struct, frozen=True):
    """Why a connection ended. final: reconnecting would only end the same way. server_is_gone: try another server of the place first."""

    reason: str
    final: bool = False
    server_is_gone: bool = False


LOST = Ending("The connection to the server was lost.")
TAKEN_OVER = Ending("You continued in another window or elsewhere. Press Enter to go on here.", final=True)

TURNED_AWAY = Ending("The server cannot let anybody in just now.", server_is_gone=True)

LET_GO = Ending("That server lets nobody in any more; its races go on at others of the same place.", server_is_gone=True)

_CLOSED: dict[int, Ending] = {
    CloseCode.TAKEN_OVER: TAKEN_OVER,
    CloseCode.BANNED: Ending("The host of this server has banned you.", final=True),
    CloseCode.ENDED_BY_HOST: Ending("The host of this server has closed your connection.", final=True),
    CloseCode.FLOOD: Ending("The server closed the connection: too many messages were sent to it.", final=True),
    CloseCode.TOO_MANY_ERRORS: Ending("The server closed the connection: it could not understand what was sent to it.", final=True),
    CloseCode.HELLO_TIMEOUT: Ending("The server closed the connection: no hello came in time.", final=True),
    CloseCode.LET_GO: LET_GO,
    CloseCode.TOO_SLOW: Ending("The server closed the connection: it had more to send than your connection took."),
    1000: Ending("The server closed the connection."),
    1001: Ending("The server is going away."),
    1011: Ending("Something went wrong on the server."),
    1012: Ending("The server is being restarted."),
    1013: Ending("The server is too busy."),
}


def closed_by_server(code: int, reason: str) -> Ending:
    """The server closed the connection with this WebSocket close code."""
    known = _CLOSED.get(code)
    if known is not None:
        return known
    # The reason is in the server's own words, and is printed on a terminal: clean it.
    return Ending(f"The server closed the connection: {clean_chat(reason) or f'code {code}'}.")


def closed_here(code: int, reason: str) -> Ending:
    """This end closed the connection. Unless that was a goodbye, the server broke the protocol."""
    if code == 1000:
        return LOST
    return cannot_read(clean_chat(reason) or f"code {code}")


def cannot_read(what: str) -> Ending:
    """The server sent bytes that are not a message. It would send them again."""
    return Ending(f"The server sent something that this version cannot read: {what}.", final=True)


def other_version(url: str, subprotocol: str) -> OtherVersion:
    return OtherVersion(f"The server at {url} does not speak {subprotocol}: one of the two needs an update of carpet-race.")


def refused_by_http(status: int, body: bytes, url: str, subprotocol: str) -> LinkError:
    """The handshake got an HTTP answer in place of a WebSocket."""
    if status == 400 and b"subprotocol" in body.lower():
        return other_version(url, subprotocol)
    if status >= 500 or status == 429:
        kind = Limited if status == 429 else Busy
        return kind(f"The server at {url} cannot take you now (HTTP {status}); try again later.")
    if 300 <= status < 400:
        hint = "" if url.startswith("wss:") else f"{TRY_SECURE}, or "
        return NotCarpetServer(f"{url} sends you elsewhere (HTTP {status}), which is not followed: {hint}ask for the server's own address.")
    return NotCarpetServer(f"{url} is not a Carpet Race server: it answers HTTP {status}.")


def unreachable(error: BaseException, *, host: str, place: str) -> LinkError:
    """Name lookup, TCP or TLS failed. place: host and port, for people."""
    # Imported late: the first screen needs neither.
    import socket
    import ssl

    causes = list(_causes(error))
    for cause in causes:
        match cause:
            case ssl.SSLCertVerificationError():
                return NotTrusted(f"The certificate of {place} is not trusted: {cause.verify_message}.{_own_authority()}")
            case ssl.SSLError():
                return NotTrusted(f"No secure connection to {place} ({cause.reason or cause}); {_TRY_PLAIN}.")
            case UnicodeError():
                # From a name that cannot exist, such as `a..b`.
                return Unreachable(f"There can be no host named {host}.")
            case socket.gaierror():
                return Unreachable(f"There is no host named {host}, or its address cannot be looked up now.")
            case ConnectionRefusedError():
                return Unreachable(f"Nothing answers at {place}: the connection was refused; is the server running, and is that its port?")
    root = causes[-1]
    said = root.strerror if isinstance(root, OSError) and root.strerror else "the connection broke during the handshake"
    return Unreachable(f"Cannot connect to {place}: {said}.")


def _own_authority() -> str:
    """How to trust a self-signed certificate, or why the attempt to do so failed."""
    file = os.environ.get("SSL_CERT_FILE")
    if file is None:
        return " To trust one of your own making, name its file: SSL_CERT_FILE=cert.pem."
    return "" if os.path.exists(file) else f" SSL_CERT_FILE names {clean_chat(file)}, which does not exist."


def _causes(error: BaseException) -> Iterator[BaseException]:
    # Trio raises "all attempts failed" from a group with one error per address; the first one says enough.
    current: BaseException | None = error
    while current is not None:
        if isinstance(current, BaseExceptionGroup):
            current = current.exceptions[0]
            continue
        yield current
        current = current.__cause__
