"""The values that messages carry: what a player sees of their position, seats, options, rule sets and bots.

Frozen, typed and validated at the edge by `protocol.codec`; both ends also use them inside. Cards are written as text ("TD"),
times as whole milliseconds, byte strings as lower-case hexadecimal, so that MessagePack and JSON carry exactly the same maps.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from protocol.cards import DECK_SIZE

MAX_SEATS = 8
MAX_SERIES_RACES = 25
MAX_DECKS = 2
RATED_DELAY_S = 10
"""Watchers see the boards of a rated race at least this much later."""

# The pattern needs the length as well: `$` alone lets a newline follow.
Hex16 = Annotated[str, Meta(pattern="^[0-9a-f]{32}$", max_length=32)]
"""16 bytes as 32 lower-case hexadecimal digits."""
Hex32 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", max_length=64)]
"""32 bytes as 64 lower-case hexadecimal digits."""
SeatNumber = Annotated[int, Meta(ge=0, lt=MAX_SEATS)]
RoomCode = Annotated[str, Meta(min_length=1, max_length=16)]
"""The code of a room, as somebody typed it."""
UnixTime = Annotated[int, Meta(ge=0, lt=2**47)]
"""A moment in ms since 1970; calendars have them all."""
HomeCount = Annotated[int, Meta(ge=0, le=DECK_SIZE * MAX_DECKS)]
CardText = Annotated[str, Meta(min_length=2, max_length=2)]
"""A card, rank and suit as in `protocol.cards`, or `??`."""
Token = Annotated[str, Meta(max_length=64)]
"""What makes a client the same player again."""

Phase = Literal["waiting", "countdown", "racing", "over"]
"""waiting: seats fill and get ready. countdown: the start is set. racing: views are out. over: there is a result."""

Unrated = Literal["by-choice", "one-seat", "house-bot", "named-deal", "two-shuffles", "early-boards"]
"""Why a race does not count for ratings. by-choice: its host's. early-boards: watchers see boards sooner than RATED_DELAY_S."""


def unfit_for_rating(*, seats: int, bots: bool, named: bool, swaps: bool) -> Unrated | None:
    """Why a race with these seats, bots and deals can never count for ratings; None if it can."""
    if seats < 2:
        return "one-seat"
    if bots:
        return "house-bot"
    if named:
        return "named-deal"
    return "two-shuffles" if swaps else None


SeatState = Literal["waiting", "racing", "won", "stalled", "stopped", "forfeited", "out-of-time"]
"""waiting until the start, then racing, then one of the five ends for good."""


class Request(Struct, frozen=True, kw_only=True, tag_field="type"):
    """What every message from a client has. ref: a number of the client's choice, repeated in the answer."""

    ref: Annotated[int, Meta(ge=0, lt=2**31)] = 0


class View(Struct, frozen=True, kw_only=True, gc=False):
    """All that a player may see of their own position. Nothing else about it ever leaves the server.

    piles: slot name to the cards lying there, bottom card first, top card last; an empty list is a gap. In slot order.
    waste: the waste, bottom card first: cards this player has turned themselves. Its last card is the one in play.
    stock: how many cards are left in the stock. stock_next: the stock cards that the rule set shows, next card first.
    foundations: foundation to the number of cards on it: `S` `H` `D` `C`, or `S+` (up from the Ace) and `S-` (down from the King).
    pending: the slot of a gap waiting to be filled from the waste or stock, or null.
    redeals: how many redeals are left. home: cards on the foundations in all.
    moves: every legal move, as text, in ASCII order; none when the position is over.
    """

    piles: dict[str, tuple[CardText, ...]]
    waste: tuple[CardText, ...]
    stock: int
    stock_next: tuple[CardText, ...]
    foundations: dict[str, int]
    pending: str | None
    redeals: int
    home: HomeCount
    moves: tuple[str, ...]


SeriesFormat = Literal["single", "best-of", "session", "swap"]
"""single: one race. best-of: most races won. session: a fixed number of attempts, each game won is a point. swap: two shuffles, of which
each player plays one and then the other."""


class SeriesOptions(Struct, frozen=True, kw_only=True):
    """How many races belong together, and how they are scored. races: at most this many; 1 for `single`, 2 for `swap`, odd for `best-of`.

    grace_s: how many seconds a player may be away between two races before they count as having given up the series.
    """

    format: SeriesFormat = "single"
    races: Annotated[int, Meta(ge=1, le=MAX_SERIES_RACES)] = 1
    grace_s: Annotated[int, Meta(ge=5, le=3600)] = 300


