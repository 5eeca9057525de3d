"""The menu that `carpet` alone opens, before there is any server. Each choice is a command, which is run when the menu has closed."""

from __future__ import annotations

from typing import NamedTuple

from client.connection.address import BadAddress, parse_address, place_and_code
from client.text.width import fit
from client.tui.actions import Do, Pick, Quit, ScreenAction, Typed
from client.tui.drawing.picture import UPPER, Line, Picture, Size, block, foot, hit, screen, shifted, stacked, wrap_text
from client.tui.keymap import CHOOSE, Command, Keys
from client.tui.lobby.home import WIDTH, banner
from client.tui.scene import Scene, head, remarks
from client.tui.screen import Screen
from client.tui.start import StartMenu
from client.tui.step import Step
from client.tui.ui_state import Prompt, Ui
from protocol.text import is_room_code

KEYS: Keys = (CHOOSE,)


class _Item(NamedTuple):
    """A line of the menu. asks: first ask for a server, which is then given to the command. chooses: the command has more to choose, on a
    screen, for those who are not new."""

    command: str
    label: str
    help: str
    asks: bool = True
    chooses: bool = False


ITEMS = (
    _Item("play", "Race a house bot", "On this machine: nothing else is needed.", asks=False, chooses=True),
    _Item(
        "home",
        "Race a friend",
        "Name the server where you meet, or paste the line that your friend sent you: carpet join SERVER CODE.\n"
        "No server yet? One of you runs: carpet-server serve --host 0.0.0.0",
    ),
    _Item("daily", "Deal of the day", "At a server: the same shuffle for everybody, and one try each."),
    _Item("watch", "Watch a race", "At a server: the closest race, and then the next."),
    _Item("replay", "Replay your last race", "Both boards side by side: play, pause, step or jump.", asks=False),
    _Item("me", "You", "Your rating over time, your best times, and your last races, to watch again.", asks=False),
    _Item("learn", "Learn in a minute", "A practice deal that waits for you, and shows you the six keys you need.", asks=False),
)
LABEL = 26


def items_of(ui: Ui) -> tuple[_Item, ...]:
    """The lines of the menu; for a newcomer the lesson comes first."""
    is_new = isinstance(ui.start, StartMenu) and ui.start.is_new
    return (*ITEMS[-1:], *ITEMS[:-1]) if is_new else ITEMS


def _view(scene: Scene, size: Size) -> Picture:
    """The whole screen as a picture."""
    width = size[0]
    inner = min(width, WIDTH) - 4
    items = items_of(scene.ui)
    lines = [_line(scene, at, item) for at, item in enumerate(items)]
    # A command stands in a line of its own, whole.
    told = [text for part in items[min(scene.ui.item, len(items) - 1)].help.split("\n") for text in wrap_text(part, inner)]
    more = "carpet --help lists all commands."
    body = stacked(*lines, block([[], *[[("strong", text)] for text in told], [], [("faint", more)]]))
    feet = (remarks(scene, width, 2), foot(KEYS, scene.theme, width))
    return screen(size, head(scene, width), stacked(banner(scene, size), shifted(body, (width - inner) // 2)), *feet, above=UPPER)


def _line(scene: Scene, at: int, item: _Item) -> Picture:
    marked = scene.ui.item == at
    line: Line = [("chosen" if marked else "felt", fit(f"{scene.pointer(marked)} {item.label}", LABEL))]
    return hit(block([line]), Pick(at))


def _update(step: Step, action: ScreenAction) -> Step:
    match action:
        case Do(Command.UP | Command.DOWN | Command.LEFT | Command.RIGHT as command):
            return step.walk(command, len(ITEMS))
        case Do(Command.PLAY):
            return _take(step)
        case Pick(line):
            return _take(step.but(item=line))
        case Typed("server", text):
            return _go(step, items_of(step.ui)[step.ui.item].command, text.split())
        case _:
            return step


def _take(step: Step) -> Step:
    item, start = items_of(step.ui)[step.ui.item], step.ui.start
    if not item.asks:
        # Whoever is new is taught by their first race, and has nothing to choose by yet.
        more = ("--choose",) if item.chooses and not (isinstance(start, StartMenu) and start.is_new) else ()
        return step.then(Quit(command=(item.command, *more)))
    offered = start.server if isinstance(start, StartMenu) else ""
    return step.but(prompt=Prompt("server", offered, len(offered)))


def _go(step: Step, command: str, words: list[str]) -> Step:
    """Go to the server that was typed, or to a race there by its code or link. A whole command, as others read it out, will do."""
    place, code = place_and_code(words)
    try:
        url = parse_address(place).url
    except BadAddress as error:
        return step.note(str(error))
    if not code or command == "daily":
        return step.then(Quit(command=(command, url)))
    if not is_room_code(code):
        return step.note(f"{code!r} is not the code of a race, which is six letters.")
    return step.then(Quit(command=("join" if command == "home" else command, url, code)))


SCREEN = Screen("menu", "In menus and forms", KEYS, lambda state, ui: isinstance(ui.start, StartMenu), _update, _view, scrolls=True)
