"""Positions of every rule set as their players see them, from the real engines: fixed shuffles, played by fixed random numbers."""

from __future__ import annotations

import random
from functools import lru_cache

from client.game.board import Board, board_of
from client.game.moves import goes_home
from client.state.capabilities import check_rules
from client.state.store import Model
from protocol.views import RaceOptions, View
from server.race.view import see
from server.rules.catalogue import RULE_SETS
from server.rules.position import Position
from tests.client import scenes

ALL = tuple(RULE_SETS)
SEED = bytes(range(32))


@lru_cache(maxsize=4096)
def position_after(rules: str, moves: int, *, seed: bytes = SEED, homeward: bool = True) -> Position:
    """The position after this many moves, or fewer if none is left. homeward: what can go home does; else all moves are equally likely."""
    lots = random.Random(f"{rules} {seed.hex()}")
    position = RULE_SETS[rules].deal(seed)
    for _ in range(moves):
        legal = position.legal_moves()
        if not legal:
            break
        home = [move for move in legal if goes_home(move)] if homeward else []
        position = position.play_unchecked(lots.choice(home or list(legal)))
    return position


def view_after(rules: str, moves: int, *, seed: bytes = SEED, homeward: bool = True) -> View:
    return see(position_after(rules, moves, seed=seed, homeward=homeward))


def board_for(rules: str, view: View) -> Board:
    return board_of(check_rules(rules, scenes.RULES), view)


def racing_at(rules: str, view: View, *, seats: int = 2) -> Model:
    """42 seconds into a race with this rule set, in which the first seat sees `view`."""
    names = ("Anna", "Benedikt", "Clara", "Dan", "Émilie", "Friðrik", "Guðrún", "Hannes Maximilian")[:seats]
    infos = tuple(
        scenes.seat(
            number,
            name,
            state="racing",
            ready=True,
            ply=27 + number,
            home=view.home + 3 * number,
            foundations={foundation: min(count + (number + at) % 3, 13) for at, (foundation, count) in enumerate(view.foundations.items())},
            bot="deep" if number == 7 else None,
        )
        for number, name in enumerate(names)
    )
    room = scenes.room(seats, phase="racing", seats=infos, view=view, elapsed_ms=42_300, options=RaceOptions(rules=rules, seats=seats))
    return scenes.reduced(scenes.at_home(), room, now_ms=46_300)
