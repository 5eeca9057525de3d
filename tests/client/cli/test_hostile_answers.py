"""Whatever a server answers on its WebSocket, the commands that ask it there end, and print lines of text or one sentence."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from client.connection.events import Identity
from client.storage.identity import IdentityStore
from protocol.codec import MSGPACK, client_message_decoder, encode
from protocol.errors import ErrorCode, Fault
from protocol.run_messages import Challenge
from protocol.server_messages import Error, YouAre
from protocol.tournament_messages import Decided
from protocol.watch_messages import BoardsKey
from tests.client import hostile, runs, scenes, tournament_scenes
from tests.client.cli.test_hostile_pages import CHALLENGE
from tests.client.cli.test_main import run
from tests.client.tournament_scenes import ID

REFUSED = Error(code=ErrorCode.NOT_NOW, fault=Fault.STATE, message="Not now.", path="$.id", ref=0)
DECIDED = Decided(id=ID, number=3, ref=0)
ANSWERS: dict[str, Any] = {
    "Hello": scenes.welcome(),
    "WhoAmI": YouAre(player="p1", name="Anna", ref=0),
    "Rename": YouAre(player="p1", name="Anna", ref=0),
    "AskBoardsKey": BoardsKey(code=scenes.CODE, key="ab" * 16),
    "FollowTournament": tournament_scenes.running(),
    "OpenChallenge": Challenge(challenge=CHALLENGE),
    "ListRuns": runs.board(),
}
"""What an honest server answers; it decides whatever else it is asked for."""
COMMANDS = (
    "whoami {url}",
    "rename {url} Berta",
    f"boards-key {{url}} {scenes.CODE}",
    "challenge create {url}",
    f"challenge board {{url}} {CHALLENGE.id}",
    "tournament create {url} Open",
    f"tournament start {{url}} {ID}",
    f"tournament extend {{url}} {ID} 2",
    f"tournament pair {{url}} {ID}",
    f"tournament correct {{url}} {ID} 1 1 1-0",
    f"tournament remove {{url}} {ID} Anna",
    f"tournament remove {{url}} {ID} Dan --back",
    f"tournament add-bot {{url}} {ID}",
    f"tournament leave {{url}} {ID}",
)


class Liar:
    """A server that lies. url: where it listens. server: what makes its lies, for one command."""

    def __init__(self) -> None:
        self.url = ""
        self.dice = random.Random()
        self.server = hostile.Server(self.dice)

    def begin(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.server = hostile.Server(self.dice)

    def __call__(self, connection: ServerConnection) -> None:
        decoder = client_message_decoder(MSGPACK)
        with suppress(ConnectionClosed):
            for frame in connection:
                assert isinstance(frame, bytes)
                asked = decoder.decode(frame)
                honest = ANSWERS.get(type(asked).__name__, DECIDED)
                lot = self.dice.random()
                if lot < 0.03:
                    return
                if lot < 0.06:
                    connection.send(self.dice.randbytes(self.dice.choice((1, 30, 3000))))
                    return
                told = self.server.like(REFUSED if lot < 0.2 else honest)
                if hasattr(told, "ref"):
                    told = replace(told, ref=asked.ref)
                connection.send(encode(told, MSGPACK))


@pytest.fixture(scope="module")
def liar() -> Iterator[Liar]:
    told = Liar()
    with serve(told, "127.0.0.1", 0, subprotocols=[MSGPACK], compression=None) as server:  # type: ignore[list-item]
        told.url = f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield told
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("command", COMMANDS)
# Each of many commands has examples of its own.
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=settings().max_examples // 2)
@given(seed=st.integers(0, 2**32 - 1))
def test_whatever_a_server_answers_is_printed_as_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, liar: Liar, command: str, seed: int
) -> None:
    monkeypatch.setenv("CARPET_HOME", str(tmp_path))
    IdentityStore(tmp_path).keep(liar.url, Identity("Anna", "t", "p1"))
    liar.begin(seed)
    ran = run(capsys, *command.format(url=liar.url).split())
    assert ran.status in (0, 1), ran
    assert all(line.isprintable() for line in (ran.out + ran.err).split("\n")), ran
    assert ran.out or ran.err.count("\n") == 1, ran
