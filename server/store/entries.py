"""The table of journal entries: what each kind needs, checks and writes; and next to that, how it is read back.

A new kind is a class in `port`, a row in `KINDS` and a function that writes it. Commands of races, a thousand for each other entry, are not
written one by one: see `batches`.

`steps` says how the steps of a kind are carried out and checked.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from itertools import repeat
from typing import Any, Final

from protocol.record import SeatRecord
from protocol.text import clean_name
from server.race.rating import Rating, RatingChange, Unratable, rate_record
from server.store.answers import Player
from server.store.documents import (
    BadDocument,
    Opened,
    decode_nonces,
    decode_opening,
    decode_options,
    encode,
    encode_opening,
)
from server.store.errors import EntryRefused, NameTaken, RunAlready
from server.store.port import (
    Banned,
    Entry,
    PlayedSeat,
    PlayerMade,
    PlayerRenamed,
    PlayerSeen,
    PlayersLeft,
    RaceAborted,
    RaceOpened,
    RaceOver,
    SharedDealMade,
    SharedDealRevealed,
    TournamentDecided,
    TournamentMade,
    TournamentRemoved,
    Unbanned,
    deal_key,
    name_key,
    runs_once,
)
from server.store.sql import Row, Values
from server.store.steps import Kind, Steps, WriteStep, insert, insertion


def _checked_name(name: str) -> str:
    if not name or clean_name(name) != name:
        raise EntryRefused(f"{name!r} is not a name as it is kept: printable, one line, at most 24 characters")
    return name


# ---- players


def _make_player(entry: PlayerMade) -> Steps:
    player = {
        "id": entry.player,
        "name": _checked_name(entry.name),
        "name_key": name_key(entry.name),
        "token_hash": entry.token_hash,
        "created_at_ms": entry.at_ms,
        "seen_at_ms": entry.at_ms,
    }
    yield insert("players", player)


def _name_clash(entry: PlayerMade | PlayerRenamed, constraint: str) -> EntryRefused:
    if "name_key" in constraint:
        return NameTaken(entry.name)
    return EntryRefused(f"player {entry.player} or their token is known already")


def _rename_player(entry: PlayerRenamed) -> Steps:
    row = {"id": entry.player, "name": _checked_name(entry.name), "name_key": name_key(entry.name)}
    yield WriteStep("UPDATE players SET name = :name, name_key = :name_key WHERE id = :id", [row])


def _see_player(entry: PlayerSeen) -> Steps:
    yield WriteStep("UPDATE players SET seen_at_ms = :at_ms WHERE id = :id", [{"id": entry.player, "at_ms": entry.at_ms}])


def player_of(row: Row) -> Player:
    return Player(id=row.id, name=row.name, seen_at_ms=row.seen_at_ms, rating=rating_of(row))


def rating_of(row: Row) -> Rating | None:
    """None before the first rated race."""
    return Rating(row.mu, row.sigma, row.races) if None not in (row.mu, row.sigma) else None


def rating_row(player: str, rating: Rating | None) -> tuple[Any, ...]:
    """The values for `RATE`. rating: None if the player has none."""
    if rating is None:
        return None, None, 0, player
    return rating.mu, rating.sigma, rating.races, player


# ---- races


_OPEN: Final = insertion(
    "races", "id", "room", "number", "options", "secret", "software", "opened_at_ms", "phase", "deal", "node", "listed"
)


def _open_race(entry: RaceOpened) -> Steps:
    spec = entry.spec
    key = deal_key(spec.deal.kind, spec.deal.id) if spec is not None else None
    if key is not None:
        yield WriteStep("SELECT 1 AS found FROM shared_deals WHERE key = :key", [{"key": key}], f"there is no shared deal {key}")
    if entry.node:
        yield WriteStep(
            "SELECT 1 AS found WHERE NOT EXISTS (SELECT 1 FROM races WHERE room = :room AND phase = 'running' AND node <> :node)",
            [{"room": entry.room, "node": entry.node}],
            f"another node has a room {entry.room}",
        )
    options = encode_opening(Opened(entry.options, entry.series, spec, entry.start_position, entry.won, entry.matched))
    listed = entry.options.rules if entry.options.public else None
    race = (entry.race, entry.room, entry.number, options, entry.secret, entry.software, entry.at_ms, "running", key, entry.node, listed)
    yield WriteStep(_OPEN, [race])
    if spec is not None and runs_once(spec) and spec.invited:
        runs = [{"deal": key, "rules": entry.options.rules, "player": player, "race": entry.race} for player in spec.invited]
        yield insert("runs", *runs)


def _opening_clash(entry: RaceOpened, constraint: str) -> EntryRefused:
    if "runs" in constraint and entry.spec is not None:
        deal = entry.spec.deal
        return RunAlready(f"a player of race {entry.race} has had a run of the deal {deal_key(deal.kind, deal.id)}")
    return EntryRefused(f"race {entry.race} was opened before")


def opened_of(row: Row) -> RaceOpened:
    """Raises BadDocument."""
    opening = decode_opening(row.options)
    for text in (row.id, row.room, row.software):
        if not text.isprintable():
            raise BadDocument(f"{text!a} where a name stood")
    return RaceOpened(
        race=row.id,
        room=row.room,
        number=row.number,
        options=opening.options,
        secret=row.secret,
        software=row.software,
        at_ms=row.opened_at_ms,
        series=opening.series,
        won=opening.won,
        spec=opening.spec,
        start_position=opening.start_position,
        matched=opening.matched,
    )


def _end_race(entry: RaceOver) -> Steps:
    record = entry.record
    yield _close_race(entry, "over", None)
    if len(entry.players) != len(record.seats):
        raise EntryRefused(f"race {entry.race}: its record has {len(record.seats)} seats, and there are {len(entry.players)} players")
    yield WriteStep(
        "INSERT INTO records (race, record, digest, finished_at_ms, number)"
        " VALUES (?, ?, ?, ?, (SELECT coalesce(max(number), 0) + 1 FROM records))",
        [(entry.race, encode(record), record.digest, entry.at_ms)],
    )
    changes = (yield from _rate(entry)) if record.rated else ()
    if entry.players:
        seats = zip(record.seats, entry.players, changes or repeat(None), strict=False)
        yield WriteStep(_SEAT, _seat_rows(entry, seats, entry.here, entry.gone))
    if changes:
        yield WriteStep(RATE, [rating_row(seat.player, change.after) for seat, change in zip(record.seats, changes, strict=True)])


def _rate(entry: RaceOver) -> Generator[WriteStep, Any, tuple[RatingChange, ...]]:
    """What the race does to each seat's rating, starting from the players' present ratings."""
    record = entry.record
    # Ratings can be recomputed from records alone, so records have to name the same players.
    if tuple(seat.player for seat in record.seats) != entry.players:
        raise EntryRefused(f"race {entry.race}: its record is rated and names other players")
    marks = ", ".join("?" * len(entry.players)) or "NULL"
    rows = yield WriteStep(f"SELECT id, mu, sigma, races FROM players WHERE id IN ({marks})", [entry.players])  # noqa: S608
    ratings = {row.id: rating for row in rows if (rating := rating_of(row)) is not None}
    try:
        return rate_record(record, ratings)
    except Unratable as error:
        raise EntryRefused(f"race {entry.race}: {error}") from error


def _abort_race(entry: RaceAborted) -> Steps:
    yield _close_race(entry, "aborted", entry.reason)
    if entry.seats:
        yield WriteStep(_SEAT, _seat_rows(entry, ((seat, seat.player, seat.rating) for seat in entry.seats)))
    else:
        # It had not begun, so nobody has seen a card of it.
        yield WriteStep("DELETE FROM runs WHERE race = :race", [{"race": entry.race}])


def _close_race(entry: RaceOver | RaceAborted, phase: str, reason: str | None) -> WriteStep:
    return WriteStep(
        "UPDATE races SET phase = ?, ended_at_ms = ?, reason = ? WHERE id = ? AND phase = 'running'",
        [(phase, entry.at_ms, reason, entry.race)],
        f"race {entry.race} is not running",
    )


RATE: Final = "UPDATE players SET mu = ?, sigma = ?, races = ? WHERE id = ?"


def _seat_rows(
    entry: RaceOver | RaceAborted,
    seats: Iterable[tuple[SeatRecord | PlayedSeat, str | None, RatingChange | None]],
    here: Sequence[int] = (),
    gone: Sequence[int] = (),
) -> list[Values]:
    """seats: each with its player, and what the race did to their rating."""
    race, at_ms = entry.race, entry.at_ms
    return [
        (race, seat, player, s.name, s.bot, s.state, s.place, s.home, s.ended_at_ms, at_ms, seat in here, seat in gone, *_changed(change))
        for seat, (s, player, change) in enumerate(seats)
    ]


_CHANGED: Final = "mu_before", "sigma_before", "mu_after", "sigma_after", "rated_races"
_SEAT: Final = insertion(
    "seats", "race", "seat", "player", "name", "bot", "state", "place", "home", "ended_at_ms", "finished_at_ms", "here", "gone", *_CHANGED
)


def change_row(change: RatingChange | None) -> dict[str, Any]:
    """The columns of a seat that say what its race did to its player's rating."""
    return dict(zip(_CHANGED, _changed(change), strict=True))


