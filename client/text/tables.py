"""Tables and bars as lines of text, for output that is not a screen. Pure; widths are in terminal cells."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from client.text.width import clip, fit, text_width

BAR = 40
"""Cells of the longest bar."""


def fitted(text: str, width: int) -> str:
    """`text` in exactly `width` cells: filled with spaces, or cut, which an ellipsis shows."""
    return fit(text if text_width(text) <= width else clip(text, width - 1) + "…", width)


def table_lines(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Container[int] = (),
    widths: Mapping[int, int] | None = None,
    gap: int = 2,
) -> list[str]:
    """A line for the headings and one for each row. right: the columns aligned to the right, as for numbers. gap: cells between columns.

    widths: of the columns that cut longer text; all others are as wide as their content. Give a width to text of any length, such as a
    name, or put it into the last column.
    """
    wide = [max(map(text_width, column)) for column in zip(headings, *rows, strict=True)]
    for column, width in (widths or {}).items():
        wide[column] = width

    def cell(column: int, text: str) -> str:
        return fitted(" " * (wide[column] - text_width(text)) + text if column in right else text, wide[column])

    return [(" " * gap).join(cell(column, text) for column, text in enumerate(row)).rstrip() for row in (headings, *rows)]


def bars(rows: Sequence[tuple[str, int]], *, ascii_only: bool) -> list[str]:
    """A bar for each count, the largest `BAR` cells long. Any count above zero shows."""
    most = max((count for _, count in rows), default=0) or 1
    sign = "#" if ascii_only else "█"
    widest = max((text_width(label) for label, _ in rows), default=0)
    return [f"{label:>{widest}}  {sign * -(-count * BAR // most)} {count:,}" for label, count in rows]
