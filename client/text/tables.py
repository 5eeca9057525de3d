"""Tables and bars as lines of text, for output that is no screen. Pure; widths are cells of a terminal."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

BAR = 40
"""Cells of the longest bar."""


def cells(text: str) -> int:
    """How many cells of a terminal a text takes."""
    # Here: the first screen is drawn without it.
    from wcwidth import wcswidth

    return max(wcswidth(text), 0)


def fitted(text: str, width: int) -> str:
    """`text` in exactly `width` cells, cut or filled with spaces."""
    if cells(text) > width:
        while cells(text) > width - 1:
            text = text[:-1]
        text += "…"
    return text + " " * (width - cells(text))


def table_lines(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Container[int] = (),
    widths: Mapping[int, int] | None = None,
    gap: int = 2,
) -> list[str]:
    """A line for the headings and one for each row. right: the columns that end together, as numbers do. gap: cells between two columns.

    widths: of the columns in which a longer text is cut; others are as wide as what stands in them. What may be of any width, such as a
    name, has one of these, or is in the last column.
    """
    wide = [max(map(cells, column)) for column in zip(headings, *rows, strict=True)]
    for column, width in (widths or {}).items():
        wide[column] = width

    def cell(column: int, text: str) -> str:
        return fitted(" " * (wide[column] - cells(text)) + text if column in right else text, wide[column])

    return [(" " * gap).join(cell(column, text) for column, text in enumerate(row)).rstrip() for row in (headings, *rows)]


def bars(rows: Sequence[tuple[str, int]], *, ascii_only: bool) -> list[str]:
    """A bar for each count, the largest `BAR` cells long; what is more than nothing is to be seen."""
    most = max((count for _, count in rows), default=0) or 1
    sign = "#" if ascii_only else "█"
    widest = max((cells(label) for label, _ in rows), default=0)
    return [f"{label:>{widest}}  {sign * -(-count * BAR // most)} {count:,}" for label, count in rows]
