"""What a race in a real terminal costs: `python -m tests.bench.terminal_cost [--size 80x24]`.

`carpet play --alone`, by a hand that presses `g` while a card goes home, else `w` into a gap, else `s`. Prints processor time and bytes to
the terminal while nothing happens and for a key with all that moves behind it, and how many keys a move took.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time

from tests.bench.processes import processor_s
from tests.e2e.terminal import Terminal, terminal_environment

IDLE_S = 10.0


def rest(terminal: Terminal, quiet_s: float = 0.35) -> None:
    """Until nothing but the clock has been drawn for so long."""
    since = time.monotonic()
    while time.monotonic() - since < quiet_s:
        before = len(terminal.raw)
        time.sleep(0.05)
        if len(terminal.raw) - before > 700:
            since = time.monotonic()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", default="80x24")
    parser.add_argument("--deal", default="garden")
    parser.add_argument("--rules", default="carpet")
    given = parser.parse_args()
    columns, rows = map(int, given.size.split("x"))
    with tempfile.TemporaryDirectory() as home:
        environment = terminal_environment(HOME=home, XDG_DATA_HOME=home, XDG_CONFIG_HOME=home, COLORTERM="truecolor")
        command = [sys.executable, "-m", "client.cli.main", "play", "--alone", "--deal", given.deal, "--rules", given.rules]
        with Terminal(command, environment=environment, columns=columns, rows=rows) as terminal:
            terminal.wait_for("cards home", patience_s=60)
            rest(terminal)
            pid = terminal.process.pid
            began, drawn = processor_s(pid), len(terminal.raw)
            time.sleep(IDLE_S)
            idle, told = processor_s(pid) - began, len(terminal.raw) - drawn
            print(f"idle: {100 * idle / IDLE_S:.1f} % of a core, {told / IDLE_S:.0f} bytes/s")
            keys, began, drawn, moves = 0, processor_s(pid), len(terminal.raw), 0
            while not terminal.shows("You brought") and not terminal.shows("No move is left") and keys < 200:
                homeward = terminal.shows("can go home:") or terminal.shows("Every card goes home")
                terminal.type("g" if homeward else "w" if terminal.shows("w with") else "s")
                keys += 1
                rest(terminal)
                found = [re.search(r"(\d+) moves", line) for line in terminal.lines()]
                moves = max([moves, *(int(each[1]) for each in found if each)])
            used, told = processor_s(pid) - began, len(terminal.raw) - drawn
            result = next((line.strip() for line in terminal.lines() if "You brought" in line), "stuck")
            print(f"{keys} keys, {moves} moves: {keys / max(moves, 1):.2f} keys a move ({result})")
            print(f"a key, with all that moves behind it: {1000 * used / keys:.1f} ms, {told / keys:.0f} bytes")


if __name__ == "__main__":
    main()
