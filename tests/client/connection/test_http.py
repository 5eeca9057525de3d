"""Fetching pages: genuine ones are read, and any other answer becomes one sentence."""

from __future__ import annotations

import socket
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from client.connection import http as pages
from client.connection.address import Address, parse_address
from client.connection.errors import Failure, LinkError, NotTrusted, Unreachable
from client.connection.http import LONGEST_WAIT_S, MOST_WAITS, NotAPage, PageRefused, fetch, fetch_history, fetch_patiently, fetch_record
from protocol.pages import History, HistoryRace
from protocol.record import Record, sealed, to_json
from tests.client.page_server import PageServer, page, problem, serving_pages
from tests.client.scenes import record
from tests.client.text.test_past_races import raced, seat

RACE = "HKTRWM-1-0a1b2c3d4e5f"


@pytest.fixture
def server() -> Iterator[PageServer]:
    with serving_pages() as server:
        yield server


@pytest.fixture
def address(server: PageServer) -> Address:
    return parse_address(server.url)


def a_record(**changes: Any) -> Record:
    return sealed(replace(record(), **{"id": RACE, **changes}))


def a_race(number: int, **changes: Any) -> HistoryRace:
    return replace(raced(seat("Anna"), seat("Ben")).race, **{"id": f"HKTRWM-{number}-0a1b2c3d4e5f", **changes})


def history_page(*races: HistoryRace, following: str | None = None) -> bytes:
    return page(msgspec.json.encode(History(player="p", name="Anna", races=races, next=following)))


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("carpet.example", "http://carpet.example:7777/races.json"),
        ("ws://carpet.example/", "http://carpet.example:80/races.json"),
        ("wss://carpet.example", "https://carpet.example:443/races.json"),
        ("wss://carpet.example/table/one/?x=1", "https://carpet.example:443/table/one/races.json"),
        ("[::1]:7777", "http://[::1]:7777/races.json"),
    ],
)
def test_a_page_is_where_the_websocket_is(typed: str, asked: str) -> None:
    assert parse_address(typed).page("/races.json") == asked


# ---- what is as it should be


@pytest.mark.parametrize("kept", [a_record(), a_record(id="")], ids=["with its id", "from before ids"])
def test_a_record_is_read(server: PageServer, address: Address, kept: Record) -> None:
    server.says(page(to_json(kept).encode()))
    assert fetch_record(address, RACE) == kept
    assert server.asked == [f"/races/{RACE}.json"]
    assert "user-agent: carpet-race " in server.requests[0].lower()


def test_a_history_is_read_page_by_page_up_to_the_limit(server: PageServer, address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE_RACES", 3)
    all_races = [a_race(number) for number in range(1, 9)]

    def show(target: str) -> bytes:
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(target).query)
        start = int(query.get("before", ["0"])[0])
        end = start + int(query["limit"][0])
        return history_page(*all_races[start:end], following=str(end) if end < len(all_races) else None)

    server.script = show
    for limit, asked in ((1, 1), (3, 1), (7, 3), (8, 3), (100, 3)):
        server.asked.clear()
        assert list(fetch_history(address, "Zoë /?&%", limit=limit)) == all_races[:limit]
        assert len(server.asked) == asked
        assert all(target.startswith("/players/Zo%C3%AB%20%2F%3F%26%25/races.json?limit=") for target in server.asked)


