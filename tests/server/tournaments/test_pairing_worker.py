"""What is sent to a worker that pairs a round."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from server.runtime.workers import Workers
from server.tournaments.pairing.crosstable import Crosstable
from server.tournaments.pairing.rounds import Round
from server.tournaments.pairing.swiss import Swiss
from server.tournaments.pairing_worker import AT_ONCE, pair_next
from tests.server.tournaments.fields import field_of


async def test_a_worker_is_sent_no_standings() -> None:
    sent: list[Crosstable] = []

    class Worker:
        async def run(self, job: Callable[[Crosstable], Round | None], crosstable: Crosstable) -> Round | None:
            sent.append(crosstable)
            return job(crosstable)

    crosstable = field_of(Swiss(3), AT_ONCE + 2)
    assert crosstable.standings
    assert await pair_next(cast(Workers, Worker()), crosstable) == crosstable.next_round()
    assert sent == [crosstable]
    assert "standings" in vars(crosstable)
    assert "standings" not in vars(sent[0])
