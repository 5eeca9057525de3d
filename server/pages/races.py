"""Pages about finished races: the record of one, its positions, and the history of a player."""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import Final, TypeAlias

import msgspec

from protocol import __version__
from protocol.pages import PAGE_RACES, History, HistoryRace, HistorySeat, is_race_id
from protocol.record import Record, to_json
from protocol.text import clean_chat, clean_name
from server.net.http import FOREVER, Asked, NoPage, Page, Route
from server.pages.readers import Readers
from server.pages.review_text import review_document
from server.race.boards import boards_document
from server.rooms.clock import Clock
from server.store.answers import Mark, PlayedRace
from server.store.errors import StoreCorrupt
from server.store.port import NEVER_MS, room_shown
from server.store.store import Store

Compute: TypeAlias = Callable[[Callable[[bytes], tuple[bytes, bytes]], bytes], Awaitable[tuple[bytes, bytes]]]
"""Runs a job in a worker."""

USUAL_RACES: Final = 20

_AN_HOUR: Final = "public, max-age=3600"
"""Not for ever: the next version may put more into what is made from a record."""


KEPT_BYTES: Final = 4 * 2**20
"""Size of the cache of documents last asked for, the largest of which take milliseconds to read and write. When full, the oldest goes."""


class DocumentCache:
    """A cache of the documents last asked for, of `KEPT_BYTES` in all."""

    def __init__(self) -> None:
        self._documents: OrderedDict[str, tuple[bytes, bytes]] = OrderedDict()

    def find(self, key: str) -> tuple[bytes, bytes] | None:
        if key in self._documents:
            self._documents.move_to_end(key)
        return self._documents.get(key)

    def add(self, key: str, *document: bytes) -> tuple[bytes, bytes]:
        self._documents[key] = kept = document[0], document[-1]
        while sum(len(part) for parts in self._documents.values() for part in set(parts)) > KEPT_BYTES:
            self._documents.popitem(last=False)
        return kept

    async def get(self, key: str, readers: Readers, make: Callable[[], Awaitable[tuple[bytes, ...]]]) -> tuple[bytes, bytes]:
        """The cached document, or one that a worker makes in its turn."""

        async def in_turn() -> tuple[bytes, bytes]:
            # Somebody else may have had it made meanwhile.
            return self.find(key) or self.add(key, *await make())

        if (kept := self.find(key)) is not None:
            return kept
        return await readers.work(in_turn)


def race_routes(readers: Readers, clock: Clock, compute: Compute) -> tuple[Route, ...]:
    """compute: for work that takes longer than a request may."""
    records = DocumentCache()

    async def find_record(asked: Asked) -> bytes:
        race = asked.values["id"]
        if not is_race_id(race):
            raise no_such_race()
        if (known := records.find(race)) is not None:
            return known[0]
        body = await readers.ask(partial(_record, race=race, now_ms=clock.wall_ms()))
        records.add(race, body)
        return body

    async def show_record(asked: Asked) -> Page:
        # It never changes, and no two races have the same id.
        return Page(await find_record(asked), cache=FOREVER)

    def made_by(job: Callable[[bytes], tuple[bytes, bytes]]) -> Callable[[Asked], Awaitable[Page]]:
        """A page that a worker makes from a record."""
        known = DocumentCache()

        async def show(asked: Asked) -> Page:
            race = asked.values["id"]
            record = await find_record(asked)
            body, zipped = await known.get(race, readers, partial(compute, job, record))
            return Page(body, cache=_AN_HOUR, tag=f'"{race}-{__version__}"', zipped=zipped)

        return show

    async def show_history(asked: Asked) -> Page:
        name = asked.values["name"]
        if clean_name(name) != name:
            raise no_such_player()
        limit, before = asked.number("limit", usual=USUAL_RACES, most=PAGE_RACES), _before(asked.query)
        return Page(await readers.ask(partial(_history, name=name, limit=limit, before=before, now_ms=clock.wall_ms())))

    return (
        Route("/races/{id}.json", show_record),
        Route("/races/{id}/boards.json", made_by(boards_document)),
        Route("/races/{id}/review.json", made_by(review_document)),
        Route("/players/{name}/races.json", show_history),
    )


