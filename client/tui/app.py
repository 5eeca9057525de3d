"""The app: passes what is heard, typed and clicked through `update`, carries out the effects, and shows the view.

Owns one run of the screens: the state, the player's side, and the tasks beside them, all in one nursery.
"""

from __future__ import annotations

import secrets
import signal
import threading
from collections.abc import Awaitable, Callable, Hashable, Mapping
from pathlib import Path
from typing import Final, Literal, Protocol, TextIO, assert_never

import trio
from msgspec import Struct
from msgspec.structs import replace

from client.connection.errors import Failure
from client.connection.events import Link, NoLink, RoundTrip
from client.replay.own_server import GameReview, NoReplay, replay_race, review_game, verify_race
from client.replay.timeline import TimeLine
from client.state.evidence import Evidence
from client.storage.bests import BestChange, BestsError, counts
from client.storage.files import USUAL, make_file
from client.text.profile import Profile
from client.text.runs import best_sentence
from client.tui.actions import (
    Action,
    After,
    Copy,
    Effect,
    Keep,
    Kept,
    Key,
    PlayOnWanted,
    ProfileRead,
    PutBack,
    Quit,
    ReadProfile,
    Replay,
    Replayed,
    ReplayPast,
    Resized,
    Review,
    Reviewed,
    Ring,
    Send,
    Share,
    Shared,
    SlowTerminal,
    Sound,
    Verified,
    Verify,
    Wheel,
)
from client.tui.drawing.picture import Picture, Size
from client.tui.drawing.transitions import Moving, begun, moved, transitions
from client.tui.driver import Driver
from client.tui.plain import Lines
from client.tui.replay.export import COLOURS, TEXT_COLOURS, cast_of, coloured, moving_svg_of, svg_of, text_of, titled
from client.tui.replay_state import replay_state_of
from client.tui.scene import Scene, scene_of
from client.tui.start import AppOutcome, Start, StartHome, StartMenu, StartYou, UiSettings
from client.tui.terminal import Display, Terminal, rows_of
from client.tui.ui_state import Ui, first_ui
from client.tui.view import body_times, head_times, is_running, view, with_head
from protocol.pages import is_race_id
from protocol.record import Record, digest
from protocol.run_messages import Dailies
from protocol.tournament_messages import CheckIn

TICK_S = 0.1
"""Between two ticks while a clock with tenths runs. A tick redraws only what has changed."""
IDLE_TICK_S = 0.2
NOT_HERE: Final = "There is nothing about you here."
NO_RECORDS: Final = "There are no records to be had here."
RACE_SIZE = (100, 32)
"""Columns and rows of the screen in a file that shows a race."""
NOTES: Mapping[Sound, int] = {"call": 8, "start": 13, "near": 20}
"""Semitones above the B below C5."""
FRAME_S = 1 / 30
"""Between two frames while something moves."""
UNDRAWN = 100
"""Most events heard in a row. The terminal is drawn when there is nothing else to do, and a server could see to it that there always is."""
SLOW_S, SLOW_FRAMES = 0.1, 5
"""Motion is switched off on a terminal that takes longer than SLOW_S for SLOW_FRAMES frames of one movement."""


class Profiles(Protocol):
    """What is known of the player. Both may raise Failure."""

    async def read(self) -> Profile:
        """For their own page."""
        ...

    async def record(self, race: str) -> tuple[Record, int | None]:
        """Of a race on that page, by its id; and their own seat in it, if it is known."""
        ...


class Jobs(Struct, frozen=True):
    """What is done beside the screens. reviewer: says what was possible in the game of one seat of a record.

    replayer: replays the race of a record. verifier: says whether a record holds. keeper: keeps the player's best times, and may raise
    BestsError; None if races do not count for them. profiles: what is known of the player; None if nothing is. recorder: is given each
    record once, when it arrives. evidence, witness, witness_entry, witness_days: see Driver.
    """

    reviewer: Callable[[Record, int], Awaitable[GameReview]] = review_game
    replayer: Callable[[Record], Awaitable[TimeLine]] = replay_race
    verifier: Callable[[Record], Awaitable[tuple[bool | None, str]]] = verify_race
    keeper: Callable[[Record, int], BestChange] | None = None
    profiles: Profiles | None = None
    recorder: Callable[[Record], None] = lambda record: None
    evidence: Evidence | None = None
    witness: Callable[[Evidence], None] = lambda evidence: None
    witness_entry: Callable[[CheckIn, str], None] = lambda check_in, commitment: None
    witness_days: Callable[[Dailies], None] = lambda dailies: None


USUAL_JOBS = Jobs()


