"""The page for browsers: its files, read once, and what a browser is told to let it do.

One document serves every address (`/`, `/play/CODE`, `/watch/CODE`, `/tournament/ID`); its scripts read the address and speak
`carpet.v1.json` with this server.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Final

import trio

from server.net.http import VARIES, Asked, Page, Route

TYPES: Final = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml; charset=utf-8"}

FILES: Final = {
    entry.name: TYPES[entry.name.rpartition(".")[2]]
    for entry in sorted(files("server.pages").joinpath("web").iterdir(), key=lambda entry: entry.name)
    if entry.name.rpartition(".")[2] in TYPES
}
"""What the document asks for beside itself, at `/web/NAME`, with its type."""

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    # Covers WebSockets to the same host and port too.
    "connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)

_GUARDED: Final = (
    ("Content-Security-Policy", _POLICY),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
)


def web_routes() -> tuple[Route, ...]:
    document = _page("index.html", "text/html; charset=utf-8", (*_GUARDED, *VARIES))
    parts = (_route(f"/web/{name}", _page(name, kind, _GUARDED)) for name, kind in FILES.items())
    places = ("/", "/play", "/play/{code}", "/watch/{code}", "/tournament/{id}")
    return (*(_route(place, document) for place in places), *parts)


def _page(name: str, kind: str, headers: tuple[tuple[str, str], ...]) -> Page:
    body = files("server.pages").joinpath("web", name).read_bytes()
    # Asked for again each time, and answered with 304 while it is the same: a newer server's scripts never meet an older one's page.
    return Page(body, kind, "no-cache", f'"{hashlib.sha256(body).hexdigest()[:32]}"', headers)


def _route(path: str, page: Page) -> Route:
    async def show(asked: Asked) -> Page:
        del asked
        await trio.lowlevel.checkpoint()
        return page

    return Route(path, show, is_file=True)