def _changed(change: RatingChange | None) -> tuple[Any, ...]:
    if change is None:
        return (None,) * len(_CHANGED)
    before, after = change.before, change.after
    return before.mu, before.sigma, after.mu, after.sigma, after.races


def change_of(row: Row) -> RatingChange | None:
    """None if the race did not count."""
    if None in (row.mu_before, row.sigma_before, row.mu_after, row.sigma_after, row.rated_races):
        return None
    before = Rating(row.mu_before, row.sigma_before, row.rated_races - 1)
    return RatingChange(before=before, after=Rating(row.mu_after, row.sigma_after, row.rated_races))


def seat_of(row: Row) -> PlayedSeat:
    return PlayedSeat(row.player, row.name, row.bot, row.state, row.place, row.home, row.ended_at_ms, change_of(row))


def _leave_room(entry: PlayersLeft) -> Steps:
    over = "SELECT 1 AS found FROM races WHERE id = ? AND phase <> 'running'"
    if entry.seats:
        marks = ", ".join("?" * len(entry.seats))
        changed = "here = false, gone = true" if entry.gave_up else "here = false"
        leave = f"UPDATE seats SET {changed} WHERE race = ? AND seat IN ({marks}) AND EXISTS ({over})"  # noqa: S608
        if (yield WriteStep(leave, [(entry.race, *entry.seats, entry.race)])):
            return
    yield WriteStep(over, [(entry.race,)], f"race {entry.race} is not over")


