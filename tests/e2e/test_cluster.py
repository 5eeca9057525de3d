"""A cluster of three servers: players race whichever server they come in by; one is killed, one sleeps, one is stopped politely. And two
servers in a browser.

For many blows of each kind see `tests/bench/cluster_kills.py`.
"""

from __future__ import annotations

import signal
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, suppress
from functools import partial

import pytest
import trio

from client.connection.client import NetLink
from client.connection.errors import LinkError
from client.connection.events import Identity, LinkEvent
from client.local.policies import POLICIES
from client.local.scripted_player import run_bot
from client.state.store import Model
from protocol.client_messages import OpenRace, QuickMatch
from protocol.room_events import Ended, Room
from protocol.run_messages import RunDaily
from protocol.server_messages import ServerMessage, WaitingMatch
from protocol.tournaments import TournamentOptions
from protocol.views import RaceOptions
from server.store.maintenance import nodes as all_nodes
from tests.e2e.browser import Browser, open_browser
from tests.e2e.cluster import (
    ClusterPair,
    Ground,
    begin_tournament,
    busiest,
    check,
    check_owners,
    check_tournament,
    keep_log,
    leader,
    raced_at,
)
from tests.e2e.crash import Pauses, check_pairs, kept_records
from tests.e2e.entrants import Entrant, Hold, persistent_link
from tests.e2e.nodes import NodeProcess, nodes
from tests.e2e.test_play_in_browser import HEARD, heard, play_one, wait_for_cards
from tests.server.cluster.redis_server import redis_server
from tests.server.store.conftest import postgres_schema


@pytest.fixture
def database() -> Iterator[str]:
    with postgres_schema() as (url, _):
        yield url


@pytest.mark.slow
async def test_races_outlive_a_server_that_is_killed_one_that_sleeps_and_one_that_goes(database: str) -> None:
    with redis_server() as redis:
        async with nodes(database, redis.url) as place:
            ground = Ground(place, Pauses(13), is_watched=True)
            keep_log(database)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ground.play, 4)
                await raced(ground, 4)

                # Each time where most races are.
                killed = await busiest(place, database)
                racing = ground.begin_blow()
                await killed.end(signal.SIGKILL)
                await ground.recovered(racing)
                assert max(ground.end_blow(racing)) > 1, "no race was on the server that was killed"
                await killed.start()

                sleeper = await busiest(place, database)
                racing = ground.begin_blow()
                sleeper.signal(signal.SIGSTOP)
                await ground.recovered(racing)
                sleeper.signal(signal.SIGCONT)
                # It finds that its races are others' now.
                await trio.sleep(2)

                leaver = await busiest(place, database)
                racing = ground.begin_blow()
                assert await leaver.end(signal.SIGTERM) == 0
                await ground.recovered(racing)
                ground.finish()
            for node in place:
                if node is not leaver:
                    assert await node.end(signal.SIGTERM) == 0
    await trio.to_thread.run_sync(check, ground, database)
    assert ground.count.lost == []
    assert ground.count.untold == 0
    assert ground.count.acknowledged > 100
    moved, wrong = await trio.to_thread.run_sync(check_owners, database)
    assert (moved >= 3, wrong) == (True, [])
    assert ground.watchers > len(ground.blind), ground.blind


@pytest.mark.slow
async def test_a_run_goes_on_with_every_move_when_its_server_is_killed_and_when_the_next_one_goes(database: str) -> None:
    run, ground, over = ClusterPair(), Ground([], Pauses(13)), trio.Event()
    ground.pairs.append(run)

    def watch(model: Model, event: ServerMessage | LinkEvent) -> None:
        run.watch(model, event)
        # Its record is sealed till the next day.
        if isinstance(event, Ended):
            over.set()

    bot = partial(run_bot, name="anna", policy=POLICIES["steady"], enter=RunDaily(), pace=0.15, generator=ground.generator, watch=watch)

    with redis_server() as redis:
        async with nodes(database, redis.url) as place, trio.open_nursery() as nursery:
            nursery.start_soon(played, bot, place[1].url)
            await raced(ground, 1)
            for signal_ in (signal.SIGKILL, signal.SIGTERM):
                await (await busiest(place, database)).end(signal_)
                await ground.recovered([run])
            ground.generator.hurry()
            with trio.fail_after(120):
                await over.wait()
            nursery.cancel_scope.cancel()
    check_pairs([run], await trio.to_thread.run_sync(kept_records, database), ground.count)
    assert (ground.count.lost, ground.count.blamed) == ([], [])
    assert ground.count.acknowledged > 10


