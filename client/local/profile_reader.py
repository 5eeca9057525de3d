"""What this machine and a server know of the player: for their own page, and the records of the races on it.

A server is asked by plain HTTP, and with the player's token for what only they may see; neither disturbs a race that they are in.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from functools import partial
from typing import Final, NamedTuple, TypeVar

import trio

from client.connection.address import Address
from client.connection.client import open_link
from client.connection.errors import Failure, LinkError, RequestRefused
from client.connection.events import Identity
from client.connection.http import PageRefused, fetch_history, fetch_ladder, fetch_record
from client.connection.notice import unannounced
from client.connection.websocket import Dial
from client.local.kept_races import kept_races
from client.storage.bests import BestsStore
from client.storage.identity import IdentityStore, default_name, home_folder
from client.storage.saved_records import kept_record
from client.text.past_races import PastRace, past_race
from client.text.profile import Profile, Streak, profile
from protocol.pages import LADDER_PLAYERS, PAGE_RACES, LadderPlayer
from protocol.record import Record
from protocol.run_messages import ListRuns, Runs

Fetched = TypeVar("Fetched")

LISTED: Final = 30
"""Races kept here that are looked at."""
MOST_STREAKS: Final = 3
"""Rule sets whose deals of the day are asked for, those tried most often first: a server answers only so many."""
PROFILE_PATIENCE_S: Final = 4.0
"""How long each page of a server is waited for: what this machine knows stands ready meanwhile."""


class _Told(NamedTuple):
    """What a server says of a player. streaks: None if it did not say."""

    races: tuple[PastRace, ...]
    ladder: tuple[LadderPlayer, ...]
    streaks: tuple[Streak, ...] | None


class NotKept(Failure):
    """There is no record of that race on this machine."""


class ProfileReader:
    """address: of the server; None for this machine alone. name: the player's there; None for the one who got in last."""

    def __init__(self, address: Address | None, name: str | None = None) -> None:
        self._address = address
        self._name = name

    async def read(self) -> Profile:
        """Everything. A server that does not answer is said in the profile. Raises BestsError, IdentityError."""
        bests = BestsStore(home_folder()).read().rules
        kept = await trio.to_thread.run_sync(partial(kept_races, None, LISTED), abandon_on_cancel=True)
        if self._address is None:
            return profile(default_name(), kept=kept, bests=bests)
        place, mine = self._address.typed, IdentityStore(home_folder()).identity(self._address.url, self._name)
        if mine.token is None:
            return profile(mine.name, kept=kept, bests=bests, lacks=f"You have not been at {place} yet.")
        rules = sorted(bests, key=lambda each: -bests[each].tries)[:MOST_STREAKS] or ["carpet"]
        try:
            told = await self._told(self._address, mine, rules)
        except Failure as error:
            return profile(mine.name, place, kept=kept, bests=bests, lacks=str(error))
        return profile(mine.name, place, told=told.races, kept=kept, ladder=told.ladder, bests=bests, streaks=told.streaks)

    async def _told(self, address: Address, mine: Identity, rules: Sequence[str]) -> _Told:
        """Raises PageRefused, NotAPage, LinkError."""
        # The screens say themselves what they wait for.
        with unannounced():
            fetch_races = partial(fetch_history, address, mine.name, limit=PAGE_RACES)
            races = await _soon(fetch_races, address)
            ladder = await _soon(partial(fetch_ladder, address, limit=LADDER_PLAYERS), address)
        return _Told(tuple(PastRace(race, race.seat) for race in races), ladder, await self._streaks(address, mine, rules))

    async def _streaks(self, address: Address, mine: Identity, rules: Sequence[str]) -> tuple[Streak, ...] | None:
        with contextlib.suppress(LinkError):
            return await daily_streaks(address.url, mine, rules)
        return None

    async def record(self, race: str) -> tuple[Record, int | None]:
        """A race on the page, and the player's own seat in it, if it is known. race: an id, by `is_race_id`.

        Raises NotKept, PageRefused, NotAPage, LinkError, IdentityError.
        """
        players, names = IdentityStore(home_folder()).own()
        record = kept_record(home_folder(), race)
        if record is None:
            if self._address is None:
                raise NotKept(f"Race {race} is not kept here any more.")
            with unannounced():
                record = await trio.to_thread.run_sync(partial(fetch_record, self._address, race), abandon_on_cancel=True)
        return record, past_race(record, players=players, names=names).own


async def _soon(fetch: Callable[[], Fetched], address: Address) -> Fetched:
    """What a page says. Raises PageRefused if it does not come in time."""
    with trio.move_on_after(PROFILE_PATIENCE_S):
        return await trio.to_thread.run_sync(fetch, abandon_on_cancel=True)
    raise PageRefused(f"The server at {address.place} has not answered yet; try again later.")


async def daily_streaks(url: str, mine: Identity, rules: Sequence[str], *, dial: Dial | None = None) -> tuple[Streak, ...]:
    """The player's days in a row at these rule sets that are not broken. dial: as for `open_link`. Raises LinkError."""
    streaks: list[Streak] = []
    async with open_link(url, None, reconnect=False, dial=dial) as link:
        for each in rules:
            asked = ListRuns(kind="daily", rules=each, token=mine.token)
            try:
                today = await link.ask(asked, Runs)
                if today.own is not None:
                    streaks.append(Streak(each, today.own.days, with_today=True))
                    continue
                yesterday = (date.fromisoformat(today.id) - timedelta(days=1)).isoformat()
                before = await link.ask(ListRuns(kind="daily", id=yesterday, rules=each, token=mine.token), Runs)
            except (RequestRefused, ValueError, OverflowError):
                # It has no such rule set, or no deal of that day; or its day is no date, or the first there is.
                continue
            if before.own is not None:
                streaks.append(Streak(each, before.own.days, with_today=False))
    return tuple(streaks)
