"""A PostgreSQL of a benchmark's own, made with `initdb`, with the default settings for durability."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.ports import held_ports


class Postgres:
    """A server in a new folder, on a port. If we are root, the user postgres runs it, since it refuses to run as root."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder, self._port = folder, port
        self._programs = Path(subprocess.run(["pg_config", "--bindir"], check=True, capture_output=True, text=True).stdout.strip())
        self._as = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        folder.mkdir(mode=0o700)
        if self._as:
            shutil.chown(folder, "postgres", "postgres")
        self._run("initdb", "-D", str(folder), "-U", "postgres", "-A", "trust")
        self.start()

    @property
    def url(self) -> str:
        """The URL of the database that is there from the beginning."""
        return self._url("postgres")

    @property
    def postmaster(self) -> int:
        """The process whose children do the work."""
        return int((self._folder / "postmaster.pid").read_text().split()[0])

    def empty(self) -> str:
        """The URL of a new, empty database."""
        name = f"bench_{secrets.token_hex(4)}"
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self._port), "-U", "postgres", name)
        return self._url(name)

    def start(self) -> None:
        options = f"-c port={self._port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''"
        self._run("pg_ctl", "-D", str(self._folder), "-w", "-o", options, "-l", str(self._folder / "log"), "start")

    def stop(self) -> None:
        """Stop the server abruptly."""
        self._run("pg_ctl", "-D", str(self._folder), "-w", "-m", "immediate", "stop")

    def restart(self) -> None:
        self.stop()
        self.start()

    def _url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self._port}/{database}"

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run([*self._as, str(self._programs / program), *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/")


@contextmanager
def postgres() -> Iterator[Postgres]:
    """A server for a benchmark. Raises FileNotFoundError if PostgreSQL's programs are not installed."""
    with TemporaryDirectory(prefix="carpet-bench-") as folder, held_ports(1) as (port,):
        Path(folder).chmod(0o755)
        server = Postgres(Path(folder) / "postgres", port)
        try:
            yield server
        finally:
            server.stop()
