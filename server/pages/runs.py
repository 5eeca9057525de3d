"""Pages about deals of the day and challenges, with what anybody may know: the commitments, and the boards of revealed deals.

Requests do not say who asks, so before the reveal a board only tells how many have run. The documents are the messages of the wire.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus

import msgspec

from protocol.errors import Fault, Refusal
from protocol.run_messages import ListChallenges, ListDailies, ListRuns, RunQuestion
from server.net.http import Asked, NoPage, Page, Route
from server.pages.readers import Answer, Readers
from server.rooms.member import NOBODY
from server.runs.service import RunService


def run_routes(readers: Readers, service: RunService) -> tuple[Route, ...]:
    def route(path: str, question: Callable[[Mapping[str, str]], RunQuestion]) -> Route:
        async def show(asked: Asked) -> Page:
            told = await ask_runs(readers, lambda: service.answer(NOBODY.id, question(asked.values)))
            return Page(msgspec.json.encode(told) + b"\n", cache="max-age=1")

        return Route(path, show)

    return (
        route("/daily.json", lambda named: ListDailies()),
        route("/daily/{date}/{rules}.json", lambda named: ListRuns(kind="daily", id=named["date"], rules=named["rules"])),
        route("/challenges.json", lambda named: ListChallenges()),
        route("/challenges/{id}.json", lambda named: ListRuns(kind="challenge", id=named["id"])),
    )


async def ask_runs(readers: Readers, ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """What the run service answers to anybody. Raises NoPage."""
    try:
        return await readers.wait(ask)
    except Refusal as refusal:
        if refusal.fault is Fault.SERVER:
            raise NoPage(HTTPStatus.SERVICE_UNAVAILABLE, str(refusal), retry_after_s=1) from refusal
        # Only the parts of the address can be wrong.
        raise NoPage(HTTPStatus.NOT_FOUND, str(refusal)) from refusal
