"""The keys that work on every screen: looks, bell, help, quit."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from client.state.store import Model
from client.state.tournament import DONE_PHASES, is_out
from client.text.formatting import limit_text
from client.text.tournaments import title_text
from client.tui.actions import Quit
from client.tui.drawing.theme import next_palette, theme_for
from client.tui.keymap import Command
from client.tui.room import is_lesson, still_racing
from client.tui.step import Step
from client.tui.ui_state import QuitNow, Ui
from protocol.tournament_messages import CheckIn


def done_everywhere(step: Step, command: Command) -> Step | None:
    """The step for a command that every screen has; None for a screen's own commands."""
    settings = step.ui.settings
    match command:
        case Command.COLOURS if settings.colours == 1:
            return step.but(note="Colours are off (NO_COLOR, or TERM has none).")
        case Command.COLOURS:
            palette = next_palette(settings.palette, settings.own_palette)
            title = theme_for(palette, ascii_only=False, colours=256, own=settings.own_palette).palette.title
            return _chosen(step, palette=palette).but(note=f"{title[:1].upper()}{title[1:]}.")
        case Command.ASCII:
            return _chosen(step, ascii=not settings.ascii).but(note="Suit symbols and lines." if settings.ascii else "Plain ASCII.")
        case Command.BELL:
            return _next_bell(step)
        case Command.MOTION:
            return _chosen(step, motion=not settings.motion).but(note=f"Motion is {'off' if settings.motion else 'on'}.")
        case Command.CHECK_IN_FROM_HERE:
            return _check_in(step)
        case Command.HELP:
            return open_help(step)
        case Command.QUIT:
            return quit_or_ask(step)
        case _:
            return None


def _chosen(step: Step, **changes: Any) -> Step:
    settings = step.ui.settings
    return step.but(settings=replace(settings, **changes, by_key=settings.by_key.union(changes)))


def _next_bell(step: Step) -> Step:
    """Cycle from the bell to silence, then to tones, and back to the bell."""
    settings = step.ui.settings
    if settings.bell and not settings.tones:
        return _chosen(step, bell=False, tones=False).but(note="The bell is off.")
    if not settings.bell:
        return _chosen(step, bell=True, tones=True).but(note="Tones in place of the bell, if the terminal has them.")
    return _chosen(step, bell=True, tones=False).but(note="The bell is on.")


def _check_in(step: Step) -> Step:
    due = next(iter(step.state.tournaments.check_ins), None)
    if due is None:
        return step.note("No check-in is waiting for you.")
    return step.send(CheckIn(id=due.id, nonce=""), fresh_nonce=True).note(f"Checking in to {title_text(due.name)}.")


def open_help(step: Step) -> Step:
    """Open the help page, or close it again."""
    return step.but(help_from=0 if step.ui.help_from is None else None)


def quit_or_ask(step: Step) -> Step:
    """End the screens: in a race, or while a tournament of theirs goes on, only after a question.

    A replay is closed, or given up; if it was all they showed, the screens end too.
    """
    if step.ui.replay is not None:
        return close_replay(step)
    if is_preparing(step.state, step.ui):
        return step.but(preparing="").note("The replay was cancelled.")
    if not still_racing(step) or is_lesson(step):
        missed = _still_played(step.state)
        if not missed:
            return step.then(Quit())
        return step.ask(f"Quit? {missed} goes on: if you miss a table, you forfeit it.", ("Quit", "Stay"), (QuitNow(), None))
    room = step.state.room
    lost = "stopped, with your cards home" if room is not None and len(room.seats) == 1 else "forfeited"
    held = limit_text(room.options.grace_s) if room is not None else ""
    then = "The race ends with it." if step.ui.own_server else f"Your seat is held for {held}, then {lost}."
    return step.ask(f"Quit? {then}", ("Quit", "Go on racing"), (QuitNow(), None))


def _still_played(model: Model) -> str:
    """The name of the tournament on show in which this player may have more tables; empty if there is none."""
    shown = model.tournaments.shown
    if shown is None or shown.told.phase in DONE_PHASES or not shown.told.rounds or is_out(shown.told, model.player):
        return ""
    mine = shown.table_of(model.player)
    if 0 < shown.told.options.rounds <= len(shown.told.rounds) and mine is not None and mine.result is not None:
        # They have had their last table.
        return ""
    return title_text(shown.told.options.name) if any(each.id == model.player for each in shown.told.entrants) else ""


def is_preparing(state: Model, ui: Ui) -> bool:
    """Whether the result on the screen waits for its replay."""
    room = state.finished
    # A server may send a record without a digest.
    return bool(ui.preparing) and room is not None and room.record is not None and room.record.digest == ui.preparing


def close_replay(step: Step) -> Step:
    """Go back to where the replay was opened."""
    step = step.but(replay=None)
    return step.then(Quit()) if step.ui.only_replay else step
