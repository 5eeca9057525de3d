"""How many lines of a list are asked for."""

from __future__ import annotations

import re
from http import HTTPStatus

from server.net.http import Asked, NoPage


def asked_limit(asked: Asked, name: str = "limit", *, usual: int, most: int) -> int:
    """The field `name` of the query, or `usual` where it has none. Raises NoPage for what is no number from 1 to `most`."""
    text = asked.query.get(name, str(usual))
    if re.fullmatch(r"[0-9]{1,4}", text) is None or not 1 <= int(text) <= most:
        raise NoPage(HTTPStatus.BAD_REQUEST, f"{name} is a number from 1 to {most}.")
    return int(text)
