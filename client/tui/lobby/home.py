"""The home screen: a menu, house bots, open races and running ones, all in one list to walk or click.

`home_items` is the list. The kind and value of an item say what choosing it does.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Literal, NamedTuple

from client.connection.address import place_and_code
from client.connection.events import WATCH_REFERENCE
from client.state.lobby import elapsed_ms
from client.state.store import Model
from client.text.formatting import clock_text, home_counts, limit_text, series_name, with_ratings
from client.text.width import clip, fit, text_width
from client.tui.actions import Do, Pick, ScreenAction, Typed
from client.tui.drawing import cards
from client.tui.drawing.picture import EMPTY, UPPER, Line, Picture, block, foot, hit, row, screen, shifted, stacked, wrap_text
from client.tui.everywhere import open_help, quit_or_ask
from client.tui.keymap import CHOOSE, Binding, Command, Keys
from client.tui.lobby import daily, form, you
from client.tui.scene import Scene, head, remarks, rules_name
from client.tui.screen import Screen
from client.tui.step import Step
from client.tui.subscriptions import follow
from client.tui.tournament_view_state import TournamentView
from client.tui.ui_state import Ui
from protocol.client_messages import JoinRace, QuickMatch, Rename
from protocol.server_messages import Welcome
from protocol.text import NAME_LENGTH, clean_chat, clean_name, is_room_code, read_code
from protocol.views import RunningRaceInfo
from protocol.watch_messages import WatchRace

KEYS: Keys = (
    CHOOSE,
    Binding(Command.BOT, ("b",), "bot", "Race a house bot.", shown=False),
    Binding(Command.OPEN, ("o",), "open", "Open a race for others.", shown=False),
    Binding(Command.CODE, ("c",), "code", "Join a race by its code.", shown=False),
    Binding(Command.RACES, ("r",), "races", "Go to the open races.", shown=False),
    Binding(Command.RUNNING, ("w",), "watch", "Go to the running races; enter watches one.", shown=False),
    Binding(Command.MATCH, ("m",), "match", "Quick match: look for an opponent of your rating, or stop.", shown=False),
    Binding(Command.DAILY, ("d",), "daily", "The deal of the day: its board, and your one try.", shown=False),
    Binding(Command.TOURNAMENTS, ("t",), "tournaments", "Go to the tournaments.", shown=False),
    Binding(Command.YOU, ("y",), "you", "About you: rating, days in a row, best times, last races.", shown=False),
    Binding(Command.RENAME, ("n",), "name", "Change your name here."),
    Binding(Command.BACK, ("esc",), "stop", "Stop looking for an opponent.", shown=False),
)

WITH_OTHERS: Final = frozenset(
    {Command.CODE, Command.RACES, Command.RUNNING, Command.MATCH, Command.DAILY, Command.TOURNAMENTS, Command.BACK}
)
"""The keys that mean nothing where there are no others."""
ALONE = "Nobody else can come to this server: it is yours, and ends with these screens. To race a friend: carpet home SERVER."


class Item(NamedTuple):
    """A line that can be chosen. kind: for a menu line, its command. value: a bot's name or a race's code."""

    kind: Literal["bot", "match", "daily", "open", "code", "tournaments", "you", "race", "running", "help", "quit"]
    value: str
    label: str
    detail: str = ""


def home_items(model: Model, now_ms: int, *, alone: bool) -> tuple[Item, ...]:
    """Everything that can be chosen at home, in the order shown. alone: nobody else can come to this server."""
    lobby = model.lobby if not alone else None
    with_others = [
        Item("code", "", "Join by code", "c"),
        Item("match", "", "Quick match" if model.search is None else "Stop looking", "m"),
        Item("daily", "", "Deal of the day", "d"),
        Item("tournaments", "", "Tournaments", "t"),
    ]
    items = [
        Item("open", "", "Open a race", "o"),
        *(with_others if not alone else ()),
        Item("you", "", "About you", "y"),
        Item("help", "", "Keys and help", "?"),
        Item("quit", "", "Quit", "q"),
    ]
    items += [Item("bot", bot.name, clean_name(bot.name), clean_chat(bot.explanation)) for bot in model.bots]
    for race in lobby.races if lobby is not None else ():
        names = with_ratings(race.names, race.ratings) or "nobody yet"
        seats = f"{len(race.names)}/{race.seats}"
        unrated = "" if race.rated else ", not rated"
        series = "" if race.series.format == "single" else f", {series_name(race.series.format, race.series.races)}"
        # Who it is comes first, because the line may be cut.
        detail = f"{seats}  {names}: {rules_name(model, race.rules)}{series}, {limit_text(race.time_limit_s)}{unrated}"
        items.append(Item("race", race.code, clean_name(race.code), detail))
    for running in lobby.running if lobby is not None else ():
        items.append(Item("running", running.code, clean_name(running.code), _running_detail(model, running, now_ms)))
    return tuple(items)


def _running_detail(model: Model, race: RunningRaceInfo, now_ms: int) -> str:
    """How far everybody is, first because the line may be cut; then what they play and who watches."""
    watchers = f", {race.watchers} watching" if race.watchers else ""
    clock = clock_text(elapsed_ms(race, now_ms - model.lobby_at), tenths=False)
    return f"{home_counts(race)}: {rules_name(model, race.rules)}, {clock}{watchers}"


WIDTH = 110
MENU_WIDTH = 26
DETAIL_AT = 13
"""The column where details start, after the pointer and a bot's name or a race's code."""
_BANNER_CARD = cards.CardSize(6, 3, 0)
_FAN = ("AS", "KH", "QD", "JC", "TS")


def home_screen(scene: Scene, size: tuple[int, int]) -> Picture:
    """The whole home screen as a picture."""
    width, height = size
    model, theme, ui = scene.model, scene.theme, scene.ui
    inner = min(width, WIDTH)
    margin = (width - inner) // 2
    above = banner(scene, size)
    items = home_items(model, scene.now_ms, alone=ui.own_server)
    bots, races, running = ([(at, item) for at, item in enumerate(items) if item.kind == kind] for kind in ("bot", "race", "running"))
    menu_items = [(at, item) for at, item in enumerate(items) if item.kind not in ("bot", "race", "running")]
    list_width = inner - MENU_WIDTH - 5
    body_height = height - 1 - above.height - 4
    # Three titles, two free rows between, and a row where a list is empty.
    rows = [sum(len(_details(item.detail, list_width - DETAIL_AT)) for _, item in each) or 1 for each in (bots, races, running)]
    is_whole = sum(rows) + 5 <= body_height
    # The marked line's full text stands above the keys, in case its own row is too short.
    marked = next((item for at, item in (*bots, *races, *running) if at == ui.item and not is_whole), None)
    aside = marked.detail if marked is not None and text_width(marked.detail) > list_width - DETAIL_AT else ""
    feet = (remarks(scene, width, 2, aside=aside), foot(KEYS, theme, width))
    bot_rows = min(len(bots), max(body_height - 9, 2))
    # Rows that one list does not need go to the other.
    left_rows = max(body_height - max(bot_rows, 1) - 5, 2)
    running_rows = min(max(len(running), 1), max(left_rows // 2, left_rows - max(len(races), 1)))
    left = stacked(
        _title(scene, "Race a friend" if not ui.own_server else "On your own", MENU_WIDTH),
        *[_menu_item(scene, at, item) for at, item in menu_items],
        block([[]]),
        _people(scene) if not ui.own_server else block([[("faint", text)] for text in wrap_text(ALONE, MENU_WIDTH)]),
    )
    no_races = "No open races yet. Press o to open one." if model.lobby is not None else "Not connected." if model.link.reason else ""
    right = stacked(
        _title(scene, "Race a house bot (b)", list_width),
        *_window(scene, bots, list_width, bot_rows, is_whole, "This server has no house bots." if model.welcome is not None else ""),
    )
    others = stacked(
        block([[]]),
        _title(scene, _races_title(model), list_width),
        *_window(scene, races, list_width, left_rows - running_rows, is_whole, no_races),
        block([[]]),
        _title(scene, _running_title(model), list_width),
        *_window(scene, running, list_width, running_rows, is_whole, _none_to_watch(model)),
    )
    right = right if ui.own_server else stacked(right, others)
    columns = shifted(row((MENU_WIDTH + 2, left), (list_width, right)), margin + 2)
    return screen(size, head(scene, width), stacked(above, columns), *feet, above=UPPER)


def _races_title(model: Model) -> str:
    return "Open races (r)" if model.lobby is None else f"Open races (r): {model.lobby.races_open} open"


def _running_title(model: Model) -> str:
    return "Watch a race (w)" if model.lobby is None else f"Watch a race (w): {model.lobby.races_running} running"


def _none_to_watch(model: Model) -> str:
    """Those that run may be private, or in their countdown."""
    if model.lobby is None:
        return ""
    return "No races to watch." if not model.lobby.races_running else "None that can be watched now."


def banner(scene: Scene, size: tuple[int, int]) -> Picture:
    """A hand of cards and the name of the game, as large as fits."""
    width, height = min(size[0], WIDTH), size[1]
    card = cards.LARGE if height >= 36 and size[0] >= 110 else cards.MEDIUM if height >= 30 and size[0] >= 90 else _BANNER_CARD
    welcome = scene.model.welcome
    words: list[Line] = [
        [("title", "C A R P E T   R A C E")],
        [("felt", "The same shuffle, two tables,")],
        [("felt", "first to bring every card home.")],
        [("faint", _own_name(welcome) if welcome is not None else "")],
    ]
    above: list[Line] = [[]] * (1 + (card.height - 3) // 2)
    fan = [(card.width + 1, block([[], *cards.face(name, card, scene.theme)])) for name in _FAN]
    left = max(width - 4 - len(_FAN) * (card.width + 1), 10)
    drawn = stacked(row((2, EMPTY), *fan, (2, EMPTY), (left, block([*above, *words]))), block([[]]))
    return shifted(drawn, (size[0] - width) // 2)


def _own_name(welcome: Welcome) -> str:
    rating = "" if welcome.rating is None else f", rated {welcome.rating}"
    return f"You are {clean_name(welcome.name)}{rating}."


def _title(scene: Scene, text: str, width: int) -> Picture:
    rule = scene.theme.glyphs.bar_rest
    return block([[("title", clip(text, width)), ("faint", " " + rule * max(width - len(text) - 1, 0))]])


def _menu_item(scene: Scene, at: int, item: Item) -> Picture:
    marked = scene.ui.item == at
    text = f"{scene.pointer(marked)} {fit(item.label, MENU_WIDTH - 5)}{item.detail:>2} "
    return hit(block([[("chosen" if marked else "felt", text)]]), Pick(at))


def _item(scene: Scene, at: int, item: Item, width: int, *, is_whole: bool) -> Picture:
    marked = scene.ui.item == at
    name = fit(f"{scene.pointer(marked)} {fit(item.label, 10)}", DETAIL_AT)
    lines: list[Line] = []
    for text in _details(item.detail, width - DETAIL_AT, is_whole=is_whole):
        told = fit(text, width - DETAIL_AT)
        lines.append([("chosen", name + told)] if marked else [("strong", name), ("faint", told)])
        name = " " * DETAIL_AT
    return hit(block(lines), Pick(at))


def _details(text: str, width: int, *, is_whole: bool = True) -> list[str]:
    """A text in as many rows as it takes, or in one: as many of its words as fit."""
    if text_width(text) <= width:
        return [text]
    if is_whole:
        return wrap_text(text, width)
    first = f"{text.partition('. ')[0]}."
    return [first] if text_width(first) <= width else [f"{(wrap_text(text, width - 4) or [''])[0]} ..."]


def _window(scene: Scene, items: list[tuple[int, Item]], width: int, rows: int, is_whole: bool, empty: str) -> list[Picture]:
    """As many of the lines as fit, the marked one among them."""
    if not items:
        return [block([[("faint", f"  {empty}")]])]
    marked = next((number for number, (at, _) in enumerate(items) if at == scene.ui.item), 0)
    first = max(0, min(marked - rows + 1, len(items) - rows))
    return [_item(scene, at, item, width, is_whole=is_whole) for at, item in items[first : first + rows]]


def _people(scene: Scene) -> Picture:
    lobby = scene.model.lobby
    if lobby is None:
        return block([[]])
    names = with_ratings(lobby.players[:12], lobby.ratings)
    lines: list[Line] = [[("faint", f"{lobby.players_here} online")], *[[("faint", text)] for text in wrap_text(names, MENU_WIDTH)[:3]]]
    if lobby.seeking and scene.model.search is None:
        lines.insert(0, [("strong", f"{lobby.seeking} looking for a race (m)")])
    return block(lines)


# ---- what keys and clicks do


def _items(step: Step) -> tuple[Item, ...]:
    return home_items(step.state, step.now_ms, alone=step.ui.own_server)


def _update(step: Step, action: ScreenAction) -> Step:
    match action:
        case Do(command) if command in WITH_OTHERS and step.ui.own_server:
            return step.note(ALONE)
        case Do(Command.UP | Command.DOWN | Command.LEFT | Command.RIGHT as command):
            return step.walk(command, len(_items(step)))
        case Do(Command.PLAY):
            return _take(step, step.ui.item)
        case Pick(line):
            return _take(step.but(item=line), line)
        case Do(Command.BOT):
            return _mark(step, "bot", "This server has no house bots.")
        case Do(Command.RUNNING):
            return _mark(step, "running", "No race can be watched now.")
        case Do(Command.RACES):
            return _mark(step, "race", "No open races.")
        case Typed("code", text) if text.strip():
            return _join(step, text)
        case Typed("name", text) if text.strip():
            return _renamed(step, text)
        case Do(command):
            return _do(step, command)
        case _:
            return step


def _join(step: Step, typed: str) -> Step:
    """Join by the code, or by the line or link that a friend sent, which is to this server."""
    code = next(filter(is_room_code, (read_code(typed), place_and_code(typed.split())[1])), None)
    if code is None:
        # What was typed stays, to be mended.
        return step.prompt("code", text=typed.strip()).note("That is not the code of a race, which is six letters.")
    return step.send(JoinRace(code=code))


def _renamed(step: Step, typed: str) -> Step:
    """Ask for another name; what it is then is told by a notice."""
    name = clean_name(typed)
    if len(typed.strip()) > NAME_LENGTH:
        return step.note(f"A name has {NAME_LENGTH} characters at most.")
    return step.send(Rename(name=name)) if name else step.note("Nothing printable is left of that name.")


def _do(step: Step, command: Command) -> Step:
    match command:
        case Command.RENAME:
            return step.prompt("name", text=clean_name(step.state.welcome.name) if step.state.welcome is not None else "")
        case Command.MATCH:
            return step.send(QuickMatch(cancel=step.state.search is not None))
        case Command.DAILY:
            return daily.opened(step)
        case Command.YOU:
            return you.opened(step)
        case Command.OPEN:
            return form.opened(step)
        case Command.CODE:
            return step.prompt("code")
        case Command.TOURNAMENTS:
            return follow(step.but(tournament_view=TournamentView(), item=0))
        case Command.BACK if step.state.search is not None:
            return step.send(QuickMatch(cancel=True))
        case _:
            return step


def _take(step: Step, line: int) -> Step:
    items = _items(step)
    if not 0 <= line < len(items):
        return step
    item = items[line]
    match item.kind:
        case "bot":
            return step.list_rules(step.ui.rules, bot=item.value)
        case "race":
            return step.send(JoinRace(code=item.value))
        case "running":
            return step.send(WatchRace(code=item.value, ref=WATCH_REFERENCE))
        case "help":
            return open_help(step)
        case "quit":
            return quit_or_ask(step)
        case _:
            return _do(step, Command(item.kind))


def at_last_bot(step: Step) -> Step:
    """The step with the house bot marked that was chosen last, or the first one. Rules chosen last elsewhere may be unknown here."""
    if all(info.id != step.ui.rules for info in step.state.rules):
        step = step.but(rules="carpet")
    bots = [number for number, item in enumerate(_items(step)) if item.kind == "bot"]
    last = [number for number in bots if _items(step)[number].value == step.ui.settings.bot]
    return step.but(item=(last or bots or [0])[0])


def _mark(step: Step, kind: str, otherwise: str) -> Step:
    at = next((number for number, item in enumerate(_items(step)) if item.kind == kind), None)
    return step.note(otherwise) if at is None else step.but(item=at)


def _times(scene: Scene) -> Hashable:
    model = scene.model
    running = model.lobby.running if model.lobby is not None else ()
    return tuple(elapsed_ms(race, scene.now_ms - model.lobby_at) // 1000 for race in running)


def _lines(state: Model, ui: Ui) -> tuple[Hashable, ...]:
    return tuple((item.kind, item.value) for item in home_items(state, state.lobby_at, alone=ui.own_server))


def _refused(scene: Scene) -> frozenset[Command]:
    return WITH_OTHERS if scene.ui.own_server else frozenset()


SCREEN = Screen(
    "home",
    "At home",
    KEYS,
    lambda state, ui: state.room is None,
    _update,
    home_screen,
    scrolls=True,
    times=_times,
    lines=_lines,
    refused=_refused,
)
