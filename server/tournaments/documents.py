"""Decisions to the text that is stored, and back; and what a tournament is made with.

A decision is the JSON list `[version, tag, fields]`, like the commands of races in `server.store.documents`: tags are names of their own,
never changed or used again, and a change to a decision's fields that old text does not fit takes a new version.
"""

from __future__ import annotations

from typing import Final

import msgspec

from protocol.tournaments import TournamentOptions
from server.tournaments.choices import (
    BrokenOff,
    BrokenRace,
    CheckedIn,
    CheckInOpened,
    Choice,
    Corrected,
    Entered,
    Finished,
    Left,
    Paired,
    Paused,
    Raced,
    Resumed,
    Returned,
)

VERSION: Final = 1

TAGS: Final[dict[str, type[Choice]]] = {
    "enter": Entered,
    "open-check-in": CheckInOpened,
    "check-in": CheckedIn,
    "withdraw": Left,
    "return": Returned,
    "pair": Paired,
    "result": Raced,
    "broken-race": BrokenRace,
    "correct": Corrected,
    "pause": Paused,
    "resume": Resumed,
    "finish": Finished,
    "end": BrokenOff,
}
"""The tags are the `kind` of `LoggedDecision` too."""


class BadDocument(ValueError):
    """Stored text that is not what it should be. Says what it is instead."""


class Making(msgspec.Struct, frozen=True):
    """What a tournament is made with. director_name: as he was called then."""

    options: TournamentOptions
    code: str | None
    director_name: str


KIND: Final[dict[type[Choice], str]] = {choice: tag for tag, choice in TAGS.items()}
_FRAME: Final = msgspec.json.Decoder(tuple[int, str, msgspec.Raw])
_FIELDS: Final[dict[str, msgspec.json.Decoder[Choice]]] = {tag: msgspec.json.Decoder(choice) for tag, choice in TAGS.items()}
_MAKING: Final = msgspec.json.Decoder(tuple[int, Making])
_ENCODER: Final = msgspec.json.Encoder()


def encode_choice(choice: Choice) -> str:
    return _ENCODER.encode((VERSION, KIND[type(choice)], choice)).decode()


def decode_choice(text: str) -> Choice:
    """Raises BadDocument."""
    try:
        version, tag, fields = _FRAME.decode(text)
        _check_version(version)
        if tag not in _FIELDS:
            raise BadDocument(f"a decision {tag!r}, which this program does not know")
        return _FIELDS[tag].decode(fields)
    except (msgspec.DecodeError, UnicodeError, ValueError) as error:
        raise BadDocument(f"not a decision: {error}") from error


def encode_making(making: Making) -> str:
    return _ENCODER.encode((VERSION, making)).decode()


def decode_making(text: str) -> Making:
    """Raises BadDocument."""
    try:
        version, making = _MAKING.decode(text)
        _check_version(version)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise BadDocument(f"not what a tournament is made with: {error}") from error
    return making


def _check_version(version: int) -> None:
    if version != VERSION:
        raise BadDocument(f"a document of version {version}, where this program reads {VERSION}")
