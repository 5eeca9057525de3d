"""What a host can do: whatever they end is ended with its reason and does not count, and a banned player stays out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
import trio
from trio.testing import MockClock

from protocol import HOME_VARIABLE
from protocol.client_messages import Hello, LeaveRace, OpenRace, QuickMatch, Rematch, Resign, WhoAmI
from protocol.errors import CloseCode, ErrorCode, Fault
from protocol.room_events import PlayerView, Result
from protocol.run_messages import ListChallenges
from protocol.server_messages import Error, Left, WaitingMatch, WaitingOver, Welcome, YouAre
from protocol.tournament_messages import (
    CreateTournament,
    Decided,
    EndTournament,
    EnterTournament,
    FollowTournament,
    StartTournament,
    Tournament,
)
from protocol.tournaments import TournamentOptions
from protocol.views import RaceOptions
from server.admin.administration import LATER, LATER_ENDED, Administration
from server.admin.listener import administered
from server.admin.messages import ROWS_AT_ONCE, Answer, Question
from server.app import _administer, _spread_words
from server.cluster.bus import Bus, node_channel
from server.cluster.node import ClusterNode
from server.config import Settings
from server.lobby.bans import Bans
from server.net.connection import Caller
from server.net.connection_limits import Ticket
from server.net.forwarding import Forwarding
from server.net.hub import TICK_S
from server.rooms.requests import CallOff
from server.store.errors import EntryRefused, StoreBusy
from server.store.memory import MemoryStore
from server.store.port import BanKind, Entry, Request
from server.tournaments.documents import state_of
from tests.server.cluster.fake_redis import FakeRedis
from tests.server.net.test_relay import FakeNode, FakePlace
from tests.server.net.wire import Client, House, open_house

REASON = "the server moves"
OPTIONS = TournamentOptions(name="Open", check_in_s=0, pause_s=0, countdown_s=1, rated=False, fill=2)


@asynccontextmanager
async def hosted(store: MemoryStore | None = None) -> AsyncIterator[tuple[House, Administration]]:
    async with open_house(store=store) as house:
        yield house, host_of(house)


def host_of(house: House) -> Administration:
    return Administration(
        rooms=house.rooms,
        players=house.players,
        matchmaker=house.matchmaker,
        tournaments=house.tournaments,
        dispatch=house.dispatch,
        bans=house.bans,
        journal=house.journal,
    )


async def done(host: Administration, question: Question) -> str:
    answer = await host.answer(question)
    assert answer.error is None, answer.error
    return answer.done


async def wrong(host: Administration, question: Question) -> str:
    answer = await host.answer(question)
    assert answer.error is not None
    return answer.error


def seen(answer: Answer, *keys: str) -> list[tuple[object, ...]]:
    return [tuple(row[key] for key in keys) for row in answer.rows]


async def hear_reason(clients: Iterable[Client], code: ErrorCode) -> None:
    for client in clients:
        error = await client.error()
        assert (error.code, error.ref) == (code, 0)
        assert error.message.endswith(f"({REASON})")


async def test_a_race_that_is_ended_is_told_with_its_reason_and_is_not_rated(autojump_clock: MockClock) -> None:
    async with hosted() as (house, host), house.race("Ann", "Bob") as (ann, bob):
        for client in (ann, bob):
            await client.move()
            # A move that came after the end would have an answer of its own.
            await client.hear_of(PlayerView)
        room = house.only_room
        listed = await host.answer(Question(noun="rooms", verb="list"))
        assert seen(listed, "code", "phase", "players", "rated") == [(room.code, "racing", "Ann, Bob", True)]
        async with house.guest("Eve") as eve:
            # As it was opened, not as it was asked for: with a bot nothing counts.
            await eve.open(bots=("random",), rated=True)
            listed = await host.answer(Question(noun="rooms", verb="list"))
            assert seen(listed, "players", "rated")[-1] == ("Eve, random", False)
            await eve.ask(LeaveRace(), Left)
        assert await done(host, Question(noun="rooms", verb="end", target=room.code.lower(), reason=REASON)) == f"ended; reason: {REASON}"
        await hear_reason((ann, bob), ErrorCode.ENDED_BY_HOST)
        for client in (ann, bob):
            assert (await client.hear_of(Left)).reason == "closed"
            (line,) = house.store.history(client.welcome.player, limit=5)
            assert line.aborted == f"the host of the server ended it: {REASON}"
            player = house.store.player(client.welcome.player)
            assert player is not None
            assert player.rating is None
        assert house.store.running().races == ()
        assert (await host.answer(Question(noun="rooms", verb="list"))).rows == ()
        assert await wrong(host, Question(noun="rooms", verb="end", target=room.code)) == f"there is no room {room.code}"


async def test_a_banned_player_is_put_out_with_the_reason_and_their_race_has_no_result(autojump_clock: MockClock) -> None:
    async with hosted() as (house, host), house.race("Ann", "Bob") as (ann, bob):
        told = await done(host, Question(noun="players", verb="ban", target="ann", reason=REASON))
        assert told == f"Ann is banned; connections closed: 1, races ended: 1; reason: {REASON}"
        await hear_reason((bob,), ErrorCode.ENDED_BY_HOST)
        assert (await bob.hear_of(Left)).reason == "closed"
        assert (await ann.hear_end())[0] == CloseCode.BANNED
        assert [error.code for error in ann.heard if isinstance(error, Error)] == [ErrorCode.ENDED_BY_HOST, ErrorCode.BANNED]
        (line,) = house.store.history(ann.welcome.player, limit=5)
        assert line.aborted is not None
        # The one who was not banned can go on.
        await bob.open()


async def test_with_several_servers_a_ban_does_not_say_that_nothing_was_closed_when_the_player_may_be_at_another(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with hosted() as (house, host):
        async with house.guest("Ann"):
            pass
        await trio.sleep(TICK_S)
        monkeypatch.setattr(Forwarding, "others", ("ws://n2.carpet.example",))
        told = await done(host, Question(noun="players", verb="ban", target="ann", reason=REASON))
        elsewhere = "what is at other servers ends in a moment, and is not counted"
        assert told == f"Ann is banned; connections closed here: 0, races ended here: 0; {elsewhere}; reason: {REASON}"


async def test_the_result_of_a_race_that_is_over_stands_when_one_of_its_players_is_banned(autojump_clock: MockClock) -> None:
    async with hosted() as (house, host), house.race("Ann", "Bob") as (ann, bob):
        await ann.say(Resign(race=1, seat=0))
        await bob.hear_of(Result)
        told = await done(host, Question(noun="players", verb="ban", target="ann", reason=REASON))
        assert told == f"Ann is banned; connections closed: 1, races ended: 0; reason: {REASON}"
        assert (await bob.hear_of(Left)).reason == "closed"
        assert not any(isinstance(message, Error) for message in bob.heard)


async def test_a_long_list_leaves_others_their_turns_and_takes_it_well_that_a_race_ends_meanwhile(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1
            rooms.pop().tell(CallOff(also_running=True, by_host=REASON))

    async with open_house(max_rooms=5 * ROWS_AT_ONCE) as house, trio.open_nursery() as nursery:
        host = host_of(house)
        rooms = [house.rooms.open(RaceOptions()) for _ in range(5 * ROWS_AT_ONCE)]
        codes = {room.code for room in rooms}
        with administered(nursery, tmp_path / "admin", host.answer):
            nursery.start_soon(turn)
            async with await trio.open_unix_socket(tmp_path / "admin") as stream:
                await stream.send_all(msgspec.json.encode(Question(noun="rooms", verb="list")) + b"\n")
                received = b"".join([part async for part in stream])
            answer = msgspec.json.decode(received, type=Answer)
            assert answer.error is None
            assert {row["code"] for row in answer.rows} <= codes
            assert len(answer.rows) > 4 * ROWS_AT_ONCE
            assert turns >= 10
            nursery.cancel_scope.cancel()


async def test_nobody_is_put_out_for_another_who_has_taken_their_id_for_a_name(autojump_clock: MockClock) -> None:
    async with hosted() as (house, host), house.guest("Ann") as ann, house.guest(ann.welcome.player) as eve:
        told = await wrong(host, Question(noun="players", verb="ban", target=ann.welcome.player))
        assert told == f"{ann.welcome.player} is the id of Ann and the name of {eve.welcome.player}: name one of these"
        assert (await done(host, Question(noun="players", verb="ban", target=eve.welcome.player))).startswith(ann.welcome.player)
        assert (await eve.hear_end())[0] == CloseCode.BANNED


async def test_a_ban_outlives_the_server_and_holds_however_the_player_comes(autojump_clock: MockClock) -> None:
    store = MemoryStore()
    async with hosted(store) as (house, host):
        async with house.guest("Ann") as ann:
            token = ann.welcome.token
        assert await done(host, Question(noun="players", verb="ban", target=ann.welcome.player, reason=REASON))
    async with hosted(store) as (house, host):
        for hello in (Hello(name="Ann", token=token, ref=7), Hello(name="Ann", token=token, watch=True, ref=7)):
            async with house.client() as again:
                error = await again.error_for(hello)
                assert (error.code, error.fault, error.ref) == (ErrorCode.BANNED, Fault.STATE, 7)
                assert error.message == f"The host of this server has banned you. ({REASON})"
                assert (await again.hear_end())[0] == CloseCode.BANNED
        async with house.guest("Bob") as bob:
            for question in (WhoAmI(token=token), ListChallenges(token=token)):
                assert (await bob.error_for(question)).code == ErrorCode.BANNED
        bans = await host.answer(Question(noun="players", verb="bans"))
        assert seen(bans, "subject", "name", "reason") == [(ann.welcome.player, "Ann", REASON)]
        assert await done(host, Question(noun="players", verb="unban", target="Ann")) == "Ann may come back"
        assert await wrong(host, Question(noun="players", verb="unban", target="Ann")) == "Ann is not banned"
        async with house.client() as again:
            assert (await again.hello("Ann", token)).name == "Ann"


async def test_a_ban_given_at_another_server_of_the_place_holds_here_within_a_second(autojump_clock: MockClock) -> None:
    async with hosted() as (house, host), house.race("Ann", "Bob") as (ann, bob), trio.open_nursery() as nursery:
        elsewhere = Bans(journal=house.journal, clock=house.clock)

        def put_out_elsewhere(kind: BanKind, subject: str, reason: str) -> None:
            raise AssertionError(f"what was given there is no news there: {kind} {subject}, {reason}")

        nursery.start_soon(house.bans.follow, host.put_out)
        nursery.start_soon(elsewhere.follow, put_out_elsewhere)
        await trio.sleep(1)
        with trio.fail_after(1):
            await elsewhere.ban("player", ann.welcome.player, REASON)
            assert (await ann.hear_end())[0] == CloseCode.BANNED
        await hear_reason((bob,), ErrorCode.ENDED_BY_HOST)
        async with house.client() as again:
            assert (await again.error_for(Hello(name="Ann", token=ann.welcome.token))).code == ErrorCode.BANNED
        # At the server that gave it, the other one lifts it.
        assert await done(host, Question(noun="players", verb="unban", target="Ann")) == "Ann may come back"
        await trio.sleep(1)
        elsewhere.check("player", ann.welcome.player)
        nursery.cancel_scope.cancel()


@pytest.fixture
def addresses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From where the next connections come; a pair of sockets has no address."""
    given: list[str] = []
    known: dict[Ticket, str] = {}

    def remote_host(caller: Caller) -> str:
        # The ticket stays the same when a connection that asked for a page becomes a WebSocket.
        if caller._ticket not in known:
            known[caller._ticket] = given.pop(0) if given else ""
        return known[caller._ticket]

    monkeypatch.setattr(Caller, "remote_host", property(remote_host))
    return given


