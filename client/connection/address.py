"""The address of a server: what a person types, and the URL that it stands for.

Pure; must not know of connections. `host`, `host:port` and `host:port/path` stand for `ws://`. Only these have the default port 7777; a
full URL has its scheme's. The address of one of the server's web pages works too: everything after its host is dropped.
"""

from __future__ import annotations

import ipaddress
import re
import urllib.parse
from collections.abc import Sequence
from itertools import takewhile

from msgspec import Struct, structs

from client.connection.errors import Failure
from protocol import DEFAULT_PORT
from protocol.text import read_code

LONGEST_MOVE = 200
"""Longest address, in characters, that a server may send its players to."""
LOCALS = ("localhost", "127.0.0.1", "::1")
"""The usual names of the machine that a client runs on."""
_SCHEME_PORTS = {"ws": 80, "wss": 443}
_OF_PAGES = {"http": "ws", "https": "wss"}
_LINK = re.compile(r"https?://[^/]+/(?:play|watch)/([^/?#]+)/?(?:\?.*)?", re.IGNORECASE)
_HOST = re.compile(r"[^\s/?#@\[\]:\\%\x00-\x1f\x7f]+")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")


class BadAddress(Failure):
    """A text that is not the address of a server. str() says why, in one sentence."""


class Address(Struct, frozen=True):
    """One server. host: without brackets. path: empty, or starting with its slash and including the query."""

    secure: bool
    host: str
    port: int
    path: str = ""

    @property
    def url(self) -> str:
        """The WebSocket URL, the same for all addresses of one server."""
        return f"{'wss' if self.secure else 'ws'}://{self.place}{self.path}"

    @property
    def typed(self) -> str:
        """The shortest form to type: without the defaults."""
        return self.url if self.secure else self.url.removeprefix("ws://").removesuffix(f":{DEFAULT_PORT}")

    def page(self, path: str) -> str:
        """The URL of a page of that server. path: starts with a slash, already quoted for a URL."""
        return f"{'https' if self.secure else 'http'}://{self.place}{self.path.partition('?')[0].rstrip('/')}{path}"

    @property
    def place(self) -> str:
        """`host:port`, for people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether it means the machine it is used on, whichever that is."""
        try:
            host = ipaddress.ip_address(self.host)
        except ValueError:
            return self.host == "localhost" or self.host.endswith(".localhost")
        return host.is_loopback or host.is_unspecified

    @property
    def aliases(self) -> tuple[str, ...]:
        """The URLs of the same server under the other usual names of this machine; empty if it is not on this machine.

        What answers there is a program of this machine too: no token leaves it.
        """
        if self.host not in LOCALS:
            return ()
        return tuple(structs.replace(self, host=host).url for host in LOCALS if host != self.host)

    @property
    def is_private(self) -> bool:
        """Whether it is on this machine or a private network, as far as the address itself shows."""
        try:
            return not ipaddress.ip_address(self.host).is_global
        except ValueError:
            # A name without a dot is looked up in the local network. Systems take `127.1` and `2130706433` for addresses, not names.
            rest, _, last = self.host.rstrip(".").rpartition(".")
            return not rest or last in ("localhost", "local") or _NUMBER.fullmatch(last) is not None


def moved_address(text: str, *, by: Address) -> Address:
    """The address to which a server sends its players. Raises BadAddress if no client should follow.

    The token goes there too; the server that sends the player on has issued it or has just heard it. It cannot send anybody from a secure
    connection to an insecure one, nor from outside to an address of this machine or of a private network.
    """
    if len(text) > LONGEST_MOVE or not text.isprintable() or not text.startswith(("ws://", "wss://")):
        raise BadAddress("The server sends its players to something that is not a server's address.")
    address = parse_address(text)
    if by.secure and not address.secure:
        raise BadAddress(f"The server sends its players from a secure connection to {address.url}, which is not secure.")
    if address.is_private and not by.is_private:
        raise BadAddress(f"The server sends its players to {address.url}, an address of their own network.")
    return address


def parse_address(text: str) -> Address:
    """Read what a person typed. Raises BadAddress."""
    typed = text.strip()
    if not typed:
        raise BadAddress("The address of a server is missing: write host, host:port or ws://host:port.")
    scheme, separator, _ = typed.partition("://")
    scheme = scheme.lower() if separator else "ws"
    page = scheme in _OF_PAGES
    scheme = _OF_PAGES.get(scheme, scheme)
    if scheme not in _SCHEME_PORTS:
        raise BadAddress(f"{typed!r} is not the address of a server: it begins with ws:// or wss://, or is host:port.")
    if any(character <= " " for character in typed):
        raise BadAddress(f"{typed!r} is not the address of a server: write host, host:port or ws://host:port.")
    try:
        parts = urllib.parse.urlsplit(typed if separator else f"ws://{typed}")
        host = parts.hostname or ""
        port = parts.port
    except ValueError as error:
        raise BadAddress(f"{typed!r} is not the address of a server: {_reason(typed, error)}.") from error
    if parts.username is not None or parts.fragment:
        raise BadAddress(f"{typed!r} is not the address of a server: it can have neither a user name nor a # part.")
    if port == 0 or not _is_host(host):
        raise BadAddress(f"{typed!r} is not the address of a server: write host, host:port or ws://host:port.")
    default = _SCHEME_PORTS[scheme] if separator else DEFAULT_PORT
    path = "" if page or (parts.path == "/" and not parts.query) else parts.path
    return Address(scheme == "wss", host, port or default, path + (f"?{parts.query}" if parts.query and not page else ""))


def place_and_code(words: Sequence[str]) -> tuple[str, str]:
    """The server, and what stands for the code, in the words that somebody was sent: a link, SERVER CODE, or the whole command to join.

    The code is empty if there is none. Neither has been checked.
    """
    if list(words[:2]) in (["carpet", "join"], ["carpet", "watch"]):
        words = words[2:]
    place, *letters = words or [""]
    letters = list(takewhile(lambda word: not word.startswith("--"), letters))
    return place, read_code("".join(letters) or code_in_link(place))


def code_in_link(typed: str) -> str:
    """What stands for the code in the link of a race's page, as its host's screen shows it; empty if it is no such link."""
    link = _LINK.fullmatch(typed.strip())
    return link[1] if link is not None else ""


def _is_host(host: str) -> bool:
    if ":" not in host:
        return _HOST.fullmatch(host) is not None
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        return False
    return True


def _reason(typed: str, error: ValueError) -> str:
    if typed.rpartition("://")[2].partition("/")[0].count(":") > 1 and "[" not in typed:
        return "an IPv6 address is written in brackets, like [::1]:7777"
    if "ort" in str(error):
        return "the port is a number from 1 to 65535"
    return str(error)
