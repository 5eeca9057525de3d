"""The screen of one tournament: how it stands, what this player should do, and a page each for the tables, the standings with their
tie-breaks, and the log. On a wide terminal tables and standings stand side by side.
"""

from __future__ import annotations

from collections.abc import Hashable

from client.state.store import Model
from client.state.tournament import (
    DONE_PHASES,
    OPEN_PHASES,
    TournamentModel,
    is_field_closed,
    is_out,
    is_raced,
    table_name,
    waits_for_others,
)
from client.text.formatting import clock_text, deck_size
from client.text.tournaments import (
    TIE_BREAK_HEADS,
    TIE_BREAK_WORDS,
    bye_of,
    byes_sentence,
    decided_by,
    decision_text,
    earlier_decisions,
    out_sentence,
    out_word,
    outcome_sentence,
    own_result_sentence,
    phase_sentence,
    points_text,
    quarters_text,
    result_text,
)
from client.text.width import clip, fit, text_width
from client.tui.actions import Pick
from client.tui.drawing.bars import bar
from client.tui.drawing.picture import (
    MIDDLE,
    Line,
    Picture,
    Size,
    block,
    foot,
    hit,
    line_width,
    row,
    screen,
    spread,
    stacked,
    window,
    wrap_text,
)
from client.tui.keymap import Command
from client.tui.scene import MORE, Scene, head, remarks
from client.tui.screen import Screen
from client.tui.tournament.keys import ALWAYS, KEYS, meaningless, own_bye, refused, update
from client.tui.tournament_view_state import (
    ONLY_WATCHING,
    PAGES,
    StandingsLine,
    TournamentPage,
    directs,
    is_guest,
    lines_of,
    own_entrant,
    own_table,
    page_of,
    standings_of,
)
from client.tui.ui_state import Ui
from protocol.seat_ends import end_word
from protocol.text import clean_name, counted
from protocol.tournament_messages import Tournament
from protocol.tournaments import TournamentEntrant, TournamentSide, TournamentTable

WIDE = 150
"""From this many columns on, tables and standings stand side by side."""
PAGE_WORDS: dict[TournamentPage, str] = {"tables": "Tables", "standings": "Standings", "log": "Log"}


def _view(scene: Scene, size: Size) -> Picture:
    """The whole screen as a picture."""
    width, height = size
    view_state = scene.ui.tournament_view
    assert view_state is not None
    tournament = scene.model.tournaments.tournament(view_state.id)
    if tournament is None:
        feet = (remarks(scene, width, 2), foot(KEYS, scene.theme, width, without=frozenset(Command) - ALWAYS))
        looking = block([[("felt", "Loading...")]], width, centred=True)
        return screen(size, head(scene, width), looking, *feet, above=MIDDLE)
    page = page_of(view_state, tournament.told)
    ties = ", ".join(TIE_BREAK_WORDS.get(kind, clean_name(kind)) for kind in tournament.told.tie_breaks)
    aside = f"Points, then {ties}." if ties and tournament.told.rounds and page == "standings" else ""
    without = meaningless(scene.model, tournament, view_state)
    feet = (remarks(scene, width, 2, aside=aside), foot(KEYS, scene.theme, width, without=without, labels=_labels(scene.model, tournament)))
    told = block([_stands(scene, tournament, width), [("hint", _cut(f" {own_sentence(scene, tournament)}", width))], []])
    rows = height - 1 - 3 - 1 - 2 - 1
    if width >= WIDE and page != "log":
        right = min(width - 80, 84)
        parts: Picture = row(
            (width - right, _page(scene, tournament, "tables", width - right - 1, rows, marks=page == "tables")),
            (right, _page(scene, tournament, "standings", right, rows, marks=page == "standings")),
        )
    else:
        parts = _page(scene, tournament, page, width, rows, marks=True)
    return screen(size, head(scene, width), stacked(told, block([_pages(tournament, page, width)]), parts), *feet)


