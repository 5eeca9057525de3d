"""The settings of a server. They are checked once, before anything is started."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, urlsplit

from protocol import DEFAULT_PORT
from server.net.connection_limits import TrustedProxies

if TYPE_CHECKING:
    from protocol.record import Record

DEFAULT_CONNECTIONS = 50_000
DEFAULT_WORKERS = 1
"""On a machine with two processors, this leaves one to the event loop."""

_ORIGIN = re.compile(r"https?://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?")
_AS_AN_ORIGIN = "such as https://example.org, with no slash at its end"


class BadSettings(ValueError):
    """Settings that do not fit together. The message says which ones and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """host, port: where to listen; host `*` is all of IPv4 and IPv6, port 0 any free one.

    tls_cert, tls_key: PEM files of a certificate; None for no TLS.
    rate, burst: how many messages a client may send per second, and at once. max_rooms: open at once.
    database: the path of a SQLite file or a PostgreSQL URL; None for the default file, `memory` to keep nothing.
    origins: web origins whose pages may connect. embedders: web origins whose pages may show races in a frame; `*` for all.
    bots_wait: house bots play at the pace of a person; otherwise as fast as they can.
    max_connections: at once; None for DEFAULT_CONNECTIONS, or as many as there are file descriptors for.
    max_connections_per_address: at once; 0 for no limit.
    workers: the most processes for long jobs: finding winnable deals, pairing large rounds, checking records, making pages. They are
    started on demand.
    cluster: the URL of the Valkey or Redis that the servers of this place share; None for a server on its own.
    advertise: the WebSocket URL at which players reach this server.
    wait_for_database_s: how long to wait at the start for a database that does not answer.
    prune_after_days: the age at which abandoned rooms, players who only said hello and challenges that nobody took up are deleted; 0 for
    never.
    admin_socket: where the host's commands come in; None for a socket beside the database (`admin_socket_of`).
    metrics: `[HOST:]PORT` where Prometheus can read figures; None for nowhere.
    plain_sockets: serve each connection with a task of its own, as over TLS or without epoll, instead of all of them with one.
    trusted_proxies: networks of proxies that are believed about a client's address.
    trust_pings: believe a client's answers to pings if the kernel cannot measure its round trip.
    records: records of races that can be played on here, in addition to those in the database; they have passed the audit.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    tls_cert: str | None = None
    tls_key: str | None = None
    rate: float = 20.0
    burst: int = 40
    max_rooms: int = 20_000
    max_connections: int | None = None
    max_connections_per_address: int = 100
    database: str | None = "memory"
    origins: tuple[str, ...] = ()
    embedders: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    bots_wait: bool = True
    workers: int = DEFAULT_WORKERS
    wait_for_database_s: int = 60
    prune_after_days: int = 90
    admin_socket: str | None = None
    metrics: str | None = None
    plain_sockets: bool = False
    trust_pings: bool = False
    records: tuple[Record, ...] = ()
    cluster: str | None = None
    advertise: str | None = None

    def __post_init__(self) -> None:
        self._check_addresses()
        if (self.tls_cert is None) != (self.tls_key is None):
            raise BadSettings("--tls-cert and --tls-key go together: give both, or neither")
        if not 0 < self.rate < math.inf or self.burst < 1:
            raise BadSettings("--rate is a number above 0 and --burst at least 1")
        if self.max_rooms < 1:
            raise BadSettings("--max-rooms is at least 1")
        if self.max_connections is not None and self.max_connections < 1:
            raise BadSettings("--max-connections is at least 1")
        if self.max_connections_per_address < 0:
            raise BadSettings("--max-connections-per-address is at least 1, or 0 for no limit")
        if self.wait_for_database_s < 0 or self.prune_after_days < 0:
            raise BadSettings("--wait-for-database and --prune-after are 0 or more")
        try:
            TrustedProxies(self.trusted_proxies)
        except ValueError as error:
            raise BadSettings(f"--trusted-proxy is an address or a network, such as 10.0.0.0/8: {error}") from error
        for origin in self.origins:
            if not _is_origin(origin):
                raise BadSettings(f"--origin is a web origin, {_AS_AN_ORIGIN}, not {origin}")
        for embedder in self.embedders:
            if embedder != "*" and not _is_origin(embedder.replace("://*.", "://", 1)):
                raise BadSettings(f"--embed-in is a web origin, {_AS_AN_ORIGIN}, or * for all, not {embedder}")
        if self.workers < 1:
            raise BadSettings("--workers is at least 1")
        self._check_cluster()

    def _check_addresses(self) -> None:
        if not self.host:
            raise BadSettings("--host is an address or a name to listen on, and nothing is named: * is for everybody")
        if not 0 <= self.port <= 65535:
            raise BadSettings(f"--port is from 0 to 65535, not {self.port}")
        if self.metrics is not None and not 0 <= self.metrics_address[1] <= 65535:
            raise BadSettings(f"--metrics is a port from 0 to 65535, with or without an address before it, not {self.metrics}")

    def _check_cluster(self) -> None:
        if (self.cluster is None) != (self.advertise is None):
            raise BadSettings("--cluster and --advertise go together: give both, or neither")
        if self.cluster is None or self.advertise is None:
            return
        engine, url = _read_url(self.cluster), _read_url(self.advertise)
        if engine is None or engine.scheme not in ("redis", "rediss"):
            raise BadSettings("--cluster is the URL of a Valkey or Redis: redis://HOST:6379/0, or rediss:// with TLS")
        if not (self.database or "").startswith(("postgresql://", "postgres://", "postgresql+")):
            raise BadSettings("the servers of one place share a PostgreSQL: give --database postgresql://… too")
        is_plain = url is not None and not (url.username or url.query or url.fragment) and len(self.advertise) <= 200
        if url is None or not is_plain or url.scheme not in ("ws", "wss") or not url.hostname:
            raise BadSettings("--advertise is the address at which players reach this server, such as wss://n2.carpet.example")
        if url.hostname in ("0.0.0.0", "::"):  # noqa: S104  (nothing is bound here)
            raise BadSettings(f"no player reaches a server at {url.hostname}: --advertise is an address that they can connect to")
        if self.advertise.endswith("/"):
            # The same server would count as two.
            raise BadSettings(f"--advertise ends without a slash: {self.advertise.rstrip('/')}")
        if find_spec("coredis") is None:
            raise BadSettings("--cluster needs coredis, which is not installed: pip install 'carpet-race[cluster]'")

    @property
    def administered_at(self) -> Path | None:
        """The socket for the host's commands; None if there is none. Raises BadSettings."""
        return Path(self.admin_socket).expanduser() if self.admin_socket is not None else admin_socket_of(self.database)

    @property
    def metrics_address(self) -> tuple[str, int]:
        """The address at which figures are served; the port is -1 if it is not a number."""
        host, _, port = (self.metrics or "").rpartition(":")
        return host.strip("[]") or "127.0.0.1", int(port) if port.isascii() and port.isdecimal() else -1


