"""A web server that answers what the test tells it to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.client.page_server import PageServer, serving_pages


@pytest.fixture
def server() -> Iterator[PageServer]:
    with serving_pages() as server:
        yield server
