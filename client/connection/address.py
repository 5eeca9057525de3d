"""Where a server is: what a person types as an address, and the URL that it stands for.

Pure; must not know of connections. `host`, `host:port` and `host:port/path` stand for `ws://`; only they have the default port 7777, since
a full URL has the port that its scheme says. The address of a server's web page will do, too: what is behind its host is left out.
"""

from __future__ import annotations

import ipaddress
import re
import urllib.parse

from msgspec import Struct

from client.connection.errors import Failure
from protocol import DEFAULT_PORT

LONGEST_MOVE = 200
"""Characters of an address that a server may send its players to."""
_SCHEME_PORTS = {"ws": 80, "wss": 443}
_OF_PAGES = {"http": "ws", "https": "wss"}
_HOST = re.compile(r"[^\s/?#@\[\]:\\%\x00-\x1f\x7f]+")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")


class BadAddress(Failure):
    """A text that is no address of a server. Says why, in one sentence."""


class Address(Struct, frozen=True):
    """One server. host: without brackets. path: empty, or from its slash on, query included."""

    secure: bool
    host: str
    port: int
    path: str = ""

    @property
    def url(self) -> str:
        """The WebSocket URL; two addresses of one server have the same."""
        return f"{'wss' if self.secure else 'ws'}://{self.place}{self.path}"

    @property
    def typed(self) -> str:
        """As short as it can be typed: without what is taken for granted."""
        return self.url if self.secure else self.url.removeprefix("ws://").removesuffix(f":{DEFAULT_PORT}")

    def page(self, path: str) -> str:
        """The URL of a page of that server; path: from its slash on, as it stands in a URL."""
        return f"{'https' if self.secure else 'http'}://{self.place}{self.path.partition('?')[0].rstrip('/')}{path}"

    @property
    def place(self) -> str:
        """`host:port`, for people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether it leads to this machine, from whatever machine it is used."""
        try:
            host = ipaddress.ip_address(self.host)
        except ValueError:
            return self.host == "localhost" or self.host.endswith(".localhost")
        return host.is_loopback or host.is_unspecified

    @property
    def is_private(self) -> bool:
        """Of this machine or of a private network, as far as the address itself shows that."""
        try:
            return not ipaddress.ip_address(self.host).is_global
        except ValueError:
            # A name without a dot is looked up in the own network. `127.1` and `2130706433` are no names: systems take them for addresses.
            rest, _, last = self.host.rstrip(".").rpartition(".")
            return not rest or last in ("localhost", "local") or _NUMBER.fullmatch(last) is not None


def moved_address(told: str, *, by: Address) -> Address:
    """Where a server says that its place goes on. Raises BadAddress for what no client should be sent to.

    The token goes there too, which the server that says so has given out or has just heard. It can send nobody from a safe connection to
    an open one, nor from outside to an address of this machine or of a private network.
    """
    if len(told) > LONGEST_MOVE or not told.startswith(("ws://", "wss://")):
        raise BadAddress("The server sends its players to something that is not a server's address.")
    address = parse_address(told)
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
