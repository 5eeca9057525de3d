"""A real Chromium without a window, and what tests do with the page in it.

It is expected at CARPET_TEST_CHROMIUM or in PATH, with its `chromedriver`. If there is none, a section at the end of the run says what was
not tested (`tests/conftest.py`); if the variable names one that does not start, the tests fail.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, TimeoutException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

from tests.conftest import NO_CHROMIUM

AXE = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
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
ARRIVE = "document.getAnimations().filter((each) => each.effect.getComputedTiming().endTime < Infinity).forEach((each) => each.finish())"
VARIABLE = "CARPET_TEST_CHROMIUM"
PATIENCE_S = 30
"""How long to wait for something on a page."""


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


class Browser:
    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        self.driver.get(address)

    def look(
        self, *, width: int = 1280, height: int = 900, scheme: str = "light", motion: str = "no-preference", forced: str = "none"
    ) -> None:
        """Set the window's size, in CSS pixels, and the user's preferences."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        values = {"prefers-color-scheme": scheme, "prefers-reduced-motion": motion, "forced-colors": forced}
        features = [{"name": name, "value": value} for name, value in values.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a piece of script. Returns its result; waits for it if it is a promise."""
        return self.driver.execute_async_script(
            f"const done = arguments[arguments.length - 1]; (async (...given) => {{ {script} }})(...arguments)"
            ".then(done, (error) => done({thrown: String(error)}))",
            *arguments,
        )

    # A live page may remove or replace an element that was found. So what it shows is read in one step, and an action on an element that is
    # gone is repeated on its replacement.

    def all(self, selector: str) -> list[Seen]:
        return [Seen(*each) for each in self.driver.execute_script(SEE, selector)]

    def do(self, selector: str, act: Callable[[WebElement], None]) -> None:
        """Do this to the first element that matches, as soon as there is one."""

        def done() -> bool:
            found = self.driver.find_elements(By.CSS_SELECTOR, selector)[:1]
            for each in found:
                act(each)
            return bool(found)

        self.wait(done, f"an element for {selector}")

    def click(self, selector: str) -> None:
        self.do(selector, WebElement.click)

    def type(self, selector: str, *keys: str) -> None:
        self.do(selector, lambda found: found.send_keys(*keys))

    def choose(self, selector: str, value: str) -> None:
        """Choose the option with this value in a select."""
        self.do(selector, lambda found: Select(found).select_by_value(value))

    def text(self, selector: str) -> str:
        """The text of the first element that matches, including what is only for screen readers; empty if there is none."""
        return str(self.driver.execute_script("return document.querySelector(arguments[0])?.textContent ?? ''", selector))

    def wait(self, holds: Callable[[], object], what: str) -> None:
        """Wait until this holds. what: the failure message if it never does."""
        try:
            WebDriverWait(self.driver, PATIENCE_S, 0.05, [StaleElementReferenceException]).until(lambda _: holds())
        except TimeoutException:
            lines = self.run("return (window.lines ?? []).map((line) => `${line.url} ${line.readyState}`)")
            heard = self.run("return (window.heard ?? []).map((text) => text.slice(0, 200))")
            raise AssertionError(f"{what}; the page shows {self.text('main')!r}, has had {lines} and heard {heard}") from None

    def wait_for_text(self, selector: str, text: str) -> None:
        self.wait(lambda: text in self.text(selector), f"{text!r} in {selector}")

    def press(self, words: str, inside: str = "main, dialog") -> None:
        """Press the button or link with these words, as soon as it is there, enabled, and not covered.

        It is found and pressed in one step, because a live page may move or replace it between two.
        """
        self.wait(lambda: self.driver.execute_script(PRESS, inside, words), f"{words!r} to press in {self.text('main')}")

    def complaints(self) -> list[str]:
        """The console's complaints since the last call, except those about axe's canvas: our pages have none."""
        return [entry["message"] for entry in self.driver.get_log("browser") if "Canvas2D: Multiple readback" not in entry["message"]]

    def wait_for_complaints(self, text: str, *, count: int = 1) -> list[str]:
        """Wait until `count` complaints contain this text, and return all complaints: they arrive with some delay."""
        told: list[str] = []

        def all_there() -> bool:
            told.extend(self.complaints())
            return sum(text in each for each in told) >= count

        self.wait(all_there, f"{count} complaints of {text!r}")
        return told

    def breaches(self) -> list[str]:
        """What axe finds wrong with the page, by the rules of WCAG 2.2 AA and good practice.

        WCAG also demands that an element's name contain its visible words; axe's rule for that is experimental, and is switched on here.
        Elements that are fading in are shown at once: for a moment they are too pale to read, and axe may look just then.
        """
        if not self.driver.execute_script("return Boolean(window.axe)"):
            self.driver.execute_script(AXE)
        rules = "{ 'label-content-name-mismatch': { enabled: true } }"
        found = self.run(f"{ARRIVE}; return await axe.run(document, {{ resultTypes: ['violations'], rules: {rules} }})")
        return [f"{each['id']}: {node['html']}" for each in found["violations"] for node in each["nodes"]]

    def nodes(self) -> list[dict[str, Any]]:
        """What a screen reader gets: role, name and properties of each node that is not ignored."""
        tree = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})
        return [
            {
                "role": node["role"]["value"],
                "name": node.get("name", {}).get("value", ""),
                **{each["name"]: each["value"].get("value") for each in node.get("properties", [])},
            }
            for node in tree["nodes"]
            if not node["ignored"]
        ]


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
        driver.set_script_timeout(PATIENCE_S)
        yield Browser(driver)
    finally:
        driver.quit()
