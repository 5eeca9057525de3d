"""The form for a new tournament; it looks as the form for a race does."""

from __future__ import annotations

from msgspec.structs import replace as changed

from client.text.formatting import clock_text
from client.text.tournaments import FORMAT_SENTENCES, FORMAT_WORDS, title_text
from client.tui.actions import Do, Pick, ScreenAction, Typed
from client.tui.form import KEYS, TIME_LIMITS_S, FormLines, form_page, next_of
from client.tui.keymap import Command
from client.tui.picture import Picture, Size
from client.tui.scene import Scene
from client.tui.screen import Screen
from client.tui.step import Step, way
from protocol.text import clean_chat
from protocol.tournament_messages import CreateTournament
from protocol.tournaments import TITLE_LENGTH, TournamentFormat, TournamentOptions
from protocol.views import BotInfo, RulesInfo

USUAL_NAME = "Carpet Open"
CREATE_REFERENCE = 2**31 - 6
"""`ref` of the request for a new tournament, by which its answer is known."""
FORMATS: tuple[TournamentFormat, ...] = ("swiss", "round-robin", "elimination", "session")
ROUNDS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15)
FILLS = (0, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64)
CHECK_INS_S = (0, 30, 60, 120, 300, 600, 900)
NO_SHOWS_S = (15, 30, 60, 120, 180, 300, 600)
PAUSES_S = (0, 5, 10, 20, 30, 60, 120, 300, 600, None)

NAME_LINE = 0
RULES_LINE = 3
MAKE_LINE = 11


def tournament_form_lines(options: TournamentOptions, rules: tuple[RulesInfo, ...]) -> FormLines:
    """The form line by line."""
    chosen = next((info for info in rules if info.id == options.rules), None)
    pause = "when you say so (N)" if options.pause_s is None else _seconds(options.pause_s, none="none")
    return (
        ("Name", title_text(options.name), "Press enter to type another."),
        ("Format", FORMAT_WORDS[options.format], FORMAT_SENTENCES[options.format]),
        _rounds_line(options),
        ("Rules", chosen.name if chosen else options.rules, f"{chosen.explanation if chosen else ''} Press enter for the list."),
        ("Time limit", f"{options.time_limit_s // 60} min", "For each race; seats still racing then are out of time."),
        (
            "Bots fill",
            f"up to {options.fill}" if options.fill else "no seats",
            "Bots enter at the first pairing until there are this many players.",
        ),
        ("House bot", options.bot, "Fills the seats and races whoever has a bye."),
        (
            "Check-in",
            _seconds(options.check_in_s, none="none: everybody who entered plays"),
            "The time players have to confirm that they are here.",
        ),
        ("No-show", _seconds(options.no_show_s, none=""), "Players not at their table and ready by then forfeit."),
        ("Pause", pause, "Between rounds."),
        ("Listed", "yes, anybody may enter" if options.public else "no, by its id only", "If not, only those who know its id find it."),
        ("Create it", "", "You will be its director. Press i there to play as well."),
    )


def _rounds_line(options: TournamentOptions) -> tuple[str, str, str]:
    match options.format:
        case "swiss":
            return "Rounds", str(options.rounds or "as many as needed"), "As many as needed: until at most one player is undefeated."
        case "session":
            return "Deals", str(options.rounds or 5), "The number of deals; everybody plays the same ones."
        case "round-robin":
            return "Meetings", "two" if options.double else "one", "How often each pair meets."
        case "elimination":
            return "Out after", "two losses" if options.double else "one loss", "A player with that many losses is out."


def _seconds(seconds: int, *, none: str) -> str:
    return none if not seconds else f"{seconds} s" if seconds < 60 else f"{clock_text(seconds * 1000, tenths=False)} min"


def tournament_form_changed(
    options: TournamentOptions, line: int, step: int, rules: tuple[RulesInfo, ...], bots: tuple[BotInfo, ...]
) -> TournamentOptions:
    """The form after left (-1) or right (+1) on a line. Values go round."""
    match line:
        case 1:
            # Rounds are of two formats alone, and doubling of the two others.
            options = changed(options, format=next_of(FORMATS, options.format, step), rounds=0, double=False)
        case 2 if options.format in ("swiss", "session"):
            options = changed(options, rounds=next_of(ROUNDS, options.rounds, step))
        case 2:
            options = changed(options, double=not options.double)
        case 3:
            options = changed(options, rules=next_of(tuple(info.id for info in rules), options.rules, step))
        case 4:
            options = changed(options, time_limit_s=next_of(TIME_LIMITS_S, options.time_limit_s, step))
        case 5:
            options = changed(options, fill=next_of(FILLS, options.fill, step))
        case 6:
            options = changed(options, bot=next_of(tuple(bot.name for bot in bots), options.bot, step))
        case 7:
            options = changed(options, check_in_s=next_of(CHECK_INS_S, options.check_in_s, step))
        case 8:
            options = changed(options, no_show_s=next_of(NO_SHOWS_S, options.no_show_s, step))
        case 9:
            options = changed(options, pause_s=next_of(PAUSES_S, options.pause_s, step))
        case 10:
            options = changed(options, public=not options.public)
        case _:
            pass
    return options


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
    bots = step.state.welcome.bots if step.state.welcome is not None else ()
    return step.but(tournament_form=tournament_form_changed(options, step.ui.item, by, step.state.rules, bots))


SCREEN = Screen("tournament-form", "At home", KEYS, lambda state, ui: state.room is None and ui.tournament_form is not None, _update, _view)
