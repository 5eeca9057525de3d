"""One step of the screens while it is worked out: what was heard, the player's side as it is by now, and what is to be done. Pure."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from client.state.store import Model
from client.tui.actions import Effect, PromptKind, Send
from client.tui.keymap import Command
from client.tui.ui_state import Answer, Prompt, Question, RulesPage, Ui
from protocol.client_messages import ClientMessage
from protocol.tournament_messages import CorrectResult, EndTournament, RemoveEntrant


class Step(Struct, frozen=True):
    """Each method returns the next one. now_ms: the local monotonic clock."""

    state: Model
    ui: Ui
    now_ms: int
    effects: tuple[Effect, ...] = ()

    def but(self, **changes: Any) -> Step:
        """With another player's side."""
        return replace(self, ui=replace(self.ui, **changes))

    def then(self, effect: Effect) -> Step:
        """With one more thing to be done."""
        return replace(self, effects=(*self.effects, effect))

    def send(self, message: ClientMessage, *, fresh_nonce: bool = False) -> Step:
        """With one more request."""
        return self.then(Send(message, fresh_nonce))

    def note(self, words: str) -> Step:
        """With a remark about the last key."""
        return self.but(note=words)

    @property
    def offline(self) -> str:
        """Why nothing can be sent now: what is said where the connection comes back by itself, and where it does not."""
        return self.state.link.reason if self.state.link.state == "gone" else "Not connected. Reconnecting..."

    def ask(self, text: str, lines: tuple[str, ...], answers: tuple[Answer | None, ...], *, numbered: bool = False) -> Step:
        """With a question over the screen; where it is of yes or no, no is marked."""
        question = Question(text, lines, answers, numbered=numbered, behind=self.ui.item)
        return self.but(question=question, item=0 if numbered else 1)

    def prompt(self, kind: PromptKind, about: CorrectResult | RemoveEntrant | EndTournament | None = None) -> Step:
        """With a line to be typed: of chat, what could not be said before. about: the request that it is the reason of."""
        text = self.ui.unsaid if kind == "chat" else ""
        step = self.but(unsaid="") if text else self
        return step.but(prompt=Prompt(kind, text, len(text), about), typed="", note="")

    def list_rules(self, marked: str, *, bot: str | None = None) -> Step:
        """With the list of rule sets, of which one is marked. bot: the house bot to be raced at the one that is chosen."""
        ids = [info.id for info in self.state.rules]
        return self.but(rules_page=RulesPage(bot, behind=self.ui.item), item=ids.index(marked) if marked in ids else 0)

    def walk(self, command: Command, count: int) -> Step:
        """With the line before or after the marked one of so many marked."""
        return self.but(item=(self.ui.item + way(command)) % max(count, 1))


def way(command: Command) -> int:
    """Forwards or backwards."""
    return -1 if command in (Command.UP, Command.LEFT) else 1
