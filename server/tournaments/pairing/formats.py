"""Makes a tournament's format from its options."""

from __future__ import annotations

from math import ceil, log2
from typing import assert_never

from protocol.forms import USUAL_DEALS
from protocol.tournaments import TournamentOptions
from server.tournaments.pairing.crosstable import Format
from server.tournaments.pairing.elimination import Elimination
from server.tournaments.pairing.round_robin import RoundRobin
from server.tournaments.pairing.session import Session
from server.tournaments.pairing.swiss import Swiss


def format_of(options: TournamentOptions, length: int) -> Format:
    """length: rounds of a Swiss or attempts of a session; 0 while not settled."""
    match options.format:
        case "swiss":
            return Swiss(rounds=length or 1)
        case "round-robin":
            return RoundRobin(double=options.double)
        case "elimination":
            return Elimination(double=options.double, replays=options.replays)
        case "session":
            return Session(attempts=length or 1)
    assert_never(options.format)


def settled_length(options: TournamentOptions, entrants: int) -> int:
    """Rounds of the whole tournament with so many entrants; 0 if they follow from the format."""
    match options.format:
        case "swiss":
            return options.rounds or max(1, ceil(log2(max(entrants, 2))))
        case "session":
            return options.rounds or USUAL_DEALS
        case _:
            return 0
