"""The commands that open the screens: for a race of one's own, or at somebody's server."""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer
from msgspec.structs import replace

from client.cli.ending import MISUSED, fail
from client.cli.looks import menu_start
from client.cli.options import (
    Countdown,
    Deal,
    Grace,
    Name,
    Plain,
    Rules,
    Url,
    address_of,
    by_lines,
    code_of,
    race_options,
    series_fields,
    settings_of,
    with_looks,
)
from client.cli.running import finish, keep_looks, keep_own_name, need_terminal, print_sentence, run, visit
from client.connection.address import code_in_link
from client.storage.identity import home_folder
from client.storage.saved_records import is_new
from client.tui import opening
from client.tui.start import StartBots, StartLesson, StartMatch, StartRace, UiSettings
from protocol.client_messages import JoinRace, OpenRace
from protocol.command_line import examples
from protocol.watch_messages import WatchRace

if TYPE_CHECKING:
    from client.connection.questions import EntryRequest

app = typer.Typer(rich_markup_mode=None)

Winnable = Annotated[bool, typer.Option("--winnable", help="Only a deal that can be won; nobody knows which one.")]
BestOf = Annotated[int | None, typer.Option("--best-of", metavar="N", help="A series: whoever wins most of N races wins it. N is odd.")]
Session = Annotated[int | None, typer.Option("--session", metavar="N", help="A series: N attempts, with a point for each game won.")]
INSTEAD: Final = "carpet play, host, join, match, watch and tournament join take --plain, and carpet demo shows a race in plain text"
"""What works without a terminal that can draw."""

Swap = Annotated[bool, typer.Option("--swap", help="Two shuffles: each player plays one, then the other's.")]


@app.command(epilog=examples("carpet learn"))
@with_looks()
def learn(*, settings: UiSettings) -> None:
    """Learn to play, in a minute.

    It has a deal of its own, and waits for each key that it tells you to press.
    """
    _need_terminal("learn", settings)
    opening.show(StartLesson(), settings)
    # Imported late here and below, so that the first screen appears before it.
    from client.local import sitting

    finish(run(lambda: sitting.learn(settings=settings)))


@app.command(epilog=examples("carpet play --bot random --rules crazy-quilt --deal tuesday", "carpet play --alone"))
@with_looks()
def play(
    bot: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The house bot to race: random, greedy or deep, weakest first. [default: greedy; in your first race random]",
        ),
    ] = None,
    choose: Annotated[bool, typer.Option("--choose", help="Choose the bot and the rules on a screen; the last ones are marked.")] = False,
    alone: Annotated[bool, typer.Option("--alone", help="No bot: race the clock, and your own best times.")] = False,
    rules: Rules = "carpet",
    deal: Deal = None,
    winnable: Winnable = False,
    best_of: BestOf = None,
    session: Session = None,
    swap: Swap = False,
    plain: Plain = False,
    name: Name = None,
    *,
    settings: UiSettings,
) -> None:
    """Race a house bot or the clock, on a server of your own.

    The server starts with the game and ends with it. A race that you quit is lost; after Ctrl-C, or if your terminal dies,
    the next carpet play offers to go on with it.
    """
    if alone and bot is not None:
        fail("--alone and --bot do not go together: alone, you race the clock.", MISUSED)
    if alone and (best_of is not None or session is not None or swap):
        fail("--alone and a series do not go together: race the clock once, and again as often as you like.", MISUSED)
    series = series_fields(best_of, session, swap=swap)
    if choose and (bot, alone, rules, deal, winnable, series) != (None, False, "carpet", None, False, {}):
        fail("--choose goes with no other choice: the screens have them all.", MISUSED)
    if choose and plain:
        fail("--choose is done on a screen, and --plain has none: say --bot and --rules.", MISUSED)
    options = race_options(
        rules=rules, bots=[] if alone else [bot or _usual_bot(rules)], seats=1 if alone else 2, deal=deal, winnable=winnable, series=series
    )
    settings = by_lines(settings, plain)
    _need_terminal("play", settings)
    keep_own_name(name)
    if not plain:
        opening.show(StartBots() if choose else StartRace(options), settings)
    from client.local import sitting

    outcome = run(lambda: sitting.play(None if choose else options, name=name, settings=settings))
    if outcome.code is not None and outcome.reason == "signal":
        print_sentence("Your game is kept: carpet play goes on with it.")
    finish(outcome)


def _usual_bot(rules: str) -> str:
    """The weakest for whoever is taught the keys while they race, which is in their first race."""
    return "random" if rules == "carpet" and is_new(home_folder()) else "greedy"