def test_the_proxy_of_the_environment_is_used_but_for_this_machine_as_for_the_websocket(
    server: PageServer, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    server.says(page(b"[]"))
    assert fetch(address, "/x") == b"[]"
    monkeypatch.setenv("http_proxy", server.url.replace("ws:", "http:"))
    assert fetch(parse_address("ws://carpet.example"), "/x") == b"[]"
    assert server.asked == ["/x", "http://carpet.example:80/x"]


def test_of_many_pages_those_that_are_refused_for_the_moment_are_asked_for_again_when_the_server_says(server: PageServer) -> None:
    def script(target: str) -> bytes:
        is_refused = len(server.asked) < 3
        return page(b'{"error": "Slow down."}', status="429 Many", headers="Retry-After: 7\r\n") if is_refused else page(b"[]")

    server.script = script
    waited: list[float] = []
    address = parse_address(server.url)
    assert fetch_patiently(lambda: fetch(address, "/x"), waited.append) == b"[]"
    assert waited == [7, 7]
    server.says(page(b"", status="429 Many", headers="Retry-After: 99999\r\n"))
    with pytest.raises(PageRefused):
        fetch_patiently(lambda: fetch(address, "/x"), waited.append)
    assert waited[2:] == [LONGEST_WAIT_S] * MOST_WAITS
    # Without a time, or with one that cannot be read, it is refused for good.
    for headers in ("", "Retry-After: soon\r\n", "Retry-After: \xb2\r\n"):
        server.says(page(b"", status="404 Not Found", headers=headers))
        with pytest.raises(PageRefused):
            fetch_patiently(lambda: fetch(address, "/x"), waited.append)
    assert len(waited) == 2 + MOST_WAITS


# ---- what is not


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (problem("404 Not Found", "There is no race with that id."), PageRefused, "says: There is no race with that id."),
        (problem("410 Gone", "Aborted: \x1b[31m\x9b1mred\u202e."), PageRefused, "says: Aborted: red."),
        (problem("409 Conflict", "x" * 1000), PageRefused, "says: " + "x" * 200),
        (problem("409 Conflict", "\x1b[31m"), PageRefused, "There is no such page at"),
        (page(b"There is nothing here.\n", status="404 Not Found"), PageRefused, "is it a new enough Carpet Race server?"),
        (page(b"<html>", status="400 Bad Request"), PageRefused, "Or try wss:// before its name."),
        (page(b'{"error": 7}', status="503 Busy"), PageRefused, "cannot answer now (HTTP 503); try again later."),
        (page(b"y" * 100_000, status="429 Many"), PageRefused, "cannot answer now (HTTP 429); try again later."),
        (page(b"", status="302 Found", headers="Location: file:///etc/passwd\r\n"), PageRefused, "(HTTP 302)"),
        (page(b"", status="301 Moved", headers="Location: http://127.0.0.1:1/\r\n"), PageRefused, "(HTTP 301)"),
        (page(b""), NotAPage, "cannot be read"),
        (page(b"{"), NotAPage, "cannot be read"),
        (page(b"[" * 100_000), NotAPage, "cannot be read"),
        (page(b"\xff\xfe"), NotAPage, "cannot be read"),
        (page(b'{"format": 99}'), NotAPage, "record format 99 is newer than this program reads"),
        (page(to_json(a_record(id="HKTRWM-2-0a1b2c3d4e5f")).encode()), NotAPage, "is not the record of race"),
        (page(to_json(replace(a_record(), rules="other")).encode()), NotAPage, "or it was altered on the way"),
        (page(to_json(a_record()).encode())[:-40], NotAPage, "cannot be read"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}", NotAPage, "cannot be read"),
        (b"\x16\x03\x01 TLS, perhaps\r\n", NotAPage, "is not a web server, or broke off; try wss:// instead of ws://"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", NotAPage, "is not a web server, or broke off; try wss:// instead of ws://"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500 + b"\r\n", NotAPage, "is not a web server, or broke off; try wss:// instead of ws://"),
        (
            b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
            NotAPage,
            "is not a web server, or broke off; try wss:// instead of ws://",
        ),
        (b"", Failure, "127.0.0.1"),
    ],
)
def test_whatever_else_answers_is_one_sentence(
    server: PageServer, address: Address, answer: bytes, kind: type[Exception], says: str
) -> None:
    server.says(answer)
    with pytest.raises(kind) as refused:
        fetch_record(address, RACE)
    sentence = str(refused.value)
    assert says in sentence
    assert sentence.isprintable()
    assert len(sentence) < 400
    assert server.asked == [f"/races/{RACE}.json"]