# ---- shared deals and tournaments


def _make_deal(entry: SharedDealMade) -> Steps:
    deal = {
        "key": entry.key,
        "kind": entry.kind,
        "id": entry.id,
        "secret": entry.secret,
        "nonces": encode(entry.nonces),
        "options": encode(entry.options) if entry.options is not None else None,
        "owner": entry.owner,
        "made_at_ms": entry.at_ms,
        "reveals_at_ms": entry.reveals_at_ms,
    }
    yield insert("shared_deals", deal)


def deal_of(row: Row) -> SharedDealMade:
    """Raises BadDocument."""
    return SharedDealMade(
        kind=row.kind,
        id=row.id,
        secret=row.secret,
        at_ms=row.made_at_ms,
        nonces=decode_nonces(row.nonces),
        options=decode_options(row.options) if row.options is not None else None,
        owner=row.owner,
        reveals_at_ms=row.reveals_at_ms,
    )


def _reveal_deal(entry: SharedDealRevealed) -> Steps:
    key = deal_key(entry.kind, entry.id)
    reveal = "UPDATE shared_deals SET reveals_at_ms = :at_ms WHERE key = :key"
    yield WriteStep(reveal, [{"key": key, "at_ms": entry.at_ms}], f"there is no shared deal {key}")


def _make_tournament(entry: TournamentMade) -> Steps:
    tournament = {
        "id": entry.tournament,
        "director": entry.director,
        "secret": entry.secret,
        "document": entry.document,
        "made_at_ms": entry.at_ms,
        "node": entry.node,
    }
    yield insert("tournaments", tournament)


def tournament_of(row: Row) -> TournamentMade:
    return TournamentMade(tournament=row.id, director=row.director, secret=row.secret, document=row.document, at_ms=row.made_at_ms)


