"""A whole race with every rule set through the app: a fake link whose answers come from the real engine, keys and clicks by turns.

The first and last moves of each game are typed or clicked. Those between are answered as if they had been made elsewhere, so that the test
takes only seconds.
"""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from client.game.moves import destination, goes_home, source
from client.tui.app import UNDRAWN
from protocol.client_messages import Move, Ready, Stop
from protocol.fairness import commitment, derive_seed
from protocol.record import DealRecord, MoveRecord, Record, SeatRecord, sealed
from protocol.room_events import Countdown, Dealt, PlayerReady, PlayerView, Progress, Result, Seated, Started
from protocol.text import counted
from protocol.views import RaceOptions, SeatState
from server.race.view import see
from server.rules.catalogue import RULE_SETS
from server.rules.position import Position
from tests.client import scenes, tables
from tests.client.tui.hands import UP, Run, running, settled
from tests.client.tui.test_reach import name_keys, spots

OTHER = "11" * 16
BY_HAND = 4
LIMIT = 400
QUICK = ("carpet", "crazy-quilt")
"""One of each family that is always tried; with the others it takes a while."""

pytestmark = pytest.mark.usefixtures("mock_clock")


def game(rules: str, seed: bytes) -> list[str]:
    """A game to its end, or to the limit: what goes home goes, and the rest is by lot."""
    lots = random.Random(rules)
    position: Position = RULE_SETS[rules].deal(seed)
    moves: list[str] = []
    while (legal := position.legal_moves()) and len(moves) < LIMIT:
        home = [move for move in legal if goes_home(move)]
        moves.append(lots.choice(home or list(legal)))
        position = position.play(moves[-1])
    return moves


async def play(run: Run, position: Position, rules: str, move: str, *, by_mouse: bool) -> None:
    """Make one move by hand."""
    view = see(position)
    if by_mouse:
        at = spots(rules, "r" in view.moves)
        await run.give(("mouse press", 1, *at[source(move)]))
        if not run.link.sent:
            await run.give(("mouse press", 1, *at[destination(view, move)]))
        return
    await run.give(*name_keys(source(move)))
    if not run.link.sent:
        await run.give(*(move[-1] if move[-1] in "+-" else "+" if goes_home(move) else name_keys(destination(view, move))))


