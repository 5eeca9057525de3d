"""The state machine of `resync`, without a connection: what passes, what is held back, when to join again and when the client is back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from client.connection.events import NO_RACE, NO_SEAT, WATCH_REFERENCE
from client.connection.resync import REJOIN_REFERENCE, Reaction, Resume
from protocol.client_messages import JoinRace, QuickMatch
from protocol.errors import ErrorCode
from protocol.room_events import Dealt, Hidden, Room
from protocol.server_messages import CurrentView, Left, WaitingMatch, WaitingOver
from protocol.watch_messages import Unwatched, Watched, WatchedEvent, WatchRace
from tests.client.fake_server import room, view, welcome
from tests.client.scenes import refusal

VIEW = view("a1", "s")
CURRENT = CurrentView(race=1, seat=0, ply=0, state="racing", elapsed_ms=0, view=VIEW)
NO_SEAT_LEFT = Left(code="ABCDEF", reason=NO_SEAT)


def join(version: int, code: str = "ABCDEF") -> JoinRace:
    return JoinRace(code=code, version=version, ref=REJOIN_REFERENCE)


def in_room(version: int = 3) -> Resume:
    """In a race, with cards on the table."""
    resume = Resume()
    resume.take(room(version=version, phase="racing", view=VIEW))
    return resume


def returning(version: int = 3) -> Resume:
    """The same with the line lost, a new one there, and the join on its way."""
    resume = in_room(version)
    resume.lost()
    resume.take(welcome(room="ABCDEF"))
    return resume


def test_without_a_room_there_is_nothing_to_join_again() -> None:
    assert Resume().rejoin() == ()


def test_events_before_any_room_pass() -> None:
    assert Resume().take(Hidden(version=9)) == Reaction((Hidden(version=9),))


def test_the_last_version_passed_on_is_the_one_to_join_with() -> None:
    resume = in_room(3)
    resume.take(Hidden(version=4))
    assert resume.rejoin() == (join(4),)


def test_before_cards_are_dealt_a_snapshot_is_asked_for_since_nothing_else_would_end_the_answer() -> None:
    resume = Resume()
    resume.take(room(version=3))
    assert resume.rejoin() == (join(0),)
    resume.take(Dealt(version=4, seat=0, starts_in_ms=50, view=VIEW))
    assert resume.rejoin() == (join(4),)


def test_a_snapshot_replaces_version_and_room_also_by_lower_ones() -> None:
    resume = in_room(9)
    assert resume.take(room(version=2, code="GHIJKL")).pass_on
    assert (resume.code, resume.version) == ("GHIJKL", 2)


def test_a_welcome_that_names_the_room_leads_back_to_it() -> None:
    resume = in_room(3)
    resume.lost()
    hello = welcome(room="ABCDEF")
    assert resume.take(hello) == Reaction((hello,), send=(join(3),))
    assert (resume.away, resume.behind) == (True, True)


def test_a_first_welcome_that_names_a_room_leads_there_too() -> None:
    resume, hello = Resume(), welcome(room="OTHERS")
    assert resume.take(hello) == Reaction((hello,), send=(join(0, "OTHERS"),))
    assert resume.take(room(code="OTHERS")) == Reaction((room(code="OTHERS"),))


def test_a_welcome_that_names_no_room_leaves_it_and_that_is_all_there_is_to_coming_back() -> None:
    resume, hello = in_room(), welcome()
    resume.lost()
    assert resume.take(hello) == Reaction((hello, NO_SEAT_LEFT), back=True)
    assert resume.take(hello) == Reaction((hello,))


@pytest.mark.parametrize("nodes", [(), ("ws://two.carpet.example",)], ids=["one server", "one of several"])
def test_a_welcome_that_names_another_room_leads_from_the_one_to_the_other(nodes: tuple[str, ...]) -> None:
    resume, hello = in_room(), replace(welcome(room="OTHERS"), nodes=nodes)
    resume.lost()
    assert resume.take(hello) == Reaction((hello, NO_SEAT_LEFT), send=(join(0, "OTHERS"),))


def test_one_is_back_with_the_current_view_behind_the_missed_events_and_not_before() -> None:
    resume = returning(3)
    assert resume.take(Hidden(version=4)) == Reaction((Hidden(version=4),))
    assert (resume.away, resume.behind) == (True, True)
    assert resume.take(CURRENT) == Reaction((CURRENT,), back=True)
    assert (resume.away, resume.behind) == (False, False)
    assert resume.take(CURRENT) == Reaction((CURRENT,)), "the answer to a move says nothing about the line"


def test_one_is_back_with_a_snapshot() -> None:
    resume, snapshot = returning(3), room(version=900)
    assert resume.take(snapshot) == Reaction((snapshot,), back=True)
    assert resume.version == 900


def test_an_error_of_the_apps_own_request_passes_and_changes_nothing() -> None:
    resume = in_room()
    error = refusal(ErrorCode.NO_SUCH_ROOM, ref=5)
    assert resume.take(error) == Reaction((error,))
    assert resume.code == "ABCDEF"


@pytest.mark.parametrize("code", [ErrorCode.NO_SUCH_ROOM, ErrorCode.ROOM_CLOSED, ErrorCode.ROOM_FULL, ErrorCode.NOT_WAITING])
def test_a_join_refused_for_good_leaves_the_room(code: ErrorCode) -> None:
    resume = returning()
    refused = refusal(code, REJOIN_REFERENCE)
    assert resume.take(refused) == Reaction((refused, NO_SEAT_LEFT), back=True)
    assert resume.rejoin() == ()


@pytest.mark.parametrize("code", [ErrorCode.SERVER_BUSY, ErrorCode.TOO_FAST, ErrorCode.INTERNAL])
def test_a_join_refused_for_now_is_to_be_tried_again(code: ErrorCode) -> None:
    resume = returning()
    assert resume.take(refusal(code, REJOIN_REFERENCE)) == Reaction()
    assert resume.behind
    assert resume.rejoin() == (join(3),)


def test_a_room_that_was_left_is_not_joined_again_and_another_that_was_left_does_not_matter() -> None:
    resume = in_room()
    resume.take(Left(code="OTHERS", reason="left"))
    assert resume.code == "ABCDEF"
    resume.take(Left(code="ABCDEF", reason="left"))
    resume.lost()
    assert resume.take(welcome()).send == ()


def test_a_gap_is_joined_for_once_and_healed_by_the_event_that_was_missing() -> None:
    resume = in_room(3)
    assert resume.take(Hidden(version=5)) == Reaction(send=(join(3),))
    assert resume.take(Hidden(version=6)) == Reaction()
    assert resume.take(Hidden(version=4)) == Reaction((Hidden(version=4),))
    assert not resume.behind


WAITING = WaitingMatch(rules="colorado", waited_ms=5000, window=150, waiting=2)


def test_the_search_for_an_opponent_is_asked_for_again_behind_the_welcome_of_every_new_connection() -> None:
    resume, hello = Resume(), welcome()
    assert resume.take(WAITING) == Reaction((WAITING,))
    for _ in range(2):
        resume.lost()
        assert resume.take(hello) == Reaction((hello,), ask=QuickMatch(rules="colorado"), back=True)


@pytest.mark.parametrize("end", [WaitingOver(reason="cancelled"), room()], ids=["over", "found"])
def test_a_search_that_has_ended_is_not_asked_for_again(end: WaitingOver | Room) -> None:
    resume, hello = Resume(), welcome()
    resume.take(WAITING)
    resume.take(end)
    resume.take(Left(code="ABCDEF", reason="left"))
    resume.lost()
    assert resume.take(hello) == Reaction((hello,), back=True)


@pytest.mark.parametrize("code", [ErrorCode.KEPT_WAITING, ErrorCode.SERVER_FULL, ErrorCode.UNKNOWN_RULES])
def test_a_search_that_was_refused_on_a_new_connection_is_not_asked_for_on_the_next(code: ErrorCode) -> None:
    resume, hello, refused = Resume(), welcome(), refusal(code)
    resume.take(WAITING)
    resume.lost()
    assert resume.take(hello).ask == QuickMatch(rules="colorado")
    assert resume.take(refused) == Reaction((refused, WaitingOver(reason="failed")))
    resume.lost()
    assert resume.take(hello).ask is None
    assert resume.take(refused) == Reaction((refused,))


def test_a_refusal_of_another_search_leaves_the_one_that_goes_on() -> None:
    resume = Resume()
    resume.take(WAITING)
    resume.take(refusal(ErrorCode.UNKNOWN_RULES, ref=5))
    resume.lost()
    assert resume.take(welcome()).ask == QuickMatch(rules="colorado")


def test_whoever_has_a_seat_looks_for_nobody() -> None:
    resume, hello = Resume(), welcome(room="ABCDEF")
    resume.take(WAITING)
    resume.lost()
    assert resume.take(hello) == Reaction((hello,), send=(join(0),))


def test_whoever_is_back_in_the_queue_and_is_led_to_the_seat_that_they_lost_looks_on() -> None:
    resume, hello = in_room(2), welcome(room="ABCDEF")
    resume.take(Left(code="ABCDEF", reason="no-opponent"))
    resume.take(WAITING)
    resume.lost()
    assert resume.take(hello) == Reaction((hello,), send=(join(0),))
    gone = refusal(ErrorCode.NO_SUCH_ROOM, REJOIN_REFERENCE)
    assert resume.take(gone) == Reaction((gone, NO_SEAT_LEFT), ask=QuickMatch(rules="colorado"), back=True)


def test_between_two_connections_nothing_is_asked_for_again() -> None:
    resume = returning()
    resume.sent(WATCH)
    resume.lost()
    resume.take(welcome(room="ABCDEF"))
    assert resume.wanted() == (join(3), WATCH)
    resume.lost()
    assert resume.wanted() == ()


@given(st.lists(st.integers(1, 12), max_size=40), st.booleans())
def test_whatever_comes_what_is_passed_on_has_no_gaps_and_no_repeats(versions: list[int], lost: bool) -> None:
    resume = returning(0) if lost else in_room(0)
    passed = [event.version for version in versions for event in resume.take(Hidden(version=version)).pass_on if isinstance(event, Hidden)]
    assert passed == list(range(1, len(passed) + 1))


# ---- watching

WATCH = WatchRace(code="ABCDEF", ref=WATCH_REFERENCE)
CLOSEST = WatchRace(code=None, ref=WATCH_REFERENCE)


def snapshot(code: str = "ABCDEF", version: int = 3, *, closest: bool = False) -> Watched:
    return Watched(room=room(code=code, version=version, seat=None), boards=(), watchers=1, lines=(), closest=closest)


def hidden(version: int, code: str = "ABCDEF") -> WatchedEvent:
    return WatchedEvent(code=code, event=Hidden(version=version))


def watching(*, closest: bool = False, key: str = "") -> Resume:
    resume = Resume()
    resume.take(welcome())
    resume.sent(WatchRace(code=None if closest else "abcdef", key=key, ref=7))
    resume.take(snapshot(closest=closest))
    return resume


@pytest.mark.parametrize(("closest", "again"), [(False, WATCH), (True, CLOSEST)])
def test_a_watcher_whose_connection_was_lost_asks_for_the_same_and_is_back_with_the_snapshot(closest: bool, again: WatchRace) -> None:
    resume = watching(closest=closest)
    resume.lost()
    assert resume.is_elsewhere
    assert resume.take(welcome()) == Reaction((welcome(),), send=(again,))
    assert resume.wanted() == (again,)
    assert resume.take(snapshot(version=9)) == Reaction((snapshot(version=9),), back=True)
    assert resume.wanted() == ()
    assert not resume.is_elsewhere


def test_a_watcher_who_may_see_every_card_asks_with_their_key_again() -> None:
    resume, again = watching(key="0f" * 16), replace(WATCH, key="0f" * 16)
    resume.lost()
    assert resume.take(welcome()).send == (again,)
    resume.take(snapshot())
    assert resume.take(hidden(9)).send == (again,)


def test_a_watcher_who_waits_for_a_race_waits_on() -> None:
    none = Unwatched(code=None, reason="none")
    resume = Resume()
    resume.sent(CLOSEST)
    assert resume.take(none) == Reaction((none,))
    resume.lost()
    assert resume.take(welcome()).send == (CLOSEST,)
    assert resume.take(none) == Reaction((none,), back=True)
    assert resume.wanted() == ()


def test_whoever_waits_for_a_race_waits_on_when_another_is_refused() -> None:
    resume, refused = Resume(), refusal(ErrorCode.OWN_RACE, 7)
    resume.sent(CLOSEST)
    resume.take(Unwatched(code=None, reason="none"))
    resume.sent(WatchRace(code="OTHERS", ref=7))
    assert resume.take(refused) == Reaction((refused,))
    resume.lost()
    assert resume.take(welcome()).send == (CLOSEST,)


def test_a_request_that_is_sent_on_to_another_server_goes_under_its_own_number_once() -> None:
    resume, request = Resume(), WatchRace(code="ABCDEF", ref=7)
    resume.sent(request)
    resume.sent_on()
    for again in (request, WATCH):
        resume.lost()
        assert resume.take(welcome()).send == (again,)


def test_what_was_asked_for_and_not_answered_is_asked_for_again() -> None:
    resume = Resume()
    resume.sent(WatchRace(code="ABCDEF", ref=7))
    resume.lost()
    assert resume.take(welcome()).send == (WATCH,)


def test_events_of_the_watched_race_pass_in_order_and_a_gap_is_asked_for_once() -> None:
    resume = watching()
    assert resume.take(hidden(4)) == Reaction((hidden(4),))
    assert resume.take(hidden(4)) == Reaction()
    assert resume.take(hidden(5, "OTHERS")) == Reaction()
    assert resume.take(hidden(6)) == Reaction(send=(WATCH,))
    assert resume.take(hidden(7)) == Reaction()
    assert resume.take(snapshot(version=7)) == Reaction((snapshot(version=7),))
    assert resume.take(hidden(8)) == Reaction((hidden(8),))


def test_the_race_that_the_server_moves_on_to_is_the_one_that_is_resumed() -> None:
    resume = watching(closest=True)
    resume.take(snapshot("OTHERS", 5, closest=True))
    assert resume.take(hidden(6, "OTHERS")) == Reaction((hidden(6, "OTHERS"),))


@pytest.mark.parametrize("reason", ["asked", "closed", "seated", "failed"])
def test_whoever_watches_no_more_asks_for_nothing_on_the_next_connection(reason: str) -> None:
    resume = watching()
    gone = Unwatched(code="ABCDEF", reason=reason)
    assert resume.take(gone) == Reaction((gone,))
    resume.lost()
    assert resume.take(welcome()) == Reaction((welcome(),), back=True)


def test_when_another_race_is_refused_the_one_before_is_watched_still() -> None:
    resume = watching()
    resume.sent(WatchRace(code="OTHERS", ref=WATCH_REFERENCE))
    refused = refusal(ErrorCode.OWN_RACE, WATCH_REFERENCE)
    assert resume.take(refused) == Reaction((refused,))
    assert resume.take(hidden(4)) == Reaction((hidden(4),))
    resume.lost()
    assert resume.take(welcome()).send == (WATCH,)


def test_whoever_asks_for_another_race_behind_a_gap_asks_no_more_for_the_one_before() -> None:
    resume, refused = watching(), refusal(ErrorCode.OWN_RACE, 7)
    resume.take(hidden(9))
    assert resume.wanted() == (WATCH,)
    resume.sent(WatchRace(code="OTHERS", ref=7))
    assert resume.wanted() == ()
    assert resume.take(refused) == Reaction((refused,)), "the one before is still watched"


def test_a_race_that_cannot_be_watched_on_return_is_told_and_a_busy_server_asked_again() -> None:
    resume = watching()
    resume.lost()
    resume.take(welcome())
    assert resume.take(refusal(ErrorCode.WATCHED_TOO_OFTEN, WATCH_REFERENCE)) == Reaction()
    assert resume.wanted() == (WATCH,)
    closed = refusal(ErrorCode.ROOM_CLOSED, WATCH_REFERENCE)
    assert resume.take(closed) == Reaction((closed, Unwatched(code="ABCDEF", reason=NO_RACE)), back=True)
    assert resume.take(hidden(4)) == Reaction()
    resume.lost()
    assert resume.take(welcome()).send == ()


def test_a_seat_and_a_watched_race_are_both_gone_back_to_and_the_seat_tells_when_one_is_back() -> None:
    resume = in_room(3)
    resume.sent(WatchRace(code="OTHERS", ref=0))
    resume.take(snapshot("OTHERS"))
    resume.lost()
    again = WatchRace(code="OTHERS", ref=WATCH_REFERENCE)
    assert resume.take(welcome(room="ABCDEF")).send == (join(3), again)
    assert resume.wanted() == (join(3), again)
    assert resume.take(snapshot("OTHERS")) == Reaction((snapshot("OTHERS"),))
    assert resume.take(CURRENT) == Reaction((CURRENT,), back=True)


def test_an_error_of_anything_else_is_none_of_watching() -> None:
    resume = Resume()
    resume.sent(WatchRace(code="ABCDEF"))
    other = refusal(ErrorCode.EMPTY_CHAT)
    assert resume.take(other) == Reaction((other,))
    resume.lost()
    assert resume.take(welcome()).send == (WATCH,)
