"""What a screen is drawn from, and the two parts that every screen has: the head row and the rows of remarks above the keys."""

from __future__ import annotations

from textwrap import wrap

from msgspec import Struct
from msgspec.structs import replace

from client.replay.timeline import SPEEDS
from client.state.room import RoomModel, race_clock_ms
from client.state.store import Model, Notice
from client.text.formatting import clock_text, search_sentence
from client.text.tournaments import format_text, title_text
from client.text.width import clip, fit, text_width
from client.tui.drawing.picture import Line, Picture, block, clip_line, line_width, spread, stacked, wrap_text
from client.tui.drawing.theme import Theme, theme_for
from client.tui.replay_state import ReplayState
from client.tui.start import StartMenu, StartYou
from client.tui.tournament_view_state import TournamentView
from client.tui.ui_state import Prompt, Ui
from protocol.errors import ErrorCode
from protocol.record import SeriesRecord
from protocol.text import CHAT_LENGTH, clean_chat, clean_name
from protocol.views import WatcherLine

SHORTER = {"autoplay": ("auto",)}
"""What is said in the head row where there is no room for the whole word."""
MORE = " ..."
"""Ends what had to be cut."""
NOTICE_MS = 8000
"""How long a notice stands, and a remark about a key."""
HOST_NOTICE_MS = 60_000
"""How long what the host of the server says to everybody stands."""

PROMPT_LABELS = {
    "server": "Server",
    "code": "Race code",
    "chat": "Say",
    "move": "Move",
    "deal": "Deal name (empty for random)",
    "title": "Tournament name",
    "tournament": "Tournament id",
    "entry": "Entry code",
    "reason": "Reason for the log (optional)",
    "name": "Your new name here",
}


class Scene(Struct, frozen=True):
    """Everything one drawing needs. still: it is drawn to be kept, so it names no keys and does not show the connection."""

    model: Model
    ui: Ui
    theme: Theme
    now_ms: int
    still: bool = False

    @property
    def clock_ms(self) -> int:
        """The moment up to which the clocks of races are known to run: now, or when the server was heard of last."""
        held_at_ms = self.model.link.held_at_ms
        return self.now_ms if held_at_ms is None else held_at_ms

    def pointer(self, marked: bool) -> str:
        """The sign before a line that can be chosen: it points at the marked one."""
        return self.theme.glyphs.pointer if marked else " "


def is_noted(ui: Ui, now_ms: int) -> bool:
    """Whether the remark about the last key still stands."""
    return ui.noted_at_ms is None or now_ms - ui.noted_at_ms < NOTICE_MS


def scene_of(model: Model, ui: Ui, now_ms: int, *, colours: int = 256, pictures: bool = False) -> Scene:
    """The scene in the looks that the player likes. pictures: the terminal shows them."""
    settings = ui.settings
    theme = theme_for(settings.palette, ascii_only=settings.ascii, colours=colours, own=settings.own_palette, pictures=pictures)
    return Scene(model, ui, theme, now_ms)


def clean_long(text: str) -> str:
    """A longer text from the server, cleaned piece by piece: each piece is bounded like a line of chat."""
    return " ".join(clean_chat(piece) for piece in wrap(text[:2000], CHAT_LENGTH))


def rules_name(model: Model, rules_id: str) -> str:
    """The name of a rule set, or its id when the server did not explain it."""
    return clean_name(next((info.name for info in model.rules if info.id == rules_id), rules_id))


def line_state(scene: Scene) -> Line:
    """The connection in a few columns."""
    link, glyphs = scene.model.link, scene.theme.glyphs
    if isinstance(scene.ui.start, StartMenu | StartYou) or scene.still:
        return []
    match link.state:
        case "connected":
            trip = "" if link.round_trip_ms is None else f" {link.round_trip_ms} ms"
            return [("head good", f" {glyphs.dot}"), ("head", f"{trip or ' on'} ")]
        case "connecting":
            tries = f", try {link.attempt}" if link.attempt > 1 else ""
            return [("head bad", f" {glyphs.ring} connecting{tries} ")]
        case "returning":
            return [("head bad", f" {glyphs.ring} resuming ")]
        case "lost":
            wait = max((link.retry_at_ms or scene.now_ms) - scene.now_ms + 999, 0) // 1000
            return [("head bad", f" {glyphs.ring} reconnecting in {wait} s ")]
        case "gone":
            return [("head bad", f" {glyphs.cross} offline ")]