@pytest.mark.slow
async def test_whoever_looks_for_an_opponent_finds_one_when_the_server_at_which_all_wait_is_killed_and_when_it_is_back(
    database: str,
) -> None:
    async def seek(link: NetLink, rules: str) -> None:
        while not link.send(QuickMatch(rules=rules)):  # noqa: ASYNC110  (until there is a connection again)
            await trio.sleep(0.2)

    async def comes(link: NetLink, kind: type[ServerMessage]) -> ServerMessage:
        with trio.fail_after(30):
            async for event in link.events:
                if isinstance(event, kind):
                    return event
        raise AssertionError("the link has ended")

    with redis_server() as redis:
        async with nodes(database, redis.url) as place, AsyncExitStack() as stack:
            by_age = sorted(place, key=lambda node: [each.url for each in all_nodes(database)].index(node.url))
            oldest, second, third = by_age
            ann, bob, cleo, dan = [
                await stack.enter_async_context(persistent_link(url, Identity(name)))
                for name, url in (("ann", second.url), ("bob", third.url), ("cleo", third.url), ("dan", second.url))
            ]
            for seeker, rules in ((ann, "carpet"), (cleo, "twenty")):
                await seek(seeker, rules)
                await comes(seeker, WaitingMatch)
            await oldest.end(signal.SIGKILL)
            # Both come by themselves to where all wait now.
            for seeker in (ann, cleo):
                await comes(seeker, WaitingMatch)
            await seek(bob, "carpet")
            assert await comes(bob, Room) is not None
            assert await comes(ann, Room) is not None
            await oldest.start()
            await comes(cleo, WaitingMatch)
            await seek(dan, "twenty")
            rooms = [await comes(seeker, Room) for seeker in (cleo, dan)]
            assert len({room.code for room in rooms if isinstance(room, Room)}) == 1


async def raced(ground: Ground, number: int) -> None:
    """Wait until so many pairs are racing."""
    with trio.fail_after(60):
        while len(ground.racing()) < number:  # noqa: ASYNC110  (players tell nobody when they have begun)
            await trio.sleep(0.1)


@pytest.mark.slow
async def test_the_page_of_one_server_races_and_watches_at_another_and_goes_on_when_that_is_killed(database: str) -> None:
    code = ""
    opened = trio.Event()

    def note(model: Model, event: ServerMessage | object) -> None:
        nonlocal code
        if model.room is not None and not code:
            code = model.room.code
            opened.set()

    async def act(what: Callable[[], object]) -> object:
        return await trio.to_thread.run_sync(what)

    # Nobody may watch their own race.
    with redis_server() as redis, open_browser() as browser, open_browser() as onlooker:
        async with nodes(database, redis.url, 2) as (first, second), trio.open_nursery() as nursery:
            # Its games are long: the bot plays on for as long as the test may take.
            options = RaceOptions(rules="colorado", public=False, countdown_s=1, grace_s=600)
            opens = partial(run_bot, name="anna", policy=POLICIES["steady"], enter=OpenRace(options=options), pace=0.5, watch=note)
            nursery.start_soon(played, opens, second.url)
            await opened.wait()
            # A page that was made before its server knew of the other one loads anew on the way there, and counts its connections anew.
            await known(first, second)
            # Where to go when it is killed, the other one can tell the bot only when it knows of this one.
            await known(second, first)
            page = page_of(first)
            await act(partial(take_seat, browser, f"{page}/play/{code}"))
            await act(partial(race_on, browser))
            await act(partial(watch, onlooker, f"{page}/watch/{code}"))
            await second.end(signal.SIGKILL)
            await act(partial(browser.wait_for_text, "#connection", "lost"))
            await act(partial(browser.expect_text, "#connection", ""))
            # Its own server has the race by now, and what is pressed is played.
            await act(partial(race_on, browser))
            kept = "return [localStorage.length, lines.length > 2, lines.at(-1).url]"
            await act(partial(browser.expect, lambda now: now.run(kept), [3, True, f"{first.url}/"]))
            # Who only watches has noticed nothing of it.
            await act(partial(told, onlooker, "watched", 2))
            assert await act(lambda: onlooker.run("return lines.map((line) => line.url)")) == [f"{first.url}/"]
            nursery.cancel_scope.cancel()


