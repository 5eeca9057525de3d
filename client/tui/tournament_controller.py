"""The part of the controller that goes to tournaments: lists, one's own part in one of them, and the director's decisions.

What is asked for is the server's to decide; here is only what a key stands for, and which question comes before it.
"""

from __future__ import annotations

from dataclasses import replace

import urwid
from msgspec.structs import replace as changed

from client.state.store import Event
from client.state.tournament import TournamentModel, is_raced, table_name
from client.text.tournaments import result_text
from client.tui.keymap import Action, Place
from client.tui.playing import Playing
from client.tui.session import FOUNDING_REFERENCE
from client.tui.tournament_form import (
    MAKE_LINE,
    NAME_LINE,
    RULES_LINE,
    FoundingForm,
    founding_changed,
    founding_lines,
    with_title,
    with_tournament_rules,
)
from client.tui.tournament_subscription import HALL_REFERENCE
from client.tui.tournament_view_state import (
    PAGES,
    Hall,
    directs,
    lines_of,
    marked_entrant,
    marked_table,
    own_entrant,
    own_table,
    page_of,
    standings_of,
)
from client.tui.ui_state import PromptKind, Question, QuestionKind, RulesPage, scene_of
from protocol.client_messages import (
    AddBot,
    CorrectResult,
    EndTournament,
    EnterTournament,
    JoinRace,
    LeaveTournament,
    PairRound,
    PauseTournament,
    RemoveEntrant,
    StartTournament,
)
from protocol.errors import ErrorCode
from protocol.server_messages import Called, Decided, Error
from protocol.text import clean_chat, clean_name
from protocol.tournaments import REASON_LENGTH, TITLE_LENGTH, TableResult, TournamentTable

VERDICTS: dict[str, TableResult | None] = {
    "first": TableResult(verdict="first"),
    "second": TableResult(verdict="second"),
    "draw": TableResult(verdict="draw"),
    "first-forfeit": TableResult(verdict="first", forfeit=True),
    "second-forfeit": TableResult(verdict="second", forfeit=True),
    "neither": TableResult(verdict="neither", forfeit=True),
    "strike": None,
}
"""What a director may say of a table."""


