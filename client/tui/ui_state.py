"""The player's own side of the screens: cursor, marked line, open question, settings, what is followed. One frozen value beside the state.

Pure: what an action makes of it is decided by `update` and the screens, how it looks by their views.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct, field

from client.replay.timeline import TimeLine
from client.state.watching import WatchModel
from client.tui.actions import PlayOnWanted, PromptKind, Reviewed, Share, Verified
from client.tui.chips import Chip
from client.tui.replay_state import ReplayState
from client.tui.start import Start, StartAlone, StartBot, StartLesson, StartMenu, StartTournaments, UiSettings
from client.tui.tournament_view_state import TournamentView
from protocol.client_messages import ClientMessage
from protocol.tournament_messages import CorrectResult, EndTournament, RemoveEntrant
from protocol.tournaments import TournamentOptions
from protocol.views import RaceOptions


class QuitNow(Struct, frozen=True):
    """The answer that ends the screens. command: what the player would do next, as the words of a command line."""

    command: tuple[str, ...] = ()


class LeaveFor(Struct, frozen=True):
    """The answer that leaves the room for what was asked for before."""

    start: Start


class GiveReason(Struct, frozen=True):
    """The answer whose request is sent with a reason, which is typed first."""

    about: CorrectResult | RemoveEntrant | EndTournament


Answer: TypeAlias = ClientMessage | QuitNow | LeaveFor | GiveReason | PlayOnWanted | Share
"""What an answer to a question brings about: a request as it is, or one of those."""


class Question(Struct, frozen=True):
    """Something to answer before anything else. answers: what each line brings about; None closes the question and no more.

    numbered: its lines have numbers for keys, and not yes and no. behind: the line of the screen that was marked before.
    """

    text: str
    lines: tuple[str, ...]
    answers: tuple[Answer | None, ...]
    numbered: bool = False
    behind: int = 0

    @property
    def keys(self) -> tuple[str, ...]:
        """The key of each line: yes and no, or its number."""
        return tuple(str(number) for number in range(1, len(self.lines) + 1)) if self.numbered else ("y", "n")


class Prompt(Struct, frozen=True):
    """A line that is being typed. caret: how many of its characters stand before the cursor. about: the request it is the reason of."""

    kind: PromptKind
    text: str = ""
    caret: int = 0
    about: CorrectResult | RemoveEntrant | EndTournament | None = None


class RulesPage(Struct, frozen=True):
    """The list of rule sets, to choose one from. bot: the house bot to be raced at it; else it is for the form.

    behind: the line of the screen that was marked before.
    """

    bot: str | None = None
    behind: int = 0


class Followed(Struct, frozen=True):
    """What the server sends news of. race: one that is watched. tournament: id and round; before: what it was before the last request.
    own_tournament: the one that this player plays in, as far as they have looked at it; it is followed where nothing else is looked at.

    ready_at_once: the room that was asked for is entered ready, and so is the rematch.
    """

    lobby: bool = False
    race: bool = False
    tournaments: bool = False
    tournament: tuple[str, int | None] | None = None
    own_tournament: str | None = None
    before: tuple[str, int | None] | None = None
    ready_at_once: bool = False


class Ui(Struct, frozen=True):
    """cursor: a slot, a reserve, `w` or `s`. held: the place that was pressed first, see `client.game.moves`. typed: a name begun. ahead:
    places typed ahead of the server's answer; taken_back: those that were never played. homing: cards are being sent home one by one.
    falls: the last one went home, and the cards fall over the table. quiet_until_ms: keys that were meant for the table of a race that has
    just ended by itself do nothing until then. replay_at: the moment at which the replay opens that was asked for.
    chips: the keys of the cards that can be played. learned: of the lessons of a first race, None where none are given.
    item: the marked line of a menu or question. form, tournament_form: the race and the
    tournament that are about to be made. rules: the id of the rule set that was chosen last. help_from: first line of the help page, None
    when it is closed. note: a remark about the last key; noted_at_ms: when it was told, or what was taken back, None where it stays until
    a key is pressed. prompt: what is being typed. details, review: what the result shows in place of the curves; of the review no
    sentences while it is thought of. replay: the replay that is looked at. standing: how a race stands among one's own.
    watch: the race that is watched; first_seat: whose board is the one on the left. tournament_view: where one looks at tournaments, None
    where one does not.

    start: what the screens began with and has yet to be asked for. own_server: the server is there for this player alone and ends with
    them. only_replay: there is nothing but a replay, and its end is the end. reviewed, replayed: the last ones that were asked for.
    said: the line that was sent to others last; unsaid: one that could not be said then, for when the next is asked for. preparing:
    digest of the record whose replay is to open as soon as it is there. verified: the last answer. kept: digests of the records that
    were kept.
    """

    settings: UiSettings = field(default_factory=UiSettings)
    size: tuple[int, int] = (80, 24)
    cursor: str = "a1"
    held: str = ""
    typed: str = ""
    ahead: tuple[str, ...] = ()
    taken_back: tuple[str, ...] = ()
    homing: bool = False
    falls: bool = False
    quiet_until_ms: int = 0
    chips: tuple[Chip, ...] = ()
    learned: frozenset[str] | None = None
    note: str = ""
    noted_at_ms: int | None = None
    item: int = 0
    form: RaceOptions | None = None
    tournament_form: TournamentOptions | None = None
    rules_page: RulesPage | None = None
    rules: str = "carpet"
    question: Question | None = None
    prompt: Prompt | None = None
    help_from: int | None = None
    details: bool = False
    review: tuple[str, ...] | None = None
    replay: ReplayState | None = None
    standing: str = ""
    watch: WatchModel | None = None
    first_seat: int = 0
    tournament_view: TournamentView | None = None
    start: Start | None = None
    own_server: bool = False
    only_replay: bool = False
    followed: Followed = field(default_factory=Followed)
    said: str = ""
    unsaid: str = ""
    reviewed: Reviewed | None = None
    replayed: TimeLine | None = None
    replay_at: int | None = None
    preparing: str = ""
    verified: Verified | None = None
    kept: frozenset[str] = frozenset()


def first_ui(start: Start, settings: UiSettings) -> Ui:
    """What the screens begin with."""
    if isinstance(start, StartMenu):
        return Ui(settings=settings, start=start, item=start.item, note=start.note)
    return Ui(
        settings=settings,
        start=start,
        # A race at once is what `carpet play` begins with, on a server that it has started.
        own_server=isinstance(start, StartBot | StartAlone | StartLesson),
        tournament_view=TournamentView(start.id) if isinstance(start, StartTournaments) else None,
        learned=frozenset() if isinstance(start, StartLesson) else None,
    )
