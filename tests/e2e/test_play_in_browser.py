"""Racing in a real Chromium: against another browser, against a terminal, by mouse, touch and keys, through reloads, cuts and kills.

No test sleeps: each waits for what the page should show.
"""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from client.cli.options import address_of
from client.storage.identity_transfer import read_export
from protocol.fairness import named_seed
from protocol.forms import USUAL_NAME
from protocol.tournaments import ENTRY_CODE_LENGTH, TournamentOptions
from server.bots.house import HOUSE_BOTS
from server.rules.catalogue import RULE_SETS, describe
from server.solver.solve import solve
from tests.e2e.browser import Browser, Page, open_browser, page
from tests.e2e.commands import SHAPES, environment, running_server, serving_at_noon
from tests.e2e.page_checks import breaches, too_pale, too_wide
from tests.e2e.peer import Racer, sitting
from tests.e2e.terminal import Terminal, terminal_environment

pytestmark = pytest.mark.slow

HEARD = """
    window.heard = [];
    window.WebSocket = class extends WebSocket {
        constructor(...given) {
            super(...given);
            window.lines = [...(window.lines ?? []), this];
            this.addEventListener("message", (frame) => heard.push(frame.data));
        }
    };
"""
"""Run before any script of a page: keeps what its lines hear."""


@pytest.fixture(scope="module", autouse=True)
def hearing(chromium: Browser) -> Iterator[None]:
    added = chromium.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": HEARD})
    yield
    chromium.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving_at_noon(rate=1000, burst=1000) as url:
        yield url


@pytest.fixture
def browser(browser: Browser, server: str) -> Browser:
    """As somebody new."""
    browser.open(page(server, "/web/icon.svg"))
    browser.run("localStorage.clear()")
    browser.complaints()
    return browser


def open_link(browser: Browser, url: str, code: str) -> None:
    """Follow an invitation and be ready."""
    browser.open(page(url, f"/play/{code}"))
    browser.press("Ready")


def wait_for_cards(browser: Browser) -> None:
    browser.wait(lambda now: now.all(".place.playable"), "cards to play")


@contextmanager
def racing(browser: Browser, server: str, **options: Any) -> Iterator[Racer]:
    """A private race against Ada, whose cards are on the page."""
    with sitting(server, "Ada", countdown_s=1, public=False, **options) as ada:
        open_link(browser, server, ada.code)
        ada.ready()
        ada.start()
        wait_for_cards(browser)
        yield ada


def give_up(browser: Browser) -> None:
    browser.press("Give up …")
    browser.press("Give up", "dialog")


def homes(now: Page) -> list[int]:
    """Cards home, as the players' bars say: the player's own first."""
    return [int(said) for said in now.run("return [...document.querySelectorAll('.game .meter')].map((bar) => bar.ariaValueNow)")]


PRESS_PLACE = "const place = document.querySelector(given[0]); place?.click(); return place !== null"


def play_one(browser: Browser) -> None:
    """Play a move: click a card that can be played, home first; then, where it asks, where to."""
    before = own_moves(browser)
    browser.wait(lambda now: now.all(".place.choice") or now.run(PRESS_PLACE, ".place.playable"), "a card to play")
    browser.wait(lambda now: own_moves(now) > before or now.run(PRESS_PLACE, ".place.choice"), "the move, or where to")
    browser.wait(lambda now: own_moves(now) > before, "the move")


def own_moves(now: Page | Browser) -> int:
    """How many moves the server has answered with a view so far."""
    return len(heard(now, "view"))


def heard(now: Page | Browser, *kinds: str) -> list[dict[str, Any]]:
    """The messages of these types that the page has had so far; all, if none is named."""
    told = map(json.loads, now.run("return heard"))
    return [message for message in told if not kinds or message["type"] in kinds]


def test_a_link_leads_to_a_seat_and_the_race_is_checked_in_the_page(browser: Browser, server: str) -> None:
    with sitting(server, "Ada", countdown_s=1, public=False) as ada:
        browser.open(page(server, f"/play/{ada.code}"))
        browser.wait_for_text("h1", f"Race {ada.name}")
        browser.expect_text(".explained", RULE_SETS["carpet"].explanation)
        browser.wait_for_text(".waiting-room", "Rated. At most 10:00.")
        browser.do("#name", WebElement.clear)
        browser.type("#name", "Bea")
        browser.press("Ready")
        ada.hear_of("player-ready")
        ada.ready()
        ada.start()
        wait_for_cards(browser)
        for _ in range(6):
            play_one(browser)
        ada.play(5)
        browser.expect(lambda now: homes(now)[1], ada.home)
        browser.expect(too_pale, [])
        browser.expect(breaches, [])
        give_up(browser)
        record = ada.hear_of("result")["record"]
        browser.wait_for_text(".ending h2", f"{ada.name} won")
        assert [seat["name"] for seat in record["seats"]] == [ada.name, "Bea"]
        browser.expect(lambda now: len(now.all(".ending .plot .curve")), 2)
        browser.expect_text(".verdict", "The deal checks out: nobody chose the cards.")
        browser.expect(lambda now: [each.content[0] for each in now.all(".checks li")], ["✓"] * 5)
        nonce = record["deal"]["nonces"][1]
        assert len(set(nonce)) > 4, nonce
        browser.expect(breaches, [])
        told = heard(browser)
        seen = {card for message in told if message["type"] in ("dealt", "view", "current-view") for card in cards_in(message["view"])}
        # Whatever came before the result and was not this player's own view held no card at all.
        before_result = told[: next(at for at, message in enumerate(told) if message["type"] == "result")]
        others = [message for message in before_result if message["type"] not in ("dealt", "view", "current-view", "welcome")]
        assert seen
        assert others
        assert not any(cards_in(message) for message in others)


def cards_in(document: Any) -> set[str]:
    return set(re.findall(r'"((?:[A2-9TJQK][SHDC]))"', json.dumps(document)))


def test_a_code_that_was_read_out_leads_to_its_race(browser: Browser, server: str) -> None:
    with sitting(server, "Ada", public=False) as ada:
        for written, press in ((f" {ada.code[:3].lower()}-{ada.code[3:]} ", "Go to that race"), (ada.code.lower() + Keys.ENTER, "")):
            browser.open(page(server, "/play"))
            browser.type("#code", written)
            if press:
                browser.press(press)
            browser.expect(lambda now: now.address, page(server, f"/play/{ada.code}"))
            browser.wait_for_text("h1", f"Race {ada.name}")
        # Nothing is none, and the page is not left for what is none.
        browser.open(page(server, "/play"))
        browser.press("Go to that race")
        browser.expect(lambda now: now.run("return document.activeElement.id"), "code")
        for written in ("abc", "https://example.com/abcdef", "1234567"):
            browser.type("#code", written, Keys.ENTER)
            browser.wait_for_text(".way [role=status]", "That is not the code of a race, which is six letters.")
            browser.type("#code", Keys.BACKSPACE * len(written))
            browser.expect_text(".way [role=status]", "")
            browser.expect(lambda now: now.address, page(server, "/play"))
        browser.look(width=320, height=640)
        browser.expect(too_wide, [])
        browser.expect(breaches, [])
        ends = "return new Set(['name', 'rules'].map((id) => document.getElementById(id).getBoundingClientRect().right)).size"
        browser.expect(lambda now: now.run(ends), 1)


