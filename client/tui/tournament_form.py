"""The form for a new tournament: lines that change with left and right. Pure; it looks as the form for a race does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from msgspec.structs import replace as changed

from client.text.formatting import clock_text
from client.text.tournaments import FORMAT_SENTENCES, FORMAT_WORDS, title_text
from client.tui.choices import TIME_LIMITS_S, next_of
from protocol.tournaments import TournamentFormat, TournamentOptions
from protocol.views import BotInfo, RulesInfo

USUAL_NAME = "Carpet Open"
FORMATS: tuple[TournamentFormat, ...] = ("swiss", "round-robin", "elimination", "session")
ROUNDS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15)
FILLS = (0, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64)
CHECK_INS_S = (0, 30, 60, 120, 300, 600, 900)
NO_SHOWS_S = (15, 30, 60, 120, 180, 300, 600)
PAUSES_S = (0, 5, 10, 20, 30, 60, 120, 300, 600, None)

NAME_LINE = 0
FORMAT_LINE = 1
RULES_LINE = 3
FILL_LINE = 5
CHECK_IN_LINE = 7
PAUSE_LINE = 9
MAKE_LINE = 11


@dataclass(frozen=True, slots=True)
class FoundingForm:
    """The tournament about to be made."""

    options: TournamentOptions = field(default_factory=lambda: TournamentOptions(name=USUAL_NAME))


def founding_lines(form: FoundingForm, rules: tuple[RulesInfo, ...]) -> tuple[tuple[str, str, str], ...]:
    """(what, value, explanation) for each line; the last one makes it."""
    options = form.options
    chosen = next((info for info in rules if info.id == options.rules), None)
    pause = "when you say so (N)" if options.pause_s is None else _seconds(options.pause_s, none="none")
    return (
        ("Name", title_text(options.name), "Enter: type another one."),
        ("Format", FORMAT_WORDS[options.format], FORMAT_SENTENCES[options.format]),
        _rounds_line(options),
        ("Rules", chosen.name if chosen else options.rules, f"{chosen.explanation if chosen else ''} Enter shows all of them."),
        ("Time limit", f"{options.time_limit_s // 60} min", "Of each race; after it every seat is out of time."),
        (
            "Bots fill",
            f"up to {options.fill}" if options.fill else "no seats",
            "At the first pairing bots enter until there are so many.",
        ),
        ("House bot", options.bot, "It fills seats, and races whoever has a bye."),
        (
            "Check-in",
            _seconds(options.check_in_s, none="none: who has entered plays"),
            "Everybody says that he is here.",
        ),
        ("No-show", _seconds(options.no_show_s, none=""), "Who is not at his table and ready by then forfeits."),
        ("Pause", pause, "Between two rounds."),
        ("Listed", "yes, anybody may enter" if options.public else "no, by its id only", "Without this it is found by its id."),
        ("Make it", "", "You direct it; press i there to play in it too."),
    )


def _rounds_line(options: TournamentOptions) -> tuple[str, str, str]:
    match options.format:
        case "swiss":
            return "Rounds", str(options.rounds or "as many as it takes"), "As many as it takes: until one at most is without a loss."
        case "session":
            return "Deals", str(options.rounds or 5), "So many deals, the same ones for everybody."
        case "round-robin":
            return "Meetings", "two" if options.double else "one", "How often everybody meets everybody."
        case "elimination":
            return "Out after", "two losses" if options.double else "one loss", "Who has lost so often plays no more."


def _seconds(seconds: int, *, none: str) -> str:
    return none if not seconds else f"{seconds} s" if seconds < 60 else f"{clock_text(seconds * 1000, tenths=False)} min"


def founding_changed(form: FoundingForm, line: int, step: int, rules: tuple[RulesInfo, ...], bots: tuple[BotInfo, ...]) -> FoundingForm:
    """The form after left (-1) or right (+1) on a line. Values go round."""
    options = form.options
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
    return replace(form, options=options)


def with_title(form: FoundingForm, name: str) -> FoundingForm:
    return replace(form, options=changed(form.options, name=name or USUAL_NAME))


def with_tournament_rules(form: FoundingForm, rules: str) -> FoundingForm:
    return replace(form, options=changed(form.options, rules=rules))
