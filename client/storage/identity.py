"""Who the player is: for each server, their name and the token that makes them the same player again.

Owns one file, `identity.json` in the user's data folder (or the folder that CARPET_HOME names). Only the user can read it, and it is
replaced atomically. A token belongs to a server and a name: two names are two players, even on one machine. The name is the one that the
server gave. A name that was asked for and given with a number, or that the player had before, still leads to them; otherwise each visit
under it would make a new player. A token that the server has forgotten is kept under the name plus `(before)`: the loss may be a mistake,
or be repaired. The usual names of this machine itself lead to the same players. Must not know of connections.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

from msgspec import Struct, field, structs

from client.connection.address import parse_address
from client.connection.errors import Failure
from client.connection.events import Identity
from client.storage.files import DocumentFile, Versioned
from protocol import HOME_VARIABLE
from protocol.text import NAME_LENGTH, clean_name

FALLBACK_NAME = "player"

ASKED_KEPT: Final = 50
"""How many names that lead to a player are kept for a server."""

_ASIDE = re.compile(r" \(before(?: \d+)?\)$")


@dataclass(frozen=True, slots=True)
class Known:
    """A player of this machine at the server of `url`. last: whether they are the one who got in last there, and so the default."""

    url: str
    identity: Identity
    last: bool


class IdentityError(Failure):
    """The file cannot be read or written. str() names it and says what to do, in one sentence."""


class Server(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """This machine's players at one server, by name. name: the default. asked: other names that lead to one of them.

    nodes: by player, the URLs of other servers of the same place that this one has named to them. A player's token may go there when this
    server is down. Over an insecure connection, somebody on the way could have named them: they know that player's token, and no other.
    """

    name: str
    tokens: dict[str, str]
    players: dict[str, str] = {}
    asked: dict[str, str] = {}
    nodes: dict[str, tuple[str, ...]] = {}

    def named(self, name: str) -> Identity:
        """The player that `name` leads to; one without a token if there is none."""
        found = name if name in self.tokens else self.asked.get(name, name)
        return Identity(found, self.tokens.get(found), self.players.get(found))

    def with_player(self, identity: Identity, *, asked: str = "", last: bool = True) -> Server:
        """A copy with this player. If their token is here under another name, they have been renamed. last: make them the default, as
        they are anyway if there is none.
        """
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
        # Only so many, the last ones: a server could rename its players as often as it likes.
        asked_for = dict([(old, target) for old, target in leads.items() if old not in tokens and target in tokens][-ASKED_KEPT:])
        keeps = not last and self.name in tokens
        nodes = {(name if old in former else old): told for old, told in self.nodes.items() if old != name or self.tokens.get(old) == token}
        return Server(name=self.name if keeps else name, tokens=tokens, players=players, asked=asked_for, nodes=nodes)

    def with_nodes(self, token: str, nodes: tuple[str, ...]) -> Server:
        """A copy in which the server has named these nodes to the player of this token. What it names no more is nobody's any longer."""
        name = next((name for name, kept in self.tokens.items() if kept == token), None)
        if name is None:
            return self
        left = {other: tuple(url for url in told if url in nodes) for other, told in self.nodes.items()} | {name: nodes}
        return structs.replace(self, nodes={name: left[name] for name in self.tokens if left.get(name)})

    def with_aside(self, identity: Identity) -> Server:
        """A copy in which another player who has this one's name is kept under another name too."""
        name, token = identity.name, self.tokens.get(identity.name)
        if token is None or token == identity.token:
            return self
        aside = _aside(name, self.tokens)
        players = {aside: self.players[name]} if name in self.players else {}
        return structs.replace(self, tokens={**self.tokens, aside: token}, players={**self.players, **players})

    def without(self, names: Collection[str]) -> Server | None:
        """A copy without these players; None if there are no others."""
        tokens = {name: token for name, token in self.tokens.items() if name not in names}
        if not tokens:
            return None
        players = {name: player for name, player in self.players.items() if name in tokens}
        asked = {name: target for name, target in self.asked.items() if target in tokens}
        nodes = {name: told for name, told in self.nodes.items() if name in tokens}
        return Server(name=self.name if self.name in tokens else min(tokens), tokens=tokens, players=players, asked=asked, nodes=nodes)


class IdentityFile(Versioned, frozen=True, kw_only=True):
    """The whole content of the file: servers by URL, the one visited last at the end.

    name: what the player wants to be called on a server of their own, and where they have not been; empty for as at the last server.
    """

    servers: dict[str, Server] = field(default_factory=dict)
    name: str = ""


