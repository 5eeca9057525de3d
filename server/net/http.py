"""Plain HTTP on the same port: finds the page that a request is for, or says in a sentence why there is none.

Knows paths, headers and limits. The contents of pages come from the routes that the composition root passes in; to add a page, pass in
another `Route`. All pages are public, read-only and the same for everybody. No request says who asks, so pages of any web origin may read
them (`access-control-allow-origin: *`).
"""

from __future__ import annotations

import gzip
import hashlib
import logging
import re
import urllib.parse
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import formatdate
from functools import cache, partial
from http import HTTPStatus
from typing import Final, TypeAlias

import msgspec
import trio
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from protocol.errors import Refusal
from protocol.pages import Problem
from server.lobby.bans import Bans
from server.net.connection import Caller
from server.net.connection_limits import AdmissionOutcome, place_of
from server.net.limits import CODE_AGAIN_MS, AddressRates, CodeGuesses

logger = logging.getLogger("carpet.net")

JSON_TYPE: Final = "application/json; charset=utf-8"
TEXT_TYPE: Final = "text/plain; charset=utf-8"

TARGET_CHARACTERS: Final = 1024
"""The longest path with its query: several times what the longest name takes with all its characters percent-encoded."""

QUERY_FIELDS: Final = 8

PAGES_A_SECOND: Final = 10.0
PAGES_AT_ONCE: Final = 40
"""Pages that one address may ask for; beyond that the answer is 429. Many people may share one address, or a proxy stand before them all.
"""

FILES_A_SECOND: Final = 50.0
FILES_AT_ONCE: Final = 1000
"""The same for files that are served as they lie in memory. Each costs no more than a refusal, and a browser asks for a dozen at once on
every visit: a school class behind one address may open the page in the same second."""

REQUESTS_A_SECOND: Final = PAGES_A_SECOND + FILES_A_SECOND
REQUESTS_AT_ONCE: Final = PAGES_AT_ONCE + FILES_AT_ONCE
HASTE_S: Final = 1.0
"""The same for requests of any kind. Beyond that each is answered HASTE_S later, and its connection is not read meanwhile: refusals cost
time too, and one address could have thousands of them a second, between which moves would have to wait."""

QUICK_BYTES: Final = 64 * 1024
"""The largest document that is tagged and compressed here, in half a millisecond. A larger one comes with both already, or has neither."""

WORTH_ZIPPING: Final = 1400
"""Bytes from which compression is worth it: what fits in one packet arrives no sooner compressed."""

FOREVER: Final = "public, max-age=31536000, immutable"
"""The `cache-control` of what never changes."""

VARIES: Final = (("Vary", "Accept"),)
"""Headers of `/`, where browsers and programs get different pages."""

_WELCOME = """\
This is a Carpet Race server: two people, or up to eight, race at the patience game Carpet on the same shuffle.
To race here, install carpet-race and run: carpet home {scheme}://THIS-ADDRESS
"""

_REFUSALS = {
    AdmissionOutcome.FULL: (
        HTTPStatus.SERVICE_UNAVAILABLE,
        "There are as many connections to this server as it may have; try again later.\n",
    ),
    AdmissionOutcome.CROWDED: (
        HTTPStatus.TOO_MANY_REQUESTS,
        "There are too many connections from your address; close some or try again later.\n",
    ),
}