def test_nobody_is_shown_the_boards_of_their_own_race_and_the_page_leads_back_to_the_seat(browser: Browser, server: str) -> None:
    with racing(browser, server, delay_s=0, rated=False) as ada:
        ada.play(2)
        for leave_first in (False, True):
            browser.open(page(server, f"/watch/{ada.code.lower()}"))
            browser.wait_for_text("main", "You hold a seat in this race, so its boards are not shown to you.")
            assert heard(browser, "watched", "board") == []
            browser.expect(lambda now: now.shown(".race"), [False])
            if leave_first:
                continue
            browser.press("Back to your seat")
            wait_for_cards(browser)
    # Whoever has left may watch, and whoever sits down no longer.
    with sitting(server, "Ada", countdown_s=1, public=False) as ada:
        browser.open(page(server, f"/watch/{ada.code}"))
        browser.wait_for_text("h1", f"{ada.name} against open seat")
        browser.run(
            """
            const socket = new WebSocket(given[0], "carpet.v1.json");
            window.own = socket;
            socket.onopen = () => [{ type: "hello", name: "Bea", token: localStorage.getItem("carpet.token") }, { type: "leave-race" },
                { type: "join-race", code: given[1] }].forEach((message) => socket.send(JSON.stringify(message)));
            """,
            server,
            ada.code,
        )
        browser.wait_for_text("main", "You hold a seat in this race")
        browser.press("Back to your seat")
        browser.wait_for_text(".waiting-room", "(you)")


def test_play_leads_to_the_menu_once_the_race_is_over_and_from_there_back_to_it(browser: Browser, server: str) -> None:
    browser.open(page(server, "/play"))
    for bot in ("greedy", "random"):
        browser.choose("#bot", bot)
        browser.press("Race the bot")
        browser.press("Ready")
        wait_for_cards(browser)
        give_up(browser)
        browser.wait_for_text(".ending h2", f"{bot} won")
        code = browser.run("return location.pathname")
        browser.open(page(server, "/ladder"))
        browser.press("Play", "nav")
        browser.wait(lambda now: now.all(".start") and not now.all(".ending"), "the menu")
        browser.expect_text("h1", "Play")
        browser.press("Back to your last race")
        browser.wait_for_text(".ending h2", f"{bot} won")
        browser.expect(lambda now: now.address, page(server, code))
        browser.press("Play", "nav")
        browser.wait(lambda now: now.all(".start"), "the menu")


def test_whoever_is_on_the_menu_is_told_that_their_last_opponent_would_like_to_race_again(browser: Browser, server: str) -> None:
    with racing(browser, server) as ada:
        give_up(browser)
        ada.hear_of("result")
        browser.wait_for_text(".ending h2", f"{ada.name} won")
        browser.press("Play", "nav")
        browser.wait(lambda now: now.all(".start"), "the menu")
        browser.wait_for_text(".play", "Back to your last race")
        ada.send("rematch", race=ada.race)
        browser.wait_for_text(".play > .actions", f"{ada.name} would like to race again. Back to your last race")
        browser.look(width=390, height=844)
        browser.expect(too_wide, [])
        browser.press("Back to your last race")
        browser.press("Another race")
        assert ada.hear_of("room")["race"] == 2


def test_whoever_has_left_a_rated_race_is_told_who_won_it_and_their_rating_but_not_in_the_midst_of_another(
    browser: Browser, server: str
) -> None:
    with racing(browser, server) as ada:
        ada.play()
        play_one(browser)
        browser.keys("L")
        browser.press("Leave", "dialog")
        told = browser.wait_for_text("#told", "Your rating: ")
        assert re.fullmatch(rf"{ada.name} won the race you left\. Your rating: \d+ \(−\d+\)\. Hide", told), told
    for scheme in ("light", "dark"):
        browser.look(width=390, height=844, scheme=scheme)
        browser.expect(too_wide, [])
        browser.expect(too_pale, [])
    browser.wait_for_text(".play .notice", "You have left the race.")
    browser.press("Race the bot")
    browser.expect(lambda now: now.shown("#told"), [True])
    browser.press("Ready")
    wait_for_cards(browser)
    browser.expect(lambda now: now.shown("#told"), [False])
    give_up(browser)
    browser.expect(lambda now: now.shown("#told"), [True])
    browser.press("Hide", "#told")
    browser.expect_text("#told", "")


def test_two_browsers_race_again(browser: Browser, server: str) -> None:
    browser.open(page(server, "/play"))
    browser.press("Make a link")
    code = browser.wait_for_text(".waiting-room code", "/play/").rpartition("/")[2]
    with open_browser() as other:
        other.look(width=1280, height=800)
        open_link(other, server, code)
        browser.press("Ready")
        for each in (browser, other):
            wait_for_cards(each)
        for each in (browser, other):
            each.wait(lambda now: now.run(PRESS_PLACE, ".place.playable"), "a card to play")
        give_up(other)
        browser.wait_for_text(".ending h2", "You won")
        browser.press("Another race")
        other.wait_for_text(".ending", "would like to race again")
        # Whoever listens hears it too, and who won.
        other.wait_for_text("#news", "would like to race again.")
        other.press("Another race")
        # Both have just asked, and are ready by that.
        for each in (browser, other):
            wait_for_cards(each)
            # The result before would push the table out of sight.
            each.expect_texts(".ending", [])
            each.expect(lambda now: now.address, page(server, f"/play/{code}"))
        give_up(browser)
        other.wait_for_text(".ending h2", "You won")
        # The one browser's player goes on in the other, whose own player is kept there.
        saving = """
            const saved = new Promise((done) => { URL.createObjectURL = (blob) => { done(blob.text()); return "#"; }; });
            [...document.querySelectorAll(".more button")].at(-1).click();
            return await saved;
        """
        browser.click(".play > .more summary")
        link = browser.wait_for_text(".play > .more code", "/play#be=")
        exported = read_export(browser.run(saving).encode())
        assert address_of(server).url in exported.servers
        other.open("about:blank")
        other.open(link)
        other.press("Be that player", "dialog")
        other.press("Back to your last race")
        other.wait_for_text(".ending h2", "won")
        # The record, and with it what was checked, comes after the result.
        other.wait_for_text(".verdict", "Nothing is wrong with the deal")
        browser.wait_for_text(".play .notice", "You are playing in another window.")
        other.wait(lambda now: "#be=" not in now.address, "an address that holds no player")
        assert other.complaints() == []


def test_an_opponent_is_found_and_a_seat_is_come_back_to(browser: Browser, server: str) -> None:
    browser.open(page(server, "/play"))
    browser.press("Find an opponent")
    browser.wait_for_text("main", "Looking for an opponent")
    browser.press("Stop looking")
    browser.press("Find an opponent")
    with Racer(server, "Ada") as ada:
        ada.sit_down("quick-match")
        browser.press("Ready")
        ada.hear_of("player-ready")
        # From anywhere the way back is `/play`; another race is offered only when this one is left.
        with sitting(server, "Grace", public=False) as grace:
            browser.open(page(server, f"/play/{grace.code}"))
            browser.wait_for_text("main", f"You hold a seat in race {ada.code}.")
            browser.press("Leave it")
            ada.hear_of("unseated")
            browser.press("Ready")
            grace.hear_of("player-ready")
            browser.open(page(server, "/play"))
            browser.expect(lambda now: now.address, page(server, f"/play/{grace.code}"))
        browser.wait_for_text(".seats", "open seat")
        browser.press("Leave")
        browser.wait_for_text(".play .notice", "You have left the race.")


def test_whoever_is_found_an_opponent_who_does_nothing_is_soon_looking_again(browser: Browser, server: str) -> None:
    browser.open(page(server, "/play"))
    browser.press("Find an opponent")
    browser.wait_for_text("main", "Looking for an opponent")
    with Racer(server, "Ada") as ada:
        ada.sit_down("quick-match")
        browser.press("Ready")
        browser.wait_for_text(".waiting-room", "to be ready, with 0:1")
        browser.wait_for_text(".play .notice", "Your opponent did not get ready: you are back at your place in the queue.")
        browser.wait_for_text("main", "Looking for an opponent")
        browser.press("Stop looking")
        browser.wait_for_text("main", "Find an opponent")
    assert browser.complaints() == []


