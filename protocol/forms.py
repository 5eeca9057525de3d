"""The forms for opening a race or making a tournament; both the terminal and the web page draw them from here.

A field is one of `RaceOptions` or `TournamentDraft`. Rule sets and house bots are chosen from those in the server's `welcome`.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from protocol.tournaments import ENTRY_CODE_LENGTH, MAX_ENTRANTS, TITLE_LENGTH, TournamentFormat, TournamentOptions
from protocol.views import MAX_SEATS, RaceOptions, SeriesOptions

Value: TypeAlias = bool | int | str | SeriesOptions | None


class Choice(Struct, frozen=True):
    """One value of a field. explanation: that of this value, in place of the field's."""

    value: Value
    words: str
    explanation: str = ""


class Field(Struct, frozen=True, kw_only=True):
    """One field. name: in the options. choices: empty if a text is typed, or if the server says what there is. formats: the tournament
    formats that have the field; empty for all. longest: characters of a typed text, at most."""

    name: str
    label: str
    explanation: str
    choices: tuple[Choice, ...] = ()
    formats: tuple[TournamentFormat, ...] = ()
    longest: int = TITLE_LENGTH

    def words(self, value: Value) -> str:
        """What a value is called; the value itself if it is not offered."""
        return next((choice.words for choice in self.choices if choice.value == value), str(value))

    def explain(self, value: Value) -> str:
        return next((choice.explanation for choice in self.choices if choice.value == value), "") or self.explanation


class TournamentDraft(TournamentOptions, frozen=True, kw_only=True):
    """What the form for a tournament comes to. code: needed to enter, as in `CreateTournament`, which takes it beside the options."""

    code: str | None = None

    @property
    def options(self) -> TournamentOptions:
        return msgspec.convert(msgspec.structs.asdict(self), TournamentOptions)


USUAL_DEALS: Final = 5
"""The usual number of deals in a session."""


def _counts(*counts: int, zero: str, words: str = "{}") -> tuple[Choice, ...]:
    return tuple(Choice(count, words.format(count) if count else zero) for count in counts)


def _times(*seconds: int | None, zero: str = "") -> tuple[Choice, ...]:
    return tuple(Choice(each, _time(each) if each else "when you say so" if each is None else zero) for each in seconds)


def _time(seconds: int) -> str:
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60}:{seconds % 60:02} min"


_LIMITS: Final = tuple(Choice(minutes * 60, f"{minutes} min") for minutes in (1, 2, 3, 5, 10, 15, 20, 30, 60))
_SERIES: Final = {
    "single": "One race; a rematch is a new one.",
    "best-of": "Whoever wins more races wins the series. A tie goes to fewer forfeits, then to more cards home.",
    "session": "A number of attempts: each win is a point. A tie goes to fewer forfeits, then to more cards home.",
    "swap": "Two shuffles: each of two players plays one, and then the other's. The better on each gets a point.",
}

RACE_FORM: Final = (
    Field(name="rules", label="Rules", explanation=""),
    Field(
        name="seats",
        label="Players",
        explanation="Seats in the race, yours included.",
        choices=tuple(Choice(count, str(count)) for count in range(1, MAX_SEATS + 1)),
    ),
    Field(name="bots", label="House bots", explanation="Bots take seats from the last one down."),
    Field(
        name="public",
        label="Listed",
        explanation="If not, only those who have its code can join.",
        choices=(Choice(True, "yes, anybody may join"), Choice(False, "no, by its code only")),
    ),
    Field(name="deal", label="Deal", explanation="A name for the deal, to have it again; none for a random one."),
    Field(name="time_limit_s", label="Time limit", explanation="Seats still racing then are out of time.", choices=_LIMITS),
    Field(
        name="countdown_s",
        label="Countdown",
        explanation="From everybody being ready to the start.",
        choices=tuple(Choice(seconds, f"{seconds} s") for seconds in range(1, 11)),
    ),
    Field(
        name="grace_s",
        label="Grace",
        explanation="How long a seat is kept for a player whose connection is lost.",
        choices=_times(15, 30, 60, 120, 300, 600),
    ),
    Field(
        name="series",
        label="Series",
        explanation="",
        choices=(
            Choice(SeriesOptions(), "single race", _SERIES["single"]),
            *(Choice(SeriesOptions(format="best-of", races=races), f"best of {races}", _SERIES["best-of"]) for races in (3, 5, 7)),
            *(Choice(SeriesOptions(format="session", races=races), f"session of {races}", _SERIES["session"]) for races in (3, 5, 10)),
            Choice(SeriesOptions(format="swap", races=2), "swap", _SERIES["swap"]),
        ),
    ),
    Field(
        name="rated",
        label="Rated",
        explanation="Whether it changes ratings: needs people only and a random deal.",
        choices=(Choice(True, "yes"), Choice(False, "no")),
    ),
    Field(
        name="autoplay",
        label="Autoplay",
        explanation="Whether clients may send cards home on their own (H and g in the race). The server cannot check that they do not.",
        choices=(Choice(True, "allowed"), Choice(False, "no, by hand only")),
    ),
)

