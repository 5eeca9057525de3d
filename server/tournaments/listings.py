"""The list of public tournaments: those that run here, and the latest of those that are over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from protocol.tournaments import LISTED_TOURNAMENTS, TournamentListing
from server.tournaments.director import Director
from server.tournaments.state import TournamentState
from server.tournaments.views import listing


class Listings:
    """running: the directors of those with a task, by id; some of them may be over."""

    def __init__(self, running: Mapping[str, Director]) -> None:
        self._running = running
        self._old: tuple[TournamentListing, ...] = ()
        self._made: dict[str, tuple[TournamentState, TournamentListing]] = {}  # of those that run, as last told

    def told(self) -> tuple[TournamentListing, ...]:
        """The unfinished ones, then the latest of the others.

        Of the unfinished ones, each director's latest comes before anybody's second.
        """
        public = [director.state for director in self._running.values() if director.state.options.public]
        public.sort(key=lambda state: (-state.made_at_ms, state.id))
        seen: Counter[str] = Counter()
        ranked: list[tuple[int, TournamentListing]] = []
        for state in public:
            seen[state.director] += not state.is_closed
            ranked.append((0 if state.is_closed else seen[state.director], self._listing(state)))
        ranked += [(0, old) for old in self._old if old.id not in self._running]
        ranked.sort(key=lambda each: (each[0] == 0, each[0], -each[1].made_at_ms, each[1].id))
        return tuple(told for _, told in ranked[:LISTED_TOURNAMENTS])

    def _listing(self, state: TournamentState) -> TournamentListing:
        known = self._made.get(state.id)
        if known is None or known[0] is not state:
            known = self._made[state.id] = state, listing(state)
        return known[1]

    def add_old(self, states: Iterable[TournamentState]) -> None:
        """These are over and do not run any more; those that are private are left out."""
        for state in states:
            self._made.pop(state.id, None)
            if state.options.public:
                old = [listing(state), *(old for old in self._old if old.id != state.id)]
                self._old = tuple(sorted(old, key=lambda each: -each.made_at_ms)[:LISTED_TOURNAMENTS])

    def forget(self, identity: str) -> None:
        """It has been removed."""
        self._made.pop(identity, None)
        self._old = tuple(old for old in self._old if old.id != identity)
