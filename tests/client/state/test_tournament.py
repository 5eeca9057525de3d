"""The model of tournaments: snapshots replace, calls come and go with their rooms, and no sequence of messages is an error."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from client.connection.events import Connected, Lost
from client.state.store import Model
from client.state.tournament import TournamentsModel, is_raced, table_name, tournaments_after, waits_for_others
from client.tui.heard import is_called
from protocol.server_messages import Left, ServerMessage
from protocol.tournament_messages import Decided, Tournament
from protocol.views import SharedDeal
from tests.client import scenes
from tests.client import tournament_scenes as tournaments

MESSAGES = st.sampled_from(
    [
        tournaments.listed(),
        tournaments.told(),
        tournaments.told("check-in", phase_ms=30_000),
        tournaments.running(),
        replace(tournaments.running(), id="PLMNBV"),
        tournaments.called(),
        tournaments.called(code="QWERTZ", until_ms=None),
        Decided(id=tournaments.ID, number=3, ref=4),
        Left(code=scenes.CODE, reason="left"),
        Left(code="QWERTZ", reason="closed"),
        scenes.welcome(),
        scenes.welcome(room=scenes.CODE),
        scenes.room(),
        Lost("gone", 500),
        Connected("ws://x", "carpet.v1.msgpack"),
    ]
)


@given(st.lists(MESSAGES, max_size=25))
def test_the_last_snapshot_counts_whatever_came_before(messages: list[ServerMessage]) -> None:
    model = TournamentsModel()
    for number, message in enumerate(messages):
        model = tournaments_after(model, message, 1000 * number)
    snapshots = [(number, message) for number, message in enumerate(messages) if isinstance(message, Tournament)]
    if not snapshots:
        assert model.shown is None
    else:
        number, last = snapshots[-1]
        assert model.shown is not None
        assert (model.shown.told, model.shown.heard_at_ms) == (last, 1000 * number)
        assert model.tournament(last.id) is model.shown
        assert model.tournament("OTHERS") is None


@given(st.lists(MESSAGES, max_size=25), MESSAGES)
def test_what_is_heard_twice_changes_nothing(messages: list[ServerMessage], last: ServerMessage) -> None:
    model = TournamentsModel()
    for message in (*messages, last):
        model = tournaments_after(model, message, 1000)
    assert tournaments_after(model, last, 1000) == model


def test_a_call_is_anchored_to_the_local_time_and_ends_with_its_room() -> None:
    model = tournaments_after(TournamentsModel(), tournaments.called(), 5000)
    assert model.call is not None
    assert model.call.until_ms == 125_000
    assert tournaments_after(model, Left(code="QWERTZ", reason="left"), 6000).call == model.call
    assert tournaments_after(model, Left(code=scenes.CODE, reason="left"), 6000).call is None


def test_whoever_comes_back_is_called_again_unless_they_sit_at_that_table() -> None:
    model = tournaments_after(TournamentsModel(), tournaments.called(), 5000)
    assert tournaments_after(model, scenes.welcome(), 6000).call is None
    assert tournaments_after(model, scenes.welcome(room=scenes.CODE), 6000).call == model.call


def test_without_a_connection_no_list_is_known_and_the_tournament_stays_as_it_was_told() -> None:
    model = tournaments_after(tournaments_after(TournamentsModel(), tournaments.listed(), 0), tournaments.running(), 0)
    lost = tournaments_after(model, Lost("gone", 500), 1000)
    assert lost.listed is None
    assert lost.shown == model.shown


def test_the_bell_is_due_for_each_table_once() -> None:
    model = tournaments.at(tournaments.running())
    called = scenes.reduced(model, tournaments.called())
    assert is_called(model, called)
    assert not is_called(called, scenes.reduced(called, tournaments.called()))
    assert is_called(called, scenes.reduced(called, tournaments.called(code="QWERTZ")))


def test_a_room_on_the_deal_of_a_round_is_a_table() -> None:
    deal = SharedDeal(kind="round", id=f"{tournaments.ID}/2", nonces=("00" * 16,))
    assert scenes.reduced(scenes.at_home(), scenes.room(shared=deal)).is_at_table
    assert not scenes.reduced(scenes.at_home(), scenes.room(shared=replace(deal, kind="daily"))).is_at_table
    assert not scenes.reduced(scenes.at_home(), scenes.room()).is_at_table
    assert not Model().is_at_table


def test_tables_and_sides_have_names_and_moments() -> None:
    model = tournaments_after(TournamentsModel(), tournaments.running(), 45_000).shown
    assert model is not None
    assert [table_name(model, side) for side in ("p2", "bot:greedy:1", None, "p77")] == ["Benedikt", "greedy 1", "the house", "p77"]
    assert [is_raced(table) for table in model.told.tables] == [True, False, True]
    assert model.no_show_until_ms(model.told.tables[2]) == 106_000
    assert model.table_of(tournaments.ANNA) == model.told.tables[0]
    assert model.table_of("") is None


def test_only_a_table_that_counts_and_has_no_result_waits_for_others_that_count_and_are_raced_at() -> None:
    raced, done, _ = tournaments.TABLES
    waiting = tournaments.table(4, "p4", "p5")
    assert waits_for_others(tournaments.running(tables=(raced, waiting)), waiting)
    for others, mine in (
        ((raced,), replace(waiting, counted=False)),
        ((raced,), replace(waiting, code="QWERTZ")),
        ((raced,), done),
        ((replace(raced, counted=False),), waiting),
        ((done,), waiting),
    ):
        assert not waits_for_others(tournaments.running(tables=(*others, mine)), mine)
