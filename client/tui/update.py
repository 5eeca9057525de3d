"""The step function of the screens: `update(state, ui, action, now) -> (ui, effects)`. Pure: no waiting, no drawing, no clock.

Decides who gets an action: a line that is being typed, a page over the screen, the screen itself, or what works everywhere.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from client.state.store import Model
from client.tui.actions import (
    Action,
    Click,
    Do,
    Effect,
    Heard,
    JumpTo,
    Kept,
    Key,
    Pick,
    Press,
    ProfileRead,
    PutBack,
    Replayed,
    Resized,
    Rest,
    Reviewed,
    ScreenAction,
    SendNextHome,
    Shared,
    SlowTerminal,
    Typed,
    Unsent,
    Verified,
    Wheel,
)
from client.tui.everywhere import done_everywhere
from client.tui.heard import heard, kept, ready_at_once, replayed, reviewed
from client.tui.keymap import CURSOR, EVERYWHERE, FRENCH_DIGITS, KEY_NAMES, Command, Keys, commands
from client.tui.lobby import you
from client.tui.overlays import HELP_KEYS, QUESTION_KEYS, answered, is_large_enough, pressable, turn_help
from client.tui.prompt import typed_on
from client.tui.race import racing
from client.tui.screens import shown
from client.tui.step import APART_MS, Step
from client.tui.subscriptions import unsent
from client.tui.tournament.rulings import asked_again
from client.tui.ui_state import Prompt, Ui
from protocol.text import clean_chat
from protocol.tournaments import REASON_LENGTH


def update(state: Model, ui: Ui, action: Action, now_ms: int) -> tuple[Ui, tuple[Effect, ...]]:
    """The player's side after an action, and the effects to carry out. state: what has been heard, including the action's own event."""
    step = Step(state, ui, now_ms)
    step = asked_again(_unheard(step, action) or _step(step, action))
    if isinstance(action, Key | Click | PutBack):
        step = step.but(clicked=not isinstance(action, Key))
    by_hand = not isinstance(action, Heard | Resized | SendNextHome | Rest | Reviewed | Verified | Kept)
    told = (step.ui.note, step.ui.taken_back)
    if any(told) and (by_hand or told != (ui.note, ui.taken_back)):
        # The note stays for some seconds from now.
        step = step.but(noted_at_ms=now_ms)
    if by_hand and state.notice is not None and state.notice.kind != "info" and shown(state, step.ui) is not shown(state, ui):
        # What was refused on one screen means nothing on another.
        step = step.but(passed=state.notice)
    return step.ui, step.effects


def _unheard(step: Step, action: Action) -> Step | None:
    """The step for a key or a click that does nothing in this moment; None for any other action."""
    if isinstance(action, Key) and action.key in PASTES:
        return None
    return _pasted(step, action) or _too_soon(step, action)


def _pasted(step: Step, action: Action) -> Step | None:
    """The step for a letter of a pasted text. Among them may be the keys for giving up, and nobody has pressed those."""
    if step.ui.pasting_until_ms is None or step.now_ms >= step.ui.pasting_until_ms or not isinstance(action, Key):
        return None
    step = step.but(pasting_until_ms=step.now_ms + PASTE_MS)
    if step.ui.prompt is None:
        return step.note("Pasted text does nothing here.")
    # A line takes what is pasted into it, but a line break among that does not send it.
    return step if action.key == "enter" else _step(step, action)


def _too_soon(step: Step, action: Action) -> Step | None:
    """The step for a key or a click that was meant for the screen before, see `Deaf`."""
    deaf, key = step.ui.deaf, action.key if isinstance(action, Key) else None
    if deaf is None or step.now_ms >= deaf.until_ms or not isinstance(action, Key | Click | PutBack | Wheel):
        return None
    if step.ui.settings.plain:
        # A whole line is meant.
        return None
    if key in deaf.counting:
        # Whoever asks to quit has seen where they are, and answers what that asks.
        return _step(step.but(deaf=None), action) if key == "q" else None
    if key is None and not deaf.clicks:
        return None
    if deaf.keys is not None and ((key is not None and key not in deaf.keys) or _is_expected(step)):
        return None
    step = step.but(deaf=replace(deaf, until_ms=min(max(deaf.until_ms, step.now_ms + APART_MS), deaf.end_ms)))
    if step.ui.prompt is not None:
        return _step(step, action)
    return step if deaf.keys is None else _told_too_soon(step, action)


def _told_too_soon(step: Step, action: Action) -> Step:
    """The step with a word to whoever has seen the result already and means it."""
    if isinstance(action, Do):
        return step.note("Too soon after the end: click again.")
    key = action.key if isinstance(action, Key) else ""
    means_something = key in commands(shown(step.state, step.ui).keys)
    return step.note(f"Too soon after the end: press {KEY_NAMES.get(key, key)} again.") if means_something else step


def _is_expected(step: Step) -> bool:
    """Whether the race's screen is still there, where others may race on, or a question that was asked before its end."""
    return step.ui.question is not None or shown(step.state, step.ui) is racing.SCREEN


