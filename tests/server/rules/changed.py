"""Positions and rule sets made by hand from others."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

from server.rules.position import PositionBase

Value = TypeVar("Value")


def replace(value: Value, **changes: object) -> Value:
    """`dataclasses.replace` for positions too: what one has kept of what follows from its fields is found anew for the other."""
    if not isinstance(value, PositionBase):
        return dataclasses.replace(value, **changes)  # type: ignore[type-var]
    fields = {name: getattr(value, name) for name in value.__struct_fields__ if not name.startswith("_")}
    return type(value)(**fields | changes)
