"""The servers that several modules of tests talk to, and the browser that they look at their pages with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.browser import Browser, open_browser
from tests.e2e.commands import serving
from tests.ports import held_ports


@pytest.fixture(scope="module")
def fast_server() -> Iterator[str]:
    """Its house bots play as fast as they can, and so may everybody else."""
    with serving(bots_wait=False, rate=1000, burst=1000) as url:
        yield url


@pytest.fixture(scope="module")
def default_rate_server() -> Iterator[str]:
    """Its house bots play as fast as they can; everybody else at the rate of the specification."""
    with serving(bots_wait=False) as url:
        yield url


@pytest.fixture
def strict_server() -> Iterator[str]:
    """Takes so few messages that whoever does not pace themselves has too many in any race, on a machine that needs a tenth of a second a
    move too. Half a second of quiet, and it listens again."""
    with serving(rate=8, burst=8) as url:
        yield url


@pytest.fixture
def port() -> Iterator[int]:
    """One that nobody else is given while a server is away from it."""
    with held_ports(1) as (held,):
        yield held


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """With an ordinary window; nothing may have gone wrong in it by the end."""
    chromium.look()
    chromium.complaints()
    yield chromium
    complaints = chromium.complaints()
    chromium.open("about:blank")
    assert complaints == []
