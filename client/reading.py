"""What the model means to a person: clocks, progress curves, what a click means and what to do next.

Pure functions of values; the rules of the games stay on the server: everything about moves is read off `View.moves`.
"""

from __future__ import annotations

from client.model import RoomModel
from protocol.record import Record
from protocol.views import RaceOptions, RulesInfo, SeatInfo, View

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


# ---- moves


def source(move: str) -> str:
    """Where a move takes its card: `b3` of `b3+`, `w` of `w:b3`."""
    return move.partition(":")[0].rstrip("+-")


def target(move: str) -> str:
    """Where a move with a target puts it, else empty."""
    return move.partition(":")[2]


def goes_home(move: str) -> bool:
    """The move brings a card to a foundation."""
    return ":" not in move and move not in ("s", "r")


def meant(view: View, place: str) -> tuple[str, ...]:
    """The legal moves that playing `place` (a slot, `w`, `s`, `r` or a reserve) may mean; more than one is for the player to choose from.

    A pending gap goes first: then waste and stock mean filling it. Else what goes home, else what moves on to somewhere, else what can
    be put here.
    """
    if view.pending is not None and place in ("w", "s"):
        return tuple(move for move in view.moves if move == f"{place}:{view.pending}")
    own = [move for move in view.moves if source(move) == place]
    plain = tuple(move for move in own if not target(move))
    return plain or tuple(own) or tuple(move for move in view.moves if target(move) == place)


def playable(view: View) -> frozenset[str]:
    """Every place that has a card which can be played or a gap which can be filled."""
    return frozenset(source(move) for move in view.moves) | frozenset(target(move) for move in view.moves if target(move))


def homeward(view: View) -> tuple[str, ...]:
    """The places whose card can go to a foundation now, in view order, the waste last."""
    able = {source(move) for move in view.moves if goes_home(move)}
    return (*(slot for slot in view.piles if slot in able), *(("w",) if "w" in able else ()))


def move_sentence(move: str, *, waste: str = "the waste's top") -> str:
    """A move in words, for choices: `waste to b3`."""
    words = {"w": waste, "s": "the next stock card"}
    taken, put = words.get(source(move), source(move)), target(move)
    if put:
        return f"{taken} to {'the waste' if put == 'w' else put}"
    match move:
        case "s":
            return "turn the stock"
        case "r":
            return "redeal the waste"
        case _:
            way = {"+": " (up from the Ace)", "-": " (down from the King)"}.get(move[-1], "")
            return f"{taken} to its foundation{way}"


def why_not(view: View, place: str, seat: SeatInfo | None) -> str:
    """Why `place` cannot be played now, in one sentence."""
    if seat is not None and seat.state not in ("racing", "waiting"):
        return "Your part of this race has ended."
    if view.pending is not None:
        return f"First fill the gap at {view.pending}: w or s."
    match place:
        case "w":
            return "The waste's top card cannot be played now." if view.waste else "The waste is empty."
        case "s":
            return "The stock cannot be turned while a card can be played." if view.stock else "The stock is empty."
        case "r":
            return "There is no redeal now."
        case _ if place not in view.piles:
            return f"There is no slot {place}."
        case _:
            return f"The card at {place} cannot be played now." if view.piles[place] else f"{place} is empty."


def hint(view: View, seat: SeatInfo, *, racing: bool = True) -> str:
    """One sentence: what the player can do now."""
    match seat.state:
        case "won":
            return "Every card is home!"
        case "stalled":
            return "No move is left. Your cards home are kept; the others may still be racing."
        case "stopped":
            return "You have stopped and keep your cards home; the others may still be racing."
        case "forfeited":
            return "You have given this race up."
        case "out-of-time":
            return "Time is up."
        case "waiting" | "racing":
            pass
    if not racing:
        return "Here is your carpet: look it over, the clock starts in a moment."
    if not view.moves:
        return "No move is left."
    if view.pending is not None:
        offers = (("w", "w with the waste's top card"), ("s", "s with the next stock card"))
        ways = [text for place, text in offers if f"{place}:{view.pending}" in view.moves]
        return f"Fill the gap at {view.pending}: {', '.join(ways)}."
    able = homeward(view)
    if able:
        names = ", ".join("waste (w)" if place == "w" else place for place in able[:6]) + (" and more" if len(able) > 6 else "")
        return f"{'One card' if len(able) == 1 else f'{len(able)} cards'} can go home: {names}."
    if any(target(move) for move in view.moves):
        return "Nothing goes home; a card can be moved or a gap filled (marked)."
    if "s" in view.moves:
        return "Nothing fits: turn the stock (s)."
    if "r" in view.moves:
        return "The stock is empty: redeal the waste (r)."
    return "No move is left."
