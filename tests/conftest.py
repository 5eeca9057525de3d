"""What every test has: a folder of its own in the place of the user's, so that no test finds or leaves anything there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def carpet_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Names and tokens, the last record, the server's database: all of it goes by CARPET_HOME, in processes that are started too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CARPET_HOME", str(tmp_path_factory.mktemp("carpet-home")))
        yield
