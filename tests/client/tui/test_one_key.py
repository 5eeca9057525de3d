"""One key a move: chips, sending home the next card or all that can go, and typing ahead of the answers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from client.connection.events import Lost
from client.game.board import Board, board_of
from client.game.hints import hint
from client.game.moves import destination, homeward, next_home, source, top_card
from client.tui.actions import Press
from client.tui.chips import CHIPS, Chip, chips_of, dealt, keyed
from client.tui.keymap import SLOT_STARTERS, Command, commands
from client.tui.race.racing import KEYS, SCREEN
from client.tui.table.playing import AHEAD, all_fit
from protocol.client_messages import Move
from protocol.server_messages import CurrentView
from protocol.views import RaceOptions, View
from tests.client import scenes, tables
from tests.client.tui.hands import DEFAULTS, UP, Run, answer, racing, running
from tests.client.tui.test_reach import SEEDS, Player, name_keys

CARPETS = [rules for rules in tables.ALL if rules.startswith("carpet") and rules != "carpet-free"]
"""Rule sets in which no card can go two ways."""


def sent(run: Run) -> list[str]:
    return [message.move for message in run.link.taken() if isinstance(message, Move)]


def test_no_chip_is_a_key_of_the_race_or_begins_a_name() -> None:
    others = {key for key, command in commands(SCREEN.all_keys).items() if command is not Command.CHIP}
    assert not set(CHIPS) & (others | SLOT_STARTERS | {"g"})
    assert len(set(CHIPS)) == len(CHIPS)


@pytest.mark.parametrize("rules", CARPETS)
@settings(max_examples=10)
@given(seed=SEEDS, moves=st.integers(0, 120))
def test_every_move_of_a_carpet_is_one_key(rules: str, seed: bytes, moves: int) -> None:
    view = tables.view_after(rules, moves, seed=seed)
    for move in view.moves:
        player = Player(rules, view)
        chips = {chip.place: chip.key for chip in player.driver.ui.chips}
        player.type(chips.get(source(move), source(move)))
        assert player.line.sent == [move]


@pytest.mark.parametrize("rules", tables.ALL)
@settings(max_examples=5)
@given(seed=SEEDS, moves=st.integers(0, 220))
def test_where_cards_go_several_ways_source_and_target_are_one_key_each(rules: str, seed: bytes, moves: int) -> None:
    view = tables.view_after(rules, moves, seed=seed)
    for move in view.moves:
        player = Player(rules, view)
        chips = {chip.place: chip.key for chip in player.driver.ui.chips}
        player.type(*(chips.get(source(move)) or name_keys(source(move))))
        if player.held:
            ends = {chip.place: chip.key for chip in chips_of((), view, player.held)}
            end = destination(view, move)
            # The waste has a key of its own.
            assert end in ends or end == "w"
            player.type(*(ends[end] if end in ends else name_keys(end)))
        assert player.line.sent == [move]


@pytest.mark.parametrize("rules", tables.ALL)
@settings(max_examples=5)
@given(seed=SEEDS, moves=st.integers(0, 120))
def test_a_card_keeps_its_chip_while_it_can_be_played(rules: str, seed: bytes, moves: int) -> None:
    before, after = tables.view_after(rules, moves, seed=seed), tables.view_after(rules, moves + 1, seed=seed)
    first = dealt((), before)
    second = dealt(first, after)
    keys = {(chip.place, chip.card): chip.key for chip in first}
    begins = {source(move) for move in after.moves}
    assert {chip.place: chip.card for chip in second}.items() <= {place: top_card(after, place) for place in begins}.items()
    assert len({chip.key for chip in second}) == len(second) == len(begins & set(after.piles))
    for chip in second:
        assert chip.key == keys.get((chip.place, chip.card), chip.key)


@pytest.mark.parametrize("rules", tables.ALL)
@settings(max_examples=5)
@given(seed=SEEDS, moves=st.integers(0, 120))
def test_space_sends_home_the_card_that_the_hint_names_first_which_has_the_first_key(rules: str, seed: bytes, moves: int) -> None:
    chips: tuple[Chip, ...] = ()
    for view in (tables.view_after(rules, moves + more, seed=seed) for more in range(3)):
        chips = dealt(chips, view)
        keys = {chip.place: CHIPS.index(chip.key) for chip in chips}
        places = homeward(view, keyed(chips))
        assert [keys[place] for place in places if place in keys] == sorted(keys[place] for place in places if place in keys)
        assert "w" not in places[:-1]
        move = next_home(view, keyed(chips))
        assert (source(move) if move is not None else None) == (places[0] if places else None)
        if places and view.pending is None:
            named = hint(view, board_of(None, view), columns=1000, first=keyed(chips)).partition("home: ")[2]
            assert named.startswith("waste (w)" if places[0] == "w" else places[0])


async def test_a_card_that_kept_its_key_goes_home_before_one_higher_up_with_a_later_key(mock_clock: trio.testing.MockClock) -> None:
    """In a quilt, one key is dealt after the other as cards become free."""
    before = scenes.view_with("b2 w", foundations={"S": 9, "H": 9, "D": 1, "C": 1})
    async with racing() as run:
        await run.say(answer("c1", 1, before), answer("b2", 2, replace(before, moves=("a1", "b2", "w"))))
        assert run.screen.shows("3 cards can go home: b2, a1, waste (w)")
        await run.give(" ")
        assert sent(run) == ["b2"]


async def test_space_sends_the_next_card_home_and_says_where_none_goes(mock_clock: trio.testing.MockClock) -> None:
    async with racing() as run:
        await run.give(" ")
        assert run.screen.shows("3 cards can go home: c1, c2, a3")
        assert sent(run) == ["c1"]
        await run.say(answer("c1", 1, scenes.middle_view(pending=True)))
        await run.give(" ")
        assert sent(run) == []
        assert run.screen.shows("No card can go home now.")


def after(view: View, *homes: str) -> View:
    """The view with fewer cards that go home."""
    return replace(view, moves=tuple(move for move in view.moves if move not in homes))


async def test_g_sends_home_all_that_go_one_after_the_other_and_any_key_stops_it(mock_clock: trio.testing.MockClock) -> None:
    async with racing() as run:
        await run.give("g")
        (first,) = sent(run)
        view = after(scenes.middle_view(), first)
        await run.say(answer(first, 1, view))
        assert sent(run) == [], "the next one follows when the first has been seen"
        await run.later(0.06)
        (second,) = sent(run)
        assert second != first
        await run.give("left")
        await run.say(answer(second, 2, after(view, second)))
        await run.later(0.5)
        assert sent(run) == []


async def test_the_board_changes_at_the_key_and_the_answer_corrects_it(mock_clock: trio.testing.MockClock) -> None:
    async with racing() as run:
        gap = "┌╌"
        assert not run.screen.shows(gap)
        await run.give("c", "1")
        assert run.screen.shows(gap)
        await run.say(answer("c1", 1, scenes.middle_view()))
        assert not run.screen.shows(gap)


async def test_what_is_typed_ahead_is_shown_and_what_has_no_room_is_told(mock_clock: trio.testing.MockClock) -> None:
    async with racing() as run:
        await run.give("c", "1", "w", "s")
        assert run.screen.shows("Waiting to be played: w, s.")
        await run.give("s")
        assert run.screen.shows("s is already waiting to be played.")
        await run.give(*["w"] * (AHEAD - 2), "w")
        assert run.screen.shows(f"w was not taken: {AHEAD} moves are waiting already.")
        assert sent(run) == ["c1"]


@pytest.mark.parametrize("lost", [True, False])
async def test_what_is_typed_ahead_and_cannot_be_played_is_taken_back_with_a_word(lost: bool, mock_clock: trio.testing.MockClock) -> None:
    async with racing() as run:
        await run.give("c", "1", "a", "1", "w", " ")
        await run.say(Lost("no route", 3000) if lost else answer("c1", 1, scenes.middle_view()))
        assert run.screen.shows("Not played after it: a1, w, next card home." if lost else "Not played: w, next card home.")
        assert sent(run) == ["c1"]
        await run.give("left")
        assert not run.screen.shows("Not played")


async def test_tab_walks_over_what_can_be_played_from_where_the_cursor_begins(mock_clock: trio.testing.MockClock) -> None:
    async with racing() as run:
        await run.give("enter")
        (first,) = sent(run)
        await run.say(answer(first, 1, scenes.middle_view()))
        places: list[str] = []
        for _ in range(3):
            await run.give("tab", "enter")
            (move,) = sent(run)
            places.append(source(move))
            await run.say(answer(move, 1 + len(places), scenes.middle_view()))
        assert len({*places, source(first)}) == 4
        await run.give("shift tab", "enter")
        assert [source(move) for move in sent(run)] == [places[-2]]


def test_the_end_is_offered_only_where_every_card_goes_home() -> None:
    start = tables.view_after("carpet", 0)
    assert not all_fit(Board(), start)
    left = replace(start, stock=0, waste=("KS", "QS"), piles={"a1": (), "b1": ("JS",)}, moves=("b1",), pending=None)
    fits = replace(left, foundations={"S": 10, "H": 13, "D": 13, "C": 13})
    assert all_fit(Board(), fits)
    assert not all_fit(Board(family="quilt"), fits), "which cards are covered is not looked at"
    assert not all_fit(Board(), replace(fits, waste=("QS", "KS")))
    assert not all_fit(Board(), replace(fits, stock=1))
    assert {row.command.name for row in KEYS} >= {"SEND_HOME", "SEND_ALL", "NEXT", "PREVIOUS"}


@pytest.mark.parametrize(("rules", "key"), [("carpet", "g"), ("colorado", "G")])
def test_the_key_that_finishes_a_race_is_the_one_that_is_named(rules: str, key: str) -> None:
    start = tables.view_after(rules, 0)
    foundation = next(name for name in start.foundations if name[0] == "S" and not name.endswith("-"))
    full = {name: 12 if name == foundation else 13 for name in start.foundations}
    piles = {name: ("KS",) if name == "a1" else () for name in start.piles}
    player = Player(rules, replace(start, stock=0, waste=(), piles=piles, foundations=full, moves=("a1",)))
    lines = ["".join(text for _, text in line) for line in player.picture.lines]
    assert any(f"Every card goes home now: press {key} to finish." in line for line in lines)
    player.type(key)
    assert player.line.sent == ["a1"]


def test_only_the_key_of_the_rule_set_finishes_a_race_and_none_in_the_middle_of_a_slots_name() -> None:
    carpet, colorado = (Player(rules, tables.view_after(rules, 0)) for rules in ("carpet", "colorado"))
    colorado.type("g")
    carpet.type("c", "g")
    assert colorado.line.sent == carpet.line.sent == []
    carpet.type("esc")
    carpet.driver.ui = replace(carpet.driver.ui, taken_back=("c1",))
    carpet.type("g")
    assert carpet.line.sent
    assert carpet.driver.ui.taken_back == ()


def test_when_ones_own_race_has_ended_no_key_begins_a_slots_name() -> None:
    view = tables.view_after("carpet", 0)
    player = Player("carpet", view)
    player.driver.hear(CurrentView(race=1, seat=0, ply=0, state="stopped", elapsed_ms=5000, view=view))
    player.type("c")
    assert player.driver.ui.typed == ""


async def test_autoplay_sends_home_what_fits_where_the_race_allows_it(mock_clock: trio.testing.MockClock) -> None:
    async with racing() as run:
        await run.give("H")
        assert run.screen.shows("Autoplay is on")
        assert "autoplay" in run.screen.last_text[0]
        (first,) = sent(run)
        view = after(scenes.middle_view(), first)
        # A card that the player plays themselves does not stop it.
        await run.say(answer(first, 1, view))
        await run.later(0.06)
        (second,) = sent(run)
        await run.give("H")
        await run.say(answer(second, 2, after(view, second)))
        await run.later(0.5)
        assert sent(run) == []
        assert run.screen.shows("Autoplay is off.")


def test_all_home_says_why_no_card_goes() -> None:
    views = (tables.view_after("persian-rug", moves, seed=bytes(32)) for moves in range(100))
    # A card that goes home or elsewhere, so that it is held first.
    view, place = next(
        (view, place)
        for view in views
        for place in view.piles
        if len(ways := {move.partition(":")[2] for move in view.moves if source(move) == place}) > 1 and "" in ways
    )
    player = Player("persian-rug", view)
    acts: dict[str, Callable[[], object]] = {
        "First put the held card back (esc).": lambda: player.driver.do(Press(place)),
        "Not connected. Reconnecting...": lambda: player.driver.hear(Lost("no route", 3000)),
    }
    for why, act in acts.items():
        act()
        player.type("G")
        assert (player.driver.ui.note, player.line.sent) == (why, [])
        player.type("esc")


async def test_a_race_by_hand_has_neither_autoplay_nor_all_at_once(mock_clock: trio.testing.MockClock) -> None:
    async with running(settings=replace(DEFAULTS, autoplay=True)) as run:
        options = RaceOptions(autoplay=False)
        seats = (scenes.seat(0, "Anna", state="racing"), scenes.seat(1, "Ben", state="racing"))
        await run.say(UP, scenes.welcome(), scenes.room(phase="racing", seats=seats, view=scenes.middle_view(), options=options))
        run.link.taken()
        for key in ("H", "g", "G"):
            await run.later(0.5)
            await run.give(key)
            assert sent(run) == []
            assert run.screen.shows("This race is played by hand")
        await run.give(" ")
        assert len(sent(run)) == 1


async def test_a_whole_move_typed_ahead_waits_for_its_turn(mock_clock: trio.testing.MockClock) -> None:
    async with racing() as run:
        await run.give("c", "1", ":", *"w:c1", "enter")
        assert run.screen.shows("Waiting to be played: w:c1.")
        await run.say(answer("c1", 1, scenes.middle_view(pending=True)))
        assert sent(run) == ["c1", "w:c1"]
