"""A first connection that fails is one sentence; over real sockets."""

from __future__ import annotations

import socket
import ssl

import pytest
import trio
import trustme
from trio.testing import MockClock, memory_stream_pair

from client.connection.client import open_link
from client.connection.errors import Busy, Limited, LinkError, NotCarpetServer, NotTrusted, OtherVersion, Unreachable
from tests.client.connection.linking import ANNA, URL
from tests.client.fake_server import FakeServer


async def failure(url: str = URL, **options: object) -> LinkError:
    with pytest.raises(LinkError) as caught:
        async with open_link(url, ANNA, **options):  # type: ignore[arg-type]
            pass
    sentence = str(caught.value)
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence
    return caught.value


async def test_a_bad_address_is_one_sentence() -> None:
    assert "begins with ws:// or wss://" in str(await failure("ftp://carpet.example"))


async def test_a_refused_connection_is_one_sentence() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        error = await failure(f"127.0.0.1:{unused.getsockname()[1]}")
    assert isinstance(error, Unreachable)
    assert "refused" in str(error)


async def test_an_unknown_host_is_one_sentence() -> None:
    async def no_such_name() -> trio.abc.Stream:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    error = await failure("ws://no.such.example:1", dial=no_such_name)
    assert isinstance(error, Unreachable)
    assert "no host named no.such.example" in str(error)


async def test_a_name_that_cannot_be_a_hosts_is_one_sentence() -> None:
    assert "no host named a..example" in str(await failure("ws://a..example:1"))


async def test_a_server_that_never_answers_is_one_sentence(autojump_clock: MockClock) -> None:
    async with FakeServer.running() as silent:
        silent.silent = True
        error = await failure(dial=silent.dial)
    assert isinstance(error, Unreachable)
    assert "within 10 seconds" in str(error)


async def test_no_common_version_is_one_sentence(autojump_clock: MockClock) -> None:
    async with FakeServer.running(["carpet.v2.msgpack"]) as newer:
        assert isinstance(await failure(dial=newer.dial), OtherVersion)


async def test_a_websocket_server_of_something_else_is_one_sentence(autojump_clock: MockClock) -> None:
    async with FakeServer.running([]) as other:
        assert isinstance(await failure(dial=other.dial), NotCarpetServer)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", NotCarpetServer),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", NotCarpetServer),
        (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", NotCarpetServer),
        (b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", Busy),
        (b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n", Limited),
        (b"220 mail.example ESMTP\r\n", NotCarpetServer),
        (b"", NotCarpetServer),
    ],
)
async def test_what_is_no_carpet_server_is_one_sentence(
    autojump_clock: MockClock, nursery: trio.Nursery, answer: bytes, kind: type[LinkError]
) -> None:
    async def dial() -> trio.abc.Stream:
        ours, theirs = memory_stream_pair()

        async def answering() -> None:
            await theirs.receive_some()
            await theirs.send_all(answer)
            await theirs.aclose()

        nursery.start_soon(answering)
        return ours

    assert type(await failure(dial=dial)) is kind


async def serve_tls(nursery: trio.Nursery) -> int:
    """Until the nursery ends, with a certificate of nobody known, which nobody takes. Returns the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost").configure_cert(context)

    async def handle(stream: trio.abc.Stream) -> None:
        with pytest.raises(trio.BrokenResourceError):
            await trio.SSLStream(stream, context, server_side=True).do_handshake()

    listeners: list[trio.SocketListener] = await nursery.start(trio.serve_tcp, handle, 0)
    return int(listeners[0].socket.getsockname()[1])


@pytest.mark.parametrize(
    ("file", "said"),
    [(None, "name its file: SSL_CERT_FILE=cert.pem"), ("nowhere.pem", "SSL_CERT_FILE names nowhere.pem, which does not exist")],
)
async def test_a_certificate_of_nobody_known_is_one_sentence_that_says_how_it_is_trusted(
    nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch, file: str | None, said: str
) -> None:
    if file is None:
        monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    else:
        monkeypatch.setenv("SSL_CERT_FILE", file)
    error = await failure(f"wss://localhost:{await serve_tls(nursery)}")
    assert isinstance(error, NotTrusted)
    assert said in str(error)
    nursery.cancel_scope.cancel()


async def test_a_plain_server_behind_wss_is_one_sentence(nursery: trio.Nursery) -> None:
    async def handle(stream: trio.abc.Stream) -> None:
        await stream.receive_some()
        await stream.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    listeners = await nursery.start(trio.serve_tcp, handle, 0)
    error = await failure(f"wss://localhost:{listeners[0].socket.getsockname()[1]}")
    assert isinstance(error, NotTrusted)
    assert "ws:// instead of wss://" in str(error)
    nursery.cancel_scope.cancel()


async def test_a_tls_server_behind_ws_is_one_sentence(nursery: trio.Nursery) -> None:
    error = await failure(f"ws://localhost:{await serve_tls(nursery)}")
    assert isinstance(error, NotCarpetServer)
    assert "wss:// instead of ws://" in str(error)
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
async def test_a_redirection_is_not_followed_since_the_token_would_go_there(nursery: trio.Nursery, status: str) -> None:
    reached = []

    async def elsewhere(stream: trio.abc.Stream) -> None:
        reached.append(await stream.receive_some())

    async def handle(stream: trio.abc.Stream) -> None:
        await stream.receive_some()
        await stream.send_all(f"HTTP/1.1 {status}\r\nLocation: {there}\r\nContent-Length: 0\r\n\r\n".encode())

    other, here = [await nursery.start(trio.serve_tcp, each, 0) for each in (elsewhere, handle)]
    there = f"ws://localhost:{other[0].socket.getsockname()[1]}/"
    error = await failure(f"ws://localhost:{here[0].socket.getsockname()[1]}")
    assert isinstance(error, NotCarpetServer)
    assert f"sends you elsewhere (HTTP {status[:3]})" in str(error)
    assert not reached
    nursery.cancel_scope.cancel()
