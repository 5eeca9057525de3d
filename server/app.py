"""The composition root: makes the parts of a server, joins them, runs them and ends them in order."""

from __future__ import annotations

import logging
import platform
import secrets
import ssl
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import trio

import protocol
from protocol.server_messages import Rated
from protocol.text import clean_chat, clean_name
from server.admin.administration import Administration
from server.admin.figures import figures
from server.admin.listener import SocketUnavailable, administered
from server.cluster.bus import readable
from server.cluster.loads import Load, Loads, places_told
from server.cluster.node import LEAVING, ClusterNode
from server.config import DEFAULT_CONNECTIONS, Settings
from server.lobby.bans import Bans
from server.lobby.lobby import Lobby
from server.lobby.matchmaker import Matchmaker
from server.lobby.players import Players
from server.net.connection_limits import SHARE_RENEWED_S, SHARES_AT_ONCE, Admission, TrustedProxies
from server.net.descriptors import connections_for
from server.net.dispatch import Dispatch
from server.net.identification import Identification
from server.net.limits import AddressRates, CodeGuesses
from server.net.listener import AddressUnavailable, open_listeners, serving, tls_context
from server.net.origins import Origins, page_origin
from server.net.overload import Overload
from server.net.stream import RoundTripRule
from server.pages.site import open_site
from server.race.rating import Rating
from server.rooms.clock import Clock, SleepWatch
from server.rooms.deal_finder import DealFinder
from server.rooms.member import PlayerName
from server.rooms.outgoing import Outgoing
from server.rooms.registry import Rooms
from server.rooms.resumption import Resumption
from server.runs.ghost_lines import RecordedGhosts
from server.runs.service import RunService
from server.runtime.figures import AnyFigure
from server.runtime.gc_tuning import collect_garbage
from server.runtime.workers import open_workers
from server.spectate.relay import Relay
from server.spectate.spectator_registry import SpectatorRegistry
from server.store.errors import StoreAway
from server.store.journal import Journal
from server.store.opening import open_store
from server.store.store import Store
from server.store.tables import VERSION
from server.store.takeover import TakenOver
from server.store.upkeep import look_after
from server.tournaments.pairing_worker import pair_next
from server.tournaments.ports import TournamentPorts
from server.tournaments.service import TournamentService

if TYPE_CHECKING:
    # Importing it needs the `cluster` extra.
    from server.cluster.bus import Bus
    from server.cluster.directory import Cluster, Topic

SOFTWARE = f"carpet-race {protocol.__version__}"

WORKERS_CODE = (
    "networkx",
    "server.pages.pictures",
    "server.pages.review_text",
    "server.pages.schema_documents",
    "server.race.audit",
    "server.race.boards",
    "server.solver.winnable",
    "server.tournaments.pairing.formats",
)
"""Modules with the code of every job that workers do for a server."""

SWITCH_S = 0.0005
"""Seconds for which a thread that reads the store may keep the interpreter from the event loop. Python's default is ten times as long."""

ROOMS_PER_CONNECTION = 2
"""Rooms that one address may open for each connection it may have. More than one, since some rooms outlive their players' connections."""

ASK_AGAIN_S = 1.0

HOST_SAYS, RENAMED, RATED = "host-says", "renamed", "rated"
"""Channels of the bus: what the host says to everybody; a player's id and new name; a player's id, new rating and what they are told."""

_RATED_ELSEWHERE = msgspec.msgpack.Decoder(tuple[str, Rating, Rated | None])

logger = logging.getLogger("carpet.app")


