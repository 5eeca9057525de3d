"""Measures how many deals of a rule set can be won, and how many a house bot wins, seeing only what a player sees.

Owns the sample: which deals, what is counted in each, and the confidence interval that follows. Each chunk of it is a job for a worker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from hashlib import sha256
from math import sqrt
from typing import Final

import trio

from server.bots.house import house_bot
from server.race.view import see
from server.rules.catalogue import rule_set
from server.rules.position import RuleSet
from server.runtime.workers import Workers
from server.solver.solution import OutcomeFound
from server.solver.solve import solve

CHUNK: Final = 25
"""Deals in a job: enough to be worth sending to a worker, few enough for the progress bar to move."""

DEEP_CHUNK: Final = 2
"""Deals in a job for a bot that thinks."""

_SPAN: Final = 1.959964
"""Standard deviations on either side that hold 95 % of a normal distribution."""


def deal_seed(first: bytes, number: int) -> bytes:
    """Seed `number` (0, 1, 2 …) of the sample that `first` names: SHA-256(first ‖ number as 4 bytes, big-endian)."""
    return sha256(first + number.to_bytes(4, "big")).digest()


@dataclass(frozen=True, slots=True)
class Share:
    """`hits` of `tries`, and the 95 % confidence interval (Wilson's) of the share among all deals."""

    hits: int
    tries: int

    @property
    def value(self) -> float:
        return self.hits / self.tries

    @property
    def low(self) -> float:
        return _wilson(self.hits, self.tries, -1)

    @property
    def high(self) -> float:
        return _wilson(self.hits, self.tries, +1)


def _wilson(hits: int, tries: int, side: int) -> float:
    share = hits / tries
    spread = _SPAN * sqrt(share * (1 - share) / tries + _SPAN**2 / (4 * tries**2))
    end = (share + _SPAN**2 / (2 * tries) + side * spread) / (1 + _SPAN**2 / tries)
    # Rounding must not put an end on the wrong side of the share, nor beyond 0 or 1.
    return min(max(end, share), 1.0) if side > 0 else max(min(end, share), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Which deals are looked at, and by whom.

    first: 32 bytes that name the sample. deals: how many there are, numbered 0 to deals - 1. budget: positions for each search; None for
    the default. bots: names of house bots. thought_over: how many of the deals, from the first, a bot that thinks plays; None for all.
    """

    rules: str
    first: bytes
    deals: int
    budget: int | None = None
    bots: tuple[str, ...] = ()
    thought_over: int | None = None

    def deals_of(self, bot: str) -> int:
        """How many of the deals this bot plays."""
        limit = self.thought_over if house_bot(bot).thinks else None
        return self.deals if limit is None else min(self.deals, limit)


@dataclass(frozen=True, slots=True)
class Job:
    """A range of deals to be solved (bot: None) or played by a bot."""

    sample: Sample
    bot: str | None
    numbers: range


@dataclass(frozen=True, slots=True)
class Counts:
    """The results of a job's deals. home: cards home, in all. unknown: deals on which the search gave up."""

    deals: int
    won: int
    unknown: int = 0
    positions: int = 0
    home: int = 0


@dataclass(frozen=True, slots=True)
class Odds:
    """The results of the whole sample: of solving the deals, and of each bot."""

    sample: Sample
    solved: Counts
    played: tuple[tuple[str, Counts], ...]

    @property
    def found(self) -> Share:
        """The deals that the search won: a lower bound of those that can be won, and exact if none is unknown."""
        return Share(self.solved.won, self.solved.deals)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share of deals that can be won, allowing for all unknown ones to be lost, or to be won."""
        return self.found.low, Share(self.solved.won + self.solved.unknown, self.solved.deals).high


def jobs(sample: Sample) -> list[Job]:
    """All jobs, the slow ones first, so that no worker is left with one at the end."""
    bots = sorted(sample.bots, key=lambda name: not house_bot(name).thinks)
    found = [Job(sample, bot, chunk) for bot in bots for chunk in _chunks(sample.deals_of(bot), _size(bot))]
    return found + [Job(sample, None, chunk) for chunk in _chunks(sample.deals, CHUNK)]


def _size(bot: str) -> int:
    return DEEP_CHUNK if house_bot(bot).thinks else CHUNK


def _chunks(deals: int, size: int) -> Iterable[range]:
    return (range(first, min(first + size, deals)) for first in range(0, deals, size))


def do(job: Job) -> Counts:
    """Solve or play the deals of a job, in a worker."""
    row = rule_set(job.sample.rules)
    seeds = [(number, deal_seed(job.sample.first, number)) for number in job.numbers]
    if job.bot is None:
        return _solved(row, job.sample.budget, [seed for _, seed in seeds])
    won = home = 0
    for number, seed in seeds:
        is_won, at_home = _play(row, job.bot, seed, number)
        won += is_won
        home += at_home
    return Counts(len(seeds), won, home=home)


def _solved(row: RuleSet, budget: int | None, seeds: Sequence[bytes]) -> Counts:
    outcomes: Counter[OutcomeFound] = Counter()
    positions = 0
    for seed in seeds:
        found = solve(row.deal(seed), budget=budget, line=False)
        outcomes[found.outcome] += 1
        positions += found.nodes
    return Counts(len(seeds), outcomes["won"], outcomes["unknown"], positions)


def _play(row: RuleSet, bot: str, seed: bytes, number: int) -> tuple[bool, int]:
    """One game of a bot: whether it won, and its cards home. Its seed is the deal's number, so that a run can be repeated."""
    strategy = house_bot(bot).make(row.id, number)
    position = row.deal(seed)
    moves = 0
    while not position.is_over and (row.move_limit is None or moves < row.move_limit):
        position = position.play(strategy.choose(see(position)))
        moves += 1
    return position.is_won, position.home


async def measure(sample: Sample, workers: Workers, *, processes: int, progress: Callable[[int, int], None]) -> Odds:
    """Measure the whole sample. progress: called with how many games are done, and of how many."""
    waiting = jobs(sample)
    total = sum(len(job.numbers) for job in waiting)
    waiting.reverse()
    counts: dict[str | None, list[Counts]] = {bot: [] for bot in (None, *sample.bots)}
    done = 0

    async def work() -> None:
        nonlocal done
        while waiting:
            job = waiting.pop()
            counts[job.bot].append(await workers.run(do, job))
            done += len(job.numbers)
            progress(done, total)

    progress(0, total)
    async with trio.open_nursery() as nursery:
        for _ in range(processes):
            nursery.start_soon(work)
    return Odds(sample, _sum(counts[None]), tuple((bot, _sum(counts[bot])) for bot in sample.bots))


def _sum(counts: Iterable[Counts]) -> Counts:
    return Counts(*map(sum, zip(*map(astuple, counts), strict=True)))
