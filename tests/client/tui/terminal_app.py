"""The app in a real terminal over a fake link, for test_terminal.py: a race is running, and nobody answers requests.

With `--pictures` it asks the terminal whether it shows pictures. After giving the screen back it prints what was sent and the outcome.
"""

from __future__ import annotations

import sys

import trio

from client.connection.events import Connected, RoundTrip
from client.tui.app import run_app
from client.tui.start import StartHome, UiSettings
from protocol.room_events import Dealt, Started
from tests.client import scenes
from tests.client.tui.hands import FakeLink


async def main() -> None:
    link = FakeLink()
    link.say(Connected("ws://fake", "carpet.v1.msgpack"), RoundTrip(12), scenes.welcome(), scenes.room())
    link.say(Dealt(version=2, seat=0, starts_in_ms=0, view=scenes.middle_view()), Started(version=3))
    outcome = await run_app(link, settings=UiSettings(pictures="--pictures" in sys.argv), start=StartHome())
    print("sent:", [getattr(message, "move", type(message).__name__) for message in link.sent])
    print("outcome:", outcome.reason, outcome.code)


if __name__ == "__main__":
    trio.run(main)
