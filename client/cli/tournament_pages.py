"""`carpet tournament list`, `tables`, `standings`, `log`, `export`: what a server's pages say of its tournaments, without joining it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from textwrap import wrap
from time import sleep
from typing import Annotated

import msgspec
import typer

from client.cli.ending import MISUSED, complain, fail
from client.cli.looks import prints
from client.cli.options import Force, Json, Url, address_of
from client.cli.running import print_json, print_sentence, there_already, write_new
from client.connection.address import Address
from client.connection.errors import LinkError
from client.connection.http import (
    NotAPage,
    PageRefused,
    fetch_patiently,
    fetch_record,
    fetch_standings_table,
    fetch_tournament,
    fetch_tournaments,
)
from client.connection.notice import NOTICE_S
from client.text.formatting import clock_text
from client.text.tables import table_lines
from client.text.tournaments import (
    FORMAT_WORDS,
    PHASE_WORDS,
    TIE_BREAK_HEADS,
    TIE_BREAK_WORDS,
    decided_by,
    decision_text,
    points_text,
    quarters_text,
    result_text,
    title_text,
)
from protocol.command_line import examples, print_text
from protocol.pages import is_race_id
from protocol.record import to_json
from protocol.text import clean_name, counted, read_code
from protocol.tournaments import (
    MAX_ROUNDS,
    EntrantDocument,
    RoundDocument,
    TableDocument,
    TournamentDocument,
    TournamentListing,
    is_tournament_id,
)

tournament_pages_app = typer.Typer(rich_markup_mode=None)

Id = Annotated[str, typer.Argument(metavar="ID", help="The id of the tournament, six letters, as carpet tournament list shows them.")]


@tournament_pages_app.command(
    "list", epilog=examples("carpet tournament list carpet.example", "carpet tournament list carpet.example --json")
)
def list_(url: Url, as_json: Json = False) -> None:
    """List a server's tournaments, newest first."""
    address = address_of(url)

    listed = fetch_tournaments(address)
    if as_json:
        print_json({"tournaments": listed})
    else:
        print_text("\n".join(listing_lines(listed)))


@tournament_pages_app.command(
    epilog=examples("carpet tournament tables carpet.example KWPRTM", "carpet tournament tables carpet.example KWPRTM --round 1")
)
def tables(
    url: Url,
    tournament: Id,
    round_: Annotated[
        int | None, typer.Option("--round", metavar="N", min=1, max=MAX_ROUNDS, help="Which round. [default: the last one]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print who meets whom in a round, and the results so far."""
    address, id_ = address_of(url), tournament_id(tournament)

    document = fetch_tournament(address, id_)
    paired = document.rounds[round_ - 1 : round_] if round_ is not None else document.rounds[-1:]
    if not paired:
        fail(f"Round {round_} has not been paired yet." if round_ is not None else "No round has been paired yet.")
    if as_json:
        print_json({"round": paired[0].number, "tables": paired[0].tables, "entrants": document.entrants})
    else:
        print_text("\n".join(table_list(document, paired[0], plain=not prints("½"))))


@tournament_pages_app.command(epilog="Example: carpet tournament standings carpet.example KWPRTM")
def standings(url: Url, tournament: Id, as_json: Json = False) -> None:
    """Print the standings of a tournament, with tie-breaks.

    Before the first round it lists who has entered, and who has checked in.
    """
    address, id_ = address_of(url), tournament_id(tournament)

    document = fetch_tournament(address, id_)
    if as_json:
        print_json({"tie_breaks": document.tie_breaks, "standings": document.standings, "entrants": document.entrants})
    else:
        print_text("\n".join(standings_lines(document, plain=not prints("½"))))


@tournament_pages_app.command(
    epilog=examples("carpet tournament log carpet.example KWPRTM", "carpet tournament log carpet.example KWPRTM --json")
)
def log(url: Url, tournament: Id, as_json: Json = False) -> None:
    """Print everything that was decided in a tournament.

    The first entry comes first. Screens show the last fifty.
    """
    address, id_ = address_of(url), tournament_id(tournament)

    document = fetch_tournament(address, id_)
    if as_json:
        print_json({"made_at_ms": document.made_at_ms, "log": document.log})
    else:
        print_text("\n".join(log_lines(document)))


@tournament_pages_app.command(
    epilog=examples(
        "carpet tournament export carpet.example KWPRTM",
        "carpet tournament export carpet.example KWPRTM - --csv",
        "carpet tournament export carpet.example KWPRTM --records",
    )
)
def export(
    url: Url,
    tournament: Id,
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="A new file, or folder; - for standard output. [default: ID.json or ID.csv; the folder ID]"),
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="The standings, for a spreadsheet. [default: all of it, as JSON]")] = False,
    records: Annotated[
        bool, typer.Option("--records", help="A folder with all of it, and the record of each race of the rounds that are over.")
    ] = False,
    force: Force = False,
) -> None:
    """Save a tournament: entrants, rounds, results, standings.

    It includes the log, and the secrets of finished rounds, so that their shuffles can be checked: carpet verify does that, with the
    records of its races if they are there too. With --records again, it gets what the folder lacks.
    """
    address, id_ = address_of(url), tournament_id(tournament)
    if csv and records:
        fail("--records saves all of it, and --csv only the standings: choose one.", MISUSED)
    if records and file == "-":
        fail("--records saves many files, so it needs a folder.", MISUSED)

    target = file or (id_ if records else f"{id_}.{'csv' if csv else 'json'}")
    goes_on = records and _is_export_of(id_, Path(target))
    if target != "-" and not (force or goes_on) and os.path.lexists(target):
        there_already(target)
    if records:
        _export_records(address, fetch_tournament(address, id_), Path(target), force=force, goes_on=goes_on)
        return
    if csv:
        text = fetch_standings_table(address, id_)
        if target == "-":
            print_text(printable_table(text))
            return
    else:
        document = fetch_tournament(address, id_)
        if target == "-":
            print_json(document)
            return
        text = _as_text(document)
    write_new(Path(target), text, force=force)
    print_sentence(f"Tournament {id_} is in {target}.")


