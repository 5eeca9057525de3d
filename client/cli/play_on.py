"""`carpet play-on`: a race that is over, gone on with from one of its positions, beside what was done from there then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from client.cli.looks import Ascii, ColourBlind, FourColour, Name, NoBell, finish, need_terminal, settings_of
from client.cli.shared import MISUSED, address_of, examples, fail, run

if TYPE_CHECKING:
    from protocol.record import Record

play_on_app = typer.Typer()


@play_on_app.command("play-on", epilog=examples("carpet play-on --from 24", "carpet play-on race.json --from 24 --seat 2"))
def play_on(
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE|ID", help="A record as JSON, or the id of a race. [default: your last race]"),
    ] = None,
    ply: Annotated[int, typer.Option("--from", metavar="K", min=0, help="From where so many moves of the seat were made.")] = 0,
    seat: Annotated[int | None, typer.Option(metavar="N", min=1, help="Of this seat, from 1 as verify counts. [default: yours]")] = None,
    server: Annotated[str | None, typer.Option(metavar="URL", help="The server to ask for that id. [default: none]")] = None,
    name: Name = None,
    four_colour: FourColour = False,
    colour_blind: ColourBlind = False,
    ascii_only: Ascii = False,
    no_bell: NoBell = False,
) -> None:
    """Play on from move K of a race that is over, against your own past self.

    The record is checked first. It is practice, on a server of your own, which counts for nothing.
    """
    settings = settings_of(four_colour, colour_blind, ascii_only, no_bell)
    need_terminal("play-on")
    address = address_of(server) if server is not None else None
    from client.cli.replay import read_record
    from client.local.sitting import play_on as played_on

    record = run(lambda: read_record(file, address))
    if not record.id:
        fail("That record is older than races' ids: it cannot be played on.")
    number = own_seat(record) if seat is None else seat - 1
    finish(run(lambda: played_on(record, seat=number, ply=ply, name=name, settings=settings)))


def own_seat(record: Record) -> int:
    """The seat of whoever uses this machine, from 0; ends the command where that is not to be known."""
    from client.storage.identity import IdentityStore, home_folder
    from client.text.past_races import past_race

    known = [each.identity for each in IdentityStore(home_folder()).known()]
    players = {identity.player for identity in known if identity.player is not None}
    own = past_race(record, players=players, names={identity.name for identity in known}).own
    if own is None:
        fail("Which of the seats is yours is not to be seen from the record; say it: --seat N, from 1 as verify counts.", MISUSED)
    return own
