"""What is followed of the tournaments: the list, one of them, or nothing, as the player looks at it; anew on every line.

While he plays or watches a race he looks at neither, and is sent nothing of them.
"""

from __future__ import annotations

from collections.abc import Callable

from client.tui.tournament_view_state import Hall
from protocol.client_messages import ClientMessage, FollowTournament, FollowTournaments

HALL_REFERENCE = 2**31 - 5
"""`ref` of the requests that are made here, to tell their refusals from those of others."""


class Attendance:
    """send: says whether a message went out; what did not is asked for again at the next chance."""

    __slots__ = ("_followed", "_follows_list", "_hall", "_send")

    def __init__(self, send: Callable[[ClientMessage], bool]) -> None:
        self._send = send
        self._hall: Hall | None = None
        self._follows_list = False
        self._followed: tuple[str, int | None] | None = None

    def look(self, hall: Hall | None) -> None:
        """From here on he looks at this."""
        self._hall = hall

    def line_is_new(self) -> None:
        """Nothing that was asked for on the last line is known on this one."""
        self._follows_list, self._followed = False, None

    def settle(self, *, looks: bool) -> None:
        """Ask for what is not followed and should be, and for no more of what should not. looks: he sees tournaments at all."""
        hall = self._hall if looks else None
        wants_list = hall is not None and hall.id is None
        if wants_list is not self._follows_list and self._send(FollowTournaments(follow=wants_list, ref=HALL_REFERENCE)):
            self._follows_list = wants_list
        wanted = (hall.id, hall.round) if hall is not None and hall.id is not None else None
        if wanted == self._followed:
            return
        if wanted is not None:
            request = FollowTournament(id=wanted[0], round=wanted[1], ref=HALL_REFERENCE)
        else:
            assert self._followed is not None
            request = FollowTournament(id=self._followed[0], follow=False, ref=HALL_REFERENCE)
        if self._send(request):
            self._followed = wanted
