"""A race by lines: what is told of hand-made models and when, and what typed lines do, in the whole app over a fake link."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import IO, Any, cast

import pytest
from msgspec import structs
from msgspec.structs import replace

from client.connection.events import Back, Connecting, Lost
from client.state.store import Event, Model, ReadySent
from client.state.watching import WatchModel
from client.text.formatting import card_words
from client.tui.plain import AS_BEFORE, HELP, NOTHING, WATCHERS_HELP, WELCOME, Hands, Lines
from client.tui.race.watching import NO_BOARDS
from client.tui.scene import scene_of
from client.tui.start import StartTournaments, UiSettings
from client.tui.telling import WATCHING, Teller, score_line, table_lines, watched_lines
from client.tui.tournament_view_state import TournamentView
from client.tui.ui_state import Followed, Prompt, Question, Ui
from protocol.cards import CARD_TEXT
from protocol.client_messages import JoinRace, LeaveRace, Move, Ready, Rematch, Say, Stop
from protocol.room_events import (
    Countdown,
    Dealt,
    PlayerReady,
    PlayerView,
    Presence,
    Progress,
    ReadyDue,
    RematchAsked,
    Result,
    Said,
    Scored,
    Seated,
    Started,
    Unseated,
)
from protocol.server_messages import Left, WaitingMatch
from protocol.tournament_messages import CheckIn, EnterTournament, LeaveTournament, PairRound, Tournament
from protocol.tournaments import TableResult
from protocol.views import ChatLine, RaceOptions, SeatState, SeriesOptions, SharedDeal
from protocol.watch_messages import WatchedEvent
from tests.client import scenes, tables, watched
from tests.client import tournament_scenes as tournaments
from tests.client.tui.hands import UP, Run, answer, running, settled
from tests.client.tui.screens import ENEMY, SCREENS

STOPPED, STALLED, RACING = (
    "You stopped. The cards you brought home count.",
    "You have no move left. The cards you brought home count.",
    " Benedikt is still racing.",
)
PLAIN = UiSettings(plain=True, ascii=True, motion=False)


class Telling:
    """A teller, and the model that it tells of."""

    def __init__(self, model: Model, **ui: Any) -> None:
        self.model = model
        self._teller = Teller()
        self._ui = replace(Ui(settings=PLAIN), **ui)
        self.first = self.tell()

    def tell(self, now_ms: int = 46_300, **ui: Any) -> list[str]:
        self._ui = replace(self._ui, **ui)
        return self._teller.told(scene_of(self.model, self._ui, now_ms))

    def hear(self, *events: Event, now_ms: int = 46_300) -> list[str]:
        self.model = scenes.reduced(self.model, *events, now_ms=now_ms)
        return self.tell(now_ms)

    def progress(self, home: int, state: SeatState = "racing") -> list[str]:
        assert self.model.room is not None
        version = self.model.room.version + 1
        return self.hear(Progress(version=version, seat=1, ply=40, home=home, foundations={}, state=state, elapsed_ms=42_000))


def test_a_card_is_named_as_it_is_spoken() -> None:
    assert [card_words(card) for card in ("AS", "2H", "TD", "JC", "QS", "KH", "??", "")] == [
        *("ace of spades", "2 of hearts", "10 of diamonds", "jack of clubs", "queen of spades", "king of hearts", "face down", "face down")
    ]
    assert len({card_words(card) for card in CARD_TEXT}) == 52


def test_a_table_is_told_row_by_row_and_then_what_lies_beside_it() -> None:
    model = scenes.racing()
    assert model.room is not None
    assert model.room.view is not None
    lines = table_lines(model.room.view, model.board(model.room, model.room.view))
    assert lines[0] == "Row 1: a1 9 of diamonds, b1 king of spades, c1 5 of hearts, d1 queen of clubs, e1 7 of clubs."
    assert lines[4:] == [
        "Waste: 9 of clubs, on king of diamonds, on 8 of clubs.",
        "Stock: 10 cards.",
        "Home: 18: up to 6 of spades, up to 4 of hearts, up to 3 of diamonds, up to 5 of clubs.",
    ]


@pytest.mark.parametrize("name", SCREENS)
def test_every_state_that_the_screens_show_is_told_once_and_in_signs_alone(name: str) -> None:
    shown, teller = SCREENS[name], Teller()
    scene = scene_of(shown.model(), replace(shown.ui, settings=replace(shown.ui.settings, ascii=True)), shown.now_ms)
    told = teller.told(scene)
    assert all(line.isprintable() and line == line.strip() and line for line in told)
    assert teller.told(scene) == []


def test_the_start_is_told_step_by_step() -> None:
    told = Telling(scenes.full_room())
    assert told.first == [
        "Race KXQWZP, Carpet.",
        "Benedikt is here.",
        "Benedikt: Hello! Best of three?",
        "Everybody is here. Press r when you are ready.",
    ]
    told.hear(ReadySent(scenes.NONCES[0]), PlayerReady(version=4, seat=0), now_ms=1000)
    told.hear(PlayerReady(version=5, seat=1), now_ms=1000)
    assert told.hear(Countdown(version=6, starts_in_ms=3000, round_trips_ms=(23, 41)), now_ms=1000) == [
        "Get set! The race starts in 3 seconds."
    ]
    dealt = told.hear(Dealt(version=7, seat=0, starts_in_ms=20, view=scenes.first_view()), now_ms=3980)
    assert dealt[0].startswith("Row 1: a1 ")
    assert dealt[-1] == "Here is your carpet: look it over, the clock starts in a moment."
    begun = told.hear(Started(version=8), now_ms=4000)
    assert begun[0] == "Go! The clock runs."
    assert len(begun) == 2


def test_how_long_is_left_to_get_ready_is_told_once_and_then_that_they_look_again() -> None:
    told = Telling(scenes.full_room())
    told.hear(ReadySent(scenes.NONCES[0]), PlayerReady(version=4, seat=0), now_ms=1000)
    due = ReadyDue(version=5, left_ms=20_000)
    assert told.hear(due, now_ms=1000) == ["Whoever is not ready within 20 seconds loses their seat."]
    assert told.tell(9_000) == []
    left, waits = Left(code=scenes.CODE, reason="no-opponent"), WaitingMatch(rules=None, waited_ms=25_000, window=350, waiting=1)
    assert told.hear(Unseated(version=6, seat=1), left, waits, now_ms=21_000) == [
        "Your opponent did not get ready: you are back at your place in the queue.",
        "Looking for an opponent within 350 points (1 waiting, 0:00); esc stops.",
    ]


def test_a_move_is_told_with_what_it_uncovers_and_what_can_be_done_then() -> None:
    told, before = Telling(scenes.racing()), scenes.middle_view()
    piles = {**before.piles, "c1": ("9S",)}
    view = structs.replace(before, piles=piles, foundations={**before.foundations, "H": 5}, home=19, moves=("b3",))
    moved = PlayerView(version=11, seat=0, ply=28, move="c1", state="racing", elapsed_ms=43_000, view=view)
    assert told.hear(moved) == ["5 of hearts home from c1: 19.", "c1: 9 of spades.", "One card can go home: b3."]
    turned = structs.replace(view, waste=(*view.waste, "2D"), stock=9)
    moved = PlayerView(version=12, seat=0, ply=29, move="s", state="racing", elapsed_ms=44_000, view=turned)
    # What can be done is the same, but another move has been made.
    assert told.hear(moved) == ["2 of diamonds from the stock, 9 left.", "One card can go home: b3."]


def test_a_card_that_is_uncovered_is_told_even_if_its_twin_was_moved() -> None:
    before = structs.replace(scenes.middle_view(), piles={**scenes.middle_view().piles, "b3": ("KD", "9S"), "c1": ("5H", "9S")})
    told = Telling(scenes.racing(before))
    view = structs.replace(before, piles={**before.piles, "b3": ("KD",), "c1": ("5H", "9S", "9S")})
    moved = PlayerView(version=11, seat=0, ply=28, move="b3:c1", state="racing", elapsed_ms=43_000, view=view)
    assert told.hear(moved)[:2] == ["9 of spades from b3 to c1.", "b3: king of diamonds."]


def test_the_whole_table_is_told_when_moves_were_missed() -> None:
    told = Telling(scenes.racing())
    seats = (scenes.seat(0, "Anna", ply=30, home=20, state="racing"), scenes.seat(1, "Benedikt", ply=31, home=21, state="racing"))
    view = structs.replace(scenes.middle_view(), stock=3)
    assert "Stock: 3 cards." in told.hear(scenes.room(version=20, phase="racing", seats=seats, elapsed_ms=45_000, view=view))


def test_others_are_told_of_at_every_fifth_card_and_when_the_lead_changes() -> None:
    told = Telling(scenes.racing())
    assert "Benedikt leads, 21 to 18." in told.first
    assert [told.progress(home) for home in (22, 23, 24, 25, 26)] == [[], [], [], ["Benedikt has 25 home."], []]
    # What lay there from the start is no news at the first move.
    begun = Telling(scenes.reduced(scenes.dealt(), Started(version=8), now_ms=4000))
    assert [line for line in begun.progress(4) + begun.progress(5) if "has" in line] == ["Benedikt has 5 home."]
    view = structs.replace(scenes.middle_view(), home=26)
    level = told.hear(PlayerView(version=16, seat=0, ply=28, move="s", state="racing", elapsed_ms=43_000, view=view))
    assert not any("lead" in line for line in level)
    view = structs.replace(view, home=27)
    ahead = told.hear(PlayerView(version=17, seat=0, ply=29, move="s", state="racing", elapsed_ms=43_000, view=view))
    assert "You lead, 27 to 26." in ahead
    assert told.progress(26, "stalled") == ["Benedikt has no move left."]
    room = told.model.room
    assert room is not None
    assert score_line(scene_of(told.model, Ui(settings=PLAIN), 46_300), room).endswith("Home, of 52: you 27, Benedikt 26.")


def test_who_comes_goes_and_asks_is_told() -> None:
    told = Telling(scenes.waiting())
    assert told.hear(Seated(version=2, seat=1, name=ENEMY, bot=None))[0].isprintable()
    told = Telling(scenes.over())
    assert told.hear(Presence(version=12, seat=1, connected=False, away_ms=60_000)) == [
        "Benedikt is not connected.",
        "r: rematch; Benedikt is not connected and may come back",
    ]
    assert told.hear(Presence(version=13, seat=1, connected=True, away_ms=None)) == [
        "Benedikt is connected again.",
        "r: rematch against the same players",
    ]
    assert told.hear(RematchAsked(version=14, seat=1)) == ["Benedikt would like a rematch. Press r."]
    line = ChatLine(seat=1, name="Benedikt", text="Again?")
    assert told.hear(Said(version=15, line=line)) == ["Benedikt: Again?"]
    assert told.hear(Said(version=16, line=line)) == ["Benedikt: Again?"]


def test_the_result_is_told_once_and_then_what_comes_later() -> None:
    told = Telling(scenes.racing())
    lines = told.hear(Result(version=11, record=scenes.record()))
    assert lines == [
        "You won by 15 cards!",
        "1. you: 48 of 52 home, the last at 132.0 s, 89 moves, no moves.",
        "2. Benedikt: 33 of 52 home, the last at 130.5 s, 89 moves, stopped.",
        "The deal checks out: nobody chose the cards.",
        "r: rematch against the same players",
    ]
    assert told.tell() == []
    assert told.tell(standing="Your best yet.") == ["Your best yet."]
    assert told.tell(review=()) == ["Thinking about your game with every card known..."]
    assert told.tell(review=("The deal can be won.",)) == ["The deal can be won."]


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ([(1, "forfeited"), (0, "stopped")], ["Benedikt forfeited.", "You win by walkover: everybody else is out."]),
        ([(0, "forfeited"), (1, "stopped")], ["You forfeited this race.", "Benedikt wins by walkover."]),
        ([(0, "stopped"), (1, "forfeited")], [STOPPED + RACING, "Benedikt forfeited.", "You win by walkover: everybody else is out."]),
        ([(1, "won"), (0, "stopped")], ["Benedikt brought every card home.", "Another player has every card home."]),
        ([(0, "won"), (1, "stopped")], ["Every card is home!", "Benedikt was still racing."]),
        ([(0, "stopped"), (1, "stopped")], [STOPPED + RACING, "Benedikt stopped.", STOPPED]),
        ([(1, "stalled"), (0, "stalled")], ["Benedikt has no move left.", STALLED]),
        ([(0, "stalled"), (1, "stalled")], [STALLED + RACING, "Benedikt has no move left.", STALLED]),
        ([(0, "out-of-time"), (1, "out-of-time")], ["Your time is up.", "Benedikt ran out of time."]),
    ],
)
def test_each_end_is_told_to_both_as_what_it_is(ends: list[tuple[int, SeatState]], told: list[str]) -> None:
    telling = Telling(scenes.racing())
    room = telling.model.room
    assert room is not None
    heard: list[str] = []
    for version, (seat, state) in enumerate(ends, room.version + 1):
        home = room.seats[seat].home
        ended = Progress(version=version, seat=seat, ply=40, home=home, foundations={}, state=state, elapsed_ms=47_000)
        heard += telling.hear(ended, now_ms=47_000)
    assert heard == told


def test_a_watched_race_is_told_as_it_goes_with_the_tables_when_asked_and_its_result() -> None:
    def tell(watch: WatchModel) -> list[str]:
        return teller.told(scene_of(model, replace(ui, watch=watch), watched.NOW_MS))

    model, ui, teller = scenes.at_home(), Ui(settings=PLAIN), Teller()
    seats = watched.seats_of("carpet", 2, 24)
    first, second = (seat.name for seat in seats)
    snapshot = watched.watched()
    begun = tell(watched.after(snapshot))
    assert begun[:2] == [f"Race {scenes.CODE}, Carpet.", "Go! The clock runs."]
    assert "Grace: Anna is quick today." in begun
    leader, behind = sorted(seats, key=lambda seat: -seat.home)
    assert f"{leader.name} leads, {leader.home} to {behind.home}." in begun
    assert begun[-1] == WATCHING
    ahead = Progress(version=8, seat=1, ply=40, home=41, foundations={}, state="racing", elapsed_ms=42_500)
    led = WatchedEvent(code=scenes.CODE, event=ahead)
    assert tell(watched.after(snapshot, led)) == [f"{second} has 41 home."]
    lines = watched_lines(scene_of(model, replace(ui, watch=watched.after(snapshot)), watched.NOW_MS))
    assert lines[0] == f"{first}, after 20 moves:"
    assert f"{second}, after 20 moves:" in lines
    over = WatchedEvent(code=scenes.CODE, event=Result(version=9, record=scenes.record()))
    told = tell(watched.after(snapshot, led, over))
    assert told[0] == "Anna won by 15 cards."
    assert told[1].startswith("1. Anna: ")
    assert not any("deal checks out" in line for line in told)


def tables_told(watch: WatchModel, now_ms: int = watched.NOW_MS) -> list[str]:
    return watched_lines(scene_of(scenes.at_home(), replace(Ui(settings=PLAIN), watch=watch), now_ms))


def test_a_table_of_a_seat_that_the_watched_race_has_not_is_not_told() -> None:
    told = tables_told(watched.after(watched.watched()))
    assert tables_told(watched.after(watched.watched(), watched.late(5))) == told


def test_before_a_watched_table_may_be_told_whoever_asks_hears_why_and_from_when_on() -> None:
    begun = watched.after(watched.watched(boards=0, elapsed_ms=2_700))
    assert tables_told(begun) == ["No table may be told yet: they are told 10 seconds late, the first in 8 seconds."]
    assert tables_told(begun, watched.NOW_MS + 20_000) == ["No table may be told yet: they are told 10 seconds late."]
    waiting = watched.after(watched.watched(boards=0, phase="waiting", elapsed_ms=None))
    assert tables_told(waiting) == ["No table may be told yet: the race has not begun."]
    over = watched.later(begun, watched.event(Result(version=8, record=scenes.record())))
    assert tables_told(over) == ["No table of this race is left to tell."]
    swap = RaceOptions(series=SeriesOptions(format="swap", races=2))
    hidden = watched.racing(boards=0, options=swap, series=scenes.standing((0, 0), 0))
    assert tables_told(hidden) == [NO_BOARDS]


def test_in_a_series_the_score_waits_for_the_series_to_be_counted() -> None:
    model = scenes.between()
    assert model.room is not None
    assert model.last is not None
    uncounted = scenes.standing((0, 0), 0)
    told = Telling(scenes.racing())
    assert told.model.room is not None
    told.model = replace(told.model, room=replace(told.model.room, series=uncounted))
    assert told.hear(Result(version=11, record=scenes.record())) == []
    told.model = model
    lines = told.tell()
    assert lines[0].startswith("Race KXQWZP")
    assert "You won by 15 cards!" in lines
    assert lines[-1].startswith("r: ready for race ")
    # They are ready: what the client keeps as evidence is of the next race now, and says nothing of the one before.
    told.model = scenes.reduced(model, ReadySent(scenes.NONCES[0]))
    assert told.tell() == []


def test_a_series_that_is_over_is_told_before_its_last_race() -> None:
    told = Telling(scenes.racing())
    told.model = scenes.reduced(scenes.over(), Scored(version=12, series=scenes.standing((3, 1), 4, over=True), record=None))
    lines = told.tell()
    at = lines.index("You have won the best of 5: Anna 3 : 1 Benedikt.")
    assert lines[at + 1] == "You won by 15 cards!"
    assert sum("best of 5" in line for line in lines) == 1


def test_the_same_refusal_is_told_again_at_another_line() -> None:
    told = Telling(scenes.racing())
    assert told.tell(note="There is no slot z9.", noted_at_ms=1) == ["There is no slot z9."]
    assert told.tell(noted_at_ms=2) == ["There is no slot z9."]
    assert told.tell(note="") == []


def test_a_question_is_told_with_its_answers_and_hints_wait_for_it() -> None:
    told = Telling(scenes.racing())
    question = Question("Stop now?", ("Stop", "Go on racing"), (None, None))
    assert told.tell(question=question) == ["Stop now?", "y: Stop.", "n: Go on racing."]
    assert told.tell(question=None) == []
    assert told.tell(question=question)[0] == "Stop now?"
    assert told.tell(question=None, prompt=Prompt("chat")) == ["Say:"]


def test_a_lost_connection_is_told_once_however_often_it_is_tried() -> None:
    told = Telling(scenes.racing())
    assert told.hear(Lost("no route", 3000)) == ["no route", "Not connected. Reconnecting..."]
    assert told.hear(Connecting(2), Lost("no route", 3000)) == []
    assert told.hear(Back())[0] == "Connected again."


def test_piles_reserves_and_a_quilt_are_told_in_full() -> None:
    for name, wanted in (("colorado", " on 1"), ("persian-rug", "Reserves: p1 "), ("crazy-quilt", "Free: ")):
        view = tables.view_after(name, 8)
        assert any(wanted in line for line in table_lines(view, tables.board_for(name, view)))


# ---- the whole app


class Typist:
    """Types lines, and hears what is said."""

    def __init__(self, run: Run, keys: IO[bytes], capsys: pytest.CaptureFixture[str]) -> None:
        self.run, self._keys, self._capsys = run, keys, capsys

    async def types(self, *lines: str) -> list[str]:
        self._keys.write("".join(f"{line}\n" for line in lines).encode())
        await settled()
        return self.heard()

    def heard(self) -> list[str]:
        return self._capsys.readouterr().out.splitlines()

    async def ends(self) -> None:
        self._keys.close()
        await settled()


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[IO[bytes]]:
    """Where to write what is typed."""
    ours, theirs = os.pipe()
    with os.fdopen(ours) as typed, os.fdopen(theirs, "wb", buffering=0) as keys:
        monkeypatch.setattr(sys, "stdin", typed)
        yield keys


@asynccontextmanager
async def racing(keys: IO[bytes], capsys: pytest.CaptureFixture[str]) -> AsyncIterator[Typist]:
    """By lines in a race that has just begun."""
    async with running(settings=PLAIN) as run:
        typist = Typist(run, keys, capsys)
        await run.say(UP, scenes.welcome(), scenes.room(), Seated(version=2, seat=1, name="Benedikt", bot=None))
        assert "Everybody is here. Press r when you are ready." in typist.heard()
        assert await typist.types("ready") == []
        assert isinstance(run.link.taken()[-1], Ready)
        await run.say(PlayerReady(version=3, seat=0), PlayerReady(version=4, seat=1))
        await run.say(Countdown(version=5, starts_in_ms=3000, round_trips_ms=(20, 30)))
        await run.say(Dealt(version=6, seat=0, starts_in_ms=0, view=scenes.middle_view()), Started(version=7))
        typist.heard()
        yield typist


def move(name: str, ply: int = 0) -> Move:
    return Move(race=1, seat=0, ply=ply, move=name)


@pytest.mark.usefixtures("mock_clock")
async def test_lines_play_cards_in_turn_and_a_refusal_is_heard_each_time(keys: IO[bytes], capsys: pytest.CaptureFixture[str]) -> None:
    async with racing(keys, capsys) as typist:
        link = typist.run.link
        assert await typist.types("z9") == ["There is no slot z9."]
        await typist.run.later(1)
        assert await typist.types("z9") == ["There is no slot z9."]
        assert await typist.types("dance") != []
        await typist.types("C1 a3")
        assert link.taken() == [move("c1")]
        await typist.run.say(answer("c1", 1, scenes.middle_view()))
        assert link.taken() == [move("a3", 1)]


@pytest.mark.usefixtures("mock_clock")
async def test_what_can_be_asked_is_answered_and_asks_the_server_nothing(keys: IO[bytes], capsys: pytest.CaptureFixture[str]) -> None:
    async with racing(keys, capsys) as typist:
        hint = "3 cards can go home: c1, c2, a3 (g: all)."
        assert [line.partition(";")[0].rstrip(".") for line in await typist.types("")] == [hint.rstrip(".")]
        assert (await typist.types("cards"))[0].startswith("Row 1: a1 9 of diamonds")
        assert (await typist.types("score"))[0].endswith("Home, of 52: you 18, Benedikt 18.")
        assert [*HELP] == await typist.types("help")
        assert (await typist.types("standings"))[0].startswith("That can be asked at a tournament, ")
        await typist.run.say(tournaments.called(code="QWERTZ"))
        (call,) = typist.heard()
        assert (await typist.types("hint"))[0] == call
        assert typist.run.link.taken() == []


@pytest.mark.usefixtures("mock_clock")
async def test_whoever_watches_is_told_the_commands_of_those_who_watch(keys: IO[bytes], capsys: pytest.CaptureFixture[str]) -> None:
    async with running(settings=PLAIN) as run:
        typist = Typist(run, keys, capsys)
        await run.say(UP, scenes.welcome(), watched.watched(boards=0, elapsed_ms=0))
        assert WATCHING in typist.heard()
        run.link.taken()
        assert await typist.types("help") == [*WATCHERS_HELP]
        assert (await typist.types("cards"))[0].startswith("No table may be told yet: ")
        assert (await typist.types("score"))[0].startswith("0:0")
        assert run.link.taken() == []


@pytest.mark.usefixtures("mock_clock")
async def test_questions_phrases_and_talk_are_answered_by_lines(keys: IO[bytes], capsys: pytest.CaptureFixture[str]) -> None:
    async with racing(keys, capsys) as typist:
        link = typist.run.link
        assert (await typist.types("stop"))[1:] == ["y: Stop.", "n: Go on racing."]
        assert (await typist.types("perhaps"))[1:] == ["y: Stop.", "n: Go on racing."]
        assert await typist.types("no") == [AS_BEFORE]
        assert link.taken() == []
        await typist.types("stop", "yes")
        assert link.taken() == [Stop(race=1, seat=0)]
        phrases = await typist.types("t")
        assert phrases[0] == "Say"
        await typist.types("esc")
        await typist.types("t 1")
        (said,) = link.taken()
        assert isinstance(said, Say)
        assert f"1: {said.text}" in phrases
        await typist.run.say(Result(version=8, record=scenes.record()))
        typist.heard()
        await typist.types("t help, thanks!", "t", "well played", "again")
        assert link.taken() == [Say(text="help, thanks!"), Say(text="well played"), Rematch(race=1)]


@pytest.mark.usefixtures("mock_clock")
async def test_a_question_with_numbers_is_told_once_and_holds_up_neither_commands_nor_moves(
    keys: IO[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    async with racing(keys, capsys) as typist:
        link = typist.run.link
        # Free words are for before and after the race, even those that would end it.
        asked = await typist.types("t hello")
        assert (asked.count("Say"), asked[-1]) == (1, "A number, or n.")
        for line in ("t stop", "t", "perhaps"):
            assert await typist.types(line) == asked
        assert await typist.types("n") == [AS_BEFORE]
        await typist.types("t")
        assert (await typist.types("stop"))[-2:] == ["y: Stop.", "n: Go on racing."]
        assert await typist.types("esc") == [AS_BEFORE]
        assert link.taken() == []
        await typist.types("t", "t 1", "t", "C1")
        said, moved = link.taken()
        assert isinstance(said, Say)
        assert moved == move("c1")


@pytest.mark.usefixtures("mock_clock")
async def test_where_nobody_would_hear_it_nothing_is_said_and_no_card_played(keys: IO[bytes], capsys: pytest.CaptureFixture[str]) -> None:
    async with running(settings=PLAIN) as run:
        typist = Typist(run, keys, capsys)
        assert await typist.types("") == [WELCOME, NOTHING]
        alone = scenes.room(1, options=RaceOptions(seats=1, public=False))
        await run.say(UP, scenes.welcome(), alone)
        await typist.types("r")
        await run.say(PlayerReady(version=2, seat=0), Countdown(version=3, starts_in_ms=0, round_trips_ms=(20,)))
        await run.say(Dealt(version=4, seat=0, starts_in_ms=0, view=scenes.middle_view()), Started(version=5))
        run.link.taken()
        typist.heard()
        assert await typist.types("t c1") == ["Nobody would hear it: this race is yours alone."]
        assert run.link.taken() == []


@pytest.mark.usefixtures("mock_clock")
async def test_a_lost_line_is_hurried_by_any_line_and_no_move_goes_out(keys: IO[bytes], capsys: pytest.CaptureFixture[str]) -> None:
    async with racing(keys, capsys) as typist:
        typist.run.link.up = False
        await typist.run.say(Lost("no route", 3000))
        assert "Not connected. Reconnecting..." in typist.heard()
        assert await typist.types("c1") == ["Not connected. Reconnecting..."]
        assert await typist.types("") == ["Not connected. Reconnecting..."]
        assert typist.run.link.hurried == 2
        assert typist.run.link.taken() == []


@pytest.mark.usefixtures("mock_clock")
async def test_the_end_of_the_lines_quits_and_asks_nothing(keys: IO[bytes], capsys: pytest.CaptureFixture[str]) -> None:
    async with racing(keys, capsys) as typist:
        await typist.ends()
        outcome = typist.run.outcome
        assert outcome is not None
        assert (outcome.reason, outcome.code, outcome.grace_s) == ("quit", scenes.CODE, 60)
        assert typist.heard() == []


@pytest.mark.usefixtures("mock_clock")
async def test_whoever_has_left_is_told_so_and_quits_by_a_line(keys: IO[bytes], capsys: pytest.CaptureFixture[str]) -> None:
    async with racing(keys, capsys) as typist:
        await typist.types("leave", "y")
        assert typist.run.link.taken() == [LeaveRace()]
        await typist.run.say(Left(code=scenes.CODE, reason="left"), scenes.lobby())
        assert typist.heard()[-1] == "You are in no race now. quit ends this."
        await typist.types("quit")
        assert typist.run.outcome is not None


def anna(told: Tournament, **changes: Any) -> Tournament:
    """The tournament with Anna's entry changed, and more decisions, one of them hers."""
    entrants = tuple(replace(each, **changes) if each.id == tournaments.ANNA else each for each in told.entrants)
    entered = tournaments.decision(4, "enter", "Anna enters.", "Anna")
    other = tournaments.decision(5, "enter", "Ed enters.", "Ed")
    result = tournaments.decision(6, "result", "Round 2, table 2: Clara wins.")
    return replace(told, entrants=entrants, log=(*told.log, entered, other, result), decisions=6)


