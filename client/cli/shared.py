"""What the player's commands share: arguments, the ways to end, and Trio under a command."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeVar

import typer

from client.connection.errors import Failure

if TYPE_CHECKING:
    from client.connection.address import Address

Outcome = TypeVar("Outcome")

FAILED, MISUSED, INTERRUPTED = 1, 2, 130

URL_HELP = "The server: host, host:port (7777 if none is given), ws://… or wss://…."
Url = Annotated[str, typer.Argument(metavar="URL", help=URL_HELP)]


def address_of(url: str) -> Address:
    """The address that was typed; ends the command when it is none."""
    from client.connection.address import BadAddress, parse_address

    try:
        return parse_address(url)
    except BadAddress as error:
        fail(str(error), MISUSED)


def examples(*commands: str) -> str:
    """What stands below a command's help: a line for each example, whole however narrow the terminal, to be copied."""
    # By a backspace the formatter knows lines that are not to be filled.
    return "\b\n" + (f"Example: {commands[0]}" if len(commands) == 1 else "\n".join(["Examples:", *(f"  {each}" for each in commands)]))


def fail(sentence: str, status: int = FAILED) -> NoReturn:
    typer.echo(f"carpet: {sentence}", err=True)
    raise typer.Exit(status)


def prints(characters: str) -> bool:
    """Whether standard output has signs for all of them."""
    try:
        characters.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def print_text(text: str) -> None:
    """Print for a person. What the terminal's encoding lacks is shown with question marks rather than not at all."""
    encoding = sys.stdout.encoding or "ascii"
    # Flushed line by line: a demonstration is to be watched, also through a pipe.
    print(text.encode(encoding, "replace").decode(encoding), flush=True)


def print_json(value: object) -> None:
    """Print a value as JSON for programs. What a terminal might obey in it is written as escapes, and so are all but ASCII letters where
    standard output lacks any of them: a program is not to read question marks.
    """
    import json

    import msgspec

    from client.text.past_races import printable_json

    text = msgspec.json.format(msgspec.json.encode(value), indent=1).decode()
    print_text(printable_json(text) if prints(text) else json.dumps(json.loads(text), indent=1))


def run(function: Callable[[], Awaitable[Outcome]]) -> Outcome:
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
