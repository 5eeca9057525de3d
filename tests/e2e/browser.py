"""A real Chromium without a window, and what tests do with the page in it.

Whatever a page shows may come a moment after what one has waited for. So a test reads a page only within `Browser.wait` and
`Browser.expect`, which look again until it is as it should be: they hand out the `Page`, and a browser itself has nothing to read with.

It is expected at CARPET_TEST_CHROMIUM or in PATH, with its `chromedriver`. If there is none, a section at the end of the run says what was
not tested (`tests/conftest.py`); if the variable names one that does not start, the tests fail.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, TypeVar

import pytest
from selenium import webdriver
from selenium.common.exceptions import (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    JavascriptException,
    NoSuchElementException,
    StaleElementReferenceException,
    WebDriverException,
)
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from tests.conftest import NO_CHROMIUM
from tests.e2e import late_page

Found = TypeVar("Found")

PRESS = """
    const [inside, words] = arguments;
    for (const each of document.querySelectorAll(`:is(${inside}) :is(button, a)`)) {
        if (each.disabled || !each.checkVisibility() || each.innerText.trim() !== words) continue;
        for (const block of ["nearest", "center"]) {
            each.scrollIntoView({ block, behavior: "instant" });
            const { x, y, width, height } = each.getBoundingClientRect();
            if (!each.contains(document.elementFromPoint(x + width / 2, y + height / 2))) continue;
            each.click();
            return true;
        }
    }
    return false;
"""
IS_DISPLAYED = files("selenium.webdriver.remote").joinpath("isDisplayed.js").read_text(encoding="utf-8")
SEE = f"""
    const displayed = ({IS_DISPLAYED});
    return [...document.querySelectorAll(arguments[0])].map((each) => {{
        const shown = displayed.call(null, each);
        return [shown, shown ? (each.innerText ?? each.textContent).trim() : "", each.textContent, each.href ?? null, each.value ?? null];
    }});
"""
LOOKS = """
    const [width, height, media] = arguments;
    return innerWidth === width && innerHeight === height && media.every((each) => matchMedia(each).matches);
"""
SETTLE = """
    document.getAnimations().filter((each) => each.effect.getComputedTiming().endTime < Infinity).forEach((each) => each.finish());
    // What is drawn to the size of its place is drawn anew in the next frame.
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
"""
VARIABLE = "CARPET_TEST_CHROMIUM"
PATIENCE_S = 30
"""How long to wait for something on a page."""
LOOK_S = 0.05
"""How often to look while waiting."""


class ScriptError(AssertionError):
    """A script that was run in a page has thrown this."""


NOT_YET = (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    IndexError,
    JavascriptException,
    NoSuchElementException,
    ScriptError,
    StaleElementReferenceException,
)
"""What happens to who looks for an element that is not there yet, is just going, or is covered by another one, or on a page that goes."""


@dataclass(frozen=True)
class Seen:
    """An element as it was at one moment."""

    shown: bool
    text: str
    """The visible text; empty while the element is hidden."""
    content: str
    """The text including what is only for screen readers."""
    href: str | None
    value: str | None


class Page:
    """A page as it is at this moment."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self._driver = driver

    @property
    def address(self) -> str:
        return str(self._driver.current_url)

    def all(self, selector: str) -> list[Seen]:
        return [Seen(*each) for each in self._driver.execute_script(SEE, selector)]

    def texts(self, selector: str) -> list[str]:
        """The visible text of each element that matches."""
        return [each.text for each in self.all(selector)]

    def shown(self, selector: str) -> list[bool]:
        """Of each element that matches, whether it is shown."""
        return [each.shown for each in self.all(selector)]

    def values(self, selector: str) -> list[str | None]:
        """What each field that matches holds."""
        return [each.value for each in self.all(selector)]

    def links(self, selector: str) -> list[str | None]:
        """Where each element that matches leads to."""
        return [each.href for each in self.all(selector)]

    def text(self, selector: str) -> str:
        """The text of the first element that matches, including what is only for screen readers; empty if there is none."""
        return str(self._driver.execute_script("return document.querySelector(arguments[0])?.textContent ?? ''", selector))

    def run(self, script: str, *arguments: Any) -> Any:
        """The result of a piece of script that changes nothing; waits for it if it is a promise. Raises ScriptError."""
        result, thrown = self._driver.execute_async_script(
            f"const done = arguments[arguments.length - 1]; (async (...given) => {{ {script} }})(...arguments)"
            ".then((result) => done([result, null]), (error) => done([null, String(error)]))",
            *arguments,
        )
        if thrown is not None:
            raise ScriptError(f"{thrown} by {script}")
        return result

    def nodes(self) -> list[dict[str, Any]]:
        """What a screen reader gets: role, name and properties of each node that is not ignored."""
        tree = self._driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})
        return [
            {
                "role": node["role"]["value"],
                "name": node.get("name", {}).get("value", ""),
                **{each["name"]: each["value"].get("value") for each in node.get("properties", [])},
            }
            for node in tree["nodes"]
            if not node["ignored"]
        ]


