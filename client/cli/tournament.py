"""`carpet tournament`: create, direct, play in and look at tournaments.

A director's requests use a connection of their own (`client.local.tournament_client`); lists, standings and exports are fetched as pages.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from typing import Annotated, Any, Final, get_args, get_type_hints

import typer

from client.cli.ending import MISUSED, fail
from client.cli.options import Countdown, Grace, Json, Plain, Url, Yes, address_of, by_lines, checked_name, converted, with_looks
from client.cli.running import as_player, ask_name, finish, need_terminal, print_json, print_sentence, run
from client.cli.tournament_pages import Id, tournament_id, tournament_pages_app
from client.local.sitting import attend
from client.local.tournament_client import correct as correct_at
from client.local.tournament_client import decide, decide_and_look, give_bye, pair_next, verdict_of
from client.local.tournament_client import remove as remove_from
from client.local.tournament_client import rename as rename_at
from client.text.formatting import clock_text, limit_text
from client.tui.start import UiSettings
from protocol.command_line import examples, show_help
from protocol.text import NAME_LENGTH, clean_chat, clean_name
from protocol.tournament_messages import (
    AddBot,
    AskBye,
    CorrectResult,
    CreateTournament,
    Decided,
    EndTournament,
    EnterTournament,
    ExtendCheckIn,
    LeaveTournament,
    PauseTournament,
    StartTournament,
    TournamentRequest,
)
from protocol.tournaments import (
    ENTRY_CODE_LENGTH,
    LONGEST_CHECK_IN_S,
    MAX_ENTRANTS,
    MAX_ROUNDS,
    REASON_LENGTH,
    TITLE_LENGTH,
    TournamentFormat,
    TournamentOptions,
)

tournament_app = typer.Typer(
    name="tournament",
    help="Make, direct, play in and follow tournaments.",
    epilog=examples("carpet tournament create carpet.example 'Carpet Open' --fill 8", "carpet tournament join carpet.example KWPRTM"),
    rich_markup_mode=None,
)
tournament_app.callback(invoke_without_command=True)(show_help)
tournament_app.add_typer(tournament_pages_app)

Name = Annotated[
    str | None,
    typer.Option(metavar="NAME", callback=checked_name, help="Your name there; another name is another player. [default: as last time]"),
]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why, for the tournament's log.")]

OTHER_SCREEN = "takes over your connection: a screen you have open at that server is disconnected. On that screen, a key does the same."
"""Of what a player does as one. What a director decides is sent beside such a screen."""


# ---- to make one

DEFAULTS: Final = TournamentOptions(name="any")
_KINDS: Final = get_type_hints(TournamentOptions, include_extras=True)


def _number(field: str, metavar: str, help_text: str) -> Any:
    """An option for a number in `TournamentOptions`, with the bounds that it has there."""
    kind = _KINDS[field]
    (bounds,) = next(each for each in (kind, *get_args(kind)) if hasattr(each, "__metadata__")).__metadata__
    return typer.Option(metavar=metavar, min=bounds.ge, max=bounds.le, help=help_text)


@tournament_app.command(
    epilog=examples("carpet tournament create carpet.example Open --rounds 5 --fill 8"),
    help=f"Make a tournament and direct it.\n\nThis {OTHER_SCREEN}",
)
def create(
    url: Url,
    title: Annotated[str, typer.Argument(metavar="TITLE", help=f"What it is called; at most {TITLE_LENGTH} characters.")],
    played_as: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="How it is played: swiss, round-robin, elimination or session.")
    ] = DEFAULTS.format,
    rounds: Annotated[int, _number("rounds", "N", "Rounds of a Swiss, or deals of a session; 0: as many as needed.")] = DEFAULTS.rounds,
    double: Annotated[bool, typer.Option("--double", help="Round robin: two meetings; elimination: out after two losses.")] = False,
    replays: Annotated[
        int | None,
        _number(
            "replays",
            "N",
            f"Elimination: how often a drawn race is run again; then the higher seed goes on. [default: {DEFAULTS.replays}]",
        ),
    ] = None,
    rules: Annotated[str, typer.Option(metavar="ID", help="The rule set; `carpet-server rules list` shows all.")] = DEFAULTS.rules,
    time_limit: Annotated[int, _number("time_limit_s", "S", "Seconds for each race.")] = DEFAULTS.time_limit_s,
    countdown: Countdown = DEFAULTS.countdown_s,
    grace: Grace = DEFAULTS.grace_s,
    byes: Annotated[
        int, _number("byes", "N", "Swiss: half-point byes that each player may ask for; none in the last round.")
    ] = DEFAULTS.byes,
    places: Annotated[int, _number("places", "N", "The most entrants, bots included.")] = DEFAULTS.places,
    fill: Annotated[int, _number("fill", "N", "When it starts, bots enter until there are this many.")] = DEFAULTS.fill,
    bot: Annotated[str, typer.Option(metavar="NAME", help="The house bot that fills seats and plays the byes.")] = DEFAULTS.bot,
    check_in: Annotated[int, _number("check_in_s", "S", "Seconds for checking in; 0: everybody who entered plays.")] = DEFAULTS.check_in_s,
    no_show: Annotated[int, _number("no_show_s", "S", "Seconds until who is not at their table and ready forfeits.")] = DEFAULTS.no_show_s,
    pause: Annotated[int | None, _number("pause_s", "S", "Seconds between two rounds.")] = DEFAULTS.pause_s,
    by_hand: Annotated[bool, typer.Option("--by-hand", help="After the first round, pair none until you say so.")] = False,
    code: Annotated[str | None, typer.Option(metavar="TEXT", help="A word needed to enter, in capitals or not. [default: none]")] = None,
    private: Annotated[bool, typer.Option("--private", help="Do not list it: only its id finds it.")] = False,
    unrated: Annotated[bool, typer.Option("--unrated", help="Do not rate its races; those against bots never are.")] = False,
    name: Name = None,
    as_json: Json = False,
) -> None:
    address = address_of(url)
    length = len(clean_chat(title).strip())
    if not length:
        fail("Nothing printable is left of that title; choose another.", MISUSED)
    if length > TITLE_LENGTH:
        fail(f"A title has at most {TITLE_LENGTH} characters, and that one has {length}.", MISUSED)
    if played_as not in get_args(TournamentFormat):
        fail(f"There is no format {played_as!r}: it is swiss, round-robin, elimination or session.", MISUSED)
    if double and played_as not in ("round-robin", "elimination"):
        fail("--double is for round-robin and elimination.", MISUSED)
    if replays is not None and played_as != "elimination":
        fail("--replays is for elimination.", MISUSED)
    if rounds and played_as not in ("swiss", "session"):
        fail(f"--rounds is for swiss and session: in {played_as} the entrants decide how many there are.", MISUSED)
    if byes and played_as != "swiss":
        fail("--byes is for swiss.", MISUSED)
    if fill > places:
        fail(f"--fill {fill} does not fit into --places {places}.", MISUSED)
    if code is not None and not 1 <= len(code) <= ENTRY_CODE_LENGTH:
        fail(f"--code takes 1 to {ENTRY_CODE_LENGTH} characters.", MISUSED)

    options = converted(
        TournamentOptions,
        name=title,
        format=played_as,
        rounds=rounds,
        double=double,
        **({} if replays is None else {"replays": replays}),
        rules=rules,
        time_limit_s=time_limit,
        countdown_s=countdown,
        grace_s=grace,
        rated=not unrated,
        byes=byes,
        places=places,
        fill=fill,
        bot=bot,
        public=not private,
        check_in_s=check_in,
        no_show_s=no_show,
        pause_s=None if by_hand else pause,
    )
    made = _decided(url, CreateTournament(options=options, code=code), name or ask_name(address_of(url).url))
    if as_json:
        print_json({"id": made.id})
        return
    print_sentence(f"Tournament {made.id} is made, and you direct it.")
    if private:
        print_sentence("Keep its id: a private tournament is listed nowhere.")
    page = address.page(f"/tournament/{made.id}")
    with_code = f" --code {shlex.quote(code)}" if code else ""
    print_sentence(f"Join it, to play or to direct it by keys: carpet tournament join {address.url} {made.id}{with_code}")
    print_sentence(f"To start it: carpet tournament start {address.url} {made.id}")
    print_sentence(f"The same in a browser: {page}")
    print_sentence(f"On a projector: {page}/screen")


# ---- to play


@tournament_app.command(epilog="Example: carpet tournament join carpet.example KWPRTM --name bert")
@with_looks()
def join(
    url: Url,
    tournament: Id,
    code: Annotated[str | None, typer.Option(metavar="TEXT", help="The word that its director gave out, if one is needed.")] = None,
    name: Name = None,
    no_screen: Annotated[
        bool, typer.Option("--no-screen", help="Only enter; go to the screen later. One that is open is disconnected.")
    ] = False,
    plain: Plain = False,
    *,
    settings: UiSettings,
) -> None:
    """Enter a tournament and go to its screen, or back to it.

    There you check in; when your table is ready the screen takes you there. The tournament's director comes to direct it; a key there
    enters them, too, if they want to play.
    """
    id_ = tournament_id(tournament)
    if no_screen:
        _decided(url, EnterTournament(id=id_, code=code), name or ask_name(address_of(url).url))
        print_sentence(f"You have entered tournament {id_}; to check in and play: carpet tournament join {url} {id_}")
        return
    if not plain:
        need_terminal("tournament join", instead="--plain takes part by lines, and --no-screen enters without one")
    _visit(url, id_, name=name, code=code, enters=True, settings=by_lines(settings, plain))


def _plain_command(name: str, what: str, request: Callable[[str], TournamentRequest], said: str) -> None:
    """A command that takes only a tournament. request: made from its id. said: printed once decided, with `{url}` and `{id}`."""

    @tournament_app.command(name, epilog=f"Example: carpet tournament {name} carpet.example KWPRTM", help=what)
    def _(url: Url, tournament: Id, name: Name = None) -> None:
        id_ = tournament_id(tournament)
        _decided(url, request(id_), name)
        print_sentence(said.format(url=url, id=id_))


_plain_command(
    "leave",
    f"Withdraw from a tournament.\n\nThis {OTHER_SCREEN}",
    lambda id_: LeaveTournament(id=id_),
    "You have withdrawn from tournament {id}.",
)


@tournament_app.command(
    epilog=examples("carpet tournament bye carpet.example KWPRTM 3", "carpet tournament bye carpet.example KWPRTM 3 --for bert"),
    help="Ask for a bye in a round of a Swiss, or as director, give one.\n\nA player asks for a half-point bye, as often as the tournament"
    f" allows; the director gives a full-point one. That can be done until the round is paired. Asking for one {OTHER_SCREEN}",
)
def bye(
    url: Url,
    tournament: Id,
    round_: Annotated[int, typer.Argument(metavar="ROUND", min=1, max=MAX_ROUNDS, help="In which round.")],
    who: Annotated[str | None, typer.Option("--for", metavar="ENTRANT", help="Whom the director gives it; a name or an id.")] = None,
    half: Annotated[bool, typer.Option("--half", help="With --for: give a half-point bye.")] = False,
    back: Annotated[bool, typer.Option("--back", help="Take it back; with --for, take it away.")] = False,
    reason: Reason = "",
    name: Name = None,
) -> None:
    id_ = tournament_id(tournament)
    if who is None:
        if half or reason:
            fail("--half and --reason are for the director, with --for.", MISUSED)
        _decided(url, AskBye(id=id_, round=round_, ask=not back), name)
        print_sentence(f"You have {'no bye any more' if back else 'a half-point bye'} in round {round_} of tournament {id_}.")
        return
    if half and back:
        fail("--back takes away any bye: leave --half out.", MISUSED)
    given = 0 if back else 1 if half else 2
    has = ("no bye any more", "a half-point bye", "a full-point bye")[given]
    told = run(lambda: give_bye(url, id_, who, round_, half_points=given, reason=reason[:REASON_LENGTH], name=name))
    print_sentence(f"{told} has {has} in round {round_} of tournament {id_}.")


# ---- to direct


@tournament_app.command(
    "start",
    epilog="Example: carpet tournament start carpet.example KWPRTM",
    help="Open the check-in, or pair the first round if it is open.",
)
def start(url: Url, tournament: Id, name: Name = None) -> None:
    id_ = tournament_id(tournament)
    told = run(lambda: decide_and_look(url, StartTournament(id=id_), name=name))
    if told.phase == "check-in":
        check_in = limit_text(told.options.check_in_s)
        print_sentence(f"The check-in of tournament {id_} is open for {check_in}, or until all who have entered are here.")
        print_sentence("The first round follows by itself.")
        print_sentence(f"To pair it before that, without those who are not here: carpet tournament start {url} {id_}")
        print_sentence(f"To give them more time: carpet tournament extend {url} {id_}")
    else:
        print_sentence(f"Tournament {id_} has started: carpet tournament watch {url} {id_} shows it.")


@tournament_app.command(
    epilog="Example: carpet tournament extend carpet.example KWPRTM 300",
    help="Give the open check-in more time.",
)
def extend(
    url: Url,
    tournament: Id,
    seconds: Annotated[int, typer.Argument(metavar="SECONDS", min=1, max=LONGEST_CHECK_IN_S, help="How much longer.")] = 120,
    name: Name = None,
) -> None:
    id_ = tournament_id(tournament)
    told = run(lambda: decide_and_look(url, ExtendCheckIn(id=id_, more_s=seconds), name=name))
    print_sentence(f"The check-in of tournament {id_} is open for {clock_text(told.phase_ms or 0, tenths=False)} more.")


_plain_command(
    "pause",
    "Let running races end, and start nothing new.",
    lambda id_: PauseTournament(id=id_),
    "Tournament {id} is paused; to go on: carpet tournament resume {url} {id}",
)
_plain_command("resume", "Go on after a pause.", lambda id_: PauseTournament(id=id_, pause=False), "Tournament {id} goes on.")


@tournament_app.command(epilog="Example: carpet tournament pair carpet.example KWPRTM", help="Pair the next round without waiting.")
def pair(url: Url, tournament: Id, name: Name = None) -> None:
    id_ = tournament_id(tournament)
    number = run(lambda: pair_next(url, id_, name=name))
    print_sentence(f"Round {number} of tournament {id_} is paired.")


@tournament_app.command(
    epilog=examples(
        "carpet tournament correct carpet.example KWPRTM 2 5 1-0 --cards 31:28",
        "carpet tournament correct carpet.example KWPRTM 2 5 strike",
    ),
    help="Enter, correct or strike the result of a table.",
)
def correct(
    url: Url,
    tournament: Id,
    round_: Annotated[int, typer.Argument(metavar="ROUND", min=1, max=MAX_ROUNDS, help="The round.")],
    table: Annotated[int, typer.Argument(metavar="TABLE", min=1, max=MAX_ENTRANTS, help="The table.")],
    result: Annotated[
        str,
        typer.Argument(
            metavar="RESULT",
            help="1-0 if the player named first at that table has won, 0-1 if the other has, or draw; 1-0f and 0-1f by forfeit, 0-0 if both"
            " forfeit; strike reopens it. `carpet tournament tables` shows who is named first.",
        ),
    ],
    cards: Annotated[
        str | None, typer.Option(metavar="A:B", help="Cards home on both sides, in the same order. [default: those that are known]")
    ] = None,
    race: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=16, help="Which race of the table, if drawn ones are run again. [default: the one to come, or the last]"
        ),
    ] = None,
    reason: Reason = "",
    name: Name = None,
) -> None:
    id_, home = tournament_id(tournament), _cards(cards)
    try:
        verdict = verdict_of(result)
    except ValueError:
        fail(f"{result!r} is not a result: write 1-0, 0-1, draw, 1-0f, 0-1f, 0-0 or strike.", MISUSED)
    request = CorrectResult(id=id_, round=round_, table=table, result=verdict, reason=reason[:REASON_LENGTH])
    now = run(lambda: correct_at(url, request, race=race, cards=home, name=name))
    # After a draw in an elimination another race follows.
    more = f"has a draw, and no result yet: race {len(now.races) + 1} is to follow" if now.races else "is open again"
    print_sentence(f"Table {table} of round {round_} {'has its result' if now.result is not None else more}.")


@tournament_app.command(
    epilog=examples("carpet tournament remove carpet.example KWPRTM bert --reason asked"),
    help="Take an entrant out, or let one back in.",
)
def remove(
    url: Url,
    tournament: Id,
    who: Annotated[str, typer.Argument(metavar="ENTRANT", help="Their name, or their id if two have the same name.")],
    back: Annotated[bool, typer.Option("--back", help="Let them back in, from the next round on.")] = False,
    reason: Reason = "",
    name: Name = None,
) -> None:
    id_ = tournament_id(tournament)
    removed = run(lambda: remove_from(url, id_, who, back=back, reason=reason[:REASON_LENGTH], name=name))
    print_sentence(f"{removed} is {'back in' if back else 'out of'} tournament {id_}.")


@tournament_app.command(
    "rename",
    epilog=examples("carpet tournament rename carpet.example KWPRTM brt Bert"),
    help="Correct the name of an entrant.\n\nThat can be done when the tournament is over, too. The player keeps their own name on the"
    " server, and the log says what they were called before.",
)
def rename_entrant(
    url: Url,
    tournament: Id,
    who: Annotated[str, typer.Argument(metavar="ENTRANT", help="The name they have now, or their id.")],
    to: Annotated[str, typer.Argument(metavar="NEW", help=f"The right one; at most {NAME_LENGTH} characters.")],
    reason: Reason = "",
    name: Name = None,
) -> None:
    id_ = tournament_id(tournament)
    if not clean_name(to):
        fail("Nothing printable is left of that name; choose another.", MISUSED)
    before, after = run(lambda: rename_at(url, id_, who, to[:200], reason=reason[:REASON_LENGTH], name=name))
    print_sentence(f"{before} is called {after} in tournament {id_} from now on.")


@tournament_app.command("add-bot", epilog="Example: carpet tournament add-bot carpet.example KWPRTM greedy", help="Let a house bot enter.")
def add_bot(
    url: Url,
    tournament: Id,
    bot: Annotated[str | None, typer.Argument(metavar="BOT", help="Which one. [default: the one that fills seats]")] = None,
    name: Name = None,
) -> None:
    id_ = tournament_id(tournament)
    if bot is not None and not 1 <= len(bot) <= 24:
        fail(f"{bot[:40]!r} is not the name of a bot: random, greedy and deep are.", MISUSED)
    _decided(url, AddBot(id=id_, bot=bot), name)
    print_sentence(f"A bot has entered tournament {id_}.")


@tournament_app.command(
    epilog="Example: carpet tournament end carpet.example KWPRTM --reason 'no light'",
    help="Call off a tournament; the standings stay.",
)
def end(
    url: Url,
    tournament: Id,
    reason: Reason = "",
    yes: Yes = False,
    name: Name = None,
) -> None:
    id_ = tournament_id(tournament)
    if not yes:
        if not sys.stdin.isatty():
            fail(f"This would call off tournament {id_} for good; say --yes if that is meant.", MISUSED)
        if not typer.confirm(f"Call off tournament {id_} for good?"):
            fail("It goes on.")
    _decided(url, EndTournament(id=id_, reason=reason[:REASON_LENGTH]), name)
    print_sentence(f"Tournament {id_} has been called off.")


# ---- to look at


@tournament_app.command(epilog=examples("carpet tournament watch carpet.example KWPRTM", "carpet tournament watch carpet.example"))
@with_looks(bell=False)
def watch(
    url: Url,
    tournament: Annotated[str | None, typer.Argument(metavar="ID", help="The id of the tournament. [default: the list]")] = None,
    *,
    settings: UiSettings,
) -> None:
    """Watch a tournament: tables, standings, log.

    You come as a guest. Enter watches the marked table.
    """
    id_ = None if tournament is None else tournament_id(tournament)
    need_terminal("tournament watch", instead="carpet tournament standings prints how it stands")
    _visit(url, id_, name=None, code=None, enters=False, settings=settings)


# ---- what they share


def _cards(typed: str | None) -> tuple[int, int] | None:
    if typed is None:
        return None
    parts = typed.split(":")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and int(part[:4]) <= 104 for part in parts):
        fail(f"--cards takes two numbers up to 104, as in 31:28, not {typed[:20]!r}.", MISUSED)
    return int(parts[0]), int(parts[1])


def _decided(url: str, request: TournamentRequest, name: str | None) -> Decided:
    return run(lambda: decide(url, request, name=name))


def _visit(url: str, tournament: str | None, *, name: str | None, code: str | None, enters: bool, settings: UiSettings) -> None:
    known = name or (ask_name(address_of(url).url) if enters else None)
    outcome = run(lambda: attend(url, tournament, name=known, code=code, enters=enters, settings=settings))
    if outcome.code is not None:
        way = shlex.join(["carpet", "tournament", "join", url, str(tournament), *as_player(address_of(url), outcome.name)])
        print_sentence(f"You still have a seat at a table; to go on: {way}")
    finish(outcome)


app = typer.Typer(rich_markup_mode=None)
app.add_typer(tournament_app)
