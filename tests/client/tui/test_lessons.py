"""The lessons of a first race: each comes when the table has a use for it, waits, and is not repeated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs
from msgspec.structs import replace

from client.state.store import Model
from client.storage.saved_records import TAUGHT, is_new, keep_record
from client.tui.actions import Action, Heard, Key, Quit, Send, SendNextHome
from client.tui.chips import dealt
from client.tui.drawing.picture import Picture
from client.tui.race import lessons
from client.tui.room import LESSON
from client.tui.scene import scene_of
from client.tui.ui_state import Ui
from client.tui.update import update
from protocol.client_messages import Move
from protocol.fairness import named_seed
from protocol.views import RaceOptions
from server.race.view import see
from server.rules.catalogue import rule_set
from server.rules.position import Position
from tests.client import replays, scenes, tables

NEW = Ui(learned=frozenset())


def at(position: Position, options: RaceOptions = LESSON) -> Model:
    model = tables.racing_at("carpet", see(position), seats=options.seats)
    assert model.room is not None
    return replace(model, room=replace(model.room, options=options))


class Table:
    """Somebody new at a deal: what they type is answered by the rules."""

    def __init__(self, deal: str = str(LESSON.deal), options: RaceOptions = LESSON) -> None:
        self.position, self.options, self.ui = rule_set("carpet").deal(named_seed(deal)), options, NEW

    def type(self, key: str) -> list[str]:
        return self.act(Key(key))

    def act(self, action: Action) -> list[str]:
        """What is sent for it, with all that goes on by itself."""
        sent: list[str] = []
        while True:
            self.ui, effects = update(at(self.position, self.options), self.ui, action, 46_300)
            moves = [effect.message.move for effect in effects if isinstance(effect, Send) and isinstance(effect.message, Move)]
            for move in moves:
                self.position = self.position.play(move)
            sent += moves
            view = see(self.position)
            self.ui = replace(self.ui, chips=dealt(self.ui.chips, view))
            if not moves or not self.ui.homing:
                return sent
            action = SendNextHome()

    @property
    def shown(self) -> Picture:
        scene = scene_of(at(self.position, self.options), self.ui, 46_300)
        assert scene.model.room is not None
        return lessons.told(scene, scene.model.room, 80)

    @property
    def told(self) -> str:
        return "".join(text for _, text in self.shown.lines[0])


def taught(table: Table) -> Iterator[str]:
    """Do as one is told, to the end of the lessons or of the game: the keys."""
    while table.ui.learned is not None and not table.position.is_over:
        key = table.told.partition("ress ")[2].partition(":")[0].split()[0] if "ress " in table.told else "space"
        yield key
        assert table.type(" " if key == "space" else key), table.told


def test_whoever_does_as_told_learns_all_of_it_in_a_dozen_keys_and_is_offered_a_race() -> None:
    table = Table()
    keys = list(taught(table))
    assert keys == ["1", "space", "g", "s", "s", "w", "space", "w"]
    assert table.ui.question is not None
    table.ui, effects = update(at(table.position), table.ui, Key("1"), 46_300)
    assert effects == (Quit(command=("play", "--bot", "random")),)


@pytest.mark.parametrize("deal", ["first", "second", "third", "fourth", "fifth"])
def test_in_a_race_on_any_deal_what_is_told_can_be_done_and_nothing_is_asked_at_the_end(deal: str) -> None:
    table = Table(deal, RaceOptions())
    assert all(taught(table))
    assert table.ui.question is None
    assert table.position.is_over or table.ui.note == lessons.FAREWELL


def test_what_one_does_instead_counts_and_the_lesson_waits() -> None:
    table = Table()
    first = table.told
    table.type("?")
    table.type("esc")
    assert table.told == first
    table.type(" ")
    assert table.ui.learned == frozenset({"space"})
    assert "the card with that key" in table.told


def test_a_click_on_the_key_that_a_lesson_names_does_what_the_key_does() -> None:
    table = Table()
    for skill in ("chip", "space", "all", "stock"):
        click = table.shown.click_at(table.told.index("Press "), 0)
        assert click is not None, skill
        assert table.act(click)
        assert table.ui.learned is not None
        assert skill in table.ui.learned
    click = table.shown.click_at(table.told.index("esc: no more"), 0)
    assert click is not None
    table.act(click)
    assert table.ui.note == lessons.NO_MORE


def test_where_all_at_once_is_not_allowed_it_is_not_taught() -> None:
    table = Table(options=structs.replace(LESSON, autoplay=False))
    table.type("1")
    table.type(" ")
    assert "Press g" not in table.told


def test_esc_ends_the_lessons_and_quitting_the_deal_of_theirs_asks_nothing() -> None:
    table = Table()
    _, effects = update(at(table.position), table.ui, Key("q"), 46_300)
    assert effects == (Quit(),)
    table.type("esc")
    assert table.ui.learned is None
    assert table.ui.note == lessons.NO_MORE


def test_the_lesson_says_that_esc_ends_it_only_where_esc_does() -> None:
    table = Table()
    assert "no more lessons" in table.told
    table.type("L")
    assert table.ui.question is not None
    assert "no more lessons" not in table.told
    table.type("esc")
    assert "no more lessons" in table.told
    assert table.ui.learned is not None


def test_no_lesson_is_cut_in_the_narrowest_window() -> None:
    said, shown = len(" 0/0  "), len("esc: no more lessons ")
    assert [each.skill for each in lessons.LESSONS if said + len(each.task) + shown > 80 or said + len(each.why) > 80] == []


def test_whoever_races_alone_is_told_that_nobody_would_hear_them() -> None:
    table = Table()
    table.type("t")
    assert table.ui.question is None
    assert table.ui.prompt is None
    assert table.ui.note == "Nobody would hear it: this race is yours alone."


@pytest.mark.parametrize(("rules", "teaches"), [("carpet", True), ("twenty", False)])
def test_a_game_that_is_gone_on_with_under_other_rules_is_not_taught(rules: str, teaches: bool) -> None:
    room = scenes.room(options=RaceOptions(rules=rules))
    model = scenes.reduced(scenes.at_home(), room)
    ui, _ = update(model, NEW, Heard(room, scenes.at_home()), 0)
    assert (ui.learned is not None) is teaches


def test_a_player_who_has_neither_raced_nor_learned_is_new(tmp_path: Path) -> None:
    assert is_new(tmp_path)
    (tmp_path / TAUGHT).touch()
    assert not is_new(tmp_path)
    (tmp_path / TAUGHT).unlink()
    keep_record(tmp_path, replays.record())
    assert not is_new(tmp_path)
