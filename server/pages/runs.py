"""What anybody may know of deals of the day and challenges: the commitments, and the boards of deals that are revealed.

No request says who asks, so before the reveal a board tells how many have run, and no more. The documents are the messages of the wire.
"""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from protocol.errors import Fault, Refusal
from protocol.run_messages import ListChallenges, ListDailies, ListRuns, RunMessage, RunQuestion
from protocol.views import RunKind
from server.net.http import Asked, NoPage, Page, Route
from server.pages.readers import Readers
from server.rooms.member import NOBODY
from server.runs.service import RunService


def run_routes(readers: Readers, service: RunService) -> tuple[Route, ...]:
    async def show_days(asked: Asked) -> Page:
        del asked
        return await _page(readers, service, ListDailies())

    async def show_day(asked: Asked) -> Page:
        return await _page(readers, service, _runs("daily", asked.values["date"], asked.values["rules"]))

    async def show_challenges(asked: Asked) -> Page:
        del asked
        return await _page(readers, service, ListChallenges())

    async def show_challenge(asked: Asked) -> Page:
        return await _page(readers, service, _runs("challenge", asked.values["id"]))

    return (
        Route("/daily.json", show_days),
        Route("/daily/{date}/{rules}.json", show_day),
        Route("/challenges.json", show_challenges),
        Route("/challenges/{id}.json", show_challenge),
    )


def _runs(kind: RunKind, deal: str, rules: str = "carpet") -> ListRuns:
    return ListRuns(kind=kind, id=deal, rules=rules)


async def ask_runs(readers: Readers, service: RunService, question: RunQuestion) -> RunMessage:
    """What anybody is told to that. Raises NoPage."""
    try:
        return await readers.wait(lambda: service.answer(NOBODY.id, question))
    except Refusal as refusal:
        if refusal.fault is Fault.SERVER:
            raise NoPage(HTTPStatus.SERVICE_UNAVAILABLE, str(refusal), retry_after_s=1) from refusal
        # Whoever asks by an address can be wrong in its steps alone.
        raise NoPage(HTTPStatus.NOT_FOUND, str(refusal)) from refusal


async def _page(readers: Readers, service: RunService, question: RunQuestion) -> Page:
    return Page(msgspec.json.encode(await ask_runs(readers, service, question)) + b"\n", cache="max-age=1")
