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
    asked_ms: when that was; what was heard of a tournament before it may be old.

    ready_at_once: the player is ready as soon as they enter the room, or the rematch, that was asked for; only by ready_by_ms, if there is
    such a moment.
    """

    lobby: bool = False
    race: bool = False
    tournaments: bool = False
    tournament: tuple[str, int | None] | None = None
    before: tuple[str, int | None] | None = None
    asked_ms: int = 0
    ready_at_once: bool = False
    ready_by_ms: int | None = None


class Deaf(Struct, frozen=True):
    """A screen has come by itself: for a moment keys do nothing, because they are meant for the one before."""

    until_ms: int
    """Each of them makes the moment longer ..."""
    end_ms: int
    """... but from then on they count in any case."""
    keys: frozenset[str] | None = None
    """Those that do nothing: the ones for the race that has ended. None for all."""
    counting: frozenset[str] = frozenset()
    """Those that count all the same."""
    clicks: bool = True
    """Clicks do nothing either."""


AT_FIRST: Final = 2
"""Records that may be kept of races that the player was ready for before this process began: both of a swap."""


class Ui(Struct, frozen=True):
    """The player's own side of the screens."""

    # ---- at the table

    cursor: str = "a1"
    """A slot, a reserve, `w` or `s`."""
    held: str = ""
    """The place that was pressed first, see `client.game.moves`."""
    typed: str = ""
    """The start of a slot's name."""
    ahead: tuple[str, ...] = ()
    """Presses queued until the server answers."""
    taken_back: tuple[str, ...] = ()
    """Presses that were queued and never played."""
    homing: bool = False
    """Cards are being sent home one by one."""
    falls: bool = False
    """The last card went home, and the cards fall over the table."""
    turned_ms: int = 0
    """When the key for the stock was pressed last."""
    turn_gap_ms: int = 0
    """How long that was after the time before."""
    turn_repeat_ms: int = 0
    """If it is held down, after how long it comes again; else 0."""
    chips: tuple[Chip, ...] = ()
    """The keys of playable cards."""
    learned: frozenset[str] | None = None
    """The lessons learned so far; None if none are given."""

    # ---- on any screen

    settings: UiSettings = field(default_factory=UiSettings)
    """How the screens look and sound."""
    size: tuple[int, int] = (80, 24)
    """The terminal's columns and rows."""
    note: str = ""
    """A remark about the last key."""
    noted_at_ms: int | None = None
    """When the note, or what was taken back, was shown; None if it stays until the next key."""
    passed: Notice | None = None
    """A refusal told on a screen that the player has left since."""
    item: int = 0
    """The marked line of a menu or question."""
    question: Question | None = None
    """What has to be answered before anything else."""
    prompt: Prompt | None = None
    """What is being typed."""
    deaf: Deaf | None = None
    """Why keys do nothing for the moment; None if they count."""
    pasting_until_ms: int | None = None
    """Until then keys are the letters of a pasted text, and each of them makes it longer; None if nothing is being pasted."""
    clicked: bool = False
    """The last thing that the player did was a click, not a key."""
    help_from: int | None = None
    """The first visible line of the help page; None if it is closed."""
    said: str = ""
    """The last line sent to others."""
    unsaid: str = ""
    """A line that could not be said, offered again at the next prompt."""

    # ---- about to be made

    form: RaceOptions | None = None
    """The race about to be made."""
    tournament_form: TournamentDraft | None = None
    """The tournament about to be made."""
    rules_page: RulesPage | None = None
    """The list of rule sets, if it is open."""
    rules: str = "carpet"
    """The id of the rule set chosen last."""

    # ---- after a race: its result, its replay

    details: bool = False
    """The result shows its details instead of the curves."""
    review: tuple[str, ...] | None = None
    """The review that the result shows instead of the curves; without sentences until it is ready."""
    standing: str = ""
    """How the race ranks among the player's own."""
    replay: ReplayState | None = None
    """The one on the screen."""
    reviewed: Reviewed | None = None
    """The last review asked for."""
    replayed: TimeLine | None = None
    """The last replay asked for."""
    replay_at: int | None = None
    """The moment at which the next replay opens."""
    preparing: str = ""
    """The digest of the record whose replay opens as soon as it is ready."""
    verified: Verified | None = None
    """The last answer to whether a record holds."""
    kept: frozenset[str] = frozenset()
    """The digests of the records that were kept."""
    may_keep: int = AT_FIRST
    """How many more records are kept, see `room.ready`."""

    # ---- watched, tournaments, other pages

    watch: WatchModel | None = None
    """The race that is watched."""
    first_seat: int = 0
    """Whose board is on the left."""
    tournament_view: TournamentView | None = None
    """Where the player looks at tournaments; None if they do not."""
    rulings: tuple[tuple[Ruling, TableResult | None], ...] = ()
    """Those sent and not answered, each with the result that its race had then."""
    lost_rulings: tuple[tuple[Ruling, TableResult | None], ...] = ()
    """The same, once the connection is lost."""
    told_before: Tournament | None = None
    """The tournament as it was told before the connection was lost."""
    daily: bool = False
    """The player looks at the deal of the day."""
    daily_turned_ms: int = 0
    """When the player turned to other rules on the page of the deal of the day."""
    you: bool = False
    """The player looks at the page about themselves."""
    profile: Profile | None = None
    """What that page says, once it is known."""

    # ---- the screens as a whole

    start: Start | None = None
    """What the screens were started for and have not asked for yet."""
    own_server: bool = False
    """The server is for this player alone and ends with them."""
    only_replay: bool = False
    """A replay is all there is, and closing it ends the screens."""
    followed: Followed = field(default_factory=Followed)
    """What the server sends news of."""


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
