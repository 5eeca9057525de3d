"""Every message a server may send: `ServerMessage`. This module has the answers to one connection; room events, watching, runs and
tournaments have a module each.

The tag is the field `type`. `ref` is that of the request which the message answers, or 0 if it comes unasked.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from protocol.errors import Fault
from protocol.room_events import RoomEvent
from protocol.run_messages import RunMessage
from protocol.tournament_messages import TournamentMessage
from protocol.views import BotInfo, OpenRaceInfo, RulesInfo, RunningChange, RunningRaceInfo, SeatRating, SeatState, Token, View
from protocol.watch_messages import WatchMessage


class Welcome(Struct, frozen=True, kw_only=True, tag_field="type", tag="welcome"):
    """The answer to `hello`.

    player, name: this player's public id and current name. token: keep it, and send it in the next `hello` to be the same player. All
    three are empty for a guest.
    software: the server's name and version. room: the code of a room in which this player holds a seat, or null: join it to go on.
    rating: in points; null before the first rated race. nodes: the addresses of the other servers of this place; see `moved`.
    """

    player: str
    name: str
    token: Token
    software: str
    rules: tuple[RulesInfo, ...]
    bots: tuple[BotInfo, ...]
    room: str | None
    rating: int | None = None
    nodes: tuple[str, ...] = ()


class Nodes(Struct, frozen=True, kw_only=True, tag_field="type", tag="nodes"):
    """The servers of this place have changed since `welcome`. Sent unasked.

    nodes: as in `welcome`.
    """

    nodes: tuple[str, ...]


class Moved(Struct, frozen=True, kw_only=True, tag_field="type", tag="moved"):
    """What was asked for is on another server of this place: connect there and ask again. The error `room/elsewhere` follows.

    url: `ws://…` or `wss://…`. code: the room's, or null if it is not about a room. ref: the request's; 0 if unasked, because this server
    is leaving.
    """

    url: str
    code: str | None
    ref: int = 0


class YouAre(Struct, frozen=True, kw_only=True, tag_field="type", tag="you-are"):
    """Who a player is. Answers `who-am-i` and `rename`; also sent unasked to a player whom another connection has renamed.

    player: their public id. name: their current name. ref: the request's, or 0 if unasked.
    """

    player: str
    name: str
    ref: int


class Error(Struct, frozen=True, kw_only=True, tag_field="type", tag="error"):
    """A message was refused, and nothing has changed.

    code: one from the error table, or one that this program does not know, from a newer server. fault: client, state or server.
    message: a sentence for people. path: the field at fault, or empty. ref: the refused message's `ref`, or 0.
    retry_after_ms: how long to wait before asking again; 0 if the server does not say.
    """

    code: str
    fault: Fault
    message: str
    path: str
    ref: int
    retry_after_ms: int = 0


class Lobby(Struct, frozen=True, kw_only=True, tag_field="type", tag="lobby"):
    """Who is here, which public races have a free seat, and which are running. At most 100 of each are listed; the counts are exact.

    ratings: one for each of `players`, null for those without one. running: the closest race first. races_running: includes races that
    are not public. seeking: how many players are looking for an opponent by `quick-match`.
    """

    players: tuple[str, ...]
    players_here: int
    races: tuple[OpenRaceInfo, ...]
    races_open: int
    races_running: int
    ratings: tuple[int | None, ...]
    running: tuple[RunningRaceInfo, ...]
    seeking: int = 0


class LobbyChanges(Struct, frozen=True, kw_only=True, tag_field="type", tag="lobby-changes"):
    """What has changed since the last `lobby`, for those who asked for changes.

    gone: codes of races to remove from the lists, before anything else. races, running: the new and changed entries of each list.
    progress: how far the listed running races have come. closest: the code of the race that is now first in `running`, null if there is
    none; the order of the others is not sent. players, ratings: null if unchanged.
    """

    players_here: int
    races_open: int
    races_running: int
    gone: tuple[str, ...]
    races: tuple[OpenRaceInfo, ...]
    running: tuple[RunningRaceInfo, ...]
    progress: tuple[RunningChange, ...]
    closest: str | None
    players: tuple[str, ...] | None = None
    ratings: tuple[int | None, ...] | None = None
    seeking: int = 0


class WaitingMatch(Struct, frozen=True, kw_only=True, tag_field="type", tag="waiting-match"):
    """The answer to `quick-match`, sent again when the window or the number of waiting players changes.

    rules: as asked for. waited_ms: since it was asked for. window: by how many points an opponent's rating may differ, null for any.
    waiting: how many players are looking for an opponent, this one included.
    """

    rules: str | None
    waited_ms: int
    window: int | None
    waiting: int
    ref: int = 0


class WaitingOver(Struct, frozen=True, kw_only=True, tag_field="type", tag="waiting-over"):
    """The search for an opponent has ended without one. (When one is found, `room` comes instead.)

    reason: cancelled (as asked), elsewhere (this player has taken another seat) or failed (no race could be opened; an `error` says why).
    """

    reason: str
    ref: int = 0


class Left(Struct, frozen=True, kw_only=True, tag_field="type", tag="left"):
    """This connection is no longer in a room.

    reason: left (as asked), not-ready (kept the others waiting), no-opponent (of a quick match: `waiting-match` follows), closed (the host
    stopped), idle (nobody came), called-off (a run or a tournament table that does not count) or failed (the server's fault).
    """

    code: str
    reason: str
    ref: int = 0


class Rated(Struct, frozen=True, kw_only=True, tag_field="type", tag="rated"):
    """A race whose room this player has left has changed their rating. Sent unasked; those still in the room get the event `ratings`.

    code: the room's. race: the id of the race's record. won: the names of those in first place, several if they share it.
    rating: this player's, before and after.
    """

    code: str
    race: str
    won: tuple[str, ...]
    rating: SeatRating


class CurrentView(Struct, frozen=True, kw_only=True, tag_field="type", tag="current-view"):
    """One's own current position, without a room version. Follows the error for every refused or repeated move."""

    race: int
    seat: int
    ply: int
    state: SeatState
    elapsed_ms: int
    view: View
    ref: int = 0


ServerMessage: TypeAlias = (
    Welcome
    | Nodes
    | Moved
    | YouAre
    | Error
    | Lobby
    | LobbyChanges
    | WaitingMatch
    | WaitingOver
    | Left
    | Rated
    | CurrentView
    | RunMessage
    | TournamentMessage
    | RoomEvent
    | WatchMessage
)
