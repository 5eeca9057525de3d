"""A second connection that watches with a player's token: it takes nothing over, and gets no board of the player's own races."""

from __future__ import annotations

import random

import trio

from protocol.client_messages import FollowLobby, Hello, JoinRace, LeaveRace, OpenRace, Rename, Say, WhoAmI
from protocol.errors import ErrorCode
from protocol.room_events import Result, Room, Seated
from protocol.run_messages import Challenge, Challenges, ListChallenges, OpenChallenge
from protocol.server_messages import Left, Lobby, Welcome, YouAre
from protocol.tournament_messages import (
    AddBot,
    CreateTournament,
    Decided,
    EnterTournament,
    FollowTournament,
    StartTournament,
    Tournament,
)
from protocol.tournaments import TournamentOptions
from protocol.views import RaceOptions
from protocol.watch_messages import Board, Talk, Unwatched, Watched, WatchedEvent, WatchRace
from tests.server.net.wire import Client, House
from tests.server.rooms.test_secrecy_of_traffic import cards_in


async def come_to_watch(client: Client, token: str | None, name: str = "") -> Welcome:
    return await client.ask(Hello(name=name, token=token, watch=True), Welcome)


def token_of(client: Client) -> str:
    return client.welcome.token


async def test_a_connection_that_comes_to_watch_takes_nothing_over(house: House) -> None:
    async with house.race("Ann", "Bob", delay_s=0) as (ann, _), house.client() as second:
        welcome = await come_to_watch(second, token_of(ann), "Nobody asks")
        assert (welcome.player, welcome.name, welcome.token) == (ann.welcome.player, "Ann", token_of(ann))
        assert welcome.room is None, "there is no way back to the seat by this line"
        assert (await second.ask(FollowLobby(), Lobby)).players_here == 2
        assert (await ann.play()).ply == 1


async def test_whoever_races_watches_another_race_by_it_and_talks_there(house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, _), house.guest("Cid") as cid, house.client() as second, house.guest("Eve") as eve:
        other = (await cid.open(seats=2, delay_s=0)).code
        await come_to_watch(second, token_of(ann))
        for client in (second, eve):
            assert (await client.ask(WatchRace(code=other), Watched)).room.code == other
        await second.say(Say(text="Hello, Cid."))
        assert [(line.name, line.text) for line in (await eve.hear_of(Talk)).lines] == [("Ann", "Hello, Cid.")]
        own = next(room for room in house.rooms if room.code != other)
        assert (await second.error_for(Say(text="what I hold", code=own.code))).code == ErrorCode.NOT_IN_ROOM


async def test_by_no_connection_is_a_player_shown_their_own_race(house: House) -> None:
    """They ask for anything in any order; what others are sent shows that there was something to see."""
    chance = random.Random(7)
    async with house.race("Ann", "Bob", delay_s=0) as (ann, bob), house.guest("Eve") as eve, house.client() as early:
        room = house.only_room
        await eve.say(WatchRace(code=room.code))
        await come_to_watch(early, token_of(ann))
        lines = [early]
        async with house.client() as late:
            lines.append(late)
            await come_to_watch(late, token_of(bob))
            for _ in range(20):
                await chance.choice(lines).say(WatchRace(code=chance.choice([room.code, None])))
                await ann.play()
                await trio.sleep(chance.uniform(0.2, 2))
            # Who has left is told no more than who stays.
            await bob.ask(LeaveRace(), Left)
            await late.say(WatchRace(code=room.code))
            await ann.say_map({"type": "stop", "race": 1, "seat": ann.seat})
            await ann.hear_of(Result)
            await eve.hear_of(Board)
            for line in lines:
                while True:
                    with trio.move_on_after(1) as nothing:
                        await line.hear()
                    if nothing.cancelled_caught:
                        break
                assert not [message for message in line.heard if isinstance(message, Board | WatchedEvent)]
                before_result = [message for message in line.heard if not isinstance(message, Watched) or message.room.record is None]
                assert not any(cards_in(message) for message in before_result)


