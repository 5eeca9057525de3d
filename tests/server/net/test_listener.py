"""Real sockets on any free port: the handshake's conditions, HTTP on the same port, TLS, and an orderly end."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import trustme
from trio.testing import MockClock
from websockets.trio.client import connect
from websockets.typing import Origin, Subprotocol

from protocol.client_messages import Say
from protocol.codec import JSON, MSGPACK, SUBPROTOCOLS
from protocol.errors import CloseCode
from server.app import running
from server.config import Settings
from server.net.connection import Caller
from server.net.listener import AddressUnavailable, UnusableTlsFiles, tls_context
from tests.ports import held_ports
from tests.server.net import wire
from tests.server.net.wire import Client, received_by, refused


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the clock is the real one: what a peer may take to close is nothing that a busy machine can use up."""
    for where in ("plain_connection.CLOSING_S", "hub_connection.CLOSING_S", "listener.CLOSING_S", "listener.STOPPING_S"):
        monkeypatch.setattr(f"server.net.{where}", 60.0)


pytestmark = pytest.mark.usefixtures("both_kinds")


@asynccontextmanager
async def served(**settings: object) -> AsyncIterator[str]:
    async with running(Settings(**{"port": 0, "plain_sockets": wire.PLAIN_SOCKETS, **settings})) as url:  # type: ignore[arg-type]
        yield url


def wired(url: str, encoding: str = MSGPACK, **options: Any) -> connect:
    """A connection to the server, not yet opened."""
    return connect(url, subprotocols=[Subprotocol(encoding)], **options)


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


async def exchange(url: str, request: str) -> bytes:
    """All that comes back for some bytes on a connection of their own."""
    stream = await trio.open_tcp_stream("127.0.0.1", port_of(url))
    async with stream:
        await stream.send_all(request.encode())
        return await received_by(stream, within_s=30)


async def get(url: str, path: str, headers: str = "") -> bytes:
    return await exchange(url, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n")


async def test_healthz_says_ok() -> None:
    async with served() as url:
        for path in ("/healthz", "/healthz?from=monitor"):
            response = await get(url, path)
            assert response.startswith(b"HTTP/1.1 200 ")
            assert response.endswith(b"\r\n\r\nok\n")


async def test_a_browser_is_told_what_this_is_and_other_paths_are_not_there() -> None:
    async with served() as url:
        assert (await get(url, "/")).endswith(b"install carpet-race and run: carpet home ws://THIS-ADDRESS\n")
        assert (await get(url, "/etc/passwd")).startswith(b"HTTP/1.1 404 ")
        assert b"Server:" not in await get(url, "/")


@pytest.mark.parametrize("encoding", SUBPROTOCOLS)
async def test_both_subprotocols_are_spoken(encoding: str) -> None:
    async with served() as url, wired(url, encoding) as line:
        assert line.subprotocol == encoding
        client = Client(line)
        assert (await client.hello("Ann")).name == "Ann"
        assert (await client.open()).phase == "waiting"


async def test_of_several_subprotocols_the_server_takes_its_favourite() -> None:
    async with served() as url, connect(url, subprotocols=[Subprotocol(name) for name in ("chat", JSON, MSGPACK)]) as line:
        assert line.subprotocol == MSGPACK


@pytest.mark.parametrize("offered", [["chat"], ["carpet.v2.msgpack", "carpet"], None])
async def test_without_a_subprotocol_that_is_known_the_answer_is_http_400(offered: list[Subprotocol] | None) -> None:
    async with served() as url:
        assert (await refused(connect(url, subprotocols=offered))).status_code == 400


async def test_web_pages_may_connect_only_from_the_origins_that_were_named() -> None:
    async with served(origins=("https://example.org",)) as url:
        for origin, allowed in (("https://example.org", True), ("https://evil.example", False), ("null", False), (None, True)):
            line = wired(url, origin=Origin(origin) if origin else None)
            if allowed:
                async with line:
                    pass
                continue
            assert (await refused(line)).status_code == 403


async def test_compression_is_never_agreed_to() -> None:
    async with served() as url, wired(url, compression="deflate") as line:
        assert line.protocol.extensions == []


# ---- limits


@pytest.mark.parametrize("encoding", SUBPROTOCOLS)
async def test_one_too_many_is_refused_with_503_and_a_place_that_is_free_again_taken(encoding: str) -> None:
    async with served(max_connections=2) as url:
        async with wired(url, encoding) as ann, wired(url, encoding):
            response = await refused(wired(url, encoding))
            assert response.status_code == 503
            assert response.body == b"There are as many connections to this server as it may have; try again later.\n"
            assert b"200 OK" in await get(url, "/healthz")
            assert (await get(url, "/")).startswith(b"HTTP/1.1 503 ")
            assert (await Client(ann).hello("Ann")).name == "Ann"
        async with wired(url, encoding):
            pass


async def test_connections_that_rest_after_a_page_take_nobodys_place() -> None:
    async with served(max_connections=2) as url, AsyncExitStack() as here:
        streams: list[trio.SocketStream] = []
        for _ in range(5):
            stream = await here.enter_async_context(await trio.open_tcp_stream("127.0.0.1", port_of(url)))
            await stream.send_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await stream.receive_some()).endswith(b"ok\n")
            streams.append(stream)
        async with wired(url) as ann, wired(url):
            assert (await Client(ann).hello("Ann")).name == "Ann"
            assert await streams[-1].receive_some() == b""


