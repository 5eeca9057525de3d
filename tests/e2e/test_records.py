"""A finished race, seen from outside: its pages, and the commands that fetch them, against a real server."""

from __future__ import annotations

import json
import ssl
from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
import trio
import trustme
from websockets.trio.client import connect
from websockets.typing import Subprotocol

from client.connection.address import parse_address
from client.connection.http import fetch_history, fetch_record
from protocol.client_messages import Stop
from protocol.codec import MSGPACK
from protocol.record import Record, from_json
from protocol.room_events import Result, Started
from server.app import running
from server.config import Settings
from tests.e2e.commands import Ran, carpet, carpet_here, carpet_on_terminal
from tests.e2e.peer import Entrant
from tests.server.net.wire import Client

pytestmark = pytest.mark.slow

NAME = "Zoë / 100%"


async def raced(url: str, trusted: ssl.SSLContext | None = None) -> Record:
    """Two people race and stop at once; the record that they are told."""
    offered = {"ssl": trusted, "subprotocols": [Subprotocol(MSGPACK)]}
    async with connect(url, **offered) as one, connect(url, **offered) as two:  # type: ignore[arg-type]
        zoe, ben = Client(one), Client(two)
        await zoe.hello(NAME)
        await ben.hello("Ben")
        room = await zoe.open(seats=2, countdown_s=1)
        await ben.join(room.code)
        for each in (zoe, ben):
            await each.ready()
        for each in (zoe, ben):
            await each.hear_of(Started)
            await each.say(Stop(race=1, seat=each.seat))
        return (await zoe.hear_of(Result)).record


async def asked(home: Path, *arguments: str) -> Ran:
    return await trio.to_thread.run_sync(partial(carpet, home, *arguments))


async def test_a_race_is_listed_exported_and_verified_by_commands(tmp_path: Path) -> None:
    async with running(Settings(port=0, database=str(tmp_path / "carpet.sqlite3"))) as url:
        record = await raced(url)
        listed = await asked(tmp_path, "history", url, "--player", NAME)
        assert (listed.status, listed.err) == (0, "")
        assert listed.out.splitlines()[1].endswith(record.id)
        assert " Ben " in listed.out
        (line,) = json.loads((await asked(tmp_path, "history", url, "--player", "ben", "--json")).out)
        assert (line["id"], line["seat"], [seat["name"] for seat in line["seats"]]) == (record.id, 1, [NAME, "Ben"])
        file = tmp_path / "race.json"
        exported = await asked(tmp_path, "export", url, record.id, str(file))
        assert (exported.status, exported.err) == (0, "")
        assert from_json(file.read_bytes()) == record
        verified = await asked(tmp_path, "verify", str(file))
        assert (verified.status, verified.err) == (0, "")
        replayed = await trio.to_thread.run_sync(
            partial(carpet_on_terminal, tmp_path / "elsewhere", "replay", record.id, "--server", url, interrupt_at="paused ×1")
        )
        assert (replayed.status, replayed.err) == (130, "")
        nobody = await asked(tmp_path, "history", url, "--player", "Nobody")
        place = url.removeprefix("ws://")
        assert (nobody.status, nobody.sentence) == (1, f"carpet: The server at {place} says: There is no player with that name.")


async def test_over_tls_pages_are_trusted_as_the_websocket_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    certificate, key, root = (tmp_path / name for name in ("cert.pem", "key.pem", "root.pem"))
    issued.cert_chain_pems[0].write_to_path(certificate)
    issued.private_key_pem.write_to_path(key)
    authority.cert_pem.write_to_path(root)
    trusted = ssl.create_default_context(cafile=str(root))
    async with running(Settings(port=0, tls_cert=str(certificate), tls_key=str(key))) as url:
        record = await raced(url, trusted)
        refused = await asked(tmp_path, "export", url, record.id, "-")
        assert refused.status == 1
        assert "is not trusted" in refused.sentence
        monkeypatch.setenv("SSL_CERT_FILE", str(root))
        exported = await asked(tmp_path, "export", url, record.id, "-")
        assert (exported.status, exported.err) == (0, "")
        assert from_json(exported.out) == record


async def test_the_next_server_on_the_same_database_has_the_pages_of_the_first(tmp_path: Path) -> None:
    settings = Settings(port=0, database=str(tmp_path / "carpet.sqlite3"))
    async with running(settings) as url:
        record = await raced(url)
    async with running(settings) as url:
        address = parse_address(url)
        assert await trio.to_thread.run_sync(fetch_record, address, record.id) == record
        (race,) = await trio.to_thread.run_sync(partial(fetch_history, address, NAME, limit=5))
        assert race.id == record.id


