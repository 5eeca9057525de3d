"""The web page: its files, read once, and the policy that tells browsers what it may do.

One document serves every address, each with a title of its own. Its scripts read the address and speak `carpet.v1.json` with this server.
`documents` says what is at an address, and whether there is anything.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from http import HTTPStatus
from importlib.resources import files
from string import Template
from typing import Final, TypeAlias
from urllib.parse import quote

import msgspec
import trio

from protocol.forms import forms_document
from server.net.http import FOREVER, VARIES, Asked, Page, PageMoved, Route
from server.pages.pictures import AS_PNG, HEIGHT, WIDTH, Curve
from server.pages.qr import qr_route
from server.rules.catalogue import RULE_SETS

FORMS: Final = "forms.json"
"""The fields of the page's forms, which are those of the terminal's. It is generated, not a file."""


def _bytes(name: str) -> bytes:
    return forms_document() if name == FORMS else files("server.pages").joinpath("web", name).read_bytes()


def _text(name: str) -> str:
    return _bytes(name).decode()


TYPES: Final = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml; charset=utf-8",
    "webmanifest": "application/manifest+json; charset=utf-8",
    "json": "application/json",
}

FILES: Final = {
    name: TYPES[name.rpartition(".")[2]]
    for name in sorted([FORMS, *(entry.name for entry in files("server.pages").joinpath("web").iterdir())])
    if name.rpartition(".")[2] in TYPES
}
"""The files that documents load, with their types."""

WEB: Final = f"/web/{hashlib.sha256(b''.join(hashlib.sha256(_bytes(name)).digest() for name in FILES)).hexdigest()[:16]}"
"""Where the present files are. A newer server has its files elsewhere, so that an older server's page never gets its scripts, and each file
is fetched only once. The same files at `/web/NAME` are revalidated each time."""

_POLICY: Final = Template(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; manifest-src 'self'; "
    # 'self' also covers WebSockets to the same host and port.
    "connect-src 'self'$sockets; "
    "base-uri 'none'; form-action 'none'; frame-ancestors $embedders; require-trusted-types-for 'script'; trusted-types 'none'"
)

GUARDED: Final = (
    ("Content-Security-Policy", _POLICY.substitute(sockets="", embedders="'none'")),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
)


_HTML: Final = "text/html; charset=utf-8"
_HEADERS: Final = (*GUARDED, *VARIES)

_NAMED_HOST: Final = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]+)?")
"""The origins that a policy can name: there is no syntax for IPv6 addresses."""


def _guarded(origins: Sequence[str], embedders: Sequence[str]) -> tuple[tuple[str, str], ...]:
    sockets = sorted(f" ws{origin.removeprefix('http')}" for origin in set(origins) if _NAMED_HOST.fullmatch(origin))
    policy = _POLICY.substitute(sockets="".join(sockets), embedders=" ".join(embedders) or "'none'")
    return (("Content-Security-Policy", policy), *GUARDED[1:])


@dataclass(frozen=True, slots=True)
class Description:
    """What a document is about, for a tab, a search engine and a preview: a title, a sentence, and how the race went. first: what its page
    can show before the first message arrives some round trips later, as JSON. All of it may contain names that players have chosen."""

    title: str
    sentence: str
    curves: tuple[Curve, ...] = ()
    first: object = None


USUAL: Final = Description(
    "Carpet Race",
    "Two people, or up to eight, race at the patience game Carpet on the same shuffle: play in a browser or a terminal, watch, replay.",
)

ALWAYS: Final[Mapping[str, Description]] = {
    "/": USUAL,
    "/play": Description("Play · Carpet Race", "Race a friend by a link, anybody, or a house bot, with nothing installed."),
    "/screen": Description("On a big screen · Carpet Race", "The closest races in turn, for a big screen or a stream."),
    "/watch/closest": Description("The closest race · Carpet Race", "The closest race that is being run, and then the next."),
    "/ladder": Description("Ladder · Carpet Race", "The best players by rating."),
    "/search": Description("Search · Carpet Race", "Players, their races, tournaments and deals of the day."),
    "/daily": Description("Deals of the day · Carpet Race", "The same shuffle for everybody, once each, until midnight in UTC."),
    "/tournaments": Description("Tournaments · Carpet Race", "Tournaments that are open or being played, then the latest."),
    "/challenges": Description("Challenges · Carpet Race", "Deals that somebody has opened for others to run, once each."),
}
"""Addresses that always exist."""

Describe: TypeAlias = Callable[[Asked], Awaitable[Description]]
"""Says what the document at an address is about. Raises NoPage if there is nothing there."""


ENTRIES: Final[Mapping[str, str]] = {
    "": "lobby.js",
    "play": "play.js",
    "watch": "race.js",
    "race": "finished.js",
    "embed": "race.js",
    "tournament": "tournament.js",
    "screen": "screen.js",
    **dict.fromkeys(("ladder", "search", "player", "daily", "tournaments", "challenges", "challenge"), "tables.js"),
}
"""By the first part of an address: the module of its page, which `app.js` imports."""


def known() -> Mapping[str, Describe]:
    """The descriptions of the addresses in `ALWAYS`."""

    def at(about: Description) -> Describe:
        async def describe(asked: Asked) -> Description:
            del asked
            await trio.lowlevel.checkpoint()
            return about

        return describe

    return {place: at(about) for place, about in ALWAYS.items()}


EMBEDDABLE: Final = ("watch", "race")
"""The first parts of addresses whose content other sites can show in a frame, if the host allows it."""


def picture_of(base: str, path: str) -> str:
    """The address of the preview picture for this address."""
    return f"{base}{path.rstrip('/')}/picture.{'png' if AS_PNG else 'svg'}"


def _preview(asked: Asked) -> str:
    """The part of a document's head for programs that show previews. They need absolute addresses."""
    if not asked.base:
        return ""
    url = f"{asked.base}{asked.path}"
    properties = {"url": url, "image": picture_of(asked.base, asked.path), "image:width": WIDTH, "image:height": HEIGHT}
    lines = [f'<meta property="og:{name}" content="{escape(str(value))}">' for name, value in properties.items()]
    lines.append('<meta name="twitter:card" content="summary_large_image">')
    if asked.path.split("/")[1] in EMBEDDABLE:
        asking = escape(f"{asked.base}/oembed?url={quote(url, safe='')}")
        lines.append(f'<link rel="alternate" type="application/json+oembed" href="{asking}">')
    return "\n".join(lines)


