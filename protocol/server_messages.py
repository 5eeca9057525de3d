"""Every message a server may send, on one page: first those to one connection, then the versioned events of a room.

The tag is the field `type`. Room events carry `version`, from 1 up without gaps: a client that has version n and receives n + 2 has
missed one and joins again with `version` n. `room` is the exception that heals everything: it replaces all a client knew.

`ref` is that of the request which the message answers, and 0 when it comes unasked.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from protocol.errors import Fault
from protocol.record import Record, SeatRecord
from protocol.tournaments import (
    LoggedDecision,
    StandingsRow,
    TournamentEntrant,
    TournamentListing,
    TournamentOptions,
    TournamentPhase,
    TournamentRound,
    TournamentTable,
)
from protocol.views import (
    BotInfo,
    ChallengeInfo,
    ChatLine,
    Curve,
    DailyDeal,
    GhostInfo,
    LateBoard,
    OpenRaceInfo,
    Phase,
    RaceOptions,
    RulesInfo,
    RunKind,
    RunningRaceInfo,
    RunRow,
    SeatInfo,
    SeatRating,
    SeatState,
    SeriesInfo,
    SharedDeal,
    View,
    WatcherLine,
)

# ---- to one connection


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


class Moved(Struct, frozen=True, kw_only=True, tag_field="type", tag="moved"):
    """What was asked for is to be had at another server of this place: go there and ask again. The error `room/elsewhere` follows.

    url: `ws://…` or `wss://…`. code: of the room; null where it is no room. ref: of the request; 0 when nobody has asked, and the server goes.
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

    reason: left (as asked), not-ready (kept the others waiting), closed (the host stopped), idle (nobody came) or failed (a fault of the
    server).
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


class Dailies(Struct, frozen=True, kw_only=True, tag_field="type", tag="dailies"):
    """The deals of the day, the newest first: those of the next days, committed to already, today's, and the last ones before.

    now_ms: the server's time, Unix.
    """

    now_ms: int
    days: tuple[DailyDeal, ...]
    ref: int = 0


class Challenge(Struct, frozen=True, kw_only=True, tag_field="type", tag="challenge"):
    """The answer to `open-challenge`: give its id to whoever is to run it, or run it first."""

    challenge: ChallengeInfo
    ref: int = 0


class Challenges(Struct, frozen=True, kw_only=True, tag_field="type", tag="challenges"):
    """The challenges that can be run, and those of the asker's that are closed, the newest first: 50 at most. now_ms: as in `dailies`."""

    now_ms: int
    challenges: tuple[ChallengeInfo, ...]
    ref: int = 0


class Runs(Struct, frozen=True, kw_only=True, tag_field="type", tag="runs"):
    """The board of a deal: the answer to `list-runs`.

    runs: how many have ended. shown: whether the asker may see them: their run is over, or it is revealed. rows: the best 100, best first;
    none where it is not shown. own: the asker's line. commitment, reveals_at_ms, secret: as of the deal.
    """

    kind: RunKind
    id: str
    rules: str
    runs: int
    shown: bool
    rows: tuple[RunRow, ...]
    own: RunRow | None
    commitment: str
    reveals_at_ms: int
    secret: str | None
    ref: int = 0


# ---- of tournaments, to one connection


class Tournaments(Struct, frozen=True, kw_only=True, tag_field="type", tag="tournaments"):
    """The public tournaments, newest first: those that are not over, then the latest of the others, at most 100 in all.

    running: how many are not over, exactly, those that are not public too.
    """

    tournaments: tuple[TournamentListing, ...]
    running: int


class Tournament(Struct, frozen=True, kw_only=True, tag_field="type", tag="tournament"):
    """One tournament as it stands; it replaces all that was known of it.

    director, director_name: the public id of the player who directs it, and their name. phase_ms: what is left of the check-in or of the
    pause before the next round; null where nothing runs out. commitment: of all its secrets, from before anybody put anything in.
    rounds: all that are paired; a client knows by `open` whether one is over. round: the one whose tables are told, 0 before the first.
    tie_breaks: names of the standings' columns. log: the last 50 decisions, oldest first. decisions: how many there are.
    """

    id: str
    options: TournamentOptions
    by_code: bool
    director: str
    director_name: str
    phase: TournamentPhase
    phase_ms: int | None
    made_at_ms: int
    commitment: str
    entrants: tuple[TournamentEntrant, ...]
    rounds: tuple[TournamentRound, ...]
    round: int
    tables: tuple[TournamentTable, ...]
    tie_breaks: tuple[str, ...]
    standings: tuple[StandingsRow, ...]
    log: tuple[LoggedDecision, ...]
    decisions: int
    ref: int = 0


