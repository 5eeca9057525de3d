"""A tournament command's own connection: who it comes as, and what is kept of a command that comes to nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio
from msgspec.structs import replace
from trio.testing import MockClock

from client.connection.client import open_link
from client.connection.errors import LinkError, RequestRefused
from client.connection.events import Identity
from client.connection.request import NotKnown
from client.local import sitting
from client.local.tournament_client import correct, decide, rename
from client.storage.identity import IdentityStore
from protocol.client_messages import WhoAmI
from protocol.errors import ErrorCode
from protocol.server_messages import YouAre
from protocol.tournament_messages import (
    CorrectResult,
    CreateTournament,
    Decided,
    FollowTournament,
    LeaveTournament,
    PauseTournament,
    RenameEntrant,
    Tournament,
)
from protocol.tournaments import TableResult, TournamentOptions
from tests.client import scenes
from tests.client.connection.linking import URL
from tests.client.fake_server import FakeServer
from tests.client.tournament_scenes import ID, running, table, told

ELSEWHERE = "ws://elsewhere.example:7777"
CREATE = CreateTournament(options=TournamentOptions(name="Open"), code=None)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IdentityStore:
    monkeypatch.setenv("CARPET_HOME", str(tmp_path / "home"))
    return IdentityStore(tmp_path / "home")


@asynccontextmanager
async def annas_server(
    store: IdentityStore, monkeypatch: pytest.MonkeyPatch, *replies: Tournament | Decided
) -> AsyncIterator[list[object]]:
    """A server that knows Anna, and answers so to what is asked in turn. Gives a list of what it is asked."""
    store.keep(URL, Identity("anna", "token-1", "p1"))
    asked: list[object] = []
    async with FakeServer.running() as server, trio.open_nursery() as nursery:

        async def answer() -> None:
            line = await server.line()
            who = await line.heard()
            assert isinstance(who, WhoAmI)
            await line.say(YouAre(player="p1", name="anna", ref=who.ref))
            await line.greet(token="token-1")
            for reply in replies:
                heard = await line.heard()
                assert isinstance(heard, FollowTournament | CorrectResult | RenameEntrant)
                asked.append(heard)
                await line.say(replace(reply, ref=heard.ref))

        monkeypatch.setattr(sitting, "open_link", partial(open_link, dial=server.dial))
        nursery.start_soon(answer)
        yield asked
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("request_", [PauseTournament(id=ID), LeaveTournament(id=ID)])
@pytest.mark.parametrize("name", [None, "berta"])
async def test_who_is_no_player_there_has_nothing_to_decide_and_becomes_none_by_asking(
    store: IdentityStore, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, request_: PauseTournament, name: str | None
) -> None:
    store.keep(ELSEWHERE, Identity("anna", "token-9", "p9"))
    before = store.read()
    async with FakeServer.running() as server:
        monkeypatch.setattr(sitting, "open_link", partial(open_link, dial=server.dial))
        named = "" if name is None else f" {name}"
        with pytest.raises(LinkError, match=rf"^This machine has no player{named} at {URL}\. If you have one on another machine: "):
            await decide(URL, request_, name=name)
        assert not server.dialled_at
    assert store.read() == before


async def test_whom_the_server_does_not_know_any_more_is_told_so_and_not_made_anew_by_a_directors_command(
    store: IdentityStore, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.keep(URL, Identity("anna", "token-1", "p1"))
    store.keep(ELSEWHERE, Identity("anna", "token-9", "p9"))
    before = store.read()

    async with FakeServer.running() as server, trio.open_nursery() as nursery:

        async def forget() -> None:
            line = await server.line()
            asked = await line.heard()
            assert isinstance(asked, WhoAmI)
            await line.say(scenes.refusal(ErrorCode.UNKNOWN_TOKEN, asked.ref))

        monkeypatch.setattr(sitting, "open_link", partial(open_link, dial=server.dial))
        nursery.start_soon(forget)
        with pytest.raises(NotKnown, match=f"^The server at {URL} does not know you as anna: it has started afresh"):
            await decide(URL, PauseTournament(id=ID), name=None)
        nursery.cancel_scope.cancel()
    assert store.read() == before


async def test_a_command_that_is_refused_leaves_the_last_server_and_the_default_as_they_were_and_one_that_is_not_makes_them_its_own(
    store: IdentityStore, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.keep(URL, Identity("bert", "token-2", "p2"))
    store.keep(URL, Identity("anna", "token-1", "p1"))
    store.keep(ELSEWHERE, Identity("anna", "token-9", "p9"))
    before = store.read()

    async with FakeServer.running() as server, trio.open_nursery() as nursery:
        refuses = True

        async def answer() -> None:
            line = await server.line()
            asked = await line.heard()
            assert isinstance(asked, WhoAmI)
            await line.say(YouAre(player="p2", name="bert", ref=asked.ref))
            await line.greet(token="token-2")
            # To make one is no second look: hello again, to take over.
            await line.greet(token="token-2")
            create = await line.heard()
            assert isinstance(create, CreateTournament)
            refusal = scenes.refusal(ErrorCode.BAD_TOURNAMENT, create.ref)
            await line.say(refusal if refuses else Decided(id=ID, number=1, ref=create.ref))

        monkeypatch.setattr(sitting, "open_link", partial(open_link, dial=server.dial))
        nursery.start_soon(answer)
        with pytest.raises(RequestRefused):
            await decide(URL, CREATE, name="bert")
        after = store.read()
        assert list(after.servers) == list(before.servers) == [URL, ELSEWHERE]
        assert after.servers[URL].name == "anna"
        refuses = False
        nursery.start_soon(answer)
        await decide(URL, CREATE, name="bert")
        nursery.cancel_scope.cancel()
    assert list(store.read().servers) == [ELSEWHERE, URL]
    assert store.read().servers[URL].name == "bert"


@pytest.mark.parametrize(
    ("verdict", "named", "cards", "race", "home"),
    [
        (TableResult(verdict="first"), None, None, 2, (0, 0)),
        (TableResult(verdict="first"), 1, None, 1, (9, 9)),
        (TableResult(verdict="first"), 1, (10, 9), 1, (10, 9)),
        (None, None, None, 1, None),
    ],
)
async def test_after_a_draw_the_race_to_come_is_decided_unless_another_is_named_or_the_draw_struck(
    store: IdentityStore,
    autojump_clock: MockClock,
    monkeypatch: pytest.MonkeyPatch,
    verdict: TableResult | None,
    named: int | None,
    cards: tuple[int, int] | None,
    race: int,
    home: tuple[int, int] | None,
) -> None:
    drawn = TableResult(verdict="draw", first_home=9, second_home=9)
    before, now = (table(1, "p2", "p3", races=(drawn,), result=result) for result in (None, verdict))
    replies = (running(tables=(before,)), Decided(id=ID, number=1, ref=0), running(tables=(now,)))
    async with annas_server(store, monkeypatch, *replies) as asked:
        request = CorrectResult(id=ID, round=2, table=1, result=verdict)
        assert await correct(URL, request, race=named, cards=cards, name=None) == now
    wanted = replace(verdict, first_home=home[0], second_home=home[1]) if verdict is not None and home is not None else None
    assert [type(each) for each in asked] == [FollowTournament, CorrectResult, FollowTournament]
    assert [(each.race, each.result) for each in asked if isinstance(each, CorrectResult)] == [(race, wanted)]


async def test_whoever_is_renamed_and_then_not_in_the_tournament_any_more_is_called_as_was_decided(
    store: IdentityStore, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = (told(), Decided(id=ID, number=1, ref=0), told(entrants=told().entrants[1:]))
    async with annas_server(store, monkeypatch, *replies) as asked:
        first = told().entrants[0]
        assert await rename(URL, ID, first.id, "Berta", reason="", name=None) == (first.name, "Berta")
    assert [type(each) for each in asked] == [FollowTournament, RenameEntrant, FollowTournament]
