"""One player at a glance: rating, place on the ladder, days in a row, best times, last races; as sentences and tables.

Pure. All text from a server is cleaned here, since it goes to a terminal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Final

from msgspec import Struct

from client.storage.bests import Best
from client.text.chart import strip
from client.text.formatting import clock_text, date_text
from client.text.past_races import PastRace, time_text
from client.text.statistics import MOST_CARDS, RATINGS, outcome, statistics, within
from client.text.tables import table_lines
from client.text.width import clip
from protocol.pages import LADDER_PLAYERS, PAGE_RACES, LadderPlayer
from protocol.text import clean_chat, clean_name, counted

SETTLES: Final = 20
"""Rated races after which one more moves a rating half as much as the first did, between equals."""
CURVE: Final = 40
"""Ratings in the curve, at most."""
MOST: Final = 99_999
"""Races or days that are told, at most: more are no player's."""
OUTCOMES: Final = {"won": "won", "drawn": "drew", "lost": "lost", "alone": "alone"}


class Streak(Struct, frozen=True):
    """How many days in a row a player has run the deal of the day of one rule set. with_today: today's too; else they may yet run it."""

    rules: str
    days: int
    with_today: bool


class Profile(Struct, frozen=True, kw_only=True):
    """What is known of a player. place: the server, as it is typed; empty for this machine alone.

    rating: None before the first race that counts. rated: how many it rests on. step: their place on the ladder, None if they are not
    among the best that it lists. ratings: after each of the last races that counted, oldest first. bests: by rule set, kept on this
    machine. races: newest first. more: the server knows older ones, perhaps, that it was not asked for. streaks: those that are not broken;
    None if they are not known. lacks: why the server did not say more; empty if it has.
    """

    name: str
    place: str = ""
    rating: int | None = None
    rated: int = 0
    step: int | None = None
    ratings: tuple[int, ...] = ()
    bests: tuple[tuple[str, Best], ...] = ()
    races: tuple[PastRace, ...] = ()
    more: bool = False
    streaks: tuple[Streak, ...] | None = None
    lacks: str = ""


def profile(
    name: str,
    place: str = "",
    *,
    told: Sequence[PastRace] = (),
    kept: Sequence[PastRace] = (),
    ladder: Sequence[LadderPlayer] = (),
    bests: Mapping[str, Best],
    streaks: Sequence[Streak] | None = None,
    lacks: str = "",
) -> Profile:
    """What these come to. told: the last races according to the server, one page at most, with what they did to the rating;
    kept: on this machine.
    """
    points = statistics(told).ratings
    on_ladder = next((each for each in ladder if each.name == name), None)
    known = {past.race.id for past in told}
    races = [*told, *(past for past in kept if past.race.id not in known)]
    return Profile(
        name=clean_name(name),
        place=place,
        rating=within(on_ladder.rating, *RATINGS) if on_ladder is not None else points[-1].value if points else None,
        rated=max(len(points), within(on_ladder.races, 0, MOST) if on_ladder is not None else 0),
        step=within(on_ladder.place, 1, LADDER_PLAYERS) if on_ladder is not None else None,
        ratings=tuple(point.value for point in points),
        bests=tuple(sorted(bests.items(), key=lambda item: (-item[1].tries, item[0]))),
        races=tuple(sorted(races, key=lambda past: past.race.finished_at_ms, reverse=True)),
        more=len(told) >= PAGE_RACES,
        streaks=None if streaks is None else tuple(streaks),
        lacks=clean_chat(lacks),
    )


def fact_lines(known: Profile, *, ascii_only: bool) -> list[str]:
    """Who they are, how they are rated and how many days in a row they have played: a sentence or two each."""
    lines = [f"You are {known.name}{f' at {clean_chat(known.place)}' if known.place else ''}."]
    if known.lacks:
        return [*lines, f"{known.lacks} What follows is kept on this machine."]
    if not known.place:
        return [f"{lines[0]} This is what is kept on this machine; ratings and days in a row are kept by servers."]
    days = [] if known.streaks is None else [_days_line(known.streaks)]
    return [*lines, *_rating_lines(known, ascii_only=ascii_only), *days]


def _rating_lines(known: Profile, *, ascii_only: bool) -> list[str]:
    if known.rating is None:
        if known.more:
            return [f"No rated race among your last {PAGE_RACES}."]
        return ["You have no rating yet: your first race against another person begins it."]
    ladder = f", place {known.step} on the ladder" if known.step is not None else ""
    settles = f"; it settles after about {SETTLES}" if known.rated < SETTLES else ""
    lines = [f"Rating {known.rating}{ladder}: {counted(known.rated, 'rated race')}{settles}."]
    drawn = known.ratings[-CURVE:]
    if len(drawn) > 1:
        curve = strip(drawn, min(drawn), max(drawn), ascii_only=ascii_only)
        lines.append(f"{curve} after each race, from {drawn[0]} to {drawn[-1]}, best {max(drawn)}; all begin at 1000")
    return lines


def _days_line(streaks: Sequence[Streak]) -> str:
    if not streaks:
        return "Deal of the day: run one a day to make a row of days."
    told = [f"{clean_name(each.rules)} {counted(within(each.days, 1, MOST), 'day')} {_row_word(each)}" for each in streaks]
    return f"Deal of the day: {'; '.join(told)}."


def _row_word(streak: Streak) -> str:
    return "in a row" if streak.with_today else "so far, today still to run"


def best_lines(bests: Sequence[tuple[str, Best]]) -> list[str]:
    """A table of the best at each rule set, headings first."""
    rows = [
        (clean_name(rules), "-" if row.best_ms is None else clock_text(row.best_ms), str(row.most_home), str(row.tries), str(row.wins))
        for rules, row in bests
    ]
    headings, *lines = table_lines(("rules", "best time", "most home", "tries", "all home"), rows, right=range(1, 5))
    return [f"{headings}  (named deals aside)", *lines]


def past_lines(races: Sequence[PastRace], *, zone: tzinfo | None = None) -> list[str]:
    """A table of races, headings first: how each ended, against whom, and what it did to the rating. zone: None for the machine's own."""
    headings = ("date", "rules", "result", "home", "took", "rating", "against")
    widths = {0: 10, 1: 15, 2: 7, 3: 4, 4: 5, 5: 6}
    return table_lines(headings, [_race(past, zone) for past in races], right={3, 4, 5}, widths=widths)


def _race(past: PastRace, zone: tzinfo | None) -> tuple[str, ...]:
    race = past.race
    own = race.seats[past.own] if past.own is not None else None
    others = [seat for number, seat in enumerate(race.seats) if number != past.own]
    ended = own is not None and race.aborted is None
    result = "aborted" if race.aborted is not None else "-" if own is None else OUTCOMES[outcome(own, others)]
    change = own.rating.after - own.rating.before if own is not None and own.rating is not None else None
    against = ", ".join(f"{clip(clean_name(seat.name), 24)} ({within(seat.home, 0, MOST_CARDS)})" for seat in others)
    return (
        date_text(race.finished_at_ms, zone),
        clean_name(race.rules),
        result,
        str(within(own.home, 0, MOST_CARDS)) if own is not None else "-",
        time_text(own.ended_at_ms if ended and own is not None else None),
        f"{within(change, -9999, 9999):+}" if change is not None else "",
        against,
    )
