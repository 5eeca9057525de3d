"""The overlays, which lie over a screen: the help page (`?`), questions to answer, and the notice that the terminal is too small."""

from __future__ import annotations

from functools import reduce

from msgspec.structs import replace

from client.state.capabilities import rules_of
from client.state.store import Model
from client.text.width import fit
from client.tui.actions import Do, Pick, PlayOnWanted, Quit, Share
from client.tui.drawing.picture import (
    MIDDLE,
    Hit,
    Line,
    Picture,
    Size,
    block,
    clip_line,
    foot,
    framed,
    hit,
    over,
    placed,
    screen,
    shifted,
    stacked,
    wrap_text,
)
from client.tui.keymap import BACK, CHOOSE, CURSOR, EVERYWHERE, GROUPS, QUIT, Binding, Command, Keys, key_rows, key_text
from client.tui.lobby.rules import rules_lines
from client.tui.scene import Scene, clock_line, head, scene_of, shown_room
from client.tui.screens import SCREENS, shown
from client.tui.step import Step, way
from client.tui.ui_state import GiveReason, LeaveFor, Question, QuitNow, Ui
from protocol.client_messages import LeaveRace
from protocol.text import clean_name, counted

HELP_KEYS: Keys = (BACK, Binding(Command.BACK, ("q",), "back", "Close this page.", shown=False))
QUESTION_KEYS: Keys = (
    CHOOSE,
    BACK,
    Binding(Command.YES, ("y",), "yes", "Yes."),
    Binding(Command.NO, ("n",), "no", "No."),
)

PROMPT_KEYS: Keys = (
    Binding(Command.PLAY, ("enter",), "done", "Accept the text."),
    Binding(Command.BACK, ("esc",), "cancel", "Cancel typing."),
)

SMALLEST = (80, 24)
"""The columns and rows that every screen needs."""

KEYS_WIDTH = 14
"""Columns for the longest list of keys, `r enter space`, plus a free one."""

HOW_TO_PLAY = (
    "Bring every card home: each suit on its foundation, from the Ace up to the King; with two decks on another one from the King",
    "down to the Ace as well. You race on the very same shuffle as the others: the first with every card home wins; otherwise most",
    "cards home, then whoever was first.",
)
HOW_TO_MOVE = (
    "Each card that can be played has a key on it: press that key. Space sends the next card home, key 1 before 2 and the waste",
    "last; G sends all that go. Or use the name of its slot (b3), the cursor and enter, or the mouse. Cards that go home are lit:",
    "{up} goes home, {down} goes home from the King down, {both} may do either; {moves} goes elsewhere. A card that can go several ways",
    "is picked up first: then press where it goes (a slot, a foundation, w, + or -), or the card again for the first way; esc lets go.",
    "In a quilt the bright cards are free: one of their narrow ends touches no other card.",
)
HERE = "Keys here"
"""The heading of the keys that the shown screen has."""
ELSEWHERE = "At home, ? tells the keys of all screens and explains all rule sets."


def help_lines(scene: Scene, width: int) -> list[Line]:
    """The whole help page: the keys of the screen first, then what one may want to know there. At home that is all there is to know."""
    infos, here = scene.model.rules, shown(scene.model, scene.ui)
    group, refused = here.group, here.refused(scene)
    keys = _keys(scene, tuple(binding for binding in here.keys if binding.command not in refused))
    moving = [[("title", "How to move")], *_told(_how_to_move(scene), width), []]
    if group in ("At home", "In menus and forms"):
        playing = [[("title", "How to play")], *_told(" ".join(HOW_TO_PLAY), width), []]
        parts = [playing, keys.pop(HERE), moving, *keys.values(), *([*rules_lines(info, width - 2), []] for info in infos)]
    else:
        room, replay = shown_room(scene), scene.ui.replay
        ours = replay.line.rules if replay is not None else rules_of(infos, room.options.rules) if room is not None else None
        rules = [[("title", "This race")], *rules_lines(ours, width - 2), []] if ours is not None else []
        more = {"In a race": [moving, rules], "Before and after a race": [rules, keys.get("In a race", []), moving]}.get(group, [rules])
        # A screen may have no keys of its own.
        parts = [keys.get(HERE, []), *more, keys["Everywhere"], [[("faint", ELSEWHERE)], []]]
    return [[], *(line for part in parts for line in part)]


def _how_to_move(scene: Scene) -> str:
    glyphs = scene.theme.glyphs
    return " ".join(HOW_TO_MOVE).format(up=glyphs.playable, down=glyphs.down, both=glyphs.both, moves=glyphs.moves)


