"""The delay of boards: never early, nothing lost, and a spectator who comes later sees what the others see."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from hypothesis import example, given
from hypothesis import strategies as st

from protocol.errors import Refusal
from protocol.views import SeatState, SeriesOptions
from server.race.board_history import history_of
from server.race.commands import LeaveSeat, LoseConnection, PlayMove, RegainConnection, ResignSeat, StopSeat
from server.race.events import MovePlayed, RaceEvent, SeatDealt, SeatEnded
from server.race.face_down import seen_by_player
from server.rules.position import Position
from server.spectate.delay import DelayedBoards, DueBoard
from tests.server.race.racing import STALLING, START, WINNABLE, Driven, counting_down, greedy_line, options, started

ALL = 10_000
DELAY = 10_000


@dataclass(frozen=True)
class Truth:
    """What became of one seat's board, and when."""

    at: int
    ply: int
    state: SeatState
    position: Position


class Watched:
    """A race, its delayed boards as somebody sees them who has been there from the start, and the truth about all of its boards."""

    def __init__(self, driven: Driven, delay_ms: int) -> None:
        self.driven = driven
        self.delay_ms = delay_ms
        self.boards = DelayedBoards(delay_ms, seats=3)
        self.truth: dict[int, list[Truth]] = {}
        self.shown: dict[int, list[DueBoard]] = {}
        self._told = 0
        self.at = -20_000

    def look(self, at: int) -> None:
        """Hand over what has happened, and see what comes out at this moment."""
        self.driven.advance(at)
        now = START + at
        for event in self.driven.events[self._told :]:
            self.boards.note(event, now)
            self._remember(event, now)
        self._told = len(self.driven.events)
        for board in self.boards.due(now, most=ALL):
            self.shown.setdefault(board.seat, []).append(board)
        self.at = at
        self._check(now)

    def _remember(self, event: RaceEvent, now: int) -> None:
        match event:
            case SeatDealt(seat=seat, starts_at=starts_at, position=position):
                self.truth[seat] = [Truth(starts_at, 0, "racing", position)]
            case MovePlayed(seat=seat, ply=ply, state=state, position=position):
                self.truth[seat].append(Truth(now, ply, state, position))
            case SeatEnded(seat=seat, ply=ply, state=state, at_ms=at_ms, position=position) if seat in self.truth:
                # Before the start the event does not say which position it is.
                position = position if position is not None else self.truth[seat][0].position
                self.truth[seat] = [truth for truth in self.truth[seat] if truth.ply <= ply]
                self.truth[seat].append(Truth(START + at_ms, ply, state, position))
            case _:
                pass

    def _check(self, now: int) -> None:
        over = self.driven.phase() == "over"
        for seat, truths in self.truth.items():
            boards = self.shown.get(seat, [])
            if over:
                last = boards[-1]
                assert (last.ply, last.state, last.position) == (truths[-1].ply, truths[-1].state, truths[-1].position)
                continue
            due = [truth for truth in truths if truth.at + self.delay_ms <= now]
            assert [(board.ply, board.state, board.position) for board in boards] == [(t.ply, t.state, t.position) for t in due]
            played = self.driven.seat(seat).played
            assert [board.elapsed_ms for board in boards] == [played[b.ply - 1].at_ms if b.ply else 0 for b in boards]
        late_comer = DelayedBoards(self.delay_ms, seats=3, history=history_of(self.driven.race))
        late_comer.due(now, most=ALL)
        assert late_comer.latest() == self.boards.latest()
        assert late_comer.next_due == self.boards.next_due


ACTIONS = st.tuples(
    st.integers(0, 4_000),
    st.integers(0, 2),
    st.sampled_from(["move"] * 12 + ["stop", "resign", "lose", "regain", "leave", "look"]),
    st.integers(0, 30),
)


@given(
    delay_s=st.sampled_from([0, 1, 3, 10, 600]),
    deal=st.sampled_from([WINNABLE, STALLING]),
    round_trips=st.lists(st.sampled_from([0, 80, 300]), min_size=3, max_size=3),
    actions=st.lists(ACTIONS, max_size=40),
)
# The last move comes after the close and counts before it.
@example(delay_s=0, deal=WINNABLE, round_trips=[80, 0, 0], actions=[(0, 2, "resign", 0), (201, 1, "resign", 0), (1, 0, "move", 0)])
def test_no_board_is_early_all_come_and_who_comes_in_the_middle_sees_the_same(
    delay_s: int, deal: str, round_trips: list[int], actions: list[tuple[int, int, str, int]]
) -> None:
    driven = counting_down(options(seats=3, deal=deal, grace_s=5, time_limit_s=60), round_trips=round_trips)
    watched = Watched(driven, delay_s * 1000)
    at = -200
    watched.look(at)
    for pause, seat, what, which in actions:
        at += pause
        watched.look(at)
        try:
            match what:
                case "move" if driven.phase() == "racing":
                    moves = driven.position(seat).legal_moves()
                    driven.do(PlayMove(seat, driven.seat(seat).ply, moves[which % len(moves)] if moves else "s"), at)
                case "stop":
                    driven.do(StopSeat(seat), at)
                case "resign":
                    driven.do(ResignSeat(seat), at)
                case "lose":
                    driven.do(LoseConnection(seat), at)
                case "regain":
                    driven.do(RegainConnection(seat), at)
                case "leave":
                    driven.do(LeaveSeat(seat), at)
                case _:
                    pass
        except Refusal:
            pass
        watched.look(at)
    watched.look(at + 59_000)
    watched.look(at + 120_000)
    assert driven.phase() == "over"


