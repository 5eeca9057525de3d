"""Racing in a real Chromium: against another browser, against a terminal, by mouse, touch and keys, through reloads, cuts and kills.

No test sleeps: each waits for what the page should show.
"""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from client.cli.shared import address_of
from client.storage.identity_transfer import read_export
from protocol.fairness import named_seed
from protocol.forms import USUAL_NAME
from protocol.tournaments import TournamentOptions
from server.bots.house import HOUSE_BOTS
from server.rules.catalogue import RULE_SETS
from server.solver.solve import solve
from tests.e2e.browser import Browser, open_browser, page
from tests.e2e.commands import SHAPES, environment, running_server, serving_at_noon
from tests.e2e.page_checks import CONTRAST, OVERFLOW
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
    browser.wait(lambda: browser.all(".place.playable"), "cards to play")


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


def own_bar(browser: Browser) -> int:
    """Cards home, as the player's own bar says."""
    said = browser.run("return document.querySelector('.game .meter').ariaValueNow")
    return int(said)


PRESS_PLACE = "const place = document.querySelector(given[0]); place?.click(); return place !== null"


def play_one(browser: Browser) -> None:
    """Play a move: click a card that can be played, home first; then, where it asks, where to."""
    before = own_moves(browser)
    if not browser.all(".place.choice"):
        browser.wait(lambda: browser.run(PRESS_PLACE, ".place.playable"), "a card to play")
        browser.wait(lambda: own_moves(browser) > before or browser.all(".place.choice"), "the move, or where to")
    if own_moves(browser) == before:
        browser.wait(lambda: browser.run(PRESS_PLACE, ".place.choice") or own_moves(browser) > before, "a place to go to")
        browser.wait(lambda: own_moves(browser) > before, "the move")


def own_moves(browser: Browser) -> int:
    """How many moves the server has answered with a view."""
    return int(browser.run("return heard.filter((text) => JSON.parse(text).type === 'view').length"))


def views(browser: Browser) -> list[dict[str, Any]]:
    return [json.loads(text) for text in browser.run("return heard")]


def test_a_link_leads_to_a_seat_and_the_race_is_checked_in_the_page(browser: Browser, server: str) -> None:
    with sitting(server, "Ada", countdown_s=1, public=False) as ada:
        browser.open(page(server, f"/play/{ada.code}"))
        browser.wait_for_text("h1", f"Race {ada.name}")
        assert "Build each foundation up in suit" in browser.text(".explained")
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
        browser.wait(lambda: browser.run("return document.querySelectorAll('.game .meter')[1].ariaValueNow") == str(ada.home), "Ada's bar")
        assert browser.run(CONTRAST)[1] == []
        assert browser.breaches() == []
        give_up(browser)
        record = ada.hear_of("result")["record"]
        browser.wait_for_text(".ending h2", f"{ada.name} won")
        assert [seat["name"] for seat in record["seats"]] == [ada.name, "Bea"]
        assert browser.text(".verdict") == "The deal checks out: nobody chose the cards."
        assert [each.content[0] for each in browser.all(".checks li")] == ["✓"] * 5
        nonce = record["deal"]["nonces"][1]
        assert len(set(nonce)) > 4, nonce
        assert browser.breaches() == []
        told = views(browser)
        seen = {card for message in told if message["type"] in ("dealt", "view", "current-view") for card in cards_in(message["view"])}
        # Whatever came before the result and was not this player's own view held no card at all.
        before_result = told[: next(at for at, message in enumerate(told) if message["type"] == "result")]
        others = [message for message in before_result if message["type"] not in ("dealt", "view", "current-view", "welcome")]
        assert seen
        assert others
        assert not any(cards_in(message) for message in others)


def cards_in(document: Any) -> set[str]:
    return set(re.findall(r'"((?:[A2-9TJQK][SHDC]))"', json.dumps(document)))


