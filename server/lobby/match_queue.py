"""The queue of players who look for an opponent: who is paired with whom, and when. Pure: the time is passed in.

Two players fit if they accept the same rule set and their ratings differ by no more than either's window, which widens as they wait, and if
neither has just kept the other waiting for nothing. No two who wait fit each other, and there are seldom many of them: at one rule set,
everybody within a hundred points of somebody else is paired at once. Whoever keeps others waiting for nothing again and again may not wait
for a while.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

FIRST_WINDOW = 100
"""How many points an opponent's rating may differ at first."""
WIDENED_BY = 50
"""Points added after every STEP_MS of waiting."""
STEP_MS = 5_000
ANYBODY_MS = 60_000
"""After waiting so long, any opponent is better than none."""

APART_MS = 60_000
"""For so long two are not paired again after one did not turn up for the other."""
MOST_APART = 1_000
"""Most pairs who are kept apart, so that a look at all of them takes no time. The oldest are forgotten first."""

FREE_OF_PLAYER = 1
FREE_OF_PLACE = 3
"""So often a player, or all those of one address together, may not turn up before they have to wait: it happens to anybody."""
FIRST_PAUSE_MS = 30_000
LONGEST_PAUSE_MS = 300_000
"""Each pause is twice as long as the last one, up to this."""
FORGIVEN_MS = 600_000
"""Every so often, one time is forgotten. Longer than any pause."""
MOST_NO_SHOWS = 4096
"""Players and addresses remembered. The one whose last time is longest ago makes way for a new one."""

MOST_WAITING = 300
"""Most players in the queue, so that a look at it takes a few milliseconds. When full, newcomers are refused."""


