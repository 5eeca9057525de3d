"""The commands of `carpet-server`: they check what was typed and turn it into calls, with one clear sentence for whatever is wrong.

Only what the help needs is imported at the top. Trio, WebSockets, the database and the solver are imported by the commands that use them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, assert_never

import typer
from typer.core import TyperGroup

import protocol
from protocol import INTERRUPTED
from protocol.command_line import examples, folded, misuse_text, show_help, with_plain_help
from protocol.text import clean_name, counted
from server.cli.admin import admin_app
from server.cli.cluster import cluster_app
from server.cli.db import db_app
from server.cli.deals import deals_app
from server.cli.deploy import deploy_app
from server.cli.serve import serve
from server.cli.shared import RulesArgument, SeedOption, checked_record, fail, program, read_document, rules_of, say, seed_of, true_record

if TYPE_CHECKING:
    from protocol.record import DealRecord, Record
    from protocol.tournaments import TournamentDocument


class PlainHelp(TyperGroup):
    """A group whose help, like that of its commands, names arguments by their metavars alone: `FILE`, not Typer's `FILE <str>`."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """None if no command has this name."""
        command = super().get_command(ctx, cmd_name)
        return with_plain_help(command) if command is not None else None


app = typer.Typer(
    name="carpet-server",
    cls=PlainHelp,
    help="Host races at the patience game Carpet, check their records, look at the rules.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
rules_app = typer.Typer(help="The rule sets: list them, count move sequences, walk a game.", rich_markup_mode=None)
rules_app.callback(invoke_without_command=True)(show_help)
app.add_typer(rules_app, name="rules")
app.add_typer(db_app, name="db")
app.add_typer(cluster_app, name="cluster")
app.add_typer(admin_app, name="admin")
app.add_typer(deals_app)
app.add_typer(deploy_app)
app.command(
    epilog=examples("carpet-server serve --host 0.0.0.0", "carpet-server serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem")
)(serve)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"carpet-server {protocol.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("-V", "--version", callback=_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    del version
    show_help(context)


@app.command(epilog=examples("carpet-server verify race.json", "carpet-server verify KWPRTM.json races/*.json"))
def verify(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A record, or the document of a tournament, as JSON; - reads standard input.")
    ],
    records: Annotated[list[str] | None, typer.Argument(metavar="RECORD", help="Records of the tournament's races.")] = None,
) -> None:
    """Check a record, or a whole tournament.

    For a record: commitment, seed, deal, every move, the result. For a tournament: the shuffles of its rounds, the given records, points,
    tie-breaks and places. It says what is wrong, with exit status 1.
    """
    from server.tournaments.audit import BadTournament, read_tournament

    text = read_document(file)
    try:
        tournament = read_tournament(text)
    except BadTournament as error:
        fail(f"not a true tournament: {error}")
    if tournament is not None:
        _verify_tournament(tournament, records or [])
    elif records:
        fail(f"{file} is not the document of a tournament; its file comes first, and records of its races after it", 2)
    else:
        _verify_record(checked_record(text, file))


def _verify_tournament(document: TournamentDocument, files: list[str]) -> None:
    from server.tournaments.audit import BadTournament, audit_tournament

    try:
        checked = audit_tournament(document, (true_record(file) for file in files))
    except BadTournament as error:
        fail(f"not a true tournament: {error}")
    rounds = f"{checked.rounds} of {counted(len(document.rounds), 'round')}"
    entrants = counted(len(document.entrants), "entrant")
    say(f"verified: tournament {document.id}, {document.options.format}, {document.options.rules}, {entrants}")
    say(f"shuffles: the secrets of {rounds} are those that the tournament's commitment fixed")
    if checked.races and not checked.records:
        say(f"records: none of {counted(checked.races, 'race')}; name their files too, which carpet tournament export --records saves")
    else:
        races = f"{checked.records} of {counted(checked.races, 'race')}"
        say(f"records: {races}, each with the shuffle of its round and the result of its table")
    if checked.ruled:
        say(f"of them, {checked.ruled} with a result that the director corrected")
    say("standings: points, tie-breaks and places follow from the results")
    say("not checked: who was paired with whom, forfeits, that the nonces are those that the entrants sent, and that the")
    say("commitment was published before anybody entered")


def _deal_checked(deal: DealRecord) -> str:
    """What a record proves about its deal, and what it cannot prove."""
    if deal.name is not None:
        return f"the deal named {deal.name!r}"
    if deal.past is not None:
        return f"a position of race {deal.past.race} (not checked: that it was reached there)"
    if deal.shared is None:
        return "a deal that follows from the secret committed to and the players' nonces"
    shared = deal.shared
    match shared.kind:
        case "round":
            where = f"round {shared.id}" if not shared.id.startswith("/") else f"round {shared.id[1:]} of a private tournament"
            how = "the document of the tournament shows that"
        case "daily":
            where, how = f"the deal of {shared.id}", "carpet daily verify shows that, for days whose commitment you were shown"
        case "challenge":
            where, how = f"challenge {shared.id}", "whoever has run it before knows the deal"
        case _:
            assert_never(shared.kind)
    number = f", shuffle {shared.number}" if shared.number > 1 else ""
    return f"{where}{number}, a deal that follows from its secret and nonce (not checked: that they were fixed before it was run; {how})"


def _verify_record(record: Record) -> None:
    from protocol.seat_ends import word_among

    deal = record.deal
    kind = _deal_checked(deal)
    if deal.winnable:
        from server.solver.winnable import FalseNumber, check_first_winnable

        try:
            check_first_winnable(record.rules, bytes.fromhex(deal.secret), [bytes.fromhex(nonce) for nonce in deal.nonces], deal.k)
        except FalseNumber as error:
            fail(f"not a true record: {error}")
        kind += f", the first that can be won (k = {deal.k})"
    series = record.series
    within = f" (race {series.race} of {series.races} in its series)" if series is not None else ""
    say(f"verified: race {record.race} of {record.room}{within}, {record.rules}, {kind}, {counted(len(record.moves), 'legal move')}")
    for number, seat in sorted(enumerate(record.seats, 1), key=lambda item: item[1].place):
        told = f"{word_among(seat, record.seats)}, {counted(seat.home, 'card')} home"
        say(f"{seat.place}. {clean_name(seat.name)} (seat {number}): {told} at {seat.home_at_ms / 1000:.3f} s")


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
        for line in (f"{row.id}: {row.name} ({decks}, {row.difficulty.value}; {row.source})", f"    {row.explanation}", ""):
            typer.echo(folded(line, sys.stdout))


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


@app.command(epilog=examples("carpet-server schema asyncapi > carpet.json", "carpet-server schema record"))
def schema(
    name: Annotated[str, typer.Argument(metavar="NAME", help="asyncapi, openapi, or a document such as record or tournament.")],
) -> None:
    """Print a schema, for those who write a client.

    asyncapi: the messages on the wire. openapi: the pages over HTTP. Any other name: the JSON Schema of that document.
    """
    from protocol.schemas import NAMES, make_document

    if name not in NAMES:
        fail(f"there is no schema {name!r}; there are {', '.join(NAMES)}", 2)
    typer.echo(json.dumps(make_document(name), indent=2, ensure_ascii=False))


def run(arguments: Sequence[str] | None) -> int:
    """Run a command line, the process's own if it is None. Gives the exit status."""
    try:
        status: int | None = app(args=arguments, prog_name=program(), standalone_mode=False)
    except typer.TyperException as error:
        typer.echo(folded(misuse_text(error, program()), sys.stderr), err=True)
        return error.exit_code
    except typer.Abort:
        return INTERRUPTED
    return status or 0
