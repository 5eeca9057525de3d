"""protocol/README.md is sufficient: clients written from it alone race on a real server, and what it says about bad clients holds.

No message is read with the project's own code here; only records are judged by its `verify`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest
from websockets.asyncio.client import connect as connect_async
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tests.e2e.peer import JSON, Map, Peer

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
README = (ROOT / "protocol" / "README.md").read_text(encoding="utf-8")
PACKED, JASON = str(HERE / "spec_client_msgpack.py"), str(HERE / "spec_client_json.py")
ENVIRONMENT = {**os.environ, "NO_PROXY": "127.0.0.1", "PYTHONIOENCODING": "utf-8"}
TIMEOUT = 120
LONG_RACE = "a long race"


# ---- the clients of the specification, as processes


class Start(Protocol):
    def __call__(self, *command: str) -> subprocess.Popen[str]: ...


@contextlib.contextmanager
def starting() -> Iterator[Start]:
    """Starts Python programs. None of them outlives the block."""
    with contextlib.ExitStack() as stack:

        def start(*command: str) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, *command],
                cwd=HERE,
                env=ENVIRONMENT,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start


@pytest.fixture
def start() -> Iterator[Start]:
    with starting() as start:
        yield start


@pytest.fixture
def minimal_client(default_rate_server: str, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The example at the end of the specification, which races at its own pace."""
    fenced = re.search(r"<!-- minimal-client -->\n```python\n(.*?)```", README, re.DOTALL)
    assert fenced is not None
    path = tmp_path / "minimal.py"
    path.write_text(fenced.group(1), encoding="utf-8")
    with starting() as start:
        yield start(str(path), default_rate_server)


def finish(process: subprocess.Popen[str]) -> str:
    """What it printed; it must have ended well."""
    out, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0, (out, err)
    return out


def first_line(process: subprocess.Popen[str]) -> str:
    """The first line on standard error, which is where the clients tell the code of their room."""
    assert process.stderr is not None
    return process.stderr.readline().strip()


def names(record: Map) -> list[str]:
    return [seat["name"] for seat in record["seats"]]


