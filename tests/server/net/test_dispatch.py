"""Messages across rooms and connections: two races at once, taking over, coming back, a full server, a stopping one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import pytest
import trio
from msgspec.structs import replace
from trio.testing import wait_all_tasks_blocked

from protocol.client_messages import (
    FollowLobby,
    Hello,
    JoinRace,
    LeaveRace,
    Move,
    OpenRace,
    QuickMatch,
    Ready,
    Rematch,
    Rename,
    Resign,
    Say,
    WhoAmI,
)
from protocol.errors import CloseCode, ErrorCode, Fault
from protocol.room_events import PlayerView, Presence, Progress, Ratings, Result, Room, Said, Seated, Started
from protocol.run_messages import ListRuns, OpenChallenge, RunChallenge, RunDaily
from protocol.server_messages import CurrentView, Error, Left, Lobby, Rated, WaitingMatch, WaitingOver, Welcome, YouAre
from protocol.tournament_messages import (
    CheckIn,
    CreateTournament,
    Decided,
    EnterTournament,
    FollowTournament,
    LeaveTournament,
    Tournament,
)
from protocol.tournaments import TournamentOptions
from protocol.views import ChatLine, RaceOptions, SeatRating
from protocol.watch_messages import AskBoardsKey, Unwatch, Unwatched, Watched, WatchRace
from server.bots.house import HOUSE_BOTS
from server.net.connection import Caller
from server.net.dispatch import RACES_A_SECOND, RACES_PER_CONNECTION
from server.net.identification import NEWCOMER_AGAIN_MS, NEWCOMERS_A_SECOND, NEWCOMERS_PER_CONNECTION
from server.net.limits import CODE_AGAIN_MS, CODES_A_SECOND, CODES_AT_ONCE, TRIED_S
from server.rooms.outgoing import Outgoing
from server.rooms.requests import CallOff
from server.rules.catalogue import RULE_SETS
from server.store.availability import Outage
from server.store.errors import StoreAway, StoreError
from server.store.port import Entry
from tests.server.net.wire import House, open_house, request_bytes

pytestmark = pytest.mark.usefixtures("autojump_clock")


async def test_the_welcome_says_what_the_server_offers(house: House) -> None:
    async with house.client() as ann:
        welcome = await ann.hello("Ann")
        assert [rules.id for rules in welcome.rules] == list(RULE_SETS)
        assert [bot.name for bot in welcome.bots] == list(HOUSE_BOTS)
        assert (welcome.name, welcome.software, welcome.room) == ("Ann", "test", None)
        assert len(welcome.token) == 32
        assert welcome.token != welcome.player


async def test_of_one_address_so_many_new_players_come_at_once_and_those_who_are_known_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Caller, "remote_host", "192.0.2.1")
    known: list[str] = []
    async with open_house(connections_per_address=1) as house:
        while len(known) < NEWCOMERS_PER_CONNECTION:
            async with house.client() as ann:
                known.append((await ann.hello("Ann")).token)
        async with house.client() as bob:
            error = await bob.error_for(Hello(name="Bob", ref=3))
            assert (error.code, error.ref, error.retry_after_ms) == (ErrorCode.SERVER_BUSY, 3, NEWCOMER_AGAIN_MS)
            assert (await bob.hello("Ann", known[-1])).token == known[-1]
        await trio.sleep(1 / NEWCOMERS_A_SECOND)
        async with house.client() as bob:
            assert (await bob.hello("Bob")).name == "Bob"


async def test_from_one_address_not_so_many_races_come_that_they_fill_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Caller, "remote_host", "192.0.2.1")
    async with open_house(connections_per_address=2) as house, house.guest("Eve") as eve:
        for _ in range(RACES_PER_CONNECTION):
            await eve.open(seats=1)
            await eve.ready()
            await eve.ask(LeaveRace(), Left)
        refused = [await eve.error_for(request) for request in (OpenRace(options=RaceOptions()), RunDaily())]
        assert [error.code for error in refused] == [ErrorCode.TOO_MANY_ROOMS] * 2
        # Whoever comes from elsewhere is not concerned.
        monkeypatch.setattr(Caller, "remote_host", "192.0.2.2")
        await eve.open(seats=1)
        monkeypatch.setattr(Caller, "remote_host", "192.0.2.1")
        assert (await eve.error_for(Ready(race=1, nonce="ab" * 16))).code == ErrorCode.TOO_MANY_ROOMS
        await trio.sleep(1 / RACES_A_SECOND)
        await eve.ready()
        await eve.hear_of(Started)


async def test_from_one_address_not_so_many_codes_are_tried_that_one_could_be_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Caller, "remote_host", "192.0.2.1")

    def guesses(text: str) -> tuple[JoinRace | WatchRace | AskBoardsKey | FollowTournament | LeaveTournament, ...]:
        by_code = JoinRace(code=f"J{text}"), WatchRace(code=f"W{text}"), AskBoardsKey(code=f"B{text}")
        return (*by_code, FollowTournament(id=f"F{text}"), LeaveTournament(id=f"L{text}"))

    async with open_house(connections_per_address=2) as house, house.guest("Ann") as ann, house.guest("Eve") as eve:
        private = (await ann.open(public=False)).code
        for number in range(CODES_AT_ONCE):
            # Whatever was tried before costs nothing: many may come by one code.
            for _ in range(3):
                assert (await eve.error_for(guesses(f"{number:05}")[number % 5])).code != ErrorCode.SERVER_BUSY
        # Then a right one is not told from a wrong one; whoever has a seat comes back to it, and this machine has no limit.
        for request in (*guesses("x"), JoinRace(code=private), AskBoardsKey(code=private)):
            error = await eve.error_for(request)
            assert (error.code, error.retry_after_ms) == (ErrorCode.SERVER_BUSY, CODE_AGAIN_MS)
        await ann.ask(JoinRace(code=private), Room)
        # A whole hall may be called to tables at another server.
        house.tournaments.elsewhere.codes = frozenset({"TABLES"})
        assert (await eve.error_for(JoinRace(code="tables"))).code == ErrorCode.NO_SUCH_ROOM
        monkeypatch.setattr(Caller, "remote_host", "127.0.0.1")
        assert (await eve.error_for(JoinRace(code="ABCDEF"))).code == ErrorCode.NO_SUCH_ROOM
        monkeypatch.setattr(Caller, "remote_host", "192.0.2.1")
        await trio.sleep(1 / CODES_A_SECOND)
        await eve.ask(JoinRace(code=private), Room)


async def test_neither_the_code_nor_the_id_of_a_private_tournament_is_guessed_from_one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Caller, "remote_host", "192.0.2.1")
    async with (
        open_house(connections_per_address=9) as house,
        house.guest("Ann") as ann,
        house.guest("Bob") as bob,
        house.guest("Eve") as eve,
    ):
        options = TournamentOptions(name="Cup", public=False)
        private = (await ann.ask(CreateTournament(options=options), Decided)).id
        public = (await ann.ask(CreateTournament(options=replace(options, public=True), code="word"), Decided)).id
        await bob.ask(EnterTournament(id=private), Decided)
        await eve.ask(FollowTournament(id=private, ref=1), Tournament)
        for number in range(CODES_AT_ONCE - 1):
            error = await eve.error_for(EnterTournament(id=public, code=f"W{number}"))
            assert error.code == ErrorCode.WRONG_ENTRY_CODE
        for request in (EnterTournament(id=public, code="word"), FollowTournament(id="WWWWWW"), CheckIn(id="WWWWWX", nonce="ab" * 16)):
            assert (await eve.error_for(request)).code == ErrorCode.SERVER_BUSY
        # It was tried before; and whoever directs it comes back to it at any time.
        await eve.ask(FollowTournament(id=private, ref=2), Tournament)
        await trio.sleep(TRIED_S + 1)
        for number in range(int((TRIED_S + 1) * CODES_A_SECOND)):
            assert (await eve.error_for(EnterTournament(id=public, code=f"V{number}"))).code == ErrorCode.WRONG_ENTRY_CODE
        assert (await eve.error_for(FollowTournament(id=private, ref=3))).code == ErrorCode.SERVER_BUSY
        await ann.ask(FollowTournament(id=private, ref=1), Tournament)
        await bob.ask(FollowTournament(id=private, ref=1), Tournament)
        await eve.ask(FollowTournament(id=public, ref=4), Tournament)


async def test_codes_that_were_tried_long_ago_cannot_be_tried_over_and_over_until_a_race_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Caller, "remote_host", "192.0.2.1")
    async with open_house(connections_per_address=2) as house, house.guest("Eve") as eve:
        for number in range(CODES_AT_ONCE):
            await eve.error_for(JoinRace(code=f"G{number}"))
        await trio.sleep(TRIED_S + 1)
        asked = [(await eve.error_for(JoinRace(code=f"G{number}"))).code for number in range(CODES_AT_ONCE)]
        assert asked.count(ErrorCode.NO_SUCH_ROOM) == int((TRIED_S + 1) * CODES_A_SECOND)


async def test_the_codes_that_addresses_have_tried_are_remembered_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.net.limits.TRIED", 2)
    monkeypatch.setattr(Caller, "remote_host", "192.0.2.1")
    async with open_house(connections_per_address=2) as house, house.guest("Eve") as eve:
        for number in range(CODES_AT_ONCE):
            await eve.error_for(JoinRace(code=f"G{number}"))
        tried = [(await eve.error_for(JoinRace(code=f"G{number}"))).code for number in (0, CODES_AT_ONCE - 2, CODES_AT_ONCE - 1)]
        assert tried == [ErrorCode.SERVER_BUSY, ErrorCode.NO_SUCH_ROOM, ErrorCode.NO_SUCH_ROOM]


async def test_a_race_that_is_refused_because_nothing_may_begin_does_not_count_for_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Caller, "remote_host", "192.0.2.1")
    async with open_house(connections_per_address=1) as house, house.guest("Ann") as ann:
        house.rooms.draining = "we update"
        for _ in range(RACES_PER_CONNECTION + 1):
            assert (await ann.error_for(OpenRace(options=RaceOptions()))).code == ErrorCode.SERVER_STOPPING
        house.rooms.draining = None
        await ann.open(seats=1)


async def test_of_two_races_opened_at_once_there_is_one(house: House) -> None:
    async with house.guest("Ann") as ann:
        await ann.say(OpenRace(options=RaceOptions(), ref=1))
        await ann.say(OpenRace(options=RaceOptions(), ref=2))
        # The one is answered by the room, the other before it has come so far.
        heard = {type(message): message for message in (await ann.hear(), await ann.hear())}
        assert heard.keys() == {Room, Error}
        error = heard[Error]
        assert isinstance(error, Error)
        assert (error.code, error.ref) == (ErrorCode.ALREADY_IN_ROOM, 2)
        assert len(house.rooms) == 1


async def test_a_race_in_which_nobody_else_waits_is_given_up_for_one_with_other_options(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        first = await ann.open(seats=3)
        second = await ann.open(seats=2)
        assert second.code != first.code
        assert [room.code for room in house.rooms] == [second.code]
        await bob.join(second.code)
        await ann.say(OpenRace(options=RaceOptions(seats=3), ref=7))
        assert await ann.refusal() == (ErrorCode.ALREADY_IN_ROOM, 7)


async def test_a_seat_in_a_later_race_is_not_given_up_for_another_race(house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, bob):
        for client in (ann, bob):
            await client.say(Resign(race=1, seat=client.seat))
            await client.hear_of(Result)
            await client.say(Rematch(race=1))
        assert (await ann.hear_of(Room)).race == 2
        await bob.ask(LeaveRace(), Left)
        await ann.say(OpenRace(options=RaceOptions(seats=3), ref=7))
        assert await ann.refusal() == (ErrorCode.ALREADY_IN_ROOM, 7)


@pytest.mark.parametrize("same", [True, False])
async def test_a_seat_in_a_room_whose_end_has_yet_to_be_kept_is_in_nobodys_way(
    house: House, monkeypatch: pytest.MonkeyPatch, same: bool
) -> None:
    async with house.guest("Ann") as ann:
        first = await ann.open(seats=3)
        with monkeypatch.context() as slow:
            held: list[tuple[Sequence[Entry], Callable[[StoreError | None], None]]] = []
            slow.setattr(house.journal, "submit", lambda entries, done: held.append((entries, done)))
            house.only_room.tell(CallOff(also_running=True, by_host="enough"))
            assert (await ann.hear_of(Left)).code == first.code
            await ann.say(OpenRace(options=RaceOptions(seats=3 if same else 2), ref=7))
            await ann.ask(WhoAmI(), YouAre)
        for entries, done in held:
            house.journal.submit(entries, done)
        second = await ann.hear_of(Room)
        assert (second.seat, second.ref, [room.code for room in house.rooms]) == (0, 7, [second.code])


async def test_whoever_holds_a_seat_can_join_no_other_race_but_their_own_again(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        own, other = await ann.open(seats=3), await bob.open(seats=3)
        error = await ann.error_for(JoinRace(code=other.code))
        assert error.code == ErrorCode.ALREADY_IN_ROOM
        assert own.code in error.message
        assert (await ann.join(own.code)).seat == 0
        assert await ann.ask(LeaveRace(), Left) == Left(code=own.code, reason="left")
        assert (await ann.join(other.code)).seat == 1


async def test_an_answer_has_the_ref_of_its_request_and_what_comes_unasked_has_none(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        await ann.say(QuickMatch(ref=1))
        await ann.say(QuickMatch(cancel=True, ref=2))
        assert [(await ann.hear_of(WaitingMatch)).ref, (await ann.hear_of(WaitingOver)).ref] == [1, 2]
        await ann.say(QuickMatch(ref=1))
        assert (await ann.ask(OpenRace(options=RaceOptions(seats=3), ref=3), WaitingOver)).ref == 0
        opened = await ann.hear_of(Room)
        assert (await bob.ask(WatchRace(code=opened.code, ref=4), Watched)).ref == 4
        assert (await bob.ask(Unwatch(ref=5), Unwatched)).ref == 5
        await bob.say(JoinRace(code=opened.code, ref=6))
        await bob.say(Say(text="Good luck!", ref=7))
        assert [(await bob.hear_of(Room)).ref, (await bob.hear_of(Said)).ref, (await ann.hear_of(Said)).ref] == [6, 7, 7]
        await ann.say(JoinRace(code=opened.code, ref=8))
        await ann.say(LeaveRace(ref=9))
        assert [opened.ref, (await ann.hear_of(Room)).ref, (await ann.hear_of(Left)).ref] == [3, 8, 9]


async def test_whoever_watches_the_closest_race_is_told_which_request_that_answers(house: House) -> None:
    async with house.guest("Eve") as eve:
        assert (await eve.ask(WatchRace(ref=4), Unwatched)).ref == 4
        async with house.race("Ann", "Bob"):
            assert (await eve.hear_of(Watched)).ref == 0


async def test_a_move_that_was_not_played_is_answered_by_its_ref(house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, _):
        await ann.say(Move(race=1, seat=ann.seat, ply=5, move="c1", ref=70))
        assert [(await ann.hear_of(Error)).ref, (await ann.hear_of(CurrentView)).ref] == [70, 70]
        assert (await ann.ask(JoinRace(code=house.only_room.code, version=ann.version, ref=71), CurrentView)).ref == 71


async def test_a_race_that_refuses_the_player_leaves_them_free(house: House) -> None:
    async with house.race("Ann", "Bob"), house.guest("Eve") as eve:
        await eve.say(JoinRace(code=house.only_room.code))
        await eve.say(JoinRace(code=house.only_room.code))
        assert [(await eve.error()).code for _ in range(2)] == [ErrorCode.ROOM_FULL] * 2
        await eve.open()


async def test_a_race_that_refuses_the_player_leaves_them_looking_for_an_opponent(house: House) -> None:
    async with house.race("Ann", "Bob"), house.guest("Eve") as eve, house.guest("Zoe") as zoe:
        await eve.ask(QuickMatch(), WaitingMatch)
        assert (await eve.error_for(JoinRace(code=house.only_room.code))).code == ErrorCode.ROOM_FULL
        assert (await zoe.ask(QuickMatch(), Room)).code == (await eve.hear_of(Room)).code
        assert not [message for message in eve.heard if isinstance(message, WaitingOver)]


async def test_who_enters_a_race_while_nothing_can_be_written_is_told_why_the_answer_waits(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        code = (await ann.open()).code
        house.rooms.outage(Outage(trio.current_time(), "the disk is full"))
        assert await ann.refusal() == (ErrorCode.CANNOT_WRITE, 0)
        await bob.say(JoinRace(code=code, ref=5))
        heard = {type(message): message for message in (await bob.hear(), await bob.hear())}
        assert heard.keys() == {Room, Error}
        refused = heard[Error]
        assert isinstance(refused, Error)
        assert (refused.code, refused.ref) == (ErrorCode.CANNOT_WRITE, 0)
        house.rooms.outage(None)
        await house.start(ann, bob)


async def test_a_failure_of_the_server_is_told_logged_and_harms_nobody_else(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(code: str) -> None:
        raise RuntimeError(f"a bug in {code}")

    monkeypatch.setattr(house.rooms, "find", fail)
    async with house.guest("Ann") as ann:
        error = await ann.error_for(JoinRace(code="AAAAAA", ref=6))
        assert (error.code, error.fault, error.ref) == (ErrorCode.INTERNAL, Fault.SERVER, 6)
        assert "bug" not in error.message
        await ann.open()
    assert [record.exc_info is not None for record in caplog.records if record.levelno == logging.ERROR] == [True]


async def test_of_what_cannot_be_read_it_is_said_that_it_may_be_asked_for_again_and_of_what_cannot_be_kept_that_it_is_not(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*question: object) -> None:
        raise StoreAway("the database is gone")

    async with house.guest("Ann") as ann:
        monkeypatch.setattr(house.journal, "ask", away)
        for request in (ListRuns(kind="challenge", id="ABCDEF", ref=4), RunChallenge(id="ABCDEF", ref=4)):
            error = await ann.error_for(request)
            assert (error.code, error.retry_after_ms, error.ref) == (ErrorCode.SERVER_BUSY, 1000, 4)
        await ann.say(OpenChallenge(nonce="ab" * 16, ref=5))
        assert await ann.refusal() == (ErrorCode.NOT_KEPT, 5)


# ---- lines of the same player


async def test_a_newer_connection_takes_over_and_the_older_one_is_closed_with_4009(house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, bob), house.client() as newer:
        welcome = await newer.hello("Ann", ann.welcome.token)
        assert (welcome.player, welcome.token) == (ann.welcome.player, ann.welcome.token)
        assert welcome.room == house.only_room.code
        assert await ann.hear_end() == (CloseCode.TAKEN_OVER, "another connection of this player took over")
        await newer.join(welcome.room or "")
        await newer.play()
        await bob.hear_of(Progress)
        assert len(house.players) == 2


async def test_whoever_took_over_and_joined_is_never_shown_as_away(house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, bob), house.client() as newer:
        await newer.say(Hello(name="Ann", token=ann.welcome.token))
        await newer.ask(JoinRace(code=house.only_room.code), Room)
        await ann.hear_end()
        await trio.sleep(10)
        await newer.move()
        assert isinstance(await bob.hear(), Progress)


async def test_whoever_took_over_and_did_not_join_is_away_and_may_leave(house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, bob), house.client() as newer:
        await newer.hello("Ann", ann.welcome.token)
        assert (await bob.hear_of(Presence)).connected is False
        await newer.move()
        assert (await newer.error()).code == ErrorCode.NOT_IN_ROOM
        await newer.ask(LeaveRace(), Left)
        assert (await bob.hear_of(Progress)).state == "forfeited"


async def test_a_hundred_connections_of_one_player_leave_one(house: House) -> None:
    async with house.guest("Ann") as ann:
        for _ in range(100):
            async with house.client() as newer:
                await newer.hello("Ann", ann.welcome.token)
            assert len(house.players) <= 1
        await trio.sleep(5)
        assert house.connections == []
        assert len(house.players) == 0


# ---- names


async def test_a_player_renames_themselves_in_the_middle_of_a_race_which_keeps_their_name(house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, bob):
        await bob.say(FollowLobby())
        await ann.say(Rename(name=" Anna\x1b[2J ", ref=5))
        await ann.move()
        assert await ann.hear_of(YouAre) == YouAre(player=ann.welcome.player, name="Anna", ref=5)
        await ann.hear_of(PlayerView)
        assert [seat.name for seat in house.only_room.core.race.seats] == ["Ann", "Bob"]
        while (await bob.hear_of(Lobby)).players != ("Anna", "Bob"):
            pass
        await ann.ask(LeaveRace(), Left)
        record = (await bob.hear_of(Result)).record
        assert [seat.name for seat in record.seats] == ["Ann", "Bob"]
        assert [seat.name for seat in (await ann.open()).seats] == ["Anna", None]


async def test_by_their_token_a_player_is_asked_for_and_renamed_and_nothing_is_taken_over(house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, bob), house.client() as other:
        player, token = ann.welcome.player, ann.welcome.token
        await other.say(WhoAmI(token=token, ref=1))
        assert await other.hear() == YouAre(player=player, name="Ann", ref=1)
        await other.say(Rename(name="Anna", token=token, ref=2))
        await other.say(WhoAmI(token=token, ref=3))
        assert [await other.hear(), await other.hear()] == [YouAre(player=player, name="Anna", ref=ref) for ref in (2, 3)]
        assert await ann.hear() == YouAre(player=player, name="Anna", ref=0)
        await ann.play()
        assert isinstance(await bob.hear(), Progress)
        assert [name.name for name in house.players.here()] == ["Anna", "Bob"]


async def test_a_hello_may_follow_the_question_who_one_is(house: House) -> None:
    async with house.client() as first, house.client() as ann:
        token = (await first.hello("Ann")).token
        await ann.say(WhoAmI(token=token))
        await ann.say(Hello(name="Ann", token=token))
        await ann.say(WhoAmI(ref=2))
        assert [type(await ann.hear()) for _ in range(3)] == [YouAre, Welcome, YouAre]


@pytest.mark.parametrize("greeted", [False, True])
@pytest.mark.parametrize(
    ("request_", "code", "path"),
    [
        (Rename(name="bob", token="TOKEN", ref=4), ErrorCode.NAME_TAKEN, "$.name"),
        (Rename(name="\u202e", token="TOKEN", ref=4), ErrorCode.BAD_NAME, "$.name"),
        (Rename(name="Anna", token="0" * 32, ref=4), ErrorCode.UNKNOWN_TOKEN, "$.token"),
        (WhoAmI(token="", ref=4), ErrorCode.UNKNOWN_TOKEN, "$.token"),
    ],
)
async def test_what_cannot_be_renamed_stays_as_it_is_and_the_connection_too(
    house: House, greeted: bool, request_: Rename | WhoAmI, code: ErrorCode, path: str
) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob"), house.client() as other:
        asking = ann if greeted else other
        error = await asking.error_for(replace(request_, token=ann.welcome.token) if request_.token == "TOKEN" else request_)
        assert (error.code, error.path, error.ref) == (code, path, 4)
        assert (await asking.ask(WhoAmI(token=ann.welcome.token), YouAre)).name == "Ann"


@pytest.mark.parametrize("request_", [WhoAmI(ref=3), Rename(name="Anna", ref=3)])
async def test_whoever_is_nobody_has_no_name_to_ask_for_or_change(house: House, request_: Rename | WhoAmI) -> None:
    async with house.client() as eve:
        await eve.say(request_)
        assert await eve.refusal() == (ErrorCode.HELLO_FIRST, 3)
        assert (await eve.hello("Eve")).name == "Eve"


async def test_whoever_only_asks_is_not_waited_for_longer_than_anybody(house: House) -> None:
    async with house.guest("Ann") as ann, house.client() as other:
        began = trio.current_time()
        await other.say(WhoAmI(token=ann.welcome.token))
        assert (await other.hear_end())[0] == CloseCode.HELLO_TIMEOUT
        assert trio.current_time() - began == pytest.approx(10, abs=1)
        assert [name.name for name in house.players.here()] == ["Ann"]


async def test_whoever_has_asked_for_a_name_and_gone_has_it_and_their_other_connection_is_told(house: House) -> None:
    async with house.guest("Ann") as ann:
        async with house.client() as other:
            await other.say(Rename(name="Anna", token=ann.welcome.token))
            await wait_all_tasks_blocked()
            await trio.aclose_forcefully(other.line.stream)
        assert (await ann.hear_of(YouAre)).name == "Anna"


async def test_whoever_leaves_a_rated_race_hears_who_won_it_and_their_rating_and_who_stays_hears_it_in_the_room(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob, house.guest("Eve") as eve:
        room = await ann.open(countdown_s=1)
        await bob.join(room.code)
        for client in (ann, bob):
            await client.ready()
        for client in (ann, bob):
            await client.hear_of(Started)
        await bob.play()
        await ann.play()
        await ann.ask(LeaveRace(), Left)
        # Where she is by then makes no difference.
        await ann.open(seats=1)
        told = await ann.hear_of(Rated)
        record = (await bob.hear_of(Result)).record
        assert (told.code, told.race, told.won) == (room.code, record.id, ("Bob",))
        while not isinstance(heard := await bob.hear(), Ratings):
            assert not isinstance(heard, Rated)
        assert heard.seats == (told.rating, SeatRating(before=1000, after=1138))
        lobby = await ann.ask(FollowLobby(), Lobby)
        assert dict(zip(lobby.players, lobby.ratings, strict=True)) == {"Ann": told.rating.after, "Bob": 1138, "Eve": None}
        for client in (bob, eve):
            await client.say(Say(text="anything else?", code=room.code))
            assert not isinstance(await client.hear(), Rated)


async def test_what_is_said_just_before_closing_is_still_heard(house: House) -> None:
    async with house.guest("Ann") as ann:
        room = await ann.open(seats=3)
        async with house.guest("Bob") as bob:
            await bob.join(room.code)
            await ann.hear_of(Seated)
            await bob.say(LeaveRace())
        await wait_all_tasks_blocked()
        assert house.only_room.core.race.seats[1].player is None


# ---- the lobby over the wire


async def test_followers_of_the_lobby_hear_of_races_until_they_stop(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        assert (await ann.ask(FollowLobby(), Lobby)).players == ("Ann", "Bob")
        room = await bob.open(seats=3)
        lobby = await ann.hear_of(Lobby)
        while not lobby.races:
            lobby = await ann.hear_of(Lobby)
        assert [(race.code, race.names, race.seats) for race in lobby.races] == [(room.code, ("Bob",), 3)]
        await ann.say(FollowLobby(follow=False))
        await bob.ask(LeaveRace(), Left)
        await trio.sleep(2)
        await ann.say(Say(text="still there?"))
        assert isinstance(await ann.hear(), Error)


# ---- the end of the server


async def test_a_stopping_server_tells_everybody_and_closes_with_1001() -> None:
    async with trio.open_nursery() as nursery:
        heard: list[object] = []

        async def stay(house: House, name: str, ready: trio.Event) -> None:
            async with house.guest(name) as client:
                await client.open(seats=2)
                ready.set()
                heard.append((await client.hear_end(), client.heard[-1]))

        async with open_house() as house:
            for number in range(5):
                ready = trio.Event()
                nursery.start_soon(stay, house, f"Ann {number}", ready)
                await ready.wait()
            codes = [room.code for room in house.rooms]
    ended = [((1001, "the server is stopping"), Left(code=code, reason="closed")) for code in codes]
    assert sorted(heard, key=str) == sorted(ended, key=str)


async def test_while_the_server_stops_no_race_is_opened(house: House) -> None:
    async with house.guest("Ann") as ann:
        await house.rooms.stop()
        assert (await ann.error_for(OpenRace(options=RaceOptions()))).code == ErrorCode.SERVER_STOPPING


async def test_a_peer_that_never_reads_cannot_keep_the_server_from_stopping() -> None:
    async with trio.open_nursery() as nursery:
        async with open_house() as house:
            line = house.listener.dial(buffer=2048)
            await line.send_all(request_bytes())
            await wait_all_tasks_blocked()
            (end,) = house.connections
            for number in range(1000):
                end.post(Outgoing(Said(version=number, line=ChatLine(seat=0, name="Ann", text="x" * 200))))
            began = trio.current_time()
        assert trio.current_time() - began <= 10
        await line.aclose()
        nursery.cancel_scope.cancel()
