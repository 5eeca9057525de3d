"""The loop around `update`: holds the state and the player's side, carries out actions one by one, and sends requests."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from msgspec.structs import replace as changed

from client.connection.events import Link
from client.state.evidence import Evidence
from client.state.store import Event, Model, MoveSent, ReadySent, reduce
from client.tui.actions import Action, Effect, Heard, Send, Unsent
from client.tui.ui_state import Ui
from client.tui.update import update
from protocol.client_messages import Move, Ready
from protocol.run_messages import Dailies
from protocol.tournament_messages import CheckIn


class Driver:
    """One player over one connection. now_ms: the local monotonic clock. nonce: makes 16 random bytes as hexadecimal digits.

    evidence: from the last race, which an earlier process ran. witness: is given what is seen of a race, before a nonce is sent.
    witness_entry: is given a check-in, before it is sent, and what its tournament has committed to. witness_days: is given what the server
    says of its deals of the day.
    carry_out: carries out an effect that is not a request and returns its answer if it has one at once; without a screen it does nothing.
    """

    def __init__(
        self,
        link: Link,
        ui: Ui,
        *,
        now_ms: Callable[[], int],
        nonce: Callable[[], str],
        evidence: Evidence | None = None,
        witness: Callable[[Evidence], None] = lambda evidence: None,
        witness_entry: Callable[[CheckIn, str], None] = lambda check_in, commitment: None,
        witness_days: Callable[[Dailies], None] = lambda dailies: None,
        carry_out: Callable[[Effect], Action | None] = lambda effect: None,
    ) -> None:
        self.state = Model(evidence=evidence)
        self._witness = witness
        self._witness_entry = witness_entry
        self._witness_days = witness_days
        self.ui = ui
        self._link = link
        self._now_ms = now_ms
        self._nonce = nonce
        self._carry_out = carry_out

    def hear(self, event: Event) -> None:
        """Reduce an event, and do what follows."""
        before = self.state
        self.state = reduce(before, event, self._now_ms())
        self._tell_witness(before)
        if isinstance(event, Dailies):
            self._witness_days(event)
        self.do(Heard(event, before))

    def do(self, action: Action) -> None:
        """Carry out an action and everything that follows from it at once."""
        actions = deque([action])
        while actions:
            self.ui, effects = update(self.state, self.ui, actions.popleft(), self._now_ms())
            for effect in effects:
                answer = self._send(effect) if isinstance(effect, Send) else self._carry_out(effect)
                if answer is not None:
                    actions.append(answer)

    def _send(self, request: Send) -> Unsent | None:
        message = request.message
        if request.fresh_nonce:
            assert isinstance(message, Ready | CheckIn)
            message = changed(message, nonce=self._nonce())
        before = self.state
        if isinstance(message, Ready):
            # Kept before the server has it, in case this process dies.
            self.state = reduce(before, ReadySent(message.nonce), self._now_ms())
            self._tell_witness(before)
        elif isinstance(message, CheckIn) and (commitment := self.state.tournaments.commitment(message.id)) is not None:
            self._witness_entry(message, commitment)
        if not self._link.send(message):
            self.state = before
            return Unsent(message)
        if isinstance(message, Move):
            self.state = reduce(self.state, MoveSent(message.ply, message.move), self._now_ms())
        return None

    def _tell_witness(self, before: Model) -> None:
        if self.state.evidence is not None and self.state.evidence is not before.evidence:
            self._witness(self.state.evidence)
