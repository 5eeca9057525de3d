"""`carpet whoami`, `rename` and `identity`, as far as they work without a server."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from client.cli import main as cli
from client.cli.looks import menu_start
from client.connection.events import Identity
from client.connection.request import NotKnown
from client.storage.commitments import CommitmentStore
from client.storage.identity import IdentityStore
from client.tui.start import StartMenu
from protocol.run_messages import DailyDeal
from tests.client.cli.test_main import run

HERE, THERE = "ws://here.example:7777", "wss://there.example:443"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IdentityStore:
    monkeypatch.setenv("CARPET_HOME", str(tmp_path / "home"))
    return IdentityStore(tmp_path / "home")


@pytest.fixture
def filled(store: IdentityStore) -> IdentityStore:
    store.keep(HERE, Identity("bert", "token-of-bert"))
    store.keep(HERE, Identity("Anna 2", "token-of-anna", "7f3a"), asked="Anna")
    store.keep(THERE, Identity("cleo", "token-of-cleo"))
    return store


def test_a_new_machine_knows_nobody(capsys: pytest.CaptureFixture[str], store: IdentityStore) -> None:
    assert (
        run(capsys, "whoami").out == "This machine does not know you at any server yet: your first visit to one makes you a player there.\n"
    )
    assert json.loads(run(capsys, "whoami", "--json").out) == []
    assert run(capsys, "whoami", "here.example").sentence == (
        f"carpet: You have not been at {HERE} yet. Your first visit makes you a player there: carpet home {HERE} takes you there."
    )
    assert run(capsys, "rename", "here.example", "Berta" * 5).sentence == "carpet: A name has 24 characters at most; choose a shorter one."
    assert run(capsys, "rename", "here.example", "Berta").status == 1
    assert (
        run(capsys, "identity", "export", "-").sentence == "carpet: There is nothing to export: this machine has no player at any server."
    )
    assert not store.path.exists()


def test_all_players_of_the_machine_are_listed_without_their_tokens(capsys: pytest.CaptureFixture[str], filled: IdentityStore) -> None:
    text = run(capsys, "whoami").out
    assert text.splitlines() == [
        f"{HERE}: Anna 2, player 7f3a; token kept",
        f"{HERE}: bert, player not told yet; token kept; with --name bert",
        f"{THERE}: cleo, player not told yet; token kept",
    ]
    listed = run(capsys, "whoami", "--json").out
    assert json.loads(listed)[:2] == [
        {"server": HERE, "name": "Anna 2", "player": "7f3a", "token_kept": True, "last": True},
        {"server": HERE, "name": "bert", "player": None, "token_kept": True, "last": False},
    ]
    assert "token-of" not in text + listed


def test_a_letter_that_the_terminal_lacks_stops_no_command(store: IdentityStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.keep(HERE, Identity("Małgosia", "token", "7f3a"))
    for arguments, shown in ((("whoami",), f"{HERE}: Ma?gosia, player 7f3a; token kept"), (("whoami", "--json"), "Ma\\u0142gosia")):
        written = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="latin-1"))
        with pytest.raises(SystemExit) as ended:
            cli.main(arguments)
        assert (ended.value.code, shown in written.getvalue().decode("latin-1")) == (0, True)


def test_a_player_whom_the_machine_does_not_have_is_not_asked_for(capsys: pytest.CaptureFixture[str], filled: IdentityStore) -> None:
    for command in (["whoami", HERE], ["rename", HERE, "Dora"]):
        ran = run(capsys, *command, "--name", "dora")
        assert (ran.status, ran.sentence) == (1, f"carpet: This machine has no player dora at {HERE}; carpet whoami shows those it has.")


def test_an_export_of_one_server_finds_it_under_each_name_of_this_machine(capsys: pytest.CaptureFixture[str], store: IdentityStore) -> None:
    store.keep("ws://localhost:7777", Identity("Ada", "token", "7f3a"))
    ran = run(capsys, "identity", "export", "-", "--server", "127.0.0.1")
    assert (ran.status, '"Ada"' in ran.out) == (0, True)


def test_a_known_server_that_is_no_address_is_not_offered_by_the_menu(store: IdentityStore) -> None:
    store.keep(HERE, Identity("Ada", "token", "7f3a"))
    store.path.write_text(store.path.read_text().replace(HERE, "ws://no server"))
    assert menu_start() == StartMenu("", is_new=False)


def test_an_export_is_for_its_owner_alone_and_says_what_it_holds(
    capsys: pytest.CaptureFixture[str], filled: IdentityStore, tmp_path: Path
) -> None:
    file = tmp_path / "export.json"
    before = os.umask(0)
    try:
        ran = run(capsys, "identity", "export", str(file))
    finally:
        os.umask(before)
    assert (ran.status, ran.out) == (0, "")
    assert ran.err == (
        f"carpet: {file} holds your tokens, and whoever has them can play as you: show it to nobody, and delete it once it is read.\n"
    )
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_bytes() == filled.path.read_bytes()
    again = run(capsys, "identity", "export", str(file), "--server", THERE)
    assert (again.status, again.sentence) == (1, f"carpet: {file} exists already: name another file.")
    assert run(capsys, "identity", "export", str(tmp_path / "none" / "file")).sentence.endswith(
        "cannot be written: No such file or directory."
    )


def test_an_export_that_cannot_be_written_whole_is_not_left_lying(
    capsys: pytest.CaptureFixture[str], filled: IdentityStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    ran = run(capsys, "identity", "export", str(tmp_path / "export.json"))
    assert (ran.status, ran.sentence.endswith("cannot be written: No space left on device.")) == (1, True)
    assert not (tmp_path / "export.json").exists()


def test_an_identity_goes_to_another_machine(
    capsys: pytest.CaptureFixture[str], filled: IdentityStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = run(capsys, "identity", "export", "-", "--server", "here.example")
    assert "What was printed holds your tokens" in printed.err
    monkeypatch.setenv("CARPET_HOME", str(tmp_path / "laptop"))
    laptop = IdentityStore(tmp_path / "laptop")
    laptop.keep(HERE, Identity("dora", "token-of-dora"))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(printed.out.encode())))
    ran = run(capsys, "identity", "import", "-")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        f"bert at {HERE} is here now. You are dora there unless you say --name bert.",
        f"Anna 2 at {HERE} is here now. You are dora there unless you say --name Anna 2.",
    ]
    assert laptop.identity(HERE) == Identity("dora", "token-of-dora")
    assert laptop.identity(HERE, "Anna") == Identity("Anna 2", "token-of-anna", "7f3a")
    assert laptop.identity(THERE).token is None
    assert stat.S_IMODE(laptop.path.stat().st_mode) == 0o600


def test_a_conflict_takes_nothing_unless_replacing_is_wished(
    capsys: pytest.CaptureFixture[str], filled: IdentityStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "export.json"
    run(capsys, "identity", "export", str(file))
    monkeypatch.setenv("CARPET_HOME", str(tmp_path / "laptop"))
    laptop = IdentityStore(tmp_path / "laptop")
    laptop.keep(THERE, Identity("cleo", "another-token"))
    before = laptop.path.read_bytes()
    ran = run(capsys, "identity", "import", str(file))
    assert ran.status == 1
    assert f"another player cleo at {THERE} on this machine: nothing was imported" in ran.sentence
    assert laptop.path.read_bytes() == before
    assert f"cleo at {THERE} is here now, in place of another player.\n" in run(capsys, "identity", "import", str(file), "--replace").out
    assert laptop.identity(THERE) == Identity("cleo", "token-of-cleo")
    assert run(capsys, "identity", "import", str(file)).out.count("was here already.") == 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("nowhere.example", "here.example"),
            "carpet: This machine has no player at ws://nowhere.example:7777; carpet whoami shows those it has.",
        ),
        (("here.example", HERE), "carpet: These are two names of one address already."),
    ],
)
def test_a_copy_that_makes_no_sense_asks_nobody(
    capsys: pytest.CaptureFixture[str], filled: IdentityStore, arguments: tuple[str, str], sentence: str
) -> None:
    before = filled.read()
    assert run(capsys, "identity", "copy", *arguments).sentence == sentence
    assert filled.read() == before


def test_at_another_address_the_player_is_the_same_if_that_server_knows_them(
    capsys: pytest.CaptureFixture[str], filled: IdentityStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    knows = {"token-of-bert": "Bert", "token-of-anna": "Anna"}

    async def who_is(url: str, identity: Identity) -> Identity:
        if url != THERE or identity.token not in knows:
            raise NotKnown("no")
        return Identity(knows[identity.token], identity.token, "p")

    monkeypatch.setattr("client.cli.identity.who_is", who_is)
    filled.keep(THERE, Identity("Anna", "made-before-the-copy"))
    promised = DailyDeal(date="2026-11-21", commitment="5e" * 32, made_at_ms=1, reveals_at_ms=2, secret=None)
    CommitmentStore(filled.path.parent).keep(HERE, [promised], 100)
    ran = run(capsys, "identity", "copy", "here.example", THERE)
    assert (ran.status, ran.out) == (0, f"You are Anna at {THERE} too.\nYou are Bert at {THERE} too.\n")
    assert filled.identity(THERE) == Identity("Anna", "token-of-anna", "p")
    assert filled.identity(THERE, "bert") == Identity("Bert", "token-of-bert", "p")
    assert filled.identity(THERE, "Anna (before)").token == "made-before-the-copy"

    assert CommitmentStore(filled.path.parent).seen(THERE).keys() == {"2026-11-21"}, "and what was promised there counts here"

    knows.clear()
    before = filled.read()
    ran = run(capsys, "identity", "copy", "here.example", THERE)
    assert ran.status == 1
    assert "is another server, or has started afresh. Nothing was copied." in ran.sentence
    assert filled.read() == before


@pytest.mark.parametrize("command", [("whoami", "here.example"), ("rename", "here.example", "Berta")])
def test_a_server_that_is_down_is_asked_through_those_that_it_has_named_to_this_player(
    capsys: pytest.CaptureFixture[str], filled: IdentityStore, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    filled.keep_nodes(HERE, "token-of-bert", ("ws://evil.example:7777",))
    filled.keep_nodes(HERE, "token-of-anna", ("ws://n2.here.example:7777", "ws://evil.example:7777"))
    filled.keep_nodes(HERE, "token-of-anna", ("ws://n2.here.example:7777",))
    tried: list[tuple[str, tuple[str, ...]]] = []

    async def asked(url: str, identity: Identity, *_: str, nodes: tuple[str, ...]) -> Identity:
        tried.append((url, nodes))
        return identity

    monkeypatch.setattr("client.cli.identity.who_is", asked)
    monkeypatch.setattr("client.cli.identity.rename_at", asked)
    assert run(capsys, *command, "--name", "Anna").status == 0
    assert run(capsys, *command, "--name", "bert").status == 0
    assert tried == [(HERE, ("ws://n2.here.example:7777",)), (HERE, ())]


def test_a_server_is_forgotten_with_all_players_or_one_of_them_when_that_is_meant(
    capsys: pytest.CaptureFixture[str], filled: IdentityStore
) -> None:
    filled.keep(HERE, Identity("bert", "another-token"))
    ran = run(capsys, "identity", "forget", "here.example", "--name", "bert")
    assert (ran.status, ran.sentence) == (2, f"carpet: This would forget bert at {HERE} for good; say --yes if that is meant.")
    for arguments, forgotten in (
        (("--name", "bert (before)"), "bert (before)"),
        (("--name", "Anna 2"), "Anna 2"),
        ((), "bert"),
    ):
        ran = run(capsys, "identity", "forget", "here.example", *arguments, "--yes")
        assert (ran.status, ran.out) == (0, f"This machine has forgotten {forgotten} at {HERE}.\n")
        left = [each.identity.name for each in filled.known(HERE)]
        assert forgotten not in left
        assert filled.identity(HERE, "Anna").token == ("token-of-anna" if "Anna 2" in left else None)
    assert [each.identity.name for each in filled.known()] == ["cleo"]
    ran = run(capsys, "identity", "forget", "here.example", "--yes")
    assert ran.sentence == f"carpet: This machine has no player at {HERE}; carpet whoami shows those it has."


@pytest.mark.parametrize("answer", ["y\n", "n\n"])
def test_at_a_terminal_it_is_asked_whether_a_player_is_to_be_forgotten(
    capsys: pytest.CaptureFixture[str], filled: IdentityStore, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setattr(sys, "stdin", terminal := io.StringIO(answer))
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    assert f"Forget cleo at {THERE}, for good?" in run(capsys, "identity", "forget", THERE).out
    assert bool(filled.known(THERE)) is (answer == "n\n")


@pytest.mark.parametrize("content", [b"", b"{}", b"\x00\xff", b'{"servers": {"x": {"name": "a", "tokens": {"a": "t"}}}}'])
def test_what_is_no_export_changes_nothing(
    capsys: pytest.CaptureFixture[str], filled: IdentityStore, tmp_path: Path, content: bytes
) -> None:
    before = filled.path.read_bytes()
    (tmp_path / "file").write_bytes(content)
    for file in (tmp_path / "file", tmp_path / "missing", tmp_path):
        ran = run(capsys, "identity", "import", str(file))
        assert ran.status == 1
        assert ran.sentence.startswith("carpet: ")
    assert filled.path.read_bytes() == before


def test_identity_alone_shows_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["identity"], ["identity", "--help"]):
        ran = run(capsys, *arguments)
        assert ran.status == 0
        assert "\n  export " in ran.out
        assert "\n  import " in ran.out
    for command in ("export", "import"):
        assert f"Example: carpet identity {command}" in run(capsys, "identity", command, "-h").out