def watch(browser: Browser, address: str) -> None:
    browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": HEARD})
    browser.open(address)
    told(browser, "watched", 1)
    told(browser, "watched-event", 2)


def told(browser: Browser, kind: str, number: int) -> None:
    """So many messages of this type."""
    browser.wait(lambda now: len(heard(now, kind)) >= number, f"{number} messages {kind!r}")


async def played(race: Callable[[str], Awaitable[object]], url: str) -> None:
    """As with `persistent_link`."""
    while True:
        with suppress(LinkError):
            await race(url)
            return
        await trio.sleep(0.2)


async def known(to: NodeProcess, other: NodeProcess) -> None:
    """Wait until the one server knows of the other."""

    def connections_allowed() -> str:
        with urllib.request.urlopen(f"{page_of(to)}/play", timeout=30) as answer:
            return str(answer.headers["Content-Security-Policy"])

    with trio.fail_after(60):
        while other.url not in await trio.to_thread.run_sync(connections_allowed):  # noqa: ASYNC110  (no server tells)
            await trio.sleep(0.1)


def page_of(node: NodeProcess) -> str:
    return node.url.replace("ws://", "http://")


def take_seat(browser: Browser, address: str) -> None:
    browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": HEARD})
    browser.open(address)
    browser.press("Ready")
    wait_for_cards(browser)


def race_on(browser: Browser) -> None:
    """A move of one's own is answered, and one of the opponent's is told."""
    before = len(heard(browser, "progress"))
    play_one(browser)
    browser.wait(lambda now: len(heard(now, "progress")) > before + 1, "moves of both")


@pytest.mark.slow
async def test_a_tournament_over_three_servers_outlives_one_with_tables_one_that_leads_and_one_that_goes(
    database: str,
) -> None:
    with redis_server() as redis:
        async with nodes(database, redis.url) as place:
            for _ in range(5):
                if await outlived(place, database):
                    return
    pytest.fail("each time the server that leads had all tables")


async def outlived(place: list[NodeProcess], database: str) -> bool:
    """A whole tournament. False where nothing was to be outlived: while others are slow to answer, the server that leads has all tables."""
    options = TournamentOptions(
        name="Eight", rounds=3, check_in_s=600, no_show_s=60, pause_s=0, countdown_s=1, grace_s=60, rated=False, time_limit_s=120, places=8
    )
    # Of each round something is still raced when its server goes.
    tables, second, third = Hold(1), Hold(2, table=1), Hold(3, table=1)
    entrants = [Entrant(f"bot {number}", strength=4 + number, holds=(tables, second, third)) for number in range(8)]
    async with trio.open_nursery() as nursery:
        referee = await begin_tournament(nursery, place, options, entrants)
        assert await leader(place, database, referee.identity) is place[0]
        helper = await raced_at(place[1:], database, referee.identity, tables=4)
        if helper is None:
            nursery.cancel_scope.cancel()
            return False
        await helper.end(signal.SIGKILL)
        tables.let_go()
        nursery.start_soon(helper.start)
        await referee.until("running", round=2, results=1)
        await place[0].end(signal.SIGKILL)
        second.let_go()
        await referee.until("running", round=3)
        with trio.fail_after(60):
            while (leaver := await leader(place, database, referee.identity)) is place[0]:  # noqa: ASYNC110  (the database tells nobody)
                await trio.sleep(0.1)
        assert await leaver.end(signal.SIGTERM) == 0
        third.let_go()
        with trio.fail_after(60):
            await referee.until("over")
        nursery.cancel_scope.cancel()
    assert await trio.to_thread.run_sync(check_tournament, referee, entrants, database) == []
    assert referee.seen is not None
    assert all(row.won + row.drawn + row.lost == 3 for row in referee.seen.standings)
    assert [len({number for number, _, _ in entrant.called}) for entrant in entrants] == [3] * 8
    return True
