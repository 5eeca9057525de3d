"""What holds for every test: a folder of its own in the place of the user's, and that how long something takes is no fault of it.

What could not be tested for want of a browser is said at the end of the run.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# A machine that is busy with something else may hold up any example, and the finding of one, for as long as it likes.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


@pytest.fixture(scope="session", autouse=True)
def carpet_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Names and tokens, the last record, the server's database: all of it goes by CARPET_HOME, in processes that are started too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CARPET_HOME", str(tmp_path_factory.mktemp("carpet-home")))
        yield


NO_CHROMIUM = "no Chromium was found"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = [report.nodeid for report in terminalreporter.getreports("skipped") if NO_CHROMIUM in str(report.longrepr)]
    if skipped:
        terminalreporter.section("NOT TESTED: the web page in a browser", sep="!", red=True, bold=True)
        terminalreporter.line(f"{NO_CHROMIUM}: install chromium and chromium-driver. {len(skipped)} tests were skipped:")
        for nodeid in skipped:
            terminalreporter.line(f"  {nodeid}")