def _labels(model: Model, tournament: TournamentModel) -> dict[Command, str]:
    """What the key about a bye does now. While a round is raced, nothing else on the screen tells whether one has it."""
    own = own_entrant(model, tournament)
    request = own_bye(tournament.told, own) if own is not None else None
    return {} if request is None else {Command.BYE: f"{'bye' if request.ask else 'no bye'} in {request.round}"}


# ---- above the pages


def left_ms(scene: Scene, tournament: TournamentModel) -> int | None:
    return None if tournament.phase_until_ms is None else max(tournament.phase_until_ms - scene.clock_ms, 0)


def _stands(scene: Scene, tournament: TournamentModel, width: int) -> Line:
    director = "you are the director " if directs(scene.model, tournament) else f"director {clean_name(tournament.told.director_name)} "
    sentence = f" {phase_sentence(tournament.told, left_ms(scene, tournament))}"
    return spread([("title", sentence)], [("faint", _cut(f" {director}", width - text_width(sentence)))], width, "felt")


def _cut(text: str, width: int) -> str:
    """The text, or as much of it as there is room for, with a mark that there is more."""
    return text if text_width(text) <= width else f"{clip(text, width - len(MORE))}{clip(MORE, width)}"


def own_sentence(scene: Scene, tournament: TournamentModel) -> str:
    """What became of this player's table in the last round, and what they should do, or what has become of them."""
    told, own = tournament.told, own_entrant(scene.model, tournament)
    plays = own is not None and not own.withdrawn and told.round == len(told.rounds)
    mine = tournament.table_of(scene.model.player) if plays else None
    following = _next_sentence(scene, tournament, mine)
    if mine is None or mine.result is None:
        return following
    return f"{own_result_sentence(mine, scene.model.player, alone=told.options.format == 'session')} {following}".rstrip()


def _next_sentence(scene: Scene, tournament: TournamentModel, mine: TournamentTable | None) -> str:
    """mine: this player's table in the last round, if they play on."""
    model, told = scene.model, tournament.told
    own, table, directing = own_entrant(model, tournament), own_table(model, tournament), directs(model, tournament)
    if told.phase in DONE_PHASES:
        return outcome_sentence(told, model.player)
    if table is not None and own is not None:
        other = clean_name(table_name(tournament, table.second if table.first == own.id else table.first))
        until_ms = tournament.no_show_until_ms(table)
        within = "" if until_ms is None else f" within {clock_text(until_ms - scene.clock_ms, tenths=False)}"
        return f"Table {table.table} against {other} is waiting for you: press enter to go there{within}."
    if own is None or own.withdrawn:
        if directing and told.phase == "registration":
            return "S starts it, b adds a bot, i enters you as a player."
        if directing and told.phase == "check-in":
            return "S pairs the first round without those who are missing; + gives them more time."
        if directing and told.rounds:
            return _directors_sentence(scene, tournament)
        if own is not None:
            return out_sentence(told, own, back="" if is_field_closed(told) else "Press i to come back.")
        if told.rounds:
            return "You are not playing."
        return ONLY_WATCHING if is_guest(model) else "You have not entered. Press i to enter."
    if sentence := _without_table(scene, told, own):
        return sentence
    if told.phase == "registration":
        opens = "open the check-in" if told.options.check_in_s else "start it"
        starts = "Press S when everybody is here." if directing else f"The director will {opens}."
        return f"You have entered as {clean_name(own.name)}. {starts}"
    if told.phase == "running" and mine is not None and (sentence := _while_others_race(told, mine)):
        return sentence
    if is_out(told, own.id):
        return "You are out, and can watch the rest of it here."
    if told.phase == "paused":
        return "You are in. When the tournament goes on, you are taken to your table."
    if directing and told.phase == "between" and told.phase_ms is None:
        return f"{_pair_key(scene)} pairs the next round and takes you to your table."
    return "You are in. When the next round is paired, you are taken to your table."


