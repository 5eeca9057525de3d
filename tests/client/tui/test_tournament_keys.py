"""Tournaments by keys and clicks, over a fake link: what is asked for, which screens follow, and what comes back. Time stands still."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from msgspec.structs import replace

from client.connection.errors import Failure
from client.connection.events import Back, Lost, RoundTrip
from client.replay.timeline import TimeLine
from client.text.profile import Profile
from client.tui.actions import Ruling
from client.tui.start import StartTournaments
from client.tui.step import RULING_REFERENCE
from client.tui.subscriptions import FOLLOW_REFERENCE
from client.tui.tournament.form import CREATE_REFERENCE
from protocol.client_messages import ClientMessage, FollowLobby, JoinRace, LeaveRace
from protocol.errors import ErrorCode
from protocol.forms import USUAL_NAME
from protocol.record import Record, SeatRecord
from protocol.room_events import Ended
from protocol.server_messages import Left
from protocol.tournament_messages import (
    AddBot,
    AskBye,
    CheckIn,
    CorrectResult,
    CreateTournament,
    Decided,
    EndTournament,
    EnterTournament,
    ExtendCheckIn,
    FollowTournament,
    FollowTournaments,
    GiveBye,
    LeaveTournament,
    PairRound,
    PauseTournament,
    RemoveEntrant,
    StartTournament,
    Tournament,
)
from protocol.tournaments import TableResult, TournamentBye, TournamentOptions
from protocol.views import SharedDeal
from protocol.watch_messages import Unwatch, Unwatched, WatchRace
from tests.client import replays, runs, scenes
from tests.client import tournament_scenes as tournaments
from tests.client.tui.hands import UP, Run, running, settled
from tests.client.watched import watched

pytestmark = pytest.mark.usefixtures("mock_clock")

ID = tournaments.ID
DEAL = SharedDeal(kind="round", id=f"{ID}/2", nonces=("00" * 16,))
RULED = CorrectResult(id=ID, round=2, table=2, result=TableResult(verdict="second", first_home=52, second_home=31), ref=RULING_REFERENCE)
GIVEN = GiveBye(id=ID, entrant=tournaments.ANNA, round=3, ref=RULING_REFERENCE)


def directed(told: Tournament) -> Tournament:
    return replace(told, director=tournaments.ANNA, director_name="Anna")


@asynccontextmanager
async def before(told: Tournament, **jobs: Any) -> AsyncIterator[Run]:
    """Anna at a tournament's screen."""
    async with running(StartTournaments(ID), **jobs) as run:
        await run.say(UP, scenes.welcome(), told)
        assert FollowTournament(id=ID, ref=FOLLOW_REFERENCE) in run.link.taken()
        yield run


def own(told: Tournament, **changes: object) -> Tournament:
    """With Anna's entry changed."""
    return replace(told, entrants=tuple(replace(each, **changes) if each.id == tournaments.ANNA else each for each in told.entrants))


async def test_from_home_to_the_list_to_a_tournament_and_back_only_what_is_looked_at_is_followed() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        assert run.link.taken() == [FollowLobby(changes=True)]
        await run.give("t")
        assert run.link.taken() == [FollowTournaments(ref=FOLLOW_REFERENCE)]
        await run.say(tournaments.listed())
        await run.give("down", "up", "enter")
        assert run.link.taken() == [
            FollowTournaments(follow=False, ref=FOLLOW_REFERENCE),
            FollowTournament(id=ID, ref=FOLLOW_REFERENCE),
        ]
        await run.say(own(tournaments.running(), withdrawn=True))
        assert run.screen.shows("Round 2 of 9 is being raced")
        await run.give("esc")
        assert run.link.taken() == [
            FollowTournaments(ref=FOLLOW_REFERENCE),
            FollowTournament(id=ID, follow=False, ref=FOLLOW_REFERENCE),
        ]
        await run.click("Rug knock-out")
        assert FollowTournament(id="PLMNBV", ref=FOLLOW_REFERENCE) in run.link.taken()
        await run.give("esc", "esc")
        assert run.screen.shows("C A R P E T")


async def test_enter_goes_to_the_tournament_that_was_marked_when_another_has_come_above_it() -> None:
    listed = tournaments.listed()
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        await run.give("t")
        await run.say(listed)
        await run.give("down")
        await run.say(replace(listed, tournaments=(replace(tournaments.LISTING, id="NEWONE"), *listed.tournaments)))
        await run.give("enter")
        assert FollowTournament(id=listed.tournaments[1].id, ref=FOLLOW_REFERENCE) in run.link.taken()


async def test_a_question_about_a_player_leaves_the_mark_on_them_though_others_come_to_stand_above() -> None:
    async with before(directed(tournaments.told())) as run:
        await run.give("down", "X")
        assert run.screen.shows("Remove Anna from the tournament?")
        late = tournaments.entrant("p7", "Eve", 0)
        await run.say(directed(tournaments.told(entrants=(late, *tournaments.ENTRANTS))))
        await run.give("esc", "X")
        assert run.screen.shows("Remove Anna from the tournament?")