def test_a_terminal_and_a_browser_run_the_same_race(browser: Browser, server: str, tmp_path: Path) -> None:
    browser.open(page(server, "/play"))
    browser.press("Make a link")
    code = browser.wait_for_text(".waiting-room code", "/play/").rpartition("/")[2]
    command = [sys.executable, "-m", "client.cli.main", "join", server, code, "--name", "Terry"]
    with Terminal(command, environment=environment(tmp_path, terminal_environment()), columns=100, rows=30) as terminal:
        browser.wait_for_text(".waiting-room .seats", "Terry")
        terminal.wait_for("Press r when you are ready.")
        terminal.type("r")
        browser.press("Ready")
        wait_for_cards(browser)
        for _ in range(3):
            play_one(browser)
        # So its clock runs, too, and it takes moves.
        terminal.wait_for("3 moves")
        home = heard(browser, "view")[-1]["view"]["home"]
        browser.expect(lambda now: homes(now)[0], home)
        terminal.wait_for(f"{home}/52")
        terminal.type("s")
        own = heard(browser, "room")[0]["seat"]
        browser.wait(lambda now: any(message["seat"] != own for message in heard(now, "progress")), "the terminal's move")
        give_up(browser)
        browser.wait_for_text(".ending h2", "Terry won")
        terminal.wait_for("You won")
        terminal.type("q")
        terminal.wait_for_end()


def test_a_race_is_won_by_touch_on_a_phone(browser: Browser, server: str) -> None:
    deal = next(name for name in (f"phone {number}" for number in range(50)) if line_of(name))
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    with sitting(server, "Ada", countdown_s=1, deal=deal, rules="carpet-free") as ada:
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})

        def has_moved(number: int, now: Page) -> bool:
            # The page hears of the move before it draws it.
            return own_moves(now) >= number and not now.all(".place.held")

        def has_moved_or_held(number: int, now: Page) -> bool:
            return bool(own_moves(now) >= number or now.all(".place.held"))

        try:
            open_link(browser, server, ada.code)
            ada.ready()
            ada.start()
            wait_for_cards(browser)
            browser.expect(too_wide, [])
            # The whole table is in view, and everybody's bars.
            in_view = "return document.querySelector('.felt').getBoundingClientRect().bottom <= innerHeight"
            browser.wait(lambda now: now.run(in_view), "the whole table in view")
            for number, move in enumerate(line_of(deal), 1):
                # No key, where there is none.
                browser.expect(lambda now: re.search(r"\bg\b", now.text(".hint"), re.IGNORECASE), None)
                start, _, end = move.partition(":")
                tap(browser, start)
                # Where the card could go to several places it is held: a second tap says which, home by the card itself.
                browser.wait(partial(has_moved_or_held, number), f"the tap on {start}")
                if own_moves(browser) < number:
                    tap(browser, end or start)
                browser.wait(partial(has_moved, number), f"move {number}, {move}")
        finally:
            browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
        browser.wait_for_text(".ending h2", "You won")
        browser.expect(lambda now: homes(now)[0], 52)
        browser.expect(too_wide, [])


def line_of(deal: str) -> tuple[str, ...]:
    position = RULE_SETS["carpet-free"].deal(named_seed(deal))
    return solve(position).moves


PLAY = """
    const until = async (is) => { while (!is()) await new Promise((go) => setTimeout(go, 5)); };
    const isMade = (number) => heard.filter((text) => text.startsWith('{"type":"view"')).length >= number;
    const isHeld = () => document.querySelector(".place.held") !== null;
    const press = (place) => document.querySelector(`[data-place="${place}"]`).click();
    for (const [at, move] of given[0].entries()) {
        const [start, end] = move.split(":");
        press(start);
        await until(() => isMade(at + 1) || isHeld());
        if (!isMade(at + 1)) press(end ?? start);
        await until(() => isMade(at + 1) && !isHeld());
    }
"""
"""Plays these moves from the first one on, and waits for the answer to each."""
COUNT_FALLS = """
    window.falls = 0;
    new MutationObserver((all) => all.forEach(({ addedNodes }) => addedNodes.forEach((node) => { falls += node.matches(".falling"); })))
        .observe(document.body, { childList: true });
"""
ON_TOP = """
    const middle = (each) => { const { x, y, width, height } = each.getBoundingClientRect(); return [x + width / 2, y + height / 2]; };
    const depth = (each) => Number(getComputedStyle(each).zIndex);
    const falling = document.querySelector(".falling");
    return [...document.querySelectorAll(":is(.ending h2, .ending .places, .ending .actions):not([hidden] *)")]
        .filter((each) => depth(each) > depth(falling) && each.contains(document.elementFromPoint(...middle(each)))).length;
"""


def test_all_cards_fall_for_whoever_has_brought_the_last_one_home_and_hide_neither_result_nor_buttons(
    browser: Browser, server: str
) -> None:
    deal = next(name for name in (f"phone {number}" for number in range(50)) if line_of(name))
    for motion, is_own, falls in (("no-preference", True, 1), ("reduce", True, 0), ("no-preference", False, 0)):
        browser.look(motion=motion)
        with racing(browser, server, deal=deal, rules="carpet-free") as ada:
            browser.run(COUNT_FALLS)
            if is_own:
                browser.run(PLAY, line_of(deal))
            else:
                for ply, move in enumerate(line_of(deal)):
                    ada.send("move", race=ada.race, seat=ada.seat, ply=ply, move=move)
                    ada.hear_of("view")
            if falls:
                browser.wait(lambda now: now.run(ON_TOP) == 3, "result, places and buttons before the cards")
            browser.wait_for_text(".ending h2", "You won" if is_own else f"{ada.name} won")
            assert browser.run("return falls") == falls, (motion, is_own)
            browser.wait(lambda now: not now.all(".falling"), "the end of it")
            # Nor do they fall once more for whoever comes back to it.
            browser.driver.refresh()
            browser.wait_for_text(".ending h2", "won")
            assert not browser.run("return document.querySelector('.falling') !== null")


IN_VIEW = "const box = document.querySelector(given[0]).getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight"


def test_nothing_moves_on_a_phone_as_the_opponent_goes_away_comes_back_and_stops(browser: Browser, server: str) -> None:
    with racing(browser, server) as ada:
        tops = "return ['.felt', '.game .actions'].map((each) => document.querySelector(each).getBoundingClientRect().top)"
        before: object = None
        for width, height in ((390, 844), (360, 640)):
            browser.look(width=width, height=height)
            # What can be done stays as it is, and with it the hint: only the bars could move anything.
            before = browser.wait(lambda now: now.run(tops), "the table")
            token = ada.welcome["token"]
            ada.cut()
            browser.wait_for_text(".bars", "away")
            browser.expect(lambda now: now.run(tops), before)
            ada = Racer(server, ada.name, token)
            ada.sit_down("join-race", code=ada.welcome["room"])
            browser.expect(lambda now: "away" in now.text(".bars"), False)
            browser.expect(lambda now: now.run(tops), before)
        ada.stop()
        browser.wait_for_text(".bars", "stopped")
        browser.expect(lambda now: now.run(tops), before)
        browser.expect(too_wide, [])
        ada.stack.close()


def test_what_is_said_is_seen_and_heard_in_a_race_on_a_phone_and_the_newest_line_of_many(browser: Browser, server: str) -> None:
    with sitting(server, "Ada", countdown_s=1, public=False) as ada:
        open_link(browser, server, ada.code)
        browser.look(width=360, height=640)
        for number in range(1, 9):
            ada.send("say", text=f"This is line {number}, which has so many words that it is longer than a phone is wide.")
        browser.wait_for_text(".talk .lines li:last-child", "line 8")
        shown = (
            "const [list, last] = ['.lines', '.lines li:last-child'].map((each) => document.querySelector(each).getBoundingClientRect());"
        )
        browser.wait(lambda now: now.run(f"{shown} return last.bottom <= list.bottom + 1"), "the newest line")
        browser.wait_for_text("#news", f"{ada.name}: This is line 8")
        ada.ready()
        ada.start()
        wait_for_cards(browser)
        ada.send("say", phrase="nice")
        browser.wait(
            lambda now: f"{ada.name}: Nice!" in now.texts(".last-line") and now.run(IN_VIEW, ".last-line"), "what was said, in view"
        )
        browser.wait_for_text("#news", f"{ada.name}: Nice!")
        give_up(browser)


