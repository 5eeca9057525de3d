"""Set-up for all tests: a folder of their own instead of the user's, and no test fails for being slow.

A test that asks for a clock runs on it, whether it asks by an argument, by a mark on its module or through a fixture.
The end of a run says what could not be tested for want of a browser or of Node.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import cache, partial

import pytest
import trio
import typer.main
from hypothesis import HealthCheck, settings

# On a busy machine any example, and even drawing one, may take any length of time.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", _PATIENT, max_examples=20)
settings.register_profile("thorough", _PATIENT, max_examples=100)
# Examples differ from run to run. `.ci/run` asks for more: `-m "slow or hypothesis" --hypothesis-profile thorough`.
settings.load_profile("quick")

# Typer rebuilds its tree of commands whenever one is run: once in a process, but a thousand times in the tests.
typer.main.get_group = cache(typer.main.get_group)


@pytest.fixture(scope="session", autouse=True)
def carpet_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Set CARPET_HOME, which decides where names, tokens, the last record and the server's database are, for started processes too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CARPET_HOME", str(tmp_path_factory.mktemp("carpet-home")))
        yield


@pytest.fixture(autouse=True)
def log_levels() -> Iterator[None]:
    """Restore log levels: a command run in this process changes them, and the next test may look for what it would leave out."""
    loggers = [logging.getLogger(name) for name in ("", "alembic", "carpet.net.websocket")]
    levels = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


@pytest.fixture
def frozen_again() -> Iterator[None]:
    """For tests of what thaws all that `pytest_collection_finish` froze: freeze it again, or every later collection looks at all of it."""
    yield
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> Iterator[None]:
    """If the tests run in the background, SIGINT is ignored, and every process that a test starts and interrupts would ignore it too."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pytest_configure(config: pytest.Config) -> None:
    if sys.dont_write_bytecode and hasattr(config, "cache"):
        # If bytecode must not be written beside the sources, every worker and every process that a test starts would compile the whole
        # program, and pytest would rewrite all assertions again. So keep bytecode in pytest's own cache.
        place = str(config.cache.mkdir("bytecode"))
        patch = pytest.MonkeyPatch()
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.setenv("PYTHONPYCACHEPREFIX", place)
        patch.setattr(sys, "dont_write_bytecode", False)
        patch.setattr(sys, "pycache_prefix", place)
        config.add_cleanup(patch.undo)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    # In a fresh tree, collection is mostly rewriting assertions, and all xdist workers collect in the same order. So let every other worker
    # import the tests from the end first: two workers meet in the middle and find the other half done.
    if int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 2:
        for path in sorted(session.config.rootpath.glob("tests/**/test_*.py"), reverse=True):
            # Errors in a module are reported when it is collected.
            with contextlib.suppress(Exception):
                importlib.import_module(".".join(path.relative_to(session.config.rootpath).with_suffix("").parts))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # pytest-trio looks for a clock only among a test's own arguments; a clock from elsewhere would go unused.
    for item in items:
        clock = next((name for name in ("mock_clock", "autojump_clock") if name in getattr(item, "fixturenames", ())), None)
        if clock is not None and isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            item.add_marker(pytest.mark.trio(run=partial(_run_on, item, clock)), append=False)


def pytest_collection_finish() -> None:
    # What has been imported and collected stays, so keep the garbage collector from scanning it again and again.
    gc.collect()
    gc.freeze()


def _run_on(
    item: pytest.Function,
    clock_asked_for: str,
    test: Callable[[], Awaitable[object]],
    *,
    clock: trio.abc.Clock | None,
    instruments: Sequence[trio.abc.Instrument],
) -> object:
    if clock is None:
        asked = item.funcargs[clock_asked_for]
        assert isinstance(asked, trio.abc.Clock)
        clock = asked
    return trio.run(test, clock=clock, instruments=instruments)


NO_CHROMIUM = "no Chromium was found"
NO_NODE = "no Node was found"
NO_TYPESCRIPT = "no TypeScript is to be had"

_UNTESTED = {
    NO_CHROMIUM: ("the web page in a browser", "install chromium and chromium-driver"),
    NO_NODE: ("the modules of the web page", "install nodejs"),
    NO_TYPESCRIPT: ("the types of the web page", "install npm, and let it reach its registry once"),
}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for reason, (what, remedy) in _UNTESTED.items():
        skipped = [report.nodeid for report in terminalreporter.getreports("skipped") if reason in str(report.longrepr)]
        if skipped:
            terminalreporter.section(f"NOT TESTED: {what}", sep="!", red=True, bold=True)
            terminalreporter.line(f"{reason}: {remedy}. {len(skipped)} tests were skipped:")
            for nodeid in skipped:
                terminalreporter.line(f"  {nodeid}")
