"""Bans are stored, by player and by address, until they are lifted."""

from __future__ import annotations

import pytest

from server.store.database import DatabaseStore
from server.store.errors import EntryRefused
from server.store.port import Banned, Unbanned
from server.store.pruning import Pruned
from server.store.store import Store
from tests.server.store.keeping import NOW, made, write

PLAYER = Banned(kind="player", subject="anna", reason="cheats", at_ms=NOW)
ADDRESS = Banned(kind="address", subject="2001:db8::/64", reason="", at_ms=NOW + 1)


def test_bans_are_listed_the_last_first_and_a_second_one_of_the_same_takes_the_place_of_the_first(store: Store) -> None:
    write(store, made("anna"), PLAYER, ADDRESS)
    assert store.bans() == (ADDRESS, PLAYER)
    before = store.bans_mark()
    again = Banned(kind="player", subject="anna", reason="again", at_ms=NOW + 2)
    write(store, again)
    assert store.bans() == (again, ADDRESS)
    assert store.bans_mark() != before


def test_a_ban_is_lifted_once(store: Store) -> None:
    write(store, made("anna"), PLAYER, ADDRESS)
    before = store.bans_mark()
    write(store, Unbanned(kind="player", subject="anna"))
    assert store.bans() == (ADDRESS,)
    assert store.bans_mark() != before
    with pytest.raises(EntryRefused, match="anna is not banned"):
        write(store, Unbanned(kind="player", subject="anna"))


def test_a_ban_by_a_server_whose_clock_is_behind_shows_though_another_was_lifted_meanwhile(store: Store) -> None:
    behind = Banned(kind="player", subject="anna", reason="", at_ms=NOW - 3_600_000)
    write(store, made("anna"), ADDRESS, Banned(kind="address", subject="192.0.2.1", reason="", at_ms=NOW))
    before = store.bans_mark()
    write(store, Unbanned(kind="address", subject="192.0.2.1"))
    write(store, behind)
    assert store.bans_mark() != before
    before = store.bans_mark()
    write(store, Banned(kind="player", subject="anna", reason="again", at_ms=NOW - 3_500_000))
    assert store.bans_mark() != before


def test_nobody_is_banned_who_is_not_known(store: Store) -> None:
    with pytest.raises(EntryRefused, match="no player anna"):
        write(store, PLAYER)


def test_a_banned_player_is_not_forgotten_for_not_coming(database: DatabaseStore) -> None:
    write(database, made("anna"), made("ben"), PLAYER)
    assert database.prune(NOW + 1000) == Pruned(players=1)
    assert database.player("anna") is not None
