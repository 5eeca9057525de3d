"""Whose past races a command is about, and where they come from: a server's pages, or the records that this machine has kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from client.cli.shared import MISUSED, URL_HELP, fail

if TYPE_CHECKING:
    from client.connection.address import Address
    from client.text.past_races import PastRace

MaybeUrl = Annotated[
    str | None, typer.Argument(metavar="URL", help=f"{URL_HELP} Without it: the races that this machine has kept, nobody asked.")
]
Player = Annotated[str | None, typer.Option("--player", metavar="NAME", help="Whose races. [default: yours]")]


def told_races(address: Address, name: str, limit: int) -> list[PastRace]:
    """What a server says of a player, newest first, at most `limit`. Raises PageRefused, NotAPage, LinkError."""
    from client.connection.http import fetch_history
    from client.text.past_races import PastRace

    return [PastRace(race, race.seat) for race in fetch_history(address, name, limit=limit)]


def kept_races(name: str | None, limit: int) -> list[PastRace]:
    """What this machine has kept, newest first, at most `limit`: of the player of that name, or of whoever uses the machine."""
    from itertools import islice

    from client.storage.identity import IdentityStore, home_folder
    from client.storage.saved_records import kept_records
    from client.text.past_races import past_race

    folder = home_folder()
    records = kept_records(folder)
    if name is not None:
        # As at a server, a house bot is no player.
        raced = (record for record in records if any(seat.name == name and seat.bot is None for seat in record.seats))
        return [past_race(record, players=(), names={name}) for record in islice(raced, limit)]
    known = [each.identity for each in IdentityStore(folder).known()]
    players = {identity.player for identity in known if identity.player is not None}
    names = {identity.name for identity in known}
    return [past_race(record, players=players, names=names) for record in islice(records, limit)]


def player_at(address: Address, player: str | None) -> str:
    """The name to ask a server for: the one that was typed, or one's own there. Ends the command where there is none."""
    if player is not None:
        return cleaned(player)
    from client.storage.identity import IdentityStore, home_folder

    identity = IdentityStore(home_folder()).identity(address.url)
    if identity.token is None:
        fail(f"You have not been at {address.url} yet, so you have no races there; --player NAME shows somebody else's.")
    return identity.name


def cleaned(player: str) -> str:
    """The name as servers keep it; ends the command when nothing is left of it."""
    from protocol.text import clean_name

    name = clean_name(player)
    if not name:
        fail("Nothing printable is left of that name; --player is the name of a player.", MISUSED)
    return name