async def test_on_another_connection_what_is_looked_at_is_followed_anew() -> None:
    async with before(tournaments.running()) as run:
        await run.say(UP, scenes.welcome())
        assert FollowTournament(id=ID, ref=FOLLOW_REFERENCE) in run.link.taken()


async def test_a_tournament_that_is_not_there_leads_back_to_the_list() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        # As it is read out.
        await run.give("t", "c", *" - ", "enter")
        assert not [each for each in run.link.taken() if isinstance(each, FollowTournament)], "there is none without letters"
        await run.give("c", *"kw-prt x", "enter")
        assert FollowTournament(id="KWPRTX", ref=FOLLOW_REFERENCE) in run.link.taken()
        refused = scenes.refusal(ErrorCode.NO_SUCH_TOURNAMENT, FOLLOW_REFERENCE)
        await run.say(refused, tournaments.listed())
        assert run.screen.shows(refused.message)
        assert run.screen.shows("Carpet Open")


async def test_a_tournament_is_made_as_the_form_says_and_gone_to() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        await run.give("t", "o", "enter", *"Club", "enter", "down", "right", "down", "right")
        await run.give(*["down"] * 5, "right", *["up"] * 4)
        assert run.screen.shows("Club")
        await run.give("enter")
        assert run.screen.shows("enter or a second click chooses")
        await run.give("down", "enter")
        await run.give(*["down"] * 11, "enter")
        (made,) = (message for message in run.link.taken() if isinstance(message, CreateTournament))
        options = made.options
        assert (made.ref, options.name, options.format, options.double) == (CREATE_REFERENCE, "Club", "round-robin", True)
        assert (options.fill, options.rules) == (2, scenes.RULES[1].id)
        await run.say(Decided(id=ID, number=0, ref=CREATE_REFERENCE))
        assert FollowTournament(id=ID, ref=FOLLOW_REFERENCE) in run.link.taken()


async def test_the_form_asks_of_an_elimination_alone_how_often_a_drawn_race_is_run_again() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        await run.give("t", "o", "down")
        for _ in ("Swiss", "round robin"):
            assert not run.screen.shows("Drawn races")
            await run.give("right")
        assert run.screen.shows("Drawn races  run again, twice at most")
        await run.give("down", "down", "left", "left")
        assert run.screen.shows("If a race is drawn, the higher seed goes on.")
        await run.give(*["down"] * 12, "enter")
        (made,) = (message for message in run.link.taken() if isinstance(message, CreateTournament))
        assert (made.options.format, made.options.replays) == ("elimination", 0)


async def test_a_tournament_that_is_not_rated_and_takes_few_is_made_by_keys() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        await run.give("t", "o", *["down"] * 5, "right", "down", "right", "down", *["left"] * 10)
        assert run.screen.shows("Rated        no")
        assert run.screen.shows("Byes         1 for each player")
        assert run.screen.shows("Places       8")
        await run.give(*["down"] * 8, "enter")
        (made,) = (message for message in run.link.taken() if isinstance(message, CreateTournament))
        assert (made.options.rated, made.options.byes, made.options.places) == (False, 1, 8)


async def test_a_tournament_that_takes_whoever_knows_a_word_is_made_by_keys() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        await run.give("t", "o", "up", "up")
        assert run.screen.shows("▸ Entry code   none")
        await run.give("enter", *"open sesame", "enter")
        assert run.screen.shows("▸ Entry code   open sesame")
        await run.give("down", "enter")
        (made,) = (message for message in run.link.taken() if isinstance(message, CreateTournament))
        assert (made.code, made.options) == ("open sesame", TournamentOptions(name=USUAL_NAME))
        assert type(made.options) is TournamentOptions, "another has the code in it, too"
        await run.give("up", "enter", "enter")
        assert run.screen.shows("▸ Entry code   none")


async def test_what_is_given_with_a_check_in_is_kept_before_it_is_sent_with_what_had_been_committed_to() -> None:
    kept: list[tuple[str, str, str]] = []

    def witness_entry(check_in: CheckIn, commitment: str) -> None:
        assert check_in not in run.link.sent
        kept.append((check_in.id, check_in.nonce, commitment))

    told = own(tournaments.told("check-in"), checked_in=False)
    async with running(StartTournaments(ID), witness_entry=witness_entry) as run:
        await run.say(UP, scenes.welcome(), told)
        await run.give("c")
        # Another is open, of which only that is known.
        await run.say(tournaments.check_in_due(id="PLMNBV"))
        await run.give("T")
        sent = [message for message in run.link.taken() if isinstance(message, CheckIn)]
    due = tournaments.check_in_due().commitment
    assert kept == [(message.id, message.nonce, commitment) for message, commitment in zip(sent, (told.commitment, due), strict=True)]


