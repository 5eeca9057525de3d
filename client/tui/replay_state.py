"""The state of a replay on the screen: which two seats are shown, where the head is, and what each key does. One frozen value on the ui.

Pure. The time line and the arithmetic of the head are in `client.replay.timeline`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations

from msgspec import Struct, field
from msgspec.structs import replace

from client.replay.timeline import Head, Parting, SeatLine, TimeLine, at_moment, moved_on, paced, parting, stepped, toggled
from client.tui.keymap import Command


class ReplayState(Struct, frozen=True):
    """pairs: the seats that can be shown side by side. pair: the index of those that are. own: the viewer's seat, if any.

    A race with one seat has one pair, of that seat alone. partings: for each pair; None if the two games are the same, and in a swap, where
    the games have different shuffles.
    """

    line: TimeLine
    pairs: tuple[tuple[int, ...], ...]
    partings: tuple[Parting | None, ...]
    own: int | None = None
    pair: int = 0
    head: Head = field(default_factory=Head)

    @property
    def shown(self) -> tuple[SeatLine, ...]:
        """The lines of play on the screen, from the left."""
        return tuple(self.line.lines[number] for number in self.pairs[self.pair])

    @property
    def parting(self) -> Parting | None:
        """Where the lines on the screen part."""
        return self.partings[self.pair]

    @property
    def is_running(self) -> bool:
        return self.head.running_since is not None

    def at(self, now_ms: int) -> Head:
        """The head at this moment."""
        return moved_on(self.head, self.line, now_ms)


def replay_state_of(line: TimeLine, *, own: int | None = None) -> ReplayState:
    """A paused replay at its start. The first pair are the best placed; of two seats, they are as they sat.

    own: the viewer's seat; the first pairs show it on the left against each other seat in turn.
    """
    places = [seat.place if len(line.lines) > 2 else 0 for seat in line.record.seats]
    numbers = sorted(range(len(line.lines)), key=lambda number: (number != own, places[number]))
    pairs = tuple(combinations(numbers, 2)) or ((0,),)
    partings = tuple(None if line.record.swaps else parting([line.lines[number] for number in pair]) for pair in pairs)
    return ReplayState(line, pairs, partings, own)


def opened_at(line: TimeLine, own: int | None, at_ms: int | None, now_ms: int) -> ReplayState:
    """A replay that opens at its start, or at a moment."""
    replay = replay_state_of(line, own=own)
    return replay if at_ms is None else jumped(replay, at_ms, now_ms)


def jumped(replay: ReplayState, t_ms: int, now_ms: int) -> ReplayState:
    """The replay with its head at a moment."""
    return replace(replay, head=at_moment(replay.head, replay.line, now_ms, t_ms))


def jumped_to_tenth(replay: ReplayState, tenths: int, now_ms: int) -> ReplayState:
    """The replay with its head at this many tenths of the race."""
    return jumped(replay, replay.line.end_ms * tenths // 10, now_ms)


def replay_after(replay: ReplayState, action: Command, now_ms: int) -> ReplayState:
    """The replay after a command; most commands do not concern it."""
    left, right = replay.pairs[replay.pair][0], replay.pairs[replay.pair][-1]
    keys: dict[Command, Callable[[Head, TimeLine, int], Head]] = {
        Command.PAUSE: toggled,
        Command.LEFT: partial(stepped, by=-1),
        Command.RIGHT: partial(stepped, by=1),
        Command.LEFT_BACK: partial(stepped, by=-1, seat=left),
        Command.LEFT_ON: partial(stepped, by=1, seat=left),
        Command.RIGHT_BACK: partial(stepped, by=-1, seat=right),
        Command.RIGHT_ON: partial(stepped, by=1, seat=right),
        Command.UP: partial(paced, by=1),
        Command.FASTER: partial(paced, by=1),
        Command.DOWN: partial(paced, by=-1),
        Command.SLOWER: partial(paced, by=-1),
        Command.FIRST: partial(at_moment, t_ms=0),
        Command.LAST: partial(at_moment, t_ms=replay.line.end_ms),
    }
    if action in keys:
        return replace(replay, head=keys[action](replay.head, replay.line, now_ms))
    if action is Command.PARTING and replay.parting is not None:
        return jumped(replay, replay.parting.at_ms, now_ms)
    if action in (Command.PAIR, Command.PAIR_BACK):
        return replace(replay, pair=(replay.pair + (1 if action is Command.PAIR else -1)) % len(replay.pairs))
    return replay