async def run_app(
    link: Link,
    *,
    settings: UiSettings,
    start: Start,
    screen: Display | None = None,
    jobs: Jobs = USUAL_JOBS,
    teaches: bool = False,
    note: str = "",
) -> AppOutcome:
    """Run the screens over `link` until the player quits or the process is told to end. Returns how it ended.

    screen: an urwid display, for tests; the terminal by default. teaches: give lessons. note: what is to be said first. The caller closes
    the link.
    """
    ui = replace(first_ui(start, settings), note=note)
    if teaches:
        ui = replace(ui, learned=frozenset())
    return await App(link, ui, screen=screen, jobs=jobs).run()


async def run_replay(replay: TimeLine, *, settings: UiSettings, keys: TextIO, screen: Display | None = None) -> AppOutcome:
    """Show a finished race until the player has seen enough. Returns how it ended. keys: the terminal that keys come from."""
    ui = Ui(settings=settings, start=StartHome(), replay=replay_state_of(replay), only_replay=True)
    return await App(NoLink(), ui, screen=screen, keys=keys).run()


async def run_menu(menu: StartMenu, *, settings: UiSettings) -> AppOutcome:
    """Show the menu until the player has chosen. The outcome's `command` is empty if they quit."""
    return await App(NoLink(), first_ui(menu, settings)).run()


async def run_you(profiles: Profiles, *, settings: UiSettings) -> AppOutcome:
    """Show the page about the player, and the races on it, until they have seen enough. Returns how it ended."""
    return await App(NoLink(), first_ui(StartYou(), settings), jobs=Jobs(profiles=profiles)).run()


