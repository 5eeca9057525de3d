"""Searching a whole server in memory: what is found, and what must stay hidden."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
import trio

from protocol.pages import FOUND, Found
from protocol.tournament_messages import CreateTournament, Decided
from protocol.tournaments import TournamentOptions
from protocol.views import RaceOptions, SharedDeal
from server.race.shared_deal_spec import SharedDealSpec
from server.store.port import SharedDealMade
from tests.server.net.wire import House
from tests.server.store.keeping import NOW, made, opened, over, rated_over, write


async def search(house: House, query: str) -> Found:
    answered = await house.ask(f"/search.json{query}")
    assert answered.status == 200, answered.body
    return msgspec.json.decode(answered.body, type=Found)


async def test_players_are_found_with_their_ratings_and_who_is_named_exactly_with_their_races(house: House) -> None:
    write(house.store, *map(made, ["anna", "anne", "ben"]))
    write(house.store, opened("ABC-1-0a"), rated_over("ABC-1-0a", {"anna": 1, "ben": 2}))
    write(house.store, opened("ABC-2-0b", options=RaceOptions(rules="colorado")), over("ABC-2-0b", "anna", "ben", at=5))
    begins = await search(house, "?q=AN")
    assert [(each.name, each.rating, each.races) for each in begins.players] == [("Anna", 1138, 1), ("Anne", None, 0)]
    assert begins.races == ()
    exactly = await search(house, "?q=anna")
    assert [(race.id, race.rules) for race in exactly.races] == [("ABC-2-0b", "colorado"), ("ABC-1-0a", "carpet")]
    assert [race.id for race in (await search(house, "?q=anna&rules=carpet")).races] == ["ABC-1-0a"]
    assert [race.id for race in (await search(house, "?rules=colorado")).races] == ["ABC-2-0b"]
    assert (await search(house, "?q=an&rules=colorado")).races == ()


async def test_of_each_kind_there_are_so_many_at_most(house: House) -> None:
    write(house.store, *(made(f"anna{number}") for number in range(FOUND + 5)))
    for number in range(FOUND + 5):
        write(house.store, opened(f"ABC-{number}-0a"), over(f"ABC-{number}-0a", "anna0", "anna1", at=number))
    found = await search(house, "?rules=carpet")
    assert [race.id for race in found.races] == [f"ABC-{number}-0a" for number in reversed(range(5, FOUND + 5))]
    assert len((await search(house, "?q=anna")).players) == FOUND


async def test_what_came_of_a_race_is_not_found_while_others_have_yet_to_play_its_deal(house: House) -> None:
    shared = SharedDeal(kind="daily", id="2001-02-03", nonces=("7c" * 16,))
    reveals = house.clock.wall_ms() + 60_000
    deal = SharedDealMade(kind="daily", id=shared.id, secret=bytes(32), at_ms=NOW, reveals_at_ms=reveals)
    spec = SharedDealSpec(deal=shared, invited=("anna",))
    write(house.store, made("anna"), deal, replace(opened("ABC-1-0a"), spec=spec), over("ABC-1-0a", "anna", None))
    for query in ("?q=anna", "?rules=carpet"):
        assert (await search(house, query)).races == ()
    await trio.sleep(60)
    for query in ("?q=anna", "?rules=carpet"):
        assert [race.id for race in (await search(house, query)).races] == ["ABC-1-0a"]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("?q=" + "a" * 65, "q must have at most 64 characters."),
        ("?rules=bridge", "rules must be the id of a rule set: carpet, "),
        ("?q=a&q=b", "That address gives a parameter twice."),
    ],
)
async def test_what_cannot_be_looked_for_is_said(house: House, query: str, says: str) -> None:
    status, sentence = (await house.ask(f"/search.json{query}")).problem
    assert status == 400
    assert sentence.startswith(says)


@pytest.mark.parametrize("query", ["", "?q=", "?q=%20%20", "?q=%25", "?q=%27%20OR%201=1", "?q=%F0%9F%A6%86", "?rules="])
async def test_what_is_nowhere_is_not_found(house: House, query: str) -> None:
    write(house.store, made("anna"))
    assert await search(house, query) == Found(players=(), races=(), tournaments=(), days=())


async def test_tournaments_are_found_by_their_names_and_days_by_their_dates(house: House) -> None:
    async with house.guest("Grace") as grace:
        for name in ("Autumn Open", "Winter Cup"):
            await grace.ask(CreateTournament(options=TournamentOptions(name=name, format="swiss", rules="carpet")), Decided)
        assert [each.name for each in (await search(house, "?q=open")).tournaments] == ["Autumn Open"]
        assert (await search(house, "?q=open&rules=colorado")).tournaments == ()
    days = (await search(house, "?q=2")).days
    assert days
    assert (await search(house, f"?q={days[0]}")).days == days[:1]
    assert (await search(house, "?q=1999")).days == ()


@pytest.mark.parametrize("address", ["/search.json?q=2", "/daily.json", "/daily/2001-02-03/carpet", "/challenge/ABCDEF"])
async def test_who_asks_for_runs_when_too_many_do_is_told_to_ask_again(house: House, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr("server.runs.service.ASKED_WAITING", 0)
    answered = await house.ask(address)
    assert answered.problem == (503, "The server is overloaded; try again in a moment.")
    assert answered.headers["retry-after"] == "1"
