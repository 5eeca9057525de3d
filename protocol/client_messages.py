"""Every message a client may send, on one page, in the order in which a player comes to need them.

The tag is the field `type`. `ref` is any number the client likes; it comes back in the answer, be it an error or a message that has a
`ref`. Seat and race numbers are written out in what changes a race, so that a late message can never hit the next race or another seat.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from protocol.tournaments import EntrantId, Reason, RoundNumber, TableNumber, TableResult, TournamentId, TournamentOptions
from protocol.views import DealId, Hex16, RaceOptions, RunKind, SeatNumber

Reference = Annotated[int, Meta(ge=0, lt=2**31)]
RaceNumber = Annotated[int, Meta(ge=1, lt=2**31)]
MoveText = Annotated[str, Meta(min_length=1, max_length=8)]
Code = Annotated[str, Meta(min_length=1, max_length=16)]
BoardsKeyText = Annotated[str, Meta(max_length=64)]
"""Of a room, as somebody typed it."""


class Hello(Struct, frozen=True, kw_only=True, tag_field="type", tag="hello"):
    """First on every connection: who comes. With the token of an earlier welcome it is the same player again, under the name they have.

    name: of a new player, cleaned by the server to at most 24 printable characters. software: the client's own name and version, for the
    log. watch: comes only to follow the lobby and to watch, and takes no other connection over. With a token it is a second line of that
    player, who is kept from their own races and may talk to other watchers; without one it is a guest, no player, who may be nameless.
    """

    name: Annotated[str, Meta(max_length=200)]
    token: Annotated[str, Meta(max_length=64)] | None = None
    software: Annotated[str, Meta(max_length=64)] = ""
    watch: bool = False
    ref: Reference = 0


class WhoAmI(Struct, frozen=True, kw_only=True, tag_field="type", tag="who-am-i"):
    """Ask which player has this token, without being them: no other connection is taken over. Answered by `you-are`.

    token: null for this connection's own player; with one, no hello is needed before.
    """

    token: Annotated[str, Meta(max_length=64)] | None = None
    ref: Reference = 0


class Rename(Struct, frozen=True, kw_only=True, tag_field="type", tag="rename"):
    """Give the player who has this token, or this connection's own, another name. Answered by `you-are`.

    name: cleaned as in hello. token: as in who-am-i. Where they hold a seat, the seat keeps the name with which they took it.
    """

    name: Annotated[str, Meta(max_length=200)]
    token: Annotated[str, Meta(max_length=64)] | None = None
    ref: Reference = 0


class FollowLobby(Struct, frozen=True, kw_only=True, tag_field="type", tag="follow-lobby"):
    """Ask for `lobby` now and on every change (at most two a second), or stop it."""

    follow: bool = True
    ref: Reference = 0


class OpenRace(Struct, frozen=True, kw_only=True, tag_field="type", tag="open-race"):
    """Open a room and take its first seat. Answered by `room`, which has the code."""

    options: RaceOptions
    ref: Reference = 0


class JoinRace(Struct, frozen=True, kw_only=True, tag_field="type", tag="join-race"):
    """Take a free seat, or come back to one's own. Answered by the room events after `version`, or by `room`.

    code: six letters, in either case. version: the last room version this client has, 0 for none.
    """

    code: Code
    version: Annotated[int, Meta(ge=0, lt=2**53)] = 0
    ref: Reference = 0


class QuickMatch(Struct, frozen=True, kw_only=True, tag_field="type", tag="quick-match"):
    """Look for an opponent of about the same rating, or for none any more. Answered by `waiting-match`, or by `waiting-over`.

    rules: id of the rule set, null for any. When an opponent is found both are seated in a new race: `room` follows.
    """

    rules: Annotated[str, Meta(min_length=1, max_length=32)] | None = None
    cancel: bool = False
    ref: Reference = 0


class LeaveRace(Struct, frozen=True, kw_only=True, tag_field="type", tag="leave-race"):
    """Give the seat up: before the start it is free again, during the race it is forfeited. Answered by `left`."""

    ref: Reference = 0


class Ready(Struct, frozen=True, kw_only=True, tag_field="type", tag="ready"):
    """Ready for race number `race`, with this player's 16 random bytes for the shuffle. Cannot be taken back."""

    race: RaceNumber
    nonce: Hex16
    ref: Reference = 0


class Move(Struct, frozen=True, kw_only=True, tag_field="type", tag="move"):
    """Play `move` as this seat's move number `ply` (0 for the first). Answered by `view`, also when it is refused."""

    race: RaceNumber
    seat: SeatNumber
    ply: Annotated[int, Meta(ge=0, lt=2**31)]
    move: MoveText
    ref: Reference = 0


class Stop(Struct, frozen=True, kw_only=True, tag_field="type", tag="stop"):
    """End one's own part of the race and keep the cards that are home."""

    race: RaceNumber
    seat: SeatNumber
    ref: Reference = 0


