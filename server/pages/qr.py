"""QR codes of addresses of this server's web page, for those who see one on a screen and have a telephone in their hand."""

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
"""Any host, because the server may have names that it does not know, such as the one that a big screen shows; so a picture from here does
not vouch for its address. Only paths of this page, so that it is of little use for other addresses."""

KEPT: Final = 256
"""How many of the pictures last asked for are kept, a few kB each. When full, the oldest goes."""


def qr_route() -> Route:
    drawing = trio.CapacityLimiter(1)

    async def show(asked: Asked) -> Page:
        address = asked.query.get("of", "")
        if _ADDRESS.fullmatch(address) is None:
            raise NoPage(HTTPStatus.BAD_REQUEST, "of must be the address of a page for playing, of a tournament or of a race.")
        # In a thread, because it takes milliseconds and others would wait.
        drawn = await trio.to_thread.run_sync(qr_svg, address, limiter=drawing)
        return Page(drawn, "image/svg+xml; charset=utf-8", FOREVER)

    return Route("/qr.svg", show)


@lru_cache(maxsize=KEPT)
def qr_svg(text: str) -> bytes:
    """Dark on light whatever the page's colours, with the margin that readers need; it takes the size of its place."""
    drawn = io.BytesIO()
    segno.make(text, error="m", micro=False).save(drawn, kind="svg", border=4, dark="#000", light="#fff", omitsize=True, xmldecl=False)
    return drawn.getvalue()