def _step(step: Step, action: Action) -> Step:
    match action:
        case Key(key):
            return _key(step, key)
        case SendNextHome() | Rest():
            return shown(step.state, step.ui).update(step, action)
        case SlowTerminal():
            note = step.ui.note or "Motion is off, since this terminal draws slowly. M turns it on again."
            return step.but(settings=replace(step.ui.settings, motion=False), falls=False, note=note)
        case Do() | Press() | Pick() | JumpTo() | PutBack() | Typed():
            return _act(step, action)
        case Wheel(by):
            return _wheel(step, by)
        case Resized(size):
            return ready_at_once(step.but(size=size))
        case Heard():
            return heard(step, action)
        case Unsent(message):
            return unsent(step, message)
        case Reviewed():
            return reviewed(step, action)
        case Replayed():
            return replayed(step, action)
        case ProfileRead(profile):
            return you.known(step, profile)
        case Verified():
            return step.but(verified=action)
        case Shared(told):
            return step.note(told)
        case Kept():
            return kept(step, action)
        case _:
            assert_never(action)


# ---- keys


def keys_of(state: Model, ui: Ui) -> Keys:
    """The rows of the key table that apply now."""
    if ui.help_from is not None:
        return (*HELP_KEYS, *CURSOR, *EVERYWHERE)
    return (*QUESTION_KEYS, *CURSOR) if ui.question is not None else shown(state, ui).all_keys


PASTES = "begin paste", "end paste"
PASTE_MS = 1000
"""A paste whose end never comes is over after this long without a character."""


def _key(step: Step, key: str) -> Step:
    if key in PASTES:
        return step.but(pasting_until_ms=step.now_ms + PASTE_MS if key == PASTES[0] else None)
    # Any key stops cards from being sent home one by one.
    step = step.but(homing=False)
    ui = step.ui
    if step.state.room is None and ui.question is None and not is_large_enough(ui.size) and key not in ("q", "esc", "T"):
        # Nobody sees what it would do. In a race it plays on, though, and a question is shown.
        return step
    if ui.prompt is not None:
        return _type(step, ui.prompt, key)
    if ui.help_from is not None and key in ("page up", "page down", " "):
        return turn_help(step, Command.UP if key == "page up" else Command.DOWN, ui.size[1] - 4)
    key = _digit(step, key)
    if ui.question is not None and ui.question.numbered and key in ui.question.keys:
        return _act(step, Pick(ui.question.keys.index(key)))
    if ui.help_from is None and ui.question is None:
        named = shown(step.state, ui).type_key(step, key)
        if named is not None:
            return named
        # A key that does not continue a slot's name discards it.
        step = step.but(typed="")
    command = commands(keys_of(step.state, ui)).get(key)
    if command is not None:
        return _act(step, Do(command, key))
    if len(key) == 1 or key == "esc":
        # A question has no page about its keys: they all stand beside its lines and in the last row.
        more = "; the box and the last row show the keys" if ui.question is not None else "; ? shows the keys"
        return step.note("" if key == "esc" else f"{KEY_NAMES.get(key, key)} does nothing here{more}.")
    return step


def _digit(step: Step, key: str) -> str:
    """The digit of this key of a French keyboard, where the digit is a key and what was typed is none; else the key."""
    question, keys = step.ui.question, commands(keys_of(step.state, step.ui))
    digit = FRENCH_DIGITS.get(key, key)
    is_key = digit in keys or (question is not None and question.numbered and digit in question.keys)
    return digit if is_key and key not in keys else key


def _type(step: Step, prompt: Prompt, key: str) -> Step:
    if key == "esc":
        return step.but(prompt=None)
    if key != "enter":
        return step.but(prompt=typed_on(prompt, key), note="")
    step, text = step.but(prompt=None), prompt.text.strip()
    if prompt.about is not None:
        return step.send(replace(prompt.about, reason=clean_chat(text)[:REASON_LENGTH]))
    return shown(step.state, step.ui).update(step, Typed(prompt.kind, text))


# ---- what the player does


def _act(step: Step, action: ScreenAction) -> Step:
    step = step.but(note="", taken_back=(), homing=False)
    if step.ui.prompt is not None and isinstance(action, Do) and action.command in (Command.PLAY, Command.BACK):
        # A click on the buttons below the line that is being typed.
        return _type(step, step.ui.prompt, "esc" if action.command is Command.BACK else "enter")
    if isinstance(action, Do) and (step.ui.question is None or step.ui.help_from is not None):
        if step.ui.help_from is not None and action.command in (Command.QUIT, Command.HELP):
            return turn_help(step, Command.BACK)
        everywhere = done_everywhere(step, action.command)
        if everywhere is not None:
            return everywhere
    if step.ui.help_from is not None:
        if isinstance(action, Pick) and step.ui.question is None:
            return _key(step.but(help_from=None), pressable(step.state, step.ui)[action.line].keys[0])
        return turn_help(step, action.command) if isinstance(action, Do) else step
    if step.ui.question is not None:
        return answered(step, step.ui.question, action) if isinstance(action, Do | Pick) else step
    return shown(step.state, step.ui).update(step, action)


def _wheel(step: Step, by: int) -> Step:
    command = Command.UP if by < 0 else Command.DOWN
    if step.ui.help_from is not None:
        return turn_help(step, command, abs(by))
    scrolls = step.ui.question is None and shown(step.state, step.ui).scrolls
    return _act(step, Do(command)) if scrolls else step
