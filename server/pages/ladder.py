"""The ladder: the best players by rating."""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec

from protocol.pages import LADDER_PLAYERS, Ladder, LadderPlayer
from server.net.http import Asked, Page, Route
from server.pages.readers import Readers
from server.store.store import Store

USUAL_PLAYERS: Final = 20


def ladder_route(readers: Readers) -> Route:
    async def show(asked: Asked) -> Page:
        limit = asked.number("limit", usual=USUAL_PLAYERS, most=LADDER_PLAYERS)
        return Page(await readers.ask(partial(_ladder, limit=limit)), cache="max-age=1")

    return Route("/ladder.json", show)


def _ladder(store: Store, *, limit: int) -> bytes:
    rated = [(player, player.rating) for player in store.ladder(limit) if player.rating is not None]
    worths = [rating.worth for _, rating in rated]
    # Best first, so `index` finds the first of those with equal points, whose place they share.
    steps = tuple(
        LadderPlayer(place=1 + worths.index(rating.worth), player=player.id, name=player.name, rating=rating.worth, races=rating.races)
        for player, rating in rated
    )
    return msgspec.json.encode(Ladder(players=steps)) + b"\n"