@asynccontextmanager
async def at_tournament(told: Tournament, keys: IO[bytes], capsys: pytest.CaptureFixture[str]) -> AsyncIterator[Typist]:
    """By lines at a tournament, of which nothing was heard yet but how it stood first."""
    async with running(StartTournaments(tournaments.ID), settings=PLAIN) as run:
        await run.say(UP, scenes.welcome(), told)
        run.link.taken()
        yield Typist(run, keys, capsys)


@pytest.mark.usefixtures("mock_clock")
async def test_a_tournament_is_entered_and_checked_in_to_by_lines(keys: IO[bytes], capsys: pytest.CaptureFixture[str]) -> None:
    async with at_tournament(replace(tournaments.told(), entrants=tournaments.ENTRANTS[:1]), keys, capsys) as typist:
        run = typist.run
        assert typist.heard()[1:] == [
            "Carpet Open, Swiss, 9 rounds, Carpet.",
            "Open to enter: 1 entered.",
            "You have not entered. Press i to enter.",
        ]
        assert await typist.types("i") == []
        assert run.link.taken() == [EnterTournament(id=tournaments.ID)]
        await run.say(anna(tournaments.told(), checked_in=False))
        assert typist.heard() == ["Anna enters. (Anna)", "You have entered as Anna. The director will open the check-in."]
        await run.say(anna(tournaments.told("check-in", phase_ms=95_000), checked_in=False))
        assert typist.heard() == [
            "Check-in: 1 of 4 checked in. 1:35 left.",
            "Press c to check in, or you will be left out.",
        ]
        await run.later(5)
        await run.say(anna(tournaments.told("check-in", phase_ms=90_000), checked_in=False))
        assert typist.heard() == [], "time that goes by is no news"
        assert await typist.types("c") == []
        (check_in,) = run.link.taken()
        assert isinstance(check_in, CheckIn)
        assert (await typist.types("standings"))[:2] == ["Benedikt: entered.", "Anna (you): entered."]
        assert await typist.types("tables") == ["No round has been paired yet."]
        assert (await typist.types("S"))[0] == "Only the director, Grace, can do that."
        told = await typist.types("help")
        assert "c: Check in: you are here and ready to play." in told
        assert not any("Director" in line or "page" in line for line in told)
        for nothing in ("esc", "E", "tab", "dance", "ready"):
            assert await typist.types(nothing) == ["Press c to check in, or you will be left out."], nothing
        await typist.types("leave", "y")
        assert run.link.taken() == [LeaveTournament(id=tournaments.ID)]


