"""Guests: they watch and follow the lobby, have no identity, and leave nothing behind."""

from __future__ import annotations

import pytest
import trio
from msgspec.structs import replace
from websockets.frames import Frame, Opcode
from websockets.protocol import Event

from protocol.client_messages import FollowLobby, Hello, LeaveRace, Ready
from protocol.codec import ENCODINGS
from protocol.errors import ErrorCode
from protocol.room_events import PlayerReady
from protocol.server_messages import Left, Lobby, Welcome
from protocol.tournament_messages import (
    Called,
    CreateTournament,
    Decided,
    EnterTournament,
    FollowTournament,
    StartTournament,
    Tournament,
)
from protocol.views import SeriesOptions
from protocol.watch_messages import AskBoardsKey, Board, BoardsKey, Unwatch, Unwatched, Watched, WatchedEvent, Watchers, WatchRace
from server.net.connection import PING_INTERVAL_S, WATCHER_PING_S
from server.net.identification import HELLO_S
from server.runtime import log_lines
from tests.server.net.wire import Client, House
from tests.server.tournaments.venue import FAST


async def arrive(client: Client, name: str = "", token: str | None = None) -> Welcome:
    return await client.ask(Hello(name=name, token=token, watch=True), Welcome)


@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_a_guest_is_nobody_and_is_kept_nowhere(house: House, encoding: str) -> None:
    async with house.client(encoding) as guest:
        welcome = await arrive(guest, "Ann", "no token of this server")
        assert (welcome.player, welcome.name, welcome.token, welcome.room) == ("", "", "", None)
        assert welcome.rules[0].id == "carpet"
        lobby = await guest.ask(FollowLobby(), Lobby)
        assert (lobby.players, lobby.players_here) == ((), 0)
        assert house.store.player_by_name("Ann") is None
        async with house.guest("Ann") as ann:
            assert ann.welcome.name == "Ann"
            assert (await guest.hear_of(Lobby)).players == ("Ann",)


async def test_a_guest_stays_as_long_as_they_like(house: House) -> None:
    async with house.client() as guest:
        await arrive(guest)
        await trio.sleep(10 * HELLO_S)
        assert (await guest.ask(FollowLobby(), Lobby)).players_here == 0


@pytest.mark.usefixtures("both_kinds")
async def test_whoever_only_watches_is_pinged_less_often_until_they_say_that_they_would_race(house: House) -> None:
    pings: list[float] = []
    async with house.guest("Ann") as ann, house.client() as watching:
        token = ann.welcome.token
        await arrive(watching, token=token)
        process_event = watching.line.process_event

        def noted(event: Event) -> None:
            if isinstance(event, Frame) and event.opcode is Opcode.PING:
                pings.append(trio.current_time())
            process_event(event)

        watching.line.process_event = noted  # type: ignore[method-assign]
        # The first interval had begun before they said hello.
        await trio.sleep(PING_INTERVAL_S + 4.5 * WATCHER_PING_S)
        assert len(pings) == 5
        await watching.ask(Hello(name="Ann", token=token), Welcome)
        # To the middle between two pings.
        await trio.sleep(WATCHER_PING_S + PING_INTERVAL_S / 2)
        pings.clear()
        await trio.sleep(10 * PING_INTERVAL_S)
        assert len(pings) == 10


async def test_a_guest_sees_a_race_as_every_watcher_does(house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, _), house.client() as guest:
        await arrive(guest)
        watched = await guest.ask(WatchRace(code=house.only_room.code), Watched)
        assert watched.room.seat is None
        assert watched.room.view is None
        assert watched.boards == ()
        assert (await ann.hear_of(Watchers)).count == 1
        await ann.move()
        assert (await guest.hear_of(WatchedEvent)).event.version == watched.room.version + 1
        assert (await guest.hear_of(Board)).race == 1
        assert (await guest.ask(Unwatch(), Unwatched)).reason == "asked"
    assert house.store.player_by_name("") is None


async def test_a_guest_may_do_nothing_else(house: House) -> None:
    async with house.guest("Ann") as ann, house.client() as guest:
        room = await ann.open()
        await arrive(guest)
        asked: list[dict[str, object]] = [
            {"type": "open-race", "options": {}},
            {"type": "join-race", "code": room.code},
            {"type": "leave-race"},
            {"type": "ready", "race": 1, "nonce": "00" * 16},
            {"type": "move", "race": 1, "seat": 0, "ply": 0, "move": "s"},
            {"type": "stop", "race": 1, "seat": 0},
            {"type": "resign", "race": 1, "seat": 0},
            {"type": "rematch", "race": 1},
            {"type": "say", "text": "Hello!"},
            {"type": "who-am-i"},
            {"type": "rename", "name": "Bob"},
        ]
        for number, message in enumerate(asked, 1):
            await guest.say_map({**message, "ref": number})
            assert await guest.refusal() == (ErrorCode.WATCHES_ONLY, number)
        assert len(house.rooms) == 1
        assert [seat.name for seat in house.only_room.core.race.seats] == ["Ann", ""]