def _without_table(scene: Scene, told: Tournament, own: TournamentEntrant) -> str:
    """What somebody who plays is told of a bye on request, or of the check-in; empty if neither concerns them."""
    # One that is paused once its round is over is between two.
    is_paused_between = told.phase == "paused" and not any(each.open for each in told.rounds)
    following = len(told.rounds) + (told.phase in ("between", *OPEN_PHASES) or is_paused_between)
    if (bye := bye_of(told, own.id, following)) is not None:
        return f"You have a bye in round {bye.round}: {points_text(bye.half_points, plain=scene.theme.is_ascii)}. Nobody waits for you."
    return "Press c to check in, or you will be left out." if not own.checked_in and told.phase == "check-in" else ""


def _while_others_race(told: Tournament, mine: TournamentTable) -> str:
    if mine.result is not None:
        return "The round goes on."
    return "Your table races again when the other tables are done. You are taken there." if waits_for_others(told, mine) else ""


def _directors_sentence(scene: Scene, tournament: TournamentModel) -> str:
    """Who holds up the round; or which key moves it on."""
    told = tournament.told
    match told.phase:
        case "between":
            return f"{_pair_key(scene)} pairs the next round{'.' if told.phase_ms is None else ' now; P keeps it waiting.'}"
        case "paused":
            return "P goes on."
    waiting = [table for table in told.tables if table.result is None and table.counted and not is_raced(table)]
    # House bots come by themselves.
    people = [(side, table.table) for table in waiting for side in table.sides if not _is_bot(tournament, side)]
    absent = [(side.name, table) for side, table in people if not side.present]
    unready = [(side.name, table) for side, table in people if side.ready is False]
    if missing := absent or unready:
        left = [until_ms for table in waiting if (until_ms := tournament.no_show_until_ms(table)) is not None]
        within = f" (they forfeit in {clock_text(min(left) - scene.clock_ms, tenths=False)})" if left else ""
        names = ", ".join(f"{clean_name(name)} at table {number}" for name, number in missing)
        return f"{'Not there yet' if absent else 'Not ready yet'}{within}: {names}."
    if scene.ui.settings.plain:
        return "P pauses. carpet tournament correct, remove and bye, from a second terminal, rule on tables and players."
    return "E gives the selected table a result, X removes a player, P pauses."


def _pair_key(scene: Scene) -> str:
    """N, or the word for it where whole lines are typed."""
    return "pair" if scene.ui.settings.plain else "N"


def _is_bot(tournament: TournamentModel, side: TournamentSide) -> bool:
    entrant = tournament.entrants.get(side.entrant or "")
    return entrant is None or entrant.bot is not None


def _pages(tournament: TournamentModel, page: TournamentPage, width: int) -> Line:
    told = tournament.told
    counts = {"tables": f" of round {told.round}" if told.round else "", "standings": "", "log": f" ({told.decisions})"}
    words = dict(PAGE_WORDS)
    if told.phase in OPEN_PHASES:
        words["standings"] = "Entrants"
        counts["standings"] = f" ({len(told.entrants)})"
    line: Line = [("felt", " ")]
    for each in PAGES:
        line += [("chosen" if each == page else "faint", f" {words[each]}{counts[each]} "), ("felt", " ")]
    hints: dict[TournamentPage, str] = {
        "tables": "left, right: other rounds" if len(told.rounds) > 1 else "",
        "standings": "",
        "log": f"{f'the last {len(told.log)}; ' if earlier_decisions(told) else ''}time since it was made",
    }
    return spread(line, [("faint", f"{hints[page]} ")], width, "felt")


