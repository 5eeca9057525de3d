"""Who may have a bye in a round to come, of those that are asked for or given. Pure.

A player may ask for half-point byes, as many as the tournament's options say, and never for the last round. The director may give any bye.
Byes that follow from an odd field are the pairing's.
"""

from __future__ import annotations

from typing import Final

from protocol.errors import ErrorCode, Refusal
from protocol.text import counted
from server.tournaments.events import ByeGiven
from server.tournaments.pairing.tie_breaks import FULL_POINT
from server.tournaments.state import STAGE_SENTENCES, TournamentState

MOST_BYES: Final = 3_000
"""Of all entrants in all rounds. Every message about the tournament has them, and may not grow too long. 256 may ask for ten each."""


def asked_bye(state: TournamentState, entrant: str, number: int, *, ask: bool) -> ByeGiven:
    """What comes of a player's asking for a bye in round `number`, or taking it back. Raises Refusal."""
    asked = given_bye(state, ByeGiven(entrant, number, 1 if ask else 0))
    allowed = state.options.byes
    if not ask:
        if state.crosstable.byes[number, entrant] == FULL_POINT:
            raise Refusal(ErrorCode.DECISION_REFUSED, "the director has given you that bye, and can take it away")
        return asked
    if not allowed:
        raise Refusal(ErrorCode.DECISION_REFUSED, "nobody can ask for a bye in it; its director may give one")
    if number == state.settled()[1]:
        raise Refusal(ErrorCode.DECISION_REFUSED, "nobody can ask for a bye in the last round")
    if not state.options.rounds and number > 1:
        raise Refusal(ErrorCode.NOT_NOW, "how many rounds it has is settled with the first one; until then ask for a bye in that alone")
    if sum(points == 1 for (_, other), points in state.crosstable.byes.items() if other == entrant) >= allowed:
        raise Refusal(ErrorCode.DECISION_REFUSED, f"each player can have {counted(allowed, 'half-point bye')}, and you do")
    return asked


def given_bye(state: TournamentState, given: ByeGiven) -> ByeGiven:
    """The same, where nobody at all could have it. Raises Refusal. The state does not refuse what is refused here."""
    entrant, number = given.entrant, given.round
    name, has = state.people[entrant].name, state.crosstable.byes.get((number, entrant), 0)
    if state.is_closed:
        raise Refusal(ErrorCode.NOT_NOW, STAGE_SENTENCES[state.stage])
    if state.options.format != "swiss":
        raise Refusal(ErrorCode.DECISION_REFUSED, "only in a Swiss can one ask for a bye")
    if not state.crosstable.plays(entrant):
        raise Refusal(ErrorCode.DECISION_REFUSED, f"{name} is out")
    if number <= state.round:
        raise Refusal(ErrorCode.NOT_NOW, f"round {number} is paired already", path="$.round")
    if number > (length := state.settled()[1]) and not has:
        # Otherwise they could be given for rounds that never come.
        unsettled = "" if state.options.rounds else " for the entrants of now; how many is settled with the first one"
        raise Refusal(ErrorCode.DECISION_REFUSED, f"it has {counted(length, 'round')}{unsettled}", path="$.round")
    if has == given.half_points:
        sentence = f"{name} has {'such a' if has else 'no'} bye in round {number}{' already' if has else ''}"
        raise Refusal(ErrorCode.DECISION_REFUSED, sentence)
    others = [other for other in state.crosstable.active if other != entrant]
    if given.half_points and others and all((number, other) in state.crosstable.byes for other in others):
        raise Refusal(ErrorCode.DECISION_REFUSED, f"all others have a bye in round {number}, and somebody has to race")
    if not has and len(state.crosstable.byes) >= MOST_BYES:
        raise Refusal(ErrorCode.DECISION_REFUSED, f"it has {MOST_BYES:,} byes already, and can have no more")
    return given