class App:
    """One run of the client's screens."""

    def __init__(self, link: Link, ui: Ui, *, screen: Display | None = None, keys: TextIO | None = None, jobs: Jobs = USUAL_JOBS) -> None:
        self._link = link
        self._jobs = jobs
        self._driver = Driver(
            link,
            ui,
            now_ms=_now_ms,
            nonce=lambda: secrets.token_hex(16),
            evidence=jobs.evidence,
            witness=jobs.witness,
            witness_entry=jobs.witness_entry,
            witness_days=jobs.witness_days,
            carry_out=self._carry_out,
        )
        self._terminal: Terminal | Lines
        if ui.settings.plain:
            self._terminal = Lines(self)
        else:
            self._terminal = Terminal(self, screen=screen, keys=keys, pictures=ui.settings.pictures)
        if ui.settings.colours is not None:
            self._terminal.set_colours(ui.settings.colours)
        self._colours = ui.settings.colours or self._terminal.colours
        self._picture: Picture | None = None
        self._shown: tuple[Size, Picture] | None = None
        self._moving: tuple[Moving, ...] = ()
        self._moves = False
        self._undrawn = 0
        self._times: tuple[Hashable, Hashable] = (None, None)
        self._looks: UiSettings | None = None
        self._outcome = AppOutcome("quit", ui.settings)
        self._teaches = ui.learned is not None
        self._show()

    async def run(self) -> AppOutcome:
        """Open the nursery, start the screen, and wait for the end."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            if threading.current_thread() is threading.main_thread():
                await nursery.start(self._watch_signals)
            nursery.start_soon(self._listen)
            nursery.start_soon(self._tick)
            if self._driver.ui.you:
                nursery.start_soon(self._read_profile)
            try:
                await self._terminal.run()
            except OSError:
                # The terminal went away: nothing is left to draw on.
                self._outcome = replace(self._outcome, reason="terminal")
            nursery.cancel_scope.cancel()
        room = self._driver.state.room
        held = room.code if room is not None and room.seat is not None and room.phase != "over" else None
        grace_s = room.options.grace_s if held is not None and room is not None and room.phase in ("countdown", "racing") else None
        ui = self._driver.ui
        outcome = replace(self._outcome, settings=ui.settings, code=held, grace_s=grace_s, item=ui.item)
        return replace(outcome, is_taught=self._teaches and ui.learned is None)

    # ---- effects

    def _carry_out(self, effect: Effect) -> Action | None:
        match effect:
            case After(ms, action):
                self._nursery.start_soon(self._later, ms, action)
            case Review(record, seat):
                self._nursery.start_soon(self._review, record, seat)
            case Replay(record, seat):
                self._nursery.start_soon(self._replay, record, seat)
            case ReadProfile():
                self._nursery.start_soon(self._read_profile)
            case ReplayPast(race):
                self._nursery.start_soon(self._replay_past, race)
            case Verify(record):
                self._nursery.start_soon(self._verify, record)
            case Share():
                self._nursery.start_soon(self._share, effect)
            case Keep(record, seat):
                return self._keep(record, seat)
            case Quit(play_on, command):
                self._end("quit", play_on, command)
            case Ring(sound):
                if self._driver.ui.settings.tones:
                    self._terminal.tone(NOTES[sound])
                else:
                    self._terminal.bell()
            case Copy(text):
                self._terminal.copy(text)
            case Send():
                raise AssertionError("the driver sends")
            case _:
                assert_never(effect)
        return None

    def _keep(self, record: Record, seat: int | None) -> Kept | None:
        self._jobs.recorder(record)
        if seat is None or self._jobs.keeper is None or not counts(record, seat):
            return None
        try:
            return Kept(record.digest, best_sentence(self._jobs.keeper(record, seat)))
        except BestsError as error:
            return Kept(record.digest, str(error))

    async def _replay(self, record: Record, seat: int | None) -> None:
        line: TimeLine | str
        try:
            line = await self._jobs.replayer(record)
        except NoReplay as error:
            line = str(error)
        self.do(Replayed(record.digest, seat, line))

    async def _read_profile(self) -> None:
        told: Profile | str = NOT_HERE
        if self._jobs.profiles is not None:
            try:
                told = await self._jobs.profiles.read()
            except Failure as error:
                told = str(error)
        self.do(ProfileRead(told))

    async def _replay_past(self, race: str) -> None:
        try:
            if self._jobs.profiles is None:
                self.do(Replayed(race, None, NO_RECORDS))
                return
            record, seat = await self._jobs.profiles.record(race)
            self.do(Replayed(race, seat, await self._jobs.replayer(record)))
        except Failure as error:
            self.do(Replayed(race, None, str(error)))

    async def _later(self, ms: int, action: Action) -> None:
        await trio.sleep(ms / 1000)
        self.do(action)

    async def _review(self, record: Record, seat: int) -> None:
        self.do(Reviewed(record.digest, seat, *await self._jobs.reviewer(record, seat)))

    async def _verify(self, record: Record) -> None:
        sound, why = await self._jobs.verifier(record)
        self.do(Verified(record.digest, sound, why))

    async def _share(self, wanted: Share) -> None:
        size, settings, record = self._driver.ui.size, self._driver.ui.settings, wanted.record
        if wanted.kind in ("cast", "moving svg"):
            try:
                line = await self._jobs.replayer(record)
            except NoReplay as error:
                self.do(Shared(str(error)))
                return
            write = moving_svg_of if wanted.kind == "moving svg" else cast_of
            document = await trio.to_thread.run_sync(lambda: "".join(write(line, RACE_SIZE, settings)), abandon_on_cancel=True)
        else:
            colours = TEXT_COLOURS if wanted.kind == "txt" else COLOURS
            # Whatever was looked up on the result last: its details would tell others nothing.
            ui = replace(self._driver.ui, details=False, review=None)
            scene = replace(scene_of(self._driver.state, ui, _now_ms(), colours=colours), still=True)
            rows = titled(rows_of(view(scene, size), size), record, size, settings)
            document = text_of(rows) if wanted.kind == "txt" else svg_of(coloured(rows, settings), size[0])
        self.do(Shared(await trio.to_thread.run_sync(_written, record, wanted.ending, document)))

    # ---- what is heard, and the clock

    async def _listen(self) -> None:
        async for event in self._link.events:
            self._driver.hear(event)
            if isinstance(event, RoundTrip):
                # It comes every two seconds and is shown only in the head row.
                self._show_head(self.scene())
            else:
                self._show()
            self._undrawn += 1
            if self._undrawn >= UNDRAWN:
                await trio.sleep(FRAME_S)

    def do(self, action: Action) -> None:
        """Do what the player has done, or what follows from an effect, and show it."""
        self._driver.do(action)
        self._show()

    async def _tick(self) -> None:
        while True:
            await trio.sleep(TICK_S if is_running(self._driver.state, self._driver.ui) else IDLE_TICK_S)
            # Redraw only what changes with the time.
            scene = self.scene()
            times = head_times(scene), body_times(scene)
            if times[1] != self._times[1]:
                self._show()
            elif times[0] != self._times[0]:
                self._show_head(scene)
            self._times = times

    async def _watch_signals(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        # Ctrl+C too: as an exception it could strike anywhere, even in the middle of an escape sequence.
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCONT) as signals:
            task_status.started()
            async for number in signals:
                if number == signal.SIGCONT:
                    self._terminal.take_again()
                else:
                    self._end("signal")

    def _end(self, reason: Literal["quit", "signal"], play_on: PlayOnWanted | None = None, command: tuple[str, ...] = ()) -> None:
        self._outcome = replace(self._outcome, reason=reason, play_on=play_on, command=command)
        self._nursery.cancel_scope.cancel()

    # ---- for the terminal

    def scene(self) -> Scene:
        """What is to be shown, or told, now."""
        pictures = self._terminal.shows_pictures
        return scene_of(self._driver.state, self._driver.ui, _now_ms(), colours=self._colours, pictures=pictures)

    def _show(self) -> None:
        """Redraw: what is shown is out of date."""
        settings = self._driver.ui.settings
        if settings != self._looks:
            self._looks = settings
            self._terminal.set_palette(self.scene().theme.palette)
        self._picture = None
        self._terminal.redraw()

    def _show_head(self, scene: Scene) -> None:
        """Redraw the first row: it is out of date."""
        if self._picture is not None:
            self._picture = with_head(self._picture, scene, self._driver.ui.size)
            self._terminal.redraw()

    def terminal_known(self) -> None:
        """The terminal has answered our questions, and may show pictures from now on."""
        self._show()

    def picture(self, size: Size) -> Picture:
        """The picture to show now, in a terminal of this size."""
        self._undrawn = 0
        if size != self._driver.ui.size:
            self._terminal.forget_pictures()
            self._driver.do(Resized(size))
            self._picture = None
        if self._picture is None:
            self._picture = view(self.scene(), size)
            self._set_moving(size, self._picture)
        return moved(self._picture, self._moving, _now_ms(), self.scene().theme) if self._moving else self._picture

    def _set_moving(self, size: Size, picture: Picture) -> None:
        """Begin to move what differs from the picture before."""
        before, self._shown = self._shown, (size, picture)
        if not self._driver.ui.settings.motion or before is None or before[0] != size:
            self._moving = ()
            return
        self._moving = begun(self._moving, picture, transitions(before[1], picture), _now_ms())
        if self._moving and not self._moves:
            self._moves = True
            self._nursery.start_soon(self._move)

    async def _move(self) -> None:
        """Redraw until everything that moves has come to rest."""
        slow = 0
        while self._moving:
            await trio.sleep(FRAME_S)
            self._moving = tuple(each for each in self._moving if not each.is_over(_now_ms()))
            self._terminal.redraw()
            slow += self._terminal.blocked_s > SLOW_S
            if slow == SLOW_FRAMES:
                self.do(SlowTerminal())
        self._moves = False

    def key(self, key: str) -> None:
        """A key was typed. Any key tries a lost connection again at once; only Enter does where another window has taken over."""
        first, _, second = key.partition(" ")
        prompt = self._driver.ui.prompt
        if first == "meta" and second and (prompt is None or not prompt.text):
            # Esc and another key, so quickly one after the other that they came in one read. Once something is typed, Alt and a key are
            # meant, as in a shell: they must not cost the line, and what is left of it must press nothing.
            self.key("esc")
            key = second
        ui, comes_back = self._driver.ui, self.hurry(comes_back=key == "enter")
        # Coming back is all that was meant by it, unless a text or a question waits for it.
        if not comes_back or ui.prompt is not None or ui.question is not None:
            self.do(Key(key))

    def hurry(self, *, comes_back: bool) -> bool:
        """Try a lost connection again at once. comes_back: do so too where another window has taken over. Returns whether that was done."""
        link = self._driver.state.link.state
        comes_back &= link == "gone"
        if link == "lost" or comes_back:
            self._link.hurry()
        return comes_back

    def mouse(self, button: int, column: int, row: int) -> None:
        """A mouse button was pressed."""
        if button in (4, 5):
            self.do(Wheel(-1 if button == 4 else 1))
        elif button == 3:
            self.do(PutBack())
        else:
            click = self.picture(self._driver.ui.size).click_at(column, row)
            if button == 1 and click is not None:
                self.do(click)


def _written(record: Record, ending: str, document: str) -> str:
    """Write the file to share into the current folder, overwriting nothing. Returns a sentence that says how it went."""
    # The server's own digest could be any text, and any path.
    name = record.id if is_race_id(record.id) else digest(record)[:12]
    for number in range(1, 100):
        # The folder may be gone, so make the path absolute only once the file is written.
        path = Path(f"carpet-{name}{f'-{number}' if number > 1 else ''}.{ending}")
        try:
            make_file(path, document.encode(), mode=USUAL)
        except FileExistsError:
            continue
        except (OSError, ValueError) as error:
            return f"{path} cannot be written: {getattr(error, 'strerror', None) or error}."
        return f"{path.absolute()} is written."
    return "There are already a hundred files of this race here."


def _now_ms() -> int:
    return int(trio.current_time() * 1000)
