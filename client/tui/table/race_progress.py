"""How the race goes, beside the player's table: everybody's bars, who leads and since when, curves, last moves."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from client.game.moves import goes_home, target
from client.state.progress import curves, lead
from client.state.room import Played, RoomModel, since_start_ms
from client.text.formatting import clock_text, deck_size
from client.text.width import clip, fit, text_width
from client.tui.drawing.bars import all_bars, seat_name
from client.tui.drawing.cards import card_name
from client.tui.drawing.picture import EMPTY, Line, Picture, block, spread, stacked
from client.tui.drawing.plot import AREA_ROWS, Curve, colour_of, plot, scale_of
from client.tui.drawing.theme import Markup, Theme
from client.tui.scene import Scene
from protocol.record import Record
from protocol.views import SeatInfo

STROKE_MS = 400
"""How long a bar stands out after it has grown."""
NEAR_MS = 500
"""Of two moments as close as this, the server alone knows which was earlier: here they are known as they were heard."""
CURVE_ROWS = (7, 12)
"""Rows of the curves, at least and at most."""
MOVES_ROWS = 5
"""The fewest rows for the last moves: a free one, their title and three moves."""
CURVE_MS = 5_000
"""How often the curves are redrawn while nothing happens."""


def bars(scene: Scene, room: RoomModel, width: int, height: int) -> Picture:
    """Everybody's bar, and below them who leads, if there is a row for it."""
    away = room.away_ms(scene.clock_ms)
    total = deck_size(scene.model.rules, room.options.rules)
    grown = _grown(scene, room)
    drawn = all_bars(room.seats, room.seat, width, height, scene.theme, cards=total, away_ms=away, ghosts=room.ghosts, grown=grown)
    words = lead_sentence(scene, room, width)
    if not words or drawn.height >= height:
        return drawn
    return stacked(drawn, block([*([[]] if drawn.height + 1 < height else []), [("faint", clip(words, width))]]))


def _grown(scene: Scene, room: RoomModel) -> frozenset[int]:
    """The seats whose bars have just grown. The player's own is left out: they see their gains on the table."""
    since_ms = since_start_ms(room, scene.clock_ms) - STROKE_MS
    racing = [info.seat for info in room.seats if info.state == "racing" and info.seat != room.seat and info.seat < len(room.points)]
    # The first point is where they began.
    return frozenset(seat for seat in racing if room.points[seat][1:] and room.points[seat][-1][0] > since_ms)


def lead_sentence(scene: Scene, room: RoomModel, width: int) -> str:
    """Who leads, by how much and, if there is room, since when; or what the last of two needs to win. Empty if nobody can lead."""
    known = [info for info in room.seats if info.name is not None and (info.home or info.ply)]
    if room.phase != "racing" or len(known) < 2 or len(known) < len(room.seats):
        return ""
    needed = _needed_sentence(room, known)
    if needed:
        return next((words for words in needed if text_width(words) <= width), needed[-1])
    now = lead(room.points, since_start_ms(room, scene.clock_ms), room.heard_from_ms)
    # In the very first second somebody leads at once.
    since = f" since {clock_text(now.since_ms, tenths=False)}" if now.since_ms >= 1000 else ""
    if now.by == 0:
        words = f"{len(now.seats)} share the lead" if 0 < len(now.seats) < len(known) else "Level"
    else:
        who = "You lead" if now.seats == (room.seat,) else f"{seat_name(room.seats[now.seats[0]])} leads"
        words, since = f"{who} by {now.by}", since and f",{since}"
    return words + since if text_width(words + since) <= width else words


def _needed_sentence(room: RoomModel, known: list[SeatInfo]) -> tuple[str, ...]:
    """What the last of two needs to win, the longest way to say it first; empty while both race, in a swap, whose two races count together,
    and as long as two equal counts came too close to each other, or unheard. Of equal counts the earlier is better.
    """
    racing = [info for info in known if info.state == "racing"]
    ended = [info for info in known if info.state in ("stalled", "stopped")]
    if len(known) != 2 or len(racing) != 1 or len(ended) != 1 or room.options.swaps:
        return ()
    one, other = racing[0], ended[0]
    name = "you" if one.seat == room.seat else seat_name(one)
    one_ms, other_ms = _home_at_ms(room, one), _home_at_ms(room, other)
    last_ms = max(one_ms, other_ms)
    if one.home == other.home and last_ms > 0 and (abs(one_ms - other_ms) < NEAR_MS or last_ms <= room.heard_from_ms):
        return ()
    if (one.home, -one_ms) > (other.home, -other_ms):
        words = f"{name} {'are' if name == 'you' else 'is'} ahead for good"
    else:
        needs = other.home - one.home + 1
        words = f"{needs} more card{'s win' if needs > 1 else ' wins'}" if name == "you" else f"{name} needs {needs} more"
    who = "You" if other.seat == room.seat else seat_name(other)
    return f"{who} ended at {other.home}: {words}", f"{words[:1].upper()}{words[1:]}" if name == "you" else words


