"""Models to draw and to test with, made from messages by the reducer, as in the app. The cards are a fixed shuffle."""

from __future__ import annotations

from msgspec.structs import replace

from client.connection.events import Connected, RoundTrip
from client.state.store import Event, Model, ReadySent, reduce
from protocol.cards import card_text, fresh_deck
from protocol.errors import ERRORS, ErrorCode
from protocol.fairness import commitment, derive_seed
from protocol.record import DealRecord, MoveRecord, Record, SeatRecord, sealed
from protocol.room_events import Countdown, Dealt, PlayerReady, PlayerView, Progress, Ratings, Result, Room, Said, Scored, Seated, Started
from protocol.server_messages import Error, Lobby, WaitingMatch, Welcome
from protocol.shuffle import shuffle
from protocol.views import (
    BotInfo,
    ChatLine,
    OpenRaceInfo,
    RaceOptions,
    RunningRaceInfo,
    RunningSeatInfo,
    SeatInfo,
    SeatRating,
    SeriesInfo,
    SeriesOptions,
    SeriesSeat,
    View,
)
from server.rules.catalogue import RULE_SETS, describe

SECRET = bytes(range(32))
NONCES = ("00" * 16, "11" * 16)
SEED = derive_seed(SECRET, [bytes.fromhex(nonce) for nonce in NONCES], 0)
CODE = "KXQWZP"
SLOTS = tuple(f"{column}{row}" for row in range(1, 5) for column in "abcde")

RULES = tuple(describe(row) for row in RULE_SETS.values())
BOTS = (
    BotInfo(name="Dawdle", explanation="Slow, and forgets to look twice."),
    BotInfo(name="Steady", explanation="Plays what it sees, one card a second."),
    BotInfo(name="Magpie", explanation="Holds cards back and plays fast."),
)


def welcome(room: str | None = None) -> Welcome:
    return Welcome(player="p1", name="Anna", token="t", software="carpet-race 0.1", rules=RULES, bots=BOTS, room=room, rating=1138)


def running() -> tuple[RunningRaceInfo, ...]:
    def seat(name: str, home: int) -> RunningSeatInfo:
        return RunningSeatInfo(name=name, bot=None, state="racing", home=home, rating=None)

    def race(code: str, rules: str, watchers: int, *seats: RunningSeatInfo) -> RunningRaceInfo:
        return RunningRaceInfo(code=code, rules=rules, seats=seats, watchers=watchers, elapsed_ms=94_000, time_limit_s=600, delay_s=10)

    return (
        race("HKTRWM", "carpet", 12, seat("Émilie", 31), seat("Friðrik", 30)),
        race("PLMNBV", "crazy-quilt", 0, seat("Guðrún", 12), seat("Hannes Maximilian", 40), seat("Ingo", 8)),
    )


def lobby() -> Lobby:
    races = (
        OpenRaceInfo(code="ABCDEF", rules="carpet", names=("Benedikt",), seats=2, time_limit_s=600, rated=True, ratings=(1204,)),
        OpenRaceInfo(code="QWERTZ", rules="carpet-free", names=("Clara", "Dan"), seats=4, time_limit_s=300, ratings=(988, None)),
    )
    return Lobby(
        players=("Anna", "Benedikt", "Clara", "Dan"),
        players_here=4,
        races=races,
        races_open=2,
        races_running=7,
        ratings=(1138, 1204, 988, None),
        running=running(),
    )


def lobby_with_series() -> Lobby:
    first, *others = lobby().races
    return replace(lobby(), races=(replace(first, series=SeriesOptions(format="session", races=3)), *others))


def order() -> list[str]:
    """The shuffled deck without the Aces."""
    return [card_text(card) for card in shuffle(fresh_deck(1), SEED, b"deal") if card_text(card)[0] != "A"]


def first_view() -> View:
    return view_of(dict(zip(SLOTS, [(card,) for card in order()], strict=False)), stock=28)


def view_with(moves: str, **fields: object) -> View:
    """The first view with other legal moves, as in `a1 s`. fields: what else is different."""
    return replace(first_view(), moves=tuple(sorted(moves.split())), **fields)


def view_of(
    piles: dict[str, tuple[str, ...]], *, stock: int, waste: tuple[str, ...] = (), heights: str = "1111", pending: str | None = None
) -> View:
    """A view with the moves that the base game would allow. heights: the number of cards on S, H, D and C, as digits in base 36."""
    counts = {suit: int(height, 36) for suit, height in zip("SHDC", heights, strict=True)}
    ranks = "A23456789TJQK"
    fits = {ranks[count] + suit for suit, count in counts.items() if count < 13}
    moves = [slot for slot, pile in piles.items() if pile and pile[-1] in fits]
    if pending is not None:
        moves = ([f"w:{pending}"] if waste else []) + ([f"s:{pending}"] if stock else [])
    else:
        moves += ["w"] if waste and waste[-1] in fits else []
        moves += ["s"] if stock else []
    return View(
        piles=piles,
        waste=waste,
        stock=stock,
        stock_next=(),
        foundations=counts,
        pending=pending,
        redeals=0,
        home=sum(counts.values()),
        moves=tuple(sorted(moves)),
    )