class Attending(Playing):
    """One player at tournaments, at his screen."""

    edit: urwid.Edit | None
    quitting: bool

    # ---- what is heard

    def _attend(self, event: Event) -> None:
        """Put in order what one looks at, behind an event that the session has heard."""
        match event:
            case Called(id=tournament) if self.desk.hall is None or self.desk.hall.id != tournament:
                # Behind the race one comes back to where it belongs.
                self.go_to_hall(Hall(tournament))
            case Decided(id=tournament, ref=ref) if ref == FOUNDING_REFERENCE:
                self.desk = replace(self.desk, founding=None)
                self.go_to_hall(Hall(tournament))
            case Error(ref=ref, code=code) if ref == HALL_REFERENCE and code == ErrorCode.NO_SUCH_TOURNAMENT:
                self.go_to_hall(Hall())
            case _:
                pass
        room = self.model.room
        if self.desk.hall is None and room is not None and room.shared is not None and self.model.is_at_table:
            self.go_to_hall(Hall(room.shared.id.partition("/")[0]))
        hall = self.desk.hall
        if hall is not None and scene_of(self.model, self.desk) in (Place.TOURNAMENTS, Place.TOURNAMENT) and self.desk.question is None:
            self.desk = replace(self.desk, item=max(min(self.desk.item, lines_of(self.model, hall) - 1), 0))

    def go_to_hall(self, hall: Hall | None) -> None:
        """Look at this from here on."""
        self.desk = replace(self.desk, hall=hall, item=0)
        self.session.look_at(hall)

    def _leave_hall(self, hall: Hall) -> None:
        """One step back: from a tournament to the list, from there home; who only watches has nothing to do there."""
        if hall.id is not None:
            self.go_to_hall(Hall())
        elif self.is_guest:
            self.quitting = True
        else:
            self.go_to_hall(None)

    @property
    def tournament(self) -> TournamentModel | None:
        """The one that is looked at, once it is known."""
        return self.model.tournaments.tournament(self.desk.hall.id) if self.desk.hall is not None else None

    @property
    def is_guest(self) -> bool:
        return self.model.welcome is not None and not self.model.welcome.player

    # ---- what keys do

    def _hall_action(self, action: Action) -> None:
        """A key of the two screens, but those that every list has."""
        tournament = self.tournament
        if tournament is None:
            return
        told = tournament.told
        if action in (Action.ENTER, Action.CHECK_IN, Action.WITHDRAW) and self.is_guest:
            self._note("Who only watches cannot play: carpet tournament join does.")
            return
        directing = action not in (Action.ENTER, Action.CHECK_IN, Action.WITHDRAW, Action.TURN, Action.TURN_BACK)
        if directing and not directs(self.model, tournament):
            self._note(f"That is for its director, {clean_name(told.director_name)}.")
            return
        match action:
            case Action.TURN | Action.TURN_BACK:
                self._turn(1 if action is Action.TURN else -1)
            case Action.ENTER:
                self._enter(tournament)
            case Action.CHECK_IN:
                self._check_in(tournament)
            case Action.WITHDRAW:
                own = own_entrant(self.model, tournament)
                if own is None or own.withdrawn:
                    self._note("You do not play in it.")
                else:
                    self._ask("withdraw", "Play in it no more?", ("Withdraw", "Go on"), ("yes", "no"))
            case Action.START:
                self._said(self.session.send(StartTournament(id=told.id)))
            case Action.HOLD:
                self._said(self.session.send(PauseTournament(id=told.id, pause=told.phase != "paused")))
            case Action.PAIR_ROUND:
                self._said(self.session.send(PairRound(id=told.id, round=len(told.rounds) + 1)))
            case Action.CORRECT:
                self._correct(tournament)
            case Action.REMOVE:
                self._remove(tournament)
            case Action.ADD_BOT:
                bots = self.model.welcome.bots if self.model.welcome is not None else ()
                names = tuple(bot.name for bot in bots)
                if names:
                    self._ask("add-bot", "Which bot enters?", tuple(map(clean_name, names)), names, item=0)
                else:
                    self._note("This server has no bots.")
            case Action.END:
                self._ask("end", "Break the tournament off? Its standings stay.", ("Break it off", "Go on"), ("yes", "no"))
            case _:
                pass

    def _note(self, words: str) -> None:
        self.desk = replace(self.desk, note=words)

    def _ask(self, kind: QuestionKind, text: str, lines: tuple[str, ...], values: tuple[str, ...], *, item: int = 1) -> None:
        hall = replace(self.desk.hall, marked=self.desk.item) if self.desk.hall is not None else None
        self.desk = replace(self.desk, hall=hall, item=item, question=Question(kind, text, lines, values))

    @property
    def _item_behind(self) -> int:
        """The line that was marked before a question lay over it."""
        hall = self.desk.hall
        return hall.marked if hall is not None and scene_of(self.model, self.desk) is Place.TOURNAMENT else 0

    def _turn(self, step: int) -> None:
        hall, tournament = self.desk.hall, self.tournament
        if hall is None or tournament is None:
            return
        page = PAGES[(PAGES.index(page_of(hall, tournament.told)) + step) % len(PAGES)]
        self.desk = replace(self.desk, hall=replace(hall, page=page), item=self._own_line(tournament, page))

    def _own_line(self, tournament: TournamentModel, page: str) -> int:
        """The line that is the player's own, else the first one."""
        own = self.model.welcome.player if self.model.welcome is not None else ""
        lines: list[bool] = []
        if own and page == "tables":
            lines = [own in (table.first, table.second) for table in tournament.told.tables]
        elif own and page == "standings":
            lines = [standing.entrant.id == own for standing in standings_of(tournament)]
        return lines.index(True) if True in lines else 0

    def _other_round(self, step: int) -> None:
        hall, tournament = self.desk.hall, self.tournament
        if hall is None or tournament is None or not tournament.told.rounds:
            return
        last = len(tournament.told.rounds)
        number = max(min((hall.round or last) + step, last), 1)
        # The last one is whichever is the last.
        hall = replace(hall, round=None if number == last else number, page="tables")
        self.desk = replace(self.desk, hall=hall, item=0)
        self.session.look_at(hall)

    def _enter(self, tournament: TournamentModel) -> None:
        own = own_entrant(self.model, tournament)
        if own is not None and not own.withdrawn:
            self._note("You play in it already.")
        elif tournament.told.by_code:
            self._prompt("entry")
        else:
            self._said(self.session.send(EnterTournament(id=tournament.told.id)))

    def _check_in(self, tournament: TournamentModel) -> None:
        own = own_entrant(self.model, tournament)
        if own is None or own.withdrawn:
            self._note("You do not play in it yet: i enters.")
        elif own.checked_in:
            self._note("You have checked in.")
        elif tournament.told.phase == "registration":
            self._note("The check-in is not open yet: its director opens it.")
        else:
            self._said(self.session.check_in(tournament.told.id))

    # ---- the marked line

    def _take_hall_line(self, index: int) -> None:
        hall, listed = self.desk.hall, self.model.tournaments.listed or ()
        if hall is None:
            return
        if hall.id is None:
            if 0 <= index < len(listed):
                self.go_to_hall(Hall(listed[index].id))
            return
        tournament = self.tournament
        if tournament is None:
            return
        mine, marked = own_table(self.model, tournament), marked_table(self.model, hall, index)
        if mine is not None and mine.code is not None:
            self._said(self.session.send(JoinRace(code=mine.code)))
        elif marked is not None and is_raced(marked):
            self._said(self.session.watch(marked.code))
        elif marked is not None:
            done = f": {result_text(marked.result)}" if marked.result is not None else ""
            self._note(f"Nothing is being raced at table {marked.table} now{done}.")

    # ---- the director's decisions

    def _correct(self, tournament: TournamentModel) -> None:
        hall = self.desk.hall
        table = marked_table(self.model, hall, self.desk.item) if hall is not None else None
        if table is None:
            self._note("Mark a table on the page of tables first (tab).")
            return
        first, second = (clean_name(table_name(tournament, side)) for side in (table.first, table.second))
        text = f"Round {tournament.told.round}, table {table.table}: {first} against {second}"
        words = {
            "first": f"{first} wins",
            "second": f"{second} wins",
            "draw": "Draw",
            "first-forfeit": f"{first} wins by forfeit",
            "second-forfeit": f"{second} wins by forfeit",
            "neither": "Both forfeit",
            "strike": "Strike the result: it is open again",
        }
        told = tournament.told
        asked = CorrectResult(id=told.id, round=told.round, table=table.table, race=race_of(table), result=table.result)
        self.desk = replace(self.desk, hall=replace(hall, asked=asked) if hall is not None else None)
        self._ask("verdict", text, tuple(words[value] for value in VERDICTS), tuple(VERDICTS), item=0)

    def _remove(self, tournament: TournamentModel) -> None:
        hall = self.desk.hall
        entrant = marked_entrant(self.model, hall, self.desk.item) if hall is not None else None
        if entrant is None or entrant.withdrawn:
            self._note("Mark somebody who plays, on the page of standings (tab).")
        else:
            self._ask("remove", f"Take {clean_name(entrant.name)} out of the tournament?", ("Take out", "Go on"), (entrant.id, "no"))

    def _decide(self, kind: QuestionKind, value: str) -> None:
        """A question of a tournament's was answered."""
        hall, tournament = self.desk.hall, self.tournament
        if hall is None or tournament is None:
            return
        told = tournament.told
        match kind:
            case "withdraw":
                self._said(self.session.send(LeaveTournament(id=told.id)))
            case "add-bot":
                self._said(self.session.send(AddBot(id=told.id, bot=value)))
            case "remove":
                self._ask_why(replace(hall, asked=RemoveEntrant(id=told.id, entrant=value)))
            case "end":
                self._ask_why(replace(hall, asked=EndTournament(id=told.id)))
            case "verdict" if isinstance(hall.asked, CorrectResult):
                result = VERDICTS[value]
                known = hall.asked.result
                if result is not None and known is not None:
                    result = changed(result, first_home=known.first_home, second_home=known.second_home)
                self._ask_why(replace(hall, asked=changed(hall.asked, result=result)))
            case _:
                pass

    def _ask_why(self, hall: Hall) -> None:
        self.desk = replace(self.desk, hall=hall)
        self._prompt("reason")

    def _say_why(self, reason: str) -> None:
        """The reason was typed, or none: now it is asked for."""
        hall = self.desk.hall
        if hall is None or hall.asked is None:
            return
        self.desk = replace(self.desk, hall=replace(hall, asked=None))
        self._said(self.session.send(changed(hall.asked, reason=clean_chat(reason)[:REASON_LENGTH])))

    # ---- a new tournament

    def _take_founding_line(self, index: int) -> None:
        form = self.desk.founding
        if form is None:
            return
        if index == MAKE_LINE:
            self._said(self.session.found(form.options))
        elif index == NAME_LINE:
            self._prompt("title")
        elif index == RULES_LINE:
            ids = [info.id for info in self.model.rules]
            marked = form.options.rules
            self.desk = replace(self.desk, rules_page=RulesPage(), item=ids.index(marked) if marked in ids else 0)
        else:
            self._change_founding(index, 1)

    def _walk_founding(self, form: FoundingForm, step: int, *, across: bool) -> None:
        if across:
            self._change_founding(self.desk.item, step)
        else:
            self.desk = replace(self.desk, item=(self.desk.item + step) % len(founding_lines(form, self.model.rules)))

    def _change_founding(self, line: int, step: int) -> None:
        form = self.desk.founding
        if form is not None:
            bots = self.model.welcome.bots if self.model.welcome is not None else ()
            self.desk = replace(self.desk, founding=founding_changed(form, line, step, self.model.rules, bots))

    def _found_with_rules(self, rules: str) -> None:
        if self.desk.founding is not None:
            self.desk = replace(self.desk, founding=with_tournament_rules(self.desk.founding, rules), item=RULES_LINE)

    # ---- typed text

    def _prompt(self, kind: PromptKind) -> None:
        self.desk = replace(self.desk, prompt=kind, typed="", note="")
        self.edit = urwid.Edit(multiline=False)

    def _typed_at_hall(self, kind: PromptKind, text: str) -> None:
        """What was typed for a tournament."""
        match kind:
            case "title" if self.desk.founding is not None:
                self.desk = replace(self.desk, founding=with_title(self.desk.founding, clean_chat(text)[:TITLE_LENGTH].strip()))
            case "tournament" if text:
                self.go_to_hall(Hall(text.upper()[:16]))
            case "entry" if text and self.tournament is not None:
                self._said(self.session.send(EnterTournament(id=self.tournament.told.id, code=text[:32])))
            case "reason":
                self._say_why(text)
            case _:
                pass


def race_of(table: TournamentTable) -> int:
    """The number of the race that a word on a table is about: the last one that has a result, or the one that has none yet."""
    return max(len(table.races), 1) if table.result is not None else len(table.races) + 1
