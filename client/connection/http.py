"""A server's pages over plain HTTP: records, histories and lists, at the WebSocket's address and with the same trust.

Nothing that comes is trusted until it has been parsed as what it should be. Blocks: for commands that have nothing else to do meanwhile.
"""

from __future__ import annotations

import http.client
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

import protocol
from client.connection.address import Address
from client.connection.errors import TRY_SECURE, Failure, unreachable
from client.connection.notice import connecting_to
from protocol.pages import PAGE_RACES, History, HistoryRace, Ladder, LadderPlayer, Problem, is_race_id
from protocol.record import LONGEST_RECORD, BadRecord, Record, digest, from_json
from protocol.run_messages import Challenges, Dailies, ListRuns, Runs
from protocol.server_messages import Lobby
from protocol.text import clean_chat
from protocol.tournaments import TournamentDocument, TournamentListing, TournamentsDocument

if TYPE_CHECKING:
    from http.client import HTTPResponse

LONGEST_PAGE: Final = LONGEST_RECORD
"""Bytes. No page is longer than a record may be."""

LONGEST_PROBLEM: Final = 4096

SILENCE_S: Final = 10.0
"""Seconds for which a server may send nothing."""

WHOLE_S: Final = 60.0
"""Seconds that a whole page may take, however slowly it trickles in."""

CHUNK: Final = 64 * 1024

MOST_WAITS: Final = 30
"""So often in a row `fetch_patiently` waits for one page."""

LONGEST_WAIT_S: Final = 60

Document = TypeVar("Document")
Fetched = TypeVar("Fetched")


class PageRefused(Failure):
    """The server has no such page, or not now. again_s: seconds after which it may be asked for again, if the server said so."""

    def __init__(self, sentence: str, again_s: int | None = None) -> None:
        super().__init__(sentence)
        self.again_s = again_s


class NotAPage(Failure):
    """The answer is not what was asked for."""


def fetch_record(address: Address, race: str) -> Record:
    """The record of a race that is over. race: an id, by `is_race_id`. Raises PageRefused, NotAPage, LinkError."""
    try:
        record = from_json(fetch(address, f"/races/{race}.json"))
    except BadRecord as error:
        raise NotAPage(f"What {address.place} sent cannot be read: {clean_chat(str(error))}.") from error
    # Old records have no id: only their address identifies them.
    if record.id not in ("", race) or digest(record) != record.digest:
        raise NotAPage(f"What {address.place} sent is not the record of race {race}, or it was altered on the way.")
    return record


def fetch_patiently(fetch_page: Callable[[], Fetched], sleep: Callable[[float], None] = time.sleep) -> Fetched:
    """One of many pages. A server that answers no more of them at the moment is asked again when it says.

    Raises what `fetch_page` raises; PageRefused too, if the server goes on refusing.
    """
    for _ in range(MOST_WAITS):
        try:
            return fetch_page()
        except PageRefused as refused:
            if refused.again_s is None:
                raise
            sleep(min(refused.again_s, LONGEST_WAIT_S))
    return fetch_page()


def fetch_history(address: Address, name: str, *, limit: int) -> tuple[HistoryRace, ...]:
    """The last races of a player, newest first, at most `limit`. Raises PageRefused, NotAPage, LinkError."""
    races: list[HistoryRace] = []
    following: str | None = None
    while len(races) < limit:
        query = {"limit": str(min(PAGE_RACES, limit - len(races)))} | ({"before": following} if following is not None else {})
        path = f"/players/{urllib.parse.quote(name, safe='')}/races.json?{urllib.parse.urlencode(query)}"
        page = _read_as(History, fetch(address, path), address)
        if not all(is_race_id(race.id) and race.seat < len(race.seats) for race in page.races):
            raise NotAPage(f"What {address.place} sent is not a history: it has a race without an id or a seat.")
        races.extend(page.races)
        following = page.next
        # A chain of empty pages could go on for ever.
        if following is None or not page.races:
            break
    return tuple(races[:limit])


def fetch_lobby(address: Address) -> Lobby:
    """Who is there, and which races are open. Raises PageRefused, NotAPage, LinkError."""
    return _read_as(Lobby, fetch(address, "/races.json"), address)


def fetch_ladder(address: Address, *, limit: int) -> tuple[LadderPlayer, ...]:
    """The best players, at most `limit`, best first. Raises PageRefused, NotAPage, LinkError."""
    return _read_as(Ladder, fetch(address, f"/ladder.json?limit={limit}"), address).players[:limit]


def fetch_dailies(address: Address) -> Dailies:
    """The daily deals that a server has committed to. Raises PageRefused, NotAPage, LinkError."""
    return _read_as(Dailies, fetch(address, "/daily.json"), address)


def fetch_challenges(address: Address) -> Challenges:
    """The challenges that anybody may run. Raises PageRefused, NotAPage, LinkError."""
    return _read_as(Challenges, fetch(address, "/challenges.json"), address)


