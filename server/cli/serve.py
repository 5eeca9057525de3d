"""`carpet-server serve`: its options, its signals, and one sentence if it cannot start."""

from __future__ import annotations

import inspect
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_type_hints
from urllib.parse import urlsplit

import typer
from typer import Option

from server.cli.shared import fail, true_record
from server.config import DEFAULT_CONNECTIONS, DEFAULTS, BadSettings, Settings
from server.runtime.gc_tuning import seldom_collected
from server.runtime.log_lines import log_to

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable, Iterator

    import trio

logger = logging.getLogger("carpet")


_OPTIONS: Final[dict[str, Any]] = {
    "host": Option(metavar="HOST", help="Address or name to listen on; 0.0.0.0 for everybody by IPv4, '*' by IPv6 too."),
    "port": Option(metavar="PORT", help="Port to listen on; 0 takes any free one."),
    "tls_cert": Option(metavar="FILE", help="PEM file with the certificate chain: serve wss:// instead of ws://."),
    "tls_key": Option(metavar="FILE", help="PEM file with the certificate's private key."),
    "rate": Option(metavar="N", help="Messages a second that one client may send."),
    "burst": Option(metavar="N", help="Messages that one client may send at once."),
    "max_rooms": Option(metavar="N", help="The most races held at once."),
    "max_connections": Option(
        metavar="N", help=f"The most connections at once. [default: {DEFAULT_CONNECTIONS}, or as many as the system lets it open files]"
    ),
    "max_connections_per_address": Option(
        metavar="N",
        help="The most connections at once from one IPv4 address or IPv6 /64 network other than this machine's own; 0 for no limit.",
    ),
    "database": Option(
        metavar="WHERE",
        envvar="CARPET_DATABASE",
        help="Where races and players are kept: a SQLite file, a postgresql:// URL, or `memory`, which holds every race until the"
        " server stops and then nothing. [default: carpet.sqlite3 in the folder that CARPET_HOME names, or else in your data folder]",
    ),
    "cluster": Option(
        metavar="URL",
        help="The redis:// URL of the Valkey or Redis through which several servers form one place to play. They also share the"
        " PostgreSQL of --database.",
    ),
    "advertise": Option(
        metavar="URL", help="With --cluster: the address at which players reach this server, such as wss://n2.carpet.example."
    ),
    "wait_for_database_s": Option(
        "--wait-for-database", metavar="SECONDS", help="How long to wait for a database that does not answer at the start."
    ),
    "prune_after_days": Option(
        "--prune-after",
        metavar="DAYS",
        help="Delete rooms without a race, players who only said hello and challenges nobody took up after this time; 0 for never.",
    ),
    "origins": Option("--origin", metavar="URL", help="Web origin whose pages may connect, such as https://example.org; may be repeated."),
    "embedders": Option(
        "--embed-in",
        metavar="URL",
        help="Web origin whose pages may show races in a frame, by /embed/CODE; * for all; may be repeated.",
    ),
    "trusted_proxies": Option(
        "--trusted-proxy",
        metavar="NETWORK",
        help="A proxy's address or network: the client's address is taken from its X-Forwarded-For or Forwarded; may be repeated.",
    ),
    "bot_pace": Option(help="House bots play at the pace of a person, or as fast as they can."),
    "workers": Option(
        metavar="N", help="The most processes for long tasks: finding winnable deals, pairing large rounds, checking records, making pages."
    ),
    "plain_sockets": Option("--plain-sockets", help="Serve each connection in a task of its own, as over TLS: slower, to compare with."),
    "trust_pings": Option(
        "--trust-pings",
        help="Credit players with the round trip that pings show, if the system cannot measure it: behind a --trusted-proxy, or not on"
        " Linux.",
    ),
    "records": Option("--with-record", metavar="FILE", help="The record of a race that can be played on here, as JSON; may be repeated."),
    "exit_with_parent": Option("--exit-with-parent", help="Stop when standard input ends, as it does when its writer dies."),
    "metrics": Option(metavar="[HOST:]PORT", help="Where Prometheus can ask for /metrics; without HOST, only from this machine."),
    "admin_socket": Option(
        metavar="PATH", help="Unix socket for `carpet-server admin`. [default: the database's name with -admin; none for `memory`]"
    ),
    "log_level": Option(help="How much to log to standard error."),
    "log_format": Option(help="Lines of the log as text, or each as a JSON object."),
}
"""The options of `carpet-server serve`, as its help shows them. Their types and defaults are those of `serve`, or else of `Settings`."""


