"""The player's own side of the screen: cursor, marked line, open question, settings. One frozen value beside the model.

Pure: what a key or a click makes of it is decided in `client.tui.controller`, how it looks in the screens.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from msgspec.structs import replace as changed

from client.state.capabilities import is_solvable
from client.state.store import Model
from client.state.watching import WatchModel
from client.text.formatting import limit_text, rated_sentence, series_name
from client.tui.choices import TIME_LIMITS_S, next_of
from client.tui.keymap import Place
from client.tui.replay_state import Reel
from client.tui.tournament_form import FoundingForm
from client.tui.tournament_view_state import Hall
from protocol.views import MAX_SEATS, BotInfo, RaceOptions, RulesInfo, SeriesOptions

QuestionKind = Literal["keep", "resign", "leave", "quit", "phrase", "withdraw", "remove", "end", "verdict", "add-bot"]
NUMBERED: frozenset[QuestionKind] = frozenset({"phrase", "verdict", "add-bot"})
"""Those with more to choose from than yes and no."""
PromptKind = Literal["code", "chat", "move", "deal", "title", "tournament", "entry", "reason"]
SERIES = (
    SeriesOptions(),
    *(SeriesOptions(format="best-of", races=races) for races in (3, 5, 7)),
    *(SeriesOptions(format="session", races=races) for races in (3, 5, 10)),
    SeriesOptions(format="swap", races=2),
)
"""Those that the form offers."""
_SERIES_WORDS = {
    "single": "One race; a rematch after it is another one.",
    "best-of": "Whoever wins more of the races wins the series. Cards home break ties.",
    "session": "So many attempts: a patience won is a point, and cards home break ties.",
    "swap": "Two shuffles: each of two players plays one, and then the other's. A point for who does better on each.",
}


@dataclass(frozen=True, slots=True)
class UiSettings:
    """How the player likes it. colours: 1, 16, 88, 256 or 2**24, or None to ask the terminal (and `NO_COLOR`)."""

    palette: str = "classic"
    ascii: bool = False
    bell: bool = True
    colours: Literal[1, 16, 88, 256, 16777216] | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """Something to answer before anything else: lines to choose from, the first one marked."""

    kind: QuestionKind
    text: str
    lines: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """The key of each line: yes and no, or where more than two are to choose from, its number."""
        return ("y", "n") if self.kind not in NUMBERED else tuple(str(number) for number in range(1, len(self.lines) + 1))


@dataclass(frozen=True, slots=True)
class OpenForm:
    """The race about to be opened."""

    options: RaceOptions = field(default_factory=RaceOptions)


@dataclass(frozen=True, slots=True)
class RulesPage:
    """The list of rule sets, to choose one from. bot: the house bot to be raced at it; else it is for the form."""

    bot: str | None = None


@dataclass(frozen=True, slots=True)
class Desk:
    """cursor: a slot, a reserve, `w` or `s`. held: the place that was pressed first, see `client.game.moves`. typed: a name begun.

    item: the marked line of a menu or question. rules: the id of the rule set that was chosen last.
    help_from: first line of the help page, None when it is closed. note: a remark about the last key. prompt: what is being typed.
    review: the sentences about one's own game, none yet while they are thought of, None where they are not shown.
    reel: the replay that is being looked at. standing: how a race against the clock stands among one's own.
    watch: the race that is being watched; first_seat: whose board is the one on the left.
    hall: where one looks at tournaments, None where one does not. founding: the form for a new one.
    """

    settings: UiSettings = field(default_factory=UiSettings)
    cursor: str = "a1"
    held: str = ""
    typed: str = ""
    note: str = ""
    item: int = 0
    form: OpenForm | None = None
    rules_page: RulesPage | None = None
    rules: str = "carpet"
    question: Question | None = None
    prompt: PromptKind | None = None
    help_from: int | None = None
    details: bool = False
    review: tuple[str, ...] | None = None
    reel: Reel | None = None
    standing: str = ""
    watch: WatchModel | None = None
    first_seat: int = 0
    hall: Hall | None = None
    founding: FoundingForm | None = None


def place_of(model: Model, desk: Desk) -> Place:
    """Which screen is shown, or what lies over it: the place where keys are looked up."""
    if desk.help_from is not None:
        return Place.HELP
    if desk.question is not None:
        return Place.CHOICE
    return scene_of(model, desk)


def scene_of(model: Model, desk: Desk) -> Place:
    """Which screen the model calls for."""
    room = model.room
    if desk.reel is not None:
        return Place.REPLAY
    if room is None and desk.watch is not None:
        return Place.WATCH
    if room is None and desk.rules_page is not None:
        return Place.RULES
    if room is None and (desk.form is not None or desk.founding is not None):
        return Place.FORM
    if room is None and desk.hall is not None:
        return Place.TOURNAMENTS if desk.hall.id is None else Place.TOURNAMENT
    if room is None:
        return Place.HOME
    match room.phase:
        case "waiting" if model.finished is not None:
            return Place.RESULT
        case "waiting" | "countdown":
            return Place.WAITING
        case "racing":
            return Place.RACE
        case "over":
            return Place.RESULT


# ---- the open-race form: lines that change with left and right


def form_lines(form: OpenForm, rules: tuple[RulesInfo, ...]) -> tuple[tuple[str, str, str], ...]:
    """(what, value, explanation) for each line; the last one opens the race."""
    options = form.options
    chosen = next((info for info in rules if info.id == options.rules), None)
    return (
        ("Rules", chosen.name if chosen else options.rules, f"{chosen.explanation if chosen else ''} Enter shows all of them."),
        ("Players", str(options.seats), "Seats the race waits for, yours included."),
        ("House bots", ", ".join(options.bots) or "none", "Bots take seats from the last one down."),
        (
            "Listed",
            "yes, anybody may join" if options.public else "no, by its code only",
            "Without this it is joined by its code.",
        ),
        ("Deal", options.deal or _random_deal(options), "Left and right: any deal, or one that can be won; enter: a name for it."),
        ("Time limit", limit_text(options.time_limit_s), "After it every seat is out of time."),
        ("Countdown", f"{options.countdown_s} s", "From all ready to the start."),
        ("Series", series_name(options.series.format, options.series.races), _SERIES_WORDS[options.series.format]),
        (
            "Rated",
            "yes" if options.counts else rated_sentence(options).replace("Not rated", "no"),
            "Whether it changes your ratings: people alone, a random deal.",
        ),
        ("Open this race", "", "You get a code to give to the others."),
    )


RULES_LINE = 0
DEAL_LINE = 4
SERIES_LINE = 7
OPEN_LINE = 9


def form_changed(form: OpenForm, line: int, step: int, rules: tuple[RulesInfo, ...], bots: tuple[BotInfo, ...]) -> OpenForm:
    """The form after left (-1) or right (+1) on a line. Values go round."""
    options = form.options
    values = {name: getattr(options, name) for name in options.__struct_fields__}
    match line:
        case 0:
            values["rules"] = next_of(tuple(info.id for info in rules), options.rules, step)
        case 1:
            values["seats"] = (options.seats - 1 + step) % MAX_SEATS + 1
        case 2:
            values["bots"] = next_of(_bot_choices(options.seats, bots), options.bots, step)
        case 3:
            values["public"] = not options.public
        case 4:
            values |= {"deal": None, "winnable": options.deal is None and not options.winnable}
        case 5:
            values["time_limit_s"] = next_of(TIME_LIMITS_S, options.time_limit_s, step)
        case 6:
            values["countdown_s"] = (options.countdown_s - 1 + step) % 10 + 1
        case 7:
            values["series"] = next_of(SERIES, options.series, step)
            if values["series"].format == "swap":
                values |= {"seats": 2, "deal": None, "winnable": False}
            elif values["series"].format == "best-of":
                values["seats"] = max(options.seats, 2)
        case 8:
            values["rated"] = not options.rated
        case _:
            pass
    # Where the server cannot tell which deals can be won, it is not asked for one.
    values["winnable"] = values["winnable"] and is_solvable(values["rules"], rules)
    values["bots"] = values["bots"][: max(values["seats"] - 1, 0)]
    return replace(form, options=_fitting(RaceOptions(**values)))


def with_deal(form: OpenForm, deal: str | None) -> OpenForm:
    """The form with a named deal, or with a random one."""
    return replace(form, options=_fitting(changed(form.options, deal=deal, winnable=deal is None and form.options.winnable)))


def with_rules(form: OpenForm, chosen: str, rules: tuple[RulesInfo, ...]) -> OpenForm:
    """The form with another rule set; the wish for a winnable deal is taken back where there are none to be had."""
    return replace(form, options=changed(form.options, rules=chosen, winnable=form.options.winnable and is_solvable(chosen, rules)))


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