@app.command(epilog=examples("carpet host carpet.example --rules carpet-redeal --seats 3 --private"))
@with_looks()
def host(
    url: Url,
    rules: Rules = "carpet",
    seats: Annotated[int, typer.Option(metavar="N", min=1, max=8, help="Number of players.")] = 2,
    bot: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A house bot for one of the seats; may be repeated.")] = None,
    private: Annotated[bool, typer.Option("--private", help="Keep it out of the lobby: joining takes the code.")] = False,
    deal: Deal = None,
    winnable: Winnable = False,
    best_of: BestOf = None,
    session: Session = None,
    swap: Swap = False,
    no_autoplay: Annotated[bool, typer.Option("--no-autoplay", help="Each card is sent home by a key press of its own.")] = False,
    unrated: Annotated[bool, typer.Option("--unrated", help="Do not rate the race; one with a bot or a --deal never is.")] = False,
    time_limit: Annotated[int, typer.Option(metavar="S", min=10, max=3600, help="Seconds for the whole race.")] = 600,
    countdown: Countdown = 3,
    grace: Grace = 60,
    series_grace: Annotated[
        int | None,
        typer.Option(
            "--series-grace",
            metavar="S",
            min=5,
            max=3600,
            help="Seconds a player may be away between two races of a series. [default: 300]",
        ),
    ] = None,
    delay: Annotated[
        int,
        typer.Option(
            metavar="S",
            min=0,
            max=600,
            help="How many seconds late watchers see boards; at least 10 in a rated race.",
        ),
    ] = 10,
    plain: Plain = False,
    name: Name = None,
    *,
    settings: UiSettings,
) -> None:
    """Open a race on a server for others to join.

    The screen shows the code to give to them.
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
        autoplay=not no_autoplay,
        time_limit_s=time_limit,
        countdown_s=countdown,
        grace_s=grace,
        delay_s=delay,
    )

    _visit("host", url, OpenRace(options=options), name, by_lines(settings, plain))


@app.command(epilog=examples("carpet join carpet.example ABCDEF --name bert", "carpet join https://carpet.example/play/ABCDEF"))
@with_looks()
def join(
    url: Url,
    code: Annotated[
        list[str] | None,
        typer.Argument(metavar="CODE", help="The code of the race, six letters in either case. Not needed after a race's link."),
    ] = None,
    plain: Plain = False,
    name: Name = None,
    *,
    settings: UiSettings,
) -> None:
    """Join a race by its code, or come back to your seat."""
    wanted = _code_of(url, code)
    if wanted is None:
        fail("Which race? Write its code after the server, or the link of the race in place of both.", MISUSED)

    _visit("join", url, JoinRace(code=wanted), name, by_lines(settings, plain))


@app.command(epilog=examples("carpet watch carpet.example", "carpet watch carpet.example ABCDEF"))
@with_looks(bell=False)
def watch(
    url: Url,
    code: Annotated[
        list[str] | None,
        typer.Argument(metavar="CODE", help="The code of the race. [default: the closest race, then the next]"),
    ] = None,
    key: Annotated[str, typer.Option(metavar="KEY", help="Show boards with every card face up; `carpet boards-key` shows the key.")] = "",
    plain: Plain = False,
    name: Name = None,
    *,
    settings: UiSettings,
) -> None:
    """Watch others race.

    Progress is shown as it happens, boards some seconds later. Cards that a player still racing has not seen lie face down.
    """
    _visit("watch", url, WatchRace(code=_code_of(url, code), key=key), name, by_lines(settings, plain))


def _code_of(url: str, typed: list[str] | None) -> str | None:
    """The code that was typed; or, if none was, that in a race's link typed as the server; or None.

    typed: one word or several, since the screen that shows the code puts spaces between its letters.
    """
    code = " ".join(typed or [code_in_link(url)])
    return code_of(code) if code else None


@app.command(epilog=examples("carpet match carpet.example", "carpet match carpet.example --rules crazy-quilt"))
@with_looks()
def match(
    url: Url,
    rules: Annotated[str | None, typer.Option(metavar="ID", help="The rule set. [default: your opponent's choice]")] = None,
    plain: Plain = False,
    name: Name = None,
    *,
    settings: UiSettings,
) -> None:
    """Race whoever else is looking for an opponent.

    The server looks for somebody of about your rating; the longer you wait, the less that matters.
    """
    if rules is not None:
        race_options(rules=rules)

    _visit("match", url, None, name, by_lines(settings, plain), StartMatch(rules))


@app.command(epilog="Example: carpet home wss://carpet.example")
@with_looks()
def home(
    url: Url,
    name: Name = None,
    *,
    settings: UiSettings,
) -> None:
    """Go to a server's home screen.

    It shows who is there, the open races and the house bots.
    """
    _visit("home", url, None, name, settings)


def _visit(
    command: str, url: str, request: EntryRequest | None, name: str | None, settings: UiSettings, start: StartMatch | None = None
) -> None:
    address = address_of(url)
    _need_terminal(command, settings)
    visit(address, request, name, settings, start)


def _need_terminal(command: str, settings: UiSettings) -> None:
    """End the command if it needs a terminal and there is none."""
    if not settings.plain:
        need_terminal(command, instead=INSTEAD)


def menu(run_command: Callable[[Sequence[str]], int]) -> None:
    """`carpet` alone in a terminal: show the menu, run the chosen command, and show the menu again.

    run_command: runs a command line and gives its exit status.
    """
    start, settings = menu_start(), settings_of()
    _need_terminal("", settings)
    opening.show(start, settings)
    from client.tui.app import run_menu

    while True:
        outcome = run(functools.partial(run_menu, start, settings=settings))
        if not outcome.command:
            finish(outcome)
            return
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            # The menu would hide error messages, so it shows them itself.
            keep_looks(outcome.settings)
            status = run_command(outcome.command)
        said = errors.getvalue().strip()
        if status and not said:
            raise typer.Exit(status)
        start = replace(menu_start(), item=outcome.item, note=said.removeprefix("carpet: "))
        settings = settings_of()
