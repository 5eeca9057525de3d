"""Past races as `carpet history` shows them: from a server's pages or from the records kept here, as lines of a table.

Pure. All text from a server is cleaned here, since it goes to a terminal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Sequence
from datetime import tzinfo

from msgspec import Struct

from client.text.formatting import date_text
from client.text.tables import table_lines
from client.text.width import text_width
from protocol.pages import HistoryRace, HistorySeat
from protocol.record import Record
from protocol.seat_ends import word_among
from protocol.text import clean_chat, clean_name

HEADINGS = ("date", "rules", "against", "place", "ended", "home", "took", "id")
NARROWEST = 80
AGAINST = HEADINGS.index("against")

FLEXIBLE = 5
"""Cells of the opponents' names, at least."""


class PastRace(Struct, frozen=True):
    """own: the player's seat; None if it is not known."""

    race: HistoryRace
    own: int | None


def past_race(record: Record, *, players: Collection[str], names: Collection[str]) -> PastRace:
    """A past race from a record kept here. players, names: public ids and names of the players on this machine."""
    seats = tuple(
        HistorySeat(
            player=seat.player or None,
            name=seat.name,
            bot=seat.bot,
            state=seat.state,
            place=seat.place,
            home=seat.home,
            ended_at_ms=seat.ended_at_ms,
        )
        for seat in record.seats
    )
    own = _own(seats, players, names)
    race = HistoryRace(
        id=record.id,
        room=record.room,
        race=record.race,
        rules=record.rules,
        finished_at_ms=record.started_at_ms + record.ended_at_ms,
        aborted=None,
        seat=own or 0,
        seats=seats,
    )
    return PastRace(race, own)


def _own(seats: Sequence[HistorySeat], players: Collection[str], names: Collection[str]) -> int | None:
    people = [(number, seat) for number, seat in enumerate(seats) if seat.bot is None]
    for mine in (
        [number for number, seat in people if seat.player in players],
        [number for number, seat in people if seat.name in names],
        # The only person in a race against house bots.
        [number for number, _ in people],
    ):
        if len(mine) == 1:
            return mine[0]
    return None


def table(races: Iterable[PastRace], *, width: int = NARROWEST, zone: tzinfo | None = None) -> list[str]:
    """The lines of a table, headings first, `width` cells wide if at all possible. zone: None for the machine's own."""
    listed = list(races)
    rows = [_row(past, zone) for past in listed]
    columns = [max(map(text_width, column)) for column in zip(HEADINGS, *rows, strict=True)]
    others = sum(columns) - columns[AGAINST] + len(columns) - 1
    against = min(columns[AGAINST], max(width, NARROWEST) - others)
    first, *rest = table_lines(HEADINGS, rows, widths={AGAINST: max(against, min(columns[AGAINST], FLEXIBLE))}, gap=1)
    lines = [first]
    for past, line in zip(listed, rest, strict=True):
        lines.append(line)
        if past.race.aborted is not None:
            lines.append(f"  aborted: {clean_chat(past.race.aborted)}")
    return lines


def _row(past: PastRace, zone: tzinfo | None) -> tuple[str, ...]:
    race = past.race
    own = race.seats[past.own] if past.own is not None else None
    against = ", ".join(clean_name(seat.name) for number, seat in enumerate(race.seats) if number != past.own)
    return (
        date_text(race.finished_at_ms, zone),
        clean_name(race.rules),
        against,
        f"{own.place}/{len(race.seats)}" if own is not None and own.place is not None else "-",
        "aborted" if race.aborted is not None else _ended(own, race),
        str(own.home) if own is not None else "-",
        time_text(own.ended_at_ms if own is not None and race.aborted is None else None),
        clean_chat(race.id) or "-",
    )


def _ended(own: HistorySeat | None, race: HistoryRace) -> str:
    """How one's own seat ended, in at most eight cells, the width of its column."""
    if own is None:
        return "-"
    return word_among(own, race.seats) or "-"


def time_text(ended_at_ms: int | None) -> str:
    """Minutes and seconds from a race's start; `-` if no race could have such a time."""
    if ended_at_ms is None or not 0 <= ended_at_ms < 100 * 3600_000:
        return "-"
    return f"{ended_at_ms // 60_000}:{ended_at_ms // 1000 % 60:02}"


def printable_json(text: str) -> str:
    """The same JSON value, with every character that a terminal might obey escaped. Line breaks between tokens stay."""
    return "".join(
        character if character == "\n" or unicodedata.category(character)[0] != "C" else _escape(character) for character in text
    )


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
