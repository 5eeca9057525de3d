"""Tournaments over real sockets, with a connection for every entrant, and the server killed in the middle of a round.

They show that nothing anybody was told is lost, and that every round is played to its end on one shuffle, with its records sealed until
then. For 64 entrants and nine rounds see `tests/bench/tournament_kill.py`.
"""

from __future__ import annotations

import csv
import io
import json
import signal
import sqlite3
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
import trio

from protocol.fairness import derive_seed, shared_nonce
from protocol.record import Record, check_deal, from_json
from protocol.tournaments import TournamentDocument, TournamentOptions
from tests.e2e.entrants import Entrant, Hold, Referee
from tests.e2e.nodes import NodeProcess, listening
from tests.ports import held_ports

FAST = TournamentOptions(name="Killed", check_in_s=600, no_show_s=60, pause_s=0, countdown_s=1, grace_s=60, rated=False, time_limit_s=120)


class Ground(NodeProcess):
    """A server that can be killed, and comes back on the same port and database."""

    async def page(self, path: str) -> bytes:
        def fetch() -> bytes:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as answer:
                body: bytes = answer.read()
            return body

        return await trio.to_thread.run_sync(fetch)

    def records(self) -> dict[str, Record]:
        """All of them by race, read without the store's own help."""
        with closing(sqlite3.connect(self.database)) as connection:
            return {race: from_json(text) for race, text in connection.execute("SELECT race, record FROM records")}

    async def status(self, path: str) -> int:
        try:
            await self.page(path)
        except urllib.error.HTTPError as error:
            with error:
                return error.code
        return 200


@asynccontextmanager
async def ground_in(folder: Path) -> AsyncIterator[Ground]:
    with held_ports(1) as (port,):
        ground = Ground(str(folder / "tournament.sqlite3"), "", port, ("--bot-pace", "full"))
        async with listening(ground):
            yield ground


async def play_with_a_kill(
    ground: Ground, options: TournamentOptions, number: int, *, kill_in: int
) -> tuple[TournamentDocument, list[Entrant], Referee]:
    """The whole tournament of so many, with a kill -9 while round `kill_in` is being run."""
    # Its first table is not done before the server is back.
    hold = Hold(kill_in, table=1)
    entrants = [Entrant(f"bot {each}", strength=4 + each % 13, holds=(hold,)) for each in range(number)]
    referee = Referee()
    start = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(referee.direct, ground.url, options)
        await referee.made.wait()
        for entrant in entrants:
            nursery.start_soon(entrant.play, ground.url, referee.identity, start)
        for entrant in entrants:
            await entrant.entered.wait()
        referee.start()
        await referee.until("check-in")
        start.set()
        told = await referee.until("running", round=kill_in, results=1)
        sealed = next(race for table in told.tables for race in table.race_ids)
        assert await ground.status(f"/races/{sealed}.json") == 403, "a record of a round that is not over is nobody's to see"
        await ground.end(signal.SIGKILL)
        await ground.start()
        hold.let_go()
        await referee.until("over")
        document = msgspec.json.decode(await ground.page(f"/tournaments/{referee.identity}.json"), type=TournamentDocument)
        nursery.cancel_scope.cancel()
    return document, entrants, referee