async def test_a_guest_says_hello_once_and_becomes_nobody_else(house: House) -> None:
    async with house.client() as guest, house.guest("Ann") as ann:
        await arrive(guest)
        assert (await guest.error_for(Hello(name="Ann", token=ann.welcome.token))).code == ErrorCode.HELLO_TWICE
        # Whoever has a token may still ask whose it is, as before any hello.
        await guest.say_map({"type": "who-am-i", "token": ann.welcome.token})
        assert (await guest.hear()).name == "Ann"  # type: ignore[union-attr]
        assert (await ann.ask(FollowLobby(), Lobby)).players_here == 1


async def test_any_number_of_guests_may_be_here_at_once(house: House) -> None:
    async with house.race("Ann", "Bob"), house.client() as one, house.client() as other:
        for guest in (one, other):
            await arrive(guest)
            await guest.say(WatchRace())
        counts = [(await guest.hear_of(Watched)).watchers for guest in (one, other)]
        assert max(counts) == 2
        for guest in (one, other):
            assert (await guest.ask(Unwatch(), Unwatched)).reason == "asked"


async def test_the_host_has_a_key_of_whole_boards_and_nobody_else_nor_in_a_rated_race(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob, house.client() as second, house.client() as guest:
        room = await ann.open(rated=False)
        await bob.join(room.code)
        await arrive(second, token=ann.welcome.token)
        await arrive(guest)
        keys: list[str] = []
        for client in (ann, second):
            told = await client.ask(AskBoardsKey(code=room.code, ref=7), BoardsKey)
            assert (told.code, told.ref) == (room.code, 7)
            keys.append(told.key)
        assert (await guest.ask(WatchRace(code=room.code, key=keys[-1]), Watched)).room.code == room.code
        assert (await bob.hear_of(Watchers)).whole
        assert (await bob.error_for(AskBoardsKey(code=room.code))).code == ErrorCode.NO_KEY
        assert (await guest.error_for(AskBoardsKey(code=room.code))).code == ErrorCode.WATCHES_ONLY
        assert (await guest.error_for(WatchRace(code=room.code, key="B" * 16))).code == ErrorCode.WRONG_KEY
    async with house.guest("Cleo") as cleo:
        assert (await cleo.error_for(AskBoardsKey(code=(await cleo.open(rated=True)).code))).code == ErrorCode.NO_KEY
        # In a swap they would see the shuffle that they play next.
        await cleo.ask(LeaveRace(), Left)
        swap = await cleo.open(rated=False, series=SeriesOptions(format="swap", races=2))
        assert (await cleo.error_for(AskBoardsKey(code=swap.code))).code == ErrorCode.NO_KEY


async def test_the_director_has_a_key_of_all_boards_once_the_log_says_so_and_cannot_play_from_then_on(house: House) -> None:
    async with house.guest("Dora") as dora, house.guest("Ann") as ann, house.guest("Ben") as ben, house.client() as screen:
        identity = (await dora.ask(CreateTournament(options=replace(FAST, rounds=2)), Decided)).id
        for entrant in (ann, ben):
            await entrant.ask(EnterTournament(id=identity), Decided)
        await dora.ask(StartTournament(id=identity), Decided)
        code = (await ann.hear_of(Called)).code
        assert (await ann.error_for(AskBoardsKey(code=code))).code == ErrorCode.NO_KEY
        told = await dora.ask(FollowTournament(id=identity), Tournament)
        keys = {(await dora.ask(AskBoardsKey(code=code), BoardsKey)).key for _ in range(2)}
        logged = (await dora.ask(FollowTournament(id=identity), Tournament)).log
        assert [decision.kind for decision in logged[len(told.log) :]] == ["give-boards-key"], "once, whenever they ask again"
        assert logged[-1].text == "Dora, who directs it, can see the boards of all tables with every card face up."
        assert (await dora.error_for(EnterTournament(id=identity))).code == ErrorCode.DECISION_REFUSED
        await arrive(screen)
        (key,) = keys
        assert (await screen.ask(WatchRace(code=code, key=key), Watched)).room.code == code


async def test_the_host_of_a_race_that_cannot_be_rated_has_the_key_whatever_they_wished(house: House) -> None:
    async with house.guest("Ann") as ann:
        room = await ann.open(rated=True, bots=("random",))
        assert (await ann.ask(AskBoardsKey(code=room.code), BoardsKey)).code == room.code


async def test_a_line_of_the_log_says_which_connection_and_race_it_is_about(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    about: list[tuple[str, str]] = []
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        room = await ann.open()
        core = house.only_room.core
        take = core.take

        def noted(request: object, now: int) -> object:
            about.append((log_lines.connection.get(), log_lines.race.get()))
            return take(request, now)  # type: ignore[arg-type]

        monkeypatch.setattr(core, "take", noted)
        await bob.join(room.code)
        await ann.say(Ready(race=1, nonce="ab" * 16))
        await bob.hear_of(PlayerReady)
    race = core.race.id
    (joined, its_race), (ready, same_race) = about[:2]
    assert its_race == same_race == race
    assert joined
    assert ready
    assert joined != ready
    assert (log_lines.connection.get(), log_lines.race.get()) == ("", "")
