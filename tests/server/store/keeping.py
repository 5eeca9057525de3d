"""Shared by the tests of the store: entries made by short calls, and races with real records."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, closing
from functools import cache
from pathlib import Path

import trio
from msgspec.structs import replace

from protocol.record import Record, sealed
from protocol.views import RaceOptions
from server.race.commands import Command, PlayMove
from server.race.rating import FIRST, POINTS, Rating
from server.store.compaction import batches
from server.store.documents import Taken, decode_commands, encode_commands
from server.store.journal import Journal
from server.store.port import CommandTaken, Entry, PlayedSeat, PlayerMade, RaceOpened, RaceOver
from server.store.sql import Sql
from server.store.store import Store
from tests.server.race import racing
from tests.server.race.racing import SECRET, WINNABLE, Driven

NOW = 1_700_000_000_000


def made(player: str, name: str | None = None, *, at: int = 0) -> PlayerMade:
    return PlayerMade(player=player, name=name or player.title(), token_hash=player.encode().ljust(32, b"."), at_ms=NOW + at)


def opened(race: str, *, at: int = 0, options: RaceOptions | None = None) -> RaceOpened:
    return RaceOpened(
        race=race,
        room="ABCDEF",
        number=1,
        options=options or RaceOptions(deal=WINNABLE),
        secret=SECRET,
        software="carpet-server 0",
        at_ms=NOW + at,
    )


def taken(race: str, sequence: int, command: Command | None = None, *, at: int = 0) -> CommandTaken:
    return CommandTaken(race=race, sequence=sequence, at_ms=NOW + at, command=command or PlayMove(0, sequence, "s"))


@cache
def driven() -> Driven:
    """A race that seat 0 wins."""
    race = racing.won()
    race.finish()
    return race


def won() -> Record:
    return driven().record


def over(race: str, *players: str | None, at: int = 0, here: tuple[int, ...] = ()) -> RaceOver:
    return RaceOver(race=race, record=won(), players=players or (None, None), at_ms=NOW + at, here=here)


def worth(points: int, *, races: int = 1) -> Rating:
    """A rating that shows as this many points."""
    return Rating((points - FIRST) / POINTS, 0.0, races)


def rated(race: str, **places: int) -> Record:
    """The record of a rated race, from players and their places, in seat order."""
    seats = tuple(replace(won().seats[0], player=player, name=player.title(), place=place) for player, place in places.items())
    return sealed(replace(won(), id=race, rated=True, seats=seats))


def rated_over(race: str, places: Mapping[str, int], *, at: int = 0, here: tuple[int, ...] = ()) -> RaceOver:
    return RaceOver(race=race, record=rated(race, **places), players=tuple(places), at_ms=NOW + at, here=here)


def seat(player: str | None, *, bot: str | None = None) -> PlayedSeat:
    """A seat of a race that was aborted while running."""
    return PlayedSeat(player, (player or bot or "").title(), bot, "racing", None, 7, None)


def logged(race: str) -> list[CommandTaken]:
    """The commands of `driven`, as the journal would hold them."""
    return [
        CommandTaken(race=race, sequence=sequence, at_ms=at_ms, command=command)
        for sequence, (command, at_ms) in enumerate(driven().log, 1)
    ]


def change_log(sql: Sql, change: Callable[[Taken], Taken | None]) -> None:
    """Replace each command by another one, or by nothing."""
    for row in list(batches(sql)):
        kept = [changed for taken in decode_commands(row.commands) if (changed := change(taken)) is not None]
        sql.run(
            "UPDATE batches SET commands = :commands WHERE number = :number", [{"number": row.number, "commands": encode_commands(kept)}]
        )


def damage_records(path: str) -> None:
    """Overwrite the first page of the records in a SQLite file."""
    with closing(sqlite3.connect(path)) as file:
        ((root,),) = file.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'records'").fetchall()
        ((size,),) = file.execute("PRAGMA page_size").fetchall()
    with Path(path).open("r+b") as raw:
        raw.seek((root - 1) * size)
        raw.write(os.urandom(size))


@asynccontextmanager
async def journalling(store: Store, **options: int) -> AsyncIterator[Journal]:
    """A journal that is closed, and has written all, at the end of the block."""
    journal = Journal(store, **options)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(journal.run)
        yield journal
        journal.close()


def write(store: Store, *entries: Entry) -> None:
    """Write one request, which must not be refused."""
    (refused,) = store.write([entries])
    if refused is not None:
        raise refused
