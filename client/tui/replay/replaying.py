"""The replay screen: two boards side by side as they stood at one moment, and below them the time line of both.

A race with one seat has one board. If there are more than two seats, two are shown, and keys choose which. This module owns the
arrangement; `client.replay.timeline` owns the head, and `replay_state` the meaning of keys.
"""

from __future__ import annotations

from collections.abc import Hashable

from client.game.board import board_of
from client.game.moves import goes_home, source, taken, target, top_card
from client.replay.timeline import Head, SeatLine
from client.state.room import Played
from client.text.formatting import clock_text
from client.text.width import clip
from client.tui.actions import Do, JumpTo, PlayOnWanted, Quit, Review, Reviewed, ScreenAction
from client.tui.drawing.bars import seat_lines
from client.tui.drawing.picture import EMPTY, Line, Picture, Size, block, foot, row, screen, spread, stacked
from client.tui.drawing.plot import AXIS
from client.tui.drawing.theme import Theme
from client.tui.everywhere import close_replay
from client.tui.keymap import Binding, Command, Keys
from client.tui.replay.timeline import APART, PLAIN_ROWS, parting_sentence, progress, time_line
from client.tui.replay_state import ReplayState, jumped, jumped_to_tenth, replay_after
from client.tui.room import wants_to_race
from client.tui.scene import Scene, check_in_sentence, head, is_noted
from client.tui.screen import Screen
from client.tui.step import Step
from client.tui.table.marks import marks_at_rest
from client.tui.table.panel import small_cards
from client.tui.table.race_progress import last_moves
from client.tui.table.small_board import place_of_move
from client.tui.table.small_table import arranged, beside_each_other, small_table
from client.tui.ui_state import Ui
from protocol.cards import DECK_SIZE
from protocol.replay import Frame
from protocol.seat_ends import was_racing
from protocol.text import clean_chat, clean_name
from protocol.views import SeatInfo, View

KEYS: Keys = (
    Binding(Command.PAUSE, (" ", "enter"), "play", "Play, or pause; at the end, from the start."),
    Binding(Command.LEFT_BACK, ("[",), "left back", "Take back the left board's last move.", shown=False),
    Binding(Command.LEFT_ON, ("]",), "left on", "The left board's next move.", shown=False),
    Binding(Command.RIGHT_BACK, (",",), "right back", "Take back the right board's last move.", shown=False),
    Binding(Command.RIGHT_ON, (".",), "right on", "The right board's next move.", shown=False),
    Binding(Command.SLOWER, ("-",), "slow", "Slower, down to a quarter of the race's pace."),
    Binding(Command.FASTER, ("+", "="), "fast", "Faster, up to sixteen times the race's pace."),
    Binding(Command.PARTING, ("p",), "diverge", "To where the two games diverge."),
    Binding(Command.REVIEW, ("v",), "slip", "To the move that lost the left board's game, if one did."),
    Binding(Command.FIRST, ("g", "home"), "start", "To the start.", shown=False),
    Binding(Command.LAST, ("G", "end"), "end", "To the end."),
    Binding(Command.TENTH, tuple("0123456789"), "jump", "Jump to that tenth of the race.", shown=False),
    Binding(Command.PLAY_ON, ("o",), "play on", "Play on from the left board, against the recorded game.", shown=False),
    Binding(Command.PAIR, ("tab",), "pair", "The next two seats, if there are more than two."),
    Binding(Command.PAIR_BACK, ("shift tab",), "pair", "The two seats before.", shown=False),
    Binding(Command.BACK, ("esc",), "back", "Close the replay.", shown=False),
)
HIGH = 34
"""From this many rows on, the progress curves stand above the time line."""
CURVES = 8
THINKING = "Thinking about this game with every card known..."
THOUGHT = "This game has been thought about: v shows what was possible."
CURVES_ASIDE = 18
"""The most rows of the curves, above the time line and beside the boards."""


