"""Assembles everything that a server has over HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from server.lobby.bans import Bans
from server.lobby.lobby import Lobby
from server.net.http import Site
from server.net.limits import CodeGuesses
from server.pages.documents import Documents
from server.pages.health import readiness_route
from server.pages.ladder import ladder_route
from server.pages.lobby import lobby_route
from server.pages.previews import preview_routes
from server.pages.races import race_routes
from server.pages.readers import Readers
from server.pages.runs import run_routes
from server.pages.schemas import schema_routes
from server.pages.search import search_route
from server.pages.tournaments import tournament_routes
from server.pages.web_page import known, problem_page, web_routes
from server.rooms.clock import Clock
from server.rooms.registry import Rooms
from server.runs.service import RunService
from server.store.journal import Journal
from server.tournaments.service import TournamentService


def open_site(
    *,
    rooms: Rooms,
    lobby: Lobby,
    runs: RunService,
    tournaments: TournamentService,
    bans: Bans,
    journal: Journal,
    clock: Clock,
    compute: Callable[..., Awaitable[Any]],
    max_rooms: int,
    relief: Callable[[], str | None],
    guesses: CodeGuesses | None,
    is_elsewhere: Callable[[str], Awaitable[bool]] | None = None,
    origins: Callable[[], Sequence[str]] = tuple,
    embedders: Sequence[str] = (),
) -> Site:
    """compute: for work that takes longer than a request may. relief: as in `readiness_route`. guesses: as in `Site`. is_elsewhere: whether
    another server of this place has the room with a code. origins: those of the pages of all servers of this place. embedders: those of
    pages that may show races in a frame."""
    readers = Readers(journal)
    documents = Documents(rooms, readers, runs, tournaments, clock, is_elsewhere=is_elsewhere, embeds=bool(embedders)).addresses
    routes = (
        *race_routes(readers, clock, compute),
        ladder_route(readers),
        search_route(readers, clock, runs, tournaments),
        lobby_route(lobby),
        *run_routes(readers, runs),
        *tournament_routes(tournaments),
        *schema_routes(readers, compute),
        # Before the web routes, where `/play/{code}` would match the picture of `/play`.
        *preview_routes({**known(), **documents}, readers, compute, embeds=bool(embedders)),
        *web_routes(documents, origins=origins, embedders=embedders),
        readiness_route(rooms, journal, max_rooms=max_rooms, relief=relief),
    )
    return Site(routes, problem=problem_page(), bans=bans, guesses=guesses)
