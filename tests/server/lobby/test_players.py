"""Who is who: tokens, names, lines taking over, and whom the server forgets."""

from __future__ import annotations

import itertools

import pytest
import trio

from protocol.errors import CloseCode, ErrorCode, Refusal
from server.lobby.players import Players
from server.rooms.clock import Clock
from server.rooms.outgoing import Outgoing
from server.store.errors import StoreFull
from server.store.journal import Journal
from server.store.memory import MemoryStore


class Wire:
    """A line that remembers how it was shut."""

    def __init__(self) -> None:
        self.shut_with: CloseCode | None = None

    @property
    def round_trip_ms(self) -> int | None:
        return None

    def post(self, outgoing: Outgoing) -> None:
        raise AssertionError(f"nothing is posted here: {outgoing.message}")

    def shut(self, code: CloseCode, reason: str) -> None:
        assert reason
        self.shut_with = code


@pytest.fixture
async def players(nursery: trio.Nursery) -> Players:
    numbers = itertools.count()
    store = MemoryStore()
    journal = Journal(store)
    nursery.start_soon(journal.run)
    return Players(entropy=lambda length: next(numbers).to_bytes(length, "big"), store=store, journal=journal, clock=Clock())


async def test_whoever_comes_without_a_token_is_a_new_player(players: Players) -> None:
    one, token_of_one = await players.arrive(name="Ann", token=None, line=Wire())
    two, token_of_two = await players.arrive(name="Bob", token=None, line=Wire())
    assert one.id != two.id
    assert token_of_one != token_of_two
    assert len(players) == 2


async def test_the_token_makes_him_the_same_player_under_whatever_name(players: Players) -> None:
    player, token = await players.arrive(name="Ann", token=None, line=Wire())
    again, same = await players.arrive(name="Anna", token=token, line=Wire())
    assert (again.id, again.name, same) == (player.id, "Anna", token)
    assert [here.name for here in players.here()] == ["Anna"]


async def test_the_token_is_not_kept_and_is_not_the_public_id(players: Players) -> None:
    player, token = await players.arrive(name="Ann", token=None, line=Wire())
    assert token not in repr(vars(players))
    assert token != player.id


@pytest.mark.parametrize("token", ["", "0" * 32, "\ud800", "x" * 64])
async def test_a_token_that_nobody_has_is_refused(players: Players, token: str) -> None:
    with pytest.raises(Refusal) as refused:
        await players.arrive(name="Ann", token=token, line=Wire())
    assert (refused.value.code, refused.value.path) == (ErrorCode.UNKNOWN_TOKEN, "$.token")
    assert len(players) == 0


@pytest.mark.parametrize("name", ["", " ", "\x1b[31m", "\u202e", "\x00"])
async def test_a_name_of_which_nothing_is_left_is_refused(players: Players, name: str) -> None:
    with pytest.raises(Refusal) as refused:
        await players.arrive(name=name, token=None, line=Wire())
    assert (refused.value.code, refused.value.path) == (ErrorCode.BAD_NAME, "$.name")


async def test_a_newer_line_takes_over_and_the_end_of_the_older_one_is_not_his(players: Players) -> None:
    older, newer = Wire(), Wire()
    player, token = await players.arrive(name="Ann", token=None, line=older)
    await players.arrive(name="Ann", token=token, line=newer)
    assert older.shut_with is CloseCode.TAKEN_OVER
    assert newer.shut_with is None
    players.depart(player, older)
    assert len(players) == 1
    players.depart(player, newer)
    assert len(players) == 0


async def test_listeners_hear_of_everybody_who_comes_or_goes(players: Players) -> None:
    heard: list[int] = []
    players.on_change(lambda: heard.append(len(players)))
    line = Wire()
    player, _ = await players.arrive(name="Ann", token=None, line=line)
    players.depart(player, line)
    players.depart(player, line)
    assert heard == [1, 0]


async def test_a_name_that_is_another_players_gets_a_number_and_none_is_too_long(players: Players) -> None:
    names = [(await players.arrive(name="x" * 24, token=None, line=Wire()))[0].name for _ in range(12)]
    assert names[:3] == ["x" * 24, "x" * 22 + " 2", "x" * 22 + " 3"]
    assert len(set(names)) == 12
    assert all(len(name) <= 24 for name in names)


async def test_who_would_take_another_players_name_keeps_his_own(players: Players) -> None:
    await players.arrive(name="Ann", token=None, line=Wire())
    bob, token = await players.arrive(name="Bob", token=None, line=Wire())
    again, _ = await players.arrive(name="ANN", token=token, line=Wire())
    assert (again.id, again.name) == (bob.id, "Bob")
    renamed, _ = await players.arrive(name="Robert", token=token, line=Wire())
    assert (renamed.id, renamed.name) == (bob.id, "Robert")


async def test_nobody_is_let_in_whom_the_store_cannot_keep(players: Players, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*entries: object) -> None:
        raise StoreFull("no space left")

    monkeypatch.setattr(players._journal, "write", full)
    with pytest.raises(Refusal) as refused:
        await players.arrive(name="Ann", token=None, line=Wire())
    assert refused.value.code == ErrorCode.NOT_KEPT
    assert len(players) == 0
