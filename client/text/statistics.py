"""Statistics of a player's races: counts, cards home, times and ratings; in all, by rule set and by opponent.

Pure. The races may come in any order. Aborted races do not count, nor do races in which the player's seat is not known. What a server says
is brought within bounds here, once: names are cleaned, and a number that no race could have is cut to what a table has room for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Final, Literal, TypeVar

from msgspec import Struct

from client.text.past_races import PastRace
from protocol.pages import HistorySeat
from protocol.text import clean_name
from protocol.views import MAX_SEATS

MOST_CARDS: Final = 999
LONGEST_MS: Final = 10 * 3600_000
"""Ten times the longest time limit."""
RATINGS: Final = (-9999, 99_999)

Outcome = Literal["won", "drawn", "lost", "alone"]
"""won: first, alone in that place. drawn: first, with others. alone: nobody else had a seat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The sum of some races: won + drawn + lost + alone = races.

    forfeited: those that the player gave up. all_home: those in which they brought every card home. cards_mean, cards_most: cards home;
    None if there is no race. fastest_ms, median_ms: from the start to the last card, over the races with all home; None if there are none.
    """

    races: int
    won: int
    drawn: int
    lost: int
    alone: int
    forfeited: int
    all_home: int
    cards_mean: float | None
    cards_most: int | None
    fastest_ms: int | None
    median_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Opponent:
    """Somebody the player has raced: won + drawn + lost = met, by places alone, whoever else was there. Where a house bot has
    several seats in a race, only the best placed counts.

    player: the public id; None for a house bot, or if no id is known. name: as of the last race.
    """

    player: str | None
    bot: str | None
    name: str
    met: int
    won: int
    drawn: int
    lost: int


class Point(Struct, frozen=True):
    """at_ms: Unix time of the end of the race. value: cards home, or the rating after the race."""

    at_ms: int
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """All the statistics. rules: by rule set, the most raced first. people: races with other people in them; bots: with house bots only;
    solo: alone.

    opponents: the most often met first. cards, ratings: a point per race, and a point per race that counts for ratings; oldest first.
    aborted, unknown: races not in `whole`: those that were aborted, and those in which the player's seat is not known.
    """

    whole: Tally
    rules: tuple[tuple[str, Tally], ...]
    people: Tally
    bots: Tally
    solo: Tally
    opponents: tuple[Opponent, ...]
    cards: tuple[Point, ...]
    ratings: tuple[Point, ...]
    aborted: int
    unknown: int

    @property
    def rating(self) -> int | None:
        """The rating after the last race that counts."""
        return self.ratings[-1].value if self.ratings else None


class _Raced(Struct, frozen=True):
    """A race that counts, with its numbers within bounds. duration_ms: None unless all cards came home."""

    at_ms: int
    rules: str
    own: HistorySeat
    others: tuple[HistorySeat, ...]
    outcome: Outcome
    cards: int
    duration_ms: int | None

    @property
    def is_with_people(self) -> bool:
        return any(seat.bot is None for seat in self.others)


def statistics(races: Iterable[PastRace]) -> Statistics:
    """The statistics of these races, which may come in any order."""
    # By time and id, as a server orders a history: so the last rating is the current one.
    ordered = sorted(races, key=lambda past: (past.race.finished_at_ms, past.race.id))
    ended = [past for past in ordered if past.race.aborted is None]
    raced = [_raced(past, past.own) for past in ended if past.own is not None]
    return Statistics(
        whole=_tally(raced),
        rules=tuple((rules, _tally(some)) for rules, some in _most_first(raced, lambda race: race.rules)),
        people=_tally([race for race in raced if race.is_with_people]),
        bots=_tally([race for race in raced if race.others and not race.is_with_people]),
        solo=_tally([race for race in raced if not race.others]),
        opponents=_opponents(raced),
        cards=tuple(Point(race.at_ms, race.cards) for race in raced),
        ratings=tuple(Point(race.at_ms, within(race.own.rating.after, *RATINGS)) for race in raced if race.own.rating is not None),
        aborted=len(ordered) - len(ended),
        unknown=len(ended) - len(raced),
    )


def _raced(past: PastRace, own_seat: int) -> _Raced:
    race = past.race
    own = race.seats[own_seat]
    others = tuple(seat for number, seat in enumerate(race.seats) if number != own_seat)
    ended_ms = own.ended_at_ms if own.state == "won" else None
    return _Raced(
        at_ms=race.finished_at_ms,
        rules=clean_name(race.rules) or "nameless",
        own=own,
        others=others,
        outcome=outcome(own, others),
        cards=within(own.home, 0, MOST_CARDS),
        duration_ms=within(ended_ms, 0, LONGEST_MS) if ended_ms is not None else None,
    )


def outcome(own: HistorySeat, others: Sequence[HistorySeat]) -> Outcome:
    """How a race ended for one of its seats, by places alone."""
    if not others:
        return "alone"
    if own.place != 1:
        return "lost"
    return "drawn" if any(seat.place == 1 for seat in others) else "won"


def _tally(raced: Sequence[_Raced]) -> Tally:
    outcomes = [race.outcome for race in raced]
    cards = [race.cards for race in raced]
    durations = [race.duration_ms for race in raced if race.duration_ms is not None]
    return Tally(
        races=len(raced),
        won=outcomes.count("won"),
        drawn=outcomes.count("drawn"),
        lost=outcomes.count("lost"),
        alone=outcomes.count("alone"),
        forfeited=sum(race.own.state == "forfeited" for race in raced),
        all_home=sum(race.own.state == "won" for race in raced),
        cards_mean=round(fmean(cards), 1) if cards else None,
        cards_most=max(cards, default=None),
        fastest_ms=min(durations, default=None),
        median_ms=round(median(durations)) if durations else None,
    )


def _opponents(raced: Sequence[_Raced]) -> tuple[Opponent, ...]:
    met = []
    for race in raced:
        best = {_key(seat): seat for seat in sorted(race.others, key=_place, reverse=True)}
        met += [(race.own, seat) for seat in best.values()]
    return tuple(_opponent(pairs) for _, pairs in _most_first(met, lambda pair: _key(pair[1])))


def _key(seat: HistorySeat) -> tuple[str, str]:
    """Identifies an opponent across seats: names change, and a house bot has no id."""
    if seat.bot is not None:
        return "bot", clean_name(seat.bot)
    return ("player", seat.player) if seat.player is not None else ("name", clean_name(seat.name))


def _opponent(pairs: Sequence[tuple[HistorySeat, HistorySeat]]) -> Opponent:
    last = pairs[-1][1]
    places = [(_place(own), _place(seat)) for own, seat in pairs]
    return Opponent(
        player=last.player if last.bot is None else None,
        bot=clean_name(last.bot) if last.bot is not None else None,
        name=clean_name(last.bot if last.bot is not None else last.name) or "nameless",
        met=len(pairs),
        won=sum(own < other for own, other in places),
        drawn=sum(own == other for own, other in places),
        lost=sum(own > other for own, other in places),
    )


def _place(seat: HistorySeat) -> int:
    # A seat without a place comes after all that have one.
    return seat.place if seat.place is not None else MAX_SEATS + 1


Item = TypeVar("Item")
Key = TypeVar("Key", str, tuple[str, str])


def _most_first(items: Iterable[Item], key: Callable[[Item], Key]) -> list[tuple[Key, list[Item]]]:
    """The items grouped by key, in their order; the key with the most items first, equal ones by key."""
    grouped: defaultdict[Key, list[Item]] = defaultdict(list)
    for item in items:
        grouped[key(item)].append(item)
    return sorted(grouped.items(), key=lambda pair: (-len(pair[1]), pair[0]))


def within(value: int, least: int, most: int) -> int:
    """The value, or the bound that it exceeds."""
    return min(max(value, least), most)
