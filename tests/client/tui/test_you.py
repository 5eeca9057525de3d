"""The page about the player: how it is opened and left, and how a race on it is watched again."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from client.state.store import Model
from client.tui.actions import Action, Effect, Heard, Key, Pick, ProfileRead, Quit, ReadProfile, Replayed, ReplayPast
from client.tui.start import StartYou
from client.tui.ui_state import Ui
from client.tui.update import update
from tests.client import replays, runs, scenes

KNOWN = runs.profile()
OPEN = Ui(you=True, profile=KNOWN)


def after(ui: Ui, *actions: Action | str, model: Model | None = None) -> tuple[Ui, tuple[Effect, ...]]:
    effects: tuple[Effect, ...] = ()
    for action in actions:
        ui, effects = update(model or scenes.at_home(), ui, Key(action) if isinstance(action, str) else action, 0)
    return ui, effects


def test_a_key_at_home_opens_it_has_it_looked_up_and_esc_leads_back() -> None:
    ui, effects = after(Ui(), "y")
    assert (ui.you, ui.profile, effects) == (True, None, (ReadProfile(),))
    ui, _ = after(ui, ProfileRead(KNOWN))
    assert ui.profile is KNOWN
    ui, effects = after(ui, "esc")
    assert (ui.you, ui.profile, effects) == (False, None, ())


def test_opened_by_a_command_it_ends_with_esc() -> None:
    assert after(replace(OPEN, start=StartYou()), "esc", model=Model())[1] == (Quit(),)


def test_why_nothing_is_known_is_said() -> None:
    assert after(Ui(you=True), ProfileRead("It cannot be read."))[0].note == "It cannot be read."


def test_what_is_known_too_late_is_neither_said_nor_kept_once_the_page_was_left() -> None:
    for late in (ProfileRead("It cannot be read."), ProfileRead(KNOWN)):
        ui, _ = after(Ui(), "y", "esc", late)
        assert (ui.note, ui.profile) == ("", None)


def test_the_marked_race_is_watched_again_and_closing_the_replay_leads_back_to_the_page() -> None:
    race = KNOWN.races[1].race.id
    ui, effects = after(OPEN, "down", "enter")
    assert effects == (ReplayPast(race),)
    ui, _ = after(ui, Replayed(race, 0, replays.line()))
    assert ui.replay is not None
    ui, effects = after(ui, "q")
    assert (ui.replay, ui.you, ui.item, effects) == (None, True, 1, ())


def test_a_click_marks_a_race_and_a_second_one_watches_it() -> None:
    ui, effects = after(OPEN, Pick(2))
    assert (ui.item, effects) == (2, ())
    assert after(ui, Pick(2))[1] == (ReplayPast(KNOWN.races[2].race.id),)


@pytest.mark.parametrize("keys", [("esc",), ("esc", "esc")])
def test_a_replay_that_was_given_up_does_not_open_later(keys: tuple[str, ...]) -> None:
    race = KNOWN.races[0].race.id
    ui, _ = after(OPEN, "enter", *keys, Replayed(race, 0, replays.line()))
    assert ui.replay is None
    assert ui.you is (len(keys) == 1)


def test_why_a_race_cannot_be_watched_again_is_said() -> None:
    aborted = next(at for at, past in enumerate(KNOWN.races) if past.race.aborted is not None)
    ui, effects = after(replace(OPEN, item=aborted), "enter")
    assert (ui.note, effects) == ("That race cannot be watched again: it has no record.", ())
    ui, _ = after(OPEN, "enter", Replayed(KNOWN.races[0].race.id, None, "It is not kept here any more."))
    assert (ui.note, ui.replay) == ("It is not kept here any more.", None)


def test_whoever_finds_an_opponent_leaves_the_page_for_the_race() -> None:
    room = scenes.room()
    model = scenes.reduced(scenes.at_home(), room)
    ui, _ = update(model, OPEN, Heard(room, scenes.at_home()), 0)
    assert not ui.you