def test_two_browsers_race_again(browser: Browser, server: str) -> None:
    browser.open(page(server, "/play"))
    browser.press("Make a link")
    browser.wait_for_text(".invitation, .command code", "/play/")
    code = browser.text(".waiting-room code").rpartition("/")[2]
    with open_browser() as other:
        other.look(width=1280, height=800)
        open_link(other, server, code)
        browser.press("Ready")
        for each in (browser, other):
            wait_for_cards(each)
        for each in (browser, other):
            each.run("document.querySelector('.place.playable').click()")
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
            assert not each.all(".ending"), "the result before would push the table out of sight"
        assert browser.driver.current_url == other.driver.current_url
        give_up(browser)
        other.wait_for_text(".ending h2", "You won")
        # The one browser's player goes on in the other, whose own player is kept there.
        saving = """
            URL.createObjectURL = (blob) => { window.saved = blob.text(); return "#"; };
            [...document.querySelectorAll(".more button")].at(-1).click();
            return await window.saved;
        """
        browser.click(".play > .more summary")
        browser.wait_for_text(".play > .more code", "/play#be=")
        link = browser.text(".play > .more code")
        exported = read_export(browser.run(saving).encode())
        assert address_of(server).url in exported.servers
        other.open("about:blank")
        other.open(link)
        other.press("Be that player", "dialog")
        other.wait_for_text(".ending h2", "won")
        # The record, and with it what was checked, comes after the result.
        other.wait_for_text(".verdict", "Nothing is wrong with the deal")
        browser.wait_for_text(".play .notice", "You are playing in another window.")
        assert other.driver.current_url.rpartition("#")[2] in ("", other.driver.current_url)
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
            browser.wait(lambda: browser.driver.current_url == page(server, f"/play/{grace.code}"), "the seat")
        browser.wait_for_text(".seats", "open seat")
        browser.press("Leave")
        browser.wait_for_text(".play .notice", "You have left the race.")


def test_a_terminal_and_a_browser_run_the_same_race(browser: Browser, server: str, tmp_path: Path) -> None:
    browser.open(page(server, "/play"))
    browser.press("Make a link")
    browser.wait_for_text(".waiting-room code", "/play/")
    code = browser.text(".waiting-room code").rpartition("/")[2]
    command = [sys.executable, "-m", "client.cli.main", "join", server, code, "--name", "Terry"]
    with Terminal(command, environment=environment(tmp_path, terminal_environment()), columns=100, rows=30) as terminal:
        browser.wait_for_text(".waiting-room .seats", "Terry")
        terminal.wait_for("ready")
        terminal.type("r")
        browser.press("Ready")
        wait_for_cards(browser)
        terminal.wait_for("home")
        for _ in range(3):
            play_one(browser)
        home = own_bar(browser)
        terminal.wait_for(f"{home}/52")
        terminal.type("s")
        own = next(message["seat"] for message in views(browser) if message["type"] == "room")
        browser.wait(lambda: any(m["type"] == "progress" and m["seat"] != own for m in views(browser)), "the terminal's move")
        give_up(browser)
        browser.wait_for_text(".ending h2", "Terry won")
        terminal.type("q")
        terminal.type("y")


def test_a_race_is_won_by_touch_on_a_phone(browser: Browser, server: str) -> None:
    deal = next(name for name in (f"phone {number}" for number in range(50)) if line_of(name))
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    with sitting(server, "Ada", countdown_s=1, deal=deal, rules="carpet-free") as ada:
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})

        def has_moved(number: int) -> bool:
            return own_moves(browser) >= number

        def has_moved_or_held(number: int) -> bool:
            return has_moved(number) or bool(browser.all(".place.held"))

        try:
            open_link(browser, server, ada.code)
            ada.ready()
            ada.start()
            wait_for_cards(browser)
            assert browser.run(OVERFLOW) == [0, []]
            # The whole table is in view, and everybody's bars.
            bottom = browser.run("return [document.querySelector('.felt').getBoundingClientRect().bottom, innerHeight]")
            assert bottom[0] <= bottom[1]
            for number, move in enumerate(line_of(deal), 1):
                assert not re.search(r"\bg\b", browser.text(".hint"), re.IGNORECASE), "a key, where there is none"
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
        assert own_bar(browser) == 52
        assert browser.run(OVERFLOW) == [0, []]


def line_of(deal: str) -> tuple[str, ...]:
    position = RULE_SETS["carpet-free"].deal(named_seed(deal))
    return solve(position).moves


