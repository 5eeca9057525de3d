"""What happens, as lines of text: in place of a screen, each is told once, as soon as it is so. Pure.

The sentences are those of the screens wherever these have some. Owns what is told when, and in which order it is heard.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from typing import Final, TypeAlias

from msgspec.structs import replace

from client.game.board import Board, free_slots, top_home
from client.game.moves import goes_home, source, target
from client.state.room import Played, RoomModel, race_clock_ms
from client.state.store import Model
from client.state.tournament import TournamentModel, table_name
from client.text.formatting import card_words, deck_size, search_sentence, series_sentence
from client.text.tournaments import decision_text, format_text, out_word, phase_sentence, points_text, result_text, title_text
from client.tui.drawing.bars import seat_name
from client.tui.drawing.picture import Line
from client.tui.race import outcome, result
from client.tui.race.invitation import invitation
from client.tui.race.racing import situation
from client.tui.race.waiting import waited_for
from client.tui.race.watching import NO_BOARDS, NOTHING
from client.tui.scene import (
    PROMPT_LABELS,
    Scene,
    call_sentence,
    check_in_sentence,
    clean_long,
    clock_line,
    race_of_series,
    round_of,
    rules_name,
    shown_room,
)
from client.tui.step import Step
from client.tui.tournament.screen import left_ms, own_sentence
from client.tui.tournament_view_state import standings_of
from protocol.seat_ends import end_among, word_among
from protocol.text import clean_chat, clean_name, counted
from protocol.views import View

EVERY: Final = 5
"""How far others are is told at every fifth card of theirs."""
WATCHING: Final = "You watch. cards tells their tables, some seconds late, and score how far they are; leave ends it."
AWAY, BACK = "is not connected", "is connected again"
WIDE: Final = 400
"""Columns for a sentence: a line of text may be as long as it likes."""

News: TypeAlias = Mapping[Hashable, str]
"""Sentences, each with what tells it from an earlier one of the same words."""


class Teller:
    """Tells what is new since it told last."""

    def __init__(self) -> None:
        self._told: dict[str, News] = {}
        self._table: tuple[tuple[str, int] | None, int, View | None] = (None, 0, None)
        self._decisions: dict[str, int] = {}

    def told(self, scene: Scene) -> list[str]:
        """What is new in a scene, in the order in which it is to be heard."""
        scene = replace(scene, still=True)
        model, ui, room = scene.model, scene.ui, shown_room(scene)
        lines = [*self._new("notices", _notices(scene)), *self._new("search", _search(scene))]
        if not _awaits_tournament(scene):
            lines += [*self._new("tournament", _tournament(scene)), *self._decided(scene)]
        if room is not None:
            seats = _seats(room, self._told.get("seats", {}))
            lines += [*self._new("room", _room(scene, room)), *self._new("seats", seats), *self._new("chat", _chat(room))]
            lines += [*self._moves(scene, room), *self._new("counts", _counts(room)), *self._new("lead", self._lead(room))]
        if not _says_ready(model):
            # As soon as they do, the evidence is of the next race.
            lines += self._new("result", _result(scene))
        reviewed = () if ui.review is None else ui.review or (result.THINKING,)
        lines += self._new("review", _each(map(clean_long, reviewed)))
        if ui.question is not None:
            return [*lines, *self._new("question", _each(question_lines(scene)))]
        asked = [f"{PROMPT_LABELS[ui.prompt.kind]}:"] if ui.prompt is not None else []
        self._told["question"] = {}
        # Not between two moves that are made one after the other.
        if model.in_flight is None and not ui.homing:
            hint = hint_line(scene)
            lines += self._new("hint", {(_still(hint), room.ply if room is not None else 0): hint} if hint else {})
        return [*lines, *self._new("prompt", _each(asked))]

    def _new(self, kind: str, news: News) -> list[str]:
        before, self._told[kind] = self._told.get(kind, {}), news
        return [text for key, text in news.items() if text and key not in before]

    def _moves(self, scene: Scene, room: RoomModel) -> list[str]:
        """The player's moves, and what they have uncovered; all of the table where it is another one, or moves were missed."""
        race, (before, ply, known) = (room.code, room.race), self._table
        view = room.view
        self._table = (race, room.ply, view)
        if view is None or view is known:
            return []
        made = room.played[len(room.played) - (room.ply - ply) :] if room.ply > ply else ()
        if known is None or before != race or len(made) != room.ply - ply:
            return table_lines(view, scene.model.board(room, view))
        lines = [_move(played, view) for played in made]
        ends = {target(played.move) or ("w" if source(played.move) == "s" else "") for played in made}
        for place, pile in view.piles.items():
            if pile != known.piles.get(place) and place not in ends:
                lines.append(f"{place}: {card_words(pile[-1])}." if pile else f"{place} is empty.")
        if view.waste != known.waste and "w" not in ends:
            lines.append(f"Waste: {card_words(view.waste[-1])}." if view.waste else "The waste is empty.")
        # A server may call its slots anything.
        return [clean_long(line) for line in lines]

    def _decided(self, scene: Scene) -> list[str]:
        """What was decided at the tournament since one looked at it last, by whoever it was but the other players."""
        tournament = tournament_at(scene)
        if tournament is None:
            return []
        told, own = tournament.told, tournament.entrants.get(scene.model.player)
        # By the log as well: a server may count wrongly, and tells the same log again and again.
        newest = max([told.decisions, *(each.number for each in told.log)])
        before = self._decisions.get(told.id, newest)
        self._decisions[told.id] = max(before, newest)
        authors = {"", told.director_name, own.name if own is not None else ""}
        # Of a large round's results one's own is enough.
        return [decision_text(each) for each in told.log if each.number > before and each.author in authors and each.kind != "result"]

    def _lead(self, room: RoomModel) -> News:
        """Who leads. Whoever led still does while others are level with them."""
        ordered = sorted((info for info in room.seats if info.name is not None), key=lambda info: -info.home)
        if room.phase != "racing" or len(ordered) < 2:
            return {}
        first, second = ordered[:2]
        if first.home == second.home:
            return self._told.get("lead", {})
        name = "You lead" if first.seat == room.seat else f"{seat_name(first)} leads"
        return {(room.race, first.seat): f"{name}, {first.home} to {second.home}."}


