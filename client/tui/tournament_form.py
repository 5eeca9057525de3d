"""The form for a new tournament; it looks as the form for a race does."""

from __future__ import annotations

from msgspec.structs import replace as changed

from client.text.tournaments import title_text
from client.tui.actions import Do, Pick, ScreenAction, Typed
from client.tui.form import KEYS, FormLines, form_page, next_of, rules_line
from client.tui.keymap import Command
from client.tui.picture import Picture, Size
from client.tui.scene import Scene
from client.tui.screen import Screen
from client.tui.step import Step, way
from protocol.forms import USUAL_DEALS, USUAL_NAME, Field, Value, tournament_fields
from protocol.text import clean_chat
from protocol.tournament_messages import CreateTournament
from protocol.tournaments import TITLE_LENGTH, TournamentOptions
from protocol.views import BotInfo, RulesInfo

CREATE_REFERENCE = 2**31 - 6
"""`ref` of the request for a new tournament, by which its answer is known."""
NAME_LINE = 0
RULES_LINE = 3
MAKE_LINE = 11


def tournament_form_lines(options: TournamentOptions, rules: tuple[RulesInfo, ...]) -> FormLines:
    """The form line by line."""
    fields = tournament_fields(options.format)
    return (
        *(_line(field, options, rules) for field in fields),
        ("Create it", "", "You will be its director. Press i there to play as well."),
    )


def _line(field: Field, options: TournamentOptions, rules: tuple[RulesInfo, ...]) -> tuple[str, str, str]:
    value = getattr(options, field.name)
    match field.name:
        case "name":
            return field.label, title_text(value), "Press enter to type another."
        case "rules":
            return rules_line(field, value, rules)
        case "pause_s" if value is None:
            return field.label, f"{field.words(value)} (N)", field.explanation
        case _:
            return field.label, field.words(value), field.explain(value)


def tournament_form_changed(
    options: TournamentOptions, line: int, step: int, rules: tuple[RulesInfo, ...], bots: tuple[BotInfo, ...]
) -> TournamentOptions:
    """The form after left (-1) or right (+1) on a line. Values go round."""
    fields = tournament_fields(options.format)
    if line >= len(fields):
        return options
    field = fields[line]
    offered: tuple[Value, ...] = tuple(choice.value for choice in field.choices)
    if field.name == "rules":
        offered = tuple(info.id for info in rules)
    elif field.name == "bot":
        offered = tuple(bot.name for bot in bots)
    value = next_of(offered, getattr(options, field.name), step)
    if field.name == "format":
        # Rounds are of two formats alone, and doubling of the two others.
        return changed(options, format=value, rounds=USUAL_DEALS if value == "session" else 0, double=False)
    return changed(options, **{field.name: value})


# ---- what keys and clicks do


def _view(scene: Scene, size: Size) -> Picture:
    assert scene.ui.tournament_form is not None
    hint = "Up and down choose a line, left and right change it; the last one makes it."
    return form_page(scene, size, "Create a tournament", tournament_form_lines(scene.ui.tournament_form, scene.model.rules), hint)


def _update(step: Step, action: ScreenAction) -> Step:
    options = step.ui.tournament_form
    if options is None:
        return step
    match action:
        case Do(Command.UP | Command.DOWN as command):
            return step.walk(command, len(tournament_form_lines(options, step.state.rules)))
        case Do(Command.LEFT | Command.RIGHT as command):
            return _change(step, options, way(command))
        case Do(Command.PLAY):
            return _take(step, options)
        case Pick(line):
            return _take(step.but(item=line), options)
        case Do(Command.BACK):
            return step.but(tournament_form=None, item=0)
        case Typed("title", text):
            return step.but(tournament_form=changed(options, name=clean_chat(text)[:TITLE_LENGTH].strip() or USUAL_NAME))
        case _:
            return step


def _take(step: Step, options: TournamentOptions) -> Step:
    if step.ui.item == MAKE_LINE:
        return step.send(CreateTournament(options=options, ref=CREATE_REFERENCE))
    if step.ui.item == NAME_LINE:
        return step.prompt("title")
    if step.ui.item == RULES_LINE:
        return step.list_rules(options.rules)
    return _change(step, options, 1)


def _change(step: Step, options: TournamentOptions, by: int) -> Step:
    return step.but(tournament_form=tournament_form_changed(options, step.ui.item, by, step.state.rules, step.state.bots))


SCREEN = Screen("tournament-form", "At home", KEYS, lambda state, ui: state.room is None and ui.tournament_form is not None, _update, _view)
