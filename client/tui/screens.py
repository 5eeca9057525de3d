"""The registry of screens: one line each, what comes first is shown before what comes later."""

from __future__ import annotations

from typing import Final

from client.state.store import Model
from client.tui import (
    countdown,
    daily,
    ending,
    form,
    home,
    laying,
    menu,
    race,
    replaying,
    result,
    rules,
    tournament,
    tournament_form,
    tournaments,
    waiting,
    watching,
    you,
)
from client.tui.screen import Screen
from client.tui.ui_state import Ui

SCREENS: Final[tuple[Screen, ...]] = (
    replaying.SCREEN,
    menu.SCREEN,
    laying.SCREEN,
    ending.SCREEN,
    race.SCREEN,
    result.SCREEN,
    countdown.SCREEN,
    waiting.SCREEN,
    watching.SCREEN,
    rules.SCREEN,
    tournament_form.SCREEN,
    form.SCREEN,
    tournament.SCREEN,
    tournaments.SCREEN,
    you.SCREEN,
    daily.SCREEN,
    home.SCREEN,
)


def shown(state: Model, ui: Ui) -> Screen:
    """The screen that is shown."""
    return next(screen for screen in SCREENS if screen.is_shown(state, ui))
