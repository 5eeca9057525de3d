"""The outcome of a race, as text: who won and by how much, everybody's place and time, the ratings, and where the race turned."""

from __future__ import annotations

from client.state.progress import Swing, curves, largest_swing
from client.state.room import RoomModel
from client.text.formatting import clock_text, series_sentence, won_sentence
from client.text.width import fit
from client.tui.drawing import cards
from client.tui.drawing.picture import EMPTY, LARGE_ROWS, Line, Picture, block, row, wrap_text
from client.tui.drawing.plot import colour_of
from client.tui.scene import Scene
from protocol.record import SeatRecord
from protocol.run_messages import Runs
from protocol.seat_ends import SEAT_ENDS, end_word, word_among
from protocol.text import clean_chat, clean_name, counted, listed
from protocol.views import SeatRating

CLOSE_CARDS, CLOSE_MS = 2, 3_000
"""A race won by no more than this was close."""
TURNED = 3
"""The smallest swing worth telling, in cards."""


def headline(room: RoomModel, runs: Runs | None = None) -> Line:
    """Who won, and by how much, addressed to the viewer. runs: of the same deal, which say how the ghosts ended."""
    seats = room.ended
    best = [number for number, seat in enumerate(seats) if seat.place == 1 and seat.state != "forfeited"]
    own = room.seat
    if len(seats) == 1 and own is not None:
        told = f"You brought {counted(seats[0].home, 'card')} home."
        versus = _against_ghosts(room, seats[0], runs)
        return [("title", versus or ("You brought every card home!" if seats[0].state == "won" else told))]
    if len(best) > 1:
        return [("title", "A draw: you share the first place." if own in best else "A draw.")]
    by = margin_text(room)
    if own is not None and own in best:
        return [("title", f"You won{by}!")]
    name = clean_name(seats[best[0]].name) if best else "Nobody"
    is_next = any(number == own and seat.place == 2 for number, seat in enumerate(seats))
    close = "So close: " if is_next and by and _is_close(room) else ""
    return [("title", f"{close}{name} won{by}.")]


def titles(room: RoomModel, width: int, runs: Runs | None = None) -> list[Line]:
    """What stands first: once a series is over, who won it, if a line has room for that, and who won its last race. runs: as above."""
    series = _series_lines(room, width) if room.series is not None and room.series.over else []
    race = headline(room, runs)
    return [*series, race] if len(series) == 1 else [race, *series]


def _against_ghosts(room: RoomModel, own: SeatRecord, runs: Runs | None) -> str:
    """How a run compares with those that it was raced against; empty if there were none, or not all of several are known to their end."""
    ghosts = [_ghost_end(room, number, runs) for number in range(len(room.ghosts))]
    known = [end for end in ghosts if end is not None]
    told = f"You brought {counted(own.home, 'card')} home"
    if len(ghosts) != 1:
        beaten = sum((own.home, -counted_at(own)) > (home, -ms) for home, ms in known)
        return f"{told}, and beat {beaten} of {len(ghosts)} ghosts." if ghosts and len(known) == len(ghosts) else ""
    name = f"{clean_name(room.ghosts[0].name)}'s ghost"
    if not known:
        return f"{told}; {name} had {room.ghosts[0].home} by then."
    by_cards, by_ms = own.home - known[0][0], known[0][1] - counted_at(own)
    by = _by(abs(by_cards), abs(by_ms))
    if not by:
        return f"You and {name} are level."
    return f"You beat {name}{by}!" if (by_cards or by_ms) > 0 else f"{name} won{by}."


def _ghost_end(room: RoomModel, number: int, runs: Runs | None) -> tuple[int, int] | None:
    """A ghost's cards home, and when the last of them came; None if it had not ended when this run did, and its own is not known."""
    ghost = room.ghosts[number]
    rows = [row for row in runs.rows if row != runs.own and row.name == ghost.name and row.home >= ghost.home] if runs is not None else []
    if len(rows) == 1:
        return rows[0].home, rows[0].ended_at_ms if rows[0].state == "won" else rows[0].home_at_ms
    if ghost.state not in SEAT_ENDS or number >= len(room.ghost_points):
        return None
    # When a run that was won counted, and when the last card came, are the same. After a lost connection it was heard too late for that.
    return ghost.home, next((ms for ms, home in room.ghost_points[number] if home == ghost.home), 0)


def _first_two(room: RoomModel) -> tuple[SeatRecord, SeatRecord] | None:
    """The winner and the next best; None if the race was not decided between two who stayed."""
    ordered = sorted(room.ended, key=lambda seat: seat.place)
    if len(ordered) < 2 or ordered[0].place == ordered[1].place or ordered[1].state == "forfeited":
        return None
    return ordered[0], ordered[1]


def margin_text(room: RoomModel) -> str:
    """` by 9 cards`, or with equal cards ` by 0.4 s`; empty if nobody was beaten."""
    pair = _first_two(room)
    if pair is None:
        return ""
    return _by(pair[0].home - pair[1].home, counted_at(pair[1]) - counted_at(pair[0]))


