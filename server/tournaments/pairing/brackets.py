"""Knock-out brackets as data: which matches there are, and where their sides come from.

Seeds are in the standard order, so that the two best can only meet in the final, the four best no earlier than in the semi-finals, and so
on: of sixteen, 1 meets 16, 8 meets 9, 4 meets 13 … If the field is not a power of two, the best seeds have byes in the first round. Each
match comes after those that feed it. `stage` is the number of its round if no earlier round is skipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, count
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Seed:
    """number: from 1. A number above the field's size stands for nobody: a bye."""

    number: int


@dataclass(frozen=True, slots=True)
class WinnerOf:
    match: str


@dataclass(frozen=True, slots=True)
class LoserOf:
    match: str


Source: TypeAlias = Seed | WinnerOf | LoserOf


@dataclass(frozen=True, slots=True)
class BracketMatch:
    """name: `W2-1` is the first match of the second round of the winners, `L` the losers', `F` the final, `R` the final after a reset.

    reset: it is only played if the second side has won the match before it."""

    name: str
    stage: int
    first: Source
    second: Source
    reset: bool = False


def seed_order(places: int) -> tuple[int, ...]:
    """Seeds from top to bottom of a bracket. places: a power of two."""
    order: tuple[int, ...] = (1,)
    while len(order) < places:
        order = tuple(seed for one in order for seed in (one, 2 * len(order) + 1 - one))
    return order


def bracket_size(entrants: int) -> int:
    """The least power of two that holds them, at least two."""
    return max(2, 1 << (entrants - 1).bit_length())


def single_bracket(entrants: int) -> tuple[BracketMatch, ...]:
    return tuple(_winners(entrants, count(1)))


def double_bracket(entrants: int) -> tuple[BracketMatch, ...]:
    """Losers of the winners' rounds move to the losers' rounds, and are out after a second loss. The last of both meet in the final. If the
    one from the losers' rounds wins it, both have lost once, and a last match decides.

    In the losers' rounds entrants meet by turns each other and those who have just come down. The latter are reversed or shifted by half,
    in turn, to keep apart entrants who have already met.
    """
    rounds = bracket_size(entrants).bit_length() - 1
    matches = _winners(entrants, chain([1], count(2, 2)))
    losers: list[Source] = [LoserOf(match.name) for match in matches if match.stage == 1]
    stage = 1
    for fall in range(2, rounds + 1):
        stage += 1
        losers = _play(matches, f"L{stage - 1}", stage, losers)
        stage += 1
        down: list[Source] = [LoserOf(f"W{fall}-{number + 1}") for number in range(len(losers))]
        half = len(down) // 2
        down = down[::-1] if fall % 2 == 0 else down[half:] + down[:half]
        losers = _play(matches, f"L{stage - 1}", stage, [side for both in zip(losers, down, strict=True) for side in both])
    stage += 1
    best = WinnerOf(f"W{rounds}-1")
    matches.append(BracketMatch("F", stage, best, losers[0]))
    matches.append(BracketMatch("R", stage + 1, WinnerOf("F"), LoserOf("F"), reset=True))
    return tuple(matches)


def _winners(entrants: int, stages: Iterable[int]) -> list[BracketMatch]:
    """The winners' rounds, one per stage."""
    matches: list[BracketMatch] = []
    sides: list[Source] = [Seed(number) for number in seed_order(bracket_size(entrants))]
    for number, stage in enumerate(stages, 1):
        sides = _play(matches, f"W{number}", stage, sides)
        if len(sides) == 1:
            break
    return matches


def _play(matches: list[BracketMatch], name: str, stage: int, sides: list[Source]) -> list[Source]:
    """Add a round in which neighbours meet. Returns their winners."""
    played = [BracketMatch(f"{name}-{number // 2 + 1}", stage, sides[number], sides[number + 1]) for number in range(0, len(sides), 2)]
    matches += played
    return [WinnerOf(match.name) for match in played]