def _as_text(document: TournamentDocument) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"


def _is_export_of(tournament: str, folder: Path) -> bool:
    """Whether the folder was made by an export of this tournament, perhaps one that did not get everything."""
    try:
        return msgspec.json.decode((folder / "tournament.json").read_bytes(), type=TournamentDocument).id == tournament
    except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
        return False


def _export_records(address: Address, document: TournamentDocument, folder: Path, *, force: bool, goes_on: bool) -> None:
    """Save the document and the records of its races. It is a failure if one of them cannot be had, but the others are saved.

    goes_on: whether a former export of it is there, of which the records are kept: they never change. force: fetch those again too.
    """
    races = folder / "races"
    told = [paired for paired in document.rounds if paired.secret is not None]
    wanted: dict[Path, tuple[str, str]] = {}
    places = [(paired.number, table.table, race) for paired in told for table in paired.tables for race in table.race_ids]
    for number, table, race in places:
        if not is_race_id(race):
            fail(f"What {address.place} sent is not a tournament: it has a race without an id.")
        wanted[races / f"round-{number:02}-table-{table:02}-{race}.json"] = (race, f"round {number}, table {table}, race {race}")
    # They would be taken for this tournament's by the command that checks it.
    if others := sorted(file.name for file in races.glob("*.json") if file not in wanted):
        fail(f"{races / others[0]} is no record of tournament {document.id} as it stands: move it away, or name another folder.")
    try:
        races.mkdir(parents=True, exist_ok=force or goes_on)
    except OSError as error:
        fail(f"{races} cannot be made: {error.strerror or error}.")
    # First, since it marks the folder as an export that the next one may go on with, however this one ends.
    write_new(folder / "tournament.json", _as_text(document), force=force or goes_on)
    missing = 0
    for file, (race, where) in wanted.items():
        if goes_on and not force and file.is_file():
            continue
        try:
            record = fetch_patiently(partial(fetch_record, address, race), partial(_wait, address))
        except (PageRefused, NotAPage, LinkError) as error:
            complain(f"carpet: no record of {where}: {error}")
            missing += 1
            continue
        write_new(file, to_json(record) + "\n", force=force)
    saved = len(wanted) - missing
    print_sentence(f"Tournament {document.id} and {counted(saved, 'record')} of its races are in {folder}.")
    if len(told) < len(document.rounds):
        number = document.rounds[-1].number
        ended = f"The tournament ended within round {number}: nobody gets its records."
        print_sentence(ended if document.phase == "ended" else f"Round {number} is not over: nobody gets its records before it is.")
    # A pattern that fits no file is an error, or is taken for a file's name.
    records = f" {shlex.quote(str(races))}/*.json" if saved else ""
    print_sentence(f"To check all of it: carpet verify {shlex.quote(str(folder / 'tournament.json'))}{records}")
    if missing:
        again = shlex.join(["carpet", "tournament", "export", address.typed, document.id, str(folder), "--records"])
        fail(f"{counted(missing, 'record')} could not be had; to try again, for what is missing: {again}")


def _wait(address: Address, seconds: float) -> None:
    """Wait until the server takes requests again. Not a word of the single seconds by which it slows down whoever asks for much."""
    if seconds > NOTICE_S:
        complain(f"carpet: the server at {address.place} wants a pause; going on in {seconds:.0f} seconds.")
    sleep(seconds)


