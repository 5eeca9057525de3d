"""Every rule set raced end to end: by two scripted players over real sockets, and a board of each shape by keys in a real terminal."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from protocol.record import from_json
from server.race.audit import audit
from server.rules.catalogue import RULE_SETS
from tests.e2e.commands import carpet, environment
from tests.e2e.terminal import Terminal, terminal_environment
from tests.e2e.test_two_terminals import HELD, HINT, own_moves

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("rules", RULE_SETS)
def test_two_players_race_it_over_real_sockets_and_the_record_holds(rules: str, tmp_path: Path) -> None:
    ran = carpet(tmp_path, "demo", "--rules", rules, "--fast", "--json")
    assert (ran.status, ran.err) == (0, "")
    record = from_json(ran.out)
    assert record.rules == rules
    assert {move.seat for move in record.moves} == {0, 1}
    audit(record)


@pytest.mark.parametrize("rules", ["carpet-strategy", "colorado", "twenty", "crazy-quilt", "persian-rug"])
def test_it_is_raced_by_keys_in_a_terminal(rules: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "client.cli.main", "play", "--rules", rules, "--bot", "random", "--deal", "tuesday"]
    with Terminal(command, environment=environment(tmp_path, terminal_environment())) as player:
        # The cards are there before the clock runs, and a move is not taken then.
        hint = player.wait_until(
            lambda lines: lines[HINT] if lines[HINT].startswith(" ▸ ") and "the clock starts" not in lines[HINT] else ""
        )
        found = re.search(r"(?:can go home:|to be moved:|onto the waste:|home;) (\w\d)", hint)
        # A slot is named after an apostrophe in every family; a second press of a card that is held takes the way that suggests itself.
        place = f"'{found[1]}" if found else "s"
        player.type(place)
        player.wait_until(lambda lines: own_moves(lines) == 1 or HELD in lines[HINT], what="what became of it")
        if own_moves(player.lines()) == 0:
            player.type(place)
        player.wait_until(lambda lines: own_moves(lines) == 1, what="one move of the player's own")
        player.type("Ry")
        player.wait_for("rematch")
        assert player.shows("random")
        player.type("q")
        assert "verify" in player.wait_for_end()
        assert player.given_back()