class Browser:
    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver
        self._page = Page(driver)

    def open(self, address: str) -> None:
        self.driver.get(address)

    def look(
        self, *, width: int = 1280, height: int = 900, scheme: str = "light", motion: str = "no-preference", forced: str = "none"
    ) -> None:
        """Set the window's size, in CSS pixels, and the user's preferences, and wait until the page goes by them."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        values = {"prefers-color-scheme": scheme, "prefers-reduced-motion": motion, "forced-colors": forced}
        features = [{"name": name, "value": value} for name, value in values.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        media = [f"({name}: {value})" for name, value in values.items()]
        self.wait(lambda _: self.driver.execute_script(LOOKS, width, height, media), f"{width} by {height}, {values}")
        self.settle()

    def settle(self) -> None:
        """Let the next frame be drawn, and all that moves arrive."""
        self.run(SETTLE)

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a piece of script that does something, or that computes what no later moment changes. Returns its result; waits for it if it
        is a promise. What the page shows is read by `wait` and `expect`. Raises ScriptError."""
        return self._page.run(script, *arguments)

    # A live page may remove or replace an element that was found. So what it shows is read in one step, and an action on an element that is
    # gone is repeated on its replacement.

    def do(self, selector: str, act: Callable[[WebElement], None]) -> None:
        """Do this to the first element that matches, as soon as there is one."""

        def done(_: Page) -> bool:
            found = self.driver.find_elements(By.CSS_SELECTOR, selector)[:1]
            for each in found:
                act(each)
            return bool(found)

        self.wait(done, f"an element for {selector}")

    def click(self, selector: str) -> None:
        self.do(selector, WebElement.click)

    def type(self, selector: str, *keys: str) -> None:
        self.do(selector, lambda found: found.send_keys(*keys))

    def keys(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def choose(self, selector: str, value: str) -> None:
        """Choose the option with this value in a select."""
        self.do(selector, lambda found: Select(found).select_by_value(value))

    def wait(self, find: Callable[[Page], Found], what: str) -> Found:
        """What `find` finds on the page, as soon as it finds something. what: the failure message if it never does."""
        found = self._look_for(find)
        assert found, f"{what}; {self._told()}"
        return found

    def expect(self, read: Callable[[Page], object], value: object) -> None:
        """Wait until what is read from the page is this."""
        last: object = None

        def is_read(page: Page) -> bool:
            nonlocal last
            last = read(page)
            return last == value

        if not self._look_for(is_read):
            assert last == value, self._told()

    def _look_for(self, find: Callable[[Page], Found]) -> Found:
        """As `wait`; whatever was found last if it never finds something."""
        until = time.monotonic() + PATIENCE_S
        while True:
            is_last = time.monotonic() > until
            try:
                found = find(self._page)
            except NOT_YET:
                if is_last:
                    raise
            else:
                if found or is_last:
                    return found
            time.sleep(LOOK_S)

    def expect_text(self, selector: str, text: str) -> None:
        """Wait until the text of the first element that matches is this, and nothing more."""
        self.expect(lambda page: page.text(selector), text)

    def expect_texts(self, selector: str, texts: list[str]) -> None:
        """Wait until these are the visible texts of the elements that match: of each one, in their order."""
        self.expect(lambda page: page.texts(selector), texts)

    def wait_for_text(self, selector: str, text: str) -> str:
        """Wait until this is part of the text of the first element that matches. Returns all of that text."""
        return self.wait(lambda page: found if text in (found := page.text(selector)) else "", f"{text!r} in {selector}")

    def _told(self) -> str:
        lines = self.run("return (window.lines ?? []).map((line) => `${line.url} ${line.readyState}`)")
        heard = self.run("return (window.heard ?? []).map((text) => text.slice(0, 200))")
        return f"the page shows {self._page.text('main')!r}, has had {lines} and heard {heard}"

    def press(self, words: str, inside: str = "main, dialog") -> None:
        """Press the button or link with these words, as soon as it is there, enabled, and not covered.

        It is found and pressed in one step, because a live page may move or replace it between two.
        """
        self.wait(lambda _: self.driver.execute_script(PRESS, inside, words), f"{words!r} to press")

    def complaints(self) -> list[str]:
        """The console's complaints since the last call, except those about axe's canvas: our pages have none."""
        return [entry["message"] for entry in self.driver.get_log("browser") if "Canvas2D: Multiple readback" not in entry["message"]]

    def wait_for_complaints(self, text: str, *, count: int = 1) -> list[str]:
        """Wait until `count` complaints contain this text, and return all complaints: they arrive with some delay."""
        told: list[str] = []

        def all_there(_: Page) -> bool:
            told.extend(self.complaints())
            return sum(text in each for each in told) >= count

        self.wait(all_there, f"{count} complaints of {text!r}")
        return told


def page(url: str, path: str = "/") -> str:
    """The address of a page of the server at this URL."""
    return url.replace("ws://", "http://", 1) + path


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A browser for the tests. Skips or fails the test if there is no Chromium."""
    program = os.environ.get(VARIABLE) or shutil.which("chromium") or shutil.which("google-chrome")
    conductor = shutil.which("chromedriver")
    if program is None or conductor is None:
        (pytest.fail if VARIABLE in os.environ else pytest.skip)(f"{NO_CHROMIUM}: install chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    # Containers lack the user namespaces that its sandbox needs, and have little shared memory.
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--no-proxy-server",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    try:
        driver = webdriver.Chrome(options=options, service=Service(conductor))
    except WebDriverException as error:
        pytest.fail(f"{program} does not start: {error}")
    try:
        driver.execute_cdp_cmd("Accessibility.enable", {})
        if late_page.VARIABLE in os.environ:
            driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": late_page.LATE})
        driver.set_script_timeout(PATIENCE_S)
        yield Browser(driver)
    finally:
        driver.quit()