def shown_room(scene: Scene) -> RoomModel | None:
    """The room that one is in, or else the one that is watched."""
    watch = scene.ui.watch
    return scene.model.room or (watch.room if watch is not None else None)


def clock_line(scene: Scene) -> Line:
    """The race's clock, or what is left until the start."""
    room = scene.model.finished or shown_room(scene)
    if room is None or room.started_at_ms is None:
        return []
    if room.phase == "over" and room.ended:
        ended_at_ms = room.record.ended_at_ms if room.record is not None else max(seat.ended_at_ms for seat in room.ended)
        return [("head strong", clock_text(ended_at_ms))]
    elapsed = race_clock_ms(room.started_at_ms, scene.clock_ms)
    is_held = scene.clock_ms != scene.now_ms
    # It goes on from there or from a little before, if the server is down; if it is not, it has run on.
    doubt = "?" if is_held else ""
    if elapsed < 0:
        return [("head strong", f"start in {clock_text(99 - elapsed)}{doubt}")]
    limit = room.options.time_limit_s * 1000
    short = limit - elapsed < 30_000
    return [
        ("head bad" if short or is_held else "head strong", f"{clock_text(min(elapsed, limit), tenths=False)}{doubt}"),
        ("head", f" / {clock_text(limit, tenths=False)}"),
    ]


def head(scene: Scene, width: int) -> Picture:
    """The first row: where one is, the clock, the connection."""
    if scene.ui.replay is not None:
        return replay_head(scene, scene.ui.replay, width)
    room = scene.model.finished or shown_room(scene)
    dot = f" {scene.theme.glyphs.middle} "
    left: Line = [("head strong", " Watching" if scene.model.room is None and scene.ui.watch is not None else " Carpet Race")]
    if room is None and scene.ui.tournament_view is not None:
        left = tournament_head(scene, scene.ui.tournament_view)
    clock = clock_line(scene)
    state = line_state(scene)
    right = [*clock, ("head", "  " if state else " "), *state] if clock else state
    if room is not None:
        left.append(("head", f"{dot}{rules_name(scene.model, room.options.rules)}{dot}{clip(clean_name(room.code), 8)}"))
        more = [*round_of(scene, room), *race_of_series(room)]
        autoplays = scene.ui.settings.autoplay and room.options.autoplay and scene.model.room is not None and room.phase == "racing"
        more += ["autoplay"] if autoplays else []
        more += [f"{room.watchers} watching{', all cards' if room.shown_whole else ''}"] if room.watchers else []
        for part in more:
            # Said whole or not at all, and never up against the clock.
            pieces = [("head", f"{dot}{said}") for said in (part, *SHORTER.get(part, ()))]
            left += [piece for piece in pieces if line_width([*left, piece]) + 1 <= width - line_width(right)][:1]
    return block([spread(left, right, width, "head")])


def race_of_series(room: RoomModel) -> list[str]:
    """Which race of the series or the room it is, and how two players stand: one's own points first, as among the bars. Watchers read it
    elsewhere.
    """
    series = room.series
    is_over = room.phase == "over"
    if series is None:
        return [f"race {room.race}", *_standing(room, room.won if not is_over else ())] if room.race > 1 else []
    if room.record is not None and room.record.series is not None:
        # The room's own count goes on through series after series, and would be another number than this.
        return [race_in_series(room.record.series)]
    said = [f"race {min(series.raced + (not is_over), series.races)} of {series.races}"]
    # The points of a swap are not told before its end.
    if not is_over and series.raced and series.format != "swap":
        said += _standing(room, tuple(seat.points for seat in series.seats))
    return said


def round_of(scene: Scene, room: RoomModel) -> list[str]:
    """`Club Open, round 2`, at a table of a tournament; without the name if that is not known here."""
    id_, number = room.table_of
    tournament = scene.model.tournaments.tournament(id_)
    name = f"{clip(title_text(tournament.told.options.name), 24)}, " if tournament is not None else ""
    return [f"{name}round {clip(clean_name(number), 4)}"] if number else []


