"""What keys and clicks do on the screen of one tournament: pages and rounds, the player's own part, and the director's decisions.

The server decides what is granted. This module only knows what a key asks for, and which question comes first.
"""

from __future__ import annotations

from msgspec.structs import replace

from client.connection.events import WATCH_REFERENCE
from client.state.store import Model
from client.state.tournament import DONE_PHASES, OPEN_PHASES, TournamentModel, is_field_closed, is_out, is_raced
from client.text.tournaments import bye_of, result_text
from client.tui.actions import Do, Pick, ReplayPast, ScreenAction, Typed
from client.tui.keymap import OUT, Binding, Command, Keys
from client.tui.step import Step, way
from client.tui.subscriptions import follow
from client.tui.tournament.rulings import BYES, can_be_corrected, correct
from client.tui.tournament_view_state import (
    ONLY_WATCHING,
    PAGES,
    TournamentView,
    directs,
    is_guest,
    lines_of,
    marked_entrant,
    marked_table,
    own_entrant,
    own_table,
    page_of,
    standings_of,
)
from client.tui.ui_state import GiveReason
from protocol.client_messages import JoinRace
from protocol.pages import is_race_id
from protocol.text import clean_name, counted
from protocol.tournament_messages import (
    AddBot,
    AskBye,
    CheckIn,
    EndTournament,
    EnterTournament,
    ExtendCheckIn,
    GiveBye,
    LeaveTournament,
    PairRound,
    PauseTournament,
    RemoveEntrant,
    StartTournament,
    Tournament,
)
from protocol.tournaments import ENTRY_CODE_LENGTH, TournamentEntrant
from protocol.watch_messages import WatchRace

KEYS: Keys = (
    Binding(Command.ENTER, ("i",), "join", "Enter the tournament, or come back to it."),
    Binding(Command.CHECK_IN, ("c",), "check in", "Check in: you are here and ready to play."),
    Binding(Command.PLAY, ("enter", "w"), "go, watch", "Go to your table, else watch or replay the selected one."),
    Binding(Command.TURN, ("tab",), "page", "The next page: tables, standings, log."),
    Binding(Command.TURN_BACK, ("shift tab",), "page", "The page before.", shown=False),
    Binding(Command.BYE, ("y",), "bye", "Ask for a half-point bye in the next round, or take it back."),
    Binding(Command.WITHDRAW, ("L",), "withdraw", "Withdraw from the tournament (asks first)."),
    Binding(Command.START, ("S",), "start", "Director: open the check-in; then pair the first round."),
    Binding(Command.EXTEND, ("+",), "more time", "Director: give the check-in more time."),
    Binding(Command.HOLD, ("P",), "pause", "Director: pause, or go on."),
    Binding(Command.PAIR_ROUND, ("N",), "next round", "Director: pair the next round now."),
    Binding(Command.CORRECT, ("E",), "result", "Director: enter, correct or strike the selected result."),
    Binding(Command.REMOVE, ("X",), "remove", "Director: remove the selected player, or let them back in."),
    Binding(Command.GIVE_BYE, ("Y",), "bye", "Director: give the selected player a bye, or take it away.", shown=False),
    Binding(Command.ADD_BOT, ("b",), "bot", "Director: add a house bot."),
    Binding(Command.END, ("Z",), "end", "Director: end the tournament (asks first)."),
    OUT,
)

EXTENSIONS_MIN = (1, 2, 5, 10)
"""The minutes by which a director may extend the check-in with a key."""

_DIRECTING = frozenset(
    {
        Command.START,
        Command.EXTEND,
        Command.HOLD,
        Command.PAIR_ROUND,
        Command.CORRECT,
        Command.REMOVE,
        Command.GIVE_BYE,
        Command.ADD_BOT,
        Command.END,
    }
)
ALWAYS = frozenset({Command.HELP, Command.QUIT, Command.BACK})


def refused(model: Model, tournament: TournamentModel) -> frozenset[Command]:
    """The commands that are not for this player."""
    return frozenset() if directs(model, tournament) else _DIRECTING


