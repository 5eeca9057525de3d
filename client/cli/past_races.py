"""The commands about past races: `history`, `export`, `stats`, `best` and `me`.

A server is asked by plain HTTP. Without one, they show what this machine has kept, which has no ratings; a server is then asked only for
races whose result never came here.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from client.cli.ending import MISUSED, complain, fail
from client.cli.looks import prints
from client.cli.options import URL_HELP, Force, Json, Name, Url, address_of, with_looks
from client.cli.running import finish, print_json, print_sentence, run, there_already, write_new
from client.connection.address import Address, parse_address
from client.connection.errors import Failure
from client.connection.http import fetch_history, fetch_record
from client.local.kept_races import kept_races
from client.storage.bests import BestsError, BestsStore, counts
from client.storage.evidence import EvidenceStore, SeenRace
from client.storage.identity import IdentityStore, home_folder
from client.storage.saved_records import keep_record, kept_records, record_path
from client.text.chart import BLOCKS
from client.text.past_races import PastRace, table
from client.text.profile import best_lines, fact_lines, past_lines
from client.text.statistics import statistics
from client.text.statistics_tables import statistics_lines
from client.tui.start import UiSettings
from protocol.command_line import examples, print_text
from protocol.pages import is_race_id
from protocol.record import Record, to_json
from protocol.text import clean_chat, clean_name

app = typer.Typer(rich_markup_mode=None)

MaybeUrl = Annotated[str | None, typer.Argument(metavar="SERVER", help=f"{URL_HELP} Without it: the races kept on this machine.")]
Player = Annotated[str | None, typer.Option("--player", metavar="NAME", help="Whose races. [default: yours]")]


MOST_LISTED = 1000


@app.command(epilog=examples("carpet history", "carpet history carpet.example --player Anna --limit 50"))
def history(
    url: MaybeUrl = None,
    player: Player = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=MOST_LISTED, help="At most this many.")] = 20,
    as_json: Json = False,
) -> None:
    """List a player's races, newest first.

    Each has an id, which carpet export takes to save its record. For an aborted race you see why.
    """
    if url is None:
        catch_up()
        races = kept_races(None if player is None else cleaned(player), limit)
    else:
        address = address_of(url)
        races = told_races(address, player_at(address, player), limit)
    if as_json:
        print_json([{**msgspec.to_builtins(past.race), "seat": past.own} for past in races])
    elif not races:
        boards = (
            " Deals of the day and challenges have boards of their own: carpet daily board, carpet challenge board."
            if player is None
            else ""
        )
        print_sentence(f"No races yet.{boards}")
    else:
        print_text("\n".join(table(races, width=shutil.get_terminal_size().columns)))


@app.command(epilog="Example: carpet export carpet.example HKTRWM-1-0a1b2c3d4e5f race.json")
def export(
    url: Url,
    race: Annotated[str, typer.Argument(metavar="ID", help="The race's id, as carpet history shows it.")],
    file: Annotated[str | None, typer.Argument(metavar="FILE", help="A new file; - for standard output. [default: ID.json]")] = None,
    force: Force = False,
) -> None:
    """Save the record of a finished race.

    carpet verify checks it, and carpet review says what was possible.
    """
    if not is_race_id(race):
        fail(f"{race!r} is not the id of a race: it looks like HKTRWM-1-0a1b2c3d4e5f, and carpet history shows it.", MISUSED)
    address = address_of(url)
    target = file or f"{race}.json"
    if target != "-" and not force and os.path.lexists(target):
        there_already(target)

    record = fetch_record(address, race)
    if target == "-":
        print_json(record)
        return
    write_new(Path(target), to_json(record) + "\n", force=force)
    print_sentence(f"The record of race {race} is in {target}.")


MOST_COUNTED: Final = 3000
"""How many of the last races are counted: 30 pages, which a server serves without a pause."""


@app.command(epilog=examples("carpet stats", "carpet stats carpet.example Anna", "carpet stats carpet.example --json"))
def stats(
    url: MaybeUrl = None,
    whose: Annotated[str | None, typer.Argument(metavar="NAME", help="Whose races; the same as --player.", show_default=False)] = None,
    player: Player = None,
    as_json: Json = False,
) -> None:
    """Show a player's results in tables and charts.

    Races, wins, cards home and times, by rule set and by opponent; the rating and the cards home as curves.
    """
    player = player if player is not None else whose
    if url is None:
        name, place = None if player is None else cleaned(player), None
        catch_up()
        races = kept_races(name, MOST_COUNTED)
        who = "Kept here" if name is None else f"{name}, kept here"
    else:
        address = address_of(url)
        name, place = player_at(address, player), address.url
        races = told_races(address, name, MOST_COUNTED)
        who = f"{name} at {address.place}"

    counted = statistics(races)
    if as_json:
        told = {**msgspec.to_builtins(counted), "rules": msgspec.to_builtins(dict(counted.rules))}
        print_json({"player": name, "server": place, "most_counted": MOST_COUNTED, "rating": counted.rating, **told})
        return

    width = shutil.get_terminal_size().columns
    print_text("\n".join(statistics_lines(counted, who=who, width=width, ascii_only=not prints(BLOCKS))))
    if len(races) == MOST_COUNTED:
        print_sentence(f"These are the last {MOST_COUNTED} races; older ones are left out.")


@app.command(epilog=examples("carpet best", "carpet best --json"))
def best(as_json: Json = False) -> None:
    """Show your best times.

    They are kept on this machine, for each rule set. Every race on a shuffle that nobody could know counts, also with carpet play --alone;
    none on a deal by name does.
    """
    catch_up()
    bests = BestsStore(home_folder()).read()
    if as_json:
        print_json({"rules": bests.rules})
        return
    if not bests.rules:
        print_sentence("No finished races yet; to run one: carpet play")
        return

    print_text("\n".join(best_lines(sorted(bests.rules.items()))))


@app.command(epilog=examples("carpet me", "carpet me carpet.example"))
@with_looks(bell=False)
def me(
    url: Annotated[
        str | None, typer.Argument(metavar="SERVER", help=f"{URL_HELP} [default: where you have been last]", show_default=False)
    ] = None,
    name: Name = None,
    *,
    settings: UiSettings,
) -> None:
    """Show your rating, best times and last races at a glance.

    A page to walk through, on which each race can be watched again; without a terminal, as text.
    """
    # Imported late: of the commands here, only this one has links and screens, which take long to load.
    from client.local.profile_reader import ProfileReader

    servers = list(IdentityStore(home_folder()).read().servers)
    place = url if url is not None else servers[-1] if servers else None
    profiles = ProfileReader(address_of(place) if place is not None else None, name)
    if sys.stdin.isatty() and sys.stdout.isatty():
        from client.tui.app import run_you

        finish(run(lambda: run_you(profiles, settings=settings)))
        return

    known = run(profiles.read)
    lines = fact_lines(known, ascii_only=settings.ascii)
    lines += ["", *best_lines(known.bests)] if known.bests else []
    lines += ["", *past_lines(known.races)] if known.races else []
    print_text("\n".join(lines))


# ---- whose races, and where they come from


def told_races(address: Address, name: str, limit: int) -> list[PastRace]:
    """A player's races according to a server, newest first, at most `limit`. Raises PageRefused, NotAPage, LinkError."""
    return [PastRace(race, race.seat) for race in fetch_history(address, name, limit=limit)]