# ---- what is told


def text_of(line: Line) -> str:
    """A line of a screen as text."""
    return " ".join("".join(text for _, text in line).split())


def _each(texts: Iterable[str]) -> News:
    return {text: text for text in texts if text}


def _still(text: str) -> str:
    """A sentence without the time that is left, which makes no news of it."""
    return re.sub(r"\d+:\d\d", "", text)


def _notices(scene: Scene) -> News:
    ui, notice, link = scene.ui, scene.model.notice, scene.model.link
    told: dict[Hashable, str] = {}
    if ui.taken_back:
        told[ui.taken_back, ui.noted_at_ms] = f"Not played: {', '.join(ui.taken_back)}."
    if ui.note:
        told[ui.note, ui.noted_at_ms] = ui.note
    if notice is not None and notice.text != link.reason:
        told[notice.text, notice.at_ms] = clean_chat(notice.text)
    if link.reason:
        told[link.reason] = link.reason
    return told | {_still(text): text for text in (check_in_sentence(scene), call_sentence(scene)) if text}


def tournament_at(scene: Scene) -> TournamentModel | None:
    """The tournament that one is at, and at none of its tables; None until it is known how it stands by now."""
    view_state, followed = scene.ui.tournament_view, scene.ui.followed
    known = scene.model.tournaments.tournament(view_state.id) if scene.model.room is None and view_state is not None else None
    # What is told stays told: what stood there before one went to one's table would be taken for news.
    is_news = known is not None and followed.tournament is not None and known.heard_at_ms >= followed.asked_ms
    return known if is_news else None


def _awaits_tournament(scene: Scene) -> bool:
    """Whether one is at a tournament, and does not know yet how it stands by now."""
    view_state = scene.ui.tournament_view
    return scene.model.room is None and view_state is not None and view_state.id is not None and tournament_at(scene) is None


def _tournament(scene: Scene) -> News:
    """Which tournament it is, and each of its phases."""
    tournament = tournament_at(scene)
    if tournament is None:
        return {}
    told = tournament.told
    facts = (title_text(told.options.name), format_text(told.options), rules_name(scene.model, told.options.rules))
    return {told.id: f"{', '.join(facts)}.", (told.phase, len(told.rounds)): _stands(scene, tournament)}


def _stands(scene: Scene, tournament: TournamentModel) -> str:
    return phase_sentence(tournament.told, left_ms(scene, tournament))


