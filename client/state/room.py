"""The room that a player is in or watches, as one frozen value, and what each of its events makes of it.

Pure: the local monotonic time comes in as `now_ms`, and the server's "ms from now" is converted to it at once, so that a value needs no
clock. A snapshot replaces everything. Other events carry versions without gaps, and only the next one counts.
"""

from __future__ import annotations

from typing import NamedTuple, assert_never

from msgspec import Struct
from msgspec.structs import replace

from client.game.moves import taken
from client.state.progress import Points, measured
from protocol.record import Record, SeatRecord
from protocol.room_events import (
    Countdown,
    Dealt,
    Ended,
    Ghost,
    Hidden,
    PlayerReady,
    PlayerView,
    Presence,
    Progress,
    Ratings,
    ReadyDue,
    RematchAsked,
    Result,
    Room,
    RoomEvent,
    Said,
    Scored,
    Seated,
    Started,
    Unseated,
)
from protocol.seat_ends import SEAT_ENDS
from protocol.server_messages import CurrentView
from protocol.views import (
    ChatLine,
    GhostInfo,
    Phase,
    RaceOptions,
    SeatInfo,
    SeatRating,
    SeatState,
    SeriesInfo,
    SharedDeal,
    View,
    WatcherLine,
)
from protocol.watch_messages import Talk, Watchers

CHAT_KEPT = 50


PLAYED_KEPT = 20


class Played(NamedTuple):
    """A move, the card it took (empty if not known), and when it counted."""

    move: str
    card: str
    at_ms: int


class RoomModel(Struct, frozen=True):
    """The room this client is in. Times are local: started_at_ms may lie ahead (countdown); away_until_ms has (seat, local time) pairs.

    ratings: what the finished race did to them, by seat; empty if it does not count, or this is not known yet. series: the one that the
    race is part of; None for a single race. shared: the deal, if other races get the same one. told: the seats at the end of the race,
    known while the record of a shared deal is still sealed. ghosts: those who ran the deal before, at this moment of their runs. points,
    ghost_points: a curve for each seat and ghost, as far as this client has heard. heard_from_ms: the moment of the race since which it
    knows who led, after a snapshot that made up for what was missed. played: one's own last moves, see `Played`. left: the seats whose
    players left after the end, and will not race again. won: as in the snapshot; see also `won_by_now`. half: how each seat's part in the
    first race of a swap ended, while the second is open and the record of the first is sealed; empty if that was not heard. parted: who
    left last, before the start, as long as nobody has come since. ready_until_ms: when those who are not ready lose their seats.
    """

    version: int
    code: str
    race: int
    phase: Phase
    options: RaceOptions
    commitment: str
    seats: tuple[SeatInfo, ...]
    seat: int | None
    started_at_ms: int | None
    view: View | None
    record: Record | None
    chat: tuple[ChatLine | WatcherLine, ...]
    ratings: tuple[SeatRating, ...] = ()
    series: SeriesInfo | None = None
    shared: SharedDeal | None = None
    told: tuple[SeatRecord, ...] = ()
    ghosts: tuple[GhostInfo, ...] = ()
    away_until_ms: tuple[tuple[int, int], ...] = ()
    watchers: int = 0
    shown_whole: bool = False
    points: tuple[Points, ...] = ()
    ghost_points: tuple[Points, ...] = ()
    heard_from_ms: int = 0
    played: tuple[Played, ...] = ()
    left: frozenset[int] = frozenset()
    won: tuple[int, ...] = ()
    half: tuple[SeatState, ...] = ()
    parted: str = ""
    ready_until_ms: int | None = None

    @property
    def is_private_run(self) -> bool:
        """Whether there is nobody to talk to: one seat, and nobody may watch, as anybody may at a table of a tournament."""
        return len(self.seats) == 1 and not self.options.public and (self.shared is None or self.is_run)

    @property
    def is_run(self) -> bool:
        """Whether it is a run of a deal that each player runs once, alone."""
        return self.shared is not None and self.shared.kind != "round"

    @property
    def table_of(self) -> tuple[str, str]:
        """The id of the tournament that it is a table of, and the number of the round; both empty if it is none."""
        id_, _, round_ = self.shared.id.partition("/") if self.shared is not None and self.shared.kind == "round" else ("", "", "")
        return id_, round_

    @property
    def hides_boards(self) -> bool:
        """Whether its boards are hidden from watchers: others have yet to play its deal, or it is the first race of a swap."""
        if self.shared is not None:
            return self.record is None
        return self.options.swaps and self.series is not None and self.series.raced == 0

    @property
    def is_second_of_swap(self) -> bool:
        """Whether the first race of its swap is over, and the record of that is sealed."""
        return self.options.swaps and self.series is not None and self.series.raced == 1 and not self.series.over

    @property
    def ended(self) -> tuple[SeatRecord, ...]:
        """The seats of the finished race, as in its record; empty before the end."""
        return self.record.seats if self.record is not None else self.told

    @property
    def own(self) -> SeatInfo | None:
        """This client's seat, if it has one."""
        return next((info for info in self.seats if info.seat == self.seat), None)

    @property
    def opponents(self) -> tuple[SeatInfo, ...]:
        """Every other seat, free ones included."""
        return tuple(info for info in self.seats if info.seat != self.seat)

    @property
    def won_by_now(self) -> tuple[int, ...]:
        """The races, or series, that each seat has won in this room against the same players, with the one that is over; empty if it is the
        first.
        """
        if self.series is None:
            first = [number for number, seat in enumerate(self.ended) if seat.place == 1 and seat.state != "forfeited"]
            shared = sum(seat.place == 1 for seat in self.ended) > 1
        else:
            first = [number for number, seat in enumerate(self.series.seats) if self.series.over and seat.place == 1 and not seat.gone]
            shared = len(first) > 1
        return tuple(count + (number in first and not shared) for number, count in enumerate(self.won))

    def away_ms(self, now_ms: int) -> dict[int, int]:
        """How long each player who is away has left to come back, by seat; negative once it is over."""
        return {seat: until_ms - now_ms for seat, until_ms in self.away_until_ms}

    @property
    def ply(self) -> int:
        """How many moves this client's player has made, which is the ply of their next one."""
        return self.own.ply if self.own is not None else 0


