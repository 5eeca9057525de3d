"""What is kept about one player: gives it out, and takes their name out of it.

A player cannot be deleted: their races are their opponents' races too, and ratings follow from them. So a forgotten player stays, under a
name that says nothing, and nobody can come back as them. Names in words that somebody wrote, such as a director's reasons, are not found.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from protocol.record import Record, sealed
from server.store import schema
from server.store.compaction import batches
from server.store.connections import brief_reading
from server.store.database import open_database
from server.store.documents import BadDocument, decode_commands, decode_opening, decode_record, encode, encode_commands, encode_opening
from server.store.errors import StoreCorrupt, StoreError, StoreUnavailable
from server.store.locations import existing
from server.store.port import name_key, room_shown
from server.store.sql import Row, Sql

NOBODY: Final = "somebody"
"""What a forgotten player is called, with a random number behind it."""

_KEPT: Final = {
    "races": "SELECT * FROM seats WHERE player = :id ORDER BY finished_at_ms",
    "runs": "SELECT deal, rules, race FROM runs WHERE player = :id",
    "challenges": "SELECT id, made_at_ms FROM shared_deals WHERE owner = :id ORDER BY made_at_ms",
    "tournaments_directed": "SELECT id, made_at_ms, document FROM tournaments WHERE director = :id ORDER BY made_at_ms",
    "decisions": "SELECT * FROM decisions WHERE author = :id OR decision LIKE :named ORDER BY at_ms",
    "bans": "SELECT reason, at_ms FROM bans WHERE kind = 'player' AND subject = :id",
}


def about(player: str, where: str | None) -> dict[str, Any]:
    """All that is kept about a player, also while a server runs, as plain values: rows by what they are about. player: a name or an id.

    The records of their races are not in it, since some may not be told yet, and their token is known to nobody. Raises StoreError.
    """
    with brief_reading(existing(where)) as sql:
        schema.check(sql)
        found = _found(sql, player)
        own = {key: value for key, value in found._asdict().items() if key not in ("token_hash", "name_key")}
        values = {"id": found.id, "named": f'%"{found.id}"%'}
        return {"player": own, **{what: [row._asdict() for row in sql.rows(query, values)] for what, query in _KEPT.items()}}


def forget(player: str, where: str | None) -> str:
    """Replace a player's name by a random one wherever it is kept, and let nobody be them any more. Gives the new name.

    Raises StoreError, with nothing changed: StoreInUse while a server uses the database, StoreUnavailable if they are in a race. Also
    StoreUnavailable, which says that it is done, if the file cannot be written anew afterwards.
    """
    existing(where)
    with closing(open_database(where)) as store:
        with store.maintaining() as sql:
            name = _forgotten(sql, player)
        try:
            # Otherwise the name would stay in the file, in places that are free again, now or since long ago.
            store.write_anew()
        except StoreError as error:
            way = f"the old name may be in free pages of the file until db forget {name!r} is done too"
            raise StoreUnavailable(f"they are {name} now, but {way}: {error}") from error
        return name


def _forgotten(sql: Sql, player: str) -> str:
    found, name = _found(sql, player), f"{NOBODY} {secrets.token_hex(3)}"
    try:
        _forget_commands(sql, found)
        seats = _seats_of(sql, found.id)
        records = list(_records_without(sql, found.id, seats, name))
        openings = list(_openings_without(sql, seats, name, {changed["race"]: changed["digest"] for changed in records}))
        decisions = list(_decisions_without(sql, found.id, name))
        documents = list(_documents_without(sql, found.id, name))
    except (BadDocument, msgspec.DecodeError) as error:
        raise StoreCorrupt(f"nothing was changed: {error}; run carpet-server db check") from error
    sql.run(
        "UPDATE players SET name = :name, name_key = :key, token_hash = :token WHERE id = :id",
        [{"name": name, "key": name_key(name), "token": secrets.token_bytes(32), "id": found.id}],
    )
    sql.run("UPDATE records SET record = :record, digest = :digest WHERE race = :race", records)
    sql.run("UPDATE races SET options = :options WHERE id = :race", openings)
    sql.run("UPDATE decisions SET decision = :decision WHERE tournament = :tournament AND sequence = :sequence", decisions)
    sql.run("UPDATE tournaments SET document = :document WHERE id = :id", documents)
    sql.run("UPDATE seats SET name = :name WHERE player = :id", [{"name": name, "id": found.id}])
    return name


def _found(sql: Sql, player: str) -> Row:
    found = sql.rows("SELECT * FROM players WHERE name_key = :key OR id = :id", {"key": name_key(player), "id": player})
    if not found:
        raise StoreUnavailable(f"there is no player {player!r}")
    if len(found) > 1:
        raise StoreUnavailable(f"{player} is the name of one player and the id of another")
    return found[0]


def _forget_commands(sql: Sql, player: Row) -> None:
    """Take their commands out of races that are over, since these may stay in the log for a while. Raises StoreUnavailable if one runs."""
    word, running = player.id.encode(), {row.id.encode() for row in sql.rows("SELECT id FROM races WHERE phase = 'running'")}
    for batch in batches(sql):
        if word not in batch.commands:
            continue
        commands = decode_commands(batch.commands)
        held = next((race.decode(errors="replace") for race, _, _, text in commands if word in text and race in running), None)
        if held is not None:
            way = f"end it first, by carpet-server admin rooms end {room_shown(held)}"
            raise StoreUnavailable(f"{player.name} is in a race that is not over, or was in its room: {way}")
        kept = [command for command in commands if word not in command[3]]
        sql.run("UPDATE batches SET commands = ? WHERE number = ?", [(encode_commands(kept), batch.number)])


def _seats_of(sql: Sql, player: str) -> Mapping[str, set[int]]:
    """The seats they had, by race."""
    seats: defaultdict[str, set[int]] = defaultdict(set)
    for row in sql.rows("SELECT race, seat FROM seats WHERE player = :id", {"id": player}):
        seats[row.race].add(row.seat)
    return seats


def _records_without(sql: Sql, player: str, seats: Mapping[str, set[int]], name: str) -> Iterator[dict[str, str]]:
    """The records that change: those of their races, and those of races that were played on from one of these, which name its digest."""
    changed: dict[str, str] = {}
    concerned = "race IN (SELECT race FROM seats WHERE player = :id) OR record LIKE :past"
    # Whatever was played on from has the lower number.
    query = f"SELECT race, record, digest FROM records WHERE {concerned} ORDER BY number"  # noqa: S608
    for row in sql.rows(query, {"id": player, "past": '%"past":%'}):
        record = _renamed(decode_record(row.record, row.digest), seats.get(row.race, ()), name, changed)
        if record.digest != row.digest:
            changed[row.race] = record.digest
            yield {"race": row.race, "record": encode(record), "digest": record.digest}


def _renamed(record: Record, seats: Iterable[int], name: str, digests: dict[str, str]) -> Record:
    """digests: new ones, by race."""
    deal = record.deal
    if deal.past is not None and deal.past.race in digests:
        deal = replace(deal, past=replace(deal.past, digest=digests[deal.past.race]))
    renamed = (replace(seat, name=name) if number in seats else seat for number, seat in enumerate(record.seats))
    return sealed(replace(record, deal=deal, seats=tuple(renamed)))


def _openings_without(sql: Sql, seats: Mapping[str, set[int]], name: str, digests: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The openings that change: of later races of their series, which hold the results of the earlier ones, and of races played on."""
    query = "SELECT id, options FROM races WHERE options LIKE :series OR options LIKE :past"
    for row in sql.rows(query, {"series": '%"series_so_far":%', "past": '%"played_on_from":%'}):
        opened = changed = decode_opening(row.options)
        if opened.series is not None and opened.series.last in seats:
            own = seats[opened.series.last]
            # Whoever has a seat in one race of a series has it in all of them.
            results = (
                tuple(replace(result, name=name) if seat in own else result for seat, result in enumerate(race))
                for race in opened.series.results
            )
            changed = changed._replace(series=replace(opened.series, results=tuple(results)))
        if opened.start_position is not None and opened.start_position.past.race in digests:
            past = replace(opened.start_position.past, digest=digests[opened.start_position.past.race])
            changed = changed._replace(start_position=dataclasses.replace(opened.start_position, past=past))
        if changed != opened:
            yield {"race": row.id, "options": encode_opening(changed)}


def _decisions_without(sql: Sql, player: str, name: str) -> Iterator[dict[str, Any]]:
    for row in sql.rows("SELECT * FROM decisions WHERE decision LIKE :named", {"named": f'%"{player}"%'}):
        match msgspec.json.decode(row.decision):
            case [version, tag, {"entrant": entrant, "name": _, **more}] if entrant == player:
                decision = msgspec.json.encode([version, tag, {"entrant": entrant, "name": name, **more}]).decode()
            case [version, tag, {"player": directs, "name": _, **more}] if directs == player:
                decision = msgspec.json.encode([version, tag, {"player": directs, "name": name, **more}]).decode()
            case _:
                continue
        yield {"tournament": row.tournament, "sequence": row.sequence, "decision": decision}


def _documents_without(sql: Sql, player: str, name: str) -> Iterator[dict[str, str]]:
    for row in sql.rows("SELECT id, document FROM tournaments WHERE director = :id", {"id": player}):
        match msgspec.json.decode(row.document):
            case [version, {"director_name": _, **more}]:
                yield {"id": row.id, "document": msgspec.json.encode([version, {**more, "director_name": name}]).decode()}