async def test_a_seat_that_is_taken_by_the_one_connection_ends_the_watching_by_the_other(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob, house.client() as second:
        code = (await bob.open(seats=2, delay_s=0)).code
        await come_to_watch(second, token_of(ann))
        await second.ask(WatchRace(code=code), Watched)
        await ann.say(JoinRace(code=code))
        assert (await second.hear_of(Unwatched)).reason == "seated"
        await bob.hear_of(Seated)


async def test_a_challenge_is_opened_beside_the_connection_of_its_player_and_by_no_guest(house: House) -> None:
    async with house.guest("Ann") as ann, house.client() as second, house.client() as guest:
        await come_to_watch(second, token_of(ann))
        opened = (await second.ask(OpenChallenge(nonce="ab" * 16), Challenge)).challenge
        assert opened.owner == "Ann"
        assert [each.id for each in (await ann.ask(ListChallenges(), Challenges)).challenges] == [opened.id]
        await guest.say(Hello(name="", watch=True))
        await guest.hear_of(Welcome)
        assert (await guest.error_for(OpenChallenge(nonce="ab" * 16))).code == ErrorCode.WATCHES_ONLY


async def test_a_director_decides_beside_their_connection_and_neither_an_entrant_nor_a_guest_does(house: House) -> None:
    async with (
        house.guest("Ann") as ann,
        house.guest("Bob") as bob,
        house.client() as second,
        house.client() as other,
        house.client() as guest,
    ):
        made = await ann.ask(CreateTournament(options=TournamentOptions(name="Open", check_in_s=60)), Decided)
        await bob.ask(EnterTournament(id=made.id), Decided)
        for client, token in ((second, token_of(ann)), (other, token_of(bob)), (guest, None)):
            await come_to_watch(client, token)
        assert (await other.error_for(StartTournament(id=made.id))).code == ErrorCode.NOT_THE_DIRECTOR
        assert (await guest.error_for(StartTournament(id=made.id))).code == ErrorCode.WATCHES_ONLY
        for message in (EnterTournament(id=made.id), CreateTournament(options=TournamentOptions(name="Another"))):
            assert (await second.error_for(message)).code == ErrorCode.WATCHES_ONLY
        await second.ask(AddBot(id=made.id), Decided)
        await second.ask(StartTournament(id=made.id), Decided)
        told = await ann.ask(FollowTournament(id=made.id), Tournament)
        assert (told.phase, len(told.entrants)) == ("check-in", 2)


async def test_whoever_watches_by_their_token_may_go_on_to_race_by_the_same_connection(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob, house.client() as second:
        await come_to_watch(second, token_of(ann))
        refused = await second.error_for(OpenRace(options=RaceOptions(), ref=3))
        assert (refused.code, refused.ref) == (ErrorCode.WATCHES_ONLY, 3)
        # Somebody else they cannot become, nor watch once more.
        for hello in (Hello(name="", token=token_of(bob)), Hello(name="Cid"), Hello(name="", token=token_of(ann), watch=True)):
            assert (await second.error_for(hello)).code == ErrorCode.HELLO_TWICE
        await second.say(Hello(name="Ann", token=token_of(ann)))
        assert (await second.ask(OpenRace(options=RaceOptions()), Welcome)).name == "Ann"
        assert (await second.hear_of(Room)).seat == 0
        assert (await ann.hear_end())[0] == 4009
        assert (await second.error_for(Hello(name="Ann", token=token_of(ann)))).code == ErrorCode.HELLO_TWICE


async def test_both_connections_of_a_player_hear_of_their_new_name(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob, house.client() as second:
        code = (await bob.open(seats=2)).code
        await come_to_watch(second, token_of(ann))
        await second.ask(WatchRace(code=code), Watched)
        assert await second.ask(Rename(name="Anna", ref=5), YouAre) == YouAre(player=ann.welcome.player, name="Anna", ref=5)
        assert (await ann.hear_of(YouAre)).ref == 0
        await ann.say(Rename(name="Annie"))
        assert (await second.hear_of(YouAre)).name == "Annie"
        assert (await second.ask(WhoAmI(), YouAre)).name == "Annie"
        assert (await second.ask(Say(text="Good evening."), Talk)).lines[0].name == "Annie"
