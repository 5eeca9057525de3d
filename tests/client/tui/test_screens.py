"""Every screen as text, at 80x24 and 120x40, and a few at 60x20, against tests/data/screens.

To draw them anew after a change that is meant: `CARPET_UPDATE_GOLDEN=1 pytest tests/client/tui/test_screens.py`, and read the diff.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import urwid
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from msgspec.structs import replace
from urwid.testing import check_box_sizing, render_runs, render_text, resolve_runs

from client.connection.events import Back, Connected, Connecting, Lost
from client.game.board import board_of
from client.state.capabilities import rules_of
from client.state.store import Model, MoveSent
from client.state.watching import WatchModel
from client.tui import cards, lessons
from client.tui.actions import Do, Heard, Keep, Key, PromptKind
from client.tui.keymap import Command
from client.tui.outcome import turning_point
from client.tui.overlays import KEYS_WIDTH, help_lines, help_rows
from client.tui.picture import line_width, text_width
from client.tui.replay_state import jumped_to_tenth, replay_state_of
from client.tui.rules import LIST_WIDTH
from client.tui.scene import Scene, scene_of
from client.tui.small_table import BETWEEN, LEAST, OWN_ROWS, SIDE_LEAST, arranged
from client.tui.start import StartMenu, StartRace, UiSettings
from client.tui.table import grid_height, grid_width
from client.tui.terminal import Painted
from client.tui.theme import PALETTES, entries, next_palette, theme_for
from client.tui.tournament_view_state import TournamentView
from client.tui.ui_state import Prompt, Question, RulesPage, Ui
from client.tui.update import update
from client.tui.view import body_times, view
from protocol.cards import CARD_TEXT, FACE_DOWN
from protocol.errors import Fault
from protocol.fairness import derive_seed, named_seed
from protocol.forms import USUAL_NAME
from protocol.phrases import PHRASES
from protocol.record import SeriesRecord, sealed
from protocol.room_events import (
    Countdown,
    Dealt,
    Ended,
    Hidden,
    PlayerReady,
    Presence,
    Progress,
    Ratings,
    RematchAsked,
    Result,
    Said,
    Scored,
    Seated,
    Unseated,
)
from protocol.server_messages import Error
from protocol.tournament_messages import Called, Tournament, Tournaments
from protocol.tournaments import TournamentOptions
from protocol.views import ChatLine, RaceOptions, RulesInfo, SeriesOptions, SharedDeal
from tests.client import replays, runs, scenes, tables, tournament_scenes, watched
from tests.client.state.test_store import EVENTS

GOLDEN = Path(__file__).parents[2] / "data" / "screens"
SIZES = ((80, 24), (120, 40))
TOO_SMALL = (60, 20)
UI = Ui(cursor="c2")
LEARNING = replace(UI, learned=frozenset())
INVITING = UiSettings(page="http://carpet.example:7777/play/", server="carpet.example")


class Shown(NamedTuple):
    model: Callable[[], Model]
    ui: Ui = UI
    now_ms: int = 46_300
    colours: int = 256


def typing(kind: PromptKind, text: str) -> Prompt:
    return Prompt(kind, text, len(text))


def asking(kind: str, text: str, *lines: str) -> Ui:
    numbered = kind in ("phrase", "verdict", "add-bot")
    return replace(UI, question=Question(text, lines, (None,) * len(lines), numbered=numbered), item=1)


def beaten() -> Model:
    """The race of the scenes, looked at from the second seat, which fell back for twenty seconds."""
    model = scenes.rated_over()
    assert model.room is not None
    assert model.room.record is not None
    moves = tuple(
        move if move.seat == 0 or not 60_000 < move.at_ms < 82_000 else structs.replace(move, home=23 - (move.at_ms < 60_000))
        for move in model.room.record.moves
    )
    record = sealed(structs.replace(model.room.record, moves=moves))
    return replace(model, room=replace(model.room, seat=1, record=record))


def all_home() -> Model:
    view = structs.replace(
        scenes.middle_view(),
        piles=dict.fromkeys(scenes.SLOTS, ()),
        waste=(),
        stock=0,
        foundations=dict.fromkeys("SHDC", 13),
        home=52,
        moves=(),
    )
    progress = Progress(version=11, seat=0, ply=65, home=52, foundations=view.foundations, state="won", elapsed_ms=134_000)
    return scenes.reduced(scenes.racing(view), progress, now_ms=138_000)


def closed() -> Model:
    """Of a race whose deal others have yet to play."""
    shared = SharedDeal(kind="round", id="spring-open/1", nonces=("7c" * 16,))
    room = scenes.room(version=2, seats=(scenes.seat(0, "Anna"), scenes.seat(1, "Benedikt")), shared=shared)
    return scenes.reduced(scenes.racing(), room, Ended(version=3, seats=scenes.record().seats), now_ms=144_000)


def over_with_rematch() -> Model:
    """Of the fourth race between the two."""
    model = scenes.reduced(scenes.over(), RematchAsked(version=12, seat=1), now_ms=144_000)
    assert model.room is not None
    return replace(model, room=replace(model.room, won=(1, 2)))


def counting_again() -> Model:
    model = scenes.counting()
    assert model.room is not None
    return replace(model, room=replace(model.room, race=4, won=(1, 2)))


def rematch() -> Model:
    seats = (scenes.seat(0, "Anna"), scenes.seat(1, "Benedikt", ready=True))
    return scenes.reduced(scenes.at_home(), scenes.room(race=4, seats=seats, won=(1, 2)))


def unrated() -> Model:
    return scenes.reduced(scenes.at_home(), scenes.room(options=RaceOptions(bots=("Steady",), seats=3)))


def own_end() -> Model:
    progress = Progress(
        version=11, seat=0, ply=27, home=18, foundations={"S": 6, "H": 4, "D": 3, "C": 5}, state="stopped", elapsed_ms=42_000
    )
    return scenes.reduced(scenes.racing(), progress, now_ms=46_000)


def offline() -> Model:
    return scenes.reduced(scenes.racing(), Lost("the server does not answer", 4000), now_ms=46_000)


def with_ui(shown: Shown, **changes: Any) -> Shown:
    return shown._replace(ui=replace(shown.ui, **changes))


LOST = Lost("The connection to the server was lost.", 4000)
REFUSED = Lost("Nothing answers at localhost:4040: the connection was refused; is the server running, and is that its port?", 9000)
UP = Connected("ws://localhost:4040", "carpet.v1.msgpack")


def without_a_line(before: Callable[[], Model], *events: Any, now_ms: int = 46_000) -> Shown:
    """What is shown when the line was lost at `before`, and then this was heard."""
    return Shown(lambda: scenes.reduced(before(), *(events or (LOST,)), now_ms=now_ms), now_ms=now_ms + 300)


def moving() -> Model:
    return scenes.reduced(scenes.racing(), MoveSent(27, "c1"), now_ms=46_000)


LINES = {
    "home-lost": without_a_line(scenes.at_home),
    "home-refused": without_a_line(scenes.at_home, LOST, Connecting(1), REFUSED),
    "home-trying-again": without_a_line(scenes.at_home, LOST, Connecting(3)),
    "home-back": without_a_line(scenes.at_home, LOST, UP, scenes.welcome(), Back(), scenes.lobby()),
    "home-gone": without_a_line(
        scenes.at_home, Lost("You continued your game in another window or on another computer. Press Enter to take it back here.", None)
    ),
    "form-lost": with_ui(without_a_line(scenes.at_home), form=RaceOptions()),
    "waiting-lost": without_a_line(scenes.full_room),
    "countdown-lost": without_a_line(scenes.counting, now_ms=2300),
    "race-lost-in-flight": without_a_line(moving),
    "race-trying-again": without_a_line(moving, LOST, Connecting(1), REFUSED, Connecting(2)),
    "race-returning": without_a_line(moving, LOST, Connecting(1), UP),
    "race-back": without_a_line(scenes.racing, LOST, UP, Back()),
    "result-lost": without_a_line(scenes.over, now_ms=160_000),
}


def at(rules: str, moves: int, *, cursor: str = "c2", held: str = "", seats: int = 2, homeward: bool = True, **looks: Any) -> Shown:
    """A table in the middle of a game."""
    view = tables.view_after(rules, moves, homeward=homeward)
    colours = looks.pop("colours", 256)
    ui = replace(UI, cursor=cursor, held=held, settings=UiSettings(**looks))
    return Shown(lambda: tables.racing_at(rules, view, seats=seats), ui, colours=colours)


def two_decks_over() -> Model:
    record = structs.replace(scenes.record(), rules="colorado")
    seats = tuple(structs.replace(seat, home=seat.home + 52) for seat in record.seats)
    moves = tuple(structs.replace(move, home=move.home + 52) for move in record.moves)
    model = tables.racing_at("colorado", tables.view_after("colorado", 40))
    return scenes.reduced(model, Result(version=2, record=sealed(structs.replace(record, seats=seats, moves=moves))), now_ms=144_000)


def series_over() -> Model:
    score = scenes.standing((3, 1), 4, over=True)
    return scenes.reduced(scenes.over(), Scored(version=12, series=score, record=None), now_ms=144_000)


def series_given_up() -> Model:
    """Between two races: the room is there for another series, and for who has its code."""
    score = scenes.standing((1, 0), 1, over=True, gone=1)
    fresh = scenes.next_race(16, scenes.standing((0, 0), 0), race=3, seats=(scenes.seat(0, "Anna"), scenes.seat(1, None)))
    events = (Unseated(version=14, seat=1), Scored(version=15, series=score, record=None), fresh)
    return scenes.reduced(scenes.between(), *events, now_ms=144_000)


def swap_half() -> Model:
    """Between the two races of a swap, of whose first there is no record yet."""
    score = scenes.standing((0, 0), 1, format="swap", races=2)
    return scenes.reduced(scenes.racing(), Hidden(version=11), Scored(version=12, series=score, record=None), scenes.next_race(13, score))


SERIES = {
    "result-between": Shown(scenes.between, now_ms=160_000),
    "result-between-asked": Shown(lambda: scenes.reduced(scenes.between(), PlayerReady(version=14, seat=1)), now_ms=160_000),
    "result-between-away": Shown(
        lambda: scenes.reduced(scenes.between(), Presence(version=14, seat=1, connected=False, away_ms=300_000)), now_ms=160_000
    ),
    "result-between-ascii": Shown(scenes.between, replace(UI, settings=UiSettings(ascii=True)), 160_000),
    "result-series": Shown(series_over, now_ms=160_000),
    "result-series-given-up": Shown(series_given_up, now_ms=160_000),
    "waiting-series": Shown(lambda: scenes.reduced(scenes.between(), PlayerReady(version=14, seat=0)), now_ms=160_000),
    "waiting-swap": Shown(swap_half, now_ms=160_000),
    "form-series": Shown(scenes.at_home, replace(UI, form=RaceOptions(series=SeriesOptions(format="session", races=5)), item=7), 2000),
}

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


def replayed(
    rules: str, *, seats: int = 2, tenths: int = 6, own: int | None = None, pair: int = 0, colours: int = 256, **looks: Any
) -> Shown:
    """A replay in its middle."""
    replay = replace(jumped_to_tenth(replay_state_of(replays.line(rules, seats), own=own), tenths, 0), pair=pair)
    return Shown(scenes.over, Ui(replay=replay, settings=UiSettings(**looks)), 0, colours)


REPLAYS = {
    "replay-carpet": replayed("carpet", own=1),
    "replay-carpet-start": replayed("carpet", tenths=0),
    "replay-carpet-one": replayed("carpet", seats=1),
    "replay-carpet-four": replayed("carpet", seats=4, pair=4, tenths=10),
    "replay-carpet-mono": replayed("carpet", colours=1),
    "replay-carpet-ascii": replayed("carpet", ascii=True),
    "replay-colorado": replayed("colorado"),
    "replay-twenty": replayed("twenty", tenths=8),
    "replay-twenty-ascii": replayed("twenty", tenths=8, colours=1, ascii=True),
    "replay-crazy-quilt": replayed("crazy-quilt", tenths=3),
    "replay-crazy-quilt-mono": replayed("crazy-quilt", tenths=3, colours=1),
    "replay-persian-rug": replayed("persian-rug", tenths=2),
    "replay-persian-rug-ascii": replayed("persian-rug", tenths=2, ascii=True),
}


def watching(watch: WatchModel, **changes: Any) -> Shown:
    """A race that is watched."""
    looks = {name: changes.pop(name) for name in ("ascii",) if name in changes}
    colours = changes.pop("colours", 256)
    return Shown(scenes.at_home, Ui(watch=watch, settings=UiSettings(**looks), **changes), watched.NOW_MS, colours)


def alone() -> Model:
    """After a race against the clock."""
    record = scenes.record()
    seed = derive_seed(scenes.SECRET, [bytes.fromhex(scenes.NONCES[0])], 0).hex()
    deal = structs.replace(record.deal, nonces=scenes.NONCES[:1], seed=seed)
    moves = tuple(move for move in record.moves if move.seat == 0)
    only = sealed(structs.replace(record, deal=deal, seats=record.seats[:1], moves=moves))
    model = scenes.reduced(scenes.at_home(), scenes.room(1, phase="racing", view=scenes.middle_view()), now_ms=4000)
    return scenes.reduced(model, Result(version=2, record=only), now_ms=144_000)


WATCHED = {
    "watch-carpet": watching(watched.racing()),
    "watch-carpet-no-boards-yet": watching(watched.racing(boards=0)),
    "watch-carpet-curves": watching(watched.racing(), details=True),
    "watch-carpet-five": watching(watched.racing(seats=5, boards=4), first_seat=3),
    "watch-carpet-eight-curves": watching(watched.racing(seats=8), details=True),
    "watch-carpet-ascii": watching(watched.racing(), ascii=True),
    "watch-carpet-mono": watching(watched.racing(), colours=1),
    "watch-typing": watching(watched.racing(), prompt=typing("chat", "go on")),
    "watch-lost": watching(watched.racing())._replace(model=lambda: scenes.reduced(scenes.at_home(), LOST, now_ms=watched.NOW_MS - 500)),
    "watch-colorado": watching(watched.racing("colorado", moves=60)),
    "watch-twenty": watching(watched.racing("twenty", moves=30)),
    "watch-crazy-quilt": watching(watched.racing("crazy-quilt", moves=30)),
    "watch-persian-rug": watching(watched.racing("persian-rug", moves=25)),
    "watch-waiting": watching(watched.after(watched.watched(phase="waiting", elapsed_ms=0))),
    "watch-nothing": watching(WatchModel(closest=True)),
    "watch-over": watching(replace(watched.over(), closest=True)),
    "watch-over-boards": watching(watched.over(), details=True),
    "watch-over-rated": watching(watched.later(watched.over(), watched.event(Ratings(version=11, seats=scenes.RATINGS)))),
    "watch-series": watching(watched.in_series(scenes.standing((1, 0), 1))),
    "watch-series-between": watching(watched.between()),
    "watch-swap": watching(watched.in_series(scenes.standing((0, 0), 0, format="swap", races=2), boards=0)),
    "watch-swap-second": watching(watched.in_series(scenes.standing((0, 0), 1, format="swap", races=2))),
}

RUNS = {
    "run-waiting-daily": Shown(runs.waiting, now_ms=2000),
    "run-waiting-challenge": Shown(lambda: runs.waiting("challenge", 3), now_ms=2000),
    "run-alone": Shown(runs.racing),
    "run-ghost": Shown(lambda: runs.racing("challenge", 1)),
    "run-ghosts": Shown(lambda: runs.racing("challenge", 7)),
    "run-ghosts-ascii": Shown(lambda: runs.racing("challenge", 3), replace(UI, settings=UiSettings(ascii=True))),
    "run-ghosts-mono": Shown(lambda: runs.racing("challenge", 3), colours=1),
    "run-over": Shown(runs.over, now_ms=160_000),
    "run-over-many": Shown(lambda: runs.over(runs=40), now_ms=160_000),
    "run-over-challenge": Shown(lambda: runs.over("challenge", 2, 3), now_ms=160_000),
    "run-over-no-board-yet": Shown(lambda: runs.over(runs=0), now_ms=160_000),
}

SCREENS = {
    "home": Shown(scenes.at_home, now_ms=2000),
    "home-looking": Shown(scenes.looking, now_ms=31_000),
    "home-looking-rules": Shown(lambda: scenes.looking("crazy-quilt"), now_ms=31_000),
    "home-typing-code": Shown(scenes.at_home, replace(UI, prompt=typing("code", "kxq")), 2000),
    "home-bot-marked": Shown(scenes.at_home, replace(UI, item=7), 10_000),
    "home-connecting": Shown(Model, now_ms=0),
    "form": Shown(scenes.at_home, replace(UI, form=RaceOptions(seats=4, bots=("Steady", "Steady"), deal="garden"), item=2), 2000),
    "waiting": Shown(scenes.waiting, now_ms=2000),
    "waiting-invited": Shown(scenes.waiting, replace(UI, settings=INVITING), 2000),
    "waiting-near": Shown(scenes.waiting, replace(UI, settings=replace(INVITING, is_near=True)), 2000),
    "menu": Shown(Model, Ui(start=StartMenu()), 0),
    "laying": Shown(Model, Ui(start=StartRace(RaceOptions(bots=("greedy",))), own_server=True), 0),
    "menu-new": Shown(Model, Ui(start=StartMenu(is_new=True)), 0),
    "menu-refused": Shown(
        Model, Ui(start=StartMenu(), note="'ftp://x' is not the address of a server: it begins with ws:// or wss://, or is host:port."), 0
    ),
    "menu-typing": Shown(Model, Ui(start=StartMenu(), item=1, prompt=typing("server", "carpet.example")), 0),
    "waiting-full": Shown(scenes.full_room, now_ms=2000),
    "waiting-unrated": Shown(unrated, now_ms=2000),
    "waiting-winnable": Shown(sought, now_ms=2000),
    "waiting-eight": Shown(lambda: waiting_at("carpet", 8), now_ms=2000),
    "waiting-mono": Shown(scenes.waiting, replace(UI, settings=INVITING), 2000, colours=1),
    "waiting-ascii": Shown(scenes.waiting, replace(UI, settings=replace(INVITING, ascii=True)), 2000),
    "waiting-full-mono-ascii": Shown(scenes.full_room, replace(UI, settings=UiSettings(ascii=True)), 2000, colours=1),
    "countdown": Shown(scenes.counting, now_ms=2300),
    "countdown-rematch": Shown(counting_again, now_ms=2300),
    "countdown-mono": Shown(scenes.counting, now_ms=2300, colours=1),
    "countdown-ascii": Shown(scenes.counting, replace(UI, settings=UiSettings(ascii=True)), 2300),
    "countdown-quilt": Shown(
        lambda: scenes.reduced(waiting_at("crazy-quilt", 2), Countdown(version=2, starts_in_ms=9000, round_trips_ms=(9, 41))), now_ms=2300
    ),
    "race-dealt": Shown(scenes.dealt, now_ms=3990),
    "race": Shown(scenes.racing),
    "lesson": Shown(lambda: tables.racing_at("carpet", tables.view_after("carpet", 0, seed=named_seed(lessons.DEAL)), seats=1), LEARNING),
    "lesson-gap": Shown(lambda: scenes.racing(scenes.middle_view(pending=True)), replace(LEARNING, learned=frozenset({"chip", "space"}))),
    "race-gap": Shown(lambda: scenes.racing(scenes.middle_view(pending=True)), replace(UI, cursor="c1")),
    "race-typing": Shown(scenes.racing, replace(UI, prompt=typing("chat", "well played"))),
    "race-slot-begun": Shown(scenes.racing, replace(UI, typed="b", cursor="s")),
    "race-offline": Shown(offline),
    "race-last-cards": Shown(lambda: scenes.racing(home=44)),
    "race-ended": Shown(lambda: scenes.racing(home=30, state="stopped")),
    "race-own-end": Shown(own_end),
    "race-eight": Shown(scenes.crowd),
    "race-ascii": Shown(scenes.racing, replace(UI, settings=UiSettings(ascii=True))),
    "race-mono": Shown(scenes.racing, colours=1),
    "race-mono-ascii-gap": Shown(
        lambda: scenes.racing(scenes.middle_view(pending=True)), replace(UI, settings=UiSettings(ascii=True)), colours=1
    ),
    "phrases": Shown(
        scenes.racing, replace(UI, question=Question("Say", tuple(PHRASES.values()), (None,) * len(PHRASES), numbered=True), item=1)
    ),
    "question": Shown(scenes.racing, asking("resign", "Give up? You will be placed last.", "Give up", "Go on racing")),
    "question-mono": Shown(scenes.racing, asking("resign", "Give up? You will be placed last.", "Give up", "Go on racing"), colours=1),
    "result": Shown(scenes.over, now_ms=160_000),
    "result-rated": Shown(scenes.rated_over, now_ms=160_000),
    "result-rated-ascii": Shown(scenes.rated_over, replace(UI, settings=UiSettings(ascii=True)), 160_000),
    "result-closed": Shown(closed, now_ms=160_000),
    **RUNS,
    "result-rematch": Shown(over_with_rematch, now_ms=160_000),
    "waiting-rematch": Shown(rematch, now_ms=2000),
    "result-details": Shown(scenes.over, replace(UI, details=True), 160_000),
    "result-review": Shown(scenes.over, replace(UI, review=REVIEW), 160_000),
    "result-review-awaited": Shown(scenes.over, replace(UI, review=()), 160_000),
    "result-ascii": Shown(scenes.over, replace(UI, settings=UiSettings(ascii=True)), 160_000),
    "form-winnable": Shown(scenes.at_home, replace(UI, form=RaceOptions(winnable=True), item=4), 2000),
    "help": Shown(scenes.at_home, replace(UI, help_from=0), 2000),
    **LINES,
    **TABLES,
    **SERIES,
    "rules": Shown(scenes.at_home, replace(UI, rules_page=RulesPage("Steady"), item=11), 2000),
    "form-unrated": Shown(scenes.at_home, replace(UI, form=RaceOptions(bots=("Steady",)), item=7), 2000),
    "rules-form": Shown(scenes.at_home, replace(UI, form=RaceOptions(), rules_page=RulesPage(), item=0), 2000),
    "result-two-decks": Shown(two_decks_over, now_ms=160_000),
    "help-race": Shown(lambda: tables.racing_at("colorado", tables.view_after("colorado", 40)), replace(UI, help_from=0)),
    "help-end": Shown(scenes.at_home, replace(UI, help_from=999), 2000),
    **REPLAYS,
    **WATCHED,
    "home-series-open": Shown(lambda: replace(scenes.at_home(), lobby=scenes.lobby_with_series()), replace(UI, item=9), 10_000),
    "home-watch-marked": Shown(scenes.at_home, replace(UI, item=12), 10_000),
    "result-beaten": Shown(beaten, UI, 144_000),
    "ending": Shown(all_home, replace(UI, falls=True), 140_000),
    "result-alone": Shown(alone, replace(UI, standing="Your best is 3:12.4. 12 tries, 3 all home."), 160_000),
    "result-alone-best": Shown(alone, replace(UI, standing="New best: 3:12.4! Before it 3:20.1. 12 tries, 3 all home."), 160_000),
    "help-watch": Shown(scenes.at_home, replace(WATCHED["watch-carpet"].ui, help_from=0), 0),
    "help-replay": Shown(scenes.over, replace(REPLAYS["replay-carpet"].ui, help_from=0), 0),
}


LOOKING = replace(UI, tournament_view=TournamentView(tournament_scenes.ID), item=0)


def at_tournament(
    told: Tournament | Called | Tournaments, ui: Ui = LOOKING, *more: Any, directs: bool = False, colours: int = 256
) -> Shown:
    """Anna before a tournament, five seconds after she was told how it stands."""
    if directs and isinstance(told, Tournament):
        told = structs.replace(told, director=tournament_scenes.ANNA, director_name="Anna")
    return Shown(lambda: scenes.reduced(scenes.at_home(), told, *more, now_ms=45_000), ui, now_ms=50_000, colours=colours)


def at_table(*events: Any) -> Model:
    """Anna called to her table, and what happens there."""
    deal = SharedDeal(kind="round", id=f"{tournament_scenes.ID}/2", nonces=("00" * 16,))
    called = scenes.reduced(scenes.at_home(), tournament_scenes.running(), tournament_scenes.called())
    return scenes.reduced(called, scenes.room(shared=deal, options=RaceOptions(public=False)), *events)


TOLD = tournament_scenes
NOBODY_IN = tuple(structs.replace(each, checked_in=False) for each in TOLD.ENTRANTS)
VERDICT = Question("Round 2, table 1: Benedikt against Anna", ("Benedikt wins", "Anna wins"), (None, None), numbered=True)
TOURNAMENTS = {
    "tournaments": at_tournament(TOLD.listed(), replace(LOOKING, tournament_view=TournamentView())),
    "tournaments-none": at_tournament(
        structs.replace(TOLD.listed(), tournaments=(), running=0), replace(LOOKING, tournament_view=TournamentView())
    ),
    "tournament-form": at_tournament(
        TOLD.listed(),
        replace(LOOKING, tournament_view=TournamentView(), tournament_form=TournamentOptions(name=USUAL_NAME), item=1),
    ),
    "tournament-form-typing": at_tournament(
        TOLD.listed(),
        replace(
            LOOKING,
            tournament_view=TournamentView(),
            tournament_form=TournamentOptions(name=USUAL_NAME),
            prompt=typing("title", "Club evening"),
        ),
    ),
    "tournament-unknown": at_tournament(TOLD.listed()),
    "tournament-registration": at_tournament(TOLD.told()),
    "tournament-registration-director": at_tournament(TOLD.told(entrants=TOLD.ENTRANTS[:1]), directs=True),
    "tournament-check-in": at_tournament(TOLD.told("check-in", phase_ms=95_000, entrants=NOBODY_IN)),
    "tournament-running": at_tournament(TOLD.running()),
    "tournament-running-ascii": at_tournament(TOLD.running(), replace(LOOKING, settings=UiSettings(ascii=True))),
    "tournament-running-mono": at_tournament(TOLD.running(), colours=1),
    "tournament-standings": at_tournament(TOLD.running(), replace(LOOKING, tournament_view=TournamentView(TOLD.ID, "standings"), item=1)),
    "tournament-standings-ascii": at_tournament(
        TOLD.running(),
        replace(LOOKING, tournament_view=TournamentView(TOLD.ID, "standings"), item=1, settings=UiSettings(ascii=True)),
    ),
    "tournament-log": at_tournament(TOLD.running(), replace(LOOKING, tournament_view=TournamentView(TOLD.ID, "log"))),
    "tournament-between": at_tournament(TOLD.running(phase="between", phase_ms=None, tables=TOLD.TABLES[1:2]), directs=True),
    "tournament-verdict": at_tournament(
        TOLD.running(),
        replace(LOOKING, question=VERDICT),
        directs=True,
    ),
    "tournament-reason": at_tournament(TOLD.running(), replace(LOOKING, prompt=typing("reason", "The line was down")), directs=True),
    "tournament-over": at_tournament(TOLD.running(phase="over")),
    "tournament-guest": at_tournament(TOLD.running(), LOOKING, structs.replace(scenes.welcome(), player="", name="", token="")),
    "tournament-large": at_tournament(TOLD.large(), replace(LOOKING, item=20)),
    "tournament-large-standings": at_tournament(
        TOLD.large(), replace(LOOKING, tournament_view=TournamentView(TOLD.ID, "standings"), item=63)
    ),
    "tournament-table": Shown(lambda: at_table(), replace(UI, tournament_view=TournamentView(TOLD.ID)), now_ms=20_000),
    "help-tournament": at_tournament(TOLD.running(), replace(LOOKING, help_from=12)),
}
SCREENS |= TOURNAMENTS

ONCE = set(
    """
    countdown-lost countdown-rematch form-winnable home-back home-bot-marked home-looking home-looking-rules home-lost home-refused
    home-trying-again home-typing-code menu-refused race-back race-returning race-trying-again race-typing result-between-asked
    result-between-away result-lost result-rematch result-series run-waiting-daily tournament-guest tournament-reason
    tournament-running-mono waiting-lost waiting-rematch waiting-unrated watch-swap-second watch-typing
    """.split()  # noqa: SIM905  (as a set they would take a line each)
)
"""What differs from another one in a line or two that no width changes: these are drawn in the smallest terminal alone."""
CRAMPED = ("home", "waiting", "race", "result", "watch-carpet", "replay-carpet")
"""A terminal too small says the same of all screens but for the room's clock and standings: of these it is drawn."""
GOLDENS = [
    *((name, size) for name in SCREENS for size in SIZES if size == SIZES[0] or name not in ONCE),
    *((name, TOO_SMALL) for name in CRAMPED),
]


