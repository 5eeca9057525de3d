"""The file with name and tokens."""

from __future__ import annotations

import getpass
import os
import stat
from pathlib import Path

import pytest

from client.identity import Identity, IdentityError, IdentityStore, default_name, home_folder

URL = "ws://carpet.example:7777"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IdentityStore:
    monkeypatch.setattr(getpass, "getuser", lambda: "anna")
    return IdentityStore(tmp_path / "deeper" / "home")


def test_a_new_player_has_the_login_name_and_no_token_and_nothing_is_written(store: IdentityStore) -> None:
    assert store.identity(URL) == Identity("anna", None)
    assert not store.path.exists()


def test_what_is_kept_is_there_for_that_server_only(store: IdentityStore) -> None:
    store.keep(URL, Identity("bert", "secret"))
    assert store.identity(URL) == Identity("bert", "secret")
    assert store.identity("ws://other.example:1") == Identity("anna", None)


def test_two_names_on_one_machine_are_two_players(store: IdentityStore) -> None:
    store.keep(URL, Identity("anna", "a"))
    store.keep(URL, Identity("bert", "b"))
    assert store.identity(URL, "anna") == Identity("anna", "a")
    assert store.identity(URL, "bert") == Identity("bert", "b")
    assert store.identity(URL, "cleo") == Identity("cleo", None)
    assert store.identity(URL).name == "bert"  # the last one


def test_names_are_cleaned(store: IdentityStore) -> None:
    assert store.identity(URL, " \x1b[31mcleo\n ") == Identity("cleo", None)


def test_only_the_user_can_read_the_file_whatever_the_umask(store: IdentityStore) -> None:
    before = os.umask(0)
    try:
        store.keep(URL, Identity("anna", "secret"))
    finally:
        os.umask(before)
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700


def test_a_write_that_fails_leaves_the_old_file_and_no_litter(store: IdentityStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.keep(URL, Identity("anna", "old"))

    def full(source: str, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(IdentityError, match=r"identity\.json .* cannot be written: No space left on device"):
        store.keep(URL, Identity("anna", "new"))
    monkeypatch.undo()
    assert [path.name for path in store.path.parent.iterdir()] == ["identity.json"]
    assert store.identity(URL, "anna").token == "old"


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"servers": {"x": 1}}', b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_file_is_named_and_what_to_do_said(store: IdentityStore, text: bytes) -> None:
    store.path.parent.mkdir(parents=True)
    store.path.write_bytes(text)
    with pytest.raises(IdentityError, match="is damaged") as caught:
        store.identity(URL)
    assert str(store.path) in str(caught.value)
    assert "delete it to begin as a new player" in str(caught.value)
    assert store.path.read_bytes() == text


def test_a_file_of_a_newer_version_is_left_alone(store: IdentityStore) -> None:
    store.path.parent.mkdir(parents=True)
    store.path.write_text('{"format": 2, "servers": {}}')
    with pytest.raises(IdentityError, match="newer carpet-race"):
        store.keep(URL, Identity("anna", "token"))


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(IdentityError, match="CARPET_HOME names another folder"):
        IdentityStore(tmp_path / "file" / "home").keep(URL, Identity("anna", "token"))


def test_the_folder_can_be_chosen_by_the_environment(tmp_path: Path) -> None:
    assert home_folder({"CARPET_HOME": str(tmp_path)}) == tmp_path
    assert home_folder({}).name == "carpet-race"


def test_without_an_account_the_name_is_player(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert default_name() == "player"
