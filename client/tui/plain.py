"""The adapter to lines of text, in place of the one to a terminal with screens: what is new is written, and what is typed comes as lines.

For screen readers, pipes, and terminals that cannot draw. There are no rules here: a typed line becomes the actions that keys lead to.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, Final, Protocol

import trio

from client.game.moves import source
from client.tui.actions import Action, Do, Key, Pick, Typed
from client.tui.keymap import Command, key_text
from client.tui.scene import Scene, call_sentence, check_in_sentence, shown_room
from client.tui.telling import (
    Teller,
    hint_line,
    question_lines,
    rules_lines,
    score_line,
    table_lines,
    tournament_at,
    tournament_lines,
    watched_lines,
)
from client.tui.tournament.keys import KEYS, refused
from client.tui.tournament_view_state import own_table
from protocol.command_line import print_text

WELCOME: Final = "Carpet Race by lines. help tells what can be typed, and rules how the game goes."
NOTHING: Final = "There is nothing to do now. help tells what can be typed."
AS_BEFORE: Final = "You go on as before."
HELP: Final = (
    "b3, w or s: play the card at b3, the waste's top card, or the next stock card; r redeals. Several at once: b3 c1 s.",
    "If it can go to several places, type where it goes then, or esc. At once: s:b3, b3+.",
    "home: the next card home. g: all that can go. auto: turn sending home by itself on or off.",
    "Enter alone or hint: what can be done now. cards: the table. score: everybody's cards home, and the clock.",
    "rules: how the game goes. r or ready: you are ready, or want a rematch. review: what was possible in your game.",
    "t and words: say something; in a race t lists the phrases, and t 1 says the first.",
    "stop: end your race; the cards you brought home count. resign: give up. leave: leave the room. quit: end it all.",
    "Questions are answered with y or n, or a number.",
)
WATCHERS_HELP: Final = (
    "Enter alone or hint: what can be typed now. cards: the tables, as late as they may be told.",
    "score: everybody's cards home, and the clock.",
    "t and words: say something to all who watch; players see it afterwards.",
    "leave: stop watching this race. quit: end it all.",
    "Questions are answered with y or n, or a number.",
)
TOURNAMENT_HELP: Final = (
    "Enter alone or hint: how it stands, and what you can do. When your table is ready, you are taken there.",
    "standings, tables: who is where, and who meets whom. rules: how the game goes.",
    "leave: withdraw. quit: end it all. Questions are answered with y or n, or a number.",
)
SCREENS_ALONE: Final = frozenset(
    {Command.PLAY, Command.TURN, Command.TURN_BACK, Command.BACK, Command.CORRECT, Command.REMOVE, Command.GIVE_BYE}
)
"""The keys of a tournament's screen that turn it, or are about what is selected there."""
WORDS: Final = {
    "home": Command.SEND_HOME,
    **dict.fromkeys(("g", "G"), Command.SEND_ALL),
    **dict.fromkeys(("auto", "H"), Command.AUTOPLAY),
    **dict.fromkeys(("stop", "K"), Command.KEEP),
    **dict.fromkeys(("resign", "R"), Command.RESIGN),
    **dict.fromkeys(("leave", "L"), Command.LEAVE),
    **dict.fromkeys(("quit", "q"), Command.QUIT),
    **dict.fromkeys(("review", "v"), Command.REVIEW),
    "T": Command.CHECK_IN_FROM_HERE,
    "esc": Command.BACK,
}
"""What can be typed in place of a key, and the keys that the sentences name."""
TOURNAMENT_KEYS: Final = tuple(
    # Where a question is, N is a no, and it may come a moment too late for that.
    row._replace(keys=("pair",)) if row.command is Command.PAIR_ROUND else row
    for row in KEYS
    if row.command not in SCREENS_ALONE
)
TOURNAMENT_WORDS: Final = {
    **{key: row.command for row in TOURNAMENT_KEYS for key in row.keys},
    **{word: WORDS[word] for word in ("quit", "q", "T")},
    "leave": Command.WITHDRAW,
}
AGAIN: Final = ("r", "ready", "again", "rematch")


class Hands(Protocol):
    """Who plays by these lines."""

    def scene(self) -> Scene:
        """What is to be told now."""
        ...

    def do(self, action: Action) -> None:
        """Do what the player has typed."""
        ...

    def hurry(self, *, comes_back: bool) -> bool:
        """Try a lost connection again at once."""
        ...


