"""Every kind of series played to its end by two scripted players over real sockets, and one kind by keys in two pseudo-terminals."""

from __future__ import annotations

import base64
import contextlib
import re
import sys
from functools import partial
from pathlib import Path

import pytest
import trio

from client.local.policies import POLICIES
from client.local.scripted_player import run_bot
from client.state.store import Event, Model
from protocol.client_messages import JoinRace, OpenRace
from protocol.record import Record
from protocol.room_events import Result, Room, Scored
from protocol.views import RaceOptions, SeriesFormat, SeriesInfo, SeriesOptions
from server.race.audit import audit
from tests.e2e.commands import environment, serving
from tests.e2e.terminal import STOCK, Terminal, terminal_environment
from tests.e2e.test_two_terminals import own_moves

pytestmark = pytest.mark.slow


class Heard:
    """What one player was told of a series: every record once, and the last score."""

    def __init__(self) -> None:
        self.code = trio.Event()
        self.room = ""
        self.records: list[Record] = []
        self.score: SeriesInfo | None = None

    def watch(self, model: Model, event: Event) -> None:
        if isinstance(event, Room):
            self.room = event.code
            self.code.set()
        if isinstance(event, Scored):
            self.score = event.series
        record = event.record if isinstance(event, (Result, Scored)) else None
        if record is not None:
            self.records.append(record)


@pytest.mark.parametrize(("format_", "races"), [("single", 1), ("best-of", 3), ("session", 2), ("swap", 2)])
async def test_two_bots_play_it_to_its_end(format_: SeriesFormat, races: int) -> None:
    options = RaceOptions(rules="carpet-whist", public=False, countdown_s=1, series=SeriesOptions(format=format_, races=races))
    ann, bob = Heard(), Heard()
    greedy, steady = POLICIES["greedy"], POLICIES["steady"]
    with contextlib.ExitStack() as stack:
        url = await trio.to_thread.run_sync(stack.enter_context, serving(rate=1000, burst=1000))
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:

                async def host() -> None:
                    await run_bot(url, "ann", greedy, OpenRace(options=options), pace=0, watch=ann.watch)

                nursery.start_soon(host)
                await ann.code.wait()
                await run_bot(url, "bob", steady, JoinRace(code=ann.room), pace=0, watch=bob.watch)
        await trio.to_thread.run_sync(stack.close)
    assert len(ann.records) in (range(2, 4) if format_ == "best-of" else [races])
    assert ann.score == bob.score
    for record in ann.records:
        audit(record)
    assert sorted(record.digest for record in ann.records) == sorted(record.digest for record in bob.records)
    if format_ != "single":
        assert ann.score is not None
        assert ann.score.over
        assert ann.score.raced == len(ann.records)
        assert [seat.name for seat in ann.score.seats] == ["ann", "bob"]
        assert [seat.home for seat in ann.score.seats] == [sum(record.seats[seat].home for record in ann.records) for seat in (0, 1)]


def racing(lines: list[str]) -> list[str]:
    """The lines of a race whose clock runs, as soon as it does."""
    return lines if re.match(r" ▸ (?:\d+ cards?|One card|Nothing fits)", lines[20]) and own_moves(lines) is not None else []


def stop(player: Terminal) -> None:
    """Stop at once, with the cards that are home."""
    player.wait_until(racing, what="the start")
    player.type("K")
    player.wait_for("Stop now? The cards you brought home count.")
    player.type("y")


def after(made: int | None, lines: list[str]) -> list[str]:
    """The lines, as soon as they count other moves than these."""
    return lines if own_moves(lines) not in (None, made) else []


def bring_one_home(player: Terminal) -> None:
    """Play a card that goes home, turning the stock until there is one."""
    lines = player.wait_until(racing, what="the start")
    found = None
    while not found:
        found = re.search(r"can go home: (\w\d?)", lines[20])
        player.type(found[1] if found else STOCK)
        # Not any change: the clock alone changes the screen.
        lines = player.wait_until(partial(after, own_moves(lines)), what="the move")


def test_best_of_three_is_raced_by_keys_in_two_terminals(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(serving())

        def sit(name: str, *arguments: str) -> Terminal:
            command = [sys.executable, "-m", "client.cli.main", *arguments, "--no-motion", "--name", name]
            return stack.enter_context(Terminal(command, environment=environment(tmp_path / name, terminal_environment())))

        anna = sit("anna", "host", url, "--best-of", "3", "--countdown", "1", "--private")
        anna.wait_for("Best of 3, race 1 next")
        code = anna.wait_until(lambda lines: re.search(r"· Carpet · ([A-Z]{6})\b", lines[0]), what="a code")[1]
        anna.type("c")
        anna.wait_for("Copied")
        copied = anna.wait_until(lambda lines: re.search(rb"\x1b]52;c;(\S+?)\x07", anna.raw), what="the line for a friend")
        assert base64.b64decode(copied[1]).decode() == f"carpet join {url.removeprefix('ws://')} {code}"
        bert = sit("bert", "join", url, code)
        for race in (1, 2):
            for player in (anna, bert):
                player.wait_for("Everybody is here. Press r when you are ready." if race == 1 else "r: ready for race 2")
                player.type("r")
            bring_one_home(anna)
            for player in (bert, anna):
                stop(player)
            anna.wait_for("You won")
            bert.wait_for("anna won")
            if race == 1:
                anna.wait_for("anna 1 : 0 bert, best of 3, race 2 next")
                bert.wait_for("bert 0 : 1 anna, best of 3, race 2 next")
        anna.wait_for("You have won the best of 3: anna 2 : 0 bert.")
        bert.wait_for("anna has won the best of 3: bert 0 : 2 anna.")
        for player in (anna, bert):
            player.wait_for("r: rematch, another series against the same players")
        for player in (anna, bert):
            player.type("q")
            assert "carpet verify" in player.wait_for_end()
            assert player.given_back()