def verify(record: Map, tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    command = [sys.executable, "-m", "server.cli.main", "verify", str(path)]
    ran = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.slow
def test_packed_client_races_the_house_bot_and_asks_for_a_rematch(fast_server: str, start: Start, tmp_path: Path) -> None:
    summary = json.loads(finish(start(PACKED, fast_server, "--bots", "random", "--races", "2", "--countdown", "1", "--pace", "0")))
    assert [race["race"] for race in summary["races"]] == [1, 2]
    assert all(all(race["checks"].values()) and "views" in race["checks"] for race in summary["races"])
    assert (summary["picture"], summary["gaps"], summary["lines"]) == ([], 0, 1)
    assert set(summary["refused"]) <= {"race/not-started", "race/over"}
    assert {"room", "dealt", "hidden", "progress", "view", "result", "rematch-asked", "said", "left", "lobby"} <= set(summary["heard"])
    verify(summary["record"], tmp_path)


def test_json_and_packed_clients_race_each_other_on_one_shuffle(fast_server: str, start: Start, tmp_path: Path) -> None:
    # Names are unique on a server: these are used by no other test.
    packed = start(PACKED, fast_server, "--countdown", "1", "--pace", "0", "--name", "Anton")
    jason = start(JASON, fast_server, "--join", first_line(packed).lower(), "--pace", "0", "--name", "Berta")
    mine, other = json.loads(finish(packed)), json.loads(finish(jason))
    assert mine["record"] == other["record"]
    assert names(mine["record"]) == ["Anton", "Berta"]
    assert mine["races"][0]["checks"]["first view"]
    assert other["checks"]["first view"]
    assert mine["picture"] == []
    verify(mine["record"], tmp_path)


@pytest.mark.slow
def test_json_clients_meet_through_the_lobby_on_a_shuffle_of_a_name(fast_server: str, start: Start, tmp_path: Path) -> None:
    opener = start(JASON, fast_server, "--open", "--countdown", "1", "--pace", "0", "--deal", "Dienstag, früh 🌙", "--name", "Opener")
    code = first_line(opener)
    finder = start(JASON, fast_server, "--pace", "0", "--name", "Finder")
    mine, other = json.loads(finish(opener)), json.loads(finish(finder))
    assert other["heard"]["lobby"]
    assert mine["room"] == other["room"] == code
    assert mine["record"] == other["record"]
    assert names(mine["record"]) == ["Opener", "Finder"]
    assert mine["record"]["deal"]["name"] == "Dienstag, früh 🌙"
    verify(other["record"], tmp_path)


@pytest.mark.slow
def test_clients_that_are_too_fast_slow_down_and_race_on(strict_server: str, start: Start, tmp_path: Path) -> None:
    packed = start(PACKED, strict_server, "--countdown", "1", "--pace", "0", "--deal", LONG_RACE)
    jason = start(JASON, strict_server, "--join", first_line(packed), "--pace", "0")
    mine, other = json.loads(finish(packed)), json.loads(finish(jason))
    assert "wire/too-fast" in mine["refused"]
    assert other["heard"]["error"]
    assert mine["record"] == other["record"]
    assert names(mine["record"]) == ["Packed", "Jason"]
    verify(mine["record"], tmp_path)


# ---- a line that loses, repeats and breaks


class BadLine:
    """Between a client and the server. It loses every seventh event that is not the last for a while, repeats every fifth, breaks once."""

    BREAKS_AT = 40
    MAY_BE_LOST = {"seated", "presence", "player-ready", "countdown", "dealt", "started", "progress", "said", "hidden"}  # noqa: RUF012

    def __init__(self, url: str) -> None:
        self.url = url
        self.lost = self.repeated = 0
        self.unbroken = True

    async def __call__(self, client: ServerConnection) -> None:
        events = 0
        async with connect_async(self.url, subprotocols=[JSON], compression=None, proxy=None) as server:

            async def up() -> None:
                with contextlib.suppress(ConnectionClosed):
                    async for frame in client:
                        await server.send(frame)
                await server.close()

            upwards = asyncio.create_task(up())
            with contextlib.suppress(ConnectionClosed):
                async for frame in server:
                    message = json.loads(frame)
                    events += "version" in message
                    if events % 7 == 0 and message["type"] in self.MAY_BE_LOST:
                        self.lost += 1
                        continue
                    await client.send(frame)
                    if events % 5 == 0 and "version" in message:
                        self.repeated += 1
                        await client.send(frame)
                    if events == self.BREAKS_AT and self.unbroken:
                        self.unbroken = False
                        client.transport.abort()
            await client.close()
            await upwards


@pytest.mark.slow
def test_a_connection_that_loses_repeats_and_breaks_costs_only_time(fast_server: str, start: Start, tmp_path: Path) -> None:
    line = BadLine(fast_server)
    packed = start(PACKED, fast_server, "--countdown", "1", "--pace", "0.002")
    code = first_line(packed)

    async def race() -> tuple[str, str]:
        async with serve(line, "127.0.0.1", 0, subprotocols=[JSON], compression=None) as proxy:
            host, port = proxy.sockets[0].getsockname()
            jason = start(JASON, f"ws://{host}:{port}", "--join", code, "--pace", "0")
            return await asyncio.gather(asyncio.to_thread(finish, packed), asyncio.to_thread(finish, jason))

    mine, other = map(json.loads, asyncio.run(race()))
    assert line.lost
    assert line.repeated
    assert not line.unbroken
    assert mine["record"] == other["record"]
    assert other["heard"]["welcome"] == 2
    assert other["heard"]["current-view"]
    verify(mine["record"], tmp_path)


# ---- bad clients, message by message


@contextlib.contextmanager
def two_racing(url: str) -> Iterator[tuple[Peer, Peer, str]]:
    """Ada in seat 0 and Bob in seat 1 of a race that has started, and the room's code."""
    with Peer(url, "Ada") as ada, Peer(url, "Bob") as bob:
        code = ada.ask("open-race", options={"public": False, "countdown_s": 1, "deal": "bad clients"})["code"]
        assert bob.ask("join-race", code=f" {code[:3]}-{code[3:].lower()}")["seat"] == 1
        for peer in (ada, bob):
            peer.send("ready", race=1, nonce=os.urandom(16).hex())
        for peer in (ada, bob):
            peer.hear_until("started")
        yield ada, bob, code


def plies(record: Map) -> list[int]:
    return [seat["plies"] for seat in record["seats"]]


def test_player_who_lost_the_connection_resumes_by_version_and_goes_on(fast_server: str) -> None:
    with two_racing(fast_server) as (ada, bob, code):
        view: Map = {}
        for ply in range(3):
            view = ada.ask("move", race=1, seat=0, ply=ply, move="s")
            assert (view["type"], view["ply"], view["version"]) == ("view", ply + 1, ada.version)
        ada.cut()
        away = bob.hear_until("presence")
        assert (away["seat"], away["connected"]) == (0, False)
        assert 0 < away["away_ms"] <= 60_000
        assert bob.ask("move", race=1, seat=1, ply=0, move="s")["ply"] == 1
        assert bob.ask("say", text="Where are you?")["code"] == "room/phrases-only"
        assert bob.ask("say", phrase="one-moment")["line"] == {
            "seat": 1, "name": bob.name, "text": "One moment, please.", "phrase": "one-moment"
        }  # fmt: skip

        with Peer(fast_server, "Ada", ada.welcome["token"]) as again:
            assert (again.welcome["player"], again.welcome["room"]) == (ada.welcome["player"], code)
            assert again.ask("move", race=1, seat=0, ply=3, move="s")["code"] == "room/not-in-one"  # not joined yet
            again.version = ada.version
            again.send("join-race", code=code, version=ada.version)
            missed = [again.hear() for _ in range(5)]  # `hear` sees to it that their versions follow each other
            assert [event["type"] for event in missed] == ["presence", "progress", "said", "presence", "current-view"]
            assert missed[0]["away_ms"] <= away["away_ms"]  # what is left now
            assert missed[-1]["view"] == view["view"]
            back = bob.hear()
            assert (back["type"], back["connected"], back["away_ms"]) == ("presence", True, None)
            assert again.version == bob.version

            # The answer to a move that was played and lost is told again, and so is anything else.
            assert again.ask("move", race=1, seat=0, ply=2, move="s")["type"] == "current-view"
            again.send("join-race", code=code, version=view["version"] - 1)
            again.version = view["version"] - 1
            assert again.hear() == view
            again.hear_until("current-view")
            assert again.ask("move", race=1, seat=0, ply=3, move="s")["ply"] == 4
            assert bob.hear_until("progress")["ply"] == 4

            # A version of nothing, or of what has not been, is answered with all there is.
            for version in (0, 10_000):
                room = again.ask("join-race", code=code, version=version)
                assert (room["type"], room["version"], room["seats"][0]["ply"]) == ("room", bob.version, 4)

            bob.send("resign", race=1, seat=1)
            record = again.hear_until("result")["record"]
            assert record == bob.hear_until("result")["record"]
            assert plies(record) == [4, 1]
            assert [(seat["state"], seat["place"]) for seat in record["seats"]] == [("stopped", 1), ("forfeited", 2)]


def test_newer_connection_of_a_player_takes_over(fast_server: str) -> None:
    with two_racing(fast_server) as (ada, bob, code):
        version = ada.version
        with Peer(fast_server, "Ada", ada.welcome["token"]) as newer:
            assert ada.closed_with() == 4009
            newer.version = version
            newer.send("join-race", code=code, version=version)
            newer.hear_until("current-view")
            assert newer.ask("move", race=1, seat=0, ply=0, move="s")["type"] == "view"
            assert bob.hear_until("progress")["ply"] == 1


def test_refused_and_repeated_moves_change_nothing_and_end_with_the_current_view(fast_server: str) -> None:
    with two_racing(fast_server) as (ada, bob, _):
        view = ada.ask("move", race=1, seat=0, ply=0, move="s")
        assert bob.hear()["type"] == "progress"
        right: Map = {"race": 1, "seat": 0, "ply": 1, "move": "s", "ref": 77}
        wrongs: list[tuple[Map, str | None]] = [
            ({"ply": 0}, None),
            ({"ply": 0, "move": "w"}, "race/stale-ply"),
            ({"ply": 0, "move": "rubbish"}, "race/stale-ply"),
            ({"ply": 2}, "race/future-ply"),
            ({"move": "rubbish"}, "race/bad-move"),
            ({"move": "r"}, "race/illegal-move"),
            ({"race": 2}, "race/wrong-race"),
            ({"seat": 1}, "race/not-your-seat"),
        ]
        for wrong, error in wrongs:
            answer = ada.ask("move", **{**right, **wrong})
            if error is not None:
                assert (answer["type"], answer["code"], answer["ref"]) == ("error", error, 77)
                answer = ada.hear()
            assert answer == {
                "type": "current-view",
                "ref": 77,
                **{key: answer[key] for key in ("race", "seat", "ply", "state", "elapsed_ms", "view")},
            }
            assert (answer["ply"], answer["view"], answer["elapsed_ms"]) == (1, view["view"], view["elapsed_ms"])

        # Bob has heard of none of it: the very next event is the move that was right.
        assert ada.ask("move", **right)["ply"] == 2
        assert bob.hear()["ply"] == 2

        # Nor is a move taken after the end of the seat, nor after the end of the race; one that was played is still known.
        assert ada.ask("stop", race=1, seat=0)["state"] == "stopped"
        assert ada.ask("move", **right)["type"] == "current-view"
        assert ada.ask("move", **{**right, "ply": 2})["code"] == "race/seat-ended"
        assert ada.hear()["state"] == "stopped"
        assert ada.ask("stop", race=1, seat=0)["code"] == "race/seat-ended"
        assert bob.hear()["state"] == "stopped"
        bob.send("stop", race=1, seat=1)
        record = ada.hear_until("result")["record"]
        assert plies(record) == [2, 0]
        assert ada.ask("move", **{**right, "ply": 2})["code"] == "race/over"
        assert ada.hear()["type"] == "current-view"


# ---- the example


@pytest.mark.slow
def test_minimal_client_plays_to_the_end_at_the_default_rate(minimal_client: subprocess.Popen[str]) -> None:
    told = re.fullmatch(r"([12])\. Minimal: (\d+) cards\n([12])\. random: (\d+) cards\n", finish(minimal_client))
    assert told is not None
    first, first_home, second, second_home = map(int, told.groups())
    # Equal counts are told apart by time, which is not printed.
    assert (first < second, second < first) == (first_home > second_home, second_home > first_home) or first_home == second_home
