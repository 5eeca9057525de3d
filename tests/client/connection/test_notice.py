"""The notice shown while waiting for a server: not at once, only if somebody can read it, and gone when the wait is over."""

from __future__ import annotations

import io
import sys
import threading

import pytest

from client.connection import notice
from client.connection.notice import connecting_to, unannounced

PLACE = "carpet.example:7777"
SAID = f"carpet: connecting to {PLACE}..."


class Errors(io.StringIO):
    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal
        self.told = threading.Event()

    def isatty(self) -> bool:
        return self._is_terminal

    def flush(self) -> None:
        self.told.set()


def errors_of(monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool = True, after_s: float = 0) -> Errors:
    errors = Errors(is_terminal=is_terminal)
    monkeypatch.setattr(sys, "__stderr__", errors)
    monkeypatch.setattr(notice, "NOTICE_S", after_s)
    monkeypatch.setenv("COLUMNS", "80")
    return errors


def test_whoever_waits_long_is_told_for_whom_and_the_line_goes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = errors_of(monkeypatch)
    with connecting_to(PLACE):
        assert errors.told.wait(30)
        assert errors.getvalue() == SAID
    assert errors.getvalue() == f"{SAID}\r{' ' * len(SAID)}\r"


def test_no_line_is_written_over_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = errors_of(monkeypatch)
    with unannounced(), connecting_to(PLACE):
        assert not errors.told.wait(0.05)
    assert errors.getvalue() == ""
    with connecting_to(PLACE):
        assert errors.told.wait(30)


def test_the_line_goes_too_where_there_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = errors_of(monkeypatch)

    def wait_in_vain() -> None:
        with connecting_to(PLACE):
            assert errors.told.wait(30)
            raise TimeoutError

    with pytest.raises(TimeoutError):
        wait_in_vain()
    assert errors.getvalue() == f"{SAID}\r{' ' * len(SAID)}\r"


def test_nothing_is_said_of_a_server_that_answers_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = errors_of(monkeypatch, after_s=3600)
    with connecting_to(PLACE):
        pass
    assert errors.getvalue() == ""


def test_a_line_that_goes_again_is_told_to_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = errors_of(monkeypatch, is_terminal=False)
    with connecting_to(PLACE):
        assert not [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    assert errors.getvalue() == ""


def test_the_line_never_breaks_where_the_terminal_is_narrower(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = errors_of(monkeypatch)
    monkeypatch.setenv("COLUMNS", "20")
    with connecting_to(PLACE):
        assert errors.told.wait(30)
        assert errors.getvalue() == SAID[:19]
