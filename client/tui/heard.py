"""How the screens react to what was heard: after a welcome they begin what was asked for, at home they follow the lobby, in rooms the race.

Keeps the player's side in step with the state. Making sure that no message is missed or lost is up to the connection.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from client.connection.events import Back, Connected, Lost
from client.state.room import RoomModel
from client.state.store import Event, Model, refuses_nothing
from client.state.watching import WatchModel, watch_after
from client.text.formatting import deck_size, on_last_cards
from client.tui.actions import After, Heard, Keep, Kept, Replayed, Reviewed, Ring, SendNextHome, Sound, Verify
from client.tui.chips import dealt
from client.tui.lobby import daily, home
from client.tui.overlays import is_large_enough
from client.tui.race import ending
from client.tui.replay import replaying
from client.tui.replay_state import opened_at
from client.tui.room import LESSON, ask_held, is_wanted, race_at_once, ready
from client.tui.scene import is_noted
from client.tui.screens import shown
from client.tui.start import (
    Start,
    StartBots,
    StartHome,
    StartLesson,
    StartMatch,
    StartMenu,
    StartRace,
    StartRequest,
    StartTournaments,
    StartYou,
)
from client.tui.step import BEGUN_MS, Step
from client.tui.subscriptions import FOLLOW_REFERENCE, follow, follow_lobby, follow_tournament_view, followed, leave_lobby
from client.tui.table.playing import HOME_MS, autoplays, play_ahead, take_back
from client.tui.tournament.form import CREATE_REFERENCE
from client.tui.tournament_view_state import TournamentView
from client.tui.ui_state import Deaf, LeaveFor, Question
from protocol.client_messages import JoinRace, LeaveRace, QuickMatch
from protocol.errors import ErrorCode
from protocol.room_events import Ended, Result, Room, Scored
from protocol.run_messages import ListRuns, RunDaily
from protocol.server_messages import Error, Left, Welcome
from protocol.text import clean_chat
from protocol.tournament_messages import Called, Decided
from protocol.views import RulesInfo, View
from protocol.watch_messages import Unwatch, Unwatched, Watched


def heard(step: Step, action: Heard) -> Step:
    """Answer what was heard if it wants an answer, then bring the player's side into line."""
    event, before, room = action.event, action.before, step.state.room
    step = _watching(_answered(step, event), event)
    if isinstance(event, Error) and event.code in (ErrorCode.PHRASES_ONLY, ErrorCode.TALKED_TOO_MUCH):
        step = step.but(unsaid=step.ui.said)
    # An attempt to come back that fails, once a second, leaves what was said of the last key.
    is_lost = isinstance(event, Lost) and before.link.state in ("connected", "returning")
    if is_lost or isinstance(event, Back) or (isinstance(event, Error) and not refuses_nothing(event) and event.ref != FOLLOW_REFERENCE):
        step = take_back(step).note("")
    if isinstance(event, Error) and (event.code, event.ref) == (ErrorCode.ALREADY_RUN, daily.DAILY_REFERENCE):
        step = daily.opened(step).note(daily.HAD)
    step = _another_room(step, before.room, room)
    if step.ui.held and (room is None or before.room is None or room.view != before.room.view):
        step = step.but(held="", note=f"{step.ui.held} was put back: the table has changed.")
    if room is not None and room.view is not None and (before.room is None or room.view is not before.room.view):
        step = _another_view(step, room.view, begins=before.room is None or before.room.view is None)
    step = ending.begun(step, before.room)
    step = play_ahead(_same_line(_at_tournaments(step, event), before))
    return _bell(_keep_records(step, before, event), before)


# ---- answers


def _answered(step: Step, event: Event) -> Step:
    match event:
        case Connected():
            return followed(step, lobby=False, tournaments=False, tournament=None)
        case Welcome(room=room):
            # If a seat is held already, the connection is back at it. If that race is over, it is left and the start follows.
            return follow_lobby(step if room is not None else daily.asked(_begin(step)))
        case Room(phase="over"):
            return _ask_for_board(_entered(step))
        case Room():
            return _entered(step)
        case Left():
            # A rematch that never came must not make them ready in the next room.
            return _go_to_table(follow_lobby(daily.asked(_begin(followed(step, ready_at_once=False)))))
        case Error() if step.state.room is None and not refuses_nothing(event):
            # The race that was asked for will not come, and one entered later must not begin at once.
            return followed(step, ready_at_once=False)
        case Ended() | Result():
            return follow_tournament_view(_ask_for_board(step))
        case Called():
            return _go_to_table(step)
        case Watched():
            return follow_tournament_view(leave_lobby(followed(step, race=True)))
        case Unwatched(reason=reason):
            return follow_lobby(followed(step, race=reason == "none"))
        case _:
            return step