@pytest.mark.usefixtures("both_kinds")
async def test_a_banned_network_is_told_so_and_its_neighbours_come_in(autojump_clock: MockClock, addresses: list[str]) -> None:
    addresses += ["2001:db8:0:1::7", "2001:db8:0:2::7"]
    async with hosted() as (house, host), house.guest("Ann") as ann, house.guest("Bob") as bob:
        told = await done(host, Question(noun="connections", verb="ban", target="2001:db8:0:1::9", reason=REASON))
        assert told == f"2001:db8:0:1::/64 is banned; connections closed: 1, races ended: 0; reason: {REASON}"
        await hear_reason((ann,), ErrorCode.BANNED)
        assert (await ann.hear_end())[0] == CloseCode.BANNED
        await bob.open()
        addresses += ["2001:db8:0:1:ffff::1"]
        async with house.client() as again:
            await hear_reason((again,), ErrorCode.BANNED)
            assert (await again.hear_end())[0] == CloseCode.BANNED
        addresses += ["2001:db8:0:1::8"]
        assert (await house.ask("/races.json")).problem == (403, f"The host of this server has banned you. ({REASON})")
        assert await done(host, Question(noun="connections", verb="unban", target="2001:db8:0:1::/64"))
        addresses += ["2001:db8:0:1::7"]
        async with house.client() as again:
            assert isinstance(await again.hello("Ann"), Welcome)


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("everybody", "'everybody' is no IP address"),
        ("127.0.0.1", "that is this machine: its host, or a proxy that the server has not been told of (--trusted-proxy)"),
        ("10.0.0.0/8", "only an IPv4 address or an IPv6 /64 can be banned, not 10.0.0.0/8; your firewall can keep out a network"),
        ("2001:db8::/32", "only an IPv4 address or an IPv6 /64 can be banned, not 2001:db8::/32; your firewall can keep out a network"),
    ],
)
async def test_what_is_no_address_of_a_client_is_not_banned(autojump_clock: MockClock, target: str, sentence: str) -> None:
    async with hosted() as (_, host):
        assert await wrong(host, Question(noun="connections", verb="ban", target=target)) == sentence


