"""Shared by the commands of `carpet-server`: how arguments are read, and how errors are reported in one sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

from protocol import PROGRAM_VARIABLE, SERVER_PROGRAM
from protocol.command_line import folded, harmless
from protocol.shuffle import SEED_BYTES

if TYPE_CHECKING:
    from protocol.record import Record
    from server.rules.position import RuleSet

RulesArgument = Annotated[str, typer.Argument(metavar="RULES", help="Id of a rule set; `carpet-server rules list` shows them.")]
SeedOption = Annotated[str, typer.Option("--seed", metavar="HEX", help="Seed of the deal, 64 hexadecimal digits.")]
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="A record as JSON; - reads standard input.")]

LONGEST_SENTENCE: Final = 1000
"""Characters after which a sentence is cut."""


def program() -> str:
    """The name of the command that was typed, because `carpet` passes some of its commands on to this one."""
    return os.environ.get(PROGRAM_VARIABLE) or SERVER_PROGRAM


def say(sentence: str) -> None:
    """Print it for a person, broken between words where the terminal is narrower."""
    typer.echo(folded(_one_line(sentence), sys.stdout))


def fail(sentence: str, status: int = 1) -> NoReturn:
    """Say what is wrong on standard error, and end. `carpet` ends its sentences with a full stop, also where it has this one checked."""
    stop = "." if program() != SERVER_PROGRAM and not sentence.endswith((".", "?", "!")) else ""
    typer.echo(folded(f"{program()}: {_one_line(sentence)}{stop}", sys.stderr), err=True)
    raise typer.Exit(status)


def _one_line(sentence: str) -> str:
    """Documents are other people's: what they name must neither command the terminal nor pass for a line of this program's."""
    return harmless(sentence.replace("\n", " "))[:LONGEST_SENTENCE]


@contextmanager
def one_sentence() -> Iterator[None]:
    """Whatever is wrong with the store ends the command."""
    from server.store.errors import StoreError

    try:
        yield
    except StoreError as error:
        fail(str(error))


def rules_of(rules_id: str) -> RuleSet:
    """The rule set with this id; ends the command if there is none."""
    from server.rules.catalogue import UnknownRules, rule_set

    try:
        return rule_set(rules_id)
    except UnknownRules as error:
        fail(str(error), 2)


def seed_of(text: str, option: str = "--seed") -> bytes:
    """The bytes of a seed as typed; ends the command if it is not one."""
    try:
        seed = bytes.fromhex(text)
    except ValueError:
        seed = b""
    if len(seed) != SEED_BYTES:
        fail(f"{option} is {SEED_BYTES} bytes as {2 * SEED_BYTES} hexadecimal digits, not {text!r}", 2)
    return seed


def read_document(file: str) -> bytes:
    """The content of a file, up to the greatest length of a document; ends the command if it cannot be read."""
    from protocol.record import LONGEST_RECORD

    try:
        if file == "-":
            return sys.stdin.buffer.read(LONGEST_RECORD + 1)
        with Path(file).open("rb") as opened:
            return opened.read(LONGEST_RECORD + 1)
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror}")


def true_record(file: str) -> Record:
    """The record in a file, with everything checked but the solver's part; ends the command if it is not true."""
    return checked_record(read_document(file), file)


def checked_record(text: bytes, file: str) -> Record:
    """The same for a document that was already read."""
    from protocol.record import BadRecord, from_json
    from server.race.audit import audit

    try:
        record = from_json(text)
    except BadRecord as error:
        fail(f"{'standard input' if file == '-' else file}: {error}")
    try:
        audit(record)
    except BadRecord as error:
        fail(f"not a true record: {error}")
    return record