async def test_entering_checking_in_and_withdrawing() -> None:
    others = replace(tournaments.told(), entrants=tournaments.ENTRANTS[:1])
    async with before(others) as run:
        await run.give("c")
        assert run.screen.shows("Press i to enter.")
        await run.give("i")
        assert run.link.taken() == [EnterTournament(id=ID)]
        await run.say(own(tournaments.told(), checked_in=False))
        await run.give("i", "c")
        assert run.link.taken() == []
        await run.say(own(tournaments.told("check-in"), checked_in=False))
        await run.give("c")
        (check_in,) = run.link.taken()
        assert isinstance(check_in, CheckIn)
        assert (check_in.id, len(bytes.fromhex(check_in.nonce))) == (ID, 16)
        await run.give("L", "n")
        assert run.link.taken() == []
        await run.give("L", "y")
        assert run.link.taken() == [LeaveTournament(id=ID)]


def with_bye(told: Tournament, *byes: tuple[int, int], allowed: int = 1) -> Tournament:
    """Anna has byes: round and half points of each. allowed: how many half-point ones a player may ask for."""
    had = tuple(TournamentBye(round=number, entrant=tournaments.ANNA, half_points=points) for number, points in byes)
    return replace(told, byes=had, options=replace(told.options, byes=allowed))


async def test_a_player_asks_for_a_half_point_bye_in_the_round_that_comes_and_takes_it_back() -> None:
    async with before(with_bye(tournaments.running(), allowed=0)) as run:
        await run.give("y")
        assert run.screen.shows("There is no half-point bye")
        await run.say(with_bye(tournaments.running()))
        assert run.screen.shows("y bye in 3")
        await run.give("y")
        assert run.screen.shows("Ask for a half-point bye in round 3?")
        await run.give("n", "y", "y")
        assert run.link.taken() == [AskBye(id=ID, round=3)]
        await run.say(with_bye(tournaments.running(), (3, 1)))
        assert run.screen.shows("y no bye in 3")
        await run.give("y")
        assert run.screen.shows("Take back your bye in round 3?")
        await run.give("y")
        assert run.link.taken() == [AskBye(id=ID, round=3, ask=False)]
        for told in (
            with_bye(tournaments.running(), (1, 1)),
            with_bye(tournaments.running(), (3, 2)),
            with_bye(replace(tournaments.running(), options=replace(tournaments.OPTIONS, rounds=3))),
            with_bye(replace(tournaments.running(), options=replace(tournaments.OPTIONS, rounds=0))),
            with_bye(replace(tournaments.running(), options=replace(tournaments.OPTIONS, format="session"))),
            with_bye(tournaments.running(phase="over")),
        ):
            await run.say(told)
            assert not any(run.screen.shows(label) for label in ("y bye", "y no bye"))
            await run.give("y")
            assert run.screen.shows("There is no half-point bye")
        assert run.link.taken() == []


async def test_a_director_gives_the_selected_player_a_bye_and_takes_it_away() -> None:
    async with before(directed(tournaments.running())) as run:
        await run.give("Y")
        assert run.screen.shows("Select somebody who plays first, on the Standings page (tab).")
        await run.give("tab", "Y")
        assert run.screen.shows("Which bye does Anna have in round 3?")
        await run.give("3", "Y", "2", *"a wedding", "enter", "Y", "1", "enter")
        full, half = (GiveBye(id=ID, entrant=tournaments.ANNA, round=3, half_points=points) for points in (2, 1))
        assert [replace(each, ref=0) for each in rulings_of(run)] == [replace(half, reason="a wedding"), full]
        await run.say(directed(with_bye(tournaments.running(), (3, 2))))
        await run.give("Y")
        assert run.screen.shows("Take away the bye of Anna in round 3?")
        await run.give("y", "enter")
        assert [replace(each, ref=0) for each in rulings_of(run)] == [replace(full, half_points=0)]
        await run.say(directed(replace(tournaments.running(), options=replace(tournaments.OPTIONS, rounds=2))))
        await run.give("Y")
        assert run.screen.shows("There is no round to come in which anybody could have a bye.")
        assert rulings_of(run) == []


async def test_where_entering_asks_for_a_code_it_is_typed() -> None:
    async with before(replace(tournaments.told(), entrants=(), by_code=True)) as run:
        await run.give("i", *"carpet 7", "enter")
        assert run.link.taken() == [EnterTournament(id=ID, code="carpet 7")]