def test_whose_browser_keeps_nothing_is_told_before_they_lose_their_seat(browser: Browser, server: str) -> None:
    denied = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('denied'); } })"
    added = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": denied})
    try:
        browser.open(page(server, "/play"))
        browser.expect_texts(
            ".forgetful", ["This browser lets the page keep nothing. If you load it anew or close it, you lose your seat and your name."]
        )
    finally:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
    browser.open(page(server, "/play"))
    browser.wait_for_text("h1", "Play")
    browser.expect_texts(".forgetful", [])


def test_a_player_is_told_by_what_name_they_play_and_that_nobody_else_can_use_the_link_of_this_machine(
    browser: Browser, server: str
) -> None:
    with Racer(server, "Berta") as berta:
        browser.open(page(server, "/play"))
        browser.do("#name", WebElement.clear)
        browser.type("#name", berta.name)
        browser.press("Make a link")
        browser.wait_for_text(".waiting-room", "Only this machine can open this link.")
        browser.wait_for_text(".play > .notice", f"Somebody else is {berta.name}.")
        with sitting(server, "Ada", code=heard(browser, "room")[-1]["code"]) as ada:
            browser.press("Ready")
            ada.ready()
            wait_for_cards(browser)
            # It would take room from the table.
            browser.expect(lambda now: any(now.shown(".play > .notice")), False)
            give_up(browser)
        browser.press("Leave")
        browser.do("#name", WebElement.clear)
        browser.type("#name", "Bertas Freundin")
        browser.press("Change the name")
        browser.wait_for_text(".field [role=status]", "You are Bertas Freundin now.")


def test_cards_go_home_by_themselves_at_the_touch_of_a_button_which_stands_in_one_row_with_the_others(
    browser: Browser, server: str
) -> None:
    with racing(browser, server, deal="monday"):
        shown = "[...document.querySelectorAll('.game .actions button')].filter((each) => each.offsetParent)"
        metrics = {"width": 360, "height": 640, "deviceScaleFactor": 1, "mobile": True}
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
        try:
            browser.expect(lambda now: len(set(now.run(f"return {shown}.map((each) => each.offsetTop)"))), 1)
            home = browser.wait(lambda now: homes(now)[0], "cards home")
            browser.press("Auto")
            browser.wait_for_text(".hint", "Autoplay is on.")
            # In one line, so that the button stays under the finger.
            browser.wait(lambda now: now.run("return document.querySelector('.hint').offsetHeight < 30"), "a line")
            browser.expect(lambda now: now.run("return document.querySelector('[aria-keyshortcuts=\"Shift+H\"]').ariaPressed"), "true")
            browser.wait(lambda now: homes(now)[0] > home, "a card that went home")
        finally:
            browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
        give_up(browser)


def test_suits_have_four_colours_or_those_of_the_colour_blind_and_all_can_be_read(browser: Browser, server: str) -> None:
    browser.open(page(server, "/play"))
    browser.press("Suits: two colours", "footer")
    colours = """
        const cards = [..."SHDC"].map((suit) => document.querySelector(`.card[data-suit=${suit}]`));
        return new Set(cards.map((card) => getComputedStyle(card).color)).size;
    """
    with racing(browser, server, rules="persian-rug", deal="monday"):
        browser.expect(lambda now: now.run(colours), 4)
        browser.expect(too_pale, [])
        browser.keys("C")
        browser.wait_for_text(".hint", "Suits: for colour-blind players.")
        browser.expect(lambda now: now.run(colours), 4)
        browser.expect(too_pale, [])
        browser.keys("C")
        browser.expect(lambda now: now.run(colours), 2)
        give_up(browser)


def test_whoever_looks_at_something_else_is_called_to_their_race_and_can_have_that_silent(browser: Browser, server: str) -> None:
    browser.open(page(server, "/play"))
    browser.press("Bell: on", "footer")
    browser.expect(lambda now: now.texts("#settings button")[1:], ["Bell: off"])
    browser.press("Bell: off", "footer")
    with sitting(server, "Ada", countdown_s=1, public=False) as ada:
        open_link(browser, server, ada.code)
        browser.wait_for_text(".waiting-room", "(you) ready")
        # As a browser has it in a tab that nobody sees.
        browser.run("document.hasFocus = () => false")
        ada.ready()
        browser.expect(lambda now: now.run("return document.title"), "It starts · Carpet Race")
        browser.run("document.hasFocus = () => true; dispatchEvent(new Event('focus'))")
        browser.expect(lambda now: now.run("return document.title"), f"{ada.name} · Carpet Race")


def test_a_challenge_is_made_in_the_page_and_run_there(browser: Browser, server: str) -> None:
    browser.open(page(server, "/play"))
    browser.press("Make a challenge")
    browser.wait_for_text("h1", "Your challenge")
    browser.wait_for_text("main", "Send the link of this page to whoever is to run it.")
    address = browser.wait(lambda now: now.address if "/challenge/" in now.address and now.all(".main-link") else "", "its page")
    browser.press("Run it")
    browser.press("Run this challenge")
    browser.wait_for_text("h1", "A run alone")
    browser.press("Ready")
    wait_for_cards(browser)
    browser.press("Stop …")
    browser.press("Stop", "dialog")
    name = browser.wait_for_text(".runs .places", " (you)").partition(" (you)")[0]
    # A friend of theirs.
    browser.run("localStorage.clear()")
    browser.open(address)
    browser.expect_text("h1", f"{name} challenges you")
    browser.wait_for_text("main", "Those who ran it before run beside you, as ghosts.")
    browser.press("Run it")
    browser.press("Run this challenge")
    browser.press("Ready")
    wait_for_cards(browser)
    play_one(browser)
    browser.press("Stop …")
    browser.press("Stop", "dialog")
    browser.wait_for_text(".runs .raced", f"{name}’s ghost")


def tap(browser: Browser, place: str) -> None:
    script = (
        "const { x, y, width, height } = document.querySelector(given[0]).getBoundingClientRect(); return [x + width / 2, y + height / 2]"
    )
    browser.settle()
    x, y = browser.run(script, f"[data-place='{place}']")
    point = {"x": x, "y": y}
    browser.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    browser.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_the_first_race_of_a_browser_teaches_until_it_is_over_or_its_player_wants_no_more_of_it(browser: Browser, server: str) -> None:
    height = "return document.querySelector('.felt').getBoundingClientRect().height"
    is_seen = "const { top, bottom } = document.querySelector('.lesson').getBoundingClientRect(); return top > 0 && bottom <= innerHeight"
    bar = "return getComputedStyle(document.querySelector('.lesson')).borderInlineStartColor"
    for is_hidden in (False, True):
        browser.run("localStorage.clear()")
        with racing(browser, server, deal="at once") as ada:
            browser.wait_for_text(".lesson", " can go home, to the pile of its suit. Click it (key 1).")
            browser.expect(breaches, [])
            browser.wait(lambda now: now.all("body.racing"), "the page of a race that is run")
            for width, size in ((320, 568), (568, 320), (360, 640), (844, 390)):
                browser.look(width=width, height=size)
                browser.expect(lambda now: now.run(is_seen), True)
            browser.look()
            assert browser.run(bar) != "rgba(0, 0, 0, 0)"
            before = browser.wait(lambda now: now.run(height), "the table")
            if is_hidden:
                browser.press("Hide", ".lesson")
                # Nothing moves, and the keys are the table's.
                browser.expect_text(".lesson span", "")
                browser.expect(lambda now: now.run(bar), "rgba(0, 0, 0, 0)")
                browser.expect(lambda now: now.run(height), before)
                browser.expect(lambda now: now.run("return document.activeElement.matches('.place')"), True)
                ada.send("resign", race=ada.race, seat=ada.seat)
                browser.wait_for_text(".ending h2", "You won")
            else:
                browser.keys("1")
                browser.wait_for_text(".lesson", "The gap has been filled by itself, from the stock")
                give_up(browser)
                browser.wait_for_text(".ending h2", f"{ada.name} won")
        with racing(browser, server):
            browser.expect(lambda now: now.shown(".lesson"), [False])
            # The table has the room that it took.
            assert browser.wait(lambda now: now.run(height), "the table") > before
            give_up(browser)


