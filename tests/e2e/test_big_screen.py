"""The pages for projectors and streams in a real Chromium: how to join, the closest race, its winner, and what comes between rounds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from tests.e2e.browser import Browser, Page
from tests.e2e.commands import serving
from tests.e2e.peer import Entrant, sitting

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, str]]:
    with serving(rate=1000, burst=1000, bots_wait=False) as url:
        yield url, url.replace("ws://", "http://", 1)


def test_it_says_how_to_join_then_shows_the_race_and_who_won(browser: Browser, server: tuple[str, str]) -> None:
    url, root = server
    browser.look(width=1920, height=1080)
    browser.open(f"{root}/screen?at=https://carpet.example")
    browser.wait_for_text(".join-address", "https://carpet.example/play")
    browser.wait(lambda now: now.run("return document.querySelector('.qr').naturalWidth > 0"), "the QR code")
    with sitting(url, "Ada", countdown_s=1, delay_s=0, deal="143") as ada, sitting(url, "Zoë", code=ada.code) as zoe:
        for player in (ada, zoe):
            player.ready()
        for player in (ada, zoe):
            player.start()
        browser.wait(lambda now: len(now.all(".screen-boards .card:not(.gap)")) > 30, "both boards")
        height = "return document.querySelector('.screen .board').getBoundingClientRect().height"
        browser.wait(lambda now: now.run(height) >= 540, "a board of half the window's height at least")
        browser.expect(lambda now: now.run("return document.documentElement.scrollHeight"), 1080)
        ada.play(6)
        browser.wait_for_text(".screen-bars", f"{ada.home}/52")
        assert ada.home > zoe.home
        zoe.stop()
        ada.stop()
        browser.wait_for_text(".banner .winner", "Ada wins")
        browser.wait(lambda now: now.shown(".banner")[:1] == [True], ".banner")
    browser.wait(lambda now: now.all(".screen-join"), "the way to join, once the result was to be seen")
    browser.open(f"{root}/screen?overlay=1")
    browser.wait(lambda now: now.all(".screen-join"), "the overlay")
    backgrounds = "return [document.documentElement, document.body].map((each) => getComputedStyle(each).backgroundColor)"
    browser.expect(lambda now: now.run(backgrounds), ["rgba(0, 0, 0, 0)"] * 2)


COVERED = """
    const box = (node) => node.getBoundingClientRect();
    const controls = box(document.querySelector(".screen-controls"));
    const isCovered = ({ bottom, top, right }) => bottom > controls.top && top < controls.bottom && right > controls.left;
    const read = document.querySelectorAll(".screen-foot > :not(.screen-controls, [hidden])");
    return [...read].filter((each) => isCovered(box(each))).map((each) => each.textContent);
