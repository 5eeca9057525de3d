"""The commands of `carpet-server` that look at a deal or a game with every card known: `solve`, `review`, `winrate`, `frames`."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from protocol import INTERRUPTED
from protocol.command_line import examples
from protocol.shuffle import SEED_BYTES
from protocol.text import clean_name, counted
from server.cli.shared import FileArgument, RulesArgument, fail, rules_of, say, seed_of, true_record

if TYPE_CHECKING:
    from protocol.record import Record
    from protocol.replay import Replay
    from server.analysis.winrate import Odds, Sample
    from server.pages.review_text import Judgement
    from server.rules.position import Family

deals_app = typer.Typer(rich_markup_mode=None)

BudgetOption = Annotated[int | None, typer.Option(metavar="N", min=1, help="Positions a search may look at. [default: as many as usual]")]

QUICK_BOTS = "random,greedy"
"""The bots that do not think long."""

BAR_WIDTH = 30

NO_PROOF = "With two decks, not every line of play is looked at: `unknown` means that no win was found, not that there is none."


@deals_app.command(epilog=examples("carpet-server solve carpet --deal monday", "carpet-server solve twenty --deal 7 --json"))
def solve(
    rules: RulesArgument,
    seed: Annotated[str | None, typer.Option(metavar="HEX", help="Seed of the deal, 64 hexadecimal digits.")] = None,
    deal: Annotated[str | None, typer.Option(metavar="TEXT", help="The deal of this name, as for races.")] = None,
    budget: BudgetOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object with outcome, nodes and moves.")] = False,
) -> None:
    """Say whether a deal can be won with every card known, and how.

    `won` comes with a line that wins. `lost` means that every line was looked at. `unknown` is no proof: the search gave up.
    """
    from protocol.fairness import named_seed
    from server.solver.solve import solve as search

    row = rules_of(rules)
    if (seed is None) == (deal is None):
        fail("say which deal with either --seed or --deal, as in --deal monday", 2)
    try:
        chosen = seed_of(seed) if seed is not None else named_seed(deal or "")
    except ValueError:
        fail(f"--deal {deal!r} is not text", 2)
    found = search(row.deal(chosen), budget=budget)
    if as_json:
        typer.echo(json.dumps({"outcome": found.outcome, "nodes": found.nodes, "moves": found.moves}))
        return
    typer.echo(f"{found.outcome}: {row.id}, seed {chosen.hex()}; {found.nodes} positions looked at")
    match found.outcome:
        case "won":
            typer.echo(f"{counted(len(found.moves), 'move')}: {' '.join(found.moves)}")
        case "lost":
            typer.echo("Every line of play was looked at: none wins.")
        case "unknown":
            typer.echo(f"No win was found, which does not prove that there is none; look further with --budget above {found.nodes}.")


@deals_app.command(epilog="Example: carpet-server review race.json --seat 1")
def review(
    file: FileArgument,
    seat: Annotated[int | None, typer.Option(metavar="N", min=1, help="Only this seat, counted from 1 as `verify` does.")] = None,
    budget: BudgetOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")] = False,
) -> None:
    """Say what was possible in the games of a race.

    For each game: the best possible result, the move that lost it, and the move that would have kept it.
    """
    from server.pages.review_text import judge_seat

    record = true_record(file)
    if seat is not None and seat > len(record.seats):
        fail(f"--seat is from 1 to {len(record.seats)} in this race, not {seat}", 2)
    numbers = range(len(record.seats)) if seat is None else (seat - 1,)
    judged = [(number, judge_seat(record, number, budget=budget)) for number in numbers]
    if as_json:
        seats = [_judgement(record, number, judgement) for number, judgement in judged]
        typer.echo(json.dumps({"room": record.room, "race": record.race, "rules": record.rules, "seats": seats}))
        return
    say(f"race {record.race} of {record.room}, {record.rules}")
    for number, judgement in judged:
        say(f"{clean_name(record.seats[number].name)} (seat {number + 1}):")
        for sentence in judgement.sentences:
            say(f"  {sentence}")


def _judgement(record: Record, number: int, judgement: Judgement) -> dict[str, object]:
    """move: the number, from 1, of the move after which the best was out of reach; null if it never was."""
    found = judgement.review
    return {
        "seat": number + 1,
        "name": record.seats[number].name,
        "best": found.best,
        "winnable": found.winnable,
        "home": found.reached,
        "move": None if found.slip is None else found.slip + 1,
        "instead": found.instead,
        "left": judgement.left,
        "line": found.line,
        "exact": judgement.exact,
        "nodes": found.nodes,
        "sentences": judgement.sentences,
    }


@deals_app.command(epilog=examples("carpet-server winrate carpet --deals 1000 --bots greedy,deep"))
def winrate(
    rules: RulesArgument,
    deals: Annotated[int, typer.Option(metavar="N", min=1, max=2**32, help="Deals to look at.")],
    first_seed: Annotated[str, typer.Option(metavar="HEX", help="Fixes the deals: deal n has the seed SHA-256(this, n as 4 bytes).")] = "00"
    * SEED_BYTES,
    bots: Annotated[
        str, typer.Option(metavar="NAMES", help="House bots that play the same deals, separated by commas; or none.")
    ] = QUICK_BOTS,
    bot_deals: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Deals for each bot that thinks for long. [default: all]")
    ] = None,
    budget: BudgetOption = None,
    processes: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=256, help="Deals looked at in parallel. [default: one a processor]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")] = False,
) -> None:
    """Estimate how many deals can be won, and how many the bots win.

    The house bots see no more than a player. The deals are the same for the search and every bot, and the same --first-seed gives the
    same ones again.
    """
    import trio

    from server.analysis.winrate import Sample
    from server.bots.house import UnknownBot, house_bot
    from server.runtime.workers import WorkerDied

    row = rules_of(rules)
    names = tuple(name.strip() for name in bots.split(",")) if bots not in ("", "none") else ()
    try:
        for name in names:
            house_bot(name)
    except UnknownBot as error:
        fail(str(error), 2)
    first = seed_of(first_seed, "--first-seed")
    sample = Sample(rules=row.id, first=first, deals=deals, budget=budget, bots=tuple(dict.fromkeys(names)), thought_over=bot_deals)
    odds: Odds | None = None
    trouble, status = "", 1
    try:
        odds = trio.run(_measure, sample, processes or os.cpu_count() or 1)
    except* WorkerDied as group:
        trouble = str(group.exceptions[0])
    except* KeyboardInterrupt:
        trouble, status = "stopped before all deals were looked at", INTERRUPTED
    if odds is None:
        fail(trouble, status)
    typer.echo(json.dumps(_document(odds)) if as_json else _text(odds, row.family))


async def _measure(sample: Sample, processes: int) -> Odds:
    from server.analysis.winrate import measure
    from server.runtime.workers import open_workers

    async with open_workers(processes) as workers:
        return await measure(sample, workers, processes=processes, progress=_show_bar if sys.stderr.isatty() else lambda done, total: None)


def _show_bar(done: int, total: int) -> None:
    filled = BAR_WIDTH * done // total
    end = "\n" if done == total else ""
    sys.stderr.write(f"\r[{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {done} of {counted(total, 'game')}{end}")
    sys.stderr.flush()


def _text(odds: Odds, family: Family) -> str:
    from server.analysis.winrate import Share
    from server.rules.position import Family

    solved, found = odds.solved, odds.found
    low, high = odds.interval
    lost = solved.deals - solved.won - solved.unknown
    deals = counted(solved.deals, "deal")
    lines = [
        f"{odds.sample.rules}: {deals}; with every card known {solved.won} won, {lost} lost, {solved.unknown} unknown",
        f"can be won: {'at least ' if solved.unknown else ''}{_percent(found.value)} (95 % interval {_percent(low)} to {_percent(high)})",
    ]
    if family is not Family.CARPET:
        lines.append(NO_PROOF)
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
    from server.analysis.winrate import Share

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


@deals_app.command(epilog="Example: carpet-server frames race.json --json")
def frames(
    file: FileArgument,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object: record, rules, first view, and for each move the view after it.")
    ] = False,
) -> None:
    """Print a race move by move, in order of time.

    Each move comes with what its player saw after it.
    """
    from protocol.replay import to_json
    from server.race.replay import frames as frames_of

    replay = frames_of(true_record(file))
    if as_json:
        # As bytes, because the document is UTF-8 whatever the terminal's encoding.
        sys.stdout.buffer.write(to_json(replay) + b"\n")
        return
    for line in _listed(replay):
        typer.echo(line)


def _listed(replay: Replay) -> list[str]:
    from protocol.seat_ends import end_word
    from protocol.text import clean_chat, clean_name

    names = [clean_name(seat.name) for seat in replay.record.seats]
    width = max(len(name) for name in names)
    return [
        f"{frame.at_ms / 1000:9.3f} s  {names[frame.seat]:{width}}  {frame.ply:>4}. {clean_chat(frame.move):<6} {frame.view.home:>3} home"
        f"{f'  {word}' if (word := end_word(frame.state)) else ''}"
        for frame in replay.frames
    ]