def _page(scene: Scene, tournament: TournamentModel, page: TournamentPage, width: int, rows: int, *, marks: bool) -> Picture:
    """marks: whether the marked line is on this page."""
    marked = scene.ui.item if marks else -1
    if page == "tables":
        lines = _tables(scene, tournament, width, rows, marked)
    elif page == "standings":
        lines = _standings(scene, tournament, width, rows, marked)
    else:
        lines = _log(tournament, width, rows, marked)
    return stacked(*[hit(block([line]), Pick(at), width) if marks and at >= 0 else block([line]) for at, line in lines])


# ---- tables


def _tables(scene: Scene, tournament: TournamentModel, width: int, rows: int, marked: int) -> list[tuple[int, Line]]:
    tables = tournament.told.tables
    if not tournament.told.rounds:
        return [(-1, [("felt", "  No round has been paired yet.")])]
    byes = byes_sentence(tournament.told, tournament.told.round, plain=scene.theme.is_ascii)
    below = [(-1, [("felt", f"  {line}")]) for line in wrap_text(byes, width - 4)] if byes else []
    # However many have one, the tables come first.
    below = below[: max(rows - min(len(tables), rows // 2), 0)]
    lines = window(tables, marked, rows - len(below))
    return [*((at, _table(scene, tournament, table, width, marked=at == marked)) for at, table in lines), *below]


def _table(scene: Scene, tournament: TournamentModel, table: TournamentTable, width: int, *, marked: bool) -> Line:
    """One table in a row: both names, and between them how far they are, or the result."""
    own = scene.model.player
    pointer = scene.pointer(marked)
    # A bracket's name for it is not what commands ask for.
    match = f"{clean_name(table.match)} " if table.match else ""
    label = f"{pointer} {table.table:>3} {match}"
    tail = _tail(scene, tournament, table)
    middle_width = 29 if width < 100 else 41
    names = max(width - line_width([("", label)]) - middle_width - 2 - 13, 12)
    left, right = names // 2, names - names // 2
    first, second = _side_name(tournament, table.first, left), _side_name(tournament, table.second, right)
    roles = ["own" if own and side == own else "felt" if side is not None else "faint" for side in (table.first, table.second)]
    base = "strong" if own and own in (table.first, table.second) else "felt"
    if marked:
        roles = ["chosen", "chosen"]
    return [
        ("chosen" if marked else base, label),
        (roles[0], fit(first, left)),
        # Never marked: without colours, a bar beside it would run into it.
        ("felt", " "),
        *_middle(scene, tournament.told, table, middle_width, cards=deck_size(scene.model.rules, tournament.told.options.rules)),
        ("felt", " "),
        (roles[1], fit(second if table.counted or table.second else "bye", right)),
        ("faint", f" {fit(tail, 12)}"),
    ]


def _side_name(tournament: TournamentModel, side: str | None, columns: int) -> str:
    """A side's name, cut if need be, but always with the mark of a house bot."""
    name, entrant = clean_name(table_name(tournament, side)), tournament.entrants.get(side or "")
    kind = " (bot)" if entrant is not None and entrant.bot is not None else ""
    return f"{clip(name, columns - len(kind))}{kind}"


def _middle(scene: Scene, told: Tournament, table: TournamentTable, width: int, *, cards: int) -> Line:
    """How far both sides are, as two bars that grow towards the middle; for a table with a result, its points and cards."""
    if not table.counted:
        return [("faint", fit("", width))]
    if table.result is not None:
        plain = scene.theme.is_ascii
        score = result_text(table.result, alone=told.options.format == "session", plain=plain)
        return [("strong", f"{score:^{width}}")]
    if not table.sides:
        word = "waiting" if table.code is not None else "after the other tables" if waits_for_others(told, table) else "setting up"
        return [("faint", f"{word:^{width}}")]
    each = (width - 9) // 2
    one, other = table.sides[0], table.sides[1] if len(table.sides) > 1 else None
    return [
        *_side(scene, one, each, cards=cards, role="own"),
        ("strong", f" {one.home:>2} : {other.home if other is not None else 0:<2} "),
        *(_side(scene, other, width - 9 - each, cards=cards, role="other") if other is not None else [("faint", " " * (width - 9 - each))]),
    ]


def _side(scene: Scene, side: TournamentSide, width: int, *, cards: int, role: str) -> Line:
    if not side.present:
        return [("bad", f"{clip('absent', width):^{width}}")]
    if side.state == "waiting":
        role, word = ("good", f"{scene.theme.glyphs.tick} ready") if side.ready else ("faint", "not ready")
        return [(role, f"{clip(word, width):^{width}}")]
    return bar(side.home, cards, width, scene.theme, role)


def _tail(scene: Scene, tournament: TournamentModel, table: TournamentTable) -> str:
    """What else there is to know besides names and cards, in twelve columns."""
    if table.result is not None or not table.counted:
        word = decided_by(table.result) if table.result is not None else ""
        return word or ("" if table.race <= 1 else f"{table.race} races")
    until_ms = tournament.no_show_until_ms(table)
    if until_ms is not None and not is_raced(table):
        return f"until {clock_text(until_ms - scene.clock_ms, tenths=False)}"
    again = f" race {table.race}" if table.race > 1 else ""
    if is_raced(table):
        return f"{clock_text(table.elapsed_ms + scene.clock_ms - tournament.heard_at_ms, tenths=False)}{again}"
    ended = [end_word(side.state) for side in table.sides if end_word(side.state)]
    return ended[0] if ended else again.strip()


# ---- standings


def _standings(scene: Scene, tournament: TournamentModel, width: int, rows: int, marked: int) -> list[tuple[int, Line]]:
    told = tournament.told
    standings = standings_of(tournament)
    if told.phase in OPEN_PHASES:
        head_line = f"  {'':>3} {fit('entrant', width - 32)} {'rating':>7}  "
    else:
        kinds = "".join(f"{TIE_BREAK_HEADS.get(kind, clean_name(kind)[:5]):>7}" for kind in told.tie_breaks)
        head_line = f"  {'':>3} {fit('entrant', _name_width(tournament, width))} {'points':>7}{kinds}  {'w d l':<8}"
    return [(-1, [("faint", head_line)]), *_lines(scene, standings, width, rows - 1, marked, tournament)]


def _name_width(tournament: TournamentModel, width: int) -> int:
    return max(width - 6 - 1 - 7 - 7 * len(tournament.told.tie_breaks) - 2 - 8, 10)


def _lines(
    scene: Scene, standings: tuple[StandingsLine, ...], width: int, rows: int, marked: int, tournament: TournamentModel
) -> list[tuple[int, Line]]:
    if not standings:
        return [(-1, [("felt", "  Nobody has entered yet.")])]
    return [(at, _standing(scene, tournament, each, width, marked=at == marked)) for at, each in window(standings, marked, rows)]


def _standing(scene: Scene, tournament: TournamentModel, standing: StandingsLine, width: int, *, marked: bool) -> Line:
    entrant, plain = standing.entrant, scene.theme.is_ascii
    own = scene.model.player == entrant.id
    pointer = scene.pointer(marked)
    name = f"{clean_name(entrant.name) or 'nameless'}{' (you)' if own else ''}{' (bot)' if entrant.bot is not None else ''}"
    role = "chosen" if marked else "faint" if entrant.withdrawn else "own" if own else "felt"
    if tournament.told.phase in OPEN_PHASES:
        rating = "" if entrant.rating is None else str(entrant.rating)
        return [(role, f"{pointer} {entrant.seed:>3} {fit(name, width - 32)} {rating:>7}  "), *_presence(scene, tournament, standing)]
    text = f"{pointer} "
    row_ = standing.row
    is_away = not entrant.here and tournament.told.phase not in DONE_PHASES
    gone = f" ({out_word(entrant)})" if entrant.withdrawn else " (away)" if is_away else ""
    name_width = _name_width(tournament, width)
    if row_ is None:
        return [(role, f"{text}    {fit(name + gone, name_width)}"), ("faint", "" if entrant.withdrawn else "  joins next round")]
    ties = "".join(f"{quarters_text(value, plain=plain):>7}" for value in row_.tie_breaks)
    record = f"{row_.won} {row_.drawn} {row_.lost}"
    return [
        (role, f"{text}{row_.place:>3} {fit(name + gone, name_width)}"),
        ("chosen" if marked else "strong", f" {points_text(row_.half_points, plain=plain):>7}"),
        ("chosen" if marked else "felt", ties),
        ("chosen" if marked else "faint", f"  {fit(record, 8)}"),
    ]


def _presence(scene: Scene, tournament: TournamentModel, standing: StandingsLine) -> Line:
    glyphs, entrant = scene.theme.glyphs, standing.entrant
    if entrant.withdrawn:
        return [("faint", f"{glyphs.cross} {out_word(entrant)}")]
    if bye_of(tournament.told, entrant.id, 1) is not None:
        return [("faint", f"{glyphs.dot} bye")]
    if entrant.checked_in:
        return [("good", f"{glyphs.tick} checked in")]
    if tournament.told.phase == "check-in":
        return [("bad", f"{glyphs.ring} {'not checked in' if entrant.here else 'away'}")]
    return [("faint", f"{glyphs.dot if entrant.here else glyphs.ring} {'here' if entrant.here else 'away'}")]


# ---- the log


def _log(tournament: TournamentModel, width: int, rows: int, marked: int) -> list[tuple[int, Line]]:
    """The newest decision first, each in full with the time since it was made; the marked one is always in view."""
    entries = tuple(reversed(tournament.told.log))
    if not entries:
        return [(-1, [("felt", "  No decisions yet.")])]
    shown: list[tuple[int, Line]] = []
    for at, entry in enumerate(entries):
        for number, text in enumerate(wrap_text(decision_text(entry), width - 14)):
            stamp = clock_text(entry.at_ms - tournament.told.made_at_ms, tenths=False) if not number else ""
            shown.append((at, [("faint", f"  {stamp:>8}  "), ("title" if at == marked else "felt", text)]))
    if earlier := earlier_decisions(tournament.told):
        # With the oldest one, so that whoever goes down to it sees this.
        told = f"Before that: {counted(earlier, 'decision')}. To read all: carpet tournament log, or the page in a browser."
        shown += [(len(entries) - 1, [("faint", f"  {'':>8}  {text}")]) for text in wrap_text(told, width - 14)]
    end = max((number + 1 for number, (at, _) in enumerate(shown) if at == marked), default=0)
    return shown[max(end - rows, 0) :][:rows]


# ---- the registry's row


def _times(scene: Scene) -> Hashable:
    view_state = scene.ui.tournament_view
    tournament = scene.model.tournaments.tournament(view_state.id) if view_state is not None else None
    if tournament is None:
        return None
    moments = [tournament.phase_until_ms, *(tournament.no_show_until_ms(table) for table in tournament.told.tables)]
    counts = tuple((moment - scene.clock_ms) // 1000 for moment in moments if moment is not None)
    raced = any(map(is_raced, tournament.told.tables))
    return counts, (scene.clock_ms - tournament.heard_at_ms) // 1000 if raced else None


def _is_shown(state: Model, ui: Ui) -> bool:
    return state.room is None and ui.tournament_view is not None and ui.tournament_view.id is not None


def _refused(scene: Scene) -> frozenset[Command]:
    tournament = scene.model.tournaments.tournament(scene.ui.tournament_view.id if scene.ui.tournament_view is not None else None)
    return frozenset() if tournament is None else refused(scene.model, tournament)


SCREEN = Screen(
    "tournament",
    "At a tournament",
    KEYS,
    _is_shown,
    update,
    _view,
    times=_times,
    scrolls=True,
    lines=lambda state, ui: lines_of(state, ui.tournament_view),
    refused=_refused,
)
