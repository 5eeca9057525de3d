"""The pages of tournaments, on a whole server in memory."""

from __future__ import annotations

import csv
import gzip
import io

import msgspec
import pytest

from protocol.client_messages import FollowLobby, Hello, JoinRace, Ready
from protocol.room_events import Started
from protocol.server_messages import Error, Lobby
from protocol.tournament_messages import (
    AddBot,
    Called,
    CreateTournament,
    Decided,
    EnterTournament,
    FollowTournament,
    FollowTournaments,
    StartTournament,
    Tournament,
    Tournaments,
)
from protocol.tournaments import TournamentDocument, TournamentOptions, TournamentsDocument
from server.pages.tournaments import harmless
from server.store.errors import StoreBusy
from tests.server.net.wire import Client, House

OPTIONS = TournamentOptions(name="=SUM(A1)", check_in_s=0, pause_s=0, rounds=1, countdown_s=1)


async def made(client: Client, options: TournamentOptions = OPTIONS, code: str | None = None) -> str:
    answer = await client.ask(CreateTournament(options=options, code=code, ref=5), Decided)
    assert (answer.ref, answer.number) == (5, 0)
    return answer.id


async def test_a_tournament_is_given_out_whole_and_as_a_table(house: House) -> None:
    async with house.guest("@Ada") as ada:
        identity = await made(ada)
        await ada.say(FollowTournament(id=identity))
        assert (await ada.ask(EnterTournament(id=identity, ref=6), Decided)).number == 1
        assert (await ada.ask(AddBot(id=identity, ref=7), Decided)).number == 2
        answered = await house.ask(f"/tournaments/{identity}.json")
        assert answered.status == 200
        document = msgspec.json.decode(answered.body, type=TournamentDocument)
        assert [(entrant.name, entrant.bot) for entrant in document.entrants] == [("@Ada", None), ("random 1", "random")]
        assert [entry.text for entry in document.log] == ["@Ada enters.", "random 1 enters, a house bot."]
        assert (document.phase, document.director, document.rounds) == ("registration", "@Ada", ())
        zipped = await house.ask(f"/tournaments/{identity}.json", headers="Accept-Encoding: gzip\r\n")
        assert gzip.decompress(zipped.body) == answered.body
        await ada.ask(AddBot(id=identity, ref=8), Decided)
        assert len(msgspec.json.decode((await house.ask(f"/tournaments/{identity}.json")).body, type=TournamentDocument).entrants) == 3
        answered = await house.ask(f"/tournaments/{identity.lower()}.csv")
        assert answered.headers["content-type"] == "text/csv; charset=utf-8"
        rows = list(csv.DictReader(io.StringIO(answered.body.decode())))
        assert [(row["place"], row["name"], row["bot"]) for row in rows] == [
            ("1", "'@Ada", ""),
            ("1", "random 1", "random"),
            ("1", "random 2", "random"),
        ]
        assert {row["points"] for row in rows} == {"0"}
        listed = msgspec.json.decode((await house.ask("/tournaments.json")).body, type=TournamentsDocument)
        assert [(found.id, found.name, found.entrants) for found in listed.tournaments] == [(identity, "=SUM(A1)", 3)]


@pytest.mark.parametrize("path", ["/tournaments/NOSUCH.json", "/tournaments/x.json", "/tournaments/NOSUCH.csv"])
async def test_there_is_no_page_of_a_tournament_that_is_not_there(house: House, path: str) -> None:
    assert (await house.ask(path)).problem == (404, "There is no tournament with that id.")


@pytest.mark.parametrize("path", ["/tournaments/KWPRTM.json", "/tournament/KWPRTM"])
async def test_a_store_that_does_not_answer_is_no_fault_of_the_page(house: House, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    def busy(tournament: str) -> None:
        raise StoreBusy(tournament)

    monkeypatch.setattr(house.store, "tournament", busy)
    assert (await house.ask(path)).problem == (503, "The store cannot be read now; try again later.")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", " =1", "\uff1d1+1", "\uff0b1"])
def test_no_cell_is_a_formula(text: str) -> None:
    assert harmless(text) == f"'{text}"
    assert harmless("Ada -1") == "Ada -1"
    assert harmless(f"Ada;{text}") == f"Ada;'{text}"


async def test_tables_of_a_public_tournament_are_listed_while_they_race(house: House) -> None:
    async with house.guest("Ada") as ada, house.guest("Bob") as bob, house.client() as guest:
        shown, hidden = await made(ada), await made(bob, msgspec.structs.replace(OPTIONS, public=False))
        for player, identity in ((bob, hidden), (ada, shown)):
            for message in (EnterTournament(id=identity), AddBot(id=identity)):
                await player.ask(message, Decided)
            await player.say(StartTournament(id=identity))
            await player.say(JoinRace(code=(await player.hear_of(Called)).code))
            await player.ask(Ready(race=1, nonce="00" * 16), Started)
        await guest.say(Hello(name="", watch=True))
        told = await guest.ask(FollowLobby(), Lobby)
        assert [race.tournament for race in told.running] == [shown]
        assert (told.races, told.races_running) == ((), 2)


async def test_guests_follow_and_do_not_enter(house: House) -> None:
    async with house.guest("Ada") as ada, house.client() as guest:
        identity = await made(ada)
        hidden = await made(ada, msgspec.structs.replace(OPTIONS, public=False, name="Hidden"))
        await guest.say(Hello(name="", watch=True))
        told = await guest.ask(FollowTournaments(), Tournaments)
        assert [(found.id, found.phase) for found in told.tournaments] == [(identity, "registration")]
        assert told.running == 2
        assert (await guest.ask(FollowTournament(id=hidden), Tournament)).options.name == "Hidden"
        assert (await guest.ask(EnterTournament(id=identity), Error)).code == "hello/watches-only"
        error = await guest.ask(FollowTournament(id="NOSUCH", ref=3), Error)
        assert (error.code, error.ref) == ("tournament/no-such-id", 3)


async def test_followers_are_told_of_every_stage_and_of_how_far_the_races_are(house: House) -> None:
    async with house.guest("Ada") as ada:
        identity = await made(ada, msgspec.structs.replace(OPTIONS, fill=4))
        await ada.say(FollowTournament(id=identity))
        await ada.say(StartTournament(id=identity))
        phases: list[Tournament] = []
        while not phases or phases[-1].phase != "over":
            phases.append(await ada.hear_of(Tournament))
        assert phases[0].phase == "registration"
        running = [told for told in phases if told.phase == "running"]
        assert running
        assert all(table.code is not None and len(table.sides) == 2 for table in running[0].tables)
        last = phases[-1]
        assert [found.open for found in last.rounds] == [0]
        assert all(table.result is not None and table.race_ids for table in last.tables)
        assert [told.decisions for told in phases] == sorted(told.decisions for told in phases)
