"""How the model is put for a person: clocks, counts, when the bell is due, progress curves. Pure functions of values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Final

from client.state.room import RoomModel
from client.state.store import Search
from protocol.cards import DECK_SIZE
from protocol.seat_ends import end_word
from protocol.text import clean_name, counted, listed
from protocol.views import RATED_DELAY_S, RaceOptions, RulesInfo, RunningRaceInfo, SeatInfo, SeatState, SeriesFormat, SeriesInfo, Unrated

LAST_CARDS = 10

UNRATED: Final[dict[Unrated, str]] = {
    "by-choice": "by the host's choice",
    "one-seat": "only one seat",
    "house-bot": "a house bot takes part",
    "named-deal": "named deal",
    "two-shuffles": "two different shuffles",
    "early-boards": f"boards shown within {RATED_DELAY_S} s",
}

SUIT_ORDER = "SHDC"
SUIT_WORDS: Final = {"S": "spades", "H": "hearts", "D": "diamonds", "C": "clubs"}
RANK_WORDS: Final = {"A": "ace", "T": "10", "J": "jack", "Q": "queen", "K": "king"}


def clock_text(ms: int, *, tenths: bool = True) -> str:
    """Minutes and seconds, with hours if there are any: `0:07.3`, `12:40`, `1:02:03`. Negative times count as zero."""
    ms = max(ms, 0)
    seconds, tenth = ms // 1000, ms % 1000 // 100
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
    return f"{text}.{tenth}" if tenths else text


def card_words(card: str) -> str:
    """A card as it is spoken: `9 of hearts`, `queen of spades`."""
    if card[1:] not in SUIT_WORDS:
        return "face down"
    return f"{RANK_WORDS.get(card[:1], card[:1])} of {SUIT_WORDS[card[1:]]}"


def limit_text(seconds: int) -> str:
    """A length of time that is a setting: `10 min`, `45 s`, `1 min 30 s`."""
    minutes, rest = divmod(seconds, 60)
    return " ".join(f"{count} {unit}" for count, unit in ((minutes, "min"), (rest, "s")) if count) or "0 s"


def date_text(at_ms: int, zone: tzinfo | None, pattern: str = "%Y-%m-%d") -> str:
    """The day of a moment in Unix time; `-` if no calendar has it. zone: None for the machine's own."""
    try:
        return datetime.fromtimestamp(at_ms / 1000, zone).strftime(pattern)
    except (OverflowError, OSError, ValueError):
        return "-"


def deck_size(rules: tuple[RulesInfo, ...], rules_id: str) -> int:
    """How many cards there are to bring home; those of one deck if the rule set is not known."""
    return next((DECK_SIZE * info.decks for info in rules if info.id == rules_id), DECK_SIZE)


def rated_sentence(options: RaceOptions) -> str:
    """Whether a race with these options counts for ratings, and if not, why. One line without a full stop."""
    because = options.unrated_because
    return "Rated" if because is None else f"Not rated: {UNRATED[because]}"


def on_last_cards(seat: SeatInfo, cards: int) -> bool:
    """Whether at most ten cards are left to bring home."""
    return seat.home >= cards - LAST_CARDS


def with_ratings(names: Sequence[str], ratings: Sequence[int | None]) -> str:
    """Names in a row, each followed by their rating if they have one: `Anna (1180), Benedikt`. Names may end in a number."""
    pairs = zip(names, ratings, strict=False)
    return ", ".join(clean_name(name) if rating is None else f"{clean_name(name)} ({rating})" for name, rating in pairs)


def home_counts(race: RunningRaceInfo) -> str:
    """How far each player is in a race of the lobby: `9 Anna, 8 Benedikt`."""
    return ", ".join(f"{seat.home} {clean_name(seat.name)}" for seat in race.seats)


def search_sentence(search: Search, rules: str, now_ms: int) -> str:
    """How the search for an opponent stands, in under eighty columns unless something special is wanted. rules: their name, or empty."""
    rating = "with any rating" if search.window is None else f"within {search.window} points"
    at = f" at {rules}" if rules else ""
    waited = clock_text(now_ms - search.since_ms, tenths=False)
    return f"Looking for an opponent {rating}{at} ({search.waiting} waiting, {waited}); esc stops."


def foundation_counts(foundations: dict[str, int]) -> tuple[tuple[str, int], ...]:
    """(suit letter, cards) in the order S H D C. If a suit has two foundations, they are added up."""
    return tuple((suit, sum(count for name, count in foundations.items() if name[:1] == suit)) for suit in SUIT_ORDER)


# ---- series