def tournament_lines(scene: Scene, asked: str) -> list[str]:
    """What can be asked at a tournament: `standings`, `tables`, or else how it stands and what one can do.

    The first two also at one of its tables after the race, when there is news of it again.
    """
    tournament, room = tournament_at(scene), scene.model.room
    if asked and room is not None and room.phase == "over":
        tournament = scene.model.tournaments.tournament(scene.model.table_of)
    if tournament is None:
        return []
    told, lines = tournament.told, []
    if asked == "standings":
        for entrant, row in ((line.entrant, line.row) for line in standings_of(tournament)):
            place = f"{row.place}. " if row is not None else ""
            name = f"{clean_name(entrant.name)}{' (you)' if entrant.id == scene.model.player else ''}{' (bot)' if entrant.bot else ''}"
            unit = "point" if row is not None and row.half_points == 2 else "points"
            points = f"{points_text(row.half_points, plain=True)} {unit}, {row.home} cards home" if row is not None else ""
            state = out_word(entrant) if entrant.withdrawn else "" if row is not None else "checked in" if entrant.checked_in else "entered"
            lines.append(f"{place}{name}: {', '.join(filter(None, (points, state)))}.")
        return lines or ["Nobody has entered yet."]
    if asked == "tables":
        for table in told.tables:
            first, second = (clean_name(table_name(tournament, side)) for side in (table.first, table.second))
            is_alone = told.options.format == "session"
            result = f": {result_text(table.result, alone=is_alone, plain=True)}" if table.result is not None else ""
            lines.append(f"Round {told.round}, table {table.table}: {first} against {second}{result}.")
        return lines or ["No round has been paired yet."]
    return [line for line in (_stands(scene, tournament), own_sentence(scene, tournament)) if line]


def _search(scene: Scene) -> News:
    search = scene.model.search
    if search is None:
        return {}
    rules = rules_name(scene.model, search.rules) if search.rules is not None else ""
    return {(search.window, search.waiting): search_sentence(search, rules, search.since_ms)}


def question_lines(scene: Scene) -> list[str]:
    """The open question, and how it is answered."""
    question = scene.ui.question
    if question is None:
        return []
    answers = (f"{key}: {line}" for key, line in zip(question.keys, question.lines, strict=True))
    ways = ["A number, or n."] if question.numbered else []
    return [question.text, *(text if text[-1] in ".!?" else f"{text}." for text in answers), *ways]