async def test_connections_and_players_are_listed_and_closed_one_by_one(autojump_clock: MockClock) -> None:
    async with hosted() as (house, host), house.guest("Ann") as ann, house.guest("Bob"):
        listed = await host.answer(Question(noun="connections", verb="list"))
        assert [row["player"] for row in listed.rows] == ["Ann", "Bob"]
        number = str(listed.rows[0]["number"])
        assert seen(await host.answer(Question(noun="players", verb="list")), "name", "room") == [("Ann", None), ("Bob", None)]
        assert await done(host, Question(noun="connections", verb="end", target=number)) == "ended; its player may come back"
        assert (await ann.hear_end())[0] == CloseCode.ENDED_BY_HOST
        assert await done(host, Question(noun="players", verb="end", target="Bob")) == "Bob was disconnected, and may come back"
        await trio.sleep(2 * TICK_S)
        assert await wrong(host, Question(noun="players", verb="end", target="Ann")) == "Ann is not here"
        assert await wrong(host, Question(noun="players", verb="ban", target="Eve")) == "there is no player 'Eve'"
        assert await wrong(host, Question(noun="connections", verb="end", target="0")) == "there is no connection 0"
        assert await wrong(host, Question(noun="rooms", verb="ban", target="0")) == "there is no command ban for rooms"


