"""The formats as they are chosen: from a tournament's options to how it is played."""

from __future__ import annotations

from typing import assert_never

from protocol.tournaments import TournamentOptions
from server.tournaments.pairing.elimination import Elimination
from server.tournaments.pairing.round_robin import RoundRobin
from server.tournaments.pairing.session import Session
from server.tournaments.pairing.swiss import Swiss
from server.tournaments.tournament import Format


def format_of(options: TournamentOptions, length: int) -> Format:
    """length: rounds of a Swiss or attempts of a session, 0 while they are not settled."""
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