FIRST_RULES: Final = tuple({"id": row.id, "name": row.name, "decks": row.decks} for row in RULE_SETS.values())
"""What the list of races needs to know about the rule sets."""


def _first(data: object, *, preload: str = "") -> str:
    """The part of a document's head for its own page. preload: the document that the page asks for at once."""
    lines = [f'<link rel="preload" as="fetch" crossorigin href="{preload}">'] if preload else []
    if data is not None:
        # Escaped, so that nothing in it ends the element or begins a comment.
        text = msgspec.json.encode(data).decode().replace("<", "\\u003c")
        lines.append(f'<script type="application/json" id="first">{text}</script>')
    return "\n".join(lines)


def web_routes(
    described: Mapping[str, Describe], *, origins: Callable[[], Sequence[str]] = tuple, embedders: Sequence[str] = ()
) -> tuple[Route, ...]:
    """described: by address, what its document is about, without those that always exist. origins: those of the pages of all servers of
    this place, because a document may connect to any of them. embedders: origins whose pages may show `/embed/…` in a frame."""
    template = Template(_text("index.html"))

    def document(asked: Asked, about: Description) -> Page:
        steps = asked.path.split("/")
        needed = sorted(_imported("app.js") | _imported(ENTRIES["screen" if steps[-1] == "screen" else steps[1]]))
        preloads = "\n".join(f'<link rel="modulepreload" href="{WEB}/{name}">' for name in needed)
        first = _first({"rules": FIRST_RULES}, preload="/races.json") if asked.path == "/" else _first(about.first)
        told = {"first": first, "title": escape(about.title), "description": escape(about.sentence), "preview": _preview(asked)}
        text = template.substitute(web=WEB, preloads=preloads, **told)
        return _page(text.encode(), _HTML, (*_guarded(origins(), embedders if steps[1] == "embed" else ()), *VARIES))

    def at(place: str, describe: Describe) -> Route:
        async def show(asked: Asked) -> Page:
            return document(asked, await describe(asked))

        return Route(place, show)

    def always(place: str, about: Description) -> Route:
        kept: dict[str, Page] = {}

        async def show(asked: Asked) -> Page:
            await trio.lowlevel.checkpoint()
            key = " ".join((asked.base, *origins()))
            if key not in kept:
                kept.clear()
                kept[key] = document(asked, about)
            return kept[key]

        return Route(place, show, is_file=True)

    pages = _files()
    parts = (_route(f"{WEB}/{name}", replace(page, cache=FOREVER)) for name, page in pages.items())
    unversioned = (_route(f"/web/{name}", page) for name, page in pages.items())
    # Browsers look here for the icon of anything that is not a page, such as a record.
    icon = _route("/favicon.ico", pages["icon.svg"])
    ever = (always(place, about) for place, about in ALWAYS.items())
    return (
        *ever,
        Route("/races", _races),
        *(at(place, describe) for place, describe in described.items()),
        *parts,
        *unversioned,
        icon,
        qr_route(),
    )


async def _races(asked: Asked) -> Page:
    """Where one looks for the races that are run, which are the page at `/`."""
    del asked
    await trio.lowlevel.checkpoint()
    raise PageMoved("/")


@cache
def _files() -> Mapping[str, Page]:
    """The pages of all files, which are the same for every server of a process: the tests open hundreds of them."""
    return {name: _page(_bytes(name), kind, GUARDED) for name, kind in FILES.items()}


@cache
def _imported(name: str) -> frozenset[str]:
    """A module and everything that it imports on loading."""
    found = {name}
    for imported in re.findall(r'^import [^"(]* from "\./([^"]+)";$', _text(name), re.MULTILINE):
        found |= _imported(imported)
    return frozenset(found)


def problem_page() -> Callable[[HTTPStatus, str], Page]:
    """Makes what a browser is shown for a missing page: why, and where else to go."""
    template = Template(_text("problem.html"))

    def show(status: HTTPStatus, sentence: str) -> Page:
        title = "There is nothing here" if status is HTTPStatus.NOT_FOUND else status.phrase
        # Whoever found no page at all has no more to say than the title.
        sentence = "The address may be mistyped, or what it led to is gone." if sentence == f"{title}." else sentence
        body = template.substitute(web=WEB, title=escape(title), sentence=escape(sentence)).encode()
        return Page(body, _HTML, "no-store", headers=_HEADERS)

    return show


def _page(body: bytes, kind: str, headers: tuple[tuple[str, str], ...]) -> Page:
    # Revalidated each time, and answered with 304 while unchanged.
    zipped = gzip.compress(body, mtime=0) if kind != _HTML else b""
    # The tag includes the headers, because the policy is part of a document.
    tag = hashlib.sha256(body + repr(headers).encode()).hexdigest()[:32]
    return Page(body, kind, "no-cache", f'"{tag}"', headers, zipped)


def _route(path: str, page: Page) -> Route:
    async def show(asked: Asked) -> Page:
        del asked
        await trio.lowlevel.checkpoint()
        return page

    return Route(path, show, is_file=True)
