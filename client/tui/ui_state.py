"""The player's own side of the screens: cursor, marked line, open question, settings, what is followed. One frozen value beside the state.

Pure. `update` and the screens decide how an action changes it, and their views how it looks.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct, field

from client.replay.timeline import TimeLine
from client.state.store import Notice
from client.state.watching import WatchModel
from client.text.profile import Profile
from client.tui.actions import PlayOnWanted, PromptKind, Reviewed, Ruling, Share, Verified
from client.tui.chips import Chip
from client.tui.replay_state import ReplayState
from client.tui.start import Start, StartBots, StartLesson, StartMenu, StartRace, StartTournaments, StartYou, UiSettings
from client.tui.tournament_view_state import TournamentView
from protocol.client_messages import ClientMessage
from protocol.forms import TournamentDraft
from protocol.tournament_messages import Tournament
from protocol.tournaments import TableResult
from protocol.views import RaceOptions


class QuitNow(Struct, frozen=True):
    """The answer that ends the screens. command: what the player wants to do next, as the words of a command line."""

    command: tuple[str, ...] = ()


class LeaveFor(Struct, frozen=True):
    """The answer that leaves the room and goes on to what was asked for before."""

    start: Start


class GiveReason(Struct, frozen=True):
    """The answer whose request needs a reason, which is typed before it is sent."""

    about: Ruling


Answer: TypeAlias = ClientMessage | tuple[Ruling, ...] | QuitNow | LeaveFor | GiveReason | PlayOnWanted | Share
"""What an answer to a question leads to: a plain request, several rulings, or one of the others."""


class Question(Struct, frozen=True):
    """Something to answer before anything else. answers: what each line leads to; None only closes the question.

    numbered: the keys of its lines are numbers instead of yes and no. behind: the line of the screen that was marked before.
    """

    text: str
    lines: tuple[str, ...]
    answers: tuple[Answer | None, ...]
    numbered: bool = False
    behind: int = 0

    @property
    def keys(self) -> tuple[str, ...]:
        """The key of each line: its number, or yes and no."""
        return tuple(str(number) for number in range(1, len(self.lines) + 1)) if self.numbered else ("y", "n")


class Prompt(Struct, frozen=True):
    """A line that is being typed. caret: how many characters stand before the cursor. about: the request that it gives a reason for."""

    kind: PromptKind
    text: str = ""
    caret: int = 0
    about: Ruling | None = None


class RulesPage(Struct, frozen=True):
    """The list of rule sets to choose from. bot: the house bot to race at the chosen one; if None, the choice is for the form.

    behind: the line of the screen that was marked before.
    """

    bot: str | None = None
    behind: int = 0


class Followed(Struct, frozen=True):
    """What the server sends news of. race: whether one is watched. tournament: id and round. before: `tournament` before the last request.

    ready_at_once: the player is ready as soon as they enter the room, or the rematch, that was asked for; only by ready_by_ms, if there is
    such a moment.
    """

    lobby: bool = False
    race: bool = False
    tournaments: bool = False
    tournament: tuple[str, int | None] | None = None
    before: tuple[str, int | None] | None = None
    ready_at_once: bool = False
    ready_by_ms: int | None = None


AT_FIRST: Final = 2
"""Records that may be kept of races that the player was ready for before this process began: both of a swap."""


class Ui(Struct, frozen=True):
    """At the table. cursor: a slot, a reserve, `w` or `s`. held: the place that was pressed first, see `client.game.moves`. typed: the
    start of a slot's name. ahead: presses queued until the server answers. taken_back: those never played. homing: cards are being sent
    home one by one. falls: the last card went home, and the cards fall over the table. quiet_until_ms: until then, keys for the table do
    nothing, because the race has just ended, or has begun while the player was typing. turned_ms: when the key for the stock was pressed
    last. repeats: that may have been by being held down. chips: the keys of playable cards. learned: the lessons learned so far, None if
    none are given.

    On any screen. note: a remark about the last key. noted_at_ms: when the note, or what was taken back, was shown; None if it stays until
    the next key. passed: a refusal told on a screen that the player has left since. item: the marked line of a menu or question. form,
    tournament_form: the race and the tournament about to be made. rules: the id of the rule set chosen last. prompt: what is being typed.
    pasted_ms: when the last character of a paste came, None if none is under way. help_from: the first visible line of the help page, None
    if closed.
    details, review: what the result shows instead of the curves; the review has no sentences until it is ready. replay: the one on the
    screen. standing: how the race ranks among the player's own. watch: the race that is watched. first_seat: whose board is on the left.
    tournament_view: where the player looks at tournaments, None if they do not. rulings: those sent and not answered,
    each with the result that its race had then. lost_rulings: the same, once the connection is lost. told_before: the tournament as it
    was told before that. daily: they look at the deal of the day. daily_turned_ms: when they turned to other rules there. you: they look
    at the page about themselves. profile: what it says, once that is known.

    start: what the screens were started for and have not asked for yet. own_server: the server is for this player alone and ends with them.
    only_replay: a replay is all there is, and closing it ends the screens. said: the last line sent to others. unsaid: a line that could
    not be said, offered again at the next prompt. reviewed, replayed: the last ones asked for. replay_at: the moment at which the next
    replay opens. preparing: digest of the record whose replay opens as soon as it is ready. verified: the last answer. kept: digests of the
    records that were kept. may_keep: how many more records are kept, see `room.ready`.
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
    turned_ms: int = 0
    repeats: bool = False
    chips: tuple[Chip, ...] = ()
    learned: frozenset[str] | None = None
    note: str = ""
    noted_at_ms: int | None = None
    passed: Notice | None = None
    item: int = 0
    form: RaceOptions | None = None
    tournament_form: TournamentDraft | None = None
    rules_page: RulesPage | None = None
    rules: str = "carpet"
    question: Question | None = None
    prompt: Prompt | None = None
    pasted_ms: int | None = None
    help_from: int | None = None
    details: bool = False
    review: tuple[str, ...] | None = None
    replay: ReplayState | None = None
    standing: str = ""
    watch: WatchModel | None = None
    first_seat: int = 0
    tournament_view: TournamentView | None = None
    rulings: tuple[tuple[Ruling, TableResult | None], ...] = ()
    lost_rulings: tuple[tuple[Ruling, TableResult | None], ...] = ()
    told_before: Tournament | None = None
    daily: bool = False
    you: bool = False
    profile: Profile | None = None
    daily_turned_ms: int = 0
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
    may_keep: int = AT_FIRST


def first_ui(start: Start, settings: UiSettings) -> Ui:
    """The player's side at the beginning."""
    if isinstance(start, StartMenu):
        return Ui(settings=settings, start=start, item=start.item, note=start.note)
    return Ui(
        settings=settings,
        start=start,
        rules=settings.rules if isinstance(start, StartBots) else "carpet",
        you=isinstance(start, StartYou),
        # Only `carpet play` and `carpet learn` begin on a server that they have started.
        own_server=isinstance(start, StartRace | StartBots | StartLesson),
        tournament_view=TournamentView(start.id) if isinstance(start, StartTournaments) else None,
        learned=frozenset() if isinstance(start, StartLesson) else None,
    )
