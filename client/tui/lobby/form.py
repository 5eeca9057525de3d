"""The form for a new race, and what every form has: lines that left and right change, and a last line that submits it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace as changed

from client.state.capabilities import is_solvable
from client.state.store import Model
from client.text.formatting import rated_sentence
from client.text.width import clip, fit
from client.tui.actions import Do, Pick, PromptKind, ScreenAction, Typed
from client.tui.drawing.picture import UPPER, Line, Picture, Size, block, foot, hit, screen, shifted, stacked, wrap_text
from client.tui.keymap import BACK, CHOOSE, Command, Keys
from client.tui.scene import Scene, clean_long, head, remarks
from client.tui.screen import Screen
from client.tui.step import Step, way
from protocol.client_messages import ClientMessage, OpenRace
from protocol.forms import RACE_FORM, Field, TournamentDraft
from protocol.text import clean_chat
from protocol.views import BotInfo, RaceOptions, RulesInfo, SeriesOptions

Value = TypeVar("Value")
Options = TypeVar("Options", RaceOptions, TournamentDraft)

KEYS: Keys = (CHOOSE, BACK)

MORE = " ... enter shows the rest"

FormLines = tuple[tuple[str, str, str], ...]
"""(what, value, explanation) for each line; the last line submits the form."""


def next_of(choices: tuple[Value, ...], value: Value, step: int) -> Value:
    """The choice after or before `value`, wrapping around; the second choice if `value` is not among them."""
    if not choices:
        return value
    at = choices.index(value) if value in choices else 0
    return choices[(at + step) % len(choices)]


# ---- how a form looks


def form_page(scene: Scene, size: tuple[int, int], title: str, lines: FormLines, hint: str) -> Picture:
    """A form with its marked line and the explanation of that line."""
    width, height = size
    inner = min(width - 4, 90)
    margin = (width - inner) // 2
    # Where a long form would leave no row for a remark, it goes without an empty row, or up to three.
    saved = max(min(len(lines) + 11 - height, 3), 0)
    parts: list[Picture] = [block([*([] if saved else [[]]), [("title", title)], *([] if saved > 2 else [[]])])]
    for at, (what, value, _) in enumerate(lines):
        marked = at == scene.ui.item
        words = f"{fit(what, 12)} {clean_chat(value)}" if value else what
        text = fit(f"{scene.pointer(marked)} {words}", inner)
        named = 15 if value else inner
        line: Line = [("chosen", text)] if marked else [("strong", text[:named]), ("felt", text[named:])]
        if not value:
            parts.append(block([[]]))
        parts.append(hit(block([line]), Pick(at)))
    explanation = clean_long(lines[min(scene.ui.item, len(lines) - 1)][2])
    room = max(height - len(lines) - 10 + saved, 1)
    told = wrap_text(explanation, inner)
    if len(told) > room:
        told = [*told[: room - 1], f"{clip(told[room - 1], inner - len(MORE))}{MORE}"]
    parts.append(block([[], *[[("faint", text)] for text in told]]))
    parts.append(block([*([] if saved > 1 else [[]]), [("faint", hint)]]))
    feet = (remarks(scene, width, 1), foot(KEYS, scene.theme, width))
    return screen(size, head(scene, width), shifted(stacked(*parts), margin), *feet, above=UPPER)


# ---- what keys and clicks do in every form


class Form(Struct, Generic[Options], frozen=True):
    """name: the field of `Ui` with the options. fields: one a line; one more line sends `request`. changed: the options after left (-1) or
    right (+1) on a field's line, wrapping around. typed: the fields whose lines ask for a text, each with the kind of that text and how
    it changes the options.
    """

    name: Literal["form", "tournament_form"]
    fields: Callable[[Options], tuple[Field, ...]]
    changed: Callable[[Options, Field, int, Model], Options]
    typed: Mapping[str, tuple[PromptKind, Callable[[Options, str], Options]]]
    request: Callable[[Options], ClientMessage]

    def update(self, step: Step, action: ScreenAction) -> Step:
        options = getattr(step.ui, self.name)
        if options is None:
            return step
        match action:
            case Do(Command.UP | Command.DOWN as command):
                return step.walk(command, len(self.fields(options)) + 1)
            case Do(Command.LEFT | Command.RIGHT as command):
                return self._change(step, options, way(command))
            case Do(Command.PLAY):
                return self._take(step, options)
            case Pick(line):
                return self._take(step.but(item=line), options)
            case Do(Command.BACK):
                return step.but(**{self.name: None, "item": 0})
            case Typed(kind, text):
                with_text = next((change for asked, change in self.typed.values() if asked == kind), None)
                return step if with_text is None else step.but(**{self.name: with_text(options, text)})
            case _:
                return step

    def _take(self, step: Step, options: Options) -> Step:
        field = self._marked(step, options)
        if field is None:
            return step.send(self.request(options))
        if field.name in self.typed:
            return step.prompt(self.typed[field.name][0])
        if field.name == "rules":
            return step.list_rules(options.rules)
        return self._change(step, options, 1)

    def _change(self, step: Step, options: Options, by: int) -> Step:
        field = self._marked(step, options)
        return step if field is None else step.but(**{self.name: self.changed(options, field, by, step.state)})

    def _marked(self, step: Step, options: Options) -> Field | None:
        """The field of the marked line; None on the last line."""
        fields = self.fields(options)
        return fields[step.ui.item] if step.ui.item < len(fields) else None


def offered(field: Field, rules: tuple[RulesInfo, ...]) -> tuple[Any, ...]:
    """The values of a field that left and right step through."""
    return tuple(info.id for info in rules) if field.name == "rules" else tuple(choice.value for choice in field.choices)


# ---- the form for a race


def _view(scene: Scene, size: Size) -> Picture:
    assert scene.ui.form is not None
    hint = "Up and down choose a line, left and right change it; the last opens the race."
    return form_page(scene, size, "Open a race", form_lines(scene.ui.form, scene.model.rules), hint)


def form_lines(options: RaceOptions, rules: tuple[RulesInfo, ...]) -> FormLines:
    """The lines of the form."""
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
    """The line for the rule set, shared by all forms."""
    chosen = next((info for info in rules if info.id == value), None)
    return field.label, chosen.name if chosen else value, f"{chosen.explanation if chosen else ''} Press enter for the list."


def _changed(options: RaceOptions, field: Field, by: int, state: Model) -> RaceOptions:
    if field.name == "deal":
        options = changed(options, deal=None, winnable=options.deal is None and not options.winnable)
    else:
        choices = _bot_choices(options.seats, state.bots) if field.name == "bots" else offered(field, state.rules)
        options = changed(options, **{field.name: next_of(choices, getattr(options, field.name), by)})
    if field.name == "series" and options.series.format == "swap":
        options = changed(options, seats=2, deal=None, winnable=False)
    elif field.name == "series" and options.series.format == "best-of":
        options = changed(options, seats=max(options.seats, 2))
    # Do not ask for a winnable deal if the server cannot tell which deals those are.
    winnable = options.winnable and is_solvable(options.rules, state.rules)
    return _fitting(changed(options, winnable=winnable, bots=options.bots[: options.seats - 1]))


def _with_deal(options: RaceOptions, text: str) -> RaceOptions:
    """The options with a named deal, or with a random one."""
    deal = clean_chat(text)[:100] or None
    return _fitting(changed(options, deal=deal, winnable=deal is None and options.winnable))


def with_rules(options: RaceOptions, chosen: str, rules: tuple[RulesInfo, ...]) -> RaceOptions:
    """The options with another rule set; without the wish for a winnable deal if the rule set offers none."""
    return changed(options, rules=chosen, winnable=options.winnable and is_solvable(chosen, rules))


def _fitting(options: RaceOptions) -> RaceOptions:
    """The options without a series if it does not go with them."""
    swap = options.swaps and (options.seats != 2 or options.deal is not None or options.winnable)
    alone = options.series.format == "best-of" and options.seats < 2
    return changed(options, series=SeriesOptions()) if swap or alone else options


def _random_deal(options: RaceOptions) -> str:
    return "random, one that can be won" if options.winnable else "random, provably fair"


def _bot_choices(seats: int, bots: tuple[BotInfo, ...]) -> tuple[tuple[str, ...], ...]:
    counts = range(1, max(seats, 1))
    return ((), *[(bot.name,) * count for count in counts for bot in bots])


def opened(step: Step) -> Step:
    """Open the form, with the rules that were chosen last and the line marked that submits it. Where nobody else can come, a bot does."""
    alone = step.ui.own_server
    options = RaceOptions(public=not alone, bots=tuple(bot.name for bot in step.state.bots[:1]) if alone else ())
    return step.but(form=with_rules(options, step.ui.rules, step.state.rules), item=len(RACE_FORM))


_FORM = Form(
    "form", lambda options: RACE_FORM, _changed, typed={"deal": ("deal", _with_deal)}, request=lambda options: OpenRace(options=options)
)

SCREEN = Screen("form", "In menus and forms", KEYS, lambda state, ui: state.room is None and ui.form is not None, _FORM.update, _view)
