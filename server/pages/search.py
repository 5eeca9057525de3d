"""Search for players, races, tournaments and deals of the day, by the beginning of a name, a rule set, or a date.

It is called at each key press, so its cost is bounded: names and rule sets are looked up in indexes of the store, the rest in memory.
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Final

import msgspec

from protocol.pages import FOUND, SEARCH_CHARACTERS, Found, FoundPlayer, FoundRace
from protocol.run_messages import Dailies, ListDailies
from protocol.text import clean_name
from server.net.http import Asked, NoPage, Page, Route
from server.pages.races import seats_of
from server.pages.readers import Readers
from server.pages.runs import ask_runs
from server.rooms.clock import Clock
from server.rooms.member import NOBODY
from server.rules.catalogue import RULE_SETS
from server.runs.service import RunService
from server.store.port import name_key
from server.store.store import Store
from server.tournaments.service import TournamentService

LOOKED_THROUGH: Final = 200
"""How many of the latest races, of a player or of all, are searched for those at the rule set whose deals nobody has yet to play."""


def search_route(readers: Readers, clock: Clock, runs: RunService, tournaments: TournamentService) -> Route:
    async def show(asked: Asked) -> Page:
        wanted, rules = asked.query.get("q", "").strip(), asked.query.get("rules", "")
        if len(wanted) > SEARCH_CHARACTERS:
            raise NoPage(HTTPStatus.BAD_REQUEST, f"q must have at most {SEARCH_CHARACTERS} characters.")
        if rules and rules not in RULE_SETS:
            raise NoPage(HTTPStatus.BAD_REQUEST, f"rules must be the id of a rule set: {', '.join(RULE_SETS)}.")
        found = await readers.ask(partial(_kept, wanted=wanted, rules=rules, now_ms=clock.wall_ms()))
        if wanted:
            key = name_key(wanted)
            named = (each for each in tournaments.listings() if key in name_key(each.name) and rules in ("", each.rules))
            days = await _days(readers, runs, wanted) if wanted[0].isdigit() else ()
            found = msgspec.structs.replace(found, tournaments=tuple(named)[:FOUND], days=days)
        return Page(msgspec.json.encode(found) + b"\n", cache="max-age=1")

    return Route("/search.json", show)


def _kept(store: Store, *, wanted: str, rules: str, now_ms: int) -> Found:
    """The part of the answer that comes from the store."""
    players = store.players_called(wanted, limit=FOUND) if wanted else ()
    player = store.player_by_name(clean_name(wanted)) if wanted else None
    if player is not None:
        races = store.history(player.id, limit=LOOKED_THROUGH)
    else:
        races = store.races_listed(rules, limit=LOOKED_THROUGH) if rules and not wanted else ()
    shown = [race for race in races if race.aborted is None and race.sealed_until_ms <= now_ms and rules in ("", race.rules)]
    return Found(
        players=tuple(
            FoundPlayer(
                name=each.name,
                rating=each.rating.worth if each.rating is not None and each.rating.races else None,
                races=each.rating.races if each.rating is not None else 0,
            )
            for each in players
        ),
        races=tuple(
            FoundRace(id=race.race, rules=race.rules, finished_at_ms=race.finished_at_ms, seats=seats_of(race)) for race in shown[:FOUND]
        ),
        tournaments=(),
        days=(),
    )


async def _days(readers: Readers, runs: RunService, wanted: str) -> tuple[str, ...]:
    told = await ask_runs(readers, lambda: runs.answer(NOBODY.id, ListDailies()))
    assert isinstance(told, Dailies)
    return tuple(day.date for day in told.days if day.date.startswith(wanted))[:FOUND]
