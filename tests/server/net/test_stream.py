"""The stream over a stdlib socket: it does not block where it promises not to, and reports a connection's fate by Trio's exceptions."""

from __future__ import annotations

import errno
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from server.net.connection_limits import Admission, AdmissionOutcome
from server.net.stream import IN_A_ROW, STAMP_BYTES, SocketListener, SocketStream, stamp_arrivals, waited_ms


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


async def test_sending_to_a_peer_who_is_gone_is_a_broken_connection(pair: tuple[SocketStream, socket.socket]) -> None:
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
    listening = socket.create_server(("127.0.0.1", 0))
    async with SocketListener(listening) as listener:
        with socket.create_connection(listening.getsockname()) as client:
            stream = await listener.accept()
            assert stream.peer_name == client.getsockname()
            await stream.aclose()
            assert stream.peer_name == client.getsockname()


@pytest.mark.parametrize("number", [errno.ECONNABORTED, errno.EPROTO, errno.EHOSTUNREACH, errno.ECONNRESET])
async def test_a_connection_that_fails_while_it_is_accepted_does_not_end_the_listening(number: int) -> None:
    class Flaky:
        """A listening socket whose first connection fails."""

        def __init__(self, listening: socket.socket) -> None:
            self._listening = listening
            self._failed = False

        def accept(self) -> object:
            if not self._failed:
                self._failed = True
                raise OSError(number, "failed")
            return self._listening.accept()

        def __getattr__(self, name: str) -> object:
            return getattr(self._listening, name)

    listening = socket.create_server(("127.0.0.1", 0))
    async with SocketListener(Flaky(listening)) as listener:  # type: ignore[arg-type]
        with socket.create_connection(listening.getsockname()):
            stream = await listener.accept()
            await stream.aclose()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS])
async def test_a_shortage_of_files_is_waited_out_and_told_once_a_minute_without_a_traceback(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    class Full:
        """A listening socket with nothing to give for 200 seconds."""

        def __init__(self) -> None:
            self.tries = 0

        def accept(self) -> object:
            self.tries += 1
            if self.tries <= 1600:
                raise OSError(number, "too many open files")
            raise OSError(errno.EBADF, "closed")

        def setblocking(self, blocks: bool) -> None:
            pass

        def fileno(self) -> int:
            return -1

    monkeypatch.setattr("server.net.stream.SHORTAGE_S", 0.125)
    full = Full()
    async with SocketListener(full) as listener:  # type: ignore[arg-type]
        with pytest.raises(trio.ClosedResourceError):
            await listener.accept()
    assert trio.current_time() == pytest.approx(200)
    said = [record.getMessage() for record in caplog.records]
    assert said == [f"no connection can be accepted (too many open files, {count} times); trying again" for count in (1, 480, 480, 480)]
    assert [record.exc_info for record in caplog.records] == [None] * 4


async def test_another_error_of_accepting_is_not_hidden() -> None:
    class Broken:
        def accept(self) -> object:
            raise OSError(errno.EINVAL, "not listening")

        def setblocking(self, blocks: bool) -> None:
            pass

        def fileno(self) -> int:
            return -1

    async with SocketListener(Broken()) as listener:  # type: ignore[arg-type]
        with pytest.raises(OSError, match="not listening"):
            await listener.accept()


async def test_a_stream_hands_its_ticket_back_once_however_it_is_closed() -> None:
    admission = Admission(most=1, most_per_address=0)
    listening = socket.create_server(("127.0.0.1", 0))
    async with SocketListener(listening, admission) as listener:
        for close in (trio.aclose_forcefully, SocketStream.aclose):
            with socket.create_connection(listening.getsockname()):
                stream = await listener.accept()
                assert (stream.ticket.entry, admission.inside) == (AdmissionOutcome.ADMITTED, 1)
                await close(stream)
                await stream.aclose()
                assert admission.inside == 0


async def test_whoever_is_turned_away_is_closed_and_the_next_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.net.connection_limits.REFUSED_AT_ONCE", 1)
    admission = Admission(most=1, most_per_address=0)
    listening = socket.create_server(("127.0.0.1", 0))
    address = listening.getsockname()
    async with SocketListener(listening, admission) as listener, trio.open_nursery() as nursery:
        with socket.create_connection(address), socket.create_connection(address), socket.create_connection(address) as third:
            admitted, refused = await listener.accept(), await listener.accept()
            assert (admitted.ticket.entry, refused.ticket.entry) == (AdmissionOutcome.ADMITTED, AdmissionOutcome.FULL)
            accepted: list[SocketStream] = []
            done = trio.Event()

            async def accept() -> None:
                accepted.append(await listener.accept())
                done.set()

            nursery.start_soon(accept)
            await trio.lowlevel.wait_readable(third)
            assert third.recv(10) == b""
            assert not accepted
            await admitted.aclose()
            await refused.aclose()
            with socket.create_connection(address):
                await done.wait()
                assert admission.inside == 1
                await accepted[0].aclose()


async def test_a_closed_listener_says_so() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    listener = SocketListener(listening)
    await listener.aclose()
    with pytest.raises(trio.ClosedResourceError):
        await listener.accept()


async def test_closing_a_listener_wakes_who_waits_for_somebody_to_come() -> None:
    listener = SocketListener(socket.create_server(("127.0.0.1", 0)))

    async def wait() -> None:
        with pytest.raises(trio.ClosedResourceError):
            await listener.accept()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        await listener.aclose()


async def test_where_many_come_at_once_other_tasks_have_their_turn_between_them() -> None:
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    with ExitStack() as clients:
        async with SocketListener(socket.create_server(("127.0.0.1", 0), backlog=64)) as listener, trio.open_nursery() as nursery:
            for _ in range(6 * IN_A_ROW):
                clients.enter_context(socket.create_connection(listener.socket.getsockname()))
            nursery.start_soon(take_turns)
            for _ in range(6 * IN_A_ROW):
                (await listener.accept()).cut()
            assert turns >= 2
            nursery.cancel_scope.cancel()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says when something came")
def test_how_long_something_has_waited_is_what_the_kernel_says_of_its_end_and_no_more_than_it_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as theirs:
        ours, _ = listener.accept()
        with ours:
            stamp_arrivals(ours)
            stamps: list[tuple[int, int, bytes]] = []
            give_up, before, after = time.monotonic() + 10, 0, 0
            # The first one who asks for it has it a little later.
            while not stamps and time.monotonic() < give_up:
                before = time.time_ns()
                theirs.send(b"ping")
                data, stamps, _, _ = ours.recvmsg(100, STAMP_BYTES)
                after = time.time_ns()
                assert data == b"ping"
    monkeypatch.setattr(time, "time_ns", lambda: after + 1_000_000_000)
    assert 1000 <= waited_ms(stamps, 10**9) <= (after - before) // 1_000_000 + 1001
    assert waited_ms(stamps, 4) == 4
    monkeypatch.setattr(time, "time_ns", lambda: before - 1_000_000_000)
    assert waited_ms(stamps, 4) == 0, "the clock was put back"
    assert waited_ms([], 4) == 0
