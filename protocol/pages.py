"""The documents that a server gives out over plain HTTP, besides the record (`protocol.record`) and the lobby (`protocol.server_messages`).

JSON, for anybody who asks: nothing in them is for players only. A reader must not trust them, like anything else that comes in.
"""

from __future__ import annotations

import re

from msgspec import Struct

from protocol.tournaments import TournamentListing
from protocol.views import RulesInfo, SeatNumber, SeatRating, SeatState, View

PAGE_RACES = 100
"""The most races on one page of a history."""

LADDER_PLAYERS = 200
"""The most players on the ladder."""

FOUND = 20
"""The most results of each kind that a search finds."""

SEARCH_CHARACTERS = 64
"""The most characters to search for."""

_RACE_ID = re.compile(r"[A-Z]{1,16}-[0-9]{1,10}-[0-9a-f]{2,32}")


def is_race_id(text: str) -> bool:
    """Whether the text has the form of a race's id: letters, digits and hyphens, so that it is safe in a path and as a file name."""
    return _RACE_ID.fullmatch(text) is not None


class HistorySeat(Struct, frozen=True, kw_only=True):
    """One seat of a race that is over or was aborted.

    player: the public id, null for a house bot. name: as it was then. place: null if the race was aborted.
    ended_at_ms: when the seat ended, from the start; null if the race was aborted before that.
    rating: what the race did to the player's; null if it did not count, or is from before servers had ratings.
    """

    player: str | None
    name: str
    bot: str | None
    state: SeatState
    place: int | None
    home: int
    ended_at_ms: int | None
    rating: SeatRating | None = None


class HistoryRace(Struct, frozen=True, kw_only=True):
    """One of a player's races. finished_at_ms: Unix time. aborted: why, null if it has a record. seat: the player's own. seats: all."""

    id: str
    room: str
    race: int
    rules: str
    finished_at_ms: int
    aborted: str | None
    seat: SeatNumber
    seats: tuple[HistorySeat, ...]


class BoardStep(Struct, frozen=True, kw_only=True):
    """One move in a race and what it changed for its player. at_ms: the moment that counts, from the start. ply: moves made, with this one.

    piles, foundations: those that changed. waste_kept: how many waste cards stay, from the bottom; waste_more: the cards now on top of
    them. The rest is as in a view.
    """

    seat: SeatNumber
    ply: int
    at_ms: int
    move: str
    state: SeatState
    piles: dict[str, tuple[str, ...]]
    waste_kept: int
    waste_more: tuple[str, ...]
    stock: int
    stock_next: tuple[str, ...]
    foundations: dict[str, int]
    pending: str | None
    redeals: int
    home: int


class RaceBoards(Struct, frozen=True, kw_only=True):
    """Every position of a finished race, so that it can be shown without knowing its rules. firsts: each seat's at the start; their `moves`
    are empty. steps: by at_ms, then seat, then ply.
    """

    race: str
    rules: RulesInfo
    firsts: tuple[View, ...]
    steps: tuple[BoardStep, ...]


class SeatReview(Struct, frozen=True, kw_only=True):
    """What was possible in one seat's game. best: the most cards that could be brought home. left: the same after the slip.

    slip: the number of the move, from 1, after which `best` was out of reach; null, like `left`, if it never was. sentences: all of this
    in words.
    """

    seat: SeatNumber
    best: int
    slip: int | None
    left: int | None
    sentences: tuple[str, ...]


class RaceReview(Struct, frozen=True, kw_only=True):
    """What was possible in a finished race, knowing every card. seats: in seat order; empty unless all of it is certain."""

    race: str
    seats: tuple[SeatReview, ...]


class History(Struct, frozen=True, kw_only=True):
    """A page of the races of one player, newest first.

    player: their public id. name: their current name. next: the `before` that asks for the next, older page; null if there is none.
    """

    player: str
    name: str
    races: tuple[HistoryRace, ...]
    next: str | None


class LadderPlayer(Struct, frozen=True, kw_only=True):
    """One step of the ladder.

    place: from 1; equal ratings share one, and the places they fill are skipped. player: their public id. name: their current name.
    rating: in points. races: how many it is based on.
    """

    place: int
    player: str
    name: str
    rating: int
    races: int


class Ladder(Struct, frozen=True, kw_only=True):
    """The best players by rating, best first."""

    players: tuple[LadderPlayer, ...]


class FoundPlayer(Struct, frozen=True, kw_only=True):
    """Somebody whose name begins with the text searched for. rating: in points; null without one. races: how many it is based on."""

    name: str
    rating: int | None
    races: int


class FoundRace(Struct, frozen=True, kw_only=True):
    """A race that is over. finished_at_ms: Unix time."""

    id: str
    rules: str
    finished_at_ms: int
    seats: tuple[HistorySeat, ...]


class Found(Struct, frozen=True, kw_only=True):
    """What a search has found: at most 20 of each kind.

    players: by name. races: newest first, of the player with exactly this name, or if only a rule set was given, all public ones.
    tournaments: public ones with the text in their names. days: dates that begin with it and have deals of the day, newest first.
    """

    players: tuple[FoundPlayer, ...]
    races: tuple[FoundRace, ...]
    tournaments: tuple[TournamentListing, ...]
    days: tuple[str, ...]


class Problem(Struct, frozen=True, kw_only=True):
    """Why there is no document: one sentence."""

    error: str
