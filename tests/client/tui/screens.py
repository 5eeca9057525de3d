"""Every screen in every state that it is drawn in: for the golden screens, for pictures of them, and for the tests of each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import urwid
from msgspec import structs
from msgspec.structs import replace
from urwid.testing import render_text

from client.connection.events import Back, Connected, Connecting, Lost
from client.state.store import Model, MoveSent
from client.state.watching import WatchModel
from client.tui.actions import PromptKind
from client.tui.drawing.picture import Picture
from client.tui.drawing.theme import theme_for
from client.tui.replay_state import jumped_to_tenth, replay_state_of
from client.tui.room import LESSON
from client.tui.scene import Scene
from client.tui.start import StartMenu, StartRace, UiSettings
from client.tui.terminal import Painted
from client.tui.tournament_view_state import TournamentView
from client.tui.ui_state import Prompt, Question, RulesPage, Ui
from client.tui.view import view
from protocol.fairness import derive_seed, named_seed
from protocol.forms import USUAL_NAME, TournamentDraft
from protocol.phrases import PHRASES
from protocol.record import sealed
from protocol.room_events import (
    Countdown,
    Ended,
    Hidden,
    PlayerReady,
    Presence,
    Progress,
    Ratings,
    RematchAsked,
    Result,
    Scored,
    Unseated,
)
from protocol.tournament_messages import Called, Tournament, Tournaments
from protocol.views import RaceOptions, SeriesOptions, SharedDeal
from tests.client import replays, runs, scenes, tables, tournament_scenes, watched

GOLDEN = Path(__file__).parents[2] / "data" / "screens"
SIZES = ((80, 24), (120, 40))
TOO_SMALL = (60, 20)
UI = Ui(cursor="c2")
LEARNING = replace(UI, learned=frozenset())
LESSON_SEED = named_seed(str(LESSON.deal))
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


def private_over() -> Model:
    """Of a race whose record names another room, as that of every race which is not listed."""
    record = sealed(replace(scenes.record(), room="HKTRWM", id="HKTRWM-1-0a1b2c3d4e5f"))
    return scenes.reduced(scenes.racing(), Result(version=11, record=record), now_ms=144_000)


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


def waiting_at(rules: str, seats: int) -> Model:
    names = ("Anna", "Benedikt", "Clara", "Dan", "Émilie", "Friðrik", "Guðrún", "Hannes Maximilian")[:seats]
    infos = tuple(scenes.seat(number, name) for number, name in enumerate(names))
    room = scenes.room(seats=infos, options=RaceOptions(rules=rules, seats=seats, grace_s=600, countdown_s=10, time_limit_s=3600))
    return scenes.reduced(scenes.at_home(), room)


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
    "home-gone": without_a_line(scenes.at_home, Lost("You continued in another window or elsewhere. Press Enter to go on here.", None)),
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
    first = scenes.next_race(10, scenes.standing((0, 0), 0, format="swap", races=2), race=1, phase="racing", view=scenes.middle_view())
    events = (
        Progress(version=11, seat=1, ply=40, home=33, foundations={}, state="stopped", elapsed_ms=90_000),
        Progress(version=12, seat=0, ply=27, home=48, foundations={}, state="out-of-time", elapsed_ms=600_000),
        Hidden(version=13),
        Scored(version=14, series=score, record=None),
        scenes.next_race(15, score),
    )
    return scenes.reduced(scenes.racing(), first, *events)


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
    "Instead, s:b3 (the 5 of spades from the stock to b3) would have kept it.",
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
    "run-waiting-to-play-on": Shown(runs.waiting_to_play_on, now_ms=2000),
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
    "you": Shown(scenes.at_home, replace(UI, you=True, profile=runs.profile()), 2000),
    "you-loading": Shown(scenes.at_home, replace(UI, you=True), 2000),
    "daily": Shown(lambda: replace(scenes.at_home(), runs=runs.board(runs=24)), replace(UI, daily=True), 2000),
    "daily-not-run": Shown(
        lambda: replace(scenes.at_home(), runs=runs.board(shown=False, rows=(), own=None)), replace(UI, daily=True), 2000
    ),
    "daily-loading": Shown(scenes.at_home, replace(UI, daily=True), 2000),
    "home-alone": Shown(scenes.at_home, replace(UI, own_server=True), 2000),
    "waiting-left": Shown(lambda: scenes.reduced(scenes.full_room(), Unseated(version=4, seat=1)), now_ms=2000),
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
    "race": Shown(scenes.racing, now_ms=49_000),
    "lesson": Shown(lambda: tables.racing_at("carpet", tables.view_after("carpet", 0, seed=LESSON_SEED), seats=1), LEARNING),
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
    "result-private": Shown(private_over, now_ms=160_000),
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
    "result-alone-best": Shown(alone, replace(UI, standing="New best: 3:12.4! Your best before: 3:20.1. 12 tries, 3 all home."), 160_000),
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
        replace(LOOKING, tournament_view=TournamentView(), tournament_form=TournamentDraft(name=USUAL_NAME), item=1),
    ),
    "tournament-form-typing": at_tournament(
        TOLD.listed(),
        replace(
            LOOKING,
            tournament_view=TournamentView(),
            tournament_form=TournamentDraft(name=USUAL_NAME),
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


def picture_of(shown: Shown, size: tuple[int, int]) -> Picture:
    settings_ = shown.ui.settings
    theme = theme_for(settings_.palette, ascii_only=settings_.ascii, colours=shown.colours, own=None)
    return view(Scene(shown.model(), shown.ui, theme, shown.now_ms), size)


def text_of(picture: Picture) -> str:
    """All that is written in it, before the terminal takes out what is no sign."""
    return "".join(text for line in picture.lines for _, text in line)


def widget_of(shown: Shown, size: tuple[int, int]) -> urwid.Widget:
    return Painted(picture_of(shown, size))


@cache
def screen_of(name: str, size: tuple[int, int]) -> urwid.Widget:
    """A screen to look at: that takes less than drawing it."""
    return widget_of(SCREENS[name], size)


def rows_of(shown: Shown, size: tuple[int, int] = SIZES[0]) -> list[str]:
    return render_text(widget_of(shown, size), size)


ENEMY = "\x1b[2J\x1b]0;title\x07evil\x9b31m\u202egnirts" + "\u0301" * 20