async def test_what_the_host_says_is_heard_by_all_who_have_said_hello_and_changes_nothing(autojump_clock: MockClock) -> None:
    say = Question(noun="connections", verb="say", text="We restart\tat eight.")
    async with hosted() as (house, host), house.race("Ann", "Bob") as (ann, bob), house.client() as eve, house.client():
        await eve.say(Hello(name="", watch=True))
        await eve.hear_of(Welcome)
        assert await done(host, say) == "said to all connections, 3: We restart at eight."
        for client in (ann, bob, eve):
            error = await client.error()
            assert (error.code, error.fault, error.ref) == (ErrorCode.HOST_SAYS, Fault.SERVER, 0)
            assert error.message == "The host of this server has a message for everybody. (We restart at eight.)"
        # Nothing went wrong, so monitoring hears of no error.
        assert house.dispatch.traffic.errors == {}
        await ann.say(Resign(race=1, seat=0))
        await bob.hear_of(Result)
        assert await wrong(host, Question(noun="connections", verb="say", text=" ")) == "there is nothing to say"


async def test_nothing_new_begins_at_a_drained_server_and_what_runs_goes_on_to_its_end(autojump_clock: MockClock) -> None:
    drain = Question(noun="rooms", verb="drain", reason="we update at eight")
    undrain, under_way = Question(noun="rooms", verb="undrain"), Question(noun="rooms", verb="under-way")
    async with hosted() as (house, host), house.race("Ann", "Bob") as (ann, bob), house.guest("Eve") as eve:
        open_race = await eve.open()
        await eve.ask(LeaveRace(), Left)
        assert open_race.phase == "waiting"
        for _ in range(2):
            # The second time there is no news.
            assert await done(host, drain) == "nothing new begins here; reason: we update at eight"
        said = "(No new races or tournaments begin here any more: we update at eight. What runs goes on to its end.)"
        for client in (ann, bob, eve):
            error = await client.error()
            assert (error.code, error.ref, error.message.endswith(said)) == (ErrorCode.HOST_SAYS, 0, True)
        assert not house.rooms.takes_more
        for request in (OpenRace(options=RaceOptions(), ref=4), QuickMatch(ref=4), CreateTournament(options=OPTIONS, ref=4)):
            error = await eve.error_for(request)
            assert (error.code, error.ref) == (ErrorCode.SERVER_STOPPING, 4)
            assert error.message.endswith("(we update at eight)")
        assert seen(await host.answer(under_way), "races", "tournaments") == [(1, 0)]
        await ann.say(Resign(race=1, seat=0))
        await bob.hear_of(Result)
        assert (await bob.error_for(Rematch(race=1))).code == ErrorCode.SERVER_STOPPING
        assert seen(await host.answer(under_way), "races", "tournaments") == [(0, 0)]
        assert await done(host, undrain) == "races and tournaments can begin here again"
        error = await eve.error()
        assert error.message.endswith("(Races and tournaments can begin here again.)")
        await eve.open()
        assert await wrong(host, undrain) == "races and tournaments can begin here"


