"""The reducer: snapshots replace, repetitions are ignored, gaps are noticed, clocks are anchored, and no message crashes it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from client.connection.events import NO_SEAT, Back, Connected, Connecting, Lost, RoundTrip
from client.state.store import Model, MoveSent, ReadySent, Search, reduce
from protocol.errors import ERRORS, ErrorCode
from protocol.room_events import (
    Countdown,
    Dealt,
    Hidden,
    PlayerReady,
    PlayerView,
    Presence,
    Progress,
    Ratings,
    RematchAsked,
    Result,
    Room,
    Said,
    Scored,
    Seated,
    Started,
    Unseated,
)
from protocol.server_messages import CurrentView, Error, Left, Lobby, LobbyChanges, Rated, WaitingMatch, WaitingOver, YouAre
from protocol.views import ChatLine, RunningChange, RunningRaceInfo, RunningSeatInfo, SeatRating, SharedDeal, WatcherLine
from protocol.watch_messages import Talk, Unwatched, Watchers
from tests.client import scenes, tournament_scenes
from tests.client.fake_server import welcome
from tests.client.scenes import reduced


def test_a_snapshot_replaces_everything_about_the_room() -> None:
    before = scenes.racing()
    assert before.room is not None
    after = reduced(before, MoveSent(27, "b3"), scenes.room(3, version=40, race=2))
    assert after.room is not None
    assert after.room == reduced(Model(), scenes.room(3, version=40, race=2)).room
    assert after.room.view is None
    assert after.room.chat == ()
    assert after.in_flight is None


def test_a_snapshot_that_makes_up_for_what_was_missed_says_so_of_the_curves() -> None:
    before = scenes.racing().room
    assert before is not None
    again = scenes.room(phase="racing", version=before.version, seats=before.seats, view=before.view, elapsed_ms=43_000)
    later = replace(again, version=before.version + 2)
    assert [info.home for info in before.seats] == [18, 21]

    def heard_from_ms(known: Model, event: Room, *home: int) -> int:
        seats = tuple(replace(info, home=count) for info, count in zip(before.seats, home, strict=True))
        room = reduced(known, replace(event, seats=seats), now_ms=47_000).room
        assert room is not None
        return room.heard_from_ms

    assert heard_from_ms(scenes.racing(), again, 18, 21) == 0, "nothing was missed"
    assert heard_from_ms(scenes.racing(), later, 20, 23) == 0, "Benedikt led all the while"
    assert heard_from_ms(scenes.racing(), later, 21, 23) == 43_000, "Anna may have been level with them"
    assert heard_from_ms(Model(), again, 18, 21) == 43_000, "all was missed"


def test_a_repeated_event_changes_nothing() -> None:
    model = scenes.full_room()
    assert reduced(model, Seated(version=2, seat=1, name="Somebody else", bot=None)) == model
    assert reduced(model, Hidden(version=3)) == model


def test_a_skipped_version_is_not_applied_and_what_was_missed_is_once_it_comes() -> None:
    model = reduced(scenes.full_room(), PlayerReady(version=5, seat=1))
    assert model == scenes.full_room()
    model = reduced(model, PlayerReady(version=4, seat=0), PlayerReady(version=5, seat=1))
    assert model.room is not None
    assert model.room.version == 5
    assert [info.ready for info in model.room.seats] == [True, True]


def test_a_hidden_event_moves_the_version_only() -> None:
    before = scenes.racing().room
    after = reduced(scenes.racing(), Hidden(version=11)).room
    assert before is not None
    assert after == replace(before, version=11)


def test_events_without_a_room_are_ignored() -> None:
    assert reduced(scenes.at_home(), Started(version=1), PlayerReady(version=2, seat=0)) == scenes.at_home()


def test_the_clock_starts_where_the_view_says() -> None:
    model = scenes.dealt()
    assert model.room is not None
    assert model.room.phase == "racing"
    assert model.room.started_at_ms == 4000
    assert [info.state for info in model.room.seats] == ["racing", "racing"]
    assert [info.home for info in model.room.seats] == [4, 4]


def test_in_a_swap_each_curve_begins_with_what_lay_ready_on_the_seats_own_shuffle() -> None:
    fresh = scenes.standing((0, 0), 0, format="swap", races=2)
    counting = reduced(scenes.full_room(), scenes.next_race(6, fresh, race=1, phase="countdown", starts_in_ms=1000))
    dealt = reduced(counting, Dealt(version=7, seat=0, starts_in_ms=20, view=scenes.first_view()), now_ms=3980)
    for ready in (2, 4, 6):
        room = reduced(dealt, Started(version=8, home=(4, ready), foundations=({}, {})), now_ms=4050).room
        assert room is not None
        assert room.points == (((0, 4),), ((0, ready),))


def test_an_event_that_comes_late_does_not_set_the_clock_back() -> None:
    late = reduce(scenes.dealt(), Started(version=8), 9_000)
    assert late.room is not None
    assert late.room.started_at_ms == 4000
    told = reduce(late, Progress(version=9, seat=1, ply=1, home=4, foundations={}, state="racing", elapsed_ms=6_000), 9_000)
    assert told.room is not None
    assert told.room.started_at_ms == 3000


def test_a_snapshot_of_a_countdown_and_of_a_race_anchor_the_clock() -> None:
    counting = reduce(Model(), scenes.room(phase="countdown", starts_in_ms=2500), 10_000).room
    running = reduce(Model(), scenes.room(phase="racing", elapsed_ms=7000), 10_000).room
    assert counting is not None
    assert running is not None
    assert (counting.started_at_ms, running.started_at_ms) == (12_500, 3_000)


def test_an_own_move_is_answered_by_its_view() -> None:
    model = reduced(scenes.racing(), MoveSent(27, "c1"))
    assert model.in_flight == MoveSent(27, "c1")
    view = scenes.middle_view(pending=True)
    model = reduced(model, PlayerView(version=11, seat=0, ply=28, move="c1", state="racing", elapsed_ms=43_000, view=view))
    assert model.in_flight is None
    assert model.room is not None
    assert (model.room.ply, model.room.view) == (28, view)
    assert model.room.own is not None
    assert model.room.own.home == 19


def test_a_refused_move_is_told_and_its_current_view_taken_outside_of_the_versions() -> None:
    refused = scenes.refusal(ErrorCode.STALE_PLY, message="Too \x1b[31mlate.")
    current = CurrentView(race=1, seat=0, ply=30, state="racing", elapsed_ms=1, view=scenes.first_view())
    model = reduced(scenes.racing(), MoveSent(27, "c1"), refused, current)
    assert model.notice is not None
    assert model.notice.text == "Too late."
    assert model.room is not None
    assert (model.room.ply, model.room.version, model.in_flight) == (30, 10, None)


def test_a_current_view_of_another_race_or_seat_is_ignored() -> None:
    for race, seat in ((2, 0), (1, 1)):
        current = CurrentView(race=race, seat=seat, ply=30, state="racing", elapsed_ms=1, view=scenes.first_view())
        assert reduced(scenes.racing(), current) == scenes.racing()


def test_an_away_player_has_a_clock_of_their_own() -> None:
    away = reduce(scenes.racing(), Presence(version=11, seat=1, connected=False, away_ms=60_000), 50_000)
    assert away.room is not None
    assert away.room.away_until_ms == ((1, 110_000),)
    again = reduce(scenes.at_home(), scenes.room(2, away_ms=(None, 40_000)), 70_000)
    assert again.room is not None
    assert again.room.away_until_ms == away.room.away_until_ms, "a snapshot says it too"
    back = reduce(away, Presence(version=12, seat=1, connected=True, away_ms=None), 60_000)
    assert back.room is not None
    assert back.room.away_until_ms == ()
    assert back.room.seats[1].connected


def test_who_leaves_before_the_start_is_known_by_name_until_another_player_comes() -> None:
    left = reduced(scenes.full_room(), Unseated(version=4, seat=1))
    again = reduced(left, Unseated(version=5, seat=1))
    for model in (left, again):
        assert model.room is not None
        assert model.room.parted == "Benedikt"
    for other in (reduced(left, Seated(version=5, seat=1, name="Clara", bot=None)), reduced(scenes.over(), Unseated(version=12, seat=1))):
        assert other.room is not None
        assert other.room.parted == ""


def test_a_seat_left_before_the_start_is_free_and_after_the_end_keeps_its_name() -> None:
    before = reduced(scenes.full_room(), Unseated(version=4, seat=1)).room
    after = reduced(scenes.over(), Unseated(version=12, seat=1)).room
    assert before is not None
    assert after is not None
    assert before.seats[1].name is None
    assert after.seats[1].name == "Benedikt"
    assert not after.seats[1].connected


def test_what_was_won_against_a_player_who_has_left_before_a_rematch_is_told_no_more() -> None:
    both = (scenes.seat(0, "Anna"), scenes.seat(1, "Benedikt"))
    model = reduced(scenes.over(), scenes.room(version=20, race=2, seats=both, won=(1, 0)))
    assert model.room is not None
    assert model.room.won_by_now == (1, 0)
    left = reduced(model, Unseated(version=21, seat=1)).room
    assert left is not None
    assert left.won_by_now == ()


def test_leaving_ends_the_room_but_only_this_one() -> None:
    assert reduced(scenes.racing(), Left(code="OTHERS", reason="left")).room is not None
    left = reduced(scenes.racing(), Left(code=scenes.CODE, reason="closed"))
    assert left.room is None
    assert left.notice is not None
    assert "closed by the host" in left.notice.text
    asked = reduced(scenes.racing(), Left(code=scenes.CODE, reason="left"))
    assert asked.room is None
    assert asked.notice is None, "who asks to leave knows it"


def test_why_the_host_of_the_server_ended_a_room_stays_to_be_read() -> None:
    kind, sentence = ERRORS[ErrorCode.ENDED_BY_HOST].fault, "The server moves tonight."
    told = reduced(scenes.racing(), Error(code=ErrorCode.ENDED_BY_HOST, fault=kind, message=sentence, path="", ref=0))
    told = reduced(told, Left(code=scenes.CODE, reason="closed"))
    assert told.room is None
    assert told.notice is not None
    assert told.notice.text == sentence


def test_why_a_seat_was_lost_is_told() -> None:
    after = reduced(scenes.full_room(), Left(code=scenes.CODE, reason="not-ready"))
    assert after.room is None
    assert after.notice is not None
    assert after.notice.text == f"You kept race {scenes.CODE} waiting, and have lost your seat."


def test_whoever_is_left_without_an_opponent_by_a_quick_match_is_told_that_they_look_again() -> None:
    left, waits = Left(code=scenes.CODE, reason="no-opponent"), WaitingMatch(rules=None, waited_ms=25_000, window=350, waiting=1)
    after = reduced(scenes.full_room(), left, waits)
    assert after.room is None
    assert after.search is not None
    assert after.notice is not None
    assert after.notice.text == "Your opponent did not get ready: you are back at your place in the queue."


def test_the_evidence_outlives_snapshots_and_takes_the_first_view_only() -> None:
    model = scenes.dealt()
    assert model.evidence is not None
    assert model.evidence.first_view == scenes.first_view()
    seats = tuple(replace(info, ply=5, state="racing") for info in model.room.seats) if model.room else ()
    snapshot = scenes.room(version=20, phase="racing", view=scenes.middle_view(), seats=seats)
    later = reduced(model, snapshot)
    assert later.evidence == model.evidence
    late = reduced(
        scenes.full_room(), ReadySent("00" * 16), scenes.room(version=20, phase="racing", view=scenes.middle_view(), seats=seats)
    )
    assert late.evidence is not None
    assert late.evidence.first_view is None


def test_a_rematch_opens_with_a_snapshot_and_new_evidence() -> None:
    asked = reduced(scenes.over(), RematchAsked(version=12, seat=1))
    assert asked.room is not None
    assert asked.room.seats[1].again
    again = reduced(asked, scenes.room(version=13, race=2, commitment="ff" * 32), ReadySent("22" * 16))
    assert again.evidence is not None
    assert (again.evidence.race, again.evidence.commitment, again.evidence.first_view) == (2, "ff" * 32, None)


IN_FLIGHT = MoveSent(27, "c1")


def back_at(ply: int, **fields: object) -> Room:
    """A snapshot of the race of `scenes.racing`, in which this player has made `ply` moves."""
    seats = (scenes.seat(0, "Anna", state="racing", ply=ply), scenes.seat(1, "Benedikt", state="racing"))
    return scenes.room(**{"version": 900, "phase": "racing", "seats": seats, "view": scenes.middle_view(), **fields})


def test_a_move_in_flight_outlives_the_connection_and_every_sign_that_it_was_not_played_yet() -> None:
    sent = reduced(scenes.racing(), IN_FLIGHT)
    for events in (
        (Lost("gone", 100), Connecting(1), Connected("ws://x", "carpet.v1.json")),
        (scenes.welcome(room=scenes.CODE),),
        (back_at(27), Back()),
        (CurrentView(race=1, seat=0, ply=27, state="racing", elapsed_ms=1, view=scenes.middle_view()), Back()),
        (Progress(version=11, seat=1, ply=32, home=4, foundations={}, state="racing", elapsed_ms=9),),
    ):
        assert reduced(sent, *events).in_flight == IN_FLIGHT


def test_a_move_is_in_flight_no_more_by_any_sign_that_it_was_played_or_cannot_be() -> None:
    sent = reduced(scenes.racing(), IN_FLIGHT)
    refused = scenes.refusal(ErrorCode.RACE_OVER)
    for event in (
        back_at(28),
        back_at(27, race=2),
        back_at(27, phase="over"),
        back_at(27, code="OTHERS"),
        back_at(27, seat=1),
        CurrentView(race=1, seat=0, ply=28, state="racing", elapsed_ms=1, view=scenes.middle_view()),
        Progress(version=11, seat=0, ply=27, home=4, foundations={}, state="stopped", elapsed_ms=9),
        Result(version=11, record=scenes.record()),
        Left(code=scenes.CODE, reason="closed"),
        Lost("taken over", None),
        refused,
    ):
        assert reduced(sent, event).in_flight is None, event


def test_a_request_that_was_for_another_race_is_complained_of_unless_the_next_of_the_series_is_open() -> None:
    refused = scenes.refusal(ErrorCode.WRONG_RACE)
    first = reduced(scenes.at_home(), scenes.next_race(1, scenes.standing((0, 0), 0), race=1, seat=0))
    second = reduced(scenes.between(), scenes.next_race(14, scenes.standing((1, 0), 1), phase="countdown"))
    for model in (scenes.racing(), scenes.over(), first, second):
        notice = reduced(model, refused).notice
        assert notice is not None
        assert notice.code == ErrorCode.WRONG_RACE
    between = scenes.between()
    assert reduced(between, refused).notice == between.notice


def test_after_a_race_that_was_missed_the_result_of_the_one_before_it_is_not_shown_for_it() -> None:
    scored = reduced(scenes.over(), Scored(version=12, series=scenes.standing((1, 0), 1), record=None))
    second, third = (reduced(scored, scenes.next_race(20, scenes.standing((raced, 0), raced), race=raced + 1)) for raced in (1, 2))
    assert (second.last, third.last) == (scored.room, None)


def test_with_the_connection_goes_what_was_known_of_the_lobby() -> None:
    assert scenes.at_home().lobby is not None
    assert reduced(scenes.at_home(), Lost("gone", 100)).lobby is None


def test_the_lobby_is_kept_by_its_changes_and_its_clocks_go_on() -> None:
    seats = tuple(RunningSeatInfo(name=name, bot=None, state="racing", home=home, rating=None) for name, home in (("Ann", 4), ("Bob", 5)))
    races = [
        RunningRaceInfo(code=code, rules="carpet", seats=seats, watchers=0, elapsed_ms=1000, time_limit_s=3, delay_s=10)
        for code in ("AAAAAA", "BBBBBB", "CCCCCC")
    ]
    lobby = Lobby(players=("Ann",), players_here=1, races=(), races_open=0, races_running=3, ratings=(None,), running=tuple(races))
    told = LobbyChanges(
        players_here=2,
        races_open=0,
        races_running=2,
        gone=("AAAAAA",),
        races=(),
        running=(),
        progress=(RunningChange(code="CCCCCC", watchers=7, elapsed_ms=1700, homes=(4, 9), states=("stalled", "racing")),),
        closest="CCCCCC",
    )
    assert reduced(Model(), told).lobby is None
    model = reduce(reduce(scenes.at_home(), lobby, 50_000), told, 50_700)
    assert model.lobby is not None
    assert [(race.code, race.elapsed_ms) for race in model.lobby.running] == [("CCCCCC", 1700), ("BBBBBB", 1700)]
    assert [(seat.home, seat.state) for seat in model.lobby.running[0].seats] == [(4, "stalled"), (9, "racing")]
    assert (model.lobby.players, model.lobby.players_here, model.lobby.running[0].watchers) == (("Ann",), 2, 7)
    later = reduce(model, replace(told, gone=("CCCCCC", "NOSUCH"), closest="BBBBBB"), 60_000)
    assert later.lobby is not None
    # No clock goes on behind the end.
    assert [(race.code, race.elapsed_ms) for race in later.lobby.running] == [("BBBBBB", 3000)]


def test_in_a_room_the_connection_counts_as_back_when_the_link_says_so_and_that_is_told_once() -> None:
    up = Connected("ws://x", "carpet.v1.json")
    model = reduced(scenes.racing(), Lost("gone", 100), Connecting(1), up, RoundTrip(9))
    assert (model.link.state, model.link.reason) == ("returning", "gone")
    model = reduced(model, scenes.welcome(room=scenes.CODE), back_at(27), Back(), now_ms=60_000)
    assert (model.link.state, model.link.reason, model.link.round_trip_ms) == ("connected", "", 9)
    assert model.notice is not None
    assert (model.notice.text, model.notice.at_ms) == ("Connected again.", 60_000)
    assert reduced(model, Lost("gone", 100), now_ms=61_000).notice is None


def test_at_home_there_is_nothing_to_come_back_to_and_a_seat_that_was_lost_is_the_greater_news() -> None:
    up = Connected("ws://x", "carpet.v1.json")
    assert reduced(scenes.at_home(), Lost("gone", 100), up).link.state == "connected"
    forgotten = reduced(scenes.racing(), Lost("gone", 100), up, scenes.welcome(), Left(code=scenes.CODE, reason=NO_SEAT), Back())
    assert (forgotten.room, forgotten.link.state) == (None, "connected")
    assert forgotten.notice is not None
    assert "no longer has a seat for you in race KXQWZP" in forgotten.notice.text


def test_whoever_is_renamed_is_called_so_from_now_on() -> None:
    model = reduced(Model(), welcome(name="anna"))
    assert reduced(Model(), YouAre(player="p1", name="Berta", ref=0)) == Model()
    assert reduced(model, YouAre(player="p2", name="Berta", ref=0)) == model
    assert reduced(model, YouAre(player="p1", name="anna", ref=0)) == model
    renamed = reduced(model, YouAre(player="p1", name="Ber\x1b[2Jta", ref=0))
    assert renamed.welcome is not None
    assert renamed.welcome.player == "p1"
    assert renamed.notice is not None
    assert renamed.notice.text == "You are now called Berta."


@pytest.mark.parametrize(
    ("won", "said"),
    [
        (("Ber\x1b[2Jta",), "Berta won the race you left."),
        (("Berta", "Cleo"), "Berta and Cleo won the race you left."),
        (("Anna",), "You won the race you left."),
        (("Berta", "Cleo", "Dora"), "Berta, Cleo and Dora won the race you left."),
        (("Anna", "Berta"), "You and Berta share first place in the race you left."),
        (("Berta", "Anna", "Cleo"), "You, Berta and Cleo share first place in the race you left."),
        ((), "Nobody won the race you left."),
    ],
)
def test_a_race_that_was_left_is_told_when_it_is_rated(won: tuple[str, ...], said: str) -> None:
    event = Rated(code=scenes.CODE, race="r", won=won, rating=SeatRating(before=1104, after=1057))
    assert reduced(Model(), event) == Model()
    model = reduced(Model(), welcome(name="Anna"), event)
    assert model.welcome is not None
    assert model.notice is not None
    assert (model.welcome.rating, model.notice.text) == (1057, f"{said} Your rating: 1057 (-47).")


def test_the_connection_comes_and_goes() -> None:
    lost = reduce(scenes.racing(), Lost("the server \x07went away", 1500), 50_000)
    assert (lost.link.state, lost.link.retry_at_ms, lost.link.reason) == ("lost", 51_500, "the server went away")
    assert reduced(lost, Connecting(2)).link.attempt == 2
    assert reduced(lost, Connected("ws://x", "carpet.v1.json"), RoundTrip(7)).link.round_trip_ms == 7
    assert reduced(lost, Lost("taken over", None)).link.state == "gone"


def test_what_a_race_did_to_ratings_is_kept_with_it_and_ones_own_new_rating_for_later() -> None:
    model = scenes.rated_over()
    assert model.room is not None
    assert [rating.after for rating in model.room.ratings] == [1241, 1122]
    assert model.welcome is not None
    assert model.welcome.rating == 1241
    snapshot = reduced(scenes.at_home(), scenes.room(phase="over", ratings=(SeatRating(before=1138, after=1100),) * 2))
    assert snapshot.welcome is not None
    assert snapshot.welcome.rating == 1100
    again = reduced(model, scenes.room(version=13, race=2))
    assert again.room is not None
    assert again.room.ratings == ()


# ---- any sequence of messages


_numbers = st.integers(min_value=-2, max_value=9)
_versions = st.integers(min_value=0, max_value=30)
_texts = st.text(max_size=12)
_states = st.sampled_from(["waiting", "racing", "won", "stalled", "stopped", "forfeited", "out-of-time"])
_phases = st.sampled_from(["waiting", "countdown", "racing", "over"])
_elapsed = st.integers(min_value=0, max_value=10**7)
_views = st.sampled_from([scenes.first_view(), scenes.middle_view(), scenes.middle_view(pending=True)])
_rooms = st.builds(
    lambda version, phase, seat, view, race, starts, places: scenes.room(
        places, version=version, phase=phase, seat=seat, view=view, race=race, starts_in_ms=starts
    ),
    _versions,
    _phases,
    st.none() | st.integers(0, 7),
    st.none() | _views,
    st.integers(1, 3),
    st.none() | _elapsed,
    st.integers(1, 8),
)
EVENTS = st.one_of(
    _rooms,
    st.builds(Seated, version=_versions, seat=_numbers, name=_texts, bot=st.none() | _texts),
    st.builds(Unseated, version=_versions, seat=_numbers),
    st.builds(Presence, version=_versions, seat=_numbers, connected=st.booleans(), away_ms=st.none() | _elapsed),
    st.builds(PlayerReady, version=_versions, seat=_numbers),
    st.builds(Countdown, version=_versions, starts_in_ms=_elapsed, round_trips_ms=st.lists(_elapsed, max_size=9).map(tuple)),
    st.builds(Dealt, version=_versions, seat=_numbers, starts_in_ms=_elapsed, view=_views),
    st.builds(Started, version=_versions),
    st.builds(PlayerView, version=_versions, seat=_numbers, ply=_numbers, move=_texts, state=_states, elapsed_ms=_elapsed, view=_views),
    st.builds(
        Progress,
        version=_versions,
        seat=_numbers,
        ply=_numbers,
        home=st.integers(-1, 110),
        foundations=st.dictionaries(_texts, _numbers, max_size=5),
        state=_states,
        elapsed_ms=_elapsed,
    ),
    st.builds(Result, version=_versions, record=st.just(scenes.record())),
    st.builds(Ratings, version=_versions, seats=st.lists(st.builds(SeatRating, before=_elapsed, after=_elapsed), max_size=3).map(tuple)),
    st.builds(RematchAsked, version=_versions, seat=_numbers),
    st.builds(Said, version=_versions, line=st.builds(ChatLine, seat=st.integers(0, 7), name=_texts, text=_texts)),
    st.builds(Hidden, version=_versions),
    st.sampled_from([tournament_scenes.listed(), tournament_scenes.running(), tournament_scenes.told(), tournament_scenes.called()]),
    st.builds(Watchers, code=st.sampled_from([scenes.CODE, "OTHERS"]), count=st.integers(-1, 9)),
    st.builds(
        Talk,
        code=st.sampled_from([scenes.CODE, "OTHERS"]),
        lines=st.lists(st.builds(WatcherLine, number=st.integers(0, 9), name=_texts, text=_texts), max_size=3).map(tuple),
    ),
    st.builds(Left, code=st.sampled_from([scenes.CODE, "OTHERS"]), reason=_texts),
    st.builds(CurrentView, race=_numbers, seat=_numbers, ply=_numbers, state=_states, elapsed_ms=_elapsed, view=_views),
    st.builds(lambda: scenes.welcome()),
    st.builds(Rated, code=_texts, race=_texts, won=st.tuples(_texts), rating=st.builds(SeatRating, before=_numbers, after=_numbers)),
    st.builds(YouAre, player=st.sampled_from([scenes.welcome().player, "other"]), name=_texts, ref=_numbers),
    st.builds(scenes.lobby),
    st.builds(lambda code, message: scenes.refusal(code, message=message), st.sampled_from(ErrorCode), _texts),
    st.builds(Connecting, st.integers(1, 5)),
    st.builds(Connected, _texts, _texts),
    st.builds(Back),
    st.builds(Lost, _texts, st.none() | _elapsed),
    st.builds(RoundTrip, _elapsed),
    st.builds(ReadySent, st.just("00" * 16)),
    st.builds(MoveSent, _numbers, _texts),
)


def test_players_are_told_of_their_watchers_and_hear_what_those_say_once() -> None:
    line = WatcherLine(number=3, name="Grace", text="Well raced!")
    talk = Talk(code=scenes.CODE, lines=(line,))
    model = reduced(scenes.full_room(), Watchers(code=scenes.CODE, count=12), talk, talk, Watchers(code="OTHERS", count=1))
    assert model.room is not None
    assert model.room.watchers == 12
    assert model.room.chat[-1] == line
    assert model.room.chat.count(line) == 1
    assert reduced(scenes.at_home(), talk) == scenes.at_home()


def test_why_a_race_is_watched_no_more_is_told_unless_it_was_asked_for() -> None:
    for reason, words in (("closed", "was closed"), ("seated", "a seat in race"), ("no-race", "can no longer be watched")):
        notice = reduced(scenes.at_home(), Unwatched(code=scenes.CODE, reason=reason)).notice
        assert notice is not None
        assert words in notice.text
    for reason in ("asked", "none"):
        assert reduced(scenes.at_home(), Unwatched(code=scenes.CODE, reason=reason)).notice is None


@given(st.lists(EVENTS, max_size=25), st.integers(0, 10**7))
def test_no_sequence_of_events_is_an_error(events: list[object], start_ms: int) -> None:
    model = Model()
    for number, event in enumerate(events):
        before = model.room
        model = reduce(model, event, start_ms + number * 100)  # type: ignore[arg-type]
        if before is not None and model.room is not None and not isinstance(event, type(scenes.room())):
            assert 0 <= model.room.version - before.version <= 1


def test_the_search_for_an_opponent_ends_with_its_end_with_a_room_and_with_the_connection() -> None:
    looking = scenes.looking("colorado")
    assert looking.search == Search("colorado", 150, 3, -6_000)
    for end in (WaitingOver(reason="cancelled"), scenes.room(), Lost("gone", 500)):
        assert scenes.reduced(looking, end).search is None


def test_of_a_race_that_is_called_off_one_is_told_so_and_at_a_tournaments_table_that_it_was_closed() -> None:
    for shared, says in (
        (None, f"Race {scenes.CODE} was called off. It does not count."),
        ("round", "Your table was closed."),
    ):
        deal = SharedDeal(kind="round", id="KWPRTM/2", nonces=("00" * 16,)) if shared else None
        told = reduced(reduced(Model(), scenes.room(shared=deal)), Left(code=scenes.CODE, reason="called-off")).notice
        assert told is not None
        assert told.text.endswith(says)
