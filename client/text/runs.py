"""Boards of runs and lists of challenges as lines of text, for commands and the screen. Pure; text from a server is cleaned here."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC
from math import ceil
from typing import Final

from client.state.progress import Points, home_at
from client.storage.bests import BestChange
from client.text.chart import strip
from client.text.formatting import clock_text, date_text, limit_text
from client.text.tables import table_lines
from protocol.run_messages import ChallengeInfo, RunRow, Runs
from protocol.seat_ends import end_word
from protocol.text import clean_chat, clean_name, counted

STRIP: Final = 10
"""Columns of the strip that tells others how a run went."""


def board_title(runs: Runs, rules: str) -> str:
    """Which deal the board is of, and how many have run it. rules: the name of its rule set."""
    what = f"The deal of {clean_chat(runs.id)}" if runs.kind == "daily" else f"Challenge {clean_name(runs.id)}"
    count = counted(runs.runs, "run")
    return f"{what}, {clean_name(rules)}: {count}{' so far' if runs.secret is None else ''}."


def board_lines(runs: Runs, *, rows: int | None = None) -> list[tuple[bool, str]]:
    """The lines below the title, each with whether it is one's own. rows: at most this many; one's own row comes last if it is below."""
    if not runs.shown:
        return [(False, "You see the runs once you have had your own, or the deal is revealed.")]
    if not runs.rows:
        return [(False, "Nobody has run it.")]
    with_days = runs.kind == "daily"
    shown = list(runs.rows if rows is None else runs.rows[: max(rows - 1, 1)])
    if runs.own is not None and runs.own not in shown:
        shown = [*(shown[:-1] if rows is not None and len(shown) >= rows - 1 and len(shown) > 1 else shown), runs.own]
    headings = ("place", "player", "home", "time", "beats", *(("in a row",) if with_days else ()), "ended")
    widths = {0: 5, 1: 20, 2: 4, 3: 8, 4: 5}
    lines = table_lines(headings, [_row(row, with_days) for row in shown], right={0, *range(2, len(headings) - 1)}, widths=widths)
    return [(False, lines[0]), *((row == runs.own, line) for row, line in zip(shown, lines[1:], strict=True))]


def run_line(runs: Runs, rules: str, cards: int, server: str, *, points: Points = (), ascii_only: bool = False) -> str:
    """One's own run in a line to give to others, who learn nothing of the deal from it; empty before it is over.

    rules: the name of its rule set. cards: how many there are. server: how others name it; empty if they cannot come there. points: of the
    run's curve, where they are known; told as a strip, a tenth of the time each column.
    """
    own = runs.own
    if own is None:
        return ""
    what = f"deal of {clean_chat(runs.id)}" if runs.kind == "daily" else f"challenge {clean_name(runs.id)}"
    took_ms = own.ended_at_ms if own.state == "won" else own.home_at_ms
    counts = [home_at(points, took_ms * tenth // STRIP) for tenth in range(1, STRIP)] + [own.home]
    course = f"{strip(counts, 0, cards, ascii_only=ascii_only)} " if points else ""
    home = f"{course}{own.home}/{cards} in {clock_text(took_ms)}"
    days = f", {counted(own.days, 'day')} in a row" if own.days > 1 else ""
    is_daily = runs.kind == "daily"
    way = ["daily", server, "--rules", clean_name(runs.rules)] if is_daily else ["challenge", "run", server, clean_name(runs.id)]
    come = f" Your turn: {shlex.join(['carpet', *way])}" if server else ""
    return f"Carpet Race, {what}, {clean_name(rules)}: {home}, place {own.place} of {runs.runs}{days}.{come}"


def _row(row: RunRow, with_days: bool) -> tuple[str, ...]:
    return (
        str(row.place),
        clean_name(row.name) or "nameless",
        str(row.home),
        clock_text(row.ended_at_ms if row.state == "won" else row.home_at_ms),
        "-" if row.beats is None else f"{row.beats} %",
        *((str(row.days),) if with_days else ()),
        end_word(row.state),
    )


def challenge_lines(challenges: Sequence[ChallengeInfo], now_ms: int) -> list[str]:
    """A table of challenges."""
    if not challenges:
        return ["There is no challenge to run just now; open one: carpet challenge create SERVER."]
    rows = [
        (
            clean_name(each.id),
            clean_name(each.rules),
            limit_text(each.time_limit_s),
            str(each.runs),
            _left(each.closes_at_ms - now_ms),
            "done" if each.ran else "not yet",
            clean_name(each.owner),
        )
        for each in challenges
    ]
    widths = {0: 6, 1: 15, 2: 11, 3: 4, 4: 10, 5: 7}
    return table_lines(("id", "rules", "limit", "runs", "closes in", "yours", "opened by"), rows, right={2, 3}, widths=widths)


def _left(left_ms: int) -> str:
    if left_ms <= 0:
        return "closed"
    minutes = ceil(left_ms / 60_000)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{round(minutes / (24 * 60))} days"


def moment_text(at_ms: int) -> str:
    """A moment in Unix time to the minute, in UTC; `-` if no calendar has it."""
    return date_text(at_ms, UTC, "%Y-%m-%d %H:%M")


def best_sentence(change: BestChange) -> str:
    """How a race compares with one's own best: `New best: 3:12.4! Your best before: 3:20.1. 12 tries, 3 all home.`"""
    before, after = change
    tries = f"{counted(after.tries, 'try', 'tries')}{f', {after.wins} all home' if after.wins else ''}."
    if after.best_ms is not None:
        if before.best_ms is None:
            when = f", after {after.tries} tries" if after.tries > 1 else ""
            return f"All home for the first time{when}, in {clock_text(after.best_ms)}!"
        if after.best_ms < before.best_ms:
            return f"New best: {clock_text(after.best_ms)}! Your best before: {clock_text(before.best_ms)}. {tries}"
        return f"Your best is {clock_text(after.best_ms)}. {tries}"
    if not before.tries:
        # Not their first try: they may have run a deal whose record is still closed, or raced on another machine.
        return f"Your first personal best: {counted(after.most_home, 'card')}."
    if after.most_home > before.most_home:
        return f"New best: {counted(after.most_home, 'card')} home! Your best before: {before.most_home}. {tries}"
    return f"Your best is {counted(after.most_home, 'card')} home. {tries}"
