"""Plain HTTP, over a pair of sockets: pages are found by their path, any error is one sentence, and nobody may ask too much."""

from __future__ import annotations

import gzip
import hashlib
from contextlib import suppress
from http import HTTPStatus

import msgspec
import pytest
import trio
from trio.testing import MockClock

from protocol.tournament_messages import CreateTournament, Decided
from protocol.tournaments import TournamentOptions
from server.net.connection import Caller
from server.net.http import HASTE_S, Asked, NoPage, Page, Route, Site
from server.net.limits import CODES_A_SECOND, CODES_AT_ONCE, AddressRates
from server.net.page_connection import PageConnection
from tests.server.net.wire import House, open_house, received_by


class Echo:
    """Pages that say what they were asked."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []

    async def show(self, asked: Asked) -> Page:
        self.asked.append(asked)
        await trio.lowlevel.checkpoint()
        return Page(b'"here"', cache="max-age=7")


@pytest.fixture
def echo(house: House, monkeypatch: pytest.MonkeyPatch) -> Echo:
    """In the place of the house's own pages."""
    echo = Echo()
    monkeypatch.setattr(house.site, "_routes", (Route("/echo/{word}/end.json", echo.show), Route("/echo.json", echo.show)))
    return echo


async def test_a_page_has_the_headers_of_a_public_document(house: House, echo: Echo) -> None:
    answered = await house.ask("/echo.json")
    assert (answered.status, answered.body) == (200, b'"here"')
    assert {name: value for name, value in answered.headers.items() if name != "date"} == {
        "connection": "close",
        "content-length": "6",
        "content-type": "application/json; charset=utf-8",
        "cache-control": "max-age=7",
        "etag": f'"{hashlib.sha256(answered.body).hexdigest()[:32]}"',
        "x-content-type-options": "nosniff",
        "access-control-allow-origin": "*",
    }
    assert [(asked.values, asked.query) for asked in echo.asked] == [({}, {})]


