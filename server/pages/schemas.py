"""The schemas for authors of clients. A worker makes all of them when the first is asked for, because that takes a second of computing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import TypeAlias

from protocol.schemas import NAMES, SCHEMAS
from server.net.http import Asked, NoPage, Page, Route
from server.pages.readers import Readers
from server.pages.schema_documents import Made, make_documents

Compute: TypeAlias = Callable[[Callable[[], Made]], Awaitable[Made]]
"""Runs the job in a worker."""


def schema_routes(readers: Readers, compute: Compute) -> tuple[Route, ...]:
    made: dict[str, tuple[bytes, bytes]] = {}

    async def make() -> None:
        # Somebody else may have had them made meanwhile.
        if not made:
            made.update(await compute(make_documents))

    async def show(asked: Asked, name: str = "") -> Page:
        name = name or asked.values["document"]
        if name not in (NAMES if not asked.values else SCHEMAS):
            raise NoPage(HTTPStatus.NOT_FOUND, f"There is no schema with that name; there are {', '.join(SCHEMAS)}.")
        if not made:
            await readers.work(make)
        body, zipped = made[name]
        return Page(body, cache="max-age=3600", zipped=zipped)

    return (
        Route("/openapi.json", partial(show, name="openapi")),
        Route("/asyncapi.json", partial(show, name="asyncapi")),
        Route("/schemas/{document}.json", show),
    )
