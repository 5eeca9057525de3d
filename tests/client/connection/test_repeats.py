"""What the link says again after a lost connection or a refusal: nothing is lost and nothing doubled."""

from __future__ import annotations

import itertools

import pytest
import trio
from msgspec.structs import replace

from client.connection.client import QUIET, open_link
from client.connection.errors import RequestRefused
from client.connection.events import NO_SEAT, WATCH_REFERENCE, Back, Identity, Lost
from client.connection.outbox import FIRST_NUMBER
from client.connection.questions import QUESTION_REFERENCE
from client.connection.resync import REJOIN_REFERENCE
from protocol import server_messages as said
from protocol.client_messages import FollowLobby, Hello, JoinRace, LeaveRace, OpenRace, QuickMatch, Say, WhoAmI
from protocol.errors import ErrorCode
from protocol.room_events import Hidden, Room, Said
from protocol.server_messages import Left, WaitingMatch, WaitingOver, Welcome, YouAre
from protocol.tournament_messages import FollowTournament
from protocol.views import ChatLine, RaceOptions
from protocol.watch_messages import Unwatched, Watched, WatchRace
from tests.client.connection.linking import AGAIN, ANNA, CURRENT, MOVE, URL, greeted, next_of, numbered, race, raced
from tests.client.fake_server import FakeServer, Line, room, welcome
from tests.client.scenes import refusal


async def back_in_line(server: FakeServer, line: Line) -> Line:
    """The line is cut; the next one, on which the join has been heard."""
    await line.cut()
    line = await server.greeted(room="ABCDEF")
    assert await line.heard() == AGAIN
    return line


async def test_a_move_the_lost_connection_has_swallowed_is_sent_again_behind_the_answer_to_the_join(server: FakeServer) -> None:
    async with raced(server) as (link, line):
        assert link.send(MOVE)
        assert await line.heard() == numbered(MOVE)
        line = await back_in_line(server, line)
        await line.say(Hidden(version=4))
        with trio.move_on_after(0.5):
            raise AssertionError(await line.heard())
        await line.say(CURRENT)
        with trio.fail_after(30):
            assert await line.heard() == numbered(MOVE)
        await next_of(link, Back)
        link.send(Say(text="here I am"))
        assert await line.heard() == numbered(Say(text="here I am"), 2), "and not the move once more"


async def test_a_line_of_talk_is_said_again_only_where_it_was_not_heard(server: FakeServer) -> None:
    async with raced(server) as (link, line):
        link.send(Say(text="one"))
        link.send(Say(text="two"))
        line = await back_in_line(server, line)
        await line.say(Said(version=4, line=ChatLine(seat=0, name="anna", text="one"), ref=FIRST_NUMBER), CURRENT)
        assert await line.heard() == numbered(Say(text="two"), 2)
        await next_of(link, Back)
        link.send(LeaveRace())
        assert await line.heard() == numbered(LeaveRace(), 3)


async def test_where_something_was_dropped_unread_all_that_is_unanswered_is_said_again(server: FakeServer) -> None:
    async with raced(server) as (link, line):
        link.send(MOVE)
        link.send(Say(text="dropped"))
        await line.say(refusal(ErrorCode.TOO_FAST, 0))
        assert await next_of(link, said.Error) == refusal(ErrorCode.TOO_FAST, 0)
        line = await back_in_line(server, line)
        await line.say(CURRENT)
        assert [await line.heard(), await line.heard()] == [numbered(MOVE), numbered(Say(text="dropped"), 2)]


