"""The key table: what its rows are, the rows that several screens share, and how keys are looked up in it.

Each screen module has its own rows, next to the code for them; bindings, buttons and the `?` page are all made from these rows. On the
race screen column letters name slots: `b3` plays b3. h, j, k and l move the cursor, as on every screen, so a slot in a column h or j (only
the big layouts have them) needs an apostrophe: `'h3`. Hence no row of the race screen may use a small letter that names a column; a test
enforces this. Keys have urwid's names, as plain text.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

COLUMN_LETTERS: Final = "abcdefghij"
CURSOR_LETTERS: Final = "hjkl"
SLOT_STARTERS: Final = frozenset(COLUMN_LETTERS) - frozenset(CURSOR_LETTERS) | {"p"}
"""Letters that begin a slot name on the race screen without an apostrophe; p1 to p8 are Persian Rug's reserves."""

FRENCH_DIGITS: Final = dict(zip("&é\"'(-è_çà", "1234567890", strict=True))
"""What the keys of the digits are without Shift on a French keyboard."""


class Command(StrEnum):
    """Everything the player can do, by keys or by the mouse."""

    UP = "up"
    DOWN = "down"
    LEFT = "left"
    RIGHT = "right"
    PLAY = "play"
    CHIP = "chip"
    SEND_HOME = "send-home"
    SEND_ALL = "send-all"
    AUTOPLAY = "autoplay"
    NEXT = "next"
    PREVIOUS = "previous"
    SLOT = "slot"
    WASTE = "waste"
    STOCK = "stock"
    REDEAL = "redeal"
    UPWARD = "upward"
    DOWNWARD = "downward"
    MOVE = "move"
    KEEP = "keep"
    RESIGN = "resign"
    READY = "ready"
    CHAT = "chat"
    COPY = "copy"
    REMATCH = "rematch"
    DETAILS = "details"
    REVIEW = "review"
    REPLAY = "replay"
    TURNED = "turned"
    SHARE = "share"
    PLAY_ON = "play-on"
    PAUSE = "pause"
    LEFT_BACK = "left-back"
    LEFT_ON = "left-on"
    RIGHT_BACK = "right-back"
    RIGHT_ON = "right-on"
    SLOWER = "slower"
    FASTER = "faster"
    PARTING = "parting"
    FIRST = "first"
    LAST = "last"
    TENTH = "tenth"
    PAIR = "pair"
    PAIR_BACK = "pair-back"
    LEAVE = "leave"
    BOT = "bot"
    OPEN = "open"
    CODE = "code"
    RACES = "races"
    RUNNING = "running"
    MATCH = "match"
    DAILY = "daily"
    RENAME = "rename"
    YOU = "you"
    TOURNAMENTS = "tournaments"
    ENTER = "enter"
    CHECK_IN = "check-in"
    CHECK_IN_FROM_HERE = "check-in-from-here"
    WITHDRAW = "withdraw"
    BYE = "bye"
    TURN = "turn"
    TURN_BACK = "turn-back"
    START = "start"
    EXTEND = "extend"
    HOLD = "hold"
    PAIR_ROUND = "pair-round"
    CORRECT = "correct"
    REMOVE = "remove"
    GIVE_BYE = "give-bye"
    ADD_BOT = "add-bot"
    END = "end"
    BACK = "back"
    YES = "yes"
    NO = "no"
    COLOURS = "colours"
    ASCII = "ascii"
    BELL = "bell"
    MOTION = "motion"
    HELP = "help"
    QUIT = "quit"


class Binding(NamedTuple):
    """One row. label: one or two words for a button. help: the sentence on the `?` page. shown: whether the foot has a button for it."""

    command: Command
    keys: tuple[str, ...]
    label: str
    help: str
    shown: bool = True


Keys: TypeAlias = tuple[Binding, ...]

