"""Every message a client may send: `ClientMessage`. This module has those of a race, in the order in which a player needs them; watching,
runs and tournaments have a module each.

The tag is the field `type`. `ref` is any number the client likes; it comes back in the answer, whether that is an error or a message with
a `ref`. Messages that change a race name its number and the seat, so that a late one can never hit the next race or another seat.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from protocol.run_messages import ListChallenges, ListDailies, ListRuns, OpenChallenge, PlayOn, RunChallenge, RunDaily, RunRequest
from protocol.tournament_messages import CreateTournament, FollowTournament, TournamentRequest
from protocol.views import Hex16, RaceOptions, Request, RoomCode, SeatNumber, Token
from protocol.watch_messages import WatchRequest

RaceNumber = Annotated[int, Meta(ge=1, lt=2**31)]
MoveText = Annotated[str, Meta(min_length=1, max_length=8)]


class Hello(Request, frozen=True, kw_only=True, tag="hello"):
    """The first message on every connection: says who is connecting.

    name: for a new player, cleaned by the server to at most 24 printable characters. token: from an earlier `welcome`; makes this the same
    player, who keeps the name they have. software: the client's name and version; the server does not use it. watch: only follow the lobby
    and watch races, taking over no other connection. With a token, this is a second connection of that player: it may talk to other
    watchers but cannot watch the player's own races. Without one it is a guest: not a player, and perhaps without a name.
    """

    name: Annotated[str, Meta(max_length=200)]
    token: Token | None = None
    software: Annotated[str, Meta(max_length=64)] = ""
    watch: bool = False


class WhoAmI(Request, frozen=True, kw_only=True, tag="who-am-i"):
    """Ask which player has this token, without taking over their connection. Answered by `you-are`.

    token: null for this connection's own player. With a token, no `hello` is needed first.
    """

    token: Token | None = None


class Rename(Request, frozen=True, kw_only=True, tag="rename"):
    """Change the name of the player with this token, or of this connection's player. Answered by `you-are`.

    name: cleaned as in `hello`. token: as in `who-am-i`. A seat they already hold keeps the name under which they took it.
    """

    name: Annotated[str, Meta(max_length=200)]
    token: Token | None = None


class FollowLobby(Request, frozen=True, kw_only=True, tag="follow-lobby"):
    """Get `lobby` now and after every change (at most twice a second), or stop getting it. changes: later ones may be `lobby-changes`."""

    follow: bool = True
    changes: bool = False


class OpenRace(Request, frozen=True, kw_only=True, tag="open-race"):
    """Open a room and take its first seat. Answered by `room`, which carries the code."""

    options: RaceOptions


class JoinRace(Request, frozen=True, kw_only=True, tag="join-race"):
    """Take a free seat, or return to one's own. Answered by the room events after `version`, or by `room`.

    code: six letters, upper or lower case. version: the last room version this client has, 0 for none.
    """

    code: RoomCode
    version: Annotated[int, Meta(ge=0, lt=2**53)] = 0


class QuickMatch(Request, frozen=True, kw_only=True, tag="quick-match"):
    """Look for an opponent with a similar rating, or stop looking. Answered by `waiting-match` or `waiting-over`.

    When an opponent is found, both are seated in a new race and `room` follows. rules: id of the rule set, null for any. cancel: stop
    looking.
    """

    rules: Annotated[str, Meta(min_length=1, max_length=32)] | None = None
    cancel: bool = False


class LeaveRace(Request, frozen=True, kw_only=True, tag="leave-race"):
    """Give up the seat. Before the start this frees it; during the race it forfeits. Answered by `left`."""


class Ready(Request, frozen=True, kw_only=True, tag="ready"):
    """Ready for race number `race`, with this player's 16 random bytes for the shuffle. It cannot be taken back."""

    race: RaceNumber
    nonce: Hex16


class Move(Request, frozen=True, kw_only=True, gc=False, tag="move"):
    """Play `move` as this seat's move number `ply` (0 for the first).

    Answered by `view`, or if it is refused, by `error` and `current-view`.
    """

    race: RaceNumber
    seat: SeatNumber
    ply: Annotated[int, Meta(ge=0, lt=2**31)]
    move: MoveText


class Stop(Request, frozen=True, kw_only=True, tag="stop"):
    """End one's own part of the race, keeping the cards that are home."""

    race: RaceNumber
    seat: SeatNumber


class Resign(Request, frozen=True, kw_only=True, tag="resign"):
    """Give up the race: the seat is forfeited, and placed behind all seats that are not."""

    race: RaceNumber
    seat: SeatNumber


class Rematch(Request, frozen=True, kw_only=True, tag="rematch"):
    """After race number `race`, ask for another between the same players. It opens once all of them have asked."""

    race: RaceNumber


class Say(Request, frozen=True, kw_only=True, tag="say"):
    """Say one line of chat to one's room, or if one is in none, to the others watching the same race.

    text: cleaned by the server to at most 200 printable characters. phrase: one of `protocol.phrases` instead of a text; during their
    race, players can use nothing else. code: say it only to the room or the watched race with this code.
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
    FollowTournament: 3,
}
"""What the more expensive requests take from the sender's token bucket; all others take 1."""
