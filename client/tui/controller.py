"""What keys and clicks do: one method for each action, on the session and the desk. No waiting, no drawing, no clock.

The controller is the only writer of the desk; the app feeds it what the link says and what the player types, and draws what it holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

import urwid
from msgspec.structs import replace as changed

from client.connection.events import Back, Lost
from client.replay.timeline import TimeLine
from client.state.store import Event
from client.state.watching import watch_after
from client.tui import keymap as keys
from client.tui.cursor import NAMED, moved, type_slot
from client.tui.home import home_items
from client.tui.keymap import Action, Place
from client.tui.playing import DOWN, UP
from client.tui.replay_state import jumped, jumped_to_tenth, reel_after, reel_of
from client.tui.session import Session
from client.tui.start import PlayOnWanted
from client.tui.theme import next_palette
from client.tui.tournament_controller import Attending
from client.tui.tournament_form import RULES_LINE as FOUNDING_RULES_LINE
from client.tui.tournament_form import FoundingForm
from client.tui.tournament_view_state import Hall, lines_of
from client.tui.ui_state import (
    DEAL_LINE,
    NUMBERED,
    OPEN_LINE,
    RULES_LINE,
    Desk,
    OpenForm,
    PromptKind,
    Question,
    QuestionKind,
    RulesPage,
    form_changed,
    form_lines,
    place_of,
    scene_of,
    with_deal,
    with_rules,
)
from protocol.client_messages import JoinRace, LeaveRace, OpenRace, Resign, RunDaily, Say, Stop, Unwatch
from protocol.phrases import PHRASES
from protocol.record import Record
from protocol.server_messages import Error
from protocol.text import clean_chat

_PLACES: dict[Action, str] = {Action.WASTE: "w", Action.STOCK: "s", Action.REDEAL: "r", Action.UPWARD: UP, Action.DOWNWARD: DOWN}


@dataclass(frozen=True, slots=True)
class ReviewWanted:
    """A game to be reviewed by whoever drives the controller, which hears of it by `reviewed`."""

    record: Record
    seat: int


@dataclass(frozen=True, slots=True)
class ReplayWanted:
    """A race to be replayed: whoever drives the controller gets its time line, and hands it over by `replayed`."""

    record: Record
    seat: int | None


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The last review asked for: of which record, and what came of it, nothing while it is being thought of."""

    digest: str = ""
    sentences: tuple[str, ...] = ()


