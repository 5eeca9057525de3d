"""A client that sends more at once than a server takes: it sends again what was dropped, and nothing is lost or doubled."""

from __future__ import annotations

import pytest
import trio

from client.connection.client import open_link
from client.connection.events import Back, Identity
from protocol.client_messages import OpenRace, Say
from protocol.errors import ErrorCode
from protocol.room_events import Room, Said
from protocol.server_messages import Error, Welcome
from protocol.views import RaceOptions
from server.app import running
from server.config import Settings

LINES = [f"line {number}" for number in range(36)]


@pytest.mark.slow
async def test_what_was_dropped_as_too_many_is_heard_later_and_once() -> None:
    heard: list[str] = []
    told: list[str] = []
    async with (
        running(Settings(port=0, rate=15, burst=20, database="memory")) as url,
        open_link(url, Identity("Ann")) as link,
    ):
        with trio.fail_after(60):
            async for event in link.events:
                match event:
                    case Welcome():
                        assert link.send(OpenRace(options=RaceOptions(public=False)))
                    case Room() if not heard and not told:
                        assert all(link.send(Say(text=line)) for line in LINES)
                    case Said(line=line):
                        heard.append(line.text)
                    case Room():
                        heard = [line.text for line in event.chat]
                    case Error(code=code):
                        told.append(code)
                    case Back():
                        raise AssertionError("no line was lost")
                if len(heard) == len(LINES):
                    break
    assert sorted(heard) == sorted(LINES)
    assert set(told) == {ErrorCode.TOO_FAST}