def _room(scene: Scene, room: RoomModel) -> News:
    """Which race it is, and how far it has come."""
    race = (room.code, room.race)
    facts = [clean_name(room.code), rules_name(scene.model, room.options.rules), *round_of(scene, room), *race_of_series(room)[:1]]
    told: dict[Hashable, str] = {race: f"Race {', '.join(facts)}."}
    started = race_clock_ms(room.started_at_ms, scene.clock_ms)
    if room.phase == "countdown" or (room.phase == "racing" and started < 0):
        told[*race, "countdown"] = f"Get set! The race starts in {counted((max(-started, 0) + 999) // 1000, 'second')}."
    elif room.phase == "racing" and room.started_at_ms is not None:
        told[*race, "racing"] = "Go! The clock runs."
    elif room.phase == "waiting" and room.ready_until_ms is not None:
        seconds = counted((max(room.ready_until_ms - scene.clock_ms, 0) + 999) // 1000, "second")
        told[*race, room.ready_until_ms] = f"Whoever is not ready within {seconds} loses their seat."
    elif room.series is not None and scene.model.finished is None:
        score = series_sentence(room.series, room.half, own=room.seat)
        told[score] = f"{score.rstrip('.')}."
    return told


def _seats(room: RoomModel, before: News) -> News:
    """Who is here, and how their parts have ended. before: what was told of it last."""
    told: dict[Hashable, str] = {room.parted: f"{clean_name(room.parted)} has left."} if room.parted else {}
    for info in room.opponents:
        if info.name is None:
            continue
        states = {
            "left": info.seat in room.left,
            AWAY: not info.connected and info.seat not in room.left,
            BACK: info.connected and any((info.seat, info.name, words) in before for words in (AWAY, BACK)),
            "is ready": info.ready and room.phase == "waiting",
            "is here": room.phase == "waiting" and not info.ready,
        }
        if room.phase == "racing" and (end := end_among(info, room.seats)) is not None:
            states[end.predicate] = True
        told |= {(info.seat, info.name, words): f"{seat_name(info)} {words}." for words, is_so in states.items() if is_so}
    return told


def _chat(room: RoomModel) -> News:
    said: dict[Hashable, str] = {}
    for line in room.chat:
        text = f"{clean_name(line.name)}: {clean_chat(line.text)}"
        # The same words may be said again.
        said[text, sum(known == text for known in said.values())] = text
    return said


def _counts(room: RoomModel) -> News:
    """How far the others are, now and then. No news of the cards that were home before they began."""
    others: list[tuple[Hashable, str, int, int]] = [(info.seat, seat_name(info), info.home, info.ply) for info in room.opponents]
    others += [(("ghost", ghost.ghost), clean_name(ghost.name), ghost.home, ghost.ply) for ghost in room.ghosts]
    return {(who, home // EVERY): f"{name} has {home} home." if ply else "" for who, name, home, ply in others if room.phase == "racing"}


def _move(played: Played, view: View) -> str:
    move, card = clean_name(played.move), card_words(played.card) if played.card else "cards"
    origin = {"w": "the waste", "s": "the stock"}.get(source(move), source(move))
    if move == "r":
        return f"The waste is redealt: {counted(view.stock, 'card')} in the stock."
    if goes_home(move):
        return f"{card} home from {origin}: {view.home}."
    end = {"": "", "w": " to the waste"}.get(target(move), f" to {target(move)}")
    return f"{card} from {origin}{end}{f', {view.stock} left' if source(move) == 's' else ''}."


def table_lines(view: View, board: Board) -> list[str]:
    """The table row by row, and what lies beside it."""

    def told(place: str) -> str:
        pile = view.piles[place]
        return f"{place} {card_words(pile[-1]) if pile else 'empty'}{f' on {len(pile) - 1}' if len(pile) > 1 else ''}"

    rows: dict[str, list[str]] = {}
    for place in view.piles:
        rows.setdefault("Reserves" if place in board.reserves else f"Row {place[1:]}", []).append(told(place))
    lines = [f"{name}: {', '.join(places)}." for name, places in rows.items()]
    if board.family == "quilt":
        free = free_slots(board, view)
        lines.append(f"Free: {', '.join(place for place in view.piles if place in free) or 'none'}.")
    lines += [f"Waste: {', on '.join(map(card_words, view.waste[:-4:-1])) or 'empty'}."] if board.waste else []
    following = f", next {', '.join(map(card_words, view.stock_next))}" if view.stock_next else ""
    lines += [f"Stock: {counted(view.stock, 'card')}{following}."] if board.stock else []
    tops = [(name, top_home(name, count)) for name, count in view.foundations.items()]
    homes = ", ".join(f"{'down to' if name.endswith('-') else 'up to'} {card_words(top)}" for name, top in tops if top)
    # A server may call its slots and foundations anything.
    return [clean_long(line) for line in (*lines, f"Home: {view.home}{f': {homes}' if homes else ''}.")]


def rules_lines(scene: Scene) -> list[str]:
    """The rules of the race that one is in, or of the tournament, in sentences."""
    room, tournament = shown_room(scene), tournament_at(scene)
    rules = room.options.rules if room is not None else tournament.told.options.rules if tournament is not None else ""
    return [f"{clean_name(info.name)}: {clean_long(info.explanation)}" for info in scene.model.rules if info.id == rules]


def watched_lines(scene: Scene) -> list[str]:
    """The tables of a race that is watched, as late as they may be shown, or why none is; empty if no race is."""
    watch, lines = scene.ui.watch, []
    if watch is None or watch.room is None:
        return []
    # By the seats of the room: a server may send a board of a seat that there is not.
    for info in watch.room.seats:
        if (board := watch.board(info.seat)) is not None:
            after = f"after {counted(board.ply, 'move')}" if board.ply else "before the first move"
            lines += [f"{seat_name(info)}, {after}:"]
            lines += table_lines(board.view, scene.model.board(watch.room, board.view))
    return lines or [_no_tables(scene, watch.room)]


def _no_tables(scene: Scene, room: RoomModel) -> str:
    """Why no table of a race that is watched can be told, and from when on one can."""
    if room.hides_boards:
        return NO_BOARDS
    if room.phase == "over":
        return "No table of this race is left to tell."
    if room.phase != "racing":
        return "No table may be told yet: the race has not begun."
    late_s = room.options.delay_s
    left_ms = late_s * 1000 - race_clock_ms(room.started_at_ms, scene.clock_ms)
    # Those that would tell of a card which somebody has yet to turn come later still.
    first = f", the first in {counted(-(-left_ms // 1000), 'second')}" if left_ms > 0 else ""
    return f"No table may be told yet: they are told {counted(late_s, 'second')} late{first}."


def score_line(scene: Scene, room: RoomModel) -> str:
    """How far everybody is, and the clock."""
    seats = [f"{'you' if info.seat == room.seat else seat_name(info)} {info.home}" for info in room.seats if info.name is not None]
    seats += [f"{clean_name(ghost.name)} {ghost.home}" for ghost in room.ghosts]
    clock = text_of(clock_line(scene)).replace(" / ", " of ")
    return f"{clock}{'. ' if clock else ''}Home, of {deck_size(scene.model.rules, room.options.rules)}: {', '.join(seats)}."


def _says_ready(model: Model) -> bool:
    """Whether the player has said that they are ready, and the answer is on its way."""
    held, room = model.evidence, model.room
    if held is None or room is None or room.phase != "waiting" or room.own is None or room.own.ready:
        return False
    # The second race of a swap is dealt with the nonces of the first.
    return held.has_nonce_of(room) and not room.is_second_of_swap


def _is_unscored(model: Model) -> bool:
    """Whether a race of a series has just ended: its score, or the next race with it, follows at once."""
    room = model.room
    return room is not None and room.phase == "over" and room.series is not None and not room.series.over


def _result(scene: Scene) -> News:
    """How the race ended, at its end; later what it did to ratings and best times."""
    watched = None if scene.ui.watch is None else scene.ui.watch.last or scene.ui.watch.room
    room = scene.model.finished if scene.model.room is not None else watched
    if room is None or not room.ended or _is_unscored(scene.model):
        return {}
    total = deck_size(scene.model.rules, room.options.rules)
    swing = outcome.turning_point(room)
    lines = [*map(text_of, outcome.titles(room, WIDE, result.runs_of(scene.model, room)))]
    for number, seat in sorted(enumerate(room.ended), key=lambda pair: pair[1].place):
        name = "you" if number == room.seat else clean_name(seat.name)
        last = f"the last at {outcome.counted_at(seat) / 1000:.1f} s, " if outcome.counted_at(seat) else ""
        ended = f"{counted(seat.plies, 'move')}, {word_among(seat, room.ended)}"
        lines.append(f"{seat.place}. {name}: {seat.home} of {total} home, {last}{ended}.")
    lines += [outcome.turning_sentence(swing)] if swing is not None else []
    lines += map(text_of, [*outcome.score_lines(room, WIDE, below_titles=True), *outcome.rating_lines(scene, room, WIDE)])
    lines += [clean_chat(scene.ui.standing)] if scene.ui.standing else []
    if room.record is None:
        lines.append(result.closed_sentence(scene.model, room))
    elif room is not watched:
        lines.append(result.deal_verdict(scene, room, room.record, total).sentence)
    return {(room.code, room.race, line): line for line in lines if line}


def hint_line(scene: Scene) -> str:
    """What the player can do now, or what is waited for."""
    model, ui, room, done = scene.model, scene.ui, scene.model.room, scene.model.finished
    if model.link.state != "connected":
        # At first there is nothing to come back to.
        return Step(model, ui, scene.now_ms).offline if model.welcome is not None or model.link.state == "gone" else ""
    if room is None and ui.watch is not None:
        return WATCHING if ui.watch.room is not None else " ".join(NOTHING)
    if room is None and (tournament := tournament_at(scene)) is not None:
        return own_sentence(scene, tournament)
    if room is None:
        # Until the lobby is known, a race that was asked for may be on its way.
        is_coming = model.lobby is None or model.search is not None or ui.start is not None or ui.followed.ready_at_once
        return "" if is_coming or _awaits_tournament(scene) else "You are in no race now. quit ends this."
    if _says_ready(model) or _is_unscored(model):
        return ""
    if done is not None and done.ended:
        return text_of(result.way_on(scene, done, WIDE))
    if room.phase == "waiting":
        way_in = invitation(model, ui)
        told = waited_for(scene, room)
        return f"{told} {clean_name(room.code)}. {way_in}" if way_in else told
    if room.phase == "racing" and room.view is not None:
        # A server may call its slots anything.
        return clean_long(situation(scene, room, model.board(room, room.view), WIDE)[1])
    return ""
