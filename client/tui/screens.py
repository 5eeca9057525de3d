"""The registry of screens: one line each, what comes first is shown before what comes later."""

from __future__ import annotations

from typing import Final

from client.state.store import Model
from client.tui.lobby import daily, form, home, laying, menu, rules, you
from client.tui.race import countdown, ending, racing, result, waiting, watching
from client.tui.replay import replaying
from client.tui.screen import Screen
from client.tui.tournament import form as tournament_form
from client.tui.tournament import listing as tournaments
from client.tui.tournament import screen as tournament
from client.tui.ui_state import Ui

SCREENS: Final[tuple[Screen, ...]] = (
    replaying.SCREEN,
    menu.SCREEN,
    laying.SCREEN,
    ending.SCREEN,
    racing.SCREEN,
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
