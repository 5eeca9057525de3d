"""One connection, request after request: answers come in order however the requests arrive, and it ends if the next one is uncertain."""

from __future__ import annotations

import itertools
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock
from websockets.frames import Opcode
from websockets.http11 import Request, Response

from protocol.client_messages import Hello
from protocol.codec import MSGPACK, encode
from server.net import page_connection
from server.net.connection import Caller
from server.net.http import text_response
from server.net.hub_connection import HubConnection
from server.net.page_connection import PageConnection
from server.net.stream import HANDSHAKE_S, SocketStream
from tests.server.net import wire
from tests.server.net.wire import House, frame_bytes, received_by, request_bytes

HOST = "Host: carpet.test\r\n"
HEALTH = f"GET /healthz HTTP/1.1\r\n{HOST}\r\n".encode()


@dataclass(frozen=True)
class Asking:
    """A request. end: what of it ends the connection."""

    method: str
    size: int
    end: str

    @property
    def sent(self) -> bytes:
        version = "1.0" if self.end == "old" else "1.1"
        said = {
            "close": "Connection: x, Close\r\n",
            "length": f"Content-Length: {len(HEALTH)}\r\n",
            "chunks": "Transfer-Encoding: chunked\r\n",
            "both": f"Content-Length: 0\r\ncontent-length: {len(HEALTH)}\r\n",
            "waits": "Expect: 100-continue\r\n",
        }.get(self.end, "Content-Length: 0\r\n" if self.size % 2 else "")
        return f"{self.method} /{self.size} HTTP/{version}\r\n{HOST}{said}\r\n".encode()


ASKINGS = st.builds(
    Asking,
    method=st.sampled_from(["GET", "HEAD", "POST"]),
    size=st.integers(0, 5000),
    end=st.sampled_from(["", "", "", "", "", "close", "length", "chunks", "both", "waits", "old"]),
)


async def sized(caller: Caller, request: Request) -> Response | None:
    """As many letters as the address says, after a while."""
    await trio.sleep(0.1)
    response = text_response(HTTPStatus.OK, "a" * int(request.path[1:]))
    if request.method == "HEAD":
        response.body = b""
    return response


