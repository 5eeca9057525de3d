"""`carpet demo`: a race to watch in plain text."""

from __future__ import annotations

from typing import Annotated

import typer

from client.cli.ending import fail
from client.cli.looks import prints
from client.cli.options import Deal, Rules, race_options
from client.cli.running import print_json, print_sentence, run
from client.local.demo import run_demo
from protocol.command_line import examples

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog=examples("carpet demo --rules colorado", "carpet demo --json --fast > race.json"))
def demo(
    rules: Rules = "carpet",
    deal: Deal = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the race's record and nothing else.")] = False,
    fast: Annotated[bool, typer.Option("--fast", help="As fast as the server answers. [default: about half a minute]")] = False,
) -> None:
    """Watch two scripted players race, in plain text.

    They race over real WebSockets, on a server started for them. It needs no terminal.
    """
    race_options(rules=rules, deal=deal)

    write = _silence if as_json else print_sentence
    finished = run(lambda: run_demo(rules=rules, deal=deal, fast=fast, write=write, ascii_only=not prints("█░")))
    if as_json:
        print_json(finished.record)
    for check in finished.checks:
        if check.ok is False:
            fail(check.sentence)


def _silence(text: str) -> None:
    del text
