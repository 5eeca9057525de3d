"""The one key table: what every key does, on which screen, and the words for it. Bindings, buttons and the `?` page are made from it.

On the race screen the letters of the columns name slots: `b3` plays b3. h, j, k and l move the cursor there as everywhere, so a column
h or j (only the big layouts have one) is named after an apostrophe: `'h3`. For this to work no action of the race screen may have
a small letter that is a column; a test holds the table to it. Must not know of widgets: keys have urwid's names, as plain text.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

COLUMN_LETTERS: Final = "abcdefghij"
CURSOR_LETTERS: Final = "hjkl"
SLOT_STARTERS: Final = frozenset(COLUMN_LETTERS) - frozenset(CURSOR_LETTERS) | {"p"}
"""Letters that begin a slot name on the race screen without an apostrophe; p1 to p8 are Persian Rug's reserves."""


class Place(StrEnum):
    """Where a key works."""

    HOME = "home"
    FORM = "form"
    RULES = "rules"
    WAITING = "waiting"
    RACE = "race"
    RESULT = "result"
    REPLAY = "replay"
    WATCH = "watch"
    TOURNAMENTS = "tournaments"
    TOURNAMENT = "tournament"
    HELP = "help"
    CHOICE = "choice"


class Action(StrEnum):
    """Everything the player can do, by keys or by the mouse."""

    UP = "up"
    DOWN = "down"
    LEFT = "left"
    RIGHT = "right"
    PLAY = "play"
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
    REMATCH = "rematch"
    DETAILS = "details"
    REVIEW = "review"
    REPLAY = "replay"
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
    TOURNAMENTS = "tournaments"
    ENTER = "enter"
    CHECK_IN = "check-in"
    WITHDRAW = "withdraw"
    TURN = "turn"
    TURN_BACK = "turn-back"
    START = "start"
    HOLD = "hold"
    PAIR_ROUND = "pair-round"
    CORRECT = "correct"
    REMOVE = "remove"
    ADD_BOT = "add-bot"
    END = "end"
    BACK = "back"
    YES = "yes"
    NO = "no"
    COLOURS = "colours"
    ASCII = "ascii"
    BELL = "bell"
    HELP = "help"
    QUIT = "quit"


class Binding(NamedTuple):
    """One row. label: one or two words for a button; help: the sentence of the `?` page; shown: among the buttons at the foot."""

    action: Action
    keys: tuple[str, ...]
    places: frozenset[Place]
    label: str
    help: str
    shown: bool = True


_EVERYWHERE: Final = frozenset(Place) - {Place.CHOICE}

_CURSOR: Final = frozenset(Place)
_ROOM: Final = frozenset({Place.WAITING, Place.RACE, Place.RESULT})


def _on(*places: Place) -> frozenset[Place]:
    return frozenset(places)