"""


def test_all_of_it_is_seen_at_once_however_many_other_races_there_are(browser: Browser, server: tuple[str, str]) -> None:
    url, root = server
    browser.look(width=1920, height=1080)
    browser.open(f"{root}/screen")
    height = "return document.querySelector('.screen .board').getBoundingClientRect().height"
    with contextlib.ExitStack() as stack:

        def race(one: str, other: str) -> None:
            first = stack.enter_context(sitting(url, one, countdown_s=1, delay_s=1))
            second = stack.enter_context(sitting(url, other, code=first.code))
            for player in (first, second):
                player.ready()
            for player in (first, second):
                player.start()

        race("Ada", "Zoë")
        browser.wait(lambda now: len(now.all(".screen-boards .card:not(.gap)")) > 30, "both boards")
        browser.wait_for_text(".screen-foot", "Boards are shown 1 second late.")
        for others, least in ((range(1), 540), (range(1, 6), 400)):
            for number in others:
                race(f"Maximiliane-Wilhelmin {number}", f"Karl-Friedrich-August {number}")
            browser.expect(lambda now: len(now.all(".others li")), others.stop)
            browser.settle()
            browser.expect(lambda now: now.run("return document.documentElement.scrollHeight"), 1080)
            # What is for whoever stands beside it covers nothing that is read there.
            browser.expect(lambda now: now.run(COVERED), [])
            browser.expect(lambda now: now.run(f"{height} >= {least}"), True)  # noqa: B023 -- read before it changes


def test_boards_of_two_packs_with_all_that_is_home_are_seen_at_once_on_a_small_screen(browser: Browser, server: tuple[str, str]) -> None:
    url, root = server
    browser.look(width=1024, height=768)
    with sitting(url, "Ada", countdown_s=1, delay_s=0, rules="crazy-quilt") as ada, sitting(url, "Zoë", code=ada.code) as zoe:
        for player in (ada, zoe):
            player.ready()
        for player in (ada, zoe):
            player.start()
        browser.open(f"{root}/screen")
        browser.wait(lambda now: len(now.all(".screen-boards .card:not(.gap)")) > 100, "both boards")
        browser.settle()
        browser.expect(lambda now: now.run("return document.documentElement.scrollHeight"), 768)
        # So it is with as many home as there may be, each count with two digits.
        browser.run("""
            const counts = document.querySelectorAll(".screen-bars .foundations [aria-hidden]");
            for (const each of counts) each.textContent = each.textContent.replace(/\\d+/, "13");
        """)
        browser.expect(lambda now: sum("13" in text for text in now.texts(".screen-bars .foundations [aria-hidden]")), 16)
        browser.expect(lambda now: now.run("return document.documentElement.scrollHeight"), 768)


def test_between_two_rounds_it_goes_on_by_a_key_to_the_bracket_and_the_closest_table(browser: Browser, server: tuple[str, str]) -> None:
    url, root = server
    with Entrant(url, "Edsger") as director:
        tournament = director.create("Open", format="elimination", fill=4, check_in_s=0, pause_s=None)
        director.decide("start-tournament", id=tournament)
        director.stands(tournament, lambda told: told["phase"] == "between")
        browser.open(f"{root}/tournament/{tournament}/screen")
        browser.wait(lambda now: len(now.all(".screen-standings tbody tr")) == 4, "the standings")
        browser.expect(lambda now: {name.endswith(" (bot)") for name in now.texts(".screen-standings tbody th")}, {True})
        browser.type("body", "n")
        browser.wait(lambda now: len(now.all(".screen-bracket .match")) == 3, "the bracket")
        browser.type("body", "s")
        browser.expect(lambda now: now.run("return document.querySelector('[aria-pressed]').ariaPressed"), "true")

        def goes_on(now: Page) -> bool:
            # Until the race's record is told of, standings and bracket are all there is to go on to.
            if any(now.shown(".screen-standings, .screen-bracket")):
                browser.type("body", "n")
            # How many cards are on them is the deal's affair: bots may be through with it before anybody looks.
            return len(now.all(".screen-boards .board")) == 2

        browser.wait(goes_on, "the boards of a table")
        browser.wait_for_text(".screen-foot", "The closest table of the last round")


def test_while_the_result_of_a_table_is_shown_it_is_not_among_the_other_races(browser: Browser, server: tuple[str, str]) -> None:
    url, root = server
    with Entrant(url, "Fay") as director, contextlib.ExitStack() as stack:
        tournament = director.create("Two tables", format="round-robin", check_in_s=0, pause_s=None, countdown_s=1)
        entrants = [stack.enter_context(Entrant(url, name)) for name in ("Ada", "Bob", "Cleo", "Dan")]
        for entrant in entrants:
            entrant.enter(tournament)
        director.decide("start-tournament", id=tournament)
        for entrant in entrants:
            entrant.go_to_table()
        for entrant in entrants:
            entrant.start()
        others = [entrant for entrant in entrants if entrant.code == entrants[0].code]
        closest = [entrant for entrant in entrants if entrant not in others]
        # By so much that a card of one of the closest changes nothing.
        while others[0].home < others[1].home + 2:
            others[0].play()
        browser.open(f"{root}/tournament/{tournament}/screen")
        browser.wait(lambda now: all(entrant.name in now.text(".screen-bars") for entrant in closest), "the closest race")
        browser.expect(lambda now: len(now.all(".others li")), 1)
        for entrant in closest:
            entrant.play()
            entrant.stop()
        browser.wait(lambda now: now.shown(".banner")[0], "the result")
        director.stands(tournament, lambda told: sum(table["result"] is not None for table in told["tables"]) == 1)
        others[0].play(6)
        # So the page has heard of the result, too.
        browser.wait(lambda now: f" {others[0].home} " in now.text(".others"), "the other race as it is now")
        browser.expect(lambda now: [entrant for entrant in entrants if entrant.name in now.text(".others")], others)
        browser.wait(lambda now: now.shown(".banner")[0], "the result")
