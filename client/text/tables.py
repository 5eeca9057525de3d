"""Tables and bars as lines of text, for output that is no screen. Pure; widths are cells of a terminal."""

from __future__ import annotations

from collections.abc import Container, Sequence

from wcwidth import wcswidth

BAR = 40
"""Cells of the longest bar."""


def cells(text: str) -> int:
    """How many cells of a terminal a text takes."""
    return max(wcswidth(text), 0)


def fitted(text: str, width: int) -> str:
    """`text` in exactly `width` cells, cut or filled with spaces."""
    if cells(text) > width:
        while cells(text) > width - 1:
            text = text[:-1]
        text += "…"
    return text + " " * (width - cells(text))


def table_lines(headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: Container[int] = ()) -> list[str]:
    """A line for the headings and one for each row, columns two spaces apart. right: the columns that end together, as numbers do.

    What may be of any width, such as a name, belongs in the last column.
    """
    widths = [max(map(cells, column)) for column in zip(headings, *rows, strict=True)]

    def line(row: Sequence[str]) -> str:
        padded = [
            " " * (width - cells(text)) + text if column in right else text + " " * (width - cells(text))
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    return [line(headings), *map(line, rows)]


def bars(rows: Sequence[tuple[str, int]], *, ascii_only: bool) -> list[str]:
    """A bar for each count, the largest `BAR` cells long; what is more than nothing is to be seen."""
    most = max((count for _, count in rows), default=0) or 1
    sign = "#" if ascii_only else "█"
    widest = max((cells(label) for label, _ in rows), default=0)
    return [f"{label:>{widest}}  {sign * -(-count * BAR // most)} {count:,}" for label, count in rows]
