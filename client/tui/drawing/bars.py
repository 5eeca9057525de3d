"""The bars that show how far everybody is: name, bar, cards home, foundations; one to three rows a seat, depending on the room there is."""

from __future__ import annotations

from collections.abc import Collection

from client.text.formatting import foundation_counts, on_last_cards
from client.text.width import clip, fit, text_width
from client.tui.drawing.picture import EMPTY, Bar, Line, Picture, Rect, line_width, spread
from client.tui.drawing.theme import Theme
from protocol.cards import DECK_SIZE, RANKS
from protocol.seat_ends import end_word, was_racing
from protocol.text import clean_name, counted
from protocol.views import GhostInfo, SeatInfo

LEAST_NAME = 4
"""A name keeps at least this many columns, whatever follows it."""

GHOST = "faint"
"""The role of a ghost's name and bar: faint, because nobody sits there."""


def bar(value: int, total: int, width: int, theme: Theme, role: str) -> Line:
    """A bar of `width` columns, exact to an eighth of a column if the glyphs have eighths."""
    parts = theme.glyphs.bar
    steps = len(parts)
    filled = max(0, min(value, total)) * width * steps // max(total, 1)
    whole, part = divmod(filled, steps)
    text = parts[-1] * whole + (parts[part - 1] if part else "")
    return [(role, text), ("rest", theme.glyphs.bar_rest * (width - len(text)))]


def seat_name(info: SeatInfo) -> str:
    """The name on a seat, cleaned again: never trust a server with the terminal."""
    if info.name is None:
        return "open seat"
    return clean_name(info.name) or "nameless"


def _cut_name(name: str, width: int, theme: Theme) -> str:
    """The name in at most `width` columns, with a sign where it was cut."""
    sign = theme.glyphs.cut
    return name if text_width(name) <= width or width < LEAST_NAME else clip(name, width - len(sign)).rstrip() + sign


def status_word(info: SeatInfo, away_ms: int | None, room: int) -> str:
    """What there is to say about a seat besides its cards, if anything. away_ms: the time left to come back. room: columns to say it in."""
    word = end_word(info.state)
    if word or info.name is None or info.connected:
        return word
    # Without "left", it would read as the time they have been away.
    timed = "" if away_ms is None else f"away, {max(away_ms, 0) // 1000} s left"
    return timed if timed and len(timed) <= room else "away"


def is_known(info: SeatInfo) -> bool:
    """Whether we know how far a seat is. In a swap we know nothing before its first move, since it plays another shuffle."""
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
    has_grown: bool = False,
) -> list[Line]:
    """One seat in `rows` rows (1 to 3) of `width` columns. role: for name and bar, instead of the one that tells whose they are.

    beaten: stopped because another seat won, so its count says enough. has_grown: just now.
    is_ghost: we know only how far it was. tops: in one row, show the top cards of the foundations.
    """
    role = role or ("own" if own else "other")
    name = seat_name(info)
    grows = "pulse" if has_grown else role
    home = str(info.home) if is_ghost or is_known(info) else theme.glyphs.dash
    if rows <= 1:
        # With two decks a suit has two foundations, so a top card says little.
        tail: Line = [
            ("strong", f" {home:>{len(str(cards))}} "),
            *(_tops(info, theme) if cards <= DECK_SIZE and tops and not is_ghost else []),
        ]
        room = max(width - line_width(tail) - 10, 1)
        word = "" if beaten else status_word(info, away_ms, room)
        middle: Line = [("good" if info.state == "won" else "bad", fit(word, room))] if word else bar(info.home, cards, room, theme, grows)
        return [[(role, fit(_cut_name(name, 9, theme), 9) + " "), *middle, *tail]]
    count_role = "good" if on_last_cards(info, cards) else "strong"
    count: Line = [(count_role, home), ("faint", f"/{cards}")]
    kind = " (you)" if own else " (ghost)" if is_ghost else " (bot)" if info.bot is not None else ""
    kept = max(len(kind), 6)
    word = "" if beaten else status_word(info, away_ms, width - line_width(count) - 2 - 1 - LEAST_NAME)
    if word:
        kept = len(kind)
        # Give up one column of the gap if that keeps the name whole.
        gap = " " if text_width(name) + kept + 1 + len(word) + 1 + line_width(count) == width else "  "
        count = [("good" if info.state == "won" else "bad", f"{word}{gap}"), *count]
    who = f"{_cut_name(name, width - line_width(count) - kept - 1, theme)}{kind}"
    lines = [spread([(role, who)], count, width, "felt"), bar(info.home, cards, width, theme, grows)]
    if rows == 2:
        return lines
    suits: Line = []
    # In a swap the others' foundations are not known, and a ghost's never are.
    for suit, number in foundation_counts(info.foundations) if info.foundations and not is_ghost else ():
        sign = (f"suit {suit}", theme.glyphs.suits[suit])
        if cards <= DECK_SIZE:
            suits += [sign, ("faint", fit(_rank(number).replace("T", "10"), 3))]
        else:
            # With two decks a suit has two foundations: show their sum, before the sign, since a top card stands behind it.
            suits += [("faint", f"{number:>2}"), sign, ("felt", " ")]
    lines.append(spread(suits, [("faint", counted(info.ply, "move"))], width, "felt"))
    return lines


def _tops(info: SeatInfo, theme: Theme) -> Line:
    """The top cards of the four foundations, as short as possible."""
    line: Line = []
    for suit, number in foundation_counts(info.foundations) if info.foundations else ():
        line += [(f"suit {suit}", theme.glyphs.suits[suit]), ("faint", _rank(number))]
    return line


def _rank(number: int) -> str:
    """The letter of the top card on a foundation of this many cards."""
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
    ghosts: tuple[GhostInfo, ...],
    grown: Collection[int],
) -> Picture:
    """Every seat, the player's own first, then the ghosts, as roomy as `height` allows; what still does not fit is cut off at the end."""
    ordered = sorted((info for info in seats if info.name is not None), key=lambda info: info.seat != own)
    if not ordered:
        return EMPTY
    shadows = [_shadow(ghost) for ghost in ghosts]
    count = len(ordered) + len(shadows)
    # Roomiest first: three rows a seat with a free one between, then three, two, one.
    rows, free = next(
        ((rows, free) for rows, free in ((3, 1), (3, 0), (2, 1), (2, 0), (1, 0)) if count * (rows + free) - free <= height), (1, 0)
    )
    lines: list[Line] = []
    drawn: list[Bar] = []
    for number, info in enumerate([*ordered, *shadows]):
        if number and free:
            lines.append([("felt", "")])
        is_ghost, is_own = number >= len(ordered), info.seat == own
        role = GHOST if is_ghost else "own" if is_own else "other"
        if rows > 1 and len(lines) + 1 < height:
            drawn.append(Bar(f"{number} {info.name}", Rect(0, len(lines) + 1, width, 1), info.home, cards, role))
        # Bars below each other have the same length.
        lines += seat_lines(
            info,
            width,
            rows,
            theme,
            cards=cards,
            own=is_own,
            away_ms=away_ms.get(info.seat),
            beaten=not is_ghost and was_racing(info, ordered),
            role=role,
            is_ghost=is_ghost,
            tops=not shadows,
            has_grown=info.seat in grown,
        )
    return Picture(tuple(lines[:height]), bars=tuple(drawn))


def _shadow(ghost: GhostInfo) -> SeatInfo:
    """A ghost as if it had a seat, of a number that none has."""
    return SeatInfo(
        seat=-1,
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