def told_when_shown(shown: Shown) -> Model:
    return replace(shown.model(), lobby_at=shown.now_ms)


# Each is drawn many times, and changes nothing of its model.
SCREENS = {name: shown._replace(model=cache(partial(told_when_shown, shown))) for name, shown in SCREENS.items()}


def widget_of(shown: Shown, size: tuple[int, int]) -> urwid.Widget:
    settings_ = shown.ui.settings
    theme = theme_for(settings_.palette, ascii_only=settings_.ascii, colours=shown.colours, own=None)
    return Painted(view(Scene(shown.model(), shown.ui, theme, shown.now_ms), size))


@cache
def screen_of(name: str, size: tuple[int, int]) -> urwid.Widget:
    """A screen to look at: that takes less than drawing it."""
    return widget_of(SCREENS[name], size)


def rows_of(shown: Shown, size: tuple[int, int] = SIZES[0]) -> list[str]:
    return render_text(widget_of(shown, size), size)


def golden(name: str, size: tuple[int, int]) -> str:
    return f"{name}-{size[0]}x{size[1]}.txt"


@pytest.mark.parametrize(("name", "size"), GOLDENS, ids=[golden(*each) for each in GOLDENS])
def test_the_screen_looks_as_it_did(name: str, size: tuple[int, int]) -> None:
    text = "\n".join(render_text(screen_of(name, size), size, focus=True, strip=True)) + "\n"
    path = GOLDEN / golden(name, size)
    if os.environ.get("CARPET_UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), "no golden screen yet: run once with CARPET_UPDATE_GOLDEN=1"
    assert text == path.read_text(encoding="utf-8")


def test_no_golden_screen_is_left_over() -> None:
    assert {path.name for path in GOLDEN.glob("*.txt")} == {golden(*each) for each in GOLDENS}


@pytest.mark.parametrize("name", SCREENS)
def test_every_role_on_a_screen_is_in_every_palette(name: str) -> None:
    runs = render_runs(screen_of(name, (80, 24)), (80, 24), focus=True)
    roles = {role for row in runs for role, _ in row}
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
    for size in (*SIZES, TOO_SMALL):
        assert "\n".join(rows_of(SCREENS[name], size)).isascii()


def test_the_playable_cards_are_marked_without_colours_too() -> None:
    text = "\n".join(rows_of(SCREENS["race-mono"]))
    assert text.count("▲") == 4  # three cards and the stock


def test_after_ones_own_end_nothing_is_marked_and_no_key_offered_that_plays() -> None:
    text = "\n".join(rows_of(SCREENS["race-own-end"]._replace(ui=LEARNING)))
    assert "▲" not in text
    assert "space" not in text
    assert "no more lessons" not in text
    assert "stock  K" not in text
    assert "q quit" in text


def test_a_key_that_does_nothing_is_named_also_where_it_leaves_no_mark() -> None:
    ui, _ = update(SCREENS["result"].model(), UI, Key(" "), 0)
    assert ui.note == "space does nothing here; ? shows the keys."


def test_whoever_was_stopped_by_anothers_win_is_not_said_to_have_stopped() -> None:
    model = scenes.over()
    assert model.room is not None
    assert model.room.record is not None
    first, second = model.room.record.seats
    won = structs.replace(model.room.record, seats=(structs.replace(first, state="won"), structs.replace(second, ended_at_ms=133_600)))
    at_the_end = replace(model, room=replace(model.room, record=won))
    shown = Shown(lambda: at_the_end, now_ms=160_000)
    text = "\n".join(rows_of(shown))
    assert "all home" in text
    assert "beaten" in text


@pytest.mark.parametrize(
    ("plies", "rated", "says"),
    [((3, 0), False, "Benedikt made no move."), ((0, 0), False, "nobody made a move."), ((3, 0), True, ""), ((3, 2), False, "")],
)
def test_a_race_that_was_to_count_and_does_not_says_so_and_why(plies: tuple[int, int], rated: bool, says: str) -> None:
    model = scenes.over()
    assert model.room is not None
    assert model.room.record is not None
    seats = tuple(
        structs.replace(seat, state=state, plies=made)
        for seat, state, made in zip(model.room.record.seats, ("stopped", "forfeited"), plies, strict=True)
    )
    room = replace(model.room, told=seats, record=structs.replace(model.room.record, seats=seats, rated=rated))
    for options, expected in ((room.options, says), (RaceOptions(rated=False), "")):
        shown = Shown(partial(replace, model, room=replace(room, options=options)), now_ms=160_000)
        text = "\n".join(render_text(widget_of(shown, (80, 24)), (80, 24)))
        assert f"Not rated: {expected}" in text if expected else "Not rated" not in text


def test_every_row_of_the_help_page_is_whole_in_the_smallest_terminal() -> None:
    theme = theme_for("classic", ascii_only=False, colours=256, own=None)
    scene = Scene(scenes.at_home(), UI, theme, 0)
    for line in help_lines(scene, 76):
        assert line_width(line) <= 76
    for _, rows in help_rows():
        assert all(len(keys) < KEYS_WIDTH for keys, _ in rows)


@pytest.mark.parametrize("number", range(len(scenes.RULES)), ids=[info.id for info in scenes.RULES])
def test_every_rule_set_is_told_to_the_end_in_the_smallest_terminal(number: int) -> None:
    page = replace(UI, rules_page=RulesPage("Steady"), item=number)
    lines = rows_of(Shown(scenes.at_home, page))
    told = " ".join(" ".join(line[LIST_WIDTH:] for line in lines[3:]).split())
    info = scenes.RULES[number]
    assert info.explanation in told
    assert info.source in told
    assert info.difficulty in told


def waiting_at(rules: str, seats: int) -> Model:
    names = ("Anna", "Benedikt", "Clara", "Dan", "Émilie", "Friðrik", "Guðrún", "Hannes Maximilian")[:seats]
    infos = tuple(scenes.seat(number, name) for number, name in enumerate(names))
    room = scenes.room(seats=infos, options=RaceOptions(rules=rules, seats=seats, grace_s=600, countdown_s=10, time_limit_s=3600))
    return scenes.reduced(scenes.at_home(), room)


@pytest.mark.parametrize("seats", [2, 3, 4])
@pytest.mark.parametrize("info", scenes.RULES, ids=lambda info: info.id)
def test_the_waiting_room_tells_the_rules_to_the_end_in_the_smallest_terminal(info: RulesInfo, seats: int) -> None:
    lines = rows_of(Shown(lambda: waiting_at(info.id, seats)))
    told = " ".join(" ".join(lines).split())
    assert info.explanation in told
    assert "60 min" in told
    assert "10 s countdown, 600 s of grace" in told
    assert "Ready" in told


def test_while_a_seat_is_free_the_rules_are_cut_in_the_smallest_terminal_and_it_is_said_where_they_are_whole() -> None:
    lines = rows_of(Shown(scenes.waiting))
    # Between two words.
    (cut,) = [line.split(" ... more: ?")[0].split()[-1] for line in lines if line.rstrip().endswith(" ... more: ?")]
    info = rules_of(scenes.RULES, "carpet")
    assert info is not None
    assert cut in info.explanation.split()
    lines = rows_of(Shown(lambda: scenes.waiting(8)))
    assert any("? tells the rules of Carpet." in line for line in lines)
    assert sum(line.count("open seat") for line in lines) == 7


@pytest.mark.parametrize(("seat", "points"), [(0, "1 : 0"), (1, "0 : 1"), (None, "")])
def test_the_head_says_which_race_of_a_series_it_is_and_ones_own_points_first(seat: int | None, points: str) -> None:
    model = scenes.racing()
    assert model.room is not None
    # The fourth race of the room, but the second of its second series.
    room = replace(model.room, seat=seat, race=4, series=scenes.standing((1, 0), 1))
    (line, *_) = rows_of(Shown(lambda: replace(model, room=room)))
    assert f"race 2 of 5{' · ' if points else ''}{points}" in line
    assert "race 4" not in line
    assert (" : " in line) == bool(points)


def test_the_head_counts_the_races_of_the_series_behind_the_end_too() -> None:
    model = scenes.over()
    assert model.room is not None
    assert model.room.record is not None
    place = SeriesRecord(id="first", format="best-of", races=3, race=2)
    record = structs.replace(model.room.record, series=place)
    for series, kept in (
        # Between `result` and `scored`, after it, and in a swap whose record is still sealed.
        (scenes.standing((1, 0), 1, races=3), record),
        (scenes.standing((2, 0), 2, races=3, over=True), record),
        (scenes.standing((2, 0), 2, races=3, over=True), None),
    ):
        room = replace(model.room, race=4, series=series, record=kept)
        (line, *_) = rows_of(Shown(lambda room=room: replace(model, room=room)))  # type: ignore[misc]
        assert "race 2 of 3" in line
        assert "race 4" not in line


def test_between_two_series_the_next_race_is_said_to_begin_another() -> None:
    model = scenes.reduced(series_given_up(), scenes.next_race(17, scenes.standing((0, 0), 0), race=3))
    assert any("r: ready for race 1 of a new series" in line for line in rows_of(Shown(lambda: model)))


def test_a_house_bot_has_no_round_trip_in_a_waiting_room() -> None:
    model = scenes.full_room()
    assert model.room is not None
    own, other = model.room.seats
    seats = (structs.replace(own, round_trip_ms=77), structs.replace(other, bot="greedy", round_trip_ms=0))
    room = replace(model.room, seats=seats)
    lines = rows_of(Shown(lambda: replace(model, room=room), now_ms=2000), (120, 40))
    assert any("77 ms" in line for line in lines)
    assert not any(" 0 ms" in line for line in lines)


@pytest.mark.parametrize("name", ["Anna", "M" * 24, "漢" * 24])
@pytest.mark.parametrize("trip", [None, 1234])
@pytest.mark.parametrize("seats", [2, 4])
def test_in_a_waiting_room_one_finds_oneself_and_how_all_stand_however_long_a_name(name: str, trip: int | None, seats: int) -> None:
    model = waiting_at("carpet", seats)
    assert model.room is not None
    infos = [structs.replace(info, name=name, round_trip_ms=trip) for info in model.room.seats]
    infos[1] = structs.replace(infos[1], ready=True)
    infos[-1] = structs.replace(infos[-1], connected=seats == 2)
    room = replace(model.room, seats=tuple(infos))
    for size, ascii_only, colours in product(SIZES, (False, True), (1, 256)):
        shown = Shown(lambda: replace(model, room=room), replace(UI, settings=UiSettings(ascii=ascii_only)), 2000, colours)
        lines = rows_of(shown, size)
        (own,) = [line for line in lines if " (you)" in line]
        assert len(re.findall(f"{name[0]}+", own)) == seats
        assert any("r   Ready" in line for line in lines)
        (states,) = [line for line in lines if f"{'+' if ascii_only else '✓'} ready" in line]
        assert (states.count(" not ready yet"), states.count(" not connected")) == ((0, 0) if seats == 2 else (1, 1))
        assert all(text_width(line) == size[0] for line in lines)


def test_ones_own_plate_is_the_button_that_says_ready() -> None:
    picture = view(scene_of(scenes.full_room(), UI, 2000), (80, 24))
    own, other = (next(slot.rect for slot in picture.slots if slot.place == f"seat {seat}") for seat in (0, 1))
    assert picture.click_at(own.column + 1, own.row) == Do(Command.READY)
    assert picture.click_at(own.column + own.width - 1, own.row + own.height - 1) == Do(Command.READY)
    assert picture.click_at(other.column + 1, other.row) is None


def test_the_code_is_shown_large_while_a_seat_is_free_and_no_longer() -> None:
    def letters(model: Model, size: tuple[int, int] = (80, 24)) -> str:
        return "".join(large.text for large in view(scene_of(model, UI, 2000), size).large)

    assert letters(scenes.waiting()) == letters(scenes.waiting(), (120, 40)) == scenes.CODE
    assert letters(scenes.full_room()) == ""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rules", [info.id for info in scenes.RULES])
def test_before_the_start_backs_lie_where_the_cards_are_going_to(rules: str, size: tuple[int, int]) -> None:
    model = scenes.reduced(waiting_at(rules, 2), Countdown(version=2, starts_in_ms=3000, round_trips_ms=(20, 30)))
    before = view(scene_of(model, UI, 2000), size)
    dealt = scenes.reduced(model, Dealt(version=3, seat=0, starts_in_ms=20, view=tables.view_after(rules, 0)))
    after = {slot.place: slot for slot in view(scene_of(dealt, UI, 3990), size).slots}
    backs = {slot.place: slot.rect for slot in before.slots if slot.place[0] != "p"}
    assert backs
    assert {slot.card for slot in before.slots} == {FACE_DOWN}
    assert backs == {place: after[place].rect for place in backs}
    assert {place for place, slot in after.items() if slot.card and re.fullmatch("[a-j][1-9]", place)} <= set(backs)
    assert before.hits == tuple(hit for hit in before.hits if hit.rect.row == size[1] - 1), "nothing can be pressed there yet"


def test_of_a_rule_set_that_is_not_known_the_seconds_alone_are_counted() -> None:
    model = scenes.counting()
    assert model.room is not None
    room = replace(model.room, options=RaceOptions(rules="unheard-of"))
    picture = view(scene_of(replace(model, room=room), UI, 2300), (80, 24))
    assert [large.text for large in picture.large] == ["2"]
    assert picture.slots == ()


def over_winnable() -> Model:
    record = scenes.record()
    model = scenes.over()
    assert model.room is not None
    won = sealed(structs.replace(record, deal=structs.replace(record.deal, winnable=True)))
    return replace(model, evidence=None, room=replace(model.room, record=won))


@pytest.mark.parametrize("details", [False, True])
def test_however_much_there_is_to_say_of_a_deal_its_key_and_the_rematch_are_shown(details: bool) -> None:
    ui = replace(UI, details=details)
    lines = [line.rstrip() for line in rows_of(Shown(over_winnable, ui, now_ms=160_000))]
    at = next(number for number, line in enumerate(lines) if line.startswith("  ? Nothing is wrong; not seen here:"))
    assert " ".join(lines[at : at + 2]).split()[-4:] == ["checks", "the", "record.", "(d)"]
    assert lines[at + 2] == "  r: rematch against the same players"
    assert any("Check the record yourself with carpet verify" in line for line in lines) is details
    assert any("Whether deal 0 is the first that can be won is being" in line for line in lines) is details


def test_of_many_seats_and_much_to_say_the_end_gives_way() -> None:
    model = over_winnable()
    assert model.room is not None
    assert model.room.record is not None
    many = sealed(structs.replace(model.room.record, seats=model.room.record.seats * 4))
    crowded = replace(model, room=replace(model.room, record=many))
    text = "\n".join(rows_of(Shown(lambda: crowded, replace(UI, details=True), 160_000)))
    assert "... the rest: carpet verify" in text
    assert "r: rematch against the same players" in text


def test_seats_that_a_server_numbers_as_it_likes_are_drawn() -> None:
    seats = (scenes.seat(0, "Anna", state="racing"), scenes.seat(6, "Benedikt", state="racing", home=9, ply=9))
    model = scenes.reduced(scenes.at_home(), scenes.room(phase="racing", seats=seats, view=scenes.middle_view(), elapsed_ms=42_300))
    assert any("Benedikt" in line for line in rows_of(Shown(lambda: model)))


@pytest.mark.parametrize(("ended_at_ms", "is_told"), [(133_500, True), (6_000, False)])
def test_of_what_a_winner_did_after_ones_own_end_it_is_not_said_that_one_fell_back(ended_at_ms: int, is_told: bool) -> None:
    record = scenes.record()
    seats = (record.seats[0], structs.replace(record.seats[1], ended_at_ms=ended_at_ms))
    over = scenes.over().room
    assert over is not None
    room = replace(over, seat=1, record=structs.replace(record, seats=seats))
    assert (turning_point(room) is not None) is is_told


def test_whoever_never_made_a_move_did_not_fall_back_at_any_moment() -> None:
    record, over = scenes.record(), scenes.over().room
    assert over is not None
    idle = structs.replace(record, seats=(record.seats[0], structs.replace(record.seats[1], plies=0)))
    assert turning_point(replace(over, seat=1, record=record)) is not None
    assert turning_point(replace(over, seat=1, record=idle)) is None


def test_a_race_is_a_try_at_ones_best_for_who_saw_it_raced_and_not_for_who_comes_back_to_its_result() -> None:
    def kept(before: Model) -> list[Keep]:
        _, effects = update(scenes.over(), UI, Heard(Result(version=11, record=scenes.record()), before), 144_000)
        return [effect for effect in effects if isinstance(effect, Keep)]

    assert kept(scenes.racing()) == [Keep(scenes.record(), 0)]
    assert kept(scenes.at_home()) == [Keep(scenes.record(), None)]


def test_large_letters_tell_of_a_win_and_never_of_a_loss() -> None:
    def letters(shown: Shown) -> list[str]:
        return [large.text for large in view(scene_of(shown.model(), shown.ui, shown.now_ms), (120, 40)).large]

    assert letters(SCREENS["result"]) == ["WON by 15 cards", "48/52"]
    assert letters(SCREENS["result-beaten"]) == ["33/52"]
    assert letters(SCREENS["result-alone"]) == ["48/52"]


def test_what_no_rule_set_has_is_drawn_without_a_word_of_it() -> None:
    evil = ENEMY[:8]
    piles = {"a1": (evil,), "b1": ("",), evil: (evil, "KS"), "c1": ("KS", evil)}
    view = structs.replace(scenes.first_view(), piles=piles, waste=(evil,), moves=("", ":", evil, f"a1:{evil}", f"{evil}:a1", "b1"))
    for rules in tables.ALL:
        for held in ("", "a1", evil):
            shown = Shown(lambda: tables.racing_at(rules, view), replace(UI, held=held, cursor="c1"))  # noqa: B023  (called at once)
            text = "".join(rows_of(shown))
            assert "\x1b" not in text


def test_a_terminal_too_small_says_so_and_shows_the_clock() -> None:
    text = "\n".join(rows_of(SCREENS["race"], TOO_SMALL))
    assert "Too small" in text
    assert "0:42 / 10:00" in text
    assert "The race goes on." in text
    for size in ((1, 1), (5, 2), (79, 24), (80, 23)):
        check_box_sizing(widget_of(SCREENS["race"], size), cols=size[0], rows=size[1])


@pytest.mark.parametrize(
    ("model", "ui", "says"),
    [
        (scenes.waiting, UI, ("The code: KXQWZP", "Press r when you are ready.")),
        (scenes.full_room, UI, ("Press r when you are ready.",)),
        (scenes.counting, UI, ("Everybody is ready.", "start in 0:02.3")),
        (scenes.over, UI, ("The race is over.", "home 48 against 33")),
        (scenes.racing, replace(UI, question=Question("Quit?", ("Quit", "Go on"), (None, None))), ("Quit?", "y or n")),
    ],
)
def test_a_terminal_too_small_says_what_matters_where_one_is(model: Callable[[], Model], ui: Ui, says: tuple[str, ...]) -> None:
    text = "\n".join(rows_of(Shown(model, ui, 1_700), (30, 10)))
    for each in says:
        assert each in text


@pytest.mark.parametrize("name", SCREENS)
def test_every_screen_fills_every_size(name: str) -> None:
    for size in ((80, 24), (90, 30), (100, 35), (132, 43), (200, 60)):
        canvas = screen_of(name, size).render(size, focus=True)
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
        text = "".join(rows_of(Shown(lambda: model), size))
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "\u202e" not in text


@given(st.lists(EVENTS, max_size=12), st.sampled_from([*SIZES, TOO_SMALL]), st.booleans())
def test_whatever_is_heard_can_be_drawn(events: list[object], size: tuple[int, int], details: bool) -> None:
    model = scenes.reduced(scenes.at_home(), scenes.room(), *events)  # type: ignore[arg-type]
    canvas = widget_of(Shown(lambda: model, replace(UI, details=details)), size).render(size, focus=True)
    assert (canvas.cols(), canvas.rows()) == size


@pytest.mark.parametrize(
    ("name", "size", "card"), [("race", (200, 50), cards.HUGE), ("race", (160, 45), cards.LARGE), ("colorado", (200, 50), cards.LARGE)]
)
def test_a_large_window_has_large_cards(name: str, size: tuple[int, int], card: cards.CardSize) -> None:
    shown = SCREENS[name]
    drawn = view(scene_of(shown.model(), shown.ui, shown.now_ms), size)
    assert {slot.rect[2:] for slot in drawn.slots if slot.place in ("a1", "b2", "e2")} == {card[:2]}


@pytest.mark.parametrize("rows", range(30, 60))
def test_two_tables_have_the_largest_cards_that_fit_and_curves_have_what_is_left(rows: int) -> None:
    theme = theme_for("classic", ascii_only=False, colours=256, own=None)
    board = board_of(None, scenes.middle_view())
    how = arranged(board, 2, 140, rows, theme, most=9)
    left = {size: rows - OWN_ROWS - grid_height(board, size) for size in (cards.LARGE, cards.MEDIUM)}
    size = next(size for size in left if left[size] >= 0)
    assert how.side == 0
    assert how.below == (0 if left[size] < LEAST else min(left[size], 9))
    assert how.height - OWN_ROWS >= grid_height(board, size)


@pytest.mark.parametrize("columns", range(140, 230, 5))
def test_curves_stand_beside_large_cards_where_the_window_is_wide_enough(columns: int) -> None:
    theme = theme_for("classic", ascii_only=False, colours=256, own=None)
    board = board_of(None, scenes.middle_view())
    how = arranged(board, 2, columns, 44, theme, most=9)
    assert 2 * how.width + BETWEEN + (how.side + BETWEEN if how.side else 0) <= columns
    assert how.width >= grid_width(board, cards.LARGE)
    assert (how.side >= SIDE_LEAST) is (columns >= 2 * (grid_width(board, cards.LARGE) + BETWEEN) + SIDE_LEAST + 2)
    assert not (how.side and how.below)


def test_wide_layouts_stand_one_below_the_other_where_that_makes_their_cards_larger() -> None:
    theme = theme_for("classic", ascii_only=False, colours=256, own=None)
    shown = SCREENS["colorado"].model().room
    assert shown is not None
    assert shown.view is not None
    board = board_of(None, shown.view)
    assert arranged(board, 2, 200, 44, theme, most=9).is_column
    assert not arranged(board, 2, 200, 24, theme, most=0).is_column
    assert not arranged(board, 2, 80, 24, theme, most=0).is_column


def test_why_there_is_no_connection_is_said_once() -> None:
    banned = "The host of this server has banned you."
    error = Error(code="hello/banned", fault=Fault.STATE, message=banned, path="", ref=0)
    model = scenes.reduced(scenes.at_home(), error, Lost(banned, None), now_ms=2000)
    lines = view(scene_of(model, UI, 2000), (80, 24)).lines
    assert sum(banned in "".join(text for _, text in line) for line in lines) == 1


@pytest.mark.parametrize(("retry_in_ms", "clock"), [(4000, "while the server is down, no clock runs"), (None, "your clock runs on")])
def test_a_client_that_does_not_reconnect_by_itself_does_not_say_that_no_clock_runs(retry_in_ms: int | None, clock: str) -> None:
    model = scenes.reduced(scenes.racing(), Lost("Another connection has your place.", retry_in_ms), now_ms=46_000)
    text = "\n".join("".join(text for _, text in line) for line in view(scene_of(model, UI, 46_000), (80, 24)).lines)
    assert f"Not connected. Your seat is held; {clock}." in text


def test_court_cards_are_painted_where_colours_are_exact_and_nowhere_else() -> None:
    shown = SCREENS["race"]
    for colours, settings_ in (
        (2**24, UiSettings()),
        (256, UiSettings()),
        (2**24, UiSettings(ascii=True)),
        (2**24, UiSettings(palette="none")),
    ):
        scene = scene_of(shown.model(), replace(shown.ui, settings=settings_), shown.now_ms, colours=colours)
        roles = {role for line in view(scene, (120, 40)).lines for role, _ in line}
        assert roles <= {entry[0] for entry in entries(scene.theme.palette, exact=colours > 256)}
        assert any(role.startswith("court ") for role in roles) is (scene.theme.paints and colours > 256)
        assert scene.theme.paints is (settings_ == UiSettings() and colours > 256)


@pytest.mark.parametrize("size", [cards.HUGE, cards.LARGE, cards.MEDIUM])
@pytest.mark.parametrize("look", ["card", "side", "dim", "dimside", "lit", "held"])
def test_every_painted_card_has_its_size_and_the_colours_of_its_look(size: cards.CardSize, look: cards.Ink) -> None:
    theme = theme_for("classic", ascii_only=False, colours=2**24, own=None)
    roles = {entry[0] for entry in entries(theme.palette, exact=True)}
    for card in CARD_TEXT:
        lines = cards.face(card, size, theme, look, mark="1")
        assert [line_width(line) for line in lines] == [size.width] * size.height
        assert {role for line in lines for role, _ in line} <= roles


def test_at_home_the_clocks_of_running_races_go_on_and_stop_at_the_limit_of_time() -> None:
    def at(now_ms: int) -> Scene:
        return scene_of(replace(scenes.at_home(), lobby_at=0), UI, now_ms)

    def shows(scene: Scene, clock: str) -> bool:
        return any(clock in "".join(text for _, text in line) for line in view(scene, (120, 40)).lines)

    assert shows(at(0), "1:34")
    assert shows(at(5_999), "1:39")
    assert shows(at(6_000), "1:40")
    assert body_times(at(5_000)) == body_times(at(5_999)) != body_times(at(6_000))
    assert shows(at(3_600_000), "10:00")
    assert body_times(at(3_600_000)) == body_times(at(3_601_000))


def test_whoever_is_ready_at_a_table_is_told_how_long_the_others_have_and_what_they_wait_for_then() -> None:
    call = structs.replace(tournament_scenes.called(), code=scenes.CODE)
    events = [call, Seated(version=2, seat=1, name="Benedikt", bot=None), PlayerReady(version=3, seat=0)]
    told = ["\n".join(rows_of(Shown(partial(at_table, *events, *more), now_ms=50_000))) for more in ((), (PlayerReady(version=4, seat=1),))]
    assert "You are ready. Players who are not here within 1:11 forfeit." in told[0]
    assert "You are ready. All tables of a round start together: waiting for the others." in told[1]


def test_whoever_has_a_bye_is_not_told_to_forfeit_it() -> None:
    call = tournament_scenes.called()
    bye = tournament_scenes.table(1, tournament_scenes.ANNA, None, counted=False, code=scenes.CODE)
    told = [
        "\n".join(rows_of(Shown(partial(at_table, *more), now_ms=50_000)))
        for more in ((), (tournament_scenes.running(tables=(bye,)), structs.replace(call, code=scenes.CODE)))
    ]
    assert "or you forfeit" in told[0]
    assert "or you forfeit" not in told[1]
    assert "You have a bye. Press r to race the house for fun." in told[1]
