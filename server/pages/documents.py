"""Descriptions of the web page's documents, address by address; and whether there is anything at an address at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Final

import trio

from protocol.errors import Refusal
from protocol.pages import is_race_id
from protocol.record import Record
from protocol.run_messages import ListRuns
from protocol.text import counted, read_code
from server.net.http import Asked, NoPage, PageMoved
from server.pages.pictures import Curve, curves_of, running_curves
from server.pages.races import no_such_player, no_such_race, record_of
from server.pages.readers import Readers
from server.pages.runs import ask_runs
from server.pages.tournaments import find_tournament
from server.pages.web_page import ALWAYS, Describe, Description
from server.rooms.clock import Clock
from server.rooms.codes import is_code
from server.rooms.driver import Room
from server.rooms.member import NOBODY
from server.rooms.registry import Rooms
from server.rooms.spectator_port import Shown
from server.rules.catalogue import RULE_SETS
from server.runs.service import RunService
from server.store.store import Store
from server.tournaments.service import TournamentService

NAMED: Final = 3
"""A title names at most so many players; if there are more, it names one less and says how many others there are."""

SAFE_S: Final = 1.0
"""How long the picture of a running race waits until what it shows is safe on the disk."""


class Documents:
    """`addresses` has one function for each kind of address. is_elsewhere: whether another server of this place has the room with a code.
    embeds: races can be shown in other sites' pages."""

    def __init__(
        self,
        rooms: Rooms,
        readers: Readers,
        runs: RunService,
        tournaments: TournamentService,
        clock: Clock,
        *,
        is_elsewhere: Callable[[str], Awaitable[bool]] | None,
        embeds: bool,
    ) -> None:
        self._rooms = rooms
        self._readers = readers
        self._run_service = runs
        self._tournaments = tournaments
        self._clock = clock
        self._is_elsewhere = is_elsewhere
        self._embeds = embeds

    @property
    def addresses(self) -> Mapping[str, Describe]:
        return {
            "/play/{code}": self._play,
            "/watch/{code}": self._watch,
            "/race/{id}": self._race,
            "/tournament/{id}": self._tournament,
            "/tournament/{id}/screen": self._tournament,
            "/player/{name}": self._player,
            "/daily/{date}/{rules}": self._daily,
            "/challenge/{id}": self._challenge,
            "/embed/{id}": self._embed,
        }

    async def _play(self, asked: Asked) -> Description:
        room = await self._room(asked)
        names = _names(room) if room is not None else ""
        against = f"Race {names}" if names else "A race"
        return Description(f"{against} · Carpet Race", f"{against} at {_rules(room)}, with nothing installed: open the link and be ready.")

    async def _watch(self, asked: Asked) -> Description:
        room = await self._room(asked)
        if room is None:
            return Description("A race · Carpet Race", f"A race at {_rules(room)}, as it is run.")
        title = " · ".join((_names(room) or "A race", *await self._round(room), "Carpet Race"))
        curves = await self._curves(room) if asked.path.endswith((".svg", ".png")) else ()
        return Description(title, f"A race at {_rules(room)}, as it is run.", curves, _first(room))

    async def _round(self, room: Room) -> tuple[str, ...]:
        """The name and round of the tournament, if the room is that of a table."""
        spec = room.summary.spec
        found = await self._tournaments.document(spec.tournament) if spec is not None and spec.tournament else None
        return () if spec is None or found is None else (f"{found.options.name}, round {spec.deal.id.partition('/')[2]}",)

    async def _curves(self, room: Room) -> tuple[Curve, ...]:
        """The curves, as far as spectators are shown them now."""
        shown: list[Shown] = []
        safe = trio.Event()

        def tell(told: Shown) -> None:
            shown.append(told)
            safe.set()

        spec = room.summary.spec
        if (spec is None or spec.watchable) and room.show(tell, with_boards=False):
            with trio.move_on_after(SAFE_S):
                await safe.wait()
        return running_curves(shown[0].room.seats, shown[0].curves, shown[0].room.elapsed_ms) if shown else ()

    async def _room(self, asked: Asked) -> Room | None:
        """The room; None if another server of this place has it, to which the page's connection is then sent."""
        code = read_code(asked.values["code"])
        try:
            room = self._rooms.find(code)
            if not room.is_listed:
                asked.check_guess(code)
            return room
        except Refusal as refusal:
            asked.check_guess(code)
            elsewhere = self._is_elsewhere if is_code(code) else None
            if elsewhere is not None and await self._readers.wait(lambda: elsewhere(code)):
                return None
            race = await self._readers.ask(lambda store: store.last_race(code)) if is_code(code) else None
            if race is not None:
                raise PageMoved(f"/race/{race}") from refusal
            sentence = "No race has that code now. It may be over, or the code mistyped: ask for it again."
            raise NoPage(HTTPStatus.NOT_FOUND, sentence) from refusal

    async def _race(self, asked: Asked) -> Description:
        race = asked.values["id"]
        if not is_race_id(race):
            # Players know a race by its code.
            code = read_code(race)
            if not is_code(code):
                raise no_such_race()
            await self._room(replace(asked, values={"code": code}))
            raise PageMoved(f"/watch/{code}")
        record, ratings = await self._readers.ask(partial(_record_and_ratings, race=race, now_ms=self._clock.wall_ms()))
        names = _against([_titled(seat.name, seat.bot) for seat in record.seats])
        return Description(f"{names} · Carpet Race", f"{_result(record)} Replay it, board by board.", curves_of(record), ratings)

    async def _embed(self, asked: Asked) -> Description:
        if not self._embeds:
            raise NoPage(
                HTTPStatus.NOT_FOUND, "This server does not show races in pages of other sites; its host can allow it with --embed-in."
            )
        identity = asked.values["id"]
        if identity == "closest":
            return ALWAYS["/watch/closest"]
        if is_race_id(identity):
            return await self._race(asked)
        try:
            return await self._watch(replace(asked, values={"code": identity}))
        except PageMoved as moved:
            raise PageMoved(moved.place.replace("/race/", "/embed/", 1)) from moved

    async def _tournament(self, asked: Asked) -> Description:
        found = await find_tournament(self._tournaments, asked)
        options = found.options
        return Description(
            f"{options.name} · Carpet Race", f"A tournament at {RULE_SETS[options.rules].name}: {len(found.entrants)} entrants."
        )

    async def _player(self, asked: Asked) -> Description:
        found = await self._readers.ask(lambda store: store.player_by_name(asked.values["name"]))
        if found is None:
            raise no_such_player()
        rating = f"Rating {found.rating.worth}." if found.rating is not None and found.rating.races else "Not rated yet."
        return Description(f"{found.name} · Carpet Race", f"{rating} Races, opponents and results.")

    async def _daily(self, asked: Asked) -> Description:
        date, rules = asked.values["date"], asked.values["rules"]
        question = ListRuns(kind="daily", id=date, rules=rules)
        await ask_runs(self._readers, lambda: self._run_service.answer(NOBODY.id, question))
        return Description(f"Deal of {date} · Carpet Race", f"{RULE_SETS[rules].name}: the board of the deal of {date}.")

    async def _challenge(self, asked: Asked) -> Description:
        info = await ask_runs(self._readers, lambda: self._run_service.challenge(asked.values["id"]))
        return Description(
            f"{info.owner or 'Somebody'} challenges you · Carpet Race",
            f"{RULE_SETS[info.rules].name}: the same deal for everybody, once each, in their own time. {counted(info.runs, 'run')} so far.",
            first={"owner": info.owner, "closes_at_ms": info.closes_at_ms},
        )


