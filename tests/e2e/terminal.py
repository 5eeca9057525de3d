"""A process in a pseudo-terminal of its own, whose screen a test can read, type into, click on and wait for.

A thread reads all the time, like a real terminal, so that a process never blocks on its output while the test looks at another one.

Whatever a screen shows may come a moment after what one has waited for. So a test reads it only within `Terminal.wait_until` and
`Terminal.expect`, which look again until it is as it should be, and while nothing is being drawn.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self, TypeVar

import pyte

Found = TypeVar("Found")

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120.0
"""How long to wait for a screen. Generous, since a busy machine is not a failure; normally it takes milliseconds."""
QUIET_S = 0.01
"""After this long without output a drawing counts as complete, if the program does not say so itself."""
LOOK_S = 0.1
"""How often to check, while waiting for a screen, whether the process has ended."""

STOCK = ":s\r"
"""Types the stock's name. Its key again after a few milliseconds, as a test presses it, counts as held down."""
ALTERNATE_ON, ALTERNATE_OFF = b"\x1b[?1049h", b"\x1b[?1049l"
MOUSE_ON, MOUSE_OFF = b"\x1b[?1000h", b"\x1b[?1000l"
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-9;?<>=]*[A-Za-z]|[()][A-Z0-9]|[=>78])|[\x00-\x08\x0e-\x1f]")
_APC = re.compile(rb"\x1b_[^\x1b]*\x1b\\")
_UPDATE, _UPDATED = b"\x1b[?2026h", b"\x1b[?2026l"
"""The brackets around output to show all at once (synchronized output)."""
_BEGUN = re.compile(rb"\x1b(?:_[^\x1b]*\x1b?|\[(?:\?\d*)?)?$")
"""An incomplete escape sequence."""
_CAN_UPDATE, _IT_CAN = b"\x1b[?2026$p", b"\x1b[?2026;2$y"
"""A program's question whether the terminal supports synchronized output, and the answer."""


