"""Watching a race at another server than its own: the same as at its own, sent once over the bus, through losses and the owner's death."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
import pytest
import trio
from msgspec.structs import replace
from trio.testing import MockClock

from protocol.client_messages import JoinRace, Say, Stop
from protocol.codec import JSON, MSGPACK
from protocol.errors import ErrorCode, Refusal
from protocol.room_events import Progress, Result
from protocol.server_messages import Moved, ServerMessage
from protocol.views import SharedDeal
from protocol.watch_messages import Board, Talk, Unwatched, Watched, WatchedEvent, Watchers, WatchRace
from server.cluster.bus import Bus, node_channel
from server.cluster.loads import Load, Loads
from server.cluster.node import ClusterNode
from server.race.shared_deal_spec import SharedDealSpec
from server.rooms.member import PlayerName
from server.spectate.relay import SILENT_S, Relay
from server.spectate.spectator import Spectator
from server.store.memory import MemoryStore
from server.store.nodes import Node
from server.store.replay import by_room
from tests.server.cluster.fake_redis import FakeRedis
from tests.server.net.test_watching import event, watch
from tests.server.net.wire import Client, House, open_house


@dataclass
class FakePlace:
    """What every node believes: node 1 has all races, or whoever `has` them by now; None for nobody, while they are being taken over."""

    has: int | None = 1
    gone: set[int] = field(default_factory=set)


@dataclass
class FakeNode:
    id: int
    place: FakePlace
    others: tuple[str, ...] = ("ws://one", "ws://two")
    loads: Loads = field(default_factory=lambda: Loads(lambda: Load(1, 0, 0, takes=True, writes=True)))

    @property
    def alive(self) -> tuple[int, ...]:
        return tuple({1, 2, 3} - self.place.gone)

    async def owner(self, code: str, is_here: Callable[[], bool]) -> Node | None:
        await trio.sleep(0.1)
        if is_here():
            return None
        if self.place.has is None:
            raise Refusal(ErrorCode.SERVER_BUSY, "the race is being taken over")
        if self.place.has == self.id or code == "NBDYSC":
            raise Refusal(ErrorCode.NO_SUCH_ROOM)
        return Node(self.place.has, f"ws://node-{self.place.has}", 1, 99_000, 5_000)


class Cluster:
    def __init__(self, nursery: trio.Nursery) -> None:
        self.engine = FakeRedis()
        self.place = FakePlace()
        self.buses: dict[int, Bus] = {}
        self._nursery = nursery

    def join(self, house: House, number: int) -> Relay:
        node = FakeNode(number, self.place)
        bus = self.buses[number] = Bus("test")
        relay = Relay(self._nursery, cast(ClusterNode, node), bus, house.rooms, house.spectators)
        house.dispatch.forwarding._node = cast(ClusterNode, node)
        house.dispatch.forwarding.relay = relay
        self._nursery.start_soon(relay.run)
        self.serve(number)
        return relay

    def serve(self, number: int) -> None:
        async def serve() -> None:
            try:
                await self.buses[number].serve(cast(Any, self.engine), node_channel(number))
            except* ConnectionResetError:
                pass

        self._nursery.start_soon(serve)

    def published(self) -> int:
        """On channels of races."""
        return sum(count for name, count in self.engine.published.items() if "race" in name)


@pytest.fixture
async def cluster(autojump_clock: MockClock) -> AsyncIterator[Cluster]:
    del autojump_clock
    async with trio.open_nursery() as nursery:
        yield Cluster(nursery)
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def far_house(cluster: Cluster, store: MemoryStore | None = None) -> AsyncIterator[House]:
    """Another server, with no race of its own."""
    async with open_house(store=store or MemoryStore()) as house:
        cluster.join(house, 2)
        yield house


async def heard(client: Client, until: Callable[[ServerMessage], bool]) -> list[ServerMessage]:
    """All that comes, how many watch aside, up to the first of which this holds."""
    messages: list[ServerMessage] = []
    while not messages or not until(messages[-1]):
        message = await client.hear()
        if not isinstance(message, Watchers):
            messages.append(message)
    return messages


async def play(player: Client) -> None:
    await player.play()


def is_result(message: ServerMessage) -> bool:
    return isinstance(message, WatchedEvent) and isinstance(message.event, Result)


def replace_player(spectator: Spectator, player: str) -> Spectator:
    return Spectator(spectator.connection, PlayerName(player, ""))


async def test_watchers_at_another_server_are_told_what_those_at_the_owner_are_and_nothing_else(cluster: Cluster, house: House) -> None:
    cluster.join(house, 1)
    async with far_house(cluster) as far, house.race("Ann", "Bob", delay_s=3) as (ann, bob):
        code = house.only_room.code
        async with house.guest("Eve") as near, far.guest("Dan") as dan, far.guest("Fay", JSON) as fay:
            first = [await watch(client, code) for client in (near, dan, fay)]
            await trio.sleep(2)
            for number in range(12):
                await play(ann)
                await play(bob)
                await trio.sleep(0.7 if number % 3 else 0.01)
            for client in (ann, bob):
                await client.say_map({"type": "resign", "race": 1, "seat": 0 if client is ann else 1})
            told = [await heard(client, is_result) for client in (near, dan, fay)]
            # Who came later has a later snapshot; from there on all hear the same, boards as late and as little open.
            assert [message for message in told[0] if isinstance(message, Board)] == [each for each in told[1] if isinstance(each, Board)]
            assert told[1] == told[2] == told[0]
            assert sum(isinstance(message, Board) for message in told[1]) > 10
            assert replace(first[1].room, elapsed_ms=0) == replace(first[0].room, elapsed_ms=0)
            # However many listen: once, and one message a tick.
            assert cluster.published() < 40
        await trio.sleep(6)
        assert house.only_room.watchers == 0
        before = cluster.published()
        await trio.sleep(10)
        assert cluster.published() == before


async def test_a_race_that_nobody_watches_elsewhere_costs_the_bus_nothing(cluster: Cluster, house: House) -> None:
    cluster.join(house, 1)
    async with far_house(cluster), house.race("Ann", "Bob") as (ann, _), house.guest("Eve") as eve:
        await watch(eve, house.only_room.code)
        await play(ann)
        await event(eve, Progress)
        await trio.sleep(5)
        assert cluster.engine.published == {}


async def test_all_who_watch_are_counted_and_talk_with_each_other(cluster: Cluster, house: House) -> None:
    cluster.join(house, 1)
    async with far_house(cluster) as far, house.race("Ann", "Bob") as (ann, _):
        code = house.only_room.code
        async with house.guest("Eve") as near, far.guest("Dan") as dan, far.guest("Fay") as fay:
            for client in (near, dan, fay):
                await watch(client, code)
            while (await ann.hear_of(Watchers)).count != 3:
                pass
            while (await dan.hear_of(Watchers)).count != 3:
                pass
            await dan.say(Say(text="what a race"))
            for client in (near, fay, dan):
                (line,) = (await client.hear_of(Talk)).lines
                assert (line.name, line.text) == ("Dan", "what a race")
            await near.say(Say(text="indeed"))
            assert (await fay.hear_of(Talk)).lines[0].text == "indeed"
            await dan.say_map({"type": "unwatch"})
            assert (await dan.hear_of(Unwatched)).reason == "asked"
            while (await ann.hear_of(Watchers)).count != 2:
                pass


async def test_whoever_misses_something_gets_a_snapshot_in_its_place(cluster: Cluster, house: House) -> None:
    cluster.join(house, 1)
    async with far_house(cluster) as far, house.race("Ann", "Bob") as (ann, bob), far.guest("Dan") as dan:
        code = house.only_room.code
        await watch(dan, code)
        await trio.sleep(2)
        cluster.engine.lose = "race"
        await play(ann)
        await trio.sleep(0.5)
        cluster.engine.lose = "nothing"
        # Nothing more happens in the race: the owner's answers say that there was something.
        again = await dan.hear_of(Watched)
        assert [seat.ply for seat in again.room.seats] == [1, 0]
        cluster.engine.lose = "race"
        await play(ann)
        await trio.sleep(0.5)
        cluster.engine.lose = "nothing"
        await play(bob)
        again = await dan.hear_of(Watched)
        assert [seat.ply for seat in again.room.seats] == [2, 1]
        await play(bob)
        assert (await event(dan, Progress)).ply == 2
        # An outage so short that nobody is sent anywhere.
        cluster.engine.go()
        await play(ann)
        await trio.sleep(1)
        for number in (1, 2):
            cluster.serve(number)
        again = await dan.hear_of(Watched)
        assert [seat.ply for seat in again.room.seats] == [3, 2]


async def test_players_are_kept_from_their_own_race_at_every_server(cluster: Cluster, house: House) -> None:
    cluster.join(house, 1)
    async with far_house(cluster) as far, house.guest("Ann") as ann, far.guest("Dan") as dan, far.client() as eve:
        room = await ann.open(seats=2)
        # The same person at both servers: the one of the fake has no store in common with the other.
        welcome = await eve.hello("Eve")
        for visit in far.dispatch.visits():
            if visit.player is not None and visit.player.id == welcome.player:
                visit.player = replace_id(visit.player, house)
        for client in (dan, eve):
            await client.say(WatchRace(code=room.code, ref=4))
        assert (await dan.hear_of(Watched)).ref == 4
        assert (await eve.error()).code == ErrorCode.OWN_RACE
        assert (await eve.error_for(WatchRace(code=room.code, ref=5))).ref == 5


def replace_id(player: Any, house: House) -> Any:
    return type(player)(house.only_room.summary.seats[0].player, player.name)


async def test_players_are_kept_from_their_own_race_where_it_is_taken_over_before_its_owner_has_said_a_word(cluster: Cluster) -> None:
    store = MemoryStore()
    async with far_house(cluster, store) as far, far.client() as eve, far.guest("Dan") as dan:
        welcome = await eve.hello("Eve")
        await trio.sleep(1)
        async with open_house(store=store) as first, first.race("Ann", "Bob"):
            # The owner, at which Eve is Ann, hears of nothing.
            for visit in far.dispatch.visits():
                if visit.player is not None and visit.player.id == welcome.player:
                    visit.player = replace_id(visit.player, first)
            for client in (eve, dan):
                await client.say(WatchRace(code=first.only_room.code, ref=4))
            await trio.sleep(1)
        cluster.place.gone.add(1)
        cluster.place.has = None
        for room in by_room(store.running().races):
            far.rooms.resume(room)
        assert (await dan.hear_of(Watched)).ref == 4
        assert await eve.refusal() == (ErrorCode.OWN_RACE, 4)


async def test_what_cannot_be_read_on_the_bus_is_left_out(cluster: Cluster, house: House) -> None:
    cluster.join(house, 1)
    cannot_be_read = (b"\x82\xa4type\xa4asks\xa4node\xa1\xff", b"\x82\xa4type\xa4asks\xa1x" + b"\x91" * 100_000)
    async with far_house(cluster) as far, house.race("Ann", "Bob"), far.guest("Dan") as dan:
        for data in cannot_be_read:
            cluster.buses[2].publish(node_channel(1), data)
            cluster.engine.publish("test:" + node_channel(1), b"\x94\xc4\x01a\x01\x90" + data)
        await trio.sleep(1)
        assert (await watch(dan, house.only_room.code)).room.code == house.only_room.code


async def test_of_races_that_are_not_shown_nothing_stays_behind(cluster: Cluster, house: House) -> None:
    cluster.join(house, 1)
    async with far_house(cluster) as far, house.guest("Ann") as ann, far.guest("Dan") as dan:
        room = await ann.open()
        house.only_room.spec = SharedDealSpec(deal=SharedDeal(kind="daily", id="2026-01-01", nonces=()), invited=())
        before = len(house.spectators._by_connection)
        assert (await dan.error_for(WatchRace(code=room.code, ref=2))).code == ErrorCode.NOT_SHOWN
        assert len(house.spectators._by_connection) == before


async def test_what_cannot_be_relayed_is_refused_or_sent_to_the_owner(cluster: Cluster, house: House) -> None:
    cluster.join(house, 1)
    async with far_house(cluster) as far, house.guest("Ann") as ann, far.guest("Dan") as dan:
        room = await ann.open()
        assert (await dan.error_for(WatchRace(code="NBDYSC", ref=1))).code == ErrorCode.NO_SUCH_ROOM
        await dan.say(WatchRace(code="CLQSED", ref=2))
        assert await dan.refusal() == (ErrorCode.NO_SUCH_ROOM, 2)
        for request in (WatchRace(code=room.code, key="ABC", ref=3), JoinRace(code=room.code, ref=4)):
            assert await dan.ask(request, Moved) == Moved(url="ws://node-1", code=room.code, ref=request.ref)
            assert (await dan.error()).code == ErrorCode.ELSEWHERE


async def test_watchers_go_to_the_owner_when_the_bus_is_gone(cluster: Cluster, house: House) -> None:
    cluster.join(house, 1)
    async with far_house(cluster) as far, house.race("Ann", "Bob"), far.guest("Dan") as dan, far.guest("Fay") as fay:
        code = house.only_room.code
        await watch(dan, code)
        cluster.engine.go()
        assert await dan.hear_of(Moved) == Moved(url="ws://node-1", code=code)
        assert (await fay.ask(WatchRace(code=code, ref=2), Moved)).ref == 2
        for number in (1, 2):
            cluster.serve(number)
        await trio.sleep(1)
        assert (await watch(fay, code)).room.code == code


async def test_watchers_go_to_an_owner_who_lives_and_does_not_hear_the_bus(cluster: Cluster, house: House) -> None:
    cluster.join(house, 1)
    async with far_house(cluster) as far, house.race("Ann", "Bob") as (ann, _), far.guest("Dan") as dan:
        code = house.only_room.code
        await watch(dan, code)
        # For so long as an engine takes that is started again.
        cluster.engine.lose = node_channel(1)
        await trio.sleep(4)
        cluster.engine.lose = "nothing"
        await trio.sleep(10)
        await play(ann)
        told = await heard(dan, lambda message: isinstance(message, WatchedEvent) and isinstance(message.event, Progress))
        assert not [message for message in told if isinstance(message, Moved)]
        cluster.engine.lose = node_channel(1)
        with trio.fail_after(10):
            assert await dan.hear_of(Moved) == Moved(url="ws://node-1", code=code)


async def test_who_has_just_asked_to_watch_hears_by_their_ref_where_the_owner_is_that_does_not_answer(
    cluster: Cluster, house: House
) -> None:
    cluster.join(house, 1)
    async with far_house(cluster) as far, house.race("Ann", "Bob"), far.guest("Dan") as dan:
        cluster.engine.lose = node_channel(1)
        with trio.fail_after(60):
            moved = await dan.ask(WatchRace(code=house.only_room.code, ref=7), Moved)
        assert moved == Moved(url="ws://node-1", code=house.only_room.code, ref=7)


async def test_watchers_wait_for_a_new_owner_who_has_yet_to_bring_the_race_back(cluster: Cluster) -> None:
    store = MemoryStore()
    async with far_house(cluster) as far, open_house(store=store) as third, far.guest("Dan") as dan:
        cluster.join(third, 3)
        await trio.sleep(1)
        async with open_house(store=store) as first:
            cluster.join(first, 1)
            async with first.race("Ann", "Bob"):
                code = first.only_room.code
                await watch(dan, code)
                cluster.place.gone.add(1)
                cluster.place.has = 3
                del cluster.buses[1]
        await trio.sleep(3)
        for room in by_room(store.running().races):
            third.rooms.resume(room)
        again = await dan.hear_of(Watched)
        assert (again.room.code, again.ref) == (code, 0)
        assert third.only_room.watchers == 1


@pytest.mark.parametrize("new_owner", [2, 3])
async def test_watchers_wait_for_the_new_owner_and_go_on_with_it(cluster: Cluster, new_owner: int) -> None:
    store = MemoryStore()
    async with far_house(cluster, store) as far, far.guest("Dan") as dan:
        # A server that begins at another moment draws other numbers.
        await trio.sleep(1)
        async with open_house(store=store) as first:
            cluster.join(first, 1)
            async with first.race("Ann", "Bob") as (ann, _):
                code = first.only_room.code
                await watch(dan, code)
                await play(ann)
                await event(dan, Progress)
                cluster.place.gone.add(1)
                cluster.place.has = None
                del cluster.buses[1]
        await trio.sleep(5)
        if new_owner == 2:
            for room in by_room(store.running().races):
                far.rooms.resume(room)
            assert (await dan.hear_of(Watched)).room.seats[0].ply == 1
            assert far.only_room.watchers == 1
            return
        async with open_house(store=store) as third:
            cluster.join(third, 3)
            cluster.place.has = 3
            again = await dan.hear_of(Watched)
            assert (again.room.code, again.room.seats[0].ply, again.ref) == (code, 1, 0)
            assert third.only_room.watchers == 1


async def test_watchers_are_told_when_the_race_is_closed(cluster: Cluster, house: House) -> None:
    cluster.join(house, 1)
    async with far_house(cluster) as far, house.guest("Ann", MSGPACK) as ann, far.guest("Dan") as dan:
        room = await ann.open(seats=2)
        await watch(dan, room.code)
        await ann.say_map({"type": "leave-race"})
        assert await dan.hear_of(Unwatched) == Unwatched(code=room.code, reason="closed")


async def test_watchers_are_told_the_result_where_the_players_leave_at_once(cluster: Cluster, house: House) -> None:
    relay = cluster.join(house, 1)
    async with far_house(cluster) as far, house.race("Ann", "Bob", delay_s=3) as (ann, bob), far.guest("Dan") as dan:
        await watch(dan, house.only_room.code)
        await trio.sleep(2)
        # Whenever the relay looks at what nobody watches any more, even before the bus has said anything.
        house.rooms.on_change.append(lambda: relay._forget_lapsed(trio.current_time()))
        for player in (ann, bob):
            await player.say_map({"type": "leave-race"})
        told = await heard(dan, lambda message: isinstance(message, Unwatched))
        assert any(map(is_result, told))
        await trio.sleep(2 * SILENT_S)
        assert not relay._shown


async def test_whoever_wants_the_closest_race_of_the_place_is_led_from_server_to_server_and_back(cluster: Cluster, house: House) -> None:
    cluster.join(house, 1)
    async with far_house(cluster) as far, house.race("Ann", "Bob", delay_s=0) as (ann, bob):
        near, closest = house.rooms.closest, far.rooms.closest
        relay = far.dispatch.forwarding.relay
        assert relay is not None
        far.spectators.relayed = relay.lead_to

        def tell() -> None:
            near.look()
            closest.hear([near.say(), b"not this"])

        tell()
        code = house.only_room.code
        assert [race.code for race in closest] == [code]
        async with far.guest("Dan") as dan:
            watched = await dan.ask(WatchRace(code=None, ref=4), Watched)
            assert (watched.room.code, watched.closest, watched.ref) == (code, True, 4)
            await play(ann)
            assert (await dan.hear_of(WatchedEvent)).code == code
            # Nobody is led to their own.
            own = far.spectators._by_connection[next(iter(far.spectators._by_connection))]
            assert not far.spectators._may_be_led(replace_player(own, ann.welcome.player), next(iter(closest)))
            async with far.race("Cid", "Eve") as (cid, _):
                await play(cid)
                await trio.sleep(20)
                assert far.spectators.watched(next(iter(far.spectators._by_connection))) == code, "it is being run"
                for client in (ann, bob):
                    await client.say(Stop(race=1, seat=0 if client is ann else 1))
                await heard(dan, is_result)
                tell()
                assert [race.code for race in closest] == [far.only_room.code]
                assert (await dan.hear_of(Watched)).room.code == far.only_room.code
        await trio.sleep(5)
        assert relay._races == {}


async def test_what_a_newer_node_says_that_is_of_no_known_kind_keeps_nobody_from_hearing_the_rest(cluster: Cluster, house: House) -> None:
    cluster.join(house, 1)
    async with house.race("Ann", "Bob"):
        code = house.only_room.code
        newer = Bus("test")
        cluster.buses[2] = newer
        answers: list[Any] = []
        newer.subscribe(node_channel(2), lambda parts, _: answers.extend(map(msgspec.msgpack.decode, parts)))
        cluster.serve(2)
        await trio.sleep(1)
        for part in ({"type": "unheard-of", "node": 2}, {"type": "asks", "node": 2, "watchers": {code: 1}, "unheard": "of"}):
            newer.publish(node_channel(1), msgspec.msgpack.encode(part))
        newer.publish(node_channel(1), b"\xc1 no message at all")
        await trio.sleep(1)
        assert [sorted(answer["serials"]) for answer in answers] == [[code]]