def _begin(step: Step) -> Step:
    """Ask, once, for what the screens were started for."""
    start: Start | None = step.ui.start
    step = step.but(start=None)
    match start:
        case StartRace(options=options):
            return race_at_once(step, replace(options, public=False))
        case StartMatch(rules=rules):
            return step.send(QuickMatch(rules=rules))
        case StartBots():
            return home.at_last_bot(step)
        case StartLesson():
            return race_at_once(step, LESSON)
        case StartRequest(request=RunDaily(rules=rules) as request):
            # If they have had their run, the board of these rules is shown.
            return step.but(rules=rules).send(replace(request, ref=daily.DAILY_REFERENCE))
        case StartRequest(request=request):
            return step.send(request)
        case StartHome() | StartTournaments() | StartMenu() | StartYou() | None:
            return step
        case _:
            assert_never(start)


def _entered(step: Step) -> Step:
    step = leave_lobby(step)
    room = step.state.room
    if room is not None and room.options.rules != LESSON.rules:
        # What is taught is true of one rule set; a game that is gone on with may have another.
        step = step.but(learned=None)
    if room is None or room.shared is None or room.shared.kind != "daily":
        # From elsewhere the way back leads home.
        step = step.but(daily=False)
    step = step.but(you=False, profile=None, preparing="")
    if step.ui.followed.race:
        # A player with a seat looks at their own race.
        step = followed(step.send(Unwatch()), race=False)
    step = follow_tournament_view(step)
    return ready_at_once(step)


def ready_at_once(step: Step) -> Step:
    """Be ready, if that was asked for, as soon as the table can be seen."""
    room = step.state.room
    if room is not None and room.phase in ("countdown", "racing"):
        # They were ready without it.
        return followed(step, ready_at_once=False)
    # If the room's race is over, the rematch that was asked for has not begun.
    if not step.ui.followed.ready_at_once or room is None or room.phase != "waiting":
        return step
    by_ms = step.ui.followed.ready_by_ms
    if by_ms is not None and step.now_ms > by_ms:
        # They may look elsewhere by now.
        step = followed(step, ready_at_once=False)
        return step.then(Ring("call")) if step.ui.settings.bell else step
    return ready(step) if is_large_enough(step.ui.size) else step


def _ask_for_board(step: Step) -> Step:
    """After a run of a shared deal, ask how it compares with the others' runs."""
    room = step.state.room
    if room is None or room.shared is None or room.shared.kind == "round":
        return step
    return step.send(ListRuns(kind=room.shared.kind, id=room.shared.id, rules=room.options.rules))


def _go_to_table(step: Step) -> Step:
    """Go to the table that the player is called to, leaving a finished race first."""
    call, room = step.state.tournaments.call, step.state.room
    if call is None:
        return step
    if room is None:
        return step.send(JoinRace(code=call.code))
    # Leaving it leads back here.
    return step.send(LeaveRace()) if room.code != call.code and room.phase == "over" else step


# ---- bringing the player's side into line


def _another_room(step: Step, before: RoomModel | None, room: RoomModel | None) -> Step:
    """Drop what belongs to a phase that has ended, such as an open question. On a new table the cursor starts at the first slot.

    The question which of two races is wanted is asked again in the words of the new phase; without a room there is nothing to choose.
    """
    marked, asked = step.ui.item, _asked_about(step.ui.question)
    if room is None:
        step = step if before is None else _cleared(step).but(said="", unsaid="", preparing="")
        return step if asked is None else _begin(step.but(start=asked))
    if before is not None and (before.code, before.race, before.phase) == (room.code, room.race, room.phase):
        return step
    first = step.ui.note
    step = _cleared(step)
    if before is None and step.ui.noted_at_ms is None and first:
        # What was said first stands until a key is pressed.
        step = step.note(first)
    if before is None or (before.code, before.race) != (room.code, room.race):
        step = step.but(cursor="a1")
    if asked is not None:
        return ask_held(step, asked).but(item=marked)
    wanted = step.ui.start
    if room.phase == "over" or wanted is None:
        # A finished race is left first, and the start follows.
        return step
    # There is a race to go on with, whatever else was asked for.
    step = step.but(start=None)
    asks = isinstance(wanted, StartMatch | StartRequest | StartRace) and not is_wanted(room, wanted)
    return ask_held(step, wanted) if asks else step


def _asked_about(question: Question | None) -> Start | None:
    """What the player asked for instead of the seat that they hold, if they have yet to say which of the two they want."""
    answers = question.answers if question is not None else ()
    return next((answer.start for answer in answers if isinstance(answer, LeaveFor)), None)