def _standing(room: RoomModel, points: tuple[int, ...]) -> list[str]:
    """`2 : 1`, for one of two players."""
    if room.seat is None or len(points) != 2:
        return []
    return [" : ".join(map(str, reversed(points) if room.seat == 1 else points))]


def race_in_series(series: SeriesRecord) -> str:
    """`race 2 of 3`."""
    return f"race {series.race} of {series.races}"


def tournament_head(scene: Scene, view_state: TournamentView) -> Line:
    """Which tournament one looks at."""
    dot = f" {scene.theme.glyphs.middle} "
    tournament = scene.model.tournaments.tournament(view_state.id)
    if view_state.id is None:
        return [("head strong", " Tournaments")]
    if tournament is None:
        return [("head strong", " Tournament"), ("head", f"{dot}{clip(clean_name(view_state.id), 8)}")]
    told = tournament.told
    facts = [told.id, format_text(told.options), rules_name(scene.model, told.options.rules)]
    return [("head strong", f" {title_text(told.options.name)}"), ("head", "".join(f"{dot}{clean_name(fact)}" for fact in facts))]


def replay_head(scene: Scene, replay: ReplayState, width: int, *, with_keys: bool = True) -> Picture:
    """The first row of a replay: which race it is, and where its head is; with what keys change too: the pair and the pace."""
    record, now = replay.line.record, replay.at(scene.now_ms)
    number = [race_in_series(record.series)] if record.series is not None else [f"race {record.race}"] if record.race > 1 else []
    parts = [replay.line.rules.name, record.room, *number]
    parts += [f"pair {replay.pair + 1} of {len(replay.pairs)} (tab)"] if with_keys and len(replay.pairs) > 1 else []
    dot = f" {scene.theme.glyphs.middle} "
    left: Line = [("head strong", " Replay"), ("head", "".join(f"{dot}{clip(clean_name(part), 20)}" for part in parts))]
    is_running = now.running_since is not None
    pace = f"{'playing' if is_running else 'paused'} {scene.theme.glyphs.times}{SPEEDS[now.speed]}   " if with_keys else ""
    right: Line = [
        ("head good" if is_running else "head", pace),
        ("head strong", clock_text(now.t_ms)),
        ("head", f" / {clock_text(replay.line.end_ms)} "),
    ]
    return block([spread(left, right, width, "head")])


def check_in_sentence(scene: Scene) -> str:
    """That a check-in waits for this player, unless they look at that tournament, whose screen says so; else empty."""
    model, ui = scene.model, scene.ui
    due = next(iter(model.tournaments.check_ins), None)
    looks = model.room is None and not ui.followed.race and ui.replay is None
    if due is None or (looks and ui.tournament_view is not None and ui.tournament_view.id == due.id):
        return ""
    left = clock_text(due.until_ms - scene.clock_ms, tenths=False)
    return f"Press T to check in to {title_text(due.name)} within {left}, or you will be left out."


def call_sentence(scene: Scene) -> str:
    """That a table waits for this player, who is in the middle of something else; else empty. It is for them to say which they give up."""
    call, room = scene.model.tournaments.call, scene.model.room
    if call is None or room is None or room.code == call.code or room.phase == "over":
        return ""
    return f"Table {call.table} of {title_text(call.name)} is waiting for you. Leave this race (L) to go there."


def is_fresh(notice: Notice, now_ms: int) -> bool:
    return now_ms - notice.at_ms < (HOST_NOTICE_MS if notice.code == ErrorCode.HOST_SAYS else NOTICE_MS)