class IdentityStore(DocumentFile[IdentityFile]):
    """The file. Each call reads it again, and a change holds the folder's lock from reading to writing, so that two terminals do not undo
    each other's work.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(
            folder / "identity.json",
            IdentityFile(),
            failure=IdentityError,
            what="your name and tokens",
            anew="as a new player",
            held="try again when it has ended",
        )

    def identity(self, url: str, name: str | None = None) -> Identity:
        """Who to be at the server of `url`: `name`, or else the default there, or else `default_name`."""
        servers = self.read().servers
        server = servers.get(place_of(servers, url))
        chosen = clean_name(name or "") or (server.name if server else default_name())
        found = server.named(chosen) if server else Identity(chosen)
        # If the server still does not know the token, it must not make a new player under the `(before)` name.
        return structs.replace(found, name=_ASIDE.sub("", found.name)) if found.token is not None else found

    def known(self, url: str | None = None) -> tuple[Known, ...]:
        """All players of this machine, or those at the server of `url`. At each server, the default comes first. Raises IdentityError."""
        servers = self.read().servers
        if url is not None:
            place = place_of(servers, url)
            servers = {place: servers[place]} if place in servers else {}
        return tuple(
            Known(place, server.named(name), last=name == server.name)
            for place, server in servers.items()
            for name in sorted(server.tokens, key=lambda name: (name != server.name, name))
        )

    def own(self) -> tuple[set[str], set[str]]:
        """The ids, as far as they are known, and the names of all players of this machine. Raises IdentityError."""
        known = [each.identity for each in self.known()]
        return {identity.player for identity in known if identity.player is not None}, {identity.name for identity in known}

    def keep(self, url: str, identity: Identity, *, asked: str = "", last: bool = True) -> None:
        """Remember `identity` for the server of `url`; from now on the name `asked` leads to it. last: they are the default from now on.

        Without it, a server that is new here stands before all others, as if visited before them. Raises IdentityError.
        """
        if identity.token is None:
            return

        def kept(document: IdentityFile) -> IdentityFile:
            place = place_of(document.servers, url)
            before = document.servers.get(place) or Server(name="", tokens={})
            after = before.with_aside(identity).with_player(identity, asked=asked, last=last)
            others = {url: server for url, server in document.servers.items() if url != place}
            if not last and place in document.servers:
                return structs.replace(document, servers={**document.servers, place: after})
            return structs.replace(document, servers={**others, place: after} if last else {place: after, **others})

        self.change(kept)

    def nodes(self, url: str, token: str | None) -> tuple[str, ...]:
        """What `keep_nodes` has kept. Without a token, for the default player. Raises IdentityError."""
        servers = self.read().servers
        server = servers.get(place_of(servers, url))
        if server is None:
            return ()
        name = server.name if token is None else next((name for name, kept in server.tokens.items() if kept == token), "")
        return server.nodes.get(name, ())

    def keep_nodes(self, url: str, token: str, nodes: tuple[str, ...]) -> None:
        """Remember what the server of `url` has just named, in place of what it named before. Raises IdentityError."""

        def kept(document: IdentityFile) -> IdentityFile:
            place = place_of(document.servers, url)
            server = document.servers.get(place)
            after = document.servers if server is None else {**document.servers, place: server.with_nodes(token, nodes)}
            return structs.replace(document, servers=after)

        self.change(kept)

    def forget(self, url: str, names: Collection[str]) -> None:
        """Drop these players at the server of `url`; without any left, the server too. Raises IdentityError."""

        def without(document: IdentityFile) -> IdentityFile:
            place = place_of(document.servers, url)
            server = document.servers.get(place)
            left = server.without(names) if server is not None else None
            others = {url: each for url, each in document.servers.items() if url != place}
            return structs.replace(document, servers={**others, place: left} if left is not None else others)

        self.change(without)

    def call_me(self, name: str) -> None:
        """The name from now on where the player has none yet; empty for the one at the last server. Raises IdentityError."""
        self.change(lambda document: structs.replace(document, name=clean_name(name)))


def place_of(servers: Collection[str], url: str) -> str:
    """The URL under which `servers` has the players at the server of `url`: itself or, for a server on this machine, an alias of it."""
    if url in servers:
        return url
    return next((alias for alias in parse_address(url).aliases if alias in servers), url)


def _aside(name: str, taken: Collection[str]) -> str:
    """A free name under which to keep the token of the player who had this name."""
    base = _ASIDE.sub("", name)
    for number in count(1):
        behind = " (before)" if number == 1 else f" (before {number})"
        aside = base[: NAME_LENGTH - len(behind)].rstrip() + behind
        if aside not in taken:
            return aside
    raise AssertionError("counting never ends")


def home_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder with the player's data."""
    if chosen := environment.get(HOME_VARIABLE):
        return Path(chosen).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("carpet-race"))


def default_name() -> str:
    """What the player wants to be called where they have no name: as they said, or as at the last server; or else the login name, cleaned,
    or `player`.
    """
    with contextlib.suppress(IdentityError):
        document = IdentityStore(home_folder()).read()
        last = next((server.name for server in reversed(document.servers.values())), "")
        if chosen := clean_name(document.name or _ASIDE.sub("", last)):
            return chosen
    return login_name()


def login_name() -> str:
    """The login name, cleaned, or `player`."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user id without an account, as in containers
        name = ""
    return clean_name(name) or FALLBACK_NAME
