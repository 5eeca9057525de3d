"""How each place on the table looks now: playable, held, ready to take the held card, in the shade. Pure, derived from the moves."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from client.game.board import Board, free_slots, is_upright
from client.game.moves import choices, fillable, goes_home, homeward, moves_from, source
from client.state.room import RoomModel
from client.tui.drawing.cards import Ink
from client.tui.drawing.theme import Theme
from client.tui.ui_state import Ui
from protocol.views import View

_NONE: frozenset[str] = frozenset()


class Marks(Struct, frozen=True):
    """lit: cards that stand out because they go home, or are all that can be played, or may take the held card. gaps: gaps to fill."""

    view: View
    board: Board
    cursor: str
    held: str = ""
    lit: frozenset[str] = _NONE
    takes: frozenset[str] = _NONE
    gaps: frozenset[str] = _NONE
    free: frozenset[str] | None = None
    plays: bool = True

    def look(self, place: str) -> Ink:
        """The look of the card at a place."""
        if place == self.held:
            return "held"
        if place in self.lit:
            return "lit"
        if self.free is None or place not in self.view.piles or place in self.board.reserves:
            return "card"
        if is_upright(place):
            return "card" if place in self.free else "dim"
        return "side" if place in self.free else "dimside"

    def sign(self, place: str, theme: Theme) -> str:
        """The sign on the card at a place: which way it goes home, that it can go elsewhere, or that it can take the held card."""
        glyphs = theme.glyphs
        if self.held:
            return glyphs.takes if place in self.takes else " "
        moves = moves_from(self.view, place) if self.plays else ()
        home = [move for move in moves if goes_home(move)]
        if len(home) > 1:
            return glyphs.both
        if home:
            return glyphs.down if home[0].endswith("-") else glyphs.playable
        return glyphs.moves if moves else " "


def marks_at_rest(view: View, board: Board, cursor: str = "") -> Marks:
    """The marks of a table where this viewer can play nothing."""
    free = free_slots(board, view) if board.family == "quilt" else None
    return Marks(view, board, cursor, free=free, plays=False)


def marks_of(room: RoomModel, view: View, board: Board, ui: Ui, *, is_connected: bool) -> Marks:
    """The marks of the player's table. Once their part has ended, and without a connection, nothing is marked as playable."""
    rest = marks_at_rest(view, board, ui.cursor)
    if room.own is not None and room.own.state not in ("waiting", "racing"):
        return rest
    if not is_connected:
        return replace(rest, held=ui.held)
    if ui.held:
        takes = choices(view, ui.held)
        return replace(rest, held=ui.held, lit=takes, takes=takes, gaps=takes, plays=True)
    lit = frozenset(homeward(view))
    if not lit and "s" not in view.moves:
        lit = frozenset(source(move) for move in view.moves)
    return replace(rest, lit=lit, gaps=fillable(view), plays=True)