async def test_who_looks_for_an_opponent_is_told_when_a_server_is_drained(autojump_clock: MockClock) -> None:
    async with hosted() as (house, host), house.guest("Ann") as ann, house.guest("Bob") as bob:
        await ann.ask(QuickMatch(rules="carpet", ref=4), WaitingMatch)
        await bob.ask(QuickMatch(rules="colorado", ref=5), WaitingMatch)
        assert await done(host, Question(noun="rooms", verb="drain", reason="we update")) == "nothing new begins here; reason: we update"
        for client, ref in ((ann, 4), (bob, 5)):
            error = await client.error()
            assert (error.code, error.ref) == (ErrorCode.SERVER_STOPPING, ref)
            assert (await client.hear_of(WaitingOver)).reason == "failed"
        assert len(house.matchmaker) == 0


async def test_a_tournament_is_under_way_from_its_check_in_to_its_end(autojump_clock: MockClock) -> None:
    under_way = Question(noun="rooms", verb="under-way")
    async with hosted() as (house, host), house.guest("Ann") as ann:
        made = (await ann.ask(CreateTournament(options=msgspec.structs.replace(OPTIONS, check_in_s=60)), Decided)).id
        counts = [seen(await host.answer(under_way), "tournaments")]
        assert (await done(host, Question(noun="rooms", verb="drain"))) == "nothing new begins here"
        await ann.ask(EnterTournament(id=made), Decided)
        await ann.ask(StartTournament(id=made), Decided)
        counts.append(seen(await host.answer(under_way), "tournaments"))
        await ann.ask(EndTournament(id=made), Decided)
        counts.append(seen(await host.answer(under_way), "tournaments"))
        assert counts == [[(0,)], [(1,)], [(0,)]]


