"""What the command line has the app begin with, and how the app ended."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from client.tui.actions import PlayOnWanted
from client.tui.drawing.theme import Palette
from protocol.client_messages import JoinRace, OpenRace
from protocol.run_messages import RunChallenge, RunDaily
from protocol.views import RaceOptions


class UiSettings(Struct, frozen=True):
    """How the player likes it. page: where a race of the server is raced in a browser, but for its code; empty where it is not.

    server: how that server is named on a command line. is_near: both lead to a server on this machine, and from other machines nowhere.

    palette: by its name; own_palette: one of a file. tones: short ones in place of the bell. pictures: of cards, where the terminal shows
    them. motion: cards glide. autoplay: what fits goes home by itself, in races that allow it.

    plain: everything is told as lines of text and typed as lines, without screens.

    colours: 1 (by `NO_COLOR`), 16, 88, 256 or 2**24, or None to ask the terminal. bot, rules: the house bot that was chosen last, empty if
    none was, and the rule set of that race. by_key: those that the player has changed by keys.
    """

    palette: str = "classic"
    own_palette: Palette | None = None
    ascii: bool = False
    bell: bool = True
    tones: bool = False
    pictures: bool = False
    motion: bool = True
    autoplay: bool = False
    bot: str = ""
    rules: str = "carpet"
    page: str = ""
    server: str = ""
    is_near: bool = False
    colours: Literal[1, 16, 88, 256, 16777216] | None = None
    by_key: frozenset[str] = frozenset()
    plain: bool = False


class StartHome(Struct, frozen=True):
    """The home screen, or the room that was entered before the first screen."""


class StartRace(Struct, frozen=True):
    """A race of these options, at once, on a server of one's own: against its first house bot, or the clock if there is none."""

    options: RaceOptions


class StartBots(Struct, frozen=True):
    """The house bots and then the rule sets, on a server of one's own; those raced last are marked."""


class StartLesson(Struct, frozen=True):
    """The deal by which the keys are learned, at once."""


class StartMatch(Struct, frozen=True):
    """The home screen, an opponent being looked for at once. rules: the id of a rule set, None for any."""

    rules: str | None = None


SeatRequest: TypeAlias = OpenRace | JoinRace | RunDaily | RunChallenge
"""What leads to a seat on somebody's server."""


class StartRequest(Struct, frozen=True):
    """What was asked for by somebody who holds a seat in another race still: they go back to it first."""

    request: SeatRequest


class StartTournaments(Struct, frozen=True):
    """The screen of a tournament, or with None the list of them."""

    id: str | None = None


class StartMenu(Struct, frozen=True):
    """The menu of what there is to do, before any server. server: the one that is offered, empty where none is known.

    is_new: nobody has raced here yet. item: the line that is marked; note: what is to be said first.
    """

    server: str = ""
    is_new: bool = False
    item: int = 0
    note: str = ""


class StartYou(Struct, frozen=True):
    """The page about the player, which is all there is."""


Start: TypeAlias = StartHome | StartRace | StartBots | StartLesson | StartMatch | StartRequest | StartTournaments | StartMenu | StartYou


class AppOutcome(Struct, frozen=True):
    """How the app ended. reason: the player quit, a signal came, or the terminal went away.

    settings: as they are now, to be kept. code: the room in which a seat is still held, or None. grace_s: for how long, if its
    race goes on. name: the player's at that server. kept: where the last race's record was kept, None where none was. not_kept: why one
    could not be. play_on, command: what the player would do next, the latter as the words of a command line. item: the line that was
    marked. is_taught: the lessons that were given are over.
    """

    reason: Literal["quit", "signal", "terminal"]
    settings: UiSettings
    code: str | None = None
    grace_s: int | None = None
    name: str = ""
    kept: Path | None = None
    not_kept: str | None = None
    play_on: PlayOnWanted | None = None
    command: tuple[str, ...] = ()
    item: int = 0
    is_taught: bool = False
