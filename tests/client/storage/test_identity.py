"""The file with name and tokens."""

from __future__ import annotations

import fcntl
import getpass
import math
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from client.connection.events import Identity
from client.storage import files
from client.storage.identity import IdentityError, IdentityStore, Known, default_name, home_folder
from protocol import HOME_VARIABLE

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


def test_the_server_visited_last_stands_last_and_one_that_did_not_let_anybody_in_stays_where_it_was(store: IdentityStore) -> None:
    other, third = "ws://other.example:1", "ws://third.example:1"
    for url in (URL, other, third, URL):
        store.keep(url, Identity("bert", url))
    store.keep(other, Identity("bert", other), last=False)
    assert list(store.read().servers) == [other, third, URL]
    store.keep("ws://new.example:1", Identity("cleo", "new"), last=False)
    assert list(store.read().servers) == ["ws://new.example:1", other, third, URL]


def test_a_first_visit_that_is_refused_does_not_change_what_the_player_is_called_where_they_have_not_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARPET_HOME", str(tmp_path))
    store = IdentityStore(tmp_path)
    store.keep(URL, Identity("Anna", "a"))
    store.keep("ws://other.example:1", Identity("Bob", "b"), asked="Bob", last=False)
    assert default_name() == "Anna"
    assert store.identity("ws://other.example:1", "Bob").token == "b"


def test_two_names_on_one_machine_are_two_players(store: IdentityStore) -> None:
    store.keep(URL, Identity("anna", "a"))
    store.keep(URL, Identity("bert", "b"))
    assert store.identity(URL, "anna") == Identity("anna", "a")
    assert store.identity(URL, "bert") == Identity("bert", "b")
    assert store.identity(URL, "cleo") == Identity("cleo", None)
    assert store.identity(URL).name == "bert"  # the last one


def test_the_name_that_was_asked_for_leads_to_the_player_who_was_given_it_with_a_number(store: IdentityStore) -> None:
    store.keep(URL, Identity("Anna 2", "a", "p1"), asked="Anna")
    store.keep(URL, Identity("bert", "b"))
    assert store.identity(URL, "Anna") == store.identity(URL, "Anna 2") == Identity("Anna 2", "a", "p1")
    store.keep(URL, Identity("Anna", "c"))  # a copy of the file from before
    assert store.identity(URL, "Anna") == Identity("Anna", "c")
    assert store.identity(URL, "Anna 2") == Identity("Anna 2", "a", "p1")


def test_a_token_under_a_new_name_is_no_second_player_and_the_old_names_lead_to_them(store: IdentityStore) -> None:
    store.keep(URL, Identity("Anna 2", "a"), asked="Anna")
    store.keep(URL, Identity("Berta", "a", "p1"), asked="Anna 2")
    assert [known.identity for known in store.known()] == [Identity("Berta", "a", "p1")]
    for name in (None, "Anna", "Anna 2", "Berta"):
        assert store.identity(URL, name) == Identity("Berta", "a", "p1")


def test_a_token_that_the_server_has_forgotten_is_kept_aside_and_can_be_tried_again(store: IdentityStore) -> None:
    store.keep(URL, Identity("anna", "a", "p1"))
    store.keep(URL, Identity("anna", "b", "p2"))  # the server did not know "a"
    store.keep(URL, Identity("anna", "c", "p3"))
    assert store.identity(URL) == Identity("anna", "c", "p3")
    assert [known.identity for known in store.known()] == [
        Identity("anna", "c", "p3"),
        Identity("anna (before 2)", "b", "p2"),
        Identity("anna (before)", "a", "p1"),
    ]
    # Whom it does not know still comes as anna.
    assert store.identity(URL, "anna (before)") == Identity("anna", "a", "p1")
    # Whom it knows again is who they were, and who they became meanwhile is kept.
    store.keep(URL, Identity("anna", "a", "p1"), asked="anna")
    assert store.identity(URL) == Identity("anna", "a", "p1")
    assert {known.identity.token for known in store.known()} == {"a", "b", "c"}
    long = "x" * 24
    for token in "de":
        store.keep(URL, Identity(long, token))
    assert store.identity(URL, "x" * 15 + " (before)").token == "d"


def test_of_a_player_renamed_without_end_only_the_last_names_are_kept(store: IdentityStore) -> None:
    for number in range(120):
        store.keep(URL, Identity(f"anna {number}", "a", "p1"))
    assert store.identity(URL, "anna 118") == Identity("anna 119", "a", "p1")
    assert store.identity(URL, "anna 60") == Identity("anna 60")
    assert len(store.path.read_bytes()) < 4000