async def test_after_too_much_at_once_the_link_is_quiet_and_then_says_again_by_the_same_connection_what_is_unanswered(
    server: FakeServer,
) -> None:
    async with raced(server) as (link, line):
        for message in (MOVE, Say(text="heard"), Say(text="dropped")):
            link.send(message)
            await line.heard()
        told_at = trio.current_time()
        heard = Said(version=4, line=ChatLine(seat=0, name="anna", text="heard"), ref=FIRST_NUMBER + 1)
        await line.say(refusal(ErrorCode.TOO_FAST, 0), CURRENT, heard, Hidden(version=6), refusal(ErrorCode.TOO_FAST, 0))
        assert [await next_of(link, said.Error) for _ in range(2)] == [refusal(ErrorCode.TOO_FAST, 0)] * 2
        assert not link.send(Say(text="one more"))
        assert await line.heard() == JoinRace(code="ABCDEF", version=4, ref=REJOIN_REFERENCE)
        assert trio.current_time() - told_at == pytest.approx(QUIET)
        assert not link.send(MOVE)
        await line.say(Hidden(version=5), Hidden(version=6), CURRENT)
        assert [await line.heard(), await line.heard()] == [numbered(MOVE), numbered(Say(text="dropped"), 3)]
        assert [await next_of(link, Hidden, Back) for _ in range(2)] == [Hidden(version=5), Hidden(version=6)]
        link.send(Say(text="here I am"))
        assert await line.heard() == numbered(Say(text="here I am"), 4)


async def test_without_a_room_what_was_dropped_is_said_again_after_the_silence(server: FakeServer) -> None:
    opening = OpenRace(options=RaceOptions())
    async with greeted(server) as (link, line):
        await next_of(link, Welcome)
        follows = (FollowLobby(), FollowTournament(id="AUTUMN", round=1), FollowTournament(id="AUTUMN", round=2))
        for message in (*follows, opening):
            link.send(message)
            await line.heard()
        await line.say(refusal(ErrorCode.TOO_FAST, 0))
        await next_of(link, said.Error)
        assert not link.send(opening)
        assert [await line.heard() for _ in range(3)] == [follows[0], follows[-1], numbered(opening)]
        await line.say(room())
        assert await next_of(link, Room, Back) == room()


async def test_a_watcher_who_asked_too_much_asks_for_the_race_again(server: FakeServer) -> None:
    async with greeted(server) as (link, line):
        await next_of(link, Welcome)
        link.send(WatchRace(code="ABCDEF", ref=7))
        await line.heard()
        await line.say(refusal(ErrorCode.TOO_FAST, 0))
        assert await line.heard() == WatchRace(code="ABCDEF", ref=WATCH_REFERENCE)


async def test_a_connection_that_is_lost_in_the_silence_is_come_back_from_as_ever(server: FakeServer) -> None:
    async with raced(server) as (link, line):
        link.send(MOVE)
        await line.say(refusal(ErrorCode.TOO_FAST, 0))
        await next_of(link, said.Error)
        line = await back_in_line(server, line)
        await line.say(CURRENT)
        assert await line.heard() == numbered(MOVE)
        await next_of(link, Back)
        with trio.move_on_after(0.9):
            raise AssertionError(await line.heard())


async def test_until_the_room_is_reached_again_nothing_is_taken_for_it(server: FakeServer) -> None:
    async with raced(server) as (link, line):
        line = await back_in_line(server, line)
        assert not link.send(MOVE)
        await line.say(race(version=900))
        await next_of(link, Back)
        assert link.send(MOVE)
        assert await line.heard() == numbered(MOVE)


async def test_a_race_that_was_asked_for_over_a_dying_connection_is_asked_for_again(server: FakeServer) -> None:
    wanted = OpenRace(options=RaceOptions())
    async with greeted(server) as (link, line):
        await next_of(link, Welcome)
        link.send(wanted)
        await line.cut()
        line = await server.greeted()
        assert await line.heard() == numbered(wanted)


