"""Every page of the website in a real Chromium: axe finds nothing wrong, nothing is wider than the window, all text is legible."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from server.pages.documents import Documents
from server.pages.web_page import ALWAYS
from tests.e2e.browser import Browser, Page
from tests.e2e.every_page import every_page, is_drawn
from tests.e2e.page_checks import breaches, navigation_rows, too_pale, too_wide

pytestmark = pytest.mark.slow

LOOKS: tuple[dict[str, Any], ...] = (
    {"width": 1280, "height": 800},
    {"width": 390, "height": 844, "scheme": "dark"},
    {"width": 320, "height": 640, "forced": "active"},
    {"width": 1920, "height": 1080, "scheme": "dark"},
)
"""The first three are shown to axe as well: light, dark, and in the user's own colours."""


def wrong(address: str, look: dict[str, Any], now: Page) -> list[str]:
    told = too_wide(now)
    if navigation_rows(now) > 1:
        told.append("the navigation takes more than a line")
    # With colours forced, what is drawn is not what the style says.
    if "forced" not in look:
        told += too_pale(now)
    if look in LOOKS[:3]:
        told += breaches(now)
    return [f"{address} {look}: {each}" for each in told]


def test_every_page_can_be_read_by_everybody(chromium: Browser) -> None:
    browser = chromium
    with every_page() as pages:
        nothing: Any = None
        addresses = Documents(nothing, nothing, nothing, nothing, nothing, is_elsewhere=None, embeds=True).addresses
        assert {*ALWAYS, *addresses} <= set(pages), "a page that is not looked at here"
        for address, drawn in pages.values():
            browser.look()
            browser.open(address)
            browser.wait(is_drawn(drawn), f"{drawn} at {address}")
            for look in LOOKS:
                browser.look(**look, motion="reduce")
                browser.expect(partial(wrong, address, look), [])
        browser.open("about:blank")