def tournament_id(typed: str) -> str:
    """The id of a tournament as typed, perhaps with spaces or hyphens between the letters."""
    id_ = read_code(typed)
    if not is_tournament_id(id_):
        fail(f"{typed[:40]!r} is not the id of a tournament: it is six letters, as carpet tournament list shows them.", MISUSED)
    return id_


def listing_lines(listed: Sequence[TournamentListing]) -> list[str]:
    """The tournaments as a table."""
    if not listed:
        return ["No tournaments yet; carpet tournament create makes one."]
    rows = [
        (
            clean_name(each.id),
            FORMAT_WORDS[each.format],
            clean_name(each.rules),
            PHASE_WORDS[each.phase] + (" by code" if each.by_code and each.phase == "registration" else ""),
            str(each.round or ""),
            str(each.entrants),
            f"{title_text(each.name)} (director {clean_name(each.director)})",
        )
        for each in listed
    ]
    return table_lines(("id", "format", "rules", "status", "round", "entrants", "title"), rows, right=(4, 5))


def standings_lines(document: TournamentDocument, *, plain: bool) -> list[str]:
    """The standings, with names at the end of the lines. plain: fractions as decimals."""
    entrants = {entrant.id: entrant for entrant in document.entrants}
    number = f", round {len(document.rounds)}" if document.rounds else ""
    lines = [f"{title_text(document.options.name)}: {FORMAT_WORDS[document.options.format]}, {PHASE_WORDS[document.phase]}{number}."]
    if not document.standings:
        return [*lines, "Nobody has entered yet."]
    if not document.rounds:
        heads, seeded = ("seed", "rating", "checked in", "entrant"), sorted(document.entrants, key=lambda each: each.seed)
        here = [(str(each.seed), str(each.rating or ""), "yes" if each.nonce or each.bot else "", _marked(each)) for each in seeded]
        return [*lines, *table_lines(heads, here, right=(0, 1))]
    kinds = [TIE_BREAK_HEADS.get(kind, clean_name(kind)[:5]) for kind in document.tie_breaks]
    rows = []
    for row in document.standings:
        entrant = entrants.get(row.entrant)
        name = _marked(entrant) if entrant is not None else clean_name(row.entrant)
        ties = [quarters_text(value, plain=plain) for value in row.tie_breaks[: len(kinds)]]
        ties += [""] * (len(kinds) - len(ties))
        record = (str(row.won), str(row.drawn), str(row.lost))
        rows.append((str(row.place), points_text(row.half_points, plain=plain), *ties, *record, name))
    told = [f"{head}: {TIE_BREAK_WORDS[kind]}" for kind, head in TIE_BREAK_HEADS.items() if kind in document.tie_breaks]
    legend = wrap(f"{'; '.join(told)}.", 78) if told else []
    return [*lines, *table_lines(("place", "points", *kinds, "w", "d", "l", "entrant"), rows, right=range(5 + len(kinds))), *legend]


def table_list(document: TournamentDocument, paired: RoundDocument, *, plain: bool) -> list[str]:
    """The tables of a round. plain: as in `standings_lines`."""
    names = {entrant.id: _marked(entrant) for entrant in document.entrants}
    is_alone = document.options.format == "session"
    nobody = "alone" if is_alone else "the house"

    def name(side: str | None) -> str:
        return names.get(side, clean_name(side)) if side is not None else nobody

    rows = [
        (
            f"{each.table} {clean_name(each.match)}".rstrip(),
            name(each.first),
            name(each.second),
            _result_cell(each, alone=is_alone, plain=plain),
        )
        for each in paired.tables
    ]
    rows += [
        ("", name(bye.entrant), "", f"bye on request, {points_text(bye.half_points, plain=plain)}")
        for bye in document.byes
        if bye.round == paired.number
    ]
    title = f"{title_text(document.options.name)}: round {paired.number}."
    return [title, *table_lines(("table", "player", "against", "result"), rows)]


def log_lines(document: TournamentDocument) -> list[str]:
    """The log, oldest first, each entry with the time since the tournament was made."""
    if not document.log:
        return ["No decisions yet."]
    rows = [(str(each.number), clock_text(each.at_ms - document.made_at_ms, tenths=False), decision_text(each)) for each in document.log]
    return table_lines(("number", "after", "decision"), rows, right=(0, 1))


def _result_cell(table: TableDocument, *, alone: bool, plain: bool) -> str:
    result = table.result
    if result is None:
        return "" if table.counted else "bye"
    return ", ".join(filter(None, (result_text(result, alone=alone, plain=plain), decided_by(result))))


def _marked(entrant: EntrantDocument) -> str:
    return f"{clean_name(entrant.name)}{' (bot)' if entrant.bot is not None else ''}{' (out)' if entrant.withdrawn else ''}"


def printable_table(text: str) -> str:
    """A server's table without characters that a terminal might obey."""
    return "".join(character for character in text if character == "\n" or character.isprintable()).rstrip("\n")
