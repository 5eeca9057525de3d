"""A tournament's page in a real Chromium: live tables and standings for everybody, and no name can harm the page."""

from __future__ import annotations

import base64
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.browser import Browser, Page, page
from tests.e2e.commands import running_server
from tests.e2e.page_checks import breaches, poorly_structured, roles, texts_seen, too_pale, too_wide
from tests.e2e.peer import Entrant, sitting

pytestmark = pytest.mark.slow

HOSTILE = "<img src=x onerror=alert(1)>"
LONG = "W" * 24


def meters(now: Page) -> dict[str, str]:
    """What is said of each bar, by its label."""
    script = "return [...document.querySelectorAll('main .meter')].map((bar) => [bar.ariaLabel, bar.ariaValueText])"
    return dict(now.run(script))


def rows(now: Page) -> list[list[str]]:
    return now.run(  # type: ignore[no-any-return]
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
        browser.expect_text(f"{listed} .facts", "Round robin · Carpet · director Grace")
        browser.press("Carpet Open")
        browser.wait_for_text(".summary", "Open to enter: 0 entered.")
        browser.expect(lambda now: now.address, page(fast_server, f"/tournament/{tournament}"))
        browser.expect_text(".command code", f"carpet tournament join {fast_server} {tournament}")
        for player in (ada, zoe):
            player.enter(tournament)
        browser.wait_for_text(".summary", "2 entered")
        # Nobody has a place or points before the first round.
        browser.expect(rows, [["Ada"], ["Zoë"]])
        grace.decide("start-tournament", id=tournament)
        browser.wait_for_text(".summary", "Check-in: 0 of 2 checked in.")
        for player in (ada, zoe):
            player.check_in(tournament)
        browser.wait_for_text(".summary", "Round 1 is being raced: 0 of 1 table done.")
        browser.expect(lambda now: now.shown(".command"), [False])
        (code,) = {player.go_to_table()["code"] for player in (ada, zoe)}
        for player in (ada, zoe):
            player.start()
        browser.expect(lambda now: now.links(".tables .watch a"), [page(fast_server, f"/watch/{code}")])
        ways = {"Watch this table: 1, Ada against Zoë", "Watch this table: 1, Zoë against Ada"}
        browser.wait(lambda now: ways & {node["name"] for node in now.nodes()}, "what is said of the way to the table")
        # Zoë makes one move: by then Ada is ahead, whatever was dealt.
        while ada.home < zoe.home + 2:
            ada.play()
        browser.wait(lambda now: meters(now).get("Ada") == f"{ada.home} of 52 cards home", "Ada's cards")
        zoe.play(1)
        zoe.stop()
        ada.stop_and_leave()
        browser.wait_for_text(".summary", "It is over: ")
        browser.wait(lambda now: rows(now)[0][:3] == ["1", "Ada", "1"], "the standings")
        browser.expect(lambda now: [row[0] for row in rows(now)], ["1", "2"])
        homes = f"({ada.home} : {zoe.home} cards)", f"({zoe.home} : {ada.home} cards)"
        browser.wait(lambda now: now.text(".tables .score").endswith(homes), "the score")
        browser.click("details:has(.log) summary")
        browser.wait(lambda now: re.search(r"\d:\d\d.* Ada enters\. \(Ada\)$", now.texts(".log li")[-1]), "the log")
        browser.wait_for_text(".tables .watch a", "Replay this table")
        browser.expect(lambda now: [node["name"] for node in now.nodes() if "[object" in node["name"]], [])
        browser.click(".tables .watch a")
        browser.wait_for_text(".said-move", "Move ")
        browser.wait(lambda now: "/race/" in now.address, "the race's page")


@pytest.fixture(scope="module")
def running(fast_server: str) -> Iterator[str]:
    """The path of a tournament of the longest and worst names, in its second round.

    It stays there: its bots win one deal of `carpet` in five, which ends a table that the tests look at, but none of `twenty`.
    """
    with Entrant(fast_server, LONG) as director, Entrant(fast_server, HOSTILE[:24]) as hostile:
        patience = {"no_show_s": 600, "grace_s": 600, "time_limit_s": 3600}
        tournament = director.create(f"{HOSTILE} {'W' * 30}", rules="twenty", rounds=2, fill=9, check_in_s=0, pause_s=0, **patience)
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
    browser.wait(lambda now: len(rows(now)) == 9 and len(now.all(".tables li")) == 5, "all of it")


def test_it_fits_every_width_and_is_readable_in_light_and_dark(browser: Browser, fast_server: str, running: str) -> None:
    browser.open(page(fast_server, running))
    wait_for_it(browser)
    browser.run("document.querySelectorAll('details summary').forEach((each) => each.click())")
    browser.wait(lambda now: now.all(".crosstable tbody td"), "the crosstable")
    for width in (320, 390, 768, 1024, 1280, 1600):
        browser.look(width=width)
        browser.expect(too_wide, [])
    for scheme in ("light", "dark"):
        browser.look(scheme=scheme)
        browser.expect(too_pale, [])
        browser.wait(lambda now: texts_seen(now) >= 60, "60 texts")


REACHED = """
    const table = document.querySelector('.columns .standings');
    const box = table.parentElement;
    box.scrollLeft = 0;
    const heads = [...table.querySelectorAll('thead th')];
    return heads.map((head) => {
        head.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' });
        const [inner, outer] = [head.getBoundingClientRect(), box.getBoundingClientRect()];
        const isWhole = inner.width > 0 && inner.left >= outer.left - 0.5 && inner.right <= outer.right + 0.5;
        return isWhole ? head.textContent : `${head.textContent} is not seen`;
    });
"""


def test_no_tie_break_is_hidden_at_middle_widths_where_the_standings_scroll(browser: Browser, fast_server: str, running: str) -> None:
    browser.open(page(fast_server, running))
    wait_for_it(browser)
    columns = ["Place", "Player", "Points", "Buchholz", "Sonneborn-Berger", "Among equals", "Cards home", "Won, drawn, lost"]
    for width in (680, 768, 900, 1024, 1100, 1280):
        browser.look(width=width)
        browser.expect(lambda now: now.run(REACHED), columns)
        browser.expect(too_wide, [])
    scroller = "const box = document.querySelector('.columns .wide'); return [box.tabIndex, getComputedStyle(box).overflowX]"
    browser.expect(lambda now: now.run(scroller), [0, "auto"])


def test_whoever_listens_is_told_all_of_it_and_markup_is_text(browser: Browser, fast_server: str, running: str) -> None:
    browser.open(page(fast_server, running))
    wait_for_it(browser)
    browser.expect(lambda now: roles(now, "banner", "main", "contentinfo", "navigation", "table", "columnheader"), [1, 1, 1, 1, 1, 8])
    browser.expect(poorly_structured, [])
    browser.expect_texts("main img, main b, main script", [])
    browser.wait(lambda now: now.text("h1").startswith(HOSTILE), "the name, as text")


def test_on_paper_it_is_black_on_white_with_standings_and_pairings_on_a_page_each(
    browser: Browser, fast_server: str, running: str, tmp_path: Path
) -> None:
    browser.look(scheme="dark")
    browser.open(page(fast_server, running))
    wait_for_it(browser)
    command = browser.driver.execute_cdp_cmd
    printed = base64.b64decode(command("Page.printToPDF", {"printBackground": True, "paperWidth": 8.27, "paperHeight": 11.69})["data"])
    (tmp_path / "tournament.pdf").write_bytes(printed)
    assert len(re.findall(rb"/Type */Page\b", printed)) == 2
    command("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        for hidden in ("body > header", "body > footer", ".part", ".tables .watch", ".meter", "main button", "details:has(.log)"):
            browser.expect(lambda now, hidden=hidden: any(now.shown(hidden)), False)  # type: ignore[misc]
        # Names stand at the tables that are being raced at, too.
        for shown in ("h1", ".columns .standings", ".columns .standings .tie-break", ".tables .score", ".tables .bars .bar-head", ".facts"):
            browser.expect(lambda now, shown=shown: any(now.shown(shown)), True)  # type: ignore[misc]
        inked = "[...document.querySelectorAll('html, h1, .standings td, .tables li, .score')]"
        assert set(browser.run(f"return {inked}.map((each) => getComputedStyle(each).color)")) == {"rgb(0, 0, 0)"}
        assert browser.run("return getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
        parts = "[...document.querySelectorAll('.columns > section')]"
        assert browser.run(f"return {parts}.map((each) => getComputedStyle(each).breakBefore)") == ["auto", "page"]
    finally:
        command("Emulation.setEmulatedMedia", {"media": ""})


def test_a_round_before_can_be_looked_at_by_keys(browser: Browser, fast_server: str, running: str) -> None:
    browser.open(page(fast_server, running))
    wait_for_it(browser)
    browser.type("#round", "1")
    browser.wait(lambda now: len(now.all(".tables .score")) == 5 and "cards)" in now.text(".tables li:first-child .score"), "round 1")
    browser.expect(lambda now: now.values("#round"), ["1"])


@pytest.fixture
def newcomer(browser: Browser, fast_server: str) -> Iterator[Browser]:
    """A browser that is nobody's yet, and nobody's again afterwards."""
    yield browser
    browser.open(page(fast_server, "/ladder"))
    browser.run("localStorage.clear()")


@contextmanager
def entered(browser: Browser, server: str, **options: Any) -> Iterator[tuple[Entrant, Entrant, str]]:
    """A round robin that is yet to be started, of Ivo and the player of this browser, which shows its page: director, Ivo and its id."""
    usual = {"format": "round-robin", "check_in_s": 0, "pause_s": None, "no_show_s": 600}
    with Entrant(server, "Sidonie") as director, Entrant(server, "Ivo") as ivo:
        tournament = director.create("By the page", **usual | options)
        ivo.enter(tournament)
        browser.open(page(server, f"/tournament/{tournament}"))
        browser.press("Enter")
        browser.wait_for_text(".part", "You have entered as ")
        yield director, ivo, tournament


def become(browser: Browser, player: Entrant) -> None:
    """Load the page anew as this player."""
    browser.run("localStorage.setItem('carpet.token', given[0])", player.welcome["token"])
    browser.driver.refresh()


@pytest.mark.parametrize("public", [True, False], ids=["public", "private"])
def test_somebody_enters_checks_in_races_and_comes_back_with_nothing_but_the_page(
    newcomer: Browser, fast_server: str, public: bool
) -> None:
    with Entrant(fast_server, "Edsger") as director, Entrant(fast_server, "Bob") as bob:
        options = {"format": "round-robin", "check_in_s": 60, "pause_s": None, "no_show_s": 600, "delay_s": 0, "public": public}
        tournament = director.create("By the page", **options)
        bob.enter(tournament)
        newcomer.open(page(fast_server, f"/tournament/{tournament}"))
        newcomer.wait(lambda now: now.all("#name"), "the field for a name")
        newcomer.run("document.getElementById('name').value = 'Carol'")
        newcomer.press("Enter")
        newcomer.wait_for_text(".part", "You have entered as ")
        director.decide("start-tournament", id=tournament)
        newcomer.press("Check in")
        bob.check_in(tournament)
        # The round is paired, and the page goes where its player is wanted.
        newcomer.press("Ready")
        code = bob.go_to_table()["code"]
        newcomer.wait(lambda now: f"/play/{code}" in now.address, "the way to the table")
        bob.start()
        newcomer.wait(lambda now: now.all(".racing .place"), "the cards")
        newcomer.click("[data-place='s']")
        bob.stop()
        newcomer.press("Stop …")
        newcomer.press("Stop")
        newcomer.press("To the tournament")
        newcomer.wait_for_text(".part", "You came ")
        # There is nothing left to press, and no room is kept for it.
        newcomer.expect(lambda now: now.shown(".part[aria-label='Your part'] > .actions"), [False])
        newcomer.expect(lambda now: len(now.all(".crosstable tbody a")), 2)
        newcomer.click(".crosstable tbody a")
        newcomer.wait_for_text(".said-move", "Move ")
        # By what this browser saw and gave itself, at the check-in and at the table.
        newcomer.wait_for_text(".verdict", "The deal checks out: it is the shuffle that was committed to.")
        newcomer.expect(lambda now: [line.content[0] for line in now.all(".checks li")], ["✓"] * 7)
        newcomer.wait_for_text(".checks li:last-child", "What you gave when you checked in took part in the shuffle.")


def test_whoever_enters_is_told_by_what_name_and_finds_themselves(newcomer: Browser, fast_server: str) -> None:
    with Entrant(fast_server, "Corinna") as director, Entrant(fast_server, "Ysolde") as other:
        tournament = director.create("Names", format="round-robin", check_in_s=0, pause_s=None, no_show_s=600)
        other.enter(tournament)
        newcomer.open(page(fast_server, f"/tournament/{tournament}"))
        newcomer.wait(lambda now: now.all("#name"), "the field for a name")
        newcomer.run("document.getElementById('name').value = 'Ysolde'")
        newcomer.press("Enter")
        newcomer.wait_for_text(".part", "You have entered as Ysolde 2. The director will start it.")
        newcomer.expect(rows, [["Ysolde"], ["Ysolde 2 (you)"]])
        newcomer.open(page(fast_server, "/ladder"))
        director.decide("start-tournament", id=tournament)
        newcomer.open(page(fast_server, f"/tournament/{tournament}"))
        newcomer.press("To the tournament")
        newcomer.wait(lambda now: {"Ysolde", "Ysolde 2 (you)"} == {row[1].removesuffix(" (away)") for row in rows(now)}, "their row")
        newcomer.expect(lambda now: {"Ysolde", "Ysolde 2 (you)"} == meters(now).keys(), True)


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
        newcomer.wait(lambda now: now.all("#name"), "the field for a name")
        newcomer.run(COUNT_CONNECTIONS)
        with closing(sqlite3.connect(database, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            director.send("open-race", options={})
            director.hear_until("error", code="server/cannot-write")
            newcomer.press("Enter")
            newcomer.wait_for_text(".part .notice", "The server cannot save anything just now.")
        newcomer.wait_for_text(".part", "You have entered as ")
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
        newcomer.expect(lambda now: now.shown(".part:has(#directing)"), [False])
        become(newcomer, director)
        newcomer.press("Add it")
        newcomer.wait_for_text(".summary", "3 entered")
        newcomer.press("Pair the first round")
        newcomer.wait_for_text("#of-table", "against")
        newcomer.press("All boards on a screen …")
        newcomer.wait(lambda now: now.all("a[href*='/screen#key=']"), "the way to all boards")
        newcomer.choose("#of-player", emil.welcome["player"])
        newcomer.run("document.getElementById('reason').value = 'had to go'")
        newcomer.press("Remove")
        newcomer.press("Remove")
        newcomer.wait_for_text(".log", "Reason: had to go")
        newcomer.wait_for_text(".columns .standings tbody", "Emil (removed)")
        newcomer.choose("#of-player", dora.welcome["player"])
        newcomer.type("#new-name", "Dora May")
        newcomer.press("Correct it")
        newcomer.press("Correct it")
        newcomer.wait_for_text(".columns .standings tbody", "Dora May")
        newcomer.wait_for_text(".log", "Dora is called Dora May from now on.")
        for words in ("Pause", "Go on"):
            newcomer.press(words)
        newcomer.press("Pause")
        newcomer.wait_for_text(".part:has(#directing) .actions", "Go on")
        go_on = "[...document.querySelectorAll('.part button')].find((each) => each.textContent === 'Go on')"
        newcomer.run(f"dispatchEvent(new Event('offline')); {go_on}.click()")
        # Whoever only directs has no other part in it.
        newcomer.expect_texts(".part .notice", ["Not connected: that was not sent. Try again when the connection is back."])
        newcomer.wait(lambda now: not now.text("#connection"), "the connection")
        newcomer.run("document.getElementById('reason').value = 'the lights went out'")
        newcomer.press("End the tournament")
        newcomer.press("End it")
        newcomer.wait_for_text(".summary", "Called off by its director before")
        newcomer.expect(breaches, [])


def test_what_was_decided_before_the_last_entries_is_shown_on_request(browser: Browser, fast_server: str) -> None:
    with Entrant(fast_server, "Grace") as grace:
        tournament = grace.create("Carpet Open")
        for _ in range(53):
            grace.decide("add-bot", id=tournament)
        browser.open(page(fast_server, f"/tournament/{tournament}"))
        browser.wait(lambda now: len(now.all(".log li")) == 50, "the last entries")
        browser.click("details:has(.log) summary")
        browser.wait_for_text("details:has(.log) button", "Show what was decided before: 3 entries")
        browser.click("details:has(.log) button")
        browser.wait(lambda now: len(now.all(".log li")) == 53, "all entries")
        browser.wait(lambda now: "random 1 enters" in now.texts(".log li")[-1], "the first entry")
        browser.expect(lambda now: now.shown("details:has(.log) button"), [False])
        # What is decided after that is added to them.
        grace.decide("add-bot", id=tournament)
        browser.wait(lambda now: len(now.all(".log li")) == 54, "one more")


def test_a_bye_is_asked_for_and_given_by_the_page(newcomer: Browser, fast_server: str) -> None:
    with Entrant(fast_server, "Tina") as director, Entrant(fast_server, "Kurt") as kurt:
        tournament = director.create("Byes", rounds=3, byes=1, check_in_s=0, pause_s=None)
        for player in (director, kurt):
            player.enter(tournament)
        director.decide("add-bot", id=tournament)
        newcomer.open(page(fast_server, f"/tournament/{tournament}"))
        newcomer.wait_for_text(".summary", "3 entered")
        become(newcomer, director)
        newcomer.press("Half-point bye in round 1")
        newcomer.wait_for_text(".part:not(:has(#directing))", "You have a bye in round 1: ½. Nobody waits for you.")
        newcomer.press("Take back the bye in round 1")
        newcomer.wait_for_text(".part:not(:has(#directing))", "You have entered as")
        newcomer.press("Half-point bye in round 1")
        newcomer.wait_for_text(".part:not(:has(#directing))", "Nobody waits for you.")
        newcomer.choose("#of-player", kurt.welcome["player"])
        newcomer.press("Full-point bye")
        newcomer.press("Full-point bye", inside="dialog")
        newcomer.wait_for_text(".log", f"{kurt.name} is given a full-point bye in round 1.")
        newcomer.press("Pair the first round")
        newcomer.wait_for_text("section:has(.tables)", f"Byes on request: {director.name} ½, {kurt.name} 1.")
        newcomer.expect(breaches, [])


def test_the_call_to_a_table_says_how_long_it_holds_and_goes_when_there_is_nothing_to_go_to(newcomer: Browser, fast_server: str) -> None:
    with entered(newcomer, fast_server) as (director, ivo, tournament):
        newcomer.open(page(fast_server, "/ladder"))
        director.decide("start-tournament", id=tournament)
        ivo.hear_of("called")
        # It waited before the page was opened.
        newcomer.open(page(fast_server, "/play"))
        newcomer.wait_for_text(".waiting-room .summary", "This is your table of the round. Press Ready within 9:")
        # Whoever looks at the tournament meanwhile is not taken back at once.
        newcomer.press("To the tournament")
        newcomer.wait_for_text(".part", "Table 1 is yours, and waits for you. 9:")
        newcomer.press("Go to your table")
        newcomer.wait_for_text(".waiting-room .summary", "Press Ready within 9:")
        for _ in range(2):
            newcomer.expect(lambda now: now.shown(".call"), [False])
            # They hold the seat by now.
            newcomer.open(page(fast_server, "/play"))
            newcomer.wait_for_text(".waiting-room .summary", "Press Ready within 9:")
        newcomer.press("Leave")
        newcomer.wait_for_text(".notice", "You have left the race.")
        newcomer.open(page(fast_server, "/play"))
        newcomer.wait_for_text(".call", f"Round 1: your table against {ivo.name} waits for you. Be there and ready within 9:")
        newcomer.press("Go to your table")
        newcomer.wait_for_text(".waiting-room .summary", "Press Ready within 9:")
        newcomer.press("Leave")
        newcomer.open(page(fast_server, "/play"))
        newcomer.wait_for_text(".call", "waits for you")
        director.decide("end-tournament", id=tournament, reason="no light")
        newcomer.expect(lambda now: now.shown(".call"), [False])


def test_a_tournament_that_is_opened_while_ones_table_waits_leads_to_it(newcomer: Browser, fast_server: str) -> None:
    with entered(newcomer, fast_server) as (director, ivo, tournament):
        newcomer.open(page(fast_server, "/ladder"))
        director.decide("start-tournament", id=tournament)
        ivo.hear_of("called")
        newcomer.open(page(fast_server, f"/tournament/{tournament}"))
        newcomer.wait_for_text(".waiting-room .summary", "This is your table of the round. Press Ready within 9:")
        newcomer.expect(breaches, [])


def test_two_tournaments_that_call_at_once_are_both_shown_and_raced_one_after_the_other(newcomer: Browser, fast_server: str) -> None:
    # The server tells of the more urgent one first, since a slow browser may take longer between the two than the page waits for others.
    with entered(newcomer, fast_server) as sooner, entered(newcomer, fast_server, no_show_s=900) as later:
        newcomer.open(page(fast_server, "/ladder"))
        for director, ivo, tournament in (later, sooner):
            director.decide("start-tournament", id=tournament)
            ivo.hear_of("called")
        (_, other, _), (_, ivo, _) = later, sooner
        # The more urgent table is gone to, and the other one called to from there.
        newcomer.open(page(fast_server, "/play"))
        newcomer.wait_for_text(".waiting-room .summary", "This is your table of the round. Press Ready within 9:")
        newcomer.wait_for_text(
            ".call", f"By the page, round 1: your table against {other.name} waits for you. Be there and ready within 14:"
        )
        newcomer.press("Ready")
        ivo.go_to_table()
        ivo.start()
        stop(newcomer)
        ivo.stop_and_leave()
        other.go_to_table()
        newcomer.expect(lambda now: (now.shown(".call"), now.text("h1")), ([False], f"Against {other.name}"))
        newcomer.wait_for_text(".waiting-room .summary", "This is your table of the round. Press Ready within ")
        newcomer.expect(breaches, [])


def test_after_a_table_the_page_goes_to_the_next_and_one_that_is_decided_leads_to_the_tournament(
    newcomer: Browser, fast_server: str
) -> None:
    with entered(newcomer, fast_server, double=True, pause_s=0) as (director, ivo, tournament):
        director.decide("start-tournament", id=tournament)
        newcomer.press("Ready")
        first = ivo.go_to_table()["code"]
        ivo.start()
        stop(newcomer)
        ivo.stop_and_leave()
        # The next round is paired at once, but the result is to be seen first.
        newcomer.wait(
            lambda now: now.shown(".ending")[0] and f"/play/{first}" in now.address and "Round 2: your table" in now.text(".call"),
            "the result, and the call to the next table",
        )
        # Nobody has pressed anything since: the eight seconds in which it is shown have passed.
        newcomer.run("const { now } = performance; performance.now = () => now.call(performance) + 8000")
        newcomer.wait_for_text(".waiting-room .summary", "This is your table of the round. Press Ready within")
        newcomer.wait(lambda now: "/play/" in now.address and f"/play/{first}" not in now.address, "the next table")
        lost = {"verdict": "neither", "forfeit": True}
        director.decide("correct-result", id=tournament, round=2, table=1, result=lost, reason="no time")
        newcomer.wait_for_text(".became", "Neither of you won your table: both forfeited. You came ")
        newcomer.press("To the tournament")
        newcomer.wait_for_text(".part", "You came ")
        newcomer.expect(breaches, [])


def test_whoever_forfeits_a_table_or_wins_it_by_forfeit_is_told_and_taken_to_the_next(newcomer: Browser, fast_server: str) -> None:
    with entered(newcomer, fast_server, double=True, no_show_s=48) as (director, ivo, tournament):
        director.decide("start-tournament", id=tournament)
        ivo.go_to_table()
        newcomer.wait_for_text(".waiting-room .summary", "This is your table of the round.")
        lost = "You lost your table by forfeit."
        newcomer.wait(lambda now: now.text(".became").startswith(f"{lost} You are in as "), "how the table was lost")
        newcomer.expect(lambda now: now.links(".became a"), [page(fast_server, f"/tournament/{tournament}")])
        newcomer.expect(breaches, [])
        director.decide("pair-round", id=tournament, round=2)
        # Nobody has pressed anything.
        newcomer.wait_for_text(".waiting-room .summary", "This is your table of the round.")
        newcomer.wait_for_text(".became", f"Round 1: {lost}")
        newcomer.driver.refresh()
        newcomer.wait_for_text(".became", f"Round 1: {lost}")
        newcomer.press("Ready")
        side = director.stands(tournament, lambda told: told["tables"])["tables"][0]["first"]
        won = {"verdict": "second" if side == ivo.welcome["player"] else "first", "forfeit": True}
        director.decide("correct-result", id=tournament, round=2, table=1, result=won, reason="no time")
        newcomer.wait_for_text(".became", "You won your table by forfeit, by ruling. You came 1st of 2.")


@contextmanager
def second_round(browser: Browser, server: str) -> Iterator[Callable[[], object]]:
    """A browser whose player has just left the result of their first round of two. Gives what pairs the second, against Ivo."""
    with entered(browser, server, double=True) as (director, ivo, tournament):
        director.decide("start-tournament", id=tournament)
        browser.press("Ready")
        ivo.go_to_table()
        ivo.start()
        stop(browser)
        ivo.stop_and_leave()
        browser.press("Leave", ".ending")
        browser.wait_for_text(".became", "When the next round is paired, this page takes you to your table.")
        yield lambda: director.decide("pair-round", id=tournament, round=2)


def stop(browser: Browser) -> None:
    """Be dealt cards, and stop at once."""
    browser.wait(lambda now: now.all(".racing .place"), "the cards")
    browser.press("Stop …")
    browser.press("Stop", "dialog")


def test_whoever_has_left_a_result_is_taken_to_the_next_table_once_they_write_nothing(newcomer: Browser, fast_server: str) -> None:
    with second_round(newcomer, fast_server) as pair:
        newcomer.type("#name", " the Second")
        pair()
        called = newcomer.wait_for_text(".call", "Round 2: your table against Ivo")
        # The page looks several times a second whether to go.
        newcomer.wait(lambda now: now.text(".call") not in ("", called), "less time")
        newcomer.wait(lambda now: (now.values("#name")[0] or "").endswith(" the Second"), "what was written")
        newcomer.run("document.activeElement.blur()")
        newcomer.wait_for_text(".waiting-room .summary", "This is your table of the round.")


def test_the_next_table_takes_nobody_from_what_they_write_in_another_race(newcomer: Browser, fast_server: str) -> None:
    with second_round(newcomer, fast_server) as pair:
        newcomer.press("Make a link")
        newcomer.wait(lambda now: now.all("#say") or "/play/" in now.address, "another race")
        code = newcomer.run("return location.pathname.split('/').at(-1)")
        with sitting(fast_server, "Jost", code=code) as guest:
            guest.ready()
            newcomer.press("Ready")
            guest.start()
            stop(newcomer)
            guest.stop()
            newcomer.wait(lambda now: now.shown(".ending")[0], "the result")
            newcomer.type("#say", "Would you like")
            pair()
            newcomer.wait_for_text(".call", "Round 2: your table against Ivo")
            guest.send("say", code=code, phrase="well-played")
            newcomer.wait_for_text(".lines", "Well played!")
            newcomer.expect(lambda now: (now.values("#say"), code in now.address), (["Would you like"], True))
            newcomer.press("Leave", ".ending")
        newcomer.wait_for_text(".waiting-room .summary", "This is your table of the round.")


ANSWER_AND_LOSE = """
    const [isSent] = given;
    const { send } = WebSocket.prototype;
    if (!isSent) WebSocket.prototype.send = () => {};
    document.querySelector('dialog button').click();
    WebSocket.prototype.send = send;
    dispatchEvent(new Event('offline'));
"""


def test_whoever_sits_at_the_menu_is_taken_to_their_table_though_they_had_sat_at_none_since_it_was_opened(
    newcomer: Browser, fast_server: str
) -> None:
    with entered(newcomer, fast_server, double=True, no_show_s=20) as (director, ivo, tournament):
        director.decide("start-tournament", id=tournament)
        ivo.hear_of("called")
        # They do not want the table that waits already.
        newcomer.press("Leave", ".waiting-room")
        newcomer.wait_for_text(".notice", "You have left the race.")
        newcomer.open(page(fast_server, "/play"))
        newcomer.wait_for_text(".call", f"Round 1: your table against {ivo.name} waits for you.")
        ivo.go_to_table()
        promise = "When the next round is paired, this page takes you to your table."
        newcomer.wait_for_text(".became", promise)
        newcomer.expect(lambda now: now.address, page(fast_server, "/play"))
        director.decide("pair-round", id=tournament, round=2)
        newcomer.wait_for_text(".waiting-room .summary", "This is your table of the round.")
        newcomer.expect(breaches, [])


def test_whoever_loads_the_page_anew_between_two_rounds_is_taken_to_the_next_table(newcomer: Browser, fast_server: str) -> None:
    with second_round(newcomer, fast_server) as pair:
        newcomer.driver.refresh()
        newcomer.wait_for_text(".ways", "Make a link")
        newcomer.expect(lambda now: now.address, page(fast_server, "/play"))
        pair()
        newcomer.wait_for_text(".waiting-room .summary", "This is your table of the round.")


def test_what_became_of_a_table_goes_when_its_player_looks_for_another_race_and_the_next_table_is_gone_to_all_the_same(
    newcomer: Browser, fast_server: str
) -> None:
    with second_round(newcomer, fast_server) as pair:
        newcomer.press("Find an opponent")
        newcomer.wait_for_text(".parts .summary", "Looking for an opponent")
        newcomer.expect(lambda now: now.shown(".became"), [False])
        pair()
        newcomer.wait_for_text(".waiting-room .summary", "This is your table of the round.")


def test_a_ruling_whose_answer_was_lost_is_asked_about_if_it_was_not_carried_out(newcomer: Browser, fast_server: str) -> None:
    with Entrant(fast_server, "Wim") as director, Entrant(fast_server, "Ole") as ole, Entrant(fast_server, "Jens") as jens:
        tournament = director.create("Ruled", format="elimination", check_in_s=0, pause_s=None, no_show_s=600)
        for player in (ole, jens):
            player.enter(tournament)
        newcomer.open(page(fast_server, f"/tournament/{tournament}"))
        become(newcomer, director)
        # Whoever decides something is a player from then on.
        newcomer.press("Add it")
        newcomer.wait_for_text(".summary", "3 entered")
        standings = ".columns .standings tbody"
        newcomer.wait_for_text("#of-player", "Ole")
        newcomer.choose("#of-player", ole.welcome["player"])
        newcomer.press("Remove")
        newcomer.run(ANSWER_AND_LOSE, False)
        newcomer.wait_for_text("dialog", "The connection was lost before this was decided: Ole is removed.")
        newcomer.expect(breaches, [])
        newcomer.press("Decide it now")
        newcomer.wait_for_text(standings, "Ole (removed)")
        newcomer.press("Let back in")
        newcomer.run(ANSWER_AND_LOSE, True)
        newcomer.wait(lambda now: "Ole" in now.text(standings) and "(removed)" not in now.text(standings), "Ole")
        newcomer.expect(lambda now: now.all("dialog"), [])


PRESS_UNCONNECTED = "dispatchEvent(new Event('offline')); document.querySelector('.part .main-button:not([hidden])').click()"
PRESS_UNHEARD = """
    const { send } = WebSocket.prototype;
    WebSocket.prototype.send = () => {};
    document.querySelector('.part .main-button:not([hidden])').click();
    WebSocket.prototype.send = send;
    dispatchEvent(new Event('offline'));
"""


def test_whoever_checks_in_without_a_connection_is_told_that_it_may_not_be_done(newcomer: Browser, fast_server: str) -> None:
    with entered(newcomer, fast_server, check_in_s=60) as (director, _, tournament):
        director.decide("start-tournament", id=tournament)
        newcomer.wait_for_text(".part", "Check in, or you will be left out.")
        newcomer.run(PRESS_UNCONNECTED)
        newcomer.wait_for_text(".part .notice", "Not connected: that was not sent.")
        newcomer.wait(lambda now: not now.text("#connection"), "the connection")
        newcomer.run(PRESS_UNHEARD)
        newcomer.wait_for_text(".part .notice", "The connection was lost before the answer came.")
        newcomer.wait(lambda now: not now.text("#connection"), "the connection")
        newcomer.press("Check in")
        newcomer.wait_for_text(".part", "You are in as ")
        newcomer.expect_text(".part .notice", "")
        newcomer.run("dispatchEvent(new Event('offline'))")
        newcomer.wait(lambda now: not now.text("#connection"), "the connection")
        # It was answered before: nothing is in doubt.
        newcomer.expect_text(".part .notice", "")
