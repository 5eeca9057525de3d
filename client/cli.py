"""The player's command, `carpet`: what is typed, checked and turned into calls; one clear sentence for whatever goes wrong.

Only what the help needs is imported at the top: screens, Trio and WebSockets come with the command that uses them.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

import protocol
from client.failure import Failure

if TYPE_CHECKING:
    from client.ui.desk import UiSettings
    from client.ui.start import AppOutcome
    from protocol.record import Record

Outcome = TypeVar("Outcome")

FAILED, MISUSED, INTERRUPTED = 1, 2, 130

app = typer.Typer(
    name="carpet",
    help="Race at the patience game Carpet: two people, the same shuffle, two terminals.",
    epilog="Examples: carpet play  |  carpet host carpet.example  |  carpet join carpet.example ABCDEF  |  carpet demo",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Url = Annotated[str, typer.Argument(metavar="URL", help="The server: host, host:port (7777 if none is given), ws://… or wss://….")]
Name = Annotated[
    str | None, typer.Option(metavar="NAME", help="Your name; another name is another player. [default: as last time, or your login name]")
]
Deal = Annotated[str | None, typer.Option(metavar="TEXT", help="A name for the shuffle: same name, same shuffle. [default: random]")]
Rules = Annotated[
    str, typer.Option(metavar="ID", help="The rule set, such as carpet-free or crazy-quilt; `carpet-server rules list` shows all.")
]
Winnable = Annotated[bool, typer.Option("--winnable", help="Only a deal that can be won; which one, still nobody knows.")]
FourColour = Annotated[bool, typer.Option("--four-colour", "--four-color", help="A deck with a colour for each suit.")]
ColourBlind = Annotated[bool, typer.Option("--colour-blind", "--color-blind", help="Colours that are told apart without red and green.")]
Ascii = Annotated[bool, typer.Option("--ascii", help="Letters in place of suit signs and frames.")]
NoBell = Annotated[bool, typer.Option("--no-bell", help="Do not ring at the start and near the end.")]


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


@app.command(epilog="Example: carpet play --bot random --rules crazy-quilt --deal tuesday")
def play(
    bot: Annotated[str, typer.Option(metavar="NAME", help="The house bot to race: random, greedy or deep, weakest first.")] = "greedy",
    rules: Rules = "carpet",
    deal: Deal = None,
    winnable: Winnable = False,
    name: Name = None,
    four_colour: FourColour = False,
    colour_blind: ColourBlind = False,
    ascii_only: Ascii = False,
    no_bell: NoBell = False,
) -> None:
    """Race a house bot, on a server of your own.

    The server is started for the game and ends with it.
    """
    _check_options(rules=rules, deal=deal, winnable=winnable)
    settings = _settings(four_colour, colour_blind, ascii_only, no_bell)
    _need_terminal("play")
    from client.sessions import play_bot

    _finish(_run(lambda: play_bot(bot, rules, deal, name=name, settings=settings, winnable=winnable)))


@app.command(epilog="Example: carpet host carpet.example --rules carpet-redeal --seats 3 --private")
def host(
    url: Url,
    rules: Rules = "carpet",
    seats: Annotated[int, typer.Option(metavar="N", min=1, max=8, help="Players the race waits for.")] = 2,
    bot: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A house bot for one of the seats; may be repeated.")] = None,
    private: Annotated[bool, typer.Option("--private", help="Not shown in the lobby: only for who has the code.")] = False,
    deal: Deal = None,
    winnable: Winnable = False,
    time_limit: Annotated[int, typer.Option(metavar="S", min=10, max=3600, help="Seconds for the whole race.")] = 600,
    countdown: Annotated[int, typer.Option(metavar="S", min=1, max=10, help="Seconds from everybody being ready to the start.")] = 3,
    grace: Annotated[int, typer.Option(metavar="S", min=5, max=600, help="Seconds that a player may be away before he forfeits.")] = 60,
    name: Name = None,
    four_colour: FourColour = False,
    colour_blind: ColourBlind = False,
    ascii_only: Ascii = False,
    no_bell: NoBell = False,
) -> None:
    """Open a race on a server for others to join.

    The screen shows the code to give them.
    """
    options = _check_options(
        rules=rules,
        seats=seats,
        bots=bot or [],
        public=not private,
        deal=deal,
        winnable=winnable,
        time_limit_s=time_limit,
        countdown_s=countdown,
        grace_s=grace,
    )
    settings = _settings(four_colour, colour_blind, ascii_only, no_bell)
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
    # As it is read out: with spaces or hyphens between the letters, maybe.
    code = "".join(code.replace("-", " ").split())
    if not (code.isascii() and code.isalpha() and len(code) <= 16):
        _fail(f"{code!r} is not the code of a race: it is six letters, as the host's screen shows them.", MISUSED)
    settings = _settings(four_colour, colour_blind, ascii_only, no_bell)
    from protocol.client_messages import JoinRace

    _visit("join", url, JoinRace(code=code), name, settings)


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
    _visit("home", url, None, name, _settings(four_colour, colour_blind, ascii_only, no_bell))


@app.command(epilog="Examples: carpet demo --rules colorado  |  carpet demo --json --fast > race.json")
def demo(
    rules: Rules = "carpet",
    deal: Deal = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the race's record and nothing else.")] = False,
    fast: Annotated[bool, typer.Option("--fast", help="As fast as the server answers. [default: about half a minute]")] = False,
) -> None:
    """Watch two scripted players race, in plain text.

    They race over real WebSockets, on a server that is started for them; no terminal is needed.
    """
    _check_options(rules=rules, deal=deal)
    from client.demo import run_demo
    from protocol.record import to_json

    write = _silence if as_json else _line
    finished = _run(lambda: run_demo(rules=rules, deal=deal, fast=fast, write=write, ascii_only=not _prints("█░")))
    if as_json:
        _line(to_json(finished.record))
    for check in finished.checks:
        if check.ok is False:
            _fail(check.sentence)


@app.command(epilog="Example: carpet demo --json | carpet verify -")
def verify(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A record as JSON; - reads standard input.")],
) -> None:
    """Check the record of a race.

    The shuffle, every move and the result are worked out again. Exit status 0 only when all of the record is true.
    """
    _ask_server(["verify", "--", file])


@app.command(epilog="Examples: carpet review race.json --seat 1  |  carpet demo --fast --json | carpet review -")
def review(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A record as JSON; - reads standard input.")],
    seat: Annotated[int | None, typer.Option(metavar="N", min=1, help="This seat only, from 1 as verify counts.")] = None,
) -> None:
    """See what was possible in a race.

    For each game: the best there was, the move that lost it, and what would have kept it.
    """
    _ask_server(["review", *(["--seat", str(seat)] if seat is not None else []), "--", file])


# ---- what the commands share


def _ask_server(arguments: list[str]) -> NoReturn:
    """Leave the rest to a command of the server of this installation, its words and its exit status too."""
    import subprocess

    from client.server_process import server_command, server_environment

    finished = subprocess.run(server_command(arguments), env=server_environment(), check=False)  # noqa: S603  (our own)
    raise typer.Exit(finished.returncode if finished.returncode >= 0 else FAILED)


def _visit(command: str, url: str, request: Any, name: str | None, settings: UiSettings) -> None:
    from client.address import BadAddress, parse_address

    try:
        address = parse_address(url)
    except BadAddress as error:
        _fail(str(error), MISUSED)
    _need_terminal(command)
    from client.sessions import visit

    outcome = _run(lambda: visit(url, request, name=name, settings=settings))
    if outcome.code is not None:
        typer.echo(f"You still have a seat in race {outcome.code}; to go on with it: carpet join {address.url} {outcome.code}")
    _finish(outcome)


def _finish(outcome: AppOutcome) -> None:
    if outcome.record is not None:
        _keep(outcome.record)
    match outcome.reason:
        case "signal":
            raise typer.Exit(INTERRUPTED)
        case "terminal":
            raise typer.Exit(FAILED)
        case "quit":
            pass


def _keep(record: Record) -> None:
    from client.identity import home_folder
    from client.keepsake import keep_record

    try:
        path = keep_record(home_folder(), record)
    except OSError as error:
        typer.echo(f"carpet: the record of your race could not be kept: {error}", err=True)
    else:
        typer.echo(f"The record of your race is {path}; to check it: carpet verify {shlex.quote(str(path))}")


def _settings(four_colour: bool, colour_blind: bool, ascii_only: bool, no_bell: bool) -> UiSettings:
    if four_colour and colour_blind:
        _fail("--four-colour and --colour-blind are two palettes: choose one.", MISUSED)
    from client.ui.desk import UiSettings

    palette = "four" if four_colour else "safe" if colour_blind else "classic"
    return UiSettings(palette=palette, ascii=ascii_only or not _prints("♠│█"), bell=not no_bell)


def _check_options(**fields: object) -> Any:
    """RaceOptions of these fields, by the limits that the wire has for them."""
    import msgspec

    from protocol.views import RaceOptions

    if fields.get("winnable") and fields.get("deal") is not None:
        _fail("--winnable and --deal do not go together: a deal by name is what it is.", MISUSED)
    try:
        return msgspec.convert(fields, RaceOptions)
    except msgspec.ValidationError as error:
        # "Expected `str` of length <= 100 - at `$.deal`"
        what, _, where = str(error).replace("`str`", "a text").partition(" - at `$.")
        option = {"bots": "bot"}.get(name := where.rstrip("`").split("[")[0], name).removesuffix("_s").replace("_", "-")
        _fail(f"--{option} does not fit: {what[0].lower()}{what[1:]}.", MISUSED)


def _need_terminal(command: str) -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        _fail(f"carpet {command} draws on a terminal, and there is none here; carpet demo shows a race in plain text.", MISUSED)


def _prints(characters: str) -> bool:
    try:
        characters.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _line(text: str) -> None:
    # Flushed line by line: it is to be watched, also through a pipe.
    print(text, flush=True)


def _silence(text: str) -> None:
    del text


def _fail(sentence: str, status: int = FAILED) -> NoReturn:
    typer.echo(f"carpet: {sentence}", err=True)
    raise typer.Exit(status)


def _run(function: Callable[[], Awaitable[Outcome]]) -> Outcome:
    """Run under Trio. What a person can act on, and Ctrl+C, come out of the groups that nurseries make of them."""
    import trio

    try:
        return trio.run(function)
    except BaseExceptionGroup as group:
        leaves = list(_leaves(group))
        for kind in (KeyboardInterrupt, Failure, BrokenPipeError):
            for leaf in leaves:
                if isinstance(leaf, kind):
                    raise leaf from None
        raise


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


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
