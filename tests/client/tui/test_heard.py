"""For what the bell rings."""

from __future__ import annotations

from client.state.room import RoomModel
from client.text.formatting import deck_size
from client.tui.heard import bell_due, is_found
from protocol.room_events import Progress
from protocol.server_messages import WaitingOver
from tests.client import scenes, tables


def test_the_bell_rings_at_the_start_and_for_the_last_ten_cards_once() -> None:
    assert bell_due(scenes.counting().room, scenes.dealt().room, scenes.RULES)
    assert not bell_due(scenes.dealt().room, scenes.racing().room, scenes.RULES)
    near, nearer = scenes.racing(home=41).room, scenes.racing(home=42).room
    assert bell_due(near, nearer, scenes.RULES)
    assert not bell_due(nearer, scenes.racing(home=43).room, scenes.RULES)
    assert not bell_due(None, nearer, scenes.RULES)


def test_it_rings_for_an_opponent_who_was_found_and_not_for_a_race_of_ones_own() -> None:
    looking = scenes.looking()
    assert is_found(looking, scenes.reduced(looking, scenes.room()))
    assert not is_found(scenes.at_home(), scenes.waiting())
    given_up = scenes.reduced(looking, WaitingOver(reason="elsewhere"))
    assert not is_found(given_up, scenes.reduced(given_up, scenes.room()))
    assert not is_found(scenes.waiting(), scenes.reduced(scenes.waiting(), scenes.room()))


def test_of_two_decks_the_last_ten_cards_begin_at_94() -> None:
    view = tables.view_after("colorado", 30)
    before = tables.racing_at("colorado", view)

    def at(home: int) -> RoomModel | None:
        progress = Progress(version=2, seat=1, ply=9, home=home, foundations={}, state="racing", elapsed_ms=9)
        return scenes.reduced(before, progress).room

    assert not bell_due(before.room, at(93), scenes.RULES)
    assert bell_due(before.room, at(94), scenes.RULES)
    assert before.room is not None
    assert deck_size(scenes.RULES, before.room.options.rules) == 104
