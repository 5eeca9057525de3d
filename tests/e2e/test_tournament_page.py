"""A tournament's page in a real Chromium: live tables and standings for everybody, and no name can harm the page."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from tests.e2e.browser import Browser, page
from tests.e2e.commands import running_server
from tests.e2e.page_checks import CONTRAST, OVERFLOW, UNNAMED
from tests.e2e.peer import Entrant

pytestmark = pytest.mark.slow

HOSTILE = "<img src=x onerror=alert(1)>"
LONG = "W" * 24


def meters(browser: Browser) -> dict[str, str]:
    """What is said of each bar, by its label."""
    script = "return [...document.querySelectorAll('main .meter')].map((bar) => [bar.ariaLabel, bar.ariaValueText])"
    return dict(browser.run(script))


def rows(browser: Browser) -> list[list[str]]:
    return browser.run(  # type: ignore[no-any-return]
        "return [...document.querySelectorAll('.columns .standings tbody tr')]"
        ".map((row) => [...row.children].map((cell) => cell.textContent))"
    )


def test_a_tournament_is_followed_from_registration_to_its_end(browser: Browser, fast_server: str) -> None:
    with Entrant(fast_server, "Grace") as grace, Entrant(fast_server, "Ada") as ada, Entrant(fast_server, "Zoë") as zoe:
        tournament = grace.create("Carpet Open", format="round-robin", check_in_s=60, pause_s=None, no_show_s=600)
        browser.open(page(fast_server, "/"))
        # Those of other tests are listed beside it.
        listed = f"#tournaments + .races li:has([href='/tournament/{tournament}'])"
        browser.wait_for_text(listed, "Carpet Open")
        assert browser.text(f"{listed} .facts") == "Round robin · Carpet · director Grace"
        browser.press("Carpet Open")
        browser.wait_for_text(".summary", "Open to enter: 0 entered.")
        assert browser.driver.current_url == page(fast_server, f"/tournament/{tournament}")
        assert browser.text(".command code") == f"carpet tournament join {fast_server} {tournament}"
        for player in (ada, zoe):
            player.enter(tournament)
        browser.wait_for_text(".summary", "2 entered")
        assert rows(browser) == [["Ada"], ["Zoë"]], "nobody has a place or points before the first round"
        grace.decide("start-tournament", id=tournament)
        browser.wait_for_text(".summary", "Check-in: 0 of 2 checked in.")
        for player in (ada, zoe):
            player.check_in(tournament)
        browser.wait_for_text(".summary", "Round 1 is being raced: 0 of 1 table is done.")
        assert not browser.all(".command")[0].shown
        codes = {player.go_to_table()["code"] for player in (ada, zoe)}
        for player in (ada, zoe):
            player.start()
        browser.wait(lambda: browser.all(".tables .watch a"), "the way to the table")
        links = [each.href for each in browser.all(".tables .watch a")]
        assert {"Watch this table: 1, Ada against Zoë", "Watch this table: 1, Zoë against Ada"} & {node["name"] for node in browser.nodes()}
        assert links == [page(fast_server, f"/watch/{code}") for code in codes]
        # Zoë makes one move: by then Ada is ahead, whatever was dealt.
        while ada.home < zoe.home + 2:
            ada.play()
        browser.wait(lambda: meters(browser).get("Ada") == f"{ada.home} of 52 cards home", "Ada's cards")
        zoe.play(1)
        zoe.stop()
        ada.stop_and_leave()
        browser.wait_for_text(".summary", "It is over: ")
        browser.wait(lambda: rows(browser)[0][:3] == ["1", "Ada", "1"], "the standings")
        assert [row[0] for row in rows(browser)] == ["1", "2"]
        homes = f"({ada.home} : {zoe.home} cards)", f"({zoe.home} : {ada.home} cards)"
        assert any(browser.text(".tables .score").endswith(each) for each in homes)
        browser.click("details:has(.log) summary")
        assert re.search(r"\d:\d\d.* Ada enters\. \(Ada\)$", browser.text(".log li:last-child"))
        assert browser.all(".log li")[0].shown
        browser.wait_for_text(".tables .watch a", "Replay this table")
        assert not [node["name"] for node in browser.nodes() if "[object" in node["name"]]
        browser.click(".tables .watch a")
        browser.wait_for_text(".said-move", "Move ")
        assert "/race/" in browser.driver.current_url


@pytest.fixture(scope="module")
def running(fast_server: str) -> Iterator[str]:
    """The path of a tournament of the longest and worst names, in its second round."""
    with Entrant(fast_server, LONG) as director, Entrant(fast_server, HOSTILE[:24]) as hostile:
        tournament = director.create(f"{HOSTILE} {'W' * 30}", rounds=2, fill=9, check_in_s=0, pause_s=0, no_show_s=600)
        for player in (director, hostile):
            player.enter(tournament)
            player.check_in(tournament)
        director.decide("start-tournament", id=tournament)
        both = director, hostile
        for player in both:
            player.go_to_table()
        for player in both:
            player.start()
        for player in both:
            player.stop_and_leave()
        for player in both:
            player.go_to_table()
        for player in both:
            player.start()
        director.stands(tournament, lambda told: told["round"] == 2 and told["rounds"][1]["open"] <= 2)
        yield f"/tournament/{tournament}"


def wait_for_it(browser: Browser) -> None:
    browser.wait(lambda: len(rows(browser)) == 9 and len(browser.all(".tables li")) == 5, f"it, not {browser.text('main')}")


def test_it_fits_every_width_and_is_readable_in_light_and_dark(browser: Browser, fast_server: str, running: str) -> None:
    browser.open(page(fast_server, running))
    wait_for_it(browser)
    browser.run("document.querySelectorAll('details summary').forEach((each) => each.click())")
    browser.wait(lambda: browser.all(".crosstable tbody td"), "the crosstable")
    for width in (320, 390, 768, 1024, 1280, 1600):
        browser.look(width=width)
        assert browser.run(OVERFLOW) == [0, []], width
    for scheme in ("light", "dark"):
        browser.look(scheme=scheme)
        seen, poor = browser.run(CONTRAST)
        assert seen >= 60
        assert poor == [], scheme


def test_whoever_listens_is_told_all_of_it_and_markup_is_text(browser: Browser, fast_server: str, running: str) -> None:
    browser.open(page(fast_server, running))
    wait_for_it(browser)
    nodes = browser.nodes()
    roles = [node["role"] for node in nodes]
    assert [roles.count(role) for role in ("banner", "main", "contentinfo", "navigation", "table")] == [1, 1, 1, 1, 1]
    assert [node for node in nodes if node["role"] in (*UNNAMED, "region", "combobox") and not node["name"].strip()] == []
    assert roles.count("columnheader") == 8
    levels = [node["level"] for node in nodes if node["role"] == "heading"]
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    identities = browser.run("return [...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(identities) == len(set(identities))
    assert browser.all("main img, main b, main script") == []
    assert browser.text("h1").startswith(HOSTILE)


def test_a_round_before_can_be_looked_at_by_keys(browser: Browser, fast_server: str, running: str) -> None:
    browser.open(page(fast_server, running))
    wait_for_it(browser)
    browser.type("#round", "1")
    browser.wait(lambda: len(browser.all(".tables .score")) == 5 and "cards)" in browser.text(".tables li:first-child .score"), "round 1")
    assert browser.run("return document.getElementById('round').value") == "1"


@pytest.fixture
def newcomer(browser: Browser, fast_server: str) -> Iterator[Browser]:
    """A browser that is nobody's yet, and nobody's again afterwards."""
    yield browser
    browser.open(page(fast_server, "/ladder"))
    browser.run("localStorage.clear()")


def test_somebody_enters_checks_in_races_and_comes_back_with_nothing_but_the_page(newcomer: Browser, fast_server: str) -> None:
    with Entrant(fast_server, "Edsger") as director, Entrant(fast_server, "Bob") as bob:
        tournament = director.create("By the page", format="round-robin", check_in_s=60, pause_s=None, no_show_s=600, delay_s=0)
        bob.enter(tournament)
        newcomer.open(page(fast_server, f"/tournament/{tournament}"))
        newcomer.wait(lambda: newcomer.all("#name"), "the field for a name")
        newcomer.run("document.getElementById('name').value = 'Carol'")
        newcomer.press("Enter")
        newcomer.wait_for_text(".part", "You have entered.")
        director.decide("start-tournament", id=tournament)
        newcomer.press("Check in")
        bob.check_in(tournament)
        # The round is paired, and the page goes where its player is wanted.
        newcomer.press("Ready")
        assert f"/play/{bob.go_to_table()['code']}" in newcomer.driver.current_url
        bob.start()
        newcomer.wait(lambda: newcomer.all(".racing .place"), "the cards")
        newcomer.click("[data-place='s']")
        bob.stop()
        newcomer.press("Stop …")
        newcomer.press("Stop")
        newcomer.press("To the tournament")
        newcomer.wait_for_text(".part", "You placed ")
        newcomer.wait(lambda: len(newcomer.all(".crosstable tbody a")) == 2, "the race in the crosstable")
        newcomer.click(".crosstable tbody a")
        newcomer.wait_for_text(".said-move", "Move ")
        # By what this browser saw and gave itself, at the check-in and at the table.
        newcomer.wait_for_text(".verdict", "The deal checks out: it is the shuffle that was committed to.")
        assert [line.content[0] for line in newcomer.all(".checks li")] == ["✓"] * 7
        assert newcomer.text(".checks li:last-child").endswith("What you gave when you checked in took part in the shuffle.")


COUNT_CONNECTIONS = """
    window.made = 0;
    window.WebSocket = class extends WebSocket {
        constructor(...to) {
            super(...to);
            window.made += 1;
        }
    };
