"""The result: who won, everybody's count and time, the progress curves, whether the deal checks out, and what comes next."""

from __future__ import annotations

from client.state.evidence import Check, Evidence, check, verdict
from client.state.room import RoomModel
from client.state.store import Model
from client.state.tournament import DONE_PHASES, is_out
from client.text.formatting import deck_size
from client.text.runs import board_lines, board_title, moment_text
from client.text.tournaments import outcome_sentence, phase_sentence
from client.text.width import clip, fit
from client.tui.actions import Do, Replay, Review, Reviewed, ScreenAction, Share
from client.tui.drawing.picture import EMPTY, UPPER, Line, Picture, Size, block, foot, framed, hit, screen, shifted, stacked, wrap_text
from client.tui.drawing.theme import Theme
from client.tui.everywhere import is_preparing
from client.tui.keymap import LEAVE, TALK, Binding, Command, Keys
from client.tui.lobby import daily
from client.tui.race.outcome import (
    banner,
    large_headline,
    places_table,
    raced,
    rating_lines,
    score_lines,
    titles,
    turning_point,
)
from client.tui.replay_state import opened_at
from client.tui.room import away_words, next_race, ready, ready_when_it_opens, refused_alone, room_update, wants_to_race
from client.tui.scene import Scene, clean_long, head, remarks, rules_name
from client.tui.screen import Screen
from client.tui.step import Step
from client.tui.table.race_progress import race_curves
from client.tui.tournament_view_state import TournamentView
from client.tui.ui_state import Ui
from protocol.cards import DECK_SIZE
from protocol.client_messages import LeaveRace, Rematch
from protocol.pages import is_race_id
from protocol.record import Record
from protocol.run_messages import Runs
from protocol.text import clean_chat, clean_name, listed

KEYS: Keys = (
    Binding(Command.REMATCH, ("r", "enter"), "rematch", "Race the same players again."),
    Binding(Command.REVIEW, ("v",), "review", "Show what was possible in your game, or the curves again."),
    Binding(Command.REPLAY, ("y",), "replay", "Watch the race again, both boards side by side."),
    Binding(Command.SHARE, ("s",), "share", "Save the result or race; after a shared deal, copy a line."),
    LEAVE,
    TALK,
    # Last, since in narrow terminals there is no room for them in the row of keys; what is told of them names the key.
    Binding(Command.TURNED, ("f",), "setback", "Watch the race again from where you fell back the most."),
    Binding(Command.DETAILS, ("d",), "details", "Show how the deal was checked, or the curves again."),
)
LEAST_PLOT, LEAST_READ = 7, 13
"""Rows that the curves, or sentences, want before one's own count is shown in large letters."""
LEAST_COURSE = 5
"""With fewer rows below what is told of a closed record there are no curves."""
MOST_PLOT = 22
"""Rows of the curves, at most."""
ROOMY = 20
"""With so many rows for the curves there is room for what is worth a picture."""
SENTENCES_AT = 15
"""Columns of what was checked, before the sentences about it."""
ASKED_STANDS_MS = 30_000
"""Whoever asks for a rematch is taken to be there, and ready for it, for so long."""
CLOSED = "Others have yet to play this deal. You can see its cards and your record once everybody has."
STILL_RUN = "Others may still run this deal. Its cards and your record will be shown"


