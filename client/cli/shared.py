"""What the player's commands share: arguments and options, the checks behind them, the ways to end, and running under Trio."""

from __future__ import annotations

import functools
import inspect
import json
import re
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, TypeVar

import msgspec
import typer
from msgspec.structs import replace

from client.cli import looks
from client.cli.commands import FAILED as FAILED
from client.cli.commands import complain as complain
from client.cli.commands import run as run_command
from client.cli.looks import prints
from client.cli.main import ENDING, INTERRUPTED, give_back
from client.connection.address import Address, BadAddress, parse_address
from client.connection.errors import Failure
from client.storage.files import USUAL, make_file, replace_file
from client.storage.identity import IdentityError, IdentityStore, home_folder
from client.text.past_races import printable_json
from client.tui.start import AppOutcome, StartMatch, UiSettings
from client.tui.theme import Palette, built_in
from protocol.command_line import examples as examples
from protocol.command_line import folded, harmless
from protocol.command_line import show_help as show_help
from protocol.pages import is_race_id
from protocol.text import clean_chat, counted, is_room_code, read_code
from protocol.views import MAX_SERIES_RACES, RATED_DELAY_S, RaceOptions

if TYPE_CHECKING:
    from client.connection.questions import EntryRequest

Outcome = TypeVar("Outcome")

MISUSED = 2

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


def fail(sentence: str, status: int = FAILED) -> NoReturn:
    give_back()
    complain(f"carpet: {sentence}")
    raise typer.Exit(status)


def print_text(text: str) -> None:
    """Print for a person. What the terminal might obey is left out, and characters that its encoding lacks become question marks."""
    encoding = sys.stdout.encoding or "ascii"
    # Flushed line by line, so that a demonstration can be watched, even through a pipe.
    print(harmless(text).encode(encoding, "replace").decode(encoding), flush=True)


def print_sentence(sentence: str) -> None:
    """Print for a person, broken between words if the terminal is narrower."""
    print_text(folded(sentence, sys.stdout))


def print_json(value: object) -> None:
    """Print a value as JSON for programs. Characters that a terminal might obey are escaped; if standard output lacks any other character,
    everything but ASCII is escaped, since a program should not read question marks.
    """
    text = msgspec.json.format(msgspec.json.encode(value), indent=1).decode()
    print_text(printable_json(text) if prints(text) else json.dumps(json.loads(text), indent=1))


def run(function: Callable[[], Awaitable[Outcome]]) -> Outcome:
    """Run under Trio. A Failure or Ctrl+C is raised bare, out of the groups that nurseries make."""
    # Imported late: the first screen does not need it.
    import trio

    async def until_told() -> Outcome:
        failure: BaseException = KeyboardInterrupt()
        # A signal cancels, since an exception could strike anywhere. A second one, as a shell sends after SIGHUP, does not cut that short.
        with trio.open_signal_receiver(*(each for each in ENDING if signal.getsignal(each) is not signal.SIG_IGN)) as signals:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_heed, signals, nursery.cancel_scope)
                try:
                    return await function()
                except Exception as error:  # noqa: BLE001  (raised again below, out of the nursery's group)
                    failure = error
                finally:
                    nursery.cancel_scope.cancel()
        raise failure

    try:
        return trio.run(until_told)
    except BaseExceptionGroup as group:
        leaves = list(_leaves(group))
        for kind in (KeyboardInterrupt, Failure, BrokenPipeError):
            for leaf in leaves:
                if isinstance(leaf, kind):
                    raise leaf from None
        raise


async def _heed(signals: AsyncIterator[int], scope: Any) -> None:
    await anext(signals)
    scope.cancel()


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


