"""The adapter to urwid, and its only importer: pictures onto a terminal, keys and clicks from it.

Owns the terminal while it runs and gives it back on every way out. Must not know what is on a screen.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import fcntl
import os
import select
import struct
import sys
import termios
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, Protocol, TextIO, TypeAlias, cast

import urwid
from urwid.display.common import BaseScreen

from client.tui import opening
from client.tui.drawing import kitty
from client.tui.drawing.card_picture import ROLE, SIGNS, pixels
from client.tui.drawing.picture import Line, Picture, Size, fit_line, printable, put
from client.tui.drawing.theme import CLASSIC, Palette, entries

Display: TypeAlias = BaseScreen
"""A terminal as urwid draws on it."""

TONE_MS = 125
ANSWERED_WITHIN_S = 0.5
"""What a terminal answers it has answered by then, from the other end of the world too."""
ANSWERED_FROM_AFAR_S = 2.0
"""The same through SSH, where a line can be that bad."""


class Painted(urwid.Widget):
    """A box widget that shows one picture."""

    _sizing = frozenset([urwid.Sizing.BOX])
    _selectable = True

    def __init__(self, picture: Picture | None = None) -> None:
        super().__init__()
        self.picture = picture

    def picture_for(self, size: Size) -> Picture:
        assert self.picture is not None
        return self.picture

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:  # type: ignore[override]
        return canvas_of(self.picture_for(size), size)


def canvas_of(picture: Picture, size: Size) -> urwid.Canvas:
    """A picture as urwid draws it: felt wherever nothing is, and nothing beyond the size."""
    columns, rows = size
    texts, attributes, charsets = [], [], []
    lines, encoding = _with_large(picture, size), urwid.util.get_encoding()
    for at in range(rows):
        line = fit_line(_with_cells(lines[at]) if at < len(lines) else [], columns)
        pieces = [(role, *_encoded(piece, encoding)) for role, piece in line if piece]
        texts.append(b"".join([encoded for _, encoded, _ in pieces]))
        attributes.append([(role, len(encoded)) for role, encoded, _ in pieces])
        charsets.append([each for _, _, run in pieces for each in run])
    return urwid.TextCanvas(texts, attributes, charsets, cursor=picture.caret, maxcol=columns)  # type: ignore[arg-type]


def _with_cells(line: Line) -> Line:
    """A line without what is no sign, but with the cells of pictures as the terminal is told them; in another role they are blank."""
    cells: Line = []
    for role, text in line:
        if role.startswith(ROLE):
            cells.append((role, text.translate(kitty.CELLS)))
        else:
            cells += printable([(role, text if text.isprintable() else text.translate(_BLANK))])
    return cells


_BLANK = dict.fromkeys(SIGNS, " ")


def rows_of(picture: Picture, size: Size) -> list[Line]:
    """A picture row by row as it comes out, large letters included."""
    encoding = urwid.util.get_encoding()
    return [[(str(role), text.decode(encoding, "replace")) for role, _, text in row] for row in canvas_of(picture, size).content()]


@lru_cache(maxsize=4096)
def _encoded(text: str, encoding: str) -> tuple[bytes, list[tuple[Literal["U", "0"] | None, int]]]:
    """The text in the terminal's encoding, and urwid's runs of it. The pieces of a screen are nearly all the same at the next one."""
    del encoding  # urwid's own, which it takes from the terminal
    return urwid.util.apply_target_encoding(text)


def _with_large(picture: Picture, size: Size) -> list[Line]:
    """The lines of a picture with its text in large letters over them, as much as there is room for."""
    lines = list(picture.lines)
    for rect, role, text in picture.large:
        width = min(rect.width, size[0] - rect.column)
        if width > 0 and rect.row + rect.height <= size[1]:
            put(lines, rect._replace(width=width), [[(role, row)] for row in _letters(text, width, urwid.util.get_encoding())])
    return lines


@lru_cache(maxsize=64)
def _letters(text: str, width: int, encoding: str) -> tuple[str, ...]:
    """Large letters in the middle of so many columns."""
    letters = urwid.Padding(urwid.BigText(text, urwid.HalfBlock5x4Font()), align=urwid.CENTER, width=urwid.WHSettings.CLIP)
    return tuple(row.decode(encoding, "replace") for row in letters.render((width,), False).text)


class Hands(Protocol):
    """Who draws for the terminal, and is told what is typed and clicked there."""

    def picture(self, size: Size) -> Picture:
        """What is shown now."""
        ...

    def key(self, key: str) -> None:
        """A key was typed, by urwid's name for it."""
        ...

    def mouse(self, button: int, column: int, row: int) -> None:
        """A button was pressed; 4 and 5 are the wheel, up and down."""
        ...

    def terminal_known(self) -> None:
        """It has answered what it was asked: whether it shows pictures."""
        ...