def tap(browser: Browser, place: str) -> None:
    script = (
        "const { x, y, width, height } = document.querySelector(given[0]).getBoundingClientRect(); return [x + width / 2, y + height / 2]"
    )
    x, y = browser.run(script, f"[data-place='{place}']")
    point = {"x": x, "y": y}
    browser.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    browser.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_the_keys_are_those_of_the_terminal(browser: Browser, server: str) -> None:
    # A deal by name: its first card home could go elsewhere too, and so is held first, and more cards go home after it.
    with racing(browser, server, rules="persian-rug", deal="rug") as ada:
        place = next(move for move in ada.view["moves"] if ":" not in move).rstrip("+-")
        keys = ActionChains(browser.driver)
        # By its name, and by its name again.
        keys.send_keys(place).perform()
        browser.wait(lambda: browser.all(".place.held"), "the card that is held")
        keys.send_keys(place).perform()
        browser.wait(lambda: own_moves(browser) == 1, "the move")
        # Written whole, as the specification writes it.
        written = next(message["view"]["moves"] for message in reversed(views(browser)) if message["type"] == "view")[0]
        assert ":" in written
        keys.send_keys(":").perform()
        browser.type("#move", "z9:w", Keys.ENTER)
        browser.wait_for_text(".hint", "z9:w is not a legal move now.")
        keys.send_keys(":").perform()
        browser.type("#move", written, Keys.ENTER)
        browser.wait(lambda: own_moves(browser) == 2, f"the move {written}")
        keys.send_keys("?").perform()
        browser.wait_for_text("dialog h2", "Keys of a race")
        # From this very moment keys are the table's again.
        assert browser.run("document.querySelector('dialog button').click(); return document.activeElement.tagName") == "BODY"

        def moves_are(number: int) -> bool:
            return own_moves(browser) == number

        for moves in (3, 4, 5):
            keys.send_keys(" ").perform()
            browser.wait(partial(moves_are, moves), f"move {moves}, by the next card home")
        keys.send_keys("K").perform()
        browser.press("Stop", "dialog")
        browser.wait_for_text(".hint", "You stopped.")
        browser.press("Leave …")
        browser.press("Stay", "dialog")
        ada.stop()
        browser.wait_for_text(".verdict", "The deal checks out")


def test_no_key_is_lost_after_a_phrase_or_beside_the_table_and_what_is_not_played_is_told(browser: Browser, server: str) -> None:
    with racing(browser, server):
        keys = ActionChains(browser.driver)
        # To look at the phrases says none of them.
        keys.send_keys("t", Keys.ARROW_DOWN, Keys.TAB, "n", Keys.ESCAPE, "t", "3").perform()
        browser.wait_for_text(".lines", "Nice!")
        assert len(browser.all(".talk .lines li")) == 1
        keys.send_keys("M").perform()
        browser.wait_for_text(".hint", "Cards do not glide.")
        browser.run("document.querySelector('.play details summary').focus()")
        keys.send_keys("t", Keys.ESCAPE, "M").perform()
        browser.wait_for_text(".hint", "Cards glide.")
        browser.run("document.activeElement.blur()")
        for chosen in ("dialog button", "dialog p:last-child button"):
            browser.run("const say = document.querySelector('.talk button'); say.focus(); say.click()")
            browser.run(f"document.querySelector('{chosen}').click()")
            assert browser.run("return document.activeElement.tagName") == "BODY", "the space bar is for the table again"
        for closed_by in ("dialog.querySelector('button').click()", "dialog.dispatchEvent(new Event('cancel'))"):
            keys.send_keys("?").perform()
            browser.wait_for_text("dialog h2", "Keys of a race")
            focused = f"const dialog = document.querySelector('dialog'); {closed_by}; return document.activeElement.tagName"
            assert browser.run(focused) == "BODY"
        browser.run("WebSocket.prototype.send = () => {}")
        keys.send_keys("s", "w").perform()
        browser.wait_for_text(".hint", "Waiting to be played: w.")
        browser.run("dispatchEvent(new Event('offline'))")
        browser.wait_for_text(".hint", "Not played: w. Not connected:")


def test_a_line_that_is_sent_as_the_race_starts_is_kept_until_it_is_over_and_the_page_says_why(browser: Browser, server: str) -> None:
    with racing(browser, server):
        browser.run("document.querySelector('#say').value = 'Have fun, Ada!'")
        browser.run("document.querySelector('#say').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }))")
        browser.wait_for_text(".hint", "Only phrases can be said here")
        assert browser.run("return document.querySelector('#say').value") == "Have fun, Ada!"


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
        assert browser.run("return document.querySelector('#say').value") == "Have fun, Ada!"
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
        assert browser.run("return document.querySelector('#say').value") == ""


