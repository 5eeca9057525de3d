"""What `carpet replay` does: the record is read and played over again before the screen opens, so that what is wrong is a sentence."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO

import trio

from client.connection.address import Address
from client.connection.errors import Failure
from client.replay.frames import replay_race
from client.storage.identity import home_folder
from client.storage.saved_records import NAME, kept_record
from client.tui.app import run_replay
from client.tui.start import AppOutcome, UiSettings
from protocol.pages import is_race_id
from protocol.record import LONGEST_RECORD, BadRecord, Record, from_json
from protocol.text import clean_chat


class NoRecord(Failure):
    """There is no record to be read there; the text says why."""


class NoKeyboard(Failure):
    """The record came through standard input, and no terminal is left for the keys."""


async def show_replay(source: str | None, *, server: Address | None, settings: UiSettings) -> AppOutcome:
    """Replay a record: that in a file, in standard input (`-`), of the race with an id, or with None of the last race.

    server: who is asked for a race by its id; with None it must be one of those kept here. Raises NoRecord, NoReplay, NoKeyboard, and what
    `fetch_record` raises.
    """
    replay = await replay_race(await read_record(source, server))
    if source != "-":
        return await run_replay(replay, settings=settings, keys=sys.stdin)
    with _terminal() as keys:
        return await run_replay(replay, settings=settings, keys=keys)


def _terminal() -> TextIO:
    """The terminal that this process belongs to, wherever its standard input comes from."""
    try:
        return open(os.ctermid(), encoding="utf-8")
    except OSError as error:
        raise NoKeyboard(f"There is no terminal to read keys from ({error.strerror}); give the record as a file.") from error


async def read_record(source: str | None, server: Address | None) -> Record:
    """The record that a command names, as `show_replay` takes it. Raises NoRecord, and what `fetch_record` raises."""
    # A file of such a name is named with its folder, ./ID.
    if source is None or not is_race_id(source):
        if server is not None:
            raise NoRecord("--server goes with the id of a race, like HKTRWM-1-0a1b2c3d4e5f, as carpet history shows it.")
        return _read(source)
    if server is not None:
        from client.connection.http import fetch_record

        return await trio.to_thread.run_sync(fetch_record, server, source)
    record = kept_record(home_folder(), source)
    if record is None:
        raise NoRecord(f"Race {source} is not kept here; say which server has it: carpet replay {source} --server URL.")
    return record


def _read(source: str | None) -> Record:
    path = home_folder() / NAME if source is None else Path(source)
    try:
        if source == "-":
            document = sys.stdin.buffer.read(LONGEST_RECORD + 1)
        else:
            with path.open("rb") as file:
                document = file.read(LONGEST_RECORD + 1)
    except OSError as error:
        if source is None and isinstance(error, FileNotFoundError):
            raise NoRecord("No race of yours was kept here yet; give the file of a record: carpet replay FILE.") from error
        raise NoRecord(f"{path} cannot be read: {error.strerror}.") from error
    try:
        return from_json(document)
    except BadRecord as error:
        raise NoRecord(f"What is in {path} is no record of a race: {clean_chat(str(error))}.") from error
