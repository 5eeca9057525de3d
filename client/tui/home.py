"""The home screen and the form for a new race: a menu, house bots and open races, all one list to walk or click.

`home_items` is the list; what an item does when it is taken is told by its kind and value, so the controller needs no screen for it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import urwid

from client.state.store import Model
from client.text.formatting import clock_text, home_counts, limit_text, series_name, with_ratings
from client.tui import cards
from client.tui.frame import Line, Screen, Spot, clip, fit, foot, lines_widget, row, stacked, text_width, upper, wrap_text
from client.tui.keymap import Place
from client.tui.scene import Scene, clean_long, head, remarks, rules_name
from client.tui.tournament_form import FoundingForm, founding_lines
from client.tui.ui_state import OpenForm, form_lines
from protocol.server_messages import Welcome
from protocol.text import clean_chat, clean_name
from protocol.views import RunningRaceInfo


class Item(NamedTuple):
    """A line that can be taken. value: a bot's name or a race's code."""

    kind: Literal["bot", "match", "daily", "open", "code", "tournaments", "race", "running", "help", "quit"]
    value: str
    label: str
    detail: str = ""


def home_items(model: Model) -> tuple[Item, ...]:
    """Everything that can be chosen at home, in the order in which it is shown."""
    welcome, lobby = model.welcome, model.lobby
    items = [
        Item("open", "", "Open a race", "o"),
        Item("code", "", "Join by code", "c"),
        Item("match", "", "Quick match" if model.search is None else "Stop looking", "m"),
        Item("daily", "", "Deal of the day", "d"),
        Item("tournaments", "", "Tournaments", "t"),
        Item("help", "", "Keys and help", "?"),
        Item("quit", "", "Quit", "q"),
    ]
    bots = welcome.bots if welcome is not None else ()
    items += [Item("bot", bot.name, clean_name(bot.name), clean_chat(bot.explanation)) for bot in bots]
    for race in lobby.races if lobby is not None else ():
        names = with_ratings(race.names, race.ratings) or "nobody yet"
        seats = f"{len(race.names)}/{race.seats}"
        unrated = "" if race.rated else ", not rated"
        series = "" if race.series.format == "single" else f", {series_name(race.series.format, race.series.races)}"
        detail = f"{seats}  {rules_name(model, race.rules)}{series}, {limit_text(race.time_limit_s)}{unrated}: {names}"
        items.append(Item("race", race.code, clean_name(race.code), detail))
    for running in lobby.running if lobby is not None else ():
        items.append(Item("running", running.code, clean_name(running.code), _running_detail(model, running)))
    return tuple(items)


def _running_detail(model: Model, race: RunningRaceInfo) -> str:
    """Who is how far, which comes first where there is little room, then what they play and who watches."""
    watchers = f", {race.watchers} watching" if race.watchers else ""
    return f"{home_counts(race)}: {rules_name(model, race.rules)}, {clock_text(race.elapsed_ms, tenths=False)}{watchers}"


MENU_WIDTH = 26
DETAIL_AT = 13
"""Columns of a bot's name or a race's code, with the pointer before it."""
_BANNER_CARD = cards.Size(6, 3, 0)
_FAN = ("AS", "KH", "QD", "JC", "TS")


def home_screen(scene: Scene, size: tuple[int, int]) -> urwid.Widget:
    """The whole home screen as a box widget."""
    width, height = size
    model, theme, desk = scene.model, scene.theme, scene.desk
    inner = min(width, 110)
    margin = (width - inner) // 2
    card = cards.LARGE if height >= 36 and width >= 110 else cards.MEDIUM if height >= 30 and width >= 90 else _BANNER_CARD
    banner = _banner(scene, inner, card)
    items = home_items(model)
    menu_items = [
        (at, item) for at, item in enumerate(items) if item.kind in ("open", "code", "match", "daily", "tournaments", "help", "quit")
    ]
    bots = [(at, item) for at, item in enumerate(items) if item.kind == "bot"]
    races = [(at, item) for at, item in enumerate(items) if item.kind == "race"]
    running = [(at, item) for at, item in enumerate(items) if item.kind == "running"]
    list_width = inner - MENU_WIDTH - 5
    # What has no room on the marked line is told in full above the keys.
    marked = next((item for at, item in (*bots, *races, *running) if at == desk.item), None)
    aside = marked.detail if marked is not None and text_width(marked.detail) > list_width - DETAIL_AT else ""
    feet = (remarks(scene, width, 2, aside=aside), foot(Place.HOME, scene.hands, theme, width))
    body_height = height - 1 - 3 - card.height - 3
    bot_rows = min(len(bots), max(body_height - 9, 2))
    # What the one list does not need is the other's.
    left_rows = max(body_height - max(bot_rows, 1) - 5, 2)
    running_rows = min(max(len(running), 1), max(left_rows // 2, left_rows - max(len(races), 1)))
    left = stacked(
        _title(scene, "Race a friend", MENU_WIDTH),
        *[_item(scene, at, item, MENU_WIDTH, key=True) for at, item in menu_items],
        lines_widget([[]]),
        _people(scene, MENU_WIDTH),
    )
    no_races = "None just now: open one." if model.lobby is not None else "Not known without a line." if model.link.reason else ""
    right = stacked(
        _title(scene, "Race a house bot (b)", list_width),
        *_window(scene, bots, list_width, bot_rows, "The server has no bots." if model.welcome is not None else ""),
        lines_widget([[]]),
        _title(scene, _races_title(model), list_width),
        *_window(scene, races, list_width, left_rows - running_rows, no_races),
        lines_widget([[]]),
        _title(scene, _running_title(model), list_width),
        *_window(scene, running, list_width, running_rows, "None to be watched just now." if model.lobby is not None else ""),
    )
    columns = row((margin + 2, lines_widget([[]])), (MENU_WIDTH, left), (2, lines_widget([[]])), (list_width, right))
    body = upper(stacked(urwid.Padding(banner, left=margin), columns))
    return Screen(head(scene, width), body, *feet)


def _races_title(model: Model) -> str:
    return "Open races (r)" if model.lobby is None else f"Open races (r): {model.lobby.races_open} open"


def _running_title(model: Model) -> str:
    return "Watch a race (w)" if model.lobby is None else f"Watch a race (w): {model.lobby.races_running} running"


def _banner(scene: Scene, width: int, card: cards.Size) -> urwid.Widget:
    welcome = scene.model.welcome
    words: list[Line] = [
        [("title", "C A R P E T   R A C E")],
        [("felt", "The same shuffle, two tables,")],
        [("felt", "first to bring every card home.")],
        [("faint", _own_name(welcome) if welcome is not None else "")],
    ]
    above: list[Line] = [[]] * (1 + (card.height - 3) // 2)
    fan = [(card.width + 1, lines_widget([[], *cards.face(name, card, scene.theme)])) for name in _FAN]
    left = max(width - 4 - len(_FAN) * (card.width + 1), 10)
    return stacked(row((2, lines_widget([[]])), *fan, (2, lines_widget([[]])), (left, lines_widget([*above, *words]))), lines_widget([[]]))


def _own_name(welcome: Welcome) -> str:
    rating = "" if welcome.rating is None else f", rated {welcome.rating}"
    return f"You are {clean_name(welcome.name)}{rating}."


def _title(scene: Scene, text: str, width: int) -> urwid.Widget:
    rule = scene.theme.glyphs.bar_rest
    return lines_widget([[("title", clip(text, width)), ("faint", " " + rule * max(width - len(text) - 1, 0))]])


def _item(scene: Scene, at: int, item: Item, width: int, *, key: bool = False) -> urwid.Widget:
    marked = scene.desk.item == at
    pointer = scene.theme.glyphs.pointer if marked else " "
    if key:
        text = f"{pointer} {fit(item.label, width - 5)}{item.detail:>2} "
        line: Line = [("chosen" if marked else "felt", text)]
    else:
        text = fit(f"{pointer} {fit(item.label, 10)} {_in_short(item.detail, width - DETAIL_AT)}", width)
        line = [("chosen", text)] if marked else [("strong", text[:DETAIL_AT]), ("faint", text[DETAIL_AT:])]
    return Spot(lines_widget([line]), lambda: scene.hands.pick(at))


def _in_short(text: str, width: int) -> str:
    """As many words as fit."""
    if text_width(text) <= width:
        return text
    return f"{(wrap_text(text, width - 4) or [''])[0]} ..."


def _window(scene: Scene, items: list[tuple[int, Item]], width: int, rows: int, empty: str) -> list[urwid.Widget]:
    """As many of the lines as fit, the marked one among them."""
    if not items:
        return [lines_widget([[("faint", f"  {empty}")]])]
    marked = next((number for number, (at, _) in enumerate(items) if at == scene.desk.item), 0)
    first = max(0, min(marked - rows + 1, len(items) - rows))
    return [_item(scene, at, item, width) for at, item in items[first : first + rows]]


def _people(scene: Scene, width: int) -> urwid.Widget:
    lobby = scene.model.lobby
    if lobby is None:
        return lines_widget([[]])
    names = with_ratings(lobby.players[:12], lobby.ratings)
    lines: list[Line] = [[("faint", f"{lobby.players_here} here")], *[[("faint", text)] for text in wrap_text(names, width)[:3]]]
    return lines_widget(lines)


def form_screen(scene: Scene, size: tuple[int, int], form: OpenForm) -> urwid.Widget:
    """The form for a new race."""
    hint = "Up and down choose a line, left and right change it, enter opens the race."
    return form_page(scene, size, "Open a race", form_lines(form, scene.model.rules), hint)


def founding_screen(scene: Scene, size: tuple[int, int], form: FoundingForm) -> urwid.Widget:
    """The form for a new tournament."""
    hint = "Up and down choose a line, left and right change it; the last one makes it."
    return form_page(scene, size, "Make a tournament", founding_lines(form, scene.model.rules), hint)


def form_page(scene: Scene, size: tuple[int, int], title: str, lines: tuple[tuple[str, str, str], ...], hint: str) -> urwid.Widget:
    """Lines of (what, value, explanation), of which the last one does it."""
    width, height = size
    inner = min(width - 4, 90)
    margin = (width - inner) // 2
    parts: list[urwid.Widget] = [lines_widget([[], [("title", title)], []])]
    pointer = scene.theme.glyphs.pointer
    for at, (what, value, _) in enumerate(lines):
        marked = at == scene.desk.item
        words = f"{fit(what, 12)} {clean_chat(value)}" if value else what
        text = fit(f"{pointer if marked else ' '} {words}", inner)
        line: Line = [("chosen", text)] if marked else [("strong", text[:15]), ("felt", text[15:])]
        if not value:
            parts.append(lines_widget([[]]))
        parts.append(Spot(lines_widget([line]), lambda at=at: scene.hands.pick(at)))  # type: ignore[misc]
    explanation = clean_long(lines[min(scene.desk.item, len(lines) - 1)][2])
    room = max(height - len(lines) - 9, 1)
    parts.append(lines_widget([[], *[[("faint", text)] for text in wrap_text(explanation, inner)[:room]]]))
    parts.append(lines_widget([[], [("faint", hint)]]))
    body = upper(urwid.Padding(stacked(*parts), left=margin, width=inner))
    return Screen(head(scene, width), body, remarks(scene, width, 1), foot(Place.FORM, scene.hands, scene.theme, width))
