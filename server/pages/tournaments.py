"""Pages about tournaments: the list, the document of one, and its standings for a spreadsheet."""

from __future__ import annotations

import csv
import gzip
import io
import re
from functools import partial
from http import HTTPStatus
from typing import Final

import msgspec

from protocol.tournaments import TournamentDocument, TournamentsDocument, is_tournament_id
from server.net.http import Asked, NoPage, Page, Route
from server.store.errors import StoreError
from server.tournaments.service import TournamentService

CSV_TYPE: Final = "text/csv; charset=utf-8"

_FORMULA: Final = re.compile(r"(^|[;|])(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r])")
"""A spreadsheet takes a cell that begins with one of these for a formula (OWASP, CSV Injection); semicolons may part cells."""


KEPT: Final = 16
"""How many encoded documents are cached while their tournament does not change: at the end of a round all spectators ask for it."""


def tournament_routes(tournaments: TournamentService) -> list[Route]:
    kept: dict[str, tuple[TournamentDocument, Page]] = {}

    async def show_list(asked: Asked) -> Page:
        del asked
        return Page(msgspec.json.encode(TournamentsDocument(tournaments=tournaments.listings())) + b"\n", cache="max-age=1")

    async def show(asked: Asked) -> Page:
        found = await find_tournament(tournaments, asked)
        known, page = kept.get(found.id, (None, None))
        if page is None or known is not found:
            page = await tournaments.beside(partial(_page, found))
            if len(kept) >= KEPT:
                kept.clear()
            kept[found.id] = found, page
        return page

    async def show_csv(asked: Asked) -> Page:
        found = await find_tournament(tournaments, asked)
        rows = await tournaments.beside(partial(standings_csv, found))
        return Page(rows.encode(), content_type=CSV_TYPE, cache="max-age=1")

    return [
        Route("/tournaments.json", show_list),
        Route("/tournaments/{id}.json", show),
        Route("/tournaments/{id}.csv", show_csv),
    ]


def _page(found: TournamentDocument) -> Page:
    body = msgspec.json.encode(found) + b"\n"
    return Page(body, cache="max-age=1", zipped=gzip.compress(body, mtime=0))


async def find_tournament(tournaments: TournamentService, asked: Asked) -> TournamentDocument:
    """The tournament whose id is in the address. Raises NoPage."""
    identity = asked.values["id"].upper()
    try:
        found = await tournaments.document(identity) if is_tournament_id(identity) else None
    except StoreError as error:
        raise NoPage(HTTPStatus.SERVICE_UNAVAILABLE, "The store cannot be read now; try again later.", retry_after_s=10) from error
    if found is None or not found.options.public:
        asked.check_guess(identity)
    if found is None:
        raise NoPage(HTTPStatus.NOT_FOUND, "There is no tournament with that id.")
    return found


def standings_csv(found: TournamentDocument) -> str:
    """One row per entrant, best first, with a header; points and tie-breaks as decimal numbers."""
    entrants = {entrant.id: entrant for entrant in found.entrants}
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(
        ("place", "name", "bot", "seed", "rating", "points", *found.tie_breaks, "won", "drawn", "lost", "home", "withdrawn", "id")
    )
    for row in found.standings:
        entrant = entrants[row.entrant]
        rows.writerow(
            (
                row.place,
                harmless(entrant.name),
                harmless(entrant.bot or ""),
                entrant.seed,
                "" if entrant.rating is None else entrant.rating,
                f"{row.half_points / 2:g}",
                *(f"{value / 4:g}" for value in row.tie_breaks),
                row.won,
                row.drawn,
                row.lost,
                row.home,
                "yes" if row.withdrawn else "no",
                harmless(entrant.id),
            )
        )
    return text.getvalue()


def harmless(text: str) -> str:
    """The text as a cell that no spreadsheet takes for a formula."""
    return _FORMULA.sub(r"\1'", text)
