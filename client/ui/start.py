"""With what the app begins, as the command line said, and how it came to its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from client.ui.desk import UiSettings
from protocol.record import Record
from protocol.views import RaceOptions


@dataclass(frozen=True, slots=True)
class StartHome:
    """The home screen."""


@dataclass(frozen=True, slots=True)
class StartBot:
    """A race against a house bot, at once. deal: the shuffle's name, None for a random one; winnable: one that can be won.

    rules: the id of a rule set.
    """

    bot: str
    deal: str | None = None
    rules: str = "carpet"
    winnable: bool = False


@dataclass(frozen=True, slots=True)
class StartOpen:
    """The waiting room of a new race."""

    options: RaceOptions


@dataclass(frozen=True, slots=True)
class StartJoin:
    """The waiting room of a race with this code."""

    code: str


Start: TypeAlias = StartHome | StartBot | StartOpen | StartJoin


@dataclass(frozen=True, slots=True)
class AppOutcome:
    """How the app ended. reason: the player quit, a signal came, or the terminal went away.

    settings: as they are now, to be kept. code: the room in which a seat is still held, or None. record: of the last finished race.
    """

    reason: Literal["quit", "signal", "terminal"]
    settings: UiSettings
    code: str | None = None
    record: Record | None = None
