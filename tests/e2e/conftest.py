"""The servers that several test modules share, and the browser for their pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.browser import Browser, open_browser
from tests.e2e.commands import serving
from tests.ports import held_ports


@pytest.fixture(scope="module")
def fast_server() -> Iterator[str]:
    """A server whose house bots play as fast as they can, and so may everybody else."""
    with serving(bots_wait=False, rate=1000, burst=1000) as url:
        yield url


@pytest.fixture(scope="module")
def default_rate_server() -> Iterator[str]:
    """A server whose house bots play as fast as they can; everybody else is held to the specified rate."""
    with serving(bots_wait=False) as url:
        yield url


@pytest.fixture
def strict_server() -> Iterator[str]:
    """A server that takes so few messages that a client without a pace exceeds the limit in any race, even if a machine needs a tenth of a
    second for a move. After half a second of quiet it listens again."""
    with serving(rate=8, burst=8) as url:
        yield url


@pytest.fixture
def port() -> Iterator[int]:
    """A port that nobody else gets while no server listens on it."""
    with held_ports(1) as (held,):
        yield held


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """The browser with an ordinary window. By the end nothing may have gone wrong in it."""
    chromium.look()
    chromium.complaints()
    yield chromium
    complaints = chromium.complaints()
    chromium.open("about:blank")
    assert complaints == []
