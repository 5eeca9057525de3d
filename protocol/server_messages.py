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
from protocol.views import BotInfo, OpenRaceInfo, RulesInfo, RunningChange, RunningRaceInfo, SeatState, View
from protocol.watch_messages import WatchMessage


class Welcome(Struct, frozen=True, kw_only=True, tag_field="type", tag="welcome"):
    """The answer to `hello`.

    player: this player's public id. name: the one they have. token: keep it, and say it in the next hello to be the same player.
    software: the server's name and version. room: code of a room in which this player holds a seat, or null: join it to go on.
    rating: in points; null before the first rated race. nodes: the addresses of other servers that are the same place, see `moved`.
    player, name, token: empty for a guest.
    """

    player: str
    name: str
    token: str
    software: str
    rules: tuple[RulesInfo, ...]
    bots: tuple[BotInfo, ...]
    room: str | None
    rating: int | None = None
    nodes: tuple[str, ...] = ()


class Nodes(Struct, frozen=True, kw_only=True, tag_field="type", tag="nodes"):
    """The servers of this place are others now than `welcome` has said. It comes unasked.

    nodes: as in `welcome`.
    """

    nodes: tuple[str, ...]


class Moved(Struct, frozen=True, kw_only=True, tag_field="type", tag="moved"):
    """What was asked for is to be had at another server of this place: go there and ask again. The error `room/elsewhere` follows.

    url: `ws://…` or `wss://…`. code: of the room; null where it is no room. ref: of the request; 0 when nobody has asked: the server goes.
    """

    url: str
    code: str | None
    ref: int = 0


class YouAre(Struct, frozen=True, kw_only=True, tag_field="type", tag="you-are"):
    """Who a player is: the answer to `who-am-i` and `rename`, and told unasked to a player who was renamed by another connection.

    player: their public id. name: the one they have now. ref: of what it answers, else 0.
    """

    player: str
    name: str
    ref: int


class Error(Struct, frozen=True, kw_only=True, tag_field="type", tag="error"):
    """A message was refused and nothing has changed.

    code: one of the table, but not typed so: a newer server may have codes that this program does not know. fault: client, state or server.
    message: a sentence for a person. path: the field to blame, or empty. ref: the refused message's `ref`, or 0.
    retry_after_ms: when the same may be asked again; 0 where that is no matter of time.
    """

    code: str
    fault: Fault
    message: str
    path: str
    ref: int
    retry_after_ms: int = 0


class Lobby(Struct, frozen=True, kw_only=True, tag_field="type", tag="lobby"):
    """Who is here, which public races have a free seat, which are being run. At most 100 of each are listed; the counts are exact.

    ratings: one for each of `players`, null for who has none. running: the closest race first. races_running: counts those that are not
    public too.
    """

    players: tuple[str, ...]
    players_here: int
    races: tuple[OpenRaceInfo, ...]
    races_open: int
    races_running: int
    ratings: tuple[int | None, ...] = ()
    running: tuple[RunningRaceInfo, ...] = ()


class LobbyChanges(Struct, frozen=True, kw_only=True, tag_field="type", tag="lobby-changes"):
    """What has become of the last `lobby`, for those who have asked for changes.

    gone: codes of races that are in their list no more; they are taken out first. races, running: those that are new in a list, or other
    than before. progress: how far races have come that are in it. closest: the code of the first of `running`, null where there is none;
    the order of the others is not told. players, ratings: null where they are as before.
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


class WaitingMatch(Struct, frozen=True, kw_only=True, tag_field="type", tag="waiting-match"):
    """The answer to `quick-match`, and told again when the window or the number of those who wait has changed.

    rules: as asked for. waited_ms: since it was asked for. window: points by which an opponent's rating may differ, null for any.
    waiting: players who look for an opponent, this one included.
    """

    rules: str | None
    waited_ms: int
    window: int | None
    waiting: int
    ref: int = 0


class WaitingOver(Struct, frozen=True, kw_only=True, tag_field="type", tag="waiting-over"):
    """No opponent is looked for, and none was found: when one is, `room` comes.

    reason: cancelled (as asked), elsewhere (this player has taken another seat) or failed (no race could be opened; an `error` says why).
    """

    reason: str
    ref: int = 0


class Left(Struct, frozen=True, kw_only=True, tag_field="type", tag="left"):
    """This connection is in no room any more.

    reason: left (as asked), not-ready (kept the others waiting), closed (the host stopped), idle (nobody came), called-off (a run, or a
    table of a tournament, that does not count) or failed (a fault of the server).
    """

    code: str
    reason: str
    ref: int = 0


class CurrentView(Struct, frozen=True, kw_only=True, tag_field="type", tag="current-view"):
    """One's own position as it is, outside of the versions: follows the error of every refused or repeated move."""

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
    | CurrentView
    | RunMessage
    | TournamentMessage
    | RoomEvent
    | WatchMessage
)
