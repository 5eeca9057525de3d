"""What is heard of a tournament that one plays in while one looks at something else: its check-in, and its end. Over a fake link."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from client.connection.events import Lost
from client.tui.start import StartTournaments
from client.tui.subscriptions import FOLLOW_REFERENCE
from client.tui.terminal import Terminal
from protocol.client_messages import LeaveRace
from protocol.errors import ErrorCode, Fault
from protocol.room_events import Ended, Result
from protocol.server_messages import Error, Left
from protocol.tournament_messages import CheckIn, FollowTournament, Tournament
from protocol.views import SharedDeal
from protocol.watch_messages import WatchRace
from tests.client import scenes
from tests.client import tournament_scenes as tournaments
from tests.client.tui.hands import UP, Run, running
from tests.client.tui.test_tournament_keys import DEAL, own, seats
from tests.client.watched import watched

pytestmark = pytest.mark.usefixtures("mock_clock")


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Grows with each ring of the bell."""
    rings: list[bool] = []
    monkeypatch.setattr(Terminal, "bell", lambda terminal: rings.append(True))
    return rings


ID = tournaments.ID
CHECK_IN = own(tournaments.told("check-in", phase_ms=40_000), checked_in=False)
DUE = "Press T to check in to Carpet Open within 0:40, or you will be left out."


def followed(run: Run) -> list[FollowTournament]:
    return [message for message in run.link.taken() if isinstance(message, FollowTournament)]


async def check_in_from_here(run: Run, rung: list[bool]) -> None:
    """The check-in opens: it is said at once, with the bell, and can be answered where one is."""
    run.link.taken()
    rung.clear()
    await run.say(tournaments.check_in_due())
    assert run.screen.shows(DUE)
    assert rung == [True]
    await run.later(2)
    assert run.screen.shows("within 0:38")
    await run.give("T")
    (check_in,) = (message for message in run.link.taken() if isinstance(message, CheckIn))
    assert (check_in.id, len(bytes.fromhex(check_in.nonce))) == (ID, 16)
    await run.say(tournaments.check_in_due(None))
    assert not run.screen.shows("Press T")
    assert rung == [True]


async def test_a_check_in_that_opens_is_said_at_home_and_in_the_list_of_tournaments(rung: list[bool]) -> None:
    async with running(StartTournaments()) as run:
        await run.say(UP, scenes.welcome(), scenes.lobby(), tournaments.listed())
        await check_in_from_here(run, rung)
        await run.give("esc")
        assert run.screen.shows("C A R P E T")
        await check_in_from_here(run, rung)


async def test_a_check_in_that_opens_is_said_while_a_race_is_watched_waited_for_and_run(rung: list[bool]) -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome())
        run.link.send(WatchRace(code=scenes.CODE))
        await run.say(watched())
        await check_in_from_here(run, rung)
    for room in (scenes.room(), scenes.room(phase="racing", view=scenes.middle_view())):
        async with running() as run:
            await run.say(UP, scenes.welcome(), room)
            await check_in_from_here(run, rung)


async def test_a_check_in_that_opens_is_said_on_the_result_of_another_tournaments_table(rung: list[bool]) -> None:
    other = SharedDeal(kind="round", id="PLMNBV/2", nonces=("00" * 16,))
    async with running() as run:
        await run.say(UP, scenes.welcome(room=scenes.CODE))
        await run.say(scenes.room(shared=other, phase="over", version=2, ended=seats()))
        await check_in_from_here(run, rung)


async def test_a_check_in_that_opens_is_told_on_the_screen_of_another_tournament(rung: list[bool]) -> None:
    async with running(StartTournaments("PLMNBV")) as run:
        await run.say(UP, scenes.welcome(), replace(tournaments.running(), id="PLMNBV"))
        await check_in_from_here(run, rung)


async def test_at_its_own_screen_a_check_in_that_opens_rings_and_is_said_once(rung: list[bool]) -> None:
    async with running(StartTournaments(ID)) as run:
        await run.say(UP, scenes.welcome(), tournaments.check_in_due(), CHECK_IN)
        assert rung == [True]
        assert run.screen.shows("Press c to check in, or you will be left out.")
        assert not run.screen.shows("Press T")


async def test_the_second_check_in_that_opens_is_said_once_the_first_is_answered(rung: list[bool]) -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        await run.say(tournaments.check_in_due(), tournaments.check_in_due(id="PLMNBV", name="Rug knock-out"))
        assert rung == [True, True]
        assert run.screen.shows(DUE)
        await run.say(tournaments.check_in_due(None))
        assert run.screen.shows("Press T to check in to Rug knock-out")


