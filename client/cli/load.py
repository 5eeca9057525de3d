"""`carpet load`: how many races a server holds, measured from outside with real connections and legal moves."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import msgspec
import typer

from client.cli.ending import FAILED, MISUSED, fail
from client.cli.looks import prints
from client.cli.options import Json, Rules, Url, address_of
from client.cli.running import print_json
from client.local.load import find_load, run_load
from client.local.load_figures import LoadResult
from client.local.load_worker import Plan
from client.text.chart import BLOCKS
from client.text.tables import bars, table_lines
from protocol.command_line import examples, print_text
from protocol.text import counted

app = typer.Typer(rich_markup_mode=None)

BOTTLENECK = 0.85
"""Share of a core: if a process of the generator needs more, it may have been slower than the server."""


@app.command(
    epilog=examples(
        "carpet load carpet.example --races 500 --seconds 20",
        "carpet load carpet.example --rate 0 --races 50",
        "carpet load carpet.example --find --bound 50",
    )
)
def load(
    url: Url,
    races: Annotated[
        int, typer.Option(metavar="N", min=1, max=100_000, help="Two-player races at once; with --find, to begin with.")
    ] = 100,
    rate: Annotated[
        float, typer.Option(metavar="R", min=0, max=1000, help="Moves a second by each player; 0: each once the last is answered.")
    ] = 1.0,
    seconds: Annotated[float, typer.Option(metavar="S", min=0.5, max=3600, help="How long to measure, once all races run.")] = 10.0,
    watchers: Annotated[int, typer.Option(metavar="K", min=0, max=100_000, help="Guests who watch, spread over the races.")] = 0,
    rules: Rules = "carpet",
    processes: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=256, help="Processes that make the load. [default: all cores but one]")
    ] = None,
    find: Annotated[bool, typer.Option("--find", help="Find the most races that stay within --bound.")] = False,
    bound: Annotated[
        float, typer.Option(metavar="MS", min=1, max=10_000, help="With --find: the most ms that 99 of 100 moves may take.")
    ] = 50.0,
    as_json: Json = False,
) -> None:
    """Measure how many races a server holds.

    Players open races, make legal moves and ask for rematches. Run it against your own server only: it is as much load as that many people.
    A server limits what one address and one client may send; its host lifts that for a measurement (see "What a machine holds" in
    server/README.md).
    """
    address = address_of(url)
    if find and not rate:
        fail("--find needs a --rate: at 0 the load is always as much as the server answers.", MISUSED)
    plan = Plan(url=address.url, races=races, rate=rate, watchers=watchers, rules=rules)
    workers = processes or max((os.cpu_count() or 2) - 1, 1)
    line = ProgressLine(seconds)
    results: list[LoadResult] = []

    def tell(result: LoadResult) -> None:
        line.clear()
        results.append(result)
        if not as_json:
            print_text(trial_line(result, bound))

    try:
        if not find:
            results = [run_load(plan, seconds=seconds, processes=workers, progress=line.tell)]
        else:
            best = find_load(plan, bound_ms=bound, seconds=seconds, processes=workers, tell=tell, progress=line.tell)
            results = [best] if best is not None else results[-1:]
    finally:
        # What is said of a failure begins a line.
        line.clear()
    (result,) = results
    if as_json:
        document = msgspec.to_builtins(result)
        del document["view"], document["by_second"]
        print_json({"url": address.url, "rules": rules, "rate": rate, "watchers": watchers, **document})
    else:
        print_text("\n".join(load_lines(result, ascii_only=not prints(BLOCKS))))
    if find and not result.holds(bound):
        raise typer.Exit(FAILED)


class ProgressLine:
    """A line on standard error, if that is a terminal: how many races run, then how much of the measurement is done."""

    WIDTH = 30

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._shown = sys.stderr.isatty()

    def tell(self, standing: int, of: int, measured_s: float | None) -> None:
        done = standing / of if measured_s is None else min(measured_s / self._seconds, 1.0)
        what = f"{standing} of {counted(of, 'race')} run" if measured_s is None else f"measuring {measured_s:.0f} of {self._seconds:.0f} s"
        full = round(done * self.WIDTH)
        self._write(f"[{'#' * full}{'.' * (self.WIDTH - full)}] {what}")

    def clear(self) -> None:
        self._write("")

    def _write(self, text: str) -> None:
        if self._shown:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()


def trial_line(result: LoadResult, bound_ms: float) -> str:
    """One step of a search."""
    said = "holds" if result.holds(bound_ms) else "too many"
    failed = sum(result.errors.values())
    p99 = result.view_ms["p99"]
    return f"{result.races:>7} races: p99 {'-' if p99 is None else f'{p99:.1f} ms'}{f', {failed} errors' if failed else ''}: {said}"


def load_lines(result: LoadResult, *, ascii_only: bool) -> list[str]:
    """The result for a person: numbers, a histogram, and what makes the numbers doubtful."""
    races = counted(result.races, "race")
    lines = [
        f"{races}, {result.seconds:g} s: {result.moves_s:,.0f} moves/s; set up at {result.players_s:,.0f} players/s.",
        "",
        *_times(result),
        "",
        *_picture(result, ascii_only=ascii_only),
    ]
    if result.errors:
        lines += ["", "Errors:", *(f"  {counted(count, 'time')} {why}" for why, count in sorted(result.errors.items()))]
    used = f"The generator used {result.generator_cpu_s:g} s of processor time in {counted(result.processes, 'process', 'processes')}"
    lines += ["", f"{used}, at most {result.busiest:.0%} of a core in one."]
    if result.busiest > BOTTLENECK:
        lines.append("So it may have been slower than the server: use more --processes, or another machine.")
    return lines


def _times(result: LoadResult) -> list[str]:
    rows = [("to the mover's view", result.view_ms), ("to the opponent's progress", result.progress_ms), ("to watchers", result.watched_ms)]
    names = ("p50", "p90", "p99", "max")
    shown = [(what, *(f"{times[name]:.1f}" for name in names)) for what, times in rows if times["max"] is not None]
    return table_lines(("milliseconds from the move", *names), shown, right=range(1, 5))


def _picture(result: LoadResult, *, ascii_only: bool) -> list[str]:
    """A histogram with a row for each doubling of the time in milliseconds."""
    counts = result.view.by_doubling()
    return bars([(f"under {top:g} ms", count) for top, count in counts], ascii_only=ascii_only)