async def test_whoever_is_called_goes_to_their_table_with_a_bell_and_comes_back_after_the_result() -> None:
    async with before(tournaments.running()) as run:
        await run.say(tournaments.called())
        assert run.link.taken() == [JoinRace(code=scenes.CODE)]
        await run.say(scenes.room(shared=DEAL))
        assert run.screen.shows("Your table. Press r")
        # Nobody who races is told how the tournament goes.
        assert FollowTournament(id=ID, follow=False, ref=FOLLOW_REFERENCE) in run.link.taken()
        await run.say(scenes.room(shared=DEAL, phase="over", version=2, ended=seats()))
        assert run.link.taken() == [FollowTournament(id=ID, ref=FOLLOW_REFERENCE)]
        assert run.screen.shows("enter: back to the tournament")
        await run.give("enter")
        assert run.link.taken() == [LeaveRace()]
        await run.say(Left(code=scenes.CODE, reason="left"))
        assert run.screen.shows("Round 2 of 9")


async def test_whoever_has_tables_to_come_is_asked_before_they_quit() -> None:
    played = tuple(replace(each, result=TableResult(verdict="first", first_home=31, second_home=18)) for each in tournaments.TABLES)
    without_end, of_two = (replace(tournaments.OPTIONS, rounds=rounds) for rounds in (0, 2))
    for going_on in (
        tournaments.running(),
        tournaments.running(tables=played),
        tournaments.running(tables=played, options=without_end),
        tournaments.running(options=of_two),
    ):
        async with before(going_on) as run:
            await run.give("q")
            assert run.screen.shows("Quit? Carpet Open goes on: if you miss a table, you forfeit it.")
            await run.give("n", "q", "y")
            assert run.outcome is not None
    for over in (
        tournaments.running(phase="over"),
        tournaments.running(tables=played, options=of_two),
        replace(tournaments.running(), entrants=()),
        own(tournaments.running(), withdrawn=True),
        tournaments.told(),
    ):
        async with before(over) as run:
            await run.give("q")
            assert run.outcome is not None


def seats() -> tuple[SeatRecord, ...]:
    return scenes.record().seats


async def test_a_call_leads_out_of_a_race_that_is_over_and_not_out_of_one_that_is_not() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.room(), tournaments.called(code="QWERTZ"))
        assert not any(isinstance(message, LeaveRace | JoinRace) for message in run.link.taken())
        assert run.screen.shows("Table 1 of Carpet Open is waiting for you. Leave this race (L) to go there.")
        await run.say(scenes.room(shared=DEAL, phase="over", version=9, ended=seats()), tournaments.called(code="QWERTZ"))
        assert run.link.taken() == [FollowTournament(id=ID, ref=FOLLOW_REFERENCE), LeaveRace()]
        await run.say(Left(code=scenes.CODE, reason="left"))
        assert JoinRace(code="QWERTZ") in run.link.taken()
        await run.say(scenes.room(code="QWERTZ", shared=DEAL), Left(code="QWERTZ", reason="left"), tournaments.running())
        assert run.screen.shows("Round 2 of 9 is being raced")


async def test_whoever_comes_back_to_their_table_comes_from_there_to_its_tournament() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(room=scenes.CODE), scenes.room(shared=DEAL), Ended(version=2, seats=seats()))
        await run.give("L")
        await run.say(Left(code=scenes.CODE, reason="left"))
        assert FollowTournament(id=ID, ref=FOLLOW_REFERENCE) in run.link.taken()


async def test_enter_goes_to_ones_own_table_and_else_watches_the_marked_one() -> None:
    async with before(tournaments.running()) as run:
        await run.give("enter")
        assert run.link.taken() == [JoinRace(code="HKTRWM")]
    rest = tuple(replace(each, first="p7") if each.table == 3 else each for each in tournaments.TABLES)
    rest = (replace(rest[0], second="p5"), *rest[1:])
    async with before(tournaments.running(tables=rest)) as run:
        await run.give("down", "enter")
        assert run.screen.shows("Table 2: 1 : 0 (52 : 31 cards).")
        await run.give("down", "w")
        (watch,) = run.link.taken()
        assert isinstance(watch, WatchRace)
        assert watch.code == "QWERTZ"
        await run.say(Unwatched(code="QWERTZ", reason="closed"))
        assert run.screen.shows("Race QWERTZ was closed.")
        assert Unwatch() not in run.link.taken()


async def test_there_is_a_marked_table_also_where_some_went_while_a_race_was_watched() -> None:
    fewer = tournaments.running(tables=(tournaments.table(1, "p2", "p3", result=tournaments.WON, races=(tournaments.WON,)),))
    async with before(tournaments.running()) as run:
        await run.give("down", "down", "w")
        # It was on its way when the watching began.
        await run.say(watched(), fewer, Unwatched(code=scenes.CODE, reason="closed"), fewer)
        await run.give("enter")
        assert run.screen.shows("Table 1: 1 : 0 (52 : 31 cards).")


