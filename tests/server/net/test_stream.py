"""The stream over a stdlib socket: it never blocks where it says so, and says in Trio's words what became of the line."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from server.net.stream import SocketListener, SocketStream


@pytest.fixture
def pair() -> Iterator[tuple[SocketStream, socket.socket]]:
    ours, theirs = socket.socketpair()
    theirs.settimeout(5)
    yield SocketStream(ours), theirs
    theirs.close()
    ours.close()


async def test_what_is_sent_is_received_both_ways(pair: tuple[SocketStream, socket.socket]) -> None:
    stream, other = pair
    await stream.send_all(b"ping")
    assert other.recv(10) == b"ping"
    other.send(b"pong")
    assert await stream.receive_some() == b"pong"
    other.send(b"abc")
    assert await stream.receive_some(2) == b"ab"


async def test_try_send_takes_what_fits_and_never_waits(pair: tuple[SocketStream, socket.socket]) -> None:
    stream, other = pair
    taken = 0
    while sent := stream.try_send(b"x" * 10_000):
        taken += sent
    assert stream.try_send(b"y") == 0
    assert taken > 10_000
    received = 0
    while received < taken:
        received += len(other.recv(65536))
    assert stream.try_send(b"y") == 1


async def test_send_all_waits_until_everything_is_taken(pair: tuple[SocketStream, socket.socket]) -> None:
    stream, other = pair
    data = bytes(range(256)) * 5000
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.send_all, data)
        await wait_all_tasks_blocked()
        received = b""
        other.setblocking(False)
        while len(received) < len(data):
            await trio.lowlevel.wait_readable(other)
            received += other.recv(65536)
    assert received == data


async def test_senders_take_turns(pair: tuple[SocketStream, socket.socket]) -> None:
    stream, other = pair
    async with trio.open_nursery() as nursery:
        for letter in (b"a", b"b", b"c"):
            nursery.start_soon(stream.send_all, letter * 300_000)
        received = b""
        other.setblocking(False)
        while len(received) < 900_000:
            await trio.lowlevel.wait_readable(other)
            received += other.recv(65536)
    assert len({received[start : start + 300_000] for start in (0, 300_000, 600_000)}) == 3
    assert all(len(set(received[start : start + 300_000])) == 1 for start in (0, 300_000, 600_000))


async def test_the_end_of_the_other_side_reads_as_nothing(pair: tuple[SocketStream, socket.socket]) -> None:
    stream, other = pair
    await stream.send_eof()
    assert other.recv(10) == b""
    other.close()
    assert await stream.receive_some() == b""


async def test_sending_to_who_is_gone_is_a_broken_line(pair: tuple[SocketStream, socket.socket]) -> None:
    stream, other = pair
    other.close()
    with pytest.raises(trio.BrokenResourceError):
        stream.try_send(b"x")
    with pytest.raises(trio.BrokenResourceError):
        await stream.send_all(b"x")


async def test_everything_on_a_closed_stream_says_that_it_is_closed(pair: tuple[SocketStream, socket.socket]) -> None:
    stream, _ = pair
    await stream.aclose()
    await stream.aclose()
    with pytest.raises(trio.ClosedResourceError):
        stream.try_send(b"x")
    with pytest.raises(trio.ClosedResourceError):
        await stream.send_all(b"x")
    with pytest.raises(trio.ClosedResourceError):
        await stream.receive_some()
    with pytest.raises(trio.ClosedResourceError):
        await stream.send_eof()
    with pytest.raises(trio.ClosedResourceError):
        await stream.wait_send_all_might_not_block()


@pytest.mark.parametrize("waits", ["receive_some", "send_all"])
async def test_closing_wakes_who_waits(pair: tuple[SocketStream, socket.socket], waits: str) -> None:
    stream, _ = pair
    argument = b"x" * 10_000_000 if waits == "send_all" else None

    async def wait() -> None:
        with pytest.raises(trio.ClosedResourceError):
            await getattr(stream, waits)(argument)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        await stream.aclose()


async def test_the_listener_gives_streams_with_the_peers_address() -> None:
    (listening,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with SocketListener(listening.socket) as listener:
        with socket.create_connection(listening.socket.getsockname()) as client:
            stream = await listener.accept()
            assert stream.peer_name == client.getsockname()
            await stream.aclose()
            assert stream.peer_name == client.getsockname()


@pytest.mark.parametrize("number", [errno.ECONNABORTED, errno.EPROTO, errno.EHOSTUNREACH, errno.ECONNRESET])
async def test_a_connection_that_fails_while_it_is_accepted_does_not_end_the_listening(number: int) -> None:
    class Flaky:
        """A listening socket whose first connection fails."""

        def __init__(self, listening: trio.socket.SocketType) -> None:
            self._listening = listening
            self._failed = False

        async def accept(self) -> object:
            if not self._failed:
                self._failed = True
                raise OSError(number, "failed")
            return await self._listening.accept()

        def close(self) -> None:
            self._listening.close()

    (listening,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with SocketListener(Flaky(listening.socket)) as listener:  # type: ignore[arg-type]
        with socket.create_connection(listening.socket.getsockname()):
            stream = await listener.accept()
            await stream.aclose()


async def test_a_shortage_of_files_is_told_to_trio_which_knows_what_to_do() -> None:
    class Full:
        async def accept(self) -> object:
            raise OSError(errno.EMFILE, "too many open files")

        def close(self) -> None:
            pass

    async with SocketListener(Full()) as listener:  # type: ignore[arg-type]
        with pytest.raises(OSError, match="too many open files"):
            await listener.accept()


async def test_a_closed_listener_says_so() -> None:
    (listening,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    listener = SocketListener(listening.socket)
    await listener.aclose()
    with pytest.raises(trio.ClosedResourceError):
        await listener.accept()