async def test_what_the_host_says_and_a_new_name_are_heard_at_all_servers_of_a_place_once(autojump_clock: MockClock) -> None:
    say = Question(noun="connections", verb="say", text="Lunch")
    store, engine, place = MemoryStore(), FakeRedis(), FakePlace(gone={3})
    async with trio.open_nursery() as nursery, hosted(store) as (house, host), hosted(store) as (other, far):
        buses = {1: Bus("test"), 2: Bus("test")}
        for (number, bus), each, administration in zip(buses.items(), (house, other), (host, far), strict=True):
            node = cast(ClusterNode, FakeNode(number, place))
            _spread_words(nursery, node, bus, administration, each.dispatch.identification)
        assert await done(host, say) == "said to all connections here, 0, but the other servers cannot be told just now: Lunch"
        for number, bus in buses.items():
            nursery.start_soon(bus.serve, cast(Any, engine), node_channel(number))
        async with house.guest("Ann") as ann, other.guest("Rude") as bob:
            assert await done(host, say) == "said to all connections here, 1, and at 1 other server: Lunch"
            for client in (ann, bob):
                assert (await client.error()).message.endswith("(Lunch)")
            assert await done(host, Question(noun="players", verb="rename", target="Rude", text="Bob")) == "Rude is now called Bob"
            assert await bob.hear_of(YouAre) == YouAre(player=bob.welcome.player, name="Bob", ref=0)
            assert seen(await far.answer(Question(noun="players", verb="list")), "name") == [("Bob",)]
            for client in (ann, bob):
                # All that was said has been heard, and nothing twice.
                await client.say(WhoAmI(ref=5))
                assert (await client.hear_of(YouAre)).ref == 5
                assert len([each for each in client.heard if isinstance(each, Error)]) == 1
        nursery.cancel_scope.cancel()


async def test_a_renamed_player_is_told_wherever_they_are_connected_and_keeps_the_name(autojump_clock: MockClock) -> None:
    async with hosted() as (house, host), house.guest("Rude") as ann, house.guest("Bob"):
        assert ann.welcome is not None
        assert await done(host, Question(noun="players", verb="rename", target="rude", text="Anne")) == "Rude is now called Anne"
        assert (await ann.hear_of(YouAre)).name == "Anne"
        assert seen(await host.answer(Question(noun="players", verb="list")), "name") == [("Anne",), ("Bob",)]
        assert await wrong(host, Question(noun="players", verb="rename", target="Anne", text="bob")) == (
            "Another player has that name; choose another."
        )
    player = house.store.player(ann.welcome.player)
    assert player is not None
    assert player.name == "Anne"


async def tournament(client: Client) -> str:
    made = (await client.ask(CreateTournament(options=OPTIONS), Decided)).id
    await client.ask(FollowTournament(id=made), Tournament)
    return made


async def test_a_tournament_is_ended_for_all_who_follow_it_and_removed_without_a_trace(autojump_clock: MockClock) -> None:
    async with hosted() as (house, host), house.guest("Ann") as ann:
        first = await tournament(ann)
        listed = await host.answer(Question(noun="tournaments", verb="list"))
        assert seen(listed, "id", "director", "phase") == [(first, "Ann", "registration")]
        assert await done(host, Question(noun="tournaments", verb="end", target=first, reason=REASON))
        told = await ann.hear_of(Tournament)
        assert (told.phase, told.log[-1].author, told.log[-1].reason) == ("ended", "", f"by the host of the server: {REASON}")
        assert await wrong(host, Question(noun="tournaments", verb="end", target=first)) == "it is ended already"
        second = await tournament(ann)
        assert await done(host, Question(noun="tournaments", verb="remove", target=second)) == "removed"
        assert (await ann.hear_of(Tournament)).phase == "ended"
        assert house.store.tournament(second) is None
        listed = await host.answer(Question(noun="tournaments", verb="list"))
        assert seen(listed, "id") == [(first,)]
        for verb in ("end", "remove"):
            question = Question(noun="tournaments", verb="end" if verb == "end" else "remove", target=second)
            assert await wrong(host, question) == f"there is no tournament {second}"


