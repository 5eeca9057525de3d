"""The formats by name, as they are chosen and stored. Their options are their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from server.tournaments.elimination import Elimination
from server.tournaments.round_robin import RoundRobin
from server.tournaments.session import Session
from server.tournaments.swiss import Swiss
from server.tournaments.tournament import Format

FORMATS: Final[Mapping[str, type[Format]]] = {
    "round-robin": RoundRobin,
    "swiss": Swiss,
    "elimination": Elimination,
    "session": Session,
}
