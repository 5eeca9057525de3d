"""Which web pages may open a socket here. A browser lets every page try, and says with `Origin` whose it is; a program says nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from websockets.datastructures import Headers


class Origins:
    def __init__(self, allowed: Sequence[str] = (), *, of_place: Callable[[], Sequence[str]] = tuple) -> None:
        """allowed: origins of pages that may connect beside the server's own. of_place: those of other servers that are the same place."""
        self._allowed = frozenset(allowed)
        self._of_place = of_place

    def admit(self, headers: Headers) -> bool:
        """Whether who sends these may have a socket.

        A page is the server's own when it came from the host and port that the request is for. The scheme is not compared: a proxy may have
        taken off the TLS. A name that its owner lets point here counts as the server's too; the specification says what that is worth.
        """
        origins, hosts = headers.get_all("Origin"), headers.get_all("Host")
        if not origins:
            return True
        if len(origins) > 1 or len(hosts) > 1:
            return False
        own = {f"{scheme}://{host.lower()}" for scheme in ("http", "https") for host in hosts}
        return origins[0] in self._allowed | own or origins[0] in self._of_place()


def page_origin(url: str) -> str:
    """The origin of the pages of a server that players reach at this `ws://…` or `wss://…`, as browsers write it."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = parts.port if parts.port != {"ws": 80, "wss": 443}[parts.scheme] else None
    return f"http{parts.scheme.removeprefix('ws')}://{host}{f':{port}' if port else ''}"
