"""A race on a winnable deal over a real server with real workers, and what the commands say of its record."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest
import trio

from client.connection.client import open_link
from client.connection.events import Identity
from protocol.client_messages import OpenRace, Ready, Stop
from protocol.record import Record, to_json
from protocol.room_events import Result, Started
from protocol.room_events import Room as RoomSnapshot
from protocol.server_messages import Error
from protocol.views import RaceOptions
from tests.e2e.commands import carpet

pytestmark = pytest.mark.slow


async def raced(url: str, options: RaceOptions) -> Record:
    """The record of a race that one player opens and stops at once."""
    async with open_link(url, Identity("anna")) as link:
        await link.entered(OpenRace(options=options))
        async for event in link.events:
            match event:
                case RoomSnapshot(phase="waiting", race=race):
                    link.send(Ready(race=race, nonce=secrets.token_hex(16)))
                case Started():
                    link.send(Stop(race=1, seat=0))
                case Result(record=record):
                    return record
                case Error(message=message):
                    pytest.fail(message)
                case _:
                    pass
    raise AssertionError("the line was closed before the result")


@pytest.mark.parametrize("rules", ["carpet-whist", "persian-rug"])
async def test_the_deal_is_the_first_that_can_be_won_and_the_commands_say_so(fast_server: str, tmp_path: Path, rules: str) -> None:
    with trio.fail_after(100):
        record = await raced(
            fast_server, RaceOptions(rules=rules, seats=2, bots=("random",), winnable=True, countdown_s=1, time_limit_s=10)
        )
    assert record.deal.winnable
    verified = carpet(tmp_path, "verify", "-", text=to_json(record))
    assert (verified.status, verified.err) == (0, "")
    assert f"the first that can be won (k = {record.deal.k})" in verified.out
    if rules == "carpet-whist":
        reviewed = carpet(tmp_path, "review", "-", "--seat", "1", text=to_json(record))
        assert (reviewed.status, reviewed.err) == (0, "")
        assert reviewed.out.splitlines()[:3] == [
            f"race 1 of {record.room}, carpet-whist",
            "anna (seat 1):",
            "  This deal can be won: all 52 cards could be brought home.",
        ]
