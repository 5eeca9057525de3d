"""The form for a new race, and what every form is: lines that change with left and right, of which the last one does it."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec.structs import asdict
from msgspec.structs import replace as changed

from client.state.capabilities import is_solvable
from client.text.formatting import rated_sentence
from client.tui.actions import Do, Pick, ScreenAction, Typed
from client.tui.keymap import BACK, CHOOSE, Command, Keys
from client.tui.picture import UPPER, Line, Picture, Size, block, clip, fit, foot, hit, screen, shifted, stacked, wrap_text
from client.tui.scene import Scene, clean_long, head, remarks
from client.tui.screen import Screen
from client.tui.step import Step, way
from protocol.client_messages import OpenRace
from protocol.forms import RACE_FORM, Field
from protocol.text import clean_chat
from protocol.views import MAX_SEATS, BotInfo, RaceOptions, RulesInfo, SeriesOptions

Value = TypeVar("Value")

KEYS: Keys = (CHOOSE, BACK)
_FIELDS = {field.name: field for field in RACE_FORM}


RULES_LINE = 0
DEAL_LINE = 4
SERIES_LINE = 7
OPEN_LINE = 10

MORE = " ... enter shows the rest"

FormLines = tuple[tuple[str, str, str], ...]
"""(what, value, explanation) for each line; the last one does it."""


def next_of(choices: tuple[Value, ...], value: Value, step: int) -> Value:
    """The one after `value`, or before it, and round again; the second one where `value` is none of them."""
    if not choices:
        return value
    at = choices.index(value) if value in choices else 0
    return choices[(at + step) % len(choices)]


# ---- how a form looks


def form_page(scene: Scene, size: tuple[int, int], title: str, lines: FormLines, hint: str) -> Picture:
    """A form with its marked line and what is to be known of that."""
    width, height = size
    inner = min(width - 4, 90)
    margin = (width - inner) // 2
    parts: list[Picture] = [block([[], [("title", title)], []])]
    pointer = scene.theme.glyphs.pointer
    for at, (what, value, _) in enumerate(lines):
        marked = at == scene.ui.item
        words = f"{fit(what, 12)} {clean_chat(value)}" if value else what
        text = fit(f"{pointer if marked else ' '} {words}", inner)
        named = 15 if value else inner
        line: Line = [("chosen", text)] if marked else [("strong", text[:named]), ("felt", text[named:])]
        if not value:
            parts.append(block([[]]))
        parts.append(hit(block([line]), Pick(at)))
    explanation = clean_long(lines[min(scene.ui.item, len(lines) - 1)][2])
    room = max(height - len(lines) - 9, 1)
    told = wrap_text(explanation, inner)
    if len(told) > room:
        told = [*told[: room - 1], f"{clip(told[room - 1], inner - len(MORE))}{MORE}"]
    parts.append(block([[], *[[("faint", text)] for text in told]]))
    parts.append(block([[], [("faint", hint)]]))
    feet = (remarks(scene, width, 1), foot(KEYS, scene.theme, width))
    return screen(size, head(scene, width), shifted(stacked(*parts), margin), *feet, above=UPPER)


def _view(scene: Scene, size: Size) -> Picture:
    assert scene.ui.form is not None
    hint = "Up and down choose a line, left and right change it, enter opens the race."
    return form_page(scene, size, "Open a race", form_lines(scene.ui.form, scene.model.rules), hint)


# ---- the form for a race


def form_lines(options: RaceOptions, rules: tuple[RulesInfo, ...]) -> FormLines:
    """The form line by line."""
    return (*(_line(field, options, rules) for field in RACE_FORM), ("Open this race", "", "You get a code to give to the others."))


def _line(field: Field, options: RaceOptions, rules: tuple[RulesInfo, ...]) -> tuple[str, str, str]:
    value = getattr(options, field.name)
    match field.name:
        case "rules":
            return rules_line(field, value, rules)
        case "bots":
            return field.label, ", ".join(value) or "none", field.explanation
        case "deal":
            words = "Left and right: any deal, or a winnable one. Enter: give the deal a name."
            return field.label, value or _random_deal(options), words
        case "rated" if not options.counts:
            return field.label, rated_sentence(options).replace("Not rated", "no"), field.explanation
        case _:
            return field.label, field.words(value), field.explain(value)


def rules_line(field: Field, value: str, rules: tuple[RulesInfo, ...]) -> tuple[str, str, str]:
    """The line of the rule set, in this form as in others."""
    chosen = next((info for info in rules if info.id == value), None)
    return field.label, chosen.name if chosen else value, f"{chosen.explanation if chosen else ''} Press enter for the list."


def form_changed(options: RaceOptions, line: int, step: int, rules: tuple[RulesInfo, ...], bots: tuple[BotInfo, ...]) -> RaceOptions:
    """The form after left (-1) or right (+1) on a line. Values go round."""
    values = asdict(options)
    match RACE_FORM[line].name if line < len(RACE_FORM) else "":
        case "rules":
            values["rules"] = next_of(tuple(info.id for info in rules), options.rules, step)
        case "seats":
            values["seats"] = (options.seats - 1 + step) % MAX_SEATS + 1
        case "bots":
            values["bots"] = next_of(_bot_choices(options.seats, bots), options.bots, step)
        case "public":
            values["public"] = not options.public
        case "deal":
            values |= {"deal": None, "winnable": options.deal is None and not options.winnable}
        case "time_limit_s":
            values["time_limit_s"] = next_of(_offered("time_limit_s"), options.time_limit_s, step)
        case "countdown_s":
            values["countdown_s"] = (options.countdown_s - 1 + step) % 10 + 1
        case "series":
            values["series"] = next_of(_offered("series"), options.series, step)
            if values["series"].format == "swap":
                values |= {"seats": 2, "deal": None, "winnable": False}
            elif values["series"].format == "best-of":
                values["seats"] = max(options.seats, 2)
        case "rated":
            values["rated"] = not options.rated
        case "autoplay":
            values["autoplay"] = not options.autoplay
        case _:
            pass
    # Where the server cannot tell which deals can be won, it is not asked for one.
    values["winnable"] = values["winnable"] and is_solvable(values["rules"], rules)
    values["bots"] = values["bots"][: max(values["seats"] - 1, 0)]
    return _fitting(RaceOptions(**values))


def _offered(name: str) -> tuple[Any, ...]:
    return tuple(choice.value for choice in _FIELDS[name].choices)


def with_deal(options: RaceOptions, deal: str | None) -> RaceOptions:
    """The form with a named deal, or with a random one."""
    return _fitting(changed(options, deal=deal, winnable=deal is None and options.winnable))


def with_rules(options: RaceOptions, chosen: str, rules: tuple[RulesInfo, ...]) -> RaceOptions:
    """The form with another rule set; the wish for a winnable deal is taken back where there are none to be had."""
    return changed(options, rules=chosen, winnable=options.winnable and is_solvable(chosen, rules))


def _fitting(options: RaceOptions) -> RaceOptions:
    """The options without a series that they leave no room for."""
    swap = options.swaps and (options.seats != 2 or options.deal is not None or options.winnable)
    alone = options.series.format == "best-of" and options.seats < 2
    return changed(options, series=SeriesOptions()) if swap or alone else options


def _random_deal(options: RaceOptions) -> str:
    return "random, one that can be won" if options.winnable else "random, provably fair"


def _bot_choices(seats: int, bots: tuple[BotInfo, ...]) -> tuple[tuple[str, ...], ...]:
    counts = range(1, max(seats, 1))
    return ((), *[(bot.name,) * count for count in counts for bot in bots])


# ---- what keys and clicks do


def opened(step: Step) -> Step:
    """The form for a race at the rules that were chosen last, the line marked that opens it."""
    return step.but(form=with_rules(RaceOptions(), step.ui.rules, step.state.rules), item=OPEN_LINE)


def _update(step: Step, action: ScreenAction) -> Step:
    options, state = step.ui.form, step.state
    if options is None:
        return step
    match action:
        case Do(Command.UP | Command.DOWN as command):
            return step.walk(command, len(form_lines(options, state.rules)))
        case Do(Command.LEFT | Command.RIGHT as command):
            return _change(step, options, way(command))
        case Do(Command.PLAY):
            return _take(step, options)
        case Pick(line):
            return _take(step.but(item=line), options)
        case Do(Command.BACK):
            return step.but(form=None, item=0)
        case Typed("deal", text):
            return step.but(form=with_deal(options, clean_chat(text)[:100] or None))
        case _:
            return step


def _take(step: Step, options: RaceOptions) -> Step:
    if step.ui.item == OPEN_LINE:
        return step.send(OpenRace(options=options))
    if step.ui.item == DEAL_LINE:
        return step.prompt("deal")
    if step.ui.item == RULES_LINE:
        return step.list_rules(options.rules)
    return _change(step, options, 1)


def _change(step: Step, options: RaceOptions, by: int) -> Step:
    return step.but(form=form_changed(options, step.ui.item, by, step.state.rules, step.state.bots))


SCREEN = Screen("form", "At home", KEYS, lambda state, ui: state.room is None and ui.form is not None, _update, _view)