def _another_view(step: Step, view: View, *, begins: bool) -> Step:
    """Give out chips for what can be played now. begins: it is the first view, so the cursor starts at a playable card."""
    chips = dealt(() if begins else step.ui.chips, view)
    step = step.but(chips=chips, cursor=chips[0].place if begins and chips else step.ui.cursor)
    return step.then(After(HOME_MS, SendNextHome())) if step.ui.homing or autoplays(step) else step


def _cleared(step: Step) -> Step:
    ui = step.ui
    line = ui.prompt if ui.prompt is not None and ui.prompt.kind == "chat" and step.state.room is not None else None
    step = step.but(
        ahead=(),
        taken_back=(),
        homing=False,
        chips=(),
        form=None,
        tournament_form=None,
        rules_page=None,
        question=None,
        held="",
        typed="",
        note="",
        item=0,
    )
    step = step.but(details=False, review=None, replay=None, standing="", prompt=line)
    if (line is None and ui.question is None) or step.state.room is None or step.state.room.phase != "racing":
        return step
    # The keys are the table's now, but the player may still be typing, or about to answer. The clock runs, so the moment never gets longer.
    # However often a server says that a race begins, a question can be closed. A q may be a letter of the line, though.
    begun_ms = step.now_ms + BEGUN_MS
    counting = frozenset({"esc"} if line is not None else {"esc", "q"})
    step = step.but(prompt=None, deaf=Deaf(begun_ms, begun_ms, counting=counting))
    if line is None:
        return step.note("The race has begun; the question is closed.")
    step = step.but(unsaid=clean_chat(line.text))
    return step.note("The race has begun. Your line is kept: t after the race.") if step.ui.unsaid else step


def _watching(step: Step, event: Event) -> Step:
    before = step.ui.watch
    watch = watch_after(before, event, step.now_ms)
    if watch is before:
        return step
    step = step.but(watch=watch)
    was, room = _watched(before), _watched(watch)
    if was is not None and room is not None and (was.code, was.race) == (room.code, room.race):
        return step if was.phase == room.phase else step.but(details=False)
    if was is None and room is None:
        return step
    elsewhere = was is None or room is None or was.code != room.code
    return step.but(details=False, first_seat=0, prompt=None if elsewhere and step.state.room is None else step.ui.prompt)


def _watched(watch: WatchModel | None) -> RoomModel | None:
    return watch.room if watch is not None else None


def _at_tournaments(step: Step, event: Event) -> Step:
    """Bring what is looked at of tournaments into line."""
    view_state = step.ui.tournament_view
    match event:
        case Called(id=tournament) if view_state is None or view_state.id != tournament:
            # After the race the player comes back to its tournament.
            step = follow(step.but(tournament_view=TournamentView(tournament), item=0))
        case Lost():
            shown = step.state.tournaments.shown
            lost = (*step.ui.lost_rulings, *step.ui.rulings)
            step = step.but(rulings=(), lost_rulings=lost, told_before=shown.told if shown is not None else None)
        case Decided(ref=ref) | Error(ref=ref) if any(ruling.ref == ref for ruling, _ in step.ui.rulings):
            step = step.but(rulings=tuple(each for each in step.ui.rulings if each[0].ref != ref))
        case Decided(id=tournament, ref=ref) if ref == CREATE_REFERENCE:
            step = follow(step.but(tournament_form=None, tournament_view=TournamentView(tournament), item=0))
        case Error(ref=ref, code=code) if ref == FOLLOW_REFERENCE and code == ErrorCode.NO_SUCH_TOURNAMENT:
            # It has been removed. Whoever looked at it sees the list.
            refused = step.ui.followed.tournament
            if view_state is not None and (refused is None or view_state.id == refused[0]):
                step = step.but(tournament_view=TournamentView(), item=0)
            step = follow(followed(step, tournament=None))
        case _:
            pass
    if step.ui.tournament_view is None and step.state.is_at_table:
        step = follow(step.but(tournament_view=TournamentView(step.state.table_of), item=0))
    return step


def _same_line(step: Step, before: Model) -> Step:
    """Keep the same line marked when others come or go above it. If it has gone itself, keep its place marked."""
    lines, question = shown(step.state, step.ui).lines, step.ui.question
    were, are = lines(before, step.ui), lines(step.state, step.ui)
    at = step.ui.item if question is None else question.behind
    # Even if nothing changes now, lines may have gone while another screen was shown.
    if were == are and (not are or at < len(are)):
        return step
    at = are.index(were[at]) if at < len(were) and were[at] in are else max(min(at, len(are) - 1), 0)
    return step.but(item=at) if question is None else step.but(question=replace(question, behind=at))