def test_a_page_without_an_end_is_given_up(server: PageServer, address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "LONGEST_PAGE", 100_000)
    server.says(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b" " * 10_000_000)
    with pytest.raises(NotAPage, match="far longer than it should be"):
        fetch(address, "/x")


def test_a_page_that_trickles_in_is_given_up(server: PageServer, address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    # As if each packet had come after half a minute.
    moments = iter(range(0, 10_000, 30))
    monkeypatch.setattr("client.connection.http.time.monotonic", lambda: next(moments))
    monkeypatch.setattr(pages, "CHUNK", 10)
    server.says(page(b" " * 1000))
    with pytest.raises(NotAPage, match="takes too long"):
        fetch(address, "/x")


def test_a_server_that_is_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "SILENCE_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(PageRefused, match="does not answer"):
        fetch(parse_address(f"127.0.0.1:{silent.getsockname()[1]}"), "/x")


def test_a_name_that_can_be_no_hosts_is_one_sentence() -> None:
    for typed in ("a..b", "wss://a..b"):
        with pytest.raises(Unreachable, match=r"^There can be no host named a\.\.b\.$"):
            fetch(parse_address(typed), "/x")


def test_where_nobody_listens_it_is_said_as_for_the_websocket() -> None:
    # A port that is taken, so that nobody else comes to listen there, and not listened at.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(Unreachable, match="the connection was refused"):
            fetch(parse_address(f"127.0.0.1:{taken.getsockname()[1]}"), "/x")
    with pytest.raises(Unreachable, match=r"no host named nowhere\.invalid"):
        fetch(parse_address("nowhere.invalid"), "/x")


def test_a_server_without_tls_is_no_secure_one(server: PageServer) -> None:
    server.says(page(b"[]"))
    with pytest.raises(LinkError) as refused:
        fetch(parse_address(server.url.replace("ws:", "wss:")), "/x")
    assert isinstance(refused.value, NotTrusted)
    assert "try ws:// instead of wss:// (in a link: http:// instead of https://)." in str(refused.value)


@pytest.mark.parametrize(
    "races",
    [
        (a_race(1, id="../../etc"),),
        (a_race(1, id="\x1b[31m"),),
        (a_race(1, seat=7),),
        (a_race(1, seats=()),),
    ],
    ids=["id of a path", "id of an escape", "seat that is not there", "no seats"],
)
def test_a_history_that_does_not_hold_together_is_refused(server: PageServer, address: Address, races: tuple[HistoryRace, ...]) -> None:
    server.says(history_page(*races))
    with pytest.raises(NotAPage, match="it has a race without an id or a seat"):
        fetch_history(address, "Anna", limit=5)


@pytest.mark.parametrize(
    ("body", "field"),
    [(b"{}", "player"), (b'{"player": "p", "name": "n", "races": [{}], "next": null}', "id"), (b'{"races": 7}', "races"), (b"7", "object")],
)
def test_what_is_no_history_is_refused(server: PageServer, address: Address, body: bytes, field: str) -> None:
    server.says(page(body))
    with pytest.raises(NotAPage, match=f"cannot be read: .*{field}"):
        fetch_history(address, "Anna", limit=5)


@pytest.mark.parametrize(
    ("show", "most"),
    [
        (lambda target: history_page(following="again"), 1),
        (lambda target: history_page(a_race(1), following="again"), 5),
        (lambda target: history_page(*[a_race(number) for number in range(1, 50)], following="x"), 1),
    ],
    ids=["empty pages", "the same page", "more than was asked for"],
)
def test_a_history_without_an_end_ends_at_the_limit(server: PageServer, address: Address, show: Callable[[str], bytes], most: int) -> None:
    server.script = show
    assert len(fetch_history(address, "Anna", limit=5)) <= 5
    assert len(server.asked) == most
    assert threading.active_count() < 50