def snapshot(room: Room, now_ms: int) -> RoomModel:
    started_at_ms = None
    if room.phase != "waiting" and room.starts_in_ms is not None:
        # A snapshot may fall between the views and the start, while the clock does not run yet.
        started_at_ms = now_ms + room.starts_in_ms
    elif room.phase in ("racing", "over"):
        started_at_ms = now_ms - room.elapsed_ms
    return RoomModel(
        version=room.version,
        code=room.code,
        race=room.race,
        phase=room.phase,
        options=room.options,
        commitment=room.commitment,
        seats=room.seats,
        seat=room.seat,
        started_at_ms=started_at_ms,
        view=room.view,
        record=room.record,
        chat=room.chat[-CHAT_KEPT:],
        ratings=room.ratings,
        series=room.series,
        shared=room.shared,
        told=room.ended,
        ghosts=room.ghosts,
        away_until_ms=tuple((seat, now_ms + left_ms) for seat, left_ms in enumerate(room.away_ms) if left_ms is not None),
        left=frozenset(info.seat for info in room.seats if info.name is None) if room.phase == "over" else frozenset(),
        won=room.won,
        ready_until_ms=None if room.ready_left_ms is None else now_ms + room.ready_left_ms,
    )


def room_after(room: RoomModel | None, event: RoomEvent, now_ms: int) -> RoomModel | None:
    """A room, one's own or a watched one, after one of its events. A snapshot replaces it; any version but the next is ignored."""
    if isinstance(event, Room):
        return resumed(room, event, now_ms)
    if room is None or event.version != room.version + 1:
        return room
    return with_points(replace(_apply(room, event, now_ms), version=event.version), now_ms)


def resumed(before: RoomModel | None, event: Room, now_ms: int) -> RoomModel:
    """The room of a snapshot. What a snapshot leaves out goes on from before if the race is the same."""
    room = snapshot(event, now_ms)
    heard_from_ms = since_start_ms(room, now_ms) if room.phase == "racing" else 0
    if before is not None and (before.code, before.race) == (room.code, room.race):
        # If the version is the same, nothing was missed.
        is_whole = before.version == room.version or _led_throughout(before, room)
        heard_from_ms = before.heard_from_ms if is_whole else heard_from_ms
        room = replace(room, points=before.points, ghost_points=before.ghost_points, played=before.played, half=before.half)
    elif before is not None and (before.code, before.race + 1) == (room.code, room.race) and room.is_second_of_swap:
        room = replace(room, half=_ends(before))
    return with_points(replace(room, heard_from_ms=heard_from_ms), now_ms)


