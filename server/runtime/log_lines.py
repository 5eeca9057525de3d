"""Log lines as text or as JSON, each with the connection and the race that it is about.

Code that handles a request sets `connection` and `race`; every line that is logged meanwhile carries both.
"""

from __future__ import annotations

import json
import logging
import sys
from contextvars import ContextVar
from datetime import datetime
from typing import TextIO

connection: ContextVar[str] = ContextVar("connection", default="")
race: ContextVar[str] = ContextVar("race", default="")

_TEXT = "%(asctime)s %(levelname)s %(name)s%(about)s: %(message)s"


def log_to(stream: TextIO = sys.stderr, *, level: int | str, as_json: bool) -> None:
    """Log everything to this stream."""
    handler = logging.StreamHandler(stream)
    handler.addFilter(_about)
    handler.setFormatter(JsonLines() if as_json else _Lines(_TEXT))
    logging.basicConfig(level=level, handlers=[handler])


def _about(record: logging.LogRecord) -> bool:
    about = {name: value for name, value in (("connection", connection.get()), ("race", race.get())) if value}
    record.__dict__.update(about)
    record.about = f" [{' '.join(f'{name}={value}' for name, value in about.items())}]" if about else ""
    return True


class _Lines(logging.Formatter):
    """With times that say how far they are from UTC: logs of several machines are read together, and an hour comes twice in autumn."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802  (the library calls it that)
        del datefmt
        return datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds")


class JsonLines(_Lines):
    """One object per line: time, level, logger, message; connection and race if there is one; the traceback of an exception."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name in ("connection", "race") if (value := getattr(record, name, ""))}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)