def _by(cards: int, ms: int) -> str:
    if cards:
        return f" by {counted(cards, 'card')}" if cards > 0 else ""
    return f" by {ms / 1000:.1f} s" if ms >= 100 else f" by {ms} ms" if ms > 0 else ""


def _is_close(room: RoomModel) -> bool:
    pair = _first_two(room)
    if pair is None:
        return False
    cards = pair[0].home - pair[1].home
    return cards <= CLOSE_CARDS if cards else counted_at(pair[1]) - counted_at(pair[0]) <= CLOSE_MS


def turning_point(room: RoomModel) -> Swing | None:
    """Where a beaten player fell back the most against the winner; None for anybody else, and if nothing stands out.

    Only while they raced: after that house bots hurry. Nor for those who gave up, whatever the cards, or never made a move.
    """
    record, own = room.record, room.seat
    if record is None or own is None or not 0 <= own < len(record.seats) or len(record.seats) < 2:
        return None
    winner = next((number for number, seat in enumerate(record.seats) if seat.place == 1), own)
    if record.seats[own].place == 1 or winner == own or record.seats[own].state == "forfeited" or not record.seats[own].plies:
        return None
    lines = curves(record)
    ended_at_ms = record.seats[own].ended_at_ms
    swing = largest_swing(lines[own], tuple(point for point in lines[winner] if point[0] <= ended_at_ms))
    return swing if swing is not None and swing.lost >= TURNED else None