def test_which_card_the_stock_has_brought_is_said_to_those_who_do_not_see_it(browser: Browser, server: str) -> None:
    with racing(browser, server, deal="monday"):
        browser.keys("s")
        browser.expect(own_moves, 1)
        said = r"(ace|[0-9]+|jack|queen|king) of (spades|hearts|diamonds|clubs) on the waste"
        browser.wait(lambda now: re.fullmatch(said, now.run("return document.querySelector('.game .unseen').textContent")), "the card")


def test_the_cards_under_the_waste_are_shown_and_nothing_moves_for_them(browser: Browser, server: str) -> None:
    listed = "return [...document.querySelectorAll('.buried li')].map((each) => each.checkVisibility() && each.innerText.split('\\n')[0])"
    stock = "const { x, y } = document.querySelector('[data-place=s]').getBoundingClientRect(); return [x, y]"
    signs = dict(zip("SHDC", "♠♥♦♣", strict=True))
    for width, height in ((320, 640), (1280, 720)):
        browser.look(width=width, height=height)
        # With the next stock cards beside it, too.
        with racing(browser, server, deal="monday", rules="carpet-strategy"):
            browser.wait(lambda now: now.all("body.racing"), "the page of a race that is run")
            browser.settle()
            lay = browser.run(stock)
            for moves in range(1, 9):
                browser.keys("s")
                browser.expect(own_moves, moves)
            waste = heard(browser, "view")[-1]["view"]["waste"]
            assert len(waste) == 8
            browser.expect(lambda now: now.run(listed), [card[0].replace("T", "10") + signs[card[1]] for card in waste[-2::-1]])
            lists = [node["name"] for node in browser.wait(Page.nodes, "the page for a screen reader") if node["role"] == "list"]
            assert "Under the waste’s top card, the next one first" in lists
            browser.expect(lambda now: now.run(stock), lay)
            browser.expect(too_wide, [])
            browser.expect(too_pale, [])
            browser.expect(breaches, [])
            give_up(browser)
            browser.wait_for_text(".verdict", "The deal checks out")


def test_the_cards_of_a_quilt_that_are_blocked_are_in_the_shade_and_can_be_read(browser: Browser, server: str) -> None:
    with racing(browser, server, rules="crazy-quilt", deal="monday"):
        shaded = """
            const ground = (place) => getComputedStyle(place.querySelector(".card")).backgroundColor;
            const [lit] = [...document.querySelectorAll(".layout .playable")].map(ground);
            const places = [...document.querySelectorAll(".layout .place")];
            return places.filter((place) => ground(place) !== lit).map((place) => place.ariaLabel);
        """
        # After the deal sixteen cards are available.
        browser.expect(lambda now: len(now.run(shaded)), 48)
        browser.wait(lambda now: all(said.endswith(", blocked") for said in now.run(shaded)), "what is blocked said, too")
        for scheme in ("light", "dark"):
            browser.look(scheme=scheme)
            browser.expect(too_pale, [])
            browser.expect(breaches, [])
        colours = "return ['.felt', '.card', '.fill'].map((each) => getComputedStyle(document.querySelector(each)).backgroundColor)"
        browser.look()
        drawn = browser.run(colours)
        # Cards and bars mean something by their colours, whichever the user has all pages in.
        browser.look(forced="active")
        browser.expect(lambda now: now.run(colours), drawn)
        browser.expect(lambda now: len(now.run(shaded)), 48)
        browser.expect(too_pale, [])


def test_what_can_be_done_is_told_anew_with_the_answer_to_a_move_and_not_before(browser: Browser, server: str) -> None:
    with racing(browser, server, rules="carpet-strategy", deal="at once"):
        browser.expect_text(".hint", "2 cards can go home: a4, c4 (g: all).")
        browser.run(
            "const { send } = WebSocket.prototype; window.go = () => lines.at(-1).send(held); window.restore = send;"
            "WebSocket.prototype.send = function (text) { window.held = text; }"
        )
        browser.keys("a4")
        browser.wait(lambda now: "gap" in table(now)[15], "the table after the move")
        # Which moves there are from here only the answer says.
        browser.expect_text(".hint", "2 cards can go home: a4, c4 (g: all).")
        browser.run("WebSocket.prototype.send = restore; go()")
        browser.expect_text(".hint", "2 cards can go home: b1, c4 (g: all).")


def test_the_keys_are_those_of_the_terminal(browser: Browser, server: str) -> None:
    # A deal by name: its first card home could go elsewhere too, and so is held first, and more cards go home after it.
    with racing(browser, server, rules="persian-rug", deal="rug") as ada:
        place = next(move for move in ada.view["moves"] if ":" not in move).rstrip("+-")
        # By its name, and by its name again.
        browser.keys(place)
        browser.wait(lambda now: now.all(".place.held"), "the card that is held")
        browser.keys(place)
        browser.expect(own_moves, 1)
        # Written whole, as the specification writes it.
        written = heard(browser, "view")[-1]["view"]["moves"][0]
        assert ":" in written
        browser.run("document.querySelector('.felt [tabindex=\"0\"]').focus()")
        browser.keys(":")
        browser.type("#move", "z9:w", Keys.ENTER)
        browser.wait_for_text(".hint", "z9:w is not a legal move now.")
        assert browser.run("return 'place' in document.activeElement.dataset"), "the keyboard goes on where it was"
        browser.keys(":")
        browser.type("#move", written, Keys.ENTER)
        browser.expect(own_moves, 2)
        browser.look(height=320)
        browser.keys("?")
        browser.wait_for_text("dialog h2", "Keys of a race")
        # They do not all fit, and are read from the first one on.
        scrolled = "const one = document.querySelector('dialog'); return [one.scrollTop, one.scrollHeight > one.clientHeight]"
        browser.expect(lambda now: now.run(scrolled), [0, True])
        browser.look()
        # From this very moment keys are the table's again.
        assert browser.run("document.querySelector('dialog button').click(); return 'place' in document.activeElement.dataset")
        for moves in (3, 4, 5):
            # The next card home.
            browser.keys(" ")
            browser.expect(own_moves, moves)
        browser.keys("K")
        browser.press("Stop", "dialog")
        browser.wait_for_text(".hint", "You stopped.")
        browser.press("Leave …")
        browser.press("Stay", "dialog")
        ada.stop()
        browser.wait_for_text(".verdict", "The deal checks out")


def test_no_key_is_lost_after_a_phrase_or_beside_the_table_and_what_is_not_played_is_told(browser: Browser, server: str) -> None:
    with racing(browser, server):
        # To look at the phrases says none of them.
        browser.keys("t", Keys.ARROW_DOWN, Keys.TAB, "n", Keys.ESCAPE, "t", "3")
        browser.wait_for_text(".lines", "Nice!")
        browser.expect(lambda now: len(now.all(".talk .lines li")), 1)
        browser.keys("M")
        browser.wait_for_text(".hint", "Cards do not glide.")
        browser.run("document.querySelector('.play details summary').focus()")
        browser.keys("t", Keys.ESCAPE, "M")
        browser.wait_for_text(".hint", "Cards glide.")
        browser.run("document.activeElement.blur()")
        for chosen in ("dialog button", "dialog p:last-child button"):
            browser.run("const say = document.querySelector('.talk button'); say.focus(); say.click()")
            browser.run(f"document.querySelector('{chosen}').click()")
            assert browser.run("return document.activeElement.tagName") == "BODY", "the space bar is for the table again"
        for closed_by in ("dialog.querySelector('button').click()", "dialog.dispatchEvent(new Event('cancel'))"):
            browser.keys("?")
            browser.wait_for_text("dialog h2", "Keys of a race")
            focused = f"const dialog = document.querySelector('dialog'); {closed_by}; return document.activeElement.tagName"
            assert browser.run(focused) == "BODY"
        browser.run("WebSocket.prototype.send = () => {}")
        browser.keys("s", "w")
        browser.wait_for_text(".hint", "Waiting to be played: w.")
        browser.run("dispatchEvent(new Event('offline'))")
        browser.wait_for_text(".hint", "Not played: w. Not connected:")