def _view(scene: Scene, size: Size) -> Picture:
    """The whole result screen as a picture."""
    width, height = size
    room = scene.model.finished
    assert room is not None
    rules = scene.model.rules
    total = deck_size(rules, room.options.rules)
    inner = min(width - 4, 100)
    margin = (width - inner) // 2
    keys = foot(KEYS, scene.theme, width, without=_refused(scene), labels=_labels(scene))
    feet = (shifted(remarks(scene, width - margin, 2), margin - 1), keys)
    within = inner - 4
    runs = runs_of(scene.model, room)
    title, *more = titles(room, within - 2, runs)
    table = [*more, *places_table(scene, room, within, total, runs), *score_lines(room, within, below_titles=True)]
    record = room.record
    verdict_lines = deal_lines(scene, room, record, inner, total) if record is not None else []
    reads = scene.ui.details or scene.ui.review is not None
    # Head and feet, the sides of the frame, and what stands below it.
    free = height - 1 - 3 - 2 - len(table) - len(verdict_lines) - 1
    count = banner(scene, room, within, total)
    closed = block([[("faint", text)] for text in wrap_text(closed_sentence(scene.model, room), within)])
    # A short board leaves room for the count.
    board = min(len(_board(scene, room, within, free - closed.height)) + closed.height, LEAST_READ)
    if free - count.height < (board if record is None else LEAST_READ if reads else LEAST_PLOT):
        count = EMPTY
        table += [[("strong", text)] for text in wrap_text(clean_chat(scene.ui.standing), within)]
    table += rating_lines(scene, room, within, without=room.seat if count.height else None)
    free = height - 1 - 3 - 2 - len(table) - len(verdict_lines) - 1 - count.height
    large = large_headline(scene, room, within) if count.height and free >= ROOMY else EMPTY
    gap = block([[]]) if free - large.height >= (LEAST_READ if reads and not count.height else ROOMY - 4) else EMPTY
    parts = [*([gap, large] if large.height else []), *([gap, count] if count.height else []), gap, block(table), gap]
    free -= large.height + sum(part is gap for part in parts) * gap.height
    if record is None:
        standing = block(_board(scene, room, within, free - closed.height))
        parts += [closed, standing, _course(scene, room, within, free - closed.height - standing.height)]
    elif scene.ui.review is not None:
        parts.append(_panel(review_lines(scene.ui.review, within, max(free, 3)), within, free))
    elif scene.ui.details:
        parts.append(_panel(_details(scene, room, record, within, max(free, 3), total), within, free))
    else:
        rows = max(min(free, MOST_PLOT), 3)
        parts.append(_panel(race_curves(scene, room, within, rows, area=True), within, free))
    title = [*title, *(raced(room) if large.height and not more else [])]
    frame = framed(shifted(stacked(*parts), 1), scene.theme, inner - 2, role="faint", title=title, below=_named(scene, record))
    below = [hit(block(verdict_lines), Do(Command.DETAILS), inner)]
    if scene.still:
        return screen(size, head(scene, width), shifted(stacked(frame, *below), margin), above=UPPER)
    if record is not None or scene.model.is_at_table:
        below.append(hit(block([way_on(scene, room, inner)]), Do(Command.REMATCH), inner))
    return screen(size, head(scene, width), shifted(stacked(frame, *below), margin), *feet, above=UPPER)


def _named(scene: Scene, record: Record | None) -> str:
    """The command that shows the race again, by its id: a private race or a daily has another code there than at the top of the screen."""
    # What is drawn to be kept has a last row that says so.
    return f"carpet replay {record.id}" if record is not None and is_race_id(record.id) and not scene.still else ""


def _course(scene: Scene, room: RoomModel, width: int, free: int) -> Picture:
    """The curves as they were heard of during the race, while the record is closed; nothing if there is little room, or none was."""
    rows = min(free - 1, MOST_PLOT)
    # The board of a run is on its way, and may want the rows.
    if rows < LEAST_COURSE or not any(room.points) or (room.is_run and runs_of(scene.model, room) is None):
        return EMPTY
    return stacked(block([[]]), _panel(race_curves(scene, room, width, rows), width, rows))


def _panel(lines: list[Line], width: int, free: int) -> Picture:
    """Lines on a ground as high as that of the curves, so that nothing jumps when others take their place."""
    return block([*lines, *[[("panel", "")]] * (min(free, MOST_PLOT) - len(lines))], width, role="panel")


def _refused(scene: Scene) -> frozenset[Command]:
    """What cannot be done behind a race that is run once, or alone, once a player has left, and while the record is closed."""
    room = scene.model.finished
    assert room is not None
    closed = {Command.DETAILS, Command.REVIEW, Command.REPLAY} if room.record is None else set()
    runs = runs_of(scene.model, room)
    if room.record is None and (runs is None or runs.own is None):
        closed.add(Command.SHARE)
    if turning_point(room) is None:
        closed.add(Command.TURNED)
    if room.shared is not None or room.left or scene.model.is_at_table:
        closed.add(Command.REMATCH)
    return refused_alone(scene) | closed


def closed_sentence(model: Model, room: RoomModel) -> str:
    """Why there is no record yet, and from when on there is one."""
    if not room.is_run:
        return CLOSED
    runs = runs_of(model, room)
    return f"{STILL_RUN} {'once it is revealed' if runs is None else f'after {moment_text(runs.reveals_at_ms)} UTC'}."


def runs_of(model: Model, room: RoomModel) -> Runs | None:
    """How others have run the same deal, as far as it is known by now."""
    runs, shared = model.runs, room.shared
    is_of = runs is not None and shared is not None and (runs.kind, runs.id, runs.rules) == (shared.kind, shared.id, room.options.rules)
    return runs if is_of else None


