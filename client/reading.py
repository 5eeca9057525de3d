"""What the model means to a person: clocks, counts, when the bell is due, progress curves. Pure functions of values."""

from __future__ import annotations

from client.model import RoomModel
from client.moves import goes_home
from protocol.record import Record
from protocol.views import RaceOptions, RulesInfo, SeatInfo

LAST_CARDS = 10

SUIT_ORDER = "SHDC"


def clock_text(ms: int, *, tenths: bool = True) -> str:
    """Minutes and seconds, with hours when there are any: `0:07.3`, `12:40`, `1:02:03`. Below zero counts as zero."""
    ms = max(ms, 0)
    seconds, tenth = ms // 1000, ms % 1000 // 100
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
    return f"{text}.{tenth}" if tenths else text


def race_clock_ms(started_at_ms: int | None, now_ms: int) -> int:
    """Milliseconds on the race's clock: below zero before the start, 0 when no start is set."""
    return 0 if started_at_ms is None else now_ms - started_at_ms


def deck_size(rules: tuple[RulesInfo, ...], options: RaceOptions) -> int:
    """How many cards there are to bring home: 52 for each deck; 52 when the rule set is not known here."""
    return next((52 * info.decks for info in rules if info.id == options.rules), 52)


def on_last_cards(seat: SeatInfo, cards: int) -> bool:
    """At most ten cards are left to bring home."""
    return seat.home >= cards - LAST_CARDS


def bell_due(before: RoomModel | None, after: RoomModel | None, rules: tuple[RulesInfo, ...]) -> bool:
    """The bell rings when a race starts and when an opponent reaches his last ten cards."""
    if before is None or after is None or (before.code, before.race) != (after.code, after.race):
        return False
    if before.phase in ("waiting", "countdown") and after.phase == "racing":
        return True
    cards = deck_size(rules, after.options)
    far = {info.seat for info in before.opponents if on_last_cards(info, cards)}
    return after.phase == "racing" and any(on_last_cards(info, cards) and info.seat not in far for info in after.opponents)


def foundation_counts(foundations: dict[str, int]) -> tuple[tuple[str, int], ...]:
    """(suit letter, cards) in the order S H D C; the two foundations of a suit, where there are two, are added up."""
    return tuple((suit, sum(count for name, count in foundations.items() if name[:1] == suit)) for suit in SUIT_ORDER)


# ---- progress


def curves(record: Record) -> tuple[tuple[tuple[int, int], ...], ...]:
    """For each seat, (ms from the start, cards home) from the start to its end, a point for each change."""
    starts: list[int | None] = [None] * len(record.seats)
    points: list[list[tuple[int, int]]] = [[] for _ in record.seats]
    for move in record.moves:
        if not 0 <= move.seat < len(points):
            continue
        line = points[move.seat]
        if not line:
            # Before its first move a seat had one card less home if that move brought one home.
            starts[move.seat] = move.home - (1 if goes_home(move.move) else 0)
            line.append((0, starts[move.seat] or 0))
        if move.home != line[-1][1]:
            line.append((move.at_ms, move.home))
    known = [home for home in starts if home is not None]
    for line, seat in zip(points, record.seats, strict=True):
        if not line:
            line.append((0, min([*known, seat.home])))
        line.append((max(seat.ended_at_ms, line[-1][0]), seat.home))
    return tuple(tuple(line) for line in points)
