"""How far everybody is: name, bar, cards home, foundations; three rows a seat, or two, or one, as there is room."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from client.text.formatting import foundation_counts, on_last_cards
from client.text.words import end_word, was_racing
from client.tui.picture import EMPTY, Bar, Line, Picture, Rect, clip, fit, line_width, spread, text_width
from client.tui.theme import Theme
from protocol.cards import DECK_SIZE, RANKS
from protocol.text import clean_name, counted
from protocol.views import GhostInfo, SeatInfo


class Stroke(NamedTuple):
    """What a seat just did. cards: so many went home. is_fresh: this moment. beats, is_loud: its heart, at the last cards."""

    cards: int
    is_fresh: bool
    beats: bool
    is_loud: bool

    def line(self, theme: Theme) -> Line:
        """As much of it as is to be told behind a name."""
        told: Line = [("pulse", f" +{self.cards}")] if self.cards else []
        return [*told, ("bad" if self.is_loud else "faint", f" {theme.glyphs.heart}")] if self.beats else told


LEAST_NAME = 4
"""Columns of a name that are left whatever is said behind it."""

GHOST = "faint"
"""The role of a ghost's name and bar: it is not there."""


def bar(value: int, total: int, width: int, theme: Theme, role: str) -> Line:
    """A bar of `width` columns, exact to the eighth of a column where the alphabet has eighths."""
    parts = theme.glyphs.bar
    steps = len(parts)
    filled = max(0, min(value, total)) * width * steps // max(total, 1)
    whole, part = divmod(filled, steps)
    text = parts[-1] * whole + (parts[part - 1] if part else "")
    return [(role, text), ("rest", theme.glyphs.bar_rest * (width - len(text)))]


def seat_name(info: SeatInfo) -> str:
    """Who sits there, cleaned again: a server is not to be trusted with a terminal."""
    if info.name is None:
        return "open seat"
    return clean_name(info.name) or "nameless"


def status_word(info: SeatInfo, away_ms: int | None, room: int) -> str:
    """What is to be known of a seat beside its cards, or nothing. away_ms: the time left to come back. room: columns to say it in."""
    word = end_word(info.state)
    if word or info.name is None or info.connected:
        return word
    # Without its last word the time would read as that for which they have been away.
    timed = "" if away_ms is None else f"away, {max(away_ms, 0) // 1000} s left"
    return timed if timed and len(timed) <= room else "away"


def is_known(info: SeatInfo) -> bool:
    """Whether anything was heard of how far a seat is: in a swap nothing is before its first move, since its shuffle is another one."""
    return bool(info.foundations or info.home or info.ply)


def seat_lines(
    info: SeatInfo,
    width: int,
    rows: int,
    theme: Theme,
    *,
    cards: int,
    own: bool,
    away_ms: int | None = None,
    beaten: bool = False,
    role: str | None = None,
    is_ghost: bool = False,
    tops: bool = True,
    stroke: Stroke | None = None,
) -> list[Line]:
    """One seat in `rows` rows (1 to 3) of `width` columns. role: the name's and the bar's, in place of one that tells whose it is.

    beaten: stopped by the win of another, so that its count tells enough. stroke: what it just did.
    is_ghost: of whom nothing is known but how far they were. tops: in one row, show what lies on the foundations.
    """
    role = role or ("own" if own else "other")
    name = seat_name(info)
    grows = "pulse" if stroke is not None and stroke.is_fresh else role
    if rows <= 1:
        # Of two decks the tops say little: which of a suit's two foundations?
        home = str(info.home) if is_ghost or is_known(info) else theme.glyphs.dash
        tail: Line = [
            ("strong", f" {home:>{len(str(cards))}} "),
            *(_tops(info, theme) if cards <= DECK_SIZE and tops and not is_ghost else []),
        ]
        room = max(width - line_width(tail) - 10, 1)
        word = "" if beaten else status_word(info, away_ms, room)
        middle: Line = [("good" if info.state == "won" else "bad", fit(word, room))] if word else bar(info.home, cards, room, theme, grows)
        return [[(role, fit(name, 9) + " "), *middle, *tail]]
    count_role = "good" if on_last_cards(info, cards) else "strong"
    home = str(info.home) if is_ghost or is_known(info) else theme.glyphs.dash
    count: Line = [(count_role, home), ("faint", f"/{cards}")]
    kind = " (you)" if own else " (ghost)" if is_ghost else " (bot)" if info.bot is not None else ""
    kept = max(len(kind), 6)
    word = "" if beaten else status_word(info, away_ms, width - line_width(count) - 2 - 1 - LEAST_NAME)
    if word:
        kept = len(kind)
        # One column nearer to the count where that keeps the name whole.
        gap = " " if text_width(name) + kept + 1 + len(word) + 1 + line_width(count) == width else "  "
        count = [("good" if info.state == "won" else "bad", f"{word}{gap}"), *count]
    did = stroke.line(theme) if stroke is not None else []
    who = f"{clip(name, width - line_width(count) - line_width(did) - kept - 1)}{kind}"
    lines = [spread([(role, who), *did], count, width, "felt"), bar(info.home, cards, width, theme, grows)]
    if rows == 2:
        return lines
    suits: Line = []
    # Those of the others are not told in a swap, nor a ghost's.
    for suit, number in foundation_counts(info.foundations) if info.foundations and not is_ghost else ():
        # Of two decks a suit has two foundations, which are added up.
        top = (_rank(number) if cards <= DECK_SIZE else str(number)).replace("T", "10")
        suits += [(f"suit {suit}", theme.glyphs.suits[suit]), ("faint", fit(top, 3))]
    lines.append(spread(suits, [("faint", counted(info.ply, "move"))], width, "felt"))
    return lines