def _board(scene: Scene, room: RoomModel, width: int, height: int) -> list[Line]:
    """The board of the deal."""
    runs = runs_of(scene.model, room)
    if runs is None:
        return []
    lines = [("own" if own else "felt", fit(text, width)) for own, text in board_lines(runs, rows=max(height - 2, 2))]
    return [[], [("title", clip(board_title(runs, rules_name(scene.model, runs.rules)), width))], *[[line] for line in lines]]


def _labels(scene: Scene) -> dict[Command, str]:
    """Between two races of a series the next one is open already, and the same key says that one is ready for it. Whoever races the clock
    has nobody to meet again. While a replay is prepared the key that would close it gives it up."""
    now = scene.model.room
    labels: dict[Command, str] = {}
    if now is not None and (now.phase == "waiting" or len(now.seats) == 1):
        labels[Command.REMATCH] = "ready" if now.phase == "waiting" else "again"
    return {**labels, Command.QUIT: "back"} if is_preparing(scene.model, scene.ui) else labels


def deal_verdict(scene: Scene, room: RoomModel, record: Record, total: int) -> Check:
    """Whether the deal checks out."""
    return verdict(_checks(scene, room, record, total), named=record.deal.name is not None, shared=record.deal.shared is not None)


def deal_lines(scene: Scene, room: RoomModel, record: Record, width: int, total: int) -> list[Line]:
    """Whether the deal checks out, and the key that tells more, which is whole however long the sentence is."""
    made = deal_verdict(scene, room, record, total)
    key = "" if scene.still else "  (d)"
    texts = wrap_text(f"{_sign(made.ok, scene.theme)} {made.sentence}", width - len(key) - 2)
    lines: list[Line] = [[(_role(made.ok), f"{'  ' if number else ''}{text}")] for number, text in enumerate(texts)]
    return [*lines[:-1], [*lines[-1], ("faint", key)]]


def _details(scene: Scene, room: RoomModel, record: Record, width: int, rows: int, total: int) -> list[Line]:
    lines: list[Line] = []
    for made in _checks(scene, room, record, total):
        role = "panel strong" if made.ok else "panel"
        first, *more = wrap_text(made.sentence, width - SENTENCES_AT)
        lines.append([(role, fit(f" {_sign(made.ok, scene.theme)} {made.what}", SENTENCES_AT)), ("panel", first)])
        lines += [[("panel", " " * SENTENCES_AT + text)] for text in more]
    lines += [[("panel", "")], [("panel faint", f" seed   {record.deal.seed}")], [("panel faint", f" record {record.digest}")]]
    hint = "Check the record yourself with carpet verify, or with a program of your own."
    lines += [[("panel faint", f" {text}")] for text in wrap_text(hint, width - 2)]
    if len(lines) > rows:
        # A low terminal with many seats, or a deal of which there is more to say.
        lines = [*lines[: rows - 1], [("panel faint", " ... the rest: carpet verify")]]
    return lines


