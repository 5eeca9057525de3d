"""From what the store keeps of a tournament to its state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from protocol.tournaments import TournamentOptions
from server.store.port import TournamentDecided, TournamentMade
from server.tournaments.events import VERSION, BadTournamentLog, check_version, decode_event
from server.tournaments.pairing.crosstable import Refused
from server.tournaments.state import TournamentState, new_state


class Making(msgspec.Struct, frozen=True):
    """What a tournament is made with. director_name: at that moment."""

    options: TournamentOptions
    code: str | None
    director_name: str


_MAKING: Final = msgspec.json.Decoder(tuple[int, Making])


def encode_making(making: Making) -> str:
    return msgspec.json.encode((VERSION, making)).decode()


def decode_making(text: str) -> Making:
    """Raises BadTournamentLog."""
    try:
        version, making = _MAKING.decode(text)
        check_version(version)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise BadTournamentLog(f"not what a tournament is made with: {error}") from error
    return making


def state_of(made: TournamentMade, log: Iterable[TournamentDecided]) -> TournamentState:
    """Raises BadTournamentLog, also for a log that holds what could not have happened."""
    making = decode_making(made.document)
    fresh = new_state(
        made.tournament,
        making.options,
        code=making.code,
        director=made.director,
        director_name=making.director_name,
        root=made.secret,
        made_at_ms=made.at_ms,
    )
    return replayed(fresh, log)


def replayed(state: TournamentState, log: Iterable[TournamentDecided]) -> TournamentState:
    """The state after the entries that follow it. Raises BadTournamentLog."""
    for entry in log:
        try:
            state = state.after(decode_event(entry.decision), at_ms=entry.at_ms, author=entry.author)
        except Refused as error:
            raise BadTournamentLog(f"decision {entry.sequence} of tournament {state.id} could not be taken: {error}") from error
    return state
