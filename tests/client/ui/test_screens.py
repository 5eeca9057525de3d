"""Every screen as text, at 80x24, 120x40 and 60x20, against tests/data/screens.

To draw them anew after a change that is meant: `CARPET_UPDATE_GOLDEN=1 pytest tests/client/ui/test_screens.py`, and read the diff.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import urwid
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from urwid.testing import check_box_sizing, render_runs, render_text, resolve_runs

from client.keys import Action, help_rows
from client.link import Lost
from client.model import Model
from client.ui.desk import Desk, OpenForm, Question, RulesPage, UiSettings
from client.ui.frame import line_width
from client.ui.help import KEYS_WIDTH, help_lines
from client.ui.root import draw
from client.ui.rules import LIST_WIDTH
from client.ui.scene import Scene
from client.ui.theme import PALETTES, entries, next_palette, theme_for
from protocol.record import sealed
from protocol.server_messages import Progress, RematchAsked, Result, Said, Seated
from protocol.views import ChatLine, RaceOptions
from tests.client import scenes, tables
from tests.client.test_model import EVENTS

GOLDEN = Path(__file__).parents[2] / "data" / "screens"
SIZES = ((80, 24), (120, 40), (60, 20))
DESK = Desk(cursor="c2")


class NoHands:
    """Clicks go nowhere."""

    def act(self, action: Action) -> None: ...
    def place(self, place: str) -> None: ...
    def pick(self, index: int) -> None: ...


class Shown(NamedTuple):
    model: Callable[[], Model]
    desk: Desk = DESK
    now_ms: int = 46_300
    colours: int = 256
    edit: str | None = None


def asking(kind: str, text: str, *lines: str) -> Desk:
    return replace(DESK, question=Question(kind, text, lines, lines), item=1)  # type: ignore[arg-type]


def over_with_rematch() -> Model:
    return scenes.reduced(scenes.over(), RematchAsked(version=12, seat=1), now_ms=144_000)


def own_end() -> Model:
    progress = Progress(
        version=11, seat=0, ply=27, home=18, foundations={"S": 6, "H": 4, "D": 3, "C": 5}, state="stopped", elapsed_ms=42_000
    )
    return scenes.reduced(scenes.racing(), progress, now_ms=46_000)


def offline() -> Model:
    return scenes.reduced(scenes.racing(), Lost("the server does not answer", 4000), now_ms=46_000)


def at(rules: str, moves: int, *, cursor: str = "c2", held: str = "", seats: int = 2, homeward: bool = True, **looks: Any) -> Shown:
    """A table in the middle of a game."""
    view = tables.view_after(rules, moves, homeward=homeward)
    colours = looks.pop("colours", 256)
    desk = replace(DESK, cursor=cursor, held=held, settings=UiSettings(**looks))
    return Shown(lambda: tables.racing_at(rules, view, seats=seats), desk, colours=colours)


def two_decks_over() -> Model:
    record = structs.replace(scenes.record(), rules="colorado")
    seats = tuple(structs.replace(seat, home=seat.home + 52) for seat in record.seats)
    moves = tuple(structs.replace(move, home=move.home + 52) for move in record.moves)
    model = tables.racing_at("colorado", tables.view_after("colorado", 40))
    return scenes.reduced(model, Result(version=2, record=sealed(structs.replace(record, seats=seats, moves=moves))), now_ms=144_000)


TABLES = {
    "carpet-aces-in": at("carpet-aces-in", 14),
    "carpet-redeal": at("carpet-redeal", 55, cursor="s"),
    "carpet-strategy": at("carpet-strategy", 9),
    "carpet-free": at("carpet-free", 13, cursor="w", held="w", homeward=False),
    "carpet-whist": at("carpet-whist", 0),
    "colorado": at("colorado", 90),
    "colorado-waste": at("colorado", 61, cursor="w", held="w", homeward=False),
    "colorado-eight": at("colorado", 130, cursor="w", seats=8),
    "colorado-mono": at("colorado", 90, colours=1),
    "twenty": at("twenty", 14, cursor="b1"),
    "twenty-held": at("twenty", 32, cursor="c1", held="c1"),
    "twenty-eight": at("twenty", 30, seats=8),
    "twenty-mono-ascii": at("twenty", 14, colours=1, ascii=True),
    "crazy-quilt": at("crazy-quilt", 30),
    "crazy-quilt-held": at("crazy-quilt", 11, cursor="a7", held="a7", homeward=False),
    "crazy-quilt-eight": at("crazy-quilt", 60, cursor="s", seats=8),
    "crazy-quilt-mono": at("crazy-quilt", 30, colours=1),
    "crazy-quilt-ascii": at("crazy-quilt", 30, ascii=True),
    "crazy-quilt-redeal": at("crazy-quilt", 57, cursor="s", homeward=False),
    "indian-carpet": at("indian-carpet", 70, cursor="d4"),
    "teppich": at("teppich", 40),
    "persian-rug": at("persian-rug", 25, cursor="p3"),
    "persian-rug-held": at("persian-rug", 9, cursor="p3", held="p3", homeward=False),
    "persian-rug-eight": at("persian-rug", 30, cursor="p3", seats=8),
    "persian-rug-mono": at("persian-rug", 25, colours=1),
}


def sought() -> Model:
    """All are ready, and a deal that can be won is looked for."""
    model = scenes.full_room()
    assert model.room is not None
    seats = tuple(structs.replace(seat, ready=True) for seat in model.room.seats)
    return replace(model, room=replace(model.room, options=RaceOptions(winnable=True), seats=seats))


REVIEW = (
    "This deal can be won: all 52 cards could be brought home.",
    "The win was out of reach after move 23, w:b3 (the 9 of hearts from the waste to b3), made with 20 cards home.",
    "From then on at most 49 cards could be brought home; 48 were.",
    "In its place s:b3 (the 5 of spades from the stock to b3) would have kept it.",
    "The way on from there: s:b3 s w a1 c4 s s w:c4 ... (41 moves)",
)

SCREENS = {
    "home": Shown(scenes.at_home, now_ms=2000),
    "home-typing-code": Shown(scenes.at_home, replace(DESK, prompt="code"), 2000, edit="kxq"),
    "home-bot-marked": Shown(scenes.at_home, replace(DESK, item=5), 10_000),
    "home-connecting": Shown(Model, now_ms=0),
    "form": Shown(
        scenes.at_home, replace(DESK, form=OpenForm(RaceOptions(seats=4, bots=("Steady", "Steady"), deal="garden")), item=2), 2000
    ),
    "waiting": Shown(scenes.waiting, now_ms=2000),
    "waiting-full": Shown(scenes.full_room, now_ms=2000),
    "waiting-winnable": Shown(sought, now_ms=2000),
    "countdown": Shown(scenes.counting, now_ms=2300),
    "race-dealt": Shown(scenes.dealt, now_ms=3990),
    "race": Shown(scenes.racing),
    "race-gap": Shown(lambda: scenes.racing(scenes.middle_view(pending=True)), replace(DESK, cursor="c1")),
    "race-typing": Shown(scenes.racing, replace(DESK, prompt="chat"), edit="well played"),
    "race-slot-begun": Shown(scenes.racing, replace(DESK, typed="b", cursor="s")),
    "race-offline": Shown(offline),
    "race-last-cards": Shown(lambda: scenes.racing(home=44)),
    "race-ended": Shown(lambda: scenes.racing(home=30, state="stopped")),
    "race-own-end": Shown(own_end),
    "race-eight": Shown(scenes.crowd),
    "race-ascii": Shown(scenes.racing, replace(DESK, settings=UiSettings(ascii=True))),
    "race-mono": Shown(scenes.racing, colours=1),
    "race-mono-ascii-gap": Shown(
        lambda: scenes.racing(scenes.middle_view(pending=True)), replace(DESK, settings=UiSettings(ascii=True)), colours=1
    ),
    "question": Shown(scenes.racing, asking("resign", "Give this race up? You are placed last.", "Give up", "Go on racing")),
    "result": Shown(scenes.over, now_ms=160_000),
    "result-rematch": Shown(over_with_rematch, now_ms=160_000),
    "result-details": Shown(scenes.over, replace(DESK, details=True), 160_000),
    "result-review": Shown(scenes.over, replace(DESK, review=REVIEW), 160_000),
    "result-review-awaited": Shown(scenes.over, replace(DESK, review=()), 160_000),
    "result-ascii": Shown(scenes.over, replace(DESK, settings=UiSettings(ascii=True)), 160_000),
    "form-winnable": Shown(scenes.at_home, replace(DESK, form=OpenForm(RaceOptions(winnable=True)), item=4), 2000),
    "help": Shown(scenes.at_home, replace(DESK, help_from=0), 2000),
    **TABLES,
    "rules": Shown(scenes.at_home, replace(DESK, rules_page=RulesPage("Steady"), item=11), 2000),
    "rules-form": Shown(scenes.at_home, replace(DESK, form=OpenForm(), rules_page=RulesPage(), item=0), 2000),
    "result-two-decks": Shown(two_decks_over, now_ms=160_000),
    "help-race": Shown(lambda: tables.racing_at("colorado", tables.view_after("colorado", 40)), replace(DESK, help_from=0)),
    "help-end": Shown(scenes.at_home, replace(DESK, help_from=999), 2000),
}


def widget_of(shown: Shown, size: tuple[int, int]) -> urwid.Widget:
    settings_ = shown.desk.settings
    theme = theme_for(settings_.palette, ascii_only=settings_.ascii, colours=shown.colours)
    edit = None if shown.edit is None else urwid.Edit(edit_text=shown.edit)
    return draw(Scene(shown.model(), shown.desk, theme, shown.now_ms, NoHands(), edit), size)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", SCREENS)
def test_the_screen_looks_as_it_did(name: str, size: tuple[int, int]) -> None:
    drawn = "\n".join(render_text(widget_of(SCREENS[name], size), size, focus=True, strip=True)) + "\n"
    path = GOLDEN / f"{name}-{size[0]}x{size[1]}.txt"
    if os.environ.get("CARPET_UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(drawn, encoding="utf-8")
    assert path.exists(), "no golden screen yet: run once with CARPET_UPDATE_GOLDEN=1"
    assert drawn == path.read_text(encoding="utf-8")


def test_no_golden_screen_is_left_over() -> None:
    expected = {f"{name}-{width}x{height}.txt" for name in SCREENS for width, height in SIZES}
    assert {path.name for path in GOLDEN.glob("*.txt")} == expected


@pytest.mark.parametrize("name", SCREENS)
def test_every_role_on_a_screen_is_in_every_palette(name: str) -> None:
    runs = render_runs(widget_of(SCREENS[name], (80, 24)), (80, 24), focus=True)
    drawn = {role for row in runs for role, _ in row}
    roles = {layer for role in drawn for layer in getattr(role, "layers", (role,))}
    for palette in PALETTES:
        assert roles <= {entry[0] for entry in entries(palette, exact=False)}, palette.name


@pytest.mark.parametrize("palette", PALETTES, ids=lambda palette: palette.name)
@pytest.mark.parametrize("colours", [1, 16, 88, 256, 2**24])
def test_every_palette_is_a_palette_to_urwid_at_every_depth(palette: object, colours: int) -> None:
    runs = render_runs(widget_of(SCREENS["race"], (80, 24)), (80, 24))
    resolve_runs(runs, entries(palette, exact=colours > 256), colors=colours)  # type: ignore[arg-type]


def test_without_colours_nothing_is_coloured() -> None:
    palette = entries(next(each for each in PALETTES if each.name == "none"), exact=True)
    assert all((entry[2], entry[5]) == ("default", "default") for entry in palette)
    assert all(not set("#") & set(entry[4]) for entry in palette)


def test_the_palettes_go_round() -> None:
    names = [PALETTES[0].name]
    for _ in PALETTES:
        names.append(next_palette(names[-1]))
    assert names == [*[palette.name for palette in PALETTES], PALETTES[0].name]
    assert next_palette("no such palette") == PALETTES[0].name


@pytest.mark.parametrize("name", [name for name in SCREENS if "ascii" in name])
def test_the_ascii_screens_are_ascii(name: str) -> None:
    for size in SIZES:
        assert "\n".join(render_text(widget_of(SCREENS[name], size), size)).isascii()


def test_the_playable_cards_are_marked_without_colours_too() -> None:
    text = "\n".join(render_text(widget_of(SCREENS["race-mono"], (80, 24)), (80, 24)))
    assert text.count("▲") == 4  # three cards and the stock


def test_after_ones_own_end_nothing_is_marked_and_no_key_offered_that_plays() -> None:
    text = "\n".join(render_text(widget_of(SCREENS["race-own-end"], (80, 24)), (80, 24)))
    assert "▲" not in text
    assert "stock  K" not in text
    assert "q quit" in text


def test_who_was_stopped_by_anothers_win_is_not_said_to_have_stopped() -> None:
    model = scenes.over()
    assert model.room is not None
    assert model.room.record is not None
    first, second = model.room.record.seats
    won = structs.replace(model.room.record, seats=(structs.replace(first, state="won"), structs.replace(second, ended_at_ms=133_600)))
    shown = Shown(lambda: replace(model, room=replace(model.room, record=won)), now_ms=160_000)  # type: ignore[arg-type]
    text = "\n".join(render_text(widget_of(shown, (80, 24)), (80, 24)))
    assert "every card home" in text
    assert "still racing" in text


def test_every_row_of_the_help_page_is_whole_in_the_smallest_terminal() -> None:
    theme = theme_for("classic", ascii_only=False, colours=256)
    scene = Scene(scenes.at_home(), DESK, theme, 0, NoHands())
    for line in help_lines(scene, 76):
        assert line_width(line) <= 76
    for _, rows in help_rows():
        assert all(len(keys) < KEYS_WIDTH for keys, _ in rows)


@pytest.mark.parametrize("number", range(len(scenes.RULES)), ids=[info.id for info in scenes.RULES])
def test_every_rule_set_is_told_to_the_end_in_the_smallest_terminal(number: int) -> None:
    page = replace(DESK, rules_page=RulesPage("Steady"), item=number)
    lines = render_text(widget_of(Shown(scenes.at_home, page), (80, 24)), (80, 24))
    told = " ".join(" ".join(line[LIST_WIDTH:] for line in lines[3:]).split())
    info = scenes.RULES[number]
    assert info.explanation in told
    assert info.source in told
    assert info.difficulty in told


def test_what_no_rule_set_has_is_drawn_without_a_word_of_it() -> None:
    evil = ENEMY[:8]
    piles = {"a1": (evil,), "b1": ("",), evil: (evil, "KS"), "c1": ("KS", evil)}
    view = structs.replace(scenes.first_view(), piles=piles, waste=(evil,), moves=("", ":", evil, f"a1:{evil}", f"{evil}:a1", "b1"))
    for rules in tables.ALL:
        for held in ("", "a1", evil):
            shown = Shown(lambda: tables.racing_at(rules, view), replace(DESK, held=held, cursor="c1"))  # noqa: B023  (called at once)
            text = "".join(render_text(widget_of(shown, (80, 24)), (80, 24)))
            assert "\x1b" not in text


def test_a_terminal_too_small_says_so_and_shows_the_clock() -> None:
    text = "\n".join(render_text(widget_of(SCREENS["race"], (60, 20)), (60, 20)))
    assert "Too small" in text
    assert "0:42.3" in text
    for size in ((1, 1), (5, 2), (79, 24), (80, 23)):
        check_box_sizing(widget_of(SCREENS["race"], size), cols=size[0], rows=size[1])


@pytest.mark.parametrize("size", [(80, 24), (90, 30), (100, 35), (132, 43), (200, 60)])
@pytest.mark.parametrize("name", SCREENS)
def test_every_screen_fills_every_size(name: str, size: tuple[int, int]) -> None:
    canvas = widget_of(SCREENS[name], size).render(size, focus=True)
    assert (canvas.cols(), canvas.rows()) == size


ENEMY = "\x1b[2J\x1b]0;title\x07evil\x9b31m\u202egnirts" + "\u0301" * 20


def test_nothing_a_server_says_reaches_the_terminal_unclean() -> None:
    model = scenes.reduced(
        scenes.at_home(),
        scenes.room(
            chat=(ChatLine(seat=0, name=ENEMY, text=ENEMY * 40),), code=ENEMY, options=RaceOptions(rules=ENEMY[:10], deal=ENEMY[:20])
        ),
        Seated(version=2, seat=1, name=ENEMY, bot=ENEMY),
        Said(version=3, line=ChatLine(seat=1, name=ENEMY, text=ENEMY)),
        Lost(ENEMY, None),
    )
    for size in ((80, 24), (120, 40)):
        text = "".join(render_text(widget_of(Shown(lambda: model), size), size))
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "\u202e" not in text


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENTS, max_size=12), st.sampled_from([(80, 24), (120, 40), (60, 20)]), st.booleans())
def test_whatever_is_heard_can_be_drawn(events: list[object], size: tuple[int, int], details: bool) -> None:
    model = scenes.reduced(scenes.at_home(), scenes.room(), *events)  # type: ignore[arg-type]
    canvas = widget_of(Shown(lambda: model, replace(DESK, details=details)), size).render(size, focus=True)
    assert (canvas.cols(), canvas.rows()) == size