LATE_AMONG: Final = 20
"""Among so many of a player's last races at a server, one whose result never came is looked for."""


def catch_up(*, last: bool = False) -> None:
    """Get the records of races whose result never came here: the player had left, forfeited or lost the line, or the deal was still secret.

    If that of the very last race cannot be had, this says why, since another race then stands as the last one. That it only has to come
    yet, as for days after a run, is said where the last race is asked for (`last`). Races that could not be counted among the best times
    before are counted now.
    """
    folder = home_folder()
    # The two races of a swap have the same nonces.
    seen_here = {(seen.race, seen.nonce): seen for seen in EvidenceStore(folder).read() if seen.first_view is not None}
    records = kept_records(folder) if seen_here else ()
    kept = {(record.race, nonce): record for record in records for nonce in record.deal.nonces if (record.race, nonce) in seen_here}
    late: list[str] = []
    lacks = ""
    failed: dict[str, str] = {}  # by server, so that one that does not answer is waited for once
    for own, seen in seen_here.items():
        lacks = ""
        if own in kept:
            continue
        address = parse_address(seen.url)
        race = f"carpet: your race {clean_chat(seen.code)} at {address.place}"
        found: Record | str | None
        try:
            found = failed.get(address.url) or _late_record(address, seen)
        except Failure as error:
            found = failed[address.url] = str(error)
        if isinstance(found, Record):
            try:
                keep_record(folder, found, late=True)
            except OSError as error:
                found = f"It cannot be written: {error.strerror}."
            else:
                kept[own] = found
                late.append(race)
        if isinstance(found, str):
            lacks = f"{race} is not kept here. {found}"
        elif found is None and last:
            lacks = f"{race} has no record yet."
    if lacks:
        complain(f"{lacks} The race before it stands as your last one." if record_path(folder, None).exists() else lacks)
    try:
        _count(kept)
    except BestsError as error:
        # Of those that were kept before, most have been counted; if the file cannot be read, nobody knows which.
        if late:
            complain(f"{late[-1]} is kept here, but not counted among your best times. {error}")


def _count(races: Mapping[tuple[int, str], Record]) -> None:
    """Count what has not been counted. races: by their numbers and the player's own nonces. Raises BestsError."""
    store = BestsStore(home_folder())
    counted = store.read().counted if races else ()
    for (_, nonce), record in races.items():
        seat = record.deal.nonces.index(nonce)
        if record.digest not in counted and counts(record, seat):
            store.add(record, seat)


def _late_record(address: Address, seen: SeenRace) -> Record | str | None:
    """The record of a race that was seen to begin, or why there is none; None if there may be one later: it goes on, or others may still
    run its deal. Raises PageRefused, NotAPage, LinkError.
    """
    folder = home_folder()
    store = IdentityStore(folder)
    for name in dict.fromkeys(store.identity(known.url, known.identity.name).name for known in store.known(address.url)):
        races = [race for race in fetch_history(address, name, limit=LATE_AMONG) if race.race == seen.race]
        # A private race is listed under other letters than its code.
        for race in sorted(races, key=lambda race: race.room != seen.code):
            if race.aborted is not None and race.room == seen.code:
                return f"It was aborted: {clean_chat(race.aborted)}."
            if race.aborted is not None or record_path(folder, race.id).exists():
                continue
            record = fetch_record(address, race.id)
            if seen.nonce in record.deal.nonces:
                return record
    return None


def player_at(address: Address, player: str | None) -> str:
    """The name to ask a server for: the typed one, or one's own there. Ends the command if there is none."""
    if player is not None:
        return cleaned(player)

    identity = IdentityStore(home_folder()).identity(address.url)
    if identity.token is None:
        fail(f"You have not been at {address.url} yet, so you have no races there; --player NAME shows somebody else's.")
    return identity.name


def cleaned(player: str) -> str:
    """The name as servers keep it. Ends the command if nothing is left of it."""
    name = clean_name(player)
    if not name:
        fail("Nothing printable is left of that name; --player is the name of a player.", MISUSED)
    return name
