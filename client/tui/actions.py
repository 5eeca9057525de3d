"""What goes into `update` and what comes out of it, as values.

An action is a key, a click, or something that was heard; an effect is something to be done in the world, whose answer, if it has one, comes
back as an action.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from client.replay.timeline import TimeLine
from client.state.store import Event, Model
from client.tui.keymap import Command
from protocol.client_messages import ClientMessage
from protocol.record import Record

PromptKind = Literal["server", "code", "chat", "move", "deal", "title", "tournament", "entry", "reason"]


# ---- actions: what the player does on the screen that is shown


@dataclass(frozen=True, slots=True)
class Do:
    """What a key stands for there. key: which of its keys it was, where one was typed."""

    command: Command
    key: str = ""


@dataclass(frozen=True, slots=True)
class Press:
    """A slot, a reserve, a foundation, `w`, `s` or `r`."""

    place: str


@dataclass(frozen=True, slots=True)
class Pick:
    """A line of the menu, form or question."""

    line: int


@dataclass(frozen=True, slots=True)
class Jump:
    """A moment of a replay."""

    t_ms: int


@dataclass(frozen=True, slots=True)
class LetGo:
    """What is held is let go of: the right button."""


@dataclass(frozen=True, slots=True)
class GoOn:
    """The moment has come to go on with sending cards home."""


@dataclass(frozen=True, slots=True)
class Rest:
    """What moved by itself has come to rest."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A line of text that was asked for."""

    kind: PromptKind
    text: str


Click: TypeAlias = Do | Press | Pick | Jump
ScreenAction: TypeAlias = Click | LetGo | GoOn | Rest | Typed


# ---- actions: all others


@dataclass(frozen=True, slots=True)
class Key:
    """A key as it was typed."""

    key: str


@dataclass(frozen=True, slots=True)
class Wheel:
    """The mouse's wheel, by lines."""

    step: int


@dataclass(frozen=True, slots=True)
class Resized:
    """The terminal has so many columns and rows."""

    size: tuple[int, int]


@dataclass(frozen=True, slots=True)
class SlowTerminal:
    """The terminal takes so long to draw that motion is a burden."""


@dataclass(frozen=True, slots=True)
class Heard:
    """Something came from the server or happened to the connection; the state has it already. before: the state without it."""

    event: Event
    before: Model


@dataclass(frozen=True, slots=True)
class Unsent:
    """This could not go out: there is no connection now."""

    message: ClientMessage


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The review of a record's game is there."""

    digest: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Replayed:
    """The time line of a record is there, or a sentence that says why not. seat: of who looks at it."""

    digest: str
    seat: int | None
    line: TimeLine | str


@dataclass(frozen=True, slots=True)
class Verified:
    """Whether the record of this digest holds; where it does not, or could not be checked (None), why."""

    digest: str
    sound: bool | None
    why: str


@dataclass(frozen=True, slots=True)
class Shared:
    """What was to be written to be shared is written, or why it is not."""

    told: str


@dataclass(frozen=True, slots=True)
class Kept:
    """How the race of a record stands among one's own."""

    digest: str
    standing: str


Action: TypeAlias = ScreenAction | SlowTerminal | Key | Wheel | Resized | Heard | Unsent | Reviewed | Replayed | Verified | Shared | Kept


# ---- effects


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request; `Unsent` answers where it cannot go out. fresh_nonce: with 16 random bytes for its nonce."""

    message: ClientMessage
    fresh_nonce: bool = False


@dataclass(frozen=True, slots=True)
class Review:
    """Have a game reviewed; `Reviewed` answers."""

    record: Record
    seat: int


@dataclass(frozen=True, slots=True)
class Replay:
    """Have a race played over again; `Replayed` answers."""

    record: Record
    seat: int | None


@dataclass(frozen=True, slots=True)
class Verify:
    """Have a record checked with all that it takes; `Verified` answers."""

    record: Record


@dataclass(frozen=True, slots=True)
class Share:
    """Write the screen as a picture or as text, or the race as a recording or as a picture that moves, into a file; `Shared` answers."""

    record: Record
    kind: Literal["svg", "txt", "cast", "moving svg"]

    @property
    def ending(self) -> str:
        """Of the file's name."""
        return self.kind.removeprefix("moving ")


@dataclass(frozen=True, slots=True)
class Keep:
    """Keep the record of a race that is over; `Kept` may answer. seat: the player's own, None where they did not see themselves race it."""

    record: Record
    seat: int | None


@dataclass(frozen=True, slots=True)
class PlayOnWanted:
    """A race that is over is to be gone on with: from where this seat (from 0) had made so many moves."""

    record: Record
    seat: int
    ply: int


@dataclass(frozen=True, slots=True)
class Quit:
    """End the screens. play_on, command: what the player would do next, the latter as the words of a command line."""

    play_on: PlayOnWanted | None = None
    command: tuple[str, ...] = ()


Sound: TypeAlias = Literal["call", "start", "near"]
"""What a bell means: your table or opponent is there, the race has begun, an opponent has few cards left."""


@dataclass(frozen=True, slots=True)
class Ring:
    """Ring the bell, or sound a tone in its place."""

    sound: Sound


@dataclass(frozen=True, slots=True)
class Copy:
    """Put a text on the clipboard, where the terminal lets that be done."""

    text: str


@dataclass(frozen=True, slots=True)
class After:
    """Do `action` when so much time has passed."""

    ms: int
    action: GoOn | Rest


Effect: TypeAlias = After | Send | Review | Replay | Verify | Share | Keep | Quit | Ring | Copy
