"""What the client subscribes to as the player looks around: the lobby, a race they watch, the list of tournaments or one tournament.

A player who plays or watches a race looks at neither lobby nor tournaments, and gets no news of them, except of their tournament when their
race at one of its tables is over. Calls to tables and check-ins come in any case. A new connection follows nothing yet. A request that
could not be sent is repeated at the next opportunity.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from client.tui.step import Step
from client.tui.tournament_view_state import TournamentView
from client.tui.ui_state import Prompt
from protocol.client_messages import ClientMessage, FollowLobby, LeaveRace, OpenRace, Ready, Say
from protocol.tournament_messages import CorrectResult, EndTournament, FollowTournament, FollowTournaments, GiveBye, RemoveEntrant
from protocol.watch_messages import Unwatch

FOLLOW_REFERENCE = 2**31 - 5
"""The `ref` of this module's requests about tournaments, to tell their refusals from others."""


def followed(step: Step, **changes: Any) -> Step:
    """The step with changes to what is followed."""
    return step.but(followed=replace(step.ui.followed, **changes))


def follow_lobby(step: Step) -> Step:
    """Follow the lobby unless there is a race to look at, and bring the subscriptions to tournaments up to date."""
    if step.state.room is None and not step.ui.followed.race and not step.ui.followed.lobby:
        step = followed(step.send(FollowLobby(changes=True)), lobby=True)
    return follow_tournament_view(step)


def leave_lobby(step: Step) -> Step:
    """Stop following the lobby: there is a race to look at."""
    if step.ui.followed.lobby:
        step = followed(step.send(FollowLobby(follow=False)), lobby=False)
    return step


def follow(step: Step) -> Step:
    """Follow what the player looks at from here on. Without a connection, that waits for the next one."""
    return follow_tournament_view(step) if step.state.link.state == "connected" else step


def follow_tournament_view(step: Step) -> Step:
    """Start following the tournaments that the player wants news of, and stop following the others."""
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
    return followed(step.send(request), tournament=wanted, before=before, asked_ms=step.now_ms)


def _wanted(step: Step, looked_at: TournamentView | None) -> tuple[str, int | None] | None:
    """The tournament, and the round, of which there should be news."""
    if looked_at is not None and looked_at.id is not None:
        return looked_at.id, looked_at.round
    room = step.state.room
    return (step.state.table_of, None) if step.state.is_at_table and room is not None and room.phase == "over" else None


def unsent(step: Step, message: ClientMessage) -> Step:
    """A message could not be sent. Subscriptions are asked for again later; for anything else the player is told.

    A line they have typed to others stays in the prompt, to be sent later.
    """
    offline = f"{step.offline[:1].lower()}{step.offline[1:]}"
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
        case Ready() if step.state.link.state != "gone":
            # Said once the room is there again, like a Ready that was lost on the way.
            return followed(step, ready_at_once=True).note("Not connected. You will be ready once the connection is back.")
        case LeaveRace():
            # What was to follow it would come at a moment when nobody expects it.
            return step.but(start=None).note(f"You have not left: {offline}")
        case Say(text=text, phrase=None):
            return step.but(prompt=Prompt("chat", text, len(text))).note(step.offline)
        case Say():
            return step.note(f"That was not said: {offline}")
        case CorrectResult(reason=text) | RemoveEntrant(reason=text) | GiveBye(reason=text) | EndTournament(reason=text):
            this = tuple(each for each in step.ui.rulings if each[0].ref == message.ref)
            step = step.but(rulings=tuple(each for each in step.ui.rulings if each not in this))
            if step.ui.prompt is not None and step.ui.prompt.about is not None:
                # Of several rulings only one fits into the line. The others are asked about like those whose answers were lost.
                return step.but(lost_rulings=(*step.ui.lost_rulings, *this))
            return step.but(prompt=Prompt("reason", text, len(text), message)).note(f"Not done: {offline}")
        case _:
            return step.note(step.offline)