@dataclass(frozen=True, slots=True)
class QueuedPlayer:
    """A player who waits. rating: in points; None if they have none and fit anybody. rules: the id that they want; None for any.

    place: the address that counts for them; None for none.
    """

    player: str
    rating: int | None
    rules: str | None
    since_ms: int
    place: str | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two players who are to race. first: the one who has waited longer. rules: None if both take any."""

    first: QueuedPlayer
    second: QueuedPlayer

    @property
    def rules(self) -> str | None:
        return self.first.rules or self.second.rules


class QueueFull(Exception):
    """No more players may wait."""


def window(waited_ms: int) -> int | None:
    """How many points an opponent's rating may differ after waiting so long; None for any number."""
    if waited_ms >= ANYBODY_MS:
        return None
    return FIRST_WINDOW + WIDENED_BY * (max(waited_ms, 0) // STEP_MS)


def fit(one: QueuedPlayer, other: QueuedPlayer, now_ms: int) -> bool:
    """Whether these two may race each other now. Nobody fits themselves."""
    if one.player == other.player or (one.rules is not None and other.rules is not None and one.rules != other.rules):
        return False
    apart = _apart(one, other)
    return all(width is None or apart <= width for width in (window(now_ms - ticket.since_ms) for ticket in (one, other)))


class MatchQueue:
    """At most one ticket per player, in the order in which they began to wait."""

    def __init__(self) -> None:
        self._tickets: dict[str, QueuedPlayer] = {}
        self._apart: dict[frozenset[str], int] = {}
        """Until when two are not to be paired. Those for whom that is over first come first."""

    def __len__(self) -> int:
        return len(self._tickets)

    def __iter__(self) -> Iterator[QueuedPlayer]:
        return iter(tuple(self._tickets.values()))

    def ticket(self, player: str) -> QueuedPlayer | None:
        return self._tickets.get(player)

    def join(self, ticket: QueuedPlayer) -> QueuedPlayer:
        """Let a player wait; or, if they do already, wait for something else without losing the time waited. Raises QueueFull."""
        waits = self._tickets.get(ticket.player)
        if waits is not None:
            ticket = replace(ticket, since_ms=min(waits.since_ms, ticket.since_ms))
        elif len(self._tickets) >= MOST_WAITING:
            raise QueueFull
        self._tickets[ticket.player] = ticket
        # Whoever has been put back comes before those who came meanwhile.
        self._tickets = dict(sorted(self._tickets.items(), key=lambda item: item[1].since_ms))
        return ticket

    def keep_apart(self, player: str, others: Iterable[str], now_ms: int) -> None:
        """Do not pair this player again soon with these others, who have kept them waiting for nothing."""
        pairs = [frozenset((player, other)) for other in others]
        apart = [(pair, until_ms) for pair, until_ms in self._apart.items() if now_ms < until_ms and pair not in pairs]
        self._apart = dict([*apart, *((pair, now_ms + APART_MS) for pair in pairs)][-MOST_APART:])

    def _fit(self, one: QueuedPlayer, other: QueuedPlayer, now_ms: int) -> bool:
        is_apart = bool(self._apart) and now_ms < self._apart.get(frozenset((one.player, other.player)), now_ms)
        return not is_apart and fit(one, other, now_ms)

    def leave(self, player: str) -> bool:
        """False if the player was not waiting."""
        return self._tickets.pop(player, None) is not None

    def take_opponent_for(self, player: str, now_ms: int) -> Pair | None:
        """Pair a waiting player with the one who has waited longest of those who fit, if any, and take both out."""
        ticket = self._tickets[player]
        return next((self._taken(other, ticket) for other in self._tickets.values() if self._fit(other, ticket, now_ms)), None)

    def take_pairs(self, now_ms: int) -> list[Pair]:
        """Pair all who now fit each other, and take them out. Those who have waited longest go first, and get the nearest rating."""
        pairs: list[Pair] = []
        left = _ByRating(self._tickets.values(), self._fit)
        for ticket in self:
            if ticket.player not in self._tickets:
                continue
            left.remove(ticket)
            other = left.nearest(ticket, now_ms)
            if other is not None:
                left.remove(other)
                pairs.append(self._taken(ticket, other))
        return pairs

    def next_change_ms(self, now_ms: int) -> int | None:
        """The next moment at which a window widens, or two are no longer kept apart; None if there is none."""
        meeting = [until_ms for pair, until_ms in self._apart.items() if now_ms < until_ms and pair <= self._tickets.keys()]
        widening = [ticket.since_ms for ticket in self._tickets.values() if now_ms - ticket.since_ms < ANYBODY_MS]
        return min((*meeting, *(since_ms + ((now_ms - since_ms) // STEP_MS + 1) * STEP_MS for since_ms in widening)), default=None)

    def _taken(self, one: QueuedPlayer, other: QueuedPlayer) -> Pair:
        del self._tickets[one.player], self._tickets[other.player]
        return Pair(*sorted((one, other), key=lambda ticket: ticket.since_ms))


class NoShows:
    """How often players, and those of one address, have not turned up for an opponent. who: a player or an address, never alike."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, int]] = {}
        """How often, and when last; the longest ago first."""

    def note(self, who: str, now_ms: int) -> None:
        times = self._times(who, now_ms) + 1
        self._last.pop(who, None)
        self._last[who] = times, now_ms
        if len(self._last) > MOST_NO_SHOWS:
            del self._last[next(iter(self._last))]

    def pause_ms(self, who: str, now_ms: int, *, free: int) -> int:
        """For how much longer they may look for nobody. free: so many times have no consequence."""
        too_often = self._times(who, now_ms) - free
        if too_often <= 0:
            return 0
        # The exponent is bounded, because times are not.
        pause_ms = min(FIRST_PAUSE_MS << min(too_often - 1, 10), LONGEST_PAUSE_MS)
        return max(self._last[who][1] + pause_ms - now_ms, 0)

    def _times(self, who: str, now_ms: int) -> int:
        times, last_ms = self._last.get(who, (0, now_ms))
        return max(times - (now_ms - last_ms) // FORGIVEN_MS, 0)


class _ByRating:
    """Tickets sorted by rating, because comparing every two of a full queue takes a quarter of a second."""

    def __init__(self, tickets: Iterable[QueuedPlayer], fits: Callable[[QueuedPlayer, QueuedPlayer, int], bool]) -> None:
        """tickets: those who have waited longest first. fits: as `fit`."""
        self._fits = fits
        self._tickets = {ticket.player: (place, ticket) for place, ticket in enumerate(tickets)}
        # Places are unique, so tickets are never compared.
        self._entries = sorted((*_key(ticket), place, ticket) for place, ticket in self._tickets.values())

    def remove(self, ticket: QueuedPlayer) -> None:
        place, _ = self._tickets.pop(ticket.player)
        del self._entries[bisect_left(self._entries, (*_key(ticket), place))]

    def nearest(self, one: QueuedPlayer, now_ms: int) -> QueuedPlayer | None:
        """The one with the nearest rating of those who fit; of several as near, the one who has waited longest. None if nobody fits."""
        if one.rating is None:
            # Everybody is equally near.
            return next((other for _, other in self._tickets.values() if self._fits(one, other, now_ms)), None)
        at = bisect_left(self._entries, _key(one))
        rated_from = bisect_left(self._entries, _RATED)
        widest = window(now_ms - one.since_ms)
        best: tuple[int, int, QueuedPlayer] | None = None
        for way in (range(rated_from), range(at, len(self._entries)), range(at - 1, rated_from - 1, -1)):
            for index in way:
                _, _, place, other = self._entries[index]
                apart = _apart(one, other)
                if (widest is not None and apart > widest) or (best is not None and apart > best[0]):
                    break
                if (best is None or (apart, place) < best[:2]) and self._fits(one, other, now_ms):
                    best = (apart, place, other)
                    if way.step > 0:
                        # Those after this one are further away or have waited less. On the way down, equal ratings come newest first.
                        break
        return best[2] if best is not None else None


_RATED: Final = (True,)
"""Sorts before the keys of players with a rating and after those of players without one."""


def _key(ticket: QueuedPlayer) -> tuple[bool, int]:
    return ticket.rating is not None, ticket.rating or 0


def _apart(one: QueuedPlayer, other: QueuedPlayer) -> int:
    return 0 if one.rating is None or other.rating is None else abs(one.rating - other.rating)
