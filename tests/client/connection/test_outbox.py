"""What is sent again on a new connection: requests that were not heard, once, and none that were."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from client.connection.outbox import FIRST_NUMBER, KEPT, Request, Unanswered
from protocol.client_messages import (
    FollowLobby,
    Hello,
    JoinRace,
    LeaveRace,
    Move,
    OpenRace,
    QuickMatch,
    Ready,
    Rematch,
    Rename,
    Resign,
    Say,
    Stop,
    WhoAmI,
)
from protocol.errors import ErrorCode
from protocol.room_events import Countdown, Dealt, PlayerReady, PlayerView, Progress, RematchAsked, Result, Room, Said, Started
from protocol.server_messages import CurrentView, Error, Left, ServerMessage, WaitingMatch, WaitingOver
from protocol.views import ChatLine, RaceOptions
from tests.client import scenes
from tests.client.fake_server import room, seat, view

VIEW = view("a1", "s")
MOVE = Move(race=1, seat=0, ply=7, move="a1")
READY = Ready(race=1, nonce="00" * 16)
STOP, RESIGN, REMATCH, LEAVE = Stop(race=1, seat=0), Resign(race=1, seat=0), Rematch(race=1), LeaveRace()
SAY = Say(text="good  luck", ref=7)
OPEN, JOIN = OpenRace(options=RaceOptions()), JoinRace(code="ABCDEF")
SEEK, SEEK_NO_MORE = QuickMatch(rules="carpet", ref=8), QuickMatch(cancel=True, ref=9)
WAITING, WAITING_OVER = WaitingMatch(rules="carpet", waited_ms=0, window=100, waiting=1, ref=8), WaitingOver(reason="cancelled", ref=9)


def racing(ply: int = 7, *, state: str = "racing", number: int = 0, **fields: object) -> Room:
    """A snapshot of a race. number: of the seat that is one's own."""
    seats = tuple(seat(each, "anna", ready=True, state=state, ply=ply) for each in range(2))
    return room(**{"version": 9, "phase": "racing", "seats": seats, "seat": number, "view": VIEW, **fields})  # type: ignore[arg-type]


def said(text: str, number: int = 0, ref: int = 7) -> Said:
    return Said(version=1, line=ChatLine(seat=number, name="anna", text=text), ref=ref)


def shown(ply: int, state: str = "racing", number: int = 0) -> PlayerView:
    return PlayerView(version=1, seat=number, ply=ply, move="a1", state=state, elapsed_ms=1, view=VIEW)  # type: ignore[arg-type]


def current(ply: int, state: str = "racing") -> CurrentView:
    return CurrentView(race=1, seat=0, ply=ply, state=state, elapsed_ms=1, view=VIEW)  # type: ignore[arg-type]


def progress(state: str, number: int = 0) -> Progress:
    return Progress(version=1, seat=number, ply=7, home=4, foundations={}, state=state, elapsed_ms=1)  # type: ignore[arg-type]


def refused(ref: int = 0) -> Error:
    """ref: 0 for what was dropped unread."""
    return scenes.refusal(ErrorCode.ILLEGAL_MOVE, ref)


def swallowed(*requests: Request, heard: tuple[ServerMessage, ...] = (), before: ServerMessage | None = None) -> tuple[Request, ...]:
    """What is said again, where `requests` were sent in the room that `before` shows, the line was lost and `heard` came by the next."""
    unanswered = Unanswered()
    unanswered.heard(before or racing())
    for request in requests:
        unanswered.sent(request)
    unanswered.lost()
    for message in heard:
        unanswered.heard(message)
    return unanswered.again()


ALL: tuple[Request, ...] = (MOVE, READY, STOP, RESIGN, REMATCH, LEAVE, SAY, OPEN, JOIN, SEEK, SEEK_NO_MORE)


def test_what_was_not_heard_is_said_again_in_its_order_and_once_for_each_connection() -> None:
    unanswered = Unanswered()
    for request in ALL:
        unanswered.sent(request)
    assert unanswered.again() == (), "the line stands, and nothing is known to be lost"
    unanswered.lost()
    assert unanswered.again() == ALL
    assert unanswered.again() == ()
    unanswered.lost()
    assert unanswered.again() == ALL