def meaningless(model: Model, tournament: TournamentModel, view_state: TournamentView) -> frozenset[Command]:
    """The commands that mean nothing now, for this player."""
    told, own = tournament.told, own_entrant(model, tournament)
    plays = own is not None and not own.withdrawn
    done = told.phase in DONE_PHASES
    page = page_of(view_state, told)
    hidden = {
        Command.ENTER: plays or is_guest(model) or is_field_closed(told),
        Command.CHECK_IN: not plays
        or done
        or (own is not None and own.checked_in)
        or told.phase == "registration"
        or not told.options.check_in_s,
        Command.BYE: own is None or not plays or own_bye(told, own) is None,
        Command.WITHDRAW: not plays or done or is_out(told, model.player),
        Command.PLAY: own_table(model, tournament) is None
        # A director needs the columns for other keys.
        and not (page == "tables" and any(is_raced(table) or (table.race_ids and not directs(model, tournament)) for table in told.tables)),
        Command.START: told.phase not in OPEN_PHASES,
        Command.EXTEND: told.phase != "check-in",
        Command.HOLD: told.phase in (*OPEN_PHASES, *DONE_PHASES),
        Command.PAIR_ROUND: told.phase != "between",
        Command.CORRECT: page != "tables" or not any(can_be_corrected(told, table) for table in told.tables),
        Command.REMOVE: done or page == "log" or (page == "tables" and not told.tables),
        Command.GIVE_BYE: page != "standings" or not told.entrants or not _has_byes(told),
        Command.ADD_BOT: is_field_closed(told),
        Command.END: done,
    }
    return refused(model, tournament) | frozenset(action for action, is_hidden in hidden.items() if is_hidden)


def update(step: Step, action: ScreenAction) -> Step:
    """The step after something the player did."""
    view_state = step.ui.tournament_view
    tournament = step.state.tournaments.tournament(view_state.id) if view_state is not None else None
    if view_state is None:
        return step
    match action:
        case Do(Command.BACK) if step.ui.preparing:
            return step.but(preparing="").note("The replay was cancelled.")
        case Do(Command.BACK):
            return follow(step.but(tournament_view=TournamentView(), item=0))
        case Do(Command.UP | Command.DOWN as command):
            return step.walk(command, len(lines_of(step.state, view_state)))
        case _ if tournament is None:
            return step
        case Do(Command.LEFT | Command.RIGHT as command):
            return _other_round(step, view_state, tournament, way(command))
        case Do(Command.TURN | Command.TURN_BACK as command):
            return _turn(step, view_state, tournament, 1 if command is Command.TURN else -1)
        case Do(Command.PLAY):
            return _go(step, view_state, tournament, step.ui.item)
        case Pick(line) if line == step.ui.item:
            return _go(step, view_state, tournament, line)
        case Pick(line):
            return step.but(item=line)
        case Do(Command.ENTER | Command.CHECK_IN | Command.BYE | Command.WITHDRAW as command):
            return _take_part(step, tournament, command)
        case Do(command):
            return _direct(step, view_state, tournament, command)
        case Typed("entry", text) if text:
            return step.send(EnterTournament(id=tournament.told.id, code=text[:ENTRY_CODE_LENGTH]))
        case _:
            return step


# ---- what is looked at


def _turn(step: Step, view_state: TournamentView, tournament: TournamentModel, by: int) -> Step:
    page = PAGES[(PAGES.index(page_of(view_state, tournament.told)) + by) % len(PAGES)]
    return step.but(tournament_view=replace(view_state, page=page), item=_own_line(step, tournament, page))


def _own_line(step: Step, tournament: TournamentModel, page: str) -> int:
    """The player's own line, else the first one."""
    own = step.state.player
    lines: list[bool] = []
    if own and page == "tables":
        lines = [own in (table.first, table.second) for table in tournament.told.tables]
    elif own and page == "standings":
        lines = [standing.entrant.id == own for standing in standings_of(tournament)]
    return lines.index(True) if True in lines else 0


def _other_round(step: Step, view_state: TournamentView, tournament: TournamentModel, by: int) -> Step:
    if not tournament.told.rounds:
        return step
    last = len(tournament.told.rounds)
    number = max(min((view_state.round or last) + by, last), 1)
    # None, not the number, so that the screen follows whichever round is the last.
    return follow(step.but(tournament_view=replace(view_state, round=None if number == last else number, page="tables"), item=0))


