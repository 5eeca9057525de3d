"""A watch over secrets: compares every message that anybody could be sent with what each seat has seen by the rules."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from protocol.cards import CARD_TEXT
from protocol.server_messages import ServerMessage
from server.race.events import MovePlayed, RaceEvent, SeatDealt
from server.race.view import Viewer, current_view, snapshot, tell
from server.rules.position import Position
from tests.server.race.racing import SECRET, START, Driven

_CARD = re.compile('"([A23456789TJQK][SHDC])"')


class Watch:
    """Fails if a message holds something that its reader has no right to see. It must be told everything that happens."""

    def __init__(self, driven: Driven) -> None:
        self._driven = driven
        self._viewers: tuple[Viewer, ...] = (*range(driven.race.options.seats), None)
        self._seen: dict[Viewer, set[str]] = {viewer: set() for viewer in self._viewers}
        self._version = 0

    def check(self, events: Iterable[RaceEvent], at: int) -> None:
        """Check the new events, then everything that a client could get by asking at this moment."""
        race = self._driven.race
        for event in events:
            self._version += 1
            if isinstance(event, (SeatDealt, MovePlayed)):
                self._seen[event.seat] |= _faces(event.position)
            messages = [tell(event, version=self._version, viewer=viewer, now=START + at, sealed=race.sealed) for viewer in self._viewers]
            assert all(message.version == self._version for message in messages)
            if not isinstance(event, (SeatDealt, MovePlayed)):
                assert all(message == messages[0] for message in messages)
            for viewer, message in zip(self._viewers, messages, strict=True):
                self._check_message(message, viewer)
        for viewer in self._viewers:
            self._check_message(snapshot(race, version=1, viewer=viewer, now=START + at, again=frozenset(), chat=()), viewer)
        for seat in race.seats:
            view = current_view(race, seat)
            if view is not None:
                self._check_message(view, seat.number)

    def _check_message(self, message: ServerMessage, viewer: Viewer) -> None:
        text = msgspec.json.encode(message).decode()
        shown = set(_CARD.findall(text))
        assert shown <= self._seen[viewer], f"{viewer} is shown {shown - self._seen[viewer]} by {text}"
        if self._driven.race.record is None or self._driven.race.sealed:
            for secret in self._secrets():
                assert secret.hex() not in text, f"{viewer} is told a secret by {text}"

    def _secrets(self) -> list[bytes]:
        nonces = [seat.nonce for seat in self._driven.race.seats if seat.nonce is not None]
        return [SECRET, *nonces, *self._driven.race.deal.seeds]


def _faces(position: Position) -> set[str]:
    """The open cards of a position: its piles, its waste, and what the rule set shows of the stock."""
    cards = [card for pile in position.piles.values() for card in pile]
    return {CARD_TEXT[card] for card in (*cards, *position.waste, *position.stock[: position.rules.visible_stock])}