@pytest.mark.usefixtures("mock_clock")
async def test_by_lines_one_is_taken_to_ones_table_and_enter_leads_back_from_it(
    keys: IO[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    deal = SharedDeal(kind="round", id=f"{tournaments.ID}/2", nonces=("00" * 16,))
    async with at_tournament(tournaments.running(), keys, capsys) as typist:
        run = typist.run
        assert typist.heard()[2] == "Round 2 of 9 is being raced: 1 of 3 tables done."
        assert (await typist.types("hint"))[1].startswith("Table 1 against Benedikt is waiting for you: press enter")
        assert await typist.types("") == []
        assert run.link.taken() == [JoinRace(code="HKTRWM")]
        await run.say(scenes.room(code="HKTRWM", shared=deal))
        assert typist.heard()[0] == "Race HKTRWM, Carpet, Carpet Open, round 2."
        await run.say(scenes.room(code="HKTRWM", shared=deal, phase="over", version=2, ended=scenes.record().seats))
        assert typist.heard()[-1].startswith("enter: back to the tournament")
        assert (await typist.types("standings"))[:2] == [
            "1. Benedikt: 2.5 points, 130 cards home.",
            "2. Anna (you): 2 points, 122 cards home.",
        ]
        assert (await typist.types("tables"))[1] == "Round 2, table 2: Clara against greedy 1: 1 : 0 (52 : 31 cards)."
        run.link.taken()
        assert await typist.types("") == []
        assert run.link.taken() == [LeaveRace()]
        lost, *others = tournaments.TABLES
        mine = replace(lost, result=tournaments.WON, races=(tournaments.WON,))
        await run.say(Left(code="HKTRWM", reason="left"), anna(tournaments.running(tables=(mine, *others))))
        assert typist.heard()[-1] == "You lost your table, 31 : 52 cards. The round goes on."


@pytest.mark.usefixtures("mock_clock")
async def test_whoever_loses_the_last_table_of_a_round_away_from_it_hears_so_by_lines(
    keys: IO[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    deal = SharedDeal(kind="round", id=f"{tournaments.ID}/2", nonces=("00" * 16,))
    async with at_tournament(tournaments.running(), keys, capsys) as typist:
        await typist.run.say(scenes.room(code="HKTRWM", shared=deal))
        typist.heard()
        mine, *others = tournaments.TABLES
        lost = TableResult(verdict="first", forfeit=True, ruled=True)
        over = tournaments.running(phase="between", phase_ms=20_000, tables=(replace(mine, result=lost, races=(lost,)), *others))
        await typist.run.later(60)
        await typist.run.say(Left(code="HKTRWM", reason="called-off"), scenes.lobby())
        told = typist.heard()
        assert "Your table was closed." in told
        assert not any("waiting for you" in line or "no race" in line for line in told), "that was before"
        await typist.run.say(over)
        told = typist.heard()
        assert told[-1].startswith("You lost your table by forfeit, by ruling. You are in.")
        await typist.run.say(Lost("", retry_in_ms=1000))
        await typist.run.later(1)
        await typist.run.say(UP, scenes.welcome(), scenes.lobby())
        await typist.run.say(over)
        assert typist.heard() == ["Not connected. Reconnecting...", told[-1]], "nothing is new at the tournament"


@pytest.mark.usefixtures("mock_clock")
async def test_a_director_by_lines_is_told_what_can_be_typed_and_an_n_too_many_pairs_no_round(
    keys: IO[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    def directed(told: Tournament) -> Tournament:
        entrants = tuple(each for each in told.entrants if each.id != tournaments.ANNA)
        return replace(told, entrants=entrants, director=tournaments.ANNA, director_name="Anna")

    async with at_tournament(directed(tournaments.running(tables=tournaments.TABLES[1:2])), keys, capsys) as typist:
        rulings = "carpet tournament correct, remove and bye, from a second terminal, rule on tables and players."
        assert typist.heard()[-1] == f"P pauses. {rulings}"
        await typist.run.say(directed(tournaments.running(phase="between", phase_ms=20_000)))
        assert typist.heard()[-1] == "pair pairs the next round now; P keeps it waiting."
        assert "pair: Director: pair the next round now." in await typist.types("help")
        await typist.types("Z", "N", "N")
        assert typist.run.link.taken() == []
        await typist.types("pair")
        assert typist.run.link.taken() == [PairRound(id=tournaments.ID, round=3)]


def test_a_decision_is_told_once_though_the_server_counts_fewer_than_it_tells() -> None:
    at = tournaments.running()
    followed = Followed(tournament=(tournaments.ID, None))
    told = Telling(tournaments.at(at), tournament_view=TournamentView(tournaments.ID), followed=followed)
    late = tournaments.decision(9, "pause", "Paused.", "Grace")
    assert [line for line in told.hear(replace(at, log=(*at.log, late))) if "Paused" in line] == ["Paused. (Grace)"]
    assert told.tell() == []


def test_whoever_races_is_told_once_of_a_check_in_and_of_a_table_that_waits() -> None:
    told = Telling(scenes.racing())
    (check_in,) = told.hear(tournaments.check_in_due())
    assert check_in.startswith("Press T to check in to Carpet Open within ")
    assert told.tell(47_300) == []
    (call,) = told.hear(tournaments.called(code="QWERTZ"))
    assert call == "Table 1 of Carpet Open is waiting for you. Leave this race (L) to go there."


@pytest.mark.usefixtures("mock_clock")
async def test_the_rules_are_told_to_whoever_asks(keys: IO[bytes], capsys: pytest.CaptureFixture[str]) -> None:
    async with racing(keys, capsys) as typist:
        (rules,) = await typist.types("rules")
        assert rules.startswith("Carpet: ")
        assert scenes.welcome().rules[0].explanation[:40] in rules
    assert "rules" in WELCOME


async def test_without_a_standard_input_there_are_no_lines_to_take(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    await Lines(cast(Hands, None)).run()
    assert capsys.readouterr().out == f"{WELCOME}\n"