def _go(step: Step, view_state: TournamentView, tournament: TournamentModel, line: int) -> Step:
    mine, marked = own_table(step.state, tournament), marked_table(step.state, view_state, line)
    if mine is not None and mine.code is not None:
        return step.send(JoinRace(code=mine.code))
    if marked is not None and is_raced(marked):
        return step.send(WatchRace(code=marked.code, ref=WATCH_REFERENCE))
    if marked is None:
        return step
    if marked.result is None:
        return step.note(f"No race is running at table {marked.table}.")
    told = tournament.told
    said = f"Table {marked.table}: {result_text(marked.result, alone=told.options.format == 'session')}."
    raced = [race for race in marked.race_ids if is_race_id(race)]
    if not raced:
        return step.note(f"{said} There is no race to replay.")
    if any(each.number == told.round and each.open for each in told.rounds):
        return step.note(f"{said} It can be replayed after the round.")
    return step.but(preparing=raced[-1]).then(ReplayPast(raced[-1])).note("Getting the race...")


# ---- the player's own part


def _take_part(step: Step, tournament: TournamentModel, command: Command) -> Step:
    if is_guest(step.state):
        return step.note(ONLY_WATCHING)
    own = own_entrant(step.state, tournament)
    plays = own is not None and not own.withdrawn
    match command:
        case Command.ENTER if tournament.told.phase in DONE_PHASES:
            return step.note("The tournament is over.")
        case Command.ENTER if plays:
            return step.note("You have entered already.")
        case Command.ENTER if tournament.told.by_code:
            return step.prompt("entry")
        case Command.ENTER:
            return step.send(EnterTournament(id=tournament.told.id))
        case Command.WITHDRAW if not plays:
            return step.note("You are not playing.")
        case Command.WITHDRAW if is_out(tournament.told, step.state.player):
            return step.note("You are out, so there is nothing to withdraw from.")
        case Command.WITHDRAW:
            return step.ask("Withdraw from the tournament?", ("Withdraw", "Stay"), (LeaveTournament(id=tournament.told.id), None))
        case _ if own is None or own.withdrawn:
            return step.note("You have not entered yet. Press i to enter.")
        case Command.BYE:
            return _ask_bye(step, own_bye(tournament.told, own))
        case _ if own.checked_in:
            return step.note("You have already checked in.")
        case _ if not tournament.told.options.check_in_s:
            return step.note("There is no check-in here: everybody who has entered plays.")
        case _ if tournament.told.phase == "registration":
            return step.note("The check-in is not open yet. The director opens it.")
        case _:
            return step.send(CheckIn(id=tournament.told.id, nonce=""), fresh_nonce=True)


def own_bye(told: Tournament, own: TournamentEntrant) -> AskBye | None:
    """What a player can ask about a half-point bye in the round that is paired next: for one, or to take it back; None for neither."""
    number, options = len(told.rounds) + 1, told.options
    bye = bye_of(told, own.id, number)
    if bye is None:
        had = sum(each.entrant == own.id and each.half_points == 1 for each in told.byes)
        # How many rounds there are may be settled with the first one only; nobody can ask for a bye in the last.
        is_open = number < options.rounds if options.rounds else number == 1
        return AskBye(id=told.id, round=number) if had < options.byes and is_open and _has_byes(told) else None
    return AskBye(id=told.id, round=number, ask=False) if bye.half_points == 1 and _has_byes(told) else None


def _has_byes(told: Tournament) -> bool:
    """Whether there may be byes in the round that is paired next."""
    options = told.options
    return options.format == "swiss" and told.phase not in DONE_PHASES and not 0 < options.rounds <= len(told.rounds)


def _ask_bye(step: Step, request: AskBye | None) -> Step:
    match request:
        case None:
            return step.note("There is no half-point bye that you could ask for or take back now.")
        case AskBye(round=number, ask=True):
            return step.ask(f"Ask for a half-point bye in round {number}?", ("Ask for it", "Race"), (request, None))
        case AskBye(round=number):
            return step.ask(f"Take back your bye in round {number}?", ("Take it back", "Keep it"), (request, None))


# ---- the director's decisions