TOURNAMENT_FORM: Final = (
    Field(name="name", label="Name", explanation="What it is called."),
    Field(
        name="format",
        label="Format",
        explanation="",
        choices=(
            Choice("swiss", "Swiss", "Everybody plays every round, against somebody of about the same score."),
            Choice("round-robin", "round robin", "Everybody meets everybody."),
            Choice("elimination", "elimination", "Winners go on to the next round."),
            Choice("session", "session", "Everybody plays the same deals alone: a deal won is a point."),
        ),
    ),
    Field(
        name="rounds",
        label="Rounds",
        explanation="As many as needed: until at most one player is undefeated.",
        choices=_counts(*range(12), 13, 15, zero="as many as needed"),
        formats=("swiss",),
    ),
    Field(
        name="rounds",
        label="Deals",
        explanation="The number of deals; everybody plays the same ones.",
        choices=_counts(*range(1, 12), 13, 15, zero=""),
        formats=("session",),
    ),
    Field(
        name="double",
        label="Meetings",
        explanation="How often each pair meets.",
        choices=(Choice(False, "one"), Choice(True, "two")),
        formats=("round-robin",),
    ),
    Field(
        name="double",
        label="Out after",
        explanation="A player with that many losses is out.",
        choices=(Choice(False, "one loss"), Choice(True, "two losses")),
        formats=("elimination",),
    ),
    Field(
        name="replays",
        label="Drawn races",
        explanation="On another shuffle; if the last one is drawn too, the higher seed goes on.",
        choices=(
            Choice(0, "not run again", "If a race is drawn, the higher seed goes on."),
            Choice(1, "run again once"),
            Choice(2, "run again, twice at most"),
            *(Choice(times, f"run again, {times} times at most") for times in (3, 4, 5, 10)),
        ),
        formats=("elimination",),
    ),
    Field(name="rules", label="Rules", explanation=""),
    Field(name="time_limit_s", label="Time limit", explanation="For each race; seats still racing then are out of time.", choices=_LIMITS),
    Field(
        name="rated",
        label="Rated",
        explanation="Whether its races change ratings. Those against bots never do.",
        choices=(Choice(True, "yes"), Choice(False, "no")),
        formats=("swiss", "round-robin", "elimination"),
    ),
    Field(
        name="byes",
        label="Byes",
        explanation="Half-point byes that each player may ask for; none in the last round.",
        choices=_counts(*range(6), zero="none to ask for", words="{} for each player"),
        formats=("swiss",),
    ),
    Field(
        name="places",
        label="Places",
        explanation="The most players, bots included. Nobody enters while all are taken.",
        choices=_counts(2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128, MAX_ENTRANTS, zero=""),
    ),
    Field(
        name="fill",
        label="Bots fill",
        explanation="Bots enter at the first pairing until there are this many players.",
        choices=_counts(0, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64, zero="no seats", words="up to {}"),
    ),
    Field(name="bot", label="House bot", explanation="Fills the seats and races whoever has a bye."),
    Field(
        name="check_in_s",
        label="Check-in",
        explanation="The time players have to confirm that they are here.",
        choices=_times(0, 30, 60, 120, 300, 600, 900, zero="none: everybody who entered plays"),
    ),
    Field(
        name="no_show_s",
        label="No-show",
        explanation="Players not at their table and ready by then forfeit.",
        choices=_times(15, 30, 60, 120, 180, 300, 600),
    ),
    Field(
        name="pause_s", label="Pause", explanation="Between rounds.", choices=_times(0, 5, 10, 20, 30, 60, 120, 300, 600, None, zero="none")
    ),
    Field(
        name="public",
        label="Listed",
        explanation="If not, only those who know its id find it.",
        choices=(Choice(True, "yes, anybody may enter"), Choice(False, "no, by its id only")),
    ),
    Field(name="code", label="Entry code", explanation="A word that players need to enter; empty if none.", longest=ENTRY_CODE_LENGTH),
)

USUAL_NAME: Final = "Carpet Open"
"""The usual name of a tournament."""


def tournament_fields(format_: TournamentFormat) -> tuple[Field, ...]:
    """The fields of the form that a tournament of this format has."""
    return tuple(field for field in TOURNAMENT_FORM if not field.formats or format_ in field.formats)


def forms_document() -> bytes:
    """Both forms for the page, with the initial choices, as JSON."""
    forms = {
        "race": {"fields": RACE_FORM, "usual": RaceOptions()},
        "tournament": {"fields": TOURNAMENT_FORM, "usual": TournamentDraft(name=USUAL_NAME)},
        "usual_deals": USUAL_DEALS,
    }
    return msgspec.json.encode(forms)
