"""Win rates: which deals are sampled, that nothing is counted twice, what follows from the counts, and that a run is repeatable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from server.analysis.winrate import Counts, Odds, Sample, Share, deal_seed, do, jobs, measure
from server.rules.catalogue import rule_set
from server.solver.solve import solve

FIRST = bytes(range(32))
SAMPLE = Sample(rules="carpet-whist", first=FIRST, deals=60, bots=("greedy", "random", "deep"), thought_over=3)


class Here:
    """Workers that work in this process."""

    async def run(self, function: Callable[..., Any], *args: object) -> Any:
        return function(*args)


async def measured(sample: Sample, *, processes: int = 2) -> Odds:
    told: list[tuple[int, int]] = []
    odds = await measure(sample, Here(), processes=processes, progress=lambda done, total: told.append((done, total)))  # type: ignore[arg-type]
    games = sample.deals + sum(map(sample.deals_of, sample.bots))
    assert told[0] == (0, games)
    assert told[-1] == (games, games)
    assert told == sorted(told)
    return odds


def test_seeds_follow_from_the_first_as_documented() -> None:
    assert deal_seed(FIRST, 258) == sha256(FIRST + b"\x00\x00\x01\x02").digest()


def test_every_deal_is_looked_at_once_by_the_search_and_by_every_bot() -> None:
    looked_at = Counter((job.bot, number) for job in jobs(SAMPLE) for number in job.numbers)
    assert set(looked_at.values()) == {1}
    assert {bot: max(n for b, n in looked_at if b == bot) + 1 for bot in (None, *SAMPLE.bots)} == {
        None: 60,
        "greedy": 60,
        "random": 60,
        "deep": 3,
    }


async def test_the_counts_are_those_of_the_deals() -> None:
    odds = await measured(SAMPLE)
    outcomes = [solve(rule_set("carpet-whist").deal(deal_seed(FIRST, number))).outcome for number in range(60)]
    assert (odds.solved.deals, odds.solved.won, odds.solved.unknown) == (60, outcomes.count("won"), 0)
    assert [(bot, counts.deals) for bot, counts in odds.played] == [("greedy", 60), ("random", 60), ("deep", 3)]
    assert all(counts.won <= odds.solved.won for _, counts in odds.played)
    assert all(4 <= counts.home / counts.deals <= 52 for _, counts in odds.played)


async def test_a_run_repeats_whatever_the_number_of_processes() -> None:
    assert await measured(SAMPLE, processes=1) == await measured(SAMPLE, processes=5)
    other = await measured(replace(SAMPLE, first=bytes(32)))
    assert other.solved.positions != (await measured(SAMPLE)).solved.positions


def test_a_small_budget_leaves_deals_unknown_and_the_interval_wide() -> None:
    sample = Sample(rules="teppich", first=FIRST, deals=2, budget=20)
    (job,) = jobs(sample)
    counts = do(job)
    assert (counts.deals, counts.won, counts.unknown, counts.positions) == (2, 0, 2, 40)
    low, high = Odds(sample, counts, ()).interval
    assert (low, high) == (0.0, 1.0)


def test_a_bot_that_goes_in_circles_is_stopped_by_the_limit_of_moves() -> None:
    sample = Sample(rules="persian-rug", first=FIRST, deals=1, bots=("random",))
    counts = do(jobs(sample)[0])
    assert counts.deals == 1


@pytest.mark.parametrize(
    ("hits", "tries", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (952, 1000, 0.9369, 0.9636)],
)
def test_the_interval_is_wilsons(hits: int, tries: int, low: float, high: float) -> None:
    share = Share(hits, tries)
    assert share.low == pytest.approx(low, abs=1e-4)
    assert share.high == pytest.approx(high, abs=1e-4)
    assert 0 <= share.low <= share.value <= share.high <= 1


def test_what_is_unknown_counts_as_lost_below_and_as_won_above() -> None:
    odds = Odds(SAMPLE, Counts(100, won=40, unknown=20), ())
    assert odds.interval == (Share(40, 100).low, Share(60, 100).high)
    assert odds.found.value == 0.4
