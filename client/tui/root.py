"""The one widget that urwid's main loop holds: draws the screen the model calls for, and hands keys and clicks to the controller.

A screen is built anew when something has changed: it is small, and there is then no widget that could show an old state.
"""

from __future__ import annotations

from collections.abc import Callable

import urwid

from client.state.room import race_clock_ms
from client.text.formatting import clock_text
from client.tui.controller import Controller
from client.tui.frame import Screen
from client.tui.help import SMALLEST, help_screen, last_help_line, over, too_small
from client.tui.home import form_screen, founding_screen, home_screen
from client.tui.keymap import Action, Place
from client.tui.race import race_screen
from client.tui.replaying import replay_screen
from client.tui.result import result_screen
from client.tui.rules import rules_screen
from client.tui.scene import NOTICE_MS, Scene, head
from client.tui.theme import theme_for
from client.tui.tournament import hall_times, tournament_screen
from client.tui.tournaments import tournaments_screen
from client.tui.ui_state import place_of, scene_of
from client.tui.waiting import waiting_screen
from client.tui.watching import watch_screen


def draw(scene: Scene, size: tuple[int, int]) -> urwid.Widget:
    """The screen for a scene, as a box widget."""
    if size[0] < SMALLEST[0] or size[1] < SMALLEST[1]:
        return too_small(scene, size)
    desk = scene.desk
    if desk.help_from is not None:
        return help_screen(scene, size)
    match scene_of(scene.model, desk):
        case Place.WAITING:
            drawn = waiting_screen(scene, size)
        case Place.RACE:
            drawn = race_screen(scene, size)
        case Place.RESULT:
            drawn = result_screen(scene, size)
        case Place.REPLAY if desk.reel is not None:
            drawn = replay_screen(scene, size, desk.reel)
        case Place.WATCH if desk.watch is not None:
            drawn = watch_screen(scene, size, desk.watch)
        case Place.RULES if desk.rules_page is not None:
            drawn = rules_screen(scene, size, desk.rules_page)
        case Place.FORM if desk.founding is not None:
            drawn = founding_screen(scene, size, desk.founding)
        case Place.TOURNAMENTS:
            drawn = tournaments_screen(scene, size)
        case Place.TOURNAMENT if desk.hall is not None:
            drawn = tournament_screen(scene, size, desk.hall)
        case Place.FORM if desk.form is not None:
            drawn = form_screen(scene, size, desk.form)
        case _:
            drawn = home_screen(scene, size)
    return over(scene, drawn, desk.question, size) if desk.question is not None else drawn


