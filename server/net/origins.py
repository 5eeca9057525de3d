"""Which web pages may open a WebSocket here. A browser lets any page try, and says with `Origin` whose it is; programs send none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from websockets.datastructures import Headers


class Origins:
    def __init__(self, allowed: Sequence[str] = (), *, of_place: Callable[[], Sequence[str]] = tuple) -> None:
        """allowed: origins of pages that may connect, beside the server's own. of_place: gives those of the place's other servers."""
        self._allowed = frozenset(map(page_origin, allowed))
        self._of_place = of_place

    def admit(self, headers: Headers) -> bool:
        """Whether a request with these headers may open a WebSocket.

        A page is the server's own if it came from the host and port that the request is for. The scheme is not compared, since a proxy may
        have removed the TLS. Any name that its owner points here counts as the server's own too; the specification says what that is worth.
        """
        origins, hosts = headers.get_all("Origin"), headers.get_all("Host")
        if not origins:
            return True
        if len(origins) > 1 or len(hosts) > 1:
            return False
        own = {f"{scheme}://{host.lower()}" for scheme in ("http", "https") for host in hosts}
        return origins[0] in self._allowed | own or origins[0] in self._of_place()


def page_origin(url: str) -> str:
    """The origin, as browsers write it, of pages at this address; of a server's `ws://…` or `wss://…`, that of its pages."""
    parts = urlsplit(url)
    scheme, own_port = {"ws": ("http", 80), "wss": ("https", 443), "http": ("http", 80), "https": ("https", 443)}[parts.scheme]
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = parts.port if parts.port != own_port else None
    return f"{scheme}://{host}{f':{port}' if port else ''}"
