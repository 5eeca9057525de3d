"""Validates and writes a batch: commands of races by the thousand, everything else entry by entry.

A command fits if its race is running and the command is the next one; that is known here without asking the database. All commands of a
batch are one row of bytes, and one statement if there is nothing else to write. Entries of other kinds are written in their order, and the
tables judge them (see `entries`). Openings and ends of races are hardly ever refused, so they are written without a savepoint. If one is
refused after all, the batch starts again, with a savepoint around each request.

The number of a batch is stored in the same transaction, and shows later whether a batch was committed whose answer was lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import Any, Final

from server.store.compaction import Log
from server.store.documents import Taken, encode_command, encode_commands
from server.store.entries import KINDS
from server.store.errors import EntryRefused, LeaseLost
from server.store.nodes import Holding
from server.store.port import CommandTaken, Entry, RaceAborted, RaceOpened, RaceOver, Request, TournamentMade
from server.store.sql import Contradiction, Row, Sql
from server.store.steps import WriteStep

LEAST_INT: Final = -(2**63)
MOST_INT: Final = 2**63 - 1
_WRITE: Final = "INSERT INTO batches (number, writer, commands) VALUES (?, ?, ?)"
_WRITE_AS_NODE: Final = (
    "INSERT INTO batches (number, writer, commands) SELECT ?, ?, ? FROM nodes"
    # A node that takes over this one's races changes this row. It waits for commits under way; later ones find another epoch.
    " WHERE id = ? AND epoch = ? FOR SHARE"
)
_ONE_AFTER_ANOTHER: Final = "SELECT pg_advisory_xact_lock(hashtext('carpet-race records ' || current_schema()))"


class BatchWriter:
    """The writer's copy of what is stored: read from the database, then kept in step with it. After an error, make a new one."""

    def __init__(self, sql: Sql, writer: bytes, holding: Holding | None) -> None:
        """writer: random bytes that nobody else has. holding: a node's; None for a single server."""
        self._writer = writer
        self._holding = holding
        node = holding.node if holding is not None else 0
        # Race id to the sequence of its last command.
        running = sql.rows("SELECT id FROM races WHERE phase = 'running' AND node = :node", {"node": node})
        self._running = dict.fromkeys((row.id.encode(errors="surrogateescape") for row in running), 0)
        self._log = Log(sql, self._running, node=node)
        # The batch that is being judged: its commands, and the races that it ends (with their last sequence) or opens (with None).
        self._taken: list[Taken] = []
        self._turned: list[tuple[bytes, int | None]] = []

    @property
    def number(self) -> int:
        """The number of the batch that is being written."""
        return self._log.last + 1

    def has_written(self, sql: Sql, number: int) -> bool:
        """Whether the database has a batch of this number by this writer."""
        written = "SELECT 1 AS found FROM batches WHERE number = :number AND writer = :writer"
        return sql.row(written, {"number": number, "writer": self._writer}) is not None

    def judge(self, sql: Sql, requests: Sequence[Request]) -> tuple[EntryRefused | None, ...]:
        """Gives one outcome per request. Writes everything but the commands. Call it in a transaction, unless `is_one_statement`."""
        try:
            return self._judge_each(sql, requests, trusts=True)
        except _Unsound:
            sql.begin_anew()
            self._undo()
            return self._judge_each(sql, requests, trusts=False)

    def _judge_each(self, sql: Sql, requests: Sequence[Request], *, trusts: bool) -> tuple[EntryRefused | None, ...]:
        taken: list[Taken] = []
        self._taken, self._turned = taken, []
        outcomes: list[EntryRefused | None] = []
        for request in requests:
            # Nearly all requests are a single command, which leaves nothing behind if it is refused.
            if len(request) == 1 and type(command := request[0]) is CommandTaken:
                try:
                    self._take(command, taken)
                except EntryRefused as refused:
                    outcomes.append(refused)
                else:
                    outcomes.append(None)
            else:
                outcomes.append(self._judge(sql, request, trusts=trusts))
        return tuple(outcomes)

    def finish(self, sql: Sql) -> None:
        """Write the commands. Raises LeaseLost if other nodes have taken over this one's races."""
        batch = self.number, self._writer, encode_commands(self._taken)
        if self._holding is None:
            sql.run(_WRITE, [batch])
        elif not sql.run(_WRITE_AS_NODE, [(*batch, self._holding.node, self._holding.epoch)]):
            raise LeaseLost(self._holding.lost)
        # A pass that starts here does its first step with the next batch, which then has a transaction.
        is_compacting = self._log.is_compacting
        self._log.add(len(self._taken), self._running)
        if is_compacting:
            self._log.compact(sql, self._running, added=len(self._taken))

    def is_one_statement(self, requests: Sequence[Request]) -> bool:
        """Whether one statement writes them all, so that no transaction is needed."""
        return not self._log.is_compacting and {type(entry) for request in requests for entry in request} <= {CommandTaken}

    def _judge(self, sql: Sql, request: Request, *, trusts: bool) -> EntryRefused | None:
        others = [entry for entry in request if type(entry) is not CommandTaken]
        is_sound = trusts and all(KINDS[type(entry)].is_sound(entry) for entry in others)
        part: AbstractContextManager[None] = nullcontext()
        if others and not is_sound:
            part = sql.part(is_single=len(request) == 1 and KINDS[type(request[0])].is_single)
        taken, turned = len(self._taken), len(self._turned)
        try:
            self._write_each(sql, request, part, is_sound=is_sound)
        except EntryRefused as refused:
            if others and is_sound:
                raise _Unsound from refused
            self._undo(taken, turned)
            return refused
        except sql.refusals as refused:
            if not is_sound:
                raise
            raise _Unsound from refused
        return None

    def _write_each(self, sql: Sql, request: Request, part: AbstractContextManager[None], *, is_sound: bool) -> None:
        entry: Entry | None = None
        try:
            with part:
                for entry in request:
                    if isinstance(entry, CommandTaken):
                        self._take(entry, self._taken)
                    else:
                        written = entry if self._holding is None else self._as_node(entry, sql, self._holding)
                        _write_entry(written, sql, is_sound=is_sound)
                        self._follow(entry)
        except Contradiction as contradiction:
            assert entry is not None
            raise KINDS[type(entry)].clash(entry, str(contradiction)) from contradiction

    def _undo(self, taken: int = 0, turned: int = 0) -> None:
        """Undo what was noted since `_taken` and `_turned` had these lengths."""
        ended = [(race, last) for race, last in self._turned[turned:] if last is not None]
        opened = [race for race, last in self._turned[turned:] if last is None]
        self._running.update(ended)
        self._running.update((race, sequence - 1) for race, sequence, *_ in reversed(self._taken[taken:]))
        for race in opened:
            del self._running[race]
        del self._taken[taken:], self._turned[turned:]

    @staticmethod
    def _as_node(entry: Entry, sql: Sql, holding: Holding) -> Entry:
        if isinstance(entry, RaceOver):
            # Records are numbered across all nodes, and each rating follows from the records before it.
            sql.rows(_ONE_AFTER_ANOTHER)
        return replace(entry, node=holding.node) if isinstance(entry, (RaceOpened, TournamentMade)) else entry

    def _take(self, entry: CommandTaken, taken: list[Taken]) -> None:
        sequence, at_ms = entry.sequence, entry.at_ms
        try:
            race = entry.race.encode()
            last = self._running.get(race)
            if last is None:
                raise EntryRefused(f"race {entry.race} is not running")
            if sequence != last + 1:
                raise EntryRefused(f"race {entry.race}: command {sequence} cannot follow command {last}")
            text = encode_command(entry.command)
        except UnicodeError as error:
            raise EntryRefused(f"an entry that cannot be stored: {error}") from error
        if not LEAST_INT <= at_ms <= MOST_INT:
            raise EntryRefused(f"an entry that cannot be stored: its time is {at_ms}")
        self._running[race] = sequence
        taken.append((race, sequence, at_ms, text))

    def _follow(self, entry: Entry) -> None:
        if isinstance(entry, RaceOpened):
            race = entry.race.encode()
            self._turned.append((race, None))
            self._running[race] = 0
        elif isinstance(entry, (RaceOver, RaceAborted)):
            race = entry.race.encode()
            last = self._running.pop(race, None)
            if last is None:
                # It is on another node.
                raise EntryRefused(f"race {entry.race} is not running")
            self._turned.append((race, last))