def turning_sentence(swing: Swing) -> str:
    """`Your worst spell, at 1:02: from 2 ahead to 5 behind in 14 seconds.`; that the race turned there, a later lead may belie."""
    seconds = max((swing.to_ms - swing.from_ms + 999) // 1000, 1)
    sides = f"from {_side(swing.before)} to {_side(swing.after)}"
    return f"Your worst spell, at {clock_text(swing.from_ms, tenths=False)}: {sides} in {counted(seconds, 'second')}."


def _side(margin: int) -> str:
    return "level" if margin == 0 else f"{margin} ahead" if margin > 0 else f"{-margin} behind"


def raced(room: RoomModel) -> Line:
    """Who raced whom."""
    names = [clean_name(seat.name) for seat in room.ended]
    return [("faint", f"  {' against '.join(names) if len(names) < 3 else ', '.join(names)}")]


LARGEST = {" ": 3, "1": 4, "i": 3, "m": 6, "w": 6, "W": 6}
"""Columns of the large letters that do not have five."""


def large_headline(scene: Scene, room: RoomModel, width: int) -> Picture:
    """The good news in large letters: `WON by 9 cards`. Empty for whoever was beaten, in the race or the series, and if it does not fit."""
    seats, own = room.ended, room.seat
    if own is None or not 0 <= own < len(seats) or seats[own].place != 1:
        return EMPTY
    if room.series is not None and room.series.over and not any(seat.place == 1 for seat in room.series.seats[own : own + 1]):
        return EMPTY
    shared = sum(seat.place == 1 for seat in seats) > 1
    alone = "ALL HOME" if seats[own].state == "won" else ""
    text = "DRAW" if shared else f"WON{margin_text(room)}" if len(seats) > 1 else alone
    if not text or scene.theme.is_ascii or sum(LARGEST.get(sign, 5) for sign in text) > width:
        return EMPTY
    return cards.big_text(text, scene.theme, "title", width)


def banner(scene: Scene, room: RoomModel, width: int, total: int) -> Picture:
    """The player's count in large letters, and beside it time and moves, rating, personal best, and where the race was lost.

    Empty for a viewer without a seat.
    """
    seats, own = room.ended, room.seat
    if own is None or not 0 <= own < len(seats):
        return EMPTY
    seat = seats[own]
    count = f"{seat.home}/{total}"
    letters = 2 * len(count) if scene.theme.is_ascii else 5 * len(count)
    facts: list[Line] = [_time_and_moves(seat)]
    beside = width - letters - 4
    if own < len(room.ratings):
        facts += [[("felt", text)] for text in wrap_text(f"Rating {_change(scene, room.ratings[own])}", beside)]
    facts += [[("strong", text)] for text in wrap_text(clean_chat(scene.ui.standing), beside)]
    swing = turning_point(room)
    if swing is not None:
        told, offer = wrap_text(turning_sentence(swing), beside), "f: see it"
        if not scene.still:
            told = [*told[:-1], *([f"{told[-1]} {offer}"] if len(told[-1]) + 1 + len(offer) <= beside else [told[-1], offer])]
        facts += [[("felt", text)] for text in told]
    role = "good" if seat.place == 1 else "own"
    # Centre the facts beside the letters if there is room.
    above: list[Line] = [[]] * (max(LARGE_ROWS - len(facts), 0) // 2)
    return row((letters + 4, cards.big_text(count, scene.theme, role, letters)), (beside, block([*above, *facts])))


def _time_and_moves(seat: SeatRecord) -> Line:
    """`1:52.3   61 moves`; of a player with cards left, when the last one went home, which is not how long they raced."""
    moves = counted(seat.plies, "move")
    if seat.state == "won":
        return [("strong", clock_text(counted_at(seat))), ("faint", f"   {moves}")]
    return [("strong", moves), ("faint", f"   last card home at {clock_text(counted_at(seat))}" if counted_at(seat) else "")]


def _change(scene: Scene, rating: SeatRating) -> str:
    """`1500 → 1512 (+12)`."""
    return f"{rating.before} {scene.theme.glyphs.rise} {rating.after} ({rating.after - rating.before:+})"


def places_table(scene: Scene, room: RoomModel, width: int, total: int, runs: Runs | None = None) -> list[Line]:
    """Everybody's place, their count and when its last card came home, best first. total: cards to bring home.

    A single ghost, whose the second curve is, has its place too; many have the board below. runs: as for `headline`.
    """
    ordered = sorted(enumerate(room.ended), key=lambda pair: (pair[1].place, pair[0]))
    ghost = room.ghosts[0] if len(room.ghosts) == 1 and room.ghost_points and len(ordered) == 1 else None
    end = _ghost_end(room, 0, runs) if ghost is not None else None
    # Which of the two counts is better, as the board orders them.
    own_rank = (-room.ended[0].home, counted_at(room.ended[0])) if room.ended else (0, 0)
    behind = end is not None and (-end[0], end[1]) < own_rank
    indent = "    " if scene.theme.is_ascii else "  "
    cell = 2 * len(str(total)) + 1
    lines: list[Line] = [[("faint", fit(f"{indent}  player{'home':>{cell + 21}}  last card    moves   ended", width))]]
    for number, seat in ordered:
        own = number == room.seat
        name = clean_name(seat.name) + (" (you)" if own else "") + (" (bot)" if seat.bot is not None else "")
        text = f"{fit(name, 26)} {f'{seat.home}/{total}':>{cell}}  {clock_text(counted_at(seat)):>9} {seat.plies:>8}   "
        sign = f"-{number + 1}- " if scene.theme.is_ascii else f"{scene.theme.glyphs.dot} "
        lines.append(
            [
                (f"curve {colour_of(number, room.seat, scene.theme) % 8}", f"{sign}"),
                ("title" if seat.place + behind == 1 else "felt", f"{seat.place + behind} "),
                ("own" if own else "felt", text),
                ("faint", word_among(seat, room.ended)),
            ]
        )
    if ghost is not None:
        place = "" if end is None else "2" if own_rank < (-end[0], end[1]) else "1"
        home, until = (ghost.home, "when your run ended") if end is None else (end[0], f"{clock_text(end[1]):>9}")
        if ghost.state in SEAT_ENDS:
            until = f"{until} {ghost.ply:>8}   {end_word(ghost.state)}"
        sign = "-2- " if scene.theme.is_ascii else f"{scene.theme.glyphs.dot} "
        text = f"{fit(f'{clean_name(ghost.name)} (ghost)', 26)} {f'{home}/{total}':>{cell}}  {until}"
        lines.insert(1 if behind else 2, [("curve 1", sign), ("title" if place == "1" else "felt", f"{place:1} "), ("felt", text)])
    return lines


def score_lines(room: RoomModel, width: int, *, below_titles: bool = False) -> list[Line]:
    """The score of the race's series, and what everybody has won here by now. below_titles: without what `titles` says of the series."""
    is_over = room.series is None or room.series.over
    won = wrap_text(won_sentence(room), width) if is_over else []
    return [*([] if below_titles and is_over else _series_lines(room, width)), *([("title", line)] for line in won if line)]


def _series_lines(room: RoomModel, width: int) -> list[Line]:
    told = wrap_text(series_sentence(room.series, own=room.seat), width) if room.series is not None else []
    return [[("title", line)] for line in told]


def rating_lines(scene: Scene, room: RoomModel, width: int, *, without: int | None = None) -> list[Line]:
    """What the race did to everybody's rating, the best seat first; or why it changed nothing although it was to count.

    without: a seat to leave out, because it is shown elsewhere.
    """
    rated = [pair for number, pair in enumerate(zip(room.ended, room.ratings, strict=False)) if number != without]
    seats = sorted(rated, key=lambda pair: pair[0].place)
    if not seats:
        return [[("strong", text)] for text in wrap_text(_unrated(room), width)]
    told = [f"{clean_name(seat.name)} {_change(scene, rating)}" for seat, rating in seats]
    return [[("strong", text)] for text in wrap_text(f"{'Ratings' if len(told) > 1 else 'Rating'}: {', '.join(told)}", width)]


def _unrated(room: RoomModel) -> str:
    """`Not rated: Benedikt made no move.`, for a race that was to count; empty for any other.

    That is the only reason why such a race does not count: it was given up before it really began.
    """
    if room.record is None or room.record.rated or not room.options.counts:
        return ""
    idle = ["you" if number == room.seat else clean_name(seat.name) for number, seat in enumerate(room.ended) if not seat.plies]
    if len(idle) == len(room.ended):
        return "Not rated: nobody made a move."
    return f"Not rated: {listed(idle)} made no move." if idle else ""


def counted_at(seat: SeatRecord) -> int:
    """The moment that ranks the seat: when it reached its final count."""
    return seat.ended_at_ms if seat.state == "won" else seat.home_at_ms
