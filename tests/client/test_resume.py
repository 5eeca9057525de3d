"""What passes, what is held back and when to join again: the state machine of client/resume.py without a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.resume import REJOIN_REFERENCE, Resume, Step
from protocol.client_messages import JoinRace
from protocol.errors import ERRORS, ErrorCode
from protocol.server_messages import Error, Hidden, Left
from tests.client.fake_server import room


def refusal(code: ErrorCode, ref: int = REJOIN_REFERENCE) -> Error:
    return Error(code=code, fault=ERRORS[code].fault, message="no", path="", ref=ref)


def in_room(version: int = 3) -> Resume:
    resume = Resume()
    resume.take(room(version=version))
    return resume


def test_without_a_room_there_is_nothing_to_join_again() -> None:
    assert Resume().rejoin() is None


def test_events_before_any_room_pass() -> None:
    assert Resume().take(Hidden(version=9)) == Step((Hidden(version=9),))


def test_the_last_version_passed_on_is_the_one_to_join_with() -> None:
    resume = in_room(3)
    resume.take(Hidden(version=4))
    assert resume.rejoin() == JoinRace(code="ABCDEF", version=4, ref=REJOIN_REFERENCE)


def test_a_snapshot_replaces_version_and_room_also_by_lower_ones() -> None:
    resume = in_room(9)
    assert resume.take(room(version=2, code="GHIJKL")).pass_on
    assert (resume.code, resume.version) == ("GHIJKL", 2)


def test_a_welcome_that_names_the_room_leads_back_to_it() -> None:
    assert in_room(3).welcomed("ABCDEF") == Step(send=JoinRace(code="ABCDEF", version=3, ref=REJOIN_REFERENCE))


@pytest.mark.parametrize("room", [None, "OTHERS"])
def test_a_welcome_that_does_not_name_it_leaves_it(room: str | None) -> None:
    resume = in_room()
    assert resume.welcomed(room) == Step((Left(code="ABCDEF", reason="closed"),))
    assert resume.welcomed(room) == Step()


def test_an_error_of_the_apps_own_request_passes_and_changes_nothing() -> None:
    resume = in_room()
    error = refusal(ErrorCode.NO_SUCH_ROOM, ref=5)
    assert resume.take(error) == Step((error,))
    assert resume.code == "ABCDEF"


@pytest.mark.parametrize("code", [ErrorCode.NO_SUCH_ROOM, ErrorCode.ROOM_CLOSED, ErrorCode.ROOM_FULL, ErrorCode.NOT_WAITING])
def test_a_join_refused_for_good_leaves_the_room(code: ErrorCode) -> None:
    resume = in_room()
    resume.rejoin()
    assert resume.take(refusal(code)) == Step((refusal(code), Left(code="ABCDEF", reason="closed")))
    assert resume.rejoin() is None


@pytest.mark.parametrize("code", [ErrorCode.SERVER_BUSY, ErrorCode.TOO_FAST, ErrorCode.INTERNAL])
def test_a_join_refused_for_now_is_to_be_tried_again(code: ErrorCode) -> None:
    resume = in_room()
    resume.rejoin()
    assert resume.take(refusal(code)) == Step(retry=True)
    assert resume.rejoin() is not None


def test_another_room_that_was_left_does_not_matter() -> None:
    resume = in_room()
    resume.take(Left(code="OTHERS", reason="left"))
    assert resume.code == "ABCDEF"


@given(st.lists(st.integers(1, 12), max_size=40))
def test_whatever_comes_what_is_passed_on_has_no_gaps_and_no_repeats(versions: list[int]) -> None:
    resume = in_room(0)
    passed = [event.version for version in versions for event in resume.take(Hidden(version=version)).pass_on if isinstance(event, Hidden)]
    assert passed == list(range(1, len(passed) + 1))
