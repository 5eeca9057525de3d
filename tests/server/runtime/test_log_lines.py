"""Log lines: what they are about, and JSON that holds any text unchanged."""

from __future__ import annotations

import io
import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from server.runtime.log_lines import connection, log_to, race


@contextmanager
def logging_to(*, as_json: bool) -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """A log of its own, whatever listens to the root of all logs otherwise."""
    root, written = logging.getLogger(), io.StringIO()
    kept, root.handlers = root.handlers, []
    level = root.level
    try:
        log_to(written, level="INFO", as_json=as_json)
        yield logging.getLogger("carpet.test"), written
    finally:
        root.handlers = kept
        root.setLevel(level)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_line_says_which_connection_and_race_it_is_about(*, as_json: bool) -> None:
    with logging_to(as_json=as_json) as (log, written):
        tokens = connection.set("17"), race.set("ABCDEF-1-00")
        log.info("heard %s", "this")
        race.reset(tokens[1])
        connection.reset(tokens[0])
        log.info("and that")
    first, second = written.getvalue().splitlines()
    if as_json:
        told = json.loads(first)
        assert (told["message"], told["level"], told["logger"]) == ("heard this", "INFO", "carpet.test")
        assert (told["connection"], told["race"]) == ("17", "ABCDEF-1-00")
        assert not {"connection", "race"} & set(json.loads(second))
    else:
        assert first.endswith("INFO carpet.test [connection=17 race=ABCDEF-1-00]: heard this")
        assert second.endswith("INFO carpet.test: and that")


@pytest.mark.parametrize("as_json", [False, True])
def test_a_time_says_how_far_it_is_from_utc(monkeypatch: pytest.MonkeyPatch, *, as_json: bool) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000.25)
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_250_000_000)
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    try:
        time.tzset()
        with logging_to(as_json=as_json) as (log, written):
            log.info("heard this")
    finally:
        monkeypatch.undo()
        time.tzset()
    line = written.getvalue()
    assert (json.loads(line)["time"] if as_json else line.split()[0]) == "2023-11-15T03:43:20.250+05:30"


def test_a_line_of_json_stays_one_line() -> None:
    with logging_to(as_json=True) as (log, written):
        try:
            raise ValueError("two\nlines \x1b")
        except ValueError:
            log.exception("a name\nof two lines")
    (line,) = written.getvalue().splitlines()
    told = json.loads(line)
    assert told["message"] == "a name\nof two lines"
    assert "ValueError: two" in told["traceback"]
    assert "\x1b" not in line
