"""Everything the client knows, as one frozen value, and the pure reducer that makes the next value from each event.

Owns: which message changes what. Must not know of screens, sockets or clocks: the local monotonic time comes in as `now_ms`, and the
server's "ms from now" is converted to it at once, so that a value needs no clock.

Room events carry versions without gaps, and the link passes on only the next one (`events`); any other is ignored. A snapshot replaces
everything about the room. What must outlive snapshots is kept outside the room: the move that this player has sent (the link sends it
again until it is answered), and their evidence about one race, kept as `Evidence`: their own nonce, the commitment seen before they sent
it, and the first view they were dealt.
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
    Rated,
    ServerMessage,
    WaitingMatch,
    WaitingOver,
    Welcome,
    YouAre,
)
from protocol.text import clean_chat, clean_name, listed
from protocol.tournament_messages import Called, CheckInDue, Decided, Tournament, Tournaments
from protocol.views import MAX_SEATS, BotInfo, RulesInfo, View
from protocol.watch_messages import Board, BoardsKey, Talk, Unwatched, Watched, WatchedEvent, Watchers


class ReadySent(Struct, frozen=True):
    """This client has sent `ready` with this nonce; the commitment is the one that the room shows now."""

    nonce: str


class MoveSent(Struct, frozen=True):
    """This client has sent a move for this ply and waits for the view that answers it."""

    ply: int
    move: str


_KEPT_FIRST: Final = (Countdown, Dealt, Started, PlayerView, Progress, Ended, Result)
"""Events that a server sends only after it has stored them."""

LocalEvent: TypeAlias = ReadySent | MoveSent
Event: TypeAlias = ServerMessage | LinkEvent | LocalEvent

CONNECTED_AGAIN: Final = "Connected again."


class LinkModel(Struct, frozen=True):
    """The state of the connection. retry_at_ms: local time of the next attempt; None if there is none. reason: why it is down, until all is
    well again; while it is up, why nothing comes of a race.

    returning: the connection is up again, but the room may still be out of date. held_at_ms: local time at which the last news came, while
    there is none, since nobody here can know whether the server's clocks run; None while all is well.
    """

    state: Literal["connecting", "connected", "returning", "lost", "gone"] = "connecting"
    attempt: int = 0
    reason: str = ""
    retry_at_ms: int | None = None
    round_trip_ms: int | None = None
    held_at_ms: int | None = None


class Notice(Struct, frozen=True):
    """Something to tell the player once. code: that of an error, otherwise empty. at_ms: local time."""

    kind: Literal["info", "warning", "error"]
    text: str
    at_ms: int
    code: str = ""


class Search(Struct, frozen=True):
    """An opponent is being looked for. rules: None for any. window: how many points their rating may differ by; None for any number.

    waiting: how many players are looking, this one included. since_ms: local time.
    """

    rules: str | None
    window: int | None
    waiting: int
    since_ms: int


class Model(Struct, frozen=True):
    """Everything the screens are drawn from. lobby: None while it is not known. lobby_at: local time of that lobby. in_flight: the move
    that was sent and is not answered yet.

    last: the room as it was at the end of the previous race, since the next race of a series opens at once; None if there was none.
    search: None while no opponent is looked for. runs: the deal's board of runs that was asked for last. earlier: the evidence about the
    race before, whose result is shown again if the next one of a series does not come to be.
    """

    link: LinkModel = field(default_factory=LinkModel)
    welcome: Welcome | None = None
    lobby: Lobby | None = None
    lobby_at: int = 0
    search: Search | None = None
    room: RoomModel | None = None
    in_flight: MoveSent | None = None
    evidence: Evidence | None = None
    earlier: Evidence | None = None
    last: RoomModel | None = None
    runs: Runs | None = None
    notice: Notice | None = None
    tournaments: TournamentsModel = field(default_factory=TournamentsModel)

    @property
    def rules(self) -> tuple[RulesInfo, ...]:
        """The rule sets that the server has described."""
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
        """The board of a room's race, for one of its views."""
        return board_of(rules_of(self.rules, room.options.rules), view)

    @property
    def is_at_table(self) -> bool:
        """Whether the room is a table of a tournament."""
        return bool(self.table_of)

    @property
    def table_of(self) -> str:
        """The id of the tournament that the room is a table of; empty if it is none."""
        return self.room.table_of[0] if self.room is not None else ""

    @property
    def finished(self) -> RoomModel | None:
        """The room with the race whose result is on show: the previous race's until this player is ready for the next."""
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
    """Whether the move may still be answered, judged by the state of the seat, however that was learned."""
    room, was = model.room, before.room
    if room is None or was is None or room.own is None or model.link.state == "gone":
        return False
    same = (room.code, room.race, room.seat) == (was.code, was.race, was.seat)
    return same and room.phase != "over" and room.own.state in ("waiting", "racing") and room.ply <= sent.ply


