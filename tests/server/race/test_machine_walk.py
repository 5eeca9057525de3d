"""The race under any sequence of commands: what is true at every step and at every end."""

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from protocol.cards import fresh_deck
from protocol.errors import Refusal
from server.race.audit import audit
from server.race.commands import (
    Command,
    GetReady,
    LeaveSeat,
    LoseConnection,
    MeasureConnection,
    PlayMove,
    RegainConnection,
    ResignSeat,
    StopSeat,
    TakeSeat,
)
from server.race.seat import Seat
from tests.server.race.racing import START, WINNABLE, Driven, greedy, nonce, options, replayed, state_of
from tests.server.race.watching import Watch
from tests.server.rules.changed import cards_of

numbers = st.integers(0, 3)
ENDS = ("won", "stalled", "stopped", "forfeited", "out-of-time")
PHASES = ("waiting", "countdown", "racing", "over")


class AnyRace(RuleBasedStateMachine):
    """Seats are numbered beyond the last one, too: the number is taken modulo the seats there are."""

    @initialize(
        seats=st.integers(1, 4),
        deal=st.sampled_from([None, WINNABLE]),
        limits=st.sampled_from([(3, 600, 60), (1, 10, 5), (10, 20, 5)]),
        everybody=st.booleans(),
    )
    def open(self, seats: int, deal: str | None, limits: tuple[int, int, int], everybody: bool) -> None:
        countdown_s, time_limit_s, grace_s = limits
        self.driven = Driven(options(seats, deal=deal, countdown_s=countdown_s, time_limit_s=time_limit_s, grace_s=grace_s))
        self.race = self.driven.race
        self.watch = Watch(self.driven)
        self.at = 0
        self.phase = "waiting"
        self.ended: dict[int, Seat] = {}
        self.given: list[tuple[Command, int]] = []
        if everybody:
            self.everybody_is_ready()

    def do(self, command: Command) -> None:
        self.watch.check(self.driven.advance(self.at), self.at)
        self.look()
        self.given.append((command, START + self.at))
        before = state_of(self.race)
        try:
            events = self.driven.do(command, self.at)
        except Refusal:
            assert state_of(self.race) == before
        else:
            self.watch.check(events, self.at)

    def number(self, number: int) -> int:
        return number % self.race.options.seats

    # ---- what can be done

    @rule(number=numbers, chosen=st.booleans())
    def sit_down(self, number: int, chosen: bool) -> None:
        self.do(TakeSeat(f"player-{number}", f"Player {number}", None, self.number(number) if chosen else None))

    @rule(number=numbers, round_trip_ms=st.sampled_from([0, 1, 90, 300, 4000]))
    def measure(self, number: int, round_trip_ms: int) -> None:
        self.do(MeasureConnection(self.number(number), round_trip_ms))

    @rule(number=numbers, other=st.integers(0, 9))
    def get_ready(self, number: int, other: int) -> None:
        self.do(GetReady(self.number(number), nonce(other)))

    @precondition(lambda self: self.race.phase == "waiting")
    @rule()
    def everybody_is_ready(self) -> None:
        for seat in range(self.race.options.seats):
            self.do(TakeSeat(f"player-{seat}", f"Player {seat}"))
        for seat in range(self.race.options.seats):
            self.do(GetReady(seat, nonce(seat)))

    @precondition(lambda self: self.race.phase == "racing")
    @rule(number=numbers, count=st.sampled_from([1, 5, 46, 47, 48, 200]), pause=st.sampled_from([0, 0, 1, 20]))
    def play_well(self, number: int, count: int, pause: int) -> None:
        seat = self.number(number)
        for _ in range(count):
            position = self.driven.position(seat)
            if position.is_over or self.race.phase == "over":
                break
            self.do(PlayMove(seat, self.driven.seat(seat).ply, greedy(position)))
            self.at += pause

    @precondition(lambda self: self.race.phase == "racing")
    @rule(number=numbers, choice=st.integers(0, 20))
    def play_anything_legal(self, number: int, choice: int) -> None:
        seat = self.number(number)
        moves = self.driven.position(seat).legal_moves() or ("s",)
        self.do(PlayMove(seat, self.driven.seat(seat).ply, moves[choice % len(moves)]))

    @rule(number=numbers, ply=st.integers(0, 60), move=st.sampled_from(["s", "w", "r", "a1", "w:b2", "s:e4", "", "nonsense"]))
    def play_nonsense(self, number: int, ply: int, move: str) -> None:
        self.do(PlayMove(self.number(number), ply, move))

    @precondition(lambda self: any(seat.played for seat in self.race.seats))
    @rule(number=numbers, choice=st.integers(0, 60))
    def repeat(self, number: int, choice: int) -> None:
        seat = self.driven.seat(self.number(number))
        if seat.played:
            self.pass_time(0)
            ply = choice % seat.ply
            before, heard = state_of(self.race), len(self.driven.events)
            self.do(PlayMove(seat.number, ply, seat.played[ply].move))
            assert (state_of(self.race), len(self.driven.events)) == (before, heard)

    @rule(number=numbers, end=st.sampled_from([StopSeat, ResignSeat, LeaveSeat]))
    def give_up(self, number: int, end: type[StopSeat | ResignSeat | LeaveSeat]) -> None:
        self.do(end(self.number(number)))

    @rule(number=numbers, change=st.sampled_from([LoseConnection, RegainConnection]))
    def change_line(self, number: int, change: type[LoseConnection | RegainConnection]) -> None:
        self.do(change(self.number(number)))

    @rule(passed=st.sampled_from([1, 30, 149, 150, 151, 1000, 5000]))
    def pass_time(self, passed: int) -> None:
        self.at += passed
        self.watch.check(self.driven.advance(self.at), self.at)

    @precondition(lambda self: self.race.next_deadline() is not None)
    @rule(off=st.sampled_from([-1, 0, 0, 1]))
    def pass_time_to_what_is_due(self, off: int) -> None:
        due = self.race.next_deadline()
        assert due is not None
        self.pass_time(max(due - START - self.at + off, 0))

    # ---- what is always so

    @invariant()
    def look(self) -> None:
        assert PHASES.index(self.race.phase) >= PHASES.index(self.phase)
        self.phase = self.race.phase
        due = self.race.next_deadline()
        assert due is None or self.race.phase != "over"
        assert (self.race.record is not None) == (self.race.phase == "over")

    @invariant()
    def every_deck_is_whole_and_every_deal_the_same(self) -> None:
        firsts = self.race.deal.firsts
        assert len(set(map(id, firsts))) <= 1
        for seat, first in zip(self.race.seats, firsts, strict=bool(firsts)):
            assert seat.position is not None
            assert cards_of(seat.position) == sorted(fresh_deck())
            position = first
            for played in seat.played:
                position = position.play(played.move)
                assert played.home == position.home
            assert position == seat.position

    @invariant()
    def whoever_has_ended_stays_as_they_are_unless_the_close_strikes_it_out(self) -> None:
        for seat in self.race.seats:
            then = self.ended.get(seat.number)
            if then is not None and self.race.phase != "over":
                now = (seat.state, seat.played, seat.ended_at, seat.position)
                assert now == (then.state, then.played, then.ended_at, then.position)
            if seat.state in ENDS:
                assert seat.away_until is None
                self.ended[seat.number] = replace(seat, played=list(seat.played))

    def teardown(self) -> None:
        # Hypothesis calls this too when `open` has failed.
        if not hasattr(self, "race"):
            return
        steps = 0
        while (due := self.race.next_deadline()) is not None:
            self.at = max(due - START, self.at)
            self.watch.check(self.driven.advance(self.at), self.at)
            steps += 1
            assert steps <= 3 * self.race.options.seats + 2
        if self.race.phase == "waiting":
            return
        assert self.race.phase == "over"
        audit(self.driven.record)
        assert 1 in [seat.place for seat in self.driven.record.seats]
        for log in (self.given, self.driven.log):
            again = replayed(self.race.options, log)
            again.advance(START + self.at)
            assert again.record == self.driven.record


TestAnyRace = AnyRace.TestCase
TestAnyRace.settings = settings(stateful_step_count=30)