def middle_view(*, pending: bool = False) -> View:
    """A table in the middle of a race."""
    cards = ["9D", "KS", "5H", "QC", "7C", "TD", "8H", "4D", "JS", "KH", "6C", "9S", "TH", "JD", "QS", "7D", "KC", "JH", "8S", "TC"]
    piles: dict[str, tuple[str, ...]] = {slot: (card,) for slot, card in zip(SLOTS, cards, strict=True)}
    if pending:
        piles["c1"] = ()
        return view_of(piles, stock=9, waste=("QD", "8C", "KD", "9C"), heights="6535", pending="c1")
    return view_of(piles, stock=10, waste=("QD", "8C", "KD", "9C"), heights="6435")


def seat(number: int, name: str | None, **fields: object) -> SeatInfo:
    values: dict[str, object] = {
        "seat": number,
        "name": name,
        "bot": None,
        "connected": name is not None,
        "ready": False,
        "again": False,
        "state": "waiting",
        "ply": 0,
        "home": 0,
        "foundations": {},
        "elapsed_ms": 0,
        "round_trip_ms": None,
    }
    return SeatInfo(**(values | fields))  # type: ignore[arg-type]


def refusal(code: ErrorCode, ref: int = 0, *, message: str | None = None) -> Error:
    """message: replaces the usual sentence."""
    kind = ERRORS[code]
    return Error(code=code, fault=kind.fault, message=kind.sentence if message is None else message, path="", ref=ref)


def room(places: int = 2, /, **fields: object) -> Room:
    infos = (seat(0, "Anna"), *(seat(number, None) for number in range(1, places)))
    values: dict[str, object] = {
        "version": 1,
        "code": CODE,
        "race": 1,
        "phase": "waiting",
        "options": RaceOptions(seats=places),
        "commitment": commitment(SECRET).hex(),
        "seats": infos,
        "seat": 0,
        "starts_in_ms": None,
        "elapsed_ms": 0,
        "view": None,
        "record": None,
        "chat": (),
    }
    return Room(**(values | fields))  # type: ignore[arg-type]


def reduced(model: Model, *events: Event, now_ms: int = 1000) -> Model:
    for event in events:
        model = reduce(model, event, now_ms)
    return model


def at_home() -> Model:
    return reduced(Model(), Connected("ws://localhost:4040", "carpet.v1.msgpack"), RoundTrip(23), welcome(), lobby())


def looking(rules: str | None = None) -> Model:
    """At home, looking for an opponent since -6,000 ms."""
    return reduced(at_home(), WaitingMatch(rules=rules, waited_ms=7_000, window=150, waiting=3))


def waiting(seats: int = 2) -> Model:
    return reduced(at_home(), room(seats))


def full_room() -> Model:
    events = (
        Seated(version=2, seat=1, name="Benedikt", bot=None),
        Said(version=3, line=ChatLine(seat=1, name="Benedikt", text="Hello! Best of three?")),
    )
    return reduced(waiting(), *events)


def counting() -> Model:
    model = reduced(full_room(), ReadySent(NONCES[0]), PlayerReady(version=4, seat=0), PlayerReady(version=5, seat=1))
    return reduced(model, Countdown(version=6, starts_in_ms=3000, round_trips_ms=(23, 41)))


def dealt() -> Model:
    """A race that is dealt, whose clock starts at 4,000 ms."""
    return reduced(counting(), Dealt(version=7, seat=0, starts_in_ms=20, view=first_view()), now_ms=3980)


COURSE = (
    ((0, 4), (6_200, 5), (9_000, 6), (14_800, 8), (20_100, 11), (24_400, 12), (27_000, 14), (31_500, 15), (36_000, 17), (40_000, 18)),
    ((0, 4), (4_100, 5), (8_700, 7), (11_000, 8), (15_300, 9), (22_000, 10), (28_800, 13), (33_100, 15), (37_000, 18), (40_500, 20)),
)
"""The course of a race, as if it had been heard."""


def with_course(model: Model) -> Model:
    assert model.room is not None
    return replace(model, room=replace(model.room, points=COURSE))