async def test_those_who_ask_for_a_page_and_reset_the_connection_take_nobodys_place() -> None:
    async with served(max_connections=2) as url:
        for _ in range(5):
            # No other task has a turn in between: the server finds all of it at once.
            with socket.create_connection(("127.0.0.1", port_of(url))) as gone:
                gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                gone.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with trio.fail_after(30):
            while not (await get(url, "/")).startswith(b"HTTP/1.1 200 "):
                pass


async def test_too_many_from_one_address_are_refused_with_429(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.net.connection_limits.place_of", lambda host: host)
    async with served(max_connections_per_address=1) as url, wired(url):
        response = await refused(wired(url))
        assert response.status_code == 429
        assert response.body == b"There are too many connections from your address; close some or try again later.\n"


async def test_this_machine_itself_is_no_address_with_a_limit() -> None:
    async with (
        served(max_connections_per_address=1) as url,
        wired(url) as one,
        wired(url) as two,
    ):
        await Client(one).hello("Ann")
        await Client(two).hello("Bob")


async def test_behind_a_trusted_proxy_limits_count_by_the_address_that_it_names() -> None:
    async with served(max_connections_per_address=1, trusted_proxies=("127.0.0.0/8",)) as url:

        def line(*clients: str) -> connect:
            return wired(url, additional_headers=[("X-Forwarded-For", ", ".join(clients))])

        async with line("192.0.2.1") as ann, line("192.0.2.2") as bob:
            await Client(ann).hello("Ann")
            await Client(bob).hello("Bob")
            # What stands before the last address was written by somebody else.
            for clients in (("192.0.2.1",), ("198.51.100.7", "192.0.2.1")):
                assert (await refused(line(*clients))).status_code == 429
        async with line("192.0.2.1"):
            pass


async def test_behind_a_trusted_proxy_the_limit_holds_however_many_are_being_refused(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("server.net.connection_limits.REFUSED_AT_ONCE", 0)
    async with served(max_connections_per_address=1, trusted_proxies=("127.0.0.0/8",)) as url:
        headers = [("X-Forwarded-For", "192.0.2.1")]
        async with wired(url, additional_headers=headers):
            with trio.fail_after(30):
                assert (await refused(wired(url, additional_headers=headers))).status_code == 429
    assert "1 connection refused, the last from 192.0.2.1; 1 open: --max-connections is" in caplog.text


async def test_behind_a_trusted_proxy_websockets_are_refused_that_come_too_fast_and_pages_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.app.SHARES_AT_ONCE", 1)
    monkeypatch.setattr("server.app.SHARE_RENEWED_S", 3600)
    async with served(max_connections_per_address=2, trusted_proxies=("127.0.0.0/8",)) as url:
        for _ in range(2):
            for _ in range(2):
                assert b"200 OK" in await get(url, "/", "X-Forwarded-For: 192.0.2.1\r\n")
            async with wired(url, additional_headers=[("X-Forwarded-For", "192.0.2.1")]):
                pass
        # However the request is written: the hub does not read every one.
        for more in ([], [("Content-Length", "0")]):
            assert (await refused(wired(url, additional_headers=[("X-Forwarded-For", "192.0.2.1"), *more]))).status_code == 429
        assert b"200 OK" in await get(url, "/", "X-Forwarded-For: 192.0.2.1\r\n")
        async with wired(url, additional_headers=[("X-Forwarded-For", "192.0.2.2")]):
            pass


async def test_an_address_from_which_connections_come_too_fast_is_not_answered_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.net.connection_limits.place_of", lambda host: host)
    monkeypatch.setattr("server.app.SHARES_AT_ONCE", 1)
    monkeypatch.setattr("server.app.SHARE_RENEWED_S", 3600)
    async with served(max_connections_per_address=3) as url:
        for _ in range(3):
            assert (await get(url, "/healthz")).endswith(b"ok\n")
        try:
            answer = await get(url, "/healthz")
        except trio.BrokenResourceError:
            answer = b""
        assert answer == b""


async def test_a_proxy_that_the_server_does_not_know_is_told_of_once_and_only_if_it_is_nearby(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    told = "requests come through a proxy at 127.0.0.1; all its clients count as one"
    async with served() as url:
        await get(url, "/")
        with monkeypatch.context() as far_away:
            # Those for examples count as private.
            far_away.setattr(Caller, "remote_host", "1.1.1.1")
            await get(url, "/", "X-Forwarded-For: 192.0.2.1\r\n")
        assert "through a proxy" not in caplog.text
        for _ in range(2):
            await get(url, "/", "X-Forwarded-For: 192.0.2.1\r\n")
    assert caplog.text.count(told) == 1
    caplog.clear()
    async with served(trusted_proxies=("127.0.0.0/8",)) as url:
        await get(url, "/", "X-Forwarded-For: 192.0.2.1\r\n")
    assert "through a proxy" not in caplog.text


async def test_whoever_is_no_trusted_proxy_cannot_name_another_address() -> None:
    async with served(max_connections=5, max_connections_per_address=1) as url, AsyncExitStack() as here:
        for number in range(4):
            headers = [("X-Forwarded-For", f"192.0.2.{number}")]
            await here.enter_async_context(wired(url, additional_headers=headers))
        assert (await refused(wired(url, additional_headers=[("X-Forwarded-For", "192.0.2.9")]))).status_code == 429


async def test_pages_for_one_client_of_a_proxy_do_not_use_up_those_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.net.http.PAGES_A_SECOND", 0.001)
    monkeypatch.setattr("server.net.http.PAGES_AT_ONCE", 3)
    async with served(trusted_proxies=("127.0.0.1",)) as url:
        answers = [await get(url, "/ladder.json", "Forwarded: for=192.0.2.1\r\n") for _ in range(4)]
        assert answers[-1].startswith(b"HTTP/1.1 429 ")
        assert (await get(url, "/ladder.json", "Forwarded: for=192.0.2.2\r\n")).startswith(b"HTTP/1.1 200 ")


# ---- TLS


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA(key_type=trustme.KeyType.ECDSA)


@pytest.fixture
def tls_files(authority: trustme.CA, tmp_path: Path) -> dict[str, str]:
    certificate = authority.issue_cert("localhost", "127.0.0.1")
    certificate.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    certificate.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    return {"tls_cert": str(tmp_path / "cert.pem"), "tls_key": str(tmp_path / "key.pem")}


@pytest.fixture
def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


async def test_a_race_over_tls(tls_files: dict[str, str], trusting: ssl.SSLContext) -> None:
    async with (
        served(**tls_files) as url,
        wired(url, ssl=trusting) as one,
        wired(url, JSON, ssl=trusting) as two,
    ):
        assert url.startswith("wss://127.0.0.1:")
        ann, bob = Client(one), Client(two)
        await ann.hello("Ann")
        await bob.hello("Bob")
        room = await ann.open(countdown_s=1)
        assert (await bob.join(room.code)).seat == 1


async def test_over_tls_a_browser_is_told_an_address_with_tls(tls_files: dict[str, str], trusting: ssl.SSLContext) -> None:
    async with served(**tls_files) as url:
        stream = await trio.open_ssl_over_tcp_stream("127.0.0.1", port_of(url), ssl_context=trusting, https_compatible=True)
        async with stream:
            await stream.send_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            with trio.fail_after(30):
                page = b"".join([data async for data in stream])
    assert page.endswith(b"install carpet-race and run: carpet home wss://THIS-ADDRESS\n")


async def test_what_speaks_no_tls_is_cut_off_and_the_others_are_served(tls_files: dict[str, str], trusting: ssl.SSLContext) -> None:
    async with served(**tls_files) as url:
        for garbage in ("GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x00\x05hello"):
            assert b"HTTP" not in await exchange(url, garbage)
        async with wired(url, ssl=trusting) as line:
            await Client(line).hello("Ann")


async def test_nothing_older_than_tls_1_2_is_spoken(tls_files: dict[str, str]) -> None:
    assert tls_context(tls_files["tls_cert"], tls_files["tls_key"]).minimum_version >= ssl.TLSVersion.TLSv1_2


async def test_files_that_are_no_certificate_are_an_error_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("no certificate")
    for certificate in (tmp_path / "cert.pem", tmp_path / "missing.pem"):
        with pytest.raises(UnusableTlsFiles, match=certificate.name):
            async with served(tls_cert=str(certificate), tls_key=str(certificate)):
                pass


# ---- addresses and the end


async def test_a_port_that_is_taken_is_an_error_at_the_start() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(BaseExceptionGroup) as failed:
            async with served(port=taken.getsockname()[1]):
                pass
    assert failed.group_contains(AddressUnavailable, match="in use")


async def test_a_name_with_several_addresses_gets_one_port() -> None:
    async with served(host="localhost") as url:
        stream = await trio.open_tcp_stream("localhost", port_of(url))
        await stream.aclose()


async def test_leaving_tells_the_clients_and_frees_the_port() -> None:
    ends: list[object] = []

    async def stay(url: str, task_status: trio.TaskStatus[None]) -> None:
        async with wired(url) as line:
            client = Client(line)
            await client.hello("Ann")
            await client.open()
            task_status.started()
            ends.append(await client.hear_end())
            ends.append(type(client.heard[-1]).__name__)

    # Held, so that nobody else is given it once it is free.
    with held_ports(1) as (port,):
        async with trio.open_nursery() as nursery, served(port=port) as url:
            await nursery.start(stay, url)
        assert ends == [(1001, "the server is stopping"), "Left"]
        with pytest.raises(OSError, match=r"attempts to connect|refused"):
            await trio.open_tcp_stream("127.0.0.1", port)
        async with served(port=port):
            pass


async def test_a_connection_in_the_middle_of_its_handshake_does_not_hold_up_the_end(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.net.listener.STOPPING_S", 0.1)
    async with served() as url:
        stream = await trio.open_tcp_stream("127.0.0.1", port_of(url))
        await stream.send_all(b"GET / HTTP/1.1\r\n")
        began = trio.current_time()
    assert trio.current_time() - began < 0.2
    await stream.aclose()


async def test_over_tls_too_a_websocket_opens_on_a_connection_that_has_asked_for_a_page(
    tls_files: dict[str, str], trusting: ssl.SSLContext
) -> None:
    async with served(**tls_files) as url:
        stream = await trio.open_ssl_over_tcp_stream("localhost", port_of(url), ssl_context=trusting, https_compatible=True)
        await stream.send_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert bytes(await stream.receive_some()).endswith(b"ok\n")
        async with wired(url.replace("wss:", "ws:"), stream=stream) as line:
            assert (await Client(line).hello("Ann")).name == "Ann"


async def test_over_tls_too_the_older_connection_hears_why_it_is_closed(tls_files: dict[str, str], trusting: ssl.SSLContext) -> None:
    async with served(**tls_files) as url, wired(url, ssl=trusting) as one:
        older = Client(one)
        token = (await older.hello("Ann")).token
        async with wired(url, ssl=trusting) as two:
            await Client(two).hello("Ann", token)
            assert (await older.hear_end())[0] == CloseCode.TAKEN_OVER


async def test_over_tls_too_one_too_many_is_refused_with_503(tls_files: dict[str, str], trusting: ssl.SSLContext) -> None:
    async with served(**tls_files, max_connections=1) as url:
        for _ in range(2):
            async with wired(url, ssl=trusting):
                assert (await refused(wired(url, ssl=trusting))).status_code == 503


async def test_over_tls_too_a_flood_is_closed_with_4029(tls_files: dict[str, str], trusting: ssl.SSLContext) -> None:
    async with served(**tls_files, burst=10, rate=1.0) as url, wired(url, ssl=trusting) as line:
        eve = Client(line)
        await eve.hello("Eve")
        await eve.flood(Say(text="spam"), 100)
        assert (await eve.hear_end())[0] == CloseCode.FLOOD
