"""The menu before any server: each line is a command, with the server that it asks for. In a real terminal, the choice is run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from client.state.store import Model
from client.storage.saved_records import keep_record
from client.tui.actions import Effect, Key, Quit
from client.tui.lobby.menu import ITEMS
from client.tui.start import StartMenu
from client.tui.ui_state import Ui
from client.tui.update import update
from tests.client import replays
from tests.client.tui.test_replay_terminal import terminal


def typed(start: StartMenu, line: int, *keys: str) -> tuple[Ui, tuple[Effect, ...]]:
    """What the last of these keys comes to, typed after as many steps down."""
    ui = Ui(start=start)
    effects: tuple[Effect, ...] = ()
    for key in (*["down"] * line, *keys):
        ui, effects = update(Model(), ui, Key(key), 0)
    return ui, effects


@pytest.mark.parametrize(
    ("line", "text", "command"),
    [
        (0, None, ("play", "--choose")),
        (1, "carpet.example", ("home", "ws://carpet.example:7777")),
        (1, "carpet.example KXQWZP", ("join", "ws://carpet.example:7777", "KXQWZP")),
        (1, "carpet join wss://carpet.example kxq wzp", ("join", "wss://carpet.example:443", "KXQWZP")),
        (1, "carpet join carpet.example KXQWZP --name Bert", ("join", "ws://carpet.example:7777", "KXQWZP")),
        (1, "https://carpet.example/play/kxqwzp", ("join", "wss://carpet.example:443", "KXQWZP")),
        (3, "http://carpet.example:7777/watch/KXQWZP", ("watch", "ws://carpet.example:7777", "KXQWZP")),
        (3, "carpet watch carpet.example KXQWZP", ("watch", "ws://carpet.example:7777", "KXQWZP")),
        (1, "carpet.example KXQ-WZP", ("join", "ws://carpet.example:7777", "KXQWZP")),
        (2, "http://[::1]:7777/play/KXQWZP", ("daily", "ws://[::1]:7777")),
        (3, "carpet.example", ("watch", "ws://carpet.example:7777")),
        (3, "--key=x", ("watch", "ws://--key=x:7777")),
        (4, None, ("replay",)),
        (5, None, ("me",)),
    ],
)
def test_a_line_is_a_command_and_no_word_of_it_an_option(line: int, text: str | None, command: tuple[str, ...]) -> None:
    _, effects = typed(StartMenu(), line, "enter", *(() if text is None else (*text, "enter")))
    assert effects == (Quit(command=command),)
    assert command[0] == ITEMS[line].command or command[0] == "join"


def test_whoever_is_new_is_to_learn_first_and_all_others_last() -> None:
    assert typed(StartMenu(is_new=True), 0, "enter")[1] == (Quit(command=("learn",)),)
    assert typed(StartMenu(is_new=True), 1, "enter")[1] == (Quit(command=("play",)),)
    assert typed(StartMenu(), 6, "enter")[1] == (Quit(command=("learn",)),)


@pytest.mark.parametrize(
    ("text", "says"),
    [("carpet.example 12", "six letters"), ("ftp://x", "is not the address of a server"), ("", "is missing: write host")],
)
def test_what_leads_nowhere_is_said_and_can_be_typed_again(text: str, says: str) -> None:
    ui, effects = typed(StartMenu(), 1, "enter", *text, "enter")
    assert effects == ()
    assert says in ui.note
    assert isinstance(ui.start, StartMenu)


def test_the_server_one_knows_is_offered_and_another_can_be_typed_over_it() -> None:
    known = StartMenu("carpet.example")
    assert typed(known, 3, "enter", "enter")[1] == (Quit(command=("watch", "ws://carpet.example:7777")),)
    assert typed(known, 3, "enter", "ctrl u", "b", "enter")[1] == (Quit(command=("watch", "ws://b:7777")),)
    assert typed(known, 0, "q")[1] == (Quit(),)


@pytest.mark.slow
def test_in_a_terminal_the_program_alone_opens_it_runs_what_is_chosen_and_comes_back(tmp_path: Path) -> None:
    keep_record(tmp_path, replays.record())
    with terminal(tmp_path, sys.executable, "-m", "client.cli.main") as screen:
        screen.wait_for("Race a friend")
        screen.type("jjjj")
        screen.wait_for("Both boards side by side")
        screen.type("\r")
        screen.wait_for("paused")
        screen.type("q")
        screen.wait_for("Both boards side by side")
        screen.type("kk\rNOWHERE:1x\r")
        screen.wait_for("is not the address of a server")
        screen.type("q")
        screen.wait_for_end()
        assert screen.given_back()