async def test_a_document_is_sent_again_only_when_it_is_another_and_small_to_who_takes_that(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = b'"' + b"a" * 5000 + b'"'

    async def show(asked: Asked) -> Page:
        await trio.lowlevel.checkpoint()
        return Page(body, cache=asked.query.get("cache", "max-age=1"))

    monkeypatch.setattr(house.site, "_routes", (Route("/long.json", show),))
    first = await house.ask("/long.json")
    known = f"If-None-Match: {first.headers['etag']}\r\n"
    again = await house.ask("/long.json", headers=known)
    assert (again.status, again.body) == (304, b"")
    small = await house.ask("/long.json", headers="Accept-Encoding: gzip\r\n")
    assert (small.headers["content-encoding"], small.headers["vary"], gzip.decompress(small.body)) == ("gzip", "Accept-Encoding", body)
    assert "etag" not in (await house.ask("/long.json?cache=no-store")).headers
    body = b'"b"'
    other = await house.ask("/long.json", headers=known)
    assert (other.status, other.body) == (200, body)
    assert "vary" not in other.headers


async def test_a_head_has_the_headers_and_no_body(house: House, echo: Echo) -> None:
    for target in ("/echo.json", "/healthz", "/", "/nowhere"):
        whole, head = await house.ask(target), await house.ask(target, method="HEAD")
        assert head.body == b""
        assert head.status == whole.status
        assert {**head.headers, "date": ""} == {**whole.headers, "date": ""}
        assert whole.headers["content-length"] == str(len(whole.body)) != "0"


@pytest.mark.parametrize(
    ("target", "values", "query"),
    [
        ("/echo/Anna/end.json", {"word": "Anna"}, {}),
        ("/echo/Zo%C3%AB%20%2F..%2F%3f/end.json", {"word": "Zoë /../?"}, {}),
        ("/echo/a+b/end.json?x=a+b&y=%2b&z=&w", {"word": "a+b"}, {"x": "a b", "y": "+", "z": "", "w": ""}),
        ("/echo.json?", {}, {}),
        ("/echo.json?&&x=1=2&", {}, {"x": "1=2"}),
    ],
)
async def test_what_stands_in_a_path_and_behind_it_is_decoded(
    house: House, echo: Echo, target: str, values: dict[str, str], query: dict[str, str]
) -> None:
    assert (await house.ask(target)).status == 200
    assert [(asked.values, asked.query) for asked in echo.asked] == [(values, query)]


@pytest.mark.parametrize(
    ("target", "status", "says"),
    [
        ("/nowhere", 404, "There is nothing here."),
        ("/echo", 404, "There is nothing here."),
        ("/nothing.json/", 404, "There is nothing here."),
        ("//echo.json", 404, "There is nothing here."),
        ("/ECHO.json", 404, "There is nothing here."),
        ("/x/../echo.json", 404, "There is nothing here."),
        ("/echo//end.json", 404, "There is nothing here."),
        ("/echo/a/b/end.json", 404, "There is nothing here."),
        ("http://carpet.test/echo.json", 404, "There is nothing here."),
        ("*", 404, "There is nothing here."),
        ("/%65cho.json", 404, "There is nothing here."),
        ("/echo/%/end.json", 400, "That address is not readable text in UTF-8 with percent signs."),
        ("/echo/%4/end.json", 400, "That address is not readable text in UTF-8 with percent signs."),
        ("/echo/%zz/end.json", 400, "That address is not readable text in UTF-8 with percent signs."),
        ("/echo/%ff/end.json", 400, "That address is not readable text in UTF-8 with percent signs."),
        ("/echo/%ed%a0%80/end.json", 400, "That address is not readable text in UTF-8 with percent signs."),
        ("/echo/a%00/end.json", 400, "That address is not readable text in UTF-8 with percent signs."),
        ("/echo/a%1b[31m/end.json", 400, "That address is not readable text in UTF-8 with percent signs."),
        ("/echo/%0d%0aSet-Cookie:%20a/end.json", 400, "That address is not readable text in UTF-8 with percent signs."),
        ("/echo/%E2%80%AE/end.json", 400, "That address is not readable text in UTF-8 with percent signs."),
        ("/echo/a\x07/end.json", 400, "That address is not readable text in UTF-8 with percent signs."),
        ("/echo.json?x=%fe", 400, "That address is not readable text in UTF-8 with percent signs."),
        ("/echo.json?x=1&x=2", 400, "That address gives a parameter twice."),
        ("/echo.json?x=1&%78=1", 400, "That address gives a parameter twice."),
        ("/echo.json?" + "&".join("abcdefghi"), 400, "That address has too many parameters."),
        ("/echo.json?x=" + "1" * 2000, 414, "That address is longer than any page's."),
    ],
)
async def test_what_is_no_address_of_a_page_is_one_sentence(house: House, echo: Echo, target: str, status: int, says: str) -> None:
    answered = await house.ask(target)
    assert answered.problem == (status, says)
    assert answered.headers["x-content-type-options"] == "nosniff"
    assert not echo.asked


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get", "X"])
@pytest.mark.parametrize("target", ["/echo.json", "/healthz", "/", "/nowhere"])
async def test_pages_are_for_reading_alone(house: House, echo: Echo, method: str, target: str) -> None:
    answered = await house.ask(target, method=method)
    assert answered.problem == (405, "Pages are read-only: use GET.")
    assert answered.headers["allow"] == "GET, HEAD"
    assert not echo.asked


async def test_a_request_for_a_websocket_is_none_for_a_page(house: House, echo: Echo) -> None:
    answered = await house.ask("/echo.json", headers="Upgrade: WebSocket\r\n")
    assert answered.status == 426
    assert not echo.asked


async def test_a_page_that_fails_is_one_sentence_and_the_next_is_there(
    house: House, echo: Echo, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(asked: Asked) -> Page:
        await trio.lowlevel.checkpoint()
        raise ZeroDivisionError("secret detail")

    async def refuse(asked: Asked) -> Page:
        await trio.lowlevel.checkpoint()
        raise NoPage(HTTPStatus.SERVICE_UNAVAILABLE, "Later.", retry_after_s=3)

    monkeypatch.setattr(house.site, "_routes", (Route("/fail", fail), Route("/refuse", refuse), *house.site._routes))
    answered = await house.ask("/fail")
    assert answered.problem == (500, "Something went wrong on the server; its log says what.")
    assert "secret detail" in caplog.text
    refused = await house.ask("/refuse")
    assert refused.problem == (503, "Later.")
    assert refused.headers["retry-after"] == "3"
    assert (await house.ask("/echo.json")).status == 200


async def test_whoever_asks_too_fast_is_told_so_and_served_again_later(house: House, echo: Echo, monkeypatch: pytest.MonkeyPatch) -> None:
    # So slow that the jumps of the clock bring no page more.
    monkeypatch.setattr(house.site, "_rates", AddressRates(rate=0.0001, burst=3))
    monkeypatch.setattr(PageConnection, "remote_host", "192.0.2.1")
    for _ in range(3):
        assert (await house.ask("/echo.json")).status == 200
    answered = await house.ask("/echo.json")
    assert answered.problem == (429, "Too many requests from one address; slow down.")
    assert answered.headers["retry-after"] == "1"
    for target in ("/healthz", "/"):
        assert (await house.ask(target)).status == 200
    await trio.sleep(10_001)
    assert (await house.ask("/echo.json")).status == 200


async def test_codes_are_not_guessed_by_the_pages_of_races_and_tournaments_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PageConnection, "remote_host", "192.0.2.1")
    monkeypatch.setattr(Caller, "remote_host", "192.0.2.2")
    async with open_house(connections_per_address=9) as house, house.guest("Ann") as ann, house.guest("Bob") as bob:
        monkeypatch.setattr(house.site, "_rates", AddressRates(rate=1e6, burst=1_000_000))
        public, private = (await ann.open()).code, (await bob.open(public=False)).code
        options = TournamentOptions(name="Cup")
        cup = (await ann.ask(CreateTournament(options=options), Decided)).id
        secret_cup = (await ann.ask(CreateTournament(options=msgspec.structs.replace(options, public=False)), Decided)).id
        places = [f"/{place}/{{}}" for place in ("play", "watch", "race", "tournament")] + ["/tournaments/{}.json", "/play/{}/picture.svg"]
        for number in range(CODES_AT_ONCE):
            code = f"{number:06}".translate(str.maketrans("0123456789", "ABCDEFGHJK"))
            assert (await house.ask(places[number % len(places)].format(code))).status == 404
            # Whatever was tried before costs nothing.
            assert (await house.ask(places[number % len(places)].format(code))).status == 404
        for place in (*(place.format("WWWWWW") for place in places), f"/play/{private}", f"/tournaments/{secret_cup}.json"):
            answered = await house.ask(place)
            assert answered.problem == (429, "Many codes have been tried from your address; wait a little."), place
            assert answered.headers["retry-after"] == "5"
        for place in (f"/play/{public}", f"/tournaments/{cup}.json", "/ladder.json"):
            assert (await house.ask(place)).status == 200
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(PageConnection, "remote_host", "192.0.2.9")
            assert (await house.ask(f"/tournaments/{secret_cup}.json")).status == 200
        await trio.sleep(1 / CODES_A_SECOND)
        assert (await house.ask(f"/play/{private}")).status == 200


async def test_whoever_goes_on_asking_for_anything_too_fast_is_answered_a_second_later(
    house: House, echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house.site, "_request_rates", AddressRates(rate=0.1, burst=4))

    async def asked(host: str, target: str, method: str = "GET") -> tuple[int, int]:
        monkeypatch.setattr(PageConnection, "remote_host", host)
        began = trio.current_time()
        status = (await house.ask(target, method=method)).status
        return status, round(trio.current_time() - began)

    requests = [("/nothing", "GET"), ("/healthz", "GET"), ("/", "GET"), ("/echo.json", "POST")]
    at_once = [await asked("192.0.2.1", *each) for each in requests]
    assert at_once == [(404, 0), (200, 0), (200, 0), (405, 0)]
    assert [await asked("192.0.2.1", *each) for each in requests] == [(status, HASTE_S) for status, _ in at_once]
    assert await asked("192.0.2.2", "/echo.json") == (200, 0)


async def test_a_page_that_takes_too_long_is_given_up(house: House, echo: Echo, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = []

    async def hang(asked: Asked) -> Page:
        try:
            await trio.sleep_forever()
        finally:
            ended.append(trio.current_time())

    monkeypatch.setattr(house.site, "_routes", (Route("/hang", hang),))
    began = trio.current_time()
    stream = house.listener.dial()
    await stream.send_all(b"GET /hang HTTP/1.1\r\nHost: x\r\n\r\n")
    assert await stream.receive_some() == b""
    await stream.aclose()
    assert [end - began for end in ended] == pytest.approx([10], abs=0.1)


def test_each_address_has_a_bucket_of_its_own_and_those_of_long_ago_are_forgotten() -> None:
    rates = AddressRates(rate=1, burst=2, addresses=2)
    assert [rates.allow("192.0.2.1", 0) for _ in range(3)] == [True, True, False]
    assert rates.allow("192.0.2.2", 0)
    assert not rates.allow("192.0.2.1", 0)
    assert rates.allow("192.0.2.3", 0)
    # The second was heard of least lately, the first is remembered.
    assert not rates.allow("192.0.2.1", 0)
    assert [rates.allow("192.0.2.2", 0) for _ in range(3)] == [True, True, False]
    assert rates.allow("192.0.2.2", 1)


def test_this_machine_has_a_bucket_like_every_household() -> None:
    rates = AddressRates(rate=1, burst=1)
    assert [rates.allow(host, 0) for host in ("127.0.0.1", "::1", "127.0.0.2")] == [True, False, False]
    # What is no IP address is a socket of this machine's file system.
    assert all(rates.allow("", 0) for _ in range(3))
    assert rates.allow("2001:db8:1:2:3:4:5:6", 0)
    assert not rates.allow("2001:db8:1:2::", 0)
    assert rates.allow("2001:db8:1:3::", 0)


def test_a_site_needs_no_pages(autojump_clock: MockClock) -> None:
    with pytest.raises(NoPage, match="There is nothing here"):
        Site()._find("/races.json", "")


HOST = b"Host: carpet.test\r\n"


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"POST /races.json HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nhello", 405),
        (b"POST /races.json HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 405),
        (b"GET /healthz HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nhello", 200),
        (b"GET /healthz HTTP/1.1\r\n" + HOST + b"X-Note: one\r\n two\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\nHost: carpet.test\n\n", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"Upgrade: websocket\r\nUpgrade: websocket\r\n\r\n", 426),
        (b"GET / HTTP/1.1\r\n" + HOST + b"Connection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n", 200),
        (b"GET\r\n\r\n", 400),
        (b"hello there\r\n\r\n", 400),
        (b"GET /healthz HTTP/2.0\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", 400),
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414),
        (b"GET /healthz HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", 431),
    ],
)
async def test_whatever_is_asked_is_answered_and_never_closed_without_a_word(
    house: House, request_bytes: bytes, status: int, size: int
) -> None:
    async with house.listener.dial() as stream:
        with suppress(trio.BrokenResourceError):
            for start in range(0, len(request_bytes), size):
                await stream.send_all(request_bytes[start : start + size])
        received = await received_by(stream)
    assert received.count(b"HTTP/1.1 ") == 1
    assert received.startswith(f"HTTP/1.1 {status} ".encode())
    assert (await house.ask("/healthz")).status == 200