TABLE: Final[tuple[Binding, ...]] = (
    # The race
    Binding(Action.PLAY, ("enter", " "), _on(Place.RACE), "play", "Play the card under the cursor, or put the held one there."),
    Binding(Action.SLOT, ("'",), _on(Place.RACE), "slot", "Begin a slot's name: b3 needs none, 'h3 does (h is a key).", shown=False),
    Binding(Action.WASTE, ("w",), _on(Place.RACE), "waste", "The waste: its top card goes home, or fills the waiting gap."),
    Binding(Action.STOCK, ("s",), _on(Place.RACE), "stock", "Turn the next stock card, or fill the waiting gap with it."),
    Binding(Action.REDEAL, ("r",), _on(Place.RACE), "redeal", "Redeal the waste, where the rules have it."),
    Binding(Action.UPWARD, ("+", "="), _on(Place.RACE), "up", "The held card goes home, where there are two ways upwards.", shown=False),
    Binding(Action.DOWNWARD, ("-",), _on(Place.RACE), "down", "The held card goes home downwards, from the King.", shown=False),
    Binding(Action.BACK, ("esc",), _on(Place.RACE), "let go", "Let go of the held card; forget the slot name begun."),
    Binding(Action.MOVE, (":",), _on(Place.RACE), "move", "Type a whole move: b3, w, s, w:b3, c5:w, b3+.", shown=False),
    Binding(Action.KEEP, ("K",), _on(Place.RACE), "stop", "Stop here and keep your cards home (asks first)."),
    Binding(Action.RESIGN, ("R",), _on(Place.RACE), "resign", "Give the race up (asks first)."),
    # Moving about
    Binding(Action.UP, ("up", "k"), _CURSOR, "up", "Cursor up; in a replay, faster.", shown=False),
    Binding(Action.DOWN, ("down", "j"), _CURSOR, "down", "Cursor down; in a replay, slower.", shown=False),
    Binding(Action.LEFT, ("left", "h"), _CURSOR, "left", "Left; the value, replay's move or round's tables before.", shown=False),
    Binding(Action.RIGHT, ("right", "l"), _CURSOR, "right", "Right; the next value, replay's move or round's tables.", shown=False),
    # Home
    Binding(Action.PLAY, ("enter", " "), _on(Place.HOME, Place.FORM, Place.RULES, Place.CHOICE), "choose", "Take the marked line."),
    Binding(Action.BOT, ("b",), _on(Place.HOME), "bot", "Race a house bot.", shown=False),
    Binding(Action.OPEN, ("o",), _on(Place.HOME), "open", "Open a race for others.", shown=False),
    Binding(Action.CODE, ("c",), _on(Place.HOME), "code", "Join a race by its code.", shown=False),
    Binding(Action.RACES, ("r",), _on(Place.HOME), "races", "Go to the open races.", shown=False),
    Binding(Action.RUNNING, ("w",), _on(Place.HOME), "watch", "Go to the races that are being run; enter watches one.", shown=False),
    Binding(Action.MATCH, ("m",), _on(Place.HOME), "match", "Quick match: look for an opponent of your rating, or stop.", shown=False),
    Binding(Action.DAILY, ("d",), _on(Place.HOME), "daily", "Run today's deal, which everybody runs once.", shown=False),
    Binding(Action.TOURNAMENTS, ("t",), _on(Place.HOME), "tournaments", "Go to the tournaments.", shown=False),
    Binding(Action.BACK, ("esc",), _on(Place.HOME), "stop", "Look for no opponent any more.", shown=False),
    Binding(Action.BACK, ("esc",), _on(Place.FORM, Place.RULES, Place.HELP, Place.CHOICE), "back", "Back."),
    # In a room
    Binding(Action.READY, ("r", "enter", " "), _on(Place.WAITING), "ready", "Ready: when everybody is, the race starts."),
    Binding(Action.REMATCH, ("r", "enter"), _on(Place.RESULT), "rematch", "Race the same players again."),
    Binding(Action.DETAILS, ("d",), _on(Place.RESULT), "details", "Show how the deal was checked, or the curves again."),
    Binding(Action.REVIEW, ("v",), _on(Place.RESULT), "review", "Show what was possible in your game, or the curves again."),
    Binding(Action.REPLAY, ("y",), _on(Place.RESULT), "replay", "Watch the race again, both boards side by side."),
    Binding(Action.CHAT, ("t",), _ROOM, "talk", "Say a line to everybody in the room."),
    Binding(Action.LEAVE, ("L",), _ROOM, "leave", "Leave the room (in a race: forfeit it; asks first)."),
    # A replay
    Binding(Action.PAUSE, (" ", "enter"), _on(Place.REPLAY), "play", "Play, or pause; at the end, from the start."),
    Binding(Action.LEFT_BACK, ("[",), _on(Place.REPLAY), "left back", "Back over the last move of the board on the left.", shown=False),
    Binding(Action.LEFT_ON, ("]",), _on(Place.REPLAY), "left on", "On to the next move of the board on the left.", shown=False),
    Binding(Action.RIGHT_BACK, (",",), _on(Place.REPLAY), "right back", "Back over the last move of the board on the right.", shown=False),
    Binding(Action.RIGHT_ON, (".",), _on(Place.REPLAY), "right on", "On to the next move of the board on the right.", shown=False),
    Binding(Action.SLOWER, ("-",), _on(Place.REPLAY), "slower", "Slower, down to a quarter of the race's pace."),
    Binding(Action.FASTER, ("+", "="), _on(Place.REPLAY), "faster", "Faster, up to sixteen times the race's pace."),
    Binding(Action.PARTING, ("p",), _on(Place.REPLAY), "parting", "To where the two lines of play part."),
    Binding(Action.FIRST, ("g", "home"), _on(Place.REPLAY), "start", "To the start."),
    Binding(Action.LAST, ("G", "end"), _on(Place.REPLAY), "end", "To the end."),
    Binding(Action.TENTH, tuple("0123456789"), _on(Place.REPLAY), "jump", "To so many tenths of the race.", shown=False),
    Binding(Action.PLAY_ON, ("o",), _on(Place.REPLAY), "play on", "Play on from the board on the left, beside what came.", shown=False),
    Binding(Action.PAIR, ("tab",), _on(Place.REPLAY), "pair", "The next two seats, where there are more than two."),
    Binding(Action.PAIR_BACK, ("shift tab",), _on(Place.REPLAY), "pair", "The two seats before.", shown=False),
    Binding(Action.BACK, ("esc",), _on(Place.REPLAY), "back", "Close the replay.", shown=False),
    # Watching
    Binding(Action.DETAILS, ("v",), _on(Place.WATCH), "curves/boards", "The curves and all bars, or the boards."),
    Binding(Action.PAIR, ("tab",), _on(Place.WATCH), "seats", "The boards of the next seats, where there are more."),
    Binding(Action.PAIR_BACK, ("shift tab",), _on(Place.WATCH), "seats", "The boards of the seats before.", shown=False),
    Binding(Action.CHAT, ("t",), _on(Place.WATCH), "talk", "Say a line to all who watch; players hear it after the race."),
    Binding(Action.LEAVE, ("L", "esc"), _on(Place.WATCH), "leave", "Watch this race no more."),
    # Tournaments
    Binding(Action.PLAY, ("enter", " "), _on(Place.TOURNAMENTS), "go there", "Go to the marked tournament."),
    Binding(Action.OPEN, ("o",), _on(Place.TOURNAMENTS), "make one", "Make a tournament and direct it."),
    Binding(Action.CODE, ("c",), _on(Place.TOURNAMENTS), "by id", "Go to a tournament by its id, six letters."),
    Binding(Action.ENTER, ("i",), _on(Place.TOURNAMENT), "play", "Play in it: enter, or come back."),
    Binding(Action.CHECK_IN, ("c",), _on(Place.TOURNAMENT), "check in", "Check in: you are here and ready to play."),
    Binding(Action.PLAY, ("enter", "w"), _on(Place.TOURNAMENT), "go, watch", "To your own table if it waits, else watch the marked one."),
    Binding(Action.TURN, ("tab",), _on(Place.TOURNAMENT), "page", "The next page: tables, standings, log."),
    Binding(Action.TURN_BACK, ("shift tab",), _on(Place.TOURNAMENT), "page", "The page before.", shown=False),
    Binding(Action.WITHDRAW, ("L",), _on(Place.TOURNAMENT), "withdraw", "Play in it no more (asks first)."),
    Binding(Action.START, ("S",), _on(Place.TOURNAMENT), "start", "Director: open the check-in; then pair the first round."),
    Binding(Action.HOLD, ("P",), _on(Place.TOURNAMENT), "pause", "Director: pause, or go on."),
    Binding(Action.PAIR_ROUND, ("N",), _on(Place.TOURNAMENT), "next round", "Director: pair the next round now."),
    Binding(Action.CORRECT, ("E",), _on(Place.TOURNAMENT), "result", "Director: enter, correct or strike the marked result."),
    Binding(Action.REMOVE, ("X",), _on(Place.TOURNAMENT), "remove", "Director: take the marked entrant out (asks first)."),
    Binding(Action.ADD_BOT, ("b",), _on(Place.TOURNAMENT), "bot", "Director: let a house bot enter."),
    Binding(Action.END, ("Z",), _on(Place.TOURNAMENT), "end", "Director: break the tournament off (asks first)."),
    Binding(Action.BACK, ("esc",), _on(Place.TOURNAMENTS, Place.TOURNAMENT), "back", "Back to the tournaments; from there home."),
    # Answers
    Binding(Action.YES, ("y",), _on(Place.CHOICE), "yes", "Yes."),
    Binding(Action.NO, ("n",), _on(Place.CHOICE), "no", "No."),
    # Everywhere
    Binding(Action.COLOURS, ("C", "f2"), _EVERYWHERE, "colours", "Next colours: two, four, colour-blind, none.", shown=False),
    Binding(Action.ASCII, ("A", "f3"), _EVERYWHERE, "ascii", "Plain ASCII, or suit symbols and lines.", shown=False),
    Binding(Action.BELL, ("B", "f4"), _EVERYWHERE, "bell", "Bell on or off.", shown=False),
    Binding(Action.HELP, ("?", "f1"), _EVERYWHERE, "help", "This page."),
    Binding(Action.QUIT, ("q",), _EVERYWHERE - {Place.HELP}, "quit", "Quit (asks first in a race); close a replay."),
    Binding(Action.BACK, ("q",), _on(Place.HELP), "back", "Close this page.", shown=False),
)