def over(left: int, *ids: str) -> Tournament:
    """A round whose first table is done: of the others, so many are not. ids: of the races at that table."""
    table = tournaments.table(1, "p2", "p3", result=tournaments.WON, races=(tournaments.WON,), race_ids=ids)
    return tournaments.running(tables=(table,), rounds=(tournaments.paired(1), tournaments.paired(2, left=left)))


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (over(1, "HKTRWM-1-0a1b"), "It can be replayed after the round."),
        (over(0), "There is no race to replay."),
        (over(0, "../x; rm"), "There is no race to replay."),
    ],
)
async def test_enter_on_a_table_that_is_done_says_when_its_race_can_be_replayed(told: Tournament, said: str) -> None:
    async with before(told) as run:
        await run.give("enter")
        assert run.screen.shows(f"Table 1: 1 : 0 (52 : 31 cards). {said}")


class Past:
    """Has the record of every race, or says why not."""

    def __init__(self, failure: Failure | None = None) -> None:
        self.asked: list[str] = []
        self._failure = failure

    async def read(self) -> Profile:
        return runs.profile()

    async def record(self, race: str) -> tuple[Record, int | None]:
        self.asked.append(race)
        if self._failure is not None:
            raise self._failure
        return scenes.record(), None


async def replayed_line(record: Record) -> TimeLine:
    return replays.line()


async def test_enter_on_a_table_of_a_round_that_is_over_replays_its_last_race_and_closing_that_leads_back() -> None:
    past = Past()
    async with before(over(0, "HKTRWM-1-0a", "HKTRWM-2-0b"), profiles=past, replayer=replayed_line) as run:
        await run.give("enter")
        await settled()
        assert past.asked == ["HKTRWM-2-0b"]
        assert run.screen.shows(" Replay")
        await run.give("q")
        assert run.screen.shows("Round 2 of 9")


async def test_a_replay_of_a_table_that_is_not_to_be_had_is_told_and_one_that_was_given_up_does_not_open() -> None:
    async with before(over(0, "HKTRWM-1-0a"), profiles=Past(Failure("The server has no such race."))) as run:
        await run.give("enter")
        await settled()
        assert run.screen.shows("The server has no such race.")
    held = trio.Event()

    async def prepared(record: Record) -> TimeLine:
        await held.wait()
        return replays.line()

    async with before(over(0, "HKTRWM-1-0a"), profiles=Past(), replayer=prepared) as run:
        await run.give("enter")
        assert run.screen.shows("Getting the race...")
        await run.give("esc")
        assert run.screen.shows("The replay was cancelled.")
        held.set()
        await settled()
        assert run.screen.shows("Round 2 of 9")


async def test_pages_turn_and_rounds_go_back_and_forth() -> None:
    async with before(tournaments.running()) as run:
        await run.give("tab")
        assert run.screen.shows("Buchh")
        await run.give("tab")
        assert run.screen.shows("Reason: The line of the hall was down")
        await run.give("tab", "left")
        assert run.link.taken() == [FollowTournament(id=ID, round=1, ref=FOLLOW_REFERENCE)]
        await run.give("left", "right")
        assert run.link.taken() == [FollowTournament(id=ID, ref=FOLLOW_REFERENCE)]
        await run.click("Clara")
        await run.click("Clara")
        assert JoinRace(code="HKTRWM") in run.link.taken()


def rulings_of(run: Run) -> list[ClientMessage]:
    """What was sent since, with the rulings as if each were the only one without an answer."""
    return [replace(each, ref=RULING_REFERENCE) if isinstance(each, Ruling) else each for each in run.link.taken()]


async def test_the_directors_keys_ask_for_what_they_say() -> None:
    async with before(directed(tournaments.told())) as run:
        await run.give("S", "b", "2")
        assert rulings_of(run) == [StartTournament(id=ID), AddBot(id=ID, bot=scenes.BOTS[1].name)]
        await run.say(directed(tournaments.told(phase="check-in")))
        await run.give("+", "2", "S")
        assert rulings_of(run) == [ExtendCheckIn(id=ID, more_s=120)]
        assert run.screen.shows("Pair the first round without the 2 who have not checked in?")
        await run.give("y")
        assert rulings_of(run) == [StartTournament(id=ID)]
        await run.say(directed(tournaments.told(phase="check-in", entrants=tournaments.ENTRANTS[1:])))
        await run.give("S")
        assert run.screen.shows("Pair the first round without Clara?")
        await run.give("esc")
        await run.say(directed(tournaments.told(phase="check-in", entrants=tournaments.ENTRANTS[3:])))
        await run.give("S")
        assert rulings_of(run) == [StartTournament(id=ID)]
        await run.say(directed(tournaments.running(phase="between")))
        await run.give("N", "P")
        assert rulings_of(run) == [PairRound(id=ID, round=3), PauseTournament(id=ID)]
        await run.say(directed(tournaments.running(phase="paused")))
        await run.give("P", "tab", "X", "n", "X", "y", *"asked to", "enter")
        assert rulings_of(run) == [
            PauseTournament(id=ID, pause=False),
            RemoveEntrant(id=ID, entrant=tournaments.ANNA, reason="asked to", ref=RULING_REFERENCE),
        ]
        await run.give("Z", "y", "esc")
        assert rulings_of(run) == []
        await run.give("Z", "y", "enter")
        assert rulings_of(run) == [EndTournament(id=ID, ref=RULING_REFERENCE)]