def test_what_was_meant_for_the_table_as_the_race_ended_asks_for_no_other_race(browser: Browser, server: str) -> None:
    with racing(browser, server) as ada:
        browser.run("""
            window.seen = [];
            new MutationObserver(() => {
                const buttons = [...document.querySelectorAll(".ending .actions button")];
                if (buttons.length) seen.push(buttons.every((each) => each.disabled));
            }).observe(document.querySelector(".parts"), { childList: true });
        """)
        ada.send("resign", race=ada.race, seat=ada.seat)
        browser.wait_for_text(".ending h2", "You won")
        assert browser.run("return seen[0]")
        browser.press("Another race")
        browser.wait_for_text(".ending", "Waiting for the others to ask for another race too.")


def test_what_was_meant_for_the_table_as_a_race_of_a_series_ended_does_not_give_the_series_up(browser: Browser, server: str) -> None:
    with racing(browser, server, series={"format": "best-of", "races": 3}) as ada:
        browser.run("""
            window.seen = [];
            new MutationObserver(() => {
                const buttons = [...document.querySelectorAll(".ending .actions button")];
                if (buttons.length) seen.push(buttons.every((each) => each.disabled));
            }).observe(document.querySelector(".parts"), { childList: true });
        """)
        ada.send("resign", race=ada.race, seat=ada.seat)
        browser.wait_for_text(".ending", "Race 2 is next.")
        assert browser.run("return seen[0]")
        # The next race opens at once, and the result stays until one is ready for it.
        browser.wait_for_text(".ending h2", "You won")
        browser.wait_for_text(".ending .places", f"{ada.name}: ")
        browser.wait_for_text(".ending .verdict", "The deal checks out")
        assert not browser.all(".waiting-room")
        browser.look(width=390, height=844)
        assert browser.run("return document.querySelector('.ending .main-button').getBoundingClientRect().bottom < innerHeight")
        browser.press("Ready")
        browser.wait_for_text(".seats", "(you) ready")
        assert not browser.all(".ending")


def test_every_shape_of_board_fits_a_phone_and_can_be_played(browser: Browser, server: str) -> None:
    for rules in SHAPES:
        browser.look(width=390, height=844)
        with racing(browser, server, rules=rules):
            assert browser.run(OVERFLOW) == [0, []], rules
            play_one(browser)
            browser.look(width=320, height=640, scheme="dark")
            assert browser.run(OVERFLOW) == [0, []], rules
            assert browser.run(CONTRAST)[1] == [], rules
            give_up(browser)
            browser.wait_for_text(".verdict", "The deal checks out")


def buttons_are_above(height: int, browser: Browser) -> bool:
    """height: pixels from the top of the page."""
    return bool(browser.run("return document.querySelector('.game .actions').getBoundingClientRect().bottom + scrollY") <= height)


def ways_are_above(height: int, browser: Browser) -> bool:
    """Whether two ways to race are, at least. height: pixels from the top of the window."""
    bottoms = browser.run("return [...document.querySelectorAll('.start .way button')].map((each) => each.getBoundingClientRect().bottom)")
    return len([bottom for bottom in bottoms if bottom <= height]) >= 2


def test_ways_to_race_come_before_what_few_change(browser: Browser, server: str) -> None:
    browser.open(page(server, "/play"))
    browser.wait_for_text(".start .explained", "The four Aces lie ready")
    for width, height in ((390, 844), (1366, 650)):
        browser.look(width=width, height=height)
        # The page may still be on its way to this size.
        browser.wait(partial(ways_are_above, height, browser), f"two ways to race within {height} pixels")
    browser.look(width=360, height=640)
    browser.open(page(server, "/play"))
    browser.wait_for_text(".start .explained", "The four Aces lie ready")
    assert browser.run("return document.querySelector('.start .way button').getBoundingClientRect().bottom") <= 640
    browser.run("document.querySelector('.start .more').open = true")
    browser.choose("#limit", "300")
    browser.press("Make a link")
    browser.wait_for_text(".waiting-room", "At most 5:00.")


