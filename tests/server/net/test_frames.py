"""However a peer's bytes are split on their way, its messages are the same; and it may leave at any moment. Both kinds of connection."""

from __future__ import annotations

import msgpack
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from protocol.client_messages import ClientMessage, FollowLobby, Hello, OpenRace, Say, WhoAmI
from protocol.codec import JSON, MSGPACK, SUBPROTOCOLS, encode
from protocol.views import RaceOptions
from server.net.connection import Connection
from server.net.frames import COMMON, framed, opening
from server.net.stream import SocketStream
from tests.server.net.wire import House, frame_bytes, head_received, open_house, received_by, request_bytes

pytestmark = pytest.mark.usefixtures("both_kinds")

MESSAGES: list[ClientMessage] = [
    Hello(name="Ann"),
    OpenRace(options=RaceOptions(seats=1)),
    Say(text="x" * 5),
    Say(text="y" * 200),
]
"""The last is longer than the length of a frame says in its first two bytes."""


def frames(encoding: str) -> list[bytes]:
    opcode = Opcode.BINARY if encoding == MSGPACK else Opcode.TEXT
    return [frame_bytes(opcode, encode(message, encoding)) for message in MESSAGES]


def payloads(received: bytes) -> list[bytes]:
    """Of a server's frames, as far as they are whole; pings are left out."""
    client = ClientProtocol(parse_uri("ws://carpet.test/"), state=State.OPEN)
    client.receive_data(received)
    frames = [frame for frame in client.events_received() if isinstance(frame, Frame)]
    return [bytes(frame.data) for frame in frames if frame.opcode in (Opcode.BINARY, Opcode.TEXT)]


async def told(line: SocketStream, count: int) -> list[str]:
    """The types of the first messages that come."""
    received = b""
    with trio.fail_after(100):
        while len(kinds := [kind_of(payload) for payload in payloads(received)]) < count:
            received += await line.receive_some()
    return kinds


def kind_of(payload: bytes) -> str:
    document = msgpack.unpackb(payload)
    kind: str = document["type"]
    return kind


ANSWERS = ["welcome", "room", "said", "said"]


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("length", [0, 1, 125, 126, 127, COMMON - 1, COMMON, 65_535, 65_536, 200_000])
def test_a_frame_made_by_hand_is_the_one_that_the_library_makes(length: int, binary: bool) -> None:
    payload = b"x" * length
    assert framed(payload, binary=binary) == Frame(Opcode.BINARY if binary else Opcode.TEXT, payload).serialize(mask=False)


OPENINGS = [
    pytest.param([], "taken", id="as we write it"),
    pytest.param([(b"GET / ", b"GET /any/path?a=%20b ")], "taken", id="a path"),
    pytest.param([(b"Upgrade: websocket", b"upgrade:WebSocket \t"), (b": Upgrade", b": keep-alive, upgrade")], "taken", id="a browser"),
    pytest.param([(JSON.encode(), b"else, " + MSGPACK.encode() + b",x")], "taken", id="a choice"),
    pytest.param([(b"Host: ", b"X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: \xe9\r\nHost: ")], "taken", id="by proxies"),
    pytest.param([(b"Host: ", b"Sec-WebSocket-Extensions: permessage-deflate\r\nHost: ")], "taken", id="an extension"),
    pytest.param([(b"Host: ", b"Sec-WebSocket-Protocol: else\r\nHost: ")], "left", id="a choice on two lines"),
    pytest.param([(b"Connection: Up", b"Connection: close\r\nConnection: Up")], "left", id="two lines of options"),
    pytest.param([(b"websocket", b"websocket, h2c")], "refused", id="another upgrade too"),
    pytest.param([(b"Upgrade: ", b"Upgrade: websocket\r\nUpgrade: ")], "refused", id="two upgrades"),
    pytest.param([(b": Upgrade", b": keep-alive")], "refused", id="no upgrade"),
    pytest.param([(b"AA==", b"AA=")], "refused", id="half a key"),
    pytest.param([(b"AA==", b"!A==")], "refused", id="no key"),
    pytest.param([(b"Sec-WebSocket-Key", b"Else")], "refused", id="without a key"),
    pytest.param([(b": 13", b": 8")], "refused", id="an old version"),
    pytest.param([(JSON.encode(), b"else")], "refused", id="another protocol"),
    pytest.param([(JSON.encode(), b"(, " + JSON.encode())], "refused", id="a choice that is none"),
    pytest.param([(b"GET", b"POST")], "refused", id="another method"),
    pytest.param([(b"HTTP/1.1", b"HTTP/1.0")], "refused", id="an old HTTP"),
    pytest.param([(b"Host: ", b"Content-Length: 1\r\nHost: ")], "refused", id="a body"),
    pytest.param([(b"Host: ", b"Transfer-Encoding: chunked\r\nHost: ")], "refused", id="a body in pieces"),
    pytest.param([(b"Host: ", b"Ho st: ")], "refused", id="a name that is none"),
    pytest.param([(b"carpet.test", b"carpet\x00test")], "refused", id="a value that is none"),
]