def _keys(scene: Scene, own: Keys) -> dict[str, list[Line]]:
    """The keys of all screens by heading, with those of the shown screen under `HERE`."""
    pages: dict[str, list[Line]] = {}
    for heading, rows in help_rows(own, ascii_only=scene.theme.is_ascii):
        lines = [_key_line(keys, sentence) for keys, sentence in rows]
        pages[heading] = [[("title", heading)], *lines, []]
    return pages


def _key_line(keys: str, sentence: str) -> Line:
    return [("strong", f"  {fit(keys, KEYS_WIDTH)}"), ("felt", sentence)]


def pressable(state: Model, ui: Ui) -> Keys:
    """The rows of the help page on which a click does what their key does. A row of digits means many things."""
    return tuple(binding for binding in (*shown(state, ui).keys, *EVERYWHERE, QUIT) if len(binding.keys) < 9)


def help_rows(own: Keys = (), *, ascii_only: bool = False) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """The keys of all screens by group, each row once. own: those of the shown screen, under a heading of their own, before all others."""
    # Reversed, because the registry lists screens that lie over others first; here they come last, as do rows that several screens share.
    groups: dict[str, list[Binding]] = {group: [] for group in GROUPS}
    for each in SCREENS:
        groups.setdefault(each.group, []).extend(reversed(each.keys))
    rows = [(group, tuple(dict.fromkeys(keys))[::-1]) for group, keys in groups.items()]
    every = ("Everywhere", (*CURSOR, *EVERYWHERE, QUIT))
    further = (every, *rows, ("Questions", (*QUESTION_KEYS, *HELP_KEYS)), ("While typing", PROMPT_KEYS))
    return tuple(page for page in key_rows(((HERE, own), *further), ascii_only=ascii_only) if page[1])


def _told(text: str, width: int) -> list[Line]:
    return [[("felt", line)] for line in wrap_text(text, width - 2)]