def _view(scene: Scene, size: Size) -> Picture:
    """The whole screen as a picture."""
    width, height = size
    replay = scene.ui.replay
    assert replay is not None
    now = replay.at(scene.now_ms)
    shown = replay.shown
    board = board_of(replay.line.rules, shown[0].view(0))
    how = arranged(board, len(shown), width, height - 3 - PLAIN_ROWS, scene.theme, most=CURVES if height >= HIGH else 0)
    labels = {} if scene.ui.only_replay else {Command.QUIT: "back"}
    feet = (
        block([_told(scene, replay, width)]),
        time_line(replay, now, scene.theme, width, PLAIN_ROWS + how.below, slip=_slip(scene.ui, replay)),
        foot(KEYS, scene.theme, width, without=_refused(scene), labels=labels, arrows="step"),
    )
    plies = replay.line.plies(now.made)
    boards = [
        _board(scene, replay, now, line, plies[line.number], side=side, width=how.width, height=how.height)
        for side, line in enumerate(shown)
    ]
    aside = _aside(scene, replay, now, plies, how.side, height - 3 - PLAIN_ROWS) if how.side else EMPTY
    return screen(size, head(scene, width), beside_each_other(boards, how, width, aside), *feet)


def _aside(scene: Scene, replay: ReplayState, now: Head, plies: tuple[int, ...], width: int, height: int) -> Picture:
    """Beside the boards: the curves, and the moves that led to the boards."""
    drawn = block(progress(replay, now, scene.theme, width - AXIS, min(height // 2, CURVES_ASIDE)), width, role="panel")
    lists = [
        last_moves(
            scene,
            (f"curve {side}", clip(f"{clean_name(line.seat.name)}'s last moves", width // 2 - 2)),
            [
                Played(frame.move, taken(line.view(ply), line.view(ply + 1), frame.move), frame.at_ms)
                for ply, frame in enumerate(line.frames[: plies[line.number]])
            ],
            width // 2 - 2,
            height - drawn.height - 1,
        )
        for side, line in enumerate(replay.shown)
    ]
    return stacked(block([[]]), drawn, row(*((width // 2, each) for each in lists)))


def _refused(scene: Scene) -> frozenset[Command]:
    replay = scene.ui.replay
    assert replay is not None
    without = set() if len(replay.pairs) > 1 else {Command.PAIR, Command.PAIR_BACK}
    return frozenset(without if replay.parting is not None else {*without, Command.PARTING})


def _told(scene: Scene, replay: ReplayState, width: int) -> Line:
    """What the last key did, or that a check-in or another player waits; if there is nothing to say, where the lines of play part."""
    if scene.ui.note and is_noted(scene.ui, scene.now_ms):
        told = ("strong", scene.ui.note)
    elif due := check_in_sentence(scene):
        told = ("title", due)
    elif wants := wants_to_race(scene.model):
        told = ("title", f"{wants} To answer, press esc, then r.")
    else:
        told = ("hint", parting_sentence(replay, scene.theme))
    return spread([(told[0], f" {told[1]}")], [], width, "felt")


# ---- one board


def _board(scene: Scene, replay: ReplayState, now: Head, line: SeatLine, ply: int, *, side: int, width: int, height: int) -> Picture:
    view = line.view(ply)
    above = seat_lines(
        _seat(line, ply, now),
        width,
        2,
        scene.theme,
        cards=DECK_SIZE * replay.line.rules.decks,
        own=line.number == replay.own,
        beaten=was_racing(line.seat, replay.line.record.seats),
        role=f"curve {side}",
    )
    # The place of the last move is marked like the cursor in a race.
    place = place_of_move(line.view(ply - 1), line.frames[ply - 1].move) if ply else ""
    marks = marks_at_rest(view, board_of(replay.line.rules, view), place)
    return small_table(scene, marks, ply, above, _last_move(line, ply, scene.theme, width), width=width, height=height)


def _seat(line: SeatLine, ply: int, now: Head) -> SeatInfo:
    view, seat = line.view(ply), line.seat
    return SeatInfo(
        seat=line.number,
        name=seat.name,
        bot=seat.bot,
        connected=True,
        ready=True,
        again=False,
        state=line.state(ply, now.t_ms),
        ply=ply,
        home=view.home,
        foundations=view.foundations,
        elapsed_ms=now.t_ms,
        round_trip_ms=seat.round_trip_ms,
    )


def _last_move(line: SeatLine, ply: int, theme: Theme, width: int) -> Line:
    """The move that led to this board: its number and text, what it did, and when."""
    if not ply:
        return [("faint", "the deal, before the first move")]
    frame, before = line.frames[ply - 1], line.view(ply - 1)
    left: Line = [("strong", f"{ply}. {clip(clean_chat(frame.move), 8)}  "), *_words(before, frame.view, frame.move, theme)]
    return spread(left, [("faint", clock_text(frame.at_ms))], width, "felt")


def _words(before: View, after: View, move: str, theme: Theme) -> Line:
    """What a move did, in words."""
    place, end = source(move), target(move)
    if move == "r":
        return [("felt", "redeal")]
    if place == "s":
        # A card off the stock was not visible before, so name it from the view after.
        card = top_card(after, end or "w") if end or after.waste else ""
        words = f"to {end}" if end else "turned" if card else "a row dealt"
        return [*small_cards(theme, (card,) if card else ()), ("felt", words)]
    card = top_card(before, place)
    words = {"+": "home, up", "-": "home, down"}.get(move[-1:], "home") if goes_home(move) else f"to {'the waste' if end == 'w' else end}"
    return [*small_cards(theme, (card,)), ("felt", words)]


# ---- what keys and clicks do


def _update(step: Step, action: ScreenAction) -> Step:
    replay = step.ui.replay
    if replay is None:
        return step
    match action:
        case JumpTo(t_ms):
            return step.but(replay=jumped(replay, t_ms, step.now_ms))
        case Do(Command.TENTH, key):
            return step.but(replay=jumped_to_tenth(replay, int(key), step.now_ms))
        case Do(Command.BACK):
            return close_replay(step)
        case Do(Command.REVIEW):
            return _to_slip(step, replay)
        case Do(Command.PLAY_ON):
            return _play_on(step, replay)
        case Do(Command.PARTING) if replay.parting is None:
            return step.note(APART if replay.line.record.swaps else "The two games never diverge.")
        case Do(command):
            return step.but(replay=replay_after(replay, command, step.now_ms))
        case _:
            return step


def _to_slip(step: Step, replay: ReplayState) -> Step:
    """To the move that lost the left board's game; it has to be found first."""
    record, seat, known = replay.line.record, replay.shown[0].number, step.ui.reviewed
    if known is None or (known.digest, known.seat) != (record.digest, seat):
        return step.but(reviewed=Reviewed(record.digest, seat)).note(THINKING).then(Review(record, seat))
    return at_slip(step) if known.sentences else step.note(THINKING)


def at_slip(step: Step) -> Step:
    """The replay just before the move that lost the reviewed game, with what would have kept it; or what the review says, if none did."""
    replay, known = step.ui.replay, step.ui.reviewed
    frame = _slip(step.ui, replay) if replay is not None else None
    if replay is None or known is None or known.seat != replay.shown[0].number:
        return step.note("")
    if frame is None:
        return step.note(" ".join(known.sentences))
    lost = "lost" if known.exact else "may have lost"
    before = jumped(replay, frame.at_ms, step.now_ms)
    # Not one step alone: two moves may have been made in one millisecond.
    while before.line.plies(before.head.made)[frame.seat] >= frame.ply:
        before = replay_after(before, Command.LEFT_BACK, step.now_ms)
    return step.but(replay=before).note(f"Move {frame.ply}, {frame.move}, {lost} what was possible; {known.instead} would have kept it.")


def _slip(ui: Ui, replay: ReplayState) -> Frame | None:
    """The move that lost a game of this race, as far as that is known."""
    known = ui.reviewed
    if known is None or known.slip is None or known.digest != replay.line.record.digest:
        return None
    return next((frame for frame in replay.line.lines[known.seat].frames if frame.ply == known.slip), None)


def _play_on(step: Step, replay: ReplayState) -> Step:
    shown, record = replay.shown[0], replay.line.record
    ply = replay.line.plies(replay.at(step.now_ms).made)[shown.number]
    wanted, room = PlayOnWanted(record, shown.number, ply), step.state.room
    if step.ui.only_replay or room is None:
        return step.then(Quit(wanted))
    if room.phase == "over" and not step.state.is_at_table:
        return step.ask("Leave this room, and play on from here by yourself?", ("Play on", "Stay"), (wanted, None))
    # There is a race to go back to, and playing on would replace its connection with one to a server of the player's own.
    seat = f" --seat {shown.number + 1}" if shown.number != replay.own else ""
    return step.note(f"To play on from here, leave and run: carpet play-on --from {ply}{seat}")


def _times(scene: Scene) -> Hashable:
    if scene.ui.replay is None:
        return None
    # A move, or the end, may come within the tenth of a second that is shown already.
    now = scene.ui.replay.at(scene.now_ms)
    return clock_text(now.t_ms), now.made, now.running_since is None


SCREEN = Screen("replay", "In a replay", KEYS, lambda state, ui: ui.replay is not None, _update, _view, times=_times, refused=_refused)