@pytest.mark.parametrize("is_public", [True, False])
def test_the_records_of_a_tournament_are_exported_by_one_command_and_each_is_verified(
    fast_server: str, tmp_path: Path, is_public: bool
) -> None:
    with Entrant(fast_server, "Grace") as grace, Entrant(fast_server, "Ada") as ada, Entrant(fast_server, "Zoë") as zoe:
        options = {"rounds": 2, "fill": 3, "check_in_s": 0, "pause_s": 0, "countdown_s": 1, "no_show_s": 600, "public": is_public}
        tournament = grace.create("Carpet Open", **options)
        for player in (ada, zoe):
            player.enter(tournament)
            player.check_in(tournament)
        grace.decide("start-tournament", id=tournament)
        for _ in range(2):
            players = [(player, player.go_to_table()) for player in (ada, zoe)]
            for player, _call in players:
                player.start()
                player.stop()
            for player, _call in players:
                player.hear_of("ended")
                player.send("leave-race")
                player.hear_of("left")
        grace.stands(tournament, lambda told: told["phase"] == "over")
    folder = tmp_path / "open"
    saved = carpet_here(tmp_path, "tournament", "export", fast_server, tournament, str(folder), "--records")
    assert (saved.status, saved.err) == (0, "")
    records = sorted(map(str, (folder / "races").iterdir()))
    assert len(records) == 4, "a table and a bye in each of two rounds"
    for record in records:
        verified = carpet(tmp_path, "verify", record)
        assert (verified.status, verified.out.startswith("verified: ")) == (0, True), verified
    whole = carpet(tmp_path, "verify", str(folder / "tournament.json"), *records)
    assert whole.status == 0, whole
    assert "records: 4 of 4 races" in whole.out


def test_a_club_plays_a_swiss_of_eight_with_byes_and_a_corrected_name_and_takes_all_of_it_home(fast_server: str, tmp_path: Path) -> None:
    def command(name: str, *arguments: str) -> str:
        ran = carpet_here(tmp_path / "grace", "tournament", name, fast_server, *arguments)
        assert (ran.status, ran.err) == (0, "")
        return ran.out

    with ExitStack() as stack:
        players = [stack.enter_context(Entrant(fast_server, name)) for name in ("Ann", "Brt", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal")]
        waits = ("--no-show", "600", "--grace", "600", "--time-limit", "3600")
        options = ("--rounds", "3", "--byes", "1", "--by-hand", "--check-in", "0", "--countdown", "1", *waits, "--private")
        tournament = command("create", "Club evening", *options).split()[1]
        for player in players:
            player.enter(tournament)
            player.check_in(tournament)
        ann, brt, *_, hal = players
        hal.decide("ask-bye", id=tournament, round=2)
        for number, why in ((3, "in the last round"), (1, "each player can have 1")):
            hal.send("ask-bye", id=tournament, round=number, ref=1)
            assert why in hal.hear_until("error")["message"]
        assert command("bye", tournament, "1", "--for", ann.name, "--reason", "her train was late") == (
            f"{ann.name} has a full-point bye in round 1 of tournament {tournament}.\n"
        )
        assert command("rename", tournament, brt.name, "Bert") == f"{brt.name} is called Bert in tournament {tournament} from now on.\n"
        for number, away in ((1, ann), (2, hal), (3, None)):
            command(*(("start", tournament) if number == 1 else ("pair", tournament)))
            seated = [player for player in players if player is not away]
            calls = [player.go_to_table() for player in seated]
            assert brt.name not in {call["opponent"] for call in calls}
            for player in seated:
                player.start()
            # Whoever comes first in the alphabet wins their table. They stop before the other, who is not ahead.
            tables = {call["table"]: player for player, call in reversed([*zip(seated, calls, strict=True)])}
            number_at = Counter(call["table"] for call in calls)
            for table, player in tables.items():
                if number_at[table] == 2:
                    player.play(6)
                player.stop()
            for player in seated:
                if player not in tables.values():
                    player.stop()
            for player, call in zip(seated, calls, strict=True):
                # The house may have won before the one who races it stops.
                hear = player.hear_of if number_at[call["table"]] == 2 else player.hear_until
                hear("ended")
                player.send("leave-race")
                hear("left")
            hal.stands(tournament, lambda told, number=number: len(told["rounds"]) == number and not told["rounds"][-1]["open"])  # type: ignore[misc]
        folder = tmp_path / "open"
        command("export", tournament, str(folder), "--records")
        records = sorted(map(str, (folder / "races").iterdir()))
        # In an odd field somebody races the house; with all eight there is nobody left over.
        assert len(records) == 4 + 4 + 4
        whole = carpet(tmp_path, "verify", str(folder / "tournament.json"), *records)
        assert (whole.status, "records: 12 of 12 races" in whole.out) == (0, True), whole
        printed = command("standings", tournament) + command("tables", tournament, "--round", "2") + command("log", tournament)
        for said in (" Bert", f"{brt.name} is called Bert from now on.", "bye on request, ½", "Reason: her train was late"):
            assert said in printed
        document = json.loads((folder / "tournament.json").read_bytes())
        assert [(bye["round"], bye["half_points"]) for bye in document["byes"]] == [(1, 2), (2, 1)]
