"""The commands of `carpet-server` that look at a deal with every card known: `solve`, `winrate`, `review`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Annotated

import trio
import typer

from protocol.shuffle import SEED_BYTES
from server.bots.house import HOUSE_BOTS, UnknownBot, house_bot
from server.cli_words import RulesArgument, fail, rules_of, seed_of
from server.odds import Odds, Sample, Share, measure
from server.rules.position import Family
from server.workers import WorkerDied, open_workers

deals_app = typer.Typer(rich_markup_mode=None)

BudgetOption = Annotated[int | None, typer.Option(metavar="N", min=1, help="Positions a search may look at. [default: as is usual]")]

BAR_WIDTH = 30


@deals_app.command(epilog="Example: carpet-server winrate carpet --deals 1000 --bots random,greedy,deep --bot-deals 100")
def winrate(
    rules: RulesArgument,
    deals: Annotated[int, typer.Option(metavar="N", min=1, max=2**32, help="Deals to look at.")],
    first_seed: Annotated[str, typer.Option(metavar="HEX", help="Names the deals: n has the seed SHA-256(this, n as 4 bytes).")] = "00"
    * SEED_BYTES,
    bots: Annotated[
        str, typer.Option(metavar="NAMES", help="House bots that play the same deals, with commas between; or none.")
    ] = ",".join(bot.name for bot in HOUSE_BOTS.values() if not bot.thinks),
    bot_deals: Annotated[int | None, typer.Option(metavar="N", min=1, help="Deals for a bot that thinks long. [default: all]")] = None,
    budget: BudgetOption = None,
    processes: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=256, help="Deals looked at at once. [default: processors]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")] = False,
) -> None:
    """Estimate how many deals can be won, and how many the house bots win, who see no more than a player.

    The deals are the same for the search and every bot, and the same again with the same --first-seed.
    """
    row = rules_of(rules)
    names = tuple(name.strip() for name in bots.split(",")) if bots not in ("", "none") else ()
    try:
        for name in names:
            house_bot(name)
    except UnknownBot as error:
        fail(str(error), 2)
    first = seed_of(first_seed, "--first-seed")
    sample = Sample(rules=row.id, first=first, deals=deals, budget=budget, bots=tuple(dict.fromkeys(names)), thought_over=bot_deals)
    try:
        odds = trio.run(_measure, sample, processes or os.cpu_count() or 1)
    except* WorkerDied as group:
        fail(str(group.exceptions[0]))
    typer.echo(json.dumps(_document(odds)) if as_json else _text(odds, row.family))


async def _measure(sample: Sample, processes: int) -> Odds:
    async with open_workers(processes) as workers:
        return await measure(sample, workers, processes=processes, progress=_bar() if sys.stderr.isatty() else _silence)


def _bar() -> Callable[[int, int], None]:
    def show(done: int, total: int) -> None:
        filled = BAR_WIDTH * done // total
        end = "\n" if done == total else ""
        sys.stderr.write(f"\r[{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {done} of {total} games{end}")
        sys.stderr.flush()

    return show


def _silence(done: int, total: int) -> None:
    del done, total


def _text(odds: Odds, family: Family) -> str:
    solved, found = odds.solved, odds.found
    low, high = odds.interval
    lost = solved.deals - solved.won - solved.unknown
    lines = [
        f"{odds.sample.rules}: {solved.deals} deals; with every card known {solved.won} won, {lost} lost, {solved.unknown} unknown",
        f"can be won: {'at least ' if solved.unknown else ''}{_percent(found.value)} (95 % interval {_percent(low)} to {_percent(high)})",
    ]
    if family is not Family.CARPET:
        lines.append("Not every line of play is looked at in two decks: unknown means that no win was found, not that there is none.")
    for bot, counts in odds.played:
        share = Share(counts.won, counts.deals)
        interval = f"95 % interval {_percent(share.low)} to {_percent(share.high)}"
        lines.append(
            f"{bot}: won {counts.won} of {counts.deals}, {_percent(share.value)} ({interval}), {counts.home / counts.deals:.1f} cards home"
        )
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _document(odds: Odds) -> dict[str, object]:
    solved = odds.solved
    low, high = odds.interval
    return {
        "rules": odds.sample.rules,
        "deals": solved.deals,
        "first_seed": odds.sample.first.hex(),
        "won": solved.won,
        "lost": solved.deals - solved.won - solved.unknown,
        "unknown": solved.unknown,
        "share": odds.found.value,
        "low": low,
        "high": high,
        "nodes": solved.positions,
        "bots": [
            {
                "name": bot,
                "deals": counts.deals,
                "won": counts.won,
                "share": (share := Share(counts.won, counts.deals)).value,
                "low": share.low,
                "high": share.high,
                "home": counts.home / counts.deals,
            }
            for bot, counts in odds.played
        ],
    }