"""


def test_whoever_enters_while_the_server_cannot_write_has_entered_as_soon_as_it_can(newcomer: Browser, tmp_path: Path) -> None:
    database = tmp_path / "races.sqlite3"
    with running_server("--database", str(database)) as (url, _), Entrant(url, "Tony") as director:
        tournament = director.create("Held up", format="round-robin", check_in_s=60, pause_s=None, no_show_s=600)
        newcomer.open(page(url, f"/tournament/{tournament}"))
        newcomer.wait(lambda: newcomer.all("#name"), "the field for a name")
        newcomer.run(COUNT_CONNECTIONS)
        with closing(sqlite3.connect(database, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            director.send("open-race", options={})
            director.hear_until("error", code="server/cannot-write")
            newcomer.press("Enter")
            newcomer.wait_for_text(".part .notice", "The server cannot save anything just now.")
        newcomer.wait_for_text(".part", "You have entered.")
        # That of a player, and no further one: it was not given up.
        assert newcomer.run("return made") == 1
        # Or it would complain of the server that goes.
        newcomer.open("about:blank")


def test_a_director_decides_by_the_page(newcomer: Browser, fast_server: str) -> None:
    with Entrant(fast_server, "Tony") as director, Entrant(fast_server, "Dora") as dora, Entrant(fast_server, "Emil") as emil:
        tournament = director.create("Decided", format="elimination", check_in_s=0, pause_s=None, no_show_s=600, replays=0)
        for player in (dora, emil):
            player.enter(tournament)
            player.check_in(tournament)
        newcomer.open(page(fast_server, f"/tournament/{tournament}"))
        newcomer.wait_for_text(".summary", "2 entered")
        assert not newcomer.all(".part:has(#directing)")[0].shown
        newcomer.run("localStorage.setItem('carpet.token', given[0])", director.welcome["token"])
        newcomer.driver.refresh()
        newcomer.press("Add it")
        newcomer.wait_for_text(".summary", "3 entered")
        newcomer.press("Pair the first round")
        newcomer.wait_for_text("#of-table", "against")
        newcomer.press("All boards on a screen …")
        newcomer.wait(lambda: newcomer.all("a[href*='/screen#key=']"), "the way to all boards")
        newcomer.run("document.getElementById('of-player').value = given[0]", emil.welcome["player"])
        newcomer.run("document.getElementById('of-player').dispatchEvent(new Event('change'))")
        newcomer.run("document.getElementById('reason').value = 'had to go'")
        newcomer.press("Remove")
        newcomer.press("Remove")
        newcomer.wait_for_text(".log", "Reason: had to go")
        for words in ("Pause", "Go on"):
            newcomer.press(words)
        newcomer.press("Pause")
        newcomer.run("document.getElementById('reason').value = 'the lights went out'")
        newcomer.press("End the tournament")
        newcomer.press("End it")
        newcomer.wait_for_text(".summary", "Called off by its director before")
        assert newcomer.breaches() == []


PRESS_UNCONNECTED = "dispatchEvent(new Event('offline')); document.querySelector('.part .main-button:not([hidden])').click()"
PRESS_UNHEARD = """
    const { send } = WebSocket.prototype;
    WebSocket.prototype.send = () => {};
    document.querySelector('.part .main-button:not([hidden])').click();
    WebSocket.prototype.send = send;
    dispatchEvent(new Event('offline'));
