"""The host's command, `carpet-server`: what is typed, checked and turned into calls; one clear sentence for whatever is wrong.

Only what the help needs is imported at the top: Trio, WebSockets, the database and the solver come with the command that uses them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

import protocol
from server.cli.db import db_app
from server.cli.deals import deals_app
from server.cli.frames import frames_app
from server.cli.serve import serve
from server.cli.shared import FileArgument, RulesArgument, SeedOption, examples, fail, program, rules_of, seed_of, true_record

INTERRUPTED = 130

app = typer.Typer(
    name="carpet-server",
    help="Host races at the patience game Carpet, check their records, look at the rules.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
rules_app = typer.Typer(help="The rule sets: list them, count move sequences, walk a game.", rich_markup_mode=None)
app.add_typer(rules_app, name="rules")
app.add_typer(db_app, name="db")
app.add_typer(deals_app)
app.add_typer(frames_app)
app.command(epilog=examples("carpet-server serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem"))(serve)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"carpet-server {protocol.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    del version
    _show_help(context)


@rules_app.callback(invoke_without_command=True)
def _rules_root(context: typer.Context) -> None:
    _show_help(context)


def _show_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(epilog="Example: carpet-server verify race.json")
def verify(
    file: FileArgument,
) -> None:
    """Check a record: commitment, seed, deal, every move, the result. Says what is wrong and exits 1 otherwise."""
    record = true_record(file)
    deal = record.deal
    kind = f"the deal named {deal.name!r}" if deal.name is not None else "a deal that nobody could know or choose"
    if deal.winnable:
        from server.solver.winnable import FalseNumber, check_first_winnable

        try:
            check_first_winnable(record.rules, bytes.fromhex(deal.secret), [bytes.fromhex(nonce) for nonce in deal.nonces], deal.k)
        except FalseNumber as error:
            fail(f"not a true record: {error}")
        kind += f", the first that can be won (k = {deal.k})"
    typer.echo(f"verified: race {record.race} of {record.room}, {record.rules}, {kind}, {len(record.moves)} legal moves")
    for number, seat in sorted(enumerate(record.seats, 1), key=lambda item: item[1].place):
        typer.echo(f"{seat.place}. {seat.name} (seat {number}): {seat.state}, {seat.home} cards home at {seat.home_at_ms / 1000:.3f} s")


@rules_app.command("list", epilog="Example: carpet-server rules list --json")
def rules_list(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON list instead of text.")] = False,
) -> None:
    """List the rule sets with how each is played."""
    from msgspec.structs import asdict

    from server.rules.catalogue import RULE_SETS, describe

    if as_json:
        rows = [asdict(describe(row)) for row in RULE_SETS.values()]
        typer.echo(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    for row in RULE_SETS.values():
        decks = "one deck" if row.decks == 1 else "two decks"
        typer.echo(f"{row.id}: {row.name} ({decks}, {row.difficulty.value}; {row.source})\n    {row.explanation}\n")


@rules_app.command("perft", epilog=f"Example: carpet-server rules perft carpet 5 --seed {'00' * 32}")
def rules_perft(
    rules: RulesArgument,
    depth: Annotated[int, typer.Argument(metavar="DEPTH", help="Length of the move sequences.", min=0, max=100)],
    seed: SeedOption,
    divide: Annotated[bool, typer.Option(help="Before the count, print that of each first move.")] = False,
) -> None:
    """Count the sequences of exactly DEPTH legal moves of a deal.

    The count is printed last.
    """
    from server.rules.perft import perft, perft_divide

    position = rules_of(rules).deal(seed_of(seed))
    if divide:
        for move, count in perft_divide(position, depth).items():
            typer.echo(f"{move} {count}")
    typer.echo(perft(position, depth))


@rules_app.command("walk", epilog=f"Example: carpet-server rules walk carpet --seed {'00' * 32}")
def rules_walk(rules: RulesArgument, seed: SeedOption) -> None:
    """Play one game by a fixed rule, to compare engines deep into it.

    How it went is printed as one JSON object.
    """
    from server.rules.walk import walk

    row = rules_of(rules)
    walked = walk(row, seed_of(seed))
    document = {"rules": row.id, "seed": seed.lower(), "moves": walked.moves, "home": walked.home, "digest": walked.digest}
    typer.echo(json.dumps(document))


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of `carpet-server`."""
    status: int | None
    try:
        status = app(args=arguments, prog_name=program(), standalone_mode=False)
    except typer.TyperException as error:
        # One sentence in place of usage, hint and error: the help is a flag away.
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else program()
        typer.echo(f"{command}: {error.format_message().rstrip('.')}; see {command} --help.", err=True)
        status = error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    sys.exit(status or 0)


if __name__ == "__main__":
    main()