def sizes(received: bytes, methods: list[str]) -> list[int]:
    """The lengths of the bodies that came back, each of them whole."""
    found = []
    for method in methods:
        head, end, received = received.partition(b"\r\n\r\n")
        if not end:
            break
        assert head.startswith(b"HTTP/1.1 200 ")
        (size,) = (int(line[16:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length: "))
        if method != "HEAD":
            assert received[:size] == b"a" * size
            received = received[size:]
        found.append(size)
    assert not received
    return found


@given(st.lists(ASKINGS, min_size=1, max_size=6), st.lists(st.integers(1, 400), max_size=5))
def test_requests_are_answered_in_order_up_to_the_first_that_ends_the_connection(askings: list[Asking], cuts: list[int]) -> None:
    """What follows a request with a body could look like another request; it must never be answered."""

    async def ask() -> bytes:
        ours, theirs = socket.socketpair()
        theirs_stream = SocketStream(theirs)
        sent = b"".join(asking.sent for asking in askings)
        ends = [0, *sorted({cut for cut in itertools.accumulate(cuts) if cut < len(sent)}), len(sent)]

        async def serve() -> None:
            with suppress(trio.BrokenResourceError):
                assert await PageConnection(theirs_stream, theirs_stream).serve(sized) == b""
            theirs_stream.cut()

        async def send() -> None:
            with suppress(trio.BrokenResourceError):
                for start, end in itertools.pairwise(ends):
                    await stream.send_all(sent[start:end])
                    await trio.sleep(0.03)

        async with SocketStream(ours) as stream, trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            nursery.start_soon(send)
            return await received_by(stream, within_s=1000)

    answered = list(itertools.takewhile(lambda asking: not asking.end, askings))
    answered = askings[: len(answered) + 1]
    received = trio.run(ask, clock=MockClock(autojump_threshold=0))
    assert sizes(received, [asking.method for asking in answered]) == [asking.size for asking in answered]
    assert received.count(b"Connection: close\r\n") == any(asking.end for asking in answered)


@pytest.mark.usefixtures("both_kinds")
async def test_a_websocket_opens_on_a_connection_that_has_asked_for_pages(house: House) -> None:
    hello = frame_bytes(Opcode.BINARY, encode(Hello(name="Ann"), MSGPACK))
    stream = house.listener.dial()
    await stream.send_all(HEALTH)
    assert (await stream.receive_some()).endswith(b"\r\n\r\nok\n")
    # All at once: another page, the handshake, and what is said behind it.
    await stream.send_all(HEALTH + request_bytes() + hello)
    received = b""
    with trio.fail_after(100):
        while b"Ann" not in received:
            received += await stream.receive_some()
    _, page, upgrade = received.split(b"HTTP/1.1 ")
    handshake, frames = upgrade.split(b"\r\n\r\n", 1)
    assert page.startswith(b"200 ")
    assert handshake.startswith(b"101 ")
    assert b"welcome" in frames
    assert isinstance(house.connections[0], HubConnection) is not wire.PLAIN_SOCKETS
    await stream.aclose()


@pytest.mark.usefixtures("both_kinds")
@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (b"Content-Length: 5\r\n", b"400"),
        (b"Transfer-Encoding: chunked\r\n", b"400"),
        (b"Origin: https://evil.example\r\n", b"403"),
    ],
)
async def test_what_opens_no_websocket_ends_the_connection(house: House, lines: bytes, status: bytes) -> None:
    async with house.listener.dial() as stream:
        await stream.send_all(request_bytes()[:-2] + lines + b"\r\nhello" + HEALTH)
        received = await received_by(stream)
    assert received.startswith(b"HTTP/1.1 " + status)
    assert received.count(b"HTTP/1.1 ") == (2 if status == b"403" else 1)


async def test_whoever_begins_a_tls_handshake_is_not_left_waiting(house: House) -> None:
    stream = house.listener.dial()
    began = trio.current_time()
    client, incoming, outgoing = ssl.create_default_context(), ssl.MemoryBIO(), ssl.MemoryBIO()
    secured = client.wrap_bio(incoming, outgoing, server_hostname="carpet.test")
    with pytest.raises(ssl.SSLWantReadError):
        secured.do_handshake()
    async with stream:
        await stream.send_all(outgoing.read())
        incoming.write(await stream.receive_some())
    with pytest.raises(ssl.SSLError, match="WRONG_VERSION_NUMBER"):
        secured.do_handshake()
    assert trio.current_time() - began < 1


async def test_a_connection_that_asks_nothing_more_is_closed(house: House) -> None:
    for sent, ends_after_s in ((b"", page_connection.IDLE_S), (HEALTH[:20], HANDSHAKE_S)):
        async with house.listener.dial() as stream:
            await stream.send_all(HEALTH)
            assert (await stream.receive_some()).endswith(b"ok\n")
            began = trio.current_time()
            await stream.send_all(sent)
            assert await received_by(stream) == b""
            assert trio.current_time() - began == pytest.approx(ends_after_s, abs=0.1)


async def test_a_connection_ends_after_as_many_requests_as_it_may_have(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_connection, "MOST_REQUESTS", 3)
    async with house.listener.dial() as stream:
        await stream.send_all(HEALTH * 5)
        received = await received_by(stream)
    assert received.count(b"HTTP/1.1 200 ") == 3
    assert received.count(b"Connection: close") == 1


async def test_what_is_sent_ahead_without_end_waits_where_it_comes_from(house: House) -> None:
    """The server needs no memory for it: it reads the next request once the last answer is sent, and here nobody takes the answers."""
    sent = 0
    async with house.listener.dial(buffer=4096) as stream:
        with trio.move_on_after(5):
            while sent < 10_000_000:
                await stream.send_all(HEALTH * 100)
                sent += len(HEALTH) * 100
    assert sent < 1_000_000
