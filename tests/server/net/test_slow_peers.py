"""Peers that do not read: nobody waits for them, they get what they missed, and those that sleep for good are cut off.

The kernel holds only a few kilobytes for each connection here, so that it fills up as over a bad network.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import trio
import trio.testing
from websockets.frames import Opcode

from protocol.client_messages import FollowLobby, Hello, JoinRace, LeaveRace, Say, WhoAmI
from protocol.codec import ENCODINGS, JSON, MSGPACK, encode
from protocol.errors import CloseCode, ErrorCode, Refusal
from protocol.room_events import Presence, Progress, Room, Said, Seated
from protocol.server_messages import Left, Lobby
from protocol.views import ChatLine
from server.net.connection import OUTBOX_BYTES, PING_INTERVAL_S, STALL_S, Connection
from server.net.hub_connection import HubConnection
from server.net.plain_connection import PlainConnection
from server.net.stream import CLOSING_S, SocketStream
from server.rooms.outgoing import Bundle, Outgoing, refused
from tests.server.net import wire
from tests.server.net.wire import Client, House, frame_bytes, request_bytes

pytestmark = pytest.mark.usefixtures("both_kinds")

SMALL = 4096
LINE = "x" * 200


def said(version: int, size: int = 200) -> Outgoing:
    return Outgoing(Said(version=version, line=ChatLine(seat=0, name="Ann", text="x" * size)))


async def chatter(client: Client, lines: int) -> None:
    """Talk, hear oneself talk, and forget it."""
    for number in range(lines):
        await client.say(Say(text=LINE))
        if number % 50 == 49:
            for _ in range(50):
                await client.hear_of(Said)


def waiting(connection: Connection) -> int:
    return connection.waiting_bytes


def queued(connection: Connection) -> int:
    """The bytes that wait, pongs of the library's connections included."""
    return sum(map(len, connection.protocol.writes)) if isinstance(connection, PlainConnection) else waiting(connection)


