"""A race to watch without a second player or a terminal: a server process, two scripted players over real WebSockets, plain lines of text.

Owns what is printed and when; the lines read as well in a log as on a screen. Everything shown is what one of the players was sent.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import trio

from client.connection.events import LinkEvent
from client.local.policies import POLICIES
from client.local.scripted_player import run_bot
from client.local.server_process import open_server
from client.state.capabilities import check_rules
from client.state.evidence import Check, check
from client.state.room import RoomModel
from client.state.store import Model
from client.text.formatting import deck_size
from protocol.cards import DECK_SIZE
from protocol.client_messages import JoinRace, OpenRace
from protocol.record import Record
from protocol.room_events import PlayerView, Progress, Result, Room, Started
from protocol.seat_ends import end_among, word_among
from protocol.server_messages import ServerMessage, Welcome
from protocol.text import clean_name, counted
from protocol.views import RaceOptions, SeatInfo

FIRST, SECOND = ("anna", POLICIES["greedy"]), ("bert", POLICIES["steady"])
PACE = 0.3
"""Seconds per move: a whole race takes half a minute."""
LINE_EVERY_MS = 1000
LINE_EVERY_CARDS = 8
BAR = 20


@dataclass(frozen=True, slots=True)
class Demo:
    """The outcome. checks: of the deal, by what the first player saw itself."""

    record: Record
    checks: list[Check]


async def run_demo(*, rules: str, deal: str | None, fast: bool, write: Callable[[str], None], ascii_only: bool) -> Demo:
    """Run one race and report it line by line. Raises UnknownRules, and the failures of `server_process`, the link and the players."""
    options = RaceOptions(rules=rules, public=False, deal=deal, countdown_s=1 if fast else 3)
    # Playing as fast as the server answers exceeds the usual limits on requests.
    server_options = ["--rate", "1000000", "--burst", "1000000"] if fast else []
    async with open_server(options=server_options) as url:
        narrator = Narrator(write, fast=fast, ascii_only=ascii_only)
        code_sent, code_heard = trio.open_memory_channel[str](1)
        records: list[Record] = []

        def watch(model: Model, event: ServerMessage | LinkEvent) -> None:
            if isinstance(event, Welcome) and not narrator.model.welcome:
                info = check_rules(rules, event.rules)
                write(f"Two players race at {clean_name(info.name)} on the same shuffle, over WebSockets, at {url}.")
                for name, policy in (FIRST, SECOND):
                    write(f"{name} plays {policy.name}: {policy.explanation}.")
            if isinstance(event, Room):
                # One code is enough; a full channel means that it was sent.
                with contextlib.suppress(trio.WouldBlock):
                    code_sent.send_nowait(event.code)
            narrator.hear(model, event)

        async def first() -> None:
            name, policy = FIRST
            records.append(await run_bot(url, name, policy, OpenRace(options=options), pace=0 if fast else PACE, watch=watch))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(first)
            name, policy = SECOND
            await run_bot(url, name, policy, JoinRace(code=await code_heard.receive()), pace=0 if fast else PACE)
        infos = narrator.model.rules
        demo = Demo(records[0], check(records[0], narrator.model.evidence, 0, decks=deck_size(infos, options.rules) // DECK_SIZE))
        write(f"What {FIRST[0]}'s client tells its player of the deal:")
        for made in demo.checks:
            write(f"  {'ok' if made.ok else 'not checked' if made.ok is None else 'WRONG'}: {made.sentence}")
        return demo


class Narrator:
    """Reports a race from what one player hears. `model` is that player's latest."""

    def __init__(self, write: Callable[[str], None], *, fast: bool, ascii_only: bool) -> None:
        self.model = Model()
        self._write = write
        self._fast = fast
        self._full, self._empty = ("#", "-") if ascii_only else ("█", "░")
        self._last_ms = 0
        self._last_home = 0

    def hear(self, model: Model, event: ServerMessage | LinkEvent) -> None:
        self.model = model
        room = model.room
        if room is None:
            return
        match event:
            case Room(phase="waiting"):
                kind = f"the deal named {room.options.deal!r}" if room.options.deal is not None else "a deal nobody can know or choose"
                self._write(f"Race {room.code}: {kind}; the server's commitment is {room.commitment}.")
            case Started():
                self._last_home = sum(seat.home for seat in room.seats)
                self._write(self._line(room, 0))
            case Progress() | PlayerView():
                self._progress(room, event)
            case Result():
                self._result(event.record, deck_size(model.rules, room.options.rules))
            case _:
                pass

    def _progress(self, room: RoomModel, event: Progress | PlayerView) -> None:
        seat = room.seats[event.seat]
        home = sum(seat.home for seat in room.seats)
        if (end := end_among(seat, room.seats)) is not None:
            self._write(f"{_seconds(event.elapsed_ms)}  {seat.name} {end.predicate}, with {counted(seat.home, 'card')} home.")
        if self._fast:
            due = home - self._last_home >= LINE_EVERY_CARDS
        else:
            due = home != self._last_home and event.elapsed_ms - self._last_ms >= LINE_EVERY_MS
        if due:
            self._last_ms, self._last_home = event.elapsed_ms, home
            self._write(self._line(room, event.elapsed_ms))

    def _line(self, room: RoomModel, elapsed_ms: int) -> str:
        cards = deck_size(self.model.rules, room.options.rules)
        return "  ".join([_seconds(elapsed_ms), *(self._bar(seat, cards) for seat in room.seats)])

    def _bar(self, seat: SeatInfo, cards: int) -> str:
        full = seat.home * BAR // cards
        return f"{seat.name} {self._full * full}{self._empty * (BAR - full)} {seat.home:>{len(str(cards))}}/{cards}"

    def _result(self, record: Record, cards: int) -> None:
        self._write("Result:")
        for seat in sorted(record.seats, key=lambda seat: seat.place):
            at = f"{seat.home} of {cards} cards home at {seat.home_at_ms / 1000:.1f} s"
            self._write(f"  {seat.place}. {seat.name}: {at}, {counted(seat.plies, 'move')} ({word_among(seat, record.seats)})")
        self._write(f"The record's digest is {record.digest}.")


def _seconds(ms: int) -> str:
    return f"{ms / 1000:6.1f} s"
