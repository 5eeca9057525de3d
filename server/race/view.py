"""Who may see what: the only place where a position, an event or a race is turned into something that leaves the server.

The rules: players see their own position as `see` shows it, once it is dealt to them; of every other seat they see only how far it is.
A viewer who may not see an event is told only its version. Nobody is told the order of the stock, or the secret, nonces and seed before
the record is out. While a race is `sealed`, nobody is told its record, nor on which foundations another seat has built.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TypeAlias, assert_never

from protocol.cards import CARD_TEXT, Card
from protocol.room_events import (
    Countdown,
    Dealt,
    Ended,
    Hidden,
    PlayerReady,
    PlayerView,
    Presence,
    Progress,
    Result,
    Room,
    RoomEvent,
    Seated,
    Started,
    Unseated,
)
from protocol.server_messages import CurrentView
from protocol.views import ChatLine, Curve, GhostInfo, SeatInfo, SeatRating, SeriesInfo, View
from server.race.events import (
    ConnectionChanged,
    MovePlayed,
    RaceEnded,
    RaceEvent,
    RaceStarted,
    SeatDealt,
    SeatEnded,
    SeatFreed,
    SeatReady,
    SeatTaken,
    StartSet,
    ToldAlike,
)
from server.race.machine import Race
from server.race.seat import Seat
from server.rules.position import Position

Viewer: TypeAlias = int | None
"""The seat that a viewer holds in the race, or None."""


def see(position: Position) -> View:
    """What a position's own player may see of it: everything but the stock's order and the seed of redeals to come."""
    stock = position.stock
    shown = position.rules.visible_stock
    foundations = position.foundations
    return View(
        piles=position.pile_texts,
        waste=_texts(position.waste),
        stock=len(stock),
        stock_next=_texts(stock[:shown]) if shown else (),
        foundations=foundations,
        pending=position.pending,
        redeals=position.redeals_left,
        home=position.home,
        moves=position.legal_moves(),
    )


def _texts(cards: tuple[Card, ...]) -> tuple[str, ...]:
    # Twice as fast as a comprehension, but for a single card it returns no tuple.
    return itemgetter(*cards)(CARD_TEXT) if len(cards) > 1 else tuple([CARD_TEXT[card] for card in cards])


def tell(event: RaceEvent, *, version: int, viewer: Viewer, now: int, sealed: bool = False) -> RoomEvent:
    """What `viewer` is told of the event with this room version. `now` turns moments into time left. sealed: whether the race is."""
    if isinstance(event, (MovePlayed, SeatDealt)):
        own, others = tell_apart(event, version=version, now=now, sealed=sealed)
        return own if viewer == event.seat else others
    return tell_alike(event, version=version, now=now, sealed=sealed)


def tell_alike(event: ToldAlike, *, version: int, now: int, sealed: bool) -> RoomEvent:
    """What `tell` gives every viewer alike, so that it is made only once."""
    match event:
        case SeatReady(seat=seat):
            return PlayerReady(version=version, seat=seat)
        case StartSet(starts_at=starts_at, round_trips_ms=round_trips_ms):
            return Countdown(version=version, starts_in_ms=max(starts_at - now, 0), round_trips_ms=round_trips_ms)
        case RaceStarted(positions=positions):
            return Started(
                version=version,
                home=tuple(position.home for position in positions),
                foundations=tuple({} if sealed else position.foundations for position in positions),
            )
        case RaceEnded(record=record) if sealed:
            # In a swap, the score tells that the race is over.
            return Hidden(version=version) if record.swaps else Ended(version=version, seats=record.seats)
        case RaceEnded(record=record):
            return Result(version=version, record=record)
        case SeatEnded():
            return Progress(
                version=version,
                seat=event.seat,
                ply=event.ply,
                home=event.position.home if event.position is not None else 0,
                foundations=event.position.foundations if event.position is not None and not sealed else {},
                state=event.state,
                elapsed_ms=event.at_ms,
            )
        case SeatTaken(seat=seat, name=name, bot=bot):
            return Seated(version=version, seat=seat, name=name, bot=bot)
        case SeatFreed(seat=seat):
            return Unseated(version=version, seat=seat)
        case ConnectionChanged(seat=seat, connected=connected, away_until=until):
            return Presence(version=version, seat=seat, connected=connected, away_ms=_left(until, now))
        case _:
            assert_never(event)


def tell_apart(event: MovePlayed | SeatDealt, *, version: int, now: int, sealed: bool) -> tuple[PlayerView | Dealt, Progress | Hidden]:
    """What `tell` gives the seat that the event is about, and what it gives the others."""
    seat, view = event.seat, see(event.position)
    if type(event) is not MovePlayed:
        assert isinstance(event, SeatDealt)
        return Dealt(version=version, seat=seat, starts_in_ms=max(event.starts_at - now, 0), view=view), Hidden(version=version)
    ply, state, elapsed_ms = event.ply, event.state, event.at_ms
    foundations = {} if sealed else view.foundations
    return (
        PlayerView(version=version, seat=seat, ply=ply, move=event.move, state=state, elapsed_ms=elapsed_ms, view=view),
        Progress(version=version, seat=seat, ply=ply, home=view.home, foundations=foundations, state=state, elapsed_ms=elapsed_ms),
    )


def current_view(race: Race, seat: Seat, *, ref: int = 0) -> CurrentView | None:
    """The seat's own current position, or None before it was dealt."""
    if not seat.dealt or seat.position is None:
        return None
    return CurrentView(
        race=race.number,
        seat=seat.number,
        ply=seat.ply,
        state=seat.state,
        elapsed_ms=seat.last_at,
        view=see(seat.position),
        ref=ref,
    )