async def test_a_reader_who_falls_behind_is_told_everything_anew_when_they_read_again(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob", buffer=SMALL, max_queue=1) as bob:
        code = (await ann.open(seats=2)).code
        await bob.join(code)
        ends = house.connections
        await chatter(ann, 600)
        assert 0 < waiting(ends[1]) <= OUTBOX_BYTES + 1000
        assert waiting(ends[0]) == 0
        last = ann.version
        with trio.fail_after(15):
            while bob.version < last:
                await bob.hear()
        assert isinstance(bob.heard[-1], Room)
        assert bob.gaps == 0
        assert len(bob.heard) < 600
        await ann.say(Say(text="with us again?"))
        assert (await bob.hear_of(Said)).line.text == "with us again?"
        assert bob.gaps == 0


async def test_a_reader_who_is_slow_but_within_bounds_misses_nothing(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob", buffer=SMALL, max_queue=1) as bob:
        await bob.join((await ann.open(seats=2)).code)
        heard = 0
        for _ in range(12):
            await chatter(ann, 100)
            while bob.version < ann.version:
                await bob.hear()
                heard += 1
        assert bob.gaps == 0
        assert len([message for message in bob.heard if isinstance(message, Said)]) == heard == 1200


async def test_nobody_waits_for_one_that_never_reads_and_their_connection_is_cut(house: House, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with house.race("Ann", "Bob") as (ann, bob), house.guest("Eve", buffer=SMALL, max_queue=1, close_timeout=0.1) as eve:
        del bob
        await ann.ask(Say(phrase="hello"), Said)
        await eve.say(FollowLobby())
        end = house.connections[2]
        began = trio.current_time()
        for number in range(1000):
            end.post(said(number))
        assert trio.current_time() == began
        await ann.move()
        await trio.sleep(STALL_S - 1)
        was_open = [end.is_open]
        await trio.sleep(CLOSING_S + 2)
        assert [*was_open, end.is_open] == [True, False]
        assert isinstance(end, HubConnection | PlainConnection)
        assert end.protocol.close_sent is not None
        assert end.protocol.close_sent.code == CloseCode.TOO_SLOW
        told = [record.getMessage() for record in caplog.records if record.name == "carpet.net"]
        assert told == ["None is not reading; closing the connection"]
        assert len(house.players) == 2
        assert ann.gaps == 0


async def by_hand(house: House, name: str, *, buffer: int | None = None) -> tuple[SocketStream, Connection]:
    """A peer that has said hello and reads no more, and the server's end of its line."""
    stream = house.listener.dial(buffer=buffer)
    await stream.send_all(request_bytes())
    await stream.receive_some()
    await stream.send_all(frame_bytes(Opcode.BINARY, encode(Hello(name=name), MSGPACK)))
    await trio.testing.wait_all_tasks_blocked()
    return stream, house.connections[-1]


async def test_whoever_vanishes_while_there_is_much_to_tell_them_is_no_error_of_the_server(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING")
    for name, lines in (("Ann", 0), ("Bob", 3), ("Cyd", 1000)):
        stream, end = await by_hand(house, name, buffer=SMALL)
        for number in range(lines):
            end.post(said(number))
        for _ in range(5):
            await stream.send_all(frame_bytes(Opcode.BINARY, encode(Say(text="is anybody there?"), MSGPACK)))
        await stream.aclose()
        await trio.sleep(0.1)
        assert not end.is_open
        assert waiting(end) == 0
    assert house.connections == []
    assert caplog.records == []


async def test_whoever_ends_their_side_of_the_connection_is_not_waited_for_with_what_they_have_not_read(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING")
    stream, end = await by_hand(house, "Ann", buffer=SMALL)
    for number in range(1000):
        end.post(said(number))
    assert waiting(end) > SMALL
    await stream.send_eof()
    await trio.sleep(STALL_S + CLOSING_S + 1)
    assert house.connections == []
    assert caplog.records == []
    await stream.aclose()


async def test_a_racer_who_never_reads_is_away_for_the_other_who_plays_on(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob", buffer=SMALL, max_queue=1, close_timeout=0.1) as bob:
        await bob.join((await ann.open(seats=2, grace_s=30)).code)
        await house.start(ann, bob)
        for number in range(1000):
            house.connections[1].post(said(number))
        presence = await ann.hear_of(Presence)
        assert (presence.seat, presence.connected) == (1, False)
        await ann.move()
        assert (await ann.hear_of(Progress)).state == "forfeited"
        assert house.only_room.core.race.seats[0].ply == 1


async def test_a_reader_who_is_always_behind_but_reads_on_is_not_cut(house: House) -> None:
    async with house.guest("Ann", buffer=SMALL, max_queue=1) as ann:
        (end,) = house.connections
        for number in range(200):
            end.post(said(number))
        # Much longer than STALL_S, and at no time is there nothing that waits.
        for number in range(200, 1200):
            assert waiting(end) > 0
            end.post(said(number))
            assert (await ann.hear_of(Said)).version == number - 200
            await trio.sleep(0.05)
        assert end.is_open


async def test_pings_of_a_peer_that_hardly_reads_are_not_all_answered_but_the_last_is(house: House) -> None:
    async with house.guest("Eve", buffer=SMALL, max_queue=1) as eve:
        (end,) = house.connections
        for number in range(200):
            end.post(said(number))
        behind = waiting(end)
        for number in range(1000):
            # As many as the rate limit passes.
            await trio.sleep(0.05)
            await eve.line.stream.send_all(frame_bytes(Opcode.PING, b"%0125d" % number))
            if number % 10 == 0:
                await eve.hear_of(Said)
        assert len(house.connections) == 1
        assert queued(end) <= behind
        answered = await eve.line.ping(b"the last")
        while len(eve.heard) < 201:
            await eve.hear()
        with trio.fail_after(1):
            await answered.wait()


@pytest.mark.parametrize("encoding", [MSGPACK, JSON])
async def test_one_message_of_any_size_goes_through_an_empty_outbox(house: House, encoding: str) -> None:
    async with house.guest("Ann", encoding, buffer=SMALL) as ann:
        (end,) = house.connections
        end.post(said(1, 5 * OUTBOX_BYTES))
        end.post(said(2))
        assert len((await ann.hear_of(Said)).line.text) == 5 * OUTBOX_BYTES
        # What came behind it was too much; since this one sits in no room, there is nothing to be told anew.
        end.post(said(3))
        assert (await ann.hear_of(Said)).version == 3


async def test_a_follower_of_the_lobby_gets_its_newest_state_after_missing_some(house: House) -> None:
    async with house.guest("Ann", buffer=SMALL, max_queue=1) as ann:
        await ann.ask(FollowLobby(), Lobby)
        (end,) = house.connections
        for number in range(1000):
            end.post(said(number))
        async with house.guest("Bob") as bob:
            code = (await bob.open()).code
            await trio.sleep(1)
            while not (isinstance(message := await ann.hear(), Lobby) and [race.code for race in message.races] == [code]):
                pass


async def test_whoever_leaves_while_they_do_not_read_is_told_so_and_not_seated_again(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob", buffer=SMALL, max_queue=1) as bob:
        room = await ann.open(seats=2)
        await bob.join(room.code)
        end = house.connections[1]
        for number in range(1000):
            end.post(said(number))
        await bob.say(LeaveRace())
        await trio.sleep(1)
        assert house.only_room.core.race.seats[1].player is None
        while not isinstance(await bob.hear(), Left):
            pass
        await trio.testing.wait_all_tasks_blocked()
        assert house.only_room.core.race.seats[1].player is None
        assert not any(isinstance(message, Room) for message in bob.heard[2:])


async def test_frames_keep_their_order_when_the_library_sends_between_them(house: House) -> None:
    async with house.guest("Ann", buffer=SMALL, max_queue=1) as ann:
        (end,) = house.connections
        for number in range(200):
            end.post(said(number))
            if number % 20 == 0:
                await ann.line.stream.send_all(frame_bytes(Opcode.PING, b"p%d" % number))
                await trio.lowlevel.checkpoint()
        versions = [(await ann.hear_of(Said)).version for _ in range(200)]
        assert versions == list(range(200))


async def test_posting_to_a_connection_that_is_gone_is_nobody_elses_affair(house: House) -> None:
    async with house.guest("Ann") as ann:
        (end,) = house.connections
        await trio.aclose_forcefully(ann.line.stream)
        for number in range(500):
            end.post(said(number, 1000))
        await trio.sleep(1)
        end.post(said(0))
        assert not end.is_open
        assert len(house.players) == 0


async def test_a_failure_while_a_peer_is_brought_up_to_date_ends_its_connection_and_nothing_else(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(house.dispatch, "resynchronise", fail)
    async with house.guest("Ann") as ann, house.guest("Eve", buffer=SMALL, max_queue=1) as eve:
        for number in range(1000):
            house.connections[1].post(said(number))
        assert (await eve.hear_end())[0] == 1006
        await ann.open()
    assert "failed" in caplog.text


async def test_a_message_to_many_is_encoded_and_framed_once_for_each_encoding(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []

    def counted(pack: Callable[[object], bytes], subprotocol: str, message: object) -> bytes:
        if message is outgoing.message:
            encoded.append(subprotocol)
        return pack(message)

    async with house.guest("A") as a, house.guest("B", JSON) as b, house.guest("C") as c, house.guest("D", JSON) as d:
        outgoing = said(1)
        for name, encoding in ENCODINGS.items():
            monkeypatch.setitem(ENCODINGS, name, encoding._replace(pack=partial(counted, encoding.pack, name)))
        for connection in house.connections:
            connection.post(outgoing)
        messages = [await client.hear_of(Said) for client in (a, b, c, d)]
        assert messages == [outgoing.message] * 4
        assert sorted(encoded) == [JSON, MSGPACK]


async def test_a_bundle_to_many_is_joined_once_for_each_encoding_and_sent_in_one_go(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[Connection, bytes]] = []

    async with house.guest("A") as a, house.guest("B", JSON) as b, house.guest("C") as c, house.guest("D", JSON) as d:

        def note(connection: Connection, way: str) -> None:
            put = getattr(connection, way)

            def noted(frames: bytes) -> object:
                sent.append((connection, frames))
                return put(frames)

            monkeypatch.setattr(connection, way, noted)

        for connection in house.connections:
            note(connection, "_send" if isinstance(connection, HubConnection) else "_put")
        bundle = Bundle(said(version) for version in range(1, 6))
        for connection in house.connections:
            connection.post_all(bundle)
        for client in (a, b, c, d):
            assert [await client.hear_of(Said) for _ in range(5)] == [outgoing.message for outgoing in bundle.messages]
        assert [connection for connection, _ in sent] == house.connections
        assert len({id(frames) for _, frames in sent}) == 2


async def test_several_messages_to_one_are_sent_in_one_go_and_count_as_they_do_alone(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async with house.guest("Ann") as ann:
        (end,) = house.connections
        sent: list[int] = []
        way = "_send" if isinstance(end, HubConnection) else "_put"
        put = getattr(end, way)

        def noted(frames: bytes) -> object:
            sent.append(len(frames))
            return put(frames)

        monkeypatch.setattr(end, way, noted)
        messages = [said(1), refused(Refusal(ErrorCode.RACE_OVER), 7), said(2)]
        end.post_together(messages)
        assert [await ann.hear() for _ in messages] == [outgoing.message for outgoing in messages]
        assert len(sent) == 1
        assert house.dispatch.traffic.errors == {ErrorCode.RACE_OVER: 1}


async def test_several_messages_to_a_peer_that_does_not_read_are_dropped_as_one_is(house: House) -> None:
    async with house.guest("Ann", buffer=SMALL, max_queue=1) as ann:
        (end,) = house.connections
        for number in range(500):
            end.post_together([said(2 * number + 1), said(2 * number + 2)])
        assert waiting(end) <= OUTBOX_BYTES + 1000
        versions: list[int] = []
        with trio.move_on_after(1):
            while True:
                versions.append((await ann.hear_of(Said)).version)
        assert versions == list(range(1, len(versions) + 1))
        assert len(versions) < 1000


@pytest.mark.parametrize("is_framed", [False, True])
async def test_a_bundle_comes_whole_or_not_at_all(house: House, is_framed: bool) -> None:
    """is_framed: whether somebody else has been sent it before."""
    bundles = [Bundle([said(2 * number + 1), said(2 * number + 2)]) for number in range(500)]
    async with house.guest("Ann", buffer=SMALL, max_queue=1) as ann:
        (end,) = house.connections
        if is_framed:
            async with house.guest("Bob") as bob:
                for bundle in bundles:
                    house.connections[1].post_all(bundle)
                    await bob.hear_of(Said)
        for bundle in bundles:
            end.post_all(bundle)
        assert waiting(end) <= OUTBOX_BYTES + 1000
        await trio.sleep(STALL_S / 2)
        versions = [(await ann.hear_of(Said)).version]
        with trio.move_on_after(1):
            while True:
                versions.append((await ann.hear_of(Said)).version)
        assert versions == list(range(1, len(versions) + 1))
        assert len(versions) % 2 == 0
        assert len(versions) < 1000


async def test_what_is_posted_while_the_last_waiting_frame_is_sent_is_not_left_lying(house: House) -> None:
    async with house.guest("Ann", buffer=SMALL, max_queue=1) as ann:
        (end,) = house.connections
        version = 0
        for _ in range(100):
            began = trio.current_time()
            for _ in range(60):
                version += 1
                end.post(said(version))
            for _ in range(5):
                await trio.lowlevel.checkpoint()
                version += 1
                end.post(said(version))
            while not ann.heard or ann.version < version:
                await ann.hear_of(Said)
            assert trio.current_time() - began < 0.1


async def test_a_ping_that_is_answered_late_is_not_the_last_one(house: House, caplog: pytest.LogCaptureFixture) -> None:
    async with house.guest("Ann", max_queue=1) as ann:
        (end,) = house.connections
        for number in range(3):
            end.post(said(number))
        # Nobody reads, so nobody answers.
        await trio.sleep(1.2 * PING_INTERVAL_S)
        measured = len(end._round_trips._last)
        await trio.sleep(PING_INTERVAL_S / 2)
        assert len(end._round_trips._last) == measured
        for _ in range(3):
            await ann.hear_of(Said)
        await trio.sleep(3 * PING_INTERVAL_S)
        assert len(end._round_trips._last) >= measured + 2
        assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def answer_pings(line: SocketStream, seconds: float) -> int:
    """How many there were."""
    answered = 0
    with trio.move_on_after(seconds):
        while data := await line.receive_some():
            _, ping, payload = data.partition(b"\x89\x04")
            if ping:
                await line.send_all(frame_bytes(Opcode.PONG, payload[:4]))
                answered += 1
    return answered


async def test_whoever_has_just_read_what_waited_has_time_to_answer_a_ping_from_long_before(house: House) -> None:
    async with house.listener.dial(buffer=SMALL) as ann:
        await ann.send_all(request_bytes() + frame_bytes(Opcode.BINARY, encode(Hello(name="Ann"), MSGPACK)))
        await trio.testing.wait_all_tasks_blocked()
        (end,) = house.connections
        for number in range(200):
            end.post(said(number))
        # They sleep, and wake shortly before the server looks for an answer.
        await trio.sleep(3 * PING_INTERVAL_S - 0.5)
        read = b""
        while waiting(end):
            read += await ann.receive_some()
        await trio.sleep(1)
        assert end.is_open
        await ann.send_all(frame_bytes(Opcode.PONG, read.partition(b"\x89\x04")[2][:4]))
        await trio.sleep(PING_INTERVAL_S)
        assert end.is_open


async def test_whoever_says_something_all_the_time_is_asked_less_often_whether_they_are_there(house: House) -> None:
    async with house.listener.dial() as ann:
        await ann.send_all(request_bytes() + frame_bytes(Opcode.BINARY, encode(Hello(name="Ann"), MSGPACK)))
        await answer_pings(ann, 0.1)
        assert await answer_pings(ann, 10.1 * PING_INTERVAL_S) == 10
        asked = 0
        for _ in range(40):
            await ann.send_all(frame_bytes(Opcode.BINARY, encode(WhoAmI(), MSGPACK)))
            asked += await answer_pings(ann, PING_INTERVAL_S / 4)
        assert asked in ((10,) if wire.PLAIN_SOCKETS else (5, 6))


@pytest.mark.parametrize("after_s", [0.0, 1.0, 2.5, PING_INTERVAL_S - 0.1, PING_INTERVAL_S + 0.1])
async def test_the_opponent_of_somebody_who_vanishes_hears_of_it_within_12_seconds(house: House, after_s: float) -> None:
    async with house.guest("Ann") as ann, house.listener.dial() as bob:
        await bob.send_all(request_bytes() + frame_bytes(Opcode.BINARY, encode(Hello(name="Bob"), MSGPACK)))
        await answer_pings(bob, 0.1)
        await bob.send_all(frame_bytes(Opcode.BINARY, encode(JoinRace(code=(await ann.open(seats=2)).code), MSGPACK)))
        await ann.hear_of(Seated)
        await answer_pings(bob, after_s)
        # What they said last is no answer to a ping that is still to come.
        await bob.send_all(frame_bytes(Opcode.BINARY, encode(WhoAmI(), MSGPACK)))
        # Nothing ends this connection: its other end says nothing any more, not even to a ping.
        vanished = trio.current_time()
        assert (await ann.hear_of(Presence)).connected is False
        assert trio.current_time() - vanished <= 12
