"""Every page of the web page in a real Chromium: axe finds nothing, nothing is wider than the window, all text can be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.e2e.browser import Browser
from tests.e2e.commands import serving
from tests.e2e.page_checks import CONTRAST, OVERFLOW
from tests.e2e.peer import Entrant, Racer, sitting

pytestmark = pytest.mark.slow

LOOKS = (
    {"width": 1280, "height": 800},
    {"width": 390, "height": 844, "scheme": "dark"},
    {"width": 320, "height": 640, "forced": "active"},
    {"width": 1920, "height": 1080, "scheme": "dark"},
)
"""The first two are shown to axe as well: one narrow and one wide, one of each scheme."""


@pytest.fixture(scope="module")
def pages(chromium: Browser) -> Iterator[tuple[Browser, dict[str, str]]]:
    """A browser, and of each page its address with what is there when it is drawn."""
    with serving(rate=1000, burst=1000, bots_wait=False) as url, ExitStack() as stack:
        root = url.replace("ws://", "http://", 1)
        ada = stack.enter_context(sitting(url, "Ada", countdown_s=1))
        zoe = stack.enter_context(sitting(url, "Zoë", code=ada.code))
        racers = (ada, zoe)
        for player in racers:
            player.ready()
        for player in racers:
            player.start()
            player.play(4)
            player.stop()
        race = ada.hear_of("result")["record"]["id"]
        for player in racers:
            player.hear_of("ratings")
        barbara = stack.enter_context(sitting(url, "Barbara", countdown_s=1))
        donald = stack.enter_context(sitting(url, "Donald", code=barbara.code))
        for player in (barbara, donald):
            player.ready()
        for player in (barbara, donald):
            player.start()
        stack.enter_context(sitting(url, "Grace", rules="crazy-quilt"))
        # Of house bots: its first round runs by itself, and then it waits for its director.
        edsger = stack.enter_context(Entrant(url, "Edsger"))
        tournament = edsger.create("Open", format="elimination", fill=4, check_in_s=0, pause_s=None)
        edsger.decide("start-tournament", id=tournament)
        edsger.stands(tournament, lambda told: told["phase"] == "between")
        ron = stack.enter_context(Racer(url, "Ron"))
        ron.send("open-challenge", nonce="00" * 16)
        challenge = ron.hear_of("challenge")["challenge"]["id"]
        yield (
            chromium,
            {
                f"{root}/": ".races .bar",
                f"{root}/play": "#rules option",
                f"{root}/play/{barbara.code}": ".explained a",
                f"{root}/watch/{barbara.code}": ".seat-board",
                f"{root}/race/{race}": ".seat-board .card",
                f"{root}/ladder": ".standings td",
                f"{root}/search?q={ada.name}&rules=carpet": "#races ~ .wide td",
                f"{root}/player/{ada.name}": ".standings td",
                f"{root}/daily": ".days a",
                f"{root}/challenges": ".standings td",
                f"{root}/challenge/{challenge}": ".main-link",
                f"{root}/watch/NOSUCH": "main li a",
                f"{root}/tournament/{tournament}": ".match-link",
                f"{root}/tournament/{tournament}/screen": ".screen-standings td",
                f"{root}/screen": ".screen-race .bar",
                f"{root}/screen?overlay=1": ".screen-race .bar",
            },
        )


def test_every_page_can_be_read_by_everybody(pages: tuple[Browser, dict[str, str]]) -> None:
    browser, addresses = pages
    wrong = []
    for address, drawn in addresses.items():
        browser.look()
        browser.open(address)
        browser.wait(lambda drawn=drawn: browser.all(drawn), f"{drawn} at {address}")
        for look in LOOKS:
            browser.look(**look)  # type: ignore[arg-type]
            told = []
            if look in LOOKS[:2]:
                told += browser.breaches()
            if (overflow := browser.run(OVERFLOW)) != [0, []]:
                told.append(f"wider than the window: {overflow}")
            # With colours forced, what is drawn is not what the style says.
            if "forced" not in look:
                told += browser.run(CONTRAST)[1]
            wrong += [f"{address} {look}: {each}" for each in told]
    assert wrong == []
