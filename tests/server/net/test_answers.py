"""What the specification says of answers: which requests have none of their own, and what one gets that is asked once more."""

from __future__ import annotations

import pytest

from protocol.client_messages import (
    ClientMessage,
    FollowLobby,
    JoinRace,
    LeaveRace,
    QuickMatch,
    Ready,
    Rematch,
    Resign,
    Say,
    Stop,
    WhoAmI,
)
from protocol.errors import ErrorCode
from protocol.room_events import PlayerReady, Progress, RematchAsked, Result, Room, Said, Started
from protocol.server_messages import Error, Left, Lobby, ServerMessage, WaitingMatch, YouAre
from protocol.tournament_messages import CreateTournament, Decided, FollowTournament, FollowTournaments, Tournament, Tournaments
from protocol.tournaments import TournamentOptions
from protocol.watch_messages import Talk, Unwatch, Unwatched, Watched, WatchRace
from tests.server.net.wire import Client, House

NONCE = "ab" * 16


async def heard_for(client: Client, *messages: ClientMessage) -> list[ServerMessage]:
    """All that comes for these requests of somebody in a room, up to the answer of a last one: what a room tells, it tells in order."""
    for message in (*messages, Say(phrase="hello", ref=999)):
        await client.say(message)
    said = await client.hear()
    heard: list[ServerMessage] = []
    while not isinstance(said, Said) or (said.line.seat, said.ref) != (client.seat, 999):
        heard += [said] if not isinstance(said, Said) else []
        said = await client.hear()
    return heard


async def start(ann: Client, ben: Client) -> None:
    room = await ann.open()
    await ben.join(room.code)
    for client in (ann, ben):
        await client.ready()
    for client in (ann, ben):
        await client.hear_of(Started)


async def test_a_second_ready_has_no_answer(house: House) -> None:
    async with house.guest() as ann:
        await ann.open()
        (answer,) = await heard_for(ann, Ready(race=1, nonce=NONCE))
        assert isinstance(answer, PlayerReady)
        assert answer.seat == ann.seat
        assert await heard_for(ann, Ready(race=1, nonce="cd" * 16)) == []


async def test_to_stop_following_has_no_answer(house: House) -> None:
    async with house.guest() as ann:
        made = await ann.ask(CreateTournament(options=TournamentOptions(name="Cup")), Decided)
        for follow, stop, kind in (
            (FollowLobby(ref=1), FollowLobby(follow=False, ref=2), Lobby),
            (FollowTournaments(ref=3), FollowTournaments(follow=False, ref=4), Tournaments),
            (FollowTournament(id=made.id, ref=5), FollowTournament(id=made.id, follow=False, ref=6), Tournament),
        ):
            await ann.ask(follow, kind)
            await ann.say(stop)
            await ann.say(WhoAmI(ref=9))
            assert isinstance(await ann.hear(), YouAre)


@pytest.mark.parametrize(("ask", "state"), [(Stop, "stopped"), (Resign, "forfeited")])
async def test_a_part_that_is_given_up_is_answered_by_its_progress_and_then_refused(
    house: House, ask: type[Stop | Resign], state: str
) -> None:
    async with house.guest("Ann") as ann, house.guest("Ben") as ben, house.guest("Eve") as eve:
        room = await ann.open(seats=3)
        for client in (ben, eve):
            await client.join(room.code)
        for client in (ann, ben, eve):
            await client.ready()
        await ann.hear_of(Started)
        (answer,) = await heard_for(ann, ask(race=1, seat=ann.seat))
        assert isinstance(answer, Progress)
        assert (answer.seat, answer.state) == (ann.seat, state)
        (refusal,) = await heard_for(ann, ask(race=1, seat=ann.seat, ref=7))
        assert isinstance(refusal, Error)
        assert (refusal.code, refusal.ref) == (ErrorCode.SEAT_ENDED.value, 7)


