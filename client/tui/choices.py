"""Values that a form offers, one after the other and round again."""

from __future__ import annotations

from typing import TypeVar

Value = TypeVar("Value")

TIME_LIMITS_S = (60, 120, 180, 300, 600, 900, 1200, 1800, 3600)


def next_of(choices: tuple[Value, ...], value: Value, step: int) -> Value:
    """The one after `value`, or before it; the second one where `value` is none of them."""
    if not choices:
        return value
    at = choices.index(value) if value in choices else 0
    return choices[(at + step) % len(choices)]
