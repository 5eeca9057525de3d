"""A server that has something to show at every address of the web page.

`python -m tests.e2e.every_page DIRECTORY` makes a picture of each page, in three window sizes, light and dark.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from tests.e2e.browser import Page, open_browser, page
from tests.e2e.commands import serving
from tests.e2e.peer import Entrant, Racer, sitting

SIZES = ((1920, 1080), (1280, 800), (390, 844))


@contextmanager
def every_page() -> Iterator[dict[str, tuple[str, str]]]:
    """By address pattern, as in `server.pages.documents`: a page, and a selector for something that is there once it is drawn."""
    with serving(rate=1000, burst=1000, bots_wait=False, embedders=("*",)) as url, ExitStack() as stack:
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
        barbara = stack.enter_context(sitting(url, "Barbara", countdown_s=1, delay_s=0, rated=False))
        donald = stack.enter_context(sitting(url, "Donald", code=barbara.code))
        for player in (barbara, donald):
            player.ready()
        for player in (barbara, donald):
            player.start()
            player.play(9)
        stack.enter_context(sitting(url, "Grace", rules="crazy-quilt"))
        # A tournament of house bots: its first round runs by itself, then it waits for its director.
        edsger = stack.enter_context(Entrant(url, "Edsger"))
        tournament = edsger.create("Carpet Open", format="elimination", fill=8, check_in_s=0, pause_s=None)
        edsger.decide("start-tournament", id=tournament)
        edsger.stands(tournament, lambda told: told["phase"] == "between")
        session = edsger.create("Carpet Session", format="session", rounds=2, fill=3, check_in_s=0, pause_s=None)
        edsger.decide("start-tournament", id=session)
        edsger.stands(session, lambda told: told["phase"] == "between")
        ron = stack.enter_context(Racer(url, "Ron"))
        ron.send("open-challenge", nonce="00" * 16)
        challenge = ron.hear_of("challenge")["challenge"]["id"]
        today = f"{datetime.now(UTC):%Y-%m-%d}"
        at = {
            "/": ("/", ".races .bar"),
            "/play": ("/play", "#rules option"),
            "/play/{code}": (f"/play/{barbara.code}", ".explained a"),
            "/watch/closest": ("/watch/closest", ".seat-board"),
            "/watch/{code}": (f"/watch/{barbara.code}", ".seat-board .card"),
            "/race/{id}": (f"/race/{race}", ".seat-board .card"),
            "/embed/{id}": (f"/embed/{race}", ".seat-board .card"),
            "/ladder": ("/ladder", ".standings td"),
            "/search": (f"/search?q={ada.name}&rules=carpet", "#races ~ .wide td"),
            "/player/{name}": (f"/player/{ada.name}", ".standings td"),
            "/daily": ("/daily", "#rules option + option"),
            "/daily/{date}/{rules}": (f"/daily/{today}/carpet", "#rules option + option"),
            "/tournaments": ("/tournaments", ".races h3"),
            "/challenges": ("/challenges", ".standings td"),
            "/challenge/{id}": (f"/challenge/{challenge}", ".main-link"),
            "/tournament/{id}": (f"/tournament/{tournament}", ".match-link"),
            "/tournament/{id}/screen": (f"/tournament/{tournament}/screen", ".screen-standings td"),
            "/tournament/{id} of a session": (f"/tournament/{session}", "#crosstable"),
            "/tournament/{id}/screen of a session": (f"/tournament/{session}/screen", ".screen-standings td"),
            "/screen": ("/screen", ".screen-race .bar"),
            "/screen?overlay=1": ("/screen?overlay=1", ".screen-race .bar"),
            "not found": ("/watch/NOSUCH", "main li a"),
        }
        yield {pattern: (page(url, path), drawn) for pattern, (path, drawn) in at.items()}


def is_drawn(selector: str) -> Callable[[Page], object]:
    """The page is, once there is something that this selects."""
    return lambda page: page.all(selector)


def _draw(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with every_page() as pages, open_browser() as browser:
        for pattern, (address, drawn) in pages.items():
            browser.look()
            browser.open(address)
            browser.wait(is_drawn(drawn), f"{drawn} at {address}")
            name = re.sub(r"\W+", "-", pattern).strip("-") or "lobby"
            for width, height in SIZES:
                for scheme in ("light", "dark"):
                    browser.look(width=width, height=height, scheme=scheme, motion="reduce")
                    browser.driver.save_screenshot(str(directory / f"{name}.{width}.{scheme}.png"))


if __name__ == "__main__":
    _draw(Path(sys.argv[1]))
