"""Maps a table of a round to a race in a room: who sits where, the options of the race, and the result from its record.

People have the first seats of a room and house bots the last ones, whatever their side of the table. `Seating` says whose each seat is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from protocol.record import Record, SeatRecord
from protocol.tournaments import TournamentOptions, Verdict
from protocol.views import RaceOptions
from server.race.shared_deal_spec import SharedDealSpec
from server.tournaments.pairing.rounds import Pairing, RaceResult
from server.tournaments.state import TournamentState


@dataclass(frozen=True, slots=True)
class Seating:
    """invited: ids of people, by seat. bots: names of house bots, on the seats after them. sides: the seats of the first and the second
    side of the table; only one if everybody plays alone. entrants: by seat; None for the house."""

    invited: tuple[str, ...]
    bots: tuple[str, ...]
    sides: tuple[int, ...]
    entrants: tuple[str | None, ...]


def seating(state: TournamentState, pairing: Pairing) -> Seating:
    sides: list[tuple[str | None, str | None]] = [(entrant, state.people[entrant].bot) for entrant in pairing.entrants]
    if pairing.second is None and state.options.format != "session":
        sides.append((None, state.options.bot))
    order = sorted(range(len(sides)), key=lambda side: sides[side][1] is not None)
    return Seating(
        invited=tuple(entrant for entrant, bot in sides if bot is None and entrant is not None),
        bots=tuple(sides[side][1] or "" for side in order if sides[side][1] is not None),
        sides=tuple(order.index(side) for side in range(len(sides))),
        entrants=tuple(sides[side][0] for side in order),
    )


def race_options(options: TournamentOptions, *, seats: int = 2, bots: tuple[str, ...] = ()) -> RaceOptions:
    """The options of a tournament's races. They cannot be joined from the lobby, because nobody else may sit there."""
    return RaceOptions(
        rules=options.rules,
        seats=seats,
        public=False,
        countdown_s=options.countdown_s,
        time_limit_s=options.time_limit_s,
        grace_s=options.grace_s,
        bots=bots,
        delay_s=options.delay_s,
        rated=options.rated,
    )


def shared_deal_spec(state: TournamentState, number: int, pairing: Pairing) -> SharedDealSpec:
    """The shared deal for the room of a table in round `number`."""
    seated = seating(state, pairing)
    bots = seated.entrants[len(seated.invited) :]
    return SharedDealSpec(
        deal=state.deal(number, pairing.table),
        invited=seated.invited,
        bots=tuple(state.people[entrant].name if entrant is not None else state.options.bot for entrant in bots),
        table=pairing.table,
        held=True,
        listed=state.options.public,
    )


def result_of(state: TournamentState, pairing: Pairing, record: Record) -> RaceResult:
    """The result of the race at a table."""
    return result_of_seats([record.seats[seat] for seat in seating(state, pairing).sides])


def result_of_seats(seats: Sequence[SeatRecord]) -> RaceResult:
    """seats: by side of the table; only one if everybody plays alone."""
    if len(seats) == 1:
        return RaceResult("first" if seats[0].state == "won" else "second", (seats[0].home, 0))
    first, second = seats
    home = first.home, second.home
    if first.state == second.state == "forfeited":
        return RaceResult("neither", home, forfeit=True)
    return RaceResult(_verdict(first, second), home, walkover="forfeited" in (first.state, second.state))


def _verdict(first: SeatRecord, second: SeatRecord) -> Verdict:
    if first.place == second.place:
        return "draw"
    return "first" if first.place < second.place else "second"


def no_show(seated: Seating, absent: set[int]) -> RaceResult | None:
    """The result if the players of these seats are not ready in time; None if nobody is missing."""
    first, *rest = (seat in absent for seat in seated.sides)
    second = rest[0] if rest else False
    if not first and not second:
        return None
    return RaceResult("neither" if first and second else "second" if first else "first", forfeit=True)
