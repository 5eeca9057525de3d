"""The adapter to urwid, and its only importer: pictures onto a terminal, keys and clicks from it.

Owns the terminal while it runs and gives it back on every way out. Must not know what is on a screen.
"""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, Protocol, TextIO, TypeAlias

import urwid
from urwid.display.common import BaseScreen

from client.tui.picture import Large, Line, Picture, Size, fit_line, printable
from client.tui.theme import PaletteEntry

Display: TypeAlias = BaseScreen
"""A terminal as urwid draws on it."""


TONE_MS = 125


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
        picture = self.picture_for(size)
        return canvas_of(picture, size)


def canvas_of(picture: Picture, size: Size) -> urwid.Canvas:
    """A picture as urwid draws it: felt wherever nothing is, and nothing beyond the size."""
    columns, rows = size
    texts: list[bytes] = []
    attributes: list[list[tuple[str, int]]] = []
    charsets = []
    for at in range(rows):
        text, attribute, charset = b"", [], []
        for role, piece in fit_line(printable(picture.lines[at]) if at < picture.height else [], columns):
            if piece:
                encoded, run = _encoded(piece, urwid.util.get_encoding())
                text += encoded
                attribute.append((role, len(encoded)))
                charset.extend(run)
        texts.append(text)
        attributes.append(attribute)
        charsets.append(charset)
    canvas: urwid.Canvas = urwid.TextCanvas(texts, attributes, charsets, cursor=picture.caret, maxcol=columns)  # type: ignore[arg-type]
    for large in picture.large:
        canvas = _with_large(canvas, large, size)
    return canvas


def rows_of(picture: Picture, size: Size) -> list[Line]:
    """A picture row by row as it comes out, large letters included."""
    encoding = urwid.util.get_encoding()
    return [
        [(_role(attribute), text.decode(encoding, "replace")) for attribute, _, text in row] for row in canvas_of(picture, size).content()
    ]


def _role(attribute: object) -> str:
    """Of several that lie on each other the innermost."""
    layers = attribute.layers if isinstance(attribute, urwid.util.LayeredAttr) else (attribute,)
    return "felt" if layers[0] is None else str(layers[0])


@lru_cache(maxsize=4096)
def _encoded(text: str, encoding: str) -> tuple[bytes, list[tuple[Literal["U", "0"] | None, int]]]:
    """The text in the terminal's encoding, and urwid's runs of it. The pieces of a screen are nearly all the same at the next one."""
    del encoding  # urwid's own, which it takes from the terminal
    return urwid.util.apply_target_encoding(text)


def _with_large(canvas: urwid.Canvas, large: Large, size: Size) -> urwid.Canvas:
    """The canvas with text in large letters over it, as much as there is room for."""
    rect = large.rect
    letters = urwid.Padding(
        urwid.BigText([(large.role, large.text)], urwid.HalfBlock5x4Font()), align=urwid.CENTER, width=urwid.WHSettings.CLIP
    )
    drawn = urwid.CompositeCanvas(urwid.AttrMap(letters, "felt").render((min(rect.width, size[0] - rect.column),), False))
    if rect.row + drawn.rows() > size[1]:
        return canvas
    return urwid.CanvasOverlay(drawn, canvas, rect.column, rect.row)


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


class _Whole(Painted):
    """The one widget of the main loop. It draws anew only after `redraw`, or in another size."""

    def __init__(self, hands: Hands) -> None:
        super().__init__()
        self._hands = hands
        self._size: Size | None = None

    def redraw(self) -> None:
        self._size = None
        self._invalidate()

    def picture_for(self, size: Size) -> Picture:
        if self.picture is None or self._size != size:
            self.picture, self._size = self._hands.picture(size), size
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


class Terminal:
    """The terminal while the screens run in it. screen: an urwid display, by default the terminal; keys: where they come from then."""

    def __init__(self, hands: Hands, *, screen: BaseScreen | None = None, keys: TextIO | None = None) -> None:
        if screen is None:
            screen = urwid.display.raw.Screen(input=keys) if keys is not None else urwid.display.raw.Screen()
        self._screen = screen
        self._whole = _Whole(hands)
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
        set_properties: Callable[..., None] | None = getattr(self._screen, "set_terminal_properties", None)
        if set_properties is not None:
            set_properties(colors=colours)

    def set_palette(self, palette: list[PaletteEntry]) -> None:
        self._screen.register_palette(palette)

    def redraw(self) -> None:
        """What is shown is not what is any more."""
        self._whole.redraw()

    def bell(self) -> None:
        self._write("\a")

    def tone(self, note: int) -> None:
        """Sound a short note, 1 to 25: half tones from C5 to C7. Only some terminals do, none says so, and the rest stay silent.

        The Linux console has a bell of any pitch, which is set back to the usual. Windows Terminal, mintty and Contour know DECPS.
        """
        if os.environ.get("TERM", "").startswith("linux"):
            hertz = round(523.2511 * 2 ** ((note - 1) / 12))
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
            await self._event_loop.run_async()
