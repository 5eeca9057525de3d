"""Every message a client may send: `ClientMessage`. This module has those of a race, in the order in which a player needs them; watching,
runs and tournaments have a module each.

The tag is the field `type`. `ref` is any number the client likes; it comes back in the answer, whether that is an error or a message with
a `ref`. Messages that change a race name its number and the seat, so that a late one can never hit the next race or another seat.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from protocol.run_messages import ListChallenges, ListDailies, ListRuns, OpenChallenge, PlayOn, RunChallenge, RunDaily, RunRequest
from protocol.tournament_messages import CreateTournament, TournamentRequest
from protocol.views import Hex16, RaceOptions, Request, RoomCode, SeatNumber
from protocol.watch_messages import WatchRequest

RaceNumber = Annotated[int, Meta(ge=1, lt=2**31)]
MoveText = Annotated[str, Meta(min_length=1, max_length=8)]


class Hello(Request, frozen=True, kw_only=True, tag="hello"):
    """First on every connection: who comes. With the token of an earlier welcome it is the same player again, under the name they have.

    name: of a new player, cleaned by the server to at most 24 printable characters. software: the client's own name and version; the
    server does nothing with it. watch: comes only to follow the lobby and to watch, and takes no other connection over. With a token it
    is a second connection of that player, who is kept from their own races and may talk to other watchers; without one it is a guest, no
    player, who may be nameless.
    """

    name: Annotated[str, Meta(max_length=200)]
    token: Annotated[str, Meta(max_length=64)] | None = None
    software: Annotated[str, Meta(max_length=64)] = ""
    watch: bool = False


class WhoAmI(Request, frozen=True, kw_only=True, tag="who-am-i"):
    """Ask which player has this token, without being them: no other connection is taken over. Answered by `you-are`.

    token: null for this connection's own player; with one, no hello is needed before.
    """

    token: Annotated[str, Meta(max_length=64)] | None = None


class Rename(Request, frozen=True, kw_only=True, tag="rename"):
    """Give the player who has this token, or this connection's own, another name. Answered by `you-are`.

    name: cleaned as in hello. token: as in who-am-i. Where they hold a seat, the seat keeps the name with which they took it.
    """

    name: Annotated[str, Meta(max_length=200)]
    token: Annotated[str, Meta(max_length=64)] | None = None


class FollowLobby(Request, frozen=True, kw_only=True, tag="follow-lobby"):
    """Ask for `lobby` now and on every change (at most two a second), or stop it. changes: on a change `lobby-changes` is enough."""

    follow: bool = True
    changes: bool = False


class OpenRace(Request, frozen=True, kw_only=True, tag="open-race"):
    """Open a room and take its first seat. Answered by `room`, which has the code."""

    options: RaceOptions


class JoinRace(Request, frozen=True, kw_only=True, tag="join-race"):
    """Take a free seat, or come back to one's own. Answered by the room events after `version`, or by `room`.

    code: six letters, in either case. version: the last room version this client has, 0 for none.
    """

    code: RoomCode
    version: Annotated[int, Meta(ge=0, lt=2**53)] = 0


class QuickMatch(Request, frozen=True, kw_only=True, tag="quick-match"):
    """Look for an opponent of about the same rating, or for none any more. Answered by `waiting-match`, or by `waiting-over`.

    rules: id of the rule set, null for any. When an opponent is found both are seated in a new race: `room` follows.
    """

    rules: Annotated[str, Meta(min_length=1, max_length=32)] | None = None
    cancel: bool = False


class LeaveRace(Request, frozen=True, kw_only=True, tag="leave-race"):
    """Give the seat up: before the start it is free again, during the race it is forfeited. Answered by `left`."""


class Ready(Request, frozen=True, kw_only=True, tag="ready"):
    """Ready for race number `race`, with this player's 16 random bytes for the shuffle. Cannot be taken back."""

    race: RaceNumber
    nonce: Hex16


class Move(Request, frozen=True, kw_only=True, gc=False, tag="move"):
    """Play `move` as this seat's move number `ply` (0 for the first).

    Answered by `view`; when it is refused, by `error` and `current-view`.
    """

    race: RaceNumber
    seat: SeatNumber
    ply: Annotated[int, Meta(ge=0, lt=2**31)]
    move: MoveText


class Stop(Request, frozen=True, kw_only=True, tag="stop"):
    """End one's own part of the race and keep the cards that are home."""

    race: RaceNumber
    seat: SeatNumber


class Resign(Request, frozen=True, kw_only=True, tag="resign"):
    """Give the race up: the seat is forfeited and placed behind all that are not."""

    race: RaceNumber
    seat: SeatNumber


class Rematch(Request, frozen=True, kw_only=True, tag="rematch"):
    """After race number `race`: ask for another between the same players. It opens when all of them have asked."""

    race: RaceNumber


class Say(Request, frozen=True, kw_only=True, tag="say"):
    """One line of chat: to the room one is in, or where one is in none, to those who watch the same race.

    text: cleaned by the server to at most 200 printable characters. phrase: one of `protocol.phrases` in place of a text; players have
    nothing else while their race is being run. code: to the room or the watched race of this code alone.
    """

    text: Annotated[str, Meta(max_length=1000)] = ""
    phrase: Annotated[str, Meta(min_length=1, max_length=24)] | None = None
    code: RoomCode | None = None


ClientMessage: TypeAlias = (
    Hello
    | WhoAmI
    | Rename
    | FollowLobby
    | OpenRace
    | JoinRace
    | QuickMatch
    | LeaveRace
    | Ready
    | Move
    | Stop
    | Resign
    | Rematch
    | Say
    | WatchRequest
    | RunRequest
    | TournamentRequest
)

PRICES: dict[type, int] = {
    Rename: 5,
    OpenRace: 2,
    JoinRace: 2,
    QuickMatch: 2,
    ListDailies: 5,
    RunDaily: 5,
    OpenChallenge: 5,
    ListChallenges: 5,
    RunChallenge: 5,
    ListRuns: 5,
    PlayOn: 20,
    CreateTournament: 20,
}
"""What the more expensive requests take from the sender's token bucket; all others take 1."""
