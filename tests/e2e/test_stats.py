"""The statistics of two races: `carpet stats` against a real server."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
import trio
from websockets.trio.client import connect
from websockets.typing import Subprotocol

from client.storage.saved_records import keep_record
from protocol.client_messages import Ready, Rematch, Resign, Stop
from protocol.codec import MSGPACK
from protocol.record import Record
from protocol.room_events import PlayerView, Ratings, Result, Room, Started
from server.app import running
from server.config import Settings
from tests.e2e.commands import Ran, carpet
from tests.server.net.wire import Client

pytestmark = pytest.mark.slow

ZOE, BEN = "Zoë / 100%", "Ben"


async def raced_twice(url: str) -> tuple[list[Record], int]:
    """Two people race to a draw, and once more until Zoë gives up; the records, and the rating that she is told in the end."""
    async with connect(url, subprotocols=[Subprotocol(MSGPACK)]) as one, connect(url, subprotocols=[Subprotocol(MSGPACK)]) as two:
        zoe, ben = Client(one), Client(two)
        await zoe.hello(ZOE)
        await ben.hello(BEN)
        await ben.join((await zoe.open(seats=2, countdown_s=1)).code)
        for each in (zoe, ben):
            await each.ready()
        for each in (zoe, ben):
            await each.hear_of(Started)
            # A race counts when both have raced it.
            await each.move(ply=0)
            await each.say(Stop(race=1, seat=each.seat))
        records = [(await zoe.hear_of(Result)).record]
        for each in (zoe, ben):
            await each.say(Rematch(race=1))
        for each in (zoe, ben):
            while (await each.hear_of(Room)).race != 2:
                pass
            await each.say(Ready(race=2, nonce="cd" * 16))
        for each in (zoe, ben):
            await each.hear_of(Started)
            await each.move(race=2, ply=0)
            await each.hear_of(PlayerView)
        await zoe.say(Resign(race=2, seat=zoe.seat))
        await ben.say(Stop(race=2, seat=ben.seat))
        records.append((await zoe.hear_of(Result)).record)
        return records, (await zoe.hear_of(Ratings)).seats[zoe.seat].after


async def asked(home: Path, *arguments: str) -> Ran:
    return await trio.to_thread.run_sync(partial(carpet, home, *arguments))


async def test_two_races_are_counted_by_the_server_and_by_what_is_kept(tmp_path: Path) -> None:
    async with running(Settings(port=0, database="memory")) as url:
        records, rating = await raced_twice(url)
        told = await asked(tmp_path, "stats", url, "--player", ZOE)
        assert (told.status, told.err) == (0, "")
        assert told.out.startswith(f"{ZOE} at {url.removeprefix('ws://')}: 2 races.\n")
        assert f"\nRating {rating} after 2 races that count: " in told.out
        document = json.loads((await asked(tmp_path, "stats", url, "--player", ZOE, "--json")).out)
    whole = document["whole"]
    assert [whole[field] for field in ("races", "won", "drawn", "lost", "forfeited", "all_home")] == [2, 0, 1, 1, 1, 0]
    assert [point["value"] for point in document["cards"]] == [record.seats[0].home for record in records]
    assert (document["rating"], len(document["ratings"])) == (rating, 2)
    assert [(each["name"], each["met"], each["drawn"], each["lost"]) for each in document["opponents"]] == [(BEN, 2, 1, 1)]
    for record in records:
        keep_record(tmp_path, record)
    kept = json.loads((await asked(tmp_path, "stats", "--player", ZOE, "--json")).out)
    assert (kept["whole"], kept["rating"]) == (whole, None)
