"""What the client knows, as one frozen value, and the pure reducer that makes the next value out of what was heard.

Owns: which message changes what. Must not know of screens, sockets or clocks: the local monotonic time comes in as `now_ms`, and what
the server says in "ms from now" is anchored to it at once, so that a value needs no clock of its own.

Room events carry versions without gaps, and the link hands on only the one that comes next (`events`); any other is no news and is
ignored. A snapshot replaces everything about the room. What must outlive snapshots is no part of the room: the move that this player has
sent and that the link sends again until it is answered, and their evidence about one race (their own nonce, the commitment seen before they
sent it and the first view they were dealt), kept as `Evidence`.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from client.connection.events import NO_RACE, NO_SEAT, Back, Connected, Connecting, LinkEvent, Lost, RoundTrip
from client.game.board import Board as Table
from client.game.board import board_of
from client.state.capabilities import rules_of
from client.state.evidence import Evidence
from client.state.lobby import lobby_changed
from client.state.room import RoomModel, resumed, room_after, room_as_seen, room_heard
from client.state.tournament import TournamentsModel, tournaments_after
from protocol.errors import ErrorCode, Fault
from protocol.room_events import Countdown, Dealt, Ended, PlayerView, Progress, Ratings, Result, Room, RoomEvent, Scored, Started
from protocol.run_messages import Challenge, Challenges, Dailies, Runs
from protocol.server_messages import (
    CurrentView,
    Error,
    Left,
    Lobby,
    LobbyChanges,
    Moved,
    Nodes,
    ServerMessage,
    WaitingMatch,
    WaitingOver,
    Welcome,
    YouAre,
)
from protocol.text import clean_chat, clean_name
from protocol.tournament_messages import Called, Decided, Tournament, Tournaments
from protocol.views import BotInfo, RulesInfo, View
from protocol.watch_messages import Board, BoardsKey, Talk, Unwatched, Watched, WatchedEvent, Watchers


class ReadySent(Struct, frozen=True):
    """This client has sent `ready` with this nonce; the commitment is the one that the room shows now."""

    nonce: str


class MoveSent(Struct, frozen=True):
    """This client has sent a move for this ply and waits for its view."""

    ply: int
    move: str


_KEPT_FIRST: Final = (Countdown, Dealt, Started, PlayerView, Progress, Ended, Result)
"""What a server tells once it has kept it, and not before."""

LocalEvent: TypeAlias = ReadySent | MoveSent
Event: TypeAlias = ServerMessage | LinkEvent | LocalEvent


class LinkModel(Struct, frozen=True):
    """How the connection is. retry_at_ms: local time of the next try, None when there is none. reason: why not, until all is well; of one
    that stands, why nothing comes of a race.

    returning: the connection stands again, and what is known of the room may still be old. held_at_ms: local time of the last that was
    heard of the server, while nothing new is: whether its clocks run, nobody here can know; None while all is well.
    """

    state: Literal["connecting", "connected", "returning", "lost", "gone"] = "connecting"
    attempt: int = 0
    reason: str = ""
    retry_at_ms: int | None = None
    round_trip_ms: int | None = None
    held_at_ms: int | None = None


class Notice(Struct, frozen=True):
    """Something to tell the player once. code, ref: of the error it tells, else empty and 0. at_ms: local time."""

    kind: Literal["info", "warning", "error"]
    text: str
    at_ms: int
    code: str = ""
    ref: int = 0


class Search(Struct, frozen=True):
    """An opponent is being looked for. rules: None for any; window: points that their rating may differ by, None for any number.

    waiting: how many look, this player included. since_ms: local time.
    """

    rules: str | None
    window: int | None
    waiting: int
    since_ms: int


class Model(Struct, frozen=True):
    """Everything the screens are drawn from. lobby: None while it is not known. lobby_at: when it was so, by
    the local time. in_flight: the move that was sent and not answered yet.

    last: the room as it was when the race before was over, since the next race of a series opens at once; None where there was none.
    search: None while no opponent is looked for. runs: the board of a deal that was asked for last.
    """

    link: LinkModel = field(default_factory=LinkModel)
    welcome: Welcome | None = None
    lobby: Lobby | None = None
    lobby_at: int = 0
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
    def bots(self) -> tuple[BotInfo, ...]:
        """The house bots that the server has."""
        return self.welcome.bots if self.welcome is not None else ()

    @property
    def player(self) -> str:
        """This player's id; empty for a guest, and before the welcome."""
        return self.welcome.player if self.welcome is not None else ""

    def board(self, room: RoomModel, view: View) -> Table:
        """The table of a room's race, for one of its views."""
        return board_of(rules_of(self.rules, room.options.rules), view)

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