@pytest.mark.parametrize("cancelled", [False, True])
async def test_the_search_for_an_opponent_goes_on_by_the_next_connection_unless_its_end_was_asked_for(
    server: FakeServer, cancelled: bool
) -> None:
    async with greeted(server) as (link, line):
        await next_of(link, Welcome)
        link.send(QuickMatch(rules="colorado"))
        assert await line.heard() == numbered(QuickMatch(rules="colorado"))
        await line.say(WaitingMatch(rules="colorado", waited_ms=0, window=100, waiting=1, ref=FIRST_NUMBER))
        await next_of(link, WaitingMatch)
        if cancelled:
            link.send(QuickMatch(cancel=True))
            await line.heard()
        await line.cut()
        line = await server.greeted()
        assert await line.heard() == QuickMatch(rules="colorado")
        if cancelled:
            assert await line.heard() == numbered(QuickMatch(cancel=True), 2), "the last word counts"
        await next_of(link, Back)
        await line.say(WaitingOver(reason="cancelled"))
        await next_of(link, WaitingOver)
        link.send(LeaveRace())
        assert await line.heard() == numbered(LeaveRace(), 3 if cancelled else 2)


async def test_what_another_player_has_asked_for_is_not_said_by_the_next(server: FakeServer) -> None:
    async with raced(server) as (link, line):
        link.send(MOVE)
        await line.cut()
        line = await server.line()
        await line.refuse_hello(ErrorCode.UNKNOWN_TOKEN)
        await line.greet(token="another")
        assert await next_of(link, Left) == Left(code="ABCDEF", reason=NO_SEAT)
        link.send(FollowLobby())
        assert await line.heard() == FollowLobby()


async def test_a_seat_held_from_before_is_gone_back_to_by_the_link(server: FakeServer) -> None:
    async with greeted(server, room="ABCDEF") as (link, line):
        assert await line.heard() == JoinRace(code="ABCDEF", version=0, ref=REJOIN_REFERENCE)
        await line.say(race())
        assert await next_of(link, Room) == race()


async def test_entered_waits_for_the_race_to_watch_and_a_seat_elsewhere_is_no_answer(server: FakeServer, nursery: trio.Nursery) -> None:
    async def be_asked() -> None:
        line = await server.greeted(room="ABCDEF")
        assert await line.heard() == JoinRace(code="ABCDEF", version=0, ref=REJOIN_REFERENCE)
        await line.say(room())
        assert await line.heard() == WatchRace(code="OTHERS", ref=QUESTION_REFERENCE)
        await trio.sleep(1)
        await line.say(refusal(ErrorCode.OWN_RACE, QUESTION_REFERENCE))

    nursery.start_soon(be_asked)
    async with open_link(URL, ANNA, dial=server.dial) as link:
        with pytest.raises(RequestRefused, match="You are part of that race"):
            await link.entered(WatchRace(code="OTHERS"))


async def test_a_watcher_comes_back_to_the_race_by_themselves(server: FakeServer) -> None:
    watched = Watched(room=room(code="OTHERS", seat=None), boards=(), watchers=1, lines=(), closest=False)
    async with greeted(server) as (link, line):
        await next_of(link, Welcome)
        assert link.send(WatchRace(code="OTHERS"))
        assert link.send(Say(text="Hello", code="OTHERS"))
        assert await line.heard() == WatchRace(code="OTHERS")
        await line.say(watched)
        await next_of(link, Watched)
        await line.cut()
        line = await server.greeted()
        assert await line.heard() == WatchRace(code="OTHERS", ref=WATCH_REFERENCE)
        # Not answered: asked for again, and nothing else can be said to those who watch.
        assert not link.send(Say(text="Hello", code="OTHERS"))
        assert await line.heard() == WatchRace(code="OTHERS", ref=WATCH_REFERENCE)
        await line.say(watched)
        assert await next_of(link, Watched, Back) == watched
        await next_of(link, Back)
        assert link.send(Say(text="Hello", code="OTHERS"))
        assert await line.heard() == numbered(Say(text="Hello", code="OTHERS"), 2)