@pytest.mark.parametrize(("changes", "verdict"), OPENINGS)
def test_an_opening_read_by_hand_is_answered_as_the_library_would_and_what_is_refused_or_odd_is_left_to_it(
    changes: list[tuple[bytes, bytes]], verdict: str
) -> None:
    request = request_bytes(JSON)
    for before, after in changes:
        assert before in request
        request = request.replace(before, after, 1)
    library = ServerProtocol(subprotocols=[Subprotocol(name) for name in SUBPROTOCOLS])
    library.receive_data(request)
    events = library.events_received()
    answer = library.accept(events[0]) if events and isinstance(events[0], Request) else None
    read = opening(request)
    assert (answer is not None and answer.status_code == 101) is (verdict != "refused")
    assert (read is not None) is (verdict == "taken")
    if read is not None and answer is not None:
        del answer.headers["Date"]
        assert read.answer == answer.serialize()
        assert read.subprotocol == library.subprotocol
        assert isinstance(events[0], Request)
        assert list(read.headers.raw_items()) == list(events[0].headers.raw_items())


async def test_an_opening_that_is_left_to_the_library_leads_to_a_game_too(house: House) -> None:
    async with house.listener.dial() as line:
        await line.send_all(request_bytes().replace(b"Connection: Up", b"Connection: keep-alive\r\nConnection: Up"))
        await head_received(line)
        await line.send_all(b"".join(frames(MSGPACK)))
        assert await told(line, 4) == ANSWERS


async def open_by_hand(house: House) -> SocketStream:
    line = house.listener.dial()
    await line.send_all(request_bytes())
    await head_received(line)
    return line


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 7, 13, 10_000])
async def test_in_whatever_pieces_frames_come_they_are_heard_in_their_order(house: House, size: int) -> None:
    data = b"".join(frames(MSGPACK))
    async with await open_by_hand(house) as line:
        for start in range(0, len(data), size):
            await line.send_all(data[start : start + size])
            await wait_all_tasks_blocked()
        assert await told(line, 4) == ANSWERS


@pytest.mark.parametrize("cut", range(1, 12))
async def test_a_frame_whose_end_comes_with_the_start_of_the_next_is_heard(house: House, cut: int) -> None:
    first, *others = frames(MSGPACK)
    async with await open_by_hand(house) as line:
        await line.send_all(first[:-cut])
        await wait_all_tasks_blocked()
        rest = first[-cut:] + b"".join(others)
        await line.send_all(rest[: cut + 3])
        await wait_all_tasks_blocked()
        await line.send_all(rest[cut + 3 :])
        assert await told(line, 4) == ANSWERS


async def test_the_request_itself_may_come_byte_by_byte_and_the_hello_with_its_end(house: House) -> None:
    request, data = request_bytes(), b"".join(frames(MSGPACK))
    async with house.listener.dial() as line:
        for byte in request[:-1]:
            await line.send_all(bytes([byte]))
            await wait_all_tasks_blocked()
        await line.send_all(request[-1:] + data[:9])
        await head_received(line)
        await line.send_all(data[9:])
        assert await told(line, 4) == ANSWERS


async def test_control_frames_and_fragments_between_whole_frames_disturb_nothing(house: House) -> None:
    first, second, *others = frames(MSGPACK)
    payload = encode(Say(text="in pieces"), MSGPACK)
    async with await open_by_hand(house) as line:
        await line.send_all(frame_bytes(Opcode.PONG, b"") + first + frame_bytes(Opcode.PING, b"?") + second)
        await line.send_all(frame_bytes(Opcode.BINARY, payload[:4], fin=False) + frame_bytes(Opcode.PING, b"!"))
        await line.send_all(frame_bytes(Opcode.CONT, b"", fin=False) + frame_bytes(Opcode.CONT, payload[4:]) + b"".join(others))
        assert await told(line, 5) == [*ANSWERS, "said"]