class Controller(Attending):
    """The player's hands. now_ms: the local monotonic clock; own_server: the server is there for this player alone and ends with him.

    replay: a race to be looked at and nothing else: there is no server, and the end of the replay is the end.
    """

    def __init__(
        self,
        session: Session,
        *,
        desk: Desk,
        now_ms: Callable[[], int],
        own_server: bool = False,
        replay: TimeLine | None = None,
        remark: str = "",
    ) -> None:
        """remark: to be said in the first room."""
        super().__init__(session, desk=desk, now_ms=now_ms)
        self.edit: urwid.Edit | None = None
        self.quitting = False
        self.review_wanted: ReviewWanted | None = None
        self._reviewed = Reviewed()
        self.replay_wanted: ReplayWanted | None = None
        self._replayed: TimeLine | None = None
        self._own_server = own_server
        self._remark = remark
        self._only_replay = replay is not None
        self.play_on: PlayOnWanted | None = None
        if replay is not None:
            self.desk = replace(desk, reel=reel_of(replay))

    # ---- what is heard

    def hear(self, event: Event) -> None:
        """Pass an event to the session and put the desk in order behind it."""
        before = self.model.room
        self.session.hear(event)
        self._watch(event)
        room = self.model.room
        if isinstance(event, Error | Lost | Back):
            self._ahead = ()
            self.desk = replace(self.desk, note="")
        if room is None and before is not None:
            self._clear_desk()
        elif room is not None and (before is None or (before.code, before.race, before.phase) != (room.code, room.race, room.phase)):
            # A question about a phase that has ended means nothing any more; the cursor begins a new table at its first slot.
            self._clear_desk()
            if before is None or (before.code, before.race) != (room.code, room.race):
                self.desk = replace(self.desk, cursor="a1", note=self._remark)
                self._remark = ""
        if self.desk.held and (room is None or before is None or room.view != before.view):
            self.desk = replace(self.desk, held="")
        self._attend(event)
        self.play_ahead()

    def _watch(self, event: Event) -> None:
        before, watch = self.desk.watch, watch_after(self.desk.watch, event, self._now_ms())
        if watch is before:
            return
        self.desk = replace(self.desk, watch=watch)
        was, room = before.room if before is not None else None, watch.room if watch is not None else None
        if (was.code, was.race) != (room.code, room.race) if was is not None and room is not None else was is not room:
            self.desk = replace(self.desk, details=False, first_seat=0)
            if self.model.room is None and self.desk.prompt is not None and (was is None or room is None or was.code != room.code):
                self.cancel_prompt()
        elif was is not None and room is not None and was.phase != room.phase:
            self.desk = replace(self.desk, details=False)

    def _clear_desk(self) -> None:
        self._ahead = ()
        self.desk = replace(self.desk, form=None, founding=None, rules_page=None, question=None, held="", typed="", note="", item=0)
        self.desk = replace(self.desk, details=False, review=None, reel=None, standing="")
        if self.desk.prompt is not None and (self.desk.prompt != "chat" or self.model.room is None):
            self.cancel_prompt()

    # ---- keys and clicks

    def key(self, key: str) -> None:
        """A key that no text field took."""
        place = place_of(self.model, self.desk)
        if place is Place.RACE:
            named = type_slot(self.desk.typed, key)
            self.desk = replace(self.desk, typed=named.typed)
            if named.slot is not None:
                self.place(named.slot)
            if named.taken:
                return
        if place is Place.CHOICE and key.isdigit() and key != "0":
            question = self.desk.question
            if question is not None and int(key) <= len(question.lines):
                self.pick(int(key) - 1)
            return
        action = keys.action_for(place, key)
        if action is Action.TENTH and self.desk.reel is not None:
            self.desk = replace(self.desk, reel=jumped_to_tenth(self.desk.reel, int(key), self._now_ms()))
        elif action is not None:
            self.act(action)
        elif len(key) == 1 or key == "esc":
            self.desk = replace(self.desk, note="" if key == "esc" else f"{key} does nothing here; ? shows the keys.")

    def act(self, action: Action) -> None:
        """Do what a key or a button stands for, on the screen that is shown."""
        place = place_of(self.model, self.desk)
        self.desk = replace(self.desk, note="")
        match action:
            case Action.UP | Action.DOWN | Action.LEFT | Action.RIGHT:
                self._walk(action, place)
            case Action.PLAY | Action.YES | Action.NO:
                self._take(action, place)
            case Action.SLOT:
                self.desk = replace(self.desk, typed=NAMED)
            case Action.WASTE | Action.STOCK | Action.REDEAL | Action.UPWARD | Action.DOWNWARD:
                self.place(_PLACES[action])
            case Action.MOVE:
                self._ask_for("move")
            case Action.CHAT:
                self._talk(place)
            case Action.CODE:
                self._ask_for("tournament" if place is Place.TOURNAMENTS else "code")
            case Action.KEEP:
                self._confirm_end("keep", "Stop now and keep your cards home?", "Stop", "Go on racing")
            case Action.RESIGN:
                self._confirm_end("resign", "Give this race up? You are placed last.", "Give up", "Go on racing")
            case Action.LEAVE:
                self._leave()
            case Action.READY:
                self._said(self.session.ready())
            case Action.REMATCH if self.model.is_at_table:
                # Nobody races anybody again there: the tournament goes on.
                self._said(self.session.send(LeaveRace()))
            case Action.REMATCH:
                self._said(self.session.rematch())
            case Action.DETAILS:
                self.desk = replace(self.desk, details=not self.desk.details, review=None)
            case Action.REVIEW:
                self._review()
            case Action.REPLAY:
                self._replay()
            case Action.PAUSE | Action.LEFT_BACK | Action.LEFT_ON | Action.RIGHT_BACK | Action.RIGHT_ON | Action.SLOWER | Action.FASTER:
                self._wind(action)
            case Action.PAIR | Action.PAIR_BACK if place is Place.WATCH:
                self.desk = replace(self.desk, first_seat=self.desk.first_seat + (1 if action is Action.PAIR else -1))
            case Action.PARTING | Action.FIRST | Action.LAST | Action.TENTH | Action.PAIR | Action.PAIR_BACK:
                self._wind(action)
            case Action.BOT:
                self._mark("bot", "This server has no bots.")
            case Action.RUNNING:
                self._mark("running", "No race is being run in public just now.")
            case Action.RACES:
                self._mark("race", "No open race just now.")
            case Action.MATCH:
                self._match()
            case Action.DAILY:
                self._said(self.session.send(RunDaily(rules=self.desk.rules)))
            case Action.PLAY_ON:
                self._play_on()
            case Action.OPEN if place is Place.TOURNAMENTS:
                self.desk = replace(self.desk, founding=FoundingForm(), item=0)
            case Action.OPEN:
                self.desk = replace(self.desk, form=with_rules(OpenForm(), self.desk.rules, self.model.rules), item=OPEN_LINE)
            case Action.TOURNAMENTS:
                self.go_to_hall(Hall())
            case Action.ENTER | Action.CHECK_IN | Action.WITHDRAW | Action.TURN | Action.TURN_BACK:
                self._hall_action(action)
            case Action.START | Action.HOLD | Action.PAIR_ROUND | Action.CORRECT | Action.REMOVE | Action.ADD_BOT | Action.END:
                self._hall_action(action)
            case Action.BACK:
                self._back()
            case Action.COLOURS:
                settings = self.desk.settings
                self.desk = replace(self.desk, settings=replace(settings, palette=next_palette(settings.palette)))
            case Action.ASCII:
                self.desk = replace(self.desk, settings=replace(self.desk.settings, ascii=not self.desk.settings.ascii))
            case Action.BELL:
                settings = replace(self.desk.settings, bell=not self.desk.settings.bell)
                self.desk = replace(self.desk, settings=settings, note=f"The bell is {'on' if settings.bell else 'off'}.")
            case Action.HELP:
                self.desk = replace(self.desk, help_from=None if self.desk.help_from is not None else 0)
            case Action.QUIT:
                self._quit()
            case _:
                assert_never(action)

    def pick(self, index: int) -> None:
        """Take a line of the menu, form or question that is shown."""
        place, before = place_of(self.model, self.desk), self.desk.item
        self.desk = replace(self.desk, item=index)
        match place:
            case Place.RULES if index == before:
                self._choose_rules(index)
            case Place.CHOICE:
                self._answer(index)
            case Place.HOME:
                self._take_item(index)
            case Place.FORM if self.desk.founding is not None:
                self._take_founding_line(index)
            case Place.FORM:
                self._take_form_line(index)
            case Place.TOURNAMENTS:
                self._take_hall_line(index)
            case Place.TOURNAMENT if index == before:
                self._take_hall_line(index)
            case _:
                pass

    # ---- the review of one's own game

    def _review(self) -> None:
        room = self.model.finished
        if self.desk.review is not None:
            self.desk = replace(self.desk, review=None)
        elif room is None or room.record is None or room.seat is None:
            self.desk = replace(self.desk, note="There is no game of yours to review.")
        else:
            if self._reviewed.digest != room.record.digest:
                self._reviewed = Reviewed(room.record.digest)
                self.review_wanted = ReviewWanted(room.record, room.seat)
            self.desk = replace(self.desk, details=False, review=self._reviewed.sentences)

    def reviewed(self, wanted: ReviewWanted, sentences: tuple[str, ...]) -> None:
        """The review that was wanted is there."""
        if self._reviewed.digest == wanted.record.digest:
            self._reviewed = Reviewed(wanted.record.digest, sentences)
            if self.desk.review is not None:
                self.desk = replace(self.desk, review=sentences)

    def kept(self, record: Record, standing: str) -> None:
        """The race was one against the clock, and this is how it stands among one's own."""
        room = self.model.room
        if room is not None and room.record is not None and room.record.digest == record.digest:
            self.desk = replace(self.desk, standing=standing)

    # ---- the replay of the race

    def _replay(self) -> None:
        room = self.model.finished
        if room is None or room.record is None:
            self.desk = replace(self.desk, note="There is no race to replay.")
        elif self._replayed is not None and self._replayed.record.digest == room.record.digest:
            self.desk = replace(self.desk, reel=reel_of(self._replayed, own=room.seat))
        else:
            self.replay_wanted = ReplayWanted(room.record, room.seat)
            self.desk = replace(self.desk, note="The race is being played over again ...")

    def replayed(self, wanted: ReplayWanted, line: TimeLine | str) -> None:
        """The time line that was wanted is there, or a sentence that says why not. Who has left the result looks at something else."""
        room = self.model.finished
        if room is None or room.record is None or room.record.digest != wanted.record.digest:
            return
        if isinstance(line, str):
            self.desk = replace(self.desk, note=line)
        else:
            self._replayed = line
            self.desk = replace(self.desk, note="", reel=reel_of(line, own=wanted.seat))

    def _wind(self, action: Action) -> None:
        reel = self.desk.reel
        if reel is None:
            return
        if action is Action.PARTING and reel.parting is None:
            self.desk = replace(self.desk, note="The lines of play do not part.")
        self.desk = replace(self.desk, reel=reel_after(reel, action, self._now_ms()))

    def _play_on(self) -> None:
        reel = self.desk.reel
        if reel is None:
            return
        shown, record = reel.shown[0], reel.line.record
        ply = reel.line.plies(reel.at(self._now_ms()).made)[shown.number]
        if self._only_replay:
            self.play_on = PlayOnWanted(record, shown.number, ply)
            self.quitting = True
        else:
            # Here there is a race to go back to, and a server of one's own would take the line's place.
            seat = f" --seat {shown.number + 1}" if shown.number != reel.own else ""
            self.desk = replace(self.desk, note=f"To play on from here, when you have left: carpet play-on --from {ply}{seat}")

    def jump(self, t_ms: int) -> None:
        """Go to a moment of the replay."""
        if self.desk.reel is not None:
            self.desk = replace(self.desk, note="", reel=jumped(self.desk.reel, t_ms, self._now_ms()))

    # ---- menus, forms, questions

    def _walk(self, action: Action, place: Place) -> None:
        step = -1 if action in (Action.UP, Action.LEFT) else 1
        desk, model = self.desk, self.model
        match place:
            case Place.RACE if model.room is not None and model.room.view is not None:
                self.desk = replace(desk, cursor=moved(self._board(model.room.view), desk.cursor, action))
            case Place.REPLAY:
                self._wind(action)
            case Place.RULES:
                self.desk = replace(desk, item=(desk.item + step) % max(len(self.model.rules), 1))
            case Place.HELP:
                self.desk = replace(desk, help_from=max((desk.help_from or 0) + step, 0))
            case Place.HOME:
                self.desk = replace(desk, item=(desk.item + step) % max(len(home_items(model)), 1))
            case Place.TOURNAMENT if action in (Action.LEFT, Action.RIGHT):
                self._other_round(step)
            case Place.TOURNAMENTS | Place.TOURNAMENT if desk.hall is not None:
                self.desk = replace(desk, item=(desk.item + step) % max(lines_of(model, desk.hall), 1))
            case Place.CHOICE if desk.question is not None:
                self.desk = replace(desk, item=(desk.item + step) % len(desk.question.lines))
            case Place.FORM if desk.founding is not None:
                self._walk_founding(desk.founding, step, across=action in (Action.LEFT, Action.RIGHT))
            case Place.FORM if desk.form is not None:
                rules, bots = self.model.rules, model.welcome.bots if model.welcome is not None else ()
                if action in (Action.UP, Action.DOWN):
                    self.desk = replace(desk, item=(desk.item + step) % len(form_lines(desk.form, rules)))
                else:
                    self.desk = replace(desk, form=form_changed(desk.form, desk.item, step, rules, bots))
            case _:
                pass

    def _take(self, action: Action, place: Place) -> None:
        match place:
            case Place.RACE:
                room = self.model.room
                view = room.view if room is not None else None
                # Where the stock has lain, a redeal is what the pile stands for.
                redeals = self.desk.cursor == "s" and view is not None and not view.stock and "r" in view.moves
                self.place("r" if redeals else self.desk.cursor)
            case Place.CHOICE if action is Action.PLAY:
                self._answer(self.desk.item)
            case Place.CHOICE if self.desk.question is not None and self.desk.question.kind not in NUMBERED:
                self._answer(0 if action is Action.YES else 1)
            case Place.HOME | Place.FORM | Place.RULES | Place.TOURNAMENTS | Place.TOURNAMENT:
                self.pick(self.desk.item)
            case _:
                pass

    def _take_item(self, index: int) -> None:
        items = home_items(self.model)
        if not 0 <= index < len(items):
            return
        item = items[index]
        match item.kind:
            case "bot":
                self._list_rules(RulesPage(bot=item.value), self.desk.rules)
            case "race":
                self._said(self.session.send(JoinRace(code=item.value)))
            case "running":
                self._said(self.session.watch(item.value))
            case "match":
                self.act(Action.MATCH)
            case "daily":
                self.act(Action.DAILY)
            case "open":
                self.act(Action.OPEN)
            case "code":
                self.act(Action.CODE)
            case "tournaments":
                self.act(Action.TOURNAMENTS)
            case "help":
                self.act(Action.HELP)
            case "quit":
                self.act(Action.QUIT)

    def _take_form_line(self, index: int) -> None:
        form = self.desk.form
        if form is None:
            return
        if index == OPEN_LINE:
            self._said(self.session.send(OpenRace(options=form.options)))
        elif index == DEAL_LINE:
            self._ask_for("deal")
        elif index == RULES_LINE:
            self._list_rules(RulesPage(), form.options.rules)
        else:
            self._walk(Action.RIGHT, Place.FORM)

    def _match(self) -> None:
        self._said(self.session.seek() if self.model.search is None else self.session.seek_no_more())

    def _list_rules(self, page: RulesPage, marked: str) -> None:
        ids = [info.id for info in self.model.rules]
        self.desk = replace(self.desk, rules_page=page, item=ids.index(marked) if marked in ids else 0)

    def _choose_rules(self, index: int) -> None:
        page, infos = self.desk.rules_page, self.model.rules
        if page is None or not 0 <= index < len(infos):
            return
        chosen = infos[index].id
        self._close_rules(page)
        if self.desk.founding is not None:
            self._found_with_rules(chosen)
            return
        self.desk = replace(self.desk, rules=chosen)
        if page.bot is not None:
            self._said(self.session.race_bot(page.bot, rules=chosen))
        elif self.desk.form is not None:
            self.desk = replace(self.desk, form=with_rules(self.desk.form, chosen, infos))

    def _close_rules(self, page: RulesPage) -> None:
        """Back to where the list was asked for, on the line that asked."""
        lines = [(item.kind, item.value) for item in home_items(self.model)]
        asked = ("bot", page.bot or "")
        if self.desk.founding is not None:
            self.desk = replace(self.desk, rules_page=None, item=FOUNDING_RULES_LINE)
            return
        item = RULES_LINE if page.bot is None else lines.index(asked) if asked in lines else 0
        self.desk = replace(self.desk, rules_page=None, item=item)

    def _mark(self, kind: str, otherwise: str) -> None:
        at = next((number for number, item in enumerate(home_items(self.model)) if item.kind == kind), None)
        self.desk = replace(self.desk, note=otherwise) if at is None else replace(self.desk, item=at)

    def _confirm(self, kind: QuestionKind, text: str, yes: str, no: str) -> None:
        self.desk = replace(self.desk, item=1, question=Question(kind, text, (yes, no), ("yes", "no")))

    def _confirm_end(self, kind: QuestionKind, text: str, yes: str, no: str) -> None:
        if self._still_racing():
            self._confirm(kind, text, yes, no)
        else:
            self.desk = replace(self.desk, note="Your part of this race has ended.")

    def _answer(self, index: int) -> None:
        question = self.desk.question
        if question is None:
            return
        self.desk = replace(self.desk, question=None, item=self._item_behind)
        room = self.model.room
        if index >= len(question.values) or question.values[index] == "no":
            return
        match question.kind:
            case "keep":
                if room is not None and room.seat is not None:
                    self._said(self.session.send(Stop(race=room.race, seat=room.seat)))
            case "resign":
                if room is not None and room.seat is not None:
                    self._said(self.session.send(Resign(race=room.race, seat=room.seat)))
            case "leave":
                self._said(self.session.send(LeaveRace()))
            case "phrase":
                # An older server knows no phrases, and takes the words.
                phrase = question.values[index]
                self._said(self.session.send(Say(text=PHRASES[phrase], phrase=phrase)))
            case "quit":
                self.quitting = True
            case "withdraw" | "remove" | "end" | "verdict" | "add-bot":
                self._decide(question.kind, question.values[index])
            case _:
                assert_never(question.kind)

    def _back(self) -> None:
        desk = self.desk
        if desk.help_from is not None:
            self.desk = replace(desk, help_from=None)
        elif desk.question is not None:
            self.desk = replace(desk, question=None, item=self._item_behind)
        elif desk.reel is not None:
            self.desk = replace(desk, reel=None)
            self.quitting = self._only_replay
        elif desk.rules_page is not None:
            self._close_rules(desk.rules_page)
        elif desk.form is not None:
            self.desk = replace(desk, form=None, item=0)
        elif desk.founding is not None:
            self.desk = replace(desk, founding=None, item=0)
        elif self.model.room is None and desk.hall is not None:
            self._leave_hall(desk.hall)
        elif self.model.room is None and self.model.search is not None:
            self._said(self.session.seek_no_more())
        else:
            self.let_go()

    def scroll_help(self, first: int) -> None:
        """Hold the help page at line `first`; the root widget knows how far it can be scrolled."""
        self.desk = replace(self.desk, help_from=first)

    def _leave(self) -> None:
        if scene_of(self.model, self.desk) is Place.WATCH:
            self._said(self.session.send(Unwatch()))
        elif self._still_racing():
            self._confirm("leave", "Leave? Your race is forfeited.", "Leave", "Go on racing")
        elif self._series_runs():
            self._confirm("leave", "Leave? You give the series up.", "Leave", "Go on with it")
        else:
            self._said(self.session.send(LeaveRace()))

    def _series_runs(self) -> bool:
        """Between two races of a series."""
        series = self.model.room.series if self.model.room is not None else None
        return series is not None and series.raced > 0 and not series.over

    def _quit(self) -> None:
        if self.desk.reel is not None:
            self._back()
        elif self._still_racing():
            then = "The race ends with it." if self._own_server else "Your seat waits for you for a while; then it is forfeited."
            self._confirm("quit", f"Quit? {then}", "Quit", "Go on racing")
        else:
            self.quitting = True

    # ---- talk

    def _talk(self, place: Place) -> None:
        if place is Place.RACE:
            # Nobody can be told the cards while they are played, and a phrase takes no time to type.
            question = Question("phrase", "Say", tuple(PHRASES.values()), tuple(PHRASES))
            self.desk = replace(self.desk, item=0, question=question)
        elif place is not Place.WATCH or (self.desk.watch is not None and self.desk.watch.room is not None):
            self._ask_for("chat")

    def _say(self, line: Say) -> None:
        """To the room that one is in, or to those who watch the same race."""
        watch = self.desk.watch
        if self.model.room is None and watch is not None and watch.room is not None:
            line = changed(line, code=watch.room.code)
        self._said(self.session.send(line))

    # ---- typed text

    def _ask_for(self, kind: PromptKind) -> None:
        if scene_of(self.model, self.desk) in (Place.HOME, Place.FORM) and kind not in ("code", "deal"):
            return
        self._prompt(kind)

    def cancel_prompt(self) -> None:
        """Forget what was being typed."""
        self.desk = replace(self.desk, prompt=None)
        self.edit = None

    def submit_prompt(self) -> None:
        """Take what was typed."""
        kind, text = self.desk.prompt, self.edit.edit_text.strip() if self.edit is not None else ""
        self.cancel_prompt()
        match kind:
            case "code" if text:
                self._said(self.session.send(JoinRace(code=text.upper()[:16])))
            case "chat" if clean_chat(text):
                self._say(Say(text=clean_chat(text)))
            case "deal" if self.desk.form is not None:
                self.desk = replace(self.desk, form=with_deal(self.desk.form, clean_chat(text)[:100] or None))
            case "move" if text:
                self._typed_move(text)
            case "title" | "tournament" | "entry" | "reason":
                self._typed_at_hall(kind, text)
            case _:
                pass
