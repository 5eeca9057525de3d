"""How a friend comes to a race: its code in large letters, the line and the address to send them, and the address as a QR code."""

from __future__ import annotations

import shlex
from functools import lru_cache

from msgspec.structs import replace

from client.state.room import RoomModel
from client.state.store import Model
from client.text.width import clip, text_width
from client.tui.actions import Copy
from client.tui.drawing import cards
from client.tui.drawing.picture import EMPTY, Picture, Rect, Slot, block, centred, line_width, row
from client.tui.drawing.theme import Theme
from client.tui.scene import Scene
from client.tui.step import Step
from client.tui.ui_state import Ui
from protocol.text import clean_name

MOST_LETTERS = 6
"""A longer code is not shown as cards."""
BETWEEN = 2
"""Columns between two cards."""


def is_open(model: Model, room: RoomModel) -> bool:
    """Whether somebody can come who has the code."""
    return not model.is_at_table and any(info.name is None for info in room.seats)


def ways_in(scene: Scene, room: RoomModel, width: int) -> list[str]:
    """The line to send to a friend, and where whoever has no client can take a free seat; nothing where nobody can come."""
    command = invitation(scene.model, scene.ui)
    if not command:
        return []
    told = f"{'on this machine' if scene.ui.settings.is_near else 'in a terminal'}: {command}"
    # Said whole or not at all, as it is to be copied: the key does so in any case.
    whole = f"{told} (c copies it)"
    return [whole if text_width(whole) <= width else clip(told, width), clip(f"or in a browser: {_page(scene, room)}", width)]


def invitation(model: Model, ui: Ui) -> str:
    """The command that takes a friend to this race; empty where no seat is free for them, or there is no server to go to."""
    room = model.room
    if room is None or not ui.settings.server or not is_open(model, room):
        return ""
    # Quoted: it is to be run, and its code comes from a server.
    return shlex.join(["carpet", "join", ui.settings.server, clean_name(room.code)])


def _page(scene: Scene, room: RoomModel) -> str:
    return f"{scene.ui.settings.page}{clean_name(room.code)}"


def code_picture(scene: Scene, room: RoomModel, width: int, height: int) -> Picture:
    """The page's address as a QR code for a phone; nothing where it does not fit, cannot be drawn, or leads to this machine alone."""
    if scene.theme.is_ascii or scene.theme.bordered or scene.ui.settings.is_near or not invitation(scene.model, scene.ui):
        return block([])
    for border in (4, 2):
        drawn = block([[("card S", text)] for text in _qr_lines(_page(scene, room), border)])
        if drawn.height <= height and line_width(drawn.lines[0]) <= width:
            return drawn
    return block([])


@lru_cache(maxsize=4)
def _qr_lines(text: str, border: int) -> tuple[str, ...]:
    """A QR code, dark on light, two of its rows in one. border: free modules around it, of which the standard asks for four."""
    # Only here, since few screens show one.
    import segno

    rows = [list(row) for row in segno.make(text, error="l", micro=False).matrix_iter(border=border)]
    rows.append([0] * len(rows[0]))
    return tuple(
        "".join(" ▀▄█"[bool(upper) + 2 * bool(lower)] for upper, lower in zip(*rows[at : at + 2], strict=True))
        for at in range(0, len(rows) - 1, 2)
    )


def code_cards(code: str, theme: Theme, width: int) -> Picture:
    """The code to give away, a card for each letter."""
    if not 0 < len(code) <= MOST_LETTERS:
        # No server of ours has such codes.
        return cards.big_text(code, theme, "title", width)
    cells: list[tuple[int, Picture]] = []
    for number, letter in enumerate(code):
        card = cards.letter(letter, "card", "SHCD"[number % 4], theme)
        rect = Rect(0, 0, line_width(card.lines[0]), card.height)
        cells += [(rect.width, replace(card, slots=(Slot(f"code {number}", rect, letter),))), (BETWEEN, EMPTY)]
    return centred(row(*cells[:-1]), width)


def copy_invitation(step: Step) -> Step:
    """Copy the line to send to a friend."""
    command = invitation(step.state, step.ui)
    if not command:
        return step.note("There is nothing to copy: nobody can be invited here.")
    return step.then(Copy(command)).note("Copied, if your terminal lets programs copy.")