class Root(urwid.Widget):
    """A box widget over the controller. after: called when a key or click was handled."""

    _sizing = frozenset([urwid.Sizing.BOX])
    _selectable = True

    def __init__(self, controller: Controller, *, colours: int, now_ms: Callable[[], int]) -> None:
        super().__init__()
        self._controller = controller
        self._colours = colours
        self._now_ms = now_ms
        self._drawn: urwid.Widget | None = None
        self._drawn_for: tuple[int, int] | None = None
        self._head_text = self._body_text = ""
        self.after: Callable[[], None] = self.redraw

    def redraw(self) -> None:
        """What is shown is not what is any more."""
        self._drawn = None
        self._invalidate()

    def tick(self) -> None:
        """Time has passed: draw again what shows another second, and no more of it than that."""
        head_text, body_text = self._times()
        if body_text != self._body_text:
            self.redraw()
        elif head_text != self._head_text and isinstance(self._drawn, Screen) and self._drawn_for is not None:
            self._drawn.change_head(head(self._scene(), self._drawn_for[0]))
            self._invalidate()
        elif head_text != self._head_text:
            self.redraw()
        self._head_text, self._body_text = head_text, body_text

    def _times(self) -> tuple[str, str]:
        """What changes on the screen by time alone, as text: in the head only, and anywhere else too."""
        model, watch, now_ms = self._controller.model, self._controller.desk.watch, self._now_ms()
        room, link, notice = model.room or (watch.room if watch is not None else None), model.link, model.notice
        head_text = "" if link.retry_at_ms is None else str((link.retry_at_ms - now_ms) // 1000)
        body: list[str] = []
        if room is not None and room.started_at_ms is not None and room.phase in ("countdown", "racing"):
            elapsed = race_clock_ms(room.started_at_ms, now_ms)
            if elapsed < 0:
                body.append(clock_text(99 - elapsed))
            else:
                head_text += clock_text(min(elapsed, room.options.time_limit_s * 1000))
        reel = self._controller.desk.reel
        if reel is not None:
            body.append(clock_text(reel.at(now_ms).t_ms))
        call = model.tournaments.call
        if room is not None and room.phase == "waiting" and call is not None and call.until_ms is not None:
            body.append(str((call.until_ms - now_ms) // 1000))
        if room is not None:
            body += [str((until_ms - now_ms) // 1000) for _, until_ms in room.away_until_ms]
        if self._controller.model.search is not None:
            body.append(str((now_ms - self._controller.model.search.since_ms) // 1000))
        if scene_of(model, self._controller.desk) is Place.TOURNAMENT:
            body += hall_times(model, self._controller.desk, now_ms)
        if notice is not None:
            body.append("fresh" if now_ms - notice.at_ms < NOTICE_MS else "stale")
        return head_text, "|".join(body)

    def _scene(self) -> Scene:
        controller = self._controller
        settings = controller.desk.settings
        theme = theme_for(settings.palette, ascii_only=settings.ascii, colours=self._colours)
        return Scene(controller.model, controller.desk, theme, self._now_ms(), controller, controller.edit)

    def _widget(self, size: tuple[int, int]) -> urwid.Widget:
        if self._drawn is None or self._drawn_for != size:
            self._drawn, self._drawn_for = draw(self._scene(), size), size
        return self._drawn

    def render(self, size: tuple[int, int], focus: bool = False) -> urwid.Canvas:  # type: ignore[override]
        return urwid.CompositeCanvas(self._widget(size).render(size, focus))

    def keypress(self, size: tuple[int, int], key: str) -> str | None:  # type: ignore[override]
        controller = self._controller
        if key == "ctrl l":
            return key  # urwid clears the screen and draws it again
        if controller.edit is not None:
            self._typed(controller.edit, size, key)
        elif place_of(controller.model, controller.desk) is Place.HELP and key in ("page up", "page down", " "):
            for _ in range(size[1] - 4):
                controller.act(Action.UP if key == "page up" else Action.DOWN)
        else:
            controller.key(key)
        self._hold_help(size)
        self.after()
        return None

    def _typed(self, edit: urwid.Edit, size: tuple[int, int], key: str) -> None:
        match key:
            case "enter":
                self._controller.submit_prompt()
            case "esc":
                self._controller.cancel_prompt()
            case _:
                edit.keypress((size[0],), key)

    def _hold_help(self, size: tuple[int, int]) -> None:
        desk = self._controller.desk
        if desk.help_from is not None:
            self._controller.scroll_help(min(desk.help_from, last_help_line(self._scene(), size)))

    def mouse_event(self, size: tuple[int, int], event: str, button: int, col: int, row: int, focus: bool) -> bool:  # type: ignore[override]
        if event != "mouse press":
            return False
        if button in (4, 5):
            if self._scrolls():
                self._controller.act(Action.UP if button == 4 else Action.DOWN)
            self._hold_help(size)
        elif button == 3 and place_of(self._controller.model, self._controller.desk) is Place.RACE:
            self._controller.act(Action.BACK)
        elif not self._widget(size).mouse_event(size, event, button, col, row, focus):
            return False
        self.after()
        return True

    def _scrolls(self) -> bool:
        return place_of(self._controller.model, self._controller.desk) in (
            Place.HELP,
            Place.HOME,
            Place.RULES,
            Place.TOURNAMENTS,
            Place.TOURNAMENT,
        )