class Lines:
    """Stands where a terminal with screens would: it is told when there is something new, and reads what is typed."""

    colours = 1
    shows_pictures = False
    blocked_s = 0.0

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._teller = Teller()
        self._is_quiet = False
        self._has_said = False
        self._say(WELCOME)

    async def run(self) -> None:
        """Take lines until there are no more. Raises OSError where the terminal goes away."""
        typed = b""
        # Without a standard input, as some services start programs, there is nothing to take.
        while sys.stdin is not None:
            # A file is always ready, and cannot be waited for.
            with contextlib.suppress(PermissionError):
                await trio.lowlevel.wait_readable(sys.stdin.fileno())
            await trio.lowlevel.checkpoint()
            read = os.read(sys.stdin.fileno(), 4096)
            if not read:
                return
            *lines, typed = (typed + read).split(b"\n")
            for line in lines:
                self.take(line.decode(errors="replace").strip())

    def redraw(self) -> None:
        """Tell what is new."""
        if not self._is_quiet:
            for text in self._teller.told(self._hands.scene()):
                self._say(text)

    def _say(self, text: str) -> None:
        self._has_said = True
        print_text(text)

    def take(self, line: str) -> None:
        """Do what was typed; whatever it was, something is said, at once or when the answer comes."""
        self._has_said, before = False, self._hands.scene()
        if not self._hands.hurry(comes_back=not line):
            self._take(before, line)
        after = self._hands.scene()
        command = _command(before, line)
        is_asked = command in (Command.LEAVE, Command.QUIT) or (command is not None and (tournament_at(before) is not None or not line))
        is_awaited = is_asked or after.ui != before.ui or after.model.in_flight is not None
        if not self._has_said and not is_awaited:
            self._say(hint_line(after) or NOTHING)

    def _take(self, scene: Scene, line: str) -> None:
        ui, room, question = scene.ui, scene.model.room, scene.ui.question
        word, _, rest = line.partition(" ")
        if ui.prompt is not None:
            self._is_quiet = True
            for key in "" if line == "esc" else line:
                self._hands.do(Key(key))
            self._is_quiet = False
            self._hands.do(Key("esc" if line == "esc" else "enter"))
        elif question is None and (command := _command(scene, line)) is not None:
            self._hands.do(Do(command))
        elif told := self._asked(scene, line):
            for text in told:
                self._say(text)
        elif question is not None:
            answer = {"yes": "y", "no": "n", "esc": "n"}.get(line.lower(), line.lower())
            if answer in question.keys or answer == "n":
                at = question.keys.index(answer) if answer in question.keys else None
                self._hands.do(Do(Command.BACK) if at is None else Pick(at))
                if not self._has_said and (at is None or question.answers[at] is None):
                    self._say(AS_BEFORE)
            elif question.numbered and _can_stand_alone(scene, line):
                self._hands.do(Do(Command.BACK))
                self._take(self._hands.scene(), line)
            else:
                for text in question_lines(scene):
                    self._say(text)
        elif word == "t" and shown_room(scene) is not None:
            self._is_quiet = bool(rest)
            self._hands.do(Do(Command.CHAT))
            self._is_quiet = False
            opened = self._hands.scene()
            if rest and (opened.ui.prompt is not None or (opened.ui.question is not None and rest in opened.ui.question.keys)):
                self._take(opened, rest)
            self.redraw()
        elif room is not None and room.phase == "racing":
            for move in line.split():
                self._hands.do(Typed("move", move.lower() if move[1:2].isdigit() else move))

    def _asked(self, scene: Scene, line: str) -> list[str]:
        """What the player wants to know; empty if they have typed something else."""
        room = shown_room(scene)
        view, tournament = room.view if room is not None else None, tournament_at(scene)
        match line:
            case "" | "hint":
                calls = filter(None, (check_in_sentence(scene), call_sentence(scene)))
                return question_lines(scene) or tournament_lines(scene, "") or [*calls, hint_line(scene) or NOTHING]
            case "standings" | "tables":
                return tournament_lines(scene, line) or ["That can be asked at a tournament, and after a race at one of its tables."]
            case "rules":
                return rules_lines(scene)
            case "help" | "?" if tournament is not None:
                rows = [row for row in TOURNAMENT_KEYS if row.command not in refused(scene.model, tournament)]
                return [*TOURNAMENT_HELP, *(f"{key_text(row, ascii_only=True)}: {row.help}" for row in rows)]
            case "help" | "?":
                return [*(WATCHERS_HELP if scene.model.room is None and scene.ui.watch is not None else HELP)]
            case "cards" if room is not None and view is not None:
                return table_lines(view, scene.model.board(room, view))
            case "cards" if scene.model.room is None:
                return watched_lines(scene)
            case "score" if room is not None:
                return [score_line(scene, room)]
            case _:
                return []

    def bell(self) -> None:
        if sys.stdout.isatty():
            sys.stdout.write("\a")
            sys.stdout.flush()

    def tone(self, note: int) -> None:
        del note
        self.bell()

    def copy(self, text: str) -> None:
        self._say(text)

    def _without(self, *told: Any) -> None:
        """What concerns the looks of screens alone."""

    set_colours = set_palette = forget_pictures = take_again = _without


def _can_stand_alone(scene: Scene, line: str) -> bool:
    """Whether a line means something without the question with numbers that is open: a command, or a move in a race. y is an answer."""
    room, (word, *_) = scene.model.room, line.split()
    places = {"w", "s", "r", *room.view.piles} if room is not None and room.view is not None and room.phase == "racing" else ()
    return line != "y" and (word == "t" or _command(scene, line) is not None or source(word.lower()) in places)


def _command(scene: Scene, line: str) -> Command | None:
    """What a line stands for, if it does for what a key does."""
    model, room, tournament = scene.model, scene.model.room, tournament_at(scene)
    if not line:
        # To a table that waits, or back from one to its tournament; otherwise this asks what can be done.
        if tournament is not None and own_table(model, tournament) is not None:
            return Command.PLAY
        return Command.REMATCH if model.is_at_table and room is not None and room.phase == "over" else None
    if tournament is not None:
        return TOURNAMENT_WORDS.get(line)
    if line in AGAIN and (room is None or room.phase != "racing"):
        return Command.REMATCH if model.finished is not None else Command.READY
    return WORDS.get(line)
