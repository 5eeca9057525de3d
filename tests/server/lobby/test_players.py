"""Who is who: tokens, names, connections that take over, and whom the server forgets."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import pytest
import trio
from trio.testing import MockClock

from protocol.errors import CloseCode, ErrorCode, Refusal
from server.lobby.bans import Bans
from server.lobby.players import Players
from server.race.rating import Rating
from server.rooms.clock import Clock
from server.rooms.member import PlayerConnection, PlayerName
from server.rooms.outgoing import Outgoing
from server.store.answers import Player
from server.store.availability import Outage
from server.store.errors import StoreAway, StoreError, StoreFull
from server.store.journal import Journal
from server.store.memory import MemoryStore
from server.store.port import Entry
from tests.server.store.keeping import opened, rated_over, worth

Answer = TypeVar("Answer")


class Wire(PlayerConnection):
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


def players_of(journal: Journal) -> Players:
    numbers, clock = itertools.count(), Clock()
    bans = Bans(journal=journal, clock=clock)
    return Players(entropy=lambda length: next(numbers).to_bytes(length, "big"), journal=journal, clock=clock, bans=bans)


@pytest.fixture
async def players(nursery: trio.Nursery) -> Players:
    journal = Journal(MemoryStore())
    nursery.start_soon(journal.run)
    return players_of(journal)


async def test_whoever_comes_without_a_token_is_a_new_player(players: Players) -> None:
    one, token_of_one = await players.arrive(name="Ann", token=None, connection=Wire())
    two, token_of_two = await players.arrive(name="Bob", token=None, connection=Wire())
    assert one.id != two.id
    assert token_of_one != token_of_two
    assert len(players) == 2


@pytest.mark.parametrize("name", ["Anna", ""])
async def test_the_token_makes_them_the_same_player_under_whatever_name(players: Players, name: str) -> None:
    player, token = await players.arrive(name="Ann", token=None, connection=Wire())
    again, same = await players.arrive(name=name, token=token, connection=Wire())
    assert (again.id, again.name, same) == (player.id, "Ann", token)
    assert [here.name for here in players.here()] == ["Ann"]


async def test_the_token_is_not_kept_and_is_not_the_public_id(players: Players) -> None:
    player, token = await players.arrive(name="Ann", token=None, connection=Wire())
    assert token not in repr(vars(players))
    assert token != player.id


@pytest.mark.parametrize("token", ["", "0" * 32, "\ud800", "x" * 64])
async def test_a_token_that_nobody_has_is_refused(players: Players, token: str) -> None:
    with pytest.raises(Refusal) as refused:
        await players.arrive(name="Ann", token=token, connection=Wire())
    assert (refused.value.code, refused.value.path) == (ErrorCode.UNKNOWN_TOKEN, "$.token")
    assert len(players) == 0


@pytest.mark.parametrize("name", ["", " ", "\x1b[31m", "\u202e", "\x00"])
async def test_a_name_of_which_nothing_is_left_is_refused(players: Players, name: str) -> None:
    with pytest.raises(Refusal) as refused:
        await players.arrive(name=name, token=None, connection=Wire())
    assert (refused.value.code, refused.value.path) == (ErrorCode.BAD_NAME, "$.name")


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("deep (bot)", "deep bot"),
        ("Ann \uff08YOU\uff09", "Ann YOU"),
        ("(ghost)", "ghost"),
        ("Ann (Berlin)", "Ann (Berlin)"),
        ("a ((bot))", "a bot"),
        ("deep (b(bot)ot)", "deep bbotot"),
        ("deep ( bot)", "deep bot"),
        ("deep [bot]", "deep bot"),
        ("deep {Bot}", "deep Bot"),
        ("Ann <you>", "Ann you"),
        ("deep \u3010bot\u3011", "deep bot"),
        ("deep (bot]", "deep bot"),
        ("[Berlin] Ann", "[Berlin] Ann"),
        ("deep (b\u043et)", "deep b\u043et"),
        ("deep (\u044c\u043e\u0442)", "deep \u044c\u043e\u0442"),
        ("deep (b\u1ecdt)", "deep b\u1ecdt"),
        ("deep (b\u0324ot)", "deep b\u0324ot"),
        ("deep (b0t)", "deep b0t"),
        ("deep \ufd3ebot\ufd3f", "deep bot"),
        ("Ann (y\u03bfu)", "Ann y\u03bfu"),
        ("(gh\u043est)", "gh\u043est"),
        ("Ann (K\u00f6ln)", "Ann (K\u00f6ln)"),
        ("Ann (Ror)", "Ann (Ror)"),
    ],
)
async def test_nobody_has_in_their_name_what_marks_a_house_bot_or_oneself(players: Players, name: str, kept: str) -> None:
    player, _ = await players.arrive(name=name, token=None, connection=Wire())
    assert player.name == kept


async def test_a_newer_connection_takes_over_and_the_end_of_the_older_one_is_not_theirs(players: Players) -> None:
    older, newer = Wire(), Wire()
    player, token = await players.arrive(name="Ann", token=None, connection=older)
    await players.arrive(name="Ann", token=token, connection=newer)
    assert older.shut_with is CloseCode.TAKEN_OVER
    assert newer.shut_with is None
    players.depart(player, older)
    assert len(players) == 1
    players.depart(player, newer)
    assert len(players) == 0


async def test_listeners_hear_of_everybody_who_comes_or_goes(players: Players) -> None:
    heard: list[int] = []
    players.on_change.append(lambda: heard.append(len(players)))
    line = Wire()
    player, _ = await players.arrive(name="Ann", token=None, connection=line)
    players.depart(player, line)
    players.depart(player, line)
    assert heard == [1, 0]


async def test_a_name_that_is_another_players_gets_a_number_and_none_is_too_long(players: Players) -> None:
    names = [(await players.arrive(name="x" * 24, token=None, connection=Wire()))[0].name for _ in range(12)]
    assert names[:3] == ["x" * 24, "x" * 22 + " 2", "x" * 22 + " 3"]
    assert len(set(names)) == 12
    assert all(len(name) <= 24 for name in names)


async def test_whoever_would_take_another_players_name_keeps_their_own(players: Players) -> None:
    await players.arrive(name="Ann", token=None, connection=Wire())
    bob, token = await players.arrive(name="Bob", token=None, connection=Wire())
    for name in ("ANN", " ann ", "\uff21nn"):
        with pytest.raises(Refusal) as refused:
            await players.rename(bob, name)
        assert (refused.value.code, refused.value.path) == (ErrorCode.NAME_TAKEN, "$.name")
    assert await players.find(token) == bob
    assert [here.name for here in players.here()] == ["Ann", "Bob"]


async def test_a_renamed_player_is_so_for_everybody_and_their_old_name_is_free(players: Players) -> None:
    heard: list[list[str]] = []
    players.on_change.append(lambda: heard.append([here.name for here in players.here()]))
    line = Wire()
    bob, token = await players.arrive(name="Bob", token=None, connection=line)
    assert await players.rename(bob, "  Robert ") == (PlayerName(bob.id, "Robert"), line)
    assert await players.rename(bob, "ROBERT") == (PlayerName(bob.id, "ROBERT"), line)
    assert await players.find(token) == PlayerName(bob.id, "ROBERT")
    other, _ = await players.arrive(name="Bob", token=None, connection=Wire())
    assert other.name == "Bob"
    assert heard == [["Bob"], ["Robert"], ["ROBERT"], ["ROBERT", "Bob"]]


async def test_whoever_is_not_here_is_renamed_and_does_not_arrive_by_it(players: Players) -> None:
    line = Wire()
    bob, token = await players.arrive(name="Bob", token=None, connection=line)
    players.depart(bob, line)
    assert await players.rename(bob, "Robert") == (PlayerName(bob.id, "Robert"), None)
    assert len(players) == 0
    assert (await players.arrive(name="Bob", token=token, connection=line))[0].name == "Robert"


async def test_of_many_names_at_once_the_last_one_written_is_shown(players: Players) -> None:
    bob, token = await players.arrive(name="Bob", token=None, connection=Wire())
    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(players.rename, bob, f"Bob {number}")
            nursery.start_soon(lambda: players.arrive(name="Bob", token=token, connection=Wire()))
    assert [await players.find(token)] == list(players.here())


async def test_a_name_that_cannot_be_kept_is_nobodys(players: Players, monkeypatch: pytest.MonkeyPatch) -> None:
    bob, _ = await players.arrive(name="Bob", token=None, connection=Wire())

    async def full(*entries: object) -> None:
        raise StoreFull("no space left")

    monkeypatch.setattr(players._journal, "write", full)
    with pytest.raises(Refusal) as refused:
        await players.rename(bob, "Robert")
    assert refused.value.code == ErrorCode.NOT_KEPT
    assert [here.name for here in players.here()] == ["Bob"]


async def test_nobody_is_let_in_whom_the_store_cannot_keep(players: Players, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(entries: object, done: Callable[[StoreError], None]) -> None:
        done(StoreFull("no space left"))

    monkeypatch.setattr(players._journal, "submit", full)
    with pytest.raises(Refusal) as refused:
        await players.arrive(name="Ann", token=None, connection=Wire())
    assert refused.value.code == ErrorCode.NOT_KEPT
    assert len(players) == 0


async def test_whoever_cannot_be_looked_up_just_now_is_told_to_ask_again(players: Players, monkeypatch: pytest.MonkeyPatch) -> None:
    _, token = await players.arrive(name="Bob", token=None, connection=Wire())

    async def away(*question: object) -> None:
        raise StoreAway("the database is gone")

    monkeypatch.setattr(players._journal, "ask", away)
    for asked in (players.arrive(name="Bob", token=token, connection=Wire()), players.find(token)):
        with pytest.raises(Refusal) as refused:
            await asked
        assert (refused.value.code, refused.value.retry_after_ms) == (ErrorCode.SERVER_BUSY, 1000)


async def test_in_an_outage_players_come_back_and_new_ones_are_told_to_wait(players: Players) -> None:
    bob, token = await players.arrive(name="Bob", token=None, connection=Wire())
    assert isinstance(players._journal, Journal)
    players._journal.outage = Outage(0.0, "the disk is full")
    again, _ = await players.arrive(name="Bob", token=token, connection=Wire())
    assert again == bob
    for refused in (players.arrive(name="Ann", token=None, connection=Wire()), players.rename(bob, "Robert")):
        with pytest.raises(Refusal) as refusal:
            await refused
        assert refusal.value.code == ErrorCode.CANNOT_WRITE


async def test_whoever_asked_and_did_not_wait_has_the_name_all_the_same(
    autojump_clock: MockClock, players: Players, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob, _ = await players.arrive(name="Bob", token=None, connection=Wire())
    write = players._journal.write

    async def slow(*entries: Entry) -> None:
        await trio.sleep(1)
        await write(*entries)

    monkeypatch.setattr(players._journal, "write", slow)
    with trio.move_on_after(0.5):
        await players.rename(bob, "Robert")
    assert [here.name for here in players.here()] == ["Robert"]


async def test_whoever_is_renamed_while_they_arrive_has_the_new_name(
    autojump_clock: MockClock, players: Players, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob, token = await players.arrive(name="Bob", token=None, connection=Wire())
    ask = players._journal.ask

    async def slow(call: Any, key: Any) -> Player | None:
        found: Player | None = await ask(call, key)
        await trio.sleep(1)
        return found

    monkeypatch.setattr(players._journal, "ask", slow)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(players.rename, bob, "Robert")
        again, _ = await players.arrive(name="Bob", token=token, connection=Wire())
    assert again.name == "Robert"
    assert list(players.here()) == [again]


async def test_whoever_was_here_within_the_hour_comes_back_without_a_commit(autojump_clock: MockClock, players: Players) -> None:
    players._clock = Clock(wall_s=1e9)
    bob, token = await players.arrive(name="Bob", token=None, connection=Wire())
    assert isinstance(players._journal, Journal)
    written = players._journal.statistics
    await trio.sleep(3000)
    await players.arrive(name="Bob", token=token, connection=Wire())
    assert written.entries == 1
    for commits in (2, 2, 3):
        await trio.sleep(3000)
        await players.arrive(name="Bob", token=token, connection=Wire())
        assert written.entries == commits
    assert [here.id for here in players.here()] == [bob.id]


# ---- ratings


async def test_a_players_rating_is_the_stores_when_they_come_and_what_a_race_makes_it_while_they_are_here() -> None:
    store = MemoryStore()
    async with trio.open_nursery() as nursery:
        journal = Journal(store)
        nursery.start_soon(journal.run)
        players = players_of(journal)
        line, other = Wire(), Wire()
        ann, token = await players.arrive(name="Ann", token=None, connection=line)
        bob, _ = await players.arrive(name="Bob", token=None, connection=other)
        assert players.rating(ann.id) is None
        await journal.write(opened("r"), rated_over("r", {ann.id: 1, bob.id: 2}))
        players.rated(bob.id, worth(927))
        assert (players.rating(ann.id), players.rating(bob.id)) == (None, 927)
        players.depart(ann, line)
        await players.arrive(name="Ann", token=token, connection=line)
        assert players.rating(ann.id) == 1138
        players.depart(ann, line)
        assert players.rating(ann.id) is None
        nursery.cancel_scope.cancel()


async def test_news_of_an_earlier_race_that_come_later_change_nothing(players: Players) -> None:
    ann, _ = await players.arrive(name="Ann", token=None, connection=Wire())
    told: list[int | None] = []
    players.on_change.append(lambda: told.append(players.rating(ann.id)))
    players.rated(ann.id, worth(1200, races=2))
    players.rated(ann.id, worth(1138))
    assert (players.rating(ann.id), told) == (1200, [1200])
    players.rated(ann.id, worth(1100, races=3))
    assert told == [1200, 1100]


async def test_a_rating_that_changes_while_its_player_comes_in_is_not_missed(players: Players) -> None:
    _, token = await players.arrive(name="Ann", token=None, connection=Wire())
    journal = players._journal
    answers = iter([Rating(25, 25 / 3, 1), Rating(30, 5, 2)])

    class Slow(Journal):
        """Finds each rating just before the next race changes it."""

        async def write(self, *entries: Entry) -> None:
            await journal.write(*entries)

        async def ask(self, call: Callable[..., Answer], *arguments: object) -> Answer:
            found = await journal.ask(call, *arguments)
            assert isinstance(found, Player)
            rating = next(answers)
            if rating.races == 1:
                players.rated(found.id, worth(1600))
            return replace(found, rating=rating)

    players._journal = Slow(MemoryStore())
    ann, _ = await players.arrive(name="Ann", token=token, connection=Wire())
    assert players.rating(ann.id) == Rating(30, 5, 2).worth


async def test_whoever_comes_in_waits_for_no_pause_in_the_races_of_others(players: Players, monkeypatch: pytest.MonkeyPatch) -> None:
    ann, token = await players.arrive(name="Ann", token=None, connection=Wire())
    bob, _ = await players.arrive(name="Bob", token=None, connection=Wire())
    ask, asked = players._journal.ask, 0

    async def busy(call: Any, key: Any) -> Player | None:
        """On a server on which a race ends in every moment."""
        nonlocal asked
        asked += 1
        assert asked == 1, "asked again because of somebody else"
        players.rated(bob.id, worth(1000))
        return await ask(call, key)

    monkeypatch.setattr(players._journal, "ask", busy)
    again, _ = await players.arrive(name="Ann", token=token, connection=Wire())
    assert again == ann