class Resign(Struct, frozen=True, kw_only=True, tag_field="type", tag="resign"):
    """Give the race up: the seat is forfeited and placed behind all that are not."""

    race: RaceNumber
    seat: SeatNumber
    ref: Reference = 0


class Rematch(Struct, frozen=True, kw_only=True, tag_field="type", tag="rematch"):
    """After race number `race`: ask for another between the same players. It opens when all of them have asked."""

    race: RaceNumber
    ref: Reference = 0


class Say(Struct, frozen=True, kw_only=True, tag_field="type", tag="say"):
    """One line of chat: to the room one is in, or where one is in none, to those who watch the same race.

    text: cleaned by the server to at most 200 printable characters. phrase: one of `protocol.phrases` in place of a text; players have
    nothing else while their race is being run. code: to the room or the watched race of this code alone.
    """

    text: Annotated[str, Meta(max_length=1000)] = ""
    phrase: Annotated[str, Meta(min_length=1, max_length=24)] | None = None
    code: Code | None = None
    ref: Reference = 0


class WatchRace(Struct, frozen=True, kw_only=True, tag_field="type", tag="watch-race"):
    """Watch a race without a seat in it, and no other one any more. Answered by `watched`.

    code: of its room; null for the closest race that is being run in public, and for the next one when that is over.
    key: of the boards, by `ask-boards-key`: then they come with every card open.
    """

    code: Code | None = None
    key: BoardsKeyText = ""
    ref: Reference = 0


class AskBoardsKey(Struct, frozen=True, kw_only=True, tag_field="type", tag="ask-boards-key"):
    """Ask for the key of a race's boards: for its host, or the director of its tournament. Answered by `boards-key`."""

    code: Code
    ref: Reference = 0


class Unwatch(Struct, frozen=True, kw_only=True, tag_field="type", tag="unwatch"):
    """Watch nothing any more. Answered by `unwatched`."""

    ref: Reference = 0


class ListDailies(Struct, frozen=True, kw_only=True, tag_field="type", tag="list-dailies"):
    """Ask for what the server has committed to: the deals of today and of the next days, and of days gone by. Answered by `dailies`."""

    ref: Reference = 0


class RunDaily(Struct, frozen=True, kw_only=True, tag_field="type", tag="run-daily"):
    """Run today's deal of this rule set, or go on with one's run of it. Answered by `room`. One run counts, and there is no other."""

    rules: Annotated[str, Meta(min_length=1, max_length=32)] = "carpet"
    ref: Reference = 0


class OpenChallenge(Struct, frozen=True, kw_only=True, tag_field="type", tag="open-challenge"):
    """Have a deal settled that others run later, each once, beside those who ran it before. Answered by `challenge`.

    nonce: 16 random bytes, which go into the shuffle together with a secret of the server's. public: listed for everybody.
    closes_in_s: seconds from now in which a run may begin; an hour to 30 days.
    """

    nonce: Hex16
    rules: Annotated[str, Meta(min_length=1, max_length=32)] = "carpet"
    time_limit_s: Annotated[int, Meta(ge=10, le=3600)] = 600
    public: bool = True
    closes_in_s: Annotated[int, Meta(ge=3600, le=30 * 24 * 3600)] = 7 * 24 * 3600
    ref: Reference = 0


class ListChallenges(Struct, frozen=True, kw_only=True, tag_field="type", tag="list-challenges"):
    """Ask for the challenges that can be run, and for one's own. Answered by `challenges`. token: as in who-am-i."""

    token: Annotated[str, Meta(max_length=64)] | None = None
    ref: Reference = 0


class RunChallenge(Struct, frozen=True, kw_only=True, tag_field="type", tag="run-challenge"):
    """Run a challenge, or go on with one's run of it. Answered by `room`."""

    id: Code
    ref: Reference = 0


class ListRuns(Struct, frozen=True, kw_only=True, tag_field="type", tag="list-runs"):
    """Ask for the board of a deal. Answered by `runs`, which has its lines for who has had their run, and for all once it is revealed.

    id: of the deal; null for today's deal of the day. rules: of a deal of the day. token: as in who-am-i; with one, no hello is needed
    before.
    """

    kind: RunKind
    id: DealId | None = None
    rules: Annotated[str, Meta(min_length=1, max_length=32)] = "carpet"
    token: Annotated[str, Meta(max_length=64)] | None = None
    ref: Reference = 0


class PlayOn(Struct, frozen=True, kw_only=True, tag_field="type", tag="play-on"):
    """Race alone, unrated, from where one seat of a race that is over stood after `ply` moves, beside what it did from there.

    Answered by `room`. race: the id of its record, which must be open to all. seat: from 0.
    """

    race: Annotated[str, Meta(min_length=1, max_length=64)]
    seat: SeatNumber
    ply: Annotated[int, Meta(ge=0, lt=2**31)]
    ref: Reference = 0


