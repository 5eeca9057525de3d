"""The list of tournaments: those open for entry, those being played, and those over."""

from __future__ import annotations

from client.state.store import Model
from client.text.tournaments import FORMAT_WORDS, PHASE_WORDS, title_text
from client.text.width import fit
from client.tui.actions import Do, Pick, ScreenAction, Typed
from client.tui.drawing.picture import Line, Picture, Size, block, foot, hit, screen, shifted, stacked, window
from client.tui.everywhere import quit_or_ask
from client.tui.keymap import OUT, Binding, Command, Keys
from client.tui.scene import Scene, head, remarks, rules_name
from client.tui.screen import Screen
from client.tui.step import Step
from client.tui.subscriptions import follow
from client.tui.tournament_view_state import TournamentView, is_guest, lines_of
from client.tui.ui_state import Ui
from protocol.forms import USUAL_NAME, TournamentDraft
from protocol.text import clean_name, read_code
from protocol.tournaments import TournamentListing

KEYS: Keys = (
    Binding(Command.PLAY, ("enter", " "), "go there", "Go to the selected tournament."),
    Binding(Command.OPEN, ("o",), "create", "Create a tournament and direct it."),
    Binding(Command.CODE, ("c",), "by id", "Go to a tournament by its id, six letters."),
    OUT,
)
NONE_YET = "No tournaments yet. Press o to create one."


def _view(scene: Scene, size: Size) -> Picture:
    """The whole list as a picture."""
    width, height = size
    listed, running = scene.model.tournaments.listed, scene.model.tournaments.running
    inner = min(width - 2, 110)
    rows = height - 1 - 2 - 4
    title: Line = [("title", "Tournaments"), ("faint", "" if listed is None else f"   {running} open or running; newest first")]
    lines: list[Picture] = [block([[], title, [("faint", _cells("id", "name", "format", "status", "players", inner))]])]
    if not listed:
        unknown = "Not connected." if scene.model.link.reason else ""
        lines.append(block([[("felt", f"  {NONE_YET if listed is not None else unknown}")]]))
    marked = scene.ui.item
    for at, listing in window(listed or (), marked, rows):
        words = f"{scene.pointer(at == marked)} {_listing(scene, listing, inner - 2)}"
        line: Line = [("chosen" if at == marked else "strong" if listing.phase not in ("over", "ended") else "faint", fit(words, inner))]
        lines.append(hit(block([line]), Pick(at)))
    body = shifted(stacked(*lines), (width - inner) // 2)
    return screen(size, head(scene, width), body, remarks(scene, width, 2), foot(KEYS, scene.theme, width))


def _cells(id_: str, name: str, how: str, stands: str, who: str, width: int) -> str:
    """A row of the list. The name gets the columns that the others leave."""
    most = min(max(width - 78, 20), 34)
    return f"  {fit(id_, 7)} {fit(name, width - 36 - most)}  {fit(how, most - 1)}  {fit(stands, 13)} {who:>7}"


def _listing(scene: Scene, listing: TournamentListing, width: int) -> str:
    how = f"{FORMAT_WORDS[listing.format]}, {rules_name(scene.model, listing.rules)}"
    stands = PHASE_WORDS[listing.phase] if listing.phase != "running" else f"round {listing.round}"
    if listing.by_code and listing.phase == "registration":
        stands = "open by code"
    who = f"{listing.entrants}/{listing.places}" if listing.phase == "registration" else str(listing.entrants)
    return _cells(clean_name(listing.id), title_text(listing.name), how, stands, who, width + 2)[2:]


# ---- what keys and clicks do


def _update(step: Step, action: ScreenAction) -> Step:
    view_state = step.ui.tournament_view
    if view_state is None:
        return step
    match action:
        case Do(Command.UP | Command.DOWN | Command.LEFT | Command.RIGHT as command):
            return step.walk(command, len(lines_of(step.state, view_state)))
        case Do(Command.PLAY):
            return _go(step, step.ui.item)
        case Pick(line):
            return _go(step.but(item=line), line)
        case Do(Command.OPEN):
            return step.but(tournament_form=TournamentDraft(name=USUAL_NAME), item=0)
        case Do(Command.CODE):
            return step.prompt("tournament")
        case Typed("tournament", text) if id_ := read_code(text):
            return follow(step.but(tournament_view=TournamentView(id_[:16]), item=0))
        case Do(Command.BACK) if is_guest(step.state):
            # A guest, who only watches, has nothing to do at home.
            return quit_or_ask(step)
        case Do(Command.BACK):
            return follow(step.but(tournament_view=None, item=0))
        case _:
            return step


def _go(step: Step, line: int) -> Step:
    listed = step.state.tournaments.listed or ()
    return follow(step.but(tournament_view=TournamentView(listed[line].id), item=0)) if 0 <= line < len(listed) else step


def _is_shown(state: Model, ui: Ui) -> bool:
    return state.room is None and ui.tournament_view is not None and ui.tournament_view.id is None


SCREEN = Screen(
    "tournaments",
    "At a tournament",
    KEYS,
    _is_shown,
    _update,
    _view,
    scrolls=True,
    lines=lambda state, ui: lines_of(state, ui.tournament_view),
)