async def watch_hello(line: Line) -> Hello:
    """Answer the hello of a player who comes with the token "known" only to watch."""
    asked = await line.heard()
    assert isinstance(asked, WhoAmI)
    assert asked.token == "known"
    await line.say(YouAre(player="p1", name="anna", ref=asked.ref))
    hello = await line.heard()
    assert isinstance(hello, Hello)
    await line.say(welcome(token="known"))
    return hello


async def test_whoever_watches_comes_by_a_second_connection_and_by_a_first_one_once_they_would_race(server: FakeServer) -> None:
    kept: list[Identity] = []
    async with open_link(URL, Identity("anna", "known"), watches=True, keep=kept.append, dial=server.dial) as link:
        line = await server.line()
        hello = await watch_hello(line)
        assert (hello.token, hello.watch) == ("known", True)
        await next_of(link, Welcome)
        assert kept == [Identity("anna", "known", "p1")]
        for message in (FollowLobby(), WatchRace(code="OTHERS")):
            assert link.send(message)
            assert await line.heard() == message
        await line.cut()
        line = await server.line()
        assert (await watch_hello(line)).watch
        assert await line.heard() == WatchRace(code="OTHERS", ref=WATCH_REFERENCE)
        await line.say(Unwatched(code="OTHERS", reason="closed"))
        await next_of(link, Back)
        await line.cut()
        await next_of(link, Lost)
        assert not link.send(JoinRace(code="MYRACE"))
        line = await server.line()
        assert (await watch_hello(line)).watch, "what did not go out makes nobody a player who takes over"
        await next_of(link, Welcome)
        assert link.send(JoinRace(code="MYRACE"))
        hello = await line.greet(token="known")
        assert (hello.name, hello.token, hello.watch) == ("anna", "known", False)
        assert await line.heard() == numbered(JoinRace(code="MYRACE"))
        await line.cut()
        assert not (await (await server.line()).greet(token="known")).watch


@pytest.mark.parametrize("token", [None, "forgotten"])
async def test_whoever_watches_and_is_not_known_becomes_a_player_who_can_talk(server: FakeServer, token: str | None) -> None:
    async with open_link(URL, Identity("anna", token), watches=True, dial=server.dial) as link:
        line = await server.line()
        if token is not None:
            asked = await line.heard()
            assert isinstance(asked, WhoAmI)
            await line.say(refusal(ErrorCode.UNKNOWN_TOKEN, asked.ref))
        hello = await line.greet(token="fresh")
        assert (hello.token, hello.watch) == (None, False)
        await next_of(link, Welcome)
        assert link.send(JoinRace(code="MYRACE"))
        assert await line.heard() == numbered(JoinRace(code="MYRACE")), "it has said hello already"


async def test_an_older_server_that_makes_a_guest_of_who_watches_changes_nothing_of_what_is_kept(server: FakeServer) -> None:
    kept: list[Identity] = []
    async with open_link(URL, Identity("anna", "known"), watches=True, keep=kept.append, dial=server.dial) as link:
        line = await server.line()
        asked = await line.heard()
        assert isinstance(asked, WhoAmI)
        await line.say(YouAre(player="p1", name="anna", ref=asked.ref))
        assert isinstance(await line.heard(), Hello)
        await line.say(replace(welcome(name="", token=""), player=""))
        await next_of(link, Welcome)
        assert kept == []


async def test_a_join_that_is_not_answered_is_asked_for_again_less_and_less_often(server: FakeServer) -> None:
    async with raced(server) as (link, line):
        line = await back_in_line(server, line)
        asked = [trio.current_time()]
        for _ in range(6):
            assert await line.heard() == AGAIN
            asked.append(trio.current_time())
        assert [later - earlier for earlier, later in itertools.pairwise(asked)] == pytest.approx([1, 2, 2, 2, 2, 2])
        await line.say(CURRENT)
        await next_of(link, Back)
        with trio.move_on_after(60):
            raise AssertionError(await line.heard())