DEFAULTS: Final = Settings()


def _is_origin(text: str) -> bool:
    found = _ORIGIN.fullmatch(text)
    return found is not None and int(found[1] or 0) <= 65535


def _read_url(text: str) -> SplitResult | None:
    """None if nobody can connect to it: with a port that is none, for example."""
    try:
        url = urlsplit(text)
        return url if url.port != 0 else None
    except ValueError:
        return None


def admin_socket_of(database: str | None) -> Path | None:
    """The default socket for the host's commands: beside the database's file, or beside where the default file would be.

    For PostgreSQL its name tells which database is meant, without the password. None for a server that keeps nothing. Raises BadSettings
    if this is no database.
    """
    from server.store.errors import StoreError
    from server.store.opening import NOTHING_KEPT

    if database == NOTHING_KEPT:
        return None
    # This imports all of SQLAlchemy, which a server without a database would load for nothing.
    from server.store.locations import default_path, locate

    try:
        location = locate(database)
    except StoreError as error:
        raise BadSettings(str(error)) from error
    beside = location.path
    if beside is None:
        url = location.url
        # A host may stand in the query instead, and the options may choose a schema, which is a store of its own.
        host, port, options = (url.query.get(key, "") for key in ("host", "port", "options"))
        meant = ((url.host or "").lower() or host, str(url.port or port or 5432), url.database or url.username, options)
        beside = default_path().with_name(f"postgresql-{sha256(repr(meant).encode()).hexdigest()[:8]}")
    return beside.absolute().with_name(f"{beside.name}-admin")