KEY_NAMES: Final = {" ": "space", "up": "↑", "down": "↓", "left": "←", "right": "→", "f1": "F1", "f2": "F2", "f3": "F3", "f4": "F4"}

GROUPS: Final[tuple[tuple[str, frozenset[Place]], ...]] = (
    ("In a race", _on(Place.RACE)),
    ("Before and after a race", _on(Place.WAITING, Place.RESULT)),
    ("In a replay", _on(Place.REPLAY)),
    ("Watching", _on(Place.WATCH)),
    ("At a tournament", _on(Place.TOURNAMENTS, Place.TOURNAMENT)),
    ("At home", _on(Place.HOME, Place.FORM, Place.RULES)),
)


def action_for(place: Place, key: str) -> Action | None:
    """What `key` does there."""
    return _BY_KEY.get((place, key))


def key_of(action: Action) -> str:
    """The first key of an action, for a button or a hint."""
    return next(binding.keys[0] for binding in TABLE if binding.action is action)


def shown_at(place: Place) -> tuple[Binding, ...]:
    """The bindings to show as buttons at the foot of a screen."""
    return tuple(binding for binding in TABLE if place in binding.places and binding.shown)


def key_text(binding: Binding, *, ascii_only: bool = False) -> str:
    """The keys of a row as people read them: `↑ k`."""
    if len(binding.keys) == 10:
        return f"{binding.keys[0]}-{binding.keys[-1]}"
    names = {} if ascii_only else KEY_NAMES
    return " ".join(names.get(key, KEY_NAMES[key] if key == " " else key) for key in binding.keys)


def help_rows(*, ascii_only: bool = False, first: str = "In a race") -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """The `?` page: (heading, rows of (keys, sentence)); every row of the table once, under the first group that it belongs to.

    first: the heading that comes before all others.
    """
    left = list(TABLE)
    pages: list[tuple[str, tuple[tuple[str, str], ...]]] = []
    for heading, places in (("Everywhere", frozenset[Place]()), *GROUPS, ("Questions", frozenset({Place.CHOICE, Place.HELP}))):
        wide = heading == "Everywhere"
        mine = [binding for binding in left if (len(binding.places) > 4 if wide else binding.places & places)]
        left = [binding for binding in left if binding not in mine]
        rows = tuple((key_text(binding, ascii_only=ascii_only), binding.help) for binding in mine)
        pages.append((heading, rows))
    return tuple(sorted(pages, key=lambda page: page[0] != first))


def _by_key() -> dict[tuple[Place, str], Action]:
    table: dict[tuple[Place, str], Action] = {}
    for binding in TABLE:
        for place in binding.places:
            for key in binding.keys:
                if (place, key) in table:
                    raise ValueError(f"the key {key!r} is bound twice on the screen {place.value}")
                table[place, key] = binding.action
    return table


_BY_KEY: Final = _by_key()