def test_whoever_is_renamed_does_not_come_before_the_one_used_last(store: IdentityStore) -> None:
    store.keep(URL, Identity("anna", "a"))
    store.keep(URL, Identity("bert", "b"))
    store.keep(URL, Identity("berta", "a", "p1"), last=False)
    assert store.identity(URL) == Identity("bert", "b")
    store.keep(URL, Identity("robert", "b"), last=False)
    assert store.identity(URL) == Identity("robert", "b")
    assert store.known() == (
        Known(URL, Identity("robert", "b"), last=True),
        Known(URL, Identity("berta", "a", "p1"), last=False),
    )
    store.path.unlink()
    store.keep(URL, Identity("robert", "b"), last=False)
    assert store.identity(URL) == Identity("robert", "b")


def test_whoever_was_named_and_not_let_in_is_kept_and_is_not_the_default(store: IdentityStore) -> None:
    store.keep(URL, Identity("anna", "a"), last=False)
    assert store.identity(URL) == Identity("anna", "a")  # there is no other
    store.keep(URL, Identity("bert", "b"), last=False)
    assert (store.identity(URL), store.identity(URL, "bert")) == (Identity("anna", "a"), Identity("bert", "b"))
    store.keep(URL, Identity("bert", "b"))
    assert store.identity(URL) == Identity("bert", "b")


def test_the_usual_names_of_this_machine_lead_to_the_same_players_at_each_port(store: IdentityStore) -> None:
    store.keep("ws://127.0.0.1:7777", Identity("anna", "a"))
    for url in ("ws://localhost:7777", "ws://[::1]:7777"):
        assert store.identity(url) == Identity("anna", "a")
    for url in ("ws://localhost:7778", "wss://localhost:7777", "ws://192.168.0.2:7777"):
        assert store.identity(url).token is None
    store.keep("ws://localhost:7777", Identity("berta", "a"))
    assert store.known() == store.known("ws://[::1]:7777") == (Known("ws://127.0.0.1:7777", Identity("berta", "a"), last=True),)


def test_a_file_in_which_two_names_of_this_machine_have_players_of_their_own_keeps_them_apart(store: IdentityStore) -> None:
    store.path.parent.mkdir(parents=True)
    servers = ",".join(
        f'"ws://{host}:7777": {{"name": "{name}", "tokens": {{"{name}": "{name}"}}}}'
        for host, name in (("localhost", "a"), ("127.0.0.1", "b"))
    )
    store.path.write_text(f'{{"format": 1, "servers": {{{servers}}}}}')
    assert [store.identity(f"ws://{host}:7777").name for host in ("localhost", "127.0.0.1")] == ["a", "b"]


def test_a_file_from_before_ids_were_kept_is_read(store: IdentityStore) -> None:
    store.path.parent.mkdir(parents=True)
    store.path.write_text(f'{{"format": 1, "servers": {{"{URL}": {{"name": "anna", "tokens": {{"anna": "a"}}}}}}}}')
    assert store.identity(URL) == Identity("anna", "a")
    store.keep(URL, Identity("anna", "a"))
    assert '"players"' not in store.path.read_text()


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
    assert sorted(path.name for path in store.path.parent.iterdir()) == ["identity.json"]
    assert store.identity(URL, "anna").token == "old"


