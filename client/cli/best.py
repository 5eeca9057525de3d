"""The command `carpet best`: one's own best at each rule set, as kept on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from client.cli.shared import examples, print_json

best_app = typer.Typer()


@best_app.command(epilog=examples("carpet best", "carpet best --json"))
def best(as_json: Annotated[bool, typer.Option("--json", help="Print them as JSON.")] = False) -> None:
    """Show your best times against the clock.

    They are kept on this machine, for each rule set; carpet play --alone adds to them.
    """
    from client.storage.bests import BestsStore
    from client.storage.identity import home_folder

    bests = BestsStore(home_folder()).read()
    if as_json:
        print_json({"rules": bests.rules})
        return
    if not bests.rules:
        typer.echo("You have not raced the clock yet: carpet play --alone.")
        return
    from client.text.formatting import clock_text

    typer.echo(f"{'rules':<20}{'best time':>10}{'most home':>11}{'tries':>7}{'won':>6}")
    for rules, row in sorted(bests.rules.items()):
        time = "-" if row.best_ms is None else clock_text(row.best_ms)
        typer.echo(f"{rules:<20}{time:>10}{row.most_home:>11}{row.tries:>7}{row.wins:>6}")
