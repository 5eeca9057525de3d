"""What can go wrong with a store, each with one sentence that says where and what to do.

`StoreError` is the root. Those about the store as a whole come from any call; `EntryRefused` is about one entry and says whose.
"""

from __future__ import annotations


class StoreError(Exception):
    """The store could not do it. Nothing of the call was kept, unless the class says otherwise."""


class StoreBusy(StoreError):
    """Another program holds the database, or it has more to do than it can; trying again may help."""


class StoreFull(StoreError):
    """There is no space left where the database is."""


class StoreCorrupt(StoreError):
    """What is there cannot be read as what was written."""


class StoreUnavailable(StoreError):
    """It cannot be opened, reached, read or written. Where the connection to a server broke, what was being written may have been kept."""


class StoreAway(StoreUnavailable):
    """Its server does not answer; it may be about to start."""


class StoreInUse(StoreError):
    """Another server runs on this store. Two would both bring back the same races."""


class AddressTaken(StoreError):
    """Another node of the cluster has the URL of this one. Says which option names another."""


class StoreForeign(StoreError):
    """There is a database, but not one of this program."""


class StoreTooNew(StoreError):
    """The database was made or upgraded by a newer version of this program."""


class StoreTooOld(StoreError):
    """The database has to be upgraded first."""


class LeaseLost(StoreError):
    """Other nodes answer for the races of this one by now: nothing that it decides counts any more."""


class JournalClosed(StoreError):
    """The journal takes nothing any more."""


class EntryRefused(StoreError):
    """One entry does not fit what the store has; the others of its batch are not touched by that."""


class NameTaken(EntryRefused):
    """Somebody else has this name, perhaps in other letters' case."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the name {name!r} is another player's")
        self.name = name


class RunAlready(EntryRefused):
    """A player has one run of this deal, and has had it."""
