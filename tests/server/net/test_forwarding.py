"""A node of a cluster: it sends clients on to the node that has their room, and sends everybody away when it loses its lease."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import msgspec
import pytest
import trio
from websockets.exceptions import ConnectionClosed

from protocol.client_messages import Hello, JoinRace, OpenRace, QuickMatch, WhoAmI
from protocol.errors import CloseCode, ErrorCode, Refusal
from protocol.room_events import Room
from protocol.run_messages import PlayOn, RunChallenge, RunDaily
from protocol.server_messages import Error, Left, Moved, Nodes, WaitingMatch, WaitingOver, Welcome, YouAre
from protocol.tournament_messages import CreateTournament, Decided
from protocol.tournaments import TournamentOptions
from protocol.views import RaceOptions
from protocol.watch_messages import WatchRace
from server.cluster.loads import Load, Loads
from server.cluster.node import ClusterNode
from server.net.forwarding import ASK_AGAIN_S, SEAT_S, SETTLES_S
from server.race.shared_deal_spec import SharedDealSpec
from server.rooms.ready_timeout import MATCH_READY_S
from server.runs.dailies import daily_options
from server.store.nodes import Node
from tests.server.net.wire import House
from tests.server.store.keeping import opened

OTHERS = ("wss://n2.carpet.example", "wss://n3.carpet.example")


class FakeNode:
    """A cluster in which the room FARAWY is on another node. asked: codes that were looked for. taken: rooms that others have by now."""

    others = OTHERS
    url = "wss://n1.carpet.example"
    id = 1
    answering: tuple[int, ...] = (1,)

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.taken: dict[str, str] = {}
        self.loads = Loads(lambda: Load(self.id, 0, 0, takes=True, writes=True))

    async def heirs(self, codes: set[str]) -> dict[str, str]:
        await trio.lowlevel.checkpoint()
        return {code: url for code, url in self.taken.items() if code in codes}

    def url_of(self, number: int) -> str | None:
        return OTHERS[number - 2] if number != self.id else None

    async def owner(self, code: str, is_here: Callable[[], bool]) -> Node | None:
        await trio.lowlevel.checkpoint()
        self.asked.append(code)
        if code == "FARAWY":
            return Node(2, OTHERS[0], 1, 99_000, 5_000)
        if is_here():
            return None
        raise Refusal(ErrorCode.NO_SUCH_ROOM)


@pytest.fixture
def node(house: House) -> FakeNode:
    node = FakeNode()
    house.dispatch.forwarding._node = cast(ClusterNode, node)
    return node


@pytest.fixture
def seats(house: House) -> dict[str, str]:
    """What the directory says of seats at other nodes, by player."""
    seats: dict[str, str] = {}

    async def claim_seat(player: str) -> str | None:
        await trio.lowlevel.checkpoint()
        return seats.get(player)

    house.dispatch.identification._announce = house.dispatch.forwarding._claim_seat = claim_seat
    return seats


@pytest.mark.parametrize("request_", [JoinRace(code="farawy", ref=3), WatchRace(code="FAR-AWY", ref=3)])
async def test_whoever_asks_for_a_room_of_another_node_is_told_where_it_is(
    house: House, node: FakeNode, request_: JoinRace | WatchRace
) -> None:
    async with house.client() as ann:
        welcome = await ann.hello("Ann")
        assert welcome.nodes == OTHERS
        await ann.say(request_)
        assert await ann.hear() == Moved(url=OTHERS[0], code="FARAWY", ref=3)
        error = await ann.hear()
        assert isinstance(error, Error)
        assert (error.code, error.ref) == (ErrorCode.ELSEWHERE, 3)
        assert OTHERS[0] in error.message


async def test_a_node_that_is_the_only_one_just_now_says_that_there_may_be_several(house: House, node: FakeNode) -> None:
    node.others = ()  # type: ignore[assignment]
    async with house.client() as ann:
        assert (await ann.hello("Ann")).nodes == (node.url,)


async def test_players_and_watchers_are_told_of_a_node_that_has_come_since_their_welcome(
    house: House, node: FakeNode, nursery: trio.Nursery
) -> None:
    node.others = ()  # type: ignore[assignment]
    nursery.start_soon(house.dispatch.forwarding.tell_nodes)
    async with house.client() as ann, house.client() as bob, house.client() as nobody:
        await ann.hello("Ann")
        await bob.ask(Hello(name="Bob", token=None, watch=True), Welcome)
        for others in (OTHERS[:1], OTHERS, ()):
            node.others = others  # type: ignore[assignment]
            for each in (ann, bob):
                assert await each.hear() == Nodes(nodes=others or (node.url,))
        # Who has not said who they are is told of nobody.
        assert (await nobody.hello("Cleo")).nodes == (node.url,)
    nursery.cancel_scope.cancel()


async def test_rooms_of_ones_own_and_codes_that_nobody_has_are_answered_as_ever(house: House, node: FakeNode) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        room = await ann.open()
        for code in ("NBDYSC", "NOBODY", "\x1b[2J\n\0"):
            await bob.say(JoinRace(code=code, ref=1))
            error = await bob.hear()
            assert isinstance(error, Error)
            assert (error.code, error.ref) == (ErrorCode.NO_SUCH_ROOM, 1)
        # What has not the form of a code gets neither into the database nor into the log.
        assert node.asked == ["NBDYSC"]
        await bob.say(JoinRace(code=room.code, ref=2))
        assert isinstance(await bob.hear(), Room)


async def test_a_node_without_its_lease_lets_everybody_go_and_nobody_in(house: House, node: FakeNode) -> None:
    async with house.guest("Ann") as ann:
        house.dispatch.forwarding.let_go()
        with pytest.raises(ConnectionClosed) as closed:
            await ann.hear()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == CloseCode.LET_GO
    async with house.client() as bob:
        with pytest.raises(ConnectionClosed) as closed:
            await bob.hello("Bob")
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == CloseCode.LET_GO


async def test_a_node_that_is_cut_off_sends_everybody_away_until_it_no_longer_is(house: House, node: FakeNode) -> None:
    async with house.guest("Ann") as ann:
        room = await ann.open()
        house.dispatch.forwarding.cut_off(True)
        with pytest.raises(ConnectionClosed) as closed:
            await ann.hear()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == CloseCode.LET_GO
    async with house.client() as bob:
        with pytest.raises(ConnectionClosed):
            await bob.hello("Bob")
    house.dispatch.forwarding.cut_off(False)
    async with house.guest("Bob") as bob:
        await bob.say(JoinRace(code=room.code))
        assert isinstance(await bob.hear(), Room)


async def test_a_node_that_goes_tells_everybody_who_has_their_race_as_soon_as_it_is_taken_and_hears_nothing_more(
    house: House, node: FakeNode
) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob, house.guest("Cleo") as cleo, house.client() as late:
        taken, lost = await ann.open(), await bob.open()
        house.dispatch.forwarding.begin_to_leave()
        # What is said now is said again elsewhere.
        await ann.say(OpenRace(options=RaceOptions(), ref=3))
        with pytest.raises(ConnectionClosed):
            await late.hello("Dan")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(house.dispatch.forwarding.send_away)
            assert await cleo.hear() == Moved(url=OTHERS[0], code=None, ref=0)
            await trio.sleep(0.3)
            node.taken[taken.code] = OTHERS[1]
            assert await ann.hear() == Moved(url=OTHERS[1], code=taken.code, ref=0)
            before = trio.current_time()
            # Nobody takes it, and there is no more time.
            assert await bob.hear() == Moved(url=OTHERS[0], code=lost.code, ref=0)
            assert 1.5 < trio.current_time() - before < 2


@pytest.mark.parametrize(
    "request_", [OpenRace(options=RaceOptions(), ref=3), QuickMatch(ref=3), RunDaily(rules="carpet", ref=3), JoinRace(code="here", ref=3)]
)
async def test_whoever_has_a_seat_at_another_node_gets_none_here_until_they_have_left_it(
    house: House, node: FakeNode, seats: dict[str, str], request_: OpenRace | QuickMatch | RunDaily | JoinRace
) -> None:
    async with house.guest("Bob") as bob, house.client() as ann:
        room = await bob.open()
        if isinstance(request_, JoinRace):
            request_ = JoinRace(code=room.code, ref=3)
        welcome = await ann.hello("Ann")
        seats[welcome.player] = "FARAWY"
        async with house.client() as again:
            assert (await again.hello("Ann", welcome.token)).room == "FARAWY"
            came_at = trio.current_time()
            for _ in range(3):
                error = await again.error_for(request_)
                assert (error.code, error.ref) == (ErrorCode.ALREADY_IN_ROOM, 3)
                assert "FARAWY" in error.message
            assert SEAT_S <= trio.current_time() - came_at < SEAT_S + ASK_AGAIN_S, "what is certain is not waited for again"
            del seats[welcome.player]
            await again.say(request_)
            assert not isinstance(await again.hear(), Error)


async def test_a_seat_at_another_node_that_was_told_only_after_their_hello_is_one_too(
    house: House, node: FakeNode, seats: dict[str, str]
) -> None:
    async with house.client() as ann:
        welcome = await ann.hello("Ann")
        assert welcome.room is None
        seats[welcome.player] = "FARAWY"
        assert (await ann.error_for(OpenRace(options=RaceOptions()))).code == ErrorCode.ALREADY_IN_ROOM
        assert len(house.rooms) == 0


@pytest.mark.parametrize("seat", ["FARAWY", ""])
async def test_a_seat_that_was_left_just_before_or_claimed_and_not_taken_is_waited_for_and_then_in_nobodys_way(
    house: House, node: FakeNode, seats: dict[str, str], seat: str
) -> None:
    async with house.client() as ann:
        welcome = await ann.hello("Ann")
        await trio.sleep(0 if seat else 60)
        seats[welcome.player] = seat
        await ann.say(OpenRace(options=RaceOptions(), ref=3))
        with trio.move_on_after(SEAT_S / 2):
            raise AssertionError(await ann.hear())
        if seat:
            del seats[welcome.player]
        assert (await ann.hear_of(Room)).ref == 3
        assert not any(isinstance(message, Error) for message in ann.heard)


@pytest.mark.parametrize("request_", [OpenRace(options=RaceOptions(), ref=3), QuickMatch(ref=3), RunDaily(ref=3)])
async def test_a_connection_that_is_shut_while_a_seat_is_looked_up_gets_none(
    house: House, node: FakeNode, request_: OpenRace | QuickMatch | RunDaily
) -> None:
    answered = trio.Event()

    async def claim_seat(player: str) -> str | None:
        await answered.wait()
        return None

    house.dispatch.forwarding._claim_seat = claim_seat
    async with house.client() as ann, house.client() as again:
        welcome = await ann.hello("Ann")
        await ann.say(request_)
        await trio.sleep(ASK_AGAIN_S)
        assert (await again.hello("Ann", welcome.token)).room is None
        answered.set()
        await trio.sleep(0.01)
        assert (len(house.rooms), house.dispatch._matchmaker.seeks(welcome.player)) == (0, False)
        assert (await again.open()).seat == 0


@pytest.mark.parametrize("request_", [OpenRace(options=RaceOptions(), ref=3), QuickMatch(ref=3)])
async def test_nothing_begins_where_the_host_has_come_to_want_that_while_a_seat_is_looked_up(
    house: House, node: FakeNode, seats: dict[str, str], request_: OpenRace | QuickMatch
) -> None:
    async with house.client() as ann:
        seats[(await ann.hello("Ann")).player] = ""
        await ann.say(request_)
        await trio.sleep(ASK_AGAIN_S / 2)
        house.rooms.draining = "we update"
        seats.clear()
        error = await ann.hear_of(Error)
        assert (error.code, error.ref, len(house.rooms)) == (ErrorCode.SERVER_STOPPING, 3, 0)


@pytest.mark.parametrize("is_run", [True, False])
async def test_whoever_has_a_seat_here_comes_back_to_it_whatever_seat_they_have_at_another_node(
    house: House, node: FakeNode, seats: dict[str, str], is_run: bool
) -> None:
    async with house.client() as ann, house.client() as again:
        welcome = await ann.hello("Ann")
        room = await ann.ask(RunDaily(), Room) if is_run else await ann.open()
        seats[welcome.player] = "FARAWY"
        await again.hello("Ann", welcome.token)
        assert (await again.ask(RunDaily() if is_run else JoinRace(code=room.code), Room)).code == room.code


@pytest.mark.parametrize(
    "request_",
    [OpenRace(options=RaceOptions(), ref=3), RunDaily(ref=3), RunChallenge(id="ABCDEF", ref=3), PlayOn(race="r", seat=0, ply=1, ref=3)],
)
async def test_whoever_opens_a_race_at_a_node_that_is_much_busier_or_too_busy_is_sent_to_another_and_others_stay(
    house: House, node: FakeNode, request_: OpenRace | RunDaily | RunChallenge | PlayOn
) -> None:
    here, there = Load(1, 100, 0, takes=True, writes=True), Load(2, 10, 0, takes=True, writes=True)
    node.loads = loads = Loads(lambda: here)
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        room = await bob.open()
        loads.hear([msgspec.msgpack.encode(there)])
        assert (await bob.error_for(OpenRace(options=RaceOptions(), ref=2))).code == ErrorCode.ALREADY_IN_ROOM, "they have a race here"
        for busy in (False, True):
            if busy:
                here = Load(1, 0, 0, takes=False, writes=True)
                house.overload.note(1.0, trio.current_time())
            await ann.say(request_)
            assert await ann.hear() == Moved(url=OTHERS[0], code=None, ref=3)
            error = await ann.hear()
            assert isinstance(error, Error)
            assert (error.code, error.ref) == (ErrorCode.ELSEWHERE, 3)
        assert [each.code for each in house.rooms] == [room.code]
        # Nobody else has less to do, or can be heard.
        loads.hear([])
        house.overload.note(1.0, trio.current_time())
        assert (await ann.error_for(request_)).code == ErrorCode.SERVER_BUSY


async def test_whoever_has_a_run_here_goes_on_with_it_however_busy_this_node_is(house: House, node: FakeNode) -> None:
    node.loads = loads = Loads(lambda: Load(1, 100, 0, takes=True, writes=True))
    async with house.guest("Ann") as ann:
        room = await ann.ask(RunDaily(ref=1), Room)
        loads.hear([msgspec.msgpack.encode(Load(2, 10, 0, takes=True, writes=True))])
        assert (await ann.ask(RunDaily(ref=2), Room)).code == room.code


async def test_whoever_asks_for_a_run_that_they_have_at_another_node_is_sent_there(house: House, node: FakeNode) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        spec = house.rooms.find((await bob.ask(RunDaily(ref=1), Room)).code).spec
        assert spec is not None
        run = replace(opened("r", options=daily_options("carpet")), room="FARAWY")
        (player,) = (each.id for each in house.players.here() if each.name == "Ann")
        await house.journal.write(replace(run, spec=SharedDealSpec(deal=spec.deal, invited=(player,))))
        await ann.say(RunDaily(ref=2))
        await ann.say(WhoAmI(ref=3))
        assert await ann.hear() == Moved(url=OTHERS[0], code="FARAWY", ref=2)
        assert (await ann.error()).code == ErrorCode.ELSEWHERE
        # What was said meanwhile is heard after it.
        assert isinstance(await ann.hear(), YouAre)


@pytest.mark.parametrize("seat", ["FARAWY", "OTHERS"])
async def test_a_seat_in_the_very_run_that_is_asked_for_is_no_reason_to_refuse_it(house: House, node: FakeNode, seat: str) -> None:
    async def seat_elsewhere(player: str) -> str | None:
        await trio.lowlevel.checkpoint()
        return seat

    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        player, token = ann.welcome.player, ann.welcome.token
        spec = house.rooms.find((await bob.ask(RunDaily(ref=1), Room)).code).spec
        assert spec is not None
        run = replace(opened("r", options=daily_options("carpet")), room="FARAWY")
        await house.journal.write(replace(run, spec=SharedDealSpec(deal=spec.deal, invited=(player,))))
    house.dispatch.identification._announce = house.dispatch.forwarding._claim_seat = seat_elsewhere
    async with house.client() as again:
        await again.hello("Ann", token)
        await again.say(RunDaily(ref=2))
        if seat == "FARAWY":
            assert await again.hear() == Moved(url=OTHERS[0], code="FARAWY", ref=2)
        error = await again.error()
        assert error.code == (ErrorCode.ELSEWHERE if seat == "FARAWY" else ErrorCode.ALREADY_IN_ROOM)
        assert error.ref == 2


async def test_whoever_looks_for_an_opponent_waits_where_all_do_and_follows_when_that_is_another_node(
    house: House, node: FakeNode, nursery: trio.Nursery
) -> None:
    node.id = 4
    node.answering = (4,)
    forwarding = house.dispatch.forwarding
    nursery.start_soon(forwarding.gather_seekers, house.matchmaker.seeks)
    async with house.guest("Ann") as ann, house.guest("Bob") as bob, house.guest("Cleo") as cleo:
        await ann.say(QuickMatch(rules="carpet", ref=1))
        assert isinstance(await ann.hear(), WaitingMatch)
        await trio.sleep(60)
        # An older one is back. Not all know at one moment: for a while nobody is sent in a circle.
        node.answering, since = (2, 4), trio.current_time()
        await bob.say(QuickMatch(rules="twenty", ref=2))
        assert isinstance(await bob.hear(), WaitingMatch)
        for seeker in (ann, bob):
            assert await seeker.hear_of(Moved) == Moved(url=OTHERS[0], code=None, ref=0)
        assert SETTLES_S - 1 < trio.current_time() - since < SETTLES_S + 1
        await cleo.say(QuickMatch(ref=3))
        assert await cleo.hear() == Moved(url=OTHERS[0], code=None, ref=3)
        assert (await cleo.error()).code == ErrorCode.ELSEWHERE
        # It does not answer any more.
        node.answering = (4,)
        assert (await cleo.ask(QuickMatch(rules="carpet", ref=4), Room)).code == (await ann.hear_of(Room)).code


async def test_whoever_is_put_back_follows_to_where_all_wait_by_now(house: House, node: FakeNode, nursery: trio.Nursery) -> None:
    node.id = 4
    node.answering = (4,)
    nursery.start_soon(house.dispatch.forwarding.gather_seekers, house.matchmaker.seeks)
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        await ann.say(QuickMatch())
        await bob.ask(QuickMatch(), Room)
        await ann.hear_of(Room)
        await ann.ready()
        node.answering = (2, 4)
        assert (await ann.hear_of(Left)).reason == "no-opponent"
        assert isinstance(await ann.hear(), WaitingMatch)
        assert await ann.hear_of(Moved) == Moved(url=OTHERS[0], code=None, ref=0)


async def test_whoever_is_put_back_at_a_drained_node_is_told_what_to_ask_for_and_sent_to_where_all_wait(
    house: House, node: FakeNode
) -> None:
    loads = node.loads = Loads(lambda: Load(1, 0, 0, takes=house.rooms.takes_more, writes=True))
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        await ann.say(QuickMatch(rules="carpet", ref=3))
        await bob.ask(QuickMatch(), Room)
        await ann.hear_of(Room)
        await ann.ready()
        house.rooms.draining = "we update"
        node.answering = (1, 2)
        loads.hear([msgspec.msgpack.encode(Load(2, 900, 0, takes=True, writes=True))])
        assert (await ann.hear_of(Left)).reason == "no-opponent"
        waits = await ann.hear()
        assert isinstance(waits, WaitingMatch)
        assert (waits.rules, waits.waited_ms // 1000, waits.ref) == ("carpet", MATCH_READY_S, 0), "a client asks for this there"
        assert await ann.hear() == Moved(url=OTHERS[0], code=None, ref=0)
        # For clients that cannot go there.
        assert (await ann.error()).code == ErrorCode.ELSEWHERE
        assert await ann.hear() == WaitingOver(reason="failed")
        assert len(house.matchmaker) == 0
        await ann.say(QuickMatch(ref=4))
        assert await ann.hear() == Moved(url=OTHERS[0], code=None, ref=4)


async def test_whoever_looks_for_an_opponent_does_not_wait_at_a_node_that_has_too_much_to_do(house: House, node: FakeNode) -> None:
    here = Load(1, 100, 0, takes=True, writes=True)
    node.answering = (1, 2)
    node.loads = loads = Loads(lambda: here)
    async with house.guest("Ann") as ann:
        loads.hear([msgspec.msgpack.encode(Load(2, 10, 0, takes=True, writes=True))])
        for busy in (False, True):
            if busy:
                here = Load(1, 0, 0, takes=False, writes=True)
                house.overload.note(1.0, trio.current_time())
            await ann.say(QuickMatch(ref=3))
            assert await ann.hear() == Moved(url=OTHERS[0], code=None, ref=3)
            assert (await ann.error()).code == ErrorCode.ELSEWHERE
        loads.hear([])
        node.answering = (1,)
        assert (await ann.error_for(QuickMatch(ref=4))).code == ErrorCode.SERVER_BUSY


async def test_what_is_new_at_a_drained_node_begins_at_another_while_one_takes_it(house: House, node: FakeNode) -> None:
    loads = Loads(lambda: Load(1, 0, 0, takes=house.rooms.takes_more, writes=True))
    node.loads = loads
    house.rooms.draining = "we update"
    make = CreateTournament(options=TournamentOptions(name="Open"), ref=5)
    async with house.guest("Ann") as ann:
        loads.hear([msgspec.msgpack.encode(Load(2, 900, 0, takes=True, writes=True))])
        await ann.say(OpenRace(options=RaceOptions(), ref=3))
        assert await ann.hear() == Moved(url=OTHERS[0], code=None, ref=3)
        assert (await ann.error()).code == ErrorCode.ELSEWHERE
        assert isinstance(await ann.ask(make, Decided), Decided), "whoever leads it later"
        loads.hear([msgspec.msgpack.encode(Load(2, 0, 0, takes=False, writes=True))])
        for request in (OpenRace(options=RaceOptions(), ref=5), make):
            error = await ann.error_for(request)
            assert (error.code, error.message.endswith("(we update)")) == (ErrorCode.SERVER_STOPPING, True)


async def test_a_drained_node_is_ready_for_no_newcomers_while_another_takes_them_and_otherwise_for_those_who_come_back(
    house: House, node: FakeNode
) -> None:
    loads = node.loads = Loads(lambda: Load(1, 0, 0, takes=house.rooms.takes_more, writes=True))
    loads.hear([msgspec.msgpack.encode(Load(2, 900, 0, takes=True, writes=True))])
    assert (await house.ask("/readyz")).status == 200
    house.rooms.draining = "we update"
    assert (await house.ask("/readyz")).problem == (503, "Not ready: it is drained, and another server takes what is new.")
    for others in ([msgspec.msgpack.encode(Load(2, 0, 0, takes=False, writes=True))], []):
        loads.hear(others)
        assert (await house.ask("/readyz")).status == 200
