"""What anybody may know of deals of the day and challenges: the commitments, and the boards of deals that are revealed.

No request says who asks, so before the reveal a board tells how many have run, and no more. The documents are the messages of the wire.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from http import HTTPStatus

import msgspec

from protocol.client_messages import ListChallenges, ListDailies, ListRuns
from protocol.errors import ErrorCode, Refusal
from protocol.server_messages import RunMessage
from protocol.views import RunKind
from server.net.http import Asked, NoPage, Page, Route
from server.runs.counter import Counter, Question
from server.store.errors import StoreError

logger = logging.getLogger("carpet.pages")

NOBODY = ""


def run_routes(counter: Counter) -> tuple[Route, ...]:
    async def show_days(asked: Asked) -> Page:
        del asked
        return await _page(counter, ListDailies())

    async def show_day(asked: Asked) -> Page:
        return await _page(counter, _runs("daily", asked.values["date"], asked.values["rules"]))

    async def show_challenges(asked: Asked) -> Page:
        del asked
        return await _page(counter, ListChallenges())

    async def show_challenge(asked: Asked) -> Page:
        return await _page(counter, _runs("challenge", asked.values["id"]))

    return (
        Route("/daily.json", show_days),
        Route("/daily/{date}/{rules}.json", show_day),
        Route("/challenges.json", show_challenges),
        Route("/challenges/{id}.json", show_challenge),
    )


def _runs(kind: RunKind, deal: str, rules: str = "carpet") -> ListRuns:
    return ListRuns(kind=kind, id=deal, rules=rules)


async def _page(counter: Counter, question: Question) -> Page:
    return Page(msgspec.json.encode(await _told(counter.answer(NOBODY, question))) + b"\n", cache="max-age=1")


async def _told(answer: Awaitable[RunMessage]) -> RunMessage:
    try:
        return await answer
    except Refusal as refusal:
        if refusal.code in (ErrorCode.NO_SUCH_DEAL, ErrorCode.UNKNOWN_RULES):
            raise NoPage(HTTPStatus.NOT_FOUND, str(refusal)) from refusal
        raise NoPage(HTTPStatus.BAD_REQUEST, str(refusal)) from refusal
    except StoreError as error:
        logger.warning("a page could not be read: %s", error)
        raise NoPage(HTTPStatus.SERVICE_UNAVAILABLE, "The store cannot be read now; try again later.", retry_after_s=10) from error
