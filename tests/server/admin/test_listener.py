"""The host's socket: for its owner only, for one server at a time, and no input can do harm."""

from __future__ import annotations

import errno
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
import trio
from trio.testing import MockClock

from server.admin.listener import SocketUnavailable, administered
from server.admin.messages import LONGEST_QUESTION, Answer, Question

QUESTION = Question(noun="rooms", verb="list")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "admin"


async def echo(question: Question) -> Answer:
    await trio.lowlevel.checkpoint()
    if question.target == "fail":
        raise RuntimeError("a fault")
    return Answer(done=question.target)


@asynccontextmanager
async def listening(path: Path) -> AsyncIterator[None]:
    async with trio.open_nursery() as nursery:
        with administered(nursery, path, echo):
            yield
        nursery.cancel_scope.cancel()


def mode(path: Path) -> tuple[bool, int] | None:
    """Whether there is a socket, and who may use it."""
    return (path.is_socket(), stat.S_IMODE(path.stat().st_mode)) if path.exists() else None


async def ask(path: Path, sent: bytes) -> Answer:
    async with await trio.open_unix_socket(str(path)) as stream:
        await stream.send_all(sent)
        received = b""
        with trio.fail_after(60):
            async for some in stream:
                received += some
    return msgspec.json.decode(received, type=Answer)


async def test_only_its_owner_may_ask_and_it_goes_with_the_server(path: Path) -> None:
    async with listening(path):
        assert mode(path) == (True, 0o600)
        for target in ("KWPRTM", "QXZBDF"):
            question = Question(noun="rooms", verb="end", target=target)
            assert (await ask(path, msgspec.json.encode(question) + b"\n")).done == target
    assert mode(path) is None


@pytest.mark.parametrize(
    "sent",
    [
        b"\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b'{"noun": "rooms", "verb": "burn"}\n',
        b"\xff" * (LONGEST_QUESTION + 1),
        b"[" * 4000 + b"\n",
        b'{"x":' + b"[" * 4000 + b"\n",
    ],
    ids=["nothing", "another protocol", "no command", "too long", "a list", "too deep"],
)
async def test_what_is_no_command_is_answered_with_a_sentence(path: Path, sent: bytes) -> None:
    async with listening(path):
        assert "does not know that command" in ((await ask(path, sent)).error or "")
        assert (await ask(path, msgspec.json.encode(QUESTION) + b"\n")).error is None


async def test_half_a_command_is_waited_for_five_seconds(path: Path, autojump_clock: MockClock) -> None:
    async with listening(path):
        assert (await ask(path, b'{"noun":')).error == "the command did not come within 5 seconds"


async def test_a_fault_costs_one_answer(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with listening(path):
        failing = msgspec.json.encode(Question(noun="rooms", verb="end", target="fail")) + b"\n"
        assert (await ask(path, failing)).error == "something went wrong on the server; its log says what"
        assert (await ask(path, msgspec.json.encode(QUESTION) + b"\n")).error is None
    assert "a fault" in caplog.text


async def test_what_a_killed_server_has_left_is_taken_away(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
    assert mode(path) is not None
    async with listening(path):
        assert (await ask(path, msgspec.json.encode(QUESTION) + b"\n")).error is None


async def test_another_server_is_left_alone(path: Path) -> None:
    async with listening(path):
        with pytest.RaisesGroup(pytest.RaisesExc(SocketUnavailable, match="another server answers")):
            async with listening(path):
                pass
        assert mode(path) == (True, 0o600)


async def test_another_file_is_left_alone() -> None:
    here = Path(__file__)
    with pytest.RaisesGroup(pytest.RaisesExc(SocketUnavailable, match="not a socket; choose another place")):
        async with listening(here):
            pass
    assert mode(here) is not None


async def test_a_place_that_cannot_be_is_said(tmp_path: Path) -> None:
    for where in (tmp_path / "nowhere" / "admin", tmp_path / ("x" * 120)):
        with pytest.RaisesGroup(pytest.RaisesExc(SocketUnavailable, match="cannot listen for the host's commands at")):
            async with listening(where):
                pass


async def test_a_command_that_cannot_be_accepted_ends_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        """A listening socket, once with no descriptor left for whoever comes."""

        def __init__(self, listening: trio.socket.SocketType) -> None:
            self._listening = listening
            self._is_full = True

        async def accept(self) -> object:
            if self._is_full:
                self._is_full = False
                raise OSError(errno.EMFILE, "Too many open files")
            return await self._listening.accept()

        def close(self) -> None:
            self._listening.close()

    wrapped = trio.socket.from_stdlib_socket
    monkeypatch.setattr(trio.socket, "from_stdlib_socket", lambda listening: Full(wrapped(listening)))
    async with listening(path):
        monkeypatch.undo()
        assert (await ask(path, msgspec.json.encode(QUESTION) + b"\n")).error is None
