"""Consecutive versions of the server run side by side: each understands the other, or ignores what is new to it.

The bytes here are version 1 of each format. A change that cannot read them breaks a rolling deploy, so add fields with defaults and new
kinds of message, but change none. What commands and decisions of a newer version lead to is in `store/test_nodes.py` and
`tournaments/test_elsewhere.py`.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from protocol.codec import MSGPACK, server_message_decoder
from protocol.errors import Refusal
from protocol.server_messages import Lobby
from server.cluster.bus import _Message
from server.cluster.loads import Load
from server.spectate.relay import Answers, Asks
from server.spectate.relayed_race import Packet, TalkLine
from server.tournaments.elsewhere import News

BY_PLACE = [
    ("93c4066162636465660791c4036f6e65", _Message(b"abcdef", 7, [b"one"])),
    ("9391a2703191c4016dc3", Packet(("p1",), (b"m",), True)),
    ("94a64b575052544da3416e6ea26869c3", TalkLine("KWPRTM", "Ann", "hi", True)),
]
BY_NAME = [
    (
        (
            "85a474797065a461736b73a46e6f646502a8776174636865727381a64b575052544d03a9736e617073686f747391a64b575052544d"
            "a56c696e65739194a64b575052544da3416e6ea26869c3"
        ),
        Asks(2, {"KWPRTM": 3}, ["KWPRTM"], [TalkLine("KWPRTM", "Ann", "hi", True)]),
    ),
    ("83a474797065a461736b73a46e6f646502a8776174636865727380", Asks(2, {})),
    (
        (
            "84a474797065a7616e7377657273a46e6f646502a773657269616c7381a64b575052544d09a77265667573656481a6515151515151"
            "b1726f6f6d2f6e6f2d737563682d636f6465"
        ),
        Answers(2, {"KWPRTM": 9}, {"QQQQQQ": "room/no-such-code"}),
    ),
    ("84a6736572766572a173a67461626c657380a46865726591a27031a46e6f646502", News("s", {}, frozenset({"p1"}), 2)),
    ("85a46e6f646502a5726f6f6d7305ab636f6e6e656374696f6e7307a574616b6573c3a6777269746573c3", Load(2, 5, 7, True, True)),
]


def decoder(value: object) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(Asks | Answers if isinstance(value, Asks | Answers) else type(value))


@pytest.mark.parametrize(("text", "value"), BY_PLACE + BY_NAME)
def test_what_a_node_of_the_version_before_says_is_understood(text: str, value: object) -> None:
    assert decoder(value).decode(bytes.fromhex(text)) == value


@pytest.mark.parametrize(("text", "value"), BY_PLACE)
def test_what_a_newer_node_has_to_add_behind_it_is_left_out(text: str, value: object) -> None:
    told = [*msgspec.msgpack.decode(bytes.fromhex(text)), {"unheard": ["of"]}]
    assert decoder(value).decode(msgspec.msgpack.encode(told)) == value


@pytest.mark.parametrize(("text", "value"), BY_NAME)
def test_a_field_of_a_newer_node_is_left_out(text: str, value: object) -> None:
    told = {**msgspec.msgpack.decode(bytes.fromhex(text)), "unheard": {"of": [1, None]}}
    assert decoder(value).decode(msgspec.msgpack.encode(told)) == value


def test_a_lobby_of_a_newer_node_is_read_and_a_message_of_a_kind_that_is_new_is_refused() -> None:
    lobby = {"type": "lobby", "players": ["Ann"], "players_here": 1, "races": [], "races_open": 0, "ratings": [None]}
    lobby |= {"races_running": 0, "running": [], "unheard": {"of": 1}}
    read = server_message_decoder(MSGPACK).decode(msgspec.msgpack.encode(lobby))
    assert isinstance(read, Lobby)
    assert read.players == ("Ann",)
    with pytest.raises(Refusal, match="unheard-of"):
        server_message_decoder(MSGPACK).decode(msgspec.msgpack.encode({"type": "unheard-of"}))