async def test_a_second_rematch_has_no_answer_and_the_last_is_followed_by_the_room(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Ben") as ben:
        await start(ann, ben)
        await ben.say(Resign(race=1, seat=ben.seat))
        await ann.say(Stop(race=1, seat=ann.seat))
        await ann.hear_of(Result)
        await heard_for(ann)
        (asked,) = await heard_for(ann, Rematch(race=1))
        assert isinstance(asked, RematchAsked)
        assert asked.seat == ann.seat
        assert await heard_for(ann, Rematch(race=1)) == []
        await ben.hear_of(RematchAsked)
        own, room = await heard_for(ben, Rematch(race=1))
        assert isinstance(own, RematchAsked)
        assert isinstance(room, Room)
        late = await ben.error_for(Rematch(race=1))
        assert late.code == ErrorCode.WRONG_RACE.value


async def test_leaving_once_more_is_answered_like_the_first_time_until_the_room_is_gone(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Ben") as ben:
        assert (await ann.error_for(LeaveRace(ref=1))).code == ErrorCode.NOT_IN_ROOM.value
        await start(ann, ben)
        for ref in (2, 3):
            left = await ann.ask(LeaveRace(ref=ref), Left)
            assert (left.reason, left.ref) == ("left", ref)
        await ben.ask(LeaveRace(ref=4), Left)
        assert (await ann.error_for(LeaveRace(ref=5))).code == ErrorCode.ROOM_CLOSED.value


async def test_of_requests_to_watch_that_overtake_each_other_only_the_last_is_answered(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Ben") as ben, house.guest("Eve") as eve:
        await start(ann, ben)
        assert ann.room is not None
        code = ann.room.code
        connection = house.dispatch.visits()[-1].connection
        for ref in (1, 2):
            house.dispatch.heard(connection, WatchRace(code=code, ref=ref))
        assert (await eve.hear_of(Watched)).ref == 2
        for message in (WatchRace(code=code, ref=3), Unwatch(ref=4)):
            house.dispatch.heard(connection, message)
        assert (await eve.hear_of(Unwatched)).ref == 4
        await eve.ask(WatchRace(code=code, ref=5), Watched)
        assert [each.ref for each in eve.heard if isinstance(each, Watched)] == [2, 5]


async def test_of_requests_to_follow_a_tournament_that_overtake_each_other_only_the_last_is_answered(house: House) -> None:
    async with house.guest() as ann:
        made = await ann.ask(CreateTournament(options=TournamentOptions(name="Cup")), Decided)
        (visit,) = house.dispatch.visits()
        for ref in (1, 2):
            house.dispatch.heard(visit.connection, FollowTournament(id=made.id, ref=ref))
        assert (await ann.hear_of(Tournament)).ref == 2
        await ann.ask(FollowTournament(id=made.id, ref=3), Tournament)
        assert [each.ref for each in ann.heard if isinstance(each, Tournament) and each.ref] == [2, 3]


async def test_a_line_of_chat_is_answered_by_the_line(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Eve") as eve:
        room = await ann.open()
        said = await ann.ask(Say(text="Hello", ref=5), Said)
        assert (said.line.text, said.ref) == ("Hello", 5)
        await eve.ask(WatchRace(code=room.code), Watched)
        talk = await eve.ask(Say(text="Good evening", ref=6), Talk)
        assert talk.lines[-1].text == "Good evening"


async def test_whoever_finds_an_opponent_at_once_is_answered_by_the_room(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Ben") as ben:
        await ann.ask(QuickMatch(ref=1), WaitingMatch)
        assert (await ben.ask(QuickMatch(ref=2), Room)).ref == 2
        assert not any(isinstance(each, WaitingMatch) for each in ben.heard)
        assert (await ann.hear_of(Room)).ref == 1


async def test_a_race_joined_again_with_nothing_missed_has_no_answer_before_the_deal(house: House) -> None:
    async with house.guest() as ann:
        room = await ann.open()
        assert await heard_for(ann, JoinRace(code=room.code, version=ann.version)) == []
