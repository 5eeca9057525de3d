"""What a player may do in any room, before, during and after its race: get ready, talk, leave."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from client.state.room import RoomModel
from client.state.store import Model
from client.tui.actions import Do, ScreenAction, Typed
from client.tui.keymap import Command
from client.tui.scene import Scene
from client.tui.start import Start, StartMatch, StartRequest
from client.tui.step import Step
from client.tui.ui_state import LeaveFor
from protocol.client_messages import JoinRace, LeaveRace, OpenRace, Ready, Say
from protocol.phrases import PHRASES
from protocol.run_messages import RunChallenge, RunDaily
from protocol.text import clean_chat, clean_name, listed, read_code
from protocol.views import RaceOptions

LESSON: Final = RaceOptions(seats=1, public=False, deal="lesson 65", countdown_s=1, time_limit_s=3600)
"""The race that serves as the lesson: alone, in no hurry, and on a shuffle on which every lesson comes up, within a dozen keys."""


def still_racing(step: Step) -> bool:
    """Whether this player is still racing."""
    room = step.state.room
    if room is None or room.own is None or room.phase not in ("racing", "countdown"):
        return False
    return room.own.state in ("waiting", "racing")


def is_lesson(step: Step) -> bool:
    """Whether this race is the lesson, so that nothing is lost when it ends."""
    room = step.state.room
    return room is not None and room.options.deal == LESSON.deal and len(room.seats) == 1 and still_racing(step)


def ready(step: Step) -> Step:
    """Be ready, with a fresh nonce unless one was sent before; do nothing if that makes no sense."""
    room = step.state.room
    if room is None or room.phase != "waiting" or room.own is None:
        return step
    step = ready_when_it_opens(step, False)
    if room.own.ready:
        return step
    # A server cannot have more records kept, or checked, than races that the player wanted: it could fill the disk with them.
    step = step.but(may_keep=step.ui.may_keep + 1)
    held = step.state.evidence
    if held is not None and held.has_nonce_of(room):
        # The key was pressed again before the answer; or the second race of a swap is dealt with the nonces of the first.
        return step.send(Ready(race=room.race, nonce=held.nonce))
    return step.send(Ready(race=room.race, nonce=""), fresh_nonce=True)


def leave(step: Step) -> Step:
    """Leave the room; ask first if something would be lost."""
    lost, room = _lost_by_leaving(step), step.state.room
    if not lost and room is not None and room.phase == "racing" and any(info.state == "racing" for info in room.seats):
        # Whoever leaves a rated race is told once, wherever they are then.
        told = "If the race counts, you will be told who won." if room.options.counts else "You will not hear who wins."
        return step.ask(f"Leave? {told}", ("Leave", "Wait for the end"), (LeaveRace(), None))
    if not lost:
        return step.send(LeaveRace())
    return step.ask(f"Leave? You {lost}.", ("Leave", "Go on racing" if still_racing(step) else "Go on with it"), (LeaveRace(), None))


def _lost_by_leaving(step: Step) -> str:
    """What leaving now would cost the player, as a verb phrase; empty if nothing."""
    room = step.state.room
    rated = room is not None and room.options.counts
    lost = [f"forfeit the {'rated ' if rated else ''}race"] if still_racing(step) else []
    series = room.series if room is not None else None
    if room is not None and series is not None and not series.over:
        runs = room.phase in ("countdown", "racing")
        # In the last race there is no series left to give up, and before the first there is none yet.
        if series.raced + 1 < series.races if runs else series.raced:
            lost.append("give up the series")
    return " and ".join(lost)


def is_wanted(room: RoomModel, wanted: Start) -> bool:
    """Whether the room is the very one that was asked for, such as that of a run which was broken off."""
    shared = room.shared
    match wanted:
        case StartRequest(request=RunDaily(rules=rules)):
            return shared is not None and shared.kind == "daily" and room.options.rules == rules
        case StartRequest(request=RunChallenge(id=challenge)):
            return shared is not None and shared.kind == "challenge" and shared.id == read_code(challenge)
        case StartRequest(request=JoinRace(code=code)):
            return room.code == read_code(code)
        case _:
            return False


def ask_held(step: Step, wanted: Start) -> Step:
    """Tell a player who asked for something else that they still hold a seat here, and ask which of the two they want."""
    room = step.state.room
    assert room is not None
    lost = _lost_by_leaving(step)
    leaves = f"{lost.capitalize() or 'Leave it'}, and {_purpose(wanted)}"
    code, is_over = clean_name(room.code), room.phase == "over"
    held = "Your last game was broken off" if step.ui.own_server else f"You still hold a seat in race {code}"
    text = f"Race {code} is over." if is_over else f"{held}: you are back in it."
    return step.ask(text, ("Look at its result" if is_over else "Go on with it", leaves), (None, LeaveFor(wanted)), numbered=True)


def _purpose(wanted: Start) -> str:
    match wanted:
        case StartRequest(request=RunDaily()):
            return "run the deal of the day"
        case StartRequest(request=RunChallenge(id=challenge)):
            return f"run challenge {clean_name(challenge)}"
        case StartRequest(request=JoinRace(code=code)):
            return f"join race {clean_name(code)}"
        case StartMatch():
            return "look for an opponent"
        case _:
            return "open another race"


def next_race(now: RoomModel) -> str:
    """How the race that is open behind a finished one is called."""
    if now.series is None:
        return f"race {now.race}"
    # Behind a series that was given up, the next race begins another.
    return f"race {now.series.raced + 1}" if now.series.raced else "race 1 of a new series"


def wants_to_race(model: Model, *, bots: bool = False) -> str:
    """Who is here and would like to go on after the race that is over, if this player has not said so themselves; empty if nobody has.

    bots: house bots too, who always would.
    """
    now = model.room
    if now is None or now.left or now.phase not in ("waiting", "over"):
        return ""
    is_over = now.phase == "over"
    asking = {info.seat for info in now.seats if (info.again if is_over else info.ready) and info.connected}
    names = [clean_name(info.name or "") for info in now.opponents if info.seat in asking and info.bot is None]
    house = [clean_name(info.name or "") for info in now.opponents if info.seat in asking and info.bot is not None and bots]
    names += [f"{len(house)} house bots"] if len(house) > 1 else house
    if not names or now.seat in asking:
        return ""
    if is_over:
        return f"{listed(names)} would like a rematch."
    return f"{listed(names)} {'is' if len(names) == 1 else 'are'} ready for {next_race(now)}."


def away_words(room: RoomModel) -> str:
    """`Anna is not connected`; empty if all who have a seat are here."""
    away = [clean_name(info.name) for info in room.opponents if info.name is not None and not info.connected]
    return f"{listed(away)} {'is' if len(away) == 1 else 'are'} not connected" if away else ""


def refused_alone(scene: Scene) -> frozenset[Command]:
    """Talk, where nobody would hear it."""
    room = scene.model.room
    return frozenset({Command.CHAT} if room is not None and room.is_private_run else ())


def talk(step: Step) -> Step:
    """Ask what to say; during the race, which phrase."""
    if step.state.room is not None and step.state.room.is_private_run:
        return step.note("Nobody would hear it: this race is yours alone.")
    if step.state.room is None or step.state.room.phase != "racing":
        return step.prompt("chat")
    # Phrases cannot give cards away during the race, and take no time to type. An older server does not know phrases, and takes the words.
    answers = tuple(Say(text=text, phrase=phrase) for phrase, text in PHRASES.items())
    return step.but(said="").ask("Say", tuple(PHRASES.values()), answers, numbered=True)


def say(step: Step, line: Typed, code: str | None = None) -> Step:
    """Say the typed line to everybody in the room, or to the spectators of the race with this code."""
    text = clean_chat(line.text)
    if line.kind != "chat" or not text:
        return step
    return step.but(said=text).send(Say(text=text, code=code))


def room_update(step: Step, action: ScreenAction) -> Step:
    """What talking and leaving do, on each screen of a room."""
    match action:
        case Do(Command.CHAT):
            return talk(step)
        case Do(Command.LEAVE):
            return leave(step)
        case Typed():
            return say(step, action)
        case _:
            return step


def race_at_once(step: Step, options: RaceOptions) -> Step:
    """Open a race that waits for nobody, and be ready as soon as there is a room."""
    return ready_when_it_opens(step.send(OpenRace(options=options)), True)


def ready_when_it_opens(step: Step, at_once: bool, *, by_ms: int | None = None) -> Step:
    """Whether the player is ready as soon as the race that was asked for opens. by_ms: only if that is no later than this moment."""
    return step.but(followed=replace(step.ui.followed, ready_at_once=at_once, ready_by_ms=by_ms))
