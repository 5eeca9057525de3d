"""The deal of the day: its board for each rule set, and the way to one's own run."""

from __future__ import annotations

from typing import Final

from client.state.capabilities import rules_of
from client.state.progress import Points
from client.state.store import Model
from client.text.formatting import deck_size
from client.text.runs import board_lines, board_title, moment_text, run_line
from client.text.width import fit
from client.tui.actions import After, Copy, Do, Rest, ScreenAction
from client.tui.drawing.picture import Line, Picture, Size, block, foot, screen, shifted, wrap_text
from client.tui.keymap import BACK, Binding, Command, Keys
from client.tui.scene import Scene, head, remarks, rules_name
from client.tui.screen import Screen
from client.tui.step import Step, way
from protocol.client_messages import QuickMatch
from protocol.run_messages import ListDailies, ListRuns, RunDaily, Runs
from protocol.text import counted, ordinal

KEYS: Keys = (
    Binding(Command.PLAY, ("enter", " "), "run", "Run this deal, or go on with your run: one try."),
    Binding(Command.TURN, ("tab",), "next rules", "The deal of the next rule set; left: of the one before."),
    Binding(Command.SHARE, ("s",), "share", "Copy a line about your run, to give to others."),
    Binding(Command.DAILY, ("d",), "again", "Get the board again."),
    BACK,
)
DAILY_REFERENCE: Final = 2**31 - 7
"""The number of a request for the deal of the day."""
SETTLES_MS: Final = 300
"""A board is asked for once keys have turned to no other rules for so long: a server answers only so many."""
HAD = "You have had your run of this deal. The next one comes at midnight UTC."


def opened(step: Step) -> Step:
    """The step with the board of the rule set chosen last. What the server has committed to is asked for too, since it is to be kept."""
    return asked(step.but(daily=True).send(ListDailies()))


def asked(step: Step) -> Step:
    """The step with a request for the board, if it is open."""
    return step.send(ListRuns(kind="daily", rules=step.ui.rules)) if step.ui.daily else step


def _runs(model: Model, rules: str) -> Runs | None:
    """The board, if it is known."""
    runs = model.runs
    return runs if runs is not None and (runs.kind, runs.rules) == ("daily", rules) else None


def _view(scene: Scene, size: Size) -> Picture:
    """The whole screen as a picture."""
    width, height = size
    model, rules = scene.model, scene.ui.rules
    inner = min(width - 2, 90)
    title: Line = [("title", "Deal of the day"), ("faint", f"   {rules_name(model, rules)}   tab: other rules")]
    runs = _runs(model, rules)
    lines: list[Line] = [[], title, []]
    if runs is None:
        lines.append([("felt", "Loading..." if model.link.state == "connected" else "Not connected.")])
    else:
        told = wrap_text(" ".join(_sentences(runs)), inner)
        rows = max(height - len(lines) - len(told) - 6, 2)
        lines.append([("strong", fit(board_title(runs, rules_name(model, rules)), inner))])
        lines += [[("own" if own else "felt", fit(text, inner))] for own, text in board_lines(runs, rows=rows)]
        lines += [[], *[[("faint", text)] for text in told]]
    body = shifted(block(lines), (width - inner) // 2)
    without = {Command.SHARE} if runs is None or runs.own is None else {Command.PLAY}
    without |= {Command.DAILY} if runs is not None else set()
    return screen(size, head(scene, width), body, remarks(scene, width, 2), foot(KEYS, scene.theme, width, without=frozenset(without)))


def _sentences(runs: Runs) -> list[str]:
    """What this player can do, or has done; and when the shuffle is told."""
    own = runs.own
    if own is None:
        said = ["Enter begins your run, or goes on with it. You have one try, and its clock does not stop if you leave."]
    else:
        placed = f"You came {ordinal(own.place)} of {runs.runs}." if runs.runs > 1 else "Yours is the only run so far."
        won = f", the last {own.days_won} with every card home" if own.days_won > 1 else ""
        streak = f" That makes {counted(own.days, 'day')} in a row{won}." if own.days > 1 else ""
        said = [f"{placed}{streak} The next deal comes at midnight UTC."]
        said.append("Beats: how many of the other runs; in a row: how many days.")
    return said if runs.secret is not None else [*said, f"The shuffle stays secret until {moment_text(runs.reveals_at_ms)} UTC."]


# ---- what keys and clicks do


def share(step: Step, runs: Runs | None, points: Points = ()) -> Step:
    """Copy a line about one's own run, if it is over. points: of its curve, where it was just run."""
    if runs is None:
        return step
    settings, info = step.ui.settings, rules_of(step.state.rules, runs.rules)
    server = settings.server if not settings.is_near else ""
    name = info.name if info is not None else runs.rules
    cards = deck_size(step.state.rules, runs.rules)
    line = run_line(runs, name, cards, server, points=points, ascii_only=settings.ascii)
    return step.then(Copy(line)).note(f"Copied, if your terminal lets programs copy: {line}") if line else step


def _update(step: Step, action: ScreenAction) -> Step:
    match action:
        case Do(Command.PLAY):
            # Even if the board says that they have had theirs: it may be of yesterday.
            return step.send(RunDaily(rules=step.ui.rules, ref=DAILY_REFERENCE))
        case Do(Command.TURN | Command.UP | Command.DOWN | Command.LEFT | Command.RIGHT as command):
            return _turned(step, 1 if command is Command.TURN else way(command))
        case Do(Command.SHARE):
            return share(step, _runs(step.state, step.ui.rules))
        case Do(Command.DAILY):
            return asked(step)
        case Rest() if step.now_ms - step.ui.daily_turned_ms >= SETTLES_MS:
            return asked(step.but(daily_turned_ms=step.now_ms))
        case Do(Command.BACK) if step.state.search is not None:
            return step.send(QuickMatch(cancel=True))
        case Do(Command.BACK):
            return step.but(daily=False)
        case _:
            return step


def _turned(step: Step, by: int) -> Step:
    ids = [info.id for info in step.state.rules]
    if not ids:
        return step
    at = ids.index(step.ui.rules) if step.ui.rules in ids else 0
    turned = step.but(rules=ids[(at + by) % len(ids)], daily_turned_ms=step.now_ms)
    return turned.then(After(SETTLES_MS, Rest()))


SCREEN = Screen("daily", "At home", KEYS, lambda state, ui: state.room is None and ui.daily, _update, _view)
