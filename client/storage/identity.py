"""Who the player is: their name and, for every server, the token that makes them the same player again.

Owns the one file it is kept in, `identity.json` in the user's data folder (or in the folder that CARPET_HOME names), readable by the user
alone and replaced in one piece. A token belongs to a server and a name: two names are two players, also on one machine. The name is the
one the server has given; one that was asked for and given with a number, or that the player had before, leads to them still, or coming
under it again would make a player anew each time. A token that the server has forgotten is kept aside, under the name with `(before)`
behind it: it may be a mistake, or mended. Must not know of connections.
"""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from msgspec import Struct, field, structs

from client.connection.errors import Failure
from client.connection.events import Identity
from client.storage.files import DocumentFile, Versioned
from protocol import HOME_VARIABLE
from protocol.text import NAME_LENGTH, clean_name

FALLBACK_NAME = "player"

_ASIDE = re.compile(r" \(before(?: \d+)?\)$")


@dataclass(frozen=True, slots=True)
class Known:
    """A player of this machine at the server of `url`. last: the one used last there, who comes when no name is said."""

    url: str
    identity: Identity
    last: bool


class IdentityError(Failure):
    """The file cannot be read or written. Names it and says what to do, in one sentence."""


class Server(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The players of this machine at one server, by name. name: the one used last. asked: names that lead to another of them."""

    name: str
    tokens: dict[str, str]
    players: dict[str, str] = {}
    asked: dict[str, str] = {}

    def named(self, name: str) -> Identity:
        """The player who comes under `name`; one without a token where there is none."""
        found = name if name in self.tokens else self.asked.get(name, name)
        return Identity(found, self.tokens.get(found), self.players.get(found))

    def with_player(self, identity: Identity, *, asked: str = "") -> Server:
        """The same with this player as the one used last. Their token may be here under another name: then they have a new one."""
        name, token = identity.name, identity.token
        assert token is not None
        former = {old for old, kept in self.tokens.items() if kept == token and old != name}
        tokens = {old: kept for old, kept in self.tokens.items() if old not in former}
        players = {old: player for old, player in self.players.items() if old not in former and old != name}
        if identity.player is not None:
            players[name] = identity.player
        leads = {old: name if target in former else target for old, target in self.asked.items()}
        leads |= dict.fromkeys(former | ({asked} if asked else set()), name)
        tokens[name] = token
        asked_for = {old: target for old, target in leads.items() if old not in tokens and target in tokens}
        return Server(name=name, tokens=tokens, players=players, asked=asked_for)

    def with_aside(self, identity: Identity) -> Server:
        """The same, where another player has the name of this one, with that player under another name too."""
        name, token = identity.name, self.tokens.get(identity.name)
        if token is None or token == identity.token:
            return self
        aside = _aside(name, self.tokens)
        players = {aside: self.players[name]} if name in self.players else {}
        return structs.replace(self, tokens={**self.tokens, aside: token}, players={**self.players, **players})


class Document(Versioned, frozen=True, kw_only=True):
    """All that is in the file: servers by URL."""

    servers: dict[str, Server] = field(default_factory=dict)


class IdentityStore:
    """The file. Each call reads it anew, and whoever changes it holds the lock of its folder from reading to writing: two terminals at once
    do not undo each other's work.
    """

    def __init__(self, folder: Path) -> None:
        self._file = DocumentFile(
            folder / "identity.json",
            Document(),
            failure=IdentityError,
            what="your name and tokens",
            anew="as a new player",
            held="try again when it has ended",
        )
        self.path = self._file.path

    def identity(self, url: str, name: str | None = None) -> Identity:
        """Who to be at the server of `url`: under `name`, or else under the last name used there, or else the login name."""
        server = self.read().servers.get(url)
        chosen = clean_name(name or "") or (server.name if server else default_name())
        found = server.named(chosen) if server else Identity(chosen)
        # Should the server still not know the token, nobody is to be made anew under the name by which it is kept here.
        return structs.replace(found, name=_ASIDE.sub("", found.name)) if found.token is not None else found

    def known(self) -> tuple[Known, ...]:
        """All players of this machine; of a server's, the one used last comes first. Raises IdentityError."""
        return tuple(
            Known(url, server.named(name), last=name == server.name)
            for url, server in self.read().servers.items()
            for name in sorted(server.tokens, key=lambda name: (name != server.name, name))
        )

    def keep(self, url: str, identity: Identity, *, asked: str = "") -> None:
        """Remember `identity` for the server of `url`; the name `asked` leads to it from now on. Raises IdentityError."""
        if identity.token is None:
            return

        def kept(document: Document) -> Document:
            server = document.servers.get(url) or Server(name="", tokens={})
            return Document(servers={**document.servers, url: server.with_aside(identity).with_player(identity, asked=asked)})

        self.change(kept)

    def follow(self, url: str, identity: Identity) -> None:
        """The server has told what this player of the machine is called now. Who was used last there stays so. Raises IdentityError."""

        def followed(document: Document) -> Document:
            before = document.servers.get(url) or Server(name=identity.name, tokens={})
            after = before.with_player(identity)
            last = after.named(before.name)
            server = after.with_player(last) if last.token is not None else after
            return Document(servers={**document.servers, url: server})

        self.change(followed)

    def change(self, to: Callable[[Document], Document]) -> None:
        """Make of what is kept what `to` makes of it, which may be asked twice. Nobody writes between. Raises IdentityError."""
        self._file.change(to)

    def read(self) -> Document:
        """All that is kept. Raises IdentityError."""
        return self._file.read()


def _aside(name: str, taken: Collection[str]) -> str:
    """Under which the token of who had this name is kept."""
    base = _ASIDE.sub("", name)
    for number in count(1):
        behind = " (before)" if number == 1 else f" (before {number})"
        aside = base[: NAME_LENGTH - len(behind)].rstrip() + behind
        if aside not in taken:
            return aside
    raise AssertionError("counting never ends")


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
