"""Says at the end of a run what was not tested for want of a Valkey or Redis."""

from __future__ import annotations

import pytest

from tests.server.cluster.redis_server import NOT_HERE


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = [report.nodeid for report in terminalreporter.getreports("skipped") if NOT_HERE in str(report.longrepr)]
    if skipped:
        terminalreporter.section("NOT TESTED: several servers with a Valkey or Redis", sep="!", red=True, bold=True)
        terminalreporter.line(f"{NOT_HERE}; {len(skipped)} tests were skipped")