def _tops(info: SeatInfo, theme: Theme) -> Line:
    """The top cards of the four foundations: as short as it gets."""
    line: Line = []
    for suit, number in foundation_counts(info.foundations) if info.foundations else ():
        line += [(f"suit {suit}", theme.glyphs.suits[suit]), ("faint", _rank(number))]
    return line


def _rank(number: int) -> str:
    """The top card of a foundation of so many cards, by its letter."""
    return RANKS[number - 1] if 0 < number <= len(RANKS) else str(number)


def all_bars(
    seats: tuple[SeatInfo, ...],
    own: int | None,
    width: int,
    height: int,
    theme: Theme,
    *,
    cards: int,
    away_ms: dict[int, int],
    ghosts: tuple[GhostInfo, ...] = (),
    strokes: Mapping[int, Stroke] = MappingProxyType({}),
) -> Picture:
    """Every seat, one's own first, and the ghosts behind them, as roomy as `height` allows; what does not fit even so is cut at the end."""
    ordered = sorted((info for info in seats if info.name is not None), key=lambda info: info.seat != own)
    if not ordered:
        return EMPTY
    shadows = [_shadow(ghost) for ghost in ghosts]
    count = len(ordered) + len(shadows)
    # Roomiest first: three rows and a free one between, three, two, one row a seat.
    rows, free = next(
        ((rows, free) for rows, free in ((3, 1), (3, 0), (2, 1), (2, 0), (1, 0)) if count * (rows + free) - free <= height), (1, 0)
    )
    lines: list[Line] = []
    drawn: list[Bar] = []
    for number, info in enumerate([*ordered, *shadows]):
        if number and free:
            lines.append([("felt", "")])
        if rows > 1 and len(lines) + 1 < height:
            role = GHOST if number >= len(ordered) else "own" if info.seat == own else "other"
            drawn.append(Bar(f"{number} {info.name}", Rect(0, len(lines) + 1, width, 1), info.home, cards, role))
        if number >= len(ordered):
            lines += seat_lines(info, width, rows, theme, cards=cards, own=False, role=GHOST, is_ghost=True)
            continue
        away = away_ms.get(info.seat)
        # Bars that stand below each other are of one length.
        lines += seat_lines(
            info,
            width,
            rows,
            theme,
            cards=cards,
            own=info.seat == own,
            away_ms=away,
            beaten=was_racing(info, ordered),
            tops=not shadows,
            stroke=strokes.get(info.seat),
        )
    return Picture(tuple(lines[:height]), bars=tuple(drawn))


def _shadow(ghost: GhostInfo) -> SeatInfo:
    """A ghost as if it sat there."""
    return SeatInfo(
        seat=0,
        name=ghost.name,
        bot=None,
        connected=True,
        ready=True,
        again=False,
        state=ghost.state,
        ply=ghost.ply,
        home=ghost.home,
        foundations={},
        elapsed_ms=ghost.elapsed_ms,
        round_trip_ms=None,
    )
