"""Who is who: tokens, names, lines taking over, and whom the server forgets."""

from __future__ import annotations

import itertools

import pytest

from protocol.errors import CloseCode, ErrorCode, Refusal
from server.lobby import players as players_module
from server.lobby.players import Players
from server.rooms.outgoing import Outgoing


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
def players() -> Players:
    numbers = itertools.count()
    return Players(entropy=lambda length: next(numbers).to_bytes(length, "big"))


def test_whoever_comes_without_a_token_is_a_new_player(players: Players) -> None:
    one, token_of_one = players.arrive(name="Ann", token=None, line=Wire())
    two, token_of_two = players.arrive(name="Ann", token=None, line=Wire())
    assert one.id != two.id
    assert token_of_one != token_of_two
    assert len(players) == 2


def test_the_token_makes_him_the_same_player_under_whatever_name(players: Players) -> None:
    player, token = players.arrive(name="Ann", token=None, line=Wire())
    again, same = players.arrive(name="Anna", token=token, line=Wire())
    assert (again.id, again.name, same) == (player.id, "Anna", token)
    assert [here.name for here in players.here()] == ["Anna"]


def test_the_token_is_not_kept_and_is_not_the_public_id(players: Players) -> None:
    player, token = players.arrive(name="Ann", token=None, line=Wire())
    assert token not in repr(vars(players))
    assert bytes.fromhex(token) not in players._by_hash
    assert token != player.id


@pytest.mark.parametrize("token", ["", "0" * 32, "\ud800", "x" * 64])
def test_a_token_that_nobody_has_is_refused(players: Players, token: str) -> None:
    with pytest.raises(Refusal) as refused:
        players.arrive(name="Ann", token=token, line=Wire())
    assert (refused.value.code, refused.value.path) == (ErrorCode.UNKNOWN_TOKEN, "$.token")
    assert len(players) == 0


@pytest.mark.parametrize("name", ["", " ", "\x1b[31m", "\u202e", "\x00"])
def test_a_name_of_which_nothing_is_left_is_refused(players: Players, name: str) -> None:
    with pytest.raises(Refusal) as refused:
        players.arrive(name=name, token=None, line=Wire())
    assert (refused.value.code, refused.value.path) == (ErrorCode.BAD_NAME, "$.name")


def test_a_newer_line_takes_over_and_the_end_of_the_older_one_is_not_his(players: Players) -> None:
    older, newer = Wire(), Wire()
    player, token = players.arrive(name="Ann", token=None, line=older)
    players.arrive(name="Ann", token=token, line=newer)
    assert older.shut_with is CloseCode.TAKEN_OVER
    assert newer.shut_with is None
    players.depart(player, older)
    assert len(players) == 1
    players.depart(player, newer)
    assert len(players) == 0


def test_who_was_here_longest_ago_is_forgotten_first_and_nobody_who_is_here(players: Players, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(players_module, "KEPT_PLAYERS", 5)
    here = [players.arrive(name=f"here {number}", token=None, line=Wire()) for number in range(3)]
    line = Wire()
    gone, token_of_gone = players.arrive(name="gone", token=None, line=line)
    players.depart(gone, line)
    for number in range(20):
        line = Wire()
        stranger, _ = players.arrive(name=f"stranger {number}", token=None, line=line)
        players.depart(stranger, line)
    for player, token in here:
        assert players.arrive(name="x", token=token, line=Wire())[0].id == player.id
    with pytest.raises(Refusal):
        players.arrive(name="gone", token=token_of_gone, line=Wire())


def test_who_has_just_gone_is_remembered_longer_than_who_went_before(players: Players, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(players_module, "KEPT_PLAYERS", 3)
    line = Wire()
    racer, token = players.arrive(name="racer", token=None, line=line)
    for _ in range(2):
        other_line = Wire()
        other, _ = players.arrive(name="other", token=None, line=other_line)
        players.depart(other, other_line)
    players.depart(racer, line)
    for _ in range(2):
        players.arrive(name="newer", token=None, line=Wire())
    assert players.arrive(name="racer", token=token, line=Wire())[0].id == racer.id


def test_more_may_be_here_than_are_kept(players: Players, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(players_module, "KEPT_PLAYERS", 2)
    for number in range(5):
        players.arrive(name=f"Ann {number}", token=None, line=Wire())
    assert len(players) == 5


def test_listeners_hear_of_everybody_who_comes_or_goes(players: Players) -> None:
    heard: list[int] = []
    players.on_change(lambda: heard.append(len(players)))
    line = Wire()
    player, _ = players.arrive(name="Ann", token=None, line=line)
    players.depart(player, line)
    players.depart(player, line)
    assert heard == [1, 0]
