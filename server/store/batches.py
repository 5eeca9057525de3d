"""How a batch is judged and written: commands of races by the thousand, everything else entry by entry.

A command fits when its race runs and it is the next one: that is known here without asking the database. All commands of a batch are one
row of bytes, and where there is nothing else, one statement. The other kinds are written where they stand, each request within a part of
the transaction: the tables judge them (see `entries`).

Each batch has a number, kept with it in the same transaction. So it shows whether a batch was committed whose answer was lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import Final

from server.store.compaction import Log
from server.store.documents import Taken, encode_command, encode_commands
from server.store.entries import KINDS
from server.store.errors import EntryRefused, LeaseLost
from server.store.nodes import Holding
from server.store.port import CommandTaken, Entry, RaceAborted, RaceOpened, RaceOver, Request, TournamentMade
from server.store.sql import Contradiction, Row, Sql, Values
from server.store.steps import WriteStep

BIGGEST: Final = 2**63
_WRITE: Final = "INSERT INTO batches (number, writer, commands) VALUES (:number, :writer, :commands)"
_WRITE_AS_NODE: Final = (
    "INSERT INTO batches (number, writer, commands) SELECT :number, :writer, :commands FROM nodes"
    # Who takes this node's races over changes its row, and waits for commits that are under way; those after it find another epoch.
    " WHERE id = :node AND epoch = :epoch FOR SHARE"
)
_ONE_AFTER_ANOTHER: Final = "SELECT pg_advisory_xact_lock(hashtext('carpet-race records ' || current_schema()))"


class BatchWriter:
    """What the writer knows of what is stored: read from the database, then kept in step with it. After an error, make a new one."""

    def __init__(self, sql: Sql, writer: bytes, holding: Holding | None = None) -> None:
        """writer: random bytes, which nobody else has. holding: of a node; None for a server alone."""
        self._writer = writer
        self._holding = holding
        node = holding.node if holding is not None else 0
        # Race to its last sequence.
        running = sql.rows("SELECT id FROM races WHERE phase = 'running' AND node = :node", {"node": node})
        self._running = dict.fromkeys((row.id for row in running), 0)
        self._log = Log(sql, self._running, node=node)
        self._taken: list[Taken] = []
        # What the request that is being judged has changed in it: how it was.
        self._before: dict[str, int | None] = {}

    @property
    def number(self) -> int:
        """Of the batch that is being written."""
        return self._log.last + 1

    def has_written(self, sql: Sql, number: int) -> bool:
        """Whether a batch of this number, and by this writer, is in the database."""
        written = "SELECT 1 AS found FROM batches WHERE number = :number AND writer = :writer"
        return sql.row(written, {"number": number, "writer": self._writer}) is not None

    def judge(self, sql: Sql, requests: Sequence[Request]) -> tuple[EntryRefused | None, ...]:
        """One outcome a request. Writes all but the commands; within a transaction, unless it `is_one_statement`."""
        taken: list[Taken] = []
        self._taken = taken
        outcomes: list[EntryRefused | None] = []
        for request in requests:
            # Nearly all requests are one command each, which changes nothing where it is refused.
            if len(request) == 1 and type(command := request[0]) is CommandTaken:
                try:
                    self._take(command, taken)
                except EntryRefused as refused:
                    outcomes.append(refused)
                else:
                    outcomes.append(None)
            else:
                outcomes.append(self._judge(sql, request, taken))
        return tuple(outcomes)

    def finish(self, sql: Sql) -> None:
        """Write the commands. Raises LeaseLost when this node's races are others' by now."""
        batch = {"number": self.number, "writer": self._writer, "commands": encode_commands(self._taken)}
        if self._holding is None:
            sql.run(_WRITE, [batch])
        elif not sql.run(_WRITE_AS_NODE, [{**batch, "node": self._holding.node, "epoch": self._holding.epoch}]):
            raise LeaseLost(self._holding.lost)
        # A pass that begins now sweeps from the next batch on, in its transaction.
        is_swept = self._log.is_swept
        self._log.add(len(self._taken), self._running)
        if is_swept:
            self._log.sweep(sql, self._running, added=len(self._taken))

    def is_one_statement(self, requests: Sequence[Request]) -> bool:
        """Whether writing them needs no transaction around it."""
        return not self._log.is_swept and {type(entry) for request in requests for entry in request} <= {CommandTaken}

    def _judge(self, sql: Sql, request: Request, taken: list[Taken]) -> EntryRefused | None:
        length = len(taken)
        try:
            self._write_each(sql, request, taken)
        except EntryRefused as refused:
            del taken[length:]
            for race, last in self._before.items():
                if last is None:
                    self._running.pop(race, None)
                else:
                    self._running[race] = last
            return refused
        finally:
            if self._before:
                self._before.clear()
        return None

    def _write_each(self, sql: Sql, request: Request, taken: list[Taken]) -> None:
        if not request:
            return
        entry = request[0]
        part: AbstractContextManager[None] = nullcontext()
        if not all(type(entry) is CommandTaken for entry in request):
            part = sql.part(is_single=len(request) == 1 and KINDS[type(entry)].is_single(entry))
        try:
            with part:
                for entry in request:
                    if isinstance(entry, CommandTaken):
                        self._before.setdefault(entry.race, self._running.get(entry.race))
                        self._take(entry, taken)
                    else:
                        _write_entry(entry if self._holding is None else self._as_node(entry, sql, self._holding), sql)
                        self._follow(entry)
        except Contradiction as contradiction:
            raise KINDS[type(entry)].clash(entry, str(contradiction)) from contradiction

    @staticmethod
    def _as_node(entry: Entry, sql: Sql, holding: Holding) -> Entry:
        if isinstance(entry, RaceOver):
            # Records are numbered, and ratings follow from those before, over all nodes.
            sql.rows(_ONE_AFTER_ANOTHER)
        return replace(entry, node=holding.node) if isinstance(entry, (RaceOpened, TournamentMade)) else entry

    def _take(self, entry: CommandTaken, taken: list[Taken]) -> None:
        race, sequence = entry.race, entry.sequence
        last = self._running.get(race)
        if last is None:
            raise EntryRefused(f"race {race} is not running")
        if sequence != last + 1:
            raise EntryRefused(f"race {race}: command {sequence} cannot follow command {last}")
        try:
            text = encode_command(entry.command)
        except UnicodeError as error:
            raise EntryRefused(f"an entry that cannot be stored: {error}") from error
        if not -BIGGEST <= entry.at_ms < BIGGEST:
            raise EntryRefused(f"an entry that cannot be stored: its time is {entry.at_ms}")
        self._running[race] = sequence
        taken.append((race.encode(), sequence, entry.at_ms, text))

    def _follow(self, entry: Entry) -> None:
        match entry:
            case RaceOpened(race=race):
                self._before.setdefault(race, None)
                self._running[race] = 0
            case RaceOver(race=race) | RaceAborted(race=race):
                self._before.setdefault(race, self._running.pop(race))
            case _:
                pass


def _write_entry(entry: Entry, sql: Sql) -> None:
    """Within a part of a transaction. Raises EntryRefused, with part of it written."""
    kind = KINDS[type(entry)]
    try:
        _check_players(kind.needs(entry), sql)
        steps, found = kind.steps(entry), None
        with suppress(StopIteration):
            while True:
                found = _carry_out(steps.send(found), sql)
    except (ValueError, OverflowError) as error:
        raise EntryRefused(f"an entry that cannot be stored: {error}") from error


def _carry_out(step: WriteStep, sql: Sql) -> Row | None:
    for row in step.rows:
        _check_form(row)
    reads = step.statement.startswith("SELECT")
    found = sql.row(step.statement, step.rows[0]) if reads else None
    touched = found is not None if reads else sql.run(step.statement, step.rows)
    if not touched and step.refusal is not None:
        raise EntryRefused(step.refusal)
    return found


def _check_players(wanted: Sequence[str | None], sql: Sql) -> None:
    needed = [player for player in dict.fromkeys(wanted) if player is not None]
    _check_form(dict(enumerate(needed)))  # type: ignore[arg-type]
    known = {row.id for row in sql.rows_in("SELECT id FROM players WHERE id IN :wanted", needed)}
    for player in needed:
        if player not in known:
            raise EntryRefused(f"there is no player {player}")


def _check_form(row: Values) -> None:
    """What has no form in one of the databases has none in any. Raises ValueError, OverflowError."""
    for column, value in row.items():
        if type(value) is str:
            value.encode()
            if "\0" in value:
                raise ValueError(f"{column} has a null character")
        elif type(value) is int and not -(2**63) <= value < 2**63:
            raise OverflowError(f"{column} is {value}")
