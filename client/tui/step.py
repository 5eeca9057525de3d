"""One step of the screens while it is worked out: the state as heard, the player's side so far, and the effects so far. Pure."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from client.state.store import Model
from client.state.tournament import result_ruled_on
from client.tui.actions import Effect, PromptKind, Ruling, Send
from client.tui.keymap import Command
from client.tui.ui_state import Answer, Deaf, Prompt, Question, RulesPage, Ui
from protocol.client_messages import ClientMessage

RULING_REFERENCE: Final = 2**31 - 8
"""The `ref` of a director's ruling, to know when it is answered. Further ones that wait for an answer have the numbers below it."""
BEGUN_MS: Final = 700
"""For so long after a race has begun under a line or a question, what is pressed was meant for that."""
QUIET_MS: Final = 1000
"""For so long after a screen has come by itself, what is pressed was meant for the one before."""
APART_MS: Final = 400
"""And as long as keys come faster than this, such as one again and again: nobody who has seen the screen goes on with that ..."""
LONGEST_MS: Final = 1500
"""... but no longer than this."""


class Step(Struct, frozen=True):
    """Each method returns a new step. now_ms: the local monotonic clock."""

    state: Model
    ui: Ui
    now_ms: int
    effects: tuple[Effect, ...] = ()

    def but(self, **changes: Any) -> Step:
        """The step with changes to the player's side."""
        return replace(self, ui=replace(self.ui, **changes))

    def then(self, effect: Effect) -> Step:
        """The step with one more effect."""
        return replace(self, effects=(*self.effects, effect))

    def send(self, message: ClientMessage, *, fresh_nonce: bool = False) -> Step:
        """The step with one more request to send."""
        if isinstance(message, Ruling):
            message = replace(message, ref=min((ruling.ref for ruling, _ in self.ui.rulings), default=RULING_REFERENCE + 1) - 1)
            tournament = self.state.tournaments.tournament(message.id)
            known = result_ruled_on(tournament.told, message) if tournament is not None else None
            return self.but(rulings=(*self.ui.rulings, (message, known))).then(Send(message))
        return self.then(Send(message, fresh_nonce))

    def note(self, words: str) -> Step:
        """The step with a remark about the last key."""
        return self.but(note=words)

    def come_by_itself(self, keys: frozenset[str]) -> Step:
        """The step with another screen than a moment before. keys: those which might still be meant for that one.

        Nobody clicks on and on without looking, so clicks count, unless the last thing that was done was one.
        """
        return self.but(deaf=Deaf(self.now_ms + QUIET_MS, self.now_ms + LONGEST_MS, keys, clicks=self.ui.clicked))

    @property
    def offline(self) -> str:
        """Why nothing can be sent now; the words depend on whether the connection comes back by itself."""
        return self.state.link.reason if self.state.link.state == "gone" else "Not connected. Reconnecting..."

    def ask(self, text: str, lines: tuple[str, ...], answers: tuple[Answer | None, ...], *, numbered: bool = False) -> Step:
        """The step with a question over the screen. If it is a yes-or-no question, no is marked."""
        question = Question(text, lines, answers, numbered=numbered, behind=self.ui.item)
        return self.but(question=question, item=0 if numbered else 1)

    def prompt(self, kind: PromptKind, about: Ruling | None = None, *, text: str = "") -> Step:
        """The step with a line to type. text: what it starts with; chat starts with what could not be said before. about: the request that
        needs this reason."""
        text = self.ui.unsaid if kind == "chat" else text
        step = self.but(unsaid="") if self.ui.unsaid and kind == "chat" else self
        return step.but(prompt=Prompt(kind, text, len(text), about), typed="", note="")

    def list_rules(self, marked: str, *, bot: str | None = None) -> Step:
        """The step with the list of rule sets open. bot: the house bot to race at the chosen one."""
        ids = [info.id for info in self.state.rules]
        return self.but(rules_page=RulesPage(bot, behind=self.ui.item), item=ids.index(marked) if marked in ids else 0)

    def walk(self, command: Command, count: int) -> Step:
        """The step with the mark moved to the line before or after, of `count` lines."""
        return self.but(item=(self.ui.item + way(command)) % max(count, 1))


def way(command: Command) -> int:
    """1 for forwards, -1 for backwards."""
    return -1 if command in (Command.UP, Command.LEFT) else 1