def _direct(step: Step, view_state: TournamentView, tournament: TournamentModel, command: Command) -> Step:
    told = tournament.told
    if not directs(step.state, tournament):
        return step.note(f"Only the director, {clean_name(told.director_name)}, can do that.")
    match command:
        case Command.START:
            return _start(step, told)
        case Command.EXTEND:
            answers = tuple(ExtendCheckIn(id=told.id, more_s=60 * minutes) for minutes in EXTENSIONS_MIN)
            return step.ask("How much longer?", tuple(counted(minutes, "minute") for minutes in EXTENSIONS_MIN), answers, numbered=True)
        case Command.HOLD:
            return step.send(PauseTournament(id=told.id, pause=told.phase != "paused"))
        case Command.PAIR_ROUND:
            return step.send(PairRound(id=told.id, round=len(told.rounds) + 1))
        case Command.CORRECT:
            return correct(step, view_state, tournament)
        case Command.REMOVE:
            return _remove(step, view_state, tournament)
        case Command.GIVE_BYE:
            return _give_bye(step, view_state, told)
        case Command.ADD_BOT:
            return _add_bot(step, told.id)
        case Command.END:
            ended = GiveReason(EndTournament(id=told.id))
            return step.ask("End the tournament now? The standings stay.", ("End it", "Go on"), (ended, None))
        case _:
            return step


def _start(step: Step, told: Tournament) -> Step:
    """Asks first where a second press of the key would leave somebody out."""
    start = StartTournament(id=told.id)
    missing = [clean_name(each.name) for each in told.entrants if not each.withdrawn and not each.checked_in]
    if told.phase != "check-in" or not missing:
        return step.send(start)
    whom = missing[0] if len(missing) == 1 else f"the {len(missing)} who have not checked in"
    return step.ask(f"Pair the first round without {whom}?", ("Pair it", "Wait"), (start, None))


def _add_bot(step: Step, tournament: str) -> Step:
    names = tuple(bot.name for bot in step.state.bots)
    if not names:
        return step.note("This server has no house bots.")
    answers = tuple(AddBot(id=tournament, bot=name) for name in names)
    return step.ask("Which bot enters?", tuple(map(clean_name, names)), answers, numbered=True)


def _remove(step: Step, view_state: TournamentView, tournament: TournamentModel) -> Step:
    """Of a table either player may be meant; of the standings, somebody who is out may come back."""
    marked, table = marked_entrant(step.state, view_state, step.ui.item), marked_table(step.state, view_state, step.ui.item)
    identity = tournament.told.id
    if marked is not None and marked.withdrawn:
        back = GiveReason(RemoveEntrant(id=identity, entrant=marked.id, remove=False))
        return step.ask(f"Let {clean_name(marked.name)} back in, from the next round on?", ("Let back in", "Leave out"), (back, None))
    ids = (marked.id,) if marked is not None else (table.first, table.second) if table is not None else ()
    meant = [known for each in ids if (known := tournament.entrants.get(each or "")) is not None and not known.withdrawn]
    names = tuple(clean_name(entrant.name) for entrant in meant)
    removed = tuple(GiveReason(RemoveEntrant(id=identity, entrant=entrant.id)) for entrant in meant)
    match names:
        case ():
            return step.note("Select a player first, or a table.")
        case (name,):
            return step.ask(f"Remove {name} from the tournament?", ("Remove", "Keep"), (*removed, None))
        case _:
            return step.ask("Remove whom from the tournament?", (*names, "Nobody"), (*removed, None), numbered=True)


def _give_bye(step: Step, view_state: TournamentView, told: Tournament) -> Step:
    """In the round that is paired next; or, of who has one there, take it away."""
    marked, number = marked_entrant(step.state, view_state, step.ui.item), len(told.rounds) + 1
    if not _has_byes(told):
        return step.note("There is no round to come in which anybody could have a bye.")
    if marked is None or marked.withdrawn:
        return step.note("Select somebody who plays first, on the Standings page (tab).")
    given = {points: GiveReason(GiveBye(id=told.id, entrant=marked.id, round=number, half_points=points)) for points in (2, 1, 0)}
    name = clean_name(marked.name)
    if bye_of(told, marked.id, number) is not None:
        return step.ask(f"Take away the bye of {name} in round {number}?", ("Take it away", "Leave it"), (given[0], None))
    lines = (*(BYES[points].capitalize() for points in (2, 1)), "None")
    return step.ask(f"Which bye does {name} have in round {number}?", lines, (given[2], given[1], None), numbered=True)
