"""Identities, with real commands and a real server: a name kept, changed, taken twice and moved to another machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from client.connection.client import NetLink, open_link
from client.connection.errors import RequestRefused
from client.connection.events import Identity, LinkEvent, Lost
from client.storage.identity import IdentityStore
from protocol.client_messages import JoinRace, OpenRace, Say
from protocol.room_events import Room, Said
from protocol.server_messages import ServerMessage, Welcome, YouAre
from protocol.views import RaceOptions
from protocol.watch_messages import Talk, WatchRace
from tests.e2e.commands import carpet, carpet_here, carpet_on_terminal, serving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving() as url:
        yield url


async def next_of(link: NetLink, *kinds: type) -> ServerMessage | LinkEvent:
    with trio.fail_after(30):
        async for event in link.events:
            if isinstance(event, kinds):
                return event
    raise AssertionError(f"none of {kinds} came")


async def test_a_player_in_a_race_is_asked_for_and_renamed_and_not_disturbed(url: str, tmp_path: Path) -> None:
    store = IdentityStore(tmp_path)
    async with open_link(url, Identity("Anna"), keep=lambda identity: store.keep(url, identity)) as link:
        welcome = await next_of(link, Welcome)
        assert isinstance(welcome, Welcome)
        link.send(OpenRace(options=RaceOptions()))
        await next_of(link, Room)
        asked = await trio.to_thread.run_sync(carpet, tmp_path, "whoami", url, "--json")
        assert json.loads(asked.out) == {"server": url, "name": "Anna", "player": welcome.player, "token_kept": True}
        renamed = await trio.to_thread.run_sync(carpet, tmp_path, "rename", url, "Berta")
        said = f"You are now Berta at {url}. A race that you are in keeps the old name.\n"
        assert (renamed.status, renamed.out, renamed.err) == (0, said, "")
        assert await next_of(link, YouAre, Lost) == YouAre(player=welcome.player, name="Berta", ref=0)
        assert store.identity(url) == Identity("Berta", welcome.token, welcome.player)
        assert store.identity(url, "Anna") == store.identity(url)
    assert welcome.token not in asked.out + renamed.out


def test_a_name_that_was_given_with_a_number_is_kept_and_is_the_same_player_ever_after(url: str, tmp_path: Path) -> None:
    carpet_on_terminal(tmp_path / "one", "join", url, "ZZZZZZ", "--name", "Dora")
    for arguments in (["--name", "Dora"], [], ["--name", "Dora"], ["--name", "Dora 2"]):
        carpet_on_terminal(tmp_path / "two", "join", url, "ZZZZZZ", *arguments)
    (known,) = IdentityStore(tmp_path / "two").known()
    assert known.identity.name == "Dora 2"
    assert carpet_here(tmp_path / "two", "whoami", url).out.startswith(f"You are Dora 2 at {url}: player {known.identity.player}")

    refused = carpet_here(tmp_path / "two", "rename", url, "dora")
    assert (refused.status, refused.sentence) == (1, f"carpet: Another player at {url} is called dora: you are still Dora 2.")
    assert IdentityStore(tmp_path / "two").known() == (known,)


def test_another_machine_becomes_the_same_player_and_follows_their_name(url: str, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    carpet_on_terminal(old, "join", url, "ZZZZZZ", "--name", "Emil")
    exported = carpet_here(old, "identity", "export", "-")
    taken = carpet(new, "identity", "import", "-", text=exported.out)
    assert (taken.status, taken.out) == (0, f"Emil at {url} is here now.\n")
    carpet_here(new, "rename", url, "Emilie")
    # The old machine does not undo it by coming under the name it knows.
    carpet_on_terminal(old, "join", url, "ZZZZZZ", "--name", "Emil")
    assert IdentityStore(old).known() == IdentityStore(new).known()
    assert IdentityStore(old).identity(url).name == "Emilie"


def test_a_token_that_the_server_does_not_know_is_said_so_and_kept(url: str, tmp_path: Path) -> None:
    store = IdentityStore(tmp_path)
    store.keep(url, Identity("Fred", "0" * 32))
    for command in (["whoami", url], ["rename", url, "Frida"]):
        ran = carpet_here(tmp_path, *command)
        assert ran.status == 1
        assert f"The server at {url} does not know you as Fred" in ran.sentence
    assert store.identity(url) == Identity("Fred", "0" * 32)


async def test_whoever_finds_every_seat_taken_is_told_of_the_one_that_they_hold_by_another_name(url: str, tmp_path: Path) -> None:
    store = IdentityStore(tmp_path / "own")
    async with (
        open_link(url, Identity("Gerd"), keep=lambda identity: store.keep(url, identity)) as own,
        open_link(url, Identity("Hanna")) as other,
    ):
        own.send(OpenRace(options=RaceOptions()))
        room = await next_of(own, Room)
        assert isinstance(room, Room)
        other.send(JoinRace(code=room.code))
        await next_of(other, Room)
        ways = {
            "own": f" You have one as Gerd: carpet join {url} {room.code} --name Gerd",
            "elsewhere": f" To watch it: carpet watch {url} {room.code}",
        }
        for home, way in ways.items():
            ran = await trio.to_thread.run_sync(carpet_on_terminal, tmp_path / home, "join", url, room.code, "--name", f"Ida {home}")
            assert (ran.status, ran.err) == (1, f"carpet: Every seat of that race is taken.{way}\n")


async def test_whoever_watches_in_a_second_terminal_keeps_their_seat_in_the_first(url: str, tmp_path: Path) -> None:
    async with open_link(url, Identity("Erik")) as first, open_link(url, Identity("Frida")) as other:
        welcome = await next_of(first, Welcome)
        assert isinstance(welcome, Welcome)
        first.send(OpenRace(options=RaceOptions()))
        own = await next_of(first, Room)
        other.send(OpenRace(options=RaceOptions()))
        watched = await next_of(other, Room)
        assert isinstance(own, Room)
        assert isinstance(watched, Room)
        mine = Identity("Erik", welcome.token, welcome.player)
        async with open_link(url, mine, watches=True) as second:
            assert (await second.entered(WatchRace(code=watched.code))).room is None
            assert second.send(Say(text="Good luck.", code=watched.code))
            heard = await next_of(other, Talk)
            assert isinstance(heard, Talk)
            assert [(line.name, line.text) for line in heard.lines] == [("Erik", "Good luck.")]
            with pytest.raises(RequestRefused, match="You are part of that race"):
                await second.entered(WatchRace(code=own.code))
        assert first.send(Say(text="I am still here."))
        assert isinstance(await next_of(first, Said, Lost), Said)