def test_a_line_that_is_sent_as_the_race_starts_is_kept_until_it_is_over_and_the_page_says_why(browser: Browser, server: str) -> None:
    with racing(browser, server):
        browser.run("document.querySelector('#say').value = 'Have fun, Ada!'")
        browser.run("document.querySelector('#say').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }))")
        browser.wait_for_text(".hint", "Only phrases can be said here")
        browser.expect(lambda now: now.values("#say"), ["Have fun, Ada!"])


def test_a_line_that_was_refused_comes_back_and_one_that_was_said_does_not_with_a_phrase_too_many(browser: Browser, server: str) -> None:
    with sitting(server, "Ada", countdown_s=1, public=False) as ada:
        open_link(browser, server, ada.code)
        browser.wait_for_text(".waiting-room", "(you) ready")
        enter = "document.querySelector('#say').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }))"
        browser.run(f"""
            const send = WebSocket.prototype.send;
            WebSocket.prototype.send = function (text) {{ send.call(this, text.replace("{ada.code}", "AAAAAA")); }};
            document.querySelector('#say').value = "Have fun, Ada!";
            {enter};
            WebSocket.prototype.send = send;
        """)
        browser.wait_for_text(".notice", "Open or join a race first.")
        browser.expect(lambda now: now.values("#say"), ["Have fun, Ada!"])
        browser.run(enter)
        browser.wait_for_text(".talk", "Have fun, Ada!")
        ada.ready()
        wait_for_cards(browser)
        browser.run("""
            for (let said = 0; said < 20; said += 1) {
                document.querySelector('.talk button').click();
                document.querySelector('dialog .answers button').click();
            }
        """)
        browser.wait_for_text(".hint", "Too much is being said there")
        browser.expect(lambda now: now.values("#say"), [""])


SEE_BUTTONS = """
    window.seen = [];
    new MutationObserver(() => {
        const buttons = [...document.querySelectorAll(".ending .actions button")];
        if (buttons.length) seen.push(buttons.every((each) => each.disabled));
    }).observe(document.querySelector(".parts"), { childList: true });
"""
"""Keeps, of each moment at which a result comes to be seen, whether none of its buttons can be pressed."""


def test_what_was_meant_for_the_table_as_the_race_ended_asks_for_no_other_race(browser: Browser, server: str) -> None:
    with racing(browser, server) as ada:
        browser.run(SEE_BUTTONS)
        browser.look(width=390, height=640)
        ada.send("resign", race=ada.race, seat=ada.seat)
        browser.wait_for_text(".ending h2", "You won")
        assert browser.run("return seen[0]")
        # Nor does it scroll the result away.
        browser.keys(*"  ws ")
        browser.settle()
        assert browser.run("return [scrollY, document.documentElement.scrollHeight > innerHeight]") == [0, True]
        browser.press("Another race")
        browser.wait_for_text(".ending", "Waiting for the others to ask for another race too.")


def test_what_was_meant_for_the_table_as_a_race_of_a_series_ended_does_not_give_the_series_up(browser: Browser, server: str) -> None:
    with racing(browser, server, series={"format": "best-of", "races": 3}) as ada:
        browser.run(SEE_BUTTONS)
        ada.send("resign", race=ada.race, seat=ada.seat)
        browser.wait_for_text(".ending", "Race 2 is next.")
        assert browser.run("return seen[0]")
        # The next race opens at once, and the result stays until one is ready for it.
        browser.wait_for_text(".ending h2", "You won")
        browser.wait_for_text(".ending .places", f"{ada.name}: ")
        browser.wait_for_text(".ending .verdict", "The deal checks out")
        browser.expect_texts(".waiting-room", [])
        browser.look(width=390, height=844)
        in_view = "return document.querySelector('.ending .main-button').getBoundingClientRect().bottom < innerHeight"
        browser.wait(lambda now: now.run(in_view), "the button in view")
        browser.press("Ready")
        browser.wait_for_text(".seats", "(you) ready")
        browser.expect_texts(".ending", [])
        ada.race += 1
        ada.ready()
        ada.start()
        ada.send("resign", race=ada.race, seat=ada.seat)
        # Who won the series goes before who won its last race, and one's own points before the other's.
        told = browser.wait_for_text(".ending h2", "You have won the best of 3: ")
        assert told.endswith(f" 2 : 0 {ada.name}.")
        browser.expect_text(".ending h2 ~ p:not([hidden], .flourish)", "You won!")


def buttons_are_above(height: int, now: Page) -> bool:
    """height: pixels from the top of the page."""
    return bool(now.run("return document.querySelector('.game .actions').getBoundingClientRect().bottom + scrollY") <= height)


def ways_are_above(height: int, now: Page) -> bool:
    """Whether two ways to race are, at least. height: pixels from the top of the window."""
    bottoms = now.run("return [...document.querySelectorAll('.start .way button')].map((each) => each.getBoundingClientRect().bottom)")
    return len([bottom for bottom in bottoms if bottom <= height]) >= 2


def heads_are_right(now: Page) -> bool:
    """The player's own bar, then Ada's, each headed by one line."""
    heads = now.run("return [...document.querySelectorAll('.game .bar-head')].map((each) => [each.textContent, each.offsetHeight])")
    return len(heads) == 2 and " (you) " in heads[0][0] and heads[1][0].startswith("Ada") and all(high < 30 for _, high in heads)


def labels(now: Page) -> list[str]:
    """The names of columns, rows and reserves that are written where they are to be seen: on the felt, and none of them over a card."""
    return list(
        now.run("""
            const boxOf = (node) => node.getBoundingClientRect();
            const felt = boxOf(document.querySelector(".felt"));
            const cards = [...document.querySelectorAll(".felt .card")];
            const isBeside = (box, other) => box.left >= other.right || box.right <= other.left;
            const isOver = (box, other) => !isBeside(box, other) && box.top < other.bottom && other.top < box.bottom;
            return [...document.querySelectorAll(".felt .label")].filter((label) => {
                const box = boxOf(label), own = label.classList.contains("own") && label.parentElement.querySelector(".card");
                const isOn = box.left >= felt.left - 1 && box.right <= felt.right && box.top >= felt.top && box.bottom <= felt.bottom;
                return isOn && label.checkVisibility() && !cards.some((card) => card !== own && isOver(box, boxOf(card)));
            }).map((label) => label.textContent);
        """)
    )


def test_the_rules_are_told_whole_before_a_game_is_chosen_and_at_the_table(browser: Browser, server: str) -> None:
    browser.open(page(server, "/play"))
    for rules in SHAPES:
        browser.choose("#rules", rules)
        browser.expect_text(".start .explained", RULE_SETS[rules].explanation)
    browser.press("Make a link")
    browser.expect_text(".waiting-room .explained", RULE_SETS[SHAPES[-1]].explanation)
    browser.wait_for_text(".waiting-room", "Rated. At most 10:00.")
    browser.press("Leave")


def test_ways_to_race_come_before_what_few_change(browser: Browser, server: str) -> None:
    browser.open(page(server, "/play"))
    browser.wait_for_text(".start .explained", "The four Aces lie ready")
    for width, height in ((390, 844), (1366, 650)):
        browser.look(width=width, height=height)
        browser.wait(partial(ways_are_above, height), f"two ways to race within {height} pixels")
    browser.look(width=360, height=640)
    browser.open(page(server, "/play"))
    browser.wait_for_text(".start .explained", "The four Aces lie ready")
    first_way = "return document.querySelector('.start .way button').getBoundingClientRect().bottom <= innerHeight"
    browser.wait(lambda now: now.run(first_way), "the first way to race in view")
    browser.run("document.querySelector('.start .more').open = true")
    browser.choose("#limit", "300")
    browser.press("Make a link")
    browser.wait_for_text(".waiting-room", "At most 5:00.")


