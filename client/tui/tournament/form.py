"""The form for a new tournament; it looks like the form for a race."""

from __future__ import annotations

from msgspec.structs import replace as changed

from client.state.store import Model
from client.text.tournaments import title_text
from client.tui.drawing.picture import Picture, Size
from client.tui.lobby.form import KEYS, Form, FormLines, form_page, next_of, offered, rules_line
from client.tui.scene import Scene
from client.tui.screen import Screen
from protocol.forms import USUAL_DEALS, USUAL_NAME, Field, TournamentDraft, tournament_fields
from protocol.text import clean_chat
from protocol.tournament_messages import CreateTournament
from protocol.tournaments import ENTRY_CODE_LENGTH, TITLE_LENGTH
from protocol.views import RulesInfo

CREATE_REFERENCE = 2**31 - 6
"""The `ref` of the request for a new tournament, to recognise its answer."""


def tournament_form_lines(options: TournamentDraft, rules: tuple[RulesInfo, ...]) -> FormLines:
    """The lines of the form."""
    fields = tournament_fields(options.format)
    return (
        *(_line(field, options, rules) for field in fields),
        ("Create it", "", "You will be its director. Press i there to play as well."),
    )


def _line(field: Field, options: TournamentDraft, rules: tuple[RulesInfo, ...]) -> tuple[str, str, str]:
    value = getattr(options, field.name)
    match field.name:
        case "name":
            return field.label, title_text(value), "Press enter to type another."
        case "rules":
            return rules_line(field, value, rules)
        case "code":
            return field.label, value or "none", f"{field.explanation} Press enter to type it."
        case "pause_s" if value is None:
            return field.label, f"{field.words(value)} (N)", field.explanation
        case _:
            return field.label, field.words(value), field.explain(value)


def _changed(options: TournamentDraft, field: Field, by: int, state: Model) -> TournamentDraft:
    choices = tuple(bot.name for bot in state.bots) if field.name == "bot" else offered(field, state.rules)
    value = next_of(choices, getattr(options, field.name), by)
    if field.name == "format":
        # Only two formats have a number of rounds, and only the two others can be doubled.
        return changed(options, format=value, rounds=USUAL_DEALS if value == "session" else 0, double=False)
    return changed(options, **{field.name: value})


def _view(scene: Scene, size: Size) -> Picture:
    assert scene.ui.tournament_form is not None
    hint = "Up and down choose a line, left and right change it; the last one makes it."
    return form_page(scene, size, "Create a tournament", tournament_form_lines(scene.ui.tournament_form, scene.model.rules), hint)


_FORM = Form(
    "tournament_form",
    lambda options: tournament_fields(options.format),
    _changed,
    typed={
        "name": ("title", lambda draft, text: changed(draft, name=clean_chat(text)[:TITLE_LENGTH].strip() or USUAL_NAME)),
        "code": ("entry", lambda draft, text: changed(draft, code=text[:ENTRY_CODE_LENGTH].strip() or None)),
    },
    request=lambda draft: CreateTournament(options=draft.options, code=draft.code, ref=CREATE_REFERENCE),
)

SCREEN = Screen(
    "tournament-form",
    "In menus and forms",
    KEYS,
    lambda state, ui: state.room is None and ui.tournament_form is not None,
    _FORM.update,
    _view,
)