def terminal_environment(**more: str) -> dict[str, str]:
    """The environment of the tests, without the variables that would change colours."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLORTERM", "FORCE_COLOR")}
    return kept | {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"} | more


class Terminal:
    """A running command and its screen."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        cwd: Path = ROOT,
        columns: int = 80,
        rows: int = 24,
        errors: IO[str] | None = None,
    ) -> None:
        """errors: where its standard error goes instead of the screen."""
        self.screen = pyte.Screen(columns, rows)
        """Like `raw`, to be read only by what is handed to `wait_until` and `expect`, or after the end."""
        self.raw = b""
        """All that the process has written so far."""
        self._stream = pyte.ByteStream(self.screen)
        self._held = b""
        self._asked = b""  # the end of the output so far, where a question may begin
        # Held by the reader while it draws, and by anybody who looks at the screen.
        self._drawn = threading.Condition()
        self._ours, self._its = pty.openpty()
        self.resize(columns, rows)
        self._modes = self._modes_after = termios.tcgetattr(self._its)
        self.process = subprocess.Popen(
            list(command),
            cwd=cwd,
            stdin=self._its,
            stdout=self._its,
            stderr=self._its if errors is None else errors,
            env=dict(environment),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.process.poll() is None:
            # Kill the session that was started for it, with everything still in it.
            os.killpg(self.process.pid, signal.SIGKILL)
        self._finish()
        os.close(self._ours)

    # ---- what the screen shows

    def wait_until(self, find: Callable[[list[str]], Found | None], *, patience_s: float = PATIENCE_S, what: str = "") -> Found:
        """What `find` finds in the lines of the screen, as soon as it finds something. Once the process has ended, it looks a last time."""
        found = self._look_for(find, patience_s)
        assert found, self._without(what or find)
        return found

    def wait_for(self, text: str, *, patience_s: float = PATIENCE_S) -> str:
        """Wait until the screen shows `text`. Returns the first line that does."""
        return self.wait_until(lambda lines: next((line for line in lines if text in line), None), patience_s=patience_s, what=repr(text))

    def wait_for_end_of(self, text: str) -> None:
        """Wait until the screen no longer shows `text`."""
        self.wait_until(lambda lines: not any(text in line for line in lines), what=f"anything but {text!r}")

    def expect(self, read: Callable[[list[str]], object], value: object) -> None:
        """Wait until what is read from the lines of the screen is this."""
        last: object = None

        def is_read(lines: list[str]) -> bool:
            nonlocal last
            last = read(lines)
            return last == value

        if not self._look_for(is_read, PATIENCE_S):
            assert last == value, self._without("that")

    def _look_for(self, find: Callable[[list[str]], Found | None], patience_s: float) -> Found | None:
        """As `wait_until`; whatever was found last if it never finds something."""
        until = time.monotonic() + patience_s
        with self._drawn:
            while not (found := find(list(self.screen.display))) and self.process.poll() is None and time.monotonic() < until:
                self._drawn.wait(LOOK_S)
        if not found and self.process.poll() is not None:
            self._finish()
            found = find(list(self.screen.display))
        return found

    def _without(self, what: object) -> str:
        status = self.process.poll()
        ended = f"{self._standstill()}; " if status is None else f"ended with status {status}; "
        return "\n".join([f"{ended}the screen does not show {what}:", *(line.rstrip() for line in self.screen.display)])

    def _standstill(self) -> str:
        """What a process that shows nothing is at, and whether anybody reads what it writes."""
        state = ""
        with contextlib.suppress(OSError):
            proc = Path(f"/proc/{self.process.pid}")
            state = f"{(proc / 'stat').read_text().rpartition(') ')[2][:1]} in {(proc / 'wchan').read_text()}"
        return f"still running ({state}), {len(self.raw)} bytes read, {'read on' if self._reader.is_alive() else 'nobody reads'}"

    # ---- hands

    @property
    def its(self) -> int:
        """The process's end of the pseudo-terminal, for reading and setting its modes."""
        return self._its

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def click(self, column: int, row: int) -> None:
        """Press and release the left button at a cell, counted from 0."""
        place = f"{column + 1};{row + 1}"
        self.type(f"\x1b[<0;{place}M\x1b[<0;{place}m")

    def clear(self) -> None:
        """Forget what the screen shows."""
        with self._drawn:
            self.screen.reset()

    def resize(self, columns: int, rows: int) -> None:
        with self._drawn:
            fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            self.screen.resize(rows, columns)

    # ---- the end

    def wait_for_end(self, *, patience_s: float = PATIENCE_S) -> str:
        """Wait until the process has ended. Returns what it printed after it gave the screen back."""
        try:
            self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(self._without("an end")) from None
        self._finish()
        _, _, last = self.raw.rpartition(ALTERNATE_OFF)
        return _SEQUENCE.sub(b"", last).decode(errors="replace").replace("\r", "")

    def given_back(self) -> bool:
        """Whether, after the end, the alternate screen and the mouse are off, and the terminal's modes are as before."""
        pairs = ((ALTERNATE_ON, ALTERNATE_OFF), (MOUSE_ON, MOUSE_OFF))
        return all(self.raw.rfind(off) >= self.raw.rfind(on) for on, off in pairs) and self._modes_after == self._modes

    def _finish(self) -> None:
        """The process has ended, or is about to: read what is left of its output."""
        self.process.wait()
        if self._its >= 0:
            self._modes_after = termios.tcgetattr(self._its)
            os.close(self._its)
            self._its = -1
        self._reader.join()

    def _read(self) -> None:
        chunk = b""
        with contextlib.suppress(OSError):  # Linux's way to say that the last process has closed the other side
            while chunk := self._piece():
                # One drawing may come in several pieces: do not show half a screen that a test could take for a whole one.
                while select.select([self._ours], [], [], QUIET_S)[0] and (more := self._piece()):
                    chunk += more
                self._draw(chunk)
                chunk = b""
        self._draw(chunk, is_last=True)

    def _piece(self) -> bytes:
        """The output there is to read. A question in it is answered at once, like in any terminal: later the program may have ended."""
        piece = os.read(self._ours, 65536)
        self._asked = self._asked[1 - len(_CAN_UPDATE) :] + piece
        if _CAN_UPDATE in self._asked:
            self._asked = b""
            with contextlib.suppress(OSError):
                os.write(self._ours, _IT_CAN)
        return piece

    def _draw(self, chunk: bytes, *, is_last: bool = False) -> None:
        with self._drawn:
            self.raw += chunk
            # Remove application commands (APC), which pyte would show as text.
            chunk = _APC.sub(b"", self._held + chunk)
            whole = len(chunk) if is_last else _whole(chunk)
            self._held = chunk[whole:]
            self._stream.feed(chunk[:whole])
            self._drawn.notify_all()


def _whole(chunk: bytes) -> int:
    """How much of the output can be shown: no incomplete escape sequence, and no part of an incomplete synchronized update.

    On a busy machine a program may pause for a long time in the middle of a picture.
    """
    update = chunk.rfind(_UPDATE)
    if update >= 0 and _UPDATED not in chunk[update:]:
        return update
    begun = _BEGUN.search(chunk)
    return begun.start() if begun else len(chunk)
