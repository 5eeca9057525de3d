"""Hostile input: each kind gets its error code or close code, and the others' race goes on with every card in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgpack
import pytest
import trio
from trio.testing import MockClock
from websockets.exceptions import ConnectionClosed
from websockets.frames import Opcode

from protocol.cards import fresh_deck
from protocol.client_messages import PRICES, Hello, Move, OpenRace, Say
from protocol.codec import JSON, MSGPACK
from protocol.errors import CloseCode, ErrorCode, Fault
from protocol.room_events import PlayerView, Presence, Progress, Said, Seated
from protocol.run_messages import Dailies, ListDailies
from protocol.server_messages import Error, Welcome
from protocol.views import ChatLine, RaceOptions
from server.net.connection import BAD_MESSAGES, LARGE_BYTES, PING_INTERVAL_S
from server.rooms.outgoing import Outgoing
from tests.server.net.wire import House, frame_bytes, open_house
from tests.server.rules.changed import cards_of

pytestmark = pytest.mark.usefixtures("both_kinds", "autojump_clock")

DECK = sorted(fresh_deck())


@asynccontextmanager
async def undisturbed(house: House) -> AsyncIterator[None]:
    """A race of two others, who move before and after what happens inside, and are told of nothing else."""
    async with house.race("Ann", "Bob") as (ann, bob):
        await ann.play()
        await bob.hear_of(Progress)
        room = house.only_room
        yield
        for mover, other in ((ann, bob), (bob, ann)):
            await mover.move()
            assert isinstance(await mover.hear(), PlayerView)
            assert isinstance(await other.hear(), Progress)
        assert ann.gaps == bob.gaps == 0
        for seat in room.core.race.seats:
            assert seat.position is not None
            assert cards_of(seat.position) == DECK


DOCUMENTS: list[tuple[dict[str, Any], ErrorCode, str]] = [
    ({"type": "castle"}, ErrorCode.UNKNOWN_TYPE, "$.type"),
    ({"type": 7}, ErrorCode.UNKNOWN_TYPE, ""),
    ({}, ErrorCode.UNKNOWN_TYPE, ""),
    ({"type": "move", "race": 1, "seat": 0, "ply": "0", "move": "s"}, ErrorCode.BAD_MESSAGE, "$.ply"),
    ({"type": "move", "race": 1, "seat": 8, "ply": 0, "move": "s"}, ErrorCode.BAD_MESSAGE, "$.seat"),
    ({"type": "move", "race": 1, "seat": -1, "ply": 0, "move": "s"}, ErrorCode.BAD_MESSAGE, "$.seat"),
    ({"type": "move", "race": 1, "seat": 0, "ply": 0}, ErrorCode.BAD_MESSAGE, "$"),
    ({"type": "move", "race": 1, "seat": 0, "ply": 0, "move": "s" * 9}, ErrorCode.BAD_MESSAGE, "$.move"),
    ({"type": "ready", "race": 1, "nonce": "xyz"}, ErrorCode.BAD_MESSAGE, "$.nonce"),
    ({"type": "ready", "race": 0, "nonce": "0" * 32}, ErrorCode.BAD_MESSAGE, "$.race"),
    ({"type": "open-race", "options": {"seats": 9}}, ErrorCode.BAD_MESSAGE, "$.options.seats"),
    ({"type": "open-race", "options": {"seats": 0}}, ErrorCode.BAD_MESSAGE, "$.options.seats"),
    ({"type": "say", "text": "x" * 1001}, ErrorCode.BAD_MESSAGE, "$.text"),
    ({"type": "say", "text": [[[[[[[[[[]]]]]]]]]]}, ErrorCode.TOO_DEEP, ""),
]


@pytest.mark.parametrize("encoding", [MSGPACK, JSON])
async def test_a_message_that_is_none_gets_its_code_and_the_field_to_blame(house: House, encoding: str) -> None:
    async with undisturbed(house):
        for number, (document, code, path) in enumerate(DOCUMENTS):
            async with house.guest(f"Eve {number}", encoding) as eve:
                await eve.say_map({**document, "ref": 41})
                error = await eve.error()
                assert (error.code, error.fault, error.ref) == (code, Fault.CLIENT, 41), document
                assert not path or error.path == path, document
                await eve.open()


TOO_DEEP = (b"\x91" * 2000, b"[" * 2000)
FRAMES = [
    (MSGPACK, b""),  # nothing
    (MSGPACK, b"\xc1"),  # byte that MessagePack does not use
    (MSGPACK, b"\x85\xa4type"),  # map that stops in the middle
    (MSGPACK, b"\xdd\xff\xff\xff\xff"),  # list of four billion
    (MSGPACK, msgpack.packb([1, 2, 3])),  # list
    (MSGPACK, msgpack.packb({1: 2})),  # key that is no text
    (MSGPACK, msgpack.packb({"type": msgpack.ExtType(5, b"x")})),  # extension type
    (MSGPACK, msgpack.packb({"type": "hello"}) + b"\x00"),  # something behind the map
    (MSGPACK, b"\x91" * 2000),  # two thousand lists within each other
    (JSON, b""),  # no JSON
    (JSON, b"{"),  # JSON that stops in the middle
    (JSON, b'"hello"'),  # JSON text
    (JSON, b"[" * 2000),  # two thousand JSON lists within each other
    (JSON, b'{"type": "hello", "name": "\\ud800"}'),  # half a surrogate pair
]


async def test_a_malformed_frame_is_a_bad_frame(house: House) -> None:
    async with undisturbed(house):
        for number, (encoding, payload) in enumerate(FRAMES):
            async with house.client(encoding) as eve:
                await eve.line.send(payload, text=encoding == JSON)
                assert (await eve.error()).code == (ErrorCode.TOO_DEEP if payload in TOO_DEEP else ErrorCode.BAD_FRAME), payload
                await eve.hello(f"Eve {number}")


@pytest.mark.parametrize("encoding", [MSGPACK, JSON])
async def test_the_wrong_kind_of_frame_is_a_bad_frame(house: House, encoding: str) -> None:
    async with house.client(encoding) as eve:
        await eve.line.send(b"{}", text=encoding == MSGPACK)
        error = await eve.error()
        assert error.code == ErrorCode.BAD_FRAME
        assert "binary frames" in error.message


@pytest.mark.parametrize("encoding", [MSGPACK, JSON])
@pytest.mark.parametrize(
    "parts", [[b'{"type": "unwatch", "x": "\xff"}'], [b'{"type": "unwatch", "x": "\xc3', b'"}']], ids=["whole", "in fragments"]
)
async def test_a_text_frame_that_is_no_utf8_closes_with_1007(house: House, encoding: str, parts: list[bytes]) -> None:
    async with undisturbed(house), house.guest("Eve", encoding) as eve:
        await eve.line.send(parts, text=True)
        assert (await eve.hear_end())[0] == 1007


async def test_a_character_in_two_fragments_is_read(house: House) -> None:
    async with undisturbed(house), house.guest("Eve", JSON) as eve:
        await eve.line.send([b'{"type": "say", "text": "\xc3', b'\xa9", "ref": 3}'], text=True)
        assert await eve.refusal() == (ErrorCode.NOT_IN_ROOM, 3)


@pytest.mark.parametrize("encoding", [MSGPACK, JSON])
async def test_a_message_of_five_kibibytes_closes_with_1009(house: House, encoding: str) -> None:
    async with undisturbed(house), house.guest("Eve", encoding) as eve:
        await eve.say_map({"type": "say", "text": "x" * 5120})
        assert (await eve.hear_end())[0] == 1009


async def test_five_kibibytes_in_small_fragments_close_with_1009_too(house: House) -> None:
    async with undisturbed(house), house.guest("Eve") as eve:
        # The server may have closed it before the last of them is sent.
        with suppress(ConnectionClosed):
            await eve.line.send([b"x" * 512] * 10)
        assert (await eve.hear_end())[0] == 1009


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (RaceOptions(rules="whist"), ErrorCode.UNKNOWN_RULES),
        (RaceOptions(bots=("random", "random")), ErrorCode.BAD_OPTIONS),
        (RaceOptions(bots=("deeper",)), ErrorCode.UNKNOWN_BOT),
    ],
)
async def test_a_race_is_not_given_up_for_one_that_cannot_be_opened(house: House, options: RaceOptions, code: ErrorCode) -> None:
    async with house.guest("Ann") as ann:
        first = await ann.open(seats=3)
        await ann.say(OpenRace(options=options, ref=7))
        assert await ann.refusal() == (code, 7)
        assert [room.code for room in house.rooms] == [first.code]
        assert (await ann.join(first.code)).seat == 0


async def test_a_player_in_the_race_who_sends_too_much_is_only_away(house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, bob):
        await bob.say_map({"type": "say", "text": "x" * 5120})
        assert (await bob.hear_end())[0] == 1009
        assert (await ann.hear_of(Presence)).connected is False
        await ann.play()
        token = bob.welcome.token
        async with house.client() as again:
            welcome = await again.hello("Bob", token)
            assert welcome.room is not None
            await again.join(welcome.room)
            await again.play()


async def test_many_messages_that_are_none_close_with_4002(house: House) -> None:
    async with undisturbed(house), house.guest("Eve") as eve:
        for _ in range(BAD_MESSAGES):
            await eve.say_map({"type": "castle"})
        assert (await eve.hear_end())[0] == CloseCode.TOO_MANY_ERRORS
        assert [error.code for error in eve.heard if isinstance(error, Error)] == [ErrorCode.UNKNOWN_TYPE] * BAD_MESSAGES


async def test_moves_that_are_refused_do_not_count_as_such(house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, _):
        for _ in range(3 * BAD_MESSAGES):
            await ann.move("j8")
            assert (await ann.error()).code == ErrorCode.ILLEGAL_MOVE
        await ann.play()


async def test_a_flood_is_told_and_then_closed_with_4029() -> None:
    async with open_house(rate=20, burst=40) as house, undisturbed(house), house.guest("Eve") as eve:
        await eve.flood(Say(text="spam"), 100)
        assert (await eve.hear_end())[0] == CloseCode.FLOOD
        codes = [error.code for error in eve.heard if isinstance(error, Error)]
        assert codes == [ErrorCode.NOT_IN_ROOM] * 39 + [ErrorCode.TOO_FAST]


async def test_what_costs_more_is_refused_sooner_and_by_its_ref() -> None:
    async with open_house(rate=20, burst=40) as house, undisturbed(house), house.guest("Eve") as eve:
        for ref in range(1, 12):
            await eve.say(ListDailies(ref=ref))
        for _ in range(40 // PRICES[ListDailies] - 1):
            await eve.hear_of(Dailies)
        error = await eve.error()
        assert (error.code, error.ref) == (ErrorCode.TOO_FAST, 40 // PRICES[ListDailies])
        await trio.sleep(2)
        await eve.ask(ListDailies(), Dailies)


@pytest.mark.parametrize("together", [True, False])
async def test_whoever_is_sent_much_may_ask_for_less(together: bool) -> None:
    async with open_house(rate=1, burst=40) as house, house.guest("Eve") as eve:
        (end,) = house.connections
        small, large = (Outgoing(Said(version=1, line=ChatLine(seat=0, name="Ann", text="x" * size))) for size in (1, 39 * LARGE_BYTES))
        if together:
            end.post_together([small, large])
            await eve.hear_of(Said)
        else:
            end.post(large)
        await eve.hear_of(Said)
        assert (await eve.error_for(Say(text="and now?"))).code == ErrorCode.TOO_FAST
        await trio.sleep(5)
        assert (await eve.error_for(Say(text="and now?"))).code == ErrorCode.NOT_IN_ROOM


async def test_whoever_slows_down_after_being_told_may_stay() -> None:
    async with open_house(rate=20, burst=40) as house, house.guest("Eve") as eve:
        await eve.flood(Say(text="spam"), 60)
        while (await eve.error()).code != ErrorCode.TOO_FAST:
            pass
        await trio.sleep(2)
        await eve.open()


async def test_a_flood_in_a_race_harms_only_the_one_who_floods() -> None:
    async with open_house(rate=20, burst=40) as house, house.race("Ann", "Bob") as (ann, bob):
        await bob.flood(Move(race=1, seat=1, ply=0, move="j8"), 200)
        assert (await bob.hear_end())[0] == CloseCode.FLOOD
        assert (await ann.hear_of(Presence)).connected is False
        await ann.play()
        assert [seat.ply for seat in house.only_room.core.race.seats] == [1, 0]


@pytest.mark.parametrize(
    "flood",
    [
        pytest.param(frame_bytes(Opcode.PING) * 200, id="pings"),
        pytest.param(frame_bytes(Opcode.PONG, b"unasked") * 200, id="pongs"),
        pytest.param(frame_bytes(Opcode.BINARY, fin=False) + frame_bytes(Opcode.CONT, fin=False) * 200, id="empty fragments"),
    ],
)
async def test_a_flood_of_frames_that_are_no_messages_is_closed_too(flood: bytes) -> None:
    async with open_house(rate=20, burst=40) as house, undisturbed(house), house.guest("Eve") as eve:
        await eve.line.stream.send_all(flood)
        assert (await eve.hear_end())[0] == CloseCode.FLOOD


async def test_answering_pings_is_not_held_against_anybody() -> None:
    async with open_house(rate=0.001, burst=3) as house, house.guest("Ann") as ann:
        await trio.sleep(30 * PING_INTERVAL_S)
        await ann.open()
        assert house.connections[0].round_trip_ms == 0


async def test_a_message_of_which_a_fragment_was_too_much_is_dropped_whole() -> None:
    async with open_house(rate=10, burst=4) as house, house.guest("Ann") as ann:
        await trio.sleep(1)
        payload = msgpack.packb({"type": "open-race", "options": {}})
        await ann.line.stream.send_all(
            frame_bytes(Opcode.BINARY, payload[:3], fin=False)
            + frame_bytes(Opcode.CONT, b"", fin=False) * 4
            + frame_bytes(Opcode.CONT, payload[3:])
        )
        assert (await ann.error()).code == ErrorCode.TOO_FAST
        await trio.sleep(1)
        assert len(house.rooms) == 0
        await ann.open()


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        pytest.param(b"\x82\x00", 1002, id="frame without a mask"),
        pytest.param(b"\xc2\x80\x00\x00\x00\x00", 1002, id="reserved bit"),
        pytest.param(b"\x83\x80\x00\x00\x00\x00", 1002, id="opcode that is none"),
        pytest.param(frame_bytes(Opcode.CONT, b"x"), 1002, id="fragment of nothing"),
        pytest.param(b"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00", 1009, id="frame of sixteen exbibytes"),
    ],
)
async def test_what_is_no_websocket_is_closed_by_the_standard_code(house: House, frame: bytes, code: int) -> None:
    async with undisturbed(house), house.guest("Eve") as eve:
        await eve.line.stream.send_all(frame)
        assert (await eve.hear_end())[0] == code


# ---- the hello


async def test_before_the_hello_nothing_else_is_heard(house: House) -> None:
    async with house.client() as eve:
        await eve.say(OpenRace(options=RaceOptions(), ref=3))
        assert await eve.refusal() == (ErrorCode.HELLO_FIRST, 3)
        assert len(house.rooms) == 0
        await eve.hello("Eve")
        assert (await eve.error_for(Hello(name="Mallory"))).code == ErrorCode.HELLO_TWICE


async def test_a_name_full_of_escape_sequences_reaches_nobody(house: House) -> None:
    async with house.guest("Ann") as ann, house.client() as eve:
        room = await ann.open()
        welcome = await eve.hello("\x1b[31mE\x1b]0;owned\x07v\x9b2Je\x00\r\n\u202e" + "x" * 100)
        assert welcome.name.startswith("Eve")
        assert welcome.name.isprintable()
        assert len(welcome.name) <= 24
        await eve.join(room.code)
        assert (await ann.hear_of(Seated)).name == welcome.name
        assert all(name.isprintable() for name in house.lobby.state().players)


async def test_an_unknown_token_is_refused_and_a_hello_without_one_is_welcome(house: House) -> None:
    async with house.client() as eve:
        assert (await eve.error_for(Hello(name="Eve", token="0" * 32))).code == ErrorCode.UNKNOWN_TOKEN
        await eve.hello("Eve")


async def test_whoever_has_said_hello_is_waited_for_as_long_as_the_store_takes(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    arrive = house.players.arrive

    async def slowly(**who: Any) -> Any:
        await trio.sleep(35)
        return await arrive(**who)

    monkeypatch.setattr(house.players, "arrive", slowly)
    async with house.client() as ann:
        await ann.say(Hello(name="Ann"))
        await trio.sleep(34)
        assert isinstance(await ann.hear(), Welcome)


async def test_whoever_goes_on_talking_while_the_store_does_not_answer_is_closed_before_it_is_too_much_to_keep() -> None:
    async def never(**_: object) -> Any:
        await trio.sleep_forever()

    async with open_house(rate=20, burst=40) as house, house.client() as eve:
        house.players.arrive = never  # type: ignore[method-assign]
        await eve.say(Hello(name="Eve", token="0" * 32))
        for _ in range(40):
            # No faster than the rate limit allows.
            await trio.sleep(0.1)
            await eve.say(Say(text="x" * 1000))
        await trio.sleep(1)
        assert house.connections[0].is_open
        await eve.say(Say(text="x" * 1000))
        assert await eve.hear_end() == (CloseCode.FLOOD, "too many messages before an answer")


async def test_a_server_that_stood_still_reads_what_came_meanwhile_before_it_misses_a_hello(
    autojump_clock: MockClock, house: House
) -> None:
    async with house.client() as ann:
        await trio.sleep(5)
        autojump_clock.jump(30)
        await ann.hello("Ann")
    async with house.client() as eve:
        await trio.sleep(5)
        autojump_clock.jump(30)
        began = trio.current_time()
        assert (await eve.hear_end())[0] == CloseCode.HELLO_TIMEOUT
        assert trio.current_time() - began < 13


@pytest.mark.parametrize("said", [b"", b"\xc0"])
async def test_without_a_hello_the_connection_is_closed_after_ten_seconds(house: House, said: bytes) -> None:
    async with house.client() as eve:
        if said:
            await eve.say_document(said)
        began = trio.current_time()
        assert (await eve.hear_end())[0] == CloseCode.HELLO_TIMEOUT
        assert 10 <= trio.current_time() - began < 13