def series_name(format_: SeriesFormat, races: int) -> str:
    """`best of 5`, `session of 3`, `swap`, `single race`."""
    return {"single": "single race", "best-of": f"best of {races}", "session": f"session of {races}", "swap": "swap"}[format_]


def score_text(series: SeriesInfo, own: int | None = None) -> str:
    """The points: `Anna 2 : 1 Benedikt`, or unless there are two seats, `Anna 2, Benedikt 1, Clara 0`. own: the reader's seat, told first.

    With nobody ahead on points, also what decides then: the cards, and before them the races forfeited, if there are any.
    """
    seats = sorted(enumerate(series.seats), key=lambda pair: pair[0] != own)
    names = [clean_name(seat.name) or f"seat {number + 1}" for number, seat in seats]
    points = [seat.points for _, seat in seats]
    cards = [seat.home for _, seat in seats]
    forfeits = [seat.forfeits for _, seat in seats]
    # With nobody ahead on points, or before the end of a swap, the points say nothing.
    tied = points.count(max(points, default=0)) > 1
    if len(names) == 2:
        said = f"{names[0]} {points[0]} : {points[1]} {names[1]}"
        if tied and forfeits[0] != forfeits[1]:
            return f"{said} ({forfeits[0]} : {forfeits[1]} forfeits)"
        return f"{said} ({cards[0]} : {cards[1]} cards)" if tied else said
    decide = [
        f" ({counted(lost, 'forfeit')}, {home} cards)" if lost else f" ({home} cards)" for lost, home in zip(forfeits, cards, strict=True)
    ]
    return ", ".join(f"{name} {point}{more if tied else ''}" for name, point, more in zip(names, points, decide, strict=True))


def series_sentence(series: SeriesInfo, half: Sequence[SeatState] = (), *, own: int | None = None) -> str:
    """How the series stands or has ended, for the screens: `Anna 2 : 1 Benedikt, best of 5, race 4 next`. half: see `RoomModel`. own: the
    reader's seat."""
    name = series_name(series.format, series.races)
    if not series.raced and not series.over:
        return f"{name[0].upper()}{name[1:]}, race 1 next"
    if not series.over and series.format == "swap":
        # Nothing else says how the first race ended: its result is told with that of the second.
        return f"Race 1 of the swap is over{_half_ended(series, half)}."
    if not series.over:
        return f"{score_text(series, own)}, {name}, race {series.raced + 1} next"
    gone = [clean_name(seat.name) for seat in series.seats if seat.gone]
    first = [number for number, seat in enumerate(series.seats) if seat.place == 1 and not seat.gone]
    left = f"{listed(gone)} gave up the series. " if gone else ""
    if len(series.seats) == 1:
        return f"{left}The {name} is over: {score_text(series)}."
    if len(gone) == len(series.seats):
        return f"{left}The score was {score_text(series, own)}."
    winner = "" if len(first) != 1 else "You have" if first[0] == own else f"{clean_name(series.seats[first[0]].name)} has"
    won = f"{winner} won the {name}" if winner else f"The {name} is a draw"
    return f"{left}{won}: {score_text(series, own)}."


def _half_ended(series: SeriesInfo, half: Sequence[SeatState]) -> str:
    """`, time is up. Cards home: Anna 48, Benedikt 33`, `: Anna 48 cards (time up), Benedikt 33 (stopped)`."""
    counts = [f"{clean_name(seat.name)} {seat.home}" for seat in series.seats]
    if counts and half and set(half) != {"out-of-time"}:
        counts[0] += " cards"
        return ": " + ", ".join(f"{count} ({end_word(state)})" for count, state in zip(counts, half, strict=False))
    return f"{', time is up' if half else ''}. Cards home: {', '.join(counts)}"


def won_sentence(room: RoomModel) -> str:
    """`Races won here: 2 by Anna, 1 by Benedikt.`, the one that is over included; empty while none of these players has won any."""
    names = [clean_name(info.name or "") for info in room.seats]
    counts = [f"{count} by {name}" for name, count in zip(names, room.won_by_now, strict=False)]
    return f"{'Races' if room.series is None else 'Series'} won here: {', '.join(counts)}." if any(room.won_by_now) else ""


def series_meanwhile(series: SeriesInfo) -> str:
    """How the series stands while one of its races runs or is about to: `Anna 1 : 0 Benedikt, best of 3, race 2`."""
    name = series_name(series.format, series.races)
    if not series.raced:
        return f"{name[0].upper()}{name[1:]}, race 1"
    return f"{score_text(series)}, {name}, race {series.raced + 1}"