@asynccontextmanager
async def running(settings: Settings, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Run a server inside the context; yields its URL. On exit, rooms are closed, clients told and tasks ended, in this order.

    Races that an earlier server on the same database left running go on. tls: a context that the caller may change later; by default the
    settings' own. Raises UnusableTlsFiles, TooFewDescriptors, AddressUnavailable (perhaps in a group), and StoreError if the database
    cannot be used. A cluster node also raises LeaseLost, in a group, if the others have taken it for dead: it may be started again.
    """
    tls = tls or tls_of(settings)
    admission = _admission(settings)
    sys.setswitchinterval(SWITCH_S)
    store = await _opened(settings)
    try:
        async with (
            open_workers(settings.workers, code=WORKERS_CODE) as workers,
            trio.open_nursery() as nursery,
        ):
            clock = Clock()
            # Nobody can play before the server listens.
            clock.pause("nobody listens")
            journal = Journal(store)
            overload = Overload()
            records = {record.id: record for record in settings.records}
            rooms = Rooms(
                nursery,
                clock=clock,
                entropy=secrets.token_bytes,
                software=SOFTWARE,
                journal=journal,
                keeps=store.waits,
                rating_changes=partial(journal.ask, store.rating_changes),
                ghost_lines=RecordedGhosts(journal, records),
                find_deal=DealFinder(workers).find,
                max_rooms=settings.max_rooms,
                max_rooms_per_place=ROOMS_PER_CONNECTION * settings.max_connections_per_address,
                bots_wait=settings.bots_wait,
            )
            cluster = await _joined(settings, store, journal, rooms, admission, overload)
            nursery.start_soon(journal.run)
            nursery.start_soon(collect_garbage, lambda: admission.inside, lambda: len(rooms))
            nursery.start_soon(rooms.run)
            nursery.start_soon(SleepWatch(clock, rooms.set_clocks_right).run)
            journal.outage_listeners.append(rooms.outage)
            bans = Bans(journal=journal, clock=clock)
            players = Players(entropy=secrets.token_bytes, journal=journal, clock=clock, bans=bans)
            rooms.on_rated.append(players.rated)
            matchmaker = Matchmaker(rooms, clock=clock, rating=players.rating)
            nursery.start_soon(matchmaker.run)
            lobby = Lobby(rooms, players, matchmaker, clock)
            nursery.start_soon(lobby.run)
            resumption = Resumption(rooms, store, journal, clock)
            spectators = SpectatorRegistry(nursery, rooms, clock, over=resumption.over)
            nursery.start_soon(spectators.run)
            runs = RunService(rooms, journal=journal, clock=clock, entropy=secrets.token_bytes, compute=workers.run, records=records)
            nursery.start_soon(runs.run)
            tournaments = TournamentService(
                TournamentPorts(
                    clock=clock,
                    entropy=secrets.token_bytes,
                    rooms=rooms,
                    players=players,
                    journal=journal,
                    store=store,
                    pair_next=partial(pair_next, workers),
                    beside=partial(trio.to_thread.run_sync, limiter=trio.CapacityLimiter(1)),
                    loads=cluster.node.loads if cluster is not None else None,
                    ban_of=bans.reason,
                )
            )
            spectators.tournament_secret = tournaments.elsewhere.boards_secret
            guesses = CodeGuesses() if settings.max_connections_per_address else None
            dispatch = Dispatch(
                rooms=rooms,
                players=players,
                lobby=lobby,
                matchmaker=matchmaker,
                spectators=spectators,
                runs=runs,
                tournaments=tournaments,
                software=SOFTWARE,
                rate=settings.rate,
                burst=settings.burst,
                overload=overload,
                bans=bans,
                cluster=cluster,
                connections_per_address=settings.max_connections_per_address,
                guesses=guesses,
            )
            bans.come_back(await journal.ask(store.bans))
            await resumption.resume()
            await nursery.start(tournaments.run)
            nursery.start_soon(partial(look_after, journal, now_ms=clock.now_ms, prune_after_days=settings.prune_after_days))

            def of_place() -> tuple[str, ...]:
                return tuple(map(page_origin, cluster.node.urls)) if cluster is not None else ()

            site = open_site(
                rooms=rooms,
                lobby=lobby,
                runs=runs,
                tournaments=tournaments,
                relief=lambda: dispatch.forwarding.relief,
                is_elsewhere=cluster.node.knows if cluster is not None else None,
                origins=of_place,
                embedders=settings.embedders,
                bans=bans,
                journal=journal,
                clock=clock,
                compute=workers.run,
                max_rooms=settings.max_rooms,
                guesses=guesses,
            )
            administration = Administration(
                rooms=rooms,
                players=players,
                matchmaker=matchmaker,
                tournaments=tournaments,
                dispatch=dispatch,
                bans=bans,
                journal=journal,
            )
            port, listeners = await open_listeners(settings.host, settings.port, admission)
            async with serving(
                dispatch,
                listeners,
                tls=tls,
                origins=Origins(settings.origins, of_place=of_place),
                site=site,
                plain_sockets=settings.plain_sockets,
                overload=overload,
                gathering=journal,
                round_trip_rule=RoundTripRule(trust_pings=settings.trust_pings),
            ):
                clock.resume("nobody listens")
                if cluster is not None:
                    node, directory, forwarding = cluster.node, cluster.directory, dispatch.forwarding
                    journal.lease_listeners.append(forwarding.let_go)
                    nursery.start_soon(bans.follow, administration.put_out)
                    nursery.start_soon(node.run, partial(_take_up, resumption, tournaments), forwarding.let_go)
                    directory.bus.subscribe(LEAVING, lambda parts, follows: node.hurry())
                    _spread_words(nursery, node, directory.bus, administration, dispatch.identification)
                    spread_ratings(directory.bus, rooms, players)
                    topics = _topics(tournaments, node.loads, rooms)
                    nursery.start_soon(directory.run, lobby.state, rooms.seats, lobby.hear, players.moved_on, topics)
                    forwarding.relay = relay = Relay(nursery, node, directory.bus, rooms, spectators)
                    nursery.start_soon(relay.run)
                    spectators.relayed = relay.lead_to
                    nursery.start_soon(forwarding.gather_seekers, matchmaker.seeks)
                    nursery.start_soon(forwarding.tell_nodes)
                    nursery.start_soon(node.watch_engines, lambda: directory.available, forwarding.cut_off)
                shown = figures(
                    admission=admission,
                    site=site,
                    rooms=rooms,
                    players=players,
                    journal=journal,
                    matchmaker=matchmaker,
                    workers=workers,
                    traffic=dispatch.traffic,
                    directory_available=(lambda: cluster.directory.available) if cluster is not None else None,
                )
                with ExitStack() as stack:
                    _administer(stack, nursery, settings, administration)
                    _serve_metrics(stack, nursery, settings, shown)
                    url = _url(settings.host, port, secure=tls is not None)
                    # Opening the store has brought its tables to this version.
                    logger.info("%s with Python %s, schema %s: listening on %s", SOFTWARE, platform.python_version(), VERSION, url)
                    yield url
                left = await _end(cluster, dispatch, journal, rooms, tournaments)
            nursery.cancel_scope.cancel()
    finally:
        # Not in a thread: a cancelled task cannot await any more, and closing a file takes no time.
        store.close()
    logger.info("stopped; races that stand still until another server carries on with them: %d", left)


def tls_of(settings: Settings) -> ssl.SSLContext | None:
    """The TLS context that the settings ask for, if any. Raises UnusableTlsFiles."""
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    return tls_context(settings.tls_cert, settings.tls_key)


def _administer(stack: ExitStack, nursery: trio.Nursery, settings: Settings, administration: Administration) -> None:
    where = settings.administered_at
    if where is None:
        return
    if settings.admin_socket is None:
        with suppress(OSError):
            # If the database is on another machine, nothing has created this folder yet.
            where.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        stack.enter_context(administered(nursery, where, administration.answer))
    except SocketUnavailable as error:
        if settings.admin_socket is not None:
            raise
        # Races matter more than commands.
        logger.warning("%s", error)


def _serve_metrics(stack: ExitStack, nursery: trio.Nursery, settings: Settings, figures: Sequence[AnyFigure]) -> None:
    if settings.metrics is None:
        return
    from server.runtime.metrics import metrics_served

    host, port = settings.metrics_address
    try:
        chosen = stack.enter_context(metrics_served(nursery, figures, host, port))
    except OSError as error:
        why = error.strerror or str(error)
        raise AddressUnavailable(f"cannot serve metrics on {host} port {port}: {why}; choose another with --metrics") from error
    logger.info("metrics are at http://%s:%d/metrics", host, chosen)


def _admission(settings: Settings) -> Admission:
    most = connections_for(settings.max_connections or DEFAULT_CONNECTIONS)
    if settings.max_connections is not None and most < settings.max_connections:
        logger.warning(
            "at most %d connections, not %d: the system does not let this process open more files", most, settings.max_connections
        )
    per_address = settings.max_connections_per_address
    comings = AddressRates(rate=per_address / SHARE_RENEWED_S, burst=SHARES_AT_ONCE * per_address)
    return Admission(
        most=most,
        most_per_address=per_address,
        proxies=TrustedProxies(settings.trusted_proxies),
        is_calm=lambda host: not per_address or comings.allow(host, trio.current_time()),
    )


async def _opened(settings: Settings) -> Store:
    """The store. Waits for a database server that does not answer yet."""
    until = trio.current_time() + settings.wait_for_database_s
    last = ""
    while True:
        try:
            # Abandoned on cancellation: a server that is stopped must not wait for the answer.
            opening = partial(open_store, settings.database, shared=settings.cluster is not None)
            return await trio.to_thread.run_sync(opening, abandon_on_cancel=True)
        except StoreAway as error:
            if trio.current_time() >= until:
                raise
            if str(error) != last:
                logger.warning("waiting for the database, %d seconds at most: %s", settings.wait_for_database_s, error)
            last = str(error)
        await trio.sleep(ASK_AGAIN_S)


async def _joined(
    settings: Settings, store: Store, journal: Journal, rooms: Rooms, admission: Admission, overload: Overload
) -> Cluster | None:
    """This server as a node of its cluster; None for a server on its own."""
    if settings.advertise is None or settings.cluster is None:
        return None
    from server.cluster.directory import Cluster, Directory
    from server.store.shared import SharedStore

    assert isinstance(store, SharedStore)

    def load() -> Load:
        takes = rooms.takes_more and not overload.retry_after_ms(trio.current_time())
        return Load(node.id, len(rooms), admission.inside, takes, writes=not rooms.in_outage)

    loads = Loads(load, lambda: places_told(admission.by_place, rooms.by_place))
    admission.elsewhere, rooms.elsewhere = loads.connections_elsewhere, loads.rooms_elsewhere
    node = ClusterNode(store, journal, settings.advertise, loads)
    await node.join()
    return Cluster(node, Directory(settings.cluster, node, await trio.to_thread.run_sync(store.place)))


async def _take_up(resumption: Resumption, tournaments: TournamentService, taken: TakenOver) -> None:
    await resumption.take_up(taken)
    tournaments.take_up(taken.tournaments)


def _spread_words(
    nursery: trio.Nursery, node: ClusterNode, bus: Bus, administration: Administration, identification: Identification
) -> None:
    """Have what the host says, and new names, heard at all servers of the place."""

    def say(text: str) -> int | None:
        bus.publish(HOST_SAYS, text.encode())
        others = len(node.alive) - 1
        return others if bus.is_up or not others else None

    def hear(parts: list[bytes], _: bool) -> None:
        for part in parts:
            nursery.start_soon(administration.say, clean_chat(part.decode(errors="replace")))

    def hear_renamed(parts: list[bytes], _: bool) -> None:
        for part in parts:
            identity, _space, name = part.decode(errors="replace").partition(" ")
            identification.renamed_elsewhere(PlayerName(identity, clean_name(name)))

    administration.say_elsewhere = say
    identification.renamed_here = lambda player: bus.publish(RENAMED, f"{player.id} {player.name}".encode())
    bus.subscribe(HOST_SAYS, hear, others_only=True)
    bus.subscribe(RENAMED, hear_renamed, others_only=True)


def spread_ratings(bus: Bus, rooms: Rooms, players: Players) -> None:
    """Have those hear of their new rating who are connected to another server of the place than the one that held their race."""

    def tell(player: str, rating: Rating, news: Outgoing | None) -> None:
        if players.connection(player) is None:
            bus.publish(RATED, msgspec.msgpack.encode((player, rating, news.message if news is not None else None)))

    def hear(parts: list[bytes], _: bool) -> None:
        for player, rating, told in readable(parts, _RATED_ELSEWHERE):
            players.rated(player, rating, Outgoing(told) if told is not None else None)

    rooms.on_rated.append(tell)
    bus.subscribe(RATED, hear, others_only=True)


def _topics(tournaments: TournamentService, loads: Loads, rooms: Rooms) -> tuple[Topic, ...]:
    """What the nodes of a place tell each other, apart from who is where."""
    from server.cluster.directory import Topic

    return (
        Topic("load", loads.say, loads.hear),
        Topic("closest", rooms.closest.say, rooms.closest.hear),
        Topic("tournaments", tournaments.elsewhere.say, tournaments.elsewhere.hear),
    )


async def _end(cluster: Cluster | None, dispatch: Dispatch, journal: Journal, rooms: Rooms, tournaments: TournamentService) -> int:
    """Close all rooms and write what is still to be written. A node then leaves its cluster, and sends its players on. Gives how many races
    are to go on at another server.
    """
    if cluster is not None:
        await cluster.node.take_no_more()
        dispatch.forwarding.begin_to_leave()
    journal.hurry()
    tournaments.stop()
    left = await rooms.stop()
    journal.close()
    await journal.ended()
    if cluster is not None:
        await cluster.node.leave()
        cluster.directory.bus.publish(LEAVING, b"")
        await dispatch.forwarding.send_away()
    return left


def _url(host: str, port: int, *, secure: bool) -> str:
    scheme = "wss" if secure else "ws"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