def test_the_code_of_a_race_is_seen_whole_on_a_phone_whatever_its_rules_are_called(browser: Browser, server: str) -> None:
    browser.look(width=390, height=500)
    with racing(browser, server, rules="carpet-strategy") as ada:
        browser.wait(lambda: browser.all("body.racing"), "the page of a race that is run")
        assert browser.run("return scrollY") == 0, "from the top, though Ready was further down"
        browser.wait_for_text(".facts", ada.code)
        measured = "const text = document.createRange(), facts = document.querySelector('.facts');"
        measured += (
            "text.setStart(facts.firstChild, 0); text.setEnd(facts.firstChild, facts.textContent.indexOf(given[0]) + given[0].length);"
        )
        measured += "return text.getBoundingClientRect().right <= facts.getBoundingClientRect().right - 12"
        assert browser.run(measured, ada.code)


def test_table_hint_and_buttons_of_every_shape_are_seen_at_once_on_a_phone_and_a_small_laptop(browser: Browser, server: str) -> None:
    for rules in SHAPES:
        with racing(browser, server, rules=rules, deal="at once"):
            # The cards are drawn as they come, what lies around them with the next frame.
            browser.wait(lambda: browser.all("body.racing"), "the page of a race that is run")
            for width, height in ((390, 844), (360, 740), (844, 390), (667, 375), (1366, 650)):
                browser.look(width=width, height=height)
                browser.wait(partial(buttons_are_above, height, browser), f"{rules}: the buttons within {width} by {height}")
                heads = browser.run(
                    "return [...document.querySelectorAll('.game .bar-head')].map((each) => [each.textContent, each.offsetHeight])"
                )
                assert " (you) " in heads[0][0]
                assert heads[1][0].startswith("Ada")
                assert all(high < 30 for _, high in heads), "one line each"
            give_up(browser)
            browser.wait_for_text(".verdict", "The deal checks out")


def test_a_race_survives_a_reload_a_cut_connection_and_a_second_window(browser: Browser, server: str) -> None:
    with racing(browser, server) as ada:
        play_one(browser)
        before = table(browser)
        browser.driver.refresh()
        browser.wait(lambda: table(browser) == before, "the same table")
        # The line is cut under a move: it is shown, and is said again.
        browser.run("lines.at(-1).close(); document.querySelector('.place.playable').click()")
        wait_for_connection(browser, 2)
        browser.wait(lambda: own_moves(browser) == 1 or browser.all(".place.choice"), "the move that was cut off")
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
    welcomes = "return heard.filter((text) => JSON.parse(text).type === 'welcome').length"
    browser.wait(lambda: int(browser.run(welcomes)) >= number, f"connection {number}")


def table(browser: Browser) -> list[str]:
    return list(browser.run("return [...document.querySelectorAll('.layout .place')].map((place) => place.ariaLabel)"))


def test_a_race_survives_a_server_that_is_killed(chromium: Browser, port: int, tmp_path: Path) -> None:
    options = ("--port", str(port), "--database", str(tmp_path / "races.sqlite3"), "--rate", "1000", "--burst", "1000")
    chromium.look()
    with ExitStack() as killed:
        url, process = killed.enter_context(running_server(*options))
        chromium.open(page(url, "/play"))
        chromium.wait(lambda: chromium.all("#bot option"), "the bots")
        chromium.run("document.querySelector('#bot').value = 'random'")
        chromium.press("Race the bot")
        chromium.press("Ready")
        wait_for_cards(chromium)
        for _ in range(3):
            play_one(chromium)
        before = table(chromium)
        tried = chromium.run("return lines.length")
        process.send_signal(signal.SIGKILL)
        chromium.wait(lambda: chromium.run("return lines.length") > tried, "another try")
        assert "Connection lost." in chromium.text("#connection")
        # It is not to have stopped well.
        with pytest.raises(AssertionError):
            killed.close()
    with running_server(*options):
        chromium.wait(lambda: not chromium.text("#connection"), "the connection")
        chromium.wait(lambda: table(chromium) == before, "the same table")
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
        browser.wait(lambda: any(button.text == "Ready" for button in browser.all("button")), "the invitation")
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
        browser.type("#say", "Good luck")
        browser.run("dispatchEvent(new Event('offline'))")
        browser.type("#say", Keys.ENTER)
        browser.wait_for_text(".play .notice", "Not connected: that was not sent.")
        assert browser.all("#say")[0].value == "Good luck"
        # After the one who looked on, and the player.
        wait_for_connection(browser, 3)
        browser.type("#say", Keys.ENTER)
        browser.wait_for_text(".lines", "Good luck")
        assert browser.all("#say")[0].value == ""


