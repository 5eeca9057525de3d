"""What the command lines of both programs say in the same words: examples below the help, and one sentence for whoever mistypes."""

from __future__ import annotations

import re
from typing import Any

# What the parser of both commands says of a number, in words for whoever typed it.
_NUMBERS = (
    (re.compile("Input should be a valid integer, .*"), "it takes a whole number"),
    (re.compile("Input should be a valid number, .*"), "it takes a number"),
    (re.compile("Input should be less than or equal to (.*)"), r"it is at most \1"),
    (re.compile("Input should be greater than or equal to (.*)"), r"it is at least \1"),
    (re.compile("Value error, "), ""),
)


def misuse_text(command: str, said: str) -> str:
    """One sentence in place of usage, hint and error: the help is a flag away. said: by the parser of the command line."""
    said = said.rstrip(".")
    for pattern, words in _NUMBERS:
        said = pattern.sub(words, said)
    return f"{command}: {said}{' See' if said.endswith('?') else '; see'} {command} --help."


def examples(*commands: str) -> str:
    """What stands below a command's help: a line for each example, whole however narrow the terminal, to be copied."""
    # By a backspace the formatter knows lines that are not to be filled.
    return "\b\n" + (f"Example: {commands[0]}" if len(commands) == 1 else "\n".join(["Examples:", *(f"  {each}" for each in commands)]))


def with_plain_help(command: Any) -> Any:
    """The command of Typer's, or group of them, its help naming arguments by their metavars alone: `FILE`, not `FILE <str>`."""
    for each in getattr(command, "commands", {}).values():
        with_plain_help(each)
    for parameter in getattr(command, "params", ()):
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = lambda ctx: None
    return command
