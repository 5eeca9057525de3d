"""Turns what the store has of a tournament into its state, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from protocol.tournaments import TournamentOptions
from server.store.port import Entry, SharedDealMade, SharedDealRevealed, TournamentDecided, TournamentMade
from server.tournaments.events import VERSION, BadTournamentLog, CalledOff, Finished, decode_event, encode_event
from server.tournaments.pairing.crosstable import Refused
from server.tournaments.state import TournamentState, new_state


class Making(msgspec.Struct, frozen=True):
    """What a tournament was made with. director_name: at that moment."""

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
    except (msgspec.DecodeError, UnicodeError) as error:
        raise BadTournamentLog(f"not what a tournament is made with: {error}") from error
    if version != VERSION:
        raise BadTournamentLog(f"a document of version {version}, where this program reads {VERSION}")
    return making


def state_of(made: TournamentMade, log: Iterable[TournamentDecided]) -> TournamentState:
    """Raises BadTournamentLog, also for a log of things that cannot have happened."""
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


def entries_of(was: TournamentState, state: TournamentState) -> list[Entry]:
    """Journal entries for what has happened since `was`."""
    entries: list[Entry] = [
        TournamentDecided(
            tournament=state.id,
            sequence=logged.number,
            at_ms=logged.at_ms,
            author=logged.author,
            decision=encode_event(logged.event),
            closes=isinstance(logged.event, (Finished, CalledOff)),
        )
        for logged in state.log[len(was.log) :]
    ]
    for number, shuffle in enumerate(state.shuffles, 1):
        before = was.shuffles[number - 1] if number <= len(was.shuffles) else None
        deal_id = state.deal_id(number)
        if before is None:
            made_at, nonces = shuffle.paired_at_ms, (shuffle.nonce,)
            entries.append(SharedDealMade(kind="round", id=deal_id, secret=state.secret(number), at_ms=made_at, nonces=nonces))
        if shuffle.over_at_ms is not None and (before is None or before.over_at_ms is None):
            entries.append(SharedDealRevealed(kind="round", id=deal_id, at_ms=shuffle.over_at_ms))
    return entries
