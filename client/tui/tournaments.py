"""The list of tournaments: what is open to enter, what is being played, what is over."""

from __future__ import annotations

import urwid

from client.text.tournaments import FORMAT_WORDS, PHASE_WORDS, title_text
from client.tui.frame import Line, Screen, Spot, fit, foot, lines_widget, stacked, top, window
from client.tui.keymap import Place
from client.tui.scene import Scene, head, remarks, rules_name
from protocol.text import clean_name
from protocol.tournaments import TournamentListing

NONE_YET = "There is none yet: o makes one."


def tournaments_screen(scene: Scene, size: tuple[int, int]) -> urwid.Widget:
    """The whole list as a box widget."""
    width, height = size
    listed, running = scene.model.tournaments.listed, scene.model.tournaments.running
    inner = min(width - 2, 110)
    rows = height - 1 - 2 - 4
    title: Line = [("title", "Tournaments"), ("faint", "" if listed is None else f"   {running} not over yet; newest first")]
    lines: list[urwid.Widget] = [lines_widget([[], title, [("faint", _cells("id", "name", "how", "stands", "who", inner))]])]
    if not listed:
        unknown = "Not known without a line." if scene.model.link.reason else ""
        lines.append(lines_widget([[("felt", f"  {NONE_YET if listed is not None else unknown}")]]))
    marked = scene.desk.item
    for at, listing in window(listed or (), marked, rows):
        words = f"{scene.theme.glyphs.pointer if at == marked else ' '} {_listing(scene, listing, inner - 2)}"
        line: Line = [("chosen" if at == marked else "strong" if listing.phase not in ("over", "ended") else "faint", fit(words, inner))]
        lines.append(Spot(lines_widget([line]), lambda at=at: scene.hands.pick(at)))  # type: ignore[misc]
    body = top(urwid.Padding(stacked(*lines), left=(width - inner) // 2, width=inner))
    return Screen(head(scene, width), body, remarks(scene, width, 2), foot(Place.TOURNAMENTS, scene.hands, scene.theme, width))


def _cells(id_: str, name: str, how: str, stands: str, who: str, width: int) -> str:
    """The name has what the others leave."""
    return f"  {fit(id_, 7)} {fit(name, width - 55)}  {fit(how, 19)} {fit(stands, 13)} {who:>7}"


def _listing(scene: Scene, listing: TournamentListing, width: int) -> str:
    how = f"{FORMAT_WORDS[listing.format]}, {rules_name(scene.model, listing.rules)}"
    stands = PHASE_WORDS[listing.phase] if listing.phase != "running" else f"round {listing.round}"
    if listing.by_code and listing.phase == "registration":
        stands = "open by code"
    who = f"{listing.entrants}/{listing.places}" if listing.phase == "registration" else str(listing.entrants)
    return _cells(clean_name(listing.id), title_text(listing.name), how, stands, who, width + 2)[2:]
