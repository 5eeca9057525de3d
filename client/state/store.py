"""What the client knows, as one frozen value, and the pure reducer that makes the next value out of what was heard.

Owns: which message changes what. Must not know of screens, sockets or clocks: the local monotonic time comes in as `now_ms`, and what
the server says in "ms from now" is anchored to it at once, so that a value needs no clock of its own.

Room events carry versions without gaps, and the link hands on only the one that comes next (`events`); any other is no news and is
ignored. A snapshot replaces everything about the room. What must outlive snapshots is no part of the room: the move that this player has
sent and that the link sends again until it is answered, and his evidence about one race (his own nonce, the commitment he saw before he
sent it and the first view he was dealt), kept as `Evidence`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, assert_never

from msgspec.structs import replace as changed

from client.connection.events import Back, Connected, Connecting, LinkEvent, Lost, RoundTrip
from client.connection.resync import NO_RACE, NO_SEAT
from client.state.tournament import TournamentsModel, tournaments_after
from protocol.errors import Fault
from protocol.record import Record, SeatRecord
from protocol.server_messages import (
    Board,
    Called,
    Challenge,
    Challenges,
    Countdown,
    CurrentView,
    Dailies,
    Dealt,
    Decided,
    Ended,
    Error,
    Ghost,
    Hidden,
    Left,
    Lobby,
    PlayerReady,
    PlayerView,
    Presence,
    Progress,
    Ratings,
    RematchAsked,
    Result,
    Room,
    RoomEvent,
    Runs,
    Said,
    Scored,
    Seated,
    ServerMessage,
    Started,
    Talk,
    Tournament,
    Tournaments,
    Unseated,
    Unwatched,
    WaitingMatch,
    WaitingOver,
    Watched,
    WatchedEvent,
    Watchers,
    Welcome,
    YouAre,
)
from protocol.text import clean_chat, clean_name
from protocol.views import (
    ChatLine,
    GhostInfo,
    Phase,
    RaceOptions,
    RulesInfo,
    SeatInfo,
    SeatRating,
    SeatState,
    SeriesInfo,
    SharedDeal,
    View,
    WatcherLine,
)

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
    """How the line is. retry_at_ms: local time of the next try, None when there is none. reason: why there was none, until all is well.

    returning: the line stands again, and what is known of the room may still be old.
    """

    state: Literal["connecting", "connected", "returning", "lost", "gone"] = "connecting"
    attempt: int = 0
    reason: str = ""
    retry_at_ms: int | None = None
    round_trip_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What this player saw himself of one race, to check its record against: see `client.state.evidence`."""

    code: str
    race: int
    commitment: str
    nonce: str
    winnable: bool = False
    first_view: View | None = None

    def secret_of(self, room: RoomModel) -> bool:
        """Whether it is of the first race of the swap whose second one is waited for."""
        second = room.options.swaps and room.series is not None and room.series.raced == 1
        return second and (self.code, self.race + 1) == (room.code, room.race)


