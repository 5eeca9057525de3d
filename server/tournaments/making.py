"""Makes tournaments: who may make another one, and what is stored of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import trio
from msgspec.structs import replace

from protocol.errors import ErrorCode, Refusal
from protocol.fairness import SECRET_BYTES
from protocol.text import clean_chat
from protocol.tournament_messages import CreateTournament
from protocol.tournaments import TITLE_LENGTH
from server.rooms.bots import house_bots
from server.rooms.codes import new_code
from server.rooms.options import check_options
from server.runtime.token_bucket import Bucket
from server.store.port import TournamentMade
from server.tournaments.commands import Asker, check_tournament_options
from server.tournaments.director import Director
from server.tournaments.documents import Making, encode_making
from server.tournaments.ports import TournamentPorts
from server.tournaments.tables import race_options

MOST_RUNNING: Final = 100
"""Unfinished tournaments at one time."""

MADE_A_SECOND: Final = 1 / 60
"""Tournaments per second, by all players together, because each stays in the database."""

MADE_AT_ONCE: Final = 200
"""Tournaments made in one burst."""

MOST_OF_ONE: Final = 5
"""Unfinished tournaments that one player directs."""

MOST_OF_PLACE: Final = 10
"""Unfinished tournaments made from one IPv4 address or IPv6 /64, as far as this server knows."""

LATELY_OF_PLACE: Final = 20
LATELY_S: Final = 3600
"""The same for the last hour, finished or not. Otherwise one who keeps making and ending tournaments would use up MADE_A_SECOND for all."""


class Maker:
    """known: the directors of all tournaments, by id."""

    def __init__(self, ports: TournamentPorts, known: Mapping[str, Director]) -> None:
        self._ports = ports
        self._known = known
        self._making: list[Asker] = []  # those whose tournaments are being stored
        self._places: dict[str, tuple[str, float]] = {}  # where and when tournaments were made: unfinished and recent ones
        self._made_lately = Bucket(rate=MADE_A_SECOND, burst=MADE_AT_ONCE)

    @property
    def unfinished(self) -> int:
        return sum(not director.state.is_closed for director in self._known.values())

    def admit(self, asker: Asker, message: CreateTournament) -> CreateTournament:
        """The request as it will be carried out. `make` has to follow. Raises Refusal."""
        name = clean_chat(message.options.name)[:TITLE_LENGTH].rstrip()
        if not name:
            raise Refusal(ErrorCode.BAD_TOURNAMENT, "nothing printable is left of its name", path="$.options.name")
        options = replace(message.options, name=name)
        check_tournament_options(options)
        races = race_options(options, bots=(options.bot,))
        check_options(races)
        house_bots(races)
        open_ones = {identity for identity, director in self._known.items() if not director.state.is_closed}
        own = sum(self._known[identity].state.director == asker.id for identity in open_ones)
        own += sum(other.id == asker.id for other in self._making)
        if own >= MOST_OF_ONE or len(open_ones) + len(self._making) >= MOST_RUNNING or not self._has_room_for(asker.place, open_ones):
            raise Refusal(ErrorCode.TOO_MANY_TOURNAMENTS)
        if not self._made_lately.take(trio.current_time()):
            raise Refusal(ErrorCode.SERVER_BUSY, "many tournaments have been made just now")
        self._making.append(asker)
        return replace(message, options=options)

    def _has_room_for(self, place: str | None, open_ones: set[str]) -> bool:
        since = trio.current_time() - LATELY_S
        self._places = {identity: made for identity, made in self._places.items() if identity in open_ones or made[1] > since}
        if place is None:
            return True
        made = [identity for identity, (where, _) in self._places.items() if where == place]
        making = sum(other.place == place for other in self._making)
        return making + sum(map(open_ones.__contains__, made)) < MOST_OF_PLACE and making + len(made) < LATELY_OF_PLACE

    async def make(self, asker: Asker, message: CreateTournament) -> TournamentMade:
        """Returns when it is stored. Raises StoreError."""
        try:
            made = TournamentMade(
                tournament=await self._free_id(),
                director=asker.id,
                secret=self._ports.entropy(SECRET_BYTES),
                document=encode_making(Making(message.options, message.code, asker.name)),
                at_ms=self._ports.clock.now_ms(),
            )
            await self._ports.journal.write(made)
        finally:
            self._making.remove(asker)
        if asker.place is not None:
            self._places[made.tournament] = asker.place, trio.current_time()
        return made

    async def _free_id(self) -> str:
        # There are 20^6 = 64 million ids. If two requests draw the same one at once, the store refuses the second.
        while True:
            identity = new_code(self._ports.entropy)
            if await self._ports.journal.ask(self._ports.store.tournament, identity) is None:
                return identity