async def test_a_director_lets_somebody_back_in_and_removes_either_player_of_a_table() -> None:
    async with before(directed(tournaments.running())) as run:
        await run.give("X", "1", *"gone home", "enter")
        await run.give("X", "3")
        assert rulings_of(run) == [RemoveEntrant(id=ID, entrant="p2", reason="gone home", ref=RULING_REFERENCE)]
        await run.give("tab", "down", "down", "down", "X")
        assert run.screen.shows("Let Dan back in, from the next round on?")
        await run.give("y", "enter")
        assert rulings_of(run) == [RemoveEntrant(id=ID, entrant="p4", remove=False, ref=RULING_REFERENCE)]
    table = tournaments.table(1, "p4", None)
    async with before(directed(tournaments.running(tables=(table,)))) as run:
        await run.give("X")
        assert run.screen.shows("Select a player first, or a table.")


async def test_a_result_is_corrected_entered_and_struck_with_a_reason() -> None:
    async with before(directed(tournaments.running())) as run:
        await run.give("down", "E", "2", *"read wrong", "enter")
        assert rulings_of(run) == [replace(RULED, reason="read wrong")]
        await run.give("up", "E", "6", "enter")
        neither = TableResult(verdict="neither", forfeit=True)
        assert rulings_of(run) == [replace(RULED, table=1, result=neither)]
        await run.give("down", "E", "7", "enter")
        assert rulings_of(run) == [replace(RULED, result=None)]


async def test_a_director_is_offered_no_verdict_that_the_server_would_refuse_and_enter_alone_gives_none() -> None:
    def offered(run: Run) -> list[str]:
        """The lines of the question, without names."""
        numbered = (re.search(r" [1-9]  (?:(?:greedy 1|Clara|Benedikt|Anna) )?(\w[\w ]+?) *\W*$", line) for line in run.screen.last_text)
        return [line[1] for line in numbered if line is not None]

    wins = ["wins", "wins"]
    forfeits = ["wins by forfeit", "wins by forfeit", "Both forfeit"]
    strike, leave = "Strike the result and reopen the table", "Leave it as it is"
    told = directed(tournaments.running())
    over = replace(told, rounds=tuple(replace(each, secret="ab" * 32, open=0) for each in told.rounds), phase="between")
    knock_out = replace(told.options, format="elimination")
    followed = replace(over, rounds=(*over.rounds, tournaments.paired(3)), options=knock_out)
    cases = (
        ("a table without a result", told, (), [*wins, "Draw", *forfeits, leave]),
        ("one with a result", told, ("down",), [*wins, "Draw", *forfeits, strike, leave]),
        ("a session, where nobody draws", replace(told, options=replace(told.options, format="session")), (), [*wins, *forfeits, leave]),
        ("a round of which nothing is known", replace(told, round=9), (), [*wins, "Draw", *forfeits, leave]),
        ("a round that is over", over, ("down",), [*wins, "Draw", *forfeits, leave]),
        ("a knock-out, where a draw is run again", replace(told, options=knock_out), (), [*wins, "Draw", *forfeits, leave]),
        ("a knock-out's round that is over", replace(over, options=knock_out), ("down",), [*wins, *forfeits, leave]),
        ("a knock-out whose next round is paired", followed, ("down",), ["wins", "wins by forfeit", leave]),
    )
    for case, each, keys, lines in cases:
        async with before(each) as run:
            await run.give(*keys, "E")
            assert offered(run) == lines, case
            await run.give("enter")
            assert (offered(run), run.link.taken(), run.screen.shows("Reason for the log")) == ([], [], False), case


async def test_what_is_over_is_given_no_result_at_a_table_without_one_and_no_table_a_result_for_a_bye() -> None:
    bye = tournaments.table(4, "p3", None, counted=False)
    async with before(directed(tournaments.running(phase="ended", tables=(*tournaments.TABLES, bye)))) as run:
        await run.give("tab", "tab", "E")
        assert run.screen.shows("Table 1 can be given no result: it has no result, and the tournament is over.")
        await run.give("down", "down", "down", "E")
        assert run.screen.shows("Table 4 can be given no result: its bye counts for nothing.")
        await run.give("up", "up", "E", "1", "enter")
        (corrected,) = run.link.taken()
        assert isinstance(corrected, CorrectResult)
        assert corrected.table == 2
    async with before(directed(tournaments.running(phase="ended", tables=tournaments.TABLES[:1]))) as run:
        await run.give("tab", "tab")
        assert not run.screen.shows("E result")


