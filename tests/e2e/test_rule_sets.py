"""Every rule set raced end to end by two scripted players over real sockets, and a board of each shape by keys in a real terminal."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import pytest
import trio

from client.local.policies import POLICIES
from client.local.scripted_player import run_bot
from client.state.store import Model
from protocol.client_messages import JoinRace, OpenRace
from protocol.record import Record
from protocol.views import RaceOptions
from server.race.audit import audit
from server.rules.catalogue import RULE_SETS
from tests.e2e.commands import SHAPES, environment
from tests.e2e.terminal import Terminal, terminal_environment
from tests.e2e.test_two_terminals import HELD, HINT, own_moves

pytestmark = pytest.mark.slow

BEFORE_START = re.compile("Get set!|the clock starts")
"""In the line of the hint while no move is taken yet."""


async def race(url: str, rules: str, records: list[Record]) -> None:
    """Two scripted players, as fast as they are answered."""
    async with trio.open_nursery() as nursery:
        opened = trio.Event()
        code = ""

        def watch(model: Model, event: object) -> None:
            nonlocal code
            if model.room is not None:
                code = model.room.code
                opened.set()

        async def play(name: str, enter: OpenRace | JoinRace) -> None:
            records.append(await run_bot(url, f"{name} {rules}", POLICIES["greedy"], enter, pace=0, watch=watch))

        nursery.start_soon(play, "anna", OpenRace(options=RaceOptions(rules=rules, countdown_s=1)))
        await opened.wait()
        await play("bert", JoinRace(code=code))


async def test_two_players_race_each_over_real_sockets_and_the_record_holds(fast_server: str) -> None:
    records: list[Record] = []
    with trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            for rules in RULE_SETS:
                nursery.start_soon(race, fast_server, rules, records)
    assert Counter(record.rules for record in records) == dict.fromkeys(RULE_SETS, 2)
    for record in records:
        assert {move.seat for move in record.moves} == {0, 1}
        audit(record)


@pytest.mark.parametrize("rules", SHAPES)
def test_it_is_raced_by_keys_in_a_terminal(rules: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "client.cli.main", "play", "--rules", rules, "--bot", "random", "--deal", "tuesday"]
    with Terminal(command, environment=environment(tmp_path, terminal_environment())) as player:
        # The cards are there before the clock runs, and a move is not taken then.
        hint = player.wait_until(
            lambda lines: lines[HINT] if lines[HINT].startswith(" ▸ ") and not BEFORE_START.search(lines[HINT]) else ""
        )
        found = re.search(r"(?:can go home:|to be moved:|onto the waste:|home;) (\w\d)", hint)
        # A slot is named after an apostrophe in every family; a second press of a card that is held takes the way that suggests itself.
        place = f"'{found[1]}" if found else "s"
        player.type(place)
        became = player.wait_until(lambda lines: lines if own_moves(lines) == 1 or HELD in lines[HINT] else [], what="what became of it")
        if own_moves(became) == 0:
            player.type(place)
        player.wait_until(lambda lines: own_moves(lines) == 1, what="one move of the player's own")
        player.type("Ry")
        player.wait_for("rematch")
        player.wait_for("random")
        player.type("q")
        assert "verify" in player.wait_for_end()
        assert player.given_back()