def _led_throughout(before: RoomModel, room: RoomModel) -> bool:
    """Whether nobody else can have led, or drawn level, between these two moments of a race. Counts only ever grow."""
    then, now = [info.home for info in before.seats], [info.home for info in room.seats]
    return then == now or any(home > max((*now[:seat], *now[seat + 1 :]), default=0) for seat, home in enumerate(then))


def _ends(room: RoomModel) -> tuple[SeatState, ...]:
    """How each seat's part ended; empty if one has not, as far as this client has heard."""
    ends = tuple(info.state for info in room.seats)
    return ends if all(state in SEAT_ENDS for state in ends) else ()


def with_points(room: RoomModel, now_ms: int) -> RoomModel:
    """The room with a new point for each seat and ghost that has brought cards home, while the race runs."""
    if room.phase != "racing":
        return room
    clock_ms = since_start_ms(room, now_ms)
    points, ghost_points = measured(room.points, room.seats, clock_ms), room.ghost_points
    if all(ghost.state != "waiting" for ghost in room.ghosts):
        ghost_points = measured(ghost_points, room.ghosts, clock_ms)
    is_same = points is room.points and ghost_points is room.ghost_points
    return room if is_same else replace(room, points=points, ghost_points=ghost_points)


def since_start_ms(room: RoomModel, now_ms: int) -> int:
    """Milliseconds on the race's clock; 0 before the start."""
    return max(race_clock_ms(room.started_at_ms, now_ms), 0)


def room_heard(room: RoomModel, event: Watchers | Talk) -> RoomModel:
    """A room after news of its watchers. Ignores another room's news, and chat lines whose numbers are known."""
    if event.code != room.code:
        return room
    match event:
        case Watchers(count=count, whole=whole):
            return replace(room, watchers=count, shown_whole=whole)
        case Talk(lines=lines):
            known = {line.number for line in room.chat if isinstance(line, WatcherLine)}
            return replace(room, chat=(*room.chat, *(line for line in lines if line.number not in known))[-CHAT_KEPT:])
        case _:
            assert_never(event)


def room_as_seen(room: RoomModel, event: CurrentView, now_ms: int) -> RoomModel:
    """A room after one's own position was sent again. Ignores that of another race or seat."""
    if (event.race, event.seat) != (room.race, room.seat):
        return room
    seats = _with_seat(room.seats, event.seat, ply=event.ply, state=event.state, home=event.view.home, foundations=event.view.foundations)
    room = replace(room, view=event.view, seats=seats, started_at_ms=_earliest(room.started_at_ms, now_ms - event.elapsed_ms))
    return with_points(room, now_ms)


def race_clock_ms(started_at_ms: int | None, now_ms: int) -> int:
    """Milliseconds on the race's clock: negative before the start, 0 if no start is set."""
    return 0 if started_at_ms is None else now_ms - started_at_ms


