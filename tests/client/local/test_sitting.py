"""A visit to somebody's server: who one is there, and what is remembered of it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from client.connection.client import open_link
from client.connection.errors import RequestRefused, Unreachable
from client.connection.events import Identity
from client.local import sitting
from client.storage.identity import IdentityStore
from client.tui.app import Jobs
from client.tui.start import AppOutcome, UiSettings
from protocol.client_messages import JoinRace
from protocol.errors import ErrorCode
from tests.client import scenes
from tests.client.connection.linking import URL
from tests.client.fake_server import FakeServer

TWO = "ws://n2.carpet.example:7777"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IdentityStore:
    monkeypatch.setenv("CARPET_HOME", str(tmp_path / "home"))
    return IdentityStore(tmp_path / "home")


async def test_who_comes_again_while_the_server_is_down_comes_in_through_one_that_it_named_and_is_told_so(
    store: IdentityStore, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refuses = False

    async with FakeServer.running() as server, trio.open_nursery() as nursery:

        async def dial() -> trio.abc.Stream:
            nonlocal refuses
            if refuses:
                refuses = False
                raise ConnectionRefusedError(111, "refused")
            return await server.dial()

        async def greet(host: str, nodes: tuple[str, ...]) -> None:
            line = await server.greeted(token="token-1", nodes=nodes)
            assert line.host == host

        monkeypatch.setattr(sitting, "open_link", partial(open_link, dial=dial))
        nursery.start_soon(greet, "carpet.example:7777", (TWO,))
        async with sitting.identified(URL, "anna"):
            pass
        assert store.nodes(URL, "token-1") == (TWO,)
        assert capsys.readouterr().err == ""

        refuses = True
        nursery.start_soon(greet, "n2.carpet.example:7777", ("ws://n3.carpet.example:7777",))
        async with sitting.identified(URL, None) as (link, _):
            assert link.url == URL
        told = " ".join(capsys.readouterr().err.split())
        assert told == "carpet.example:7777 does not answer; joined through n2.carpet.example:7777, one of its other servers."
        # Its word does not count.
        assert store.nodes(URL, "token-1") == (TWO,)

        # Another player of this machine has no part in it.
        refuses = True
        with pytest.raises(Unreachable):
            async with sitting.identified(URL, "bert"):
                pass


async def test_the_screens_say_first_that_another_server_was_reached_and_a_visit_that_comes_to_none_says_it_on_the_terminal(
    store: IdentityStore, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    detour = "carpet.example:7777 does not answer; joined through n2.carpet.example:7777, one of its other servers."
    notes: list[str] = []

    async def run_app(link: object, *, note: str, **how: object) -> AppOutcome:
        notes.append(note)
        await trio.lowlevel.checkpoint()
        return AppOutcome(reason="quit", settings=UiSettings())

    store.keep(URL, Identity("anna", "token-1", "p1"), asked="anna")
    store.keep_nodes(URL, "token-1", (TWO,))
    async with FakeServer.running() as server, trio.open_nursery() as nursery:
        refused = False

        async def dial() -> trio.abc.Stream:
            nonlocal refused
            refused = not refused
            if refused:
                raise ConnectionRefusedError(111, "refused")
            return await server.dial()

        async def refuse() -> None:
            line = await server.greeted(token="token-1")
            asked = await line.heard()
            assert isinstance(asked, JoinRace)
            await line.say(scenes.refusal(ErrorCode.NO_SUCH_ROOM, asked.ref))

        monkeypatch.setattr(sitting, "open_link", partial(open_link, dial=dial))
        monkeypatch.setattr(sitting, "run_app", run_app)
        nursery.start_soon(partial(server.greeted, token="token-1"))
        await sitting.visit(URL, None, name=None, settings=UiSettings())
        assert notes == [detour]
        assert capsys.readouterr().err == ""
        nursery.start_soon(refuse)
        with pytest.raises(RequestRefused):
            await sitting.visit(URL, JoinRace(code="ABCDEF"), name=None, settings=UiSettings())
        nursery.cancel_scope.cancel()
    assert " ".join(capsys.readouterr().err.split()) == detour
    assert len(notes) == 1


async def test_a_guest_at_a_tournament_can_ask_for_the_records_of_its_races(
    store: IdentityStore, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[Jobs] = []

    async def run_app(link: object, *, jobs: Jobs, **how: object) -> AppOutcome:
        done.append(jobs)
        await trio.lowlevel.checkpoint()
        return AppOutcome(reason="quit", settings=UiSettings())

    async with FakeServer.running() as server, trio.open_nursery() as nursery:
        monkeypatch.setattr(sitting, "open_link", partial(open_link, dial=server.dial))
        monkeypatch.setattr(sitting, "run_app", run_app)
        nursery.start_soon(server.greeted)
        await sitting.attend(URL, None, name=None, code=None, enters=False, settings=UiSettings())
        nursery.cancel_scope.cancel()
    assert done[0].profiles is not None
