"""The schemas for authors of clients. A worker makes all of them when the first is asked for, because that takes a second of computing."""

from __future__ import annotations

import gzip
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import TypeAlias

import msgspec

from protocol.schemas import NAMES, SCHEMAS, make_document
from server.net.http import Asked, NoPage, Page, Route
from server.pages.readers import Readers

Made: TypeAlias = Mapping[str, tuple[bytes, bytes]]
"""By name: a document, plain and gzipped."""

Compute: TypeAlias = Callable[[Callable[[], Made]], Awaitable[Made]]
"""Runs the job in a worker."""


def make_documents() -> Made:
    bodies = {name: msgspec.json.format(msgspec.json.encode(make_document(name))) + b"\n" for name in NAMES}
    return {name: (body, gzip.compress(body, mtime=0)) for name, body in bodies.items()}


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