def _decide(entry: TournamentDecided) -> Steps:
    tournament = {"id": entry.tournament}
    yield WriteStep("SELECT 1 AS found FROM tournaments WHERE id = :id", [tournament], f"there is no tournament {entry.tournament}")
    found = yield WriteStep("SELECT coalesce(max(sequence), 0) AS last FROM decisions WHERE tournament = :id", [tournament])
    if entry.sequence != found[0].last + 1:
        raise EntryRefused(f"tournament {entry.tournament}: decision {entry.sequence} cannot follow decision {found[0].last}")
    decision = {
        "tournament": entry.tournament,
        "sequence": entry.sequence,
        "at_ms": entry.at_ms,
        "author": entry.author,
        "decision": entry.decision,
    }
    yield insert("decisions", decision)
    if entry.closes:
        yield WriteStep("UPDATE tournaments SET closed_at_ms = :at_ms WHERE id = :id", [{**tournament, "at_ms": entry.at_ms}])


def decision_of(row: Row) -> TournamentDecided:
    return TournamentDecided(tournament=row.tournament, sequence=row.sequence, at_ms=row.at_ms, author=row.author, decision=row.decision)


def _remove_tournament(entry: TournamentRemoved) -> Steps:
    row = {"id": entry.tournament, "first": deal_key("round", f"{entry.tournament}/1")}
    yield WriteStep("DELETE FROM decisions WHERE tournament = :id", [{"id": entry.tournament}])
    yield WriteStep(
        "DELETE FROM tournaments WHERE id = :id AND NOT EXISTS (SELECT 1 FROM shared_deals WHERE key = :first)",
        [row],
        f"there is no tournament {entry.tournament} without a round",
    )


# ---- bans


def _ban(entry: Banned) -> Steps:
    ban = {"kind": entry.kind, "subject": entry.subject}
    yield WriteStep("DELETE FROM bans WHERE kind = :kind AND subject = :subject", [ban])
    yield insert("bans", {**ban, "reason": entry.reason, "at_ms": entry.at_ms})


def _lift_ban(entry: Unbanned) -> Steps:
    ban = {"kind": entry.kind, "subject": entry.subject}
    yield WriteStep("DELETE FROM bans WHERE kind = :kind AND subject = :subject", [ban], f"{entry.subject} is not banned")


def _known(what: str) -> Callable[[Any, str], EntryRefused]:
    return lambda entry, constraint: EntryRefused(f"{what} {entry.id if what == 'deal' else entry.tournament} is known already")


KINDS: Final[dict[type[Entry], Kind]] = {
    PlayerMade: Kind(steps=_make_player, is_single=True, clash=_name_clash),
    PlayerRenamed: Kind(steps=_rename_player, needs=lambda entry: (entry.player,), clash=_name_clash),
    PlayerSeen: Kind(steps=_see_player, is_single=True, needs=lambda entry: (entry.player,)),
    RaceOpened: Kind(
        steps=_open_race,
        is_sound=lambda entry: entry.spec is None,
        needs=lambda entry: entry.spec.invited if entry.spec else (),
        clash=_opening_clash,
    ),
    RaceOver: Kind(steps=_end_race, is_sound=lambda entry: True, needs=lambda entry: entry.players),
    PlayersLeft: Kind(steps=_leave_room, is_sound=lambda entry: True),
    RaceAborted: Kind(steps=_abort_race, needs=lambda entry: [seat.player for seat in entry.seats]),
    SharedDealMade: Kind(steps=_make_deal, needs=lambda entry: (entry.owner,), clash=_known("deal")),
    SharedDealRevealed: Kind(steps=_reveal_deal),
    TournamentMade: Kind(steps=_make_tournament, needs=lambda entry: (entry.director,), clash=_known("tournament")),
    TournamentDecided: Kind(steps=_decide, needs=lambda entry: (entry.author,)),
    TournamentRemoved: Kind(steps=_remove_tournament),
    Banned: Kind(steps=_ban, needs=lambda entry: (entry.subject,) if entry.kind == "player" else ()),
    Unbanned: Kind(steps=_lift_ban),
}
"""All kinds but CommandTaken."""
