"""An address of this server's own web page as a QR code, for whoever has it on a screen and a telephone in their hand."""

from __future__ import annotations

import io
import re
from functools import lru_cache
from http import HTTPStatus
from typing import Final

import segno
import trio

from server.net.http import FOREVER, Asked, NoPage, Page, Route

_ADDRESS: Final = re.compile(
    r"https?://(?:[0-9A-Za-z.-]{1,100}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?/(?:(?:play|tournament|race)(?:/[0-9A-Za-z-]{1,64})?)?"
)
"""Whatever host the server is reached by, but no path that is another's: nobody is led astray by a picture of ours."""

KEPT: Final = 256
"""Pictures of addresses that were asked for last, a few kB each. When there are more the oldest goes."""


def qr_route() -> Route:
    drawing = trio.CapacityLimiter(1)

    async def show(asked: Asked) -> Page:
        address = asked.query.get("of", "")
        if _ADDRESS.fullmatch(address) is None:
            raise NoPage(HTTPStatus.BAD_REQUEST, "of must be the address of a page for playing, of a tournament or of a race.")
        # It takes milliseconds, in which others would wait.
        drawn = await trio.to_thread.run_sync(qr_svg, address, limiter=drawing)
        return Page(drawn, "image/svg+xml; charset=utf-8", FOREVER)

    return Route("/qr.svg", show)


@lru_cache(maxsize=KEPT)
def qr_svg(text: str) -> bytes:
    """Dark on light whatever the page's colours are, with the margin that readers want; as large as its place."""
    drawn = io.BytesIO()
    segno.make(text, error="m", micro=False).save(drawn, kind="svg", border=4, dark="#000", light="#fff", omitsize=True, xmldecl=False)
    return drawn.getvalue()
