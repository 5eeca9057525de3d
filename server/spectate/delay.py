"""The delay of boards: events go in as they happen, and the boards that spectators may see come out when they are due. Pure.

A board is due `delay_s` after the server received the move that led to it; the first board, `delay_s` after the start. When the race is
over everything is due, since the record shows it all. Until then, whatever the delay, a card that a seat still racing has not seen lies
face down, and a board that tells which one it is in another way waits until they have all seen it (`race.face_down`).

Moves are held back, not positions: even the longest delay costs no more than a list of moves, and each seat's board is a single position
that follows them. So a race that nobody has watched yet can be joined in the middle, from its moves so far (`race.board_history`), with the
same result as if it had been followed from the start. Races of an earlier server are joined in the same way.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from protocol.views import LateBoard, SeatState
from server.race.board_history import BoardChange, RaceHistory, SeatNow
from server.race.events import MovePlayed, RaceEnded, RaceEvent, SeatDealt, SeatEnded
from server.race.face_down import EVERYTHING_SEEN, CardTurns, Turn, first_turns, see_face_down, seen_by_player, turns_after
from server.rules.position import Position


@dataclass(frozen=True, slots=True)
class DueBoard:
    """A seat's board that is due. ply, state: as they were at the time. elapsed_ms: when its last move counted, from the start."""

    seat: int
    ply: int
    elapsed_ms: int
    state: SeatState
    position: Position
    turns: CardTurns

    def shown(self, seen: Turn) -> LateBoard:
        """The board as spectators may see it. seen: how far all seats still racing on its deal have seen the stock."""
        view = see_face_down(self.position, self.turns, seen)
        return LateBoard(seat=self.seat, ply=self.ply, elapsed_ms=self.elapsed_ms, state=self.state, view=view)


class DelayedBoards:
    """The boards of one race, `delay_ms` late. Times are milliseconds on the race's clock and never go back."""

    def __init__(self, delay_ms: int, *, seats: int, history: RaceHistory | None = None) -> None:
        """history: what has happened so far, if anything has."""
        history = history or RaceHistory((SeatNow(),) * seats, starts_at=0, changes=(), over=False)
        self._delay_ms = delay_ms
        self._seats = list(history.seats)
        self._starts_at, self._over = history.starts_at, history.over
        self._changes = deque(history.changes)
        self._boards: dict[int, DueBoard] = {}
        # Of each seat, the boards before a move that tells of a card turned later than those before it did, as far as they may be needed.
        self._before_telling: dict[int, list[DueBoard]] = {}
        self._followed: dict[int, list[str]] = {}
        self._shown: dict[tuple[int, bool], tuple[DueBoard, Turn, LateBoard]] = {}

    def note(self, event: RaceEvent, at: int) -> None:
        """Take in an event that happened at the moment `at`."""
        match event:
            case SeatDealt(seat=seat, starts_at=starts_at, position=position):
                self._seats[seat], self._starts_at = SeatNow(position, seen_by_player(position)), starts_at
                self._changes.append(BoardChange(starts_at, seat, 0, "racing", elapsed_ms=0))
            case MovePlayed(seat=seat, move=move, ply=ply, at_ms=at_ms, state=state, position=position):
                self._seats[seat] = replace(self._seats[seat], seen=seen_by_player(position), racing=state == "racing")
                self._changes.append(BoardChange(at, seat, ply, state, move=move, elapsed_ms=at_ms))
            case SeatEnded(seat=seat, ply=ply, state=state, at_ms=at_ms):
                self._seats[seat] = replace(self._seats[seat], racing=False)
                if self._seats[seat].first is not None:
                    # When a race is settled, moves may be struck out.
                    self._changes = deque(change for change in self._changes if change.seat != seat or change.ply <= ply)
                    self._changes.append(BoardChange(self._starts_at + at_ms, seat, ply, state))
            case RaceEnded():
                self._over = True
            case _:
                pass

    @property
    def next_due(self) -> int | None:
        """When the next board is due, or None if none waits."""
        if not self._changes:
            return None
        return self._changes[0].at if self._over else self._changes[0].at + self._delay_ms

    def due(self, now: int, *, most: int) -> tuple[DueBoard, ...]:
        """The boards that have come due by `now` and were not returned before, in order; at most `most`."""
        boards: list[DueBoard] = []
        while len(boards) < most and (due := self.next_due) is not None and (due <= now or self._over):
            boards.append(self._follow(self._changes.popleft()))
        self._forget_passed()
        return tuple(boards)

    def latest(self) -> tuple[DueBoard, ...]:
        """The last board of each seat that has come due, in seat order."""
        return tuple(self._boards[seat] for seat in sorted(self._boards))

    def seen(self, seat: int) -> Turn:
        """How far all seats still racing on this seat's deal have seen the stock by now."""
        if self._over:
            return EVERYTHING_SEEN
        first = self._seats[seat].first
        racing = (each.seen for each in self._seats if each.racing and (each.first is None or each.first == first))
        return min(racing, default=EVERYTHING_SEEN)

    def shown(self, *, whole: bool = False) -> tuple[LateBoard, ...]:
        """The last board of each seat that spectators may see, as they may see it now. whole: the last one, with every card face up."""
        boards: list[LateBoard] = []
        for latest in self.latest():
            seen = EVERYTHING_SEEN if whole else self.seen(latest.seat)
            board = next(each for each in (latest, *reversed(self._before_telling[latest.seat])) if each.turns.told <= seen)
            kept = self._shown.get((board.seat, whole))
            if kept is None or kept[0] is not board or kept[1] != seen:
                kept = self._shown[board.seat, whole] = board, seen, board.shown(seen)
            boards.append(kept[2])
        return tuple(boards)

    def _forget_passed(self) -> None:
        # What has been seen only grows, so no board before the one that may be shown now is ever shown again.
        for seat, boards in self._before_telling.items():
            if not boards:
                continue
            seen = self.seen(seat)
            if self._boards[seat].turns.told <= seen:
                boards.clear()
            while len(boards) > 1 and boards[1].turns.told <= seen:
                del boards[0]

    def _follow(self, change: BoardChange) -> DueBoard:
        seat = change.seat
        board = before = self._boards.get(seat)
        if board is None or change.ply < board.ply:
            board = self._from_the_first(seat, self._followed.get(seat, [])[: change.ply])
        position, turns = board.position, board.turns
        if change.move is not None:
            self._followed[seat].append(change.move)
            position = position.play_unchecked(change.move)
            turns = turns_after(turns, board.position, change.move, position)
        if turns.told > board.turns.told:
            self._before_telling[seat].append(board)
        elapsed_ms = change.elapsed_ms if change.elapsed_ms is not None else before.elapsed_ms if before is not None else 0
        self._boards[seat] = DueBoard(seat, change.ply, elapsed_ms, change.state, position, turns)
        return self._boards[seat]

    def _from_the_first(self, seat: int, moves: list[str]) -> DueBoard:
        position = self._seats[seat].first
        assert position is not None
        turns = first_turns(position)
        for move in moves:
            before, position = position, position.play_unchecked(move)
            turns = turns_after(turns, before, move, position)
        self._followed[seat] = moves
        # Those of moves that are struck out tell no less than the last board then does, so they are never shown instead of it.
        self._before_telling.setdefault(seat, [])
        return DueBoard(seat, len(moves), 0, "racing", position, turns)