def _checks(scene: Scene, room: RoomModel, record: Record, total: int) -> list[Check]:
    return check(record, _evidence(scene, room, record), room.seat, decks=max(total // DECK_SIZE, 1), number=_number(scene, record))


def _number(scene: Scene, record: Record) -> Check:
    """Whether the deal is the first that can be won, as far as that has been found out by now."""
    verified, deal = scene.ui.verified, f"deal {record.deal.k}"
    if verified is None or verified.digest != record.digest:
        return Check("number", None, f"Whether {deal} is the first that can be won is being checked.")
    if verified.sound is None:
        return Check("number", None, f"Whether {deal} is the first that can be won was not found out ({verified.why}): carpet verify.")
    return Check(
        "number",
        verified.sound,
        f"D{deal[1:]} is the first that can be won." if verified.sound else f"The record is false: {verified.why}.",
    )


def _evidence(scene: Scene, room: RoomModel, record: Record) -> Evidence | None:
    # The record of a private race does not say the room's code.
    seen = (scene.model.evidence, scene.model.earlier)
    return next((each for each in seen if each is not None and (each.code, each.race) == (room.code, record.race)), None)


def _role(ok: bool | None) -> str:
    return "faint" if ok is None else ("good" if ok else "bad")


def _sign(ok: bool | None, theme: Theme) -> str:
    return theme.glyphs.unknown if ok is None else (theme.glyphs.tick if ok else theme.glyphs.cross)


def _next_line(model: Model, now: RoomModel) -> Line:
    """What to do between two races. now: the room as it is, whose series may be another one than that of the race that is looked at."""
    if any(info.name is None for info in now.seats):
        if now.parted:
            return [("strong", f"{clean_name(now.parted)} has left. r: wait for others; the code is {clean_name(now.code)}")]
        return [("strong", f"r: wait for another player to start a new series; the code is {clean_name(now.code)}")]
    away, wants = away_words(now), wants_to_race(model)
    if away:
        return [("strong", f"r: ready for {next_race(now)}; {away} and may come back")]
    return [("title", f"{wants} Press r.")] if wants else [("strong", f"r: ready for {next_race(now)}")]


def _tournament_line(scene: Scene, width: int) -> Line:
    """Where one goes from a table: to the next one, or to the standings if the tournament is over."""
    known, player = scene.model.tournaments.tournament(scene.model.table_of), scene.model.player
    is_done = known is not None and known.told.phase in DONE_PHASES
    room = scene.model.finished
    is_of_round = known is not None and room is not None and room.table_of[1] == str(known.told.round)
    mine = known.table_of(player) if known is not None and is_of_round and not is_done else None
    number = room.shared.number if room is not None and room.shared is not None else 1
    if mine is not None and mine.result is None and mine.code is None and len(mine.race_ids) >= number:
        # It was drawn in a knock-out, or the director has struck its result. Before that, the race is not among those of its table yet.
        return [("title", "Your table races again, on another shuffle: you are taken there.")]
    if known is None or not (is_done or is_out(known.told, player)):
        is_last = known is not None and 0 < known.told.options.rounds <= len(known.told.rounds)
        return [("strong", f"enter: back to the tournament{'' if is_last else '; your next table opens by itself'}.")]
    if not is_done:
        return [("strong", "You are out. enter: back to the tournament, to watch the rest of it.")]
    told = f"{phase_sentence(known.told, None)} {outcome_sentence(known.told, player)}".rstrip()
    leads = "enter: final standings"
    return [("title", f"{clip(told, width - len(leads) - 2)}  "), ("strong", leads)]


def way_on(scene: Scene, room: RoomModel, width: int) -> Line:
    """What comes after this race, and the key that leads there."""
    now = scene.model.room
    if now is not None and now.phase == "waiting":
        return _next_line(scene.model, now)
    if scene.model.is_at_table:
        return _tournament_line(scene, width)
    own = room.own
    if room.shared is not None:
        return [("faint", "L: back to the home screen. A deal like this is run only once.")]
    if own is not None and len(room.seats) == 1:
        return [("strong", "Another shuffle is on its way." if own.again else "r: race the clock again")]
    if room.left:
        names = listed([clean_name(seat.name) for number, seat in enumerate(room.ended) if number in room.left])
        return [("faint", clip(f"There is no rematch: {names} {'have' if len(room.left) > 1 else 'has'} left.", width))]
    away, wants = away_words(room), wants_to_race(scene.model, bots=True)
    if own is not None and own.again:
        missing = listed([clean_name(info.name) for info in room.seats if not info.again and info.name is not None])
        return [("strong", f"Rematch: waiting for {missing or 'the server'}.{f' {away} and may come back.' if away else ''}")]
    harder = _harder_bot(scene, room)
    if away:
        return [("title", f"{wants} " if wants else ""), ("strong", f"r: rematch; {away} and may come back")]
    if wants and not harder:
        return [("title", f"{wants} Press r.")]
    if harder:
        return [("strong", f"r: rematch. The next bot is {harder}: "), ("title", f"carpet play --bot {harder}")]
    return [("strong", f"r: rematch{'' if room.series is None else ', another series'} against the same players")]


def _harder_bot(scene: Scene, room: RoomModel) -> str:
    """The bot that comes after the one raced on a server of the player's own, where the weakest comes first; empty if there is none."""
    bots = [clean_name(bot.name) for bot in scene.model.bots]
    raced = [info.bot for info in room.opponents]
    if not scene.ui.own_server or room.series is not None or len(raced) != 1 or raced[0] not in bots[:-1]:
        return ""
    return bots[bots.index(raced[0]) + 1]


THINKING = "Thinking about your game with every card known..."


def review_lines(sentences: tuple[str, ...], width: int, rows: int) -> list[Line]:
    """The panel, at most `rows` high. No sentences: they are not there yet."""
    lines: list[Line] = [[("panel strong", " Your game, with every card known")], [("panel", "")]]
    for number, sentence in enumerate(sentences or (THINKING,)):
        lines += [[("panel" if number else "panel strong", f" {text}")] for text in wrap_text(clean_long(sentence), width - 2)]
    if len(lines) > rows:
        # A low terminal with many seats: carpet review tells all of it.
        lines = [*lines[: max(rows - 1, 1)], [("panel faint", " ... the rest: carpet review")]]
    return lines


# ---- what keys and clicks do


def _update(step: Step, action: ScreenAction) -> Step:
    match action:
        case Do(Command.REMATCH) if step.state.is_at_table:
            # Nobody races anybody again there: the tournament goes on, or it is over and has its standings to look at.
            known = step.state.tournaments.tournament(step.state.table_of)
            if known is not None and known.told.phase in DONE_PHASES:
                step = step.but(tournament_view=TournamentView(known.told.id, "standings"))
            return step.send(LeaveRace())
        case Do(Command.REMATCH):
            return _again(step)
        case Do(Command.DETAILS):
            return step.but(details=not step.ui.details, review=None)
        case Do(Command.REVIEW):
            return _review(step)
        case Do(Command.REPLAY):
            return _replay(step, None)
        case Do(Command.TURNED):
            room = step.state.finished
            swing = turning_point(room) if room is not None else None
            return step.note("There is no such moment in this race.") if swing is None else _replay(step, swing.from_ms)
        case Do(Command.SHARE):
            return _share(step)
        case _:
            return room_update(step, action)


def _again(step: Step) -> Step:
    """Ask for another race between the same players, once; in a series, where the next race is open already, be ready for it."""
    room = step.state.room
    if room is not None and room.phase == "waiting":
        return ready(step)
    if room is None or room.own is None or room.own.again or room.left:
        return step
    # Whoever asks last, or asks a bot, is there when the race opens. Who asked first may have gone since then, but not at once.
    is_last = all(seat.bot is not None or seat.again for seat in room.seats if seat.seat != room.seat)
    return ready_when_it_opens(step.send(Rematch(race=room.race)), True, by_ms=None if is_last else step.now_ms + ASKED_STANDS_MS)


def _review(step: Step) -> Step:
    room, known = step.state.finished, step.ui.reviewed
    if step.ui.review is not None:
        return step.but(review=None)
    if room is None or room.seat is None:
        return step.note("You have no game here to review.")
    if room.record is None:
        return step.note(closed_sentence(step.state, room))
    if known is None or (known.digest, known.seat) != (room.record.digest, room.seat):
        known = Reviewed(room.record.digest, room.seat)
        step = step.but(reviewed=known).then(Review(room.record, room.seat))
    return step.but(details=False, review=known.sentences)


def _replay(step: Step, at_ms: int | None) -> Step:
    room, known = step.state.finished, step.ui.replayed
    if room is None:
        return step.note("There is no race to replay.")
    if room.record is None:
        return step.note(closed_sentence(step.state, room))
    if known is not None and known.record.digest == room.record.digest:
        return step.but(replay=opened_at(known, room.seat, at_ms, step.now_ms))
    is_asked_for = step.ui.preparing == room.record.digest
    step = step.but(replay_at=at_ms, preparing=room.record.digest).note("Preparing the replay...")
    return step if is_asked_for else step.then(Replay(room.record, room.seat))


def _share(step: Step) -> Step:
    room = step.state.finished
    if room is None:
        return step.note("There is no race to share yet.")
    if room.record is None:
        runs = runs_of(step.state, room)
        points = room.points[room.seat] if room.seat is not None and 0 <= room.seat < len(room.points) else ()
        if runs is not None and runs.own is not None:
            return daily.share(step, runs, points)
        return step.note(closed_sentence(step.state, room))
    offers = (
        ("A picture of this result (SVG)", Share(room.record, "svg")),
        ("The same as text", Share(room.record, "txt")),
        ("A recording of the race (asciinema)", Share(room.record, "cast")),
        ("A picture that plays the race (SVG)", Share(room.record, "moving svg")),
    )
    lines, answers = tuple(line for line, _ in offers), tuple(answer for _, answer in offers)
    return step.ask("Write into a file here, to share:", lines, answers, numbered=True)


def _is_shown(state: Model, ui: Ui) -> bool:
    del ui
    return state.room is not None and (state.room.phase == "over" or (state.room.phase == "waiting" and state.finished is not None))


SCREEN = Screen("result", "Before and after a race", KEYS, _is_shown, _update, _view, refused=_refused)
