"""What keys and clicks do: one method for each action, on the model, the desk and the link. No waiting, no drawing, no clock.

The controller is the only writer of model and desk; the app feeds it what the link says and what the player types, draws what it
holds, and asks it for nothing else. Requests go out by `link.send`, which never blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

import urwid

from client import keys
from client.keys import Action, Place
from client.link import Connected, Link
from client.model import Event, Model, MoveSent, Notice, ReadySent, RoomModel, reduce
from client.reading import meant, move_sentence, race_clock_ms, source, target
from client.ui.desk import (
    DEAL_LINE,
    OPEN_LINE,
    Desk,
    OpenForm,
    PromptKind,
    Question,
    QuestionKind,
    form_changed,
    form_lines,
    place_of,
    scene_of,
    with_deal,
)
from client.ui.home import home_items
from client.ui.race import grid_of
from client.ui.start import Start, StartBot, StartHome, StartJoin, StartOpen
from client.ui.theme import next_palette
from protocol.client_messages import (
    ClientMessage,
    FollowLobby,
    JoinRace,
    LeaveRace,
    Move,
    OpenRace,
    Ready,
    Rematch,
    Resign,
    Say,
    Stop,
)
from protocol.server_messages import Error, Left, Room, Welcome
from protocol.text import clean_chat
from protocol.views import RaceOptions, View

REPLY_LATE_MS = 2000
"""A join that was asked for because an event was missed is asked for again after this long."""


class Controller:
    """The player's hands. nonce: makes 16 random bytes as hexadecimal digits; now_ms: the local monotonic clock."""

    def __init__(self, link: Link, *, desk: Desk, start: Start, nonce: Callable[[], str], now_ms: Callable[[], int]) -> None:
        self.model = Model()
        self.desk = desk
        self.edit: urwid.Edit | None = None
        self.quitting = False
        self._link = link
        self._start: Start | None = start
        self._nonce = nonce
        self._now_ms = now_ms
        self._rejoined_at_ms: int | None = None
        self._next_place = ""
        self._ready_for: str | None = None
        self._following = False

    # ---- what is heard

    def hear(self, event: Event) -> None:
        """Reduce one event and answer it where it wants an answer."""
        before = self.model
        self.model = reduce(self.model, event, self._now_ms())
        match event:
            case Connected():
                self._following = False
            case Welcome():
                self._welcomed(event)
            case Room():
                self._entered(before.room)
            case Left():
                self.desk = replace(self.desk, item=0, question=None, details=False)
                self._follow()
            case Error():
                self._next_place = ""
            case _:
                pass
        self._after(before.room)

    def tick(self) -> None:
        """Whatever only time brings about: ask again for what was missed."""
        self._rejoin()

    def _after(self, before: RoomModel | None) -> None:
        room = self.model.room
        if before is not None and room is not None and before.phase != room.phase:
            # A question about a race that has ended, or a cursor over a table that is gone, means nothing any more.
            self.desk = replace(self.desk, question=None, typed="", note="", details=False, item=0)
        self._rejoin()
        if room is not None and room.in_flight is None and self._next_place:
            place, self._next_place = self._next_place, ""
            self.place(place)

    def _rejoin(self) -> None:
        room = self.model.room
        if room is None or not self.model.needs_rejoin:
            self._rejoined_at_ms = None
            return
        now_ms = self._now_ms()
        if self._rejoined_at_ms is None or now_ms - self._rejoined_at_ms >= REPLY_LATE_MS:
            self._rejoined_at_ms = now_ms
            self._link.send(JoinRace(code=room.code, version=room.version))

    def _welcomed(self, welcome: Welcome) -> None:
        start, self._start = self._start, None
        if welcome.room is not None:
            # A seat is held already: the way on is back to it, whatever was asked for. The link does this by itself after a reconnect.
            if self.model.room is None:
                self._link.send(JoinRace(code=welcome.room))
            return
        if self.model.room is not None:
            self.model = replace(
                self.model, room=None, notice=Notice("warning", "The server has no seat for you in that race any more.", self._now_ms())
            )
        match start:
            case StartBot(bot=bot, deal=deal):
                self._race_bot(bot, deal)
            case StartOpen(options=options):
                self._link.send(OpenRace(options=options))
            case StartJoin(code=code):
                self._link.send(JoinRace(code=code))
            case StartHome() | None:
                pass
            case _:
                assert_never(start)
        self._follow()

    def _entered(self, before: RoomModel | None) -> None:
        room = self.model.room
        assert room is not None
        self._following = False
        self.desk = replace(self.desk, form=None)
        if before is None or before.code != room.code or before.race != room.race:
            slots = list(room.view.piles) if room.view is not None else ["a1"]
            self.desk = replace(self.desk, cursor=slots[0] if slots else "a1", item=0, question=None, details=False, typed="", note="")
        if self._ready_for == "bot" and room.phase == "waiting" and room.own is not None and not room.own.ready:
            self._ready()
        self._ready_for = None

    def _follow(self) -> None:
        if self.model.room is None and not self._following:
            self._following = self._link.send(FollowLobby())

    # ---- keys and clicks

    def key(self, key: str) -> None:
        """A key that no text field took."""
        place = place_of(self.model, self.desk)
        if place is Place.RACE and self._slot_key(key):
            return
        if place is Place.CHOICE and key.isdigit() and key != "0":
            question = self.desk.question
            if question is not None and int(key) <= len(question.lines):
                self.pick(int(key) - 1)
            return
        action = keys.action_for(place, key)
        if action is not None:
            self.act(action)
        elif len(key) == 1 or key == "esc":
            self.desk = replace(self.desk, note="" if key == "esc" else f"{key} does nothing here; ? shows the keys.")

    def _slot_key(self, key: str) -> bool:
        """Letters and digits of slot names; an apostrophe lets any letter begin one."""
        typed = self.desk.typed
        if not typed:
            if key in keys.SLOT_STARTERS:
                self.desk = replace(self.desk, typed=key, note="")
                return True
            return False
        if typed == "'" and (key in keys.COLUMN_LETTERS or key == "p"):
            self.desk = replace(self.desk, typed=key)
            return True
        self.desk = replace(self.desk, typed="")
        if typed != "'" and key.isdigit():
            self.place(typed + key)
            return True
        if key in keys.SLOT_STARTERS:
            self.desk = replace(self.desk, typed=key)
            return True
        return key == "esc"

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
                self.desk = replace(self.desk, typed="'")
            case Action.WASTE | Action.STOCK | Action.REDEAL:
                self.place({Action.WASTE: "w", Action.STOCK: "s", Action.REDEAL: "r"}[action])
            case Action.MOVE:
                self._ask_for("move")
            case Action.CHAT:
                self._ask_for("chat")
            case Action.CODE:
                self._ask_for("code")
            case Action.KEEP:
                self._confirm("keep", "Stop now and keep your cards home?", "Stop", "Go on racing")
            case Action.RESIGN:
                self._confirm("resign", "Give this race up? You are placed last.", "Give up", "Go on racing")
            case Action.LEAVE:
                self._leave()
            case Action.READY:
                self._ready()
            case Action.REMATCH:
                self._rematch()
            case Action.DETAILS:
                self.desk = replace(self.desk, details=not self.desk.details)
            case Action.BOT:
                self._mark("bot", "This server has no bots.")
            case Action.RACES:
                self._mark("race", "No open race just now.")
            case Action.OPEN:
                self.desk = replace(self.desk, form=OpenForm(), item=OPEN_LINE)
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

    def place(self, place: str) -> None:
        """Play a slot, `w`, `s` or `r`: at once where it can mean one move only, else ask which."""
        if place_of(self.model, self.desk) is not Place.RACE:
            return
        room = self.model.room
        view = room.view if room is not None else None
        if room is None or view is None:
            return
        if place in view.piles or place in ("w", "s"):
            self.desk = replace(self.desk, cursor=place)
        if room.in_flight is not None:
            # Typed ahead of the answer: played when it is there, against the position it will be then.
            self._next_place = place
            return
        self._play(room, view, place)

    def _play(self, room: RoomModel, view: View, place: str) -> None:
        moves = meant(view, place)
        if not moves:
            self.desk = replace(self.desk, note=self._why_not(view, place))
        elif len(moves) == 1:
            self._send_move(room, moves[0])
        else:
            words = tuple(move_sentence(move) for move in moves[:9])
            self.desk = replace(self.desk, item=0, question=Question("move", "Which move?", words, moves[:9]))

    def _why_not(self, view: View, place: str) -> str:
        own = self.model.room.own if self.model.room is not None else None
        if own is not None and own.state not in ("racing", "waiting"):
            return "Your part of this race has ended."
        if view.pending is not None:
            return f"First fill the gap at {view.pending}: w or s."
        match place:
            case "w":
                return "The waste is empty." if not view.waste else "The waste's top card cannot be played now."
            case "s":
                return "The stock is empty." if not view.stock else "The stock cannot be turned now: a card can still be played."
            case "r":
                return "There is no redeal now."
            case _:
                if place not in view.piles:
                    return f"There is no slot {place}."
                return f"The card at {place} cannot be played now." if view.piles[place] else f"{place} is empty."

    def _send_move(self, room: RoomModel, move: str) -> None:
        if room.seat is None:
            return
        if race_clock_ms(room.started_at_ms, self._now_ms()) < 0:
            self.desk = replace(self.desk, note="The clock does not run yet.")
            return
        ply = room.ply
        if self._link.send(Move(race=room.race, seat=room.seat, ply=ply, move=move)):
            self.model = reduce(self.model, MoveSent(ply, move), self._now_ms())
        else:
            self._offline()

    def pick(self, index: int) -> None:
        """Take a line of the menu, form or question that is shown."""
        place = place_of(self.model, self.desk)
        self.desk = replace(self.desk, item=index)
        match place:
            case Place.CHOICE:
                self._answer(index)
            case Place.HOME:
                self._take_item(index)
            case Place.FORM:
                self._take_form_line(index)
            case _:
                pass

    # ---- menus, forms, questions

    def _walk(self, action: Action, place: Place) -> None:
        step = -1 if action in (Action.UP, Action.LEFT) else 1
        desk, model = self.desk, self.model
        match place:
            case Place.RACE:
                self.desk = replace(desk, cursor=self._moved_cursor(action))
            case Place.HELP:
                self.desk = replace(desk, help_from=max((desk.help_from or 0) + step, 0))
            case Place.HOME:
                self.desk = replace(desk, item=(desk.item + step) % max(len(home_items(model)), 1))
            case Place.CHOICE if desk.question is not None:
                self.desk = replace(desk, item=(desk.item + step) % len(desk.question.lines))
            case Place.FORM if desk.form is not None:
                rules, bots = (model.welcome.rules, model.welcome.bots) if model.welcome is not None else ((), ())
                if action in (Action.UP, Action.DOWN):
                    self.desk = replace(desk, item=(desk.item + step) % len(form_lines(desk.form, rules)))
                else:
                    self.desk = replace(desk, form=form_changed(desk.form, desk.item, step, rules, bots))
            case _:
                pass

    def _moved_cursor(self, action: Action) -> str:
        """Round the carpet; right of its last column lie stock and waste."""
        room, cursor = self.model.room, self.desk.cursor
        if room is None or room.view is None:
            return cursor
        columns, rows = grid_of(room.view)
        if cursor in ("s", "w"):
            steps = {("s", Action.RIGHT): "w", ("w", Action.LEFT): "s", ("s", Action.LEFT): f"{chr(96 + columns)}{(rows + 1) // 2}"}
            return steps.get((cursor, action), "a1" if action is Action.RIGHT else cursor)
        column, line = ord(cursor[0]) - 96, int(cursor[1:])
        match action:
            case Action.UP | Action.DOWN:
                line = (line - 1 + (1 if action is Action.DOWN else -1)) % max(rows, 1) + 1
            case Action.LEFT if column == 1:
                return "w"
            case Action.RIGHT if column == columns:
                return "s"
            case _:
                column += 1 if action is Action.RIGHT else -1
        return f"{chr(96 + column)}{line}"

    def _take(self, action: Action, place: Place) -> None:
        match place:
            case Place.RACE:
                self.place(self.desk.cursor)
            case Place.CHOICE:
                self._answer({Action.YES: 0, Action.NO: 1}.get(action, self.desk.item))
            case Place.HOME | Place.FORM:
                self.pick(self.desk.item)
            case Place.WAITING:
                self._ready()
            case Place.RESULT:
                self._rematch()
            case Place.HELP:
                pass

    def _take_item(self, index: int) -> None:
        items = home_items(self.model)
        if not 0 <= index < len(items):
            return
        item = items[index]
        match item.kind:
            case "bot":
                self._race_bot(item.value, None)
            case "race":
                self._send(JoinRace(code=item.value))
            case "open":
                self.act(Action.OPEN)
            case "code":
                self.act(Action.CODE)
            case "help":
                self.act(Action.HELP)
            case "quit":
                self.act(Action.QUIT)

    def _take_form_line(self, index: int) -> None:
        form = self.desk.form
        if form is None:
            return
        if index == OPEN_LINE:
            self._send(OpenRace(options=form.options))
        elif index == DEAL_LINE:
            self._ask_for("deal")
        else:
            self._walk(Action.RIGHT, Place.FORM)

    def _mark(self, kind: str, otherwise: str) -> None:
        at = next((number for number, item in enumerate(home_items(self.model)) if item.kind == kind), None)
        self.desk = replace(self.desk, note=otherwise) if at is None else replace(self.desk, item=at)

    def _confirm(self, kind: QuestionKind, text: str, yes: str, no: str) -> None:
        self.desk = replace(self.desk, item=1, question=Question(kind, text, (yes, no), ("yes", "no")))

    def _answer(self, index: int) -> None:
        question = self.desk.question
        if question is None:
            return
        self.desk = replace(self.desk, question=None, item=0)
        room = self.model.room
        if index >= len(question.values) or question.values[index] == "no":
            return
        match question.kind:
            case "move":
                if room is not None:
                    self._send_move(room, question.values[index])
            case "keep":
                if room is not None and room.seat is not None:
                    self._send(Stop(race=room.race, seat=room.seat))
            case "resign":
                if room is not None and room.seat is not None:
                    self._send(Resign(race=room.race, seat=room.seat))
            case "leave":
                self._send(LeaveRace())
            case "quit":
                self.quitting = True
            case _:
                assert_never(question.kind)

    def _back(self) -> None:
        desk = self.desk
        if desk.help_from is not None:
            self.desk = replace(desk, help_from=None)
        elif desk.question is not None:
            self.desk = replace(desk, question=None, item=0)
        elif desk.form is not None:
            self.desk = replace(desk, form=None, item=0)
        else:
            self.desk = replace(desk, typed="")

    def scroll_help(self, first: int) -> None:
        """Hold the help page at line `first`; the root widget knows how far it can be scrolled."""
        self.desk = replace(self.desk, help_from=first)

    # ---- requests

    def _send(self, message: ClientMessage) -> bool:
        sent = self._link.send(message)
        if not sent:
            self._offline()
        return sent

    def _offline(self) -> None:
        self.desk = replace(self.desk, note="There is no line to the server just now.")

    def _race_bot(self, bot: str, deal: str | None) -> None:
        if self._send(OpenRace(options=RaceOptions(bots=(bot,), public=False, deal=deal))):
            self._ready_for = "bot"

    def _ready(self) -> None:
        room = self.model.room
        if room is None or room.phase != "waiting" or room.own is None or room.own.ready:
            return
        nonce = self._nonce()
        if self._send(Ready(race=room.race, nonce=nonce)):
            self.model = reduce(self.model, ReadySent(nonce), self._now_ms())

    def _rematch(self) -> None:
        room = self.model.room
        if room is not None and room.own is not None and not room.own.again:
            self._send(Rematch(race=room.race))

    def _still_racing(self) -> bool:
        room = self.model.room
        if room is None or room.own is None or room.phase not in ("racing", "countdown"):
            return False
        return room.own.state in ("waiting", "racing")

    def _leave(self) -> None:
        if self._still_racing():
            self._confirm("leave", "Leave? Your race is forfeited.", "Leave", "Go on racing")
        else:
            self._send(LeaveRace())

    def _quit(self) -> None:
        if self._still_racing():
            self._confirm("quit", "Quit? Your seat waits for you for a while; then it is forfeited.", "Quit", "Go on racing")
        else:
            self.quitting = True

    # ---- typed text

    def _ask_for(self, kind: PromptKind) -> None:
        if scene_of(self.model, self.desk) in (Place.HOME, Place.FORM) and kind not in ("code", "deal"):
            return
        self.desk = replace(self.desk, prompt=kind, typed="", note="")
        self.edit = urwid.Edit(multiline=False)

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
                self._send(JoinRace(code=text.upper()[:16]))
            case "chat" if clean_chat(text):
                self._send(Say(text=clean_chat(text)))
            case "deal" if self.desk.form is not None:
                self.desk = replace(self.desk, form=with_deal(self.desk.form, clean_chat(text)[:100] or None))
            case "move" if text:
                self._typed_move(text)
            case _:
                pass

    def _typed_move(self, text: str) -> None:
        room = self.model.room
        if room is None or room.view is None:
            return
        if text in room.view.moves:
            self._send_move(room, text)
        elif target(text) or text[-1] in "+-":
            self.desk = replace(self.desk, note=f"{text[:8]} is not a legal move now.")
        else:
            self.place(source(text)[:8])