@pytest.mark.parametrize("rules", [rules if rules in QUICK else pytest.param(rules, marks=pytest.mark.slow) for rules in tables.ALL])
async def test_a_race_from_the_waiting_room_to_the_result(rules: str) -> None:
    async with running() as run:
        options = RaceOptions(rules=rules)
        await run.say(UP, scenes.welcome(), scenes.room(options=options), Seated(version=2, seat=1, name="Benedikt", bot=None))
        run.link.taken()
        await run.give("r")
        (ready,) = run.link.taken()
        assert isinstance(ready, Ready)
        nonces = (ready.nonce, OTHER)
        seed = derive_seed(scenes.SECRET, [bytes.fromhex(nonce) for nonce in nonces], 0)
        position: Position = RULE_SETS[rules].deal(seed)
        await run.say(PlayerReady(version=3, seat=0), PlayerReady(version=4, seat=1))
        await run.say(Countdown(version=5, starts_in_ms=3000, round_trips_ms=(20, 30)))
        await run.say(Dealt(version=6, seat=0, starts_in_ms=0, view=see(position)), Started(version=7))
        total = RULE_SETS[rules].deck_size
        moves, made = game(rules, seed), []
        for ply, move in enumerate(moves):
            if ply < BY_HAND or ply >= len(moves) - BY_HAND:
                run.link.taken()
                await play(run, position, rules, move, by_mouse=ply % 3 == 2)
                assert run.link.taken() == [Move(race=1, seat=0, ply=ply, move=move)]
            position = position.play(move)
            state: SeatState = "racing" if position.legal_moves() else "won" if position.is_won else "stalled"
            made.append(MoveRecord(seat=0, move=move, at_ms=ply + 1, received_ms=ply + 1, credit_ms=0, home=position.home))
            run.link.say(PlayerView(version=8 + ply, seat=0, ply=ply + 1, move=move, state=state, elapsed_ms=ply + 1, view=see(position)))
            if ply < BY_HAND or ply >= len(moves) - BY_HAND - 1:
                await settled()
                assert run.screen.shows(f"{counted(position.home, 'card')} home")
                assert run.screen.shows(f"{position.home}/{total}")
            elif ply % (UNDRAWN // 2) == 0:
                # More in a row would be an attack, for which the screens pause.
                await settled()
        ended: SeatState = "stalled"
        if position.legal_moves():
            await run.give("K", "y")
            assert run.link.taken() == [Stop(race=1, seat=0)]
            ended = "stopped"
        else:
            await run.give("s", "w", "a", "1", "enter")
            assert run.link.taken() == []
        other = Progress(version=8 + len(moves), seat=1, ply=9, home=total - 10, foundations={}, state="racing", elapsed_ms=9)
        await run.say(other)
        assert run.screen.shows(f"{total - 10}/{total}")
        await run.say(Result(version=9 + len(moves), record=record(rules, seed, nonces, made, position.home, total - 10, ended)))
        margin = position.home - (total - 10)
        assert run.screen.shows(f"You won by {margin or ''}" if margin >= 0 else f"Benedikt won by {counted(-margin, 'card')}.")
        assert run.screen.shows(f"{position.home}/{total}")
        assert run.screen.shows("The deal checks out: nobody chose the cards.")
        await run.give("q")
        assert run.outcome is not None


def record(rules: str, seed: bytes, nonces: tuple[str, ...], moves: list[MoveRecord], home: int, others: int, ended: SeatState) -> Record:
    """The record of such a race; its deal is the true one."""
    deal = DealRecord(
        name=None,
        commitment=commitment(scenes.SECRET).hex(),
        secret=scenes.SECRET.hex(),
        nonces=nonces,
        winnable=False,
        k=0,
        seed=seed.hex(),
    )
    first, second = scenes.record().seats
    # As many cards, and earlier, is better, too.
    places = (1, 2) if home >= others else (2, 1)
    fields = replace(first, place=places[0], home=home, plies=len(moves), state=ended, home_at_ms=len(moves), ended_at_ms=len(moves))
    seats: tuple[SeatRecord, ...] = (fields, replace(second, place=places[1], home=others))
    return sealed(replace(scenes.record(), rules=rules, deal=deal, seats=seats, moves=tuple(moves)))


async def test_two_places_typed_ahead_are_held_and_played_in_turn() -> None:
    """`w` and then a pile, both typed before the answer to the turn that brings the card to the waste."""
    async with running() as run:
        position = RULE_SETS["colorado"].deal(bytes(32))
        await run.say(UP, scenes.welcome(), scenes.room(options=RaceOptions(rules="colorado")))
        await run.say(Dealt(version=2, seat=0, starts_in_ms=0, view=see(position)), Started(version=3))
        run.link.taken()
        await run.give("s", "w", "'", "j", "2")
        assert run.link.taken() == [Move(race=1, seat=0, ply=0, move="s")]
        after = see(position.play("s"))
        await run.say(PlayerView(version=4, seat=0, ply=1, move="s", state="racing", elapsed_ms=5, view=after))
        assert run.link.taken() == [Move(race=1, seat=0, ply=1, move="w:j2")]


async def test_what_is_held_is_let_go_when_the_table_changes() -> None:
    async with running() as run:
        position = RULE_SETS["colorado"].deal(bytes(32)).play("s")
        await run.say(UP, scenes.welcome(), scenes.room(options=RaceOptions(rules="colorado")))
        await run.say(Dealt(version=2, seat=0, starts_in_ms=0, view=see(position)), Started(version=3))
        await run.give("w")
        assert run.screen.shows("w goes onto any pile")
        await run.say(Progress(version=4, seat=1, ply=1, home=9, foundations={}, state="racing", elapsed_ms=3))
        assert run.screen.shows("w goes onto any pile")
        after = see(position.play("w:a1"))
        await run.say(PlayerView(version=5, seat=0, ply=1, move="w:a1", state="racing", elapsed_ms=5, view=after))
        assert not run.screen.shows("goes onto any pile")