async def test_a_reason_that_could_not_be_sent_stays_in_its_line() -> None:
    async with before(directed(tournaments.running(phase="paused"))) as run:
        run.link.up = False
        await run.give("tab", "X", "y", *"asked to", "enter")
        assert run.screen.shows("Not done: not connected. Reconnecting...")
        assert run.screen.shows("asked to")
        run.link.up = True
        await run.give("enter")
        assert run.link.taken() == [RemoveEntrant(id=ID, entrant=tournaments.ANNA, reason="asked to", ref=RULING_REFERENCE)]


async def test_a_ruling_without_a_reason_that_could_not_be_sent_is_kept_too() -> None:
    async with before(directed(tournaments.running(phase="paused"))) as run:
        run.link.up = False
        await run.give("tab", "X", "y", "enter")
        assert run.screen.shows("Not done: not connected. Reconnecting...")
        run.link.up = True
        await run.give("enter")
        assert run.link.taken() == [RemoveEntrant(id=ID, entrant=tournaments.ANNA, ref=RULING_REFERENCE)]


@asynccontextmanager
async def unanswered(*keys: str) -> AsyncIterator[Run]:
    """Anna, who directs, has decided by these keys. Before an answer came the line was lost, and it is back."""
    async with before(directed(tournaments.running())) as run:
        await run.give(*keys)
        run.link.taken()
        await run.say(Lost("gone", 1), Lost("refused", 2), UP, scenes.welcome(), Back())
        assert FollowTournament(id=ID, ref=FOLLOW_REFERENCE) in run.link.taken()
        yield run


async def test_a_ruling_whose_answer_was_lost_is_asked_about_if_it_was_not_carried_out() -> None:
    for keys, words, ruling in (
        (("down", "E", "2", "enter"), "greedy 1 wins.", RULED),
        (("down", "E", "7", "enter"), "Strike the result and reopen", replace(RULED, result=None)),
        (("tab", "Y", "1", "enter"), "Anna has a full-point", GIVEN),
        (("Z", "y", *"flood", "enter"), "the tournament ends", EndTournament(id=ID, reason="flood", ref=RULING_REFERENCE)),
    ):
        async with unanswered(*keys) as run:
            await run.say(directed(tournaments.running()))
            assert run.screen.shows("The connection was lost before this was decided:")
            assert run.screen.shows(words)
            await run.give("y")
            assert run.link.taken() == [ruling]
            await run.say(Decided(id=ID, number=9, ref=RULING_REFERENCE), Lost("gone", 1), UP, scenes.welcome(), Back())
            await run.say(directed(tournaments.running()))
            assert not run.screen.shows("The connection was lost before")


async def test_nothing_is_asked_about_a_ruling_that_was_carried_out_although_its_answer_was_lost() -> None:
    async with unanswered("down", "E", "2", "enter") as run:
        first, second, *others = tournaments.running().tables
        ruled = replace(second, result=RULED.result, races=(RULED.result,))
        await run.say(directed(tournaments.running(tables=(first, ruled, *others))))
        assert not run.screen.shows("The connection was lost before")
        # Nor later, should it be corrected again.
        await run.say(directed(tournaments.running()))
        assert not run.screen.shows("The connection was lost before")


async def test_nothing_is_asked_about_a_bye_that_was_given_or_whose_round_is_paired() -> None:
    for told in (
        with_bye(tournaments.running(), (3, 2)),
        tournaments.running(rounds=tuple(tournaments.paired(number, left=2) for number in (1, 2, 3)), round=3),
    ):
        async with unanswered("tab", "Y", "1", "enter") as run:
            await run.say(directed(told))
            assert not run.screen.shows("The connection was lost before")
            too_late = "Not done, and too late now that the round is paired: Anna has a full-point"
            assert run.screen.shows(too_late) is (len(told.rounds) == 3)
    async with unanswered("tab", "Y", "1", "enter") as run:
        await run.say(directed(with_bye(tournaments.running(), (3, 1))))
        assert run.screen.shows("Anna has a full-point")


async def test_each_of_several_rulings_whose_answers_were_lost_is_asked_about() -> None:
    async with before(directed(tournaments.running())) as run:
        await run.give("down", "E", "2", "enter", "Z", "y", "enter", "tab", "X", "y", "enter")
        corrected, ended, removed = run.link.taken()
        await run.say(Decided(id=ID, number=9, ref=ended.ref), Lost("gone", 1), UP, scenes.welcome(), Back())
        run.link.taken()
        await run.say(directed(tournaments.running()))
        assert run.screen.shows("The connection was lost before these were decided:")
        await run.give("y")
        again = run.link.taken()
        assert [replace(each, ref=0) for each in again] == [replace(each, ref=0) for each in (corrected, removed)]
        assert len({each.ref for each in again}) == 2