"""


def test_whoever_checks_in_without_a_connection_is_told_that_it_may_not_be_done(newcomer: Browser, fast_server: str) -> None:
    with Entrant(fast_server, "Niklaus") as director:
        tournament = director.create("Cut off", format="round-robin", check_in_s=60, pause_s=None, no_show_s=600)
        newcomer.open(page(fast_server, f"/tournament/{tournament}"))
        newcomer.press("Enter")
        newcomer.wait_for_text(".part", "You have entered.")
        director.decide("start-tournament", id=tournament)
        newcomer.wait_for_text(".part", "Check in, or you will be left out.")
        newcomer.run(PRESS_UNCONNECTED)
        newcomer.wait_for_text(".part .notice", "Not connected: that was not sent.")
        newcomer.wait(lambda: not newcomer.text("#connection"), "the connection")
        newcomer.run(PRESS_UNHEARD)
        newcomer.wait_for_text(".part .notice", "The connection was lost before the answer came.")
        newcomer.wait(lambda: not newcomer.text("#connection"), "the connection")
        newcomer.press("Check in")
        newcomer.wait_for_text(".part", "You are in.")
        assert newcomer.text(".part .notice") == ""
        newcomer.run("dispatchEvent(new Event('offline'))")
        newcomer.wait(lambda: not newcomer.text("#connection"), "the connection")
        # It was answered before: nothing is in doubt.
        assert newcomer.text(".part .notice") == ""