def notice_lines(scene: Scene, width: int) -> list[Line]:
    """What was last said to the player: a remark about a key, or a notice while it is fresh; and why there is no connection, if so."""
    ui, notice, link = scene.ui, scene.model.notice, scene.model.link
    if ui.typed:
        return [[("title", f" Slot: {ui.typed.lstrip(chr(39))}_"), ("faint", "  (esc cancels)")]]
    noted = is_noted(ui, scene.now_ms)
    back = ", ".join("next card home" if place == "home" else place for place in ui.taken_back)
    # While a move is not confirmed, it is named above: what was pressed after it may have the same name.
    after = " after it" if scene.model.in_flight is not None else ""
    lines: list[Line] = [[("bad", f" Not played{after}: {back}.")]] if back and noted else []
    told: list[Line] = [[("strong", f" {text}")] for text in wrap_text(ui.note, width - 1)] if ui.note and noted else []
    if told and ui.noted_at_ms is not None and link.state != "gone":
        return [*lines, *told]
    if notice is not None and notice != ui.passed and is_fresh(notice, scene.now_ms) and notice.text != link.reason:
        role = "strong" if notice.kind == "info" else "bad"
        lines += [[(role, f" {text}")] for text in wrap_text(clean_chat(notice.text), width - 1)]
    if link.reason and not any(link.reason in text for line in lines for _, text in line):
        lines += [[("bad", f" {text}")] for text in wrap_text(link.reason, width - 1)]
    # It stands for minutes, and an answer of the server for seconds.
    lines += [[("title", f" {text}")] for text in wrap_text(check_in_sentence(scene), width - 1) if text]
    if scene.model.search is not None:
        rules = scene.model.search.rules
        sentence = search_sentence(scene.model.search, rules_name(scene.model, rules) if rules is not None else "", scene.now_ms)
        lines += [[("title", f" {text}")] for text in wrap_text(sentence, width - 1)]
    lines += [[("title", f" {text}")] for text in wrap_text(call_sentence(scene), width - 1) if text]
    # What is said first of all stays, perhaps for minutes, and hides nothing.
    return [*lines, *told]


def chat_lines(scene: Scene, width: int, rows: int) -> list[Line]:
    """What was said last, the newest at the bottom, each in as many rows as it takes and there are."""
    room = shown_room(scene)
    lines: list[Line] = []
    for said in reversed(room.chat[-rows:] if room is not None and rows > 0 else ()):
        free = rows - len(lines)
        if free <= 0:
            break
        name = f"{clip(clean_name(said.name), width // 2)}:"
        own = room is not None and not isinstance(said, WatcherLine) and said.seat == room.seat
        role = "title" if isinstance(said, WatcherLine) else "own" if own else "other"
        # The name stands before the first row alone.
        told = wrap_text(f"{'x' * text_width(name)} {clean_chat(said.text)}", width - 2)
        if len(told) > free:
            told = [*told[: free - 1], f"{clip(told[free - 1], width - 2 - len(MORE))}{MORE}"]
        first: Line = [(role, f" {name}"), ("felt", told[0][text_width(name) :])]
        lines[:0] = [first, *[[("felt", f" {row}")] for row in told[1:]]]
    return lines


def prompt_line(prompt: Prompt, width: int) -> Picture:
    """What is asked for and what has been typed, as much of it as fits before the caret."""
    label = f" {PROMPT_LABELS[prompt.kind]}: "
    room = max(width - len(label) - 1, 2)
    before = prompt.text[: prompt.caret]
    while text_width(before) >= room:
        before = before[1:]
    field = fit(before + prompt.text[prompt.caret :], room)
    return replace(block([[("title", label), ("edit", field)]]), caret=(len(label) + text_width(before), 0))


def remarks(scene: Scene, width: int, rows: int, *, talk: bool = True, aside: str = "") -> Picture:
    """The rows above the keys: what is being typed, or a notice, else `aside`; and the newest chat, unless it is shown elsewhere.

    A remark about what was typed takes the place of the chat, and so does why there is no connection to send it by.
    """
    if scene.ui.prompt is not None:
        field = prompt_line(scene.ui.prompt, width)
        is_told = (scene.ui.note and is_noted(scene.ui, scene.now_ms)) or scene.model.link.state != "connected"
        rest = notice_lines(scene, width)[: rows - 1] if is_told else chat_lines(scene, width, rows - 1 if talk else 0)
        padding: list[Line] = [[]] * (rows - 1 - len(rest))
        return stacked(block([*padding, *rest]), field)
    beside: list[Line] = [[("faint", f" {text}")] for text in wrap_text(aside, width - 2)]
    notices = notice_lines(scene, width) or beside or [[]]
    if len(notices) > rows:
        notices = [*notices[: rows - 1], [*clip_line(notices[rows - 1], width - len(MORE)), ("faint", MORE)]]
    chat = chat_lines(scene, width, rows - len(notices) if talk else 0)
    lines = [*chat, *notices]
    padding = [[]] * (rows - len(lines))
    return block([*padding, *lines])