def test_the_code_of_a_race_is_seen_whole_on_a_phone_whatever_its_rules_are_called(browser: Browser, server: str) -> None:
    browser.look(width=390, height=500)
    with racing(browser, server, rules="carpet-strategy") as ada:
        browser.wait(lambda now: now.all("body.racing"), "the page of a race that is run")
        # From the top, though Ready was further down.
        browser.expect(lambda now: now.run("return scrollY"), 0)
        browser.wait_for_text(".facts", ada.code)
        measured = "const text = document.createRange(), facts = document.querySelector('.facts');"
        measured += (
            "text.setStart(facts.firstChild, 0); text.setEnd(facts.firstChild, facts.textContent.indexOf(given[0]) + given[0].length);"
        )
        measured += "return text.getBoundingClientRect().right <= facts.getBoundingClientRect().right - 12"
        browser.wait(lambda now: now.run(measured, ada.code), "the whole code")


def test_every_shape_of_board_can_be_played_on_a_phone_with_its_names_hint_and_buttons_seen_at_once(browser: Browser, server: str) -> None:
    for rules in SHAPES:
        told = describe(RULE_SETS[rules])
        reserves = [f"p{number}" for number in range(1, told.reserves + 1)]
        names = [*"abcdefghij"[: told.columns], *"12345678"[: told.rows], *reserves]
        with racing(browser, server, rules=rules, deal="at once"):
            # The cards are drawn as they come, what lies around them with the next frame.
            browser.wait(lambda now: now.all("body.racing"), "the page of a race that is run")
            for width, height in ((390, 844), (360, 740), (844, 390), (667, 375), (1366, 650)):
                browser.look(width=width, height=height)
                browser.wait(partial(buttons_are_above, height), f"{rules}: the buttons within {width} by {height}")
                browser.wait(heads_are_right, f"{rules}: who races, a line each, at {width} by {height}")
                browser.expect(lambda now: sorted(labels(now)), sorted(names))
            browser.look(width=390, height=844)
            browser.expect(too_wide, [])
            play_one(browser)
            browser.look(width=320, height=640, scheme="dark")
            browser.expect(too_wide, [])
            browser.expect(too_pale, [])
            give_up(browser)
            browser.wait_for_text(".verdict", "The deal checks out")