async def test_a_director_who_cannot_come_back_is_replaced_for_all_who_follow_it(autojump_clock: MockClock) -> None:
    async with hosted() as (house, host), house.guest("Ann") as ann, house.guest("Bob") as bob:
        made = await tournament(ann)
        assert await wrong(host, Question(noun="tournaments", verb="director", target=made, text="Eve")) == "there is no player 'Eve'"
        to_bob = Question(noun="tournaments", verb="director", target=made.lower(), text="bob")
        assert await done(host, to_bob) == "Bob directs it now"
        told = await ann.hear_of(Tournament)
        assert (told.director, told.director_name, told.log[-1].text) == (bob.welcome.player, "Bob", "Bob directs it from now on.")
        assert await wrong(host, to_bob) == "Bob directs it already"
        assert (await ann.ask(EndTournament(id=made), Error)).code == "tournament/not-the-director"
        await bob.ask(EndTournament(id=made), Decided)
        again = Question(noun="tournaments", verb="director", target=made, text="Ann")
        assert await wrong(host, again) == "the tournament is called off"
        (kept,) = [state for state in map(house.store.tournament, [made]) if state is not None]
        state = state_of(kept, house.store.tournament_log(made))
        assert (state.director, state.director_name, state.stage) == (bob.welcome.player, "Bob", "ended")


async def test_a_race_is_said_to_be_ended_only_once_that_is_stored(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def busy(requests: Sequence[Request]) -> tuple[EntryRefused | None, ...]:
        raise StoreBusy("the disk is full")

    async with hosted() as (house, host), house.race("Ann", "Bob"):
        code = house.only_room.code
        with monkeypatch.context() as outage:
            outage.setattr(house.store, "write", busy)
            assert (await wrong(host, Question(noun="rooms", verb="end", target=code))).endswith(LATER)
        assert f"the host: rooms end {code}: not done yet" in caplog.text
        await trio.sleep(60)
        assert not house.rooms.has(code)
        assert house.store.running().races == ()


async def test_a_removal_that_has_to_wait_for_the_disk_says_what_is_done_later_and_can_be_asked_for_again(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with hosted() as (house, host), house.guest("Ann") as ann:
        made = await tournament(ann)
        remove = Question(noun="tournaments", verb="remove", target=made, reason=REASON)
        write, full = house.journal.write, trio.Event()

        async def wait_then_write(*entries: Entry) -> None:
            await full.wait()
            await write(*entries)

        monkeypatch.setattr(house.journal, "write", wait_then_write)
        assert (await wrong(host, remove)).endswith(LATER_ENDED)
        full.set()
        while (await ann.hear_of(Tournament)).phase != "ended":
            pass
        assert house.store.tournament(made) is not None

        async def write_and_never_say_so(*entries: Entry) -> None:
            await write(*entries)
            await trio.sleep_forever()

        monkeypatch.setattr(house.journal, "write", write_and_never_say_so)
        await wrong(host, remove)
        assert house.store.tournament(made) is None
        monkeypatch.setattr(house.journal, "write", write)
        assert await done(host, remove) == f"removed; reason: {REASON}"
        assert seen(await host.answer(Question(noun="tournaments", verb="list")), "id") == []


async def test_the_usual_folder_of_commands_is_made_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database is somewhere else."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "new"))
    settings = Settings(database="postgresql://nowhere.invalid/carpet")
    async with hosted() as (_, host), trio.open_nursery() as nursery:
        with ExitStack() as stack:
            _administer(stack, nursery, settings, host)
            assert settings.administered_at is not None
            assert settings.administered_at.is_socket()
            assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