class _Whole(Painted):
    """The one widget of the main loop. It draws anew only after `redraw`, or in another size. before: is called with what is drawn then."""

    def __init__(self, hands: Hands, before: Callable[[Picture], None]) -> None:
        super().__init__()
        self._hands = hands
        self._before = before
        self._size: Size | None = None

    def redraw(self) -> None:
        self._size = None
        self._invalidate()

    def picture_for(self, size: Size) -> Picture:
        if self.picture is None or self._size != size:
            self.picture, self._size = self._hands.picture(size), size
            self._before(self.picture)
        return self.picture

    def keypress(self, size: Size, key: str) -> str | None:  # type: ignore[override]
        del size
        if key == "ctrl l":
            return key  # urwid clears the screen and draws it again
        self._hands.key(key)
        return None

    def mouse_event(self, size: Size, event: str, button: int, col: int, row: int, focus: bool) -> bool:  # type: ignore[override]
        del size, focus
        if event != "mouse press":
            return False
        self._hands.mouse(button, col, row)
        return True


class _Timed(urwid.MainLoop):
    """A main loop that knows how long it has waited for the terminal."""

    blocked_s = 0.0

    def draw_screen(self) -> None:
        began_s, worked_s = time.monotonic(), time.thread_time()
        super().draw_screen()
        self.blocked_s = time.monotonic() - began_s - (time.thread_time() - worked_s)


class _Screen(urwid.display.raw.Screen):
    """A terminal in which something may be shown already, and typed."""

    typed: bytes = b""
    """What was typed before the start."""
    focus = (0, 0)
    """Where the cursor stands, hidden, after a picture without a caret."""
    _answered_by_s = 0.0

    def _start(self, *args: Any, **kwargs: Any) -> None:
        self._answered_by_s = time.monotonic() + (ANSWERED_FROM_AFAR_S if "SSH_CONNECTION" in os.environ else ANSWERED_WITHIN_S)
        typed = opening.taken_over()
        if typed is not None:
            self.typed = typed
            # It is on already, and to switch it on once more would clear it.
            self.modes.alternate_buffer = False
        super()._start(*args, **kwargs)
        if typed is not None:
            self.modes.alternate_buffer = None

    def draw_screen(self, size: Size, canvas: urwid.Canvas) -> None:
        """Draw, and let the cursor rest where a screen reader is to look: else it stays behind the last cell that has changed."""
        super().draw_screen(size, canvas)
        if canvas.cursor is None:
            self.write(urwid.display.escape.set_cursor_position(*self.focus))
            self.flush()

    def get_cols_rows(self) -> Size:
        """Its size; the usual one where nobody has told it one, as in some containers."""
        columns, rows = super().get_cols_rows()
        return columns or 80, rows or 24

    def get_available_raw_input(self) -> list[int]:
        """What was typed. Raises OSError where the terminal has hung up, for which urwid has an error of its own too."""
        try:
            return super().get_available_raw_input()
        except RuntimeError as error:
            raise OSError(errno.EIO, str(error)) from error

    def _stop(self) -> None:
        try:
            with contextlib.suppress(OSError):
                self._take_answers()
        finally:
            super()._stop()

    @property
    def keys(self) -> int:
        """The file descriptor that keys come from. Where standard input is a record, it is not that."""
        return self._term_input_file.fileno()

    @property
    def _awaits_answers(self) -> bool:
        """Whether the terminal has yet to answer what it was asked at the start, by urwid, which modes it knows."""
        return bool(getattr(self, "_mode_queries_pending", None))

    def _take_answers(self) -> None:
        """Read what is still to be answered, where the end comes soon after the start: the shell would take it for typed."""
        keys = self.keys
        while self._awaits_answers and (left_s := self._answered_by_s - time.monotonic()) > 0 and select.select([keys], [], [], left_s)[0]:
            self.parse_input(None, None, self.get_available_raw_input())