def help_screen(scene: Scene, size: tuple[int, int]) -> Picture:
    """The help page from line `ui.help_from` on."""
    width, height = size
    inner = min(width - 4, 92)
    lines = help_lines(scene, inner)
    room = height - 3
    first = max(0, min(scene.ui.help_from or 0, len(lines) - room))
    keys = pressable(scene.model, scene.ui)
    rows = {tuple(_key_line(key_text(key, ascii_only=scene.theme.is_ascii), key.help)): at for at, key in enumerate(keys)}
    parts = [(block([line]), rows.get(tuple(line))) for line in lines[first : first + room]]
    body = shifted(stacked(*(part if at is None else hit(part, Pick(at)) for part, at in parts)), (width - inner) // 2)
    below = len(lines) - first - room
    more = block([[("title", fit(f"{counted(below, 'more line')}: j or page down", inner))] if below > 0 else []])
    return screen(
        size,
        head(scene, width),
        body,
        shifted(more, (width - inner) // 2),
        foot(HELP_KEYS, scene.theme, width, without=frozenset({Command.QUIT})),
    )


def asking(scene: Scene, below: Picture, question: Question, size: Size) -> Picture:
    """A question in a box over the screen."""
    width = min(max([len(question.text), *[len(line) + 6 for line in question.lines]]) + 4, size[0] - 8)
    told: list[Line] = [[("panel strong", f" {text}")] for text in wrap_text(question.text, width - 2)]
    parts: list[Picture] = [block([*told, []], width, role="panel")]
    for at, (line, key) in enumerate(zip(question.lines, question.keys, strict=True)):
        marked = at == scene.ui.item
        begin = f" {scene.pointer(marked)} {key}  "
        texts = [
            f"{begin if not number else ' ' * len(begin)}{text}" for number, text in enumerate(wrap_text(line, width - len(begin) - 1))
        ]
        parts.append(hit(block([[("chosen" if marked else "panel", fit(text, width))] for text in texts]), Pick(at)))
    # The keys of the screen below do nothing now.
    without = frozenset({Command.YES, Command.NO}) if question.numbered else frozenset[Command]()
    below, keys = _with_keys(scene, below, QUESTION_KEYS, size, without)
    asked = over(framed(stacked(*parts), scene.theme, width, role="panel"), below, size, scene.theme)
    return replace(asked, hits=(*asked.hits, *keys))


def typing(scene: Scene, below: Picture, size: Size) -> Picture:
    """A screen on which a line is being typed, so that its own keys are just letters."""
    drawn, keys = _with_keys(scene, below, PROMPT_KEYS, size, frozenset())
    return replace(drawn, hits=(*(each for each in drawn.hits if each.rect.row < size[1] - 1), *keys))


def _with_keys(scene: Scene, below: Picture, keys: Keys, size: Size, without: frozenset[Command]) -> tuple[Picture, tuple[Hit, ...]]:
    """A screen with other keys in its last row, and what can be clicked there."""
    row_ = foot(keys, scene.theme, size[0], without=without | {Command.HELP, Command.QUIT})
    return replace(below, lines=(*below.lines[: size[1] - 1], *row_.lines)), shifted(row_, 0, size[1] - 1).hits


def is_large_enough(size: Size) -> bool:
    """Whether the terminal has room for a screen."""
    return size[0] >= SMALLEST[0] and size[1] >= SMALLEST[1]


def too_small(scene: Scene, size: Size) -> Picture:
    """Shown instead of a screen that does not fit: what matters where one is. The race goes on, and the keys still work."""
    width, height = size
    lines: list[Line] = [[("title", "Too small")], [("felt", f"{width}x{height}; needs {SMALLEST[0]}x{SMALLEST[1]}")]]
    for role, text in _asked(scene) or _meanwhile(scene):
        lines += [[(role, line)] for line in wrap_text(text, width)]
    return placed(block([clip_line(line, width) for line in lines], width, centred=True), height, MIDDLE)


def _asked(scene: Scene) -> Line:
    """What the next keys are for, if it is not the screen below."""
    question = scene.ui.question
    if question is not None:
        return [("strong", question.text), *(("felt", f"{key}: {line}") for key, line in zip(question.keys, question.lines, strict=True))]
    if scene.ui.prompt is None and scene.ui.help_from is None:
        return []
    open_, room = "You are typing." if scene.ui.prompt is not None else "Help is open.", scene.model.room
    is_under_way = room is not None and room.phase != "waiting"
    return [("strong", f"{open_} Esc ends that."), *(_meanwhile(scene) if is_under_way else [])]


def _meanwhile(scene: Scene) -> Line:
    """A sentence and figures, each for a row of its own."""
    room = scene.model.room if scene.ui.replay is None else None
    if scene.ui.followed.ready_at_once and (room is None or room.phase == "waiting"):
        return [("felt", "The race starts in a larger window; q quits.")]
    if room is None:
        return [("felt", "A larger window shows it; q quits.")]
    own, clock = room.own, ("strong", "".join(text for _, text in clock_line(scene)))
    if room.phase == "waiting":
        free = any(info.name is None for info in room.seats) and not scene.model.is_at_table
        code = [("strong", f"The code: {clean_name(room.code)}")] if free else []
        return [*code, ("felt", "You are ready." if own is None or own.ready else "Press r when you are ready.")]
    if room.phase == "countdown":
        return [("felt", "Everybody is ready."), clock]
    others = ", ".join(str(info.home) for info in room.opponents if info.name is not None)
    home = [("strong", f"home {own.home}{f' against {others}' if others else ''}")] if own is not None else []
    return [("felt", "The race goes on, and keys still play." if room.phase == "racing" else "The race is over."), clock, *home]


# ---- what keys and clicks do


def turn_help(step: Step, command: Command, lines: int = 1) -> Step:
    """Scroll the page, or close it."""
    if command in (Command.BACK, Command.HELP):
        return step.but(help_from=None)
    if command not in (Command.UP, Command.DOWN, Command.LEFT, Command.RIGHT):
        return step
    width, height = step.ui.size
    last = max(len(help_lines(scene_of(step.state, step.ui, step.now_ms), min(width - 4, 92))) - (height - 3), 0)
    return step.but(help_from=max(min((step.ui.help_from or 0) + way(command) * lines, last), 0))


def answered(step: Step, question: Question, action: Do | Pick) -> Step:
    """Walk the lines of a question, take one, or close it."""
    match action:
        case Pick(line):
            return _answer(step, question, line)
        case Do(Command.PLAY):
            return _answer(step, question, step.ui.item)
        case Do(Command.YES | Command.NO as command) if not question.numbered:
            return _answer(step, question, 0 if command is Command.YES else 1)
        case Do(Command.BACK):
            return step.but(question=None, item=question.behind)
        case Do(Command.UP | Command.DOWN | Command.LEFT | Command.RIGHT as command):
            return step.walk(command, len(question.lines))
        case _:
            return step


def _answer(step: Step, question: Question, line: int) -> Step:
    if not 0 <= line < len(question.answers):
        return step
    step = step.but(question=None, item=question.behind)
    match question.answers[line]:
        case None:
            return step
        case QuitNow(command):
            return step.then(Quit(command=command))
        case LeaveFor(start):
            return step.but(start=start).send(LeaveRace())
        case GiveReason(about):
            return step.prompt("reason", about)
        case PlayOnWanted() as wanted:
            return step.then(Quit(wanted))
        case Share() as wanted:
            return step.note("Writing...").then(wanted)
        case tuple() as rulings:
            return reduce(Step.send, rulings, step)
        case message:
            return step.send(message)