def follow(boards: DelayedBoards, driven: Driven, at: int, *, told: int = 0) -> int:
    for event in driven.events[told:]:
        boards.note(event, START + at)
    return len(driven.events)


def test_a_board_is_due_to_the_millisecond() -> None:
    driven = started()
    boards = DelayedBoards(DELAY, seats=2)
    told = follow(boards, driven, 0)
    driven.play(0, greedy_line(WINNABLE)[:1], 700)
    follow(boards, driven, 700, told=told)
    assert boards.due(START + DELAY - 1, most=ALL) == ()
    assert [board.seat for board in boards.due(START + DELAY, most=ALL)] == [0, 1]
    assert boards.next_due == START + 700 + DELAY
    assert boards.due(START + 699 + DELAY, most=ALL) == ()
    (board,) = boards.due(START + 700 + DELAY, most=ALL)
    assert (board.seat, board.ply, board.elapsed_ms, board.position) == (0, 1, 700, driven.position(0))
    assert boards.next_due is None


def test_boards_come_in_portions_and_none_is_left_out() -> None:
    driven = started()
    driven.play(0, greedy_line(WINNABLE)[:20], 700)
    boards = DelayedBoards(0, seats=2, history=history_of(driven.race))
    portions = []
    while portion := boards.due(START + 700, most=4):
        portions.append([(board.seat, board.ply) for board in portion])
    assert [len(portion) for portion in portions] == [4, 4, 4, 4, 4, 2]
    assert sorted(chain.from_iterable(portions)) == sorted([(0, ply) for ply in range(21)] + [(1, 0)])


def test_the_end_of_the_race_ends_the_delay() -> None:
    driven = started()
    boards = DelayedBoards(600_000, seats=2)
    told = follow(boards, driven, 0)
    driven.play(0, greedy_line(WINNABLE), 30_000)
    driven.finish()
    follow(boards, driven, 30_000, told=told)
    assert driven.states() == ["won", "stopped"]
    boards.due(START + 30_200, most=ALL)
    assert [(board.seat, board.state, board.position) for board in boards.latest()] == [
        (0, "won", driven.position(0)),
        (1, "stopped", driven.position(1)),
    ]


def test_a_move_that_is_struck_out_is_on_no_board_in_the_end() -> None:
    # What counts after the win is struck out, although it came before it: the winner's line is the longer one.
    driven = started(options(delay_s=0), round_trips=[300, 0])
    boards = DelayedBoards(0, seats=2)
    told = follow(boards, driven, 0)
    line = greedy_line(WINNABLE)
    driven.play(0, line[:-1], 5_000)
    driven.play(1, line[:3], 9_900)
    told = follow(boards, driven, 9_900, told=told)
    boards.due(START + 9_900, most=ALL)
    assert boards.latest()[1].ply == 3
    driven.play(0, line[-1:], 10_000)
    driven.finish()
    follow(boards, driven, 10_000, told=told)
    boards.due(START + 10_200, most=ALL)
    assert (boards.latest()[1].ply, boards.latest()[1].position) == (0, driven.position(1))


def test_a_move_that_is_struck_out_before_its_board_is_due_is_on_no_board_at_all() -> None:
    driven = started(options(delay_s=10), round_trips=[300, 0])
    boards = DelayedBoards(DELAY, seats=2)
    line = greedy_line(WINNABLE)
    driven.play(0, line[:-1], 5_000)
    driven.play(1, line[:3], 9_900)
    driven.play(0, line[-1:], 10_000)
    driven.finish()
    follow(boards, driven, 10_000)
    assert {board.ply for board in boards.due(START + 10_200, most=ALL) if board.seat == 1} == {0}


def test_whoever_has_stopped_keeps_no_card_of_others_face_down() -> None:
    driven = started()
    boards = DelayedBoards(0, seats=2)
    driven.play(0, "ss", 700)
    told = follow(boards, driven, 700)
    before = boards.seen(0)
    driven.do(StopSeat(1), 800)
    follow(boards, driven, 800, told=told)
    assert before < boards.seen(0) == seen_by_player(driven.position(0))


def test_in_a_swap_whoever_plays_the_other_shuffle_keeps_no_card_face_down() -> None:
    driven = started(options(deal=None, series=SeriesOptions(format="swap", races=2)))
    driven.play(0, "ss", 700)
    boards = DelayedBoards(0, seats=2, history=history_of(driven.race))
    assert boards.seen(1) < boards.seen(0) == seen_by_player(driven.position(0))


def test_boards_from_before_a_telling_move_are_kept_only_until_they_are_passed() -> None:
    driven = started(options(delay_s=0))
    boards = DelayedBoards(0, seats=2)
    line = greedy_line(WINNABLE)[:-1]
    told, kept = 0, []
    for at, (seat, move) in enumerate([(seat, move) for seat in (0, 1) for move in line], 1):
        driven.play(seat, [move], at * 100)
        told = follow(boards, driven, at * 100, told=told)
        boards.due(START + at * 100, most=ALL)
        before, seen = boards._before_telling[0], boards.seen(0)
        assert all(each.turns.told > seen for each in before[1:]), "of those that may be shown, one at most"
        kept.append(len(before))
    assert max(kept) > 5
    assert boards._before_telling == {0: [], 1: []}


def test_before_the_countdown_there_is_no_history() -> None:
    driven = Driven()
    assert history_of(driven.race) is None