def _apply(room: RoomModel, event: RoomEvent, now_ms: int) -> RoomModel:  # noqa: C901  (a case for each message, and no more in any)
    match event:
        case Seated():
            seats = _with_seat(
                room.seats, event.seat, name=event.name, bot=event.bot, connected=True, ready=False, again=False, round_trip_ms=None
            )
            return replace(room, seats=seats, parted="")
        case Unseated():
            seats = _with_seat(room.seats, event.seat, connected=False, ready=False, again=False)
            if room.phase == "over":
                # The name stays beside the result.
                return replace(room, seats=seats, left=room.left | {event.seat})
            # The seat is free for another player.
            parted = next((info.name for info in room.seats if info.seat == event.seat), None) or room.parted
            return replace(room, seats=_with_seat(seats, event.seat, name=None, bot=None), won=(), parted=parted, ready_until_ms=None)
        case Presence():
            away = tuple(pair for pair in room.away_until_ms if pair[0] != event.seat)
            if event.away_ms is not None:
                away = (*away, (event.seat, now_ms + event.away_ms))
            return replace(room, seats=_with_seat(room.seats, event.seat, connected=event.connected), away_until_ms=away)
        case PlayerReady():
            return replace(room, seats=_with_seat(room.seats, event.seat, ready=True))
        case ReadyDue(left_ms=left_ms):
            return replace(room, ready_until_ms=now_ms + left_ms)
        case Countdown():
            seats = room.seats
            for seat, round_trip_ms in enumerate(event.round_trips_ms):
                seats = _with_seat(seats, seat, round_trip_ms=round_trip_ms)
            # In a series, the ratings of the previous race may have come when this one was already open.
            return replace(room, phase="countdown", seats=seats, started_at_ms=now_ms + event.starts_in_ms, ratings=())
        case Dealt():
            view = event.view
            seats = _racing(room.seats, view, alone=room.seat if room.options.swaps else None)
            started_at_ms = now_ms + event.starts_in_ms
            return replace(room, phase="racing", seats=seats, started_at_ms=started_at_ms, view=view)
        case Started():
            seats = _racing(room.seats, None)
            for seat, (home, foundations) in enumerate(zip(event.home, event.foundations, strict=False)):
                # One's own are known even if they are hidden from the others.
                seats = _with_seat(seats, seat, home=home, **({"foundations": foundations} if foundations else {}))
            # A first view told of one's own shuffle alone, and in a swap more or fewer cards may lie ready on the other.
            points = tuple(((0, info.home),) for info in seats) if event.home else room.points
            return replace(room, phase="racing", seats=seats, points=points, started_at_ms=_earliest(room.started_at_ms, now_ms))
        case PlayerView(view=view):
            if event.seat != room.seat:
                return room
            played = Played(event.move, taken(room.view or view, view, event.move), event.elapsed_ms)
            moved = replace(room, view=view, played=(*room.played, played)[-PLAYED_KEPT:])
            return _counted(moved, event, view.home, view.foundations, now_ms)
        case Progress():
            # One's own are known even if they are hidden from the others.
            own = room.view.foundations if room.view is not None and event.seat == room.seat else {}
            return _counted(room, event, event.home, event.foundations or own, now_ms)
        case Result(record=record):
            return replace(_over(room, record.seats), record=record)
        case Ended(seats=ended):
            return _over(room, ended)
        case Scored():
            return replace(room, series=event.series)
        case Ratings(seats=ratings):
            return replace(room, ratings=ratings)
        case RematchAsked():
            return replace(room, seats=_with_seat(room.seats, event.seat, again=True))
        case Said():
            return replace(room, chat=(*room.chat, event.line)[-CHAT_KEPT:])
        case Ghost(ghost=ghost):
            return replace(room, ghosts=tuple(ghost if known.ghost == ghost.ghost else known for known in room.ghosts))
        case Hidden() | Room():
            # A snapshot replaces the room; see `room_after`.
            return room
        case _:
            assert_never(event)


def _over(room: RoomModel, ended: tuple[SeatRecord, ...]) -> RoomModel:
    seats = room.seats
    for number, seat in enumerate(ended):
        seats = _with_seat(seats, number, state=seat.state, home=seat.home, ply=seat.plies, elapsed_ms=seat.ended_at_ms)
    return replace(room, phase="over", seats=seats, told=ended)


def _counted(room: RoomModel, event: PlayerView | Progress, home: int, foundations: dict[str, int], now_ms: int) -> RoomModel:
    """A room after a move at the event's seat."""
    counts = {"ply": event.ply, "home": home, "foundations": foundations, "state": event.state, "elapsed_ms": event.elapsed_ms}
    seats = _with_seat(room.seats, event.seat, **counts)
    return replace(room, seats=seats, started_at_ms=_earliest(room.started_at_ms, now_ms - event.elapsed_ms))


def _racing(seats: tuple[SeatInfo, ...], view: View | None, *, alone: int | None = None) -> tuple[SeatInfo, ...]:
    """The seats at the start. All have the same shuffle, so a first view gives every seat as many cards home as one's own.

    alone: in a swap, the only seat for which this holds.
    """
    racing: SeatState = "racing"
    fresh = [replace(info, state=racing) if info.state == "waiting" else info for info in seats]
    if view is not None:
        known = {"home": view.home, "foundations": view.foundations, "ply": 0}
        fresh = [replace(info, **known) if alone in (None, info.seat) else info for info in fresh]
    return tuple(fresh)


def _with_seat(seats: tuple[SeatInfo, ...], seat: int, **fields: object) -> tuple[SeatInfo, ...]:
    return tuple(replace(info, **fields) if info.seat == seat else info for info in seats)


def _earliest(known_ms: int | None, heard_ms: int) -> int:
    # A late or repeated event would set the clock back. An event never says more than what has elapsed, so the earliest start holds.
    return heard_ms if known_ms is None else min(known_ms, heard_ms)