def _reduced(model: Model, event: Event, now_ms: int) -> Model:  # noqa: C901  (a case for each message, and no more in any)
    match event:
        case Connecting() | Connected() | Back() | Lost() | RoundTrip():
            return _link(model, event, now_ms)
        case ReadySent(nonce=nonce):
            if (room := model.room) is None:
                return model
            held = model.evidence
            is_next = held is not None and (held.code, held.race) != (room.code, room.race)
            return replace(model, evidence=_evidence(held, room, nonce), earlier=held if is_next else model.earlier)
        case MoveSent():
            return model if model.room is None else replace(model, in_flight=event)
        case Welcome():
            return replace(model, welcome=event, notice=None)
        case Moved() | Nodes():
            # These concern the link alone.
            return model
        case YouAre():
            return _renamed(model, event, now_ms)
        case Rated():
            return _rated(model, event, now_ms)
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
        # Watched races and tournaments are not part of one's own room: see `watching` and `tournament` in this package.
        case Watched() | WatchedEvent(event=Result() | Ended()) | Tournaments() | Tournament():
            return _at_rest(model)
        case WatchedEvent() | Board() | Called() | CheckInDue() | Decided():
            return model
        case Room():
            # A notice from the home screen, such as of an unknown code, is of no interest in the room.
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
            notice = Notice("info", CONNECTED_AGAIN, now_ms)
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
            if model.notice is not None and model.notice.text == CONNECTED_AGAIN:
                model = replace(model, notice=None)
            # Players and open races change by the second: without a connection they are not shown.
            return replace(model, link=link, lobby=None, search=None)
        case _:
            assert_never(event)


def _writing(link: LinkModel) -> LinkModel:
    """The link after an event that proves that the server can store again."""
    return replace(link, reason="", held_at_ms=None) if link.state == "connected" and link.reason else link


def _at_rest(model: Model) -> Model:
    """Without a room, after an event that says how long something has run. If its clock stands still, the server says so after it."""
    return replace(model, link=_writing(model.link)) if model.room is None else model


def _evidence(held: Evidence | None, room: RoomModel, nonce: str) -> Evidence:
    """The evidence about a race for which this nonce was sent."""
    if held is not None and held.is_of_first_race(room):
        # The nonce sent before the first race of the swap has already fixed the shuffle.
        return replace(held, race=room.race, first_view=None)
    return Evidence(room.code, room.race, room.commitment, nonce, room.options.winnable)


def _error(model: Model, error: Error, now_ms: int) -> Model:
    kind: Literal["warning", "error"] = "warning" if error.fault is Fault.STATE else "error"
    notice = Notice(kind, clean_chat(error.message) or clean_chat(error.code), now_ms, error.code)
    if is_held_up(error) and (model.room is None or model.room.phase != "over"):
        # Once the server can write, it answers everything that was sent and says how long the race has run.
        return replace(model, notice=notice, link=replace(model.link, reason=notice.text, held_at_ms=model.link.held_at_ms or now_ms))
    if error.code == ErrorCode.HOST_SAYS:
        return replace(model, notice=replace(notice, kind="info"))
    if _came_too_late(model, error):
        return replace(model, in_flight=None)
    return replace(model, notice=notice, in_flight=None)


def _came_too_late(model: Model, error: Error) -> bool:
    """Whether a move was on its way as the race ended. The result says how it did: just after the refusal, if not before. In a series the
    next race may be open by then.
    """
    room = model.room
    if room is None or room.seat is None:
        return False
    is_next_open = room.phase == "waiting" and room.series is not None and room.series.raced > 0
    return error.code == ErrorCode.RACE_OVER or (error.code == ErrorCode.WRONG_RACE and is_next_open)


def is_held_up(error: Error) -> bool:
    """Whether the error says that the server cannot store anything. It refuses no request: all are answered once it can."""
    return error.code == ErrorCode.CANNOT_WRITE and error.ref == 0


def refuses_nothing(error: Error) -> bool:
    """Whether the error answers no request: nothing can be stored just now, or the host has something to say."""
    return is_held_up(error) or error.code == ErrorCode.HOST_SAYS


def _renamed(model: Model, event: YouAre, now_ms: int) -> Model:
    if model.welcome is None or event.player != model.welcome.player or event.name == model.welcome.name:
        return model
    notice = Notice("info", f"You are now called {clean_name(event.name)}.", now_ms)
    return replace(model, welcome=replace(model.welcome, name=event.name), notice=notice)


def _rated(model: Model, event: Rated, now_ms: int) -> Model:
    if model.welcome is None:
        return model
    own, rating = model.welcome.name, event.rating
    others = [clean_name(name) for name in event.won[:MAX_SEATS] if name != own]
    if own not in event.won:
        ended = f"{listed(others) or 'Nobody'} won the race you left."
    else:
        ended = f"{listed(['You', *others])} share first place in the race you left." if others else "You won the race you left."
    notice = Notice("info", f"{ended} Your rating: {rating.after} ({rating.after - rating.before:+}).", now_ms)
    return replace(model, welcome=replace(model.welcome, rating=rating.after), notice=notice)