class Called(Struct, frozen=True, kw_only=True, tag_field="type", tag="called"):
    """To an entrant whose table waits for them: leave whatever room that is over, and send `join-race` with `code`. After a hello again.

    id, name: of the tournament. opponent: a name; empty for the house. bot: the opponent's house bot, if it is one.
    until_ms: what is left until they forfeit; null when nothing runs out.
    """

    id: str
    name: str
    round: int
    table: int
    race: int
    code: str
    opponent: str
    bot: str | None
    until_ms: int | None


class Decided(Struct, frozen=True, kw_only=True, tag_field="type", tag="decided"):
    """What was asked of a tournament is decided and kept. id: of the tournament. number: in its log, 0 for its making. ref: of what it
    answers."""

    id: str
    number: int
    ref: int


TournamentMessage: TypeAlias = Tournaments | Tournament | Called | Decided

# ---- room events, versioned


class Room(Struct, frozen=True, kw_only=True, tag_field="type", tag="room"):
    """A snapshot: everything this client may know of the room. It replaces what was known, it is never merged.

    race: the number of the current race in this room, from 1. seat: this client's seat, or null. commitment: 64 hexadecimal digits.
    starts_in_ms: from now to the start (countdown only, else null). elapsed_ms: since the start (0 before it).
    view: this seat's own view once it was dealt. record: of the race that is over. chat: the last lines, oldest first.
    ratings: what the race that is over did to them, one for each seat; empty for one that does not count, or not yet.
    series: of which the race is one; null for a single race. shared: the deal, where other races are dealt the same. ended: the seats of
    such a race that is over, as its record has them; the record itself is null while it is closed.
    ghosts: those who ran the deal before, as far as they had come when their clocks showed what the race's shows now.
    """

    version: int
    code: str
    race: int
    phase: Phase
    options: RaceOptions
    commitment: str
    seats: tuple[SeatInfo, ...]
    seat: int | None
    starts_in_ms: int | None
    elapsed_ms: int
    view: View | None
    record: Record | None
    chat: tuple[ChatLine, ...]
    ratings: tuple[SeatRating, ...] = ()
    series: SeriesInfo | None = None
    shared: SharedDeal | None = None
    ended: tuple[SeatRecord, ...] = ()
    ghosts: tuple[GhostInfo, ...] = ()
    ref: int = 0


class Seated(Struct, frozen=True, kw_only=True, tag_field="type", tag="seated"):
    """Somebody sat down, before the start."""

    version: int
    seat: int
    name: str
    bot: str | None


class Unseated(Struct, frozen=True, kw_only=True, tag_field="type", tag="unseated"):
    """A seat is free again, before the start, or its player left after the end."""

    version: int
    seat: int


class Presence(Struct, frozen=True, kw_only=True, tag_field="type", tag="presence"):
    """A seated player's line was lost or is back. away_ms: what is left of the grace while away, else null."""

    version: int
    seat: int
    connected: bool
    away_ms: int | None


class PlayerReady(Struct, frozen=True, kw_only=True, tag_field="type", tag="player-ready"):
    """A seat's player is ready."""

    version: int
    seat: int


class Countdown(Struct, frozen=True, kw_only=True, tag_field="type", tag="countdown"):
    """Everybody is ready: the race starts `starts_in_ms` after this was sent. round_trips_ms: as measured, a seat."""

    version: int
    starts_in_ms: int
    round_trips_ms: tuple[int, ...]


class Dealt(Struct, frozen=True, kw_only=True, tag_field="type", tag="dealt"):
    """One's first view, sent half a round trip ahead of the start. The clock starts `starts_in_ms` after this was sent."""

    version: int
    seat: int
    starts_in_ms: int
    view: View


class Started(Struct, frozen=True, kw_only=True, tag_field="type", tag="started"):
    """The clock runs."""

    version: int


class PlayerView(Struct, frozen=True, kw_only=True, tag_field="type", tag="view"):
    """To the mover alone: their accepted move is played. ply: moves they have made. state: racing, or how their part has ended."""

    version: int
    seat: int
    ply: int
    move: str
    state: SeatState
    elapsed_ms: int
    view: View


class Progress(Struct, frozen=True, kw_only=True, tag_field="type", tag="progress"):
    """To all others for a move, and to everybody when a seat ends without one: how far that seat is."""

    version: int
    seat: int
    ply: int
    home: int
    foundations: dict[str, int]
    state: SeatState
    elapsed_ms: int


class Ghost(Struct, frozen=True, kw_only=True, tag_field="type", tag="ghost"):
    """A ghost has come so far, at the moment of its own run that the clock of this one shows now."""

    version: int
    ghost: GhostInfo