def snapshot(
    race: Race,
    *,
    version: int,
    viewer: Viewer,
    now: int,
    again: frozenset[int],
    chat: tuple[ChatLine, ...],
    ratings: tuple[SeatRating, ...] = (),
    series: SeriesInfo | None = None,
    ghosts: tuple[GhostInfo, ...] = (),
    won: tuple[int, ...] = (),
    ready_until: int | None = None,
    ref: int = 0,
) -> Room:
    """All that `viewer` may know of the room. again: seats that have asked for a rematch. ratings: how the race changed them, by seat.

    series: how the race's series stands. ghosts: as they were last told. won: see `Room`. ready_until: when those who are not ready lose
    their seats. ref: that of the request it answers.
    """
    own = race.seats[viewer] if viewer is not None else None
    away_ms = tuple(_left(seat.away_until, now) for seat in race.seats)
    return Room(
        version=version,
        code=race.room,
        race=race.number,
        phase=race.phase,
        options=race.options,
        commitment=race.commitment.hex(),
        seats=tuple(_seat_info(race, seat, viewer, again=seat.number in again) for seat in race.seats),
        seat=viewer,
        starts_in_ms=max(race.starts_at - now, 0) if race.phase == "countdown" and race.starts_at is not None else None,
        elapsed_ms=race.elapsed(now),
        view=see(own.position) if own is not None and own.dealt and own.position is not None else None,
        record=race.record if not race.sealed else None,
        ended=race.record.seats if race.record is not None and race.deal.shared is not None else (),
        shared=race.deal.shared,
        chat=chat,
        ratings=ratings,
        series=series,
        ghosts=ghosts,
        away_ms=away_ms if any(left is not None for left in away_ms) else (),
        won=won,
        ready_left_ms=_left(ready_until, now),
        ref=ref,
    )


def _left(until: int | None, now: int) -> int | None:
    return max(until - now, 0) if until is not None else None


def progress_curves(race: Race) -> tuple[Curve, ...]:
    """The progress of each seat as everybody was told it, for those who come in the middle. Empty once the record tells it."""
    if race.phase != "racing" and not (race.phase == "over" and race.sealed):
        return ()
    return tuple(_curve(first, seat) for first, seat in zip(race.deal.firsts, race.seats, strict=True))


def _curve(first: Position, seat: Seat) -> Curve:
    points = [(0, first.home)]
    for played in seat.played:
        # No card ever leaves a foundation, so there are at most as many points as cards.
        if played.home != points[-1][1]:
            points.append((played.at_ms, played.home))
    return Curve(at_ms=tuple(at_ms for at_ms, _ in points), home=tuple(home for _, home in points))


def _seat_info(race: Race, seat: Seat, viewer: Viewer, *, again: bool) -> SeatInfo:
    # Not even counts are shown before the start: how many Aces lie on the foundations can depend on the deal.
    position = seat.position if race.phase in ("racing", "over") else None
    sealed = race.sealed and seat.number != viewer
    return SeatInfo(
        seat=seat.number,
        name=seat.name if seat.player is not None else None,
        bot=seat.bot,
        connected=seat.connected and seat.player is not None,
        ready=seat.nonce is not None,
        again=again,
        state=seat.state,
        ply=seat.ply,
        home=position.home if position is not None else 0,
        foundations=position.foundations if position is not None and not sealed else {},
        elapsed_ms=seat.last_at,
        round_trip_ms=seat.round_trip_ms,
    )
