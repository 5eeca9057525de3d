"""What the client knows, as one frozen value, and the pure reducer that makes the next value out of what was heard.

Owns: which message changes what. Must not know of screens, sockets or clocks: the local monotonic time comes in as `now_ms`, and what
the server says in "ms from now" is anchored to it at once, so that a value needs no clock of its own.

Room events carry versions without gaps. An event at or below the known version is a repetition and ignored; one that skips a version
sets `missed` and is not applied, since the events after the known version are sent again once the driver has asked for them. A
snapshot replaces everything about the room. What must outlive snapshots (the player's own nonce, the commitment he saw before he sent
it and the first view he was dealt) is no part of the room: it is his evidence about one race, kept as `Evidence`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, assert_never

from msgspec.structs import replace as changed

from client.link import Connected, Connecting, LinkEvent, Lost, RoundTrip
from protocol.errors import Fault
from protocol.record import Record
from protocol.server_messages import (
    Countdown,
    CurrentView,
    Dealt,
    Error,
    Hidden,
    Left,
    Lobby,
    PlayerReady,
    PlayerView,
    Presence,
    Progress,
    RematchAsked,
    Result,
    Room,
    RoomEvent,
    Said,
    Seated,
    ServerMessage,
    Started,
    Unseated,
    Welcome,
)
from protocol.text import clean_chat
from protocol.views import ChatLine, Phase, RaceOptions, SeatInfo, SeatState, View

CHAT_KEPT = 50


@dataclass(frozen=True, slots=True)
class ReadySent:
    """This client has sent `ready` with this nonce; the commitment is the one that the room shows now."""

    nonce: str


@dataclass(frozen=True, slots=True)
class MoveSent:
    """This client has sent a move for this ply and waits for its view."""

    ply: int
    move: str


LocalEvent: TypeAlias = ReadySent | MoveSent
Event: TypeAlias = ServerMessage | LinkEvent | LocalEvent


@dataclass(frozen=True, slots=True)
class LinkModel:
    """How the line is. retry_at_ms: local time of the next try, None when there is none."""

    state: Literal["connecting", "connected", "lost", "gone"] = "connecting"
    attempt: int = 0
    reason: str = ""
    retry_at_ms: int | None = None
    round_trip_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What this player saw himself of one race, to check its record against: see `client.deal_check`."""

    code: str
    race: int
    commitment: str
    nonce: str
    winnable: bool = False
    first_view: View | None = None