class _Unsound(Exception):
    """A request that is hardly ever refused was refused. Part of it may be written."""


def _write_entry(entry: Entry, sql: Sql, *, is_sound: bool) -> None:
    """Raises EntryRefused, possibly with part of the entry written. is_sound: the players are checked by the tables' constraints alone."""
    kind = KINDS[type(entry)]
    try:
        if not is_sound:
            _check_players(kind.needs(entry), sql)
        steps, answer = kind.steps(entry), None
        with suppress(StopIteration):
            while True:
                answer = _carry_out(steps.send(answer), sql)
    except (ValueError, OverflowError) as error:
        raise EntryRefused(f"an entry that cannot be stored: {error}") from error


def _carry_out(step: WriteStep, sql: Sql) -> list[Row] | int:
    for row in step.rows:
        _check_form(row if isinstance(row, tuple) else row.values())
    reads = step.statement.startswith("SELECT")
    answer = sql.rows(step.statement, step.rows[0]) if reads else sql.run(step.statement, step.rows)
    if not answer and step.refusal is not None:
        raise EntryRefused(step.refusal)
    return answer


def _check_players(wanted: Sequence[str | None], sql: Sql) -> None:
    needed = [player for player in dict.fromkeys(wanted) if player is not None]
    _check_form(needed)
    known = {row.id for row in sql.rows_in("SELECT id FROM players WHERE id IN :wanted", needed)}
    for player in needed:
        if player not in known:
            raise EntryRefused(f"there is no player {player}")


def _check_form(values: Iterable[Any]) -> None:
    """Refuse values that either database cannot store, so that both accept the same. Raises ValueError, OverflowError."""
    for value in values:
        if type(value) is str:
            if not value.isascii():
                value.encode()
            if "\0" in value:
                raise ValueError("a text has a null character")
        elif type(value) is int and not LEAST_INT <= value <= MOST_INT:
            raise OverflowError(f"{value} does not fit in 64 bits")