def test_a_house_bot_is_told_of_before_it_is_raced_and_the_terminals_is_the_first_choice(browser: Browser, server: str) -> None:
    browser.open(page(server, "/play"))
    browser.wait_for_text(".ways", HOUSE_BOTS["greedy"].explanation)
    browser.choose("#bot", "deep")
    browser.wait_for_text(".ways", HOUSE_BOTS["deep"].explanation)


def test_the_games_of_the_day_are_gone_through_by_keys_before_one_is_shown(browser: Browser, server: str) -> None:
    browser.open(page(server, "/daily"))
    browser.wait(lambda: len(browser.all("#rules option")) > 1, "the games")
    browser.type("#rules", Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    chosen = browser.all("#rules")[0].value
    assert chosen != "carpet"
    assert browser.driver.current_url == page(server, "/daily")
    browser.press("Show")
    browser.wait(lambda: browser.driver.current_url.endswith(f"/{chosen}"), "the board of that game")


def test_the_deal_of_the_day_is_run_alone(browser: Browser, server: str) -> None:
    browser.open(page(server, "/daily"))
    browser.wait(lambda: browser.all(".main-link"), "the way to today's deal")
    link = str(browser.all(".main-link")[0].href)
    assert link == page(server, "/play?daily&rules=carpet")
    browser.open(link + "-whist")
    browser.wait_for_text(".ways h2", "Today’s deal")
    browser.press("Run today’s deal")
    browser.wait_for_text("h1", "A run alone")
    browser.press("Ready")
    wait_for_cards(browser)
    ActionChains(browser.driver).send_keys("t").perform()
    assert not browser.all("dialog"), "there is nobody to say anything to"
    give_up(browser)
    browser.wait_for_text(".ending", "home at ")
    browser.wait_for_text(".ending .runs", "Place 1 of 1 run so far.")
    assert "(you)" in browser.text(".ending .runs li")
    browser.press("Leave")
    browser.press("Run today’s deal")
    browser.wait_for_text(".notice", "You have had your run of that deal, and only one counts.")


def choose(browser: Browser, label: str, words: str, inside: str) -> None:
    """An option of a select, by its words, in an open `details`."""

    def chosen() -> bool:
        for each in browser.driver.find_elements("css selector", f"{inside} .option"):
            if each.is_displayed() and each.text.startswith(label):
                Select(each.find_element("css selector", "select")).select_by_visible_text(words)
                return True
        return False

    browser.wait(chosen, f"the field {label!r}")


def test_a_series_and_a_tournament_are_made_with_all_that_a_terminal_asks(browser: Browser, server: str) -> None:
    browser.open(page(server, "/play"))
    browser.wait(lambda: browser.all("#rules option"), "the form")
    for summary in browser.driver.find_elements("css selector", ".start .more summary"):
        # What is fetched for the first moves the second.
        summary.click()
        browser.wait(partial(browser.run, "return given[0].parentNode.querySelector('.option')", summary), "the fields")
    assert browser.breaches() == []
    for width in (320, 1280):
        browser.look(width=width)
        assert browser.run(OVERFLOW) == [0, []], width
    choose(browser, "Series", "best of 3", ".more")
    browser.press("Make a link")
    browser.wait_for_text(".waiting-room", "Best of 3.")
    browser.press("Leave")
    browser.wait_for_text(".play .notice", "You have left the race.")
    for label, words in (("Format", "elimination"), ("Out after", "two losses"), ("Bots fill", "up to 4"), ("Check-in", "5:00 min")):
        choose(browser, label, words, ".ways ~ .more")
    for label, words in (("Pause", "when you say so"), ("Listed", "no, by its id only"), ("House bot", "greedy"), ("No-show", "30 s")):
        choose(browser, label, words, ".ways ~ .more")
    # What a bot does is said below it, as it is in the terminal.
    assert HOUSE_BOTS["greedy"].explanation in browser.text(".ways ~ .more .options")
    browser.press("Make it")
    browser.wait_for_text(".tournament .facts", "Double elimination · Carpet · director ")
    tournament = browser.driver.current_url.rpartition("/")[2]
    told = browser.run("return await (await fetch(`/tournaments/${given[0]}.json`)).json()", tournament)["options"]
    chosen = TournamentOptions(
        name=USUAL_NAME, format="elimination", double=True, fill=4, bot="greedy", check_in_s=300, no_show_s=30, pause_s=None, public=False
    )
    assert msgspec.convert(told, TournamentOptions) == chosen