SharedKind = Literal["round", "daily", "challenge"]
"""round: for all tables of a tournament's round. daily: the deal of a day. challenge: a deal that somebody opened for others to run."""


class SharedDeal(Struct, frozen=True, kw_only=True):
    """A shuffle dealt to several races, at once or one after another. Its secret is drawn and committed to before any of them.

    id: which one of its kind; in records of a tournament that is not listed, a round's lacks the tournament.
    nonces: replace the players' own in the derivation of the seed; fixed before the first race.
    number: the seed's k plus 1; above 1 if a table of a round races again.
    """

    kind: SharedKind
    id: Annotated[str, Meta(min_length=1, max_length=64)]
    nonces: tuple[Hex16, ...]
    number: Annotated[int, Meta(ge=1, lt=2**16)] = 1


class RaceOptions(Struct, frozen=True, kw_only=True):
    """What the opener of a race chooses.

    rules: id of a rule set. seats: how many players the race is for. public: whether it is listed in the lobby, or needs its code to join.
    deal: a name for the shuffle (the same name always gives the same shuffle), or null for one that nobody can know or choose.
    winnable: deal only a shuffle that the server's search can win; not with a named deal, and only if the rule set is `solvable`.
    countdown_s: seconds from everybody being ready to the start. time_limit_s: seconds for the whole race. grace_s: seconds that a player
    may be away. bots: names of the house bots that take the last seats.
    delay_s: how many seconds later than the players watchers see boards. rated: whether the race should count for ratings, if it can.
    autoplay: whether clients may send cards home on their own; the server cannot tell whether they do.
    series: the series of which this is the first race.
    """

    rules: Annotated[str, Meta(min_length=1, max_length=32)] = "carpet"
    seats: Annotated[int, Meta(ge=1, le=MAX_SEATS)] = 2
    public: bool = True
    deal: Annotated[str, Meta(min_length=1, max_length=100)] | None = None
    winnable: bool = False
    countdown_s: Annotated[int, Meta(ge=1, le=10)] = 3
    time_limit_s: Annotated[int, Meta(ge=10, le=3600)] = 600
    grace_s: Annotated[int, Meta(ge=5, le=600)] = 60
    bots: tuple[Annotated[str, Meta(min_length=1, max_length=24)], ...] = ()
    delay_s: Annotated[int, Meta(ge=0, le=600)] = RATED_DELAY_S
    rated: bool = True
    autoplay: bool = True
    series: SeriesOptions = SeriesOptions()

    @property
    def counts(self) -> bool:
        """Whether a race with these options counts for ratings: between people, on one shuffle nobody could know, boards late enough."""
        return self.unrated_because is None

    @property
    def unrated_because(self) -> Unrated | None:
        """The first reason why a race with these options does not count; None if it does."""
        if not self.rated:
            return "by-choice"
        unfit = unfit_for_rating(seats=self.seats, bots=bool(self.bots), named=self.deal is not None, swaps=self.swaps)
        return unfit or ("early-boards" if self.delay_s < RATED_DELAY_S else None)

    @property
    def swaps(self) -> bool:
        """Whether the seats of one race play different shuffles."""
        return self.series.format == "swap"


class SeatInfo(Struct, frozen=True, kw_only=True):
    """What everybody may know of one seat.

    name: null while nobody sits there. bot: the house bot's name, if it is one. connected: false while its player is away.
    ready: has sent its nonce. again: has asked for a rematch. ply: moves made. home, foundations: cards home, in all and per foundation.
    elapsed_ms: the time of its last move, from the start. round_trip_ms: the measured round trip, or null.
    """

    seat: SeatNumber
    name: str | None
    bot: str | None
    connected: bool
    ready: bool
    again: bool
    state: SeatState
    ply: int
    home: HomeCount
    foundations: dict[str, int]
    elapsed_ms: int
    round_trip_ms: int | None


class SeriesSeat(Struct, frozen=True, kw_only=True):
    """How one seat stands in a series.

    name: of the player there in the last race, empty before the first has ended. points, forfeits, home: points, races forfeited and cards
    home in all, which decide its place in this order. gone: has given up the series, and is placed behind all who have not.
    """

    name: str
    points: int
    home: int
    place: int
    gone: bool
    forfeits: int


class SeriesInfo(Struct, frozen=True, kw_only=True):
    """How a series stands. races: the most there can be. raced: how many are over. over: the series is decided. seats: in seat order."""

    format: SeriesFormat
    races: int
    raced: int
    over: bool
    seats: tuple[SeriesSeat, ...]