class _Asked(_Screen):
    """A terminal that is asked at each start whether it shows pictures, and keeps some by the roles that name them until it is stopped.

    told: is called when that is known.
    """

    def __init__(self, keys: TextIO, told: Callable[[], None]) -> None:
        super().__init__(input=keys)
        self._told = told
        self.answers = kitty.Answers()
        self._kept: dict[str, int] = {}
        # Other programs that have pictures in the same terminal began at another moment.
        self._number = time.monotonic_ns()

    def start(self, *args: Any, **kwargs: Any) -> Any:
        context = super().start(*args, **kwargs)
        self.answers = kitty.Answers()
        if self._is_real_terminal():
            self.write(kitty.ASK)
            self.flush()
        return context

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self.forget()
        super().stop()

    @property
    def _awaits_answers(self) -> bool:
        return self.answers.knows is None or super()._awaits_answers

    def get_available_raw_input(self) -> list[int]:
        knew = self.answers.knows
        typed = self.answers.typed(bytes(super().get_available_raw_input()))
        if self.answers.knows != knew:
            self._told()
        return list(typed)

    def keep(self, picture: Picture, palette: Palette) -> None:
        """Have the terminal keep all pictures of which there are cells in this one."""
        roles = dict.fromkeys(role for line in picture.lines for role, _ in line if role.startswith(ROLE))
        new = [role for role in roles if role not in self._kept]
        if len(self._kept) + len(new) > MOST_PICTURES:
            self.forget()
            new = [*roles]
        for role in new[:MOST_PICTURES]:
            self._number = self._number % kitty.MOST_NUMBER + 1
            self._kept[role] = self._number
            self.write(kitty.sent(self._number, pixels(role, palette, _cell_pixels())))
            self.register_palette_entry(role, "default", "default", None, kitty.ink(self._number), palette.felt.exact)

    def forget(self) -> None:
        """Have the terminal keep none of them."""
        if self._kept:
            self.write(kitty.forgotten(self._kept.values()))
            self.flush()
        self._kept.clear()


MOST_PICTURES = 255
HIGHEST_CELL = 32
"""Pixels. Larger ones are drawn at half the size, which the terminal makes up for: drawing takes long enough."""


