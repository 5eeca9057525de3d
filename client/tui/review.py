"""The review of one's own game on the result screen: the sentences, or that they are being thought of."""

from __future__ import annotations

from client.tui.frame import Line, wrap_text
from client.tui.scene import clean_long

THINKING = "Thinking about your game: every card is known now ..."


def review_lines(sentences: tuple[str, ...], width: int, rows: int) -> list[Line]:
    """The panel, at most `rows` high. No sentences: they are not there yet."""
    lines: list[Line] = [[("panel strong", " Your game, with every card known")], [("panel", "")]]
    for number, sentence in enumerate(sentences or (THINKING,)):
        lines += [[("panel" if number else "panel strong", f" {text}")] for text in wrap_text(clean_long(sentence), width - 2)]
    if len(lines) > rows:
        # A low terminal with many seats: carpet review tells all of it.
        lines = [*lines[: max(rows - 1, 1)], [("panel faint", " ... the rest: carpet review")]]
    return lines