def record_of(store: Store, *, race: str, now_ms: int) -> Record:
    """The record of a race that is over. Raises NoPage if there is none, or it is not to be seen yet."""
    # The status is read first: if the race ends meanwhile, it is reported as running, not as one without a record.
    status = store.race_status(race)
    if status is None:
        raise no_such_race()
    if status.phase == "running":
        raise NoPage(HTTPStatus.CONFLICT, "That race is still running; its record is available once it is over.", retry_after_s=10)
    if status.phase == "aborted":
        raise NoPage(HTTPStatus.GONE, f"That race was aborted and has no record: {_reason(status.reason)}.")
    if status.sealed_until_ms > now_ms:
        raise NoPage(
            HTTPStatus.FORBIDDEN, f"Others have yet to play the deal of that race; its record is available {_from(status.sealed_until_ms)}."
        )
    record = store.record(race)
    if record is None:
        raise StoreCorrupt(f"race {race} is over and has no record")
    return record


def _from(moment_ms: int) -> str:
    """From when on something sealed until this moment can be had, to the next full minute."""
    if moment_ms == NEVER_MS:
        return "once they have"
    minute = datetime.fromtimestamp(math.ceil(moment_ms / 60_000) * 60, UTC)
    return f"from {minute:%H:%M} UTC on {minute:%Y-%m-%d} on"


def _record(store: Store, *, race: str, now_ms: int) -> bytes:
    return to_json(record_of(store, race=race, now_ms=now_ms)).encode() + b"\n"


def _history(store: Store, *, name: str, limit: int, before: Mark | None, now_ms: int) -> bytes:
    player = store.player_by_name(name)
    if player is None:
        raise no_such_player()
    # One more than wanted, to know whether there is another page.
    races = store.history(player.id, limit=limit + 1, before=before)
    shown = races[:limit]
    following = _mark_text(shown[-1].mark) if len(races) > limit else None
    # The result of a run on a deal that others have yet to play stays secret until it is revealed.
    told = tuple(_line(race) for race in shown if race.sealed_until_ms <= now_ms)
    history = History(player=player.id, name=player.name, races=told, next=following)
    return msgspec.json.encode(history) + b"\n"


def _line(race: PlayedRace) -> HistoryRace:
    return HistoryRace(
        id=race.race,
        room=room_shown(race.race),
        race=race.number,
        rules=race.rules,
        finished_at_ms=race.finished_at_ms,
        aborted=_reason(race.aborted) if race.aborted is not None else None,
        seat=race.seat,
        seats=seats_of(race),
    )


def seats_of(race: PlayedRace) -> tuple[HistorySeat, ...]:
    """What the history tells about the seats."""
    return tuple(
        HistorySeat(
            player=seat.player,
            name=seat.name,
            bot=seat.bot,
            state=seat.state,
            place=seat.place,
            home=seat.home,
            ended_at_ms=seat.ended_at_ms,
            rating=seat.rating.shown if seat.rating is not None else None,
        )
        for seat in race.seats
    )


def _reason(reason: str | None) -> str:
    # It may quote a damaged log.
    return clean_chat(reason or "") or "nobody said why"


def _mark_text(mark: Mark) -> str:
    return f"{mark.finished_at_ms}-{mark.race}"


def _before(query: Mapping[str, str]) -> Mark | None:
    text = query.get("before")
    if text is None:
        return None
    moment, _, race = text.partition("-")
    if re.fullmatch(r"[0-9]{1,15}", moment) is None or not is_race_id(race):
        raise NoPage(HTTPStatus.BAD_REQUEST, "before must be the next of a page of this history.")
    return Mark(int(moment), race)


def no_such_race() -> NoPage:
    return NoPage(HTTPStatus.NOT_FOUND, "There is no race with that id.")


def no_such_player() -> NoPage:
    return NoPage(HTTPStatus.NOT_FOUND, "There is no player with that name.")
