"""A player at a glance: what the server says and what is kept here, as sentences and tables."""

from __future__ import annotations

import random
from datetime import UTC

import pytest
from msgspec.structs import replace

from client.storage.bests import Best
from client.text.past_races import PastRace
from client.text.profile import SETTLES, Profile, Streak, best_lines, fact_lines, past_lines, profile
from client.text.width import text_width
from protocol.pages import PAGE_RACES, History, Ladder, LadderPlayer
from protocol.views import SeatRating
from tests.client.hostile import Server
from tests.client.text.test_past_races import seat
from tests.client.text.test_statistics import anna, bot, home, ran

STEPS = (
    LadderPlayer(place=1, player="id of Ben", name="Ben", rating=1400, races=3),
    LadderPlayer(place=2, player="id of Anna", name="Anna", rating=1180, races=30),
)


WON = ran(3, anna(1, home=50, rating=SeatRating(before=1100, after=1180)), seat("Ben", 2, home=44))
LOST = ran(2, anna(2, home=20, rating=SeatRating(before=1138, after=1100)), seat("Ben", 1, home=52))
FIRST = ran(1, home(1, 154_200), bot("greedy"))

RACES = (WON.race, LOST.race, FIRST.race)


def facts(known: Profile) -> str:
    return "\n".join(fact_lines(known, ascii_only=False))


def test_the_rating_is_told_with_its_place_its_races_and_its_curve() -> None:
    known = profile("Anna", "carpet.example", told=(WON, LOST), ladder=STEPS, bests={})
    assert facts(known).splitlines()[:3] == [
        "You are Anna at carpet.example.",
        "Rating 1180, place 2 on the ladder: 30 rated races.",
        "▁█ after each race, from 1100 to 1180, best 1180; all begin at 1000",
    ]


@pytest.mark.parametrize(("races", "settles"), [(1, True), (SETTLES - 1, True), (SETTLES, False)])
def test_a_rating_is_said_to_settle_only_while_it_has_not(races: int, settles: bool) -> None:
    said = facts(Profile(name="Anna", place="x", rating=1100, rated=races))
    assert ("; it settles after about 20." in said) is settles
    assert ("1 rated race;" in said) is (races == 1)


def test_whoever_is_not_among_the_best_has_the_rating_after_their_last_race() -> None:
    known = profile("Anna", "carpet.example", told=(WON, LOST), ladder=STEPS[:1], bests={})
    assert "Rating 1180: 2 rated races; it settles after about 20." in facts(known)
    assert "no rating yet" in facts(profile("Anna", "carpet.example", told=(FIRST,) * (PAGE_RACES - 1), bests={}))
    # Before so many that did not count, there may be some that did.
    full = profile("Anna", "carpet.example", told=(FIRST,) * PAGE_RACES, bests={})
    assert facts(full).splitlines()[1] == "No rated race among your last 100."


@pytest.mark.parametrize(
    ("streaks", "says"),
    [
        ((), "Deal of the day: run one a day to make a row of days."),
        ((Streak("carpet", 1, True),), "Deal of the day: carpet 1 day in a row."),
        (
            (Streak("carpet", 5, False), Streak("twenty", 2, True)),
            "Deal of the day: carpet 5 days so far, today still to run; twenty 2 days in a row.",
        ),
    ],
)
def test_days_in_a_row_are_told_with_whether_todays_is_still_to_run(streaks: tuple[Streak, ...], says: str) -> None:
    assert facts(profile("Anna", "x", bests={}, streaks=streaks)).splitlines()[-1] == says


def test_without_a_server_or_its_answer_it_is_said_what_the_page_shows_instead() -> None:
    assert "kept on this machine" in facts(profile("Anna", bests={}))
    assert facts(profile("Anna", "x", bests={}, lacks="Nothing answers\x1b[31m.")).splitlines()[1:] == [
        "Nothing answers. What follows is kept on this machine."
    ]


def test_races_kept_here_stand_among_those_of_the_server_and_each_once() -> None:
    kept = ran(2, anna(2, home=20), seat("Ben", 1, home=52))
    known = profile("Anna", "x", told=(WON, LOST), kept=(kept, FIRST), bests={})
    assert known.races == (WON, LOST, FIRST)


@pytest.mark.parametrize("seed", range(60))
def test_whatever_a_server_says_is_a_few_lines_of_text(seed: int) -> None:
    server = Server(random.Random(seed))
    told = tuple(PastRace(race, race.seat) for race in server.like(History(player="p1", name="Anna", races=RACES, next=None)).races)
    told = tuple(past for past in told if past.own is not None and past.own < len(past.race.seats))
    ladder = server.like(Ladder(players=(*STEPS, replace(STEPS[0], name="Anna")))).players
    known = profile("Anna", "x", told=told, ladder=ladder, bests={}, streaks=(Streak("carpet", 10**30, True),))
    lines = [*fact_lines(known, ascii_only=False), *past_lines(known.races, zone=UTC)]
    assert all(line.isprintable() for line in lines)
    assert max(map(text_width, fact_lines(known, ascii_only=False))) < 120


def test_a_race_is_a_line_with_the_result_the_opponent_and_what_it_did_to_the_rating() -> None:
    headings, *lines = past_lines((WON, LOST, FIRST, ran(0, anna(None), seat("Be\x07n", None), aborted="closed")), zone=UTC)
    assert headings.split() == ["date", "rules", "result", "home", "took", "rating", "against"]
    assert [line.split()[2:] for line in lines] == [
        ["won", "50", "3:41", "+80", "Ben", "(44)"],
        ["lost", "20", "3:41", "-38", "Ben", "(52)"],
        ["won", "52", "2:34", "greedy", "(31)"],
        ["aborted", "31", "-", "Ben", "(31)"],
    ]


def test_the_best_at_each_rule_set_are_those_tried_most_first() -> None:
    bests = {"twenty": Best(tries=1, most_home=100), "carpet": Best(tries=9, wins=2, best_ms=192_400, most_home=52)}
    _, *lines = best_lines(profile("Anna", bests=bests).bests)
    assert [line.split() for line in lines] == [["carpet", "3:12.4", "52", "9", "2"], ["twenty", "-", "100", "1", "0"]]