def serve(
    *,
    database: str | None = None,
    bot_pace: Literal["human", "full"] = "human",
    records: tuple[str, ...] = (),
    exit_with_parent: bool = False,
    log_level: Literal["debug", "info", "warning", "error"] = "info",
    log_format: Literal["text", "json"] = "text",
    **given: Any,
) -> None:
    """Serve races until SIGINT or SIGTERM. Prints `listening on ws://HOST:PORT` once it accepts connections.

    SIGHUP makes it read the TLS files again; connections stay open. It also stops when the terminal that it was started in is closed,
    unless nohup started it.
    """
    log_to(level=log_level.upper(), as_json=log_format == "json")
    # The store itself reports what a migration has done.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    # The library logs every connection at INFO, and every peer that is not a WebSocket client with a traceback. At DEBUG it would log what
    # is sent, and so the players' tokens.
    logging.getLogger("carpet.net.websocket").setLevel(logging.INFO if log_level == "debug" else logging.CRITICAL)
    try:
        fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
        played_on = tuple(true_record(file) for file in records)
        settings = Settings(**fields, database=database, bots_wait=bot_pace == "human", records=played_on)
    except BadSettings as error:
        fail(str(error), 2)

    import trio

    from server.admin.listener import SocketUnavailable
    from server.net.descriptors import TooFewDescriptors, raise_limit
    from server.net.listener import AddressUnavailable, UnusableTlsFiles
    from server.store.errors import AddressTaken, StoreCorrupt, StoreError

    raise_limit()
    trouble: str | None = None
    reader_left: BaseException | None = None
    try:
        trio.run(_serve, settings, exit_with_parent)
    except* (UnusableTlsFiles, TooFewDescriptors, SocketUnavailable, AddressUnavailable, AddressTaken, StoreCorrupt) as group:
        trouble = str(_first(group))
    except* StoreError as group:
        trouble = f"{_first(group)}; --database names another place"
    except* BrokenPipeError as group:
        reader_left = _first(group)
    # Not in an `except*`: some versions of Python wrap what is raised there in a group.
    if trouble is not None:
        fail(trouble)
    if reader_left is not None:
        # The program that started it has gone and cannot be told where it listens: end as any command does whose reader is gone.
        raise reader_left from None


def _parameters() -> Iterator[inspect.Parameter]:
    own, fields = inspect.signature(serve, eval_str=True).parameters, get_type_hints(Settings, localns={"Record": object})
    for name, option in _OPTIONS.items():
        kind, default = (own[name].annotation, own[name].default) if name in own else (fields[name], getattr(DEFAULTS, name))
        kind = list[str] if default == () else kind
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


serve.__signature__ = inspect.Signature(list(_parameters()))  # type: ignore[attr-defined]
serve.__annotations__ = {}


def _first(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group


async def _serve(settings: Settings, exit_with_parent: bool) -> None:
    import trio

    from server.app import tls_of
    from server.store.errors import LeaseLost

    tls = tls_of(settings)
    stopping = trio.Event()
    # Found out now: once a terminal is closed, nothing tells it from a file.
    in_terminal = sys.stderr.isatty() and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN
    while not stopping.is_set():
        try:
            await _serve_once(settings, tls, exit_with_parent, stopping, in_terminal=in_terminal)
        except* LeaseLost as group:
            # Start again like a new node, because others have taken over its races.
            logger.error("%s: %s", "stopped" if stopping.is_set() else "starting again", _first(group))


async def _serve_once(
    settings: Settings, tls: ssl.SSLContext | None, exit_with_parent: bool, stopping: trio.Event, *, in_terminal: bool
) -> None:
    """stopping: set if the server is to end and not start again, whatever happens on the way. in_terminal: it ends when that is closed."""
    import trio

    from server.app import running

    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        async with trio.open_nursery() as nursery:
            serving: trio.CancelScope | None = None

            def stop() -> None:
                stopping.set()
                # Before it listens there are no connections to close, and it may be waiting for its database.
                (serving or nursery.cancel_scope).cancel()

            nursery.start_soon(_heed, signals, settings, tls, stop, in_terminal)
            if exit_with_parent:
                nursery.start_soon(_wait_for_end_of_input, stop)
            async with running(settings, tls=tls) as url:
                with trio.CancelScope() as serving, seldom_collected():
                    typer.echo(f"listening on {url}")
                    if sys.stdout.isatty():
                        typer.echo(_invitation(url))
                    sys.stdout.flush()
                    await trio.sleep_forever()
            nursery.cancel_scope.cancel()


def _invitation(url: str) -> str:
    """The invitation for a host at a terminal to pass on. url: where it listens, ws:// or wss://."""
    host = urlsplit(url).hostname
    if host in ("*", "0.0.0.0", "::"):  # noqa: S104  (compared, not bound)
        url = url.replace(urlsplit(url).netloc.rpartition(":")[0], "SERVER")
        more = "SERVER is this machine's name or address, as your friends reach it."
    elif host in ("127.0.0.1", "::1", "localhost"):
        more = "Only this machine can reach it; with --host 0.0.0.0 others can too."
    else:
        more = ""
    return f"In a browser:  http{url.removeprefix('ws')}\nIn a terminal: carpet home {url}\n{more}".rstrip()


async def _heed(
    signals: AsyncIterator[int], settings: Settings, tls: ssl.SSLContext | None, stop: Callable[[], None], in_terminal: bool
) -> None:
    async for number in signals:
        # In a terminal SIGHUP says that it is closed, unless it is there still and the signal can mean the certificate.
        if number != signal.SIGHUP or (in_terminal and (tls is None or not sys.stderr.isatty())):
            logger.info("%s: stopping", signal.Signals(number).name)
            stop()
            return
        _read_certificate_again(settings, tls)


def _read_certificate_again(settings: Settings, tls: ssl.SSLContext | None) -> None:
    from server.net.listener import UnusableTlsFiles, renew

    if tls is None or settings.tls_cert is None or settings.tls_key is None:
        logger.info("SIGHUP: there is no certificate to read again")
        return
    try:
        renew(tls, settings.tls_cert, settings.tls_key)
    except UnusableTlsFiles as error:
        logger.error("SIGHUP: %s; new connections still get the old certificate", error)
    else:
        logger.info("SIGHUP: new connections now get the certificate in %s", settings.tls_cert)


async def _wait_for_end_of_input(stop: Callable[[], None]) -> None:
    import trio

    # A pipe whose writer died reads as ended. In a thread, because standard input may be anything. From the bare descriptor, because a
    # thread left in a buffered read holds a lock that the interpreter needs when it exits.
    while await trio.to_thread.run_sync(os.read, 0, 4096, abandon_on_cancel=True):
        pass
    stop()
