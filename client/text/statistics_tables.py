"""A player's statistics as words, tables and charts for a terminal.

Pure. All text from a server is cleaned, and no number is wider than its column.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import Final

from client.text.chart import chart, shown
from client.text.formatting import date_text
from client.text.past_races import NARROWEST, time_text
from client.text.statistics import Opponent, Point, Statistics, Tally
from client.text.tables import table_lines
from client.text.width import text_width
from protocol.cards import RANKS
from protocol.text import counted

OPPONENTS: Final = 8
"""Opponents in the table, at most; `--json` has them all."""

ROWS: Final = 6
"""Rows of a chart, without its axis."""

ROUND: Final = 100
"""Rating points: the ends of the scale are multiples of this."""

_LABEL: Final = 24
"""Cells of the first column, at most."""

_FIGURES: Final = (
    ("races", 5),
    ("won", 4),
    ("drawn", 5),
    ("lost", 4),
    ("forfeit", 7),
    ("all home", 8),
    ("cards", 5),
    ("most", 4),
    ("fastest", 7),
    ("median", 6),
)
_MET: Final = (("met", 5), ("won", 4), ("drawn", 5), ("lost", 4))


def statistics_lines(statistics: Statistics, *, who: str, width: int, ascii_only: bool, zone: tzinfo | None = None) -> list[str]:
    """The whole page. who: whose races they are. width: taken as at least 80 cells. zone: None for the machine's own."""
    width = max(width, NARROWEST)
    lines = _heading(statistics, who)
    if not statistics.whole.races:
        return lines
    lines += ["", *_tallies(statistics, width)]
    if statistics.opponents:
        lines += ["", *_met(statistics.opponents, width)]
    if statistics.ratings:
        lines += ["", *_ratings(statistics.ratings, width, ascii_only, zone)]
    return [*lines, "", *_cards(statistics.cards, width, ascii_only, zone)]


def _heading(statistics: Statistics, who: str) -> list[str]:
    races = statistics.whole.races
    lines = [f"{who}: {counted(races, 'race')}." if races else f"{who}: no races yet."]
    if statistics.aborted:
        lines.append(f"Not counted: {statistics.aborted} that {'was' if statistics.aborted == 1 else 'were'} aborted.")
    if statistics.unknown:
        lines.append(f"Not counted: {statistics.unknown} in which it is not known whose seat is whose.")
    return lines


def _tallies(statistics: Statistics, width: int) -> list[str]:
    rows = [("all", statistics.whole), *statistics.rules]
    against = [("against people", statistics.people), ("against bots", statistics.bots), ("alone", statistics.solo)]
    rows += [(label, tally) for label, tally in against if tally.races]
    return _table("", _FIGURES, [(label, _figures(tally)) for label, tally in rows], width)


def _figures(tally: Tally) -> tuple[str, ...]:
    counts = (tally.races, tally.won, tally.drawn, tally.lost, tally.forfeited, tally.all_home)
    return (
        *map(str, counts),
        f"{tally.cards_mean:.1f}" if tally.cards_mean is not None else "-",
        str(tally.cards_most) if tally.cards_most is not None else "-",
        time_text(tally.fastest_ms),
        time_text(tally.median_ms),
    )


def _met(opponents: Sequence[Opponent], width: int) -> list[str]:
    rows = [
        (f"{each.name} (bot)" if each.bot is not None else each.name, tuple(map(str, (each.met, each.won, each.drawn, each.lost))))
        for each in opponents[:OPPONENTS]
    ]
    return _table("against", _MET, rows, width)


def _table(title: str, columns: Sequence[tuple[str, int]], rows: Sequence[tuple[str, Sequence[str]]], width: int) -> list[str]:
    """Lines with a label on the left and numbers on the right; a label is cut to the space that they leave."""
    taken = sum(wide + 1 for _, wide in columns)
    label_width = max(min(max(text_width(label) for label, _ in rows), _LABEL, width - taken), len(title))
    widths = {0: label_width} | {at: wide for at, (_, wide) in enumerate(columns, 1)}
    headings = (title, *(heading for heading, _ in columns))
    return table_lines(headings, [(label, *texts) for label, texts in rows], right=range(1, len(headings)), widths=widths, gap=1)


def _ratings(points: Sequence[Point], width: int, ascii_only: bool, zone: tzinfo | None) -> list[str]:
    values = [point.value for point in points]
    drawn = values[-shown(len(values), width) :]
    low = (min(drawn) - 1) // ROUND * ROUND
    high = -(-max(drawn) // ROUND) * ROUND
    title = f"Rating {values[-1]} after {_last(points, width, 'that counts', 'that count', zone)}"
    return [title, *chart(values, low=low, high=high, width=width, height=ROWS, ascii_only=ascii_only)]


def _cards(points: Sequence[Point], width: int, ascii_only: bool, zone: tzinfo | None) -> list[str]:
    values = [point.value for point in points]
    # The scale ends at most one suit above the best, so that a good race looks like one.
    high = max(-(-max(values[-shown(len(values), width) :]) // len(RANKS)), 1) * len(RANKS)
    title = f"Cards home in {_last(points, width, '', '', zone)}"
    return [title, *chart(values, low=0, high=high, width=width, height=ROWS, ascii_only=ascii_only)]


def _last(points: Sequence[Point], width: int, one: str, many: str, zone: tzinfo | None) -> str:
    """Which races a chart of these points shows, and from when to when. one, many: what to add after one race, or several."""
    drawn = points[-shown(len(points), width) :]
    if len(drawn) < len(points):
        races = f"{len(points)} races {many}".rstrip() + f", the last {len(drawn)}"
    else:
        races = f"{counted(len(points), 'race')} {one if len(points) == 1 else many}".rstrip()
    first, last = (date_text(point.at_ms, zone) for point in (drawn[0], drawn[-1]))
    return f"{races}: {first}" + (f" to {last}" if first != last else "")
