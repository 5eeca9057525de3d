"""What a player may do in any room, before, in and after its race: get ready, talk, leave."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from client.tui.actions import Typed
from client.tui.step import Step
from protocol.client_messages import LeaveRace, OpenRace, Ready, Say
from protocol.phrases import PHRASES
from protocol.text import clean_chat
from protocol.views import RaceOptions


def still_racing(step: Step) -> bool:
    """Whether this player's part of a race goes on."""
    room = step.state.room
    if room is None or room.own is None or room.phase not in ("racing", "countdown"):
        return False
    return room.own.state in ("waiting", "racing")


def ready(step: Step) -> Step:
    """Ready, with a fresh nonce; nothing where that makes no sense."""
    room = step.state.room
    if room is None or room.phase != "waiting" or room.own is None or room.own.ready:
        return step
    step = _asked_for(step, at_once=False)
    held = step.state.evidence
    if held is not None and held.secret_of(room):
        # The second race of a swap is dealt by the nonces of the first, whatever is sent now.
        return step.send(Ready(race=room.race, nonce=held.nonce))
    return step.send(Ready(race=room.race, nonce=""), fresh_nonce=True)


def leave(step: Step) -> Step:
    """Leave the room, after a question where something is lost by it."""
    room = step.state.room
    series = room.series if room is not None else None
    if still_racing(step):
        return step.ask("Leave? You forfeit the race.", ("Leave", "Go on racing"), (LeaveRace(), None))
    if series is not None and series.raced > 0 and not series.over:
        return step.ask("Leave? You give up the series.", ("Leave", "Go on with it"), (LeaveRace(), None))
    return step.send(LeaveRace())


def talk(step: Step) -> Step:
    """Ask what to say; while the race is run, which phrase."""
    if step.state.room is None or step.state.room.phase != "racing":
        return step.prompt("chat")
    # Nobody can be told the cards while they are played, and a phrase takes no time to type. An older server knows no phrases, and takes
    # the words.
    answers = tuple(Say(text=text, phrase=phrase) for phrase, text in PHRASES.items())
    return step.but(said="").ask("Say", tuple(PHRASES.values()), answers, numbered=True)


def say(step: Step, line: Typed, code: str | None = None) -> Step:
    """Say what was typed to everybody in the room, or to those who watch the race of a code."""
    text = clean_chat(line.text)
    if line.kind != "chat" or not text:
        return step
    if code is None and step.state.room is not None and step.state.room.phase == "racing":
        # Begun before the start. In the line it would stand in the way of the keys for the table.
        return step.but(unsaid=text).note("In a race only phrases can be said. Your line waits: t, once it is over.")
    return step.but(said=text).send(Say(text=text, code=code))


def race_at_once(step: Step, options: RaceOptions) -> Step:
    """Open a race that waits for nobody, and be ready in it as soon as there is a room."""
    return _asked_for(step.send(OpenRace(options=options)), at_once=True)


def _asked_for(step: Step, *, at_once: bool) -> Step:
    return step.but(followed=replace(step.ui.followed, ready_at_once=at_once))


def race_bot(step: Step, bot: str, rules: str, **changes: Any) -> Step:
    """Race a house bot."""
    return race_at_once(step, RaceOptions(rules=rules, bots=(bot,), public=False, **changes))
