"""Actions and effects: what goes into `update` and what comes out of it, as values.

An action is a key, a click, or something that was heard. An effect is something to do in the outside world; its answer, if any, comes back
as an action.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from client.replay.timeline import TimeLine
from client.state.store import Event, Model
from client.text.profile import Profile
from client.tui.keymap import Command
from protocol.client_messages import ClientMessage
from protocol.record import Record
from protocol.tournament_messages import CorrectResult, EndTournament, GiveBye, RemoveEntrant

PromptKind = Literal["server", "code", "chat", "move", "deal", "title", "tournament", "entry", "reason", "name"]

Ruling: TypeAlias = CorrectResult | RemoveEntrant | GiveBye | EndTournament
"""A director's request that takes a reason. It takes choosing and typing, so if its answer is lost with the connection, they are asked
whether to send it again. To start, pause, pair or add a bot takes a key or two, and the screen shows what came of it. Sent again, a request
for a bot might add a second one."""


# ---- actions: what the player does on the current screen


class Do(Struct, frozen=True):
    """The command that a key stands for on the screen. key: the key that was typed, if it was one."""

    command: Command
    key: str = ""


class Press(Struct, frozen=True):
    """A place is pressed: a slot, a reserve, a foundation, `w`, `s` or `r`."""

    place: str


class Pick(Struct, frozen=True):
    """A line of the menu, form or question is chosen."""

    line: int


class JumpTo(Struct, frozen=True):
    """Go to a moment of a replay."""

    t_ms: int


class PutBack(Struct, frozen=True):
    """Put the held card back: the right button."""


class SendNextHome(Struct, frozen=True):
    """It is time to send the next card home."""


class Rest(Struct, frozen=True):
    """An animation has come to rest, or keys that were pressed one after the other have."""


class Typed(Struct, frozen=True):
    """The player has typed the line of text they were asked for."""

    kind: PromptKind
    text: str


Click: TypeAlias = Do | Press | Pick | JumpTo
ScreenAction: TypeAlias = Click | PutBack | SendNextHome | Rest | Typed


# ---- all other actions


class Key(Struct, frozen=True):
    """A key was typed."""

    key: str


class Wheel(Struct, frozen=True):
    """The mouse wheel was turned by this many lines."""

    step: int


class Resized(Struct, frozen=True):
    """The terminal now has this many columns and rows."""

    size: tuple[int, int]


class SlowTerminal(Struct, frozen=True):
    """The terminal draws too slowly for motion."""


class Heard(Struct, frozen=True):
    """Something came from the server or happened to the connection. The state already includes it. before: the state without it."""

    event: Event
    before: Model


class Unsent(Struct, frozen=True):
    """This message could not be sent: there is no connection now."""

    message: ClientMessage


class Reviewed(Struct, frozen=True):
    """The review of the game of a seat is ready; without sentences it is not, yet.

    slip: the number, from 1, of the move after which the best was out of reach, and instead: the one that would have kept it. exact:
    whether that is certain. failed: there is none, and the sentence says why.
    """

    digest: str
    seat: int
    sentences: tuple[str, ...] = ()
    slip: int | None = None
    instead: str = ""
    exact: bool = True
    failed: bool = False


class Replayed(Struct, frozen=True):
    """The time line of a record is ready, or a sentence says why there is none. digest: the record's, or the id of a past race. seat: the
    viewer's own."""

    digest: str
    seat: int | None
    line: TimeLine | str


class ProfileRead(Struct, frozen=True):
    """What is known of the player, or a sentence that says why it cannot be read."""

    profile: Profile | str


class Verified(Struct, frozen=True):
    """Whether the record with this digest holds; if it does not, or could not be checked (None), why."""

    digest: str
    sound: bool | None
    why: str


class Shared(Struct, frozen=True):
    """The file to share is written, or why it is not."""

    told: str


class Kept(Struct, frozen=True):
    """How the race of a record ranks among the player's own."""

    digest: str
    standing: str


Action: TypeAlias = (
    ScreenAction | SlowTerminal | Key | Wheel | Resized | Heard | Unsent | Reviewed | Replayed | ProfileRead | Verified | Shared | Kept
)


# ---- effects


class Send(Struct, frozen=True):
    """Send a request; answered by `Unsent` if it cannot be sent. fresh_nonce: give it a nonce of 16 random bytes."""

    message: ClientMessage
    fresh_nonce: bool = False


class Review(Struct, frozen=True):
    """Have a game reviewed; answered by `Reviewed`."""

    record: Record
    seat: int


class Replay(Struct, frozen=True):
    """Have a race replayed; answered by `Replayed`."""

    record: Record
    seat: int | None


class ReadProfile(Struct, frozen=True):
    """Look up what is known of the player; answered by `ProfileRead`."""


class ReplayPast(Struct, frozen=True):
    """Have a past race replayed, by its id; answered by `Replayed`, with the id as its digest."""

    race: str


class Verify(Struct, frozen=True):
    """Have a record checked in full; answered by `Verified`."""

    record: Record


class Share(Struct, frozen=True):
    """Write a file: the screen as a picture or as text, or the race as a recording or a moving picture. Answered by `Shared`."""

    record: Record
    kind: Literal["svg", "txt", "cast", "moving svg"]

    @property
    def ending(self) -> str:
        """The ending of the file's name."""
        return self.kind.removeprefix("moving ")


class Keep(Struct, frozen=True):
    """Keep the record of a finished race; `Kept` may answer. seat: the player's own, None unless they raced it in this run."""

    record: Record
    seat: int | None


class PlayOnWanted(Struct, frozen=True):
    """Play on from a finished race, from where this seat (counted from 0) had made `ply` moves."""

    record: Record
    seat: int
    ply: int


class Quit(Struct, frozen=True):
    """End the screens. play_on, command: what the player wants to do next; command as the words of a command line."""

    play_on: PlayOnWanted | None = None
    command: tuple[str, ...] = ()


Sound: TypeAlias = Literal["call", "start", "near"]
"""What a bell means: your table or opponent is ready, the race has begun, or an opponent has few cards left."""


class Ring(Struct, frozen=True):
    """Ring the bell, or play a tone instead."""

    sound: Sound


class Copy(Struct, frozen=True):
    """Put a text on the clipboard, if the terminal allows it."""

    text: str


class After(Struct, frozen=True):
    """Do `action` after `ms` milliseconds."""

    ms: int
    action: SendNextHome | Rest


Effect: TypeAlias = After | Send | Review | Replay | ReadProfile | ReplayPast | Verify | Share | Keep | Quit | Ring | Copy