def fetch_runs(address: Address, asked: ListRuns) -> Runs:
    """A board of runs as everybody may see it. Raises PageRefused, NotAPage, LinkError."""
    deal = asked.id
    if asked.kind == "daily" and deal is None:
        now = datetime.fromtimestamp(fetch_dailies(address).now_ms / 1000, UTC)
        deal = now.date().isoformat()
    steps = ["daily", deal or "", asked.rules] if asked.kind == "daily" else ["challenges", deal or ""]
    return _read_as(Runs, fetch(address, "/" + "/".join(urllib.parse.quote(step, safe="") for step in steps) + ".json"), address)


def fetch_tournaments(address: Address) -> tuple[TournamentListing, ...]:
    """The public tournaments, newest first. Raises PageRefused, NotAPage, LinkError."""
    return _read_as(TournamentsDocument, fetch(address, "/tournaments.json"), address).tournaments


def fetch_tournament(address: Address, tournament: str) -> TournamentDocument:
    """All of a tournament. tournament: an id, by `is_tournament_id`. Raises PageRefused, NotAPage, LinkError."""
    document = _read_as(TournamentDocument, fetch(address, f"/tournaments/{tournament}.json"), address)
    if document.id != tournament:
        raise NotAPage(f"What {address.place} sent is not tournament {tournament}.")
    return document


def fetch_standings_table(address: Address, tournament: str) -> str:
    """The standings as CSV, as the server writes them. Raises PageRefused, NotAPage, LinkError."""
    try:
        return fetch(address, f"/tournaments/{tournament}.csv").decode()
    except UnicodeDecodeError as error:
        raise NotAPage(f"What {address.place} sent is not text.") from error


def fetch(address: Address, path: str) -> bytes:
    """One page. Raises PageRefused, NotAPage, LinkError."""
    software = f"carpet-race {protocol.__version__}"
    # The URL is http or https by construction, and the opener handles nothing else.
    request = urllib.request.Request(address.page(path), headers={"Accept": "application/json", "User-Agent": software})  # noqa: S310
    try:
        with connecting_to(address.place), _opener(address).open(request, timeout=SILENCE_S) as response:
            return _read(response, LONGEST_PAGE, address)
    except urllib.error.HTTPError as error:
        with error:
            raise _refused(error, address) from error
    except urllib.error.URLError as error:
        reason = error.reason if isinstance(error.reason, BaseException) else error
        raise _no_connection(reason, address) from error
    except (OSError, http.client.HTTPException, UnicodeError) as error:
        raise _no_connection(error, address) from error


def _opener(address: Address) -> urllib.request.OpenerDirector:
    # No redirections, which could lead anywhere; no files, no FTP; and the proxies of the environment, as for the WebSocket.
    # HTTPS only where it is used: reading the system's certificates takes longer than most pages.
    opener = urllib.request.OpenerDirector()
    handlers = (
        urllib.request.ProxyHandler({} if address.is_loopback else None),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()) if address.secure else urllib.request.HTTPHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
    )
    for handler in handlers:
        opener.add_handler(handler)
    return opener


def _read(response: HTTPResponse | urllib.error.HTTPError, most: int, address: Address) -> bytes:
    until = time.monotonic() + WHOLE_S
    received = bytearray()
    # Each call waits for one packet at most, so a trickle is noticed.
    while data := response.read1(CHUNK):
        received += data
        if len(received) > most:
            raise NotAPage(f"What {address.place} sends is far longer than it should be.")
        if time.monotonic() > until:
            raise NotAPage(f"What {address.place} sends takes too long; try again later.")
    return bytes(received)


def _read_as(kind: type[Document], body: bytes, address: Address) -> Document:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise NotAPage(f"What {address.place} sent cannot be read: {clean_chat(str(error))}.") from error


def _refused(error: urllib.error.HTTPError, address: Address) -> Failure:
    try:
        said = clean_chat(_read_as(Problem, _read(error, LONGEST_PROBLEM, address), address).error)
    except (Failure, OSError, http.client.HTTPException):
        said = ""
    # It may also be a date, which our servers do not send.
    after = error.headers.get("Retry-After", "")
    again_s = int(after) if after.isascii() and after.isdigit() and len(after) < 6 else None
    if said:
        return PageRefused(f"The server at {address.place} says: {said}", again_s)
    if error.code >= 500 or error.code == 429:
        return PageRefused(f"The server at {address.place} cannot answer now (HTTP {error.code}); try again later.", again_s)
    # What a proxy answers to whoever speaks without TLS to its secure port.
    hint = " Or try wss:// before its name." if error.code == HTTPStatus.BAD_REQUEST and not address.secure else ""
    return PageRefused(f"There is no such page at {address.place} (HTTP {error.code}): is it a new enough Carpet Race server?{hint}")


def _no_connection(error: BaseException, address: Address) -> Failure:
    if isinstance(error, TimeoutError):
        return PageRefused(f"The server at {address.place} does not answer; try again later.")
    if isinstance(error, http.client.HTTPException):
        hint = "." if address.secure else f"; {TRY_SECURE}."
        return NotAPage(f"What answers at {address.place} is not a web server, or broke off{hint}")
    return unreachable(error, host=address.host, place=address.place)