class SeatRating(Struct, frozen=True, kw_only=True):
    """The rating of a seat's player before and after a race, in points. A player without a rating counts as 1000."""

    before: int
    after: int


class ChatLine(Struct, frozen=True, kw_only=True):
    """A line of chat by a player, cleaned: at most 200 printable characters. phrase: its id, if it is one; text has the words."""

    seat: SeatNumber
    name: str
    text: str
    phrase: str | None = None


class WatcherLine(Struct, frozen=True, kw_only=True):
    """One line of chat by a watcher, cleaned like a player's. number: counts the watchers' lines in a room, from 1."""

    number: int
    name: str
    text: str


class LateBoard(Struct, frozen=True, kw_only=True):
    """One seat's board as watchers may see it: as it was `delay_s` ago. ply, state: at that time. elapsed_ms: the time of its last move."""

    seat: SeatNumber
    ply: int
    elapsed_ms: int
    state: SeatState
    view: View


class Curve(Struct, frozen=True, kw_only=True):
    """How many cards a seat had home at which time: `home[n]` from `at_ms[n]` on. Times count from the start, where the first point is.

    There are no more points than cards.
    """

    at_ms: tuple[int, ...]
    home: tuple[HomeCount, ...]


class RulesInfo(Struct, frozen=True, kw_only=True):
    """A rule set that the server offers. columns and rows lay out the slots, which are named by column letter and row number.

    source: the document the rules come from. difficulty: "easy", "moderate" or "hard", for people. decks: of 52 cards each.
    reserves: how many piles lie beside the layout, named p1, p2 …. has_waste: whether there is ever a waste.
    redeals: how many a game starts with. visible_stock: how many of the next stock cards are shown.
    lanes: in a quilt, a card's end is free only if every slot from it to the edge is empty, not just the next one.
    solvable: whether a race can ask for a deal that can be won.
    """

    id: str
    name: str
    family: Literal["carpet", "twin", "quilt"]
    explanation: str
    source: str
    difficulty: str
    decks: Annotated[int, Meta(ge=1, le=MAX_DECKS)]
    columns: int
    rows: int
    reserves: int
    has_waste: bool
    redeals: int
    visible_stock: int
    lanes: bool = False
    solvable: bool = False


class BotInfo(Struct, frozen=True, kw_only=True):
    """A house bot that the server offers. They are listed weakest first."""

    name: str
    explanation: str


class OpenRaceInfo(Struct, frozen=True, kw_only=True):
    """A public race that still has a free seat.

    rated: whether it counts for ratings. ratings: one for each of `names`, null for those who have none or are away.
    series: the series of which it is the first race.
    """

    code: str
    rules: str
    names: tuple[str, ...]
    seats: int
    time_limit_s: int
    rated: bool = False
    ratings: tuple[int | None, ...]
    series: SeriesOptions = SeriesOptions()


class RunningSeatInfo(Struct, frozen=True, kw_only=True):
    """A seat in a running race, for those choosing what to watch. home: cards home. rating: its player's, in points."""

    name: str
    bot: str | None
    state: SeatState
    home: HomeCount
    rating: int | None


class RunningRaceInfo(Struct, frozen=True, kw_only=True):
    """A public race that is running. elapsed_ms: from its start to the sending of this message. watchers: how many watch it.

    tournament: the id of the public tournament it belongs to; else empty.
    """

    code: str
    rules: str
    seats: tuple[RunningSeatInfo, ...]
    watchers: int
    elapsed_ms: int
    time_limit_s: int
    delay_s: int
    tournament: str = ""


class RunningChange(Struct, frozen=True, kw_only=True):
    """How far an already listed race has come. homes, states: its seats', in order. The rest is as in `RunningRaceInfo`."""

    code: str
    watchers: int
    elapsed_ms: int
    homes: tuple[HomeCount, ...]
    states: tuple[SeatState, ...]


class GhostInfo(Struct, frozen=True, kw_only=True):
    """Somebody who ran the deal before, shown beside whoever runs it now: how they stood at the same time on their own clock.

    ghost: its number, from 0. name: as it was then. ply: moves made. home: cards home. elapsed_ms: the time of this, on their clock.
    """

    ghost: int
    name: str
    state: SeatState
    ply: int
    home: HomeCount
    elapsed_ms: int


RunKind = Literal["daily", "challenge"]
"""The kinds of deals that each player runs once, alone, and in their own time."""

DealId = Annotated[str, Meta(min_length=1, max_length=64)]
"""The date in UTC for a deal of the day, such as 2026-11-21; six letters for a challenge."""
