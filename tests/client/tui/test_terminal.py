"""The app in a real pseudo-terminal: what is drawn, keys and mouse as bytes, resizing, suspending, and giving the terminal back."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import termios
from collections.abc import Iterator

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from client.tui import terminal as adapter
from client.tui.drawing.picture import Picture, Size, block
from tests.e2e.terminal import ALTERNATE_OFF, ALTERNATE_ON, ROOT, Terminal, terminal_environment


def start(**environment: str) -> Terminal:
    return Terminal(
        [sys.executable, "-m", "tests.client.tui.terminal_app"], environment=terminal_environment(PYTHONPATH=str(ROOT), **environment)
    )


class Nobody:
    """Draws an empty screen, and does nothing about what is typed."""

    def picture(self, size: Size) -> Picture:
        del size
        return block([[]])

    def key(self, key: str) -> None:
        raise AssertionError(f"{key!r} was taken for typed")

    def mouse(self, button: int, column: int, row: int) -> None:
        raise AssertionError("nobody clicks")

    def terminal_known(self) -> None:
        pass


@pytest.mark.parametrize(
    ("answers", "within_s", "waits", "far"),
    [
        (True, adapter.ANSWERED_WITHIN_S, 1, False),
        (False, adapter.ANSWERED_WITHIN_S, 1, False),
        (True, 0.0, 0, False),
        (True, 60.0, 1, True),
    ],
    ids=["late", "never", "long after", "through SSH"],
)
async def test_a_quick_end_waits_for_what_the_terminal_was_asked_lest_the_shell_reads_it(
    monkeypatch: pytest.MonkeyPatch, answers: bool, within_s: float, waits: int, far: bool
) -> None:
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    if far:
        monkeypatch.setenv("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22")
    ours, its = pty.openpty()
    termios.tcsetwinsize(its, (24, 80))
    waited: list[float] = []

    def answer(ready: list[int], _write: list[int], _error: list[int], timeout: float) -> tuple[list[int], list[int], list[int]]:
        assert ready == [its]
        waited.append(timeout)
        asked = re.findall(rb"\?(\d+)\$p", os.read(ours, 65_536))
        assert asked
        if not answers:
            return [], [], []
        os.write(ours, b"".join(b"\x1b[?%b;2$y" % mode for mode in asked))
        return [its], [], []

    monkeypatch.setattr(adapter, "ANSWERED_FROM_AFAR_S" if far else "ANSWERED_WITHIN_S", within_s)
    with os.fdopen(its) as keys, os.fdopen(os.dup(its), "w") as output:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(adapter.Terminal(Nobody(), screen=adapter._Screen(input=keys, output=output)).run)
            await wait_all_tasks_blocked()
            monkeypatch.setattr(select, "select", answer)
            nursery.cancel_scope.cancel()
        monkeypatch.undo()
        assert len(waited) == waits
        assert all(0 < timeout <= within_s for timeout in waited)
        assert not far or waited > [adapter.ANSWERED_WITHIN_S]
        assert select.select([its], [], [], 0)[0] == []
    os.close(ours)


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        (b"\x1bs", ["meta s"]),
        (b"\x1b ", ["meta  "]),
        (b"\x1b\r", ["meta enter"]),
        (b"\x1b\x1b[A", ["meta up"]),
        (b"s ", ["s", " "]),
    ],
)
async def test_esc_and_a_key_that_come_in_one_read_are_told_as_one(monkeypatch: pytest.MonkeyPatch, typed: bytes, keys: list[str]) -> None:
    # Nobody answers here what the terminal was asked.
    monkeypatch.setattr(adapter, "ANSWERED_WITHIN_S", 0.0)
    pressed, all_came = [], trio.Event()

    class Listener(Nobody):
        def key(self, key: str) -> None:
            pressed.append(key)
            if len(pressed) == len(keys):
                all_came.set()

    ours, its = pty.openpty()
    termios.tcsetwinsize(its, (24, 80))
    with os.fdopen(its) as input_, os.fdopen(os.dup(its), "w") as output:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(adapter.Terminal(Listener(), screen=adapter._Screen(input=input_, output=output)).run)
            await wait_all_tasks_blocked()
            os.write(ours, typed)
            with trio.fail_after(10):
                await all_came.wait()
            nursery.cancel_scope.cancel()
    os.close(ours)
    assert pressed == keys


async def test_an_input_that_is_closed_is_a_terminal_that_went_away() -> None:
    its, ours = os.pipe()
    os.close(ours)
    with os.fdopen(its) as keys, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w") as output, pytest.raises(OSError, match="closed"):
        await adapter.Terminal(Nobody(), screen=adapter._Screen(input=keys, output=output)).run()


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    with start() as started:
        yield started


@pytest.mark.slow
def test_a_race_is_drawn_played_by_key_and_mouse_and_quit(terminal: Terminal) -> None:
    terminal.wait_for("3 cards can go home: c1, c2, a3 (g: all).")
    terminal.wait_until(lambda _: terminal.screen.buffer[2][5].bg != "default", what="colours")
    terminal.type("c1")
    terminal.wait_for("5♥")
    column, row = terminal.wait_until(
        lambda lines: next(((line.index(" s stock"), row) for row, line in enumerate(lines) if " s stock" in line), None), what="the stock"
    )
    terminal.click(column + 4, row + 2)
    terminal.type("qy")
    said = terminal.wait_for_end()
    assert "'c1']" in said
    assert "outcome: quit KXQWZP" in said
    assert terminal.given_back()
    assert terminal.process.returncode == 0


@pytest.mark.slow
def test_the_terminals_cursor_follows_the_tables_and_stays_there_as_the_clock_runs(terminal: Terminal) -> None:
    def at_cursor(lines: list[str]) -> str:
        cursor = terminal.screen.cursor
        # While it is being drawn there may be nothing.
        return f"{(lines[cursor.y][cursor.x :].split() or [''])[0]} {cursor.hidden}"

    terminal.wait_for("3 cards can go home")
    for key, shown in (("\x1b[B", "4♦"), ("\x1b[C", "J♠"), ("q", "▸")):
        terminal.type(key)
        terminal.expect(at_cursor, f"{shown} True")
    clock = terminal.screen.display[0]
    terminal.wait_until(lambda lines: lines[0] != clock, what="the clock running")
    terminal.expect(at_cursor, "▸ True")
    terminal.type("y")
    terminal.wait_for_end()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_gives_the_terminal_back(terminal: Terminal, number: signal.Signals) -> None:
    terminal.wait_for("cards home")
    terminal.process.send_signal(number)
    assert "outcome: signal KXQWZP" in terminal.wait_for_end()
    assert terminal.given_back()


@pytest.mark.slow
def test_ctrl_c_gives_the_terminal_back(terminal: Terminal) -> None:
    terminal.wait_for("cards home")
    terminal.type("\x03")
    assert "outcome: signal KXQWZP" in terminal.wait_for_end()
    assert terminal.given_back()


@pytest.mark.slow
def test_resizing_redraws_and_too_small_keeps_running(terminal: Terminal) -> None:
    terminal.wait_for("cards home")
    terminal.resize(60, 20)
    terminal.wait_for("Too small")
    terminal.resize(120, 40)
    terminal.wait_for("3 cards can go home")
    terminal.type("qy")
    terminal.wait_for_end()
    assert terminal.given_back()


@pytest.mark.slow
def test_suspending_gives_the_terminal_back_and_going_on_takes_it_again(terminal: Terminal) -> None:
    # Here nobody is left to say `fg`: the kernel lets a process of an orphaned group go on at once.
    terminal.wait_for("cards home")
    terminal.clear()
    terminal.type("\x1a")
    terminal.expect(lambda _: (terminal.raw.count(ALTERNATE_ON), terminal.raw.count(ALTERNATE_OFF)), (2, 1))
    terminal.wait_for("cards home")
    terminal.type("qy")
    assert "outcome: quit" in terminal.wait_for_end()
    assert terminal.given_back()


@pytest.mark.slow
@pytest.mark.parametrize("cooked", [True, False])
def test_going_on_after_a_stop_from_outside_draws_all_of_it_and_takes_keys_one_by_one(terminal: Terminal, cooked: bool) -> None:
    terminal.wait_for("cards home")
    before = termios.tcgetattr(terminal.its)
    terminal.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, terminal.process.pid, os.WSTOPPED)
    if cooked:
        # As a shell does, to read its next command.
        modes = [*before[:3], before[3] | termios.ICANON | termios.ECHO, *before[4:]]
        termios.tcsetattr(terminal.its, termios.TCSANOW, modes)
    terminal.clear()
    terminal.process.send_signal(signal.SIGCONT)
    terminal.wait_for("3 cards can go home: c1, c2, a3 (g: all).")
    terminal.wait_for("q quit")
    terminal.expect(lambda _: termios.tcgetattr(terminal.its)[3], before[3])
    terminal.type("qy")
    assert "outcome: quit" in terminal.wait_for_end()


@pytest.mark.slow
def test_a_terminal_that_was_told_no_size_is_drawn_in_as_one_of_the_usual() -> None:
    with Terminal(
        ["sh", "-c", f"stty rows 0 columns 0; exec {sys.executable} -m tests.client.tui.terminal_app"],
        environment=terminal_environment(PYTHONPATH=str(ROOT)),
    ) as sizeless:
        sizeless.wait_for("3 cards can go home")
        sizeless.type("qy")
        assert "outcome: quit" in sizeless.wait_for_end()


@pytest.mark.slow
def test_no_color_draws_borders_and_no_colours() -> None:
    with start(NO_COLOR="1") as plain:
        plain.wait_for("cards home")
        plain.wait_for("┌─────┐")
        plain.expect(lambda _: {cell.fg for row in plain.screen.buffer.values() for cell in row.values()}, {"default"})
        plain.type("qy")
        plain.wait_for_end()