def test_the_cards_of_a_quilt_hold_rank_and_suit_on_the_smallest_phone_and_its_reserves_stand_in_rows_of_one_length(
    browser: Browser, server: str
) -> None:
    with racing(browser, server, rules="persian-rug"):
        browser.look(width=640, height=360)
        outside = """
            return [...document.querySelectorAll(".layout .card:not(.sideways)")].filter((card) => {
                const all = document.createRange();
                all.selectNodeContents(card);
                const [text, box] = [all, card].map((each) => each.getBoundingClientRect());
                return text.top < box.top || text.bottom > box.bottom;
            }).map((card) => card.textContent);
        """
        browser.expect(lambda now: now.run(outside), [])
        for (width, height), rows in {(390, 844): 1, (844, 390): 2, (667, 375): 2, (1366, 650): 2, (1920, 1080): 2}.items():
            browser.look(width=width, height=height)
            tops = "return [...document.querySelectorAll('.held-back .place')].map((each) => each.offsetTop)"
            browser.expect(lambda now: sorted(Counter(now.run(tops)).values()), [8 // rows] * rows)  # noqa: B023 -- read before it changes


def test_letters_of_twice_the_size_leave_a_phone_no_wider_than_it_is_and_the_opponents_name_on_it(browser: Browser, server: str) -> None:
    # As somebody sets it in their browser: where a style sheet says rem, it follows.
    large = "document.adoptedStyleSheets = [new CSSStyleSheet()]; document.adoptedStyleSheets[0].insertRule(':root { font-size: 200% }')"
    browser.look(width=360, height=740)
    browser.open(page(server, "/play"))
    browser.wait_for_text(".start .explained", "The four Aces lie ready")
    browser.run(large)
    browser.expect(too_wide, [])
    with racing(browser, server) as ada:
        browser.run(large)
        # The heading cuts a long name off.
        browser.expect(lambda now: [each for each in too_wide(now) if each != "BDI name"], [])
        wide = "return document.querySelector('.title h1').getBoundingClientRect().width"
        browser.wait(lambda now: ada.name in now.text("h1") and now.run(wide) > 200, "the opponent's name")


def test_cards_of_a_replay_lie_on_their_felt_where_the_system_has_its_own_colours(browser: Browser, server: str) -> None:
    browser.look(forced="active")
    browser.open(page(server, "/play"))
    browser.wait_for_text("h1", "Play")
    felt = "const board = document.createElement('table'); board.className = 'board'; document.body.append(board);"
    assert browser.run(f"{felt} return getComputedStyle(board).backgroundColor") == "rgb(31, 107, 69)"
    browser.open(page(server, "/web/icon.svg"))


def test_a_race_survives_a_reload_a_cut_connection_and_a_second_window(browser: Browser, server: str) -> None:
    with racing(browser, server) as ada:
        play_one(browser)
        before = drawn_table(browser)
        browser.driver.refresh()
        browser.expect(table, before)
        wait_for_cards(browser)
        # The line is cut under a move: it is shown, and is said again.
        browser.run("lines.at(-1).close(); document.querySelector('.place.playable').click()")
        wait_for_connection(browser, 2)
        browser.wait(lambda now: own_moves(now) == 1 or now.all(".place.choice"), "the move that was cut off")
        play_one(browser)
        first = browser.driver.current_window_handle
        browser.driver.switch_to.new_window("tab")
        browser.open(page(server, f"/play/{ada.code}"))
        wait_for_cards(browser)
        second = browser.driver.current_window_handle
        browser.driver.switch_to.window(first)
        browser.wait_for_text(".play .notice", "You are playing in another window.")
        browser.press("Go on here")
        wait_for_connection(browser, 3)
        play_one(browser)
        browser.driver.switch_to.window(second)
        browser.wait_for_text(".play .notice", "You are playing in another window.")
        browser.driver.close()
        browser.driver.switch_to.window(first)
        give_up(browser)
        # What was seen before the reload is still known: the proof is whole.
        browser.wait_for_text(".verdict", "The deal checks out: nobody chose the cards.")


def wait_for_connection(browser: Browser, number: int) -> None:
    """Until the connection of this number on the page stands: before that no card can be played."""
    browser.wait(lambda now: len(heard(now, "welcome")) >= number, f"connection {number}")


def table(now: Page | Browser) -> list[str]:
    return list(now.run("return [...document.querySelectorAll('.layout .place')].map((place) => place.ariaLabel)"))


def drawn_table(browser: Browser) -> list[str]:
    """The table after all that was heard so far."""
    browser.settle()
    return table(browser)


def test_a_race_survives_a_server_that_is_killed(chromium: Browser, port: int, tmp_path: Path) -> None:
    options = ("--port", str(port), "--database", str(tmp_path / "races.sqlite3"), "--rate", "1000", "--burst", "1000")
    chromium.look()
    with ExitStack() as killed:
        url, process = killed.enter_context(running_server(*options))
        chromium.open(page(url, "/play"))
        chromium.wait(lambda now: now.all("#bot option"), "the bots")
        chromium.run("document.querySelector('#bot').value = 'random'")
        chromium.press("Race the bot")
        chromium.press("Ready")
        wait_for_cards(chromium)
        for _ in range(3):
            play_one(chromium)
        before = drawn_table(chromium)
        process.send_signal(signal.SIGKILL)
        chromium.wait_for_text("#connection", "Connection lost.")
        # It is not to have stopped well.
        with pytest.raises(AssertionError):
            killed.close()
    with running_server(*options):
        chromium.wait(lambda now: not now.text("#connection"), "the connection")
        chromium.expect(table, before)
        play_one(chromium)
        give_up(chromium)
        chromium.wait_for_text(".verdict", "The deal checks out: nobody chose the cards.")
    chromium.open("about:blank")
    # Of the lost line and the tries to have another the console tells.
    chromium.complaints()


def test_whoever_comes_while_the_server_cannot_write_has_their_seat_as_soon_as_it_can(browser: Browser, tmp_path: Path) -> None:
    database = tmp_path / "races.sqlite3"
    with running_server("--database", str(database)) as (url, _), sitting(url, "Ada", countdown_s=1, public=False) as ada:
        browser.open(page(url, f"/play/{ada.code}"))
        browser.wait(lambda now: "Ready" in now.texts("button"), "the invitation")
        with closing(sqlite3.connect(database, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            ada.ready()
            ada.hear_until("error", code="server/cannot-write")
            browser.press("Ready")
            browser.wait_for_text(".notice", "The server cannot save anything just now.")
        ada.start()
        wait_for_cards(browser)
        # The one who looked on, and the player: no connection was given up.
        assert browser.run("return lines.length") == 2
        # Or it would complain of the server that goes.
        browser.open("about:blank")


def test_ready_that_nobody_has_answered_is_said_again_by_the_page_that_is_loaded_anew(browser: Browser, server: str) -> None:
    with sitting(server, "Ada", countdown_s=1, public=False) as ada:
        browser.open(page(server, f"/play/{ada.code}"))
        browser.wait_for_text("h1", f"Race {ada.name}")
        # As the page does itself where its server knows of another one only since: what is pressed goes nowhere.
        browser.run("WebSocket = class { close() {} }")
        browser.run("[...document.querySelectorAll('button')].find((each) => each.textContent === 'Ready').click(); location.reload()")
        ada.hear_of("player-ready")
        ada.ready()
        ada.start()
        wait_for_cards(browser)
        # Once, and not in a race that they only come back to.
        assert browser.run("return sessionStorage.getItem('carpet.pressed')") is None
        browser.open("about:blank")


def test_what_is_said_without_a_connection_is_kept_in_its_field(browser: Browser, server: str) -> None:
    with sitting(server, "Ada", countdown_s=1, public=False) as ada:
        open_link(browser, server, ada.code)
        browser.wait_for_text(".waiting-room", "(you) ready")
        browser.type("#say", "Good luck")
        browser.run("dispatchEvent(new Event('offline'))")
        browser.type("#say", Keys.ENTER)
        browser.wait_for_text(".play .notice", "Not connected: that was not sent.")
        browser.expect(lambda now: now.values("#say"), ["Good luck"])
        # After the one who looked on, and the player.
        wait_for_connection(browser, 3)
        browser.type("#say", Keys.ENTER)
        browser.wait_for_text(".lines", "Good luck")
        browser.expect(lambda now: now.values("#say"), [""])


def test_a_house_bot_is_told_of_before_it_is_raced_and_the_terminals_is_the_first_choice(browser: Browser, server: str) -> None:
    browser.open(page(server, "/play"))
    browser.wait_for_text(".ways", HOUSE_BOTS["greedy"].explanation)
    browser.choose("#bot", "deep")
    browser.wait_for_text(".ways", HOUSE_BOTS["deep"].explanation)


def test_the_games_of_the_day_are_gone_through_by_keys_before_one_is_shown(browser: Browser, server: str) -> None:
    browser.open(page(server, "/daily"))
    games = browser.wait(lambda now: now.values("#rules option")[2:] and now.values("#rules option"), "the games")
    browser.expect(lambda now: now.values("#rules"), games[:1])
    browser.type("#rules", Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    browser.expect(lambda now: now.values("#rules"), games[2:3])
    browser.expect(lambda now: now.address, page(server, "/daily"))
    browser.press("Show")
    browser.wait(lambda now: now.address.endswith(f"/{games[2]}"), "the board of that game")


def test_the_deal_of_the_day_is_run_alone(browser: Browser, server: str) -> None:
    browser.open(page(server, "/daily"))
    link = page(server, "/play?daily&rules=carpet")
    browser.expect(lambda now: now.links(".main-link"), [link])
    browser.open(link + "-whist")
    browser.wait_for_text(".ways h2", "Today’s deal")
    browser.press("Run today’s deal")
    browser.wait_for_text("h1", "A run alone")
    browser.press("Ready")
    wait_for_cards(browser)
    browser.keys("t")
    # There is nobody to say anything to.
    browser.expect_texts("dialog", [])
    give_up(browser)
    browser.wait_for_text(".ending", "home at ")
    browser.wait_for_text(".ending .runs", "Place 1 of 1 run so far.")
    browser.wait_for_text(".ending .runs li", "(you)")
    browser.wait_for_text(".ending .runs code", "Carpet Race, deal of 2")
    browser.press("Leave")
    browser.look(width=360, height=640)
    browser.press("Run today’s deal")
    browser.wait_for_text(".notice", "You have had your run of that deal, and only one counts.")
    # The button is a long way down a phone, and the notice above everything.
    browser.wait(lambda now: now.run(IN_VIEW, ".notice"), "the notice in view")
    browser.look()
    # Its board is theirs to see at once, in the page of the day as well.
    browser.open(link.replace("/play?daily&rules=carpet", "/daily"))
    browser.wait_for_text(".tables-page", "You see the board once you have had your run")
    browser.choose("#rules", "carpet-whist")
    browser.press("Show")
    browser.wait_for_text(".standings tbody", "(you)")
    browser.wait_for_text(".tables-page .field", "You have had your run.")
    browser.expect(lambda now: now.links(".main-link"), [])


def choose(browser: Browser, label: str, words: str, inside: str) -> None:
    """An option of a select, by its words, in an open `details`."""

    def chosen(_: Page) -> bool:
        for each in browser.driver.find_elements("css selector", f"{inside} .option"):
            if each.is_displayed() and each.text.startswith(label):
                Select(each.find_element("css selector", "select")).select_by_visible_text(words)
                return True
        return False

    browser.wait(chosen, f"the field {label!r}")


def has_fields(summary: WebElement, now: Page) -> bool:
    return bool(now.run("return given[0].parentNode.querySelector('.option') !== null", summary))


def test_a_series_and_a_tournament_are_made_with_all_that_a_terminal_asks(browser: Browser, server: str) -> None:
    browser.open(page(server, "/play"))
    browser.wait(lambda now: now.all("#rules option"), "the form")
    for summary in browser.driver.find_elements("css selector", ".start .more summary"):
        # What is fetched for the first moves the second.
        summary.click()
        browser.wait(partial(has_fields, summary), "the fields")
    browser.expect(breaches, [])
    for width in (320, 1280):
        browser.look(width=width)
        browser.expect(too_wide, [])
    choose(browser, "Series", "best of 3", ".more")
    browser.press("Make a link")
    browser.wait_for_text(".waiting-room", "Best of 3.")
    browser.press("Leave")
    browser.wait_for_text(".play .notice", "You have left the race.")
    for label, words in (("Format", "elimination"), ("Out after", "two losses"), ("Drawn races", "run again once")):
        choose(browser, label, words, ".ways ~ .more")
    for label, words in (("Rated", "no"), ("Places", "16"), ("Bots fill", "up to 4"), ("Check-in", "5:00 min")):
        choose(browser, label, words, ".ways ~ .more")
    for label, words in (("Pause", "when you say so"), ("Listed", "no, by its id only"), ("House bot", "greedy"), ("No-show", "30 s")):
        choose(browser, label, words, ".ways ~ .more")
    (word,) = (each for each in browser.driver.find_elements("css selector", ".ways ~ .more .option") if each.text.startswith("Entry code"))
    word.find_element("css selector", "input").send_keys("x" * (ENTRY_CODE_LENGTH + 1))
    # What a bot does is said below it, as it is in the terminal.
    browser.wait_for_text(".ways ~ .more .options", HOUSE_BOTS["greedy"].explanation)
    browser.press("Make it")
    browser.wait_for_text(".tournament .facts", "Double elimination · Carpet · director ")
    tournament = browser.wait(lambda now: now.address.partition("/tournament/")[2], "the tournament's page")
    document = browser.run("return await (await fetch(`/tournaments/${given[0]}.json`)).json()", tournament)
    chosen = TournamentOptions(
        name=USUAL_NAME,
        format="elimination",
        double=True,
        replays=1,
        rated=False,
        places=16,
        fill=4,
        bot="greedy",
        check_in_s=300,
        no_show_s=30,
        pause_s=None,
        public=False,
    )
    assert msgspec.convert(document["options"], TournamentOptions) == chosen
    assert document["by_code"]