def _keep_records(step: Step, before: Model, event: Event) -> Step:
    """Keep each record once, however often it is heard, in the order in which the races were raced.

    The record of a swap's first race comes with the score, just after that of the second, which therefore waits for it. A player who comes
    back to a result that they have seen before has not raced again.
    """
    room = step.state.room
    seat = room.seat if room is not None and before.room is not None and before.room.code == room.code else None
    series = room.series if room is not None else None
    is_unscored = series is not None and series.format == "swap" and not series.over
    last = room.record if room is not None and not is_unscored else None
    for record in (event.record if isinstance(event, Scored) else None, last):
        if record is not None and record.digest not in step.ui.kept and step.ui.may_keep:
            step = step.but(kept=step.ui.kept | {record.digest}, may_keep=step.ui.may_keep - 1).then(Keep(record, seat))
            if record.deal.winnable:
                # Checking that no deal was passed over takes a search; the screen does not wait for it.
                step = step.then(Verify(record))
    return step


def _bell(step: Step, before: Model) -> Step:
    after = step.state
    sound: Sound | None = None
    if is_found(before, after) or is_called(before, after) or is_check_in_due(before, after):
        sound = "call"
    elif bell_due(before.room, after.room, after.rules):
        sound = "near" if before.room is not None and before.room.phase == "racing" else "start"
    return step.then(Ring(sound)) if sound is not None and step.ui.settings.bell else step


def bell_due(before: RoomModel | None, after: RoomModel | None, rules: tuple[RulesInfo, ...]) -> bool:
    """Whether the bell rings: a race starts, or an opponent reaches their last ten cards."""
    if before is None or after is None or (before.code, before.race) != (after.code, after.race):
        return False
    if before.phase in ("waiting", "countdown") and after.phase == "racing":
        return True
    cards = deck_size(rules, after.options.rules)
    far = {info.seat for info in before.opponents if on_last_cards(info, cards)}
    return after.phase == "racing" and any(on_last_cards(info, cards) and info.seat not in far for info in after.opponents)


def is_found(before: Model, after: Model) -> bool:
    """Whether a quick match has found an opponent: there is a room where there was a search."""
    return before.search is not None and before.room is None and after.room is not None


def is_called(before: Model, after: Model) -> bool:
    """Whether another table of a tournament now waits for this player."""
    call, known = after.tournaments.call, before.tournaments.call
    return call is not None and (known is None or known.code != call.code)


def is_check_in_due(before: Model, after: Model) -> bool:
    """A check-in waits for this player that did not wait before."""
    due, known = ({each.id for each in model.tournaments.check_ins} for model in (after, before))
    return not due <= known


# ---- answers of jobs


def kept(step: Step, answer: Kept) -> Step:
    """Show how a race ranks among the player's own, while they look at its result."""
    room = step.state.room
    is_shown = room is not None and room.record is not None and room.record.digest == answer.digest
    return step.but(standing=answer.standing) if is_shown else step


def reviewed(step: Step, answer: Reviewed) -> Step:
    """Take the review if it is the one that was asked for last."""
    asked = step.ui.reviewed
    if asked is None or (asked.digest, asked.seat) != (answer.digest, answer.seat):
        return step
    # One that has failed is asked for again at the next key.
    step = step.but(reviewed=None if answer.failed else answer, review=answer.sentences if step.ui.review is not None else None)
    if step.ui.replay is None or step.ui.note != replaying.THINKING:
        # Whoever has gone on meanwhile is not taken elsewhere.
        return step
    if answer.failed:
        return step.note(" ".join(answer.sentences))
    # Nor is whoever has looked on for so long that nothing says any more what is on its way.
    return replaying.at_slip(step) if is_noted(step.ui, step.now_ms) else step.note(replaying.THOUGHT)


def replayed(step: Step, answer: Replayed) -> Step:
    """Open the replay, or say why there is none; not if the player has left the result, or the list that the race was on."""
    room = step.state.finished
    if (step.ui.you or (step.ui.tournament_view is not None and step.state.room is None)) and step.ui.preparing == answer.digest:
        step = step.but(preparing="")
        if isinstance(answer.line, str):
            return step.note(answer.line)
        return step.but(note="", replay=opened_at(answer.line, answer.seat, None, step.now_ms))
    if room is None or room.record is None or room.record.digest != answer.digest:
        return step
    # If they have given it up meanwhile, it is ready when they ask again.
    is_wanted, step = step.ui.preparing == answer.digest, step.but(preparing="")
    if isinstance(answer.line, str):
        return step.note(answer.line) if is_wanted else step
    if not is_wanted:
        return step.but(replayed=answer.line)
    return step.but(note="", replayed=answer.line, replay=opened_at(answer.line, answer.seat, step.ui.replay_at, step.now_ms))