def _reduced(model: Model, event: Event, now_ms: int) -> Model:  # noqa: C901  (a case for each message, and no more in any)
    match event:
        case Connecting() | Connected() | Back() | Lost() | RoundTrip():
            return _link(model, event, now_ms)
        case ReadySent() | MoveSent():
            return _local(model, event)
        case Welcome():
            return replace(model, welcome=event, notice=None)
        case Moved() | Nodes():
            # They are the link's.
            return model
        case YouAre():
            return _renamed(model, event, now_ms)
        case Lobby():
            return replace(_at_rest(model), lobby=event, lobby_at=now_ms)
        case LobbyChanges():
            lobby = lobby_changed(model.lobby, event, now_ms - model.lobby_at) if model.lobby is not None else None
            return replace(model, lobby=lobby, lobby_at=now_ms)
        case WaitingMatch():
            return replace(model, search=Search(event.rules, event.window, event.waiting, now_ms - event.waited_ms))
        case WaitingOver():
            return replace(model, search=None)
        case Error():
            return _error(model, event, now_ms)
        case Left():
            return _left(model, event, now_ms)
        case CurrentView():
            return model if model.room is None else replace(model, room=room_as_seen(model.room, event, now_ms))
        case Unwatched():
            return _unwatched(model, event, now_ms)
        case Watchers() | Talk():
            return model if model.room is None else replace(model, room=room_heard(model.room, event))
        case Runs():
            return replace(model, runs=event)
        case Dailies() | Challenge() | Challenges() | BoardsKey():
            return model
        # What is watched, and tournaments, are no part of the room that one is in: `watching` and `tournament` of this package have them.
        case Watched() | WatchedEvent(event=Result() | Ended()) | Tournaments() | Tournament():
            return _at_rest(model)
        case WatchedEvent() | Board() | Called() | Decided():
            return model
        case Room():
            # What was said at home, of a code that nobody had, is of no interest in the room.
            notice = model.notice if model.room is not None else None
            model = replace(model, link=_writing(model.link))
            return _remember(replace(model, room=resumed(model.room, event, now_ms), last=_last(model, event), search=None, notice=notice))
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
            notice = Notice("info", "Connected again.", now_ms)
            return replace(model, link=LinkModel(state="connected", round_trip_ms=link.round_trip_ms), notice=model.notice or notice)
        case RoundTrip(ms=ms):
            return replace(model, link=replace(link, round_trip_ms=ms))
        case Lost():
            retry_at_ms = None if event.retry_in_ms is None else now_ms + event.retry_in_ms
            state: Literal["gone", "lost"] = "gone" if retry_at_ms is None else "lost"
            held_at_ms = now_ms if link.held_at_ms is None else link.held_at_ms
            link = LinkModel(
                state=state, attempt=link.attempt, reason=clean_chat(event.reason), retry_at_ms=retry_at_ms, held_at_ms=held_at_ms
            )
            # Who is there and what is open changes by the second: what is not known any more is not shown.
            return replace(model, link=link, lobby=None, search=None)
        case _:
            assert_never(event)


def _writing(link: LinkModel) -> LinkModel:
    """The link once the server has told something that it could only tell when it had kept it."""
    return replace(link, reason="", held_at_ms=None) if link.state == "connected" and link.reason else link