def racing(view: View | None = None, **progress: object) -> Model:
    """42 seconds into a race."""
    model = with_course(reduced(dealt(), Started(version=8), now_ms=4000))
    shown = view if view is not None else middle_view()
    other = {
        "version": 10,
        "seat": 1,
        "ply": 31,
        "home": 21,
        "foundations": {"S": 4, "H": 6, "D": 8, "C": 3},
        "state": "racing",
        "elapsed_ms": 41_000,
    }
    return reduced(
        model,
        PlayerView(version=9, seat=0, ply=27, move="b3", state="racing", elapsed_ms=40_000, view=shown),
        Progress(**(other | progress)),  # type: ignore[arg-type]
        now_ms=46_300,
    )


def crowd() -> Model:
    """Eight seats in a race."""
    names = ("Anna", "Benedikt", "Clara", "Dan", "Émilie", "Friðrik", "Guðrún", "Hannes Maximilian")
    counts = [{"S": 6, "H": 5, "D": 3, "C": 5}, {"S": 13, "H": 10, "D": 11, "C": 10}, {"S": 1, "H": 1, "D": 1, "C": 1}]
    seats = tuple(
        seat(
            number,
            name,
            state="stalled" if number == 3 else "racing",
            connected=number != 4,
            ready=True,
            ply=10 + number,
            home=sum(counts[number % 3].values()),
            foundations=counts[number % 3],
            bot="Steady" if number == 7 else None,
        )
        for number, name in enumerate(names)
    )
    return reduced(at_home(), room(8, phase="racing", seats=seats, view=middle_view(), elapsed_ms=42_300), now_ms=46_300)


def record() -> Record:
    """The record of a finished race of two whose deal checks out. The moves are invented and evenly spread."""
    moves: list[MoveRecord] = []
    homes = [4, 4]
    for step in range(1, 90):
        for number, every in ((0, 2), (1, 3)):
            home = step % every == 0
            homes[number] = min(homes[number] + home, 52)
            at_ms = step * 1500 + number * 40
            moves.append(
                MoveRecord(seat=number, move="b3" if home else "s", at_ms=at_ms, received_ms=at_ms + 15, credit_ms=15, home=homes[number])
            )
    deal = DealRecord(
        name=None, commitment=commitment(SECRET).hex(), secret=SECRET.hex(), nonces=NONCES, winnable=False, k=0, seed=SEED.hex()
    )
    seats = (
        SeatRecord(
            name="Anna",
            bot=None,
            round_trip_ms=20,
            state="stalled",
            place=1,
            home=homes[0],
            plies=89,
            home_at_ms=132_000,
            ended_at_ms=133_500,
        ),
        SeatRecord(
            name="Benedikt",
            bot=None,
            round_trip_ms=20,
            state="stopped",
            place=2,
            home=homes[1],
            plies=89,
            home_at_ms=130_540,
            ended_at_ms=140_000,
        ),
    )
    return sealed(
        Record(
            format=1,
            software="carpet-race 0.1",
            room=CODE,
            race=1,
            rules="carpet",
            started_at_ms=1_700_000_000_000,
            countdown_s=3,
            time_limit_s=600,
            grace_s=60,
            ended_at_ms=140_000,
            deal=deal,
            seats=seats,
            moves=tuple(moves),
        )
    )


def over() -> Model:
    return reduced(racing(), Result(version=11, record=record()), now_ms=144_000)


def standing(points: tuple[int, int], raced: int, **fields: object) -> SeriesInfo:
    """A series between Anna and Benedikt after `raced` races; best of 5 by default."""
    homes = fields.pop("homes", (48 * raced, 33 * raced))
    gone = fields.pop("gone", None)
    names = ("Anna", "Benedikt") if raced else ("", "")
    places = (2, 1) if points[1] > points[0] or gone == 0 else (1, 2)
    seats = tuple(
        SeriesSeat(name=names[number], points=points[number], home=homes[number], place=places[number], gone=gone == number, forfeits=0)  # type: ignore[index]
        for number in (0, 1)
    )
    values: dict[str, object] = {"format": "best-of", "races": 5, "raced": raced, "over": False, "seats": seats}
    return SeriesInfo(**(values | fields))  # type: ignore[arg-type]


def next_race(version: int, series: SeriesInfo, **fields: object) -> Room:
    """The snapshot that announces the next race of a series."""
    both = (seat(0, "Anna"), seat(1, "Benedikt"))
    options = RaceOptions(series=SeriesOptions(format=series.format, races=series.races))
    return room(version=version, **({"race": 2, "seats": both, "series": series, "options": options} | fields))


def between() -> Model:
    """After the first race of a best of 5, when the second one is open."""
    score = standing((1, 0), 1)
    return reduced(over(), Scored(version=12, series=score, record=None), next_race(13, score), now_ms=144_000)


RATINGS = (SeatRating(before=1138, after=1241), SeatRating(before=1204, after=1122))


def rated_over() -> Model:
    """A finished race that has changed ratings."""
    return reduced(over(), Ratings(version=12, seats=RATINGS), now_ms=144_100)
