"""Every page of the website in a real Chromium: axe finds nothing wrong, nothing is wider than the window, all text is legible."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from server.pages.documents import Documents
from server.pages.web_page import ALWAYS
from tests.e2e.browser import Browser
from tests.e2e.every_page import every_page
from tests.e2e.page_checks import CONTRAST, NAVIGATION_ROWS, OVERFLOW

pytestmark = pytest.mark.slow

LOOKS = (
    {"width": 1280, "height": 800},
    {"width": 390, "height": 844, "scheme": "dark"},
    {"width": 320, "height": 640, "forced": "active"},
    {"width": 1920, "height": 1080, "scheme": "dark"},
)
"""The first three are shown to axe as well: light, dark, and in the user's own colours."""


def test_every_page_can_be_read_by_everybody(chromium: Browser) -> None:
    browser = chromium
    wrong = []
    with every_page() as pages:
        nothing: Any = None
        addresses = Documents(nothing, nothing, nothing, nothing, nothing, embeds=True).addresses
        assert {*ALWAYS, *addresses} <= set(pages), "a page that is not looked at here"
        for address, drawn in pages.values():
            browser.look()
            browser.open(address)
            browser.wait(partial(browser.all, drawn), f"{drawn} at {address}")
            for look in LOOKS:
                # What fades out is for a moment too pale to be read, and axe may look just then.
                browser.look(**look, motion="reduce")
                told = []
                if look in LOOKS[:3]:
                    told += browser.breaches()
                if (overflow := browser.run(OVERFLOW)) != [0, []]:
                    told.append(f"wider than the window: {overflow}")
                if browser.run(NAVIGATION_ROWS) > 1:
                    told.append("the navigation takes more than a line")
                # With colours forced, what is drawn is not what the style says.
                if "forced" not in look:
                    told += browser.run(CONTRAST)[1]
                wrong += [f"{address} {look}: {each}" for each in told]
        browser.open("about:blank")
    assert wrong == []
