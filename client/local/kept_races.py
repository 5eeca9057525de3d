"""The past races whose records this machine has kept. Apart from what asks a server, which takes long to load."""

from __future__ import annotations

from itertools import islice

from client.storage.identity import IdentityStore, home_folder
from client.storage.saved_records import kept_records
from client.text.past_races import PastRace, past_race


def kept_races(name: str | None, limit: int) -> list[PastRace]:
    """The races kept on this machine, newest first, at most `limit`. name: only that player's; None for this machine's players."""
    folder = home_folder()
    records = kept_records(folder)
    if name is not None:
        # As on a server, a house bot does not count as a player.
        raced = (record for record in records if any(seat.name == name and seat.bot is None for seat in record.seats))
        return [past_race(record, players=(), names={name}) for record in islice(raced, limit)]
    players, names = IdentityStore(folder).own()
    return [past_race(record, players=players, names=names) for record in islice(records, limit)]
