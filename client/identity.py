"""Who the player is: his name and, for every server, the token that makes him the same player again.

Owns the one file it is kept in, `identity.json` in the user's data folder (or in the folder that CARPET_HOME names), readable by the user
alone and replaced in one piece. A token belongs to a server and a name: two names are two players, also on one machine. Must not know of
connections.
"""

from __future__ import annotations

import getpass
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from client.failure import Failure
from protocol.text import clean_name

HOME_VARIABLE = "CARPET_HOME"
FALLBACK_NAME = "player"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Identity:
    """A name, and the token of that player at one server; None where he has not been before."""

    name: str
    token: str | None = None


class IdentityError(Failure):
    """The file cannot be read or written. Names it and says what to do, in one sentence."""


class _Server(Struct, frozen=True, kw_only=True):
    name: str  # the one used last
    tokens: dict[str, str]  # by name


class _Document(Struct, frozen=True, kw_only=True):
    format: int = _FORMAT
    servers: dict[str, _Server] = {}


class IdentityStore:
    """The file. Each call reads it anew, so that two terminals at once do not undo each other's work for long."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "identity.json"

    def identity(self, url: str, name: str | None = None) -> Identity:
        """Who to be at the server of `url`: under `name`, or else under the last name used there, or else the login name."""
        server = self._read().servers.get(url)
        chosen = clean_name(name or "") or (server.name if server else default_name())
        return Identity(chosen, server.tokens.get(chosen) if server else None)

    def keep(self, url: str, identity: Identity) -> None:
        """Remember `identity` for the server of `url`. Raises IdentityError."""
        if identity.token is None:
            return
        document = self._read()
        before = document.servers.get(url)
        tokens = {**(before.tokens if before else {}), identity.name: identity.token}
        server = _Server(name=identity.name, tokens=tokens)
        if server != before:
            self._write(_Document(servers={**document.servers, url: server}))

    def _read(self) -> _Document:
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return _Document()
        except OSError as error:
            raise IdentityError(
                f"The file {self.path} with your name and tokens cannot be read: {error.strerror}; {HOME_VARIABLE} names another folder."
            ) from error
        try:
            document = msgspec.json.decode(text, type=_Document)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise IdentityError(
                f"The file {self.path} with your name and tokens is damaged ({error}): repair it, or delete it to begin as a new player."
            ) from error
        if document.format > _FORMAT:
            raise IdentityError(f"The file {self.path} is of a newer carpet-race: bring this one up to it, or set {HOME_VARIABLE}.")
        return document

    def _write(self, document: _Document) -> None:
        text = msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # mkstemp makes it 0600 from the start: there is no moment in which others could read a token.
            handle, temporary = tempfile.mkstemp(prefix=".identity-", dir=self.path.parent)
            try:
                with open(handle, "wb") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, self.path)
            except BaseException:
                os.unlink(temporary)
                raise
        except OSError as error:
            raise IdentityError(
                f"The file {self.path} with your name and tokens cannot be written: {error.strerror}; {HOME_VARIABLE} names another folder."
            ) from error


def home_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder of the player's data."""
    if chosen := environment.get(HOME_VARIABLE):
        return Path(chosen).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("carpet-race"))


def default_name() -> str:
    """The login name, cleaned, or `player`."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user id without an account, as in containers
        name = ""
    return clean_name(name) or FALLBACK_NAME
