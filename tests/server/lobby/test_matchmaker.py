"""Quick match over the wire: waiting, being found and seated, and every way to stop waiting."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from protocol.client_messages import Hello, JoinRace, LeaveRace, OpenRace, QuickMatch, Rename
from protocol.errors import CloseCode, ErrorCode
from protocol.room_events import PlayerReady, Room, Seated
from protocol.server_messages import Error, Left, ServerMessage, WaitingMatch, WaitingOver, Welcome
from protocol.views import RaceOptions
from server.lobby.match_queue import APART_MS, FIRST_PAUSE_MS, NoShows
from server.net.connection import Caller
from server.net.hub import TICK_S
from server.rooms.ready_timeout import MATCH_READY_S
from server.store.availability import Outage
from server.store.journal import Done, Journal
from server.store.port import Entry
from tests.server.net.wire import Client, House, open_house
from tests.server.store.keeping import worth


async def seek(client: Client, rules: str | None = None, ref: int = 0) -> WaitingMatch:
    return await client.ask(QuickMatch(rules=rules, ref=ref), WaitingMatch)


def rated(house: House, client: Client, points: int) -> None:
    house.players.rated(client.welcome.player, worth(points))


def hold_back(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Journal, Sequence[Entry], Done]]:
    """From now on nothing is written. Returns what is to be written later on."""
    held: list[tuple[Journal, Sequence[Entry], Done]] = []
    monkeypatch.setattr(Journal, "submit", lambda journal, entries, done: held.append((journal, entries, done)))
    return held


async def quiet(*clients: Client) -> None:
    """Nothing more comes to them for a while."""
    for client in clients:
        with trio.move_on_after(3) as scope:
            raise AssertionError(await client.hear())
        assert scope.cancelled_caught


async def test_two_who_ask_are_seated_in_a_public_race_that_counts(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        assert await seek(ann) == WaitingMatch(rules=None, waited_ms=0, window=100, waiting=1)
        await bob.say(QuickMatch())
        first, second = await ann.hear_of(Room), await bob.hear_of(Room)
        assert (first.seat, second.seat, first.code) == (0, 1, second.code)
        assert first.options == RaceOptions()
        assert first.options.public
        assert first.options.counts
        assert (await ann.hear_of(Seated)).name == "Bob"
        assert len(house.matchmaker) == 0
        await house.start(ann, bob)


async def test_the_window_widens_as_one_waits_and_the_news_says_so(house: House) -> None:
    async with house.guest("Ann") as ann:
        news = [await seek(ann, "carpet"), *[await ann.hear_of(WaitingMatch) for _ in range(12)]]
        assert [each.window for each in news] == [*range(100, 700, 50), None]
        assert [each.waited_ms // 1000 for each in news] == list(range(0, 65, 5))
        await quiet(ann)


async def test_how_many_wait_is_told_at_most_once_a_second_and_in_the_end_the_truth(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob, house.guest("Eve") as eve:
        await seek(ann, "carpet")
        for _ in range(50):
            assert (await seek(bob, "colorado")).waiting == 2
            await bob.ask(QuickMatch(cancel=True), WaitingOver)
        await seek(bob, "colorado")
        await seek(eve, "twenty")
        with trio.move_on_after(4):
            while True:
                await ann.hear()
        counts = [message.waiting for message in ann.heard if isinstance(message, WaitingMatch)]
        assert (counts[0], counts[-1]) == (1, 3)
        assert len(counts) <= 3


async def test_whoever_cancels_is_found_by_nobody_and_may_cancel_again(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        await seek(ann)
        for _ in range(2):
            assert await ann.ask(QuickMatch(cancel=True), WaitingOver) == WaitingOver(reason="cancelled")
        assert (await seek(bob)).waiting == 1
        await quiet(ann)


async def test_whoever_takes_a_seat_elsewhere_waits_no_more(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob, house.guest("Eve") as eve:
        await seek(ann, "carpet")
        await seek(bob, "colorado")
        await ann.say(OpenRace(options=RaceOptions(seats=3)))
        assert {type(await ann.hear()), type(await ann.hear())} == {WaitingOver, Room}
        assert WaitingOver(reason="elsewhere") in ann.heard
        assert ann.room is not None
        assert await bob.ask(JoinRace(code=ann.room.code), WaitingOver) == WaitingOver(reason="elsewhere")
        assert (await seek(eve)).waiting == 1


async def test_a_code_that_nobody_has_does_not_end_the_waiting(house: House) -> None:
    async with house.guest("Ann") as ann:
        await seek(ann)
        assert (await ann.error_for(JoinRace(code="AAAAAA"))).code == ErrorCode.NO_SUCH_ROOM
        assert len(house.matchmaker) == 1


async def test_whoever_holds_a_seat_can_look_for_nobody(house: House) -> None:
    async with house.guest("Ann") as ann:
        room = await ann.open()
        error = await ann.error_for(QuickMatch(ref=5))
        assert (error.code, error.ref) == (ErrorCode.ALREADY_IN_ROOM, 5)
        assert room.code in error.message
        await ann.ask(LeaveRace(), Left)
        await seek(ann)


async def test_rules_that_nobody_knows_are_refused(house: House) -> None:
    async with house.guest("Ann") as ann:
        error = await ann.error_for(QuickMatch(rules="\x1b[2J", ref=5))
        assert (error.code, error.path, error.ref) == (ErrorCode.UNKNOWN_RULES, "$.rules", 5)
        assert "\x1b" not in error.message
        assert len(house.matchmaker) == 0


async def test_a_lost_connection_ends_the_waiting(house: House) -> None:
    async with house.guest("Bob") as bob:
        async with house.guest("Ann") as ann:
            await seek(ann)
        await trio.sleep(2 * TICK_S)
        assert len(house.matchmaker) == 0
        assert (await seek(bob)).waiting == 1


async def test_what_an_older_connection_has_asked_for_ends_with_it(house: House) -> None:
    async with house.client() as old, house.client() as new, house.guest("Bob") as bob:
        token = (await old.hello("Ann")).token
        await seek(old)
        assert (await new.ask(Hello(name="Ann", token=token), Welcome)).room is None
        assert len(house.matchmaker) == 0
        assert (await seek(new)).waited_ms == 0
        assert (await old.hear_end())[0] == CloseCode.TAKEN_OVER
        await wait_all_tasks_blocked()
        await bob.say(QuickMatch())
        assert (await new.hear_of(Room)).code == (await bob.hear_of(Room)).code


async def test_whoever_is_renamed_while_they_wait_sits_down_under_their_new_name(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        await seek(ann)
        await ann.say(Rename(name="Zoe"))
        await trio.sleep(1)
        assert (await bob.ask(QuickMatch(), Room)).seats[0].name == "Zoe"


async def test_where_no_race_can_be_opened_both_are_told_and_wait_no_more(autojump_clock: MockClock) -> None:
    async with open_house(max_rooms=1) as house, house.guest("Ann") as ann, house.guest("Bob") as bob, house.guest("Eve") as eve:
        await eve.open()
        await seek(ann, ref=3)
        await bob.say(QuickMatch(ref=4))
        for client, ref in ((ann, 3), (bob, 4)):
            error = await client.hear_of(Error)
            assert (error.code, error.ref) == (ErrorCode.SERVER_FULL, ref)
            assert await client.hear() == WaitingOver(reason="failed", ref=ref)
        assert len(house.matchmaker) == 0


async def test_two_who_fit_in_an_outage_of_the_store_wait_on_and_are_paired_when_it_is_over(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        await seek(ann)
        await trio.sleep(70)
        house.rooms.outage(Outage(trio.current_time(), "the disk is full"))
        assert (await seek(bob)).waiting == 2
        await trio.sleep(600)
        assert len(house.matchmaker) == 2
        house.rooms.outage(None)
        first, second = await ann.hear_of(Room), await bob.hear_of(Room)
        assert (first.seat, second.seat, first.code) == (0, 1, second.code)
        assert not any(isinstance(message, Error | WaitingOver) for message in (*ann.heard, *bob.heard))
        assert len(house.matchmaker) == 0


async def test_whoever_missed_messages_is_told_whether_they_wait(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        connection = house.connections[0]
        await seek(ann, "carpet")
        house.dispatch.resynchronise(connection)
        assert await ann.hear() == WaitingMatch(rules="carpet", waited_ms=0, window=100, waiting=1)
        await ann.ask(QuickMatch(cancel=True), WaitingOver)
        house.dispatch.resynchronise(connection)
        heard: ServerMessage = await ann.hear()
        assert heard == WaitingOver(reason="cancelled")
        house.dispatch.resynchronise(house.connections[1])
        await quiet(bob)


# ---- an opponent who does not get ready


async def matched(first: Client, second: Client) -> Room:
    """The first one has waited for this opponent."""
    await seek(first)
    await second.say(QuickMatch())
    await first.hear_of(Room)
    return await second.hear_of(Room)


async def test_whoever_was_ready_is_put_back_at_their_old_place_with_what_they_wanted_and_the_other_one_is_not(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob, house.guest("Eve") as eve:
        await seek(ann)
        await trio.sleep(7)
        room = await bob.ask(QuickMatch(rules="colorado"), Room)
        await ann.ready()
        assert await ann.hear_of(Left) == Left(code=room.code, reason="no-opponent")
        waits = await ann.hear()
        assert isinstance(waits, WaitingMatch)
        assert (waits.rules, waits.waited_ms // 1000, waits.window, waits.waiting) == (None, 7 + MATCH_READY_S, 350, 1)
        assert (await bob.hear_of(Left)).reason == "not-ready"
        await quiet(bob)
        assert (await eve.ask(QuickMatch(), Room)).seats[0].name == "Ann"


async def test_whoever_came_meanwhile_is_their_next_opponent_at_once(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob, house.guest("Eve") as eve:
        await matched(ann, bob)
        await seek(eve)
        await bob.ready()
        assert (await bob.hear_of(Left)).reason == "no-opponent"
        room = await bob.hear()
        assert isinstance(room, Room)
        assert [seat.name for seat in room.seats] == ["Bob", None], "they had waited longer"
        assert (await eve.hear_of(Room)).code == room.code
        assert len(house.matchmaker) == 0


async def test_whoever_did_not_turn_up_is_not_given_the_same_opponent_again_at_once_but_anybody_else(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob, house.guest("Eve") as eve:
        await matched(ann, bob)
        await ann.ready()
        await ann.hear_of(WaitingMatch)
        for _ in range(3):
            since = trio.current_time()
            house.matchmaker._no_shows = NoShows()  # Bob would have to wait for longer and longer
            assert (await seek(bob)).waiting == 2
            await ann.hear_of(Room)
            assert APART_MS <= (trio.current_time() - since) * 1000 < APART_MS + 2_000
            await ann.ready()
            await ann.hear_of(WaitingMatch)
        await seek(bob)
        assert (await eve.ask(QuickMatch(), Room)).seats[0].name == "Ann"
        assert house.matchmaker.seeks(bob.welcome.player)


async def keep_waiting(honest: Client, other: Client) -> None:
    """The other one finds this opponent and does not turn up."""
    await other.ask(QuickMatch(), Room)
    await honest.ready()
    assert (await other.hear_of(Left)).reason == "not-ready"


@pytest.mark.parametrize("is_here", [True, False])
async def test_whoever_does_not_turn_up_again_and_again_has_to_wait_and_so_do_all_of_their_address(
    house: House, monkeypatch: pytest.MonkeyPatch, is_here: bool
) -> None:
    address = "127.0.0.1" if is_here else "192.0.2.1"
    monkeypatch.setattr(Caller, "remote_host", address)
    async with house.guest("Ann") as ann, house.guest("Bob") as bob, house.guest("Cleo") as cleo, house.guest("Dan") as dan:
        monkeypatch.setattr(Caller, "remote_host", "192.0.2.2")
        await seek(ann)
        monkeypatch.setattr(Caller, "remote_host", address)
        await keep_waiting(ann, bob)
        await seek(bob)
        await bob.ask(QuickMatch(cancel=True), WaitingOver)
        await keep_waiting(ann, cleo)
        await trio.sleep(APART_MS / 1000)
        await keep_waiting(ann, bob)
        error = await bob.error_for(QuickMatch(ref=5))
        assert (error.code, error.ref) == (ErrorCode.KEPT_WAITING, 5)
        assert 0 < error.retry_after_ms <= FIRST_PAUSE_MS
        assert "(in 30 seconds)" in error.message
        await keep_waiting(ann, dan)
        # That was the fourth time from this address, of which this machine is none.
        if is_here:
            await seek(dan)
            return
        assert (await dan.error_for(QuickMatch())).code == ErrorCode.KEPT_WAITING
        async with house.guest("Eve") as eve:
            assert (await eve.error_for(QuickMatch())).code == ErrorCode.KEPT_WAITING
            monkeypatch.setattr(Caller, "remote_host", "192.0.2.3")
            assert (await eve.ask(QuickMatch(), Room)).seats[0].name == "Ann"
            await House.start(ann, eve)
        monkeypatch.setattr(Caller, "remote_host", address)
        await trio.sleep(FIRST_PAUSE_MS / 1000)
        await seek(dan)


async def test_whoever_leaves_when_their_opponent_is_ready_has_not_turned_up_either(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        await seek(ann)
        for later_s in (0, APART_MS / 1000):
            await trio.sleep(later_s)
            await bob.ask(QuickMatch(), Room)
            await ann.ready()
            await bob.hear_of(PlayerReady)
            await bob.ask(LeaveRace(), Left)
            assert (await ann.hear_of(Left)).reason == "no-opponent"
        assert (await bob.error_for(QuickMatch())).code == ErrorCode.KEPT_WAITING


async def test_whoever_only_took_the_free_seat_and_left_is_kept_apart_from_nobody(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob, house.guest("Eve") as eve:
        room = await matched(ann, bob)
        await bob.ask(LeaveRace(), Left)
        await eve.ask(JoinRace(code=room.code), Room)
        await eve.ask(LeaveRace(), Left)
        await ann.ready()
        await ann.hear_of(WaitingMatch)
        assert (await seek(bob)).waiting == 2
        assert (await eve.ask(QuickMatch(), Room)).seats[0].name == "Ann"


async def test_nobody_who_was_not_ready_is_put_back_when_the_other_one_leaves(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        await matched(ann, bob)
        await bob.ask(LeaveRace(), Left)
        await trio.sleep(60)
        assert len(house.matchmaker) == 0
        await ann.ready()
        assert (await ann.hear_of(Left)).reason == "no-opponent"
        assert isinstance(await ann.hear(), WaitingMatch)


async def test_whoever_comes_back_by_another_connection_looks_on_from_there(house: House) -> None:
    async with house.guest("Bob") as bob:
        async with house.guest("Ann") as ann:
            room = await matched(ann, bob)
            await ann.ready()
            await bob.hear_of(PlayerReady)
        await bob.hear_of(Left)
        async with house.client() as again:
            await again.hello("Ann", ann.welcome.token)
            await again.join(room.code)
            assert (await again.hear_of(Left)).reason == "no-opponent"
            assert isinstance(await again.hear(), WaitingMatch)
            assert len(house.matchmaker) == 1


async def test_what_they_have_asked_for_before_they_could_be_told_holds_and_counts_from_when_they_first_asked(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob, house.guest("Eve") as eve:
        await matched(ann, bob)
        await ann.ready()
        await trio.sleep(7)
        held = hold_back(monkeypatch)
        await bob.say(LeaveRace())
        await trio.sleep(1)
        assert house.rooms.of(ann.welcome.player) is None, "that is not written yet"
        assert await seek(ann, "colorado", ref=7) == WaitingMatch(rules="colorado", waited_ms=0, window=100, waiting=1, ref=7)
        monkeypatch.undo()
        for journal, entries, done in held:
            journal.submit(entries, done)
        assert (await ann.hear_of(Left)).reason == "no-opponent"
        waits = await ann.hear()
        assert isinstance(waits, WaitingMatch)
        assert (waits.rules, waits.waited_ms // 1000, waits.ref) == ("colorado", 8, 7)
        assert (await seek(bob)).waiting == 2, "they are kept apart nevertheless"
        room = await eve.ask(QuickMatch(rules="colorado"), Room)
        assert room.seats[0].name == "Ann"


async def test_where_nothing_new_may_begin_nobody_is_put_back_and_they_are_told(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        await matched(ann, bob)
        await ann.ready()
        house.rooms.draining = "we update"
        assert (await ann.hear_of(Left)).reason == "no-opponent"
        assert (await ann.error()).code == ErrorCode.SERVER_STOPPING
        assert await ann.hear() == WaitingOver(reason="failed")
        assert len(house.matchmaker) == 0