class Result(Struct, frozen=True, kw_only=True, tag_field="type", tag="result"):
    """The race is over. The record reveals secret, nonces and seed; the places are in it."""

    version: int
    record: Record


class Ended(Struct, frozen=True, kw_only=True, tag_field="type", tag="ended"):
    """The race is over, and its record is closed until nobody has to play its shuffle any more. seats: as the record has them.

    `result` follows then, to whoever is still there.
    """

    version: int
    seats: tuple[SeatRecord, ...]


class Scored(Struct, frozen=True, kw_only=True, tag_field="type", tag="scored"):
    """A race of a series was scored, or the series was given up. Unless the series is over, `room` follows with its next race.

    record: of an earlier race, which was withheld till now; else null.
    """

    version: int
    series: SeriesInfo
    record: Record | None


class Ratings(Struct, frozen=True, kw_only=True, tag_field="type", tag="ratings"):
    """What the race that is over did to its players' ratings, one for each seat. Follows the `result` of a race that counts."""

    version: int
    seats: tuple[SeatRating, ...]


class RematchAsked(Struct, frozen=True, kw_only=True, tag_field="type", tag="rematch-asked"):
    """A seat's player would race again. When all of them would, `room` follows with the next race."""

    version: int
    seat: int


class Said(Struct, frozen=True, kw_only=True, tag_field="type", tag="said"):
    """A line of chat."""

    version: int
    line: ChatLine
    ref: int = 0


class Hidden(Struct, frozen=True, kw_only=True, tag_field="type", tag="hidden"):
    """Something happened that this client may not see; only the version moves."""

    version: int


RoomEvent: TypeAlias = (
    Room
    | Seated
    | Unseated
    | Presence
    | PlayerReady
    | Countdown
    | Dealt
    | Started
    | PlayerView
    | Progress
    | Ghost
    | Result
    | Ended
    | Scored
    | Ratings
    | RematchAsked
    | Said
    | Hidden
)

# ---- to watchers, each with the code of the room that it is about


class Watched(Struct, frozen=True, kw_only=True, tag_field="type", tag="watched"):
    """A snapshot for a watcher: the answer to `watch-race`, and unasked when the server moves them on or when they missed something.

    room: as for somebody without a seat. boards: the latest that may be shown, of each seat that has one. lines: the last of the watchers.
    closest: the server moves them on to another race when this one is over. curves: what led to how far each seat is, in seat order; none
    before the start and after the result.
    """

    room: Room
    boards: tuple[LateBoard, ...]
    watchers: int
    lines: tuple[WatcherLine, ...]
    closest: bool
    curves: tuple[Curve, ...] = ()
    ref: int = 0


class WatchedEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="watched-event"):
    """A room event of the race that is watched, as somebody without a seat is told it; its version is the room's."""

    code: str
    event: RoomEvent


class Board(Struct, frozen=True, kw_only=True, tag_field="type", tag="board"):
    """The board of one seat in race number `race`, as late as the race's options say; each replaces the one before it."""

    code: str
    race: int
    board: LateBoard


class Watchers(Struct, frozen=True, kw_only=True, tag_field="type", tag="watchers"):
    """How many watch: to players and watchers, at most once a second. whole: somebody sees boards with every card open."""

    code: str
    count: int
    whole: bool = False


class Talk(Struct, frozen=True, kw_only=True, tag_field="type", tag="talk"):
    """What watchers say: to watchers at once, to players while no race is being run. A line whose number is known is a repetition."""

    code: str
    lines: tuple[WatcherLine, ...]


class Unwatched(Struct, frozen=True, kw_only=True, tag_field="type", tag="unwatched"):
    """This connection watches nothing now. code: of the room it has watched, if any.

    reason: asked, closed (the room is), seated (took a seat in it), none (no race is being run in public; `watched` comes when one is),
    too-slow (did not read, and holds a seat elsewhere) or failed (a fault of the server).
    """

    code: str | None
    reason: str
    ref: int = 0


class BoardsKey(Struct, frozen=True, kw_only=True, tag_field="type", tag="boards-key"):
    """The key of a race's boards, for `watch-race`: for a screen that its players cannot see. It is good until the server ends."""

    code: str
    key: str
    ref: int = 0


WatchMessage: TypeAlias = Watched | WatchedEvent | Board | Watchers | Talk | BoardsKey | Unwatched
RunMessage: TypeAlias = Dailies | Challenge | Challenges | Runs
ServerMessage: TypeAlias = (
    Welcome
    | Moved
    | YouAre
    | Error
    | Lobby
    | WaitingMatch
    | WaitingOver
    | Left
    | CurrentView
    | RunMessage
    | TournamentMessage
    | RoomEvent
    | WatchMessage
)
