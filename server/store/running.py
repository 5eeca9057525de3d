"""Reads running races from the logs: each with its commands, or with what is wrong with it. A damaged race does not hold up the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from server.store.answers import DamagedRace, Running, RunningRace
from server.store.compaction import batches
from server.store.documents import BadDocument, Taken, decode_command, decode_commands, is_newer
from server.store.entries import opened_of
from server.store.nodes import LAST_NUMBER, node_of, numbers_of
from server.store.port import CommandTaken
from server.store.sql import Row, Sql

_RUNNING = "SELECT * FROM races WHERE phase = 'running' ORDER BY opened_at_ms, id"


def running_races(sql: Sql, *, node: int | None = None) -> Running:
    """All running races, or those of one node. Call it in a transaction."""
    return LoggedRaces(sql, [row for row in sql.rows(_RUNNING) if node in (None, row.node)], node=node).read()


class LoggedRaces:
    """Running races with their logged commands. rows: those of the races. node: whose log to read; None for all."""

    def __init__(self, sql: Sql, rows: Sequence[Row], *, node: int | None) -> None:
        self._rows = rows
        self.commands: dict[bytes, list[Taken]] = {row.id.encode(errors="surrogateescape"): [] for row in rows}
        """Race id to its commands, in order."""
        self.lost: dict[bytes, int] = {}
        """Race id to the number of a damaged batch that has some of its commands."""
        owners = {race: row.node for race, row in zip(self.commands, rows, strict=True)}
        after, until = numbers_of(node) if node is not None else (0, LAST_NUMBER)
        for batch in batches(sql, after=after, until=until):
            try:
                commands = decode_commands(batch.commands)
            except BadDocument:
                # The ids that can still be found in it show whose commands it had.
                self.lost.update((race, batch.number) for race in owners if race in batch.commands)
                continue
            owner = node_of(batch.number)
            for command in commands:
                race, sequence = command[:2]
                if owners.get(race) == owner:
                    if sequence == 1:
                        # The race came from another node with all its commands; those before are from an earlier stay here.
                        self.commands[race].clear()
                    self.commands[race].append(command)

    def leave_out_newer(self) -> set[str]:
        """Leave out rooms whose races have commands that only a newer version of this program can read. Gives these rooms."""
        rooms = dict(zip(self.commands, (row.room for row in self._rows), strict=True))
        newer = {rooms[race] for race, commands in self.commands.items() if any(is_newer(text) for *_, text in commands)}
        self._rows = [row for row in self._rows if row.room not in newer]
        self.commands = {race: commands for race, commands in self.commands.items() if rooms[race] not in newer}
        return newer

    def read(self) -> Running:
        whole: list[RunningRace] = []
        damaged: list[DamagedRace] = []
        for row, (race, commands) in zip(self._rows, self.commands.items(), strict=True):
            found = _read_race(row, commands, self.lost.get(race))
            if isinstance(found, RunningRace):
                whole.append(found)
            else:
                damaged.append(found)
        return Running(tuple(whole), tuple(damaged))


def _read_race(row: Row, commands: Iterable[Taken], lost: int | None) -> RunningRace | DamagedRace:
    """A race from its row and its commands, in order. lost: the number of a damaged batch that has some of them."""
    try:
        opened = opened_of(row)
    except BadDocument as error:
        return _damaged(row, error, None)
    taken: list[CommandTaken] = []
    try:
        for sequence, command in enumerate(commands, 1):
            taken.append(_read_command(row.id, sequence, command))
        if lost is not None:
            raise BadDocument(f"batch {lost}, which has some of its commands, is damaged")
    except BadDocument as error:
        return _damaged(row, error, RunningRace(opened, tuple(taken)))
    return RunningRace(opened, tuple(taken))


def _damaged(row: Row, error: BadDocument, readable: RunningRace | None) -> DamagedRace:
    return DamagedRace(row.id, f"race {row.id} cannot be brought back: {error}", readable)


def _read_command(race: str, sequence: int, command: Taken) -> CommandTaken:
    """Raises BadDocument."""
    _, written, at_ms, text = command
    if written != sequence:
        raise BadDocument(f"command {sequence} is missing: command {written} is in its place")
    try:
        return CommandTaken(race=race, sequence=sequence, at_ms=at_ms, command=decode_command(text))
    except BadDocument as error:
        raise BadDocument(f"command {sequence}: {error}") from error
