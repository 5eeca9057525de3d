"""Arguments and options that several of the player's commands take, and the checks behind them.

Whatever does not fit ends the command with a sentence.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import msgspec
import typer
from msgspec.structs import replace

from client.cli import looks
from client.cli.ending import MISUSED, complain, fail
from client.connection.address import Address, BadAddress, parse_address
from client.tui.drawing.theme import Palette, built_in
from client.tui.start import UiSettings
from protocol.pages import is_race_id
from protocol.text import clean_chat, clean_name, counted, is_room_code, read_code
from protocol.views import MAX_SERIES_RACES, RATED_DELAY_S, RaceOptions

Value = TypeVar("Value")

URL_HELP = "The server: host, host:port (7777 if none is given), a ws:// or wss:// URL, or its web page."


def address_of(url: str) -> Address:
    """The server's address that was typed. Ends the command if it is not one."""
    try:
        return parse_address(url)
    except BadAddress as error:
        fail(str(error), MISUSED)


def _checked(url: str) -> str:
    """As it was typed, since that is how it is named in what the command prints."""
    address_of(url)
    return url


Url = Annotated[str, typer.Argument(metavar="SERVER", parser=_checked, help=URL_HELP)]
Plain = Annotated[bool, typer.Option("--plain", help="No screens: lines of text, for a screen reader, a pipe or a plain terminal.")]
NEEDS_A_NAME = "needs a name of at least one character"


def checked_name(name: str | None) -> str | None:
    if name is not None and not clean_name(name):
        fail(f"--name {NEEDS_A_NAME}.", MISUSED)
    return name


Name = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", callback=checked_name, help="Your name; another name is another player. [default: as last time, or your login name]"
    ),
]
Deal = Annotated[str | None, typer.Option(metavar="TEXT", help="A name for the shuffle: same name, same shuffle. [default: random]")]
Rules = Annotated[
    str, typer.Option(metavar="ID", help="The rule set, such as carpet-free or crazy-quilt; `carpet-server rules list` shows all.")
]
Countdown = Annotated[int, typer.Option(metavar="S", min=1, max=10, help="Seconds from everybody being ready to the start.")]
Grace = Annotated[int, typer.Option(metavar="S", min=5, max=600, help="Seconds a player may be away before they forfeit.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask first.")]

LOOKS: dict[str, Any] = {
    "four_colour": typer.Option("--four-colour", "--four-color", help="A deck with a colour for each suit."),
    "colour_blind": typer.Option("--colour-blind", "--color-blind", help="Colours that do not rely on red and green."),
    "ascii_only": typer.Option("--ascii", help="Letters in place of suit signs and frames."),
    "pictures": typer.Option("--pictures", help="Pictures of cards, where the terminal shows them: kitty and ghostty."),
    "no_motion": typer.Option("--no-motion", help="Cards do not glide."),
    "no_bell": typer.Option("--no-bell", help="Do not ring at the start and near the end, nor when your table waits."),
    "tones": typer.Option("--tones", help="Short tones in place of the bell. Linux console, Windows Terminal, mintty, Contour."),
}

SOUNDS: Final = ("no_bell", "tones")
"""The looks that are sounds."""

Theme = Annotated[
    Path | None, typer.Option(metavar="NAME|FILE", help="Other colours: a built-in theme, or a file. [default: see carpet theme]")
]


def with_looks(*, bell: bool = True) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options for its looks, which replace its parameter `settings`. bell: whether it can ring."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def typed(**given: Any) -> None:
            theme = given.pop("theme", None)
            wanted = {name for name in LOOKS if given.pop(name, not bell and name == "no_bell")}
            command(**given, settings=settings_of(wanted, theme))

        signature = inspect.signature(command, eval_str=True)
        parameters = [parameter for parameter in signature.parameters.values() if parameter.name != "settings"]
        parameters += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, option])
            for name, option in LOOKS.items()
            if bell or name not in SOUNDS
        ]
        parameters.append(inspect.Parameter("theme", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Theme))
        typed.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        typed.__annotations__ = {}
        return typed

    return decorate


def code_of(typed: str, *, what: str = "the code of a race", shown: str = "the host's screen shows them") -> str:
    """The code of a race as typed, perhaps with spaces or hyphens between the letters. Ends the command if it is none."""
    code = read_code(typed)
    if is_race_id(typed.strip()):
        fail(f"{typed.strip()} is the id of a finished race, for carpet replay; {what} is six letters.", MISUSED)
    if not is_room_code(code):
        fail(f"{code!r} is not {what}: it is six letters, as {shown}.", MISUSED)
    return code


def palette_from(path: Path) -> Palette:
    """The theme of that name, or in that file. Ends the command if there is none."""
    return built_in(str(path)) or _theme(lambda: looks.palette_in(path))


