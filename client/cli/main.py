"""The player's command, `carpet`: what is typed, checked and turned into calls; one clear sentence for whatever goes wrong.

Only what the help needs is imported at the top: screens, Trio and WebSockets come with the command that uses them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

import protocol
from client.cli.best import best_app
from client.cli.challenge import challenge_app
from client.cli.daily import daily_app
from client.cli.identity import identity_app
from client.cli.ladder import ladder_app
from client.cli.looks import Ascii, ColourBlind, FourColour, Name, NoBell, code_of, finish, need_terminal, settings_of
from client.cli.play_on import play_on_app
from client.cli.race_options import race_options, series_fields
from client.cli.races import races_app
from client.cli.records import records_app
from client.cli.shared import (
    FAILED,
    INTERRUPTED,
    MISUSED,
    Url,
    address_of,
    examples,
    fail,
    print_json,
    print_text,
    prints,
    run,
)
from client.cli.stats import stats_app
from client.cli.tournament import tournament_app
from client.connection.errors import Failure

if TYPE_CHECKING:
    from client.tui.start import StartMatch, UiSettings

app = typer.Typer(
    name="carpet",
    help="Race at the patience game Carpet: two people, the same shuffle, two terminals.",
    epilog=examples("carpet play", "carpet host carpet.example", "carpet join carpet.example ABCDEF", "carpet demo"),
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(identity_app)
app.add_typer(best_app)
app.add_typer(challenge_app)
app.add_typer(daily_app)
app.add_typer(ladder_app)
app.add_typer(play_on_app)
app.add_typer(races_app)
app.add_typer(records_app)
app.add_typer(stats_app)
app.add_typer(tournament_app)

Deal = Annotated[str | None, typer.Option(metavar="TEXT", help="A name for the shuffle: same name, same shuffle. [default: random]")]
Rules = Annotated[
    str, typer.Option(metavar="ID", help="The rule set, such as carpet-free or crazy-quilt; `carpet-server rules list` shows all.")
]
Winnable = Annotated[bool, typer.Option("--winnable", help="Only a deal that can be won; which one, still nobody knows.")]
BestOf = Annotated[
    int | None, typer.Option("--best-of", metavar="N", help="A series of races, won by whoever wins more of these N, an odd number.")
]
Session = Annotated[
    int | None, typer.Option("--session", metavar="N", help="N attempts: a patience won is a point, cards home break ties.")
]
Swap = Annotated[bool, typer.Option("--swap", help="Two shuffles: each player plays one, and then the other's.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"carpet {protocol.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    del version
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(epilog=examples("carpet play --bot random --rules crazy-quilt --deal tuesday", "carpet play --alone"))
def play(
    bot: Annotated[
        str | None, typer.Option(metavar="NAME", help="The house bot to race: random, greedy or deep, weakest first. [default: greedy]")
    ] = None,
    alone: Annotated[bool, typer.Option("--alone", help="No bot: race the clock, and your own best times.")] = False,
    rules: Rules = "carpet",
    deal: Deal = None,
    winnable: Winnable = False,
    best_of: BestOf = None,
    session: Session = None,
    swap: Swap = False,
    name: Name = None,
    four_colour: FourColour = False,
    colour_blind: ColourBlind = False,
    ascii_only: Ascii = False,
    no_bell: NoBell = False,
) -> None:
    """Race a house bot or the clock, on a server of your own.

    The server is started for the game and ends with it.
    """
    if alone and bot is not None:
        fail("--alone and --bot do not go together: who races the clock has no opponent.", MISUSED)
    if alone and (best_of is not None or session is not None or swap):
        fail("--alone and a series do not go together: the clock is raced once, and again as often as you like.", MISUSED)
    series = series_fields(best_of, session, swap=swap)
    options = race_options(
        rules=rules, bots=[] if alone else [bot or "greedy"], seats=1 if alone else 2, deal=deal, winnable=winnable, series=series
    )
    settings = settings_of(four_colour, colour_blind, ascii_only, no_bell)
    need_terminal("play")
    from client.local.sitting import play_alone, play_bot

    if alone:
        finish(run(lambda: play_alone(options, name=name, settings=settings)))
        return
    finish(run(lambda: play_bot(options, name=name, settings=settings)))


@app.command(epilog=examples("carpet host carpet.example --rules carpet-redeal --seats 3 --private"))
def host(
    url: Url,
    rules: Rules = "carpet",
    seats: Annotated[int, typer.Option(metavar="N", min=1, max=8, help="Players the race waits for.")] = 2,
    bot: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A house bot for one of the seats; may be repeated.")] = None,
    private: Annotated[bool, typer.Option("--private", help="Not shown in the lobby: only for who has the code.")] = False,
    deal: Deal = None,
    winnable: Winnable = False,
    best_of: BestOf = None,
    session: Session = None,
    swap: Swap = False,
    unrated: Annotated[bool, typer.Option("--unrated", help="The race does not change ratings; with a bot or --deal none does.")] = False,
    time_limit: Annotated[int, typer.Option(metavar="S", min=10, max=3600, help="Seconds for the whole race.")] = 600,
    countdown: Annotated[int, typer.Option(metavar="S", min=1, max=10, help="Seconds from everybody being ready to the start.")] = 3,
    grace: Annotated[int, typer.Option(metavar="S", min=5, max=600, help="Seconds that a player may be away before he forfeits.")] = 60,
    series_grace: Annotated[
        int | None,
        typer.Option(
            "--series-grace",
            metavar="S",
            min=5,
            max=3600,
            help="Seconds that he may be away between two races before he gives the series up. [default: 300]",
        ),
    ] = None,
    delay: Annotated[
        int,
        typer.Option(
            metavar="S",
            min=0,
            max=600,
            help="Seconds by which watchers see boards later than players; at least 10 where the race is rated.",
        ),
    ] = 10,
    name: Name = None,
    four_colour: FourColour = False,
    colour_blind: ColourBlind = False,
    ascii_only: Ascii = False,
    no_bell: NoBell = False,
) -> None:
    """Open a race on a server for others to join.

    The screen shows the code to give them.
    """
    options = race_options(
        rules=rules,
        seats=seats,
        bots=bot or [],
        public=not private,
        deal=deal,
        winnable=winnable,
        series=series_fields(best_of, session, swap=swap, grace_s=series_grace),
        rated=not unrated,
        time_limit_s=time_limit,
        countdown_s=countdown,
        grace_s=grace,
        delay_s=delay,
    )
    settings = settings_of(four_colour, colour_blind, ascii_only, no_bell)
    from protocol.client_messages import OpenRace

    _visit("host", url, OpenRace(options=options), name, settings)


@app.command(epilog="Example: carpet join carpet.example ABCDEF --name bert")
def join(
    url: Url,
    code: Annotated[str, typer.Argument(metavar="CODE", help="The six letters of the race, in either case.")],
    name: Name = None,
    four_colour: FourColour = False,
    colour_blind: ColourBlind = False,
    ascii_only: Ascii = False,
    no_bell: NoBell = False,
) -> None:
    """Join a race by its code, or come back to a seat in it."""
    code = code_of(code)
    settings = settings_of(four_colour, colour_blind, ascii_only, no_bell)
    from protocol.client_messages import JoinRace

    _visit("join", url, JoinRace(code=code), name, settings)


@app.command(epilog=examples("carpet watch carpet.example", "carpet watch carpet.example ABCDEF"))
def watch(
    url: Url,
    code: Annotated[
        str | None, typer.Argument(metavar="CODE", help="The six letters of the race. [default: the closest one, then the next]")
    ] = None,
    key: Annotated[str, typer.Option(metavar="KEY", help="Show boards with every card open; `carpet boards-key` says the key.")] = "",
    name: Name = None,
    four_colour: FourColour = False,
    colour_blind: ColourBlind = False,
    ascii_only: Ascii = False,
) -> None:
    """Watch others race.

    How far they are is shown as it happens, their boards some seconds later. A card that somebody who races has not seen lies face down.
    """
    code = None if code is None else code_of(code)
    settings = settings_of(four_colour, colour_blind, ascii_only, no_bell=True)
    from protocol.client_messages import WatchRace

    _visit("watch", url, WatchRace(code=code, key=key), name, settings)


@app.command(epilog=examples("carpet boards-key carpet.example ABCDEF"))
def boards_key(
    url: Url,
    code: Annotated[str, typer.Argument(metavar="CODE", help="The six letters of the race.")],
    name: Name = None,
) -> None:
    """Say the key that shows whole boards, for a screen that the players cannot see.

    For the host of a race that is not rated, and for whoever directs a tournament. The players are told when somebody uses it.
    """
    code = code_of(code)
    from client.connection.request import ask
    from client.storage.identity import IdentityStore, home_folder
    from protocol.client_messages import AskBoardsKey
    from protocol.server_messages import BoardsKey

    address = address_of(url)
    kept = IdentityStore(home_folder()).identity(address.url, name)
    print_text(run(lambda: ask(address.url, AskBoardsKey(code=code), BoardsKey, identity=kept, watches=True)).key)


@app.command(epilog=examples("carpet match carpet.example", "carpet match carpet.example --rules crazy-quilt"))
def match(
    url: Url,
    rules: Annotated[str | None, typer.Option(metavar="ID", help="The rule set to race at. [default: what the other one wants]")] = None,
    name: Name = None,
    four_colour: FourColour = False,
    colour_blind: ColourBlind = False,
    ascii_only: Ascii = False,
    no_bell: NoBell = False,
) -> None:
    """Race whoever else looks for an opponent.

    The server finds one of about your rating; the longer you wait, the less that matters.
    """
    if rules is not None:
        race_options(rules=rules)
    settings = settings_of(four_colour, colour_blind, ascii_only, no_bell)
    from client.tui.start import StartMatch

    _visit("match", url, None, name, settings, StartMatch(rules))


@app.command(epilog="Example: carpet home wss://carpet.example")
def home(
    url: Url,
    name: Name = None,
    four_colour: FourColour = False,
    colour_blind: ColourBlind = False,
    ascii_only: Ascii = False,
    no_bell: NoBell = False,
) -> None:
    """Go to a server's home screen.

    It shows who is there, the open races and the house bots.
    """
    _visit("home", url, None, name, settings_of(four_colour, colour_blind, ascii_only, no_bell))


@app.command(epilog=examples("carpet demo --rules colorado", "carpet demo --json --fast > race.json"))
def demo(
    rules: Rules = "carpet",
    deal: Deal = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the race's record and nothing else.")] = False,
    fast: Annotated[bool, typer.Option("--fast", help="As fast as the server answers. [default: about half a minute]")] = False,
) -> None:
    """Watch two scripted players race, in plain text.

    They race over real WebSockets, on a server that is started for them; no terminal is needed.
    """
    race_options(rules=rules, deal=deal)
    from client.local.demo import run_demo

    write = _silence if as_json else print_text
    finished = run(lambda: run_demo(rules=rules, deal=deal, fast=fast, write=write, ascii_only=not prints("█░")))
    if as_json:
        print_json(finished.record)
    for check in finished.checks:
        if check.ok is False:
            fail(check.sentence)


@app.command(epilog="Example: carpet demo --json | carpet verify -")
def verify(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A record, or a tournament's document, as JSON; - reads standard input.")],
    records: Annotated[list[str] | None, typer.Argument(metavar="[RECORD]...", help="Records of the tournament's races.")] = None,
) -> None:
    """Check the record of a race, or a whole tournament.

    Of a race the shuffle, every move and the result are worked out again; of a tournament the shuffles of its rounds, the records given,
    points, tie-breaks and places. Exit status 0 only when all of it is true.
    """
    _ask_server(["verify", "--", file, *(records or [])])


@app.command(epilog=examples("carpet review race.json --seat 1", "carpet demo --fast --json | carpet review -"))
def review(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A record as JSON; - reads standard input.")],
    seat: Annotated[int | None, typer.Option(metavar="N", min=1, help="This seat only, from 1 as verify counts.")] = None,
) -> None:
    """See what was possible in a race.

    For each game: the best there was, the move that lost it, and what would have kept it.
    """
    _ask_server(["review", *(["--seat", str(seat)] if seat is not None else []), "--", file])


@app.command(epilog=examples("carpet replay", "carpet replay race.json", "carpet demo --fast --json | carpet replay -"))
def replay(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE|ID",
            help="A record as JSON, - for standard input, or the id of a race, as carpet history shows it. [default: your last race]",
        ),
    ] = None,
    server: Annotated[
        str | None, typer.Option(metavar="URL", help="The server to ask for that id. [default: none, of your own races]")
    ] = None,
    four_colour: FourColour = False,
    colour_blind: ColourBlind = False,
    ascii_only: Ascii = False,
) -> None:
    """Watch a race that is over.

    Both boards stand side by side on one time line: play, pause, step, jump.
    """
    settings = settings_of(four_colour, colour_blind, ascii_only, no_bell=True)
    need_terminal("replay", keys=file != "-")
    address = address_of(server) if server is not None else None
    from client.cli.replay import show_replay

    outcome = run(lambda: show_replay(file, server=address, settings=settings))
    wanted = outcome.play_on
    if wanted is None:
        finish(outcome)
        return
    from client.local.sitting import play_on

    finish(run(lambda: play_on(wanted.record, seat=wanted.seat, ply=wanted.ply, name=None, settings=outcome.settings)))


# ---- what the commands share


def _ask_server(arguments: list[str]) -> NoReturn:
    """Leave the rest to a command of the server of this installation, its words and its exit status too."""
    import subprocess

    from client.replay.own_server import server_command, server_environment

    environment = server_environment() | {protocol.PROGRAM_VARIABLE: "carpet"}
    finished = subprocess.run(server_command(arguments), env=environment, check=False)  # noqa: S603  (our own)
    raise typer.Exit(finished.returncode if finished.returncode >= 0 else FAILED)


def _visit(command: str, url: str, request: Any, name: str | None, settings: UiSettings, start: StartMatch | None = None) -> None:
    address = address_of(url)
    need_terminal(command)
    from client.local.sitting import visit

    outcome = run(lambda: visit(url, request, name=name, settings=settings, start=start))
    if outcome.code is not None:
        print_text(f"You still have a seat in race {outcome.code}; to go on with it: carpet join {address.url} {outcome.code}")
    finish(outcome)


def _silence(text: str) -> None:
    del text


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of `carpet`."""
    status: int | None
    try:
        status = app(args=arguments, prog_name="carpet", standalone_mode=False)
    except typer.TyperException as error:
        # One sentence in place of usage, hint and error: the help is a flag away.
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "carpet"
        said = error.format_message().rstrip(".")
        typer.echo(f"{command}: {said}{' See' if said.endswith('?') else '; see'} {command} --help.", err=True)
        status = error.exit_code
    except Failure as failure:
        typer.echo(f"carpet: {failure}", err=True)
        status = FAILED
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has seen enough; Python must not find that out again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = FAILED
    sys.exit(status or 0)


if __name__ == "__main__":
    main()