CURSOR: Final[Keys] = (
    Binding(Command.UP, ("up", "k"), "up", "Cursor up; in a replay, faster.", shown=False),
    Binding(Command.DOWN, ("down", "j"), "down", "Cursor down; in a replay, slower.", shown=False),
    Binding(Command.LEFT, ("left", "h"), "left", "Left; the previous value, replay move or round.", shown=False),
    Binding(Command.RIGHT, ("right", "l"), "right", "Right; the next value, replay move or round.", shown=False),
)
"""The rows of every screen and of whatever lies over it."""
HELP: Final = Binding(Command.HELP, ("?", "f1"), "help", "This page.")
QUIT: Final = Binding(Command.QUIT, ("q",), "quit", "Quit (asks first in a race); close a replay.")
EVERYWHERE: Final[Keys] = (
    Binding(Command.COLOURS, ("C", "f2"), "colours", "Next colours: two, four, colour-blind, none.", shown=False),
    Binding(Command.ASCII, ("A", "f3"), "ascii", "Plain ASCII, or suit symbols and lines.", shown=False),
    Binding(Command.BELL, ("B", "f4"), "bell", "Bell, silence or tones.", shown=False),
    Binding(Command.MOTION, ("M",), "motion", "Cards that glide, on or off.", shown=False),
    Binding(Command.CHECK_IN_FROM_HERE, ("T",), "check in", "Check in to the tournament that you have entered.", shown=False),
    HELP,
)
"""The rows of every screen and of the help page."""

# Rows that more than one screen has.
CHOOSE: Final = Binding(Command.PLAY, ("enter", " "), "choose", "Choose the selected line.")
BACK: Final = Binding(Command.BACK, ("esc",), "back", "Back.")
TALK: Final = Binding(Command.CHAT, ("t",), "talk", "Say something to everybody in the room.")
LEAVE: Final = Binding(Command.LEAVE, ("L",), "leave", "Leave the room (in a race this forfeits; asks first).")
OUT: Final = Binding(Command.BACK, ("esc",), "back", "Back to the tournaments, and from there home.")
"""Leaves a tournament, or the list of them."""

KEY_NAMES: Final = {" ": "space", "up": "↑", "down": "↓", "left": "←", "right": "→", "f1": "F1", "f2": "F2", "f3": "F3", "f4": "F4"}

GROUPS: Final = ("In a race", "Before and after a race", "In a replay", "Watching", "At a tournament", "At home", "In menus and forms")
"""The headings of the `?` page, in order; those of further screens follow."""


@lru_cache
def commands(keys: Keys) -> dict[str, Command]:
    """What each key does. Raises ValueError if one key would do two things."""
    table: dict[str, Command] = {}
    for binding in keys:
        for key in binding.keys:
            if key in table:
                raise ValueError(f"the key {key!r} is bound twice, to {table[key].value} and {binding.command.value}")
            table[key] = binding.command
    return table


def key_text(binding: Binding, *, ascii_only: bool = False) -> str:
    """The keys of a row, for people to read: `↑ k`."""
    if len(binding.keys) > 10:
        return f"{' '.join(binding.keys[:3])} ..."
    if len(binding.keys) == 10:
        return f"{binding.keys[0]}-{binding.keys[-1]}"
    names = {} if ascii_only else KEY_NAMES
    return " ".join(names.get(key, KEY_NAMES[key] if key == " " else key) for key in binding.keys)


def key_rows(groups: Iterable[tuple[str, Keys]], *, ascii_only: bool) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """The `?` page: (heading, rows of (keys, sentence)). Each row appears once, under the first group that has it."""
    told: set[Binding] = set()
    pages: dict[str, list[tuple[str, str]]] = {}
    for heading, keys in groups:
        page = pages.setdefault(heading, [])
        page += [(key_text(binding, ascii_only=ascii_only), binding.help) for binding in keys if binding not in told]
        told.update(keys)
    return tuple((heading, tuple(rows)) for heading, rows in pages.items())