# ---- tournaments: who plays


class FollowTournaments(Struct, frozen=True, kw_only=True, tag_field="type", tag="follow-tournaments"):
    """Ask for `tournaments` now and on every change (at most two a second), or stop it."""

    follow: bool = True
    ref: Reference = 0


class FollowTournament(Struct, frozen=True, kw_only=True, tag_field="type", tag="follow-tournament"):
    """Ask for `tournament` now and on every change (at most two a second), or stop it. A connection follows one tournament.

    round: the round whose tables are told; null for the last one, whichever that is.
    """

    id: TournamentId
    round: RoundNumber | None = None
    follow: bool = True
    ref: Reference = 0


class EnterTournament(Struct, frozen=True, kw_only=True, tag_field="type", tag="enter-tournament"):
    """Play in it; also late, or again after leaving, where its format allows that. Answered by `decided`.

    code: where entering asks for one.
    """

    id: TournamentId
    code: Annotated[str, Meta(max_length=32)] | None = None
    ref: Reference = 0


class LeaveTournament(Struct, frozen=True, kw_only=True, tag_field="type", tag="leave-tournament"):
    """Play in it no more: a table of this player's without a result is forfeited. Answered by `decided`."""

    id: TournamentId
    ref: Reference = 0


class CheckIn(Struct, frozen=True, kw_only=True, tag_field="type", tag="check-in"):
    """Here, and ready to play, with this player's 16 random bytes for the shuffles of all rounds to come. Answered by `decided`."""

    id: TournamentId
    nonce: Hex16
    ref: Reference = 0


# ---- tournaments: who directs


class CreateTournament(Struct, frozen=True, kw_only=True, tag_field="type", tag="create-tournament"):
    """Make a tournament and be its director. Answered by `decided`, which has its id.

    code: what entering asks for; null where everybody may enter.
    """

    options: TournamentOptions
    code: Annotated[str, Meta(min_length=1, max_length=32)] | None = None
    ref: Reference = 0


class StartTournament(Struct, frozen=True, kw_only=True, tag_field="type", tag="start-tournament"):
    """Open the check-in; when it is open already, or there is none, pair the first round. Answered by `decided`."""

    id: TournamentId
    ref: Reference = 0


class PauseTournament(Struct, frozen=True, kw_only=True, tag_field="type", tag="pause-tournament"):
    """Let running races end and start nothing new; or, with `pause` false, go on. Answered by `decided`."""

    id: TournamentId
    pause: bool = True
    ref: Reference = 0


class PairRound(Struct, frozen=True, kw_only=True, tag_field="type", tag="pair-round"):
    """Pair round number `round` now, when the one before is over. Answered by `decided`."""

    id: TournamentId
    round: RoundNumber
    ref: Reference = 0


class CorrectResult(Struct, frozen=True, kw_only=True, tag_field="type", tag="correct-result"):
    """The director's word on a race at a table: enters, corrects or strikes its result. Answered by `decided`.

    race: of the table, above 1 where drawn ones are run again. result: null strikes it, and the race is open again.
    """

    id: TournamentId
    round: RoundNumber
    table: TableNumber
    race: Annotated[int, Meta(ge=1, le=16)] = 1
    result: TableResult | None
    reason: Reason = ""
    ref: Reference = 0


class RemoveEntrant(Struct, frozen=True, kw_only=True, tag_field="type", tag="remove-entrant"):
    """Take an entrant out, or with `remove` false let one who is out back in. Answered by `decided`."""

    id: TournamentId
    entrant: EntrantId
    remove: bool = True
    reason: Reason = ""
    ref: Reference = 0


class AddBot(Struct, frozen=True, kw_only=True, tag_field="type", tag="add-bot"):
    """Let a house bot enter. Answered by `decided`. bot: its name, null for the one of the tournament's options."""

    id: TournamentId
    bot: Annotated[str, Meta(min_length=1, max_length=24)] | None = None
    ref: Reference = 0


class EndTournament(Struct, frozen=True, kw_only=True, tag_field="type", tag="end-tournament"):
    """Break it off: races that are being run end, nothing is paired any more, the standings stay. Answered by `decided`."""

    id: TournamentId
    reason: Reason = ""
    ref: Reference = 0


TournamentMessage: TypeAlias = (
    FollowTournaments
    | FollowTournament
    | EnterTournament
    | LeaveTournament
    | CheckIn
    | CreateTournament
    | StartTournament
    | PauseTournament
    | PairRound
    | CorrectResult
    | RemoveEntrant
    | AddBot
    | EndTournament
)
"""All about tournaments."""

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
    | WatchRace
    | AskBoardsKey
    | Unwatch
    | ListDailies
    | RunDaily
    | OpenChallenge
    | ListChallenges
    | RunChallenge
    | ListRuns
    | PlayOn
    | TournamentMessage
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
"""What a request takes from the sender's bucket, where it costs a server more than others do, which take 1."""