@dataclass(frozen=True, slots=True)
class RoomModel:
    """The room this client is in. Times are local: started_at_ms may lie ahead (countdown); away_until_ms is (seat, local time) pairs.

    ratings: what the race that is over did to them, by seat; empty for one that does not count, and until it is known.
    series: of which the race is one, None for a single race. shared: the deal, where other races are dealt the same. told: the seats of
    such a race that is over, which are known while its record is closed still. ghosts: those who ran the deal before, as far as they were
    by now.
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

    @property
    def is_withheld(self) -> bool:
        """Whether nobody who watches is shown its boards: others have yet to play its deal, or it is the first race of a swap."""
        if self.shared is not None:
            return self.record is None
        return self.options.swaps and self.series is not None and self.series.raced == 0

    @property
    def ended(self) -> tuple[SeatRecord, ...]:
        """The seats of the race that is over, as its record has them; empty before."""
        return self.record.seats if self.record is not None else self.told

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
class Search:
    """An opponent is being looked for. rules: None for any; window: points that his rating may differ by, None for any number.

    waiting: how many look, this player included. since_ms: local time.
    """

    rules: str | None
    window: int | None
    waiting: int
    since_ms: int


@dataclass(frozen=True, slots=True)
class Model:
    """Everything the screens are drawn from. lobby: None while it is not known. in_flight: the move that was sent and not answered yet.

    last: the room as it was when the race before was over, since the next race of a series opens at once; None where there was none.
    search: None while no opponent is looked for. runs: the board of a deal that was asked for last.
    """

    link: LinkModel = field(default_factory=LinkModel)
    welcome: Welcome | None = None
    lobby: Lobby | None = None
    search: Search | None = None
    room: RoomModel | None = None
    in_flight: MoveSent | None = None
    evidence: Evidence | None = None
    last: RoomModel | None = None
    runs: Runs | None = None
    notice: Notice | None = None
    tournaments: TournamentsModel = field(default_factory=TournamentsModel)

    @property
    def rules(self) -> tuple[RulesInfo, ...]:
        """The rule sets that the server has explained."""
        return self.welcome.rules if self.welcome is not None else ()

    @property
    def is_at_table(self) -> bool:
        """Whether the room is a table of a tournament."""
        return self.room is not None and self.room.shared is not None and self.room.shared.kind == "round"

    @property
    def finished(self) -> RoomModel | None:
        """The room with the race whose result is there to be looked at: of the last one until this player is ready for the next."""
        room = self.room
        if room is None or room.phase == "over":
            return room
        return self.last if room.phase == "waiting" and room.own is not None and not room.own.ready else None


def reduce(model: Model, event: Event, now_ms: int) -> Model:
    """The model after `event`, heard at the local time `now_ms`. Total: no sequence of events is an error."""
    after = _reduced(model, event, now_ms)
    tournaments = tournaments_after(model.tournaments, event, now_ms)
    if tournaments is not model.tournaments:
        after = replace(after, tournaments=tournaments)
    if after.in_flight is not None and not _may_be_played(after, after.in_flight, before=model):
        return replace(after, in_flight=None)
    return after


def _may_be_played(model: Model, sent: MoveSent, *, before: Model) -> bool:
    """Whether an answer to the move is still to come: by every sign of the seat itself, however it was heard of."""
    room, was = model.room, before.room
    if room is None or was is None or room.own is None or model.link.state == "gone":
        return False
    same = (room.code, room.race, room.seat) == (was.code, was.race, was.seat)
    return same and room.phase != "over" and room.own.state in ("waiting", "racing") and room.ply <= sent.ply


def _reduced(model: Model, event: Event, now_ms: int) -> Model:
    match event:
        case Connecting() | Connected() | Back() | Lost() | RoundTrip():
            return _link(model, event, now_ms)
        case ReadySent() | MoveSent():
            return _local(model, event)
        case Welcome():
            return replace(model, welcome=event, notice=None)
        case YouAre():
            return _renamed(model, event, now_ms)
        case Lobby():
            return replace(model, lobby=event)
        case WaitingMatch():
            return replace(model, search=Search(event.rules, event.window, event.waiting, now_ms - event.waited_ms))
        case WaitingOver():
            return replace(model, search=None)
        case Error():
            return _error(model, event, now_ms)
        case Left():
            return _left(model, event, now_ms)
        case CurrentView():
            return _current_view(model, event, now_ms)
        case Unwatched():
            return _unwatched(model, event, now_ms)
        case Watchers() | Talk():
            return model if model.room is None else replace(model, room=room_heard(model.room, event))
        case Runs():
            return replace(model, runs=event)
        case Dailies() | Challenge() | Challenges():
            return model
        case Watched() | WatchedEvent() | Board():
            # What is watched is no part of the room that one is in: `client.state.watching` has it.
            return model
        case Tournaments() | Tournament() | Called() | Decided():
            # Nor are tournaments: `client.state.tournament` has them.
            return model
        case Room():
            # What was said at home, of a code that nobody had, is of no interest in the room.
            notice = model.notice if model.room is not None else None
            return _remember(replace(model, room=_snapshot(event, now_ms), last=_last(model, event), search=None, notice=notice))
        case _:
            return _room_event(model, event, now_ms)


def _link(model: Model, event: LinkEvent, now_ms: int) -> Model:
    link = model.link
    match event:
        case Connecting(attempt=attempt):
            return replace(model, link=replace(link, state="connecting", attempt=attempt, retry_at_ms=None))
        case Connected():
            if model.room is not None and link.reason:
                return replace(model, link=replace(link, state="returning"))
            return replace(model, link=LinkModel(state="connected"))
        case Back():
            notice = Notice("info", "The line is back.", now_ms)
            return replace(model, link=LinkModel(state="connected", round_trip_ms=link.round_trip_ms), notice=model.notice or notice)
        case RoundTrip(ms=ms):
            return replace(model, link=replace(link, round_trip_ms=ms))
        case Lost():
            retry_at_ms = None if event.retry_in_ms is None else now_ms + event.retry_in_ms
            state: Literal["gone", "lost"] = "gone" if retry_at_ms is None else "lost"
            link = LinkModel(state=state, attempt=link.attempt, reason=clean_chat(event.reason), retry_at_ms=retry_at_ms)
            # Who is there and what is open changes by the second: what is not known any more is not shown.
            return replace(model, link=link, lobby=None, search=None)
        case _:
            assert_never(event)


def _local(model: Model, event: LocalEvent) -> Model:
    room = model.room
    if room is None:
        return model
    match event:
        case ReadySent(nonce=nonce):
            held = model.evidence
            if held is not None and held.secret_of(room):
                # The shuffle was fixed with the first race of the swap, by the nonce sent then.
                return replace(model, evidence=replace(held, race=room.race, first_view=None))
            return replace(model, evidence=Evidence(room.code, room.race, room.commitment, nonce, room.options.winnable))
        case MoveSent():
            return replace(model, in_flight=event)
        case _:
            assert_never(event)


def _error(model: Model, error: Error, now_ms: int) -> Model:
    kind: Literal["warning", "error"] = "warning" if error.fault is Fault.STATE else "error"
    notice = Notice(kind, clean_chat(error.message) or clean_chat(error.code), now_ms, error.code, error.ref)
    return replace(model, notice=notice, in_flight=None)


def _renamed(model: Model, event: YouAre, now_ms: int) -> Model:
    if model.welcome is None or event.player != model.welcome.player or event.name == model.welcome.name:
        return model
    notice = Notice("info", f"You are called {clean_name(event.name)} from now on.", now_ms)
    return replace(model, welcome=changed(model.welcome, name=event.name), notice=notice)


def _left(model: Model, left: Left, now_ms: int) -> Model:
    if model.room is None or model.room.code != left.code:
        return model
    sentence = {
        "left": f"You have left race {left.code}.",
        "not-ready": f"You kept race {left.code} waiting, and your seat is free again.",
        "closed": f"Race {left.code} was closed by the host.",
        "idle": f"Race {left.code} was closed: nobody came.",
        "failed": f"Race {left.code} was ended by a fault of the server.",
        # A server that is killed between keeping a result and telling it leaves this much to be said.
        NO_SEAT: f"The server has no seat for you in race {left.code} any more: see carpet history.",
    }.get(left.reason, f"Race {left.code} is over for you.")
    return replace(model, room=None, notice=Notice("info", clean_chat(sentence), now_ms))


def _unwatched(model: Model, event: Unwatched, now_ms: int) -> Model:
    code = clean_name(event.code or "")
    sentence = {
        "closed": f"Race {code} was closed.",
        "seated": f"You have a seat in race {code} now, so you watch it no more.",
        "too-slow": "Your line is too slow to watch races on.",
        "failed": f"Race {code} can be watched no more, by a fault of the server.",
        NO_RACE: f"Race {code} can be watched no more.",
    }.get(event.reason)
    return model if sentence is None else replace(model, notice=Notice("info", clean_chat(sentence), now_ms))


def _current_view(model: Model, event: CurrentView, now_ms: int) -> Model:
    room = model.room
    if room is None or (event.race, event.seat) != (room.race, room.seat):
        return model
    seats = _with_seat(room.seats, event.seat, ply=event.ply, state=event.state, home=event.view.home, foundations=event.view.foundations)
    started_at_ms = _earliest(room.started_at_ms, now_ms - event.elapsed_ms)
    return replace(model, room=replace(room, view=event.view, seats=seats, started_at_ms=started_at_ms))


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
        ratings=room.ratings,
        series=room.series,
        shared=room.shared,
        told=room.ended,
        ghosts=room.ghosts,
    )


def _last(model: Model, room: Room) -> RoomModel | None:
    """What to keep of the room for its result, when this snapshot takes its place."""
    before = model.room
    if before is None or before.code != room.code or before.series is None:
        return None
    if before.race == room.race:
        return model.last
    if before.race + 1 != room.race:
        return None
    # Between two races a series can be given up; then it is the result of the race before that is still looked at.
    return before if before.record is not None else model.last


def _room_event(model: Model, event: RoomEvent, now_ms: int) -> Model:
    room = room_after(model.room, event, now_ms)
    if room is None or room is model.room:
        return model
    return _remember(replace(model, room=room, last=_still_last(model, room, event)))


def room_after(room: RoomModel | None, event: RoomEvent, now_ms: int) -> RoomModel | None:
    """A room after one of its events: a snapshot replaces it, and what does not come next is no news. For rooms that are watched too."""
    if isinstance(event, Room):
        return _snapshot(event, now_ms)
    if room is None or event.version != room.version + 1:
        return room
    return replace(_apply(room, event, now_ms), version=event.version)


def room_heard(room: RoomModel, event: Watchers | Talk) -> RoomModel:
    """A room after what is told of its watchers. Of another room it is no news; a line whose number is known is a repetition."""
    if event.code != room.code:
        return room
    match event:
        case Watchers(count=count):
            return replace(room, watchers=count)
        case Talk(lines=lines):
            known = {line.number for line in room.chat if isinstance(line, WatcherLine)}
            return replace(room, chat=(*room.chat, *(line for line in lines if line.number not in known))[-CHAT_KEPT:])
        case _:
            assert_never(event)


def _still_last(model: Model, room: RoomModel, event: RoomEvent) -> RoomModel | None:
    """The room as it was after the race before, with what has become known of that since."""
    last = model.last
    match event:
        case Scored(series=series) if last is not None:
            return replace(last, series=series)
        case Scored(record=record) if record is not None and room.phase == "waiting":
            # The first race of a swap that will have no second one.
            return replace(room, phase="over", record=record)
        case Ratings(seats=ratings) if last is not None and room.phase == "waiting":
            return replace(last, ratings=ratings)
        case _:
            return last


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
            seats = _racing(room.seats, view, alone=room.seat if room.options.swaps else None)
            started_at_ms = now_ms + event.starts_in_ms
            return replace(room, phase="racing", seats=seats, started_at_ms=started_at_ms, view=view)
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
                # One's own are known, where they are withheld from the others.
                foundations=event.foundations or (room.view.foundations if room.view is not None and event.seat == room.seat else {}),
                state=event.state,
                elapsed_ms=event.elapsed_ms,
            )
            return replace(room, seats=seats, started_at_ms=_earliest(room.started_at_ms, now_ms - event.elapsed_ms))
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
        case Hidden():
            return room
        case _:
            assert_never(event)


def _over(room: RoomModel, ended: tuple[SeatRecord, ...]) -> RoomModel:
    seats = room.seats
    for number, seat in enumerate(ended):
        seats = _with_seat(seats, number, state=seat.state, home=seat.home, ply=seat.plies)
    return replace(room, phase="over", seats=seats, told=ended)


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
    return replace(room, view=event.view, seats=seats, started_at_ms=started_at_ms)


def _racing(seats: tuple[SeatInfo, ...], view: View | None, *, alone: int | None = None) -> tuple[SeatInfo, ...]:
    """Everybody starts on the same shuffle: with a first view, every seat has as many cards home as one's own.

    alone: the only seat of which that is known, in a swap.
    """
    racing: SeatState = "racing"
    fresh = [changed(info, state=racing) if info.state == "waiting" else info for info in seats]
    if view is not None:
        known = {"home": view.home, "foundations": view.foundations, "ply": 0}
        fresh = [changed(info, **known) if alone in (None, info.seat) else info for info in fresh]
    return tuple(fresh)


def _with_seat(seats: tuple[SeatInfo, ...], seat: int, **fields: object) -> tuple[SeatInfo, ...]:
    return tuple(changed(info, **fields) if info.seat == seat else info for info in seats)


def _earliest(known_ms: int | None, heard_ms: int) -> int:
    # An event that comes late, or again after a lost line, would set the clock back; what has elapsed is never less than it says.
    return heard_ms if known_ms is None else min(known_ms, heard_ms)


def _remember(model: Model) -> Model:
    """Keep beside the room what the player is to know when he has left it."""
    return _remember_rating(_remember_first_view(model))


def _remember_rating(model: Model) -> Model:
    """A race has changed one's own rating since the welcome."""
    welcome, room = model.welcome, model.room
    if welcome is None or room is None or room.seat is None or not 0 <= room.seat < len(room.ratings):
        return model
    return replace(model, welcome=changed(welcome, rating=room.ratings[room.seat].after))


def _remember_first_view(model: Model) -> Model:
    """Keep the first view of the race for which there is evidence: only one at ply 0 shows the cards as they were dealt."""
    evidence, room = model.evidence, model.room
    if evidence is None or room is None or room.view is None or evidence.first_view is not None or room.ply > 0:
        return model
    if (evidence.code, evidence.race) != (room.code, room.race) or room.phase not in ("racing", "countdown"):
        return model
    return replace(model, evidence=replace(evidence, first_view=room.view))
