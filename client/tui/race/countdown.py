"""The last seconds before the start: the table with a back wherever a card is going to lie, and over it how many seconds are left.

Nobody has been sent a card yet: where the backs lie is known from the rule set alone.
"""

from __future__ import annotations

from collections.abc import Hashable

from msgspec.structs import replace

from client.state.capabilities import rules_of
from client.state.room import RoomModel, race_clock_ms
from client.tui.drawing import cards
from client.tui.drawing.picture import MIDDLE, Picture, Rect, Size, block, foot, line_width, placed, put, screen, shifted, stacked
from client.tui.keymap import LEAVE, TALK, Keys
from client.tui.race import racing
from client.tui.room import refused_alone, room_update
from client.tui.scene import Scene, head, remarks
from client.tui.screen import Screen
from client.tui.table.grid import LABELS
from protocol.cards import FACE_DOWN
from protocol.views import RulesInfo, View

KEYS: Keys = (TALK, LEAVE)
NUMBER_WIDTH = 13
"""Columns of the card with the seconds, of which there may be ten."""
RESERVE = "p"
"""With what the names of reserves begin."""


def _view(scene: Scene, size: Size) -> Picture:
    width, height = size
    room = scene.model.room
    assert room is not None
    number = cards.letter(str(_seconds(scene, room)), "lit", "S", scene.theme, width=NUMBER_WIDTH)
    words = "Get set!" if len(room.seats) == 1 else "Everybody is ready. Get set!"
    hint = block([[("hint", f" {scene.theme.glyphs.pointer} {words}")]])
    keys_line = foot(KEYS, scene.theme, width, without=refused_alone(scene))
    info = rules_of(scene.model.rules, room.options.rules)
    if info is None or info.columns < 1 or info.rows < 1:
        body = shifted(number, (width - NUMBER_WIDTH) // 2)
        return screen(size, head(scene, width), body, hint, remarks(scene, width, 2), keys_line, above=MIDDLE)
    # What was said stands below the table, whether or not there will be room for it beside it.
    laid = replace(scene.model, room=replace(room, view=_face_down(info), chat=()))
    table = racing.SCREEN.view(replace(scene, model=laid, ui=replace(scene.ui, cursor="")), size)
    table = _over_the_middle(number, placed(table, height - racing.FEET))
    # Where the race is going to say what can be done.
    margin = table.slots[0].rect.column - LABELS if height >= racing.TALL else 0
    return stacked(table, shifted(stacked(hint, remarks(scene, width - margin, 2)), margin), keys_line)


def _seconds(scene: Scene, room: RoomModel) -> int:
    """Seconds to the start, rounded up."""
    return (max(-race_clock_ms(room.started_at_ms, scene.clock_ms), 0) + 999) // 1000


def _face_down(info: RulesInfo) -> View:
    """The table as the rule set lays it, of which nothing is known but where cards will lie."""
    places = [f"{letter}{row + 1}" for row in range(min(info.rows, 9)) for letter in "abcdefghij"[: info.columns]]
    places += [f"{RESERVE}{number + 1}" for number in range(min(info.reserves, 9))]
    piles: dict[str, tuple[str, ...]] = dict.fromkeys(places, (FACE_DOWN,))
    return View(piles=piles, waste=(), stock=0, stock_next=(), foundations={}, pending=None, redeals=0, home=0, moves=())


def _over_the_middle(card: Picture, table: Picture) -> Picture:
    """A card in the middle of those that lie face down, with a little of the table around it. Nothing can be pressed there yet."""
    backs = tuple(slot for slot in table.slots if slot.card == FACE_DOWN)
    carpet = [slot.rect for slot in backs if slot.place[0] != RESERVE]
    first, last = carpet[0], carpet[-1]
    width = line_width(card.lines[0])
    column, row = (first.column + last.column + last.width - width) // 2, (first.row + last.row + last.height - card.height) // 2
    lines = list(table.lines)
    put(lines, Rect(column - 1, row, width + 2, card.height), [[("felt", " "), *line, ("felt", " ")] for line in card.lines])
    return Picture(tuple(lines), slots=backs, large=shifted(card, column, row).large)


def _times(scene: Scene) -> Hashable:
    room = scene.model.room
    return None if room is None else _seconds(scene, room)


SCREEN = Screen(
    "countdown",
    "Before and after a race",
    KEYS,
    lambda state, ui: state.room is not None and state.room.phase == "countdown",
    room_update,
    _view,
    times=_times,
    refused=refused_alone,
)