def _record_and_ratings(store: Store, *, race: str, now_ms: int) -> tuple[Record, object]:
    """The record, and what the race did to its seats' ratings: that is no part of the record, and the page of the race shows it."""
    record = record_of(store, race=race, now_ms=now_ms)
    changes = store.rating_changes(race)
    return record, {"ratings": [change.shown for change in changes]} if changes else None


def _first(room: Room) -> object:
    """Everybody's progress, which is public at once; only while the race is running."""
    summary = room.summary
    if summary.phase != "racing" or (summary.spec is not None and not summary.spec.watchable):
        return None
    seats = [{"seat": number, "name": seat.name, "bot": seat.bot, "home": seat.home} for number, seat in enumerate(summary.seats)]
    return {"seats": seats, "cards": RULE_SETS[summary.options.rules].deck_size}


def _names(room: Room) -> str:
    return _against([_titled(seat.name, seat.bot) for seat in room.summary.seats if seat.name])


def _titled(name: str, bot: str | None) -> str:
    return f"{name} (bot)" if bot else name


def _against(names: Sequence[str]) -> str:
    """The names as one phrase, in the words of the page."""
    shown = names if len(names) <= NAMED else names[: NAMED - 1]
    return " against ".join(shown) + (f" and {len(names) - len(shown)} more" if len(shown) < len(names) else "")


def _rules(room: Room | None) -> str:
    return RULE_SETS[room.summary.options.rules].name if room is not None else "Carpet"


def _result(record: Record) -> str:
    seats = sorted(record.seats, key=lambda seat: seat.place)
    places = ", ".join(f"{seat.place}. {seat.name} with {seat.home} cards home" for seat in seats)
    return f"{RULE_SETS[record.rules].name}: {places}."
