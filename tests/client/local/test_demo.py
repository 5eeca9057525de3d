"""What the demo's narrator says, and when, from hand-made models."""

from __future__ import annotations

from msgspec import structs

from client.connection.events import LinkEvent
from client.local.demo import Narrator
from client.state.store import Model, reduce
from protocol.room_events import Progress, Result, Started
from protocol.server_messages import ServerMessage
from protocol.views import RaceOptions, SeatState
from tests.client import scenes
from tests.client.fake_server import room, seat, welcome


class Telling:
    """A narrator and all it has written."""

    def __init__(self, *, fast: bool = False, ascii_only: bool = False) -> None:
        self.lines: list[str] = []
        self._narrator = Narrator(self.lines.append, fast=fast, ascii_only=ascii_only)
        self._model = Model()
        self.hear(welcome())
        seats = (seat(0, "anna"), seat(1, "bert"))
        self.hear(room(version=1, seats=seats, options=RaceOptions(deal="tuesday"), commitment="ab" * 32))
        self.hear(Started(version=2))
        self._version = 2

    def hear(self, event: ServerMessage | LinkEvent) -> None:
        self._model = reduce(self._model, event, 0)
        self._narrator.hear(self._model, event)

    def progress(self, number: int, home: int, elapsed_ms: int, state: SeatState = "racing") -> None:
        self._version += 1
        self.hear(Progress(version=self._version, seat=number, ply=home, home=home, foundations={}, state=state, elapsed_ms=elapsed_ms))


def test_the_room_and_the_start_are_told() -> None:
    told = Telling()
    assert told.lines == [
        f"Race ABCDEF: the deal named 'tuesday'; the server's commitment is {'ab' * 32}.",
        "   0.0 s  anna █░░░░░░░░░░░░░░░░░░░  4/52  bert █░░░░░░░░░░░░░░░░░░░  4/52",
    ]


def test_at_a_watchable_pace_there_is_a_line_a_second_when_something_has_changed() -> None:
    told = Telling()
    del told.lines[:]
    told.progress(0, 5, 400)
    told.progress(0, 26, 1100)
    told.progress(1, 6, 1200)
    told.progress(1, 6, 2500)
    told.progress(1, 7, 2600)
    assert told.lines == [
        "   1.1 s  anna ██████████░░░░░░░░░░ 26/52  bert █░░░░░░░░░░░░░░░░░░░  4/52",
        "   2.5 s  anna ██████████░░░░░░░░░░ 26/52  bert ██░░░░░░░░░░░░░░░░░░  6/52",
    ]


def test_in_a_hurry_there_is_a_line_every_few_cards() -> None:
    told = Telling(fast=True)
    del told.lines[:]
    for home in range(5, 30):
        told.progress(0, home, home)
    assert [line.split()[4] for line in told.lines] == ["12/52", "20/52", "28/52"]


def test_the_end_of_a_seat_is_always_told() -> None:
    told = Telling()
    del told.lines[:]
    told.progress(1, 4, 100, "stalled")
    told.progress(0, 52, 200, "won")
    assert told.lines == [
        "   0.1 s  bert has no move left, with 4 cards home.",
        "   0.2 s  anna brought every card home, with 52 cards home.",
    ]


def test_whoever_another_beats_is_told_to_have_been_racing_and_not_to_have_stopped() -> None:
    told = Telling()
    del told.lines[:]
    told.progress(1, 47, 900)
    told.progress(0, 52, 1000, "won")
    told.progress(1, 47, 1000, "stopped")
    assert told.lines[-1] == "   1.0 s  bert was still racing, with 47 cards home."
    record = scenes.record()
    first, second = record.seats
    seats = (structs.replace(first, state="won"), structs.replace(second, state="stopped", ended_at_ms=first.ended_at_ms))
    told.hear(Result(version=6, record=structs.replace(record, seats=seats)))
    assert [line.partition("moves ")[2] for line in told.lines[-3:-1]] == ["(all home)", "(beaten)"]


def test_where_bars_cannot_be_printed_there_are_letters() -> None:
    told = Telling(ascii_only=True)
    assert told.lines[-1] == "   0.0 s  anna #-------------------  4/52  bert #-------------------  4/52"
