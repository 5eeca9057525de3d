"""What the server sends news of: the lobby, a race that is watched, the tournaments or one of them, as the player looks at them.

While they play or watch a race they look at neither lobby nor tournaments, and are sent nothing of them, except of a tournament that they
have entered: its check-in may open at any time. At one of its tables they want no news of it until their race is over. On a new
connection nothing is followed yet. What could not go out is asked for again at the next chance.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from client.tui.step import Step
from client.tui.tournament_view_state import TournamentView
from client.tui.ui_state import Prompt
from protocol.client_messages import ClientMessage, FollowLobby, OpenRace, Say
from protocol.tournament_messages import CorrectResult, EndTournament, FollowTournament, FollowTournaments, RemoveEntrant
from protocol.watch_messages import Unwatch

FOLLOW_REFERENCE = 2**31 - 5
"""`ref` of the requests about tournaments that are made here, to tell their refusals from those of others."""


def followed(step: Step, **changes: Any) -> Step:
    """With something else followed."""
    return step.but(followed=replace(step.ui.followed, **changes))


def follow_lobby(step: Step) -> Step:
    """Follow the lobby where it is looked at, and tournaments."""
    if step.state.room is None and not step.ui.followed.race and not step.ui.followed.lobby:
        step = followed(step.send(FollowLobby(changes=True)), lobby=True)
    return follow_tournament_view(step)


def leave_lobby(step: Step) -> Step:
    """Follow neither lobby nor tournaments: there is a race to look at."""
    if step.ui.followed.lobby:
        step = followed(step.send(FollowLobby(follow=False)), lobby=False)
    return step


def follow(step: Step) -> Step:
    """Follow what the player looks at from here on; without a connection that waits for the next one."""
    return follow_tournament_view(step) if step.state.link.state == "connected" else step


def follow_tournament_view(step: Step) -> Step:
    """Ask for the tournaments that are wanted and not followed, and for no more of what is not."""
    state, known = step.state, step.ui.followed
    looks = state.room is None and not known.race and state.welcome is not None
    view_state = step.ui.tournament_view if looks else None
    wants_list = view_state is not None and view_state.id is None
    if wants_list is not known.tournaments:
        step = followed(step.send(FollowTournaments(follow=wants_list, ref=FOLLOW_REFERENCE)), tournaments=wants_list)
    wanted, before = _wanted(step, view_state), known.tournament
    if wanted == before:
        return step
    if wanted is not None:
        request = FollowTournament(id=wanted[0], round=wanted[1], ref=FOLLOW_REFERENCE)
    else:
        assert before is not None
        request = FollowTournament(id=before[0], follow=False, ref=FOLLOW_REFERENCE)
    return followed(step.send(request), tournament=wanted, before=before)


def _wanted(step: Step, looked_at: TournamentView | None) -> tuple[str, int | None] | None:
    """The tournament, and the round, of which there should be news."""
    if looked_at is not None and looked_at.id is not None:
        return looked_at.id, looked_at.round
    room, own = step.state.room, step.ui.followed.own_tournament
    if room is not None and step.state.is_at_table:
        return (own or step.state.table_of, None) if room.phase == "over" else None
    return (own, None) if own is not None else None


def unsent(step: Step, message: ClientMessage) -> Step:
    """Something could not go out. What follows by itself is asked for again later; of anything else the player is told.

    What they have typed to others stays in the line, to be sent later.
    """
    match message:
        case FollowLobby(follow=follows):
            return followed(step, lobby=not follows)
        case FollowTournaments(follow=follows):
            return followed(step, tournaments=not follows)
        case FollowTournament():
            return followed(step, tournament=step.ui.followed.before)
        case Unwatch() if step.state.room is not None:
            return followed(step, race=True)
        case OpenRace():
            return followed(step, ready_at_once=False).note(step.offline)
        case Say(text=text, phrase=None):
            return step.but(prompt=Prompt("chat", text, len(text))).note(step.offline)
        case CorrectResult(reason=text) | RemoveEntrant(reason=text) | EndTournament(reason=text) if text:
            return step.but(prompt=Prompt("reason", text, len(text), message)).note(step.offline)
        case _:
            return step.note(step.offline)
