"""Link previews: a picture for each address, and oEmbed for sites that ask how to show a race in a page of their own."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from html import escape
from http import HTTPStatus
from typing import Final, TypeAlias

import msgspec

from server.net.http import Asked, NoPage, Page, Route
from server.pages.pictures import AS_PNG, HEIGHT, WIDTH, draw, to_png
from server.pages.races import DocumentCache
from server.pages.readers import Readers
from server.pages.web_page import EMBEDDABLE, GUARDED, Describe, picture_of

Compute: TypeAlias = Callable[[Callable[[str], bytes], str], Awaitable[bytes]]
"""Runs a job in a worker."""

FRAME: Final = (720, 640)
"""The size of a race in another site's page, unless there is less room."""


def preview_routes(described: Mapping[str, Describe], readers: Readers, compute: Compute, *, embeds: bool) -> tuple[Route, ...]:
    """described: what is at each address. embeds: the host lets races be shown in other sites' pages."""
    drawn = DocumentCache()

    def svg_at(place: str, describe: Describe) -> Route:
        async def show(asked: Asked) -> Page:
            return _picture((await _drawing(describe, asked)).encode(), "image/svg+xml; charset=utf-8")

        return Route(f"{place.rstrip('/')}/picture.svg", show)

    def png_at(place: str, describe: Describe) -> Route:
        async def show(asked: Asked) -> Page:
            svg = await _drawing(describe, asked)

            async def make() -> tuple[bytes]:
                return (await compute(to_png, svg),)

            png, _ = await drawn.get(hashlib.sha256(svg.encode()).hexdigest(), readers, make)
            return _picture(png, "image/png")

        return Route(f"{place.rstrip('/')}/picture.png", show)

    pages = [(Route(place, _nothing), describe) for place, describe in described.items()]

    async def show_embed(asked: Asked) -> Page:
        if asked.query.get("format", "json") != "json":
            raise NoPage(HTTPStatus.NOT_IMPLEMENTED, "oEmbed is available only as JSON.")
        # The scheme is ignored, because a proxy may have terminated TLS.
        host, slash, path = asked.query.get("url", "").partition("://")[2].partition("/")
        path = slash + path.partition("?")[0].partition("#")[0]
        found = next(((describe, of) for page, describe in pages if (of := page.ask(path, base=asked.base)) is not None), None)
        if not asked.base or host.lower() != asked.base.partition("://")[2] or found is None:
            raise NoPage(HTTPStatus.NOT_FOUND, "That is not an address of this server.")
        describe, of = found
        about = await describe(of)
        told = {
            "version": "1.0",
            "type": "link",
            "title": about.title,
            "provider_name": "Carpet Race",
            "provider_url": f"{asked.base}/",
            "thumbnail_url": picture_of(asked.base, path),
            "thumbnail_width": WIDTH,
            "thumbnail_height": HEIGHT,
        }
        _, place, *rest = path.split("/")
        if embeds and place in EMBEDDABLE:
            sizes = zip(("maxwidth", "maxheight"), FRAME, strict=True)
            width, height = (min(size, asked.number(name, usual=size, most=9999)) for name, size in sizes)
            frame = f'<iframe src="{escape(asked.base)}/embed/{escape(rest[0])}" width="{width}" height="{height}"'
            html = f'{frame} title="{escape(about.title)}" loading="lazy" style="border:0"></iframe>'
            told |= {"type": "rich", "html": html, "width": width, "height": height}
        return Page(msgspec.json.encode(told) + b"\n", cache="max-age=60")

    return (
        *(svg_at(place, describe) for place, describe in described.items()),
        *(png_at(place, describe) for place, describe in described.items() if AS_PNG),
        Route("/oembed", show_embed),
    )


async def _nothing(asked: Asked) -> Page:
    raise NotImplementedError(asked)


async def _drawing(describe: Describe, asked: Asked) -> str:
    about = await describe(asked)
    return draw(about.title.removesuffix(" · Carpet Race"), about.sentence, about.curves)


def _picture(body: bytes, kind: str) -> Page:
    return Page(body, kind, "max-age=60", f'"{hashlib.sha256(body).hexdigest()[:32]}"', GUARDED)