def _home_at_ms(room: RoomModel, info: SeatInfo) -> int:
    """When its last card came home, as far as this is known."""
    points = room.points[info.seat] if info.seat < len(room.points) else ()
    return next((at_ms for at_ms, home in points if home == info.home), 0)


def race_curves(scene: Scene, room: RoomModel, width: int, rows: int, *, area: bool = False) -> list[Line]:
    """The curves as far as they are known; after the race, in full."""
    total = deck_size(scene.model.rules, room.options.rules)
    if room.record is not None:
        now_ms, lines = room.record.ended_at_ms, recorded(room.record, room.seat, scene.theme)
    else:
        now_ms, lines = since_start_ms(room, scene.clock_ms), []
        ordered = sorted(enumerate(zip(room.points, room.seats, strict=False)), key=lambda each: each[0] != room.seat)
        for number, (points, info) in ordered:
            if points and info.name is not None:
                until_ms = now_ms if info.state == "racing" else max(info.elapsed_ms, points[-1][0])
                lines.append((colour_of(number, room.seat, scene.theme), (*points, (until_ms, info.home))))
    lines += _ghosts(room, now_ms)
    return plot(lines, width, rows, scene.theme, cards=_top(room, total), area=area or rows >= AREA_ROWS)


def _top(room: RoomModel, total: int) -> int:
    """The top of the plot."""
    homes = [seat.home for seat in room.ended or room.seats] + [ghost.home for ghost in room.ghosts]
    return scale_of(max(homes, default=0), total)


def recorded(record: Record, own: int | None, theme: Theme) -> list[tuple[int, Curve]]:
    """The curves of a finished race with the numbers of their colours, the player's own first."""
    lines = sorted(enumerate(curves(record)), key=lambda line: line[0] != own)
    return [(colour_of(seat, own, theme), curve) for seat, curve in lines]


def _ghosts(room: RoomModel, now_ms: int) -> list[tuple[int, Curve]]:
    """The ghosts' curves up to now, or the end of the race; with the numbers of their colours, which come after those of the seats."""
    now_ms = max((seat.ended_at_ms for seat in room.ended), default=now_ms)
    pairs = enumerate(zip(room.ghost_points, room.ghosts, strict=False), len(room.seats))
    return [
        (number, (*points, (max(points[-1][0], now_ms if ghost.state == "racing" else ghost.elapsed_ms), ghost.home)))
        for number, (points, ghost) in pairs
        if points
    ]


def below_bars(scene: Scene, room: RoomModel, width: int, height: int, *, moves: bool = True) -> Picture:
    """What a large window has room for below the bars: the curves and, unless they are shown elsewhere, the player's own last moves."""
    lines: list[Line] = []
    least, most = CURVE_ROWS
    # Before the start there is nothing to draw.
    if height > least and width >= 28 and room.phase != "countdown":
        # Low curves and some moves tell more than high curves alone.
        kept = MOVES_ROWS if moves and room.played and height - 1 - MOVES_ROWS >= least else 0
        drawn = race_curves(scene, room, width, min(height - 1 - kept, most))
        lines += [[], *block(drawn, width, role="panel").lines]
    return stacked(block(lines), own_moves(scene, room, width, height - len(lines)) if moves else EMPTY)


def own_moves(scene: Scene, room: RoomModel, width: int, rows: int) -> Picture:
    """The player's own last moves, at most eight; empty if there is no room for three."""
    return last_moves(scene, ("title", "Your last moves"), room.played, width, min(rows, 10))


def last_moves(scene: Scene, title: Markup, played: Sequence[Played], width: int, rows: int) -> Picture:
    """Moves, the latest first, under a free row and a title; empty if there is no room for three."""
    if rows < MOVES_ROWS or not played:
        return EMPTY
    return block([[], [title], *[_played(scene, each, width) for each in played[: -rows + 1 : -1]]])


def _played(scene: Scene, played: Played, width: int) -> Line:
    end = f"to {target(played.move) or 'the waste'}"
    ways = {"s": "turned" if played.card else "a row dealt", "r": "redeal"}
    way = "home" if goes_home(played.move) else ways.get(played.move, end)
    card: Line = [(f"suit {played.card[1:]}", fit(card_name(played.card, scene.theme), 4))] if played.card else [("felt", "    ")]
    return spread([*card, ("felt", way)], [("faint", clock_text(played.at_ms))], min(width, 24), "felt")


def times(scene: Scene, room: RoomModel) -> Hashable:
    """What changes with time alone."""
    return _grown(scene, room), since_start_ms(room, scene.clock_ms) // CURVE_MS if room.phase == "racing" else 0
