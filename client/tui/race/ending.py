"""The ending: after the last card has gone home, cards fall over the table until all have fallen or a key is pressed.

Whoever sends their last cards home by hand often presses once too often, so the first moment takes keys and does nothing.
"""

from __future__ import annotations

from msgspec.structs import replace

from client.state.room import RoomModel
from client.state.store import Model
from client.tui.actions import After, Rest, ScreenAction, SendNextHome
from client.tui.drawing import cards
from client.tui.drawing.picture import Falling, Picture, Rect, Size
from client.tui.drawing.transitions import FALL_MS
from client.tui.race import racing
from client.tui.scene import Scene
from client.tui.screen import Screen
from client.tui.step import Step
from client.tui.ui_state import Ui
from protocol.cards import RANKS
from protocol.seat_ends import SEAT_ENDS, end_among
from protocol.views import SeatInfo

CARDS = 16
"""This many cards fall, Kings first."""


def _view(scene: Scene, size: Size) -> Picture:
    room = _room(scene.model)
    picture = racing.SCREEN.view(replace(scene, model=replace(scene.model, room=room)), size)
    homes = [slot for slot in picture.slots if room is not None and room.view is not None and slot.place in room.view.foundations]
    card = cards.MEDIUM if size[0] >= 120 else cards.SMALL
    # Draw the edges of the cards: without them the trails would be one bright heap.
    theme = replace(scene.theme, bordered=True)
    falls = [
        Falling(Rect(home.rect.column, home.rect.row, card.width, card.height), tuple(cards.face(rank + home.place[0], card, theme)))
        for rank in RANKS[::-1]
        for home in homes
    ]
    return replace(picture, hits=(), falls=tuple(falls[:CARDS]))


def begun(step: Step, before: RoomModel | None) -> Step:
    """Let the cards fall if this player has just brought the last one home and has motion on. Unless they have chosen to end
    their race themselves, keys for the table do nothing for a moment, now and when the result comes."""
    room = step.state.room
    if room is None or room.own is None or before is None or before.own is None or room.view is None or before.race != room.race:
        return step
    # Ask when the seat ends: that is before the race ends, if only by a moment.
    has_ended = before.own.state == "racing" and room.own.state != "racing"
    if (has_ended or (before.phase == "racing" and room.phase == "over")) and not _is_chosen(room, room.own):
        step = step.come_by_itself(racing.TABLE_KEYS)
    falls = has_ended and room.own.state == "won" and step.ui.settings.motion
    return step.but(falls=True).then(After(FALL_MS, Rest())) if falls else step


def _is_chosen(room: RoomModel, own: SeatInfo) -> bool:
    """Whether the player has ended their race themselves. A seat is also stopped when another wins, or when the last opponent gives up."""
    # Whoever comes back to a race that is over is told when each seat's last move counted: when it ended, only the record says.
    end = end_among(room.ended[own.seat], room.ended) if room.ended else end_among(own, room.seats)
    return end in (SEAT_ENDS["forfeited"], SEAT_ENDS["stopped"])


def _ended(step: Step, action: ScreenAction | str) -> Step:
    """Any action or key ends it, except for a leftover timer for sending the next card home."""
    return step if isinstance(action, SendNextHome) else step.but(falls=False)


def _room(state: Model) -> RoomModel | None:
    """The room with the race that has ended. In a series the next race is open at once."""
    return state.room if state.room is not None and state.room.phase == "racing" else state.finished


def _is_shown(state: Model, ui: Ui) -> bool:
    room = _room(state)
    return ui.falls and room is not None and room.view is not None


SCREEN = Screen("ending", "In a race", (), _is_shown, _ended, _view, type_key=_ended)