async def test_a_whole_frame_in_the_middle_of_a_message_in_fragments_closes_with_1002(house: House) -> None:
    async with house.guest("Eve") as eve:
        await eve.line.stream.send_all(frame_bytes(Opcode.BINARY, b"\x81", fin=False) + frames(MSGPACK)[1])
        assert (await eve.hear_end())[0] == 1002
        assert len(house.rooms) == 0


@pytest.mark.parametrize("pause", [False, True])
@pytest.mark.parametrize("options", [{}, {"deal": "x" * 120}], ids=["short", "long"])
async def test_what_was_said_behind_a_close_frame_is_not_heard(house: House, options: dict[str, str], pause: bool) -> None:
    said = frame_bytes(Opcode.BINARY, msgpack.packb({"type": "open-race", "options": options}))
    async with await open_by_hand(house) as line:
        await line.send_all(frames(MSGPACK)[0])
        assert await told(line, 1) == ["welcome"]
        if pause:
            await line.send_all(frame_bytes(Opcode.CLOSE, b"\x03\xe8"))
            await wait_all_tasks_blocked()
            await line.send_all(said)
        else:
            await line.send_all(frame_bytes(Opcode.CLOSE, b"\x03\xe8") + said)
        assert await received_by(line, within_s=10) == b"\x88\x02\x03\xe8"
    await trio.sleep(5)
    assert len(house.rooms) == 0
    assert house.connections == []


FOLLOW = frame_bytes(Opcode.BINARY, encode(FollowLobby(), MSGPACK))
LATEST = [
    b"",  # nothing
    request_bytes()[:40],  # half a request
    request_bytes(),  # a request
    request_bytes() + b"\x82",  # a byte of a frame
    request_bytes() + frames(MSGPACK)[0][:9],  # half a frame
    request_bytes() + frame_bytes(Opcode.BINARY, b"\x81", fin=False),  # a fragment
    request_bytes() + frames(MSGPACK)[0],  # a hello
    request_bytes() + frames(MSGPACK)[0] + frame_bytes(Opcode.BINARY, encode(WhoAmI(), MSGPACK)),  # a question
    request_bytes() + b"".join(frames(MSGPACK)) + frame_bytes(Opcode.CLOSE),  # a close frame
    request_bytes() + b"".join(frames(MSGPACK)) + FOLLOW,  # a follower of the lobby
    request_bytes() + b"\x82\x00",  # what is no frame
    request_bytes(JSON) + b"".join(frames(JSON)),  # text
]


@pytest.mark.parametrize("abrupt", [False, True], ids=["at leisure", "at once"])
async def test_whoever_goes_at_any_moment_leaves_nothing_behind(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, abrupt: bool
) -> None:
    caplog.set_level("WARNING", "carpet")
    async with open_house() as house:
        for said in LATEST:
            line = house.listener.dial()
            await line.send_all(said)
            if not abrupt:
                await wait_all_tasks_blocked()
            await line.aclose()
            await trio.sleep(5)
            assert house.connections == [], said
        # As long as an empty room stands, and only once: for each of them it would take ten times as long.
        await trio.sleep(400)
        assert len(house.players) == 0
        assert len(house.rooms) == 0
    assert [record.getMessage() for record in caplog.records if record.name == "carpet.net"] == []


async def test_a_failure_at_the_end_of_one_connection_is_logged_and_harms_no_other(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    gone = house.dispatch.gone

    def fail_after(connection: Connection) -> None:
        gone(connection)
        raise RuntimeError("a bug")

    async with house.guest("Ann") as ann:
        monkeypatch.setattr(house.dispatch, "gone", fail_after)
        async with house.guest("Eve") as eve:
            # In the middle of a question to the store, too.
            await eve.say(WhoAmI())
            await trio.aclose_forcefully(eve.line.stream)
        await trio.sleep(1)
        assert (await ann.open()).phase == "waiting"
        assert len(house.connections) == 1
        assert "a bug" in caplog.text
        monkeypatch.setattr(house.dispatch, "gone", gone)