def _left(model: Model, left: Left, now_ms: int) -> Model:
    room = model.room
    if room is None or room.code != left.code:
        return _at_rest(model)
    model = replace(model, link=_writing(model.link))
    sentence = {
        "not-ready": f"You kept race {left.code} waiting, and have lost your seat.",
        "no-opponent": "Your opponent did not get ready: you are back at your place in the queue.",
        "closed": f"Race {left.code} was closed by the host.",
        "idle": f"Race {left.code} was closed: nobody came.",
        "failed": f"Race {left.code} was ended by a fault of the server.",
        # What became of it, the tournament says, on whose screen they are then.
        "called-off": "Your table was closed." if model.is_at_table else f"Race {left.code} was called off. It does not count.",
        # A server killed between storing a result and sending it leaves nothing else to say.
        NO_SEAT: f"The server no longer has a seat for you in race {left.code}: see carpet history.",
    }.get(left.reason, f"Race {left.code} is over for you.")
    if left.reason == "left":
        # The player has just asked for it, and said so again if it cost them something.
        return replace(model, room=None)
    if left.reason == "closed" and model.notice is not None and model.notice.code == ErrorCode.ENDED_BY_HOST:
        # That notice came just before this and says why.
        return replace(model, room=None)
    return replace(model, room=None, notice=Notice("info", clean_chat(sentence), now_ms))


def _unwatched(model: Model, event: Unwatched, now_ms: int) -> Model:
    code = clean_name(event.code or "")
    sentence = {
        "closed": f"Race {code} was closed.",
        "seated": f"You now have a seat in race {code}, so you no longer watch it.",
        "too-slow": "Your connection is too slow to go on watching.",
        "failed": f"Race {code} can no longer be watched, by a fault of the server.",
        NO_RACE: f"Race {code} can no longer be watched.",
    }.get(event.reason)
    model = _at_rest(model)
    return model if sentence is None else replace(model, notice=Notice("info", clean_chat(sentence), now_ms))


def _last(model: Model, room: Room) -> RoomModel | None:
    """What to keep of the room for its result when this snapshot replaces it."""
    before = model.room
    if before is None or before.code != room.code or before.series is None:
        return None
    if before.race == room.race:
        return model.last
    if before.race + 1 != room.race:
        return None
    if before.record is not None:
        return before
    # If a series is given up between two races, the result on show stays that of the race before, and another series begins. The first race
    # of a swap has no result yet; nor does this client know that of a race that was raced while it was away.
    return model.last if before.phase == "waiting" and (room.series is None or not room.series.raced) else None


def _room_event(model: Model, event: RoomEvent, now_ms: int) -> Model:
    if isinstance(event, _KEPT_FIRST) and model.room is not None and model.link != (link := _writing(model.link)):
        # The clock stood still at the server, and this event says where.
        model = replace(model, link=link, room=replace(model.room, started_at_ms=None))
    room = room_after(model.room, event, now_ms)
    if room is None or room is model.room:
        return model
    return _remember(replace(model, room=room, last=_still_last(model, room, event)))


def _still_last(model: Model, room: RoomModel, event: RoomEvent) -> RoomModel | None:
    """The room as it was after the previous race, updated with what has become known of that since."""
    last = model.last
    match event:
        # Between two races only. While one runs, `last` may be of the series before.
        case Scored(series=series) if last is not None and room.phase == "waiting":
            return replace(last, series=series)
        case Scored(record=record) if record is not None and room.phase == "waiting":
            # The first race of a swap whose second one will not be run.
            return replace(room, phase="over", record=record)
        case Ratings(seats=ratings) if last is not None and room.phase == "waiting":
            return replace(last, ratings=ratings)
        case _:
            return last


def _remember(model: Model) -> Model:
    """Keep outside the room what the player needs to know after leaving it."""
    return _remember_rating(_remember_first_view(model))


def _remember_rating(model: Model) -> Model:
    """Update one's own rating in the welcome after a race has changed it."""
    welcome, room = model.welcome, model.room
    if welcome is None or room is None or room.seat is None or not 0 <= room.seat < len(room.ratings):
        return model
    return replace(model, welcome=replace(welcome, rating=room.ratings[room.seat].after))


def _remember_first_view(model: Model) -> Model:
    """Keep the first view of the race that there is evidence for. Only a view at ply 0 shows the cards as they were dealt."""
    evidence, room = model.evidence, model.room
    if evidence is None or room is None or room.view is None or evidence.first_view is not None or room.ply > 0:
        return model
    if (evidence.code, evidence.race) != (room.code, room.race) or room.phase not in ("racing", "countdown"):
        return model
    return replace(model, evidence=replace(evidence, first_view=room.view))