def _theme(read: Callable[[], Value]) -> Value:
    try:
        return read()
    except looks.BadTheme as error:
        fail(str(error), MISUSED)


def settings_of(wanted: AbstractSet[str] = frozenset(), theme: Path | None = None) -> UiSettings:
    """wanted: of the LOOKS."""
    colours = wanted & {"four_colour", "colour_blind"}
    if len(colours) == 2:
        fail("--four-colour and --colour-blind are two palettes: choose one.", MISUSED)
    if {"no_bell", "tones"} <= wanted:
        fail("--no-bell and --tones do not go together: tones take the bell's place.", MISUSED)
    if theme is not None and colours:
        fail("--theme goes with neither --four-colour nor --colour-blind: choose one.", MISUSED)

    named = "four" if "four_colour" in wanted else "safe" if colours else theme
    palette = None if named is None else palette_from(Path(named))
    usual = _theme(lambda: looks.settings_with(palette, complain=lambda why: complain(f"carpet: {why}")))
    return replace(
        usual,
        ascii=usual.ascii or "ascii_only" in wanted,
        bell="tones" in wanted or (usual.bell and "no_bell" not in wanted),
        tones="tones" in wanted or (usual.tones and "no_bell" not in wanted),
        pictures="pictures" in wanted,
        motion=usual.motion and "no_motion" not in wanted,
    )


def by_lines(settings: UiSettings, plain: bool) -> UiSettings:
    """The settings, without all that only a screen can show if there is to be none."""
    return replace(settings, plain=True, motion=False, ascii=True, pictures=False) if plain else settings


def converted(kind: type[Value], **fields: object) -> Value:
    """These fields as a `kind`, within the protocol's limits. Ends the command if one does not fit."""
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        # The error reads like "Expected `str` of length <= 100 - at `$.deal`".
        what, _, where = str(error).replace("`str`", "a text").partition(" - at `$.")
        bound = re.search(r"of length (>=|<=) (\d+)", what)
        option = {"bots": "bot"}.get(name := where.rstrip("`").split("[")[0], name).removesuffix("_s").replace("_", "-")
        if bound is not None and bound.groups() == (">=", "1"):
            fail(f"--{option} {NEEDS_A_NAME}.", MISUSED)
        if bound is not None:
            what = what.replace(bound[0], f"of at {'least' if bound[1] == '>=' else 'most'} {counted(int(bound[2]), 'character')}")
        fail(f"--{option} does not fit: {what[0].lower()}{what[1:]}.", MISUSED)


def race_options(**fields: object) -> RaceOptions:
    """The options with these fields, within the protocol's limits. Ends the command if they do not go together."""
    if fields.get("winnable") and fields.get("deal") is not None:
        fail("--winnable and --deal do not go together: a named deal is always the same one.", MISUSED)
    options = converted(RaceOptions, **fields)
    if options.deal is not None and clean_chat(options.deal) != options.deal:
        # Refuse instead of cleaning, as servers do: another name would be another deal.
        fail("--deal does not fit: it is one line of printable text.", MISUSED)
    if options.swaps and options.seats != 2:
        fail("--swap is for two players: --seats does not go with it.", MISUSED)
    if options.swaps and (options.deal is not None or options.winnable):
        fail("--swap takes two random deals: --deal and --winnable do not go with it.", MISUSED)
    if options.series.format == "best-of" and options.seats < 2:
        fail("--best-of needs two players or more; alone, play a --session.", MISUSED)
    if options.unrated_because == "early-boards":
        fail(f"In a rated race boards are shown at least {RATED_DELAY_S} s late: add --unrated, or a longer --delay.", MISUSED)
    return options


def series_fields(best_of: int | None, session: int | None, *, swap: bool, grace_s: int | None = None) -> dict[str, object]:
    """The fields of SeriesOptions; none for a single race. grace_s: None for the default."""
    if (best_of is not None) + (session is not None) + swap > 1:
        fail("--best-of, --session and --swap are three kinds of series: choose one.", MISUSED)
    grace = {} if grace_s is None else {"grace_s": grace_s}
    if best_of is not None:
        if not 3 <= best_of <= MAX_SERIES_RACES or best_of % 2 == 0:
            fail(f"--best-of takes an odd number from 3 to {MAX_SERIES_RACES}, not {best_of}.", MISUSED)
        return {"format": "best-of", "races": best_of, **grace}
    if session is not None:
        if not 2 <= session <= MAX_SERIES_RACES:
            fail(f"--session takes a number from 2 to {MAX_SERIES_RACES}, not {session}.", MISUSED)
        return {"format": "session", "races": session, **grace}
    if not swap and grace_s is not None:
        fail("--series-grace is for a series: --best-of, --session or --swap.", MISUSED)
    return {"format": "swap", "races": 2, **grace} if swap else {}
