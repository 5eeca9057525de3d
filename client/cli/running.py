"""How the player's commands run under Trio, what they print and write, and what follows once the screens are gone."""

from __future__ import annotations

import functools
import json
import os
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import msgspec
import typer
from msgspec.structs import replace

from client.cli import looks
from client.cli.ending import ENDING, FAILED, MISUSED, RunNext, complain, fail
from client.connection.address import Address
from client.connection.errors import Failure
from client.storage.files import USUAL, make_file, replace_file
from client.storage.identity import IdentityError, IdentityStore, default_name, home_folder, login_name
from client.text.formatting import limit_text
from client.text.past_races import printable_json
from client.tui.start import AppOutcome, StartMatch, UiSettings
from protocol import INTERRUPTED
from protocol.command_line import folded, print_text
from protocol.text import clean_name
from protocol.watch_messages import WatchRace

if TYPE_CHECKING:
    from client.connection.questions import EntryRequest

Outcome = TypeVar("Outcome")


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


def print_sentence(sentence: str) -> None:
    """Print for a person, broken between words if the terminal is narrower."""
    print_text(folded(sentence, sys.stdout))


def print_json(value: object) -> None:
    """Print a value as JSON for programs. Characters that a terminal might obey are escaped; if standard output lacks any other character,
    everything but ASCII is escaped, since a program should not read question marks.
    """
    text = msgspec.json.format(msgspec.json.encode(value), indent=1).decode()
    print_text(printable_json(text) if looks.prints(text) else json.dumps(json.loads(text), indent=1))


def visit(address: Address, request: EntryRequest | None, name: str | None, settings: UiSettings, start: StartMatch | None = None) -> None:
    """Go to somebody's server, as `sitting.visit` has it, and then on as the player chooses."""
    if not isinstance(request, WatchRace):
        name = name or ask_name(address.url)
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
        still, until = f"You still have a seat in race {held}", ""
        if outcome.grace_s is not None:
            still, until = f"Race {held} goes on without you", f" within {limit_text(outcome.grace_s)}"
        way = shlex.join(["carpet", "join", address.url, held, *as_player(address, outcome.name)])
        print_sentence(f"{still}; to return to it{until}: {way}")
    if outcome.kept is not None:
        # It is the last one kept, which carpet verify takes by default.
        which = "your race" if held is None else "the race before"
        print_sentence(f"The record of {which} is {outcome.kept}; to watch it: carpet replay; to check it: carpet verify")
    if outcome.not_kept is not None:
        complain(f"carpet: the record of your race could not be kept: {outcome.not_kept}")
    if outcome.command:
        raise RunNext(outcome.command)
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


def ask_name(url: str) -> str | None:
    """What the player answers when asked for their name, once: while they have only their login name. None if they are not asked.

    url: of a server; where they are known they are not asked, since another name is another player. Nor are programs.

    Raises IdentityError.
    """
    store = IdentityStore(home_folder())
    if store.read().name or default_name() != login_name() or store.known(url) or not sys.stdin.isatty():
        return None
    name = ""
    while not name:
        name = clean_name(typer.prompt("Your name, as others will see it", default=login_name()))
    store.call_me(name)
    return name


def keep_own_name(name: str | None) -> None:
    """Remember the name that was typed for a server of the player's own: it is theirs at other servers too, until they say another one."""
    if name is not None:
        try:
            IdentityStore(home_folder()).call_me(name)
        except IdentityError as error:
            complain(f"carpet: {error}")


def need_terminal(command: str, *, keys: bool = True, instead: str = "carpet demo shows a race in plain text") -> None:
    """End the command if there is no terminal to draw on. keys: whether standard input must be one too. instead: what works without."""
    if sys.stdout.isatty() and os.environ.get("TERM") == "dumb":
        fail(f"{f'carpet {command}'.rstrip()} needs a terminal that can draw, and TERM is dumb; {instead}.", MISUSED)
    if not (sys.stdout.isatty() and (sys.stdin.isatty() or not keys)):
        fail(f"carpet {command} needs a terminal, and there is none here; {instead}.", MISUSED)


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