def _cell_pixels() -> tuple[int, int]:
    """The width and height of a cell; where the terminal does not say, of the usual shape."""
    rows, columns, width, height = struct.unpack("4H", fcntl.ioctl(sys.stdout.fileno(), termios.TIOCGWINSZ, bytes(8)))
    wide, high = (width // columns, height // rows) if columns and rows else (0, 0)
    while high > HIGHEST_CELL:
        wide, high = wide // 2, high // 2
    return (wide, high) if wide >= 4 and high >= 8 else (10, 20)


class Terminal:
    """The terminal while the screens run in it. screen: an urwid display, by default the terminal; keys: where they come from then.

    pictures: ask it whether it shows them.
    """

    def __init__(self, hands: Hands, *, screen: BaseScreen | None = None, keys: TextIO | None = None, pictures: bool = False) -> None:
        if screen is None:
            keys = keys or sys.stdin
            screen = _Asked(keys, hands.terminal_known) if pictures else _Screen(input=keys)
        self._screen = screen
        self._palette = CLASSIC
        self._whole = _Whole(hands, self._before)
        self._event_loop = urwid.TrioEventLoop()
        self._loop = _Timed(self._whole, screen=screen, event_loop=self._event_loop)

    @property
    def blocked_s(self) -> float:
        """For how long the last picture waited for the terminal to take it."""
        return self._loop.blocked_s

    @property
    def colours(self) -> int:
        return getattr(self._screen, "colors", 256)

    def set_colours(self, colours: int) -> None:
        """Use so many, whatever the terminal says."""
        if isinstance(self._screen, urwid.display.raw.Screen):
            self._screen.set_terminal_properties(colors=cast(Any, colours))

    @property
    def shows_pictures(self) -> bool:
        return isinstance(self._screen, _Asked) and bool(self._screen.answers.knows) and urwid.util.get_encoding() == "utf-8"

    def set_palette(self, palette: Palette) -> None:
        self._palette = palette
        self._screen.register_palette(entries(palette, exact=self.colours > 256))
        self.forget_pictures()

    def _before(self, picture: Picture) -> None:
        if isinstance(self._screen, _Screen):
            self._screen.focus = picture.focus
        if isinstance(self._screen, _Asked):
            self._screen.keep(picture, self._palette)

    def forget_pictures(self) -> None:
        """Those that it keeps are of another size or other colours."""
        if isinstance(self._screen, _Asked):
            self._screen.forget()

    def redraw(self) -> None:
        """Draw again, since what is shown is out of date."""
        self._whole.redraw()

    def take_again(self) -> None:
        """Draw all of it and have keys come one by one, after this process was stopped: a shell may have had the terminal meanwhile."""
        screen = self._screen
        if not isinstance(screen, _Screen) or not screen.started:
            return
        with contextlib.suppress(OSError):
            if os.tcgetpgrp(screen.keys) != os.getpgrp():
                return  # it goes on in the background
            if termios.tcgetattr(screen.keys)[3] & termios.ICANON:
                screen.stop()
                screen.start()
        screen.clear()
        self._loop.draw_screen()

    def bell(self) -> None:
        self._write("\a")

    def tone(self, note: int) -> None:
        """Sound a short note, 1 to 25: half tones from C5 to C7. Only some terminals do, none says so, and the rest stay silent.

        The Linux console has a bell of any pitch, which is set back to the usual. Windows Terminal, mintty and Contour know DECPS.
        """
        if getattr(self._screen, "term", "").startswith("linux"):
            hertz = round(523.25 * 2 ** ((note - 1) / 12))
            self._write(f"\x1b[10;{hertz}]\x1b[11;{TONE_MS}]\a\x1b[10]\x1b[11]")
        else:
            # Volume, of 7; and the duration in parts of a second of 32.
            self._write(f"\x1b[3;{TONE_MS * 32 // 1000};{note},~")

    def copy(self, text: str) -> None:
        """Ask the terminal to put a text on the clipboard (OSC 52). Whether it does, it does not say."""
        self._write(f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\a")

    def _write(self, sequence: str) -> None:
        if isinstance(self._screen, urwid.display.raw.Screen) and self._screen.started:
            self._screen.write(sequence)
            self._screen.flush()

    async def run(self) -> None:
        """Show the screens until cancelled. Raises OSError where the terminal goes away."""
        # `start` restores the terminal when the block is left, in whatever way.
        with self._loop.start():
            if isinstance(self._screen, _Screen) and self._screen.typed:
                typed, self._screen.typed = self._screen.typed, b""
                keys, _ = self._screen.parse_input(None, None, list(typed))
                self._loop.process_input(key for key in keys if isinstance(key, str))
            await self._event_loop.run_async()
