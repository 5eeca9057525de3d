"""The rows that say how far a seat is, when less is known of it than usual; and the colours of the seats' curves."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from client.tui.drawing.bars import seat_lines
from client.tui.drawing.plot import colour_of
from client.tui.drawing.theme import theme_for
from client.tui.scene import Scene
from client.tui.table.race_progress import lead_sentence, recorded
from client.tui.ui_state import Ui
from protocol.views import RaceOptions, SeriesOptions
from tests.client import scenes

THEME = theme_for("classic", ascii_only=False, colours=256, own=None)
TOLD = {"S": 2, "H": 1, "D": 1, "C": 1}


def drawn(rows: int, **fields: object) -> list[str]:
    info = scenes.seat(1, "Ben", **{"state": "racing", "home": 0, "foundations": {}, "ply": 0, **fields})
    return ["".join(text for _, text in line).rstrip() for line in seat_lines(info, 40, rows, THEME, cards=52, own=False)]


def test_a_seat_of_which_nothing_was_heard_yet_has_no_count() -> None:
    assert drawn(3)[0].split() == ["Ben", "–/52"]
    assert drawn(1)[0].endswith("–")


@pytest.mark.parametrize("fields", [{"home": 4}, {"ply": 1}, {"foundations": dict.fromkeys("SHDC", 0)}])
def test_a_seat_of_which_anything_was_heard_has_a_count(fields: dict[str, object]) -> None:
    assert drawn(3, **fields)[0].split() == ["Ben", f"{fields.get('home', 0)}/52"]


def test_foundations_that_are_not_told_are_not_drawn_as_empty() -> None:
    assert drawn(3, home=5, ply=1)[2].split() == ["1", "move"]
    assert drawn(3, home=5, ply=1, foundations=TOLD)[2].split() == ["♠2", "♥A", "♦A", "♣A", "1", "move"]
    assert drawn(1, home=5, ply=1)[0].endswith(" 5")


def test_the_end_of_a_bots_name_comes_before_the_space_between_its_state_and_its_cards() -> None:
    info = scenes.seat(1, "greedy", bot="greedy", state="stalled", home=80, foundations={}, ply=164)
    (line, *_) = seat_lines(info, 28, 3, THEME, cards=104, own=False)
    assert "".join(text for _, text in line) == "greedy (bot) no moves 80/104"


@pytest.mark.parametrize(
    ("width", "rows", "cards", "says"),
    [
        (40, 3, 52, "Benedikt          away, 56 s left  21/52"),
        (29, 3, 52, "Bened… away, 56 s left  21/52"),
        (28, 2, 104, "Ben… away, 56 s left  21/104"),
        (27, 2, 104, "Benedikt       away  21/104"),
        (29, 1, 52, "Benedikt  away    21 ♠2♥A♦A♣A"),
    ],
)
def test_a_player_who_is_away_is_shown_with_the_time_they_have_left_if_any(width: int, rows: int, cards: int, says: str) -> None:
    info = scenes.seat(1, "Benedikt", connected=False, state="racing", home=21, foundations=TOLD, ply=31)
    first, *_ = seat_lines(info, width, rows, THEME, cards=cards, own=False, away_ms=56_400)
    assert "".join(text for _, text in first) == says


def test_with_two_decks_the_cards_of_a_suit_are_counted_before_its_sign_since_behind_it_stands_a_top_card() -> None:
    info = scenes.seat(1, "Benedikt", state="racing", home=30, foundations={"S": 9, "S-": 4, "H": 2, "H-": 0, "D": 10, "C": 5}, ply=31)
    *_, last = seat_lines(info, 29, 3, THEME, cards=104, own=False)
    assert "".join(text for _, text in last).split() == ["13♠", "2♥", "10♦", "5♣", "31", "moves"]
    *_, last = seat_lines(info, 29, 3, THEME, cards=52, own=False)
    assert "".join(text for _, text in last).split() == ["♠K", "♥2", "♦10", "♣5", "31", "moves"]


def test_of_a_seat_that_just_brought_cards_home_the_bar_stands_out_and_the_count_is_the_new_one() -> None:
    info = scenes.seat(1, "Benedikt", state="racing", home=21, foundations=TOLD, ply=31)
    first, second, *_ = seat_lines(info, 29, 3, THEME, cards=52, own=False, has_grown=True)
    assert "".join(text for _, text in first) == f"{'Benedikt':24}21/52"
    assert second[0][0] == "pulse"


@pytest.mark.parametrize("own", [None, 0, 1, 3])
def test_a_players_own_curve_has_the_first_colour_and_no_two_seats_the_same(own: int | None) -> None:
    colours = [colour_of(seat, own, THEME) for seat in range(5)]
    assert sorted(colours) == list(range(5))
    assert own is None or colours[own] == 0


def test_in_ascii_every_curve_is_drawn_as_the_number_of_its_seat() -> None:
    ascii_theme = theme_for("classic", ascii_only=True, colours=256, own=None)
    assert [colour_of(seat, 1, ascii_theme) for seat in range(3)] == [0, 1, 2]


def test_a_players_own_curve_is_drawn_first_after_the_race_too() -> None:
    (own, first), (other, second) = recorded(scenes.record(), 1, THEME)
    (_, anna), (_, benedikt) = recorded(scenes.record(), None, THEME)
    assert (own, other) == (0, 1)
    assert (first, second) == (benedikt, anna) != (anna, benedikt)


@pytest.mark.parametrize(
    ("home", "at_ms", "width", "said"),
    [
        (21, 41_000, 40, "Benedikt ended at 21: 4 more cards win"),
        (21, 41_000, 20, "4 more cards win"),
        # Anna has as many, since later or earlier than Benedikt.
        (18, 39_500, 40, "Benedikt ended at 18: 1 more card wins"),
        (18, 40_500, 50, "Benedikt ended at 18: you are ahead for good"),
        (18, 39_501, 40, "Level since 0:40"),
        (18, 40_499, 40, "Level since 0:40"),
        (17, 41_000, 50, "Benedikt ended at 17: you are ahead for good"),
        (17, 41_000, 40, "You are ahead for good"),
    ],
)
def test_once_one_of_two_has_ended_it_says_what_the_other_needs_to_win(home: int, at_ms: int, width: int, said: str) -> None:
    model = scenes.racing(home=home, state="stopped")
    room = model.room
    assert room is not None
    room = replace(room, points=(((0, 4), (40_000, 18)), ((0, 4), (at_ms, home))))
    assert lead_sentence(Scene(model, Ui(), THEME, 50_000), room, width) == said


@pytest.mark.parametrize(("own", "said"), [(18, "Level since 0:40"), (9, "2 share the lead since 0:40")])
def test_of_three_only_equal_counts_are_level(own: int, said: str) -> None:
    model = scenes.racing(home=18)
    assert model.room is not None
    seats = (*model.room.seats, scenes.seat(2, "Kim", state="racing", home=own))
    room = replace(model.room, seats=seats, seat=2, points=(((0, 18),), ((0, 4), (40_000, 18)), ((0, own),)))
    assert lead_sentence(Scene(model, Ui(), THEME, 50_000), room, 40) == said


def test_of_equal_counts_found_on_coming_back_it_is_not_said_who_was_earlier_nor_in_a_swap_what_wins() -> None:
    model = scenes.racing(home=18, state="stopped")
    assert model.room is not None
    back = replace(model.room, points=(((30_000, 18),), ((10_000, 4), (20_000, 18))), heard_from_ms=30_000)
    assert lead_sentence(Scene(model, Ui(), THEME, 50_000), back, 40) == "Level"
    both = replace(model.room, options=RaceOptions(series=SeriesOptions(format="swap", races=2)))
    assert both.options.swaps
    assert "win" not in lead_sentence(Scene(model, Ui(), THEME, 50_000), both, 60)


@pytest.mark.parametrize(("home", "said"), [(21, "Anna needs 4 more"), (17, "Anna is ahead for good")])
def test_whoever_watches_is_told_what_the_other_of_two_needs(home: int, said: str) -> None:
    model = scenes.racing(home=home, state="stopped")
    assert model.room is not None
    assert lead_sentence(Scene(model, Ui(), THEME, 50_000), replace(model.room, seat=None), 30) == said
