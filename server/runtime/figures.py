"""A figure of a server, for whoever shows figures. Must not know who that is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Figure:
    """name: without the prefix, and without the `_total` of a counter. read: gives it, in another thread; it must not block or change."""

    name: str
    what: str
    read: Callable[[], float]
    kind: Literal["gauge", "counter"] = "gauge"