async def test_a_ruling_is_asked_about_although_another_round_was_looked_at_when_the_line_was_lost() -> None:
    async with before(directed(tournaments.running())) as run:
        await run.give("down", "E", "2", "enter")
        await run.say(directed(tournaments.running(round=1)), Lost("gone", 1), UP, scenes.welcome(), Back())
        await run.say(directed(tournaments.running()))
        assert run.screen.shows("The connection was lost before this was decided:")


async def test_of_several_rulings_that_cannot_be_sent_again_none_is_forgotten() -> None:
    async with unanswered("down", "E", "2", "enter", "Z", "y", "enter") as run:
        await run.say(directed(tournaments.running()))
        run.link.up = False
        await run.give("y")
        assert run.screen.shows("Not done: not connected. Reconnecting...")
        run.link.up = True
        await run.give("enter")
        assert rulings_of(run) == [RULED]
        await run.say(directed(tournaments.running()))
        assert run.screen.shows("The connection was lost before this was decided: the tournament ends.")
        await run.give("y")
        assert [type(each) for each in run.link.taken()] == [EndTournament]


async def test_a_ruling_is_asked_about_once_what_was_open_is_closed_and_the_tournament_has_been_told_anew() -> None:
    for opening, closing in (("Z", "n"), ("Z", "esc"), ("b", "esc")):
        async with unanswered("down", "E", "2", "enter") as run:
            await run.give(opening)
            await run.say(directed(tournaments.running()))
            assert not run.screen.shows("The connection was lost before")
            await run.give(closing)
            assert run.screen.shows("The connection was lost before this was decided:"), (opening, closing)
            # What is told of it before another loss says nothing of what was decided since.
            await run.give("y", "Z")
            await run.say(Lost("gone", 1), UP, scenes.welcome(), Back())
            await run.give("n")
            assert not run.screen.shows("The connection was lost before")
            await run.say(directed(tournaments.running()))
            assert run.screen.shows("The connection was lost before this was decided:")


async def test_nobody_who_races_is_asked_about_a_ruling_before_their_race_is_over() -> None:
    async with unanswered("down", "E", "2", "enter") as run:
        await run.give("Z")
        await run.say(directed(tournaments.running()), scenes.room(phase="racing"))
        assert run.screen.shows("The race has begun; the question is closed.")
        assert not run.screen.shows("The connection was lost before")
        await run.say(Left(code=scenes.CODE, reason="left"))
        assert run.screen.shows("The connection was lost before this was decided:")


async def test_nothing_is_asked_about_a_struck_result_once_its_table_has_raced_again() -> None:
    async with unanswered("down", "E", "7", "enter") as run:
        first, second, *others = tournaments.running().tables
        fresh = TableResult(verdict="first", first_home=52, second_home=3)
        await run.say(directed(tournaments.running(tables=(first, replace(second, result=fresh, races=(fresh,)), *others))))
        assert not run.screen.shows("The connection was lost before")


async def test_a_ruling_on_another_round_is_asked_about_once_that_round_is_seen() -> None:
    async with unanswered("down", "E", "2", "enter") as run:
        await run.say(directed(tournaments.running(round=1)))
        assert not run.screen.shows("The connection was lost before")
        await run.say(directed(tournaments.running()))
        assert run.screen.shows("The connection was lost before")


async def test_what_is_the_directors_is_nobody_elses() -> None:
    async with before(tournaments.running()) as run:
        for key in "SPNEXYbZ":
            await run.give(key)
            assert run.screen.shows("Only the director, Grace, can do that.")
        assert run.link.taken() == []


async def test_whoever_only_watches_can_do_nothing_else() -> None:
    async with running(StartTournaments(ID)) as run:
        await run.say(UP, replace(scenes.welcome(), player="", name="", token=""), tournaments.running())
        run.link.taken()
        await run.give("i", "c", "L", "S")
        assert run.link.taken() == []
        await run.give("esc", "esc")
        assert run.outcome is not None


async def test_its_times_stand_and_it_says_why_while_the_server_can_keep_nothing() -> None:
    async with before(tournaments.running()) as run:
        await run.later(3)
        await run.say(scenes.refusal(ErrorCode.CANNOT_WRITE))
        for passed_s in (7, 60):
            await run.later(passed_s)
            await run.say(RoundTrip(17))
            assert run.screen.shows("0:45")
            assert run.screen.shows("The server cannot save anything just now.")
        # Somebody has come: it is told anew how it stands, and behind it that time still does.
        await run.say(tournaments.running(), scenes.refusal(ErrorCode.CANNOT_WRITE))
        await run.later(9)
        await run.say(RoundTrip(18))
        assert run.screen.shows("0:42")
        await run.say(tournaments.running())
        await run.later(1)
        await run.say(RoundTrip(17))
        assert run.screen.shows("0:43")
        assert not run.screen.shows("The server cannot save anything just now.")