def test_what_another_terminal_keeps_while_this_one_waits_is_not_lost(store: IdentityStore, monkeypatch: pytest.MonkeyPatch) -> None:
    other = IdentityStore(store.path.parent)
    flock = fcntl.flock

    def late(handle: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        other.keep(URL, Identity("bert", "fresh"))
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    store.keep(URL, Identity("anna", "token"))
    assert {known.identity for known in store.known()} == {Identity("bert", "fresh"), Identity("anna", "token")}


def test_of_many_terminals_at_once_no_token_is_lost(store: IdentityStore, monkeypatch: pytest.MonkeyPatch) -> None:
    # However long the disk of this machine takes for one of them: who gives up in the end is no matter of this.
    monkeypatch.setattr(files, "LOCK_PATIENCE_S", math.inf)
    start = threading.Barrier(8)

    def keep(number: int) -> None:
        start.wait()
        IdentityStore(store.path.parent).keep(URL, Identity(f"player {number}", f"token {number}"))

    with ThreadPoolExecutor(8) as terminals:
        list(terminals.map(keep, range(8)))
    assert {known.identity.token for known in store.known()} == {f"token {number}" for number in range(8)}


def test_a_lock_that_is_never_let_go_is_one_sentence(store: IdentityStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LOCK_PATIENCE_S", 0.0)
    store.keep(URL, Identity("anna", "token"))
    held = os.open(store.path.parent, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    store.keep(URL, Identity("anna", "token"))  # changes nothing, and waits for nobody
    with pytest.raises(IdentityError, match="is being changed by another carpet command: try again"):
        store.keep(URL, Identity("bert", "fresh"))
    os.close(held)
    store.keep(URL, Identity("bert", "fresh"))
    assert store.identity(URL) == Identity("bert", "fresh")


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


def test_where_one_has_not_been_the_name_is_as_one_said_or_as_at_the_last_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    store = IdentityStore(tmp_path)
    login = default_name()
    assert store.identity("ws://here:1").name == login
    store.keep("ws://there:1", Identity("Bo", "token"))
    assert store.identity("ws://here:1").name == default_name() == "Bo"
    store.call_me("Cara\x1b")
    assert store.identity("ws://here:1").name == default_name() == "Cara"
    store.keep("ws://here:1", Identity("Cara 2", "other"), asked="Cara")
    assert (store.identity("ws://here:1").name, store.identity("ws://there:1").name, default_name()) == ("Cara 2", "Bo", "Cara")
    store.call_me("")
    assert default_name() == "Cara 2"
    store.path.write_text("[")
    assert default_name() == login


def nodes_of(store: IdentityStore, name: str | None = None, url: str = URL) -> tuple[str, ...]:
    return store.nodes(url, store.identity(url, name).token)


def test_what_a_server_names_takes_the_place_of_what_it_named_before(store: IdentityStore) -> None:
    store.keep(URL, Identity("anna", "a"))
    assert nodes_of(store) == ()
    store.keep_nodes(URL, "a", ("ws://n2:1", "ws://n3:1"))
    assert nodes_of(store) == ("ws://n2:1", "ws://n3:1")
    store.keep(URL, Identity("anna", "a"))
    assert nodes_of(store) == store.nodes(URL, None) == ("ws://n2:1", "ws://n3:1")
    store.keep_nodes(URL, "a", ("ws://n4:1",))
    assert nodes_of(store) == ("ws://n4:1",)
    store.keep_nodes(URL, "a", ())
    assert nodes_of(store) == ()


def test_what_one_server_names_is_for_that_server_only(store: IdentityStore) -> None:
    for url in (URL, "ws://other.example:1"):
        store.keep(url, Identity("anna", "a"))
    store.keep_nodes(URL, "a", ("ws://n2:1",))
    assert nodes_of(store, url="ws://other.example:1") == ()


def test_what_was_named_to_one_player_is_no_place_for_the_token_of_another(store: IdentityStore) -> None:
    for name in ("anna", "bert"):
        store.keep(URL, Identity(name, f"token of {name}"))
    store.keep_nodes(URL, "token of anna", ("ws://n2:1", "ws://n3:1"))
    assert nodes_of(store, "bert") == ()
    store.keep_nodes(URL, "token of bert", ("ws://n3:1", "ws://n4:1"))
    assert nodes_of(store, "bert") == ("ws://n3:1", "ws://n4:1")
    # The server no longer names the other.
    assert nodes_of(store, "anna") == ("ws://n3:1",)


def test_what_was_named_goes_with_a_player_to_their_new_name_and_not_to_another_player_of_the_old_one(store: IdentityStore) -> None:
    store.keep(URL, Identity("anna", "a"))
    store.keep_nodes(URL, "a", ("ws://n2:1",))
    store.keep(URL, Identity("berta", "a"))
    assert nodes_of(store, "berta") == ("ws://n2:1",)
    store.keep(URL, Identity("berta", "another token"))
    assert nodes_of(store, "berta") == ()


def test_a_server_that_is_forgotten_takes_along_what_it_has_named(store: IdentityStore) -> None:
    for name, nodes in (("bert", ("ws://n3:1",)), ("anna", ("ws://n2:1", "ws://n3:1"))):
        store.keep(URL, Identity(name, name))
        store.keep_nodes(URL, name, nodes)
    store.forget(URL, ["anna"])
    assert b"n2" not in store.path.read_bytes()
    assert nodes_of(store, "bert") == ("ws://n3:1",)
    store.forget(URL, ["bert"])
    # As when a terminal that is still open hears of it.
    store.keep_nodes(URL, "bert", ("ws://n3:1",))
    assert b"n3" not in store.path.read_bytes()
    store.keep(URL, Identity("bert", "bert"))
    assert nodes_of(store) == ()
