"""Commands as text: every command reads back unchanged, and text that is not one is named in the error."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.record import PastPosition
from protocol.views import RaceOptions, SeriesOptions
from server.match.series import SeatResult, Series
from server.race.commands import Command, GetReady, PlayMove, TakeSeat
from server.race.start_position import StartPosition
from server.store.documents import (
    TAGS,
    BadDocument,
    Opened,
    decode_command,
    decode_opening,
    decode_options,
    decode_record,
    encode,
    encode_command,
    encode_opening,
)
from tests.server.store.keeping import won

commands = st.one_of(*(st.builds(command) for command in TAGS.values()))


@given(commands)
def test_every_command_comes_back_as_it_was(command: Command) -> None:
    text = encode_command(command)
    assert decode_command(text) == command
    assert b"\0" not in text


def test_every_command_has_a_tag_of_its_own() -> None:
    assert set(TAGS.values()) == set(get_args(Command))


def test_the_text_of_commands_stays_what_it_is() -> None:
    """Every later version must be able to read what is written today."""
    assert encode_command(PlayMove(1, 7, "b3")) == b'[1,"play-move",{"seat":1,"ply":7,"move":"b3"}]'
    assert encode_command(TakeSeat("p", "Anna")) == b'[1,"take-seat",{"player":"p","name":"Anna","bot":null,"seat":null}]'
    assert encode_command(GetReady(0, b"\x00\xff")) == b'[1,"get-ready",{"seat":0,"nonce":"AP8="}]'
    assert list(TAGS) == [
        "take-seat",
        "leave-seat",
        "measure-line",
        "get-ready",
        "choose-deal",
        "play-move",
        "stop-seat",
        "resign-seat",
        "lose-line",
        "regain-line",
        "pass-time",
    ]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('[2,"play-move",{"seat":1,"ply":7,"move":"b3"}]', "version 2, where this program reads 1"),
        ('[1,"fly-away",{"seat":1}]', "'fly-away', which this program does not know"),
        ('[1,"play-move",{"seat":1,"move":"b3"}]', "missing required field `ply`"),
        ('[1,"play-move",{"seat":"1","ply":7,"move":"b3"}]', "Expected `int`"),
        ('[1,"play-move"]', "not a command"),
        ('{"seat":1}', "not a command"),
        ("", "not a command"),
    ],
)
def test_what_is_not_a_command_is_named(text: str, what: str) -> None:
    with pytest.raises(BadDocument, match=what):
        decode_command(text.encode())


@given(st.builds(RaceOptions, deal=st.none() | st.text(min_size=1, max_size=100)))
def test_options_come_back_as_they_were(options: RaceOptions) -> None:
    assert decode_options(encode_opening(Opened(options, None, None))) == options


@given(
    st.builds(
        Series,
        options=st.builds(SeriesOptions, races=st.integers(1, 25), grace_s=st.integers(5, 3600)),
        seats=st.integers(1, 8),
        results=st.lists(st.lists(st.builds(SeatResult), min_size=1).map(tuple)).map(tuple),
        nonces=st.lists(st.binary(min_size=16, max_size=16).map(bytes.hex)).map(tuple),
    )
)
def test_how_a_series_stood_comes_back_beside_the_options(series: Series) -> None:
    text = encode_opening(Opened(RaceOptions(), series, None))
    assert decode_opening(text) == Opened(RaceOptions(), series, None)
    assert decode_options(text) == RaceOptions()


def test_from_where_a_race_began_comes_back_beside_the_options() -> None:
    past = PastPosition(race="HKTRWM-1-0a1b2c3d4e5f", digest="5e" * 32, seat=1, moves=("a1", "s:a1"))
    opened = Opened(RaceOptions(), None, None, StartPosition(past=past, ply=2, seed="7c" * 32))
    assert decode_opening(encode_opening(opened)) == opened


def test_for_whom_a_quick_match_opened_a_race_comes_back_beside_the_options_and_for_nobody_where_none_is_told() -> None:
    opened = Opened(RaceOptions(), None, None, matched=("anna's", "bert's"))
    assert decode_opening(encode_opening(opened)) == opened
    assert decode_opening("{}").matched == ()
    assert "matched" not in encode_opening(Opened(RaceOptions(), None, None)), "an older server reads on"


def test_options_of_before_there_were_series_are_of_a_single_race() -> None:
    assert decode_opening('{"seats": 3}') == Opened(RaceOptions(seats=3), None, None)


def test_options_that_are_none_are_named() -> None:
    with pytest.raises(BadDocument, match="not the options of a race"):
        decode_options('{"seats": 99}')


def test_a_record_comes_back_only_as_it_was_sealed() -> None:
    text = encode(won())
    assert decode_record(text, won().digest) == won()
    altered = json.loads(text)
    altered["started_at_ms"] += 1
    for document, digest in ((json.dumps(altered), won().digest), (text, "0" * 64)):
        with pytest.raises(BadDocument, match="it was altered"):
            decode_record(document, digest)
    with pytest.raises(BadDocument, match="not a record"):
        decode_record("{}", "")