async def check(ground: Ground, document: TournamentDocument, entrants: list[Entrant], referee: Referee) -> list[list[Record]]:
    """Nothing told was lost; every round has one shuffle, that follows from what was promised. The records by round."""
    assert [(entrant.name, error.code, error.message) for entrant in entrants for error in entrant.unexpected] == []
    assert referee.went_back == []
    assert [entry.number for entry in document.log] == list(range(1, len(document.log) + 1))
    by_number = {entry.number: entry for entry in document.log}
    assert {number: by_number[number] for number in referee.log} == referee.log
    assert document.phase == "over"
    assert {entrant.name for entrant in document.entrants if not entrant.withdrawn} == {entrant.name for entrant in entrants}

    kept = await trio.to_thread.run_sync(ground.records)
    link = document.commitment
    nonce_of = {entrant.id: entrant.nonce for entrant in document.entrants}
    rounds: list[list[Record]] = []
    for found in document.rounds:
        assert found.commitment == link
        assert found.secret is not None
        assert sha256(bytes.fromhex(found.secret)).hexdigest() == found.commitment
        link = found.secret
        at_tables = [name for table in found.tables for name in (table.first, table.second) if name is not None]
        assert sorted(filter(None, (nonce_of[name] for name in at_tables))) == list(found.nonces)
        assert shared_nonce(map(bytes.fromhex, found.nonces)).hex() == found.nonce
        records: list[Record] = []
        for table in found.tables:
            assert table.result is not None
            assert len(table.race_ids) == len(table.races), "every result is of a race that was run"
            for number, race in enumerate(table.race_ids):
                record = kept[race]
                check_deal(record.deal)
                assert record.deal.seed == derive_seed(bytes.fromhex(found.secret), [bytes.fromhex(found.nonce)], number).hex()
                records.append(record)
        assert from_json((await ground.page(f"/races/{records[0].id}.json")).decode()) == records[0], "now it is anybody's to see"
        rounds.append(records)
    return rounds


async def swiss(folder: Path, number: int, rounds: int) -> None:
    async with ground_in(folder) as ground:
        options = msgspec.structs.replace(FAST, format="swiss", rounds=rounds, places=number)
        document, entrants, referee = await play_with_a_kill(ground, options, number, kill_in=rounds // 2)
        records = await check(ground, document, entrants, referee)
        tables = number // 2
        assert [len(found) for found in records] == [tables] * rounds
        assert len({record.deal.seed for found in records for record in found}) == rounds
        met = Counter(frozenset((table.first, table.second)) for found in document.rounds for table in found.tables)
        assert len(met) == rounds * tables, "nobody meets twice"
        assert sum(row.half_points for row in document.standings) == 2 * rounds * tables
        assert all(row.won + row.drawn + row.lost == rounds for row in document.standings)
        assert [len(entrant.called) for entrant in entrants] == [rounds] * number
        rows = list(csv.DictReader(io.StringIO((await ground.page(f"/tournaments/{document.id}.csv")).decode())))
        assert [row["name"] for row in rows] == [
            next(entrant.name for entrant in document.entrants if entrant.id == row.entrant) for row in document.standings
        ]
        listed = json.loads(await ground.page("/tournaments.json"))["tournaments"]
        assert [(found["id"], found["phase"]) for found in listed] == [(document.id, "over")]


async def knock_out(folder: Path, number: int) -> None:
    """number: a power of two."""
    async with ground_in(folder) as ground:
        options = msgspec.structs.replace(FAST, format="elimination", replays=1, places=number)
        document, entrants, referee = await play_with_a_kill(ground, options, number, kill_in=2)
        await check(ground, document, entrants, referee)
        halves = [number >> power for power in range(1, number.bit_length())]
        assert [len(found.tables) for found in document.rounds] == halves
        assert Counter(row.place for row in document.standings) == {1: 1, **{half + 1: half for half in halves}}
        final = document.rounds[-1].tables[0]
        assert final.result is not None
        winner = final.first if final.result.verdict == "first" else final.second
        assert document.standings[0].entrant == winner
        for before, after in zip(document.rounds, document.rounds[1:], strict=False):
            went_on = {table.first if table.result and table.result.verdict == "first" else table.second for table in before.tables}
            assert {name for table in after.tables for name in (table.first, table.second)} == went_on


@pytest.mark.slow
async def test_a_swiss_is_played_through_a_kill_of_the_server(tmp_path: Path) -> None:
    await swiss(tmp_path, number=16, rounds=4)


@pytest.mark.slow
async def test_a_knock_out_is_played_through_a_kill_of_the_server(tmp_path: Path) -> None:
    await knock_out(tmp_path, number=16)