def _at_rest(model: Model) -> Model:
    """Without a room, after something that says how long anything has run: where that stands still, the server says so behind it."""
    return replace(model, link=_writing(model.link)) if model.room is None else model


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
    if is_held_up(error) and (model.room is None or model.room.phase != "over"):
        # All that was sent is answered once the server can write, and then it tells how long the race has run.
        return replace(model, notice=notice, link=replace(model.link, reason=notice.text, held_at_ms=model.link.held_at_ms or now_ms))
    return replace(model, notice=notice, in_flight=None)


def is_held_up(error: Error) -> bool:
    """Whether it says that the server cannot keep anything: no request is refused by it, and all are answered once it can."""
    return error.code == ErrorCode.CANNOT_WRITE and error.ref == 0


def _renamed(model: Model, event: YouAre, now_ms: int) -> Model:
    if model.welcome is None or event.player != model.welcome.player or event.name == model.welcome.name:
        return model
    notice = Notice("info", f"You are now called {clean_name(event.name)}.", now_ms)
    return replace(model, welcome=replace(model.welcome, name=event.name), notice=notice)


def _left(model: Model, left: Left, now_ms: int) -> Model:
    if model.room is None or model.room.code != left.code:
        return _at_rest(model)
    model = replace(model, link=_writing(model.link))
    sentence = {
        "left": f"You have left race {left.code}.",
        "not-ready": f"You kept race {left.code} waiting, and your seat is free again.",
        "closed": f"Race {left.code} was closed by the host.",
        "idle": f"Race {left.code} was closed: nobody came.",
        "failed": f"Race {left.code} was ended by a fault of the server.",
        "called-off": "Your table was closed: the tournament's log says why."
        if model.is_at_table
        else f"Race {left.code} was called off. It does not count.",
        # A server that is killed between keeping a result and telling it leaves this much to be said.
        NO_SEAT: f"The server no longer has a seat for you in race {left.code}: see carpet history.",
    }.get(left.reason, f"Race {left.code} is over for you.")
    if left.reason == "closed" and model.notice is not None and model.notice.code == ErrorCode.ENDED_BY_HOST:
        # It says why, which is told just before this.
        return replace(model, room=None)
    return replace(model, room=None, notice=Notice("info", clean_chat(sentence), now_ms))


def _unwatched(model: Model, event: Unwatched, now_ms: int) -> Model:
    code = clean_name(event.code or "")
    sentence = {
        "closed": f"Race {code} was closed.",
        "seated": f"You now have a seat in race {code}, so you no longer watch it.",
        "too-slow": "Your connection is too slow to watch races on.",
        "failed": f"Race {code} can no longer be watched, by a fault of the server.",
        NO_RACE: f"Race {code} can no longer be watched.",
    }.get(event.reason)
    model = _at_rest(model)
    return model if sentence is None else replace(model, notice=Notice("info", clean_chat(sentence), now_ms))


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
    if isinstance(event, _KEPT_FIRST) and model.room is not None and model.link != (link := _writing(model.link)):
        # The clock has stood still at the server, and this says where.
        model = replace(model, link=link, room=replace(model.room, started_at_ms=None))
    room = room_after(model.room, event, now_ms)
    if room is None or room is model.room:
        return model
    return _remember(replace(model, room=room, last=_still_last(model, room, event)))


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


def _remember(model: Model) -> Model:
    """Keep beside the room what the player is to know when they have left it."""
    return _remember_rating(_remember_first_view(model))


def _remember_rating(model: Model) -> Model:
    """A race has changed one's own rating since the welcome."""
    welcome, room = model.welcome, model.room
    if welcome is None or room is None or room.seat is None or not 0 <= room.seat < len(room.ratings):
        return model
    return replace(model, welcome=replace(welcome, rating=room.ratings[room.seat].after))


def _remember_first_view(model: Model) -> Model:
    """Keep the first view of the race for which there is evidence: only one at ply 0 shows the cards as they were dealt."""
    evidence, room = model.evidence, model.room
    if evidence is None or room is None or room.view is None or evidence.first_view is not None or room.ply > 0:
        return model
    if (evidence.code, evidence.race) != (room.code, room.race) or room.phase not in ("racing", "countdown"):
        return model
    return replace(model, evidence=replace(evidence, first_view=room.view))