async def test_a_check_in_is_said_no_more_without_a_connection_and_again_when_the_server_repeats_it() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby(), tournaments.check_in_due())
        await run.say(Lost("no route", 1000))
        assert not run.screen.shows("Press T")
        await run.say(UP, scenes.welcome(), scenes.lobby(), tournaments.check_in_due(30_000))
        assert run.screen.shows("within 0:30")


async def test_an_answer_of_the_server_stands_before_a_check_in_that_waits() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby(), tournaments.check_in_due(name="Reykjavik Winter Open 2026"))
        assert run.screen.shows("Press T to check in to Reykjavik")
        await run.say(Error(code=ErrorCode.NO_SUCH_ROOM, fault=Fault.STATE, path="", message="No race has that code.", ref=0))
        assert run.screen.shows("No race has that code.")


async def test_while_a_race_is_run_no_tournament_sends_news() -> None:
    async with running(StartTournaments(ID)) as run:
        await run.say(UP, scenes.welcome(), own(tournaments.running()))
        run.link.taken()
        await run.say(scenes.room(phase="racing", view=scenes.middle_view()))
        assert followed(run) == [FollowTournament(id=ID, follow=False, ref=FOLLOW_REFERENCE)]
        await run.say(Result(version=2, record=scenes.record()))
        assert not followed(run)


async def test_without_a_check_in_the_key_says_so() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        await run.give("T")
        assert run.screen.shows("No check-in is waiting for you.")
        assert not any(isinstance(message, CheckIn) for message in run.link.taken())


async def at_result(run: Run, told: Tournament) -> None:
    await run.say(UP, scenes.welcome(room=scenes.CODE), scenes.room(shared=DEAL), Ended(version=2, seats=seats()))
    assert FollowTournament(id=ID, ref=FOLLOW_REFERENCE) in run.link.taken()
    await run.say(told)


async def test_the_result_of_the_last_table_says_that_the_tournament_is_over_and_leads_to_the_standings() -> None:
    async with running(size=(100, 30)) as run:
        await at_result(run, tournaments.running())
        assert run.screen.shows("enter: back to the tournament; your next table opens by itself.")
        await run.say(tournaments.running(phase="over"))
        assert run.screen.shows("It is over: Benedikt won. You came 2nd of 5.  enter: final standings")
        assert not run.screen.shows("your next table opens by itself")
        await run.give("enter")
        assert LeaveRace() in run.link.taken()
        await run.say(Left(code=scenes.CODE, reason="left"))
        assert run.screen.shows("Buchh")


async def test_the_result_of_a_table_that_is_to_race_again_says_so() -> None:
    told = tournaments.running()
    mine = replace(told.tables[0], first="p1", result=None, code=None, races=())
    number = int(DEAL.id.partition("/")[2])
    async with running(size=(100, 30)) as run:
        await at_result(run, replace(told, round=number, tables=(replace(mine, result=tournaments.WON),)))
        assert run.screen.shows("enter: back to the tournament; your next table opens by itself.")
        # The room is closed before the tournament has heard of its race.
        await run.say(replace(told, round=number, tables=(mine,)))
        assert run.screen.shows("enter: back to the tournament; your next table opens by itself.")
        mine = replace(mine, race_ids=("11111111",))
        await run.say(replace(told, round=number, tables=(mine,)))
        assert run.screen.shows("Your table races again, on another shuffle: you are taken there.")
        # A table that has its room is on its way already, and one of another round says nothing of this one.
        for other in (replace(told, round=number, tables=(replace(mine, code="OTHERS"),)), replace(told, round=number + 1, tables=(mine,))):
            await run.say(other)
            assert not run.screen.shows("races again")


async def test_the_result_of_whoever_is_knocked_out_promises_no_further_table() -> None:
    rows = tuple(replace(each, lost=1) for each in tournaments.STANDINGS)
    async with running(size=(100, 30)) as run:
        await at_result(run, tournaments.running(standings=rows, options=replace(tournaments.OPTIONS, format="elimination", rounds=0)))
        assert run.screen.shows("You are out. enter: back to the tournament, to watch the rest of it.")


async def test_the_result_of_whoever_is_removed_or_has_raced_the_last_round_promises_no_further_table() -> None:
    out = tuple(replace(each, withdrawn=True, out="removed") for each in tournaments.ENTRANTS)
    async with running(size=(100, 30)) as run:
        await at_result(run, tournaments.running(entrants=out))
        assert run.screen.shows("You are out. enter: back to the tournament, to watch the rest of it.")
    async with running(size=(100, 30)) as run:
        told = tournaments.running()
        await at_result(run, replace(told, options=replace(told.options, rounds=len(told.rounds))))
        assert run.screen.shows("enter: back to the tournament.")