Name = Annotated[
    str | None, typer.Option(metavar="NAME", help="Your name; another name is another player. [default: as last time, or your login name]")
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
            wanted = {name: bool(given.pop(name, not bell and name == "no_bell")) for name in LOOKS}
            command(**given, settings=settings_of(**wanted, theme=theme))

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


def visit(address: Address, request: EntryRequest | None, name: str | None, settings: UiSettings, start: StartMatch | None = None) -> None:
    """Go to somebody's server, as `sitting.visit` has it, and then on as the player chooses."""
    # Imported late, so that a first screen appears before it.
    from client.local import sitting

    # So that a waiting room there says how others come in.
    there = replace(settings, page=address.page("/play/"), server=address.typed, is_near=address.is_loopback)
    finish(run(lambda: sitting.visit(address.url, request, name=name, settings=there, start=start)), address)


def finish(outcome: AppOutcome, address: Address | None = None) -> None:
    """Do what the player chose to do next, print what is left to say once the screens are gone, and end with the right exit status.

    address: of somebody's server, where the player may still hold a seat.
    """
    keep_looks(outcome.settings)
    while (wanted := outcome.play_on) is not None:
        # Imported late: most commands end without it.
        from client.local.sitting import play_on

        settings = outcome.settings
        ended = run(functools.partial(play_on, wanted.record, seat=wanted.seat, ply=wanted.ply, name=None, settings=settings))
        outcome = replace(ended, kept=ended.kept or outcome.kept, not_kept=ended.not_kept or outcome.not_kept)
        keep_looks(outcome.settings)
    held = outcome.code if address is not None else None
    if held is not None and address is not None:
        still = f"Race {held} goes on without you" if outcome.is_running else f"You still have a seat in race {held}"
        way = shlex.join(["carpet", "join", address.url, held, *as_player(address, outcome.name)])
        print_sentence(f"{still}; to return to it: {way}")
    if outcome.kept is not None:
        # It is the last one kept, which carpet verify takes by default.
        which = "your race" if held is None else "the race before"
        print_sentence(f"The record of {which} is {outcome.kept}; to watch it: carpet replay; to check it: carpet verify")
    if outcome.not_kept is not None:
        complain(f"carpet: the record of your race could not be kept: {outcome.not_kept}")
    if outcome.command:
        raise typer.Exit(run_command(outcome.command))
    match outcome.reason:
        case "signal":
            raise typer.Exit(INTERRUPTED)
        case "terminal":
            raise typer.Exit(FAILED)
        case "quit":
            pass


def as_player(address: Address, name: str) -> list[str]:
    """The option by which a command comes to that server as this player; empty if this machine has no other player there."""
    players = IdentityStore(home_folder()).known(address.url)
    # Said even for the name used last: that is the default, but another terminal may use another name at any time.
    return ["--name", name] if name and len(players) > 1 else []


def palette_from(path: Path) -> Palette:
    """The theme of that name, or in that file. Ends the command if there is none."""
    return built_in(str(path)) or _theme(lambda: looks.palette_in(path))


def _theme(read: Callable[[], Outcome]) -> Outcome:
    try:
        return read()
    except looks.BadTheme as error:
        fail(str(error), MISUSED)


def settings_of(
    four_colour: bool = False,
    colour_blind: bool = False,
    ascii_only: bool = False,
    pictures: bool = False,
    no_motion: bool = False,
    no_bell: bool = False,
    tones: bool = False,
    theme: Path | None = None,
) -> UiSettings:
    if four_colour and colour_blind:
        fail("--four-colour and --colour-blind are two palettes: choose one.", MISUSED)
    if no_bell and tones:
        fail("--no-bell and --tones do not go together: tones take the bell's place.", MISUSED)

    if theme is not None and (four_colour or colour_blind):
        fail("--theme goes with neither --four-colour nor --colour-blind: choose one.", MISUSED)

    named = "four" if four_colour else "safe" if colour_blind else theme
    palette = None if named is None else palette_from(Path(named))
    usual = _theme(lambda: looks.settings_with(palette, complain=lambda why: complain(f"carpet: {why}")))
    return replace(
        usual,
        ascii=usual.ascii or ascii_only,
        bell=tones or (usual.bell and not no_bell),
        tones=tones or (usual.tones and not no_bell),
        pictures=pictures,
        motion=usual.motion and not no_motion,
    )


def keep_looks(settings: UiSettings) -> None:
    """Keep what the player has chosen by keys."""
    if settings.by_key:
        keep_usual(**{name: getattr(settings, name) for name in settings.by_key})


def keep_usual(**changes: Any) -> None:
    """Keep these fields of `Usual` for the next time, or say why they cannot be kept."""
    try:
        looks.usual_file().change(lambda usual: replace(usual, **changes))
    except looks.BadTheme as error:
        complain(f"carpet: {error}")


def keep_own_name(name: str | None) -> None:
    """Remember the name that was typed for a server of the player's own: it is theirs at other servers too, until they say another one."""
    if name is not None:
        try:
            IdentityStore(home_folder()).call_me(name)
        except IdentityError as error:
            complain(f"carpet: {error}")


def need_terminal(command: str, *, keys: bool = True, instead: str = "carpet demo shows a race in plain text") -> None:
    """End the command if there is no terminal. keys: whether standard input must be one too. instead: what works without."""
    if not (sys.stdout.isatty() and (sys.stdin.isatty() or not keys)):
        fail(f"carpet {command} needs a terminal, and there is none here; {instead}.", MISUSED)


def converted(kind: type[Outcome], **fields: object) -> Outcome:
    """These fields as a `kind`, within the protocol's limits. Ends the command if one does not fit."""
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        # The error reads like "Expected `str` of length <= 100 - at `$.deal`".
        what, _, where = str(error).replace("`str`", "a text").partition(" - at `$.")
        bound = re.search(r"of length (>=|<=) (\d+)", what)
        if bound is not None:
            what = what.replace(bound[0], f"of at {'least' if bound[1] == '>=' else 'most'} {counted(int(bound[2]), 'character')}")
        option = {"bots": "bot"}.get(name := where.rstrip("`").split("[")[0], name).removesuffix("_s").replace("_", "-")
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


def there_already(target: object) -> NoReturn:
    fail(f"{target} exists already: name another file, or add --force to overwrite it.")


def write_new(path: Path, text: str, *, force: bool) -> None:
    """Write a file. force: overwrite one that exists. Ends the command if the file cannot be written."""
    try:
        _write(path, text, force=force)
    except FileExistsError:
        there_already(path)
    except (OSError, ValueError) as error:
        fail(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}.")


def _write(path: Path, text: str, *, force: bool) -> None:
    """Write the file atomically; overwrite one only if forced. Raises OSError, ValueError."""
    try:
        make_file(path, text.encode(), mode=USUAL)
    except FileExistsError:
        if not force:
            raise
        if not path.is_file():
            fail(f"{path} is not a file that can be overwritten; name another.")
        replace_file(path, text.encode(), copy_mode=True)
