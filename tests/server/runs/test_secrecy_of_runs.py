"""What really leaves the server about runs: everything sent is recorded, from connections and pages, and nothing may come too early.

Two things must stay secret: a card that its reader has not turned themselves (with the secret, the seed and others' nonces), and anything
about somebody else's result before the reader's own run has ended. A ghost's progress may be sent once the reader's clock has reached its
moment, as a number of cards and of moves.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import trio

from protocol.client_messages import LeaveRace, Move, Stop
from protocol.record import Record
from protocol.room_events import Ended, Ghost, PlayerView, Result, Room
from protocol.run_messages import Challenge, ListRuns, OpenChallenge, RunChallenge, RunDaily, Runs
from protocol.server_messages import Left, ServerMessage
from server.runs import days
from tests.server.net.wire import Client, House
from tests.server.rooms.test_secrecy_of_traffic import CarpetBySight, cards_in, texts
from tests.server.runs.running import DAY, begin, board, enter, run, until

NONCE = "5e" * 16


async def wander(client: Client, chance: random.Random, moves: int) -> None:
    """Random moves, and then a stop unless it is over."""
    for _ in range(moves):
        if not client.view.moves:
            break
        await trio.sleep(chance.uniform(0.05, 3))
        if (await client.ask(Move(race=1, seat=0, ply=client.ply, move=chance.choice(client.view.moves)), PlayerView)).state != "racing":
            break
    await client.say(Stop(race=1, seat=0))


def check_cards(heard: list[ServerMessage], record: Record) -> int:
    """Go through what the runner of this record was told up to its reveal; the number of messages with cards."""
    sight, found = CarpetBySight(bytes.fromhex(record.deal.seed)), 0
    secrets = {record.deal.secret, record.deal.seed}
    for message in heard:
        if isinstance(message, Result) or (isinstance(message, Room) and message.record is not None):
            break
        if isinstance(message, PlayerView):
            sight.play(message.move)
        cards = cards_in(message)
        assert cards <= sight.seen
        assert not secrets & set(texts(msgspec.to_builtins(message)))
        found += bool(cards)
    return found


def results_told(message: ServerMessage | Any) -> Iterator[Any]:
    """Every map in a message that says how far somebody came."""
    document = msgspec.to_builtins(message)
    left: list[Any] = [document]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            if "home" in item and ("name" in item or "player" in item):
                yield item
            left += item.values()
        elif isinstance(item, (list, tuple)):
            left += item


@pytest.mark.parametrize("seed", range(6))
async def test_ghosts_tell_no_card_and_nothing_before_its_moment(house: House, seed: int) -> None:
    chance = random.Random(seed)
    async with house.guest("Anna") as anna:
        challenge = (await anna.ask(OpenChallenge(nonce=NONCE), Challenge)).challenge
        told: dict[str, list[ServerMessage]] = {}
        for name in ("Bert", "Cleo", "Dora", "Emil"):
            async with house.guest(name) as runner:
                await enter(runner, RunChallenge(id=challenge.id))
                await begin(runner)
                await wander(runner, chance, chance.randrange(60))
                await runner.hear_of(Ended)
                told[name] = list(runner.heard)
    records = {}
    for run_ in house.store.runs("challenge", challenge.id):
        record = house.store.record(run_.race)
        assert record is not None
        records[record.seats[0].name] = record
    ghosts = 0
    for name, heard in told.items():
        record = records[name]
        assert check_cards(heard, record) > 0
        for message in heard:
            if isinstance(message, Ended):
                break
            for ghost in message.ghosts if isinstance(message, Room) else [message.ghost] if isinstance(message, Ghost) else []:
                shadow = records[ghost.name]
                made = [move for move in shadow.moves if move.at_ms <= ghost.elapsed_ms]
                assert ghost.ply == len(made)
                if made:
                    assert ghost.home == made[-1].home
                if ghost.elapsed_ms < shadow.seats[0].ended_at_ms:
                    assert ghost.state in ("waiting", "racing")
                assert not hasattr(ghost, "foundations")
            if isinstance(message, Ghost):
                ghosts += 1
                # By the runner's own clock: the moves they had made by then had come before, and those after come after.
                before = [other.elapsed_ms for other in heard[: heard.index(message)] if isinstance(other, PlayerView)]
                after = [other.elapsed_ms for other in heard[heard.index(message) :] if isinstance(other, PlayerView)]
                assert all(moment <= message.ghost.elapsed_ms + 100 for moment in before)
                assert all(moment >= message.ghost.elapsed_ms - 100 for moment in after)
            else:
                others = [told_ for told_ in results_told(message) if told_.get("name") != name and "ghost" not in told_]
                assert others == []
    assert ghosts > 20


@pytest.mark.parametrize("kind", ["daily", "challenge"])
async def test_nobody_hears_of_a_result_by_connection_or_by_page_before_their_own_run_has_ended(house: House, kind: str) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        deal = DAY
        entry: RunDaily | RunChallenge = RunDaily()
        reveals_at_ms = days.reveals_at_ms(DAY)
        if kind == "challenge":
            challenge = (await anna.ask(OpenChallenge(nonce=NONCE), Challenge)).challenge
            deal, entry, reveals_at_ms = challenge.id, RunChallenge(id=challenge.id), challenge.reveals_at_ms
        ended = await run(anna, entry, moves=30)
        await anna.ask(LeaveRace(), Left)
        (kept,) = house.store.runs(kind, deal)  # type: ignore[arg-type]
        record = house.store.record(kept.race)
        assert record is not None
        pages = [
            f"/races/{record.id}.json",
            "/players/Anna/races.json",
            "/ladder.json",
            "/races.json",
            "/daily.json",
            f"/daily/{DAY}/carpet.json",
            "/challenges.json",
            *([f"/challenges/{deal}.json"] if kind == "challenge" else []),
        ]

        async def check_pages() -> None:
            for page in pages:
                answered = await house.ask(page)
                assert answered.status in (200, 403)
                document = json.loads(answered.body)
                assert list(results_told(document)) == []
                assert not {record.deal.secret, record.deal.seed} & set(texts(document))

        await check_pages()
        assert not (await board(bert, kind, deal)).shown
        await enter(bert, entry)
        await begin(bert)
        assert not (await board(bert, kind, deal)).shown
        await check_pages()
        for message in bert.heard:
            if not isinstance(message, (Room, Ghost)):
                assert [told for told in results_told(message) if told.get("name") == "Anna"] == []
        await bert.ask(Stop(race=1, seat=0), Ended)
        assert {row.name for row in (await board(bert, kind, deal)).rows} == {"Anna", "Bert"}
        # Who has run may tell of it, but the pages are for all, and so are the records.
        await check_pages()
        await until(house, reveals_at_ms)
        assert (await house.ask(f"/races/{record.id}.json")).status == 200
        history = (await house.ask("/players/Anna/races.json")).document
        assert history["races"][0]["seats"][0]["home"] == ended.seats[0].home
        page = pages[-1] if kind == "challenge" else f"/daily/{DAY}/carpet.json"
        assert len((await house.ask(page)).document["rows"]) == 2


async def test_a_guest_and_a_player_who_has_not_run_are_told_the_same(house: House) -> None:
    async with house.guest("Anna") as anna, house.guest("Bert") as bert:
        await run(anna, moves=5)
        by_line = await bert.ask(ListRuns(kind="daily"), Runs)
        by_page = (await house.ask(f"/daily/{DAY}/carpet.json")).document
        assert msgspec.convert(by_page, Runs) == by_line
