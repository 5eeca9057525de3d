"""What the command lines of both programs say in the same words: examples below the help, and one sentence for whoever mistypes.

How a sentence is broken into lines, and printed, is here too.
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from typing import Any, Final, TextIO

import typer

# What the parser of both commands says about a number, and the words for the person who typed it.
_NUMBERS = (
    (re.compile("Input should be a valid integer, .*"), "it takes a whole number"),
    (re.compile("Input should be a valid number, .*"), "it takes a number"),
    (re.compile("Input should be less than or equal to (.*)"), r"it is at most \1"),
    (re.compile("Input should be greater than or equal to (.*)"), r"it is at least \1"),
    (re.compile("Value error, "), ""),
)


_ARGUMENT: Final = r"(?:'[^']*'|--[a-z-]+(?: (?:'[^']*'|[^\s-]\S*))?|-(?=\s|$)|[A-Z]{2,}\S*|\d\S*|\S*[/:.]\w\S*)"
_COMMAND: Final = re.compile(rf"`[^`]+`|\bcarpet(?:-server)?(?: [a-z-]+(?: [a-z-]+(?= {_ARGUMENT}))?)?(?: {_ARGUMENT})*")
"""A command within a sentence, as far as it is one to be typed: `carpet join carpet.example ABCDEF --name anna`."""


def folded(sentence: str, stream: TextIO) -> str:
    """The sentence as it is written to a terminal: broken between words, and never within a command, which is there to be copied.

    Whatever else the stream is gets it in one line.
    """
    if not stream.isatty():
        return sentence
    whole = _COMMAND.sub(lambda found: found[0].replace(" ", "\0"), sentence)
    indent = sentence[: len(sentence) - len(sentence.lstrip(" "))]
    width = shutil.get_terminal_size().columns
    lines = textwrap.wrap(whole, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\0", " ")


def harmless(text: str) -> str:
    """The text without what is no sign, except line breaks: no word of a server's may be a command to the terminal."""
    return "\n".join(line if line.isprintable() else "".join(filter(str.isprintable, line)) for line in text.split("\n"))


def print_text(text: str) -> None:
    """Print for a person. What the terminal might obey is left out, and characters that its encoding lacks become question marks."""
    encoding = sys.stdout.encoding or "ascii"
    # Flushed line by line, so that a demonstration can be watched, even through a pipe.
    print(harmless(text).encode(encoding, "replace").decode(encoding), flush=True)


def misuse_text(error: typer.TyperException, program: str) -> str:
    """One sentence in place of the usage, hint and error of the command line's parser: the help is a flag away."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else program
    said = " ".join(error.format_message().rstrip(".").split()).replace("Choose from:", "Choose one of")
    for pattern, words in _NUMBERS:
        said = pattern.sub(words, said)
    return f"{command}: {said}{' See' if said.endswith('?') else '; see'} {command} --help."


def examples(*commands: str) -> str:
    """The text below a command's help: one line per example, unbroken in any terminal, so that it can be copied."""
    # A backspace tells the formatter not to fill the lines that follow.
    return "\b\n" + (f"Example: {commands[0]}" if len(commands) == 1 else "\n".join(["Examples:", *(f"  {each}" for each in commands)]))


def show_help(context: typer.Context) -> None:
    """What a group of commands does if none of them is named: show its help."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def with_plain_help(command: Any) -> Any:
    """The Typer command, or group, changed so that its help names arguments by their metavar alone: `FILE`, not `FILE <str>`.

    And what was typed wrong names the command, which the parser forgets where a value is missing.
    """
    parse_args = command.parse_args

    def parse(context: Any, arguments: list[str]) -> Any:
        try:
            return parse_args(context, arguments)
        except typer.TyperException as error:
            error.__dict__["ctx"] = getattr(error, "ctx", None) or context
            raise

    command.parse_args = parse
    for each in getattr(command, "commands", {}).values():
        with_plain_help(each)
    for parameter in getattr(command, "params", ()):
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = lambda ctx: None
    return command
