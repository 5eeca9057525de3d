"""What the screens cost in a real terminal: `python -m tests.bench.terminal_cost [--size 80x24] [--start ROUNDS]`.

It plays `carpet play --alone`, pressing `g` while a card can go home, else `w` into a gap, else `s`. It prints processor time and bytes to
the terminal, while nothing happens and for a key with all the motion that follows; and how many keys a move took.

With `--start` it measures the way to the first picture instead: the command's processor time, best and median of this many rounds, and the
wall time from its start until the last row of its first screen is drawn; and what Python alone and the commands without a screen cost.
Bytecode is kept, as in an installation; a first round that is not counted makes it. `--tree` is another tree to measure.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from statistics import median

from tests.bench.processes import processor_s
from tests.e2e.terminal import ROOT, Terminal, terminal_environment

IDLE_S = 10.0


def run_s(pid: int) -> float:
    """Like `processor_s`, but finer: how long all threads of a process have run."""
    return sum(int(Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[0]) for task in os.listdir(f"/proc/{pid}/task")) / 1e9


FIRST: Mapping[str, list[str]] = {"carpet": [], "carpet play": ["play"], "carpet play --alone": ["play", "--alone"]}
WHOLE: Mapping[str, list[str]] = {
    "python -I -S -c pass": ["-I", "-S", "-c", "pass"],
    "python -c pass": ["-c", "pass"],
    "carpet --version": ["-m", "client.cli.main", "--version"],
    "carpet --help": ["-m", "client.cli.main", "--help"],
}


def first_picture(arguments: list[str], environment: dict[str, str], tree: Path, size: tuple[int, int]) -> tuple[float, float]:
    """Processor and wall time, in seconds, until the last row of a first screen is drawn: the one with the key that quits."""
    began_s = time.monotonic()
    command = [sys.executable, "-m", "client.cli.main", *arguments]
    with Terminal(command, environment=environment, cwd=tree, columns=size[0], rows=size[1]) as terminal:
        while b" quit" not in terminal.raw:
            assert time.monotonic() - began_s < 60
            time.sleep(0.001)
        return run_s(terminal.process.pid), time.monotonic() - began_s


def whole_run(arguments: list[str], environment: dict[str, str], tree: Path) -> tuple[float, float]:
    """Processor and wall time of a command to its end."""
    began_s, before = time.monotonic(), os.times()
    subprocess.run([sys.executable, *arguments], env=environment, cwd=tree, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system, time.monotonic() - began_s


def measure_start(rounds: int, tree: Path, size: tuple[int, int]) -> None:
    """Print a line for each way to start."""
    with tempfile.TemporaryDirectory() as home:
        environment = terminal_environment(HOME=home, XDG_DATA_HOME=home, PYTHONPYCACHEPREFIX=f"{home}/bytecode", PYTHONPATH=str(tree))
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        ways = {name: partial(whole_run, arguments, environment, tree) for name, arguments in WHOLE.items()}
        ways |= {name: partial(first_picture, arguments, environment, tree, size) for name, arguments in FIRST.items()}
        took = [{name: way() for name, way in ways.items()} for _ in range(rounds + 1)][1:]
        for name in ways:
            worked, passed = zip(*(each[name] for each in took), strict=True)
            figures = f"{1000 * min(worked):4.0f} {1000 * median(worked):4.0f} ms processor time, {1000 * min(passed):4.0f} ms wall"
            print(f"{name:<22}{figures}")


def at_rest(terminal: Terminal, quiet_s: float = 0.35) -> str:
    """The screen, once nothing but the clock has been drawn for this long."""
    since = time.monotonic()
    while time.monotonic() - since < quiet_s:
        before = len(terminal.raw)
        time.sleep(0.05)
        if len(terminal.raw) - before > 700:
            since = time.monotonic()
    return terminal.wait_until("\n".join)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", default="80x24")
    parser.add_argument("--deal", default="garden")
    parser.add_argument("--rules", default="carpet")
    parser.add_argument("--start", type=int, metavar="ROUNDS")
    parser.add_argument("--tree", type=Path, default=ROOT)
    given = parser.parse_args()
    columns, rows = map(int, given.size.split("x"))
    if given.start:
        measure_start(given.start, given.tree, (columns, rows))
        return
    with tempfile.TemporaryDirectory() as home:
        environment = terminal_environment(HOME=home, XDG_DATA_HOME=home, XDG_CONFIG_HOME=home, COLORTERM="truecolor")
        command = [sys.executable, "-m", "client.cli.main", "play", "--alone", "--deal", given.deal, "--rules", given.rules]
        with Terminal(command, environment=environment, columns=columns, rows=rows) as terminal:
            terminal.wait_for("enter play", patience_s=60)
            at_rest(terminal)
            pid = terminal.process.pid
            began, drawn = processor_s(pid), len(terminal.raw)
            time.sleep(IDLE_S)
            idle, told = processor_s(pid) - began, len(terminal.raw) - drawn
            print(f"idle: {100 * idle / IDLE_S:.1f} % of a core, {told / IDLE_S:.0f} bytes/s")
            keys, began, drawn, moves = 0, processor_s(pid), len(terminal.raw), 0
            while "You brought" not in (screen := at_rest(terminal)) and "No move is left" not in screen and keys < 200:
                moves = max([moves, *map(int, re.findall(r"(\d+) moves", screen))])
                homeward = "can go home:" in screen or "Every card goes home" in screen
                terminal.type("g" if homeward else "w" if "w with" in screen else "s")
                keys += 1
            used, told = processor_s(pid) - began, len(terminal.raw) - drawn
            result = next((line.strip() for line in screen.splitlines() if "You brought" in line), "stuck")
            print(f"{keys} keys, {moves} moves: {keys / max(moves, 1):.2f} keys a move ({result})")
            print(f"a key, with all that moves behind it: {1000 * used / keys:.1f} ms, {told / keys:.0f} bytes")


if __name__ == "__main__":
    main()
