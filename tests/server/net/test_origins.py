"""Who may open a WebSocket: the server's own pages, pages that the host has named, and programs, which send no origin."""

from __future__ import annotations

import pytest
from websockets.datastructures import Headers
from websockets.trio.client import connect
from websockets.typing import Origin, Subprotocol

from protocol.codec import JSON
from server.net.origins import Origins, page_origin
from tests.server.net.test_listener import served
from tests.server.net.wire import refused

NAMED = Origins(["https://example.org"])


@pytest.mark.parametrize(
    ("host", "origin", "admitted"),
    [
        ("carpet.test:7777", None, True),
        ("carpet.test:7777", "http://carpet.test:7777", True),
        ("carpet.test", "http://carpet.test", True),
        ("carpet.test", "https://carpet.test", True),
        ("Carpet.TEST:7777", "http://carpet.test:7777", True),
        ("[::1]:7777", "http://[::1]:7777", True),
        ("carpet.test:7777", "https://example.org", True),
        ("carpet.test:7777", "http://carpet.test", False),
        ("carpet.test:7777", "http://carpet.test:7778", False),
        ("carpet.test:7777", "http://carpet.test:7777.evil.test", False),
        ("carpet.test:7777", "http://evil.test/carpet.test:7777", False),
        ("carpet.test:7777", "http://x@carpet.test:7777", False),
        ("carpet.test:7777", "ftp://carpet.test:7777", False),
        ("carpet.test:7777", "http://example.org", False),
        ("carpet.test:7777", "https://example.org.evil.test", False),
        ("carpet.test:7777", "carpet.test:7777", False),
        ("carpet.test:7777", "null", False),
        ("carpet.test:7777", "", False),
        (None, "http://carpet.test:7777", False),
        (None, None, True),
    ],
)
def test_a_page_is_admitted_by_its_host_and_port_or_by_its_name(host: str | None, origin: str | None, admitted: bool) -> None:
    headers = Headers([(name, value) for name, value in (("Host", host), ("Origin", origin)) if value is not None])
    assert NAMED.admit(headers) is admitted


def test_pages_of_the_other_servers_of_a_place_are_admitted_while_they_are_there() -> None:
    urls = ["wss://n2.carpet.example/n2", "wss://n3.carpet.example:443", "ws://[::1]:7778", "ws://10.0.0.4:80/x", "wss://n5.example:7777"]
    origins = ["https://n2.carpet.example", "https://n3.carpet.example", "http://[::1]:7778", "http://10.0.0.4", "https://n5.example:7777"]
    assert list(map(page_origin, urls)) == origins
    of_place = Origins(of_place=lambda: list(map(page_origin, urls)))
    for origin in origins:
        headers = Headers([("Host", "n1.carpet.example"), ("Origin", origin)])
        assert of_place.admit(headers)
        urls, kept = [], urls
        assert not of_place.admit(headers)
        urls = kept


@pytest.mark.parametrize("said", ["https://Example.ORG", "https://example.org:443", "http://[::1]:80", "http://example.org:8080"])
def test_a_page_is_named_in_capital_letters_or_with_the_usual_port_as_well(said: str) -> None:
    origin = {"http://[::1]:80": "http://[::1]", "http://example.org:8080": "http://example.org:8080"}.get(said, "https://example.org")
    assert Origins([said]).admit(Headers([("Host", "carpet.test"), ("Origin", origin)]))


def test_whoever_says_it_twice_is_not_admitted() -> None:
    assert not NAMED.admit(Headers([("Host", "a.test"), ("Origin", "https://example.org"), ("Origin", "https://example.org")]))
    assert not NAMED.admit(Headers([("Host", "a.test"), ("Host", "b.test"), ("Origin", "http://a.test")]))


async def test_the_servers_own_page_may_connect_and_one_from_elsewhere_is_told_why_not() -> None:
    async with served() as url:
        own = url.replace("ws://", "http://")
        async with connect(url, origin=Origin(own), subprotocols=[Subprotocol(JSON)]) as line:
            assert line.subprotocol == JSON
        response = await refused(connect(url, origin=Origin("http://evil.example"), subprotocols=[Subprotocol(JSON)]))
        assert response.status_code == 403
        assert response.body == b"Pages from elsewhere may not connect here; the host can allow it with --origin.\n"