def test_what_is_sent_by_the_new_connection_is_not_said_twice_on_it() -> None:
    unanswered = Unanswered()
    unanswered.sent(OPEN)
    unanswered.lost()
    unanswered.sent(SAY)
    assert unanswered.again() == (OPEN,)


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (MOVE, shown(8)),
        (MOVE, shown(9)),
        (MOVE, current(8)),
        (MOVE, current(7, "stopped")),
        (MOVE, progress("out-of-time")),
        (MOVE, Result(version=1, record=scenes.record())),
        (MOVE, racing(8)),
        (MOVE, racing(7, state="forfeited")),
        (MOVE, racing(race=2)),
        (MOVE, racing(phase="over")),
        (MOVE, racing(seat=None)),
        (STOP, progress("stopped")),
        (STOP, current(7, "stopped")),
        (STOP, racing(state="stopped")),
        (STOP, racing(race=2)),
        (STOP, racing(seat=None)),
        (RESIGN, progress("forfeited")),
        (RESIGN, Result(version=1, record=scenes.record())),
        (READY, PlayerReady(version=1, seat=0)),
        (READY, Countdown(version=1, starts_in_ms=5, round_trips_ms=())),
        (READY, Dealt(version=1, seat=0, starts_in_ms=5, view=VIEW)),
        (READY, Started(version=1)),
        (READY, racing(phase="waiting")),
        (READY, racing(phase="waiting", seat=None)),
        (REMATCH, RematchAsked(version=1, seat=0)),
        (REMATCH, racing(race=2)),
        (REMATCH, racing(phase="over", seat=None)),
        (REMATCH, room(phase="over", seats=(seat(0, "anna", again=True), seat(1, "bert")))),
        (SAY, said("good luck")),
        (SAY, racing(chat=(ChatLine(seat=0, name="anna", text="good luck"),))),
        (OPEN, racing()),
        (JOIN, racing()),
        (SEEK, WAITING),
        (SEEK, racing()),
        (SEEK_NO_MORE, WAITING_OVER),
        (SEEK_NO_MORE, racing()),
        (LEAVE, Left(code="ABCDEF", reason="left")),
        *((replace(request, ref=5), refused(5)) for request in ALL),
        *((request, Left(code="ABCDEF", reason="closed")) for request in ALL),
        *((request, racing(code="OTHERS")) for request in ALL),
    ],
)
def test_what_was_answered_is_not_said_again(request_: Request, answer: ServerMessage) -> None:
    assert swallowed(request_, heard=(answer,)) == ()


@pytest.mark.parametrize(
    ("request_", "no_answer"),
    [
        (MOVE, shown(7)),
        (MOVE, shown(8, number=1)),
        (MOVE, current(7)),
        (MOVE, progress("stopped", number=1)),
        (MOVE, racing(7)),
        (STOP, shown(8)),
        (STOP, racing()),
        (READY, PlayerReady(version=1, seat=1)),
        (READY, room(seats=(seat(0, "anna"), seat(1, "bert", ready=True)))),
        (REMATCH, RematchAsked(version=1, seat=1)),
        (REMATCH, racing(phase="over")),
        (SAY, said("good luck", number=1)),
        (SAY, said("good luck", ref=6)),
        (SAY, said("good luck", ref=0)),
        (SAY, racing(chat=(ChatLine(seat=1, name="bert", text="good luck"),))),
        (LEAVE, racing()),
        *((request, refused(5)) for request in ALL),
        *((request, refused()) for request in ALL),
        *((request, Left(code="OTHERS", reason="closed")) for request in ALL),
    ],
)
def test_what_is_no_answer_leaves_it_to_be_said_again(request_: Request, no_answer: ServerMessage) -> None:
    assert swallowed(request_, heard=(no_answer,)) == (request_,)


def test_of_two_equal_lines_of_talk_the_second_is_said_again_when_one_was_heard() -> None:
    again = replace(SAY, ref=10)
    assert swallowed(SAY, again, heard=(said("good luck", ref=10),)) == (SAY,)
    assert swallowed(SAY, again, heard=(said("good luck"), said("good luck", ref=10))) == ()


def test_a_refusal_strikes_out_the_request_it_names_and_of_several_the_oldest() -> None:
    named = replace(MOVE, ref=5)
    assert swallowed(SAY, named, heard=(refused(5),)) == (SAY,)
    assert swallowed(replace(SAY, ref=5), named, heard=(refused(5),)) == (named,)


def test_every_request_without_a_number_gets_one_of_its_own_and_a_number_is_kept() -> None:
    unanswered = Unanswered()
    assert [unanswered.numbered(replace(each, ref=0)).ref for each in (SAY, MOVE, SAY)] == [
        FIRST_NUMBER,
        FIRST_NUMBER + 1,
        FIRST_NUMBER + 2,
    ]
    assert unanswered.numbered(replace(MOVE, ref=5)) == replace(MOVE, ref=5)
    assert unanswered.numbered(FollowLobby()) == FollowLobby()


def test_what_each_connection_begins_with_and_what_only_commands_ask_for_is_not_kept() -> None:
    unanswered = Unanswered()
    unanswered.sent(Hello(name="anna"))
    unanswered.sent(FollowLobby())
    unanswered.sent(WhoAmI())
    unanswered.sent(Rename(name="Anna"))
    unanswered.lost()
    assert unanswered.again() == ()


def test_what_was_said_to_the_watchers_of_a_race_that_one_has_left_is_not_kept() -> None:
    unanswered = Unanswered()
    unanswered.heard(racing())
    unanswered.heard(Left(code="ABCDEF", reason="left"))
    unanswered.sent(replace(SAY, code="ABCDEF"))
    unanswered.lost()
    assert unanswered.again() == ()


def test_what_another_player_has_asked_for_is_forgotten() -> None:
    unanswered = Unanswered()
    unanswered.sent(SAY)
    unanswered.forget()
    unanswered.lost()
    assert unanswered.again() == ()


def test_when_there_are_too_many_the_oldest_are_forgotten() -> None:
    requests = tuple(Say(text=str(number)) for number in range(KEPT + 3))
    assert swallowed(*requests) == requests[3:]


def test_news_of_the_search_for_an_opponent_does_not_answer_the_wish_to_end_it_nor_its_end_the_next_search() -> None:
    assert swallowed(SEEK_NO_MORE, heard=(WAITING,)) == (SEEK_NO_MORE,)
    assert swallowed(SEEK, heard=(WAITING_OVER,)) == (SEEK,)
