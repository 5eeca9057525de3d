"""The page for browsers: its files, read once, and what a browser is told to let it do.

One document serves every address, each with a title of its own; its scripts read the address and speak `carpet.v1.json` with this
server. What is at an address, and whether there is anything, is said by `documents`.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from importlib.resources import files
from string import Template
from typing import Final, TypeAlias

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


_HTML: Final = "text/html; charset=utf-8"
_HEADERS: Final = (*_GUARDED, *VARIES)


@dataclass(frozen=True, slots=True)
class Description:
    """What a document is about, for a tab, a search and a preview: a few words, and a sentence. Names of players' making may be in it."""

    title: str
    sentence: str


USUAL: Final = Description(
    "Carpet Race", "Two people race at the patience game Carpet on the same shuffle: play in a browser or a terminal, watch, replay."
)

ALWAYS: Final[Mapping[str, Description]] = {
    "/": USUAL,
    "/play": Description("Play · Carpet Race", "Race a friend by a link, anybody, or a house bot, with nothing installed."),
    "/watch/closest": Description("The closest race · Carpet Race", "The closest race that is being run, and then the next."),
}
"""Addresses with something behind them at any time."""

Describe: TypeAlias = Callable[[Asked], Awaitable[Description]]
"""What the document at an address is about. Raises NoPage where there is no such thing."""


def web_routes(described: Mapping[str, Describe]) -> tuple[Route, ...]:
    """described: for each address but those that are always there, what its document is about."""
    template = Template(_text("index.html"))

    def document(about: Description) -> Page:
        return _page(template.substitute(title=escape(about.title), description=escape(about.sentence)).encode(), _HTML, _HEADERS)

    def at(place: str, describe: Describe) -> Route:
        async def show(asked: Asked) -> Page:
            return document(await describe(asked))

        return Route(place, show)

    always = (_route(place, document(about)) for place, about in ALWAYS.items())
    parts = (_route(f"/web/{name}", _page(_bytes(name), kind, _GUARDED)) for name, kind in FILES.items())
    return (*always, *(at(place, describe) for place, describe in described.items()), *parts)


def problem_page() -> Callable[[HTTPStatus, str], Page]:
    """What a browser is shown in place of a page that is not there: why, and where else to go."""
    template = Template(_text("problem.html"))

    def show(status: HTTPStatus, sentence: str) -> Page:
        title = "There is nothing here" if status is HTTPStatus.NOT_FOUND else status.phrase
        body = template.substitute(title=escape(title), sentence=escape(sentence)).encode()
        return Page(body, _HTML, "no-store", headers=_HEADERS)

    return show


def _bytes(name: str) -> bytes:
    return files("server.pages").joinpath("web", name).read_bytes()


def _text(name: str) -> str:
    return _bytes(name).decode()


def _page(body: bytes, kind: str, headers: tuple[tuple[str, str], ...]) -> Page:
    # Asked for again each time, and answered with 304 while it is the same: a newer server's scripts never meet an older one's page.
    zipped = gzip.compress(body, mtime=0) if kind != _HTML else b""
    return Page(body, kind, "no-cache", f'"{hashlib.sha256(body).hexdigest()[:32]}"', headers, zipped)


def _route(path: str, page: Page) -> Route:
    async def show(asked: Asked) -> Page:
        del asked
        await trio.lowlevel.checkpoint()
        return page

    return Route(path, show, is_file=True)
