"""Errors of the store. Each has one sentence that says what is wrong, where, and what to do.

`StoreError` is the root. Errors about the store as a whole may come from any call; `EntryRefused` is about one entry, and says which.
"""

from __future__ import annotations


class StoreError(Exception):
    """The store could not do it. Nothing of the call was kept, unless the class says otherwise."""


class StoreBusy(StoreError):
    """Another program holds the database, or it is overloaded. Trying again may help."""


class StoreFull(StoreError):
    """There is no space left for the database."""


class StoreCorrupt(StoreError):
    """What is stored cannot be read."""


class StoreUnavailable(StoreError):
    """It cannot be opened, reached, read or written. If a connection to a server broke, what was being written may have been kept."""


class StoreAway(StoreUnavailable):
    """Its server does not answer; it may be about to start."""


class StoreInUse(StoreError):
    """Another server uses this store. Two servers would both resume the same races."""


class AddressTaken(StoreError):
    """Another node of the cluster has the URL of this one. Says which option names another."""


class StoreForeign(StoreError):
    """The database is not this program's."""


class StoreTooNew(StoreError):
    """The database was made or upgraded by a newer version of this program."""


class StoreTooOld(StoreError):
    """The database has to be upgraded first."""


class LeaseLost(StoreError):
    """Other nodes have taken over the races of this one: nothing that it decides counts any more."""


class JournalClosed(StoreError):
    """The journal takes nothing any more, or the server stops and it could not write what it had taken."""


class EntryRefused(StoreError):
    """One entry contradicts what is stored. The rest of its batch is not affected."""


class NameTaken(EntryRefused):
    """Somebody else has this name, perhaps in different case."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the name {name!r} is another player's")
        self.name = name


class RunAlready(EntryRefused):
    """A player has only one run of this deal, and has had it."""