_HOST = re.compile(r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
_BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a page. values: by name, what the request has in place of the names in the route. query: its fields, each name once.
    Both are decoded and printable.

    path: as requested, percent-encoded. base: this server's address as the client wrote it, `https://HOST`; empty if it cannot be told. It
    is only the client's word, good enough for what is sent to that client alone.
    check_guess: to be called with a code that is not told to everybody, before anything says whether there is such a race or tournament.
    Raises NoPage if too many have been tried from the client's address.
    """

    values: Mapping[str, str]
    query: Mapping[str, str]
    path: str = ""
    base: str = ""
    check_guess: Callable[[str], None] = lambda _: None

    def number(self, name: str, *, usual: int, most: int) -> int:
        """This field of the query, or `usual` if it is missing. Raises NoPage unless it is a number from 1 to `most`."""
        text = self.query.get(name, str(usual))
        if re.fullmatch(r"[0-9]{1,4}", text) is None or not 1 <= int(text) <= most:
            raise NoPage(HTTPStatus.BAD_REQUEST, f"{name} must be a number from 1 to {most}.")
        return int(text)


@dataclass(frozen=True, slots=True)
class Page:
    """A document. cache: the `cache-control` header. tag: the `etag` with its quotes, or empty. headers: further headers.

    zipped: the body compressed with gzip, for clients that take it; empty if that is not worth it.
    """

    body: bytes
    content_type: str = JSON_TYPE
    cache: str = "no-cache"
    tag: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    zipped: bytes = b""


class PageMoved(Exception):
    """The page now has another address. place: a path of this server."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.place = place


class NoPage(Exception):
    """There is no such page. sentence: why, for the person who asked. retry_after_s: when asking again may help."""

    def __init__(self, status: HTTPStatus, sentence: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.retry_after_s = retry_after_s


Show: TypeAlias = Callable[[Asked], Awaitable[Page]]
"""Makes a page. Raises NoPage or PageMoved. Cancelled if it takes longer than a request may."""


class Route:
    """path: such as `/players/{name}/races.json`; a name in braces stands for one step of a path, or part of one.

    is_file: the page is served as it lies in memory.
    """

    def __init__(self, path: str, show: Show, *, is_file: bool = False) -> None:
        self._pattern = _pattern(path)
        self.show = show
        self.is_file = is_file

    def ask(self, path: str, query: str = "", base: str = "") -> Asked | None:
        """The request for this path, or None if it belongs to another route. Raises NoPage if it cannot be read."""
        found = self._pattern.fullmatch(path)
        if found is None:
            return None
        return Asked({name: _decoded(value) for name, value in found.groupdict().items()}, _query(query), path, base)


@cache
def _pattern(path: str) -> re.Pattern[str]:
    """Of a route. They are the same for every server of a process, two hundred each."""
    steps = re.split(r"\{(\w+)\}", path)
    return re.compile("".join(f"(?P<{step}>[^/]+)" if odd % 2 else re.escape(step) for odd, step in enumerate(steps)))


Problems: TypeAlias = Callable[[HTTPStatus, str], Page]
"""Makes the page that says in a sentence why there is no page."""


class Site:
    """All pages of a server."""

    def __init__(
        self,
        routes: Sequence[Route] = (),
        *,
        problem: Problems | None = None,
        bans: Bans | None = None,
        guesses: CodeGuesses | None = None,
    ) -> None:
        """problem: makes the page that browsers are shown if there is no page. By default they get the document for programs. guesses: see
        `Asked.check_guess`; None for no limit.
        """
        self._guesses = guesses
        self.refused = 0
        """Requests for pages refused because too many came from their address."""
        self._bans = bans
        self._routes = tuple(routes)
        self._problem = problem
        self._rates = AddressRates(rate=PAGES_A_SECOND, burst=PAGES_AT_ONCE)
        self._file_rates = AddressRates(rate=FILES_A_SECOND, burst=FILES_AT_ONCE)
        self._request_rates = AddressRates(rate=REQUESTS_A_SECOND, burst=REQUESTS_AT_ONCE)

    async def answer(self, caller: Caller, request: Request, *, secure: bool) -> Response | None:
        """The answer to a request, or None if it is for a WebSocket. secure: the request came over TLS."""
        is_admitted = caller.entry is AdmissionOutcome.ADMITTED
        if is_admitted and not self._request_rates.allow(caller.remote_host, trio.current_time()):
            await trio.sleep(HASTE_S)
        path = request.path.partition("?")[0]
        reads = request.method in ("GET", "HEAD")
        # A monitor is always told that the server is alive, even if every other request is refused.
        if path == "/healthz" and reads:
            response = text_response(HTTPStatus.OK, "ok\n")
        elif refusal := _REFUSALS.get(caller.entry):
            status, sentence = refusal
            response = text_response(status, sentence)
        elif "websocket" in (value.lower() for value in request.headers.get_all("Upgrade")):
            return None
        elif not reads:
            refused = NoPage(HTTPStatus.METHOD_NOT_ALLOWED, "Pages are read-only: use GET.")
            response = problem(refused)
            response.headers["Allow"] = "GET, HEAD"
        elif path == "/" and not _wants_html(request):
            welcome = _WELCOME.format(scheme="wss" if secure else "ws")
            response = _response(HTTPStatus.OK, Page(welcome.encode(), TEXT_TYPE, headers=VARIES))
        else:
            response = await self._page(caller, request, secure=secure)
        if request.method == "HEAD":
            response.body = b""
        return response

    async def _page(self, caller: Caller, request: Request, *, secure: bool) -> Response:
        try:
            if self._bans is not None:
                self._bans.check("address", place_of(caller.remote_host))
            route, asked = self._find(request.path, _base(request, secure=secure))
            rates = self._file_rates if route.is_file else self._rates
            if not rates.allow(caller.remote_host, trio.current_time()):
                self.refused += 1
                raise NoPage(HTTPStatus.TOO_MANY_REQUESTS, "Too many requests from one address; slow down.", retry_after_s=1)
            page = _tagged(await route.show(replace(asked, check_guess=partial(self._check_guess, caller.remote_host))))
            # The header may be repeated, and a proxy that compresses makes the tag a weak one.
            known = ",".join(request.headers.get_all("If-None-Match")).split(",")
            if page.tag and page.tag in (tag.strip().removeprefix("W/") for tag in known):
                return _response(HTTPStatus.NOT_MODIFIED, replace(page, body=b"", zipped=b""))
            return _response(HTTPStatus.OK, _as_taken(page, request))
        except PageMoved as moved:
            # Not permanent: a code is used again when its room is gone.
            response = _response(HTTPStatus.SEE_OTHER, Page(b"", TEXT_TYPE, "no-store"))
            response.headers["Location"] = moved.place
            return response
        except NoPage as refused:
            return self._refused(refused, request)
        except Refusal as refusal:
            return self._refused(NoPage(HTTPStatus.FORBIDDEN, refusal.sentence), request)
        except Exception:
            # Caught here for every page: one that fails must not end the connection, and its client gets an answer.
            logger.exception("the page %s could not be made", request.path)
            sentence = "Something went wrong on the server; its log says what."
            return self._refused(NoPage(HTTPStatus.INTERNAL_SERVER_ERROR, sentence), request)

    def _check_guess(self, host: str, code: str) -> None:
        if self._guesses is not None and not self._guesses.allow(host, code, trio.current_time()):
            sentence = "Many codes have been tried from your address; wait a little."
            raise NoPage(HTTPStatus.TOO_MANY_REQUESTS, sentence, retry_after_s=CODE_AGAIN_MS // 1000)

    def _refused(self, refused: NoPage, request: Request) -> Response:
        path = request.path.partition("?")[0]
        if self._problem is None or not _wants_html(request) or path.endswith((".json", ".csv")):
            return problem(refused)
        return _refusal(refused, self._problem(refused.status, refused.sentence))

    def _find(self, target: str, base: str) -> tuple[Route, Asked]:
        """The route for this target, and its request. Raises NoPage; PageMoved for a slash too many at the end of an address."""
        if len(target) > TARGET_CHARACTERS:
            raise NoPage(HTTPStatus.REQUEST_URI_TOO_LONG, "That address is longer than any page's.")
        if _BAD_PERCENT.search(target):
            raise _unreadable()
        path, _, query = target.partition("?")
        for route in self._routes:
            asked = route.ask(path, query, base)
            if asked is not None:
                return route, asked
        place = path.rstrip("/")
        if place != path and any(route.ask(place) for route in self._routes):
            raise PageMoved(f"{place}?{query}" if query else place)
        raise NoPage(HTTPStatus.NOT_FOUND, "There is nothing here.")


def _base(request: Request, *, secure: bool) -> str:
    hosts, schemes = request.headers.get_all("Host"), request.headers.get_all("X-Forwarded-Proto")
    if len(hosts) != 1 or _HOST.fullmatch(hosts[0]) is None:
        return ""
    return f"{'https' if secure or schemes == ['https'] else 'http'}://{hosts[0].lower()}"


def _tagged(page: Page) -> Page:
    """The page with a tag made from its body, and compressed if that costs less than sending it as it is."""
    if page.tag or page.cache == "no-store" or len(page.body) > QUICK_BYTES:
        return page
    is_small = page.zipped or len(page.body) < WORTH_ZIPPING or page.content_type != JSON_TYPE
    zipped = page.zipped if is_small else gzip.compress(page.body, 1, mtime=0)
    return replace(page, tag=f'"{hashlib.sha256(page.body).hexdigest()[:32]}"', zipped=zipped)


def _as_taken(page: Page, request: Request) -> Page:
    """The page, compressed if the client takes that."""
    if not page.zipped:
        return page
    vary = ", ".join([*(value for name, value in page.headers if name == "Vary"), "Accept-Encoding"])
    headers = (*(header for header in page.headers if header[0] != "Vary"), ("Vary", vary))
    offered = {part.strip().lower() for value in request.headers.get_all("Accept-Encoding") for part in value.split(",")}
    if "gzip" not in offered:
        return replace(page, headers=headers)
    return replace(page, body=page.zipped, headers=(*headers, ("Content-Encoding", "gzip")))


def _wants_html(request: Request) -> bool:
    return any("text/html" in value for value in request.headers.get_all("Accept"))


def _decoded(text: str) -> str:
    try:
        decoded = urllib.parse.unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise _unreadable() from None
    if not decoded.isprintable():
        raise _unreadable()
    return decoded


def _query(text: str) -> dict[str, str]:
    fields = [field.partition("=") for field in text.split("&") if field]
    if len(fields) > QUERY_FIELDS:
        raise NoPage(HTTPStatus.BAD_REQUEST, "That address has too many parameters.")
    # A plus sign is a space here, and only here.
    pairs = [(_decoded(name.replace("+", " ")), _decoded(value.replace("+", " "))) for name, _, value in fields]
    query = dict(pairs)
    if len(query) < len(pairs):
        raise NoPage(HTTPStatus.BAD_REQUEST, "That address gives a parameter twice.")
    return query


def _unreadable() -> NoPage:
    return NoPage(HTTPStatus.BAD_REQUEST, "That address is not readable text in UTF-8 with percent signs.")


def problem(refused: NoPage) -> Response:
    """What a program is told if there is no page."""
    return _refusal(refused, Page(msgspec.json.encode(Problem(error=refused.sentence)) + b"\n", cache="no-store"))


def text_response(status: HTTPStatus, sentence: str) -> Response:
    """An answer of one line of text, given with its line end."""
    return _response(status, Page(sentence.encode(), TEXT_TYPE, "no-store"))


def _refusal(refused: NoPage, page: Page) -> Response:
    response = _response(refused.status, page)
    if refused.retry_after_s is not None:
        response.headers["Retry-After"] = str(refused.retry_after_s)
    return response


def _response(status: HTTPStatus, page: Page) -> Response:
    headers = Headers(
        {
            "Date": formatdate(usegmt=True),
            "Content-Length": str(len(page.body)),
            "Content-Type": page.content_type,
            "Cache-Control": page.cache,
            # A player's name must not run as a script because a browser takes the page for something else.
            "X-Content-Type-Options": "nosniff",
            "Access-Control-Allow-Origin": "*",
        }
    )
    if page.tag:
        headers["ETag"] = page.tag
    for name, value in page.headers:
        headers[name] = value
    if status is HTTPStatus.NOT_MODIFIED:
        # It would be read as the length of the page that the client has already.
        del headers["Content-Length"]
    return Response(status.value, status.phrase, headers, page.body)