@dataclass(frozen=True, slots=True)
class RoomModel:
    """The room this client is in. Times are local: started_at_ms may lie ahead (countdown); away_until_ms is (seat, local time) pairs.

    missed: a version was skipped; join again with `version`. in_flight: the move that was sent and not answered yet.
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
    chat: tuple[ChatLine, ...]
    away_until_ms: tuple[tuple[int, int], ...] = ()
    missed: bool = False
    in_flight: MoveSent | None = None

    @property
    def own(self) -> SeatInfo | None:
        """This client's seat, when it has one."""
        return next((info for info in self.seats if info.seat == self.seat), None)

    @property
    def opponents(self) -> tuple[SeatInfo, ...]:
        """Every other seat, free ones included."""
        return tuple(info for info in self.seats if info.seat != self.seat)

    @property
    def ply(self) -> int:
        """Moves this client's player has made: the number of his next one."""
        return self.own.ply if self.own is not None else 0


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell the player once. code, ref: of the error it tells, else empty and 0. at_ms: local time."""

    kind: Literal["info", "warning", "error"]
    text: str
    at_ms: int
    code: str = ""
    ref: int = 0


@dataclass(frozen=True, slots=True)
class Model:
    """Everything the screens are drawn from."""

    link: LinkModel = field(default_factory=LinkModel)
    welcome: Welcome | None = None
    lobby: Lobby | None = None
    room: RoomModel | None = None
    evidence: Evidence | None = None
    notice: Notice | None = None

    @property
    def needs_rejoin(self) -> bool:
        """A room event was missed: send join-race with `room.code` and `room.version`."""
        return self.room is not None and self.room.missed


def reduce(model: Model, event: Event, now_ms: int) -> Model:
    """The model after `event`, heard at the local time `now_ms`. Total: no sequence of events is an error."""
    match event:
        case Connecting() | Connected() | Lost() | RoundTrip():
            return _link(model, event, now_ms)
        case ReadySent() | MoveSent():
            return _local(model, event)
        case Welcome():
            return replace(model, welcome=event, notice=None)
        case Lobby():
            return replace(model, lobby=event)
        case Error():
            return _error(model, event, now_ms)
        case Left():
            return _left(model, event, now_ms)
        case CurrentView():
            return _current_view(model, event, now_ms)
        case Room():
            # What was said at home, of a code that nobody had, is of no interest in the room.
            notice = model.notice if model.room is not None else None
            return _remember_first_view(replace(model, room=_snapshot(event, now_ms), notice=notice))
        case _:
            return _room_event(model, event, now_ms)


def _link(model: Model, event: LinkEvent, now_ms: int) -> Model:
    link = model.link
    match event:
        case Connecting(attempt=attempt):
            link = replace(link, state="connecting", attempt=attempt)
        case Connected():
            link = LinkModel(state="connected")
        case RoundTrip(ms=ms):
            return replace(model, link=replace(link, round_trip_ms=ms))
        case Lost():
            retry_at_ms = None if event.retry_in_ms is None else now_ms + event.retry_in_ms
            state: Literal["gone", "lost"] = "gone" if retry_at_ms is None else "lost"
            link = replace(link, state=state, reason=clean_chat(event.reason), retry_at_ms=retry_at_ms, round_trip_ms=None)
        case _:
            assert_never(event)
    # Whatever was on its way when the line changed will not be answered on the new one.
    room = replace(model.room, in_flight=None) if model.room is not None else None
    return replace(model, link=link, room=room)


def _local(model: Model, event: LocalEvent) -> Model:
    room = model.room
    if room is None:
        return model
    match event:
        case ReadySent(nonce=nonce):
            return replace(model, evidence=Evidence(room.code, room.race, room.commitment, nonce, room.options.winnable))
        case MoveSent():
            return replace(model, room=replace(room, in_flight=event))
        case _:
            assert_never(event)


def _error(model: Model, error: Error, now_ms: int) -> Model:
    kind: Literal["warning", "error"] = "warning" if error.fault is Fault.STATE else "error"
    notice = Notice(kind, clean_chat(error.message) or clean_chat(error.code), now_ms, error.code, error.ref)
    room = replace(model.room, in_flight=None) if model.room is not None else None
    return replace(model, notice=notice, room=room)


def _left(model: Model, left: Left, now_ms: int) -> Model:
    if model.room is None or model.room.code != left.code:
        return model
    sentence = {
        "left": f"You have left race {left.code}.",
        "closed": f"Race {left.code} was closed by the host.",
        "idle": f"Race {left.code} was closed: nobody came.",
        "failed": f"Race {left.code} was ended by a fault of the server.",
    }.get(left.reason, f"Race {left.code} is over for you.")
    return replace(model, room=None, notice=Notice("info", clean_chat(sentence), now_ms))


def _current_view(model: Model, event: CurrentView, now_ms: int) -> Model:
    room = model.room
    if room is None or (event.race, event.seat) != (room.race, room.seat):
        return model
    seats = _with_seat(room.seats, event.seat, ply=event.ply, state=event.state, home=event.view.home, foundations=event.view.foundations)
    started_at_ms = _earliest(room.started_at_ms, now_ms - event.elapsed_ms)
    return replace(model, room=replace(room, view=event.view, seats=seats, started_at_ms=started_at_ms, in_flight=None))


def _snapshot(room: Room, now_ms: int) -> RoomModel:
    match room.phase:
        case "waiting":
            started_at_ms = None
        case "countdown":
            started_at_ms = None if room.starts_in_ms is None else now_ms + room.starts_in_ms
        case "racing" | "over":
            # A snapshot may fall between the views and the start, when the clock has not begun to run.
            started_at_ms = now_ms + room.starts_in_ms if room.starts_in_ms is not None else now_ms - room.elapsed_ms
        case _:
            assert_never(room.phase)
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
    )


def _room_event(model: Model, event: RoomEvent, now_ms: int) -> Model:
    room = model.room
    if room is None or event.version <= room.version:
        return model
    if event.version > room.version + 1:
        return replace(model, room=replace(room, missed=True))
    room = replace(_apply(room, event, now_ms), version=event.version, missed=False)
    return _remember_first_view(replace(model, room=room))


def _apply(room: RoomModel, event: RoomEvent, now_ms: int) -> RoomModel:
    match event:
        case Room():
            return _snapshot(event, now_ms)
        case Seated():
            seats = _with_seat(
                room.seats, event.seat, name=event.name, bot=event.bot, connected=True, ready=False, again=False, round_trip_ms=None
            )
            return replace(room, seats=seats)
        case Unseated():
            seats = _with_seat(room.seats, event.seat, connected=False, ready=False, again=False)
            # After the end the name stays beside the result; before the start the seat is free for another.
            return replace(room, seats=seats if room.phase == "over" else _with_seat(seats, event.seat, name=None, bot=None))
        case Presence():
            away = tuple(pair for pair in room.away_until_ms if pair[0] != event.seat)
            if event.away_ms is not None:
                away = (*away, (event.seat, now_ms + event.away_ms))
            return replace(room, seats=_with_seat(room.seats, event.seat, connected=event.connected), away_until_ms=away)
        case PlayerReady():
            return replace(room, seats=_with_seat(room.seats, event.seat, ready=True))
        case Countdown():
            seats = room.seats
            for seat, round_trip_ms in enumerate(event.round_trips_ms):
                seats = _with_seat(seats, seat, round_trip_ms=round_trip_ms)
            return replace(room, phase="countdown", seats=seats, started_at_ms=now_ms + event.starts_in_ms)
        case Dealt():
            view = event.view
            seats = _racing(room.seats, view)
            started_at_ms = now_ms + event.starts_in_ms
            return replace(room, phase="racing", seats=seats, started_at_ms=started_at_ms, view=view, in_flight=None)
        case Started():
            return replace(room, phase="racing", seats=_racing(room.seats, None), started_at_ms=_earliest(room.started_at_ms, now_ms))
        case PlayerView():
            return _moved(room, event, now_ms)
        case Progress():
            seats = _with_seat(
                room.seats,
                event.seat,
                ply=event.ply,
                home=event.home,
                foundations=event.foundations,
                state=event.state,
                elapsed_ms=event.elapsed_ms,
            )
            return replace(room, seats=seats, started_at_ms=_earliest(room.started_at_ms, now_ms - event.elapsed_ms))
        case Result():
            seats = room.seats
            for seat, ended in enumerate(event.record.seats):
                seats = _with_seat(seats, seat, state=ended.state, home=ended.home, ply=ended.plies)
            return replace(room, phase="over", record=event.record, seats=seats, in_flight=None)
        case RematchAsked():
            return replace(room, seats=_with_seat(room.seats, event.seat, again=True))
        case Said():
            return replace(room, chat=(*room.chat, event.line)[-CHAT_KEPT:])
        case Hidden():
            return room
        case _:
            assert_never(event)


def _moved(room: RoomModel, event: PlayerView, now_ms: int) -> RoomModel:
    if event.seat != room.seat:
        return room
    seats = _with_seat(
        room.seats,
        event.seat,
        ply=event.ply,
        home=event.view.home,
        foundations=event.view.foundations,
        state=event.state,
        elapsed_ms=event.elapsed_ms,
    )
    started_at_ms = _earliest(room.started_at_ms, now_ms - event.elapsed_ms)
    return replace(room, view=event.view, seats=seats, started_at_ms=started_at_ms, in_flight=None)


def _racing(seats: tuple[SeatInfo, ...], view: View | None) -> tuple[SeatInfo, ...]:
    """Everybody starts on the same shuffle: with a first view, every seat has as many cards home as one's own."""
    racing: SeatState = "racing"
    fresh = [changed(info, state=racing) if info.state == "waiting" else info for info in seats]
    if view is not None:
        fresh = [changed(info, home=view.home, foundations=view.foundations, ply=0) for info in fresh]
    return tuple(fresh)


def _with_seat(seats: tuple[SeatInfo, ...], seat: int, **fields: object) -> tuple[SeatInfo, ...]:
    return tuple(changed(info, **fields) if info.seat == seat else info for info in seats)


def _earliest(known_ms: int | None, heard_ms: int) -> int:
    # An event that comes late, or again after a lost line, would set the clock back; what has elapsed is never less than it says.
    return heard_ms if known_ms is None else min(known_ms, heard_ms)


def _remember_first_view(model: Model) -> Model:
    """Keep the first view of the race for which there is evidence: only one at ply 0 shows the cards as they were dealt."""
    evidence, room = model.evidence, model.room
    if evidence is None or room is None or room.view is None or evidence.first_view is not None or room.ply > 0:
        return model
    if (evidence.code, evidence.race) != (room.code, room.race) or room.phase not in ("racing", "countdown"):
        return model
    return replace(model, evidence=replace(evidence, first_view=room.view))
