"""The game of `carpet play`: one terminal has it at a time, with its player, until it is forgotten."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from trio.testing import MockClock

from client.connection.events import Identity
from client.storage.files import LOCK_PATIENCE_S
from client.storage.kept_game import FOLDER, kept_game


async def test_the_player_is_known_until_the_game_is_forgotten(tmp_path: Path) -> None:
    async with kept_game(tmp_path) as game:
        assert game is not None
        assert game.identity("anna") == Identity("anna")
        game.keep(Identity("anna", "token", "p1"))
        game.database.write_text("moves")
    async with kept_game(tmp_path) as game:
        assert game is not None
        assert game.identity("anna") == game.identity(None) == Identity("anna", "token", "p1")
        assert game.database.read_text() == "moves"
        game.forget()
        assert not game.database.exists()
        assert game.identity("anna") == Identity("anna")


async def test_one_terminal_has_it_and_the_server_with_it(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with kept_game(tmp_path) as game:
        assert game is not None
        begun = autojump_clock.current_time()
        async with kept_game(tmp_path) as second:
            assert second is None
        assert autojump_clock.current_time() - begun >= LOCK_PATIENCE_S
        held_by_server = os.dup(game.lock)
    async with kept_game(tmp_path) as game:
        assert game is None
    os.close(held_by_server)
    async with kept_game(tmp_path) as game:
        assert game is not None


async def test_where_nothing_can_be_kept_there_is_none(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("in the way")
    async with kept_game(tmp_path) as game:
        assert game is None


@pytest.mark.parametrize("made", [True, False])
async def test_a_player_who_cannot_be_kept_can_play(tmp_path: Path, made: bool) -> None:
    async with kept_game(tmp_path) as game:
        assert game is not None
        (tmp_path / FOLDER / "identity.json").mkdir() if made else (tmp_path / FOLDER / "identity.json").write_text("{")
        game.keep(Identity("anna", "token", "p1"))
