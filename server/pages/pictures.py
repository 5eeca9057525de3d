"""Pictures for link previews: what an address is about, and the curves of a race. They are drawn as SVG, which a worker turns into PNG.

Most programs that show previews do not take SVG. PNG needs resvg (the extra `previews`), which is imported only here. It uses the system's
fonts; without any, a picture has no words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from importlib.util import find_spec
from textwrap import wrap
from typing import Final

from wcwidth import wcswidth

from protocol.record import Record
from protocol.text import counted
from protocol.views import Curve as Progress
from protocol.views import SeatInfo

WIDTH: Final = 1200
HEIGHT: Final = 630
"""The size that programs which show previews ask for."""

AS_PNG: Final = find_spec("resvg_py") is not None

_FONTS: Final = "system-ui, DejaVu Sans, Noto Sans, Liberation Sans, sans-serif"
_COLOURS: Final = ("#7cc4ff", "#ffb45e", "#86e0a6", "#f2a3ea", "#7fdcec", "#ff9d9d", "#b9acff", "#d6d0c8")
_DASHES: Final = ("none", "14 8", "4 6", "20 6 4 6")
_ICON: Final = files("server.pages").joinpath("web", "icon.svg").read_text(encoding="utf-8")

_LEFT, _RIGHT, _TOP, _BOTTOM = 560, 1140, 270, 560
"""The corners of the curves."""


@dataclass(frozen=True, slots=True)
class Curve:
    """How one seat's cards came home. steps: times, each with how many were home then. place: 0 while the race is running."""

    place: int
    name: str
    home: int
    steps: tuple[tuple[int, int], ...]
    ended_at_ms: int


def curves_of(record: Record) -> tuple[Curve, ...]:
    """The curves in seat order."""
    # A deal may begin with cards home: as many as after the first move, or one less.
    steps: list[list[tuple[int, int]]] = [[] for _ in record.seats]
    for move in sorted(record.moves, key=lambda move: move.at_ms):
        made = steps[move.seat]
        if not made or move.home != made[-1][1]:
            made.append((move.at_ms if made else 0, move.home))
    return tuple(
        Curve(seat.place, seat.name, seat.home, tuple(made or [(0, seat.home)]), seat.ended_at_ms)
        for seat, made in zip(record.seats, steps, strict=True)
    )


def running_curves(seats: Sequence[SeatInfo], curves: Sequence[Progress], elapsed_ms: int) -> tuple[Curve, ...]:
    """The curves of a running race in seat order, as its spectators are shown them."""
    return tuple(
        Curve(0, seat.name or "", seat.home, tuple(zip(told.at_ms, told.home, strict=True)), elapsed_ms)
        for seat, told in zip(seats, curves, strict=False)
    )


def draw(title: str, sentence: str, curves: Sequence[Curve] = ()) -> str:
    """The picture as SVG. Any of the texts may contain names that players have chosen."""
    body = _curves(curves) if curves else [_lines(sentence), _icon(760, 215, 352)]
    return "".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" ',
            f'font-family="{_FONTS}" fill="#fffdf2"><rect width="{WIDTH}" height="{HEIGHT}" fill="#14532d"/>',
            _icon(48, 32, 77),
            _text(136, 84, 36, "Carpet Race", "#c9e4d3"),
            _text(60, 190, 68, title, widest=1080),
            *body,
            "</svg>",
        )
    )


def to_png(svg: str) -> bytes:
    """Call it in a worker, because it looks at all fonts of the system."""
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=svg, sans_serif_family="DejaVu Sans"))


def _text(x: float, y: float, size: float, text: str, fill: str = "", *, widest: float = 0, anchor: str = "start") -> str:
    """One line, made smaller until it is no wider than `widest`; if it is too long even at half the size, it is cut."""
    text = "".join(character for character in text if character.isprintable())
    if widest:
        # Most letters are half the size wide; 0.62 leaves room for broad ones.
        while len(text) > 1 and wcswidth(text) * size * 0.31 > widest:
            text = f"{text[:-2]}…"
        size = min(size, widest / (0.62 * max(wcswidth(text), 1)))
    colour = f' fill="{fill}"' if fill else ""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size:.1f}" text-anchor="{anchor}"{colour}>{escape(text)}</text>'


def _icon(x: int, y: int, size: int) -> str:
    return _ICON.replace("<svg ", f'<svg x="{x}" y="{y}" width="{size}" height="{size}" ', 1)


def _lines(sentence: str) -> str:
    return "".join(_text(60, 290 + 56 * number, 40, line, "#e3efe7") for number, line in enumerate(wrap(sentence, 32)[:5]))


def _curves(curves: Sequence[Curve]) -> list[str]:
    last = max(1000, *(curve.ended_at_ms for curve in curves))
    top = -(-(max(curve.home for curve in curves) + 1) // 13) * 13
    step = min(110, 330 / len(curves))
    ranked = sorted(enumerate(curves), key=lambda item: (item[1].place, -item[1].home))
    drawn = [
        part
        for home in range(0, top + 1, 13)
        for part in (
            f'<path d="M{_LEFT} {_y(home, top):.1f}H{_RIGHT}" stroke="#3f7d58" stroke-width="2"/>',
            _text(_LEFT - 14, _y(home, top) + 8, 24, str(home), "#c9e4d3", anchor="end"),
        )
    ]
    drawn.append(_text(_RIGHT, _BOTTOM + 36, 24, f"{last // 60_000}:{last // 1000 % 60:02}", "#c9e4d3", anchor="end"))
    for number, curve in ranked:
        colour = _COLOURS[number % len(_COLOURS)]
        path = "".join(f"H{_x(at_ms, last):.1f}V{_y(home, top):.1f}" for at_ms, home in curve.steps[1:])
        whole = f"M{_LEFT} {_y(curve.steps[0][1], top):.1f}{path}H{_x(curve.ended_at_ms, last):.1f}"
        dashes = _DASHES[number % len(_DASHES)]
        drawn.append(f'<path d="{whole}" fill="none" stroke="{colour}" stroke-width="6" stroke-dasharray="{dashes}"/>')
    for row, (number, curve) in enumerate(ranked):
        y, size = 300 + row * step, min(40.0, step * 0.55)
        place = f"{curve.place}. " if curve.place else ""
        drawn.append(_text(60, y, size, f"{place}{curve.name}", _COLOURS[number % len(_COLOURS)], widest=400))
        if step >= 70:
            drawn.append(_text(60, y + 32, 24, f"{counted(curve.home, 'card')} home", "#e3efe7"))
        else:
            drawn.append(_text(500, y, size * 0.8, str(curve.home), "#e3efe7", anchor="end"))
    return drawn


def _x(at_ms: int, last: int) -> float:
    return _LEFT + min(at_ms, last) / last * (_RIGHT - _LEFT)


def _y(home: int, top: int) -> float:
    return _BOTTOM - home / top * (_BOTTOM - _TOP)
